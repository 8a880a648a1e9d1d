"""Answers of an engine: its columns, numbered in the query, under their names again and in types that can be counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl

from unveil.errors import UnsupportedDataError, shown
from unveil.sources.base import Tally

__all__ = ["batches_of", "named", "tally_of"]

_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
"""1 January 1 and 31 December 9999, in days from 1970: the earliest and the latest date in Python."""
_LONGEST = 38
_NONE: Mapping[str, int | None] = MappingProxyType({})
_TEXTS = (pl.Categorical, pl.Enum)


def tally_of(answer: pl.DataFrame, columns: Sequence[str], *, numeric: Mapping[str, int | None] = _NONE) -> Tally:
    """Read combinations, with their counts in the last column."""
    counts = answer.to_series(len(columns))
    frame = named(answer, columns, numeric=numeric)
    cells = pl.DataFrame({name: _with_one_zero(frame[name]) for name in columns})
    return Tally(cells, counts.cast(pl.Int64).to_numpy().astype(np.int64))


def named(answer: pl.DataFrame, columns: Sequence[str], *, numeric: Mapping[str, int | None] = _NONE) -> pl.DataFrame:
    """Read columns in their order; those in `numeric` came as texts, so that no digit is lost on the way.

    `numeric` also says how many digits after the point the table gives them, if it does.
    """
    series = {name: answer.to_series(at) for at, name in enumerate(columns)}
    return pl.DataFrame(
        {name: _usual(name, _numbers(held, numeric[name]) if name in numeric else held) for name, held in series.items()}
    )


def batches_of(answer: Iterable[Any], columns: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Read record batches, columns in their order, with the types that the engine gave them: all batches have the same."""
    for batch in answer:
        frame = pl.DataFrame(batch)
        series = {name: _dated(name, frame.to_series(at)) for at, name in enumerate(columns)}
        yield pl.DataFrame({name: held.cast(pl.String) if held.dtype in _TEXTS else held for name, held in series.items()})


def _with_one_zero(series: pl.Series) -> pl.Series:
    """Return -0.0 as 0.0, the same number: an engine may give either of them for both."""
    plain = series.alias("values")  # some names are patterns to Polars
    return plain.set(plain == 0.0, 0.0) if plain.dtype.is_float() else plain


def _usual(name: str, series: pl.Series) -> pl.Series:
    """Return whole decimal numbers as integers if they are short enough, and refuse dates that Python cannot hold."""
    if isinstance(series.dtype, pl.Decimal) and series.dtype.scale == 0:
        whole = series.cast(pl.Int64, strict=False)
        return whole if whole.null_count() == series.null_count() else series
    return _dated(name, series)


def _dated(name: str, series: pl.Series) -> pl.Series:
    """Refuse dates that Python cannot hold."""
    if series.dtype in (pl.Date, pl.Datetime):
        days = series.cast(pl.Date).to_physical()
        if not ((days >= _FIRST_DAY) & (days <= _LAST_DAY)).all():
            raise UnsupportedDataError(
                f"column {shown(name)} holds infinite dates, or dates outside the years 1 to 9999; turn them into nulls or text."
            )
    return series


def _numbers(texts: pl.Series, scale: int | None) -> pl.Series:
    """Read decimal numbers; those too long become floating point, or stay texts if that would merge some. NaN is a null."""
    finite = texts.set(texts == "NaN", None)
    parts = finite.str.strip_chars("-").str.split_exact(".", 1).struct.unnest()
    whole, behind = (int(parts.to_series(at).str.len_bytes().max() or 0) for at in (0, 1))  # type: ignore[arg-type]
    behind = max(behind, scale or 0)
    if whole + behind <= _LONGEST and not finite.str.contains("Infinity").any():
        return finite.str.to_decimal(scale=behind)
    rounded = finite.cast(pl.Float64)
    return rounded if rounded.n_unique() == finite.n_unique() else finite
