"""Which cells may be published again without disclosing a sensitive cell exactly? Decided by linear algebra alone.

The suppressed cells can move along the solutions of M z = 0. To publish a cell c is to keep the solutions with z_c = 0: that
determines exactly the cells that move in fixed proportion to c, and lets someone who knows a cell s compute every cell that
moves in fixed proportion to a mixture of s and c. A basis of the solutions, modulo a prime, answers that for one cell after
the other, at a cost of one elimination step each. How wide the intervals stay is not decided here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from unveil.tables.disclosure import owners
from unveil.tables.elimination import eliminated
from unveil.time_limit import OutOfTime, check_time, limited, time_left

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.tables.problem import CellProblem

__all__ = ["Kernel", "dearest", "thinned_exactly"]

_PRIME = (1 << 31) - 1
"""Products of two residues fit into 64 bits. If two quotients agree by chance, a cell merely stays suppressed."""
_DETERMINED = -2
_TRIED = 16
"""Of about this many solutions that move a cell, the one that moves the fewest others eliminates it from the rest."""
_MOST_ENTRIES = 40_000_000
"""The most entries of the basis; a larger one is not built."""


def thinned_exactly(problem: CellProblem, suppressed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Publish again the cells not needed to keep sensitive cells from being computed exactly, the most costly first.

    It takes at most half of the remaining time, because the attack on the result needs some too.
    """
    kept = suppressed.copy()
    try:
        with limited(time_left() / 2):
            _thin(problem, kept)
    except OutOfTime:
        pass  # the cells published so far disclose nothing
    return kept


def _thin(problem: CellProblem, kept: NDArray[np.bool_]) -> None:
    cells = np.flatnonzero(kept)
    kernel = Kernel.of(problem, cells)
    if kernel is None:
        return
    for at in dearest(problem, cells):
        check_time()
        if kernel.spares(at):
            kernel.publish(at)
            kept[cells[at]] = False


def dearest(problem: CellProblem, cells: NDArray[np.int64]) -> list[int]:
    """Return the positions of the cells that are suppressed only to protect others, the most costly first."""
    spare = np.flatnonzero(~problem.primary[cells] & ~problem.hidden[cells])
    return [int(at) for at in spare[np.lexsort((spare, -problem.cost[cells[spare]]))]]


class Kernel:
    """A basis of the solutions of M z = 0 modulo a prime, two random solutions, and the cells that they disclose."""

    def __init__(self, basis: NDArray[np.int64], primary: NDArray[np.bool_], owner: NDArray[np.int64]) -> None:
        self.basis = basis
        self.primary, self.owner = primary, owner
        chance = np.random.Generator(np.random.PCG64(20240229))
        self.drawn = np.stack([self._mixture(np.asarray(chance.integers(1, _PRIME, basis.shape[1]))) for _ in range(2)])
        self.already = self._exposed(self.drawn)

    @classmethod
    def of(cls, problem: CellProblem, cells: NDArray[np.int64]) -> Kernel | None:
        """Return the solutions over the suppressed cells; None if there are too many of them."""
        matrix = problem.equations[:, cells].tocsr()
        pivots, rows = eliminated(matrix[np.diff(matrix.indptr) > 0], _PRIME)
        free = np.setdiff1d(np.arange(len(cells)), pivots)
        if len(free) * len(cells) > _MOST_ENTRIES:
            return None
        basis = np.zeros((len(cells), len(free)), dtype=np.int64)
        basis[free, np.arange(len(free))] = 1
        for at, row in zip(reversed(pivots), reversed(rows), strict=True):
            check_time()
            turned = _PRIME - pow(row[at], -1, _PRIME)
            line = np.zeros(len(free), dtype=np.int64)
            for column, factor in row.items():
                if column != at:
                    line = (line + factor * basis[column]) % _PRIME
            basis[at] = line * turned % _PRIME
        return cls(basis, problem.primary[cells], owners(problem)[cells])

    def _mixture(self, factors: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return a mixture of the solutions."""
        total = np.zeros(len(self.basis), dtype=np.int64)
        for column, factor in enumerate(factors.tolist()):
            check_time()
            total = (total + self.basis[:, column] * factor) % _PRIME
        return total

    def spares(self, at: int) -> bool:
        """Return whether a cell can be published without disclosing a sensitive one."""
        pivot, step = self._step(at)
        return pivot < 0 or not (self._exposed(self._moved(at, step)) & ~self.already).any()

    def publish(self, at: int) -> None:
        """Publish a cell."""
        pivot, step = self._step(at)
        if pivot < 0:
            return
        self.drawn = self._moved(at, step)
        line = self.basis[at].copy()
        moved, others = np.flatnonzero(step), np.flatnonzero(line)
        place = np.ix_(moved, others[others != pivot])
        self.basis[place] = (self.basis[place] - step[moved, None] * line[place[1]] % _PRIME) % _PRIME
        self.basis[:, pivot] = 0

    def _step(self, at: int) -> tuple[int, NDArray[np.int64]]:
        """Return the number of a solution, scaled to move a cell by 1, and the solution; -1 if none moves it."""
        line = self.basis[at]
        able = np.flatnonzero(line)
        if not len(able):
            return -1, line
        some = able[:: 1 + len(able) // _TRIED]
        pivot = int(some[np.argmin(np.count_nonzero(self.basis[:, some], axis=0))])
        return pivot, self.basis[:, pivot] * pow(int(line[pivot]), -1, _PRIME) % _PRIME

    def _moved(self, at: int, step: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the random solutions after fixing a cell."""
        return np.asarray((self.drawn - self.drawn[:, [at]] * step % _PRIME) % _PRIME)

    def _exposed(self, drawn: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which sensitive cells everyone, or the only contributor of another cell, can compute."""
        kind = np.where(drawn[0] == 0, np.where(drawn[1] == 0, _DETERMINED, -1), drawn[1] * _inverse(drawn[0]) % _PRIME)
        exposed = self.primary & (kind == _DETERMINED)
        known = np.flatnonzero((self.owner >= 0) & (kind != _DETERMINED))
        if len(known):
            kinds, place = np.unique(kind[known], return_inverse=True)
            first, last = np.full(len(kinds), np.iinfo(np.int64).max), np.full(len(kinds), -1)
            np.minimum.at(first, place, self.owner[known])
            np.maximum.at(last, place, self.owner[known])
            at = np.minimum(np.searchsorted(kinds, kind), len(kinds) - 1)
            shared = (kinds[at] == kind) & ((first[at] != self.owner) | (last[at] != self.owner))
            exposed |= self.primary & shared
        return np.asarray(exposed)


def _inverse(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the inverses modulo the prime, by Fermat's theorem; of 0, 0."""
    result, power, left = np.ones_like(numbers), numbers.copy(), _PRIME - 2
    while left:
        if left & 1:
            result = result * power % _PRIME
        power = power * power % _PRIME
        left >>= 1
    return np.where(numbers == 0, 0, result)
