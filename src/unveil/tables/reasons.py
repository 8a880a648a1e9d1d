"""Why can an attacker compute a cell? The sums that disclose it, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from unveil.tables.intervals import Unknowns
from unveil.tables.solver import LinearProgram

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.tables.crosstable import CrossTable
    from unveil.tables.problem import CellProblem

__all__ = ["Reasons"]

_USED = 1e-9
_MOST = 6


class Reasons:
    """The equations behind the interval of a suppressed cell.

    Parameters
    ----------
    table
        The table, for the names of its cells.
    problem, suppressed
        The protection problem, and the suppressed cells.
    """

    def __init__(self, table: CrossTable, problem: CellProblem, suppressed: NDArray[np.int64]) -> None:
        self._table, self._problem = table, problem
        matrix = problem.equations[:, suppressed].tocsr()
        self._rows = np.flatnonzero(np.diff(matrix.indptr) > 0)
        self._place = {int(cell): at for at, cell in enumerate(suppressed)}
        unknowns = Unknowns.of(problem.equations, problem.value, suppressed, problem.lower, problem.upper)
        far = 1e3 * max(1.0, float(np.abs(unknowns.point).sum()), float(np.abs(unknowns.right).max(initial=0)))
        self._program = LinearProgram(
            unknowns.matrix, unknowns.right, np.maximum(unknowns.lower, -far), np.minimum(unknowns.upper, far)
        )

    def of(self, cell: int) -> tuple[str, ...]:
        """Return the totals whose sums bound a cell, by their names."""
        used: dict[int, None] = {}
        for sign in (1.0, -1.0):
            self._program.costs(np.array([self._place[cell]]), np.array([sign]))
            if self._program.solve() is not None:
                used.update(dict.fromkeys(np.flatnonzero(np.abs(self._program.duals()) > _USED).tolist()))
        return tuple(self._total(int(self._rows[row])) for row in used)

    def _total(self, row: int) -> str:
        """Return the total of an equation."""
        part = self._problem.equations[row]
        total = int(part.indices[np.argmin(part.data)])
        return self._table.name_of(int(self._problem.cells[total]))

    def words(self, cell: int) -> str:
        """Return the reason why a cell can be computed, in one sentence."""
        totals = self.of(cell)
        name = self._table.name_of(int(self._problem.cells[cell]))
        listed = ", ".join(totals[:_MOST]) + (f" and {len(totals) - _MOST} more" if len(totals) > _MOST else "")
        if not totals:
            return f"{name} is bounded by what everyone knows."
        return f"{name} follows from the {'total' if len(totals) == 1 else 'totals'} {listed}."
