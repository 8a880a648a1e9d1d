"""A table that an engine holds; it is counted there, read in batches, and rewritten into another table there."""

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
"""A function that rewrites the records of a table into another one, and returns that, opened, and its number of records."""
Written: TypeAlias = "Callable[[str], str]"
"""A function that writes a column, or a text constant, in an engine's SQL."""
Aggregates: TypeAlias = "Callable[[Written, Written], Sequence[str]]"
"""A function that returns aggregates in SQL, given the functions that write columns and texts."""


class EngineSource(Source):
    """A source that an engine holds; its records have no order, and the engine counts them."""

    can_count = True
    in_hand = False
    ordered = False
    connected = True
    real: ClassVar[str] = "DOUBLE PRECISION"
    """The engine's name for the type of floating-point numbers."""

    @property
    def numbers(self) -> Mapping[str, bool]:
        """The numeric columns, each with whether it holds whole numbers."""
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
        """Return the result of a query on records with the columns that `engines.contributors` describes.

        The second result names the columns whose numbers were fetched as text, with their digits after the point if known.
        """
        raise UnsupportedDataError(f"{self.place}: this engine cannot compute sums.")


def require_unchanged(place: str, names: Iterable[str], before: Mapping[str, object], now: Mapping[str, object]) -> None:
    """Refuse a table with columns that were dropped, or changed their type, since it was opened."""
    if any(now.get(name) != before[name] for name in names):
        raise DataChangedError.of_counts(place)
