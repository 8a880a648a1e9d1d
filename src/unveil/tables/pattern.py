"""Patterns of suppressed cells with their proofs: for every task, flows over suppressed cells that show that it is met.

The only contributor of a cell knows it, so a flow that moves it proves nothing to them. A task is met if for every such insider
there is a flow without their cells, that is, if no insider is common to all its flows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.tables.flows import Flow, FlowProgram, FlowTask
    from unveil.tables.problem import CellProblem

__all__ = ["Pattern"]

_LITTLE = 0.1
"""The cost of moving a cell that is already suppressed, as a share of the cost of suppressing a cheap one."""


class Pattern:
    """Suppressed cells, and the flows that prove that they suffice."""

    def __init__(self, problem: CellProblem, program: FlowProgram, tasks: Sequence[FlowTask]) -> None:
        self.problem, self.program, self.tasks = problem, program, list(tasks)
        self.suppressed = problem.primary | problem.hidden
        self.flows: list[Flow | None] = []
        open_costs = problem.cost[~problem.fixed & ~self.suppressed]
        self.little = _LITTLE * max(1e-6, float(np.quantile(open_costs, 0.1))) if len(open_costs) else 1e-6
        self.of_task: list[list[int]] = [[] for _ in tasks]
        self.of_cell: dict[int, list[int]] = {}
        self._tasks_at: dict[int, list[int]] = {}
        for number, task in enumerate(self.tasks):
            self._tasks_at.setdefault(task.cell, []).append(number)

    def add(self, flow: Flow) -> None:
        """Suppress the cells that a flow moves, and record which tasks it serves."""
        self.suppressed[flow.cells] = True
        number = len(self.flows)
        self.flows.append(flow)
        for cell in flow.cells.tolist():
            for task in self._tasks_at.get(cell, ()):
                if flow.serves(self.tasks[task]):
                    self.of_task[task].append(number)
                    flow.tasks.append(task)
            if not self.problem.primary[cell]:
                self.of_cell.setdefault(cell, []).append(number)

    def spoilers(self, task: int, without: int | None = None) -> frozenset[int] | None:
        """Return the insiders against whom no flow proves a task; None if there is no flow at all.

        Parameters
        ----------
        task
            The number of the task.
        without
            A cell that would be published: flows that move it do not count.
        """
        own = self.program.insider_of.get(self.tasks[task].cell)
        common: frozenset[int] | None = None
        for number in self.of_task[task]:
            flow = self.flows[number]
            if flow is None or (without is not None and flow.moves[without] != 0):
                continue
            common = flow.insiders if common is None else common & flow.insiders
            if common <= {own}:
                return frozenset()
        return None if common is None else common - {own}

    def met(self, task: int) -> bool:
        """Return whether a task is proved against everyone."""
        return self.spoilers(task) == frozenset()

    def publish(self, cell: int) -> None:
        """Publish a cell again; the flows that move it no longer prove anything."""
        for number in self.of_cell.pop(cell, []):
            flow = self.flows[number]
            if flow is not None:
                self.flows[number] = None
        self.suppressed[cell] = False

    def cells_of(self, insiders: frozenset[int]) -> NDArray[np.int64]:
        """Return the cells of which some insiders are the only contributors and that could move."""
        if not insiders:
            return np.zeros(0, dtype=np.int64)
        cells = np.concatenate([self.problem.insiders[number] for number in sorted(insiders)])
        return np.asarray(cells[self.program.place[cells] >= 0])

    def cost(self) -> float:
        """Return the cost of the pattern."""
        return float(self.problem.cost[self.suppressed].sum())
