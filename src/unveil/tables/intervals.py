"""How closely can an attacker compute every suppressed cell? The interval from its least to its largest possible value.

min / max y_i subject to the equations and the bounds that everyone knows beforehand. First come the bounds from single
equations, then the cells that the equations determine exactly, then linear programs, each of whose solutions widens the known
part of every cell's interval.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from unveil.errors import TableError
from unveil.tables.elimination import directions
from unveil.tables.propagation import propagated
from unveil.tables.solver import LinearProgram

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CORNERS_UP_TO", "CellIntervals", "Unknowns", "intervals"]

CORNERS_UP_TO = 1_000
"""With at most this many unknowns, solutions are corners; with more, interior points, which move more cells, faster."""
_TOUCHES = 1e-7
_BEYOND = 1e3
"""Unbounded values are limited to this multiple of all known figures."""
_EXACT = 1e9
"""Known bounds are kept up to this size, beyond which a solver is too imprecise."""


class CellNeed(Protocol):
    """The required widths of intervals; an interval that is wide enough needs no more work."""

    def missed(
        self, low: NDArray[np.float64], high: NDArray[np.float64], at: NDArray[np.int64] | None = None
    ) -> NDArray[np.bool_]:
        """Return which unknowns, of all or of some, have intervals that are not wide enough."""

    def reach(self, at: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the largest move from its point that must be shown for each of some unknowns."""


@dataclass(frozen=True, slots=True, eq=False)
class Unknowns:
    """The suppressed cells as an attacker sees them: A y = b, l <= y <= u, and one solution."""

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
        """Return the unknowns of a table with known true values."""
        matrix = equations[:, suppressed].tocsr()
        matrix = matrix[np.diff(matrix.indptr) > 0]
        point = value[suppressed]
        return cls(matrix, matrix @ point, lower[suppressed], upper[suppressed], point)

    def __len__(self) -> int:
        """Return the number of unknowns."""
        return len(self.point)

    def part(self, columns: NDArray[np.int64]) -> Unknowns:
        """Return some of the unknowns, whose equations contain no other open ones."""
        matrix = self.matrix[:, columns].tocsr()
        kept = np.diff(matrix.indptr) > 0
        matrix = matrix[kept]
        return Unknowns(matrix, matrix @ self.point[columns], self.lower[columns], self.upper[columns], self.point[columns])


@dataclass(frozen=True, slots=True, eq=False)
class CellIntervals:
    """The interval of every unknown, and whether it is exact; otherwise it is at least this wide."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    exact: bool
    determined: NDArray[np.bool_]
    kind: NDArray[np.object_]


def intervals(
    unknowns: Unknowns,
    need: CellNeed | None = None,
    step: Callable[[int, int], None] | None = None,
    *,
    corners_up_to: int = CORNERS_UP_TO,
) -> CellIntervals:
    """Return the interval that an attacker can compute for every unknown.

    Parameters
    ----------
    unknowns
        The suppressed cells as an attacker sees them.
    need
        The test of which intervals are wide enough; None: compute all to their ends.
    step
        A function called with the number of finished unknowns, and the total.
    corners_up_to
        With more connected unknowns than this, interior points are used to test whether intervals are wide enough.
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
        corners = len(columns) <= corners_up_to
        search = _Search(unknowns.part(columns), outer_low[columns], outer_high[columns], need, columns, corners=corners)
        low[columns], high[columns] = search.intervals(_counting(step, finished, number))
        finished += len(columns)
    return CellIntervals(low, high, need is None, determined, known.kind)


def _counting(step: Callable[[int, int], None] | None, before: int, number: int) -> Callable[[int], None]:
    """Return a function that reports the number of finished unknowns of a part."""
    return lambda done: None if step is None else step(before + done, number)


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


