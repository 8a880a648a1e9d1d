"""A sample of classes, drawn by a hash if there are too many combinations to hold.

A file that is streamed, or a table of an engine in batches, is read once to find the largest classes of the key, and, if the
limit was exceeded, once more to hold these and a random share of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import polars as pl

from unveil.errors import EmptyDataError
from unveil.run import active_run
from unveil.sources.base import Tally
from unveil.sources.batches.coders import CodedBatch, CodedBatches, Coder, coded, coder_of, listed, values_of
from unveil.sources.batches.counting import StreamSource
from unveil.sources.batches.reading import FileBatch
from unveil.sources.coding import require_countable
from unveil.sources.engines.table import EngineSource
from unveil.sources.listed import ListedTally

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Sampled", "sample"]

_Result = TypeVar("_Result")
_DRAWN = 1 << 17
"""The most records drawn to find the large classes, which are those drawn at least `_OFTEN` times."""
_OFTEN = 8
_ROOM = 4
"""Large classes take at most one in this many of the combinations held."""


@dataclass(frozen=True, slots=True, eq=False)
class Sampled:
    """All records of the large classes of a key and of a random share of the others, with the sensitive values of all records.

    Attributes
    ----------
    cells, certain
        The combinations of key and sensitive columns with a key in the random share, and those with the key of a large class.
    sensitive
    The combinations of the sensitive columns in all records; None without sensitive columns.
    records
        The number of records of the whole file.
    level
        The share is 2 to the power of minus `level`; 0: all classes.
    """

    cells: Tally
    certain: Tally
    sensitive: Tally | None
    records: int
    level: int


def sample(source: StreamSource | EngineSource, key: Sequence[str], sensitive: Sequence[str], most: int, seed: int) -> Sampled:
    """Count combinations; if there are more than `most`, read again for large classes of the key and a share of the others."""

    def counted(batches: CodedBatches, coders: Sequence[Coder]) -> Sampled:
        first = _Pass(key, sensitive, coders, most, seed)
        for batch in batches():
            first.look(batch)
        if not first.counter.level:
            return first.result()
        second = _Pass(key, sensitive, coders, most, seed, first)
        for batch in batches():
            second.counter.add(batch.codes, batch.sizes)
        return second.result()

    columns = [*key, *sensitive]
    if isinstance(source, EngineSource):
        return _of_engine(source, columns, counted)
    return source.stream.run(columns, counted)


def _of_engine(
    source: EngineSource, columns: Sequence[str], counted: Callable[[CodedBatches, Sequence[Coder]], _Result]
) -> _Result:
    """Count the batches of a table; the first batch determines the types."""
    first = next(source.batches(columns), None)
    if first is None or first.is_empty():
        raise EmptyDataError.no_records(source.place)
    for name in columns:
        require_countable(name, first[name])
    coders = [coder_of(first[name].dtype, None) for name in columns]

    def numbered() -> Iterator[FileBatch]:
        for frame in source.batches(columns):
            plain = pl.DataFrame({str(at): frame[name] for at, name in enumerate(columns)})
            yield FileBatch(plain.select(coder.expression(pl.col(str(at))) for at, coder in enumerate(coders)), 0)

    return counted(lambda: coded(numbered(), coders, 0), coders)


class _Pass:
    """One pass over a file to sample: the first finds the large classes of the key, the second holds them."""

    def __init__(
        self,
        key: Sequence[str],
        sensitive: Sequence[str],
        coders: Sequence[Coder],
        most: int,
        seed: int,
        before: _Pass | None = None,
    ) -> None:
        from unveil.sources.batches.combinations import KeyCounter

        self._names, self._coders, self._key = [*key, *sensitive], coders, len(key)
        self._sensitive = KeyCounter(max(1, len(sensitive)), active_run().limits.combinations)
        certain = np.empty(0, dtype=np.uint64)
        if before is not None:
            self._sensitive, certain = before._sensitive, before._large(most)  # noqa: SLF001 - of the same kind
        self.counter = KeyCounter(len(coders), most, sampled=len(key), certain=certain, seed=seed)
        self._random, self._share = np.random.default_rng(seed), 1.0
        self._drawn = np.empty(0, dtype=np.uint64)

    def look(self, batch: CodedBatch) -> None:
        """Count a batch, and draw some of its records."""
        from unveil.sources.batches.combinations import hashed

        codes, sizes = batch
        self.counter.add(codes, sizes)
        if len(self._names) > self._key:
            self._sensitive.add(codes[self._key :], sizes[self._key :])
        drawn = self._random.random(len(codes[0])) < self._share
        self._drawn = np.concatenate([self._drawn, hashed([column[drawn] for column in codes[: self._key]], self.counter.seed)])
        while len(self._drawn) > _DRAWN:
            self._drawn = self._drawn[self._random.random(len(self._drawn)) < 0.5]  # noqa: PLR2004
            self._share /= 2

    def result(self) -> Sampled:
        """Return the counts, with the large classes separate."""
        from unveil.sources.batches.combinations import hashed, is_among

        sizes = [coder.size for coder in self._coders]
        values = values_of(self._coders)
        codes, n = self.counter.cells(sizes)
        large = is_among(hashed(codes[: self._key], self.counter.seed), self.counter.certain)
        parts = [ListedTally(listed(self._names, values, [c[kept] for c in codes]), n[kept]) for kept in (~large, large)]
        sensitive = None
        if hidden := self._names[self._key :]:
            codes, n = self._sensitive.cells(sizes[self._key :])
            sensitive = ListedTally(listed(hidden, values[self._key :], codes), n)
        return Sampled(parts[0], parts[1], sensitive, self.counter.records, self.counter.level)

    def _large(self, most: int) -> NDArray[np.uint64]:
        """Return the hashes of the classes drawn often, limited to leave room for others."""
        hashes, times = np.unique(self._drawn, return_counts=True)
        often = np.argsort(-times, kind="stable")[: most // _ROOM]
        return np.sort(hashes[often[times[often] >= _OFTEN]])
