"""The verb warm-up: compilation ahead of time, so that no call is slow at first."""

from __future__ import annotations

from unveil.cli.application import app
from unveil.cli.options import Json, Out, SpreadsheetSafe, give, showing_progress


@app.command("warm-up", epilog="Example: unveil warm-up")
def warm_up(as_json: Json = False, out: Out = None, spreadsheet_safe: SpreadsheetSafe = True) -> None:
    """Compile every loop now and keep it, so that no later call has to wait for the compiler."""
    from unveil.warm_up import warm_up as compile_all

    with showing_progress():
        ready = compile_all()
    give(ready, as_json=as_json, out=out, spreadsheet_safe=spreadsheet_safe)
