"""Secondary suppression for large tables: no equation gives a cell away, and neither do all of them together.

First every equation for itself: where it leaves one suppressed cell, or one to somebody who is alone in the others, the cheapest
further cell is suppressed, judged by what it would ask for in its other equations. Then all equations at once, by Gaussian
elimination modulo a prime: a cell that is still determined, or in fixed proportion to a cell that somebody knows, gets a flow
of its own. The result is certified against exact disclosure; how wide the intervals are is for the audit to say.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from unveil.tables.disclosure import given_away, owners
from unveil.tables.flows import FlowProgram, FlowTask
from unveil.tables.suppression.failure import Unprotectable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.tables.problem import CellProblem

__all__ = ["by_elimination"]

_ROUNDS = 50
_LARGE, _WIDENINGS = 5_000, 6
"""In tables of more cells a flow takes long: there the equations of a cell are widened first, so many times."""


def by_elimination(problem: CellProblem, *, step: Callable[[int, int], None] | None = None) -> NDArray[np.bool_]:
    """Return a pattern of which no sensitive cell can be computed exactly, by outsiders or by who is alone in a cell."""
    rows = _Rows(problem)
    rows.settle()
    rows.thin()
    program: FlowProgram | None = None
    for number in range(_ROUNDS):
        if step is not None:
            step(number + 1, _ROUNDS)
        exposed = given_away(problem, rows.suppressed)
        if not exposed:
            break
        large = len(problem) > _LARGE and number < _WIDENINGS
        program = program or (None if large else FlowProgram(problem))
        for cell, insider in exposed:
            if program is None:
                rows.widen(cell)
            else:
                rows.add(_flow_cells(problem, program, rows.suppressed, cell, insider))
        rows.settle()
    return rows.suppressed


def _flow_cells(
    problem: CellProblem, program: FlowProgram, suppressed: NDArray[np.bool_], cell: int, insider: int
) -> NDArray[np.int64]:
    """Return the cells of the cheapest flow that moves a cell at all, without those that an insider knows."""
    costs = np.where(suppressed, 0.0, np.maximum(problem.cost, 1e-6))
    known = problem.insiders[insider] if insider >= 0 else np.zeros(0, dtype=np.int64)
    amount = 1e-3 * max(1.0, abs(float(problem.value[cell])))
    flow = program.sought(FlowTask(cell, "either", amount), costs, known[program.place[known] >= 0], again=1)
    if flow is None:
        raise Unprotectable(cell, insider=insider >= 0)
    return flow.cells


class _Rows:
    """The equations one by one, with the suppressed cells in each."""

    def __init__(self, problem: CellProblem) -> None:
        self.problem = problem
        self.suppressed = problem.primary | problem.hidden
        self.open = ~problem.fixed
        self.owner = owners(problem)
        matrix = sp.csr_matrix(problem.equations)
        start = matrix.indptr
        self.rows = [matrix.indices[a:b].astype(np.int64) for a, b in pairwise(start)]
        by_cell = matrix.tocsc()
        self.first, self.of_cell = by_cell.indptr, by_cell.indices
        self.number = np.bincount(
            np.repeat(np.arange(len(self.rows)), np.diff(start)), self.suppressed[matrix.indices], len(self.rows)
        )
        self.number = self.number.astype(np.int64)
        self.waiting = deque(np.flatnonzero(self.number > 0).tolist())
        self.cost = np.maximum(problem.cost, 1e-6)
        self.cheapest = np.array([self._cheap(row) for row in self.rows])

    def _cheap(self, row: NDArray[np.int64]) -> float:
        free = row[self.open[row]]
        return float(np.sort(self.cost[free])[:2].sum()) if len(free) > 1 else float("inf")

    def equations_of(self, cell: int) -> NDArray[np.int64]:
        """Return the equations that a cell stands in."""
        return np.asarray(self.of_cell[self.first[cell] : self.first[cell + 1]])

    def add(self, cells: NDArray[np.int64]) -> None:
        """Suppress cells, and look at their equations again."""
        for cell in cells[~self.suppressed[cells]].tolist():
            self.suppressed[cell] = True
            rows = self.equations_of(cell)
            self.number[rows] += 1
            self.waiting.extend(rows.tolist())

    def given_away(self, row: int) -> bool:
        """Return whether an equation leaves one suppressed cell to somebody."""
        if self.number[row] == 0:
            return False
        if self.number[row] == 1:
            return True
        if not self.problem.insiders:
            return False
        cells = self.rows[row]
        owners = self.owner[cells[self.suppressed[cells]]]
        known = owners[owners >= 0]
        return len(known) > 0 and bool((np.unique(known, return_counts=True)[1] == len(owners) - 1).any())

    def settle(self) -> None:
        """Suppress further cells until no equation for itself gives one away."""
        while self.waiting:
            row = self.waiting.popleft()
            while self.given_away(row):
                cell = self._companion(row)
                if cell < 0:
                    break  # only all equations together can say whether that matters
                self.add(np.array([cell]))

    def widen(self, cell: int) -> None:
        """Suppress one more cell in every equation of a cell."""
        for row in self.equations_of(cell).tolist():
            if (other := self._companion(row)) >= 0:
                self.add(np.array([other]))

    def _companion(self, row: int) -> int:
        """Return the cell to suppress with those of an equation: cheap itself, and where others are suppressed already."""
        cells = self.rows[row]
        free = cells[self.open[cells] & ~self.suppressed[cells]]
        if not len(free):
            return -1
        later = [self.cheapest[others[self.number[others] == 0]].sum() for others in map(self.equations_of, free.tolist())]
        known = np.where(self.owner[free] >= 0, 0.5, 0.0) * self.cost[free]
        score = self.cost[free] + 0.5 * np.array(later) + known
        return int(free[np.argmin(score)])

    def thin(self) -> None:
        """Publish again what no equation for itself needs, the dearest first."""
        secondary = np.flatnonzero(self.suppressed & ~self.problem.primary & ~self.problem.hidden)
        for cell in secondary[np.lexsort((secondary, -self.cost[secondary]))].tolist():
            rows = self.equations_of(cell)
            self.suppressed[cell] = False
            self.number[rows] -= 1
            if any(map(self.given_away, rows.tolist())):
                self.suppressed[cell] = True
                self.number[rows] += 1
