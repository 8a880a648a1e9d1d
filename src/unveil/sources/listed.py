"""Combinations of values with their counts: a row of values for each, or lists of the values of every column.

In lists, a column holds its distinct values once, and the position of each combination's value. So combinations can be coded, or
dropped by a null policy, without a value for each of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Listed", "ListedTally", "Tally"]

_NO_CODE = (1 << 32) - 1
_AS_ENUM = 1 << 16
"""A column of at most this many distinct texts is passed on as positions in a list of texts, a larger one as texts."""


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Combinations of some columns' values, in any order, with the number of records that hold each.

    Attributes
    ----------
    frame
        One row per combination; the counts of repeated combinations are added up.
    n
        The number of records of each row; None: one each, because the rows are the records themselves.
    dropped
        The number of records that were left out when the rows were counted; None: records with nulls are among the rows.
    """

    frame: pl.DataFrame
    n: NDArray[np.int64] | None = None
    dropped: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Listed:
    """A column of combinations: its distinct values without null, and the position of each combination's value; 0 is a null."""

    values: pl.Series
    places: NDArray[np.integer[Any]]

    @classmethod
    def of(cls, values: pl.Series, codes: NDArray[np.integer[Any]]) -> Listed:
        """Return a column from the codes of its values; code 0 is a null, and so are the codes of values that are null."""
        if not values.null_count():
            return cls(values, codes)
        present = values.is_not_null().to_numpy()
        place = np.where(present, np.cumsum(present), 0).astype(codes.dtype)
        return cls(values.drop_nulls(), np.append(codes.dtype.type(0), place)[codes])

    def __len__(self) -> int:
        """Return the number of combinations."""
        return len(self.places)

    def null_count(self) -> int:
        """Return the number of combinations with a null in this column."""
        return len(self) - int(np.count_nonzero(self.places))

    def is_null(self) -> pl.Series:
        """Return which combinations have a null in this column."""
        return pl.Series(self.places == 0)

    def filter(self, kept: pl.Series) -> Listed:
        """Return the column for some of the combinations."""
        return Listed(self.values, self.places[kept.to_numpy()])

    def occurring(self) -> Listed:
        """Return the column without the values that occur in no combination."""
        occurs = np.zeros(len(self.values) + 1, dtype=bool)
        occurs[self.places] = True
        occurs[0] = True
        if occurs.all():
            return self
        place = (np.cumsum(occurs) - 1).astype(self.places.dtype)
        return Listed(self.values.filter(occurs[1:]), place[self.places])

    def series(self) -> pl.Series:
        """Return the value of every combination."""
        if self.values.dtype != pl.String or len(self.values) > _AS_ENUM:
            return pl.concat([pl.Series([None], dtype=self.values.dtype), self.values.alias("")]).gather(self.places)
        numbers = pl.Series(self.places.astype(np.uint32) - np.uint32(1))
        return numbers.set(numbers == _NO_CODE, None).cat.to(pl.Enum(self.values))


class ListedTally(Tally):
    """Combinations whose values are listed by column; the frame is built on access."""

    __slots__ = ("columns",)
    columns: Mapping[str, Listed]

    def __init__(self, columns: Mapping[str, Listed], n: NDArray[np.int64]) -> None:
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "n", n)
        object.__setattr__(self, "dropped", None)

    @property
    def frame(self) -> pl.DataFrame:
        """One row per combination."""
        return pl.DataFrame({name: column.series() for name, column in self.columns.items()})
