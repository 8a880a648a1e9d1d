# mypy: disable-error-code="no-untyped-def, no-untyped-call"
"""The compiled loops of MDAV, V-MDAV and the optimal univariate partition.

A record is a column of `points` (attributes x records, so that a loop over records runs through memory) and a column of
`codes`, its nominal attributes. The distance of two records is the sum of the squared differences of their points plus, for
every nominal attribute in which they differ, its weight. That is the squared Euclidean distance if each nominal value has a
coordinate of its own, so the centre of a set is its mean point and the shares of its values. Of records at the same distance,
the first comes first. Sums are computed in a fixed order, so every machine finds the same groups. Once `stop` is set the loops
end, and their results are meaningless.
"""
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from unveil.compilation import compiled
from unveil.mechanisms.microaggregation.tree import sum_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["mdav", "optimal", "v_mdav"]


class _Pool(NamedTuple):
    """The records, those without a group first.

    Attributes
    ----------
    points, codes, weights
        Their numbers, their nominal values, and the weight of a difference in each nominal attribute.
    row, place
        The record at each place, and the place of each record.
    group
        The group of each record; -1 while it has none.
    total, often
        Of the records without a group: the sum of their points, and the frequency of each nominal value.
    distance
        The distance of the record at each place from the point that was last looked up.
    """

    points: NDArray[np.float64]
    codes: NDArray[np.int64]
    weights: NDArray[np.float64]
    row: NDArray[np.int64]
    place: NDArray[np.int64]
    group: NDArray[np.int64]
    total: NDArray[np.float64]
    often: NDArray[np.int64]
    distance: NDArray[np.float64]


@compiled
def optimal(values, k):
    """Return where to cut sorted values into runs of at least k with the least squared error.

    The shortest path of Hansen and Mukherjee, whose arcs are the runs of k to 2k - 1 values. The error of a run grows value by
    value around its own mean (Welford), so there is no cancellation, no matter how far from zero the values lie.
    """
    n = values.shape[0]
    cost, start = np.full(n + 1, np.inf), np.zeros(n + 1, dtype=np.int64)
    cost[0] = 0.0
    # the cheapest way to reach each end, over the last run that leads there
    for end in range(k, n + 1):
        mean, error = 0.0, 0.0
        for size in range(1, min(2 * k - 1, end) + 1):
            first = end - size
            gap = values[first] - mean
            mean += gap / size
            error += gap * (values[first] - mean)
            if size >= k and cost[first] + error < cost[end]:
                cost[end] = cost[first] + error
                start[end] = first
    # walk back along the chosen runs
    cuts = [n]
    while cuts[-1] > 0:
        cuts.append(start[cuts[-1]])
    return np.array(cuts[::-1])


def mdav(points, codes, weights, k, stop):
    """Return the group of every record: two groups a round while 3k records are left, one of 2k or more, then the rest."""
    return _mdav(_pool(points, codes, weights), k, stop)


@compiled
def _mdav(pool, k, stop):
    left, made = pool.row.shape[0], np.int64(0)
    while left >= 2 * k and not stop[0]:
        stop[1] = pool.row.shape[0] - left
        # the record farthest from the centre, and the one farthest from that
        _from_centre(pool, left)
        _from_record(pool, left, _farthest(pool, left))
        second, pair = pool.row[_farthest(pool, left)], left >= 3 * k
        # a group around the first, and one around the second
        left = _take(pool, left, _nearest(pool, left, k), made)
        made += 1
        if pair and pool.group[second] < 0:  # it has a group only if so many records are alike that it is near as well
            _from_record(pool, left, pool.place[second])
            left = _take(pool, left, _nearest(pool, left, k), made)
            made += 1
    # the remaining records are the last group
    for at in range(left):
        pool.group[pool.row[at]] = made
    return pool.group


def v_mdav(points, codes, weights, k, gain, stop):
    """Return the group of every record: k around the one farthest from the centre of all, and up to k - 1 more that fit.

    A record fits if it is nearer to the group than `gain` times its distance to any other record without a group. The last
    records, fewer than k, join the group of the record nearest to them.
    """
    pool = _pool(points, codes, weights)
    _from_centre(pool, points.shape[1])
    return _v_mdav(pool, np.argsort(-pool.distance, kind="stable"), k, gain, stop)


@compiled
def _v_mdav(pool, outermost, k, gain, stop):
    n = pool.row.shape[0]
    left, made, gap = n, np.int64(0), np.empty(n)
    for record in outermost:
        stop[1] = n - left
        if stop[0]:
            return pool.group
        # a group around the outermost record without one, extended by those that fit
        if pool.group[record] < 0 and left >= k:
            _from_record(pool, left, pool.place[record])
            left = _take(pool, left, _nearest(pool, left, k), made)
            left = _extend(pool, left, made, k, gain * gain, gap)
            made += 1
    # the last records, fewer than k, join the group of their nearest neighbour
    for at in range(left):
        _from_record(pool, n, at)
        for other in range(left):
            pool.distance[other] = np.inf
        pool.group[pool.row[at]] = pool.group[pool.row[_nearest(pool, n, 1)[0]]]
    return pool.group


