"""What can be done with a table that an engine holds? Counted there, read in batches, and rewritten into another table there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from unveil.attributes import require_columns
from unveil.errors import ArgumentError, DataChangedError
from unveil.sources.frames import Source

if TYPE_CHECKING:
    import polars as pl

    from unveil.sources.engines.address import Address
    from unveil.sources.engines.recoding import Recoding

__all__ = ["AmountsOf", "Batches", "EngineSource", "Into", "Write", "require_unchanged"]

Batches: TypeAlias = "Callable[[Sequence[str]], Iterator[pl.DataFrame]]"
"""Gives the columns asked for, batch by batch."""
Write: TypeAlias = "Callable[[Recoding], tuple[EngineSource, int]]"
"""Rewrites the records of a table into another one, and returns that, opened, and its number of records."""
AmountsOf: TypeAlias = "Callable[[Sequence[str], str, int], tuple[pl.DataFrame, Collection[str]]]"
"""Gives for columns, a value and a number the combinations of the columns with their records, known values, sum, sum of sizes and
so many of the largest sizes; and the columns whose numbers came as text."""
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
    _amounts
        How the sums and the largest contributions of combinations are computed there; none: they cannot be.
    """

    _into: Into | None = None
    _batches: Batches = field(kw_only=True)
    _amounts: AmountsOf | None = field(kw_only=True, default=None)

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
