"""Which interval does a number fall into? Intervals of growing width, one inside the other, with open ends if wanted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import floor
from typing import Any, ClassVar

from unveil.errors import ArgumentError
from unveil.partitions._match import number_of
from unveil.partitions.builders.base import Builder, growing, read_all
from unveil.partitions.hierarchy import Hierarchy

__all__ = ["Intervals"]


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
        """Refuse what makes no chain."""
        growing("the width of intervals", self.widths, nested=True)
        for name in ("origin", "bottom", "top"):
            number = number_of(getattr(self, name))
            if getattr(self, name) is not None and (number is None or not number.is_finite()):
                raise ArgumentError(f"the {name} of intervals is a number.")
        if self.bottom is not None and self.top is not None and _exact(self.bottom) >= _exact(self.top):
            raise ArgumentError("the bottom of intervals must lie below their top.")

    def build(self, values: Sequence[Any], counts: Sequence[int] | None = None, *, column: str | None = None) -> Hierarchy:  # noqa: ARG002
        """Return the numbers, in their order, with an interval at each level."""
        numbers = read_all(values, _finite, "finite number", column)
        ordered = sorted(numbers, key=lambda value: numbers[value])
        levels = [self._edges(numbers.values(), Fraction(_exact(width))) for width in self.widths]
        return Hierarchy.from_partitions(ordered, levels, column=column).with_root()

    def _edges(self, numbers: Iterable[Decimal], width: Fraction) -> dict[str, Any]:
        """Return the ends of the intervals that hold a number, cut at the open ends."""
        origin = Fraction(_exact(self.origin))
        low = None if self.bottom is None else Fraction(_exact(self.bottom))
        high = None if self.top is None else Fraction(_exact(self.top))
        within = {x for x in map(Fraction, numbers) if (low is None or low <= x) and (high is None or x < high)}
        begins = {origin + floor((x - origin) / width) * width for x in within}
        edges = {edge for begin in begins for edge in (begin, begin + width)} | ({low, high} - {None})
        inside = sorted(e for e in edges if e is not None and (low is None or low <= e) and (high is None or e <= high))
        return {"edges": ["-inf"] * (low is not None) + [*map(_decimal, inside)] + ["inf"] * (high is not None)}


def _finite(value: Any) -> Decimal | None:
    number = number_of(value)
    return number if number is not None and number.is_finite() else None


def _exact(value: Any) -> Decimal:
    number = number_of(value)
    assert number is not None  # noqa: S101 - checked when the rule was made
    return number


def _decimal(edge: Fraction) -> Decimal:
    """Return an edge, a sum of decimals, as the decimal it is."""
    digits = 0
    while edge.denominator != 1:
        edge, digits = edge * 10, digits + 1
    return Decimal(f"{edge.numerator}E-{digits}" if digits else edge.numerator)
