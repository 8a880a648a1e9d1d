"""The compiled loops of `parts`: the extent of a part, the attribute along which it is split, and the child of each unit.

A part is a stretch of `order`, from `starts[part]` to `starts[part + 1]`. Codes, hierarchies (`groups`, one row per
level) and widths come attribute by attribute, padded to one size.
"""

from __future__ import annotations

import numpy as np

from unveil.compilation import compiled, compiled_in_place, compiled_within

__all__ = ["POOLED", "RELAXED", "STRICT", "describe", "pool", "propose", "scatter"]

STRICT, RELAXED, POOLED = 0, 1, 2


@compiled
def scatter(order, of_place, next_, out):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Put the units of each part side by side, in their order."""
    for place in range(order.shape[0]):
        out[next_[of_place[place]]] = order[place]
        next_[of_place[place]] += 1


@compiled_within
def _extent(order, start, stop, codes, hierarchical, null, groups):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Return the lowest and highest rank and whether nulls occur beside values; or the level and group of the lowest node."""
    first = np.int64(codes[order[start]])
    if hierarchical:
        # up to the level where all are in the group of the first
        level = 0
        for place in range(start, stop):
            code = codes[order[place]]
            while groups[level, code] != groups[level, first]:
                level += 1
        return np.int64(level), np.int64(groups[level, first]), False
    # the widest range of ranks, nulls apart
    low, high, nulls = np.int64(1 << 62), np.int64(-1), np.int64(0)
    for place in range(start, stop):
        code = np.int64(codes[order[place]])
        if code == null:
            nulls += 1
        else:
            low, high = code if code < low else low, code if code > high else high  # noqa: FURB136 - compiles faster
    if nulls == stop - start:
        return null, null, False
    return low, high, nulls > 0


