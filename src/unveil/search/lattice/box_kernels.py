"""The compiled loops of `boxes`: classes, each a run of adjacent cells, are split by one more attribute.

A partition is an order of the cells, with the place where each class starts.
"""

from __future__ import annotations

import numpy as np

from unveil.compilation import compiled

__all__ = ["small_parts", "split"]


@compiled
def small_parts(cells, starts, codes, groups, n, k, allowed, records):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Return how many records lie in classes smaller than k after the split; stop counting above the number allowed."""
    small = np.int64(0)
    for one in range(starts.shape[0] - 1):
        for at in range(starts[one], starts[one + 1]):
            records[groups[codes[cells[at]]]] += n[cells[at]]
        for at in range(starts[one], starts[one + 1]):
            group = groups[codes[cells[at]]]
            if records[group] < k:
                small += records[group]
            records[group] = 0
        if small > allowed:
            break
    return small


@compiled
def split(cells, starts, codes, groups, n, k, size):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Split the classes; return the cells of the classes that are large enough, their starts, and the cells of those below k."""
    records, many, place = np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.int64)
    met = np.empty(size, np.int64)
    kept, begins, gone = np.empty_like(cells), np.empty(cells.shape[0] + 1, starts.dtype), np.empty_like(cells)
    stay, classes, out = 0, 0, 0
    for one in range(starts.shape[0] - 1):
        # the groups of this class, their records and cells
        number = 0
        for at in range(starts[one], starts[one + 1]):
            group = groups[codes[cells[at]]]
            if many[group] == 0:
                met[number] = group
                number += 1
            records[group] += n[cells[at]]
            many[group] += 1
        # those that are large enough get a place
        for at in range(number):
            place[met[at]] = -1
            if records[met[at]] >= k:
                begins[classes], place[met[at]] = stay, stay
                classes += 1
                stay += many[met[at]]
        for at in range(starts[one], starts[one + 1]):
            group = groups[codes[cells[at]]]
            if place[group] < 0:
                gone[out] = cells[at]
                out += 1
            else:
                kept[place[group]] = cells[at]
                place[group] += 1
        for at in range(number):
            records[met[at]], many[met[at]] = 0, 0
    begins[classes] = stay
    return kept[:stay].copy(), begins[: classes + 1].copy(), gone[:out].copy()