@compiled
def _extend(pool, left, made, k, gain, gap):
    """Add to the last group, which is behind the remaining records, one by one those that fit, up to 2k - 1."""
    # the distance of each remaining record from the nearest of the k members
    for at in range(gap.shape[0]):
        gap[at] = np.inf
    for member in range(left, left + k):
        _narrow(pool, left, member, gap)
    for _ in range(min(k - 1, left)):
        # the record nearest to the group
        for at in range(left):
            pool.distance[at] = gap[pool.row[at]]
        closest = _nearest(pool, left, 1)
        _from_record(pool, left, closest[0])
        pool.distance[closest[0]] = np.inf
        # its distance from the nearest remaining record
        least = np.inf
        for at in range(left):
            least = min(least, pool.distance[at])
        if gap[pool.row[closest[0]]] >= gain * least:
            break
        # it fits
        left = _take(pool, left, closest, made)
        _narrow(pool, left, left, gap)
    return left


@compiled
def _narrow(pool, left, member, gap):
    """Update in `gap` the distance of each remaining record from the nearest member of the group, after a new member."""
    _from_record(pool, left, member)
    for at in range(left):
        gap[pool.row[at]] = min(gap[pool.row[at]], pool.distance[at])


def _pool(points, codes, weights):
    """Return the initial pool of records; made by array operations, which need no compiling."""
    n = points.shape[1]
    values = int(codes.max()) + 1 if codes.size else 0
    often = [np.bincount(line, minlength=values) for line in codes]
    return _Pool(
        points.copy(),
        codes.copy(),
        weights,
        np.arange(n),
        np.arange(n),
        np.full(n, -1),
        sum_of(points),
        np.array(often, dtype=np.int64).reshape(len(codes), values),
        np.empty(n),
    )


@compiled
def _from_centre(pool, left):
    """Measure the distance of the remaining records from their centre, without the nominal part that all records share."""
    for at in range(left):
        pool.distance[at] = 0.0
    for attribute in range(pool.points.shape[0]):
        _add_squares(pool.points[attribute], pool.total[attribute] / left, left, pool.distance)
    for attribute in range(pool.codes.shape[0]):
        for at in range(left):
            share = pool.often[attribute, pool.codes[attribute, at]] / left
            pool.distance[at] += pool.weights[attribute] * (1.0 - share)


@compiled
def _from_record(pool, left, record):
    """Measure the distance of the remaining records from the one at a place."""
    for at in range(left):
        pool.distance[at] = 0.0
    for attribute in range(pool.points.shape[0]):
        _add_squares(pool.points[attribute], pool.points[attribute, record], left, pool.distance)
    for attribute in range(pool.codes.shape[0]):
        for at in range(left):
            if pool.codes[attribute, at] != pool.codes[attribute, record]:
                pool.distance[at] += pool.weights[attribute]


@compiled
def _add_squares(values, centre, left, distance):
    for at in range(left):
        distance[at] += (values[at] - centre) ** 2


@compiled
def _farthest(pool, left):
    """Return the place of the farthest record; of several, the first."""
    distance, best = pool.distance, 0
    for at in range(1, left):
        if distance[at] >= distance[best] and (distance[at] > distance[best] or pool.row[at] < pool.row[best]):
            best = at
    return best


@compiled
def _nearest(pool, left, k):
    """Return the places of the k nearest records, nearest first; of several at the same distance, the first."""
    nearest = np.empty(k, dtype=np.int64)
    bound, size = np.inf, 0
    for at in range(left):
        # insert into the list of the k nearest, which is kept in order
        if size < k or pool.distance[at] <= bound:
            to = min(size, k - 1)
            if size == k and not _before(pool, at, nearest[to]):
                continue
            while to > 0 and _before(pool, at, nearest[to - 1]):
                nearest[to] = nearest[to - 1]
                to -= 1
            nearest[to] = at
            size = min(size + 1, k)
            bound = pool.distance[nearest[size - 1]] if size == k else np.inf
    return nearest


@compiled
def _before(pool, one, other):
    """Whether the record at one place comes before that at another: it is nearer, or as near and earlier."""
    near, far = pool.distance[one], pool.distance[other]
    return near < far or (near == far and pool.row[one] < pool.row[other])


@compiled
def _take(pool, left, places, group):
    """Put the records at these places into a group, behind the remaining ones, and return the number of remaining records."""
    for at in places:
        for attribute in range(pool.points.shape[0]):
            pool.total[attribute] -= pool.points[attribute, at]
    for number in range(1, places.shape[0]):  # the last place first, so that the others stay where they are
        at, to = places[number], number
        while to > 0 and places[to - 1] < at:
            places[to] = places[to - 1]
            to -= 1
        places[to] = at
    # remove it from the sums of the remaining records, and move it to a place behind them
    for at in places:
        pool.group[pool.row[at]] = group
        for attribute in range(pool.codes.shape[0]):
            pool.often[attribute, pool.codes[attribute, at]] -= 1
        left -= 1
        _exchange(pool, at, left)
    return left


@compiled
def _exchange(pool, one, other):
    for attribute in range(pool.points.shape[0]):
        line = pool.points[attribute]
        line[one], line[other] = line[other], line[one]
    for attribute in range(pool.codes.shape[0]):
        names = pool.codes[attribute]
        names[one], names[other] = names[other], names[one]
    pool.row[one], pool.row[other] = pool.row[other], pool.row[one]
    pool.place[pool.row[one]], pool.place[pool.row[other]] = one, other
