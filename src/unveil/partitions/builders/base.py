"""Rules from the values of a column to a hierarchy: what all rules share; intervals, neighbours in an order, rare values."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from math import lcm
from typing import Any, ClassVar, TypeAlias, TypeVar

from unveil.arguments import checked_arguments
from unveil.errors import ArgumentError, HierarchyError, shown
from unveil.partitions.hierarchy import Hierarchy
from unveil.partitions.matching import ROOT, edge_text, moment_of, number_of, reading_for, text_of
from unveil.partitions.rules import column_said

__all__ = ["Builder", "Groups", "Intervals", "Rare", "RootOnly", "growing", "read_all"]

_Read = TypeVar("_Read")


@dataclass(frozen=True)
class Builder:
    """A rule from the distinct values of a column to a hierarchy with a common root.

    A null gets no leaf, unless it is the only value of `RootOnly`. A rule that cannot place some values raises an error that
    counts them.
    """

    name: ClassVar[str] = ""

    def build(self, values: Sequence[Any], counts: Sequence[int] | None = None, *, column: str | None = None) -> Hierarchy:
        """Return the hierarchy of the values.

        Parameters
        ----------
        values
            The distinct values of the column, None for the null.
        counts
            The number of records of each; only a rule about frequency needs it.
        column
            The column's name, for the hierarchy and for messages.
        """
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return the rule's name and settings, in a form that JSON can represent."""
        settings = {field.name: getattr(self, field.name) for field in fields(self)}
        plain = {name: [*map(_json, value)] if isinstance(value, tuple) else _json(value) for name, value in settings.items()}
        return {"rule": self.name} | {name: value for name, value in plain.items() if value is not None}


@dataclass(frozen=True)
class RootOnly(Builder):
    """Keep every value, or none: one level, ``*``, above the values.

    A single value has no level above it, and neither has a null alone, whose leaf is the empty text.

    Examples
    --------
    >>> RootOnly().build(["f", "m"], column="sex").labels
    (('f', '*'), ('m', '*'))
    """

    name: ClassVar[str] = "root"

    def build(self, values: Sequence[Any], counts: Sequence[int] | None = None, *, column: str | None = None) -> Hierarchy:  # noqa: ARG002
        """Return the values with a root above."""
        if len(values) == 1:
            return Hierarchy(column, [("" if values[0] is None else values[0],)])
        return Hierarchy.from_levels(values, [ROOT] * len(values), column=column)


def growing(name: str, steps: Sequence[Any], *, nested: bool = False) -> None:
    """Refuse steps that are not positive and increasing or, if they must nest, not multiples of the step before."""
    numbers = [number_of(step) for step in steps]
    if not numbers or any(step is None or not step.is_finite() or step <= 0 for step in numbers):
        raise ArgumentError(f"{name} takes one or more positive numbers.")
    known = [step for step in numbers if step is not None]
    for low, high in pairwise(known):
        if high <= low:
            raise ArgumentError(f"{name} must grow, and {text_of(high)} comes after {text_of(low)}.")
        if nested and high % low:
            raise ArgumentError(
                f"{name}: {text_of(high)} is not a multiple of {text_of(low)}, so its groups would cut through those below."
            )


def read_all(values: Sequence[Any], read: Callable[[Any], _Read | None], noun: str, column: str | None) -> dict[Any, _Read]:
    """Return the reading of each value except the null; count and refuse values that cannot be read."""
    present = [value for value in values if value is not None]
    points = {value: point for value in present if (point := read(value)) is not None}
    if missing := len(present) - len(points):
        verb = "is" if missing == 1 else "are"
        raise HierarchyError(f"{column_said(column)}{missing:,} of {len(present):,} values present {verb} no {noun}.")
    if not points:
        raise HierarchyError(f"{column_said(column)}there are no values to build a hierarchy of.")
    return points


def _json(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float | str) else text_of(value)


_Exact: TypeAlias = int | Fraction
_MOST_BITS = 1 << 12
"""If the numbers have no common unit of at most this many bits, each is stored as a fraction of its own."""


