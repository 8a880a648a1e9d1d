"""The verb watch: the disclosure and the utility of a stream, over time."""

from __future__ import annotations

import typer

from unveil.cli.application import app, grouped
from unveil.cli.watch_options import AlarmOptions, KeepingOptions, ShowingOptions, StreamSourceOptions, WindowOptions


@app.command(epilog="Example: unveil watch adult --key age --key sex --sensitive occupation --window 10000 --every 10000")
@grouped
def watch(
    stream: StreamSourceOptions, window: WindowOptions, alarms: AlarmOptions, keeping: KeepingOptions, showing: ShowingOptions
) -> None:
    """Measure a stream as it arrives: the rate, k and needs of a moving window. Exit code 1: an alarm, or a rule not judged."""
    from unveil.cli.watching import run_to_end, watch_of

    keeping.require_apart(stream.source, showing.out)
    code = run_to_end(watch_of(stream, window, alarms, keeping), alarms, showing)
    if code:
        raise typer.Exit(code)
