"""Which cells can the only contributor of a cell, who knows its value, compute too closely?

For every sensitive cell and every person who is the only contributor of some suppressed cells, the interval that remains if
these cells are known must be as wide as required. Tables that cannot be ruled out are kept: of two that err on a known cell in
opposite directions, the mixture that is right there cannot be ruled out by its owner. This settles most cells; for the rest
there is one linear program per person.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unveil.tables.disclosure import given_away
from unveil.tables.intervals import CORNERS_UP_TO, Unknowns, components
from unveil.tables.solver import LinearProgram
from unveil.time_limit import check_time

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.tables.flows import FlowTask
    from unveil.tables.problem import CellProblem

__all__ = ["Inference", "inferences", "spoiled"]

_STILL = 1e-7
_DRAWN, _KEPT = 6, 48
"""The number of tables drawn before anyone is examined, and the most kept."""
_AT_FIRST, _AT_ONCE = 16, 8
"""In large tables: the number drawn first, and the number of further ones at a time while that settles enough."""
_ENOUGH = 0.7
"""More tables are drawn as long as at most this share of the open pairs stays open."""
_REACHES = (2.0, 20.0, 200.0)
"""The largest moves of cells in successive drawn tables, in units of their needs."""
_MOST_PAIRS = 100_000_000
"""With more pairs of a sensitive cell and an insider, only exact disclosure to insiders is determined."""
_WIDTHS_UP_TO, _MOST_LEFT = 2_000, 2_000
"""The same applies with more sensitive cells than this, if mixtures leave more pairs than this unsettled."""
_CHUNK = 8
"""The number of mixtures examined before settled cells are removed."""


@dataclass(frozen=True, slots=True)
class Inference:
    """A cell that the only contributor of another can compute too closely, both by number, and the remaining interval."""

    cell: int
    insider: int
    low: float
    high: float


def inferences(
    problem: CellProblem, suppressed: NDArray[np.bool_], sought: NDArray[np.bool_], *, corners_up_to: int = CORNERS_UP_TO
) -> list[Inference]:
    """Return the sensitive cells that the only contributors of other cells can compute, one finding per cell.

    Parameters
    ----------
    problem
        The table and its needs.
    suppressed
        The pattern.
    sought
        The sensitive cells to examine: those that outsiders cannot compute.
    corners_up_to
        With more suppressed cells than this, interior points are drawn as moved tables instead of corners.
    """
    number = int((sought & suppressed).sum())
    if number * len(problem.insiders) > _MOST_PAIRS:
        return _exactly(problem, suppressed, sought)
    attack = _Attack(problem, suppressed, sought, large=int(suppressed.sum()) > corners_up_to)
    pairs = attack.unsettled()
    if number > _WIDTHS_UP_TO and sum(len(left) for _, left in pairs) > _MOST_LEFT:
        return _exactly(problem, suppressed, sought)
    by_cell: dict[int, Inference] = {}
    for known, left in pairs:
        for one in attack.by(known, left, frozenset(by_cell)):
            by_cell[one.cell] = one
    return list(by_cell.values())


def _exactly(problem: CellProblem, suppressed: NDArray[np.bool_], sought: NDArray[np.bool_]) -> list[Inference]:
    """Return the cells that insiders can compute exactly; with very many cells, only these are determined."""
    return [
        Inference(cell, int(problem.insiders[insider][0]), float(problem.value[cell]), float(problem.value[cell]))
        for cell, insider in given_away(problem, suppressed)
        if insider >= 0 and sought[cell]
    ]


def spoiled(problem: CellProblem, suppressed: NDArray[np.bool_], tasks: Sequence[FlowTask]) -> list[tuple[int, int]]:
    """Return the tasks that are not met against some insider: the numbers of the task and of the insider."""
    sought = np.zeros(len(problem), dtype=bool)
    sought[[task.cell for task in tasks]] = True
    owner = {int(cell): number for number, some in enumerate(problem.insiders) for cell in some.tolist()}
    known = {one.cell: owner[one.insider] for one in inferences(problem, suppressed, sought)}
    return [(number, known[task.cell]) for number, task in enumerate(tasks) if task.cell in known]


class _Attack:
    """An attack with tables that cannot be ruled out, for one person after the other."""

    def __init__(self, problem: CellProblem, suppressed: NDArray[np.bool_], sought: NDArray[np.bool_], *, large: bool) -> None:
        self.problem, self.large = problem, large
        cells = np.flatnonzero(suppressed)
        self.place = np.full(len(problem), -1, dtype=np.int64)
        self.place[cells] = np.arange(len(cells))
        self.sought = np.flatnonzero(sought & suppressed)
        self.at = self.place[self.sought]
        unknowns = Unknowns.of(problem.equations, problem.value, cells, problem.lower, problem.upper)
        far = 1e3 * max(1.0, float(np.abs(problem.value).max(initial=0)))
        self.lower = np.maximum(unknowns.lower - unknowns.point, -far)
        self.upper = np.minimum(unknowns.upper - unknowns.point, far)
        self.program = LinearProgram(unknowns.matrix, np.zeros(unknowns.matrix.shape[0]), self.lower, self.upper, primal=True)
        self.group = np.zeros(len(cells), dtype=np.int64)
        for group, columns in enumerate(components(unknowns.matrix, np.arange(len(cells)))):
            self.group[columns] = group
        self.need = problem.need(self.sought)
        self.chance = np.random.default_rng(len(cells))
        self.kept: list[NDArray[np.float64]] = []

    def unsettled(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Return the remaining persons, by the cells they know, each with the sensitive cells that mixtures leave unsettled."""
        persons = [some for some in self.problem.insiders if (self.place[some] >= 0).any()]
        if not persons or not len(self.at):
            return []
        everything = np.arange(len(self.at))
        self._draw(_AT_FIRST if self.large else _DRAWN)
        pairs = [(some, self._not_mixed(some, everything)) for some in persons]
        while self.large and len(self.kept) < _KEPT and (before := sum(len(left) for _, left in pairs)):
            self._draw(_AT_ONCE)
            pairs = [(some, self._not_mixed(some, left)) for some, left in pairs if len(left)]
            if sum(len(left) for _, left in pairs) > _ENOUGH * before:
                break
        return [(some, left) for some, left in pairs if len(left)]

    def by(self, known: NDArray[np.int64], left: NDArray[np.int64], insiders: frozenset[int]) -> list[Inference]:
        """Return the cells that someone who knows some cells can compute, except those that others can already compute.

        Parameters
        ----------
        known
            The cells that this person knows.
        left
            The positions of the sensitive cells that are not settled yet.
        insiders
            The cells that others can compute.
        """
        mine = self._mine(known)
        left = left[~np.isin(self.sought[left], list(insiders))]
        left = self._not_mixed(known, left) if len(left) else left
        if not len(left):
            return []
        self.program.bounds(mine, np.zeros(len(mine)), np.zeros(len(mine)))
        low, high = np.zeros(len(self.at)), np.zeros(len(self.at))
        left = self._together(low, high, left)
        for one in left:
            for sign in (1.0, -1.0):
                if len(self._open(low, high, np.array([one]))):
                    self._widened(low, high, self._pushed(np.array([one]), np.array([sign])))
        self.program.bounds(mine, self.lower[mine], self.upper[mine])
        value = self.problem.value[self.sought]
        return [
            Inference(int(self.sought[at]), int(known[self.place[known] >= 0][0]), value[at] + low[at], value[at] + high[at])
            for at in self._open(low, high, left)
        ]

    def _mine(self, known: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the positions of the suppressed cells among some cells."""
        mine = self.place[known]
        return np.asarray(mine[mine >= 0])

    def _open(self, low: NDArray[np.float64], high: NDArray[np.float64], at: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return which of the given cells are not known to be as uncertain as required."""
        cells = self.sought[at]
        value = self.problem.value[cells]
        return at[self.problem.exposed(value + low[at], value + high[at], cells)]

    def _together(self, low: NDArray[np.float64], high: NDArray[np.float64], left: NDArray[np.int64]) -> NDArray[np.int64]:
        """Push open cells together, to one side and to the other, as long as that settles some; return those still open."""
        while len(left) > 1:
            before = len(left)
            for sign in (1.0, -1.0):
                self._widened(low, high, self._pushed(left, np.full(len(left), sign)))
                left = self._open(low, high, left)
            if 4 * len(left) > 3 * before:
                break
        return left

    def _draw(self, number: int) -> None:
        """Draw and keep moved tables in which every cell to examine is pushed to a random side, by a multiple of its need."""
        for _ in range(number):
            signs = self.chance.choice([-1.0, 1.0], len(self.at))
            if not self.large:
                self._pushed(np.arange(len(self.at)), signs)
                continue
            reach = _REACHES[len(self.kept) % len(_REACHES)] * self.need
            lower, upper = self.lower[self.at], self.upper[self.at]
            self.program.bounds(self.at, np.maximum(lower, -reach), np.minimum(upper, reach))
            self._pushed(np.arange(len(self.at)), signs / self.need)
            self.program.bounds(self.at, lower, upper)

    def _pushed(self, at: NDArray[np.int64], signs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Push some cells as far as possible to their sides; return the difference of that table from the true one."""
        self.program.costs(self.at[at], -signs)
        moved = self.program.interior() if self.large else self.program.solve()
        if moved is None:
            return np.zeros(len(self.lower))
        if len(at) > 1 and len(self.kept) < _KEPT:
            self.kept.append(moved)
        return moved

    def _widened(self, low: NDArray[np.float64], high: NDArray[np.float64], moved: NDArray[np.float64]) -> None:
        np.minimum(low, moved[self.at], out=low)
        np.maximum(high, moved[self.at], out=high)

    def _not_mixed(self, known: NDArray[np.int64], left: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the cells that no mixture of the kept tables shows to be uncertain while the known cells do not move."""
        check_time()
        mine = self._mine(known)
        left = left[~np.isin(self.at[left], mine) & np.isin(self.group[self.at[left]], self.group[mine])]
        if not self.kept:
            return left
        pool = np.stack(self.kept)
        first, second, part = _mixtures(pool[:, mine])
        low, high = np.zeros(len(self.at)), np.zeros(len(self.at))
        for start in range(0, len(first), _CHUNK):
            some = slice(start, start + _CHUNK)
            places, share = self.at[left], part[some, None]
            moved = share * pool[first[some]][:, places] + (1 - share) * pool[second[some]][:, places]
            low[left] = np.minimum(low[left], moved.min(axis=0))
            high[left] = np.maximum(high[left], moved.max(axis=0))
            left = self._open(low, high, left)
            if not len(left):
                break
        return left


def _mixtures(moves: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return pairs of tables and the shares of mixtures in which the known cells, the columns, do not move."""
    move = moves[:, 0]
    above, below = np.flatnonzero(move > _STILL), np.flatnonzero(move < -_STILL)
    still = np.flatnonzero(np.abs(move) <= _STILL)
    first, second = np.repeat(above, len(below)), np.tile(below, len(above))
    part = -move[second] / (move[first] - move[second])
    order = np.random.default_rng(len(first)).permutation(len(first))  # neighbours are similar
    first, second = np.concatenate([still, first[order]]), np.concatenate([still, second[order]])
    part = np.concatenate([np.ones(len(still)), part[order]])
    theirs = part[:, None] * moves[first] + (1 - part)[:, None] * moves[second]
    right = (np.abs(theirs) <= _STILL).all(axis=1)
    return first[right], second[right], part[right]