@checked_arguments
@dataclass(frozen=True)
class Intervals(Builder):
    r"""Half-open intervals of one width per level, anchored at an origin.

    At a level of width :math:`w` a number :math:`x` falls into

    .. math:: [o + q w,\ o + (q + 1) w), \qquad q = \lfloor (x - o) / w \rfloor .

    Each width is a multiple of the one before, so that the intervals nest. Ends are exact decimals, not floats.

    Parameters
    ----------
    widths
        The width at each level, increasing.
    origin
        A number at which an interval begins.
    bottom, top
        Open ends: at every level, all numbers below `bottom` are one group, and all from `top` on are another.

    Examples
    --------
    >>> Intervals((5, 10), top=80).build([17, 23, 94], column="age").labels
    (('17', '[15, 20)', '[10, 20)', '*'), ('23', '[20, 25)', '[20, 30)', '*'), ('94', '>= 80', '>= 80', '*'))
    """

    name: ClassVar[str] = "intervals"
    widths: tuple[Any, ...]
    origin: Any = 0
    bottom: Any = None
    top: Any = None

    def __post_init__(self) -> None:
        """Refuse widths that do not make each level coarser than the one below."""
        growing("the width of intervals", self.widths, nested=True)
        for name in ("origin", "bottom", "top"):
            number = number_of(getattr(self, name))
            if getattr(self, name) is not None and (number is None or not number.is_finite()):
                raise ArgumentError(f"the {name} of intervals is a number.")
        if self.bottom is not None and self.top is not None and _fraction(self.bottom) >= _fraction(self.top):
            raise ArgumentError("the bottom of intervals must lie below their top.")

    def build(self, values: Sequence[Any], counts: Sequence[int] | None = None, *, column: str | None = None) -> Hierarchy:  # noqa: ARG002
        """Return the numbers, in order, with an interval at each level."""
        numbers: dict[Any, _Exact] = dict(read_all(values, _exact, "finite number", column))
        stated = (self.origin, self.bottom, self.top, *self.widths)
        edges: list[_Exact | None] = [None if x is None else _fraction(x) for x in stated]
        unit = lcm(*{x.denominator for x in (*numbers.values(), *edges) if x is not None})
        if unit.bit_length() > _MOST_BITS:
            unit = 1
        else:  # integer multiples of a common unit suffice, and take a tenth of the time
            numbers = {value: _times(unit, x) for value, x in numbers.items()}
            edges = [None if x is None else _times(unit, x) for x in edges]
        ordered = sorted(numbers, key=numbers.__getitem__)
        points, (origin, low, high, *steps) = [numbers[value] for value in ordered], edges
        levels = [_interval_labels(points, step, origin or 0, (low, high), unit) for step in steps if step is not None]
        return Hierarchy.from_levels(ordered, *levels, column=column).with_root()


