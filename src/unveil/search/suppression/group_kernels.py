"""The compiled loops that let records at risk join groups, or form groups with spare records of others; sets are bit masks.

`codes` holds the records at risk, one line per attribute; -1 is a null of the data, which counts as a value here. `gone` is the
set of cells that each record loses; records of one group lose the same cells and are alike in the others. `group_of` numbers the
groups, -1 for a record that still waits, and `sizes` counts their members.
"""

from __future__ import annotations

import numpy as np

from unveil.compilation import compiled, compiled_in_place, compiled_within
from unveil.search.suppression.subset_kernels import sum_over_subsets

__all__ = ["regroup"]


@compiled_in_place
def _differences(codes, row, differs):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Fill in, for every record, the set of attributes in which it differs from the record in `row`."""
    for other in range(differs.shape[0]):
        differs[other] = 0
    for at in range(codes.shape[0]):
        column, own, bit = codes[at], codes[at, row], np.int32(1 << at)
        for other in range(column.shape[0]):
            differs[other] |= bit * np.int32(column[other] != own)


@compiled_in_place
def _joined(gone, group_of, sizes, costs, limit, row, differs):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Let a record join the cheapest group that it can belong to without exceeding the limit on the price of lost cells."""
    best, least = -1, limit
    for other in range(differs.shape[0]):
        price = costs[gone[other]]
        fitting = group_of[other] >= 0 and differs[other] & ~gone[other] == 0
        if fitting and (price < least or (best < 0 and price == least)):
            best, least = other, price
    if best < 0:
        return False
    gone[row], group_of[row] = gone[best], group_of[best]
    sizes[group_of[best]] += 1
    return True


@compiled_within
def _spared(gone, group_of, sizes, k, costs, price, other):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Whether a record is waiting, or its group can spare it and loses cells of at least this price."""
    return group_of[other] < 0 or (sizes[group_of[other]] > k and costs[gone[other]] >= price)


@compiled_in_place
def _formed(gone, group_of, sizes, last, k, costs, chosen, row, differs, members, before_gone, before_group):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, PLR0913
    """Form a group of a record and spare records that differ from it only within a set of cells; False if there are too few."""
    number, group = 0, last[0]
    for other in range(-1, differs.shape[0]):
        one = row if other < 0 else other
        if number == k or (other == row) or differs[one] & ~chosen != 0:
            continue
        if other >= 0 and not _spared(gone, group_of, sizes, k, costs, costs[chosen], one):
            continue
        # it leaves its group for the new one; what it was is kept
        members[number], before_gone[number], before_group[number] = one, gone[one], group_of[one]
        number += 1
        if group_of[one] >= 0:
            sizes[group_of[one]] -= 1
        gone[one], group_of[one] = chosen, group
    if number == k:
        sizes[group] = k
        last[0] = group + 1
        return True
    # too few: all is put back
    for at in range(number):
        gone[members[at]], group_of[members[at]] = before_gone[at], before_group[at]
        if before_group[at] >= 0:
            sizes[before_group[at]] += 1
    return False


@compiled
def regroup(codes, gone, group_of, sizes, last, k, costs, sets, order, room):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Let each waiting record join or form a group that loses one of the given cell sets, all of which have the same cost.

    Groups, sizes and the number of groups so far are updated. `room` is for the sets in which records differ, for the
    number of records within each set, and for the members of a group and what they were before.
    """
    differs, near, members, before_gone, before_group = room
    limit = costs[sets[0]]
    for row in order:
        if group_of[row] >= 0:
            continue
        # a group that is there, if one costs no more
        _differences(codes, row, differs)
        if _joined(gone, group_of, sizes, costs, limit, row, differs):
            continue
        # how many records could be spared within each set: only sets with k of them are tried
        for one in range(near.shape[0]):
            near[one] = 0
        for other in range(differs.shape[0]):
            near[differs[other]] += np.int64(_spared(gone, group_of, sizes, k, costs, limit, other))
        sum_over_subsets(near, codes.shape[0])
        for chosen in sets:
            if near[chosen] >= k and _formed(
                gone, group_of, sizes, last, k, costs, chosen, row, differs, members, before_gone, before_group
            ):
                break
