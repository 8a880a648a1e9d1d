"""Rewriting of records that do not fit into memory: batch by batch, from a file or an engine to a file.

Records are shuffled in two steps: each goes into a random bucket, and each bucket, which fits into memory, is shuffled when it is
written. Together this gives a uniform permutation.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import polars as pl

from unveil.errors import DataChangedError
from unveil.output import atomic_write, failures_reported, hidden_folder, together
from unveil.run import active_run
from unveil.sources.base import Source, Tally, TallySource
from unveil.sources.batches.counting import StreamSource, is_parquet
from unveil.sources.batches.reading import IrregularTextError, ParquetFiles, TextFile
from unveil.sources.engines.table import EngineSource
from unveil.sources.files.spreadsheets import HarmlessTexts, require_delimited
from unveil.sources.fingerprint import fingerprint_of_files
from unveil.sources.microdata import complete, require_text, without_lists_of_names

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BatchedRecords", "Change", "CompleteSource", "rewrite", "scanned"]


@dataclass(frozen=True, slots=True, eq=False)
class BatchedRecords:
    """Records that are counted and read in batches, never held.

    Attributes
    ----------
    source
        The source of the records; counts are enough as long as nothing is rewritten.
    names
        The columns to read.
    records
        The number of records; 0 until they are counted.
    """

    source: StreamSource | EngineSource | TallySource
    names: tuple[str, ...]
    records: int = 0

    @property
    def place(self) -> str:
        """The location of the records, for messages."""
        return self.source.place

    @property
    def frame(self) -> Source:
        """The data to count, under the same name as the frame of records in memory."""
        return self.source

    def complete(self, columns: Sequence[str]) -> CompleteSource:
        """Return the data without the records that have a null in one of some columns."""
        return CompleteSource(self.source, columns)

    def without(self, names: Sequence[str]) -> BatchedRecords:
        """Return the records without some columns."""
        return replace(self, names=tuple(name for name in self.names if name not in names))

    def fingerprint(self) -> bytes:
        """Return the SHA-256 of the streamed files and of the options by which they are read; a table in an engine has none.

        The files of a folder are hashed with their relative paths, which may hold values.
        """
        if not isinstance(self.source, StreamSource):
            raise TypeError("records of an engine have no order, so their draws cannot be repeated")
        stream = self.source.stream
        files = ParquetFiles.at(stream.path).paths if is_parquet(stream.path) else (stream.path,)
        content = fingerprint_of_files({os.path.relpath(file, stream.path): file for file in files})
        return hashlib.sha256(content + repr((stream.options, self.names)).encode(errors="surrogatepass")).digest()

    def batches(self, *, by_hand: bool = False) -> Iterator[pl.DataFrame]:
        """Yield the records in batches, those of delimited text as text, with missing values as nulls.

        Raises
        ------
        IrregularTextError
            If a text can only be read by hand, that is, record by record; batches yielded before must be discarded.
        """
        if isinstance(self.source, EngineSource):
            yield from self.source.batches(self.names)
            return
        if isinstance(self.source, TallySource):
            self.source.require_records()
        stream = self.source.stream
        if is_parquet(stream.path):
            held = ParquetFiles.at(stream.path)
            self._require_all(held.schema)
            kinds = held.kinds

            def typed(at: int, column: pl.Expr) -> pl.Expr:
                return column.cast(kinds[self.names[at]]) if self.names[at] in kinds else column

            for batch in held.batches(self.names, active_run().limits.rows, typed):
                yield _named(batch.frame, self.names)
        else:
            text, missing = TextFile.at(stream.path, stream.options), ["", *stream.options.missing]
            self._require_all(text.table.names)

            def without_missing(_: int, column: pl.Expr) -> pl.Expr:
                return pl.when(column.is_in(missing)).then(None).otherwise(column)

            read = text.by_hand(self.names, without_missing)
            if not by_hand:
                read = text.batches(self.names, active_run().limits.text, without_missing)
            for batch in read:
                yield _named(batch.frame, self.names)

    def _require_all(self, present: Collection[str]) -> None:
        """Refuse a file that has lost a column since it was opened."""
        if any(name not in present for name in self.names):
            raise DataChangedError.of_counts(self.place)


class CompleteSource(Source):
    """A source without the records that have a null in any of some columns, which need not be the columns counted."""

    def __init__(self, source: Source, columns: Sequence[str]) -> None:
        super().__init__(source.place, source.names)
        self._source, self._columns = source, tuple(columns)
        self.can_count, self.of_counts = source.can_count, source.of_counts
        self.in_hand, self.ordered = source.in_hand, source.ordered
        self.connected = source.connected

    def held(self, given: Any = None) -> AbstractContextManager[Any]:
        """Keep the connection of the inner source."""
        return self._source.held(given)

    def _read(self, columns: Sequence[str]) -> pl.DataFrame:
        return self._kept(Tally(self._source.collect(self._beside(columns))), columns).frame

    def _count(self, columns: Sequence[str]) -> Tally:
        return self._kept(self._source.count(self._beside(columns)), columns)

    def _count_numbered(self, columns: Sequence[str], owners: Collection[str]) -> Tally:
        return self._kept(self._source.count_numbered(self._beside(columns), owners), columns)

    def _beside(self, columns: Sequence[str]) -> list[str]:
        return list(dict.fromkeys([*columns, *self._columns]))

    def _kept(self, tally: Tally, columns: Sequence[str]) -> Tally:
        frame, rows = tally.frame, np.flatnonzero(complete(tally.frame, self._columns))
        kept = pl.DataFrame({name: frame.get_column(name).gather(rows) for name in columns})
        return Tally(kept, None if tally.n is None else tally.n[rows])


def scanned(path: str, column: int | None = None) -> pl.LazyFrame:
    """Return the output of `rewrite` as a lazy frame, all columns or one."""
    if _as_parquet(path):
        frame = pl.scan_parquet(path, glob=False)
    else:
        frame = pl.scan_csv(path, separator=_separator(path), infer_schema=False, glob=False)
    return frame if column is None else frame.select(pl.nth(column))


class Change(Protocol):
    """A change of records, batch by batch."""

    def begin(self) -> None:
        """Discard all batches: the records start again from the first one."""

    def batch(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, NDArray[np.int64]]:
        """Return the new records of a batch, and the rows of the batch from which they were made."""

    def end(self) -> None:
        """Refuse unexpected records, so that nothing is written."""


def rewrite(
    records: BatchedRecords,
    change: Change,
    out: str,
    *,
    link: str | None = None,
    order: np.random.Generator | None = None,
    spreadsheet_safe: bool = False,
) -> int:
    """Rewrite records into a file, and return how many there are; file and correspondence are written whole or not at all.

    Parameters
    ----------
    records
        The records.
    change
        The change to apply to each batch.
    out
        The file to write: Parquet by its ending, tab-separated for .tsv, else CSV.
    link
        The file for the private correspondence of both files; none: it is not written.
    order
        The random order of the records; None: they keep their order.
    spreadsheet_safe
        Whether texts that a spreadsheet would take for formulas are preceded by an apostrophe.
    """
    if spreadsheet_safe:
        require_delimited(out)
    texts = HarmlessTexts() if spreadsheet_safe else None
    try:
        return _rewritten(records, change, out, link, order, texts, by_hand=False)
    except IrregularTextError:
        return _rewritten(records, change, out, link, order, texts, by_hand=True)


def _rewritten(
    records: BatchedRecords,
    change: Change,
    out: str,
    link: str | None,
    order: np.random.Generator | None,
    texts: HarmlessTexts | None,
    *,
    by_hand: bool,
) -> int:
    run = active_run()

    def tell(done: int) -> None:
        run.at("records, read and written", done, 2 * records.records)

    with hidden_folder(out) as room:
        parts = _Parts(room, out, 1 if order is None else max(1, math.ceil(records.records / run.limits.bucket)), order)
        seen = 0
        change.begin()
        for batch in records.batches(by_hand=by_hand):
            changed, rows = change.batch(batch)
            if not _as_parquet(out):
                require_text(changed)
            if texts is not None:
                texts.see(changed)
            parts.add(changed, rows + seen)
            seen += batch.height
            tell(parts.records)
        change.end()
        return parts.write(link, texts, tell)


class _Parts:
    """Records in transit, in buckets on disk."""

    def __init__(self, room: Path, out: str, buckets: int, order: np.random.Generator | None) -> None:
        self._room, self._out, self._order = room, out, order
        self._waiting: list[list[tuple[pl.DataFrame, NDArray[np.int64]]]] = [[] for _ in range(buckets)]
        self._files: list[list[Path]] = [[] for _ in range(buckets)]
        self.records = 0

    def add(self, frame: pl.DataFrame, rows: NDArray[np.int64]) -> None:
        """Put records into their buckets."""
        self.records += frame.height
        if self._order is None or len(self._files) == 1:
            self._put(0, frame, rows)
            return
        bucket = self._order.integers(0, len(self._files), frame.height)
        for at in range(len(self._files)):
            chosen = np.flatnonzero(bucket == at)
            if len(chosen):
                self._put(at, frame[chosen], rows[chosen])

    def _put(self, at: int, frame: pl.DataFrame, rows: NDArray[np.int64]) -> None:
        self._waiting[at].append((frame, rows))
        if (
            sum(len(some) for _, some in self._waiting[at]) >= active_run().limits.bucket // len(self._files)
            or len(self._files) == 1
        ):
            self._spill(at)

    def _spill(self, at: int) -> None:
        """Write the waiting records of a bucket."""
        if self._waiting[at]:
            place = self._room / f"{at}-{len(self._files[at])}.arrow"
            with failures_reported(self._out):
                pl.concat([frame for frame, _ in self._waiting[at]]).write_ipc(place, compression="lz4")
                place.with_suffix(".rows").write_bytes(np.concatenate([rows for _, rows in self._waiting[at]]).tobytes())
            self._files[at].append(place)
            self._waiting[at].clear()

    def _pieces(self) -> Iterator[tuple[pl.DataFrame, NDArray[np.int64]]]:
        """Yield the records in the order in which they are written."""
        for at, files in enumerate(self._files):
            self._spill(at)
            if self._order is None:
                for file in files:
                    yield _taken(file)
            elif files:
                frames, numbers = zip(*map(_taken, files), strict=True)
                frame, rows = pl.concat(frames), np.concatenate(numbers)
                turn = self._order.permutation(frame.height)
                yield frame[turn], rows[turn]

    def write(self, link: str | None, texts: HarmlessTexts | None, tell: Callable[[int], None]) -> int:
        """Write the release and, on request, the correspondence; return how many records there are."""
        with failures_reported(self._out), together(), ExitStack() as open_files:
            pairs = open_files.enter_context(atomic_write(link, private=True)) if link is not None else None
            if pairs is not None:
                pairs.write(b"original,release\n")
            file = open_files.enter_context(atomic_write(self._out))
            if _as_parquet(self._out):
                self._write_parquet(file, pairs, tell)
            else:
                for at, (frame, _) in enumerate(self._linked(pairs, tell)):
                    shown = frame if texts is None else texts.of(frame)
                    shown.write_csv(file, include_header=at == 0, separator=_separator(self._out))
        return self.records

    def _write_parquet(self, file: Any, pairs: Any, tell: Callable[[int], None]) -> None:
        """Write every piece to a file of its own, then stream all of them into one file."""
        pieces = []
        for at, (frame, _) in enumerate(self._linked(pairs, tell)):
            pieces.append(self._room / f"piece-{at:06}.parquet")
            without_lists_of_names(frame).write_parquet(pieces[-1])
        pl.scan_parquet(pieces, glob=False).sink_parquet(file)

    def _linked(self, pairs: Any, tell: Callable[[int], None]) -> Iterator[tuple[pl.DataFrame, NDArray[np.int64]]]:
        """Yield the pieces, and write where each of their records came from."""
        done = 0
        for frame, rows in self._pieces():
            if pairs is not None:
                numbers = pl.DataFrame({"original": rows + 1, "release": np.arange(done, done + len(rows)) + 1})
                numbers.write_csv(pairs, include_header=False)
            done += len(rows)
            yield frame, rows
            tell(self.records + done)


def _taken(file: Path) -> tuple[pl.DataFrame, NDArray[np.int64]]:
    """Read records, and delete their file."""
    numbers = file.with_suffix(".rows")
    batch = pl.scan_ipc(file, glob=False).collect(), np.fromfile(numbers, dtype=np.int64)
    file.unlink()
    numbers.unlink()
    return batch


def _named(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    return pl.DataFrame({name: frame[str(at)] for at, name in enumerate(names)})


def _as_parquet(path: str) -> bool:
    return path.lower().endswith((".parquet", ".pq"))


def _separator(path: str) -> str:
    return "\t" if path.lower().endswith((".tsv", ".tab")) else ","
