"""Counts of a file larger than memory, read and coded batch by batch; only combinations are kept.

A file above `stream_from` bytes (a limit of the active run) is read in batches. Every column has a dictionary that grows as
values come; the records' codes are counted (`combinations`), with a bounded number of combinations in memory and the rest in
temporary files. The result is exactly that of reading the file whole: types of delimited text are determined
from all distinct texts.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import polars as pl

from unveil.run import active_run
from unveil.sources import files
from unveil.sources.base import Source, Tally
from unveil.sources.batches.coders import CodedBatches, Coder, coded, coder_of, expressions, listed, typed_texts, values_of
from unveil.sources.batches.reading import IrregularTextError, ParquetFiles, TextFile
from unveil.sources.coding import require_countable
from unveil.sources.files.inputs import locate
from unveil.sources.listed import ListedTally
from unveil.sources.options import ReadOptions

__all__ = ["PackedSource", "Stream", "StreamSource", "is_parquet"]

_Result = TypeVar("_Result")

_ALL = 1 << 31
_COUNTED_FROM = 1 << 25
"""A Parquet file with at least this many values is counted faster in batches than read whole."""


@dataclass(frozen=True, slots=True)
class Stream:
    """A file, or a folder of Parquet files, that can be counted in batches."""

    path: str
    options: ReadOptions

    def tally(self, columns: Sequence[str]) -> Tally:
        """Count the combinations of the columns."""
        from unveil.sources.batches.combinations import KeyCounter

        def counted(batches: CodedBatches, coders: Sequence[Coder]) -> Tally:
            with KeyCounter(len(columns), active_run().limits.combinations) as counter:
                for batch in batches():
                    counter.add(batch.codes, batch.sizes)
                sizes = [coder.size for coder in coders]
                values = values_of(coders)  # first, since they take less memory than the dictionaries
                codes, n = counter.cells(sizes)
            return ListedTally(listed(columns, values, codes), n)

        return self.run(columns, counted)

    def collect(self, columns: Sequence[str]) -> pl.DataFrame:
        """Read the columns whole."""
        if not os.path.isdir(self.path):  # noqa: PTH112
            return files.read(self.path, columns, self.options)
        held = ParquetFiles.at(self.path)
        none = pl.DataFrame(schema={str(at): held.schema[name] for at, name in enumerate(columns)})
        batches = [batch.frame for batch in held.batches(columns, _ALL, lambda _, column: column)]
        frame = pl.concat(batches) if batches else none
        series = {name: frame[str(at)] for at, name in enumerate(columns)}
        return pl.DataFrame({name: typed_texts(column) if name in held.texts else column for name, column in series.items()})

    def run(self, columns: Sequence[str], counted: Callable[[CodedBatches, Sequence[Coder]], _Result]) -> _Result:
        """Count the batches; if the quotes of a text require it, read it again, record by record."""
        limits = active_run().limits
        if is_parquet(self.path):
            held = ParquetFiles.at(self.path)
            for name in columns:
                require_countable(name, pl.Series(dtype=held.schema[name]))
            coders = [coder_of(held.schema[name], None if name not in held.texts else ()) for name in columns]
            rows = partial(held.batches, columns, limits.rows, expressions(coders))
            return counted(lambda: coded(rows(), coders, held.total), coders)
        text = TextFile.at(self.path, self.options)
        coders = [coder_of(pl.String(), self.options.missing) for _ in columns]
        pieces = partial(text.batches, columns, limits.text, expressions(coders))
        try:
            return counted(lambda: coded(pieces(), coders, text.total), coders)
        except IrregularTextError:
            again = [coder_of(pl.String(), self.options.missing) for _ in columns]
            return counted(lambda: coded(text.by_hand(columns, expressions(again)), again, text.total), again)


class StreamSource(Source):
    """A file, or a folder of Parquet files, that is counted in batches and can be sampled."""

    can_count = True

    def __init__(self, place: str, names: Sequence[str], stream: Stream) -> None:
        super().__init__(place, names)
        self.stream = stream

    def _read(self, columns: Sequence[str]) -> pl.DataFrame:
        return self.stream.collect(columns)

    def _count(self, columns: Sequence[str]) -> Tally:
        return self.stream.tally(columns)


class PackedSource(files.FileSource):
    """A Parquet file that is small enough to be read whole, but is counted in batches if it holds many values."""

    def _count(self, columns: Sequence[str]) -> Tally:
        if ParquetFiles.at(self._path).height * len(columns) < _COUNTED_FROM:
            return super()._count(columns)
        return Stream(self._path, self._options).tally(columns)


def is_parquet(path: str) -> bool:
    """Whether a path leads to Parquet: a file, or a folder of them."""
    return os.path.isdir(path) or files.format_of(locate(path)) == "parquet"  # noqa: PTH112
