"""Sources: data of any kind as columns, counts of their combinations, and batches of records, each column read and coded once.

A `Source` is a frame, a file, a stream of batches, a table in an engine, or counts that were made before. A source that can count
its data does so, and only combinations leave it; one that can rewrite its records does that, too. The data is never changed.

A `HeldSource` keeps the columns of another source for repeated queries. Its memory is bounded: a column that does not fit into
the remaining memory is read again when needed.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeAlias, runtime_checkable

import numpy as np
import polars as pl

from unveil.attributes import Nulls, checked_nulls, require_columns
from unveil.errors import ArgumentError, DuplicateColumnError, EmptyDataError, NullsError, UnsupportedDataError, is_unicode, shown
from unveil.run import active_run, stepped
from unveil.sources.coding import Coded, CodedTable, encode, encode_listed, require_countable
from unveil.sources.listed import Listed, ListedTally, Tally
from unveil.sources.objects import column_of_objects

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.sources.engines.address import Address
    from unveil.sources.engines.table import Write

__all__ = [
    "Countable",
    "Data",
    "FilledSource",
    "HeldSource",
    "Source",
    "Tally",
    "TallySource",
    "coded_table",
    "counted_source",
    "source_of",
    "text_names",
    "wanted_columns",
]

Data: TypeAlias = Any
"""A path ("-" is standard input), the name of a built-in data set, a data frame narwhals knows, eager or lazy, or what an engine
holds: an address, a DuckDB relation, a PySpark data frame; a count table; a study, or the file of a project."""


class Source(ABC):
    """Data that provides its columns, counts of their combinations, and batches of its records.

    A subclass defines how its records are read (`_read`); one that can do more itself also defines how it counts (`_count`),
    yields batches (`_batches`), and rewrites its records into a table (`rewrite`).

    Parameters
    ----------
    place
        The location of the data for messages, without credentials.
    names
        The columns.
    """

    can_count: bool = False
    """Whether the source counts combinations itself, so that its records stay where they are."""
    of_counts: bool = False
    """Whether the data is a count table, which is in memory but has no records."""
    in_hand: bool = True
    """Whether the records are in memory or in a file; those of an engine stay there, and a count table has none."""
    ordered: bool = True
    """Whether the records have an order, so that row numbers are meaningful."""
    connected: bool = False
    """Whether queries use a connection, which `held` keeps open for a block."""
    nulls: str = "category"
    """The null policy by which a count table was made; records that it left out stay left out, whatever a call states."""
    dropped: int = 0
    """The number of records that were left out when a count table was made."""

    def __init__(self, place: str, names: Sequence[str]) -> None:
        for name in names:
            if "\0" in name:  # libraries end a name there, or the whole process
                raise UnsupportedDataError.nul_in_name(name)
        self.place, self.names = place, tuple(names)

    def collect(self, columns: Sequence[str]) -> pl.DataFrame:
        """Return the requested columns, each named once, in their order."""
        require_columns(columns, self.names)
        return self._read(columns)

    def count(self, columns: Sequence[str]) -> Tally:
        """Return the combinations of the requested columns with their counts; a source that cannot count returns its records."""
        require_columns(columns, self.names)
        return self._count(columns)

    def count_alone(self, column: str) -> CodedTable | None:  # noqa: ARG002 - a source that can uses it
        """Count one column, coded, with one row per value; None if `count` is as quick."""
        return None

    def count_numbered(self, columns: Sequence[str], owners: Collection[str]) -> Tally:
        """Count as `count` does, but for columns of owners an engine returns numbers in place of values."""
        require_columns(columns, self.names)
        return self._count_numbered(columns, owners)

    def batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield the records in batches; a column has the same type in all of them."""
        require_columns(columns, self.names)
        return self._batches(columns)

    def require_records(self) -> None:  # noqa: B027 - counts refuse
        """Refuse data without records, which a count table is."""

    def rewrite(self, out: Address) -> Write:  # noqa: ARG002 - a source that can uses it
        """Return a function that rewrites the records into a table; refuse, before any work, a table that cannot be made."""
        raise ArgumentError(f"{self.place} cannot be rewritten into a table; name a file (.parquet, .csv or .tsv).")

    def held(self, given: Any = None) -> AbstractContextManager[Any]:
        """Keep the connection to the source open for all queries of a block; yield `given`."""
        return nullcontext(given)

    @abstractmethod
    def _read(self, columns: Sequence[str]) -> pl.DataFrame:
        """Read columns that are known to exist."""

    def _count(self, columns: Sequence[str]) -> Tally:
        """Count columns that are known to exist."""
        return Tally(self._read(columns))

    def _count_numbered(self, columns: Sequence[str], owners: Collection[str]) -> Tally:  # noqa: ARG002 - an engine's
        """Count columns that are known to exist, some by numbers that the engine assigns to their values."""
        return self._count(columns)

    def _batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield columns that are known to exist, batch by batch."""
        yield self._read(columns)


@runtime_checkable
class Countable(Protocol):
    """Data that is opened or counted already, such as a study or a count table."""

    def as_source(self) -> Source:
        """Return the source to count."""


def source_of(data: Data) -> Source | None:
    """Return the source of data that is opened or counted already (a source, a study, a count table); None for other data."""
    if isinstance(data, Source):
        return data
    own = getattr(data, "source", None)
    if isinstance(own, Source):
        return own
    return data.as_source() if isinstance(data, Countable) else None


def text_names(names: Sequence[object], place: str) -> tuple[str, ...]:
    """Return column names, refusing those that are not text or occur twice."""
    if strange := [name for name in names if not isinstance(name, str)]:
        raise UnsupportedDataError(f"{place}: {len(strange)} column names are not text; rename the columns.")
    if strange := [name for name in names if not is_unicode(name)]:
        raise UnsupportedDataError.no_characters(str(strange[0]))
    if len(set(names)) < len(names):
        raise DuplicateColumnError.named(str(next(name for name in names if names.count(name) > 1)), place)
    return tuple(str(name) for name in names)


def wanted_columns(columns: Sequence[str], weights: str | None) -> list[str]:
    """Return the named columns and that of the weights; refuse a column that is both."""
    if weights in columns:
        raise ArgumentError(f"column {shown(weights)} is named as weights and as an attribute; it can be one of them.")
    return list(columns) if weights is None else [*columns, weights]


def coded_table(place: str, tally: Tally, columns: Sequence[str], nulls: str, weights: str | None) -> CodedTable:
    """Apply the null policy to the rows of the named columns and of the weights, and code them."""
    run, n, held = active_run(), tally.n, _columns_of(tally, columns, weights)
    before, policy = tally.dropped or 0, checked_nulls(nulls) if tally.dropped is None else "drop"
    del tally
    records = _records(n, held)
    if not records:
        raise EmptyDataError.no_records(place)
    kept = _kept({name: held[name] for name in columns}, n, policy)
    if kept is not None:
        mask = pl.Series(kept)
        held, n = {name: column.filter(mask) for name, column in held.items()}, None if n is None else n[kept]
    left = _records(n, held)
    if not left:
        raise EmptyDataError.no_records(place, dropped=before + records)
    shares = None if weights is None else _checked_weights(held[weights], n, weights)
    coded = {}
    for name in dict.fromkeys(columns):
        run.check()
        coded[name] = _coded(name, held.pop(name))  # one form of a column at a time
    return CodedTable(tuple(coded[name] for name in columns), left, before + records - left, shares, n, policy)


def _columns_of(tally: Tally, columns: Sequence[str], weights: str | None) -> dict[str, pl.Series | Listed]:
    """Return the named columns and that of the weights, with every NaN as a null."""
    wanted = wanted_columns(columns, weights)
    if isinstance(tally, ListedTally):
        return {name: tally.columns[name] for name in wanted}
    for name in columns:
        require_countable(name, tally.frame[name])
    series = {name: tally.frame[name].alias("values") for name in wanted}  # some names are patterns to Polars
    return {name: column.fill_nan(None) if column.dtype.is_float() else column for name, column in series.items()}


def _coded(name: str, column: pl.Series | Listed) -> Coded:
    return encode_listed(name, column) if isinstance(column, Listed) else replace(encode(column), name=name)


def _records(n: NDArray[np.int64] | None, columns: Mapping[str, pl.Series | Listed]) -> int:
    return len(next(iter(columns.values()))) if n is None else int(n.sum())


def _kept(columns: Mapping[str, pl.Series | Listed], n: NDArray[np.int64] | None, nulls: Nulls) -> NDArray[np.bool_] | None:
    """Return the rows that the null policy keeps; None: all."""
    if nulls == "category":
        return None
    null = {name: column.is_null().to_numpy() for name, column in columns.items() if column.null_count()}
    if not null:
        return None
    if nulls == "error":
        raise NullsError.present(
            {name: int(np.count_nonzero(rows) if n is None else n[rows].sum()) for name, rows in null.items()}
        )
    return np.asarray(~np.logical_or.reduce(list(null.values())))


def _checked_weights(column: pl.Series | Listed, n: NDArray[np.int64] | None, name: str) -> NDArray[np.float64]:
    series = column.series() if isinstance(column, Listed) else column
    if not series.dtype.is_numeric():
        raise UnsupportedDataError(f"the weights in column {shown(name)} are not numbers.")
    weights = series.cast(pl.Float64).fill_null(np.nan).to_numpy().astype(np.float64)
    wrong = ~(np.isfinite(weights) & (weights > 0))
    if wrong.any():
        bad = int(np.count_nonzero(wrong) if n is None else n[wrong].sum())
        raise ArgumentError.no_weights(name, bad)
    if len(weights) and not (weights.min() >= _LIGHTEST and weights.max() <= _HEAVIEST):
        raise ArgumentError(
            f"some weights in column {shown(name)} are not between {_LIGHTEST:g} and {_HEAVIEST:g}, so their sums would be lost; "
            "a weight says how many people a record stands for."
        )
    return weights


_LIGHTEST, _HEAVIEST = 1e-100, 1e100
_SHARE = 3 / 16
"""The largest share of the memory of the run that the columns held may take."""


class HeldSource(Source):
    """A source that keeps its columns once they are read, around a source that would read them again.

    Parameters
    ----------
    source
        The source that would read them again.
    memory
        The number of bytes that the run may use; None: the limit of the active run.
    """

    def __init__(self, source: Source, memory: int | None = None) -> None:
        super().__init__(source.place, source.names)
        self.ordered = source.ordered
        self._source = source
        self._lock = threading.RLock()
        self._left = int((active_run().limits.memory if memory is None else memory) * _SHARE)
        self._columns: dict[str, pl.Series] = {}
        self._coded: dict[str, Coded] = {}

    def __reduce__(self) -> tuple[type[HeldSource], tuple[Source]]:
        """Pickle only the underlying source; another process reads the columns again."""
        return HeldSource, (self._source,)

    def _read(self, columns: Sequence[str]) -> pl.DataFrame:
        return pl.DataFrame(self._series(columns))

    def _series(self, columns: Sequence[str]) -> dict[str, pl.Series]:
        """Return columns of the records by name; each is read once."""
        with self._lock:
            known, missing = self._columns, [name for name in columns if name not in self._columns]
            if missing:
                records = self._source.collect(missing)
                known = {**known, **{name: records.get_column(name) for name in missing}}
                for name in missing:
                    if (size := int(known[name].estimated_size())) <= self._left:
                        self._left, self._columns[name] = self._left - size, known[name]
            return {name: known[name] for name in columns}

    def coded(self, columns: Sequence[str]) -> tuple[Coded, ...]:
        """Return coded columns of the records; a null is a value."""
        coded = self._each_coded(columns, strict=True)
        return tuple(coded[name] for name in columns)

    def _each_coded(self, columns: Sequence[str], *, strict: bool) -> dict[str, Coded]:
        """Return coded columns by name; columns of lists, bytes and the like are left out, or, if `strict`, refused."""
        with self._lock:
            coded = {name: self._coded[name] for name in columns if name in self._coded}
            missing = [name for name in dict.fromkeys(columns) if name not in coded]
            require_columns(missing, self.names)
            series = self._series(missing)
            for name in stepped(max(map(len, series.values()), default=0), "columns", missing):
                try:
                    coded[name] = encode(series[name])
                except UnsupportedDataError:
                    if strict:
                        raise
                    continue
                if (size := coded[name].codes.nbytes) <= self._left:
                    self._left, self._coded[name] = self._left - size, coded[name]
        return coded

    def table(self, columns: Sequence[str], nulls: str, weights: str | None, owners: Collection[str] = ()) -> CodedTable:
        """Return some columns coded, with counts if the source can count; values of `owners` are then replaced by numbers."""
        if not self._source.can_count and nulls == "category" and weights is None:
            return self._whole(columns)
        wanted = wanted_columns(columns, weights)
        return coded_table(self.place, self._tally(wanted, owners), columns, nulls, weights)

    def _tally(self, columns: Sequence[str], owners: Collection[str]) -> Tally:
        if not self._source.can_count:
            return Tally(self.collect(columns))
        return self._source.count_numbered(columns, owners) if owners else self._source.count(columns)

    def _whole(self, columns: Sequence[str]) -> CodedTable:
        """Return some coded columns of all records."""
        coded = self.coded(columns)
        if not len(coded[0].codes):
            raise EmptyDataError.no_records(self.place)
        return CodedTable(coded, len(coded[0].codes))

    def tables(
        self, sets: Mapping[str, Sequence[str]], owners: Collection[str] = (), *, strict: bool = False
    ) -> dict[str, CodedTable]:
        """Return several sets of columns by name, each as `table` returns it; a null is a value.

        A set with a column that does not hold single values (but lists or bytes) is left out, or, if `strict`, refused.
        """
        if self._source.can_count:
            tables = {name: self._counted(columns, owners, strict=strict) for name, columns in sets.items()}
            return {name: table for name, table in tables.items() if table is not None}
        coded = self._each_coded([name for columns in sets.values() for name in columns], strict=strict)
        if any(not len(one.codes) for one in coded.values()):
            raise EmptyDataError.no_records(self.place)
        whole = {name: columns for name, columns in sets.items() if all(one in coded for one in columns)}
        known = {name: tuple(coded[one] for one in columns) for name, columns in whole.items()}
        return {name: CodedTable(some, len(some[0].codes)) for name, some in known.items()}

    def _counted(self, columns: Sequence[str], owners: Collection[str], *, strict: bool) -> CodedTable | None:
        try:
            alone = self._source.count_alone(columns[0]) if len(columns) == 1 and not owners else None
            return self.table(columns, "category", None, owners) if alone is None else alone
        except UnsupportedDataError:
            if strict:
                raise
            return None


class TallySource(Source):
    """Counted combinations without records; any use that needs records is refused."""

    can_count = True
    of_counts = True
    in_hand = False

    def __init__(self, place: str, tally: Tally, nulls: str = "category") -> None:
        super().__init__(place, tally.frame.columns)
        self._tally, self.nulls, self.dropped = tally, nulls, tally.dropped or 0

    def require_records(self) -> NoReturn:
        """Refuse, because there are none."""
        raise UnsupportedDataError("a count table has no records, and this needs them; give the data itself.")

    def _read(self, columns: Sequence[str]) -> pl.DataFrame:  # noqa: ARG002
        self.require_records()

    def _count(self, columns: Sequence[str]) -> Tally:
        frame = self._tally.frame
        return Tally(pl.DataFrame({name: frame.get_column(name) for name in columns}), self._tally.n, self._tally.dropped)


class FilledSource(Source):
    """A source with additional columns that hold only nulls, with types taken from other columns."""

    def __init__(self, source: Source, lacking: Sequence[str], like: Callable[[Sequence[str]], pl.DataFrame]) -> None:
        super().__init__(source.place, (*source.names, *lacking))
        self._source, self._lacking, self._like = source, set(lacking), like
        self.can_count, self.of_counts = source.can_count, source.of_counts
        self.in_hand, self.ordered = source.in_hand, source.ordered
        self.connected, self.nulls, self.dropped = source.connected, source.nulls, source.dropped

    def held(self, given: Any = None) -> AbstractContextManager[Any]:
        """Keep the connection of the underlying source."""
        return self._source.held(given)

    def _read(self, columns: Sequence[str]) -> pl.DataFrame:
        frame = self._source.collect(self._present(columns))
        return self._filled(frame, columns, {name: self._like([name])[name] for name in columns if name in self._lacking})

    def _count(self, columns: Sequence[str]) -> Tally:
        return self._with_nulls(self._source.count(self._present(columns)), columns)

    def _count_numbered(self, columns: Sequence[str], owners: Collection[str]) -> Tally:
        return self._with_nulls(self._source.count_numbered(self._present(columns), owners), columns)

    def _with_nulls(self, tally: Tally, columns: Sequence[str]) -> Tally:
        empty = pl.Series("values", [], dtype=pl.String)
        return Tally(self._filled(tally.frame, columns, dict.fromkeys(self._lacking, empty)), tally.n, tally.dropped)

    def _present(self, columns: Sequence[str]) -> list[str]:
        return [name for name in columns if name not in self._lacking] or list(self._source.names[:1])

    def _filled(self, frame: pl.DataFrame, columns: Sequence[str], like: Mapping[str, pl.Series]) -> pl.DataFrame:
        rows = frame.height
        return pl.DataFrame({name: like[name].clear(rows) if name in like else frame[name] for name in columns})


def counted_source(
    columns: Mapping[str, tuple[Sequence[Any], NDArray[Any]]], n: NDArray[np.int64], nulls: str = "category", dropped: int = 0
) -> TallySource:
    """Return counted combinations, given by the values and codes of each column, as data that can be counted again."""
    frame = pl.DataFrame({name: column_of_objects("values", values).gather(codes) for name, (values, codes) in columns.items()})
    return TallySource("the count table", Tally(frame, n, dropped if nulls == "drop" else None), nulls)
