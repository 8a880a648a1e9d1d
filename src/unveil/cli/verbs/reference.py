"""The published figures and the built-in data."""

from __future__ import annotations

from typing import Annotated

import typer

from unveil.cli.application import app
from unveil.cli.options import Json, Out, SpreadsheetSafe, give, showing_progress


@app.command(epilog="Example: unveil reproduce --json")
def reproduce(
    experiments: Annotated[
        bool, typer.Option("--experiments", help="Do the documents' experiments on Adult again instead (about a minute).")
    ] = False,
    as_json: Json = False,
    out: Out = None,
    spreadsheet_safe: SpreadsheetSafe = True,
) -> None:
    """Recompute every figure printed in the publications of the Discrimination Rate, errata marked, or redo the experiments."""
    if experiments:
        from unveil.assess.experiments import experiments as do_again

        with showing_progress():
            found = do_again()
        return give(found, as_json=as_json, out=out, spreadsheet_safe=spreadsheet_safe)
    from unveil.assess.reproduce import reproduce as recompute

    return give(recompute(), as_json=as_json, out=out, spreadsheet_safe=spreadsheet_safe)


@app.command(epilog="Example: unveil datasets paper-2 --out paper-2.csv")
def datasets(
    name: Annotated[
        str | None, typer.Argument(help="The data set to show or write; none: list them.", show_default=False)
    ] = None,
    as_json: Json = False,
    out: Out = None,
    spreadsheet_safe: SpreadsheetSafe = True,
) -> None:
    """List the built-in data sets, or write one to a file."""
    from unveil.assess.catalogue import catalogue, records

    give(catalogue() if name is None else records(name), as_json=as_json, out=out, spreadsheet_safe=spreadsheet_safe)