def _times(unit: int, x: _Exact) -> int:
    """Return a number as a multiple of a fraction of one."""
    return x.numerator * (unit // x.denominator)


def _interval_labels(
    points: Sequence[_Exact], step: _Exact, origin: _Exact, ends: tuple[_Exact | None, _Exact | None], unit: int
) -> list[str]:
    """Return the interval of each point, in fractions of one; the points increase, so those in one interval are adjacent."""
    low, high = ends
    below, above = ("" if x is None else _text(Fraction(x, unit)) for x in ends)
    labels: list[str] = []
    end: _Exact | None = None
    for point in points:
        if high is not None and point >= high:
            labels.append(f">= {above}")
        elif low is not None and point < low:
            labels.append(f"< {below}")
        elif end is not None and point < end:
            labels.append(labels[-1])
        else:
            begin = origin + (point - origin) // step * step
            end = begin + step if high is None else min(begin + step, high)
            edge = begin if low is None else max(begin, low)
            labels.append(f"[{_text(Fraction(edge, unit))}, {_text(Fraction(end, unit))})")
    return labels


def _exact(value: Any) -> Fraction | None:
    number = number_of(value)
    return Fraction(number) if number is not None and number.is_finite() else None


def _fraction(value: Any) -> Fraction:
    return Fraction(str(number_of(value)))


def _text(edge: Fraction) -> str:
    """Return an edge, a sum of decimals, as an exact decimal."""
    digits = 0
    while edge.denominator != 1:
        edge, digits = edge * 10, digits + 1
    return edge_text(Decimal(f"{edge.numerator}E-{digits}" if digits else edge.numerator))


@checked_arguments
@dataclass(frozen=True)
class Groups(Builder):
    """Groups of neighbours in an order, of a given size at each level.

    A group of numbers is named ``[first, last]``, any other ``first to last``; a group of one by its value.

    Parameters
    ----------
    sizes
        The number of neighbours in a group at each level, increasing; each a multiple of the one before, so that groups nest.
        The last group may be smaller.
    order
        All values from first to last; none: numbers and dates in their own order, other values by their text.

    Examples
    --------
    >>> Groups((2,), order=("low", "mid", "high")).build(["high", "low", "mid"], column="income").labels
    (('low', 'low to mid', '*'), ('mid', 'low to mid', '*'), ('high', 'high', '*'))
    """

    name: ClassVar[str] = "groups"
    sizes: tuple[int, ...]
    order: tuple[Any, ...] | None = None

    def __post_init__(self) -> None:
        """Refuse sizes that do not make each level coarser than the one below."""
        if any(not isinstance(size, int) for size in self.sizes):
            raise ArgumentError("the size of groups takes whole numbers.")
        growing("the size of groups", self.sizes, nested=True)

    def build(self, values: Sequence[Any], counts: Sequence[int] | None = None, *, column: str | None = None) -> Hierarchy:  # noqa: ARG002
        """Return the values in their order, with a group at each level."""
        leaves = self._ordered([*read_all(values, lambda value: value, "value", column)], column)
        numeric = all(number_of(leaf) is not None for leaf in leaves)
        levels = [_group_labels(leaves, size, numeric=numeric) for size in self.sizes]
        return Hierarchy.from_levels(leaves, *levels, column=column).with_root()

    def _ordered(self, values: list[Any], column: str | None) -> list[Any]:
        if self.order is None:
            return _naturally(values)
        read = reading_for(values)
        known = {read(value) for value in self.order}
        if missing := sum(read(value) not in known for value in values):
            verb = "is" if missing == 1 else "are"
            raise HierarchyError(
                f"{column_said(column)}{missing:,} of {len(values):,} values present {verb} not in the order given."
            )
        if twins := len(self.order) - len(known):
            raise HierarchyError(
                f"{column_said(column)}{twins:,} of {len(self.order):,} values of the order given repeat another."
            )
        return [*self.order]


def _naturally(values: list[Any]) -> list[Any]:
    """Return numbers and dates in their own order, anything else by its text."""
    for read in (number_of, moment_of):
        points: dict[Any, Any] = {value: read(value) for value in values}
        if None not in points.values():
            return sorted(values, key=lambda value, points=points: points[value])  # type: ignore[misc]
    return sorted(values, key=text_of)


def _group_labels(leaves: Sequence[Hashable], size: int, *, numeric: bool) -> list[str]:
    """Return the label of each leaf's group."""
    labels: list[str] = []
    for begin in range(0, len(leaves), size):
        group = leaves[begin : begin + size]
        first, last = text_of(group[0]), text_of(group[-1])
        label = first if len(group) == 1 else f"[{first}, {last}]" if numeric else f"{first} to {last}"
        labels += [label] * len(group)
    return labels


@checked_arguments
@dataclass(frozen=True)
class Rare(Builder):
    r"""Values with fewer records than a threshold become one group, ``other``; thresholds grow from level to level.

    With :math:`n_{(1)} \le n_{(2)} \le \dots` the numbers of records of the values, those merged at threshold :math:`t` are the
    rarest values, as few as possible, that include every :math:`n_{(i)} < t` and, if there is one, hold :math:`t` records
    together. So each group holds :math:`t` records, unless all values together do not.

    Parameters
    ----------
    thresholds
        The smallest number of records at each level, increasing.
    other
        The label of the merged values.

    Examples
    --------
    >>> Rare((3, 10)).build(["a", "b", "c", "d"], [1, 2, 9, 50], column="x").labels
    (('a', 'other', 'other', '*'), ('b', 'other', 'other', '*'), ('c', 'c', 'other', '*'), ('d', 'd', 'd', '*'))
    """

    name: ClassVar[str] = "rare"
    thresholds: tuple[int, ...]
    other: str = "other"

    def __post_init__(self) -> None:
        """Refuse thresholds that do not make each level coarser than the one below."""
        growing("the threshold of rare values", self.thresholds)

    def build(self, values: Sequence[Any], counts: Sequence[int] | None = None, *, column: str | None = None) -> Hierarchy:
        """Return the values, in the order given, with the rare ones merged at each level."""
        if counts is None or len(counts) != len(values):
            raise ArgumentError("merging rare values needs a count for each value.")
        texts = read_all(values, text_of, "value", column)
        if self.other in texts.values():
            raise HierarchyError(
                f"{column_said(column)}the label {shown(self.other)} for merged values is a value itself; choose another."
            )
        pairs = [(int(n), text_of(value)) for value, n in zip(values, counts, strict=True) if value is not None]
        levels = []
        for threshold in self.thresholds:
            merged = _merged(sorted(pairs), threshold)
            levels.append([self.other if text in merged else text for text in texts.values()])
        return Hierarchy.from_levels([*texts], *levels, column=column).with_root()


def _merged(by_count: Sequence[tuple[int, str]], threshold: int) -> set[str]:
    """Return the values to merge: the rare ones, and the next rarest until together they are not rare."""
    merged: set[str] = set()
    held = 0
    for n, text in by_count:
        if n >= threshold and (not merged or held >= threshold):
            break
        merged.add(text)
        held += n
    return merged
