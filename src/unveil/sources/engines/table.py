"""What can be done with a table that an engine holds? Counted there, read in batches, and rewritten into another table there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from unveil.attributes import require_columns
from unveil.errors import ArgumentError, DataChangedError
from unveil.sources.frames import Source, Tally

if TYPE_CHECKING:
    import polars as pl

    from unveil.sources.engines.address import Address
    from unveil.sources.engines.recoding import Recoding

__all__ = ["Aggregates", "Batches", "EngineSource", "Grouped", "Into", "Write", "Written", "require_unchanged"]

Written: TypeAlias = "Callable[[str], str]"
"""Writes a column, or a text constant, in an engine's SQL."""
Aggregates: TypeAlias = "Callable[[Written, Written], Sequence[str]]"
"""Gives aggregates in SQL, from how columns and how texts are written."""


@dataclass(frozen=True, slots=True)
class Grouped:
    """How an engine groups and sums where the data is.

    Attributes
    ----------
    ask
        Gives the combinations of columns with their counts, and a table of one column per aggregate.
    numbers
        The columns of numbers, each with whether it holds whole ones.
    real
        What the engine calls floating point numbers.
    """

    ask: Callable[[Sequence[str], Aggregates], tuple[Tally, pl.DataFrame]]
    numbers: Mapping[str, bool]
    real: str = "DOUBLE PRECISION"


Batches: TypeAlias = "Callable[[Sequence[str]], Iterator[pl.DataFrame]]"
"""Gives the columns asked for, batch by batch."""
Write: TypeAlias = "Callable[[Recoding], tuple[EngineSource, int]]"
"""Rewrites the records of a table into another one, and returns that, opened, and its number of records."""
Into: TypeAlias = "Callable[[Address], Write]"
"""Looks at where a table is to be, and returns what writes it."""


@dataclass(frozen=True, slots=True)
class EngineSource(Source):
    """A source that an engine holds: its records have no order, come in batches, and can be rewritten where they are.

    Attributes
    ----------
    _into
        How records are rewritten into another table; none: they cannot be.
    _batches
        How they are read in batches; those of one column have one type throughout.
    grouped
        How they are grouped and summed where they are.
    """

    _into: Into | None = None
    _batches: Batches = field(kw_only=True)
    grouped: Grouped | None = field(kw_only=True, default=None)

    def batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Give the records in batches."""
        require_columns(columns, self.names)
        return self._batches(columns)

    def into(self, out: Address) -> Write:
        """Return what rewrites the records into a table; refuse, before any work, a table that cannot be made."""
        if self._into is None:
            raise ArgumentError(f"{self.place} cannot be rewritten into a table; name a file (.parquet, .csv or .tsv).")
        return self._into(out)


def require_unchanged(place: str, names: Iterable[str], before: Mapping[str, object], now: Mapping[str, object]) -> None:
    """Refuse a table whose columns were dropped, or have become of another type, since it was opened."""
    if any(now.get(name) != before[name] for name in names):
        raise DataChangedError.of_counts(place)
