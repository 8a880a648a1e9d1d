"""Arguments that several mechanisms share, such as queries for records."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from unveil.errors import ArgumentError, shown
from unveil.partitions import is_null
from unveil.sources import encode

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.sources import Microdata

__all__ = ["Query", "matching", "moved_or_kept", "other_side"]

Query: TypeAlias = Mapping[str, Any]
"""A condition on each column: a value, a collection of values, or a function that returns whether a value matches."""


def matching(records: Microdata, query: Query) -> NDArray[np.bool_]:
    """Return which records meet every condition of a query; a null meets only the value None."""
    matched = np.ones(records.records, dtype=bool)
    for name, condition in query.items():
        column = encode(records.column(name))
        met = _test(name, condition)
        matched &= np.array([met(value) for value in column.values], dtype=bool)[column.codes]
    return matched


def other_side(names: Collection[str], others: Collection[str], what: str) -> None:
    """Refuse a column that is named on both sides."""
    if both := set(names) & set(others):
        raise ArgumentError(f"column {shown(min(both))} is named among the attributes and as {what}; name it on one side only.")


def moved_or_kept(moved: Collection[str], kept: Collection[str], what: str) -> None:
    """Refuse a column that would be both moved to other records, in the way that `what` describes, and kept in place."""
    if (both := next((name for name in kept if name in moved), None)) is not None:
        raise ArgumentError(f"column {shown(both)} cannot be both {what} and kept in place; name it on one side only.")


def _test(name: str, condition: Any) -> Callable[[Any], bool]:
    if isinstance(condition, Mapping):
        raise ArgumentError(f"the condition on column {shown(name)} is a mapping; give a value, several values or a function.")
    if callable(condition):
        return lambda value: value is not None and bool(condition(value))
    if isinstance(condition, Collection) and not isinstance(condition, str | bytes):
        allowed = [None if is_null(one) else one for one in condition] if any(map(is_null, condition)) else condition
        return lambda value: value in allowed
    if is_null(condition):
        return lambda value: value is None
    return lambda value: bool(value == condition)
