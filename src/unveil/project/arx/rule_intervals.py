"""Intervals that repeat, are joined level by level, and have open ends: ARX's rule for numbers and dates.

The given intervals are repeated on both sides, as far as there are values. From one bound (`snap`) on, values fall into a last
interval that reaches to the next bound (`coding`); values beyond that are labelled "<" or ">=" it, up to the `extreme`, which
no value may cross. Groups of intervals form the next level, and so on.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from unveil.errors import HierarchyError
from unveil.project.arx.rule_labels import GroupLabel
from unveil.project.arx.rule_types import ArxType

__all__ = ["EndRange", "HalfOpen", "IntervalRule", "LevelGroup"]

ROOT = "*"


@dataclass(frozen=True)
class LevelGroup:
    """The number of neighbours that form a group of the next level, and the label of the group."""

    size: int
    label: GroupLabel


@dataclass(frozen=True)
class EndRange:
    """The bounds of the last interval, of open ends, and of all values; None: the same as the one before."""

    snap: Any = None
    coding: Any = None
    extreme: Any = None

    def adjusted(self, end: Any) -> EndRange:
        """Return the range with all three bounds, given where the intervals end."""
        snap = end if self.snap is None else self.snap
        coding = snap if self.coding is None else self.coding
        return EndRange(snap, coding, coding if self.extreme is None else self.extreme)


@dataclass(frozen=True)
class HalfOpen:
    """An interval from a value to below another; open if one of them is missing, a label for everything if both are."""

    low: Any
    high: Any
    label: GroupLabel

    def shifted(self, by: Any) -> HalfOpen:
        """Return the interval shifted upwards."""
        return replace(self, low=self.low + by, high=self.high + by)


@dataclass(frozen=True)
class IntervalRule:
    """The rule: intervals, the groups of each level, and the treatment of both ends."""

    kind: ArxType
    intervals: tuple[HalfOpen, ...]
    levels: tuple[tuple[LevelGroup, ...], ...]
    lower: EndRange
    upper: EndRange

    def labels(self, values: Sequence[Any], texts: Sequence[str]) -> list[list[str]]:  # noqa: ARG002 - of values as they are read
        """Return the labels of the values, level by level."""
        rule: IntervalRule | None = self
        levels: list[list[str]] = []
        while rule is not None:
            groups = rule._first(values)  # noqa: SLF001 - one of its own
            levels.append(rule._named(groups))  # noqa: SLF001
            if len(set(groups)) == 1:
                break
            rule = rule._next()  # noqa: SLF001
            if rule is None:
                levels.append([ROOT] * len(values))
        return levels

    @property
    def _width(self) -> Any:
        return self.intervals[-1].high - self.intervals[0].low

    def _ends(self) -> tuple[EndRange, EndRange]:
        return self.lower.adjusted(self.intervals[0].low), self.upper.adjusted(self.intervals[-1].high)

    def _number(self, value: Any) -> int:
        """Return the number of the interval into which a value falls, counted from the first given one; intervals repeat."""
        turns: int = math.floor((value - self.intervals[0].low) / self._width)
        place = value - self._width * turns
        inside = (at for at, one in enumerate(self.intervals) if one.low <= place < one.high)
        return turns * len(self.intervals) + next(inside, len(self.intervals))  # rounding may place it on the upper end

    def _numbered(self, number: int) -> HalfOpen:
        turns, at = divmod(number, len(self.intervals))
        return self.intervals[at].shifted(self._width * turns)

    def _below(self, value: Any) -> HalfOpen:
        """Return the interval that ends at a value, or contains it."""
        number = self._number(value)
        here = self._numbered(number)
        return self._numbered(number - 1) if here.low == value else here

    def _first(self, values: Sequence[Any]) -> list[tuple[Any, Any, Any]]:
        """Return the interval of each value: its ends, and which of the last intervals it is."""
        lower, upper = self._ends()
        lowest = replace(self._numbered(self._number(lower.snap)), low=lower.coding)
        highest = replace(self._below(upper.snap), high=upper.coding)
        if lowest.high > highest.low:
            lowest = highest = replace(lowest, high=highest.high)
        if beyond := sum(value < lower.extreme or value >= upper.extreme for value in values):
            raise HierarchyError(f"the rule does not reach {beyond:,} of {len(values):,} values.")
        placed: list[tuple[Any, Any, Any]] = []
        for value in values:
            if value < lower.coding:
                placed.append((None, lower.coding, None))
            elif value >= upper.coding:
                placed.append((upper.coding, None, None))
            else:
                one = self._numbered(self._number(value))
                one = lowest if one.low < lowest.high else highest if one.high > highest.low else one
                placed.append((one.low, one.high, one.label))
        return placed

    def _named(self, groups: Sequence[tuple[Any, Any, Any]]) -> list[str]:
        write = self.kind.written
        names: dict[Any, str] = {}
        for low, high, label in groups:
            if low is None or high is None:
                names[low, high] = f"<{write(high)}" if low is None else f">={write(low)}"
            elif (low, high) not in names:
                names[low, high] = label.of([write(low), write(high)], self.kind)
        unlike = numbered_twins([names[low, high] for low, high, _ in groups], [(low, high) for low, high, _ in groups])
        return list(unlike)

    def _next(self) -> IntervalRule | None:
        """Return the rule of the next level; None if there are no groups for one."""
        if not self.levels or not self.levels[0]:
            return None
        lower, upper = self._ends()
        joined = tuple(self._joined(self.levels[0]))
        return IntervalRule(self.kind, joined, self.levels[1:], lower, upper)

    def _joined(self, groups: Sequence[LevelGroup]) -> Iterator[HalfOpen]:
        """Yield the intervals of the next level: neighbours joined, repeating the groups until all are joined."""
        at, number = 0, len(self.intervals)
        more = sum(group.size for group in groups) >= number  # the groups extend beyond the intervals, which are repeated
        while True:
            for group in groups:
                if not more and at >= number:
                    return
                last = at + group.size - 1 if more else min(at + group.size, number) - 1
                yield HalfOpen(self._numbered(at).low, self._numbered(last).high, group.label)
                at = last + 1
            if more or at >= number:
                return


def numbered_twins(labels: Sequence[str], groups: Sequence[Any]) -> Iterator[str]:
    """Yield every label, with a number if another group already has it."""
    known: dict[str, dict[Any, str]] = {}
    for label, group in zip(labels, groups, strict=True):
        owners = known.setdefault(label, {})
        if group not in owners:
            owners[group] = label if not owners else f"{label}-{len(owners)}"
        yield owners[group]
