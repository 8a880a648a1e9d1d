"""The compiled loops that find which cells of a record to suppress so that enough others match it; sets are bit masks.

Rows stand for records; `codes` holds a line for each attribute; a null cell is -1. A row whose every cell is null matches
nobody and has no weight. Two rows differ in a set of attributes: those in which both hold a value, but not the same one. With the
cells S of a row suppressed, the rows that match it are those that differ from it in a subset of S; so one pass over the rows
counts them by the set in which they differ, and sums over subsets give the matches for every S at once.
"""

from __future__ import annotations

import numpy as np

from unveil.compilation import compiled
from unveil.search.suppression.subset_kernels import sum_over_subsets

__all__ = ["cheapest", "restore", "suppress"]


@compiled
def _differences(codes, row, differs):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Fill in, for every row, the set of attributes in which it differs from `row`; attribute by attribute, which vectorises."""
    differs[:] = 0
    for at in range(codes.shape[0]):
        column, own, bit = codes[at], codes[at, row], np.int32(1 << at)
        if own >= 0:
            for other in range(column.shape[0]):
                differs[other] |= bit * np.int32((column[other] != own) & (column[other] >= 0))


@compiled
def _profile(codes, weight, size, k, row, differs, matches, helped):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Count, for every set of cells that a row may lose, the records that then match it, and those of them that lack matches."""
    _differences(codes, row, differs)
    matches[:] = 0
    helped[:] = 0
    for other in range(differs.shape[0]):
        matches[differs[other]] += weight[other]
        if size[other] < k and other != row:
            helped[differs[other]] += weight[other]
    sum_over_subsets(matches, codes.shape[0])
    sum_over_subsets(helped, codes.shape[0])


@compiled
def _choice(codes, row, k, costs, by_cost, matches, helped):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Return the cheapest set of cells that makes a row match k records; of equally cheap sets, the one that helps most others.

    The row keeps at least one cell if possible.
    """
    held = np.int64(0)
    for at in range(codes.shape[0]):
        if codes[at, row] >= 0:
            held |= np.int64(1) << at
    best = held
    for chosen in by_cost:
        if best != held and costs[chosen] > costs[best]:
            break
        if chosen & held != chosen or chosen == held or matches[chosen] < k:
            continue
        if best == held or helped[chosen] > helped[best]:
            best = chosen
    return best


@compiled
def cheapest(codes, weight, size, k, costs, by_cost, rows):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Return the current cost of making each of some rows match k records."""
    price, differs = np.empty(rows.shape[0]), np.empty(codes.shape[1], np.int32)
    matches, helped = np.zeros(costs.shape[0], np.int64), np.zeros(costs.shape[0], np.int64)
    for at in range(rows.shape[0]):
        _profile(codes, weight, size, k, rows[at], differs, matches, helped)
        price[at] = costs[_choice(codes, rows[at], k, costs, by_cost, matches, helped)]
    return price


@compiled
def suppress(codes, weight, size, k, costs, by_cost, rows):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Go through rows of one record each; if a row lacks matches, suppress its cheapest set of cells.

    Codes, weights and sizes (the records that match each row) are updated.
    """
    differs = np.empty(codes.shape[1], np.int32)
    matches, helped = np.zeros(costs.shape[0], np.int64), np.zeros(costs.shape[0], np.int64)
    for row in rows:
        if size[row] >= k or weight[row] == 0:
            continue
        _profile(codes, weight, size, k, row, differs, matches, helped)
        chosen = _choice(codes, row, k, costs, by_cost, matches, helped)
        for at in range(codes.shape[0]):
            if chosen >> at & 1:
                codes[at, row] = -1
        # rows that now match it gain a match; if it lost all its cells, those that it matched lose one
        left = (codes[:, row] >= 0).any()
        for other in range(differs.shape[0]):
            if left and differs[other] != 0 and differs[other] & chosen == differs[other]:
                size[other] += 1
            elif not left and differs[other] == 0:
                size[other] -= 1
        size[row] = matches[chosen]
        weight[row] = np.int64(left)


@compiled
def restore(codes, weight, size, k, original, rows, attributes):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Restore suppressed cells, row by row and in the given order of attributes, where no row falls below k matches."""
    differs = np.empty(codes.shape[1], np.int32)
    for row in rows:
        if weight[row] == 0:
            continue
        _differences(codes, row, differs)
        for at in attributes:
            value = original[at, row]
            if codes[at, row] >= 0 or value < 0:
                continue
            # a row that holds another value there would no longer match: neither may fall below k
            own, allowed = size[row], True
            for other in range(differs.shape[0]):
                if differs[other] == 0 and weight[other] > 0 and codes[at, other] >= 0 and codes[at, other] != value:
                    own -= weight[other]
                    allowed = allowed and size[other] > k and own >= k
            if allowed:
                for other in range(differs.shape[0]):
                    if codes[at, other] >= 0 and codes[at, other] != value:
                        size[other] -= np.int64(differs[other] == 0)
                        differs[other] |= np.int32(1 << at)
                codes[at, row] = value
                size[row] = own
