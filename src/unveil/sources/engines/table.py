"""A table that an engine holds: it is counted there, read in batches, and rewritten into another table there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from unveil.errors import DataChangedError
from unveil.sources.base import Source

if TYPE_CHECKING:
    from unveil.sources.engines.recoding import Recoding

__all__ = ["EngineSource", "Write", "require_unchanged"]

Write: TypeAlias = "Callable[[Recoding], tuple[EngineSource, int]]"
"""Rewrites the records of a table into another one, and returns that, opened, and its number of records."""


class EngineSource(Source):
    """A source that an engine holds: its records have no order, and are counted where they are."""

    can_count = True
    ordered = False


def require_unchanged(place: str, names: Iterable[str], before: Mapping[str, object], now: Mapping[str, object]) -> None:
    """Refuse a table whose columns were dropped, or have become of another type, since it was opened."""
    if any(now.get(name) != before[name] for name in names):
        raise DataChangedError.of_counts(place)
