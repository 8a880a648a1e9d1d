"""Numbers as people read them, shared by terminal, page and one-line forms."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Integral
from typing import SupportsFloat

__all__ = ["counted", "number", "numbered"]

_DECIMALS = 4
_STEP = 10.0**-_DECIMALS
_ROUNDING = 1e-12  # a float nearer than this to 0 or 1 is taken for it
_LARGE = 1e15  # beyond it a float no longer holds the digits that would be printed


def number(value: SupportsFloat) -> str:
    """Return a number as people read it: integers with separators, other numbers with four decimals.

    What is not quite 0 or 1 is never rounded to it, because these two are claims: nothing is disclosed, all is.

    Examples
    --------
    >>> [number(x) for x in (30162, 0.5, 1.0, 0.99999, 0.00002, math.inf)]
    ['30,162', '0.5000', '1.0000', '>0.9999', '<0.0001', '∞']
    """
    if isinstance(value, Integral):
        return f"{int(value):,}"
    x = float(value)
    if not math.isfinite(x):
        return "nan" if math.isnan(x) else "∞" if x > 0 else "-∞"
    if abs(x) >= _LARGE:
        return f"{x:.{_DECIMALS}e}"
    rounded = round(x, _DECIMALS) + 0.0  # no "-0.0000"
    if rounded in {0.0, 1.0} and abs(x - rounded) > _ROUNDING:
        sign, bound = ("<", rounded + _STEP) if x > rounded else (">", rounded - _STEP)
        return f"{sign}{bound:.{_DECIMALS}f}"
    return f"{rounded:,.{_DECIMALS}f}"


def numbered(figures: Mapping[str, SupportsFloat]) -> str:
    """Return names, each with its figure.

    Examples
    --------
    >>> numbered({"age": 0.5, "zip": 1.0})
    'age (0.5000), zip (1.0000)'
    """
    return ", ".join(f"{name} ({number(figure)})" for name, figure in figures.items())


def counted(n: int, thing: str, things: str | None = None) -> str:
    """Return a number with what it counts.

    Examples
    --------
    >>> counted(1, "record"), counted(30162, "record"), counted(2, "class", "classes")
    ('1 record', '30,162 records', '2 classes')
    """
    return f"{n:,} {thing if n == 1 else things or thing + 's'}"
