"""The verb mechanisms: the list of mechanisms, and the purpose of each."""

from __future__ import annotations

from unveil.cli.application import app
from unveil.cli.options import Json, Out, SpreadsheetSafe, give


@app.command(epilog="Example: unveil mechanisms --json")
def mechanisms(as_json: Json = False, out: Out = None, spreadsheet_safe: SpreadsheetSafe = True) -> None:
    """Which mechanism is perturbative, deterministic, for which data, against what, with which guarantee?"""
    from unveil.assess.taxonomy import taxonomy

    give(taxonomy(), as_json=as_json, out=out, spreadsheet_safe=spreadsheet_safe)
