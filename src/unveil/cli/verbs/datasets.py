"""The verb datasets: the built-in data sets."""

from __future__ import annotations

from typing import Annotated

import typer

from unveil.cli.application import app
from unveil.cli.options import Json, Out, SpreadsheetSafe, give


@app.command(epilog="Example: unveil datasets paper-2 --out paper-2.csv")
def datasets(
    name: Annotated[
        str | None, typer.Argument(metavar="DATA", help="The data set to show or write; default: list them.", show_default=False)
    ] = None,
    as_json: Json = False,
    out: Out = None,
    spreadsheet_safe: SpreadsheetSafe = True,
) -> None:
    """List the built-in data sets, or write one to a file."""
    from unveil.assess import records
    from unveil.assess.catalogue import catalogue

    give(catalogue() if name is None else records(name), as_json=as_json, out=out, spreadsheet_safe=spreadsheet_safe)
