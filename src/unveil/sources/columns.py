"""Columns read as the user specifies: codes as text with lost leading zeros restored, and some codes as nulls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import polars as pl

from unveil.errors import UnsupportedDataError, shown
from unveil.sources.base import Source
from unveil.sources.files.lossless import typed

__all__ = ["ReadAsSource", "read_as"]

_DIGITS = r"^[0-9]+$"
_LONGEST_CODE = 30
_EXACT = 2**53


def read_as(source: Source, text: Sequence[str], missing_in: Mapping[str, Sequence[str]]) -> Source:
    """Return the source with some columns read as text, and codes of some columns read as nulls.

    Parameters
    ----------
    source
        The data.
    text
        Columns of codes: numbers become texts, and those that consist of digits get leading zeros up to the longest.
    missing_in
        Texts that stand for a null, by column. Columns that the data lacks are ignored, because a release may lack them.
    """
    present = set(source.names)
    texts = tuple(name for name in text if name in present)
    codes = {name: tuple(said) for name, said in missing_in.items() if name in present and said}
    return ReadAsSource(source, texts, codes) if texts or codes else source


class ReadAsSource(Source):
    """A source with some columns that are read differently from how they are stored."""

    def __init__(self, source: Source, text: Sequence[str], missing_in: Mapping[str, tuple[str, ...]]) -> None:
        super().__init__(source.place, source.names)
        self._source, self._text, self._missing_in = source, frozenset(text), missing_in
        self.ordered, self.connected = source.ordered, source.connected

    def held(self, given: Any = None) -> AbstractContextManager[Any]:
        """Keep the connection of the underlying source."""
        return self._source.held(given)

    def _read(self, columns: Sequence[str]) -> pl.DataFrame:
        frame = self._source.collect(columns)
        return pl.DataFrame({name: self._read_as(frame.get_column(name)) for name in columns})

    def _read_as(self, column: pl.Series) -> pl.Series:
        if codes := self._missing_in.get(column.name):
            column = _without(column, codes)
        return _as_code(column) if column.name in self._text else column


def _without(column: pl.Series, codes: Sequence[str]) -> pl.Series:
    """Return a column with its codes for nulls as nulls; the type of a text column is then determined again."""
    if column.dtype == pl.String:
        return typed(column.to_frame(), codes).to_series()
    if not column.dtype.is_numeric():
        return column
    numbers = pl.Series([*codes], dtype=pl.String).cast(pl.Float64, strict=False).drop_nulls()
    return column.set(column.cast(pl.Float64).is_in(numbers.to_list()), None)


def _is_whole(numbers: pl.Series) -> bool:
    """Whether floats are whole numbers that may have been codes; beyond 2^53, floats cannot represent all of them."""
    return bool((numbers.is_finite() & (numbers.abs() <= _EXACT)).all()) and bool((numbers % 1 == 0).all())


def _as_code(column: pl.Series) -> pl.Series:
    """Return a column as text; texts of digits get leading zeros up to the length of the longest."""
    if column.dtype.is_float() and _is_whole(column.drop_nulls()):
        column = column.cast(pl.Int64)
    try:
        name, texts = column.name, column.cast(pl.String).alias("code")  # some names are patterns to Polars
    except pl.exceptions.PolarsError:
        kind = "bytes that are no text" if column.dtype == pl.Binary else f"{column.dtype.base_type()} values, which are no text"
        raise UnsupportedDataError(f"column {shown(column.name)} holds {kind}; leave it out of `text`.") from None
    digits = texts.filter(texts.str.contains(_DIGITS).fill_null(value=False))
    width = digits.str.len_chars().max()
    if not isinstance(width, int) or width > _LONGEST_CODE:
        return texts.alias(name)
    code = pl.col("code")
    padded = pl.when(code.str.contains(_DIGITS)).then(code.str.zfill(width)).otherwise(code)
    return texts.to_frame().select(padded).to_series().alias(name)
