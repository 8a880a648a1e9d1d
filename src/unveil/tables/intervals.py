"""What an attacker can compute of every suppressed cell: the interval between its least and its largest possible value.

min / max y_i subject to the equations and to what everybody knows beforehand. First what follows from single equations, then what
the equations give away exactly, then linear programs, each of whose solutions widens the known part of every cell's interval.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from unveil.errors import TableError
from unveil.tables.elimination import directions
from unveil.tables.propagation import propagated
from unveil.tables.solver import LinearProgram

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CellIntervals", "Unknowns", "intervals"]

_TOUCHES = 1e-7
_BEYOND = 1e3
"""What is unbounded ends this many times above all that is known."""
Done = Callable[["NDArray[np.float64]", "NDArray[np.float64]"], "NDArray[np.bool_]"]
"""Says of inner bounds which unknowns need no more work."""


@dataclass(frozen=True, slots=True, eq=False)
class Unknowns:
    """The suppressed cells as an attacker sees them: A y = b, l <= y <= u, and one solution of it."""

    matrix: sp.csr_matrix
    right: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    point: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        equations: sp.csr_matrix,
        value: NDArray[np.float64],
        suppressed: NDArray[np.int64],
        lower: NDArray[np.float64],
        upper: NDArray[np.float64],
    ) -> Unknowns:
        """Return the unknowns of a table whose true values are known to us."""
        matrix = equations[:, suppressed].tocsr()
        matrix = matrix[np.diff(matrix.indptr) > 0]
        point = value[suppressed]
        return cls(matrix, matrix @ point, lower[suppressed], upper[suppressed], point)

    def __len__(self) -> int:
        """Return the number of unknowns."""
        return len(self.point)

    def part(self, columns: NDArray[np.int64]) -> Unknowns:
        """Return some of the unknowns, whose equations hold no others that are open."""
        matrix = self.matrix[:, columns].tocsr()
        kept = np.diff(matrix.indptr) > 0
        matrix = matrix[kept]
        return Unknowns(matrix, matrix @ self.point[columns], self.lower[columns], self.upper[columns], self.point[columns])


@dataclass(frozen=True, slots=True, eq=False)
class CellIntervals:
    """The interval of every unknown, and whether it is exact: else it is at least so wide."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    exact: bool
    determined: NDArray[np.bool_]
    kind: NDArray[np.object_]


def intervals(unknowns: Unknowns, done: Done | None = None, step: Callable[[int, int], None] | None = None) -> CellIntervals:
    """Return what an attacker can compute of every unknown.

    Parameters
    ----------
    unknowns
        The suppressed cells as an attacker sees them.
    done
        What says that intervals are wide enough; None: they are computed to their ends.
    step
        Called with the number of unknowns that are done, and of all.
    """
    low, high = unknowns.point.copy(), unknowns.point.copy()
    number = len(unknowns)
    if not number:
        return CellIntervals(low, high, True, np.zeros(0, dtype=bool), np.zeros(0, dtype=object))  # noqa: FBT003
    outer_low, outer_high = propagated(unknowns.matrix, unknowns.right, unknowns.lower, unknowns.upper)
    known = directions(unknowns.matrix)
    determined = known.determined()
    outer_low[determined] = outer_high[determined] = unknowns.point[determined]
    open_cells = np.flatnonzero(~determined)
    finished = number - len(open_cells)
    for columns in components(unknowns.matrix, open_cells):
        part = unknowns.part(columns)
        limited = None if done is None else (lambda a, b, at=columns: done(*_spread(low, high, a, b, at))[at])
        low[columns], high[columns] = _solved(part, outer_low[columns], outer_high[columns], limited)
        finished += len(columns)
        if step is not None:
            step(finished, number)
    return CellIntervals(low, high, done is None, determined, known.kind)


def _spread(
    low: NDArray[np.float64], high: NDArray[np.float64], a: NDArray[np.float64], b: NDArray[np.float64], at: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the bounds of all unknowns with those of some replaced."""
    all_low, all_high = low.copy(), high.copy()
    all_low[at], all_high[at] = a, b
    return all_low, all_high


def components(matrix: sp.csr_matrix, columns: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the columns in groups that share no equation."""
    part = matrix[:, columns]
    rows = part.shape[0]
    entries = sp.coo_matrix(part)
    graph = sp.coo_matrix(
        (np.ones(len(entries.row)), (entries.row, entries.col + rows)), shape=(rows + len(columns), rows + len(columns))
    )
    _, label = connected_components(graph, directed=False)
    of_column = label[rows:]
    order = np.argsort(of_column, kind="stable")
    _, starts = np.unique(of_column[order], return_index=True)
    return [columns[some] for some in np.split(order, starts[1:])] if len(columns) else []


def _solved(
    part: Unknowns, outer_low: NDArray[np.float64], outer_high: NDArray[np.float64], done: Done | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the intervals of unknowns that hang together."""
    search = _Search(part, outer_low, outer_high, done)
    search.together()
    search.one_by_one()
    low, high = search.low, search.high
    far = search.far / 2
    return np.where(low <= -far, -np.inf, low), np.where(high >= far, np.inf, high)


class _Search:
    """Linear programs over unknowns that hang together; every solution widens all intervals that it can."""

    def __init__(
        self, part: Unknowns, outer_low: NDArray[np.float64], outer_high: NDArray[np.float64], done: Done | None
    ) -> None:
        scale = max(1.0, float(np.abs(part.point).sum()), float(np.abs(part.right).max(initial=0)))
        self.far = _BEYOND * scale
        self.touch = _TOUCHES * np.maximum(1.0, np.abs(part.point))
        self.outer_low, self.outer_high = np.maximum(outer_low, -self.far), np.minimum(outer_high, self.far)
        self.low, self.high = part.point.copy(), part.point.copy()
        self.done = done
        self.program = LinearProgram(part.matrix, part.right, np.maximum(part.lower, -self.far), np.minimum(part.upper, self.far))

    def open(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return the unknowns whose lower end, and those whose upper end, is not reached yet."""
        below, above = self.low > self.outer_low + self.touch, self.high < self.outer_high - self.touch
        if self.done is not None:
            enough = self.done(self.low, self.high)
            below, above = below & ~enough, above & ~enough
        return below, above

    def seen(self, solution: NDArray[np.float64] | None) -> None:
        """Widen the intervals by a solution."""
        if solution is None:
            raise TableError("the equations of the table have no solution; the published figures contradict one another.")
        np.minimum(self.low, solution, out=self.low)
        np.maximum(self.high, solution, out=self.high)

    def together(self) -> None:
        """Push all open ends at once, as long as that reaches some."""
        for side in (0, 1):
            while True:
                ends = np.flatnonzero(self.open()[side])
                if len(ends) <= 1:
                    break
                self.program.costs(ends, np.full(len(ends), -1.0 if side else 1.0))
                self.seen(self.program.solve())
                if 8 * np.count_nonzero(self.open()[side]) > 7 * len(ends):
                    break

    def one_by_one(self) -> None:
        """Push every end that is still open; where it stops is the end."""
        for side in (1, 0):
            for at in range(len(self.low)):
                if not self.open()[side][at]:
                    continue
                self.program.costs(np.array([at]), np.array([-1.0 if side else 1.0]))
                solution = self.program.solve()
                self.seen(solution)
                if side:
                    self.outer_high[at] = self.high[at]
                else:
                    self.outer_low[at] = self.low[at]
