"""The compiled loop of rank swapping: which ranks change places."""

from __future__ import annotations

import numpy as np

from unveil.compilation import compiled

__all__ = ["near_partners"]


@compiled
def near_partners(reach, draws):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Return the partner of every rank, at most `reach` away; a rank is its own partner if all others in reach have one.

    `free` holds the ranks in reach that have no partner yet, in any order, so that one of them is picked in one step.
    """
    n = draws.shape[0]
    partner, place, free = np.arange(n), np.full(n, -1), np.empty(min(reach + 1, n), dtype=np.int64)
    size, ahead = 0, 0
    for rank in range(n):
        # ranks that have come into reach
        while ahead < n and ahead <= rank + reach:
            free[size], place[ahead] = ahead, size
            size, ahead = size + 1, ahead + 1
        if place[rank] < 0:
            continue
        # the rank and one drawn from the free ones change places
        size = _remove(free, place, size, rank)
        if size:
            other = free[int(draws[rank] * size)]
            size = _remove(free, place, size, other)
            partner[rank], partner[other] = other, rank
    return partner


@compiled
def _remove(free, place, size, rank):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    last = free[size - 1]
    free[place[rank]], place[last] = last, place[rank]
    place[rank] = -1
    return size - 1
