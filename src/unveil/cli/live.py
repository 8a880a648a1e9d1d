"""The display of a watch in a terminal: figures, the course of the rate, and the riskiest classes, masked as in reports."""

from __future__ import annotations

import sys
from collections import deque
from typing import TYPE_CHECKING, Any

from unveil.formats import number

if TYPE_CHECKING:
    from rich.console import RenderableType

    from unveil.stream.figures import WindowFigures
    from unveil.stream.window import Window

__all__ = ["LiveView", "PlainView", "sparkline", "view_of"]

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
