"""Codes for the values of a stream: every column has a dictionary that grows as values come."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import polars as pl

from unveil.run import active_run
from unveil.sources.base import Tally
from unveil.sources.files.lossless import typed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.sources.batches.reading import FileBatch

__all__ = ["CodedBatch", "CodedBatches", "Coder", "Codes", "coded", "coder_of", "decoded", "expressions", "typed_texts"]

Codes: TypeAlias = "NDArray[np.integer[Any]]"
_Item = TypeVar("_Item")


class CodedBatch(NamedTuple):
    """The codes of a batch, column by column, and how many codes each column has had so far."""

    codes: list[Codes]
    sizes: list[int]


CodedBatches: TypeAlias = "Callable[[], Iterator[CodedBatch]]"
"""Reads data from its beginning."""

_WIDE = (pl.Int128, pl.UInt128)
_NO_CODE = (1 << 32) - 1
_AS_ENUM = 1 << 16
"""Columns of up to this many texts are handed over as places in a list of texts, others as texts."""


def coded(batches: Iterator[FileBatch], coders: Sequence[Coder], total: int) -> Iterator[CodedBatch]:
    """Give the codes of every batch while the next one is coded and the one after it read, and report the progress."""
    run, done = active_run(), 0

    def codes_of(batch: FileBatch) -> tuple[CodedBatch | None, int]:
        if not batch.frame.height:
            return None, batch.bytes
        codes = [coder.codes(batch.frame[str(at)]) for at, coder in enumerate(coders)]
        return CodedBatch(codes, [coder.size for coder in coders]), batch.bytes

    for codes, taken in _ahead(map(codes_of, _ahead(batches))):
        if codes is not None:
            yield codes
        done = min(total, done + taken)
        run.at("bytes counted", done, total)


def _ahead(items: Iterator[_Item]) -> Iterator[_Item]:
    """Give items, none of which is None, while a thread makes the next one."""
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(next, items, None)
        while (item := waiting.result()) is not None:
            waiting = pool.submit(next, items, None)
            yield item


def expressions(coders: Sequence[Coder]) -> Callable[[int, pl.Expr], pl.Expr]:
    """Return what the engine does to each column while it reads it."""
    return lambda at, column: coders[at].expression(column)


def coder_of(dtype: pl.DataType, missing: Sequence[str] | None) -> Coder:
    """Return the coder of a column of this type; with `missing`, for texts that may turn out to be numbers."""
    if dtype.is_float() or dtype.is_temporal() or dtype == pl.Boolean or (dtype.is_integer() and dtype not in _WIDE):
        return _Numbers(dtype)
    return _Texts(dtype, missing)


class Coder:
    """A dictionary that grows; 0 stands for a null."""

    def __init__(self) -> None:
        self.size = 1

    def expression(self, column: pl.Expr) -> pl.Expr:
        """Return what the engine does to the column while it reads it."""
        raise NotImplementedError

    def codes(self, column: pl.Series) -> Codes:
        """Return the codes of a batch of the column that went through `expression`."""
        raise NotImplementedError

    def column(self, codes: Codes) -> pl.Series:
        """Return the values that codes stand for."""
        raise NotImplementedError


class _Texts(Coder):
    """Texts, and values of all types without a coder of their own: the engine numbers those that differ."""

    def __init__(self, dtype: pl.DataType, missing: Sequence[str] | None) -> None:
        from unveil.sources.batches.views import TextNumbering

        super().__init__()
        self._dtype, self._missing, self._known = dtype, missing, pl.Categories.random()
        self._held = pl.Series(dtype=pl.Categorical(self._known))  # the engine forgets texts that no column refers to
        self._numbering = TextNumbering()
        self._code = np.zeros(1, dtype=np.uint32)

    def expression(self, column: pl.Expr) -> pl.Expr:
        return column.cast(pl.String)

    def codes(self, column: pl.Series) -> Codes:
        parts = [self._codes(chunk) for chunk in column.get_chunks()]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _codes(self, chunk: pl.Series) -> Codes:
        numbers, new, forgotten = self._numbering.numbers(chunk)
        if len(new):
            texts = chunk.gather(new).cast(pl.Categorical(self._known))
            self._code = np.concatenate([self._code, texts.to_physical().to_numpy() + np.uint32(1)])
            self.size = max(self.size, int(self._code.max()) + 1)
        codes = self._code[numbers]
        if forgotten:
            self._code = self._code[:1]
        return codes

    def column(self, codes: Codes) -> pl.Series:
        values = self._known.to_series().head(self.size - 1)
        if self._missing is not None:
            values = typed_texts(values, self._missing)
        elif self._dtype not in (pl.String, pl.Categorical, pl.Enum, pl.Null):
            values = values.cast(self._dtype)
        if values.dtype != pl.String or len(values) > _AS_ENUM:
            return _gathered(values, codes)
        texts = values.is_not_null().to_numpy()
        place = np.where(texts, np.cumsum(texts) - 1, _NO_CODE).astype(np.uint32)
        numbers = pl.Series(np.concatenate([[np.uint32(_NO_CODE)], place])[codes])
        return numbers.set(numbers == _NO_CODE, None).cat.to(pl.Enum(values.drop_nulls()))


class _Numbers(Coder):
    """Numbers, dates and truth values, as 64 bits."""

    def __init__(self, dtype: pl.DataType) -> None:
        from unveil.sources.batches.combinations import Numbering

        super().__init__()
        self._dtype, self._numbering = dtype, Numbering()

    def expression(self, column: pl.Expr) -> pl.Expr:
        if self._dtype.is_float():
            return column.cast(pl.Float64).fill_nan(None)
        return column.to_physical().cast(pl.UInt64 if self._dtype == pl.UInt64 else pl.Int64)

    def codes(self, column: pl.Series) -> Codes:
        null = column.is_null().to_numpy() if column.null_count() else None
        plain = (column if null is None else column.fill_null(0)).to_numpy()
        values = (plain + 0.0 if self._dtype.is_float() else plain).view(np.int64)  # -0.0 is the same number as 0.0
        if null is None:
            codes = self._numbering.codes(values)
        else:
            codes = np.zeros(len(values), dtype=np.uint32)
            codes[~null] = self._numbering.codes(values[~null])
        self.size = self._numbering.size
        return codes

    def column(self, codes: Codes) -> pl.Series:
        values = self._numbering.values()
        if self._dtype.is_float():
            return _gathered(pl.Series(values.view(np.float64)).cast(self._dtype), codes)
        if self._dtype == pl.UInt64:
            return _gathered(pl.Series(values.view(np.uint64)), codes)
        narrow = pl.Series(dtype=self._dtype).to_physical().dtype
        return _gathered(pl.Series(values).cast(narrow).cast(self._dtype), codes)


def _gathered(values: pl.Series, codes: Codes) -> pl.Series:
    """Return the value of every code; that of 0 is null."""
    return pl.concat([pl.Series([None], dtype=values.dtype), values.alias("")]).gather(codes)


def decoded(names: Sequence[str], coders: Sequence[Coder], codes: list[Codes], n: NDArray[np.int64]) -> Tally:
    """Return combinations as values; their codes are overwritten."""
    columns = {}
    for at, (name, coder) in enumerate(zip(names, coders, strict=True)):
        columns[name] = coder.column(codes[at])
        codes[at] = np.empty(0, np.uint8)  # one form of a column at a time
    return Tally(pl.DataFrame(columns), n)


def typed_texts(texts: pl.Series, missing: Sequence[str] = ()) -> pl.Series:
    """Return texts as numbers, if all of them are numbers."""
    return typed(pl.DataFrame({"values": texts}), missing)["values"]
