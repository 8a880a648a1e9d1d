"""A watch in a terminal: figures shown as they arrive, alarms that call a command, signals that end it, and its report.

The figures, the course of the rate and the riskiest classes are masked as in reports.
"""

from __future__ import annotations

import contextlib
import json
import shlex
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unveil.errors import ArgumentError, OutputError, reason_of
from unveil.formats import number

if TYPE_CHECKING:
    from rich.console import RenderableType

    from unveil.cli.watch_options import AlarmOptions, KeepingOptions, ShowingOptions, StreamSourceOptions, WindowOptions
    from unveil.stream import Watch, WatchRun, Window, WindowFigures

__all__ = ["LiveView", "PlainView", "run_to_end", "sparkline", "stopping", "view_of", "watch_of"]

_PATIENCE = 10.0
"""Seconds within which the commands of alarms must end after the run ends."""


def watch_of(stream: StreamSourceOptions, window: WindowOptions, alarms: AlarmOptions, keeping: KeepingOptions) -> Watch:
    """Return the watch that the options describe, before its first record."""
    from unveil.sources import open_records
    from unveil.stream import MICROS, Alarm, Watch, Window, duration_of, open_sink

    plan = window.plan
    settings = window.settings(plan)
    options = stream.options(plan)
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


def run_to_end(running: Watch, alarms: AlarmOptions, showing: ShowingOptions) -> int:
    """Show the figures of the run until it ends, write its report, and return the exit code."""
    ended = _shown(running, alarms, showing)
    if showing.out is not None:
        _write_report(running, running.window, showing.out)
    return 128 + ended if ended else int(bool(running.ever_raised or running.undecided))


def _shown(running: Watch, alarms: AlarmOptions, showing: ShowingOptions) -> int:
    """Show the figures of the run until it ends; return the signal that ended it, or 0 if none did."""
    output = _Output(as_json=showing.as_json, command=alarms.alarm_command, port=showing.metrics)
    with stopping(running.stop) as heard:
        try:
            for figures in running.run():
                if figures is not None:
                    output.show(figures, running.window)
                    if figures.alarms and alarms.stop_on_alarm:
                        running.stop()
        finally:
            output.close()
    return heard[0] if heard else 0


class _Output:
    """The output of figures as they arrive: lines or a view, the page of metrics, the command of an alarm."""

    def __init__(self, *, as_json: bool, command: str | None, port: int | None) -> None:
        from unveil.stream import MetricsPage

        self._words = [] if command is None else _words(command)
        self._page = None if port is None else MetricsPage(port)
        if self._page is not None:
            sys.stderr.write(f"metrics: http://127.0.0.1:{self._page.port}/metrics\n")
        self._view = None if as_json else view_of()
        self._raised: tuple[str, ...] = ()
        self._called: list[subprocess.Popen[bytes]] = []

    def show(self, figures: WindowFigures, window: Window) -> None:
        """Send figures to every output."""
        if self._view is None:
            _print_line(figures)
        else:
            self._view.show(figures, window)
        if self._page is not None:
            self._page.show(figures)
        if self._words and set(figures.alarms) - set(self._raised):
            self._called.append(_alarmed(self._words, figures))
        self._raised = figures.alarms

    def close(self) -> None:
        """Close the view and the page, and give the commands of alarms time to end."""
        if self._view is not None:
            self._view.close()
        if self._page is not None:
            self._page.close()
        for process in self._called:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_PATIENCE)


@contextlib.contextmanager
def stopping(stop: Callable[[], None]) -> Iterator[list[int]]:
    """Let the first signal end the run between two batches, with its last window written; a second one acts as usual."""
    heard: list[int] = []
    before: dict[int, Any] = {}

    def hear(number: int, frame: Any) -> None:
        if heard:
            signal.signal(number, before[number])
            if callable(before[number]):
                before[number](number, frame)
            return
        heard.append(number)
        stop()

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            with contextlib.suppress(ValueError):  # outside the main thread, the caller handles signals
                before[number] = signal.signal(number, hear)
    try:
        yield heard
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _print_line(figures: WindowFigures) -> None:
    try:
        sys.stdout.write(json.dumps(figures.to_dict(), allow_nan=False) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"cannot write to standard output: {reason_of(error)}.") from error


