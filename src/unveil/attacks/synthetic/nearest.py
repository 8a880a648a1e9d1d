"""A search for the synthetic record nearest to a person: a tree of boxes over records with numbers and categories.

The distance of two records is the sum of the gaps over columns, each at most 1: for numbers scaled to [0, 1] their difference,
for categories 0 if they are equal, else 1 (Gower's distance, times the number of columns). The records are divided into boxes,
cut along one column at a time; a box is skipped if its nearest corner is farther than the best record so far.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.compilation import compiled
from unveil.counts import group

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.attacks.synthetic.tables import Side

__all__ = ["Nearest"]

_LEAF = 12
"""The number of records in a box that is not cut further."""


class Nearest:
    """The distinct combinations of some columns among records, and the nearest of them to any other record.

    Parameters
    ----------
    records
        The records to search.
    columns
        The positions of the compared columns.
    ordered
        For each column of the table, whether it has an order.

    Attributes
    ----------
    group_of, sizes
        For each record, the number of its combination; and the number of records of each combination.
    """

    def __init__(self, records: Side, columns: Sequence[int], ordered: NDArray[np.bool_]) -> None:
        self.columns = list(columns)
        codes = [records.codes[:, at] + 1 for at in self.columns]
        self.group_of, _ = group(codes, [int(code.max()) + 1 for code in codes])
        self.sizes = np.bincount(self.group_of)
        self._by_group = np.argsort(self.group_of, kind="stable")
        self._starts = np.cumsum(self.sizes) - self.sizes
        points = np.ascontiguousarray(records.points[self._by_group[self._starts]][:, self.columns])
        self._step = ~ordered[self.columns]
        self._order, self._boxes = _grown(points, _LEAF)
        self._points = points[self._order]

    def find(self, targets: Side) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return, for each target, the number of the nearest combination and its distance (the first found of several)."""
        queries = np.ascontiguousarray(targets.points[:, self.columns])
        place, distance = _nearest(self._points, self._boxes, self._step, queries)
        return self._order[place], distance

    def drawn(self, combinations: NDArray[np.int64], random: np.random.Generator) -> NDArray[np.int64]:
        """Return, for each combination, a random record that has it."""
        place = (random.random(len(combinations)) * self.sizes[combinations]).astype(np.int64)
        return np.asarray(self._by_group[self._starts[combinations] + place])


@compiled
def _grown(points: NDArray[np.float64], leaf: int) -> tuple[NDArray[np.int64], Any]:
    """Cut the points into boxes; return their order, and the boxes."""
    n, width = points.shape
    order, most = np.arange(n), 2 * n + 1
    low, high = np.empty((most, width)), np.empty((most, width))
    start, end, child = np.zeros(most, np.int64), np.zeros(most, np.int64), np.full(most, -1, np.int64)
    end[0], made, at = n, 1, 0
    # box by box in the order made: its corners, then two halves along its widest column
    while at < made:
        first, last = start[at], end[at]
        axis = _bounded(points, order[first:last], low[at], high[at])
        if last - first > leaf and axis >= 0:
            cut = _halved(points[:, axis], order[first:last])
            start[made], end[made] = first, first + cut
            start[made + 1], end[made + 1] = first + cut, last
            child[at] = made
            made += 2
        at += 1
    return order, (low[:made].copy(), high[:made].copy(), start[:made].copy(), end[:made].copy(), child[:made].copy())


@compiled
def _bounded(points: NDArray[np.float64], rows: NDArray[np.int64], low: NDArray[np.float64], high: NDArray[np.float64]) -> int:
    """Write the corners of the box around some points, and return its widest column, or -1 if all points coincide."""
    axis, widest = -1, 0.0
    for column in range(points.shape[1]):
        smallest, largest = np.inf, -np.inf
        for row in rows:
            value = points[row, column]
            smallest, largest = min(smallest, value), max(largest, value)
        low[column], high[column] = smallest, largest
        spread = min(largest - smallest, 1.0)
        if spread > widest:
            axis, widest = column, spread
    return axis


@compiled
def _halved(values: NDArray[np.float64], rows: NDArray[np.int64]) -> int:
    """Order rows by a value, and return where to cut them near the middle, keeping equal values together."""
    own = values[rows]
    ranks = np.argsort(own)
    rows[:] = rows[ranks].copy()
    ordered = own[ranks]
    cut = np.searchsorted(ordered, ordered[len(rows) // 2])
    return int(cut or np.searchsorted(ordered, ordered[0], side="right"))


@compiled
def _gap(one: float, other: float, step: bool) -> float:  # noqa: FBT001
    gap = abs(one - other)
    return 1.0 if step and gap > 0.0 else min(gap, 1.0)


@compiled
def _to_box(low: NDArray[np.float64], high: NDArray[np.float64], step: NDArray[np.bool_], point: NDArray[np.float64]) -> float:
    """Return the distance of a record to the nearest corner of a box."""
    total = 0.0
    for column in range(len(point)):
        inside = min(max(point[column], low[column]), high[column])
        total += _gap(inside, point[column], step[column])
    return total


@compiled
def _to_point(point: NDArray[np.float64], target: NDArray[np.float64], step: NDArray[np.bool_], best: float) -> float:
    """Return the distance of two records, or any distance that is not below the best."""
    total = 0.0
    for column in range(len(target)):
        total += _gap(point[column], target[column], step[column])
        if total >= best:
            break
    return total


@compiled
def _nearest(
    points: NDArray[np.float64], boxes: Any, step: NDArray[np.bool_], queries: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return, for each requested record, the position of the nearest point and its distance."""
    low, high, start, end, child = boxes
    nearest, distance = np.zeros(len(queries), np.int64), np.full(len(queries), np.inf)
    deepest = 128 + 4 * points.shape[1]  # a column of mostly one value needs two cuts more than halving
    waiting, bounds = np.empty(deepest, np.int64), np.empty(deepest)
    for row in range(len(queries)):
        # depth first from the box of all points
        waiting[0], bounds[0], many = 0, 0.0, 1
        while many:
            many -= 1
            box = waiting[many]
            # no point of this box can be nearer
            if bounds[many] >= distance[row]:
                continue
            # a leaf: compare its points one by one
            if child[box] < 0:
                for at in range(start[box], end[box]):
                    total = _to_point(points[at], queries[row], step, distance[row])
                    if total < distance[row]:
                        distance[row], nearest[row] = total, at
                continue
            # else both halves wait, with the least distance that a point in them can have
            one, other = child[box], child[box] + 1
            to_one, to_other = (
                _to_box(low[one], high[one], step, queries[row]),
                _to_box(low[other], high[other], step, queries[row]),
            )
            if to_one < to_other:  # the nearer one is searched first
                one, other, to_one, to_other = other, one, to_other, to_one
            waiting[many], bounds[many], waiting[many + 1], bounds[many + 1] = one, to_one, other, to_other
            many += 2
    return nearest, distance
