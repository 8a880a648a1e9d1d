"""The amounts of each cell of a table: contributors, values, and the largest contributions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.counts import group, numbers_of, ranked
from unveil.errors import DataChangedError, TableError
from unveil.results import Provenance
from unveil.sources import ASKED, NOT_ASKED, Coded, CodedTable, Contributions, Holdings
from unveil.tables.cells import alone_in, largest, rolled_up
from unveil.tables.classification import Classification
from unveil.tables.crosstable import CrossTable

if TYPE_CHECKING:
    from numpy.typing import NDArray


__all__ = ["CellContents", "TableRows"]


@dataclass(frozen=True, slots=True, eq=False)
class CellContents:
    """The amounts of all cells of a table, including margins, besides their records; the fields are those of `CrossTable`."""

    units: NDArray[np.int64]
    holder: NDArray[np.int64]
    value: NDArray[np.float64] | None = None
    size: NDArray[np.float64] | None = None
    top: NDArray[np.float64] | None = None
    asked: NDArray[np.float64] | None = None

    def table(
        self,
        dimensions: tuple[Classification, ...],
        n: NDArray[np.int64],
        published: NDArray[np.bool_] | None,
        made: Provenance,
        *,
        signed: bool,
    ) -> CrossTable:
        """Return the table of these amounts."""
        return CrossTable(
            dimensions, n, self.units, self.value, self.size, self.top, self.asked, self.holder, published, signed, made
        )


@dataclass(frozen=True, slots=True, eq=False)
class TableRows:
    """Combinations of dimensions, value and holding that occur.

    Attributes
    ----------
    dimensions
        The dimensions of the table.
    leaves
        For each dimension, the leaf of every row.
    cell
        The inner cell of every row.
    n
        The number of records of every row.
    x
        The contribution of one of its records; None in a frequency table.
    holder
        The contributor, by number; None if every record is one.
    asked
        Whether the contributor requested protection.
    """

    dimensions: tuple[Classification, ...]
    leaves: tuple[NDArray[np.int64], ...]
    cell: NDArray[np.int64]
    n: NDArray[np.int64]
    x: NDArray[np.float64] | None
    holder: NDArray[np.int64] | None
    asked: NDArray[np.bool_] | None

    @classmethod
    def read(
        cls,
        counted: CodedTable,
        dimensions: tuple[Classification, ...],
        leaves: Sequence[NDArray[np.int64]],
        named: tuple[str | None, str | None, str | None] | None,
    ) -> TableRows:
        """Read the counted columns; `named` is None if an engine keeps value, holding and request."""
        value, holding, request = named or (None, None, None)
        rest = {one.name: one for one in counted.columns[len(dimensions) :]}
        rows = len(leaves[0])
        n = np.ones(rows, dtype=np.int64) if counted.n is None else counted.n
        x = None if value is None else numbers_of(rest[value])
        if counted.weights is not None:
            x = counted.weights if x is None else x * counted.weights
        holder = None if holding is None else _holders(rest[holding])
        requests = None if request is None else _flags(rest[request])
        cell = np.ravel_multi_index(list(leaves), [len(one.leaves) for one in dimensions])
        return cls(dimensions, tuple(leaves), np.asarray(cell), n, x, holder, requests)

    def summed(self, amounts: NDArray[Any]) -> NDArray[Any]:
        """Return amounts by inner cell, in the shape of the leaves."""
        shape = tuple(len(one.leaves) for one in self.dimensions)
        sums = np.bincount(self.cell, weights=amounts, minlength=int(np.prod(shape)))
        whole = amounts.dtype.kind in "iu"
        return (np.rint(sums).astype(np.int64) if whole else sums).reshape(shape)

    def amounts(self, there: Contributions | Holdings | None, top: int) -> CellContents:
        """Return the amounts of all cells, from the rows or from an engine."""
        if isinstance(there, Holdings):
            return self.by_engine(there, top)
        if there is not None:
            return self.by_amounts(there)
        return self.by_record(top) if self.holder is None else self.by_holding(top)

    def by_record(self, top: int) -> CellContents:
        """Return the amounts of all cells if every record is a contributor."""
        inner_n = self.summed(self.n)
        n = rolled_up(self.dimensions, inner_n).ravel()
        holder = alone_in(self.dimensions, inner_n)
        if self.x is None:
            return CellContents(n, holder)
        inner = self._largest(self.cell, np.abs(self.x), self.n, top)
        tops = largest(self.dimensions, inner).reshape(-1, top)
        requests = None
        if self.asked is not None:
            mine = self._largest(self.cell[self.asked], np.abs(self.x)[self.asked], self.n[self.asked], 1)
            requests = largest(self.dimensions, mine).ravel()
        value = rolled_up(self.dimensions, self.summed(self.x * self.n)).ravel()
        size = rolled_up(self.dimensions, self.summed(np.abs(self.x) * self.n)).ravel()
        return CellContents(n, holder, value, size, tops, requests)

    def by_amounts(self, there: Contributions) -> CellContents:
        """Return the amounts of all cells from those that the source computed for the inner ones."""
        known = self.by_record(1)
        shape = tuple(len(one.leaves) for one in self.dimensions)

        def over_all(sizes: NDArray[np.float64]) -> NDArray[np.float64]:
            inner = ranked(np.repeat(self.cell, sizes.shape[1]), sizes.ravel(), int(np.prod(shape)), sizes.shape[1])
            return largest(self.dimensions, inner.reshape(*shape, -1)).reshape(-1, sizes.shape[1])

        value = rolled_up(self.dimensions, self.summed(there.total)).ravel()
        size = rolled_up(self.dimensions, self.summed(there.size)).ravel()
        requests = None if there.asked is None else over_all(there.asked[:, None]).ravel()
        return CellContents(known.units, known.holder, value, size, over_all(there.top), requests)

    def by_engine(self, there: Holdings, top: int) -> CellContents:
        """Return the amounts of all cells as computed by an engine, which knows the contributors."""
        above = []
        for dimension, leaves, ranks in zip(self.dimensions, self.leaves, there.ranks, strict=True):
            codes = _above(dimension)
            numbers, first = np.unique(ranks, return_index=True)
            pairs = zip(numbers.tolist(), leaves[first].tolist(), strict=True)
            above.append([(number, code) for number, leaf in pairs for code in codes[leaf]])
        cells = there.cells(above, top)
        shape = tuple(len(one) for one in self.dimensions)
        at = np.ravel_multi_index(list(cells.codes), shape)

        def placed(amounts: NDArray[Any], empty: float = 0) -> NDArray[Any]:
            whole = np.full((int(np.prod(shape)), *amounts.shape[1:]), empty, dtype=amounts.dtype)
            whole[at] = amounts
            return whole

        if not np.array_equal(placed(cells.n), rolled_up(self.dimensions, self.summed(self.n)).ravel()):
            raise DataChangedError.while_counted(there.source.place)
        contents = CellContents(placed(cells.units), placed(cells.holder, -1))
        if there.what.value is not None or there.what.weights is not None:
            contents = replace(contents, value=placed(cells.total), size=placed(cells.size), top=placed(cells.top))
        return contents if there.what.request is None else replace(contents, asked=placed(cells.asked))

    def _largest(self, cell: NDArray[np.int64], size: NDArray[np.float64], n: NDArray[np.int64], top: int) -> NDArray[np.float64]:
        """Return the largest contributions of the inner cells; each row has `n` contributions of one size."""
        shape = tuple(len(one.leaves) for one in self.dimensions)
        times = np.minimum(n, top)
        return ranked(np.repeat(cell, times), np.repeat(size, times), int(np.prod(shape)), top).reshape(*shape, top)

    def by_holding(self, top: int) -> CellContents:
        """Return the amounts of all cells if several records may belong to one contributor.

        A contributor may lie in several inner cells, so each cell, including margins, is first summed by contributor.
        """
        holder_of = self.holder if self.holder is not None else np.arange(len(self.n))
        cell, row = self._expanded()
        x = np.zeros(len(self.n)) if self.x is None else self.x * self.n
        size = int(np.prod([len(one) for one in self.dimensions]))
        pair, (cells_of_pairs, holders) = group([cell, holder_of[row]], [size, int(holder_of.max()) + 1])
        sums = np.bincount(pair, weights=x[row])
        cells = cells_of_pairs.astype(np.int64)
        units = np.bincount(cells, minlength=size)
        holder = np.full(size, -1, dtype=np.int64)
        alone = units[cells] == 1
        holder[cells[alone]] = holders[alone]
        contents = CellContents(units.astype(np.int64), holder)
        if self.x is not None:
            contents = replace(
                contents,
                value=rolled_up(self.dimensions, self.summed(x)).ravel(),
                size=np.asarray(np.bincount(cells, weights=np.abs(sums), minlength=size), dtype=np.float64),
                top=ranked(cells, np.abs(sums), size, top),
            )
        if self.asked is not None:
            mine = np.zeros(len(sums), dtype=bool)
            mine[pair[self.asked[row]]] = True
            contents = replace(contents, asked=ranked(cells[mine], np.abs(sums[mine]), size, 1).ravel())
        return contents

    def _expanded(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return every row once for each cell it belongs to, as cells and rows."""
        row = np.arange(len(self.n))
        cell = np.zeros(len(self.n), dtype=np.int64)
        for dimension, leaves in zip(self.dimensions, self.leaves, strict=True):
            above = _above(dimension)
            counts = np.array([len(some) for some in above])
            starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
            flat = np.array([code for some in above for code in some], dtype=np.int64)
            times = counts[leaves[row]]
            within = np.arange(int(times.sum())) - np.repeat(np.cumsum(times) - times, times)
            old = np.repeat(np.arange(len(row)), times)
            cell = cell[old] * len(dimension) + flat[starts[leaves[row[old]]] + within]
            row = row[old]
        return cell, row


def _above(dimension: Classification) -> list[list[int]]:
    """Return the codes that every leaf belongs to."""
    above: list[list[int]] = [[] for _ in dimension.leaves]
    for code, members in enumerate(dimension.members):
        for leaf in members.tolist():
            above[leaf].append(code)
    return above


def _holders(column: Coded) -> NDArray[np.int64]:
    if any(value is None for value in column.values):
        raise TableError.no_holding(column.name)
    return column.codes.astype(np.int64)


def _flags(column: Coded) -> NDArray[np.bool_]:
    words = ["" if value is None else str(value).lower() for value in column.values]
    if any(word not in (*ASKED, *NOT_ASKED) for word in words):
        raise TableError.no_request(column.name)
    return np.asarray(np.array([word in ASKED for word in words], dtype=bool)[column.codes])
