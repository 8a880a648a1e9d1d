"""Laws of measures, for authors of new measures, and a Hypothesis strategy that draws tables to test them.

A law takes a function that computes named figures from a table and its key attributes, and the names of the figures that must
satisfy it::

    from hypothesis import given
    from unveil import testing

    @given(testing.tables())
    def test_my_measure(frame):
        testing.unmoved_by_doubling(my_figures, frame, ["a", "b"], ["my measure"])

It raises an `AssertionError` that names the first figure that violates it. This module requires Hypothesis.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from random import Random
from typing import TypeAlias

import polars as pl
from hypothesis import strategies as st

__all__ = [
    "Figures",
    "bounded",
    "riskier_with_more_columns",
    "tables",
    "unmoved_by_doubling",
    "unmoved_by_names",
    "unmoved_by_row_order",
]

Figures: TypeAlias = Callable[[pl.DataFrame, Sequence[str]], Mapping[str, float | None]]
"""A function from a table and its key attributes to figures by name; an undefined figure is None."""

_TINY = 1e-9
_NAMES = {"x": "Z9", "y": "A0", "z": "m"}


@st.composite
def tables(draw: st.DrawFn, *, columns: int = 3, max_rows: int = 14, nulls: bool = True) -> pl.DataFrame:
    """Draw a small table of columns a, b, c... with few values, possibly including nulls, and at least two rows."""
    rows = draw(st.integers(2, max_rows))
    series = {}
    for name in "abcdefgh"[:columns]:
        values = st.sampled_from([None, "x", "y", "z"] if nulls else ["x", "y", "z"])
        series[name] = pl.Series(draw(st.lists(values, min_size=rows, max_size=rows)), dtype=pl.String)
    return pl.DataFrame(series)


def bounded(figures: Figures, frame: pl.DataFrame, key: Sequence[str], bounds: Mapping[str, tuple[float, float]]) -> None:
    """Require that every figure lies between its bounds."""
    values = figures(frame, key)
    for name, (low, high) in bounds.items():
        value = values.get(name)
        _require(value is None or low - _TINY <= value <= high + _TINY, f"{name} is not between {low} and {high}")


def unmoved_by_row_order(
    figures: Figures, frame: pl.DataFrame, key: Sequence[str], names: Collection[str], random: Random
) -> None:
    """Require that the order of the rows changes no figure."""
    shuffled = frame[random.sample(range(frame.height), frame.height)]
    _require_equal(figures(frame, key), figures(shuffled, key), names, "the order of the rows")


def unmoved_by_names(figures: Figures, frame: pl.DataFrame, key: Sequence[str], names: Collection[str]) -> None:
    """Require that renaming the values, so that they sort differently, changes no figure; for tables drawn by `tables`."""
    renamed = frame.with_columns(pl.all().replace_strict(_NAMES, default=None))
    _require_equal(figures(frame, key), figures(renamed, key), names, "the names of the values")


def unmoved_by_doubling(figures: Figures, frame: pl.DataFrame, key: Sequence[str], names: Collection[str]) -> None:
    """Require that doubling the table changes no figure."""
    _require_equal(figures(frame, key), figures(pl.concat([frame, frame]), key), names, "the table doubled")


def riskier_with_more_columns(
    figures: Figures, frame: pl.DataFrame, key: Sequence[str], names: Collection[str], *, safe_is_high: Collection[str] = ()
) -> None:
    """Require that a further key attribute, the last of `key`, makes no figure safer.

    A high figure is a risk, except for those in `safe_is_high`.
    """
    fewer, more = figures(frame, key[:-1]), figures(frame, key)
    for name in names:
        one, other = fewer.get(name), more.get(name)
        if one is None or other is None:
            continue
        rise = _difference(other, one)
        _require((-rise if name in safe_is_high else rise) >= -_TINY, f"{name} becomes safer with another key attribute")


def _require_equal(one: Mapping[str, float | None], other: Mapping[str, float | None], names: Collection[str], what: str) -> None:
    for name in names:
        before, after = one.get(name), other.get(name)
        same = before is after if before is None or after is None else abs(_difference(before, after)) <= _TINY
        _require(same, f"{name} depends on {what}")


def _require(holds: bool, otherwise: str) -> None:  # noqa: FBT001 - what is required
    if not holds:
        raise AssertionError(otherwise)


def _difference(one: float, other: float) -> float:
    """Return the amount by which one figure exceeds another; two equal infinities differ by 0."""
    return 0.0 if math.isinf(one) and one == other else one - other
