"""The verb identifiers: which columns name people outright."""

from __future__ import annotations

from unveil.cli.application import app
from unveil.cli.groups import grouped
from unveil.cli.options import Data, Encoding, Missing, ProjectFile, Separator, showing_progress
from unveil.cli.study_options import AnswerOptions, SourceOptions


@app.command(epilog="Example: unveil identifiers adult")
@grouped
def identifiers(
    answer: AnswerOptions,
    data: Data = None,
    project: ProjectFile = None,
    separator: Separator = None,
    encoding: Encoding = None,
    missing: Missing = None,
) -> None:
    """Which columns name people outright? Names, addresses, numbers with check digits, codes, each with its evidence."""
    from unveil.measures.direct_identifiers import direct_identifiers

    source = SourceOptions(data, project=project, separator=separator, encoding=encoding, missing=missing)
    with showing_progress():
        found = direct_identifiers(source.gathered(partial=True).study)
    answer.give(found)