class _Search:
    """Linear programs over connected unknowns; every solution widens as many intervals as it can."""

    def __init__(
        self,
        part: Unknowns,
        outer_low: NDArray[np.float64],
        outer_high: NDArray[np.float64],
        need: CellNeed | None,
        columns: NDArray[np.int64],
        *,
        corners: bool,
    ) -> None:
        scale = max(1.0, float(np.abs(part.point).sum()), float(np.abs(part.right).max(initial=0)))
        bounds = np.abs(np.concatenate([part.lower, part.upper]))
        largest = float(bounds.max(initial=0, where=np.isfinite(bounds)))
        self.far = max(_BEYOND * scale, 2 * largest if largest < _EXACT else 0.0)
        self.ends = outer_low, outer_high
        self.touch = _TOUCHES * np.maximum(1.0, np.abs(part.point))
        self.outer_low, self.outer_high = np.maximum(outer_low, -self.far), np.minimum(outer_high, self.far)
        self.low, self.high = part.point.copy(), part.point.copy()
        self.need, self.columns, self.corners = need, columns, corners
        self.part = part

    def intervals(self, step: Callable[[int], None]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the intervals."""
        part, everything = self.part, np.arange(len(self.low))
        if len(self._open(0, everything)) or len(self._open(1, everything)):
            self.program = LinearProgram(
                part.matrix, part.right, np.maximum(part.lower, -self.far), np.minimum(part.upper, self.far), primal=True
            )
            for side in (0, 1):
                self._together(side)
            self._one_by_one(1, lambda done: step(done // 2))
            self._one_by_one(0, lambda done: step((len(self.low) + done) // 2))
        step(len(self.low))
        far = self.far / 2  # beyond it, only the bounds from single equations and known bounds apply
        return np.where(self.low <= -far, self.ends[0], self.low), np.where(self.high >= far, self.ends[1], self.high)

    def _open(self, side: int, at: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return which of some unknowns have a lower (0) or upper (1) end that is not reached yet but must be."""
        if side:
            at = at[self.high[at] < self.outer_high[at] - self.touch[at]]
        else:
            at = at[self.low[at] > self.outer_low[at] + self.touch[at]]
        return at if self.need is None else at[self.need.missed(self.low[at], self.high[at], self.columns[at])]

    def _pushed(self, at: NDArray[np.int64], side: int) -> None:
        """Push unknowns to a side, and widen all intervals by the solution."""
        self.program.costs(at, np.full(len(at), -1.0 if side else 1.0))
        need = None if self.corners else self.need
        solution = self.program.solve() if need is None else self._within_reach(at, need)
        if solution is None:
            raise TableError("the equations of the table have no solution: the published figures contradict one another.")
        np.minimum(self.low, solution, out=self.low)
        np.maximum(self.high, solution, out=self.high)

    def _within_reach(self, at: NDArray[np.int64], need: CellNeed) -> NDArray[np.float64] | None:
        """Push unknowns no farther than required, so that more of them move."""
        lower, upper = np.maximum(self.part.lower[at], -self.far), np.minimum(self.part.upper[at], self.far)
        reach, point = need.reach(self.columns[at]), self.part.point[at]
        self.program.bounds(at, np.maximum(lower, point - reach), np.minimum(upper, point + reach))
        solution = self.program.interior()
        self.program.bounds(at, lower, upper)
        return solution

    def _together(self, side: int) -> None:
        """Push all open ends at once, as long as that reaches some."""
        ends = self._open(side, np.arange(len(self.low)))
        while len(ends) > 1:
            self._pushed(ends, side)
            before, ends = len(ends), self._open(side, ends)
            if 8 * len(ends) > 7 * before:
                break

    def _one_by_one(self, side: int, step: Callable[[int], None]) -> None:
        """Push every end that is still open, one by one, until it is reached."""
        ends = self._open(side, np.arange(len(self.low)))
        for done, at in enumerate(ends):
            one = np.array([at])
            if len(self._open(side, one)):
                self._pushed(one, side)
                if side:
                    self.outer_high[at] = self.high[at]
                else:
                    self.outer_low[at] = self.low[at]
            step(len(self.low) * (done + 1) // len(ends))