def _words(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    if not words:
        raise ArgumentError("--alarm-command takes a program and its arguments, as a shell would read them.")
    return words


def _alarmed(words: list[str], figures: WindowFigures) -> subprocess.Popen[bytes]:
    """Run the command of an alarm with the line of figures as its input, without waiting for it before the run ends."""
    try:
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603
        assert process.stdin is not None  # noqa: S101
        with contextlib.suppress(OSError), process.stdin as pipe:
            pipe.write(json.dumps(figures.to_dict()).encode() + b"\n")
    except OSError as error:
        raise ArgumentError(f"the command of the alarm cannot be run: {reason_of(error)}.") from None
    return process


def _write_report(running: Watch, moving: Window, out: Path) -> None:
    """Write the report of the whole run."""
    from unveil import report

    report.write(_whole(running, moving), out)
    sys.stderr.write(f"written: {out}\n")


def _whole(running: Watch, moving: Window) -> WatchRun:
    from unveil.stream import WatchRun

    left_out = {**moving.counters, "malformed": running.malformed}
    question = repr(moving).removeprefix("Window(").rpartition(":")[0]
    series = running.series
    return WatchRun(
        question, series.points, series.total, left_out, running.ever_raised, moving.riskiest(), [*running.undecided.values()]
    )


_BLOCKS = "▁▂▃▄▅▆▇█"
_POINTS = 60
_CLASSES = 5
_NO_CLASSES = "Which classes disclose most cannot be known from a sample of them."


def sparkline(values: list[float | None]) -> str:
    """Draw figures from 0 to 1 as a row of blocks, with a gap for a missing figure.

    Examples
    --------
    >>> sparkline([0.0, 0.5, None, 1.0])
    '▁▅ █'
    """
    return "".join(" " if value is None else _BLOCKS[round(min(max(value, 0.0), 1.0) * (len(_BLOCKS) - 1))] for value in values)


def _rate(figures: WindowFigures) -> str:
    """Return the rate in words, with the error and the basis of an estimate."""
    rate = "-" if figures.dr is None else number(figures.dr)
    about = figures.approximate
    if about is None:
        return rate
    error = "" if about.dr_error is None else f" +/- {number(about.dr_error)}"
    return f"{rate}{error} (estimated from {number(about.share)} of the classes)"


def _not_judged(figures: WindowFigures) -> list[str]:
    """Return the rules that were not judged, with those of the same reason together."""
    rules: dict[str, list[str]] = {}
    for rule, reason in figures.undecided.items():
        rules.setdefault(reason, []).append(rule)
    return [f"{'; '.join(some)} ({reason})" for reason, some in rules.items()]


class PlainView:
    """A view of one line per window, for output that is not a terminal."""

    def show(self, figures: WindowFigures, window: Window) -> None:  # noqa: ARG002 - as the live view has it
        """Print a line."""
        rate = _rate(figures)
        needs = "".join(f", {name} {'-' if n.degree is None else number(n.degree)}" for name, n in figures.needs.items())
        alarms = f"  ALARM: {'; '.join(figures.alarms)}" if figures.alarms else ""
        alarms += "".join(f"  NOT JUDGED: {said}" for said in _not_judged(figures))
        sys.stdout.write(
            f"{figures.start} to {figures.to}: {figures.records:,} records, rate {rate}, {figures.kind or '-'}, k {figures.k:,}, "
            f"uniques {figures.uniques:,}{needs}{alarms}\n"
        )
        sys.stdout.flush()

    def close(self) -> None:
        """Do nothing."""


class LiveView:
    """A view that is redrawn with every window."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self._rates: deque[float | None] = deque(maxlen=_POINTS)
        self._live: Any = Live(console=Console(), auto_refresh=False)
        self._live.start()

    def show(self, figures: WindowFigures, window: Window) -> None:
        """Draw the figures of a window."""
        self._rates.append(figures.dr)
        self._live.update(self._drawn(figures, window), refresh=True)

    def close(self) -> None:
        """Leave the last view on the screen."""
        self._live.stop()

    def _drawn(self, figures: WindowFigures, window: Window) -> RenderableType:
        from rich import box
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        head = Table.grid(padding=(0, 2))
        rows = [
            ("window", f"{figures.number:,}: {figures.records:,} records, {figures.start} to {figures.to}"),
            ("rate", f"{_rate(figures)}  {figures.kind or ''}"),
            ("", sparkline(list(self._rates))),
            ("k, uniques", f"{figures.k:,}, {figures.uniques:,}"),
            *((f"need {name}", "-" if need.degree is None else number(need.degree)) for name, need in figures.needs.items()),
            *((name, f"{amount:,}") for name, amount in figures.counters.items()),
        ]
        for label, value in rows:
            head.add_row(Text(label, style="dim"), Text(value))
        alarms = [Text(f"ALARM: {alarm}", style="bold red") for alarm in figures.alarms]
        alarms += [Text(f"NOT JUDGED: {said}", style="yellow") for said in _not_judged(figures)]
        if figures.approximate is not None:
            return Group(Text(repr(window), style="bold"), head, *alarms, Text(_NO_CLASSES, style="dim"))
        riskiest = Table("riskiest classes", "size", "posterior", box=box.SIMPLE_HEAD)
        for row in window.riskiest(_CLASSES):
            riskiest.add_row(Text(row.shown), "-" if row.size is None else f"{row.size:,}", number(row.posterior))
        return Group(Text(repr(window), style="bold"), head, *alarms, riskiest)


def view_of() -> LiveView | PlainView:
    """Return the live view in a terminal, and lines elsewhere."""
    return LiveView() if sys.stdout.isatty() else PlainView()
