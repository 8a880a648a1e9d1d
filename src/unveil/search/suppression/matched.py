"""Which cells must be suppressed so that every record matches k records, with a null on either side matching anything?

Suppressing a cell takes no match from any record, except that a record with no cell left says nothing about anyone and forms no
class. Only cells of records that lack matches are suppressed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unveil.counts import Column, Counts, group
from unveil.measures import wildcard_sums
from unveil.run import active_run
from unveil.search.suppression.matching_kernels import cheapest, restore, suppress

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["matched"]

_NULL = -1
_PART, _WORK = 256, 1 << 24
"""The numbers of records treated, and of comparisons made, before progress is reported and the search can be stopped."""


def matched(
    codes: NDArray[np.int64], k: int, price: NDArray[np.float64], costs: NDArray[np.float64], tell: Callable[[int, int], None]
) -> NDArray[np.bool_]:
    """Return the cells to suppress: the better of two tries, from the cheapest record to the dearest and the other way round.

    Parameters
    ----------
    codes
        The records in an order of their own, a null being -1.
    k, price, costs
        How many records each record must match; the cost of a cell of each attribute, and of each set of attributes (a bit mask).
    tell
        Called with the number of records treated and the number of all records, over both tries.
    """
    tries = [(_treated(codes, k, price, costs, sign, tell) < 0) & (codes >= 0) for sign in (1, -1)]
    return min(tries, key=lambda nulled: float(nulled.sum(axis=0) @ price))


def _treated(
    original: NDArray[np.int64],
    k: int,
    price: NDArray[np.float64],
    costs: NDArray[np.float64],
    sign: int,
    tell: Callable[[int, int], None],
) -> NDArray[np.int64]:
    """Return the records with nulls put in, treated from the cheapest to the dearest, or (-1) the other way round."""
    released = original.copy()
    by_cost = np.argsort(costs, kind="stable")
    while (lacking := _sizes(released) < k).any():
        rows = _Rows.of(released, lacking)
        arguments = (rows.codes, rows.weight, rows.size, k, costs, by_cost)
        dear = np.concatenate([cheapest(*arguments, part) for part in _parts(rows.single, rows)])
        done = 0
        for part in _parts(rows.single[np.argsort(sign * dear, kind="stable")], rows):
            suppress(*arguments, part)
            done += len(part)
            tell(done, len(rows.single))
        released[lacking] = rows.codes[:, rows.single].T
    touched = (released != original).any(axis=1)
    rows = _Rows.of(released, touched)
    whole = np.full_like(rows.codes, _NULL)
    whole[:, rows.single] = original[touched].T
    for part in _parts(rows.single, rows):
        restore(rows.codes, rows.weight, rows.size, k, whole, part, np.argsort(-price, kind="stable"))
    released[touched] = rows.codes[:, rows.single].T
    return released


def _parts(chosen: NDArray[np.int64], rows: _Rows) -> Iterator[NDArray[np.int64]]:
    """Yield a few rows at a time; stop when the run is cancelled."""
    run, size = active_run(), max(1, min(_PART, _WORK // max(1, len(rows.weight))))
    for start in range(0, len(chosen), size):
        run.check()
        yield chosen[start : start + size]


def _sizes(codes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return how many records each matches; a record with nothing but nulls forms no class, and counts as safe."""
    held = (codes >= 0).any(axis=1)
    sizes = np.full(len(codes), np.inf)
    if held.any():
        kept = codes[held]
        values = [int(column.max()) + 1 for column in kept.T]
        columns = tuple(Column(str(at), (*range(number), None)) for at, number in enumerate(values))
        coded = tuple(np.where(column < 0, number, column) for column, number in zip(kept.T, values, strict=True))
        classes = Counts(columns, coded, np.ones(len(kept), dtype=np.int64)).classes([column.name for column in columns])
        sizes[held] = wildcard_sums(classes, classes.n)[classes.of_cell]
    return sizes


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Records in the form that the compiled functions take: some one by one, the others with one row for all that are alike.

    Attributes
    ----------
    codes, weight, size
        The key of each row (one line per attribute), the number of records that it stands for, and the number that match it.
    single
        The rows of single records.
    """

    codes: NDArray[np.int32]
    weight: NDArray[np.int64]
    size: NDArray[np.int64]
    single: NDArray[np.int64]

    @classmethod
    def of(cls, codes: NDArray[np.int64], alone: NDArray[np.bool_]) -> _Rows:
        """Gather records, given which of them get rows of their own."""
        sizes = np.where(np.isfinite(measured := _sizes(codes)), measured, 0).astype(np.int64)
        rest = np.flatnonzero(~alone & (codes >= 0).any(axis=1))
        of_row, _ = group([column + 1 for column in codes[rest].T], [int(column.max()) + 2 for column in codes.T])
        _, first = np.unique(of_row, return_index=True)
        rows = np.concatenate([rest[first], np.flatnonzero(alone)])
        weight = np.concatenate([np.bincount(of_row), (codes[alone] >= 0).any(axis=1)]).astype(np.int64)
        return cls(np.ascontiguousarray(codes[rows].T.astype(np.int32)), weight, sizes[rows], np.arange(len(first), len(rows)))
