"""How is a file counted that is larger than memory? Batch by batch, coded as they come; only combinations are kept.

A file above `Limits.stream_from` bytes is read in batches. Every column has a dictionary that grows as values come; the records'
codes are counted (`streaming_keys`), with a bounded number of combinations in memory and the rest in temporary files. The
answer is that of reading the file whole, to the digit: types of delimited text are found on all distinct texts.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
import polars as pl

from unveil.sources import files
from unveil.sources.coding import require_countable
from unveil.sources.frames import Source, Tally
from unveil.sources.inputs import locate
from unveil.sources.lossless import typed
from unveil.sources.options import ReadOptions
from unveil.sources.streaming_batches import Batch, IrregularTextError, ParquetFiles, TextFile

if TYPE_CHECKING:
    from numpy.typing import NDArray


__all__ = ["LIMITS", "BytesRead", "Limits", "Sampled", "Stream", "StreamSource", "is_parquet", "limited", "open_stream"]

BytesRead: TypeAlias = Callable[[int, int], None]
"""Called with the number of bytes read and the number of all."""

Codes: TypeAlias = "NDArray[np.integer[Any]]"
_Batches: TypeAlias = "Callable[[], Iterator[list[Codes]]]"
"""Reads a file from its beginning: the codes of each batch, column by column."""
_Found = TypeVar("_Found")

_WIDE = (pl.Int128, pl.UInt128)
_NO_CODE = (1 << 32) - 1
_ALL = 1 << 31
_PACKED = 8
_DRAWN = 1 << 17
"""Of the records at most so many are drawn to find the large classes, which are drawn at least `_OFTEN` times."""
_OFTEN = 8
_ROOM = 4
"""Large classes take at most one place in this many."""
_AS_ENUM = 1 << 16
"""Columns of up to this many texts are handed over as numbers into a list of texts; others as texts."""


@dataclass(frozen=True, slots=True)
class Limits:
    """When a file is streamed, and what of it is in memory at a time.

    Attributes
    ----------
    stream_from
        The size in bytes of text from which on a file is streamed; a compressed file, as Parquet is, counts eightfold.
    rows, text
        A batch: rows of Parquet, bytes of delimited text.
    combinations
        How many distinct combinations are held in memory; more are spilled to the temporary folder.
    progress
        Called with the number of bytes read and the number of all.
    """

    stream_from: int = 256 << 20
    rows: int = 1 << 18
    text: int = 16 << 20
    combinations: int = 1 << 23
    progress: BytesRead | None = None


LIMITS: ContextVar[Limits] = ContextVar("LIMITS", default=Limits())  # noqa: B039 - it is frozen


@contextmanager
def limited(**changes: Any) -> Iterator[None]:
    """Change some of the `Limits` for what is counted in a block.

    Examples
    --------
    >>> from unveil.sources.streaming import LIMITS, limited
    >>> with limited(combinations=1000):
    ...     LIMITS.get().combinations
    1000
    """
    token = LIMITS.set(replace(LIMITS.get(), **changes))
    try:
        yield
    finally:
        LIMITS.reset(token)


@dataclass(frozen=True, slots=True, eq=False)
class Sampled:
    """All records of the large classes of a key and of a random share of the others, and the whole's sensitive values.

    Attributes
    ----------
    cells, certain
        The combinations of key and sensitive columns whose key is in the random share, and those whose key is large.
    secrets
        The combinations of the sensitive columns, of all records; none without sensitive columns.
    records
        The records of the whole file.
    level
        The share is 2 to the power of minus this; 0: these are all.
    """

    cells: Tally
    certain: Tally
    secrets: Tally | None
    records: int
    level: int


@dataclass(frozen=True, slots=True)
class Stream:
    """A file, or a folder of Parquet files, that can be counted in batches."""

    path: str
    options: ReadOptions

    def tally(self, columns: Sequence[str]) -> Tally:
        """Count the combinations of the columns."""
        from unveil.sources.streaming_keys import KeyCounter

        def counted(batches: _Batches, coders: Sequence[_Coder]) -> Tally:
            with KeyCounter(len(columns), LIMITS.get().combinations) as counter:
                for codes in batches():
                    counter.add(codes, [coder.size for coder in coders])
                return _decoded(columns, coders, *counter.cells([coder.size for coder in coders]))

        return self._run(columns, counted)

    def collect(self, columns: Sequence[str]) -> pl.DataFrame:
        """Read the columns whole."""
        if not os.path.isdir(self.path):  # noqa: PTH112
            return files.read(self.path, columns, self.options)
        held = ParquetFiles.at(self.path)
        frame = pl.concat(batch.frame for batch in held.batches(columns, _ALL, lambda _, column: column))
        found = {name: frame[str(at)] for at, name in enumerate(columns)}
        return pl.DataFrame({name: _typed(column) if name in held.texts else column for name, column in found.items()})

    def sample(self, key: Sequence[str], sensitive: Sequence[str], most: int, seed: int) -> Sampled:
        """Count as `tally` does; beyond `most` combinations, read again for large classes of the key and a share of others."""

        def counted(batches: _Batches, coders: Sequence[_Coder]) -> Sampled:
            first = _Pass(key, sensitive, coders, most, seed)
            for codes in batches():
                first.look(codes)
            if not first.counter.level:
                return first.result()
            second = _Pass(key, sensitive, coders, most, seed, first)
            for codes in batches():
                second.counter.add(codes, [coder.size for coder in coders])
            return second.result()

        return self._run([*key, *sensitive], counted)

    def _run(self, columns: Sequence[str], counted: Callable[[_Batches, Sequence[_Coder]], _Found]) -> _Found:
        """Count the batches; those of text again, record by record, where its quotes ask for it."""
        limits = LIMITS.get()
        if is_parquet(self.path):
            held = ParquetFiles.at(self.path)
            for name in columns:
                require_countable(name, pl.Series(dtype=held.schema[name]))
            coders = [_coder(held.schema[name], None if name not in held.texts else ()) for name in columns]
            return counted(lambda: _coded(held.batches(columns, limits.rows, _expressions(coders)), held.total, coders), coders)
        text = TextFile.at(self.path, self.options)
        coders = [_coder(pl.String(), self.options.missing) for _ in columns]
        try:
            return counted(lambda: _coded(text.batches(columns, limits.text, _expressions(coders)), text.total, coders), coders)
        except IrregularTextError:
            again = [_coder(pl.String(), self.options.missing) for _ in columns]
            return counted(lambda: _coded(text.by_hand(columns, _expressions(again)), text.total, again), again)


class _Pass:
    """One reading of a file that is sampled: the first looks for large classes of the key, the second holds them."""

    def __init__(
        self,
        key: Sequence[str],
        sensitive: Sequence[str],
        coders: Sequence[_Coder],
        most: int,
        seed: int,
        before: _Pass | None = None,
    ) -> None:
        from unveil.sources.streaming_keys import KeyCounter

        self._names, self._coders, self._key = [*key, *sensitive], coders, len(key)
        self._secrets = KeyCounter(max(1, len(sensitive)), LIMITS.get().combinations)
        certain = np.empty(0, dtype=np.uint64)
        if before is not None:
            self._secrets, certain = before._secrets, before._large(most)  # noqa: SLF001 - of the same kind
        self.counter = KeyCounter(len(coders), most, sampled=len(key), certain=certain, seed=seed)
        self._random, self._share = np.random.default_rng(seed), 1.0
        self._drawn = np.empty(0, dtype=np.uint64)

    def look(self, codes: list[Codes]) -> None:
        """Count a batch, and draw some of its records."""
        from unveil.sources.streaming_keys import hashed

        sizes = [coder.size for coder in self._coders]
        self.counter.add(codes, sizes)
        if len(self._names) > self._key:
            self._secrets.add(codes[self._key :], sizes[self._key :])
        drawn = self._random.random(len(codes[0])) < self._share
        self._drawn = np.concatenate([self._drawn, hashed([column[drawn] for column in codes[: self._key]], self.counter.seed)])
        while len(self._drawn) > _DRAWN:
            self._drawn = self._drawn[self._random.random(len(self._drawn)) < 0.5]  # noqa: PLR2004
            self._share /= 2

    def result(self) -> Sampled:
        """Return what was counted, the large classes apart."""
        from unveil.sources.streaming_keys import hashed, is_among

        codes, n = self.counter.cells([coder.size for coder in self._coders])
        large = is_among(hashed(codes[: self._key], self.counter.seed), self.counter.certain)
        parts = [_decoded(self._names, self._coders, [c[kept] for c in codes], n[kept]) for kept in (~large, large)]
        hidden, secrets = self._coders[self._key :], None
        if hidden:
            secrets = _decoded(self._names[self._key :], hidden, *self._secrets.cells([coder.size for coder in hidden]))
        return Sampled(parts[0], parts[1], secrets, self.counter.records, self.counter.level)

    def _large(self, most: int) -> NDArray[np.uint64]:
        """Return the hashes of the classes that were drawn often, at most so many that they leave room for others."""
        found, times = np.unique(self._drawn, return_counts=True)
        often = np.argsort(-times, kind="stable")[: most // _ROOM]
        return np.sort(found[often[times[often] >= _OFTEN]])


@dataclass(frozen=True, slots=True)
class StreamSource(Source):
    """A source that is counted in batches, and can be sampled."""

    stream: Stream | None = None


def open_stream(path: str, options: ReadOptions) -> StreamSource | None:
    """Open a folder of Parquet files, or a file that is large enough to be counted in batches and of a format that allows it."""
    stream = Stream(path, options)
    if os.path.isdir(path):  # noqa: PTH112 - to Path the empty path is the present folder
        names = tuple(ParquetFiles.at(path).schema)
    elif not os.path.isfile(path) or _unpacked(path) < LIMITS.get().stream_from:  # noqa: PTH113
        return None
    elif files._format(locate(path)) in ("parquet", "delimited"):  # noqa: SLF001
        names = tuple(files.column_names(path, options))
    else:
        return None
    return StreamSource(path, names, stream.collect, stream.tally, stream)


def _unpacked(path: str) -> int:
    """Return about how many bytes of text a file holds; compressed ones, as Parquet is, hold a multiple of their size."""
    size = Path(path).stat().st_size
    return size * _PACKED if path.lower().endswith((".gz", ".parquet", ".pq")) else size


def is_parquet(path: str) -> bool:
    """Whether a path leads to Parquet: a file, or a folder of them."""
    return os.path.isdir(path) or files._format(locate(path)) == "parquet"  # noqa: PTH112, SLF001


def _coded(batches: Iterator[Batch], total: int, coders: Sequence[_Coder]) -> Iterator[list[Codes]]:
    """Give the codes of every batch, while the next one is read, and tell how far the file is read."""
    progress, done = LIMITS.get().progress, 0
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(next, batches, None)
        while (batch := waiting.result()) is not None:
            waiting = pool.submit(next, batches, None)
            if batch.frame.height:
                yield [coder.codes(batch.frame[str(at)]) for at, coder in enumerate(coders)]
            done = min(total, done + batch.bytes)
            if progress is not None:
                progress(done, total)


def _expressions(coders: Sequence[_Coder]) -> Callable[[int, pl.Expr], pl.Expr]:
    return lambda at, column: coders[at].expression(column)


def _coder(dtype: pl.DataType, missing: Sequence[str] | None) -> _Coder:
    """Return the coder of a column of this type; with `missing`, of texts that may turn out to be numbers."""
    if dtype.is_float() or dtype.is_temporal() or dtype == pl.Boolean or (dtype.is_integer() and dtype not in _WIDE):
        return _Numbers(dtype)
    return _Texts(dtype, missing)


class _Coder:
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


class _Texts(_Coder):
    """Texts, and what has no other form here, numbered by the engine."""

    def __init__(self, dtype: pl.DataType, missing: Sequence[str] | None) -> None:
        super().__init__()
        self._dtype, self._missing, self._known = dtype, missing, pl.Categories.random()
        self._held = pl.Series(dtype=pl.Categorical(self._known))  # the engine forgets texts that no column refers to

    def expression(self, column: pl.Expr) -> pl.Expr:
        return column.cast(pl.String).cast(pl.Categorical(self._known)).to_physical()

    def codes(self, column: pl.Series) -> Codes:
        if column.null_count():
            column = column.fill_null(_NO_CODE)
        codes = np.asarray(column.to_numpy() + np.uint32(1))  # that of a null turns over to 0
        self.size = max(self.size, int(codes.max()) + 1)
        return codes

    def column(self, codes: Codes) -> pl.Series:
        values = self._known.to_series().head(self.size - 1)
        if self._missing is not None:
            values = _typed(values, self._missing)
        elif self._dtype not in (pl.String, pl.Categorical, pl.Enum, pl.Null):
            values = values.cast(self._dtype)
        if values.dtype != pl.String or len(values) > _AS_ENUM:
            return _gathered(values, codes)
        texts = values.is_not_null().to_numpy()
        place = np.where(texts, np.cumsum(texts) - 1, _NO_CODE).astype(np.uint32)
        numbers = pl.Series(np.concatenate([[np.uint32(_NO_CODE)], place])[codes])
        return numbers.set(numbers == _NO_CODE, None).cat.to(pl.Enum(values.drop_nulls()))


class _Numbers(_Coder):
    """Numbers, dates and truth values, as 64 bits."""

    def __init__(self, dtype: pl.DataType) -> None:
        from unveil.sources.streaming_keys import Numbering

        super().__init__()
        self._dtype, self._numbering = dtype, Numbering()

    def expression(self, column: pl.Expr) -> pl.Expr:
        if self._dtype.is_float():
            return column.cast(pl.Float64).fill_nan(None) + 0.0  # -0.0 is no other number than 0.0
        return column.to_physical().cast(pl.UInt64 if self._dtype == pl.UInt64 else pl.Int64)

    def codes(self, column: pl.Series) -> Codes:
        null = column.is_null().to_numpy() if column.null_count() else None
        values = (column if null is None else column.fill_null(0)).to_numpy().view(np.int64)
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


def _decoded(names: Sequence[str], coders: Sequence[_Coder], codes: list[Codes], n: NDArray[np.int64]) -> Tally:
    """Return combinations as values; their codes are used up."""
    columns = {}
    for at, (name, coder) in enumerate(zip(names, coders, strict=True)):
        columns[name] = coder.column(codes[at])
        codes[at] = np.empty(0, np.uint8)  # one form of a column at a time
    return Tally(pl.DataFrame(columns), n)


def _typed(texts: pl.Series, missing: Sequence[str] = ()) -> pl.Series:
    return typed(pl.DataFrame({"values": texts}), missing)["values"]
