# mypy: disable-error-code="no-untyped-def, no-untyped-call"
"""The compiled loops of MDAV over numbers, by a tree of the records without a group.

A node of the tree has a box around its records that have no group yet; boxes shrink as records get one. No record of a node is
farther away than the farthest corner of its box, or nearer than the box itself, so most nodes need not be searched. Bounds and
distances are summed in the same order, and rounding keeps order, so bounds hold to the last bit. The record farthest from the
centre is sought among the outermost ones, because the centre moves little. So the groups are exactly those of `kernels.mdav`,
which examines every record. Of records at the same distance, the first comes first.
"""
# ruff: noqa: ANN001, ANN201, ANN202, FURB136, PLR1730 - min and max would be compiled for each pair of types

from __future__ import annotations

import math

import numpy as np

from unveil.compilation import compiled, compiled_in_place, compiled_within

__all__ = ["rounds"]

_ROUNDING = 1e-9
"""The relative tolerance of bounds that are not summed in the order of the distances."""
_WORTH = 8
"""Records are sorted again once this many times as many were examined."""


@compiled_within
def _bound(box, node, at, sign):
    """Return the squared distance of a node's box, or, with a negative sign, that of its farthest corner, negated."""
    squared, width = 0.0, at.shape[0]
    for axis in range(width):
        below, above = box[node, axis] - at[axis], box[node, width + axis] + at[axis]
        if sign < 0.0:
            below, above = abs(below), abs(above)
        apart = below if below > above else above
        if apart > 0.0:
            squared += apart * apart
    return sign * squared


@compiled_in_place
def _pushed(left, first, box, node, at, sign, stack, bounds, top):
    """Push the halves of a node onto the stack, with the one to search first on top; return the number of nodes on it."""
    one = 2 * node
    other = one + 1
    if left[one] == 0:
        stack[top] = other  # within the bound of its parent, which is still stored there
        top += 1
    elif left[other] == 0:
        stack[top] = one
        top += 1
    else:
        near, far = _bound(box, one, at, sign), _bound(box, other, at, sign)
        last = np.int64(near > far or (near == far and first[one] > first[other]))  # the half that is searched last
        stack[top], bounds[top] = other - last, far if last == 0 else near
        stack[top + 1], bounds[top + 1] = one + last, near if last == 0 else far
        top += 2
    return top


@compiled_in_place
def _search(points, records, starts, left, first, box, at, sign, wanted, hits, distance, stack, bounds):  # noqa: PLR0913
    """Find the records nearest to a place, nearest first, as many as are wanted; with a negative sign, the farthest.

    Of several records at the same distance, the first comes first. Distances are squared, and have the sign.
    """
    last, size = wanted - 1, 0
    for to in range(wanted):
        distance[to] = np.inf
    stack[0], bounds[0], top = 1, -np.inf, 1
    while top > 0:
        top -= 1
        # nothing in this node can be nearer than its bound
        node, bound = stack[top], bounds[top]
        if bound > distance[last] or (bound == distance[last] and first[node] > hits[last]):
            continue
        leaf = node - starts.shape[0]
        if leaf < 0:
            top = _pushed(left, first, box, node, at, sign, stack, bounds, top)
            continue
        # a leaf: measure each record, and insert it among the nearest so far
        for place in range(starts[leaf], starts[leaf] + left[node]):
            apart, record = 0.0, records[place]
            for axis in range(at.shape[0]):
                away = points[place, axis] - at[axis]
                apart += away * away
            apart *= sign
            if size > last and (apart > distance[last] or (apart == distance[last] and record > hits[last])):
                continue
            to = size if size < last else last
            while to > 0 and (apart < distance[to - 1] or (apart == distance[to - 1] and record < hits[to - 1])):
                hits[to], distance[to] = hits[to - 1], distance[to - 1]
                to -= 1
            hits[to], distance[to] = record, apart
            size += 1


