"""Cuts: inequalities that every safe pattern satisfies, but an insufficient one does not.

Let x_c be 1 if cell c is suppressed. With the multipliers of the attacker's linear program, max z_k over M z = 0 and -fall_c
x_c <= z_c <= rise_c x_c, and d = e_k - M'y, every pattern has max z_k <= sum (rise_c d_c+ + fall_c d_c-) x_c. So a pattern that
leaves k uncertain by `need` satisfies sum (rise_c d_c+ + fall_c d_c-) x_c >= need, whatever y is; no coefficient need be larger
than the need (Fischetti and Salazar 2000).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from unveil.tables.solver import LinearProgram

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from unveil.tables.flows import FlowTask
    from unveil.tables.problem import CellProblem

__all__ = ["CutMaker", "PatternCut", "rows_with_two"]

_DUST = 1e-9
_ENOUGH = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class PatternCut:
    """sum coefficient_c x_c >= right, over some cells of the problem."""

    cells: NDArray[np.int64]
    coefficients: NDArray[np.float64]
    right: float

    def key(self) -> tuple[bytes, bytes]:
        """Return a key that is the same for equal cuts."""
        return self.cells.tobytes(), np.round(self.coefficients / max(self.right, 1e-12), 6).tobytes()


class CutMaker:
    """The attacker's linear program for a pattern that may be fractional."""

    def __init__(self, problem: CellProblem) -> None:
        self.problem = problem
        self.columns = np.flatnonzero(~problem.fixed)
        self.place = np.full(len(problem), -1, dtype=np.int64)
        self.place[self.columns] = np.arange(len(self.columns))
        matrix = problem.equations[:, self.columns].tocsr()
        self.matrix = matrix[np.diff(matrix.indptr) > 0]
        far = 1e3 * max(1.0, float(np.abs(problem.value).max(initial=0)))
        self.rise = np.minimum(problem.upper - problem.value, far)[self.columns]
        self.fall = np.minimum(problem.value - problem.lower, far)[self.columns]
        number = len(self.columns)
        self.program = LinearProgram(self.matrix, np.zeros(self.matrix.shape[0]), np.zeros(number), np.zeros(number))
        self._all = np.arange(number)

    def pattern(self, x: NDArray[np.float64], known: NDArray[np.int64]) -> None:
        """Let cells move as far as a pattern suppresses them; known cells do not move."""
        share = np.clip(x[self.columns], 0.0, 1.0)
        share[share < _DUST] = 0.0
        share[self.place[known]] = 0.0
        self._share, self._known = share, known
        self.program.bounds(self._all, -self.fall * share, self.rise * share)

    def cut(self, task: FlowTask) -> PatternCut | None:
        """Return a cut that the pattern violates for a task; None if there is none."""
        up = self._side(task, 1.0) if task.side != "down" else None
        if up is not None and up[0] >= task.amount * (1 - _ENOUGH):
            return None
        down = self._side(task, -1.0) if task.side != "up" else None
        sides = [one for one in (up, down) if one is not None]
        if sum(one[0] for one in sides) >= task.amount * (1 - _ENOUGH):
            return None
        capacity = np.sum([one[1] for one in sides], axis=0)
        return self._inequality(capacity, task)

    def _side(self, task: FlowTask, sign: float) -> tuple[float, NDArray[np.float64]]:
        """Return the move of the cell to one side, and the amount that each cell would add if it were suppressed."""
        at = int(self.place[task.cell])
        self.program.costs(np.array([at]), np.array([-sign]))
        solution = self.program.solve()
        if solution is None:  # the solver failed: no multipliers, no cut
            return np.inf, np.zeros(len(self.columns))
        unit = np.zeros(len(self.columns))
        unit[at] = sign
        d = unit + self.matrix.T @ self.program.duals()
        capacity = self.rise * np.maximum(d, 0) + self.fall * np.maximum(-d, 0)
        capacity[self.place[self._known]] = 0.0
        return float(sign * solution[at]), capacity

    def _inequality(self, capacity: NDArray[np.float64], task: FlowTask) -> PatternCut | None:
        """Return the inequality, with the cells that are suppressed anyway on the right."""
        need = task.amount
        sure = self.problem.primary[self.columns] | self.problem.hidden[self.columns]
        right = need - float(capacity[sure].sum())
        capacity = np.where(sure, 0.0, np.minimum(capacity, max(right, 0.0)))
        dust = (capacity > 0) & (capacity < 1e-6 * need)
        right -= float(capacity[dust].sum())
        capacity[dust] = 0.0
        if right <= _DUST * need:
            return None
        kept = np.flatnonzero(capacity)
        return PatternCut(self.columns[kept], np.minimum(capacity[kept], right) / right, 1.0)


def rows_with_two(problem: CellProblem, needing: Sequence[int]) -> list[PatternCut]:
    """Return the inequalities of single equations: no cell is the only suppressed one in an equation.

    They hold for the cheapest patterns: a cell that is the only suppressed one in an equation protects nothing.
    """
    open_cells = ~problem.fixed
    sure = problem.primary | problem.hidden
    tasked = np.zeros(len(problem), dtype=bool)
    tasked[list(needing)] = True
    matrix = sp.csr_matrix(problem.equations)
    cuts = []
    for start, end in pairwise(matrix.indptr):
        cells = matrix.indices[start:end]
        cells = cells[open_cells[cells]]
        free = cells[~sure[cells]].astype(np.int64)
        certain = int(sure[cells].sum())
        if certain == 1 and tasked[cells[sure[cells]][0]]:
            cuts.append(PatternCut(free, np.ones(len(free)), 1.0))
        elif certain == 0:
            cuts.extend(PatternCut(free, np.where(free == cell, -1.0, 1.0), 0.0) for cell in free.tolist())
    return cuts
