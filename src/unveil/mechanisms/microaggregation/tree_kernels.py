# mypy: disable-error-code="no-untyped-def, no-untyped-call"
"""Which records lie together? The compiled loops of MDAV over numbers, by a tree of the records without a group.

A node of the tree is a box around its records that have no group yet; boxes shrink as records get one. No record of a node is
farther away than the farthest corner of its box, nor nearer than the box itself, so most nodes need not be looked into. Bounds
and distances are summed in the same order, and rounding keeps order, so bounds hold to the last bit. The record farthest from the
centre is looked for among the outermost ones, since the centre moves little. So the groups are exactly those of `kernels.mdav`,
which looks at every record. Of records at the same distance the first comes first.
"""
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

import numpy as np

from unveil.compilation import compiled

__all__ = ["rounds"]

_ROUNDING = 1e-9
"""Bounds that are not summed in the order of the distances give way by this share."""
_WORTH = 8
"""Records are sorted anew once so many times as many were looked at."""


@compiled
def _bound(tree, node, at, sign):
    """Return how near the nearest place of a node's box is, or, with a sign below zero, how far the farthest is, below zero."""
    found = 0.0
    for axis in range(at.shape[0]):
        below, above = tree.low[node, axis] - at[axis], tree.high[node, axis] - at[axis]
        apart = max(abs(below), abs(above)) if sign < 0.0 else max(below, -above, 0.0)
        found += apart**2
    return sign * found


@compiled
def _pushed(tree, node, at, sign, stack, bounds, top):
    """Put the halves of a node on the stack, the one to look into first on top; return how many nodes are there then."""
    one, other = 2 * node, 2 * node + 1
    if tree.left[one] == 0 or tree.left[other] == 0:
        stack[top] = other if tree.left[one] == 0 else one  # within the bound of its parent, which still stands there
        return top + 1
    first, second = _bound(tree, one, at, sign), _bound(tree, other, at, sign)
    if first < second or (first == second and tree.first[one] < tree.first[other]):
        one, other, first, second = other, one, second, first
    stack[top], bounds[top] = one, first
    stack[top + 1], bounds[top + 1] = other, second
    return top + 2


@compiled
def _search(tree, at, sign, found, distance, stack, bounds):
    """Fill in the records nearest to a place, nearest first, or, with a sign below zero, the farthest; of several, the first.

    Distances are squared, and have the sign.
    """
    last, size = found.shape[0] - 1, 0
    distance[:] = np.inf
    stack[0], bounds[0], top = 1, -np.inf, 1
    while top > 0:
        top -= 1
        node, bound = stack[top], bounds[top]
        if bound > distance[last] or (bound == distance[last] and tree.first[node] > found[last]):
            continue
        leaf = node - tree.starts.shape[0]
        if leaf < 0:
            top = _pushed(tree, node, at, sign, stack, bounds, top)
            continue
        for place in range(tree.starts[leaf], tree.starts[leaf] + tree.left[node]):
            apart, record = 0.0, tree.record[place]
            for axis in range(at.shape[0]):
                apart += (tree.points[place, axis] - at[axis]) ** 2
            apart *= sign
            if size > last and (apart > distance[last] or (apart == distance[last] and record > found[last])):
                continue
            to = min(size, last)
            while to > 0 and (apart < distance[to - 1] or (apart == distance[to - 1] and record < found[to - 1])):
                found[to], distance[to] = found[to - 1], distance[to - 1]
                to -= 1
            found[to], distance[to] = record, apart
            size += 1


@compiled
def _taken(tree, record):
    """Take a record out of the tree, and draw the boxes around it in."""
    place = tree.place[record]
    leaf = tree.leaf[place]
    node = leaf + tree.starts.shape[0]
    tree.left[node] -= 1
    begin = tree.starts[leaf]
    end = begin + tree.left[node]
    if place != end:  # what stands last in the leaf takes its place
        other = tree.record[end]
        for axis in range(tree.points.shape[1]):
            tree.points[place, axis] = tree.points[end, axis]
        tree.record[place], tree.place[other] = other, place
    tree.first[node] = tree.place.shape[0]
    tree.low[node], tree.high[node] = np.inf, -np.inf
    for one in range(begin, end):
        tree.first[node] = min(tree.first[node], tree.record[one])
        for axis in range(tree.points.shape[1]):
            tree.low[node, axis] = min(tree.low[node, axis], tree.points[one, axis])
            tree.high[node, axis] = max(tree.high[node, axis], tree.points[one, axis])
    while node > 1:
        node //= 2
        tree.left[node] -= 1
        one, other = 2 * node, 2 * node + 1
        tree.first[node] = min(tree.first[one], tree.first[other])
        for axis in range(tree.points.shape[1]):
            tree.low[node, axis] = min(tree.low[one, axis], tree.low[other, axis])
            tree.high[node, axis] = max(tree.high[one, axis], tree.high[other, axis])


@compiled
def _outermost(points, group, outer, reach, centre, drift):
    """Return the record without a group that is farthest from the centre, and how many records were looked at.

    `outer` are records from the outermost inwards, and `reach` is how far each is from an earlier centre. The centre has drifted
    since, so no record can be farther from it now than by the drift; the search ends where that is not enough.
    """
    best, most, bar, looked = -1, -1.0, -np.inf, 0
    for at in range(outer.shape[0]):
        if reach[at] < bar:
            break
        record = outer[at]
        looked += 1
        if group[record] >= 0:
            continue
        apart = 0.0
        for axis in range(centre.shape[0]):
            apart += (points[record, axis] - centre[axis]) ** 2
        if apart > most or (apart == most and record < best):
            best, most = record, apart
            bar = np.sqrt(most) * (1.0 - _ROUNDING) - drift
    return best, looked


@compiled
def rounds(points, tree, total, group, counts, outer, reach, origin, k, stop):
    """Form two groups a round while 3k records are left, then one of 2k or more; return once `outer` takes too long to look at.

    Parameters
    ----------
    points, group
        The records, records x attributes, and the group of each; -1 where it has none.
    tree, total
        The tree of the records without a group, and their sum.
    counts
        How many records have no group, and how many groups there are.
    outer, reach, origin
        Records from the outermost inwards, how far each is from a centre, and that centre.
    k, stop
        The least number of records in a group; once `stop` holds true the loop ends.
    """
    found, farthest, distance = np.empty(k, np.int64), np.empty(1, np.int64), np.empty(k)
    stack, bounds, centre = np.empty(128, np.int64), np.empty(128), np.empty(points.shape[1])
    looked, usual = 0, 0
    while counts[0] >= 2 * k and not stop[0]:
        drift = 0.0
        for axis in range(centre.shape[0]):
            centre[axis] = total[axis] / counts[0]
            drift += (centre[axis] - origin[axis]) ** 2
        first, here = _outermost(points, group, outer, reach, centre, np.sqrt(drift))
        usual = usual if usual > 0 else here
        looked += here
        _search(tree, points[first], -1.0, farthest, distance[:1], stack, bounds)
        second = farthest[0]
        for number in range(2 if counts[0] >= 3 * k else 1):
            around = first if number == 0 else second
            if group[around] >= 0:  # it has a group only where so many records are alike that it is near as well
                break
            _search(tree, points[around], 1.0, found, distance, stack, bounds)
            for record in found:
                group[record] = counts[1]
                for axis in range(centre.shape[0]):
                    total[axis] -= points[record, axis]
                _taken(tree, record)
            counts[0] -= k
            counts[1] += 1
        if looked > _WORTH * outer.shape[0] and here > 2 * usual:
            break
