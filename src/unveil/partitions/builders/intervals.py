"""Numbers by intervals of growing width, one inside the other, with open ends if wanted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import floor
from typing import Any, ClassVar

from unveil.arguments import checked_arguments
from unveil.errors import ArgumentError
from unveil.partitions.builders.base import Builder, growing, read_all
from unveil.partitions.hierarchy import Hierarchy
from unveil.partitions.matching import number_of
from unveil.partitions.rules import _edge_text as edge_text

__all__ = ["Intervals"]


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
        The width at each level, growing.
    origin
        A number at which an interval begins.
    bottom, top
        Open ends: at every level all numbers below `bottom` are one group, and all from `top` on are one.

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
        """Return the numbers, in their order, with an interval at each level."""
        numbers = {value: Fraction(x) for value, x in read_all(values, _finite, "finite number", column).items()}
        ordered = sorted(numbers, key=numbers.__getitem__)
        points = [numbers[value] for value in ordered]
        return Hierarchy.from_levels(ordered, *(self._labels(points, width) for width in self.widths), column=column).with_root()

    def _labels(self, points: Sequence[Fraction], width: Any) -> list[str]:
        """Return the interval of each point; the points increase, so those in one interval follow each other."""
        step, origin, low, high = (None if x is None else _fraction(x) for x in (width, self.origin, self.bottom, self.top))
        assert step is not None and origin is not None  # noqa: S101, PT018 - only the ends may be open
        labels: list[str] = []
        end: Fraction | None = None
        for point in points:
            if high is not None and point >= high:
                labels.append(f">= {_text(high)}")
            elif low is not None and point < low:
                labels.append(f"< {_text(low)}")
            elif end is not None and point < end:
                labels.append(labels[-1])
            else:
                begin = origin + floor((point - origin) / step) * step
                end = begin + step if high is None else min(begin + step, high)
                labels.append(f"[{_text(begin if low is None else max(begin, low))}, {_text(end)})")
        return labels


def _finite(value: Any) -> Decimal | None:
    number = number_of(value)
    return number if number is not None and number.is_finite() else None


def _fraction(value: Any) -> Fraction:
    return Fraction(str(number_of(value)))


def _text(edge: Fraction) -> str:
    """Return an edge, a sum of decimals, as the decimal it is."""
    digits = 0
    while edge.denominator != 1:
        edge, digits = edge * 10, digits + 1
    return edge_text(Decimal(f"{edge.numerator}E-{digits}" if digits else edge.numerator))
