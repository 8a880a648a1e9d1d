"""Alarms of a stream: conditions on its figures that are raised and cleared without flapping.

An alarm is raised when its condition holds. It is cleared when the figure has come back past a second threshold (`until`) or, if
there is none, when the condition has not held for three figures in a row. An undefined figure changes nothing.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from unveil.errors import ArgumentError, shown
from unveil.stream.figures import WindowFigures

__all__ = ["Alarm", "Fact"]

_CALM = 3
"""The number of figures in a row that clear an alarm without a second threshold."""
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_TEXT = re.compile(
    rf"^\s*(?P<figure>.+?)\s*(?P<sign><=|>=|<|>)\s*(?P<threshold>{_NUMBER})(?:\s+until\s+(?P<until>{_NUMBER}))?\s*$"
)
_SIGNS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_FIGURES = ("dr", "k", "uniques", "records", "late", "malformed")


@dataclass
class Alarm:
    """A condition on a figure, and whether it is raised.

    Examples
    --------
    >>> alarm = Alarm.parse("dr > 0.8 until 0.7")
    >>> [alarm.update(rate) for rate in (0.5, 0.81, 0.75, None, 0.69)]
    [False, True, True, True, False]
    """

    text: str
    figure: str
    sign: str
    threshold: float
    until: float | None = None
    raised: bool = False
    calm: int = 0

    @classmethod
    def parse(cls, text: str) -> Alarm:
        """Read "FIGURE > THRESHOLD [until SECOND]"; a figure is dr, k, uniques, records, late, malformed or need NAME."""
        written = _TEXT.match(text)
        if written is None or not (written["figure"] in _FIGURES or written["figure"].startswith("need ")):
            raise ArgumentError(
                f"an alarm is written as 'dr > 0.8', 'k < 5 until 7' or 'need NAME < 0.1', not {shown(text)}; figures are: "
                f"{', '.join(_FIGURES)} and need NAME."
            )
        until = None if written["until"] is None else float(written["until"])
        alarm = cls(text.strip(), written["figure"], written["sign"], float(written["threshold"]), until)
        if until is not None and alarm._holds(until):
            raise ArgumentError(
                f"the alarm {shown(text)} would never be cleared: its second threshold is on the wrong side of the first."
            )
        return alarm

    def update(self, value: float | None) -> bool:
        """Record a figure, and return whether the alarm is raised."""
        if value is None:
            return self.raised
        if self._holds(value):
            self.raised, self.calm = True, 0
        elif self.raised:
            self.calm += 1
            back = self.calm >= _CALM if self.until is None else not _between(value, self.threshold, self.until)
            if back:
                self.raised, self.calm = False, 0
        return self.raised

    def value_in(self, figures: WindowFigures) -> float | None:
        """Return the figure that the alarm is about."""
        if self.figure.startswith("need "):
            need = figures.needs.get(self.figure.removeprefix("need "))
            return None if need is None else need.degree
        if self.figure in ("late", "malformed"):
            return figures.counters.get(self.figure, 0)
        if self.figure in ("k", "uniques") and not figures.records:
            return None
        value: float | None = getattr(figures, self.figure)
        return value

    def _holds(self, value: float) -> bool:
        return _SIGNS[self.sign](value, self.threshold)

    def state(self) -> dict[str, Any]:
        """Return the state for a checkpoint."""
        return {"text": self.text, "raised": self.raised, "calm": self.calm}


@dataclass
class Fact:
    """A condition that is decided elsewhere, such as a broken rule of a policy; it is raised and cleared like an alarm."""

    text: str
    raised: bool = False
    calm: int = 0

    def update(self, holds: bool | None) -> bool:  # noqa: FBT001 - the fact itself
        """Record whether it holds, and return whether the alarm is raised."""
        if holds is None:
            return self.raised
        self.calm = 0 if holds else self.calm + 1
        self.raised = holds or (self.raised and self.calm < _CALM)
        return self.raised

    def state(self) -> dict[str, Any]:
        """Return the state for a checkpoint."""
        return {"text": self.text, "raised": self.raised, "calm": self.calm}


def _between(value: float, threshold: float, until: float) -> bool:
    """Whether a figure lies between its two thresholds."""
    return min(threshold, until) < value < max(threshold, until) or value == threshold
