"""Sources: data of any kind as columns, counts of their combinations, and batches of records.

A `Source` is a frame, a file, a stream of batches, a table in an engine, or counts that were made before. A source that can count
its data does so, and only combinations leave it; one that can rewrite its records does that, too. The data is never changed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from unveil.attributes import require_columns
from unveil.errors import ArgumentError, DuplicateColumnError, UnsupportedDataError, is_unicode

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from unveil.sources.coding import CodedTable
    from unveil.sources.engines.address import Address
    from unveil.sources.engines.table import Write

__all__ = ["Countable", "Data", "Source", "Tally", "source_of", "text_names"]

Data: TypeAlias = Any
"""A path ("-" is standard input), the name of a built-in data set, a data frame narwhals knows, eager or lazy, or what an engine
holds: an address, a DuckDB relation, a PySpark data frame; a count table; a study, or the file of a project."""


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Combinations of some columns' values, in any order, with the number of records that hold each.

    Attributes
    ----------
    frame
        One row per combination; the counts of repeated combinations are added up.
    n
        The number of records of each row; None: one each, because the rows are the records themselves.
    """

    frame: pl.DataFrame
    n: NDArray[np.int64] | None = None


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
