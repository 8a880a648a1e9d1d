"""Secondary suppression by linear programs: the cheapest flow for one sensitive cell after the other, then thinned out.

Largest needs first, and what is suppressed already costs nothing. At the end every secondary cell is tried for publication, the
dearest first, and stays published if every task has a proof without it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from unveil.tables.flows import FlowProgram, FlowTask, tasks_of
from unveil.tables.pattern import Pattern
from unveil.tables.suppression.failure import Unprotectable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.tables.problem import CellProblem

__all__ = ["by_flows", "completed", "thinned"]

Step = Callable[[int, int], None]
_NOTHING: NDArray[np.int64] = np.zeros(0, dtype=np.int64)


def by_flows(problem: CellProblem, *, step: Step | None = None) -> Pattern:
    """Return a pattern that protects every sensitive cell."""
    aimed = problem.aimed()
    program = FlowProgram(aimed)
    pattern = Pattern(aimed, program, tasks_of(aimed))
    completed(pattern, step=step)
    thinned(pattern, step=step)
    return pattern


def completed(pattern: Pattern, *, step: Step | None = None) -> None:
    """Suppress what the tasks that are not met need."""
    for number, task in enumerate(pattern.tasks):
        _meet(pattern, number, task)
        if step is not None:
            step(number + 1, 2 * len(pattern.tasks))


def _meet(pattern: Pattern, number: int, task: FlowTask) -> None:
    """Add flows until a task is proved for everybody."""
    spoilers = pattern.spoilers(number)
    if spoilers == frozenset():
        return
    if spoilers is None:
        flow = pattern.program.sought(task, _costs(pattern), _NOTHING)
        if flow is None:
            raise Unprotectable(task.cell, insider=False)
        pattern.add(flow)
        spoilers = pattern.spoilers(number)
    if not spoilers:
        return
    flow = pattern.program.sought(task, _costs(pattern), pattern.cells_of(spoilers))
    if flow is not None:
        pattern.add(flow)
        return
    for one in sorted(spoilers):
        if one not in (pattern.spoilers(number) or frozenset()):
            continue
        flow = pattern.program.sought(task, _costs(pattern), pattern.cells_of(frozenset([one])))
        if flow is None:
            raise Unprotectable(task.cell, insider=True)
        pattern.add(flow)


def _costs(pattern: Pattern) -> NDArray[np.float64]:
    """Return the cost of every cell: of what is suppressed already, nothing."""
    return np.where(pattern.suppressed, 0.0, np.maximum(pattern.problem.cost, 1e-6))


def thinned(pattern: Pattern, *, step: Step | None = None) -> None:
    """Publish again what is not needed, the dearest first."""
    problem = pattern.problem
    secondary = np.flatnonzero(pattern.suppressed & ~problem.primary & ~problem.hidden)
    order = secondary[np.lexsort((secondary, -problem.cost[secondary]))]
    total = len(pattern.tasks)
    pattern.program = FlowProgram(problem, pattern.suppressed)
    for done, cell in enumerate(order.tolist()):
        if _spared(pattern, cell):
            pattern.publish(cell)
        if step is not None:
            step(total + total * (done + 1) // len(order), 2 * total)


def _spared(pattern: Pattern, cell: int) -> bool:
    """Return whether every task has a proof without a cell; new flows are kept."""
    affected = {task for number in pattern.of_cell.get(cell, ()) for task in _served(pattern, number)}
    problem = pattern.problem
    published = pattern.program.columns[~pattern.suppressed[pattern.program.columns]]
    wishes = np.where(problem.primary, 0.0, np.maximum(problem.cost, 1e-6))
    for number in sorted(affected):
        while (spoilers := pattern.spoilers(number, without=cell)) != frozenset():
            away = pattern.cells_of(spoilers) if spoilers else _NOTHING
            forbidden = np.unique(np.concatenate([published, [cell], away]))
            flow = pattern.program.sought(pattern.tasks[number], wishes, forbidden, again=0, either=True)
            if flow is None:
                return False
            pattern.add(flow)
    return True


def _served(pattern: Pattern, number: int) -> list[int]:
    """Return the tasks that a flow serves."""
    flow = pattern.flows[number]
    return [] if flow is None else [task for task, some in enumerate(pattern.of_task) if number in some]
