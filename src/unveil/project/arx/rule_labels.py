"""The labels of groups of values: the functions by which ARX labels the groups of a hierarchy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, TypeAlias

from unveil.project.arx.rule_types import ArxType, DateType, NumberType

__all__ = ["GroupLabel", "LabelKind"]

LabelKind: TypeAlias = Literal[
    "set", "prefixes", "prefix", "constant", "bounds", "interval", "mean", "middle", "geometric", "geometric-middle"
]
_NULL = "NULL"
"""The text that ARX writes for a missing value."""
_EPOCH, _TICK = datetime(1970, 1, 1), timedelta(milliseconds=1)  # noqa: DTZ001 - dates are read by the wall clock
"""Moments are counted from 1970 on, in milliseconds."""


@dataclass(frozen=True)
class GroupLabel:
    """A function from the texts of a group's values, in order, to its label.

    Attributes
    ----------
    kind
        "set": {a, b}. "prefixes": the first characters of each. "prefix": the common prefix. "constant": a text. "bounds": the
        first and the last. "interval": the lowest and the highest. "mean" and "geometric": of the values; "middle" and
        "geometric-middle": of the lowest and the highest.
    text
        The constant, or the character that replaces the part that the values do not share.
    length
        The number of first characters.
    closed
        Whether the ends of an interval belong to it.
    """

    kind: LabelKind
    text: str | None = None
    length: int = 1
    closed: tuple[bool, bool] = (True, True)

    def of(self, texts: Sequence[str], kind: ArxType) -> str:
        """Return the label of a group."""
        named: dict[str, Callable[[], str]] = {
            "constant": lambda: self.text or "",
            "set": lambda: "{" + ", ".join(texts) + "}",
            "prefixes": lambda: "-".join(text[: self.length] for text in texts),
            "prefix": lambda: self._prefix(texts),
            "bounds": lambda: f"[{texts[0]}, {texts[-1]}]",
            "interval": lambda: self._interval(*_ends(texts, kind)),
        }
        if self.kind in named:
            return named[self.kind]()
        return _mean(_ends(texts, kind) if self.kind.endswith("middle") else texts, kind, geometric="geometric" in self.kind)

    def _interval(self, low: str, high: str) -> str:
        return f"{'[' if self.closed[0] else ']'}{low}, {high}{']' if self.closed[1] else '['}"

    def _prefix(self, texts: Sequence[str]) -> str:
        shared = 0
        while all(len(text) > shared and text[shared] == texts[0][shared] for text in texts):
            shared += 1
        rest = "" if self.text is None else self.text * (max(map(len, texts)) - shared)
        return texts[0][:shared] + rest


def _ends(texts: Sequence[str], kind: ArxType) -> tuple[str, str]:
    ordered = kind.ordered(texts)
    return ordered[0], ordered[-1]


def _mean(texts: Sequence[str], kind: ArxType, *, geometric: bool) -> str:
    """Return the mean of numbers (without decimals for integers) or of moments."""
    if isinstance(kind, DateType):
        mean = _mean_of([(kind.read(text) - _EPOCH) / _TICK for text in texts], geometric=geometric)
        return kind.written(_EPOCH + _whole(mean) * _TICK)
    if not isinstance(kind, NumberType):
        return _NULL
    mean = _mean_of([float(kind.read(text)) for text in texts], geometric=geometric)
    return kind.written(_whole(mean) if kind.whole else mean)


def _mean_of(numbers: Sequence[float], *, geometric: bool) -> float:
    """Return a mean, summed as in Java; the geometric mean is zero if a number is zero, and NaN if one is below zero."""
    parts = [_log10(number) if geometric else number for number in numbers]
    total = 0.0
    for part in parts:
        total += part / len(parts)
    return 10.0**total if geometric else total


def _log10(number: float) -> float:
    if number > 0.0:
        return math.log10(number)
    return -math.inf if number == 0.0 else math.nan


def _whole(number: float) -> int:
    """Return an integer as Java converts it: NaN becomes 0."""
    return 0 if math.isnan(number) else int(number)
