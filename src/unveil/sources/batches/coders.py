"""Codes for the values of a stream, with a growing dictionary for every column."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import polars as pl

from unveil.run import active_run
from unveil.sources.batches.dictionaries import NumberDictionary, TextDictionary
from unveil.sources.files.lossless import typed
from unveil.sources.listed import Listed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.sources.batches.reading import FileBatch

__all__ = [
    "CodedBatch",
    "CodedBatches",
    "Coder",
    "Codes",
    "coded",
    "coder_of",
    "expressions",
    "listed",
    "typed_texts",
    "values_of",
]

Codes: TypeAlias = "NDArray[np.integer[Any]]"
_Item = TypeVar("_Item")


class CodedBatch(NamedTuple):
    """The codes of a batch, column by column, and how many codes each column has had so far."""

    codes: list[Codes]
    sizes: list[int]


CodedBatches: TypeAlias = "Callable[[], Iterator[CodedBatch]]"
"""A function that reads data from its beginning."""

_WIDE = (pl.Int128, pl.UInt128)


def coded(batches: Iterator[FileBatch], coders: Sequence[Coder], total: int) -> Iterator[CodedBatch]:
    """Yield the codes of every batch while the next is coded and the one after it is read, and report the progress."""
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
    """Yield items, none of which is None, while a thread makes the next one."""
    own = copy_context()  # the run that is active, with its limits

    def following() -> _Item | None:
        return own.run(lambda: next(items, None))

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(following)
        while (item := waiting.result()) is not None:
            waiting = pool.submit(following)
            yield item


def expressions(coders: Sequence[Coder]) -> Callable[[int, pl.Expr], pl.Expr]:
    """Return the expression that the engine applies to each column while reading it."""
    return lambda at, column: coders[at].expression(column)


def coder_of(dtype: pl.DataType, missing: Sequence[str] | None) -> Coder:
    """Return the coder of a column of this type; with `missing`, for texts that may turn out to be numbers."""
    if dtype.is_float() or dtype.is_temporal() or dtype == pl.Boolean or (dtype.is_integer() and dtype not in _WIDE):
        return _Numbers(dtype)
    return _Texts(dtype, missing)


class Coder:
    """A growing dictionary of values; code 0 is a null."""

    @property
    def size(self) -> int:
        """How many codes there are so far."""
        raise NotImplementedError

    def expression(self, column: pl.Expr) -> pl.Expr:
        """Return the expression that the engine applies to the column while reading it."""
        raise NotImplementedError

    def codes(self, column: pl.Series) -> Codes:
        """Return the codes of a batch of the column that went through `expression`."""
        raise NotImplementedError

    def values(self) -> pl.Series:
        """Return the values in the order of their codes, from 1; they are not kept, because no batch follows."""
        raise NotImplementedError


class _Texts(Coder):
    """Texts, and values of all types without a coder of their own."""

    def __init__(self, dtype: pl.DataType, missing: Sequence[str] | None) -> None:
        self._dtype, self._missing, self._known = dtype, missing, TextDictionary()

    @property
    def size(self) -> int:
        return self._known.size

    def expression(self, column: pl.Expr) -> pl.Expr:
        return column.cast(pl.String)

    def codes(self, column: pl.Series) -> Codes:
        parts = [self._known.codes(chunk) for chunk in column.get_chunks()]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def values(self) -> pl.Series:
        texts, self._known = self._known.values(), TextDictionary()
        if self._missing is not None:
            return typed_texts(texts, self._missing)
        return texts if self._dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null) else texts.cast(self._dtype)


class _Numbers(Coder):
    """Numbers, dates and truth values, as 64 bits."""

    def __init__(self, dtype: pl.DataType) -> None:
        self._dtype, self._known = dtype, NumberDictionary()

    @property
    def size(self) -> int:
        return self._known.size

    def expression(self, column: pl.Expr) -> pl.Expr:
        if self._dtype.is_float():
            return column.cast(pl.Float64).fill_nan(None)
        return column.to_physical().cast(pl.UInt64 if self._dtype == pl.UInt64 else pl.Int64)

    def codes(self, column: pl.Series) -> Codes:
        null = column.is_null().to_numpy() if column.null_count() else None
        plain = (column if null is None else column.fill_null(0)).to_numpy()
        values = (plain + 0.0 if self._dtype.is_float() else plain).view(np.int64)  # -0.0 is the same number as 0.0
        if null is None:
            return self._known.codes(values)
        codes = np.zeros(len(values), dtype=np.uint32)
        codes[~null] = self._known.codes(values[~null])
        return codes

    def values(self) -> pl.Series:
        values, self._known = self._known.values(), NumberDictionary()
        if self._dtype.is_float():
            return pl.Series(values.view(np.float64)).cast(self._dtype)
        if self._dtype == pl.UInt64:
            return pl.Series(values.view(np.uint64))
        return pl.Series(values).cast(pl.Series(dtype=self._dtype).to_physical().dtype).cast(self._dtype)


def values_of(coders: Sequence[Coder]) -> list[pl.Series]:
    """Return the values of each coder, and empty it."""
    run, values = active_run(), []
    for coder in coders:
        run.check()
        values.append(coder.values())
    return values


def listed(names: Sequence[str], values: Sequence[pl.Series], codes: Sequence[Codes]) -> dict[str, Listed]:
    """Return the columns of combinations, given the values that the coders return and their codes."""
    return {name: Listed.of(of, places) for name, of, places in zip(names, values, codes, strict=True)}


def typed_texts(texts: pl.Series, missing: Sequence[str] = ()) -> pl.Series:
    """Return texts as numbers, if all of them are numbers."""
    return typed(pl.DataFrame({"values": texts}), missing)["values"]
