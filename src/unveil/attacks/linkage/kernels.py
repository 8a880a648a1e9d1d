"""The comparison of every release record with the original records that may matter, compiled; no distance is kept.

A pair's distance is a sum over attributes (of gaps, or of their squares), and it is given up as soon as it exceeds what is
still of interest. Nor is every pair looked at: a pair farther apart than that on one attribute alone cannot matter, so of the
original rows, which are sorted by each attribute, only a stretch is searched: that of the attribute that leaves fewest.

numba is imported with this module; import it where a search begins, not before.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from unveil.compilation import compiled, compiled_in_place

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Originals", "Releases", "count_around", "least_distances", "pair_distances"]

_MARGIN = 1e-9


class Originals(NamedTuple):
    """The distinct original rows.

    Attributes
    ----------
    positions
        One row per record, one column per attribute, in the attribute's unit; infinity is a null.
    order, sorted
        For each attribute the rows in its order, and their positions in that order.
    nulls
        Whether an attribute has nulls.
    step
        Whether an attribute's gap counts 0 or 1 only.
    squared
        Whether gaps are squared.
    """

    positions: NDArray[np.float64]
    order: NDArray[np.int32]
    sorted: NDArray[np.float64]
    nulls: NDArray[np.bool_]
    step: NDArray[np.bool_]
    squared: bool


class Releases(NamedTuple):
    """The distinct release rows: the number of each one's value of every attribute, and the ranges that a value covers."""

    values: NDArray[np.int64]
    starts: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


@compiled_in_place
def _distance(originals: Originals, row: int, releases: Releases, job: int, bound: float) -> float:
    """Return the distance of an original row to what a release row covers, or any sum above the bound that it exceeds."""
    total = 0.0
    for attribute in range(originals.positions.shape[1]):
        x = originals.positions[row, attribute]
        value = releases.values[job, attribute]
        # the gap to the nearest of the ranges that the released value covers
        gap = math.inf
        for at in range(releases.starts[value], releases.starts[value + 1]):
            if x < releases.low[at]:
                gap = min(gap, releases.low[at] - x)
            elif x > releases.high[at]:
                gap = min(gap, x - releases.high[at])
            else:
                gap = 0.0
                break
        # add it up, and stop above the bound
        if gap > 0.0:
            if originals.step[attribute] or gap == math.inf:
                gap = 1.0
            total += gap * gap if originals.squared else gap
            if total > bound:
                break
    return total


@compiled
def _stretch(originals: Originals, releases: Releases, job: int, bound: float) -> tuple[int, int, int]:
    """Return an attribute and the stretch of rows, in its order, outside of which every row is farther than the bound."""
    size = originals.positions.shape[0]
    best, begin, end = 0, 0, size
    if not bound < math.inf:
        return best, begin, end
    # for each attribute, the rows whose gap alone does not exceed the bound; the shortest stretch wins
    reach = math.sqrt(bound) if originals.squared else bound
    for attribute in range(originals.positions.shape[1]):
        if reach >= 1.0 and (originals.step[attribute] or originals.nulls[attribute]):
            continue  # a row that is not covered, or null, counts 1, wherever it is
        value = releases.values[job, attribute]
        first, last = releases.starts[value], releases.starts[value + 1] - 1
        if last < first:
            continue
        extra = 0.0 if originals.step[attribute] else reach
        low = releases.low[first] - extra - _MARGIN * (extra + abs(releases.low[first]))
        high = releases.high[last] + extra + _MARGIN * (extra + abs(releases.high[last]))
        from_row = np.searchsorted(originals.sorted[attribute], low, side="left")
        to_row = np.searchsorted(originals.sorted[attribute], high, side="right")
        if to_row - from_row < end - begin:
            best, begin, end = attribute, from_row, to_row
    return best, begin, end


@compiled
def pair_distances(
    originals: Originals, rows: NDArray[np.int64], releases: Releases, jobs: NDArray[np.int64], out: NDArray[np.float64]
) -> None:
    """Write the distance of each original row named to the release row beside it."""
    for at in range(len(rows)):
        out[at] = _distance(originals, rows[at], releases, jobs[at], math.inf)


@compiled
def least_distances(
    originals: Originals, releases: Releases, known: NDArray[np.float64], begin: int, end: int, out: NDArray[np.float64]
) -> None:
    """Write the distance of each release row from `begin` to `end` to the original row nearest to it.

    `known` is a distance that some original row is known to have, or infinity.
    """
    for job in range(begin, end):
        best = known[job]
        attribute, first, last = _stretch(originals, releases, job, best)
        for at in range(first, last):
            distance = _distance(originals, originals.order[attribute, at], releases, job, best)
            if distance < best:
                best = distance
                if best == 0.0:
                    break
        out[job] = best


@compiled
def count_around(
    originals: Originals,
    weight: NDArray[np.float64],
    releases: Releases,
    jobs: NDArray[np.int64],
    bounds: NDArray[np.float64],
    most: float,
    begin: int,
    end: int,
    out: NDArray[np.float64],
) -> None:
    """Count, by weight, the original rows nearer than a lower bound, and those from there to an upper bound, for each job.

    A job is given up, with what was counted so far, once more than `most` are nearer.
    """
    for at in range(begin, end):
        lower, upper = bounds[at, 0], bounds[at, 1]
        attribute, first, last = _stretch(originals, releases, jobs[at], upper)
        closer = 0.0
        tied = 0.0
        for place in range(first, last):
            row = originals.order[attribute, place]
            distance = _distance(originals, row, releases, jobs[at], upper)
            if distance < lower:
                closer += weight[row]
                if closer > most:
                    break
            elif distance <= upper:
                tied += weight[row]
        out[at, 0] = closer
        out[at, 1] = tied