@compiled
def describe(order, starts, codes, hierarchical, nulls, groups, low, high, mixed):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Fill in the extent of every part in every attribute."""
    for part in range(starts.shape[0] - 1):
        for at in range(codes.shape[0]):
            low[at, part], high[at, part], mixed[at, part] = _extent(
                order, starts[part], starts[part + 1], codes[at], hierarchical[at], nulls[at], groups[at]
            )


@compiled
def propose(  # type: ignore[no-untyped-def]  # noqa: ANN201, C901, PLR0912, PLR0913
    order, starts, tried, codes, hierarchical, nulls, groups, widths, n, smallest, mode, room, child, number, chosen  # noqa: ANN001
):  # fmt: skip
    """Find for every part the widest attribute along which it may be split by size, and the child of each of its units.

    `room` holds two numbers for each value, the first of which is 0, and the findings about each attribute.
    """
    dimensions = codes.shape[0]
    scratch, names, low, high, mixed, span = room
    for part in range(starts.shape[0] - 1):
        start, stop = starts[part], starts[part + 1]
        # a part too small for two is left alone
        weight = np.int64(0)
        for place in range(start, stop):
            weight += n[order[place]]
        if weight < 2 * smallest or stop - start == 1:
            continue
        # how wide the part is along each attribute that was not refused before
        for at in range(dimensions):
            span[at] = 0.0
            if tried[part, at]:
                continue
            low[at], high[at], mixed[at] = _extent(order, start, stop, codes[at], hierarchical[at], nulls[at], groups[at])
            if hierarchical[at]:
                span[at] = widths[at, low[at], high[at]] if low[at] > 0 else 0.0
                if mode == POOLED and low[at] > 0:
                    span[at] = _gain(
                        order, start, stop, codes[at], groups[at], widths[at], low[at], high[at], n, smallest, scratch
                    )
            else:
                span[at] = 1.0 if mixed[at] else widths[at, 0, high[at]] - widths[at, 0, low[at]]
        # the widest attribute along which both sides are large enough
        while True:
            at = 0
            for other in range(1, dimensions):
                if span[other] > span[at]:
                    at = other
            if span[at] <= 0.0:
                break
            span[at] = 0.0
            if hierarchical[at]:
                below = groups[at, low[at] - 1]
                parts = _children(order, start, stop, codes[at], below, n, smallest, mode == POOLED, scratch, names, child)
            elif mixed[at]:
                parts = _nulls_apart(order, start, stop, codes[at], nulls[at], n, smallest, child)
            else:
                parts = _halves(
                    order, start, stop, codes[at], low[at], high[at], n, weight, smallest, mode == RELAXED, scratch, child
                )
            if parts > 1:
                chosen[part], number[part] = at, parts
                break


@compiled_in_place
def _gain(order, start, stop, codes, groups, widths, level, node, n, smallest, scratch):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, PLR0913
    """Return the gain if every child that is large enough became a part of its own."""
    below, gain = groups[level - 1], 0.0
    for place in range(start, stop):
        scratch[below[codes[order[place]]]] += n[order[place]]
    for place in range(start, stop):
        group = below[codes[order[place]]]
        if scratch[group] >= smallest:
            gain += scratch[group] * (widths[level, node] - widths[level - 1, group])
        scratch[group] = 0
    return gain


@compiled_in_place
def _nulls_apart(order, start, stop, codes, null, n, smallest, child):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    values = weight = np.int64(0)
    for place in range(start, stop):
        unit = order[place]
        child[place] = np.int64(codes[unit] == null)
        weight += n[unit]
        values += n[unit] * (1 - child[place])
    return 2 if values >= smallest and weight - values >= smallest else 1


@compiled_in_place
def _halves(order, start, stop, codes, low, high, n, weight, smallest, relaxed, scratch, child):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, PLR0913
    """Cut an ordered attribute where the halves are most nearly equal; if relaxed, records of the median go to both sides."""
    # how many records hold each value, then the cut that is nearest to half of them
    for place in range(start, stop):
        scratch[codes[order[place]]] += n[order[place]]
    half, below, cut, best, left, at_cut = weight // 2, np.int64(0), low, np.int64(-1), np.int64(0), np.int64(0)
    for code in range(low, high + 1):
        if relaxed and below <= half < below + scratch[code]:
            cut, left, at_cut = np.int64(code), half, half - below
        below += scratch[code]
        scratch[code] = 0
        far = abs(2 * below - weight)
        if not relaxed and code < high and (best < 0 or far < best):
            cut, best, left = np.int64(code), far, below
    if left < smallest or weight - left < smallest:
        return 1
    # the side of every unit
    for place in range(start, stop):
        code = codes[order[place]]
        if not relaxed:
            child[place] = np.int64(code > cut)
        elif code == cut:
            child[place] = np.int64(at_cut <= 0)
            at_cut -= 1
        else:
            child[place] = np.int64(code > cut)
    return 2


@compiled_in_place
def _children(order, start, stop, codes, below, n, smallest, lends, scratch, names, child):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, C901, PLR0912, PLR0913
    """Make every child of a node a part; too small ones share a part, which takes records from another child or joins it."""
    # how many records each child has, and which children are too small
    for place in range(start, stop):
        scratch[below[codes[order[place]]]] += n[order[place]]
    rest, most, least = np.int64(0), np.int64(-1), np.int64(-1)
    for place in range(start, stop):
        group = np.int64(below[codes[order[place]]])
        names[group] = -1
        if scratch[group] < smallest:
            rest += n[order[place]]
        else:
            if most < 0 or scratch[group] > scratch[most]:
                most = group
            if least < 0 or scratch[group] < scratch[least]:
                least = group
    # what is left over is made large enough: from the largest child, or with the smallest one
    borrowed, absorbed = np.int64(0), np.int64(-1)
    if 0 < rest < smallest:
        if lends and most >= 0 and scratch[most] >= 2 * smallest - rest:
            borrowed = smallest - rest
        else:
            absorbed = least
    # the child of every unit, numbered in the order of units; what is left over is number 0
    parts = np.int64(1) if rest > 0 else np.int64(0)
    for place in range(start, stop):
        group = np.int64(below[codes[order[place]]])
        if scratch[group] < smallest or group == absorbed:
            child[place] = 0
        elif group == most and borrowed > 0:
            child[place] = 0
            borrowed -= n[order[place]]
        else:
            if names[group] < 0:
                names[group] = parts
                parts += 1
            child[place] = names[group]
    for place in range(start, stop):
        scratch[below[codes[order[place]]]] = 0
    return parts


@compiled
def pool(starts, chosen, wrong, first, child, number):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Put the children that violate a model into one part."""
    for part in range(starts.shape[0] - 1):
        if not chosen[part]:
            continue
        place_of, parts = np.zeros(number[part], np.int64), np.int64(1)
        for at in range(number[part]):
            if not wrong[first[part] + at]:
                place_of[at] = parts
                parts += 1
        for place in range(starts[part], starts[part + 1]):
            child[place] = place_of[child[place]]
        number[part] = parts
