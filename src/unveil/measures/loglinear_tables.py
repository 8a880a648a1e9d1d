"""How many records does a log-linear model expect in each cell of a table? Closed forms, and iterative proportional fitting."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.errors import ArgumentError
from unveil.run import active_run

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CLOSE_ENOUGH", "MOST_CELLS", "FittedTable", "fitted_table", "products"]

MOST_CELLS = 5_000_000
"""The most cells (40 MB) of a table to which the model of all two-way interactions is fitted, or whose fit is checked."""
_BLOCK = 2**20
"""How many cells of a table are processed at a time."""
_MOST_CYCLES, CLOSE_ENOUGH = 200, 1e-6
"""Iterative fitting ends when no margin is off by more than this many records, or after this many cycles."""


@dataclass(frozen=True, slots=True)
class FittedTable:
    """The records expected in the non-empty cells, the records expected in all cells (in pieces), and how the fit ended."""

    expected: NDArray[np.float64]
    blocks: Callable[[], Iterator[NDArray[np.float64]]]
    cycles: int = 0
    deviation: float = 0.0


def fitted_table(
    columns: list[NDArray[np.int64]],
    sizes: Sequence[int],
    n: NDArray[Any],
    terms: Sequence[Sequence[int]],
    rates: tuple[NDArray[np.float64], float] | None = None,
) -> FittedTable:
    """Scale a table to the observed margins of all terms in turn, until all of them fit.

    It begins with ones, or with the offset of the model: the rates of the cells that hold records, and one rate for all others.
    """
    # a column of one value says nothing, and an axis of its own would only cost time
    varied = [axis for axis, size in enumerate(sizes) if size > 1]
    place = {axis: at for at, axis in enumerate(varied)}
    wanted = _largest([frozenset(place[axis] for axis in term if axis in place) for term in terms], len(varied))
    if rates is None and all(len(term) <= 1 for term in wanted):
        return _independent(columns, sizes, n)
    table_cells = math.prod(int(size) for size in sizes)
    if table_cells > MOST_CELLS:
        raise ArgumentError(
            f"a model with interactions or an offset is fitted to the whole table, which has {table_cells:,} cells over "
            f"{len(sizes)} columns, more than {MOST_CELLS:,}; use order=1, fewer columns, or coarser values."
        )
    shape = tuple(int(sizes[axis]) for axis in varied)
    codes = tuple(columns[axis] for axis in varied)
    if any(len(term) == len(varied) for term in wanted) or len(n) == 0:
        saturated = n.astype(np.float64)
        return FittedTable(saturated, lambda: iter([saturated]))
    margins = [
        (tuple(axis for axis in range(len(shape)) if axis not in kept), _margin(codes, shape, n, tuple(sorted(kept))))
        for kept in wanted
    ]
    table = np.ones(shape)
    if rates is not None:
        table *= rates[1]
        table[codes] = rates[0]
    cycles, deviation = 0, math.inf
    while deviation > CLOSE_ENOUGH and cycles < _MOST_CYCLES:
        active_run().check()
        deviation = max(_scale(table, summed, observed) for summed, observed in margins)
        cycles += 1
    return FittedTable(table[codes], lambda: iter([table.ravel()]), cycles, deviation)


def _independent(columns: list[NDArray[np.int64]], sizes: Sequence[int], n: NDArray[Any]) -> FittedTable:
    total = float(n.sum())
    shares = [np.bincount(codes, weights=n, minlength=size) / max(total, 1.0) for codes, size in zip(columns, sizes, strict=True)]
    expected = np.full(len(n), total)
    for codes, share in zip(columns, shares, strict=True):
        expected *= share[codes]
    return FittedTable(expected, lambda: products(total, shares))


def products(total: float, shares: list[NDArray[np.float64]]) -> Iterator[NDArray[np.float64]]:
    """Yield the products of one share per column, times the total, in pieces: one for each combination of the smaller columns."""
    outer = sorted(shares, key=len)
    inner = total * outer.pop()
    while outer and len(inner) * len(outer[-1]) <= _BLOCK:
        inner = np.outer(inner, outer.pop()).ravel()
    for factors in product(*outer):
        yield inner * math.prod(factors)


def _largest(terms: Sequence[frozenset[int]], axes: int) -> list[frozenset[int]]:
    """Return the terms that no other term contains; every axis is in at least one of them."""
    known = dict.fromkeys([*terms, *(frozenset([axis]) for axis in range(axes))])
    return [term for term in known if term and not any(term < other for other in known)]


def _margin(
    codes: tuple[NDArray[np.int64], ...], shape: tuple[int, ...], n: NDArray[Any], kept: tuple[int, ...]
) -> NDArray[np.float64]:
    """Return a margin of the observed counts, with axes of length one for the columns summed over."""
    inner = tuple(shape[axis] for axis in kept)
    flat = np.ravel_multi_index(tuple(codes[axis] for axis in kept), inner)
    counts = np.bincount(flat, weights=n, minlength=math.prod(inner)).astype(np.float64)
    return counts.reshape([size if axis in kept else 1 for axis, size in enumerate(shape)])


def _scale(table: NDArray[np.float64], summed: tuple[int, ...], wanted: NDArray[np.float64]) -> float:
    """Scale a table in place to one of its margins; return the largest error of this margin before scaling."""
    margin = table.sum(axis=summed, keepdims=True)
    table *= np.divide(wanted, margin, out=np.zeros_like(margin), where=margin > 0.0)
    return float(np.abs(margin - wanted).max())
