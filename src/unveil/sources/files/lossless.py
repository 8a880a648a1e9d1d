"""Columns of text recognised as numbers without loss.

A column becomes numeric only if distinct texts stay distinct numbers. So leading zeros, plus signs, `1.5` next to `1.50`,
and numbers too long to be stored exactly stay text. Only `-0.0`, a result of rounding, is taken for `0.0`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["typed"]

_INTEGER = r"^(?:0|-?[1-9][0-9]{0,17})$"
_DECIMAL = r"^-?(?:(?:0|[1-9][0-9]{0,14})(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?$"
_MINUS_ZERO = r"^-0\.0$"  # a result of rounding, and the same number as 0.0
_FIRST = 1000


def typed(texts: pl.DataFrame, missing: Sequence[str] = ()) -> pl.DataFrame:
    """Turn columns of text into integers or decimal numbers, or leave them as they are.

    The empty text and the texts in `missing` become null first. Integers must be written canonically: without leading zero,
    plus sign or space, in at most 18 digits. Decimal numbers may have an exponent, and have at most 15 digits before the
    point. A column of nulls stays text.
    """
    names = texts.columns
    frame = texts.rename(dict(zip(names, map(str, range(len(names))), strict=True)))  # some names are patterns to Polars
    empty = pl.all().is_in(["", *missing])
    frame = frame.with_columns(pl.when(empty).then(None).otherwise(pl.all()).name.keep())
    integers, decimals = _numbers(frame)
    frame = frame.with_columns(pl.col(integers).cast(pl.Int64), pl.col(decimals).cast(pl.Float64))
    return frame.rename(dict(zip(frame.columns, names, strict=True)))


def _numbers(frame: pl.DataFrame) -> tuple[list[str], list[str]]:
    """Return the names of integer and of decimal columns; the first records rule out most of the others."""
    first, texts = frame.head(_FIRST), pl.all().drop_nulls()
    candidates = frame.select(_those(first, pl.all().str.contains(f"{_INTEGER}|{_DECIMAL}").all()))
    likely = candidates.select(_those(first.select(candidates.columns), pl.all().str.contains(_INTEGER).all()))
    integers = _those(likely, (texts.len() > 0) & texts.str.contains(_INTEGER).all())
    decimals = _those(candidates.drop(integers), (texts.len() > 0) & texts.str.contains(_DECIMAL).all())
    plain = _those(candidates.select(decimals), _stay_distinct(texts.cast(pl.Float64), texts))
    others = candidates.select(decimals).drop(plain)
    return integers, plain + _those(others, _stay_distinct(texts.cast(pl.Float64), texts.str.replace(_MINUS_ZERO, "0.0")))


def _stay_distinct(numbers: pl.Expr, texts: pl.Expr) -> pl.Expr:
    """Whether distinct texts become distinct, finite numbers."""
    return numbers.is_finite().all() & (numbers.n_unique() == texts.n_unique())


def _those(frame: pl.DataFrame, test: pl.Expr) -> list[str]:
    """Return the names of the columns for which a test of all their values holds."""
    if not frame.width:
        return []
    holds = frame.select(test)
    return [name for name, held in zip(holds.columns, holds.row(0), strict=True) if held]
