"""Which secondary cells may be published again while every sensitive cell keeps its interval? By mixtures of moved tables.

A pool of moved tables that nobody can rule out shows how far each sensitive cell can move. To publish a cell c, all of them
must leave it unchanged: of two that move it to opposite sides, there is a mixture that does. If the mixtures do not show enough
for some sensitive cell, a linear program over the suppressed cells decides whether another moved table does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from unveil.tables.intervals import Unknowns
from unveil.tables.solver import LinearProgram
from unveil.tables.suppression.kernel import Kernel, dearest
from unveil.time_limit import OutOfTime, check_time, limited, time_left

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from unveil.tables.problem import CellProblem

__all__ = ["thinned_by_pool"]

_STILL = 1e-7
_KEPT = 40
"""The number of moved tables kept."""
_FAR = 20.0
"""The largest push of a sensitive cell, in units of its need, which leaves room for mixtures."""
_LEAST = 1e-9
_IN_VAIN, _MOST = 2, 0.8
"""Cells are pushed together until this many times in a row more than this share of them stays open."""
_SHARE = 0.6
"""The share of the remaining time that may be used, because the attack on the result needs some too."""


def thinned_by_pool(
    problem: CellProblem, suppressed: NDArray[np.bool_], step: Callable[[int, int], None] | None = None
) -> NDArray[np.bool_]:
    """Publish again the cells that sensitive cells do not need for their intervals, the most costly first, while time allows.

    Parameters
    ----------
    problem
        The table and its needs.
    suppressed
        A pattern; sensitive cells that are not safe in it stay that way.
    step
        A function called with the number of cells tried, and the total.
    """
    kept = suppressed.copy()
    try:
        with limited(_SHARE * time_left()):
            _thin(problem, kept, step)
    except OutOfTime:
        pass  # the cells published so far were not needed
    return kept


def _thin(problem: CellProblem, kept: NDArray[np.bool_], step: Callable[[int, int], None] | None) -> None:
    cells = np.flatnonzero(kept)
    pool = _Pool(problem, cells)
    order = dearest(problem, cells)
    for done, at in enumerate(order):
        check_time()
        pool.publish(at)
        kept[cells[at]] = not pool.published[at]
        if step is not None:
            step(done + 1, len(order))


class _Pool:
    """Moved tables over the suppressed cells, and the sensitive cells they serve."""

    def __init__(self, problem: CellProblem, cells: NDArray[np.int64]) -> None:
        self.problem, self.cells = problem, cells
        unknowns = Unknowns.of(problem.equations, problem.value, cells, problem.lower, problem.upper)
        far = 1e3 * max(1.0, float(np.abs(problem.value).max(initial=0)))
        self.lower = np.maximum(unknowns.lower - unknowns.point, -far)
        self.upper = np.minimum(unknowns.upper - unknowns.point, far)
        self.program = LinearProgram(unknowns.matrix, np.zeros(unknowns.matrix.shape[0]), self.lower, self.upper)
        self.kernel = Kernel.of(problem, cells)
        self.published = np.zeros(len(cells), dtype=bool)
        self.sought = np.flatnonzero(problem.primary[cells])
        exposed = problem.exposed(problem.value, problem.value)[cells[self.sought]]
        levels = np.maximum(problem.up, problem.down)[cells]
        self.need = np.maximum(np.maximum(levels, problem.width[cells]), _LEAST)
        self.sought = self.sought[exposed]
        self.tables = np.zeros((1, len(cells)))
        missing = self._completed(hopeless=True)
        self.sought = np.setdiff1d(self.sought, missing)  # cells that are not safe now need not become safe

    def publish(self, at: int) -> None:
        """Publish a cell if every sensitive cell keeps its required interval."""
        if self.kernel is not None and not self.kernel.spares(at):
            return
        before = self.tables
        self.tables = self._resting(at)
        place = np.array([at])
        self.program.bounds(place, np.zeros(1), np.zeros(1))
        if len(self._completed()):
            self.tables = before
            self.program.bounds(place, self.lower[place], self.upper[place])
            return
        self.tables = self._pruned(self.tables)
        self.published[at] = True
        if self.kernel is not None:
            self.kernel.publish(at)

    def _open(self) -> NDArray[np.int64]:
        """Return the sensitive cells that the tables do not show to be as uncertain as required."""
        cells = self.cells[self.sought]
        value, moved = self.problem.value[cells], self.tables[:, self.sought]
        low, high = value + moved.min(axis=0, initial=0.0), value + moved.max(axis=0, initial=0.0)
        return np.asarray(self.sought[self.problem.exposed(low, high, cells)])

    def _completed(self, *, hopeless: bool = False) -> NDArray[np.int64]:
        """Add moved tables until every sensitive cell is covered; return those for which there is none.

        Parameters
        ----------
        hopeless
            Whether to find all of these; otherwise the first ends the work.
        """
        missing, sign, vain = self._open(), 1.0, 0
        while len(missing) > 1 and vain < _IN_VAIN:
            self._push(missing, sign)
            before, missing, sign = len(missing), self._open(), -sign
            vain = vain + 1 if len(missing) > _MOST * before else 0
        for one in missing.tolist():
            for side in (1.0, -1.0):
                if one in self._open():
                    self._push(np.array([one]), side)
            if not hopeless and one in self._open():
                break
        return self._open()

    def _push(self, at: NDArray[np.int64], sign: float) -> None:
        """Add a moved table with some cells pushed as far to a side as possible, up to a multiple of their needs."""
        room = _FAR * self.need[at]
        low = self.lower[at] if sign > 0 else np.maximum(self.lower[at], -room)
        high = np.minimum(self.upper[at], room) if sign > 0 else self.upper[at]
        self.program.bounds(at, low, high)
        self.program.costs(at, np.full(len(at), -sign))
        solution = self.program.solve()
        self.program.bounds(at, self.lower[at], self.upper[at])
        if solution is not None:
            self.tables = np.vstack([self.tables, solution])

    def _resting(self, at: int) -> NDArray[np.float64]:
        """Return tables that leave a cell unchanged: those of the pool that do, and mixtures of two of the others."""
        move = self.tables[:, at]
        still = np.abs(move) <= _STILL
        above, below = np.flatnonzero(move > _STILL), np.flatnonzero(move < -_STILL)
        first, second = np.repeat(above, len(below)), np.tile(below, len(above))
        part = (-move[second] / (move[first] - move[second]))[:, None]
        mixed = part * self.tables[first] + (1 - part) * self.tables[second]
        mixed[:, at] = 0.0
        return np.vstack([self.tables[still], self._pruned(mixed)])

    def _pruned(self, tables: NDArray[np.float64]) -> NDArray[np.float64]:
        """Keep the tables that move some sensitive cell farthest, and a few more."""
        if len(tables) <= _KEPT:
            return tables
        moved = tables[:, self.sought]
        farthest = np.concatenate([np.argmax(moved, axis=0), np.argmin(moved, axis=0)])
        times = np.bincount(farthest, minlength=len(tables))
        kept = np.argsort(-times, kind="stable")[: max(_KEPT, int(np.count_nonzero(times)))]
        return np.asarray(tables[np.sort(kept)])
