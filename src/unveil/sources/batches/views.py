"""Which rows of a column hold the same text? Found from Arrow's views of the texts, without looking at the texts themselves.

Equal views of one chunk (`arrow_views`) are equal texts, and those of short texts are equal wherever they come from. Reading
Parquet repeats the views of a dictionary, so that few of a column's rows have a view of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from unveil.compilation import compiled
from unveil.sources.arrow_views import IN_PLACE, LENGTH, views_of
from unveil.sources.texts import mixed

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["TextNumbering"]

_FIRST_CAPACITY = 1 << 8


class TextNumbering:
    """Numbers the texts of a column as they come, by their views; a text may have several numbers."""

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._views = np.zeros((_FIRST_CAPACITY, 2), dtype=np.uint64)
        self._numbers = np.zeros(_FIRST_CAPACITY, dtype=np.uint32)
        self.size = 1

    def numbers(self, chunk: pl.Series) -> tuple[NDArray[np.uint32], NDArray[np.uint32], bool]:
        """Give numbers to the texts of one chunk; that of a null is 0.

        Returns
        -------
        tuple
            The number of every row, the first row of each new number, in order, and whether the numbers given so far are
            forgotten because they stand for places of texts, not for texts.
        """
        of_row = np.empty(len(chunk), dtype=np.uint32)
        first = np.empty(len(chunk), dtype=np.uint32)
        null = chunk.is_null().to_numpy() if chunk.null_count() else None
        begin, row, long = self.size, 0, False
        with views_of(chunk) as views:
            while row < len(chunk):
                row, self.size, long = _number(
                    views.words, null, row, begin, of_row, first, self._views, self._numbers, self.size, long
                )  # fmt: skip
                if row < len(chunk):
                    self._grow()
        new = first[: self.size - begin].copy()
        if long:
            self._forget()
        return of_row, new, bool(long)

    def _grow(self) -> None:
        """Double the room of the table."""
        views, numbers = self._views, self._numbers
        self._views = np.zeros((2 * len(views), 2), dtype=np.uint64)
        self._numbers = np.zeros(2 * len(views), dtype=np.uint32)
        _move(views, numbers, self._views, self._numbers)


@compiled
def _number(views, null, row, begin, of_row, first, known, numbers, size, long):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Give numbers from a row on until the table is half full; returns the row, the next number, and whether a text was long."""
    last, half = np.uint64(known.shape[0] - 1), numbers.shape[0] // 2
    while row < views.shape[0]:
        if null is not None and null[row]:
            of_row[row] = 0
            row += 1
            continue
        one, other = views[row, 0], views[row, 1]
        # a new view takes the first free place and the next number, if there is room
        at = mixed(one, other) & last
        while numbers[at] != 0 and (known[at, 0] != one or known[at, 1] != other):
            at = (at + np.uint64(1)) & last
        if numbers[at] == 0:
            if size > half:
                return row, size, long
            known[at, 0], known[at, 1], numbers[at] = one, other, size
            first[size - begin] = row
            long |= (one & np.uint64(LENGTH)) > np.uint64(IN_PLACE)
            size += 1
        of_row[row] = numbers[at]
        row += 1
    return row, size, long


@compiled
def _move(views, numbers, known, places):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    last = np.uint64(known.shape[0] - 1)
    for entry in range(views.shape[0]):
        if numbers[entry] != 0:
            at = mixed(views[entry, 0], views[entry, 1]) & last
            while places[at] != 0:
                at = (at + np.uint64(1)) & last
            known[at, 0], known[at, 1], places[at] = views[entry, 0], views[entry, 1], numbers[entry]
