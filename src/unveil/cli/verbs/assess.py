"""What does the table give away as a whole, and what should be done next?"""

from __future__ import annotations

from typing import Annotated

import typer

from unveil.cli.application import app
from unveil.cli.options import (
    Data,
    Encoding,
    Household,
    Json,
    Key,
    KeyFile,
    Missing,
    NullPolicy,
    Out,
    Person,
    ProjectFile,
    Separator,
    SpreadsheetSafe,
    TextColumns,
    Weights,
    gather,
    give,
    showing_progress,
)
from unveil.cli.requirements import SensitiveColumns


@app.command(epilog="Example: unveil assess adult --key age --key sex --key race --sensitive occupation --out report.html")
def assess(
    data: Data = None,
    key: Key = None,
    sensitive: SensitiveColumns = None,
    partition: Annotated[
        list[str] | None,
        typer.Option("--partition", metavar="NAME:COLUMN=FILE", help="A named semantic partition of a sensitive column."),
    ] = None,
    max_size: Annotated[
        int | None, typer.Option("--max-size", min=1, help="The largest sets of columns to look at; none: what time allows.")
    ] = None,
    unmasked: Annotated[
        bool, typer.Option("--unmasked", help="Show every class: for the steward's own eyes, and marked as such.")
    ] = False,
    small: Annotated[int, typer.Option("--small", min=1, help="Classes of fewer records are small.")] = 5,
    key_file: KeyFile = None,
    nulls: NullPolicy = None,
    weights: Weights = None,
    person: Person = None,
    household: Household = None,
    project: ProjectFile = None,
    separator: Separator = None,
    encoding: Encoding = None,
    missing: Missing = None,
    text: TextColumns = None,
    as_json: Json = False,
    out: Out = None,
    spreadsheet_safe: SpreadsheetSafe = True,
) -> None:
    """Ask everything at once: what identifies, what discloses, which risks there are, where they come from, what to do next."""
    from unveil.assess.assessment import assess as assess_table
    from unveil.cli import requirements

    inputs = gather(
        data, key=key, sensitive=sensitive, partition=None, nulls=nulls, weights=weights, project=project,
        separator=separator, encoding=encoding, missing=missing, text=text, person=person, household=household,
    )  # fmt: skip
    with showing_progress():
        result = assess_table(
            inputs.study,
            partitions=requirements.attackers(partition, inputs.source.names),
            max_size=max_size,
            redact=not unmasked,
            small=small,
            key_file=key_file,
        )
    give(result, as_json=as_json, out=out, spreadsheet_safe=spreadsheet_safe)
