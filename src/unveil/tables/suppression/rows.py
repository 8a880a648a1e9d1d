"""Single equations: those that alone disclose a cell, and the cell to suppress with it.

An equation with one suppressed cell discloses it to everyone; one whose suppressed cells, except for one, all belong to a
single contributor discloses that one to this person.
"""

from __future__ import annotations

from collections import deque
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from unveil.tables.disclosure import owners
from unveil.time_limit import check_time

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.tables.problem import CellProblem

__all__ = ["EquationRows"]


class EquationRows:
    """The equations one by one, with the suppressed cells in each."""

    def __init__(self, problem: CellProblem, suppressed: NDArray[np.bool_]) -> None:
        self.problem = problem
        self.suppressed = suppressed.copy()
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
        """Return the equations that a cell is in."""
        return np.asarray(self.of_cell[self.first[cell] : self.first[cell + 1]])

    def add(self, cells: NDArray[np.int64]) -> None:
        """Suppress cells, and check their equations again."""
        for cell in cells[~self.suppressed[cells]].tolist():
            self.suppressed[cell] = True
            rows = self.equations_of(cell)
            self.number[rows] += 1
            self.waiting.extend(rows.tolist())

    def given_away(self, row: int) -> bool:
        """Return whether an equation discloses a suppressed cell to someone."""
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
        """Suppress further cells until no equation by itself discloses one, as far as possible."""
        while self.waiting:
            check_time()
            row = self.waiting.popleft()
            while self.given_away(row):
                check_time()
                cell = self._companion(row)
                if cell < 0:
                    break  # only all equations together show whether that matters
                self.add(np.array([cell]))

    def widen(self, cell: int) -> None:
        """Suppress one more cell in every equation of a cell."""
        for row in self.equations_of(cell).tolist():
            if (other := self._companion(row)) >= 0:
                self.add(np.array([other]))

    def _companion(self, row: int) -> int:
        """Return the cell to suppress with those of an equation: cheap, and in equations that already have suppressed cells."""
        cells = self.rows[row]
        free = cells[self.open[cells] & ~self.suppressed[cells]]
        if not len(free):
            return -1
        later = [self.cheapest[others[self.number[others] == 0]].sum() for others in map(self.equations_of, free.tolist())]
        known = np.where(self.owner[free] >= 0, 0.5, 0.0) * self.cost[free]
        score = self.cost[free] + 0.5 * np.array(later) + known
        return int(free[np.argmin(score)])

    def thin(self) -> None:
        """Publish again the cells that no equation by itself needs, the most costly first."""
        secondary = np.flatnonzero(self.suppressed & ~self.problem.primary & ~self.problem.hidden)
        for cell in secondary[np.lexsort((secondary, -self.cost[secondary]))].tolist():
            check_time()
            rows = self.equations_of(cell)
            self.suppressed[cell] = False
            self.number[rows] -= 1
            if any(map(self.given_away, rows.tolist())):
                self.suppressed[cell] = True
                self.number[rows] += 1

    def publish(self, cell: int) -> None:
        """Publish a cell."""
        self.suppressed[cell] = False
        self.number[self.equations_of(cell)] -= 1

    def bares(self, cell: int) -> bool:
        """Return whether publishing a cell would disclose a sensitive cell through one equation after the other."""
        gone: list[int] = []
        waiting, bared = [cell], False
        while waiting and not bared:
            one = waiting.pop()
            if self.suppressed[one]:
                self.publish(one)
                gone.append(one)
                open_rows = [row for row in self.equations_of(one).tolist() if self.given_away(row)]
                bared = self._expose(open_rows, waiting)
        for one in gone:
            self.suppressed[one] = True
            self.number[self.equations_of(one)] += 1
        return bared

    def _expose(self, open_rows: list[int], waiting: list[int]) -> bool:
        """Return whether equations disclose a sensitive cell; other cells that they disclose to everyone are queued."""
        for row in open_rows:
            cells = self.rows[row][self.suppressed[self.rows[row]]]
            if len(cells) > 1:  # someone knows all but one of them
                owner = self.owner[cells]
                known, times = np.unique(owner[owner >= 0], return_counts=True)
                cells = cells[owner != known[np.argmax(times)]]
                if self.problem.primary[cells].any():
                    return True
            elif self.problem.primary[cells[0]]:
                return True
            else:
                waiting.append(int(cells[0]))
        return False
