"""What those who are alone in a cell can compute: they know its value, and with it perhaps another cell.

For every sensitive cell i and every contributor s who is alone in some suppressed cells, the interval of i where these cells are
known must be as wide as i needs. Two solutions usually show it for all contributors at once: those with every such cell at its true
value. Only where they do not, each contributor is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unveil.tables.intervals import Unknowns, components
from unveil.tables.solver import LinearProgram

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Inference", "inferences"]

_FAR = 1e3
_AT = 1e-7
Enough = Callable[[int, float, float], bool]
"""Says whether an interval of one unknown is wide enough."""


@dataclass(frozen=True, slots=True)
class Inference:
    """A cell that the only contributor of another one can compute too well: both by their place among the unknowns."""

    cell: int
    insider: int
    low: float
    high: float


def inferences(
    unknowns: Unknowns,
    open_cells: NDArray[np.int64],
    primary: NDArray[np.bool_],
    insiders: Iterable[NDArray[np.int64]],
    enough: Enough,
) -> list[Inference]:
    """Return the sensitive cells that somebody who is alone in other cells can compute, one finding a cell.

    Parameters
    ----------
    unknowns
        The suppressed cells as an attacker sees them.
    open_cells
        Those that the equations do not determine.
    primary
        The sensitive ones.
    insiders
        For each contributor the unknowns in which they are alone.
    enough
        Whether an interval is wide enough for an unknown.
    """
    is_open = np.zeros(len(unknowns), dtype=bool)
    is_open[open_cells] = True
    group_of: dict[int, int] = {}
    groups = [[at for at in some.tolist() if is_open[at]] for some in insiders]
    for number, some in enumerate(groups):
        group_of.update(dict.fromkeys(some, number))
    found: list[Inference] = []
    for columns in components(unknowns.matrix, open_cells):
        alone = [at for at in columns.tolist() if at in group_of]
        sought = [at for at in columns.tolist() if primary[at]]
        if alone and sought:
            found += _Room(unknowns, columns, group_of, groups, enough).searched(sought)
    return found


class _Room:
    """Unknowns that hang together, some of them known to somebody."""

    def __init__(
        self,
        unknowns: Unknowns,
        columns: NDArray[np.int64],
        group_of: dict[int, int],
        groups: list[list[int]],
        enough: Enough,
    ) -> None:
        part = unknowns.part(columns)
        far = _FAR * max(1.0, float(np.abs(part.point).sum()), float(np.abs(part.right).max(initial=0)))
        self.lower, self.upper = np.maximum(part.lower, -far), np.minimum(part.upper, far)
        self.program = LinearProgram(part.matrix, part.right, self.lower, self.upper)
        self.point, self.columns, self.enough = part.point, columns, enough
        place = {int(cell): at for at, cell in enumerate(columns)}
        self.group_of = {place[cell]: number for cell, number in group_of.items() if cell in place}
        self.groups = {
            number: np.array([place[cell] for cell in groups[number]], dtype=np.int64) for number in set(self.group_of.values())
        }
        self.known = np.array(sorted(self.group_of), dtype=np.int64)
        self.place = place
        self.fixed: NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    def fix(self, columns: NDArray[np.int64]) -> None:
        """Let some unknowns be known, and no others."""
        self.program.bounds(self.fixed, self.lower[self.fixed], self.upper[self.fixed])
        self.program.bounds(columns, self.point[columns], self.point[columns])
        self.fixed = columns

    def end(self, at: int, *, up: bool) -> NDArray[np.float64]:
        """Return the solution with the largest, or the least, value of an unknown."""
        self.program.costs(np.array([at]), np.array([-1.0 if up else 1.0]))
        solution = self.program.solve()
        return self.point if solution is None else solution

    def searched(self, sought: list[int]) -> list[Inference]:
        """Return what insiders can compute of the sensitive cells."""
        pending = [self.place[cell] for cell in sought]
        pending = self._clean([at for at in pending if at not in self.group_of]) + [at for at in pending if at in self.group_of]
        found = []
        for at in pending:
            if (one := self._searched(at)) is not None:
                found.append(one)
        return found

    def _clean(self, pending: list[int]) -> list[int]:
        """Return the cells that are not wide enough where all insiders' cells are known at once; solutions serve all cells."""
        if not pending:
            return []
        self.fix(self.known)
        low, high = self.point.copy(), self.point.copy()
        left = []
        for at in pending:
            for up in (True, False):
                if not self.enough(int(self.columns[at]), low[at], high[at]):
                    solution = self.end(at, up=up)
                    np.minimum(low, solution, out=low)
                    np.maximum(high, solution, out=high)
            if not self.enough(int(self.columns[at]), low[at], high[at]):
                left.append(at)
        return left

    def _searched(self, at: int) -> Inference | None:
        """Return who can compute one cell; None: nobody."""
        own = self.group_of.get(at)
        others = self.known[[self.group_of[cell] != own for cell in self.known.tolist()]]
        self.fix(others)
        high, low = self.end(at, up=True)[at], self.end(at, up=False)[at]
        if self.enough(int(self.columns[at]), low, high):
            return None
        self.fix(np.zeros(0, dtype=np.int64))
        ends = [self.end(at, up=True), self.end(at, up=False)]
        for number, cells in self.groups.items():
            if number == own:
                continue
            moved = [bool((np.abs(one[cells] - self.point[cells]) > _AT * np.maximum(1, np.abs(self.point[cells]))).any()) for one in ends]
            bounds = [ends[0][at], ends[1][at]]
            if any(moved):
                self.fix(cells)
                bounds = [self.end(at, up=up)[at] if one else bound for one, up, bound in zip(moved, (True, False), bounds, strict=True)]
            if not self.enough(int(self.columns[at]), bounds[1], bounds[0]):
                return Inference(int(self.columns[at]), int(self.columns[cells[0]]), float(bounds[1]), float(bounds[0]))
        return None
