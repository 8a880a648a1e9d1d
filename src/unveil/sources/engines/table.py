"""A table that an engine holds: it is counted there, read in batches, and rewritten into another table there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from unveil.errors import DataChangedError, UnsupportedDataError
from unveil.sources.base import Source, Tally

if TYPE_CHECKING:
    import polars as pl

    from unveil.sources.engines.contributors import Contribution
    from unveil.sources.engines.recoding import EngineRecoding

__all__ = ["Aggregates", "EngineSource", "Write", "Written", "require_unchanged"]

Write: TypeAlias = "Callable[[EngineRecoding], tuple[EngineSource, int]]"
"""Rewrites the records of a table into another one, and returns that, opened, and its number of records."""
Written: TypeAlias = "Callable[[str], str]"
"""Writes a column, or a text constant, in an engine's SQL."""
Aggregates: TypeAlias = "Callable[[Written, Written], Sequence[str]]"
"""Gives aggregates in SQL, from how columns and how texts are written."""


class EngineSource(Source):
    """A source that an engine holds: its records have no order, and are counted where they are."""

    can_count = True
    in_hand = False
    ordered = False
    connected = True
    real: ClassVar[str] = "DOUBLE PRECISION"
    """What the engine calls floating point numbers."""

    @property
    def numbers(self) -> Mapping[str, bool]:
        """The columns of numbers, each with whether it holds whole ones."""
        raise UnsupportedDataError(f"{self.place}: this engine cannot compute sums.")

    def aggregated(self, columns: Sequence[str], aggregates: Aggregates) -> tuple[Tally, pl.DataFrame]:  # noqa: ARG002
        """Return the combinations of columns with their counts, and a table of one column per aggregate."""
        raise UnsupportedDataError(f"{self.place}: this engine cannot compute sums.")

    def answered(
        self,
        columns: Sequence[str],  # noqa: ARG002 - an engine that can uses them
        what: Contribution,  # noqa: ARG002
        query: Callable[[str], str],  # noqa: ARG002
    ) -> tuple[pl.DataFrame, Mapping[str, int | None]]:
        """Return the answer to a query on records with the columns that `engines.contributors` names.

        The second result names the columns whose numbers came as text, with the digits after the point if these are known.
        """
        raise UnsupportedDataError(f"{self.place}: this engine cannot compute sums.")


def require_unchanged(place: str, names: Iterable[str], before: Mapping[str, object], now: Mapping[str, object]) -> None:
    """Refuse a table whose columns were dropped, or changed their type, since it was opened."""
    if any(now.get(name) != before[name] for name in names):
        raise DataChangedError.of_counts(place)
