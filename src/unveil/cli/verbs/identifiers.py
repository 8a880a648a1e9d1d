"""The verb identifiers: the columns that name people outright."""

from __future__ import annotations

from unveil.cli.application import app, grouped
from unveil.cli.options import Data, showing_progress
from unveil.cli.study_options import AnswerOptions, ReadingOptions, gather


@app.command(epilog="Example: unveil identifiers adult")
@grouped
def identifiers(answer: AnswerOptions, reading: ReadingOptions, data: Data = None) -> None:
    """Which columns name people outright? Names, addresses, numbers with check digits, codes, each with its evidence."""
    from unveil.identifiers import direct_identifiers

    inputs = gather(data, reading, partial=True)
    with showing_progress():
        findings = direct_identifiers(inputs.study)
    answer.give(findings)
