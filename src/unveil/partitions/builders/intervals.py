"""Numbers by nested intervals of growing width, with optional open ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import lcm
from typing import Any, ClassVar, TypeAlias

from unveil.arguments import checked_arguments
from unveil.errors import ArgumentError
from unveil.partitions.builders.base import Builder, growing, read_all
from unveil.partitions.hierarchy import Hierarchy
from unveil.partitions.matching import edge_text, number_of

__all__ = ["Intervals"]

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
        levels = [_labels(points, step, origin or 0, (low, high), unit) for step in steps if step is not None]
        return Hierarchy.from_levels(ordered, *levels, column=column).with_root()


def _times(unit: int, x: _Exact) -> int:
    """Return a number as a multiple of a fraction of one."""
    return x.numerator * (unit // x.denominator)


def _labels(
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
