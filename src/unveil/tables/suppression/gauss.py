"""Secondary suppression for large tables: neither a single equation nor all of them together disclose a cell exactly.

First each equation by itself: if it has only one suppressed cell, or only one apart from those of a single contributor, the
cheapest further cell is suppressed, judged by what it would require in its other equations. Then all equations together, by
Gaussian elimination modulo a prime: a cell that is still determined, or in fixed proportion to a cell that someone knows, gets a
flow of its own. Finally, every cell that is not needed for this is published again, the most costly first. The result is
certified against exact disclosure; the audit determines the widths of the intervals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from unveil.tables.disclosure import given_away
from unveil.tables.flows import FlowProgram, FlowTask
from unveil.tables.suppression.failure import Unprotectable
from unveil.tables.suppression.kernel import thinned_exactly
from unveil.tables.suppression.rows import EquationRows
from unveil.time_limit import check_time

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.tables.problem import CellProblem

__all__ = ["by_elimination"]

Step = Callable[[int, int], None]
_ROUNDS = 50
_LARGE, _WIDENINGS = 5_000, 6
"""In tables with more cells, a flow takes long, so the equations of a cell are first widened, this many times."""


def by_elimination(problem: CellProblem, *, step: Step | None = None) -> NDArray[np.bool_]:
    """Return a pattern in which no sensitive cell can be computed exactly, by outsiders or by the only contributor of a cell.

    Without insiders, cells of one record are first treated as if someone knew them, because a cell that is protected only
    together with those can move by less than one.
    """
    if not problem.insiders and problem.on == "count":
        single = np.flatnonzero(problem.primary & (problem.value <= 1))
        try:
            return _eliminated(replace(problem, insiders=tuple(single[:, None])), step)
        except Unprotectable:
            pass  # the table need not be that safe
    return _eliminated(problem, step)


def _eliminated(problem: CellProblem, step: Step | None) -> NDArray[np.bool_]:
    rows = EquationRows(problem, problem.primary | problem.hidden)
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
            check_time()
            if program is None:
                rows.widen(cell)
            else:
                rows.add(_flow_cells(problem, program, rows.suppressed, cell, insider))
        rows.settle()
    return thinned_exactly(problem, rows.suppressed)


def _flow_cells(
    problem: CellProblem, program: FlowProgram, suppressed: NDArray[np.bool_], cell: int, insider: int
) -> NDArray[np.int64]:
    """Return the cells of the cheapest flow that moves a cell at all, without moving those that an insider knows."""
    costs = np.where(suppressed, 0.0, np.maximum(problem.cost, 1e-6))
    known = problem.insiders[insider] if insider >= 0 else np.zeros(0, dtype=np.int64)
    amount = 1e-3 * max(1.0, abs(float(problem.value[cell])))
    flow = program.sought(FlowTask(cell, "either", amount), costs, known[program.place[known] >= 0], again=1)
    if flow is None:
        raise Unprotectable(cell, insider=insider >= 0)
    return flow.cells
