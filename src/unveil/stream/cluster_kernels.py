"""Compiled loops of a stream's clusters: records put into boxes as they came, and boxes halved while each half still protects.

A record is a row of coordinates; a box holds the lowest and the highest of each. The width of a box along a coordinate is
relative to its span, and 1 for values without an order, of which there are several. numba is imported with this module.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.compilation import compiled, compiled_in_place

__all__ = ["halve", "put_into_boxes"]


@compiled_in_place
def _width(low: float, high: float, span: float, flat: bool) -> float:  # noqa: FBT001
    if high <= low:
        return 0.0
    return 1.0 if flat or span <= 0.0 else (high - low) / span


@compiled
def put_into_boxes(x: Any, span: Any, flat: Any, tau: float, most: int, low: Any, high: Any, of_record: Any) -> int:
    """Put each record into the box that it enlarges least, of those that then lose no more than tau; else begin a box.

    Where there are as many boxes as there may be, the one enlarged least takes it. Returns the number of boxes.
    """
    used, d = 0, x.shape[1]
    for at in range(len(x)):
        best, best_growth, good, good_growth = -1, np.inf, -1, np.inf
        for box in range(used):
            growth, loss = 0.0, 0.0
            for c in range(d):
                before = _width(low[box, c], high[box, c], span[c], flat[c])
                after = _width(min(low[box, c], x[at, c]), max(high[box, c], x[at, c]), span[c], flat[c])
                growth += after - before
                loss += after
            if growth < best_growth:
                best, best_growth = box, growth
            if loss <= tau * d and growth < good_growth:
                good, good_growth = box, growth
        box = good if good >= 0 else best
        if good < 0 and used < most:
            box = used
            used += 1
            low[box] = x[at]
            high[box] = x[at]
        for c in range(d):
            low[box, c] = min(low[box, c], x[at, c])
            high[box, c] = max(high[box, c], x[at, c])
        of_record[at] = box
    return used


@compiled_in_place
def _distinct(codes: Any, rows: Any, start: int, stop: int) -> int:
    """Count the different codes of some rows."""
    taken = np.empty(stop - start, dtype=np.int64)
    for at in range(start, stop):
        taken[at - start] = codes[rows[at]]
    taken.sort()
    number = 1 if stop > start else 0
    for at in range(1, len(taken)):
        if taken[at] != taken[at - 1]:
            number += 1
    return number


@compiled_in_place
def _protects(persons: Any, secrets: Any, rows: Any, start: int, stop: int, k: int, most: int) -> bool:
    """Whether rows are of k persons, and hold as many values of every sensitive attribute as they must."""
    if stop - start < k or _distinct(persons, rows, start, stop) < k:
        return False
    for attribute in range(secrets.shape[0]):  # noqa: SIM110 - compiled
        if _distinct(secrets[attribute], rows, start, stop) < most:
            return False
    return True


@compiled_in_place
def _widths(x: Any, rows: Any, start: int, stop: int, span: Any, flat: Any) -> Any:
    """Return how wide some rows are along each coordinate."""
    widths = np.zeros(x.shape[1])
    for c in range(x.shape[1]):
        low, high = np.inf, -np.inf
        for at in range(start, stop):
            low, high = min(low, x[rows[at], c]), max(high, x[rows[at], c])
        widths[c] = _width(low, high, span[c], flat[c])
    return widths


@compiled
def halve(x: Any, span: Any, flat: Any, persons: Any, secrets: Any, k: int, diverse: int, rows: Any, group: Any) -> int:
    """Halve rows along the widest coordinate, as long as both halves protect; note the group of each row, and return how many."""
    stack = [(0, len(rows))]
    groups = 0
    while len(stack) > 0:
        start, stop = stack.pop()
        widths = _widths(x, rows, start, stop, span, flat)
        cut = -1
        if stop - start >= 2 * k:
            order = np.argsort(-widths)
            for c in order:
                if widths[c] <= 0.0:
                    break
                values = np.empty(stop - start)
                for at in range(start, stop):
                    values[at - start] = x[rows[at], c]
                sorting = np.argsort(values, kind="mergesort")
                ordered = rows[start:stop].copy()[sorting]
                middle = (stop - start) // 2
                rows[start:stop] = ordered
                if _protects(persons, secrets, rows, start, start + middle, k, diverse) and _protects(
                    persons, secrets, rows, start + middle, stop, k, diverse
                ):
                    cut = start + middle
                    break
        if cut >= 0:
            stack.append((start, cut))
            stack.append((cut, stop))
        else:
            for at in range(start, stop):
                group[rows[at]] = groups
            groups += 1
    return groups
