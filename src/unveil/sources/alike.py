"""Rows with the same text, found by hashing all texts of a column at once, for a process without compiled loops.

Every text is hashed to a slot of a table, in which the last row of each slot is kept. All texts are then compared with that of
the row kept: texts are equal if they have the same bytes, never because of a hash.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from unveil.ordering import smallest_unsigned
from unveil.sources.texts import IN_PLACE, views_of

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

__all__ = ["Alike", "coded_alike", "rows_alike"]

_MOST_ROWS = 1 << 17
"""The largest number of rows of a column that are compared at once."""
_MOST_TEXTS = 1 << 12
"""The largest number of distinct texts, with which two texts rarely share a slot."""
_SLOTS = 20
_FACTOR, _MIXED = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)


class Alike(NamedTuple):
    """The texts of a column: one row of each, and for every row that of its text."""

    first: NDArray[np.int64]
    of_row: NDArray[np.uint32]


def coded_alike(column: pl.Series) -> tuple[list[str | None], NDArray[Any]] | None:
    """Return the texts of a column in order, a null last, and the position of each row's text; None if there are too many."""
    if (alike := rows_alike(column)) is None:
        return None
    first, null = alike.first, column.is_null().to_numpy() if column.null_count() else None
    if null is not None:
        first = first[~null[first]]
    texts: list[str | None] = column[first].to_list()
    order = sorted(range(len(texts)), key=texts.__getitem__)  # type: ignore[arg-type]
    size = len(texts) + (null is not None)
    place = np.full(len(column), size - 1, dtype=smallest_unsigned(size))  # that of a null, if there is one
    place[first[order]] = np.arange(len(order), dtype=place.dtype)
    return [*(texts[at] for at in order), *((None,) if null is not None else ())], place.take(alike.of_row)


def rows_alike(column: pl.Series) -> Alike | None:
    """Find the rows of a column with the same text; None if there are too many texts. Nulls count as one more text."""
    if not 0 < len(column) <= _MOST_ROWS:
        return None
    column = column.rechunk()
    if not column.null_count():
        with views_of(column) as views:
            alike = _by_views(column, views.words)
        if alike is not None:
            return alike
    alike = _in_slots(column.hash().to_numpy(writable=True))
    return alike if alike is not None and column[alike.of_row].equals(column) else None


def _by_views(column: pl.Series, views: NDArray[np.uint64]) -> Alike | None:
    """Find the rows by views: short texts by all bytes, longer ones by their length and first bytes, as long as these differ."""
    first, second = np.ascontiguousarray(views[:, 0]), np.ascontiguousarray(views[:, 1])
    short = first.astype(np.uint32) <= IN_PLACE
    long = len(short) - int(np.count_nonzero(short))
    if long:
        second *= short
    alike = _in_slots(first ^ (second * _MIXED))
    if alike is None or not (_same(first, alike.of_row) and _same(second, alike.of_row)):
        return None
    if 2 * long > len(short):
        return alike if column[alike.of_row].equals(column) else None
    rows = np.flatnonzero(~short) if long else ()
    return alike if not long or column[alike.of_row[rows]].equals(column[rows]) else None


def _same(words: NDArray[np.uint64], of_row: NDArray[np.uint32]) -> bool:
    return bool((words.take(of_row) == words).all())


def _in_slots(hashed: NDArray[np.uint64]) -> Alike | None:
    """Find the rows with the same slot; None if there are too many texts to have a slot each."""
    hashed *= _FACTOR
    hashed >>= np.uint64(64 - _SLOTS)
    rows, slots = np.arange(len(hashed), dtype=np.uint32), hashed.view(np.int64)
    table = np.empty(1 << _SLOTS, dtype=np.uint32)
    table[slots] = rows
    of_row = table.take(slots)
    first = np.flatnonzero(of_row == rows)
    return Alike(first, of_row) if len(first) <= _MOST_TEXTS else None
