"""The compiled comparison of every released record with the original records that may matter; no distance is stored.

A pair's distance is a sum over attributes (of gaps, or of their squares), and it is abandoned as soon as it exceeds the
relevant bound. Not every pair is examined either: a pair farther apart than that on one attribute alone cannot matter, so of
the original rows, which are sorted by each attribute, only a stretch is searched: that of the attribute that leaves the fewest.
For an attribute with few values, the contribution of each value to the distance is computed once per released row.

numba is imported with this module; import it where a search begins, not before.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from unveil.compilation import compiled, compiled_in_place

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Originals", "Releases", "count_around", "least_distances", "pair_distances"]

Places: TypeAlias = "NDArray[np.float64]"
Starts: TypeAlias = "NDArray[np.int64]"

_MARGIN = 1e-9
_BLOCK = 4096
"""The number of rows whose distances are computed at a time."""


class Originals(NamedTuple):
    """The distinct original rows.

    Attributes
    ----------
    positions
        One row per record, one column per attribute, in the attribute's unit; infinity is a null.
    order, sorted
        For each attribute, the rows in its order, and their positions in that order.
    nulls
        Whether an attribute has nulls.
    step
        Whether an attribute's gap counts 0 or 1 only.
    squared
        Whether gaps are squared.
    codes, levels, sizes
        For an attribute with few values: the number of each row's value, the values' positions, and the number of values; an
        attribute with many values has the size 0.
    """

    positions: NDArray[np.float64]
    order: NDArray[np.int32]
    sorted: NDArray[np.float64]
    nulls: NDArray[np.bool_]
    step: NDArray[np.bool_]
    squared: bool
    codes: NDArray[np.uint8]
    levels: NDArray[np.float64]
    sizes: NDArray[np.int64]


class Releases(NamedTuple):
    """The distinct released rows: the number of each one's value of every attribute, and the ranges that a value covers."""

    values: NDArray[np.int64]
    starts: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


# Loops take arrays out of their tuples before they begin: each access to a field counts references, which costs more than a gap.


@compiled_in_place
def _part(x: float, value: int, step: bool, squared: bool, starts: Starts, low: Places, high: Places) -> float:  # noqa: FBT001
    """Return the contribution of an attribute to a distance: the gap to the nearest range that the released value covers."""
    gap = math.inf
    for at in range(starts[value], starts[value + 1]):
        if x < low[at]:
            gap = min(gap, low[at] - x)
        elif x > high[at]:
            gap = min(gap, x - high[at])
        else:
            gap = 0.0
            break
    if gap > 0.0 and (step or gap == math.inf):
        gap = 1.0
    return gap * gap if squared else gap


@compiled
def _note_parts(originals: Originals, releases: Releases, job: int, most: int, parts: Places) -> None:
    """Store the contribution of each value of the attributes with at most `most` values to the distance from a released row."""
    starts, low, high = releases.starts, releases.low, releases.high
    for attribute in range(originals.positions.shape[1]):
        value, step, levels = releases.values[job, attribute], originals.step[attribute], originals.levels[attribute]
        size = originals.sizes[attribute]
        for level in range(size if size <= most else 0):
            parts[attribute, level] = _part(levels[level], value, step, originals.squared, starts, low, high)


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
    """Write the distance of each given original row to the released row beside it."""
    positions, steps, squared = originals.positions, originals.step, originals.squared
    values, starts, low, high = releases.values, releases.starts, releases.low, releases.high
    for at in range(len(rows)):
        total = 0.0
        for attribute in range(positions.shape[1]):
            x, value = positions[rows[at], attribute], values[jobs[at], attribute]
            total += _part(x, value, steps[attribute], squared, starts, low, high)
        out[at] = total


@compiled
def _distances(
    originals: Originals, releases: Releases, job: int, rows: NDArray[np.int32], bound: float, parts: Places, out: Places
) -> None:
    """Write the distances of original rows to what a released row covers; a sum that exceeds the bound is abandoned."""
    positions, codes, sizes = originals.positions, originals.codes, originals.sizes
    steps, squared = originals.step, originals.squared
    values, starts, low, high = releases.values[job], releases.starts, releases.low, releases.high
    # the contribution of each value, of attributes with fewer values than rows
    most = len(rows)
    _note_parts(originals, releases, job, most, parts)
    # the sum over the attributes
    for at in range(len(rows)):
        row, total = rows[at], 0.0
        for attribute in range(positions.shape[1]):
            if 0 < sizes[attribute] <= most:
                total += parts[attribute, codes[row, attribute]]
            else:
                total += _part(positions[row, attribute], values[attribute], steps[attribute], squared, starts, low, high)
            if total > bound:
                break
        out[at] = total


@compiled
def least_distances(
    originals: Originals, releases: Releases, known: NDArray[np.float64], begin: int, end: int, out: NDArray[np.float64]
) -> None:
    """Write the distance of each released row from `begin` to `end` to the original row nearest to it.

    `known` is the known distance of some original row, or infinity.
    """
    parts, distances = np.empty(originals.levels.shape), np.empty(_BLOCK)
    for job in range(begin, end):
        best = known[job]
        attribute, first, last = _stretch(originals, releases, job, best)
        rows = originals.order[attribute]
        for start in range(first, last, _BLOCK):
            block = rows[start : min(start + _BLOCK, last)]
            _distances(originals, releases, job, block, best, parts, distances)
            for at in range(len(block)):
                best = min(best, distances[at])
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

    A job is abandoned, with its counts so far, once more than `most` are nearer.
    """
    parts, distances = np.empty(originals.levels.shape), np.empty(_BLOCK)
    for at in range(begin, end):
        lower, upper = bounds[at, 0], bounds[at, 1]
        # only rows that are near enough by one attribute can be near enough by all
        attribute, first, last = _stretch(originals, releases, jobs[at], upper)
        rows = originals.order[attribute]
        closer, tied = 0.0, 0.0
        for start in range(first, last, _BLOCK):
            block = rows[start : min(start + _BLOCK, last)]
            _distances(originals, releases, jobs[at], block, upper, parts, distances)
            for place in range(len(block)):
                if distances[place] < lower:
                    closer += weight[block[place]]
                elif distances[place] <= upper:
                    tied += weight[block[place]]
            if closer > most:
                break
        out[at, 0] = closer
        out[at, 1] = tied
