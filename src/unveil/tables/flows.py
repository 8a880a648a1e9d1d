"""Flows: changes of several cells of a table at once such that every equation still holds.

A flow z with M z = 0 that moves a sensitive cell k as far as required, and every other cell within the bounds that everyone
knows, proves that an attacker cannot rule out the moved table, provided that every cell it moves is suppressed. The cheapest such
flow names the cells to suppress together with k.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import scipy.sparse as sp

from unveil.tables.solver import LinearProgram

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.tables.problem import CellProblem

__all__ = ["SHORTCUTS", "Flow", "FlowProgram", "FlowTask", "Shortcuts", "Side", "tasks_of"]

Side: TypeAlias = Literal["up", "down", "either"]
_MOVED = 1e-7
_AGAIN = 2
"""The number of times a flow is improved, with costs per cell rather than per amount moved."""


@dataclass(frozen=True, slots=True)
class Shortcuts:
    """Settings for finding flows in large tables.

    Attributes
    ----------
    beyond
        In tables with more cells, the elimination is the only start, and flows repair its pattern. Each flow gets one side and
        one repetition, and is first searched for among likely cells.
    likely
        The number of the cheapest cells of every equation that count as likely.
    """

    beyond: int = 3_000
    likely: int = 4


SHORTCUTS = Shortcuts()
"""The default shortcuts."""


@dataclass(frozen=True, slots=True)
class FlowTask:
    """The task to show that a cell can move by an amount, to one side or to either."""

    cell: int
    side: Side
    amount: float


@dataclass(slots=True, eq=False)
class Flow:
    """The moves of all cells, the cells that move, the only contributors of some of these, and the tasks that it proves."""

    moves: NDArray[np.float64]
    cells: NDArray[np.int64]
    insiders: frozenset[int] = field(default_factory=frozenset)
    tasks: list[int] = field(default_factory=list)

    def serves(self, task: FlowTask) -> bool:
        """Return whether the flow moves a cell as far as a task requires."""
        moved = self.moves[task.cell]
        least = task.amount * (1 - 1e-9) - 1e-9
        return bool((task.side != "down" and moved >= least) or (task.side != "up" and -moved >= least))


def tasks_of(problem: CellProblem, *, split: bool = True) -> list[FlowTask]:
    """Return the tasks for all sensitive cells, the largest amounts first.

    Parameters
    ----------
    problem
        The table and its needs.
    split
        Whether a width for which neither side has room is split between both sides, each with its share, because one flow
        shows one side. Otherwise it is required of both together, which is all that the cell needs.
    """
    tasks = []
    for cell in np.flatnonzero(problem.primary).tolist():
        up, down, width = problem.up[cell], problem.down[cell], problem.width[cell]
        if up > 0:
            tasks.append(FlowTask(cell, "up", float(up)))
        if down > 0:
            tasks.append(FlowTask(cell, "down", float(down)))
        if width > up + down and not split:
            tasks.append(FlowTask(cell, "either", float(width)))
        elif width > up + down:
            tasks += _wide(
                cell, float(width), problem.upper[cell] - problem.value[cell], problem.value[cell] - problem.lower[cell]
            )
    return sorted(tasks, key=lambda task: (-task.amount, task.cell, task.side))


def _wide(cell: int, width: float, above: float, below: float) -> list[FlowTask]:
    """Return the tasks that make an interval wide: one side if it has the room, otherwise both, each with its share."""
    if above >= width or below >= width or above + below <= 0:
        return [FlowTask(cell, "either", width)]
    return [FlowTask(cell, "up", width * above / (above + below)), FlowTask(cell, "down", width * below / (above + below))]


def _likely(problem: CellProblem, number: int) -> NDArray[np.bool_]:
    """Return the likely cells of cheap flows: `number` of the cheapest of every equation, and those that matter anyway."""
    chosen = problem.primary | problem.hidden
    for some in problem.insiders:
        chosen[some] = True
    entries = problem.equations[:, np.flatnonzero(~problem.fixed)].tocoo()
    cells = np.flatnonzero(~problem.fixed)[entries.col]
    near = abs(problem.equations).T @ ((abs(problem.equations) @ chosen.astype(np.float64)) > 0)
    order = np.lexsort((cells, (problem.cost / (1 + near))[cells], entries.row))
    row = entries.row[order]
    rank = np.arange(len(row)) - np.searchsorted(row, row)
    chosen[cells[order[rank < number]]] = True
    return np.asarray(chosen)


class FlowProgram:
    """The linear program of the cheapest flow for one table; costs and forbidden cells vary.

    Parameters
    ----------
    problem
        The table.
    within
        The cells that may move; None: all that need not be published.
    shortcuts
        The settings for large tables.
    """

    def __init__(self, problem: CellProblem, within: NDArray[np.bool_] | None = None, shortcuts: Shortcuts = SHORTCUTS) -> None:
        self.problem, self.shortcuts = problem, shortcuts
        free = ~problem.fixed if within is None else within & ~problem.fixed
        self.columns = np.flatnonzero(free)
        self.place = np.full(len(problem), -1, dtype=np.int64)
        self.place[self.columns] = np.arange(len(self.columns))
        matrix = problem.equations[:, self.columns].tocsr()
        matrix = matrix[np.diff(matrix.indptr) > 0]
        self.number = len(self.columns)
        self.narrow = self.number < int(np.count_nonzero(~problem.fixed))
        scale = max(1.0, float(np.abs(problem.value).max(initial=0)))
        far = 1e3 * scale
        self.rise = np.minimum(problem.upper - problem.value, far)[self.columns]
        self.fall = np.minimum(problem.value - problem.lower, far)[self.columns]
        both = sp.hstack([matrix, -matrix]).tocsc()
        self.limits = np.concatenate([self.rise, self.fall])
        self.program = LinearProgram(both, np.zeros(matrix.shape[0]), np.zeros(2 * self.number), self.limits)
        self._all = np.arange(2 * self.number)
        self._changed: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.insider_of: dict[int, int] = {
            int(cell): number for number, some in enumerate(problem.insiders) for cell in some.tolist()
        }

    @classmethod
    def at_first(cls, problem: CellProblem, shortcuts: Shortcuts = SHORTCUTS) -> FlowProgram:
        """Return the program that is tried first: over likely cells in a large table, otherwise over all."""
        return cls(problem, _likely(problem, shortcuts.likely) if len(problem) > shortcuts.beyond else None, shortcuts)

    def over(self, within: NDArray[np.bool_] | None) -> FlowProgram:
        """Return the program of the same table over other cells; None: all that need not be published."""
        return FlowProgram(self.problem, within, self.shortcuts)

    def sought(
        self,
        task: FlowTask,
        costs: NDArray[np.float64],
        forbidden: NDArray[np.int64],
        *,
        again: int = _AGAIN,
        either: bool = False,
    ) -> Flow | None:
        """Return a cheap flow for a task; None if there is none.

        Parameters
        ----------
        task
            The cell, the side and the amount.
        costs
            The cost of every cell of the problem.
        forbidden
            Cells that must not move.
        again
            The number of times to improve the flow with costs per cell instead of per amount.
        either
            Whether the first side with a flow suffices, if a task may be met on either side.
        """
        sides = ("up", "down") if task.side == "either" else (task.side,)
        if self.number > self.shortcuts.beyond:
            again, either = min(again, 1), True
        best: tuple[float, Flow] | None = None
        for side in sides:
            flow = self._one_side(task.cell, side, task.amount, costs[self.columns], forbidden, again)
            if flow is None:
                continue
            cost = float(costs[flow.cells].sum())
            if best is None or cost < best[0] - 1e-9:
                best = cost, flow
            if either or self._turned(flow):
                break
        return None if best is None else best[1]

    def _turned(self, flow: Flow) -> bool:
        """Return whether a flow can be reversed within the bounds, so that the other side has no cheaper one."""
        moves = -flow.moves[self.columns]
        return bool(((moves <= self.rise) & (moves >= -self.fall)).all())

    def _one_side(
        self, cell: int, side: str, amount: float, costs: NDArray[np.float64], forbidden: NDArray[np.int64], again: int
    ) -> Flow | None:
        at = int(self.place[cell])
        if (self.rise if side == "up" else self.fall)[at] < amount * (1 - 1e-9):
            return None
        self._bound(at, side, amount, self.place[forbidden])
        unit = costs / np.minimum(amount, np.maximum(np.maximum(self.rise, self.fall), 1e-12))
        best: tuple[float, NDArray[np.float64]] | None = None
        for _ in range(1 + again):
            self.program.costs(self._all, np.concatenate([unit, unit]))
            solution = self.program.solve(fresh=True)
            if solution is None:
                return None
            moved = solution[: self.number] - solution[self.number :]
            size = np.abs(moved)
            cost = float(costs[size > _MOVED].sum())
            if best is not None and cost >= best[0] - 1e-9:
                break
            best = cost, moved
            unit = costs / (size + 0.05 * amount)
        return None if best is None else self._flow(best[1])

    def extent(self, cell: int, side: str, forbidden: NDArray[np.int64]) -> tuple[float, Flow]:
        """Return the largest move of a cell to one side while some others do not move, and the flow that shows it."""
        at = int(self.place[cell])
        self._bound(at, side, 0.0, self.place[forbidden])
        pair = np.array([at, at + self.number])
        self.program.bounds(pair, np.zeros(2), self.limits[pair])
        self.program.costs(pair, np.array([-1.0, 1.0]) if side == "up" else np.array([1.0, -1.0]))
        solution = self.program.solve()
        if solution is None:
            return np.inf, self._flow(np.zeros(self.number))
        moved = solution[: self.number] - solution[self.number :]
        return float(abs(moved[at])), self._flow(moved)

    def _bound(self, at: int, side: str, amount: float, forbidden: NDArray[np.int64]) -> None:
        """Require one cell to move by an amount, and some not to move at all."""
        self.program.bounds(self._changed, np.zeros(len(self._changed)), self.limits[self._changed])
        still = np.concatenate([forbidden, forbidden + self.number])
        self.program.bounds(still, np.zeros(len(still)), np.zeros(len(still)))
        one, other = (at, at + self.number) if side == "up" else (at + self.number, at)
        pair = np.array([one, other])
        self.program.bounds(pair, np.array([amount, 0.0]), np.array([amount, 0.0]))
        self._changed = np.unique(np.concatenate([still, pair]))

    def _flow(self, moved: NDArray[np.float64]) -> Flow:
        moves = np.zeros(len(self.problem))
        moves[self.columns] = np.where(np.abs(moved) > _MOVED, moved, 0.0)
        cells = np.flatnonzero(moves)
        insiders = frozenset(self.insider_of[cell] for cell in cells.tolist() if cell in self.insider_of)
        return Flow(moves, cells, insiders)
