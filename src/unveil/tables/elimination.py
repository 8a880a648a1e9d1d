"""Which cells do the equations determine exactly? Gaussian elimination modulo a prime, over the unknown cells.

An attacker can compute an unknown cell exactly if and only if it is 0 in every solution of the homogeneous equations. Two
random solutions decide: with 2^61 - 1 values for every coordinate, a cell that is 0 in both is 0 in all. The only contributor
of a cell s, who knows s, also knows a cell i if and only if every solution has both in the same proportion, that is, if the two
quotients of i and s agree. Randomness only affects the certainty (the chance of an error is below 10^-12); a cell that is not 0
is certainly not determined.
"""

from __future__ import annotations

import heapq
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from unveil.time_limit import check_time

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import NDArray

__all__ = ["PRIME", "Directions", "directions", "eliminated"]

PRIME = (1 << 61) - 1


class Directions:
    """Which cells are determined, and which determine one another.

    Attributes
    ----------
    kind
        For every unknown, a number: 0 if the equations determine it; of two with equal numbers, each determines the other.
    """

    def __init__(self, first: list[int], second: list[int]) -> None:
        self.kind = np.array([_quotient(a, b) for a, b in zip(first, second, strict=True)], dtype=object)

    def determined(self) -> NDArray[np.bool_]:
        """Return which unknowns the equations determine."""
        return np.array([kind == 0 for kind in self.kind], dtype=bool)


def _quotient(a: int, b: int) -> int:
    """Return a number that identifies the line through 0 and (a, b): 0 for the origin, 1 for a = 0, otherwise more."""
    if a == 0:
        return 0 if b == 0 else 1
    return 2 + b * pow(a, -1, PRIME) % PRIME


def directions(matrix: sp.csr_matrix) -> Directions:
    """Return the directions from two random solutions of A z = 0 modulo a prime; the draws are the same on every run."""
    order, rows = eliminated(matrix, PRIME)
    columns = matrix.shape[1]
    chance = np.random.Generator(np.random.PCG64(20240229))
    vectors = []
    for _ in range(2):
        z = [int(one) for one in chance.integers(1, PRIME, columns)]
        for at, row in zip(reversed(order), reversed(rows), strict=True):
            check_time()
            rest = sum(factor * z[column] for column, factor in row.items() if column != at)
            z[at] = -rest * pow(row[at], -1, PRIME) % PRIME
        vectors.append(z)
    return Directions(vectors[0], vectors[1])


def eliminated(matrix: sp.csr_matrix, prime: int) -> tuple[list[int], list[dict[int, int]]]:
    """Return the pivots in order, each with its row modulo a prime, which contains no earlier pivot."""
    start = matrix.indptr
    rows: list[dict[int, int]] = [
        {int(c): int(v) % prime for c, v in zip(matrix.indices[a:b], matrix.data[a:b], strict=True)} for a, b in pairwise(start)
    ]
    where: dict[int, set[int]] = {}
    for number, row in enumerate(rows):
        for column in row:
            where.setdefault(column, set()).add(number)
    active = [bool(row) for row in rows]
    alone = [column for column, some in where.items() if len(some) == 1]
    queue = [(len(row), number) for number, row in enumerate(rows) if row]
    heapq.heapify(queue)
    pivots: list[int] = []
    pivot_rows: list[dict[int, int]] = []
    while True:
        check_time()
        chosen = _next_pivot(rows, where, active, alone, queue)
        if chosen is None:
            return pivots, pivot_rows
        number, column = chosen
        row = rows[number]
        active[number] = False
        for other in row:
            where[other].discard(number)
        _cleared(rows, where, row, column, queue, prime)
        alone += [other for other in row if len(where[other]) == 1]
        pivots.append(column)
        pivot_rows.append(row)


def _next_pivot(
    rows: list[dict[int, int]],
    where: dict[int, set[int]],
    active: list[bool],
    alone: list[int],
    queue: list[tuple[int, int]],
) -> tuple[int, int] | None:
    """Choose a row and one of its columns: a column in no other row, or else the shortest row and its rarest column."""
    while alone:
        column = alone.pop()
        if len(where[column]) == 1:
            return next(iter(where[column])), column
    while queue:
        length, number = heapq.heappop(queue)
        row = rows[number]
        if not active[number] or not row:
            continue
        if len(row) != length:
            heapq.heappush(queue, (len(row), number))
            continue
        return number, min(row, key=lambda column: (len(where[column]), column))
    return None


def _cleared(
    rows: list[dict[int, int]],
    where: dict[int, set[int]],
    row: dict[int, int],
    column: int,
    queue: list[tuple[int, int]],
    prime: int,
) -> None:
    """Eliminate the pivot's column from all other rows."""
    inverse = pow(row[column], -1, prime)
    for number in sorted(where[column]):
        check_time()
        other = rows[number]
        factor = other[column] * inverse % prime
        for at, entry in row.items():
            before = other.get(at)
            after = ((before or 0) - factor * entry) % prime
            if after:
                other[at] = after
                if before is None:
                    where.setdefault(at, set()).add(number)
            elif before is not None:
                del other[at]
                where[at].discard(number)
        heapq.heappush(queue, (len(other), number))
    where[column] = set()
