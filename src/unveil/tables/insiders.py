"""What those who are alone in a cell can compute: they know its value, and with it perhaps another cell.

For every sensitive cell and every contributor who is alone in some suppressed cells, the interval that is left where these
cells are known must be as wide as the cell needs. Every table that cannot be excluded is kept: of two that err on the known cell
to opposite sides, the mixture that has it right cannot be excluded by its owner. Most cells are settled so; for the rest there is
a linear program per person.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unveil.tables.intervals import Unknowns
from unveil.tables.solver import LinearProgram

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.tables.flows import FlowTask
    from unveil.tables.problem import CellProblem

__all__ = ["Inference", "inferences", "spoiled"]

_STILL = 1e-7
_DRAWN, _KEPT = 6, 48
"""Tables that are drawn before anybody is looked at, and that are kept at most."""


@dataclass(frozen=True, slots=True)
class Inference:
    """A cell that the only contributor of another one can compute too well, both by number, and the interval that is left."""

    cell: int
    insider: int
    low: float
    high: float


def inferences(problem: CellProblem, suppressed: NDArray[np.bool_], sought: NDArray[np.bool_]) -> list[Inference]:
    """Return the sensitive cells that somebody who is alone in other cells can compute, one finding a cell.

    Parameters
    ----------
    problem
        The table and its needs.
    suppressed
        The pattern.
    sought
        The sensitive cells to look at: those that outsiders cannot compute.
    """
    attack = _Attack(problem, suppressed, sought)
    by_cell: dict[int, Inference] = {}
    for some in problem.insiders:
        for one in attack.by(some, frozenset(by_cell)):
            by_cell[one.cell] = one
    return list(by_cell.values())


def spoiled(problem: CellProblem, suppressed: NDArray[np.bool_], tasks: Sequence[FlowTask]) -> list[tuple[int, int]]:
    """Return the tasks that are not met for somebody who is alone in a cell: the number of the task, and of that person."""
    sought = np.zeros(len(problem), dtype=bool)
    sought[[task.cell for task in tasks]] = True
    owner = {int(cell): number for number, some in enumerate(problem.insiders) for cell in some.tolist()}
    known = {one.cell: owner[one.insider] for one in inferences(problem, suppressed, sought)}
    return [(number, known[task.cell]) for number, task in enumerate(tasks) if task.cell in known]


class _Attack:
    """The tables that cannot be excluded, for one person after the other."""

    def __init__(self, problem: CellProblem, suppressed: NDArray[np.bool_], sought: NDArray[np.bool_]) -> None:
        self.problem = problem
        cells = np.flatnonzero(suppressed)
        self.place = np.full(len(problem), -1, dtype=np.int64)
        self.place[cells] = np.arange(len(cells))
        self.sought = np.flatnonzero(sought & suppressed)
        self.at = self.place[self.sought]
        unknowns = Unknowns.of(problem.equations, problem.value, cells, problem.lower, problem.upper)
        far = 1e3 * max(1.0, float(np.abs(problem.value).max(initial=0)))
        self.point = unknowns.point
        self.lower, self.upper = np.maximum(unknowns.lower, self.point - far), np.minimum(unknowns.upper, self.point + far)
        self.program = LinearProgram(unknowns.matrix, unknowns.right, self.lower, self.upper)
        self.kept: list[NDArray[np.float64]] = []
        if problem.insiders and len(self.at):
            chance = np.random.default_rng(len(cells))
            for _ in range(_DRAWN):
                self._pushed(self.at, chance.choice([-1.0, 1.0], len(self.at)))

    def by(self, known: NDArray[np.int64], insiders: frozenset[int]) -> list[Inference]:
        """Return what somebody computes who knows some cells, but for what others were found to compute already."""
        mine = self.place[known]
        mine = mine[mine >= 0]
        if not len(mine) or not len(self.at):
            return []
        passed = np.isin(self.at, mine) | np.isin(self.sought, list(insiders))
        low, high = self._mixed(mine)
        if not self._open(low, high, passed).any():
            return []
        self.program.bounds(mine, self.point[mine], self.point[mine])
        self._together(low, high, passed)
        open_ones = np.flatnonzero(self._open(low, high, passed)).tolist()
        for number in open_ones:
            for sign in (1.0, -1.0):
                if self._open(low, high, passed)[number]:
                    self._widened(low, high, self._pushed(self.at[[number]], np.array([sign])))
        self.program.bounds(mine, self.lower[mine], self.upper[mine])
        value = self.problem.value[self.sought]
        return [
            Inference(int(self.sought[at]), int(known[self.place[known] >= 0][0]), value[at] + low[at], value[at] + high[at])
            for at in np.flatnonzero(self._open(low, high, passed)).tolist()
        ]

    def _open(self, low: NDArray[np.float64], high: NDArray[np.float64], passed: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which of the cells sought are not known to be as open as they need to be."""
        value = self.problem.value[self.sought]
        return self.problem.exposed(value + low, value + high, self.sought) & ~passed

    def _together(self, low: NDArray[np.float64], high: NDArray[np.float64], passed: NDArray[np.bool_]) -> None:
        """Push all open cells at once, to one side and to the other, as long as that settles some."""
        while (before := np.flatnonzero(self._open(low, high, passed))).size > 1:
            for sign in (1.0, -1.0):
                some = np.flatnonzero(self._open(low, high, passed))
                self._widened(low, high, self._pushed(self.at[some], np.full(len(some), sign)))
            if 4 * np.count_nonzero(self._open(low, high, passed)) > 3 * len(before):
                return

    def _pushed(self, at: NDArray[np.int64], signs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how a table that cannot be excluded, with some cells as far to a side as they go, differs from the true one."""
        self.program.costs(at, -signs)
        solution = self.program.solve()
        moved = np.zeros(len(self.point)) if solution is None else solution - self.point
        if len(at) > 1 and len(self.kept) < _KEPT:
            self.kept.append(moved)
        return moved

    def _widened(self, low: NDArray[np.float64], high: NDArray[np.float64], moved: NDArray[np.float64]) -> None:
        np.minimum(low, moved[self.at], out=low)
        np.maximum(high, moved[self.at], out=high)

    def _mixed(self, mine: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return how far the cells sought are known to move where some do not, by mixtures of the tables kept."""
        low, high = np.zeros(len(self.at)), np.zeros(len(self.at))
        if not self.kept:
            return low, high
        pool = np.stack(self.kept)
        move = pool[:, mine[0]]
        above, below = np.flatnonzero(move > _STILL), np.flatnonzero(move < -_STILL)
        share = -move[below][None, :] / (move[above][:, None] - move[below][None, :])
        first, second = np.repeat(above, len(below)), np.tile(below, len(above))
        part = share.ravel()[:, None]
        still = np.flatnonzero(np.abs(move) <= _STILL)
        theirs = np.concatenate([pool[still][:, mine], part * pool[first][:, mine] + (1 - part) * pool[second][:, mine]])
        right = (np.abs(theirs) <= _STILL).all(axis=1)
        moved = np.concatenate([pool[still][:, self.at], part * pool[first][:, self.at] + (1 - part) * pool[second][:, self.at]])
        np.minimum(low, moved[right].min(axis=0, initial=0.0), out=low)
        np.maximum(high, moved[right].max(axis=0, initial=0.0), out=high)
        return low, high
