r"""Searches for the original records nearest to a released record: two exact ones, with the same interface.

`TreeSearch` is for points: a k-d tree over the distinct original points, each with the number of records on it. `ScanSearch` is
for everything else (intervals, sets, nominal attributes, nulls): it compares every distinct released row with every distinct
original row that may matter, without storing distances.

Neither looks for the nearest record. Both are given a distance :math:`D`, that of the true record, and count the records that
are nearer and those that are at that distance, which decides the match; a search may stop once two are nearer. Distances count
as equal if they differ by at most :math:`10^{-9} D + 10^{-12}`, in units of the scaled attributes, because equal distances
differ slightly as floating-point sums.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Protocol

import numpy as np

from unveil.attacks.linkage.cells import AttributeCells
from unveil.counts import summed
from unveil.run import active_run

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ScanSearch", "Search", "TreeSearch", "distinct_rows", "slack"]

_RELATIVE, _ABSOLUTE = 1e-9, 1e-12
_QUESTIONS = "questions"
"""The name of a search's stage; its question: how many are nearer to this record than its own?"""
_ROOM = 1 << 18
"""The number of neighbours that a query may return at a time: a few tenths of a second."""
_FEW = 256
"""The values of an attribute are numbered if there are at most this many."""
_PIECE = 64
"""The number of jobs that a thread takes at a time."""
_MOST_INTERLEAVED = 20
"""The largest number of coordinates whose cells fit into one integer."""


