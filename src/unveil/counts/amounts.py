"""Amounts of the cells of a count table: the sum of a value, and its largest contributions. Both can be merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.counts.grouping import summed
from unveil.errors import NullsError, TableError, shown
from unveil.sources import Coded, CodedTable, Data, open_source, tallied

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Amounts", "amounts_of", "numbers_of", "ranked"]


@dataclass(frozen=True, slots=True, eq=False)
class Amounts:
    """The amounts of a column of numbers in each cell, where every record is a contribution.

    Attributes
    ----------
    total, size
        The sum of the contributions, and the sum of their absolute values.
    top
        The largest contributions by size, largest first, filled up with zeros.
    """

    total: NDArray[np.float64]
    size: NDArray[np.float64]
    top: NDArray[np.float64]

    def merged(self, of_cell: NDArray[np.int64], number: int) -> Amounts:
        """Return the amounts of the larger cells that these cells are merged into."""
        kept = self.top.shape[1]
        top = ranked(np.repeat(of_cell, kept), self.top.ravel(), number, kept)
        return Amounts(summed(of_cell, self.total, number), summed(of_cell, self.size, number), top)

    def where(self, kept: NDArray[Any]) -> Amounts:
        """Return the amounts of some of the cells, by mask or by number."""
        return Amounts(self.total[kept], self.size[kept], self.top[kept])

    def followed_by(self, other: Amounts) -> Amounts:
        """Return the amounts of these cells followed by those of others, with as many largest contributions as both have."""
        kept = min(self.top.shape[1], other.top.shape[1])
        top = np.concatenate([self.top[:, :kept], other.top[:, :kept]])
        return Amounts(np.concatenate([self.total, other.total]), np.concatenate([self.size, other.size]), top)

    def same(self, other: Amounts) -> bool:
        """Return whether both are equal, apart from rounding errors due to the order of summation."""
        pairs = ((self.total, other.total), (self.size, other.size), (self.top, other.top))
        return all(a.shape == b.shape and np.allclose(a, b, rtol=1e-9, atol=1e-9) for a, b in pairs)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the amounts of each cell as they are written to JSON."""
        return [{"sum": total, "largest": top} for total, top in zip(self.total.tolist(), self.top.tolist(), strict=True)]


def amounts_of(
    data: Data, columns: Sequence[str], value: str, *, nulls: str, top: int, beside: Sequence[str] = ()
) -> tuple[CodedTable, Amounts]:
    """Return combinations of columns, which may be repeated, with the amounts of each.

    An engine computes both itself; other data is read record by record. The null policy is applied to the columns `beside`, too.
    """
    from unveil.sources import Contribution
    from unveil.sources.amounts import amounts  # most calls count, and add up nothing

    source = open_source(data)
    there = amounts(source, columns, Contribution(value), top) if nulls == "category" else None
    if there is not None:
        return there.table, Amounts(there.total, there.size, there.top)
    read = tallied(source, [*columns, *beside, value], nulls=nulls)
    x = numbers_of(read.columns[-1])
    n = np.ones(len(x), dtype=np.int64) if read.n is None else read.n
    table = replace(read, columns=read.columns[: len(columns)], n=n)
    tops = np.where(np.arange(top) < n[:, None], np.abs(x)[:, None], 0.0)
    return table, Amounts(x * n, np.abs(x) * n, tops)


def ranked(cell: NDArray[np.int64], size: NDArray[np.float64], cells: int, top: int) -> NDArray[np.float64]:
    """Return the largest sizes in each cell, largest first, filled up with zeros."""
    order = np.lexsort((-size, cell))
    cell, size = cell[order], size[order]
    rank = np.arange(len(cell)) - np.searchsorted(cell, cell)
    kept = rank < top
    largest = np.zeros((cells, top))
    largest[cell[kept], rank[kept]] = size[kept]
    return largest


def numbers_of(column: Coded) -> NDArray[np.float64]:
    """Return the values of a column of numbers; text and nulls are refused."""
    values = list(column.values)
    if any(value is None for value in values):
        raise NullsError.in_values(column.name, int(np.count_nonzero(column.codes == values.index(None))))
    try:
        numbers = np.array([float(value) for value in values])
    except (TypeError, ValueError):
        raise TableError(f"column {shown(column.name)} holds text, and the values of a table are numbers.") from None
    if any(isinstance(value, str) for value in values) or not np.isfinite(numbers).all():
        raise TableError(f"column {shown(column.name)} holds values that are not finite numbers.")
    return np.asarray(numbers[column.codes])