@compiled_in_place
def _taken(points, records, leaves, places, starts, left, first, box, record):  # noqa: C901
    """Remove a record from the tree, and shrink the boxes around it."""
    width, place = points.shape[1], places[record]
    leaf = leaves[place]
    node = leaf + starts.shape[0]
    left[node] -= 1
    begin = starts[leaf]
    end = begin + left[node]
    if place != end:  # the last record of the leaf takes its place
        other = records[end]
        for axis in range(width):
            points[place, axis] = points[end, axis]
        records[place], places[other] = other, place
    # the box of the leaf
    earliest = places.shape[0]
    for side in range(2 * width):
        box[node, side] = np.inf
    for one in range(begin, end):
        if records[one] < earliest:
            earliest = records[one]
        for axis in range(width):
            value = points[one, axis]
            if value < box[node, axis]:
                box[node, axis] = value
            if -value < box[node, width + axis]:
                box[node, width + axis] = -value
    first[node] = earliest
    # those of the nodes above it
    while node > 1:
        node //= 2
        left[node] -= 1
        one = 2 * node
        first[node] = first[one] if first[one] < first[one + 1] else first[one + 1]
        for side in range(2 * width):
            low, other_low = box[one, side], box[one + 1, side]
            box[node, side] = low if low < other_low else other_low


@compiled_in_place
def _outermost(points, group, outer, reach, centre, drift):
    """Return the record without a group that is farthest from the centre, and the number of records examined.

    `outer` holds records from the outermost inwards, and `reach` the distance of each from an earlier centre. The centre has
    drifted since, so a record can be farther from it now by at most the drift; the search ends where that is not enough.
    """
    best, most, bar, looked = -1, -1.0, -np.inf, 0
    for at in range(outer.shape[0]):
        if reach[at] < bar:
            break
        # no record from here on can be farther than the best, unless the centre has drifted more
        record = outer[at]
        looked += 1
        if group[record] >= 0:
            continue
        apart = 0.0
        for axis in range(centre.shape[0]):
            away = points[record, axis] - centre[axis]
            apart += away * away
        if apart > most or (apart == most and record < best):
            best, most = record, apart
            bar = math.sqrt(most) * (1.0 - _ROUNDING) - drift
    return best, looked


@compiled
def rounds(  # noqa: PLR0913
    points, standing, records, leaves, places, starts, left, first, box, total, group, counts, outer, reach, origin, hits,
    distance, stack, bounds, centre, stop,
):  # fmt: skip
    """Form two groups a round while 3k records are left, then one of 2k or more; return once searching `outer` takes too long.

    Parameters
    ----------
    points, group
        The records, records x attributes, and the group of each; -1 if it has none.
    standing, records, leaves, places, starts, left, first, box, total
        The tree of the records without a group, as in `RecordTree`, and their sum.
    counts
        The number of records without a group, and the number of groups.
    outer, reach, origin
        Records from the outermost inwards, their distances from a centre, and that centre.
    hits, distance, stack, bounds, centre
        Space for k records, the smallest number in a group; for the nodes still to be searched; and for the centre.
    stop
        Once its first number is not 0 the loop ends; the second is the number of records that have a group.
    """
    k, looked, usual = hits.shape[0], 0, 0
    while counts[0] >= 2 * k and not stop[0]:
        stop[1] = points.shape[0] - counts[0]
        drift = 0.0
        for axis in range(centre.shape[0]):
            centre[axis] = total[axis] / counts[0]
            away = centre[axis] - origin[axis]
            drift += away * away
        outermost, here = _outermost(points, group, outer, reach, centre, math.sqrt(drift))
        usual = usual if usual > 0 else here
        looked += here
        second = outermost
        for step in range(3 if counts[0] >= 3 * k else 2):  # the record farthest from the first, the first's group, the other's
            around = outermost if step < 2 else second  # noqa: PLR2004 - the steps of the line above
            if group[around] >= 0:  # it has a group only if so many records are alike that it is near as well
                break
            sign, wanted = (-1.0, 1) if step == 0 else (1.0, k)
            at = points[around]
            _search(standing, records, starts, left, first, box, at, sign, wanted, hits, distance, stack, bounds)
            if step == 0:
                second = hits[0]
                continue
            for number in range(k):
                record = hits[number]
                group[record] = counts[1]
                for axis in range(centre.shape[0]):
                    total[axis] -= points[record, axis]
                _taken(standing, records, leaves, places, starts, left, first, box, record)
            counts[0] -= k
            counts[1] += 1
        if looked > _WORTH * outer.shape[0] and here > 2 * usual:
            break