class Search(Protocol):
    """The interface of both searches."""

    def to_records(self, rows: NDArray[np.int64], originals: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the distances of released records to the original records beside them."""

    def to_nearest(self) -> NDArray[np.float64]:
        """Return the distance of each released record to the original record nearest to it."""

    def around(
        self,
        rows: NDArray[np.int64],
        distance: NDArray[np.float64],
        weight: NDArray[np.float64],
        *,
        most: float = np.inf,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Count the original records nearer to released records than the distance beside them, and those at that distance.

        Each original record counts with its weight. If more than `most` are nearer, both counts may stop early. The active run
        receives the number of questions answered, and of all questions; records with the same question share one.
        """


def slack(distance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest difference from the given distances that still counts as equal."""
    return _RELATIVE * distance + _ABSOLUTE


def distinct_rows(rows: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the number of each row among the distinct ones, and the position of each distinct row."""
    bits = np.ascontiguousarray(rows + 0.0).view(np.uint64)  # no negative zero
    key = np.zeros(len(rows), dtype=np.uint64)
    for column in range(rows.shape[1]):
        key ^= bits[:, column]
        key *= np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    _, first, number = np.unique(key, return_index=True, return_inverse=True)
    if not np.array_equal(bits[first][number], bits):  # two rows share a key
        _, first, number = np.unique(rows + 0.0, axis=0, return_index=True, return_inverse=True)
    return number.reshape(-1).astype(np.int64, copy=False), first.astype(np.int64, copy=False)


class TreeSearch:
    """The search among points.

    Parameters
    ----------
    original, release
        One row per record, every coordinate finite and in its unit.
    power
        2: Euclidean distance. 1: the sum of the coordinates' differences.
    """

    def __init__(self, original: NDArray[np.float64], release: NDArray[np.float64], power: int = 2) -> None:
        from scipy.spatial import cKDTree

        self._power = power
        self._point, first = distinct_rows(original)
        self._points = original[first]
        self._query, points = distinct_rows(release)
        order = _side_by_side(release[points])
        self._query = np.argsort(order)[self._query]
        self._queries = release[points[order]]
        self._tree = cKDTree(self._points)
        self._nearest = self._ask(self._queries, 2)

    def to_records(self, rows: NDArray[np.int64], originals: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the distances of released records to the original records beside them."""
        gaps = self._points[self._point[originals]]
        gaps -= self._queries[self._query[rows]]
        if self._power == 1:
            return np.asarray(np.abs(gaps, out=gaps).sum(axis=1))
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", gaps, gaps)))

    def to_nearest(self) -> NDArray[np.float64]:
        """Return the distance of each released record to the original record nearest to it."""
        return np.asarray(self._nearest[0][self._query, 0])

    def around(
        self,
        rows: NDArray[np.int64],
        distance: NDArray[np.float64],
        weight: NDArray[np.float64],
        *,
        most: float = np.inf,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Count the original records nearer to released records than the distance beside them, and those at that distance."""
        # a padded neighbour is at infinity, with the weight behind the last point
        of_point = np.append(summed(self._point, weight, len(self._points)), 0.0)
        query = self._query[rows]
        below, above = distance - slack(distance), distance + slack(distance)
        distances, at = self._nearest[0][query], self._nearest[1][query]
        closer, tied, open_ = _counted(distances, of_point[at], below, above, most)
        depth = distances.shape[1]
        while len(left := np.flatnonzero(open_)) and depth < len(self._points):
            depth = min(4 * depth, len(self._points))
            room = max(1, _ROOM // depth)
            for begin in range(0, len(left), room):
                part = left[begin : begin + room]
                distances, at = self._ask(self._queries[query[part]], depth)
                closer[part], tied[part], open_[part] = _counted(distances, of_point[at], below[part], above[part], most)
        active_run().at(_QUESTIONS, len(rows), len(rows))
        return closer, tied

    def _ask(self, points: NDArray[np.float64], depth: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        run = active_run()
        room, workers = max(1, _ROOM // depth), run.limits.threads or -1
        parts = []
        for begin in range(0, len(points), room):
            run.check()
            parts.append(self._tree.query(points[begin : begin + room], k=depth, p=self._power, workers=workers))
        return np.concatenate([distances for distances, _ in parts]), np.concatenate([at for _, at in parts])


def _side_by_side(points: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return an order in which neighbours are mostly close to each other, so that a tree finds its branches in the cache.

    Each coordinate is cut into eight cells, a unit wide, and the bits of the cells' numbers are interleaved.
    """
    cells = np.clip(points[:, :_MOST_INTERLEAVED] + 4.0, 0.0, 7.0).astype(np.int64)
    key = np.zeros(len(points), dtype=np.int64)
    for bit in (2, 1, 0):
        for column in range(cells.shape[1]):
            key = key << 1 | cells[:, column] >> bit & 1
    return np.argsort(key, kind="stable")


def _counted(
    distances: NDArray[np.float64],
    weight: NDArray[np.float64],
    below: NDArray[np.float64],
    above: NDArray[np.float64],
    most: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Count neighbours below a distance and at it, and return whether a further neighbour may also be at it."""
    nearer = distances < below[:, None]
    closer = np.where(nearer, weight, 0.0).sum(axis=1)
    tied = np.where(~nearer & (distances <= above[:, None]), weight, 0.0).sum(axis=1)
    return closer, tied, (distances[:, -1] <= above) & (closer <= most)


class ScanSearch:
    """The search among everything else.

    Parameters
    ----------
    cells
        The attributes' values in both tables.
    factors
        The factor by which the gap of each attribute is multiplied; nominal attributes always count 0 or 1, as does one with
        factor 0, whose original values are all alike.
    power
        2: the distance is the root of the sum of squares. 1: the sum.
    """

    def __init__(self, cells: Sequence[AttributeCells], factors: Sequence[float], power: int = 1) -> None:
        from unveil.attacks.linkage import kernels

        self._kernels = kernels
        step = np.array([cell.nominal or factor == 0.0 for cell, factor in zip(cells, factors, strict=True)])
        scaled = [1.0 if still else factor for still, factor in zip(step, factors, strict=True)]
        positions = np.column_stack([_scaled(cell.position, by) for cell, by in zip(cells, scaled, strict=True)])
        values, starts = _together(cells)
        low = np.concatenate([_scaled(cell.low, by) for cell, by in zip(cells, scaled, strict=True)])
        high = np.concatenate([_scaled(cell.high, by) for cell, by in zip(cells, scaled, strict=True)])
        self._row, first = distinct_rows(positions)
        self._job, rows = distinct_rows(values.astype(np.float64))
        positions, values = positions[first], values[rows]
        order = np.argsort(positions, axis=0, kind="stable").T.astype(np.int32)
        in_order = np.take_along_axis(positions.T, order, axis=1)
        nulls = np.asarray(np.isinf(positions).any(axis=0))
        self._originals = kernels.Originals(positions, order, in_order, nulls, step, power != 1, *_few_valued(order, in_order))
        self._releases = kernels.Releases(values, starts, low, high)

    def to_records(self, rows: NDArray[np.int64], originals: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the distances of released records to the original records beside them."""
        out = np.empty(len(rows))
        self._kernels.pair_distances(self._originals, self._row[originals], self._releases, self._job[rows], out)
        return self._root(out)

    def to_nearest(self) -> NDArray[np.float64]:
        """Return the distance of each released record to the original record nearest to it."""
        number = len(self._releases.values)
        near = np.full(number, np.inf)
        for column in range(len(self._originals.order)):
            np.minimum(near, self._met(column), out=near)
        least = np.empty(number)

        def run(begin: int, end: int) -> None:
            self._kernels.least_distances(self._originals, self._releases, near, begin, end, least)

        _in_threads(run, number)
        return self._root(least)[self._job]

    def around(
        self,
        rows: NDArray[np.int64],
        distance: NDArray[np.float64],
        weight: NDArray[np.float64],
        *,
        most: float = np.inf,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Count the original records nearer to released records than the distance beside them, and those at that distance."""
        of_row = summed(self._row, weight, len(self._originals.positions))
        # records of one release row whose true records are equally far have the same question
        question, first = distinct_rows(np.column_stack([self._job[rows].astype(np.float64), distance]))
        jobs, limits = self._job[rows][first], distance[first]
        bounds = np.column_stack([limits - slack(limits), limits + slack(limits)])
        if self._originals.squared:
            bounds *= np.abs(bounds)
        counts = np.empty((len(jobs), 2))

        def run(begin: int, end: int) -> None:
            self._kernels.count_around(self._originals, of_row, self._releases, jobs, bounds, most, begin, end, counts)

        _in_threads(run, len(jobs), _QUESTIONS)
        return counts[question, 0], counts[question, 1]

    def _met(self, column: int) -> NDArray[np.float64]:
        """Return the distance of each released row to some original row that is close to it on one attribute."""
        releases, originals = self._releases, self._originals
        ends = releases.low if len(releases.low) else np.zeros(1)  # if no value of the release is one of the original
        first = np.minimum(releases.starts[releases.values[:, column]], len(ends) - 1)
        place = np.searchsorted(originals.sorted[column], ends[first])
        rows = originals.order[column][np.minimum(place, len(originals.positions) - 1)].astype(np.int64)
        out = np.empty(len(rows))
        self._kernels.pair_distances(originals, rows, releases, np.arange(len(rows)), out)
        return out

    def _root(self, distances: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.sqrt(distances) if self._originals.squared else distances


def _few_valued(
    order: NDArray[np.int32], in_order: NDArray[np.float64]
) -> tuple[NDArray[np.uint8], NDArray[np.float64], NDArray[np.int64]]:
    """Return, for attributes with few values, the number of each row's value, the values' positions, and their number."""
    attributes, rows = in_order.shape
    codes, levels = np.zeros((rows, attributes), dtype=np.uint8), np.zeros((attributes, _FEW))
    sizes = np.zeros(attributes, dtype=np.int64)
    for attribute in range(attributes):
        new = np.append(True, in_order[attribute, 1:] != in_order[attribute, :-1])
        if (size := int(np.count_nonzero(new))) <= min(_FEW, rows // 2):
            codes[order[attribute], attribute] = np.cumsum(new) - 1
            levels[attribute, :size] = in_order[attribute, new]
            sizes[attribute] = size
    return codes, levels, sizes


def _together(cells: Sequence[AttributeCells]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the released records' values, numbered through all attributes, and where the ranges of each begin."""
    values = np.column_stack([cell.value for cell in cells])
    starts, ranges = [np.zeros(1, dtype=np.int64)], 0
    for column, cell in enumerate(cells):
        values[:, column] += sum(map(len, starts)) - 1
        starts.append(cell.starts[1:] + ranges)
        ranges += len(cell.low)
    return values, np.concatenate(starts)


def _scaled(ends: NDArray[np.float64], factor: float) -> NDArray[np.float64]:
    """Return positions on the line in units of the attribute; infinity stays infinite, and nothing else becomes infinite."""
    farthest = np.finfo(np.float64).max
    with np.errstate(over="ignore"):
        return np.where(np.isinf(ends), ends, np.clip(ends * factor, -farthest, farthest))


def _in_threads(work: Callable[[int, int], None], size: int, stage: str | None = None) -> None:
    """Run a function over pieces of 0 to size, on every processor; after an interrupt, no further pieces begin."""
    run = active_run()
    pieces = [(begin, min(begin + _PIECE, size)) for begin in range(0, size, _PIECE)]
    threads = min(run.limits.threads or os.cpu_count() or 1, len(pieces))

    def tell(done: int) -> None:
        run.check()
        if stage is not None:
            run.at(stage, done, size)

    if threads <= 1:
        for begin, end in pieces:
            work(begin, end)
            tell(end)
        return
    with ThreadPoolExecutor(threads) as pool:
        try:
            waiting = [pool.submit(work, begin, end) for begin, end in pieces]
            for done, (_, end) in zip(waiting, pieces, strict=True):
                done.result()
                tell(end)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
