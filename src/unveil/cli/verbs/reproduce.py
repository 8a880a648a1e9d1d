"""The verb reproduce: the published figures and experiments, recomputed."""

from __future__ import annotations

from typing import Annotated

import typer

from unveil.cli.application import app
from unveil.cli.options import Json, Out, SpreadsheetSafe, give, showing_progress


@app.command(epilog="Example: unveil reproduce --json")
def reproduce(
    experiments: Annotated[
        bool, typer.Option("--experiments", help="Repeat the documents' experiments on Adult instead (about 20 seconds).")
    ] = False,
    as_json: Json = False,
    out: Out = None,
    spreadsheet_safe: SpreadsheetSafe = True,
) -> None:
    """Recompute every figure printed in the publications of the Discrimination Rate, errata marked, or redo the experiments."""
    if experiments:
        from unveil.reproduce.experiments import experiments as do_again

        with showing_progress():
            reproduction = do_again()
        return give(reproduction, as_json=as_json, out=out, spreadsheet_safe=spreadsheet_safe)
    from unveil.reproduce import reproduce as recompute

    return give(recompute(), as_json=as_json, out=out, spreadsheet_safe=spreadsheet_safe)
