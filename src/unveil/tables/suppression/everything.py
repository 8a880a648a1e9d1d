"""The last resort if a method finds no pattern: suppress every cell that may be suppressed, then publish those not needed.

If an interval must be wide, a method requires a little more than necessary, because it looks for one move on one side. So
before a cell is reported as unprotectable, everything is suppressed and attacked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from unveil.tables.findings import audited
from unveil.tables.suppression.failure import Unprotectable
from unveil.tables.suppression.pool import thinned_by_pool

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from unveil.tables.problem import CellProblem

__all__ = ["everything_needed"]


def everything_needed(problem: CellProblem, step: Callable[[int, int], None] | None = None) -> NDArray[np.bool_]:
    """Return a safe pattern, starting from everything that may be suppressed.

    Raises
    ------
    Unprotectable
        If some cell is exposed even then.
    """
    whole = ~problem.fixed
    findings = audited(problem, whole, depth="enough")
    if not findings.safe:
        cell = int(findings.suppressed[findings.exposed][0])
        raise Unprotectable(cell, insider=any(one.cell == cell for one in findings.insiders))
    thin = thinned_by_pool(problem.aimed(), whole, step)
    return thin if audited(problem, thin, depth="enough").safe else whole
