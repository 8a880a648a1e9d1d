"""The cells of a table and the equations between them: every total is the sum of its parts, along every dimension.

Cells are in row-major order of the dimensions' codes. An equation is a row of a sparse matrix M with +1 for the parts and -1
for the total, so that M a = 0 for the values a of the cells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from unveil.errors import TableError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.tables.classification import Classification

__all__ = [
    "MOST_CELLS",
    "alone_in",
    "cell_of",
    "coordinates",
    "equations",
    "grid",
    "largest",
    "named_cell",
    "rolled_up",
    "shape_of",
]

MOST_CELLS = 2_000_000
"""The most cells of a table; a larger one would not be read by anyone, and the computation would not end."""
_ROUNDED = 1e-6
"""The largest relative difference between a total and the sum of its parts, as figures are written with few digits."""


def shape_of(dimensions: Sequence[Classification]) -> tuple[int, ...]:
    """Return the number of codes along each dimension; refuse a table that is too large."""
    shape = tuple(len(one) for one in dimensions)
    if math.prod(shape) > MOST_CELLS:
        raise TableError(
            f"the table would have {math.prod(shape):,} cells, but at most {MOST_CELLS:,} can be handled; use fewer "
            "dimensions, or coarser ones."
        )
    return shape


def grid(dimensions: Sequence[Classification]) -> NDArray[np.int64]:
    """Return the number of every cell, in the shape of the table."""
    shape = shape_of(dimensions)
    return np.arange(math.prod(shape), dtype=np.int64).reshape(shape)


def coordinates(dimensions: Sequence[Classification], cells: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    """Return the code of every cell along each dimension."""
    return tuple(np.asarray(one) for one in np.unravel_index(cells, shape_of(dimensions)))


def cell_of(dimensions: Sequence[Classification], by: Sequence[str]) -> int:
    """Return the number of the cell with the given codes; refuse an unknown code."""
    places = []
    for dimension, code in zip(dimensions, by, strict=True):
        if code not in dimension.place:
            raise TableError(f"a code of dimension {dimension.name!r} does not occur in the table.")
        places.append(dimension.place[code])
    return int(np.ravel_multi_index(places, shape_of(dimensions)))


def named_cell(dimensions: Sequence[Classification], cell: int) -> str:
    """Return the name of a cell for people: its codes in brackets."""
    places = np.unravel_index(cell, shape_of(dimensions))
    return "(" + ", ".join(one.codes[int(at)] for one, at in zip(dimensions, places, strict=True)) + ")"


def equations(dimensions: Sequence[Classification], kept: NDArray[np.bool_] | None = None) -> sp.csr_matrix:
    """Return M: one row per group of one dimension and combination of codes of the others.

    Parameters
    ----------
    dimensions
        The dimensions.
    kept
        The cells that the table has; an equation with any other cell is left out. None for all.
    """
    numbers = grid(dimensions)
    rows, columns, signs, first = [], [], [], 0
    for axis, dimension in enumerate(dimensions):
        lines = np.moveaxis(numbers, axis, -1).reshape(-1, len(dimension))
        for total, parts in dimension.sums:
            part = lines[:, [total, *parts]]
            if kept is not None:
                part = part[kept[part].all(axis=1)]
            rows.append(np.repeat(np.arange(first, first + len(part)), part.shape[1]))
            columns.append(part.ravel())
            signs.append(np.tile(np.array([-1.0, *[1.0] * len(parts)]), len(part)))
            first += len(part)
    if not rows:
        return sp.csr_matrix((0, numbers.size))
    entries = (np.concatenate(signs), (np.concatenate(rows), np.concatenate(columns)))
    return sp.csr_matrix(entries, shape=(first, numbers.size))


def misfit(matrix: sp.csr_matrix, value: NDArray[np.float64]) -> tuple[int, float, int] | None:
    """Return a cell that keeps a table from adding up, its error, and the number of other failing equations; None if all hold.

    Parameters
    ----------
    matrix, value
        M and a: the equations, all of whose cells are known, and the figures.
    """
    rest = matrix @ value
    wrong = np.flatnonzero(np.abs(rest) > _ROUNDED * np.maximum(1.0, np.abs(matrix) @ np.abs(value)))
    if not len(wrong):
        return None
    times: dict[tuple[int, float], list[int]] = {}
    for row in wrong.tolist():
        part = matrix[row]
        for cell, sign in zip(part.indices.tolist(), part.data.tolist(), strict=True):
            times.setdefault((cell, round(float(rest[row] / sign), 6)), []).append(row)
    # the cell that explains most failures; of several, the first total, which the author of the file sees as one
    (cell, difference), rows = max(times.items(), key=lambda one: (len(one[1]), matrix[one[1][0], one[0][0]] < 0, -one[0][0]))
    return cell, difference, len(wrong) - len(rows)


def rolled_up(dimensions: Sequence[Classification], inner: NDArray[Any]) -> NDArray[Any]:
    """Return the amounts of all cells, summed from those of the inner ones; one axis per dimension, others may follow."""
    sums = inner
    for axis, dimension in enumerate(dimensions):
        moved = np.moveaxis(sums, axis, 0)
        shape = (len(dimension), *moved.shape[1:])
        summed = np.empty(shape, dtype=sums.dtype)
        for at, members in enumerate(dimension.members):
            summed[at] = moved[members].sum(axis=0)
        sums = np.moveaxis(summed, 0, axis)
    return sums


def alone_in(dimensions: Sequence[Classification], inner: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return, for every cell with a single record, a number for that record, the same in all its cells; -1 for other cells.

    Parameters
    ----------
    dimensions
        The dimensions.
    inner
        The number of records of the inner cells.
    """
    place = np.arange(inner.size).reshape(inner.shape)
    return np.where(rolled_up(dimensions, inner).ravel() == 1, rolled_up(dimensions, inner * place).ravel(), -1)


def largest(dimensions: Sequence[Classification], inner: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest contributions of all cells, largest first along the last axis, from those of the inner cells.

    This is correct only if every contributor lies in one inner cell.
    """
    tops = inner
    top = inner.shape[-1]
    for axis, dimension in enumerate(dimensions):
        moved = np.moveaxis(tops, axis, 0)
        merged = np.empty((len(dimension), *moved.shape[1:]))
        for at, members in enumerate(dimension.members):
            stacked = np.moveaxis(moved[members], 0, -2).reshape(*moved.shape[1:-1], len(members) * top)
            merged[at] = -np.sort(np.partition(-stacked, top - 1, axis=-1)[..., :top], axis=-1) if len(members) > 1 else stacked
        tops = np.moveaxis(merged, 0, axis)
    return tops
