"""The verb watch: what a stream gives away, and what it is good for, as it goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from unveil.cli.application import app
from unveil.cli.groups import grouped
from unveil.cli.watch_options import AlarmOptions, KeepingOptions, ShowingOptions, StreamSourceOptions, WindowOptions

if TYPE_CHECKING:
    from unveil.stream.watch import Watch


@app.command(epilog="Example: unveil watch adult --key age --key sex --sensitive occupation --window 10000 --every 10000")
@grouped
def watch(
    stream: StreamSourceOptions, window: WindowOptions, alarms: AlarmOptions, keeping: KeepingOptions, showing: ShowingOptions
) -> None:
    """Measure a stream as it goes: rate, kind, k, uniques and needs of a moving window. Exit code 1: an alarm was raised."""
    from unveil.cli.watching import show_run, write_report

    keeping.require_apart(stream.source, showing.out)
    running = _watch(stream, window, alarms, keeping)
    ended = show_run(
        running, as_json=showing.as_json, command=alarms.alarm_command, stop=alarms.stop_on_alarm, port=showing.metrics
    )
    if showing.out is not None:
        write_report(running, running.window, showing.out)
    if ended:
        raise typer.Exit(128 + ended)
    if running.ever_raised:
        raise typer.Exit(1)


def _watch(stream: StreamSourceOptions, window: WindowOptions, alarms: AlarmOptions, keeping: KeepingOptions) -> Watch:
    """Return the watch that the options describe, before its first record."""
    from unveil.sources.streams import open_records
    from unveil.stream.alarms import Alarm
    from unveil.stream.sinks import open_sink
    from unveil.stream.times import MICROS, duration_of
    from unveil.stream.watch import Watch
    from unveil.stream.window import Window

    plan = window.plan
    settings = window.settings(plan)
    options = stream.options()
    return Watch(
        open_records(stream.source, options),
        Window(**settings, strict=False),
        alarms=[Alarm.parse(text) for text in alarms.alarm or ()],
        judge=alarms.judge(plan, settings),
        checkpoint=keeping.kept(stream.source, settings, alarms),
        interval=duration_of("--checkpoint-every", keeping.checkpoint_every) / MICROS,
        malformed=None if keeping.malformed is None else open_sink(keeping.malformed, options.settings),
        lines=None if keeping.lines is None else open_sink(keeping.lines, options.settings),
    )
