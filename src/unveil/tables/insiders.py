"""What those who are alone in a cell can compute: they know its value, and with it perhaps another cell.

For every sensitive cell and every contributor who is alone in some suppressed cells, the interval that is left where these
cells are known must be as wide as the cell needs. A flow that moves the sensitive cell far enough shows it for everybody whose
cells it does not move; so a short flow and a second one that avoids the people of the first settle most cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unveil.tables.flows import FlowProgram, FlowTask, tasks_of
from unveil.tables.pattern import Pattern

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.tables.problem import CellProblem

__all__ = ["Inference", "inferences", "spoiled"]


@dataclass(frozen=True, slots=True)
class Inference:
    """A cell that the only contributor of another one can compute too well, both by number, and the interval that is left."""

    cell: int
    insider: int
    low: float
    high: float


def inferences(problem: CellProblem, suppressed: NDArray[np.bool_], sought: NDArray[np.bool_]) -> list[Inference]:
    """Return the sensitive cells that somebody who is alone in other cells can compute, one finding a cell.

    Parameters
    ----------
    problem
        The table and its needs.
    suppressed
        The pattern.
    sought
        The sensitive cells to look at: those that outsiders cannot compute.
    """
    aimed = problem.aimed()
    program = FlowProgram(aimed, suppressed)
    tasks = [task for task in tasks_of(aimed) if sought[task.cell]]
    pattern = Pattern(aimed, program, tasks)
    found: dict[int, Inference] = {}
    for number, task in enumerate(tasks):
        if task.cell not in found and (one := _searched(problem, pattern, number, task)) is not None:
            found[task.cell] = one
    return list(found.values())


def spoiled(problem: CellProblem, suppressed: NDArray[np.bool_], tasks: Sequence[FlowTask]) -> list[tuple[int, int]]:
    """Return the tasks that are not met for somebody who is alone in a cell: the number of the task, and of that person."""
    pattern = Pattern(problem, FlowProgram(problem, suppressed), tasks)
    found = []
    for number, task in enumerate(tasks):
        one = _searched(problem, pattern, number, task)
        if one is not None:
            found.append((number, pattern.program.insider_of[one.insider]))
    return found


def _searched(problem: CellProblem, pattern: Pattern, number: int, task: FlowTask) -> Inference | None:
    """Return who can compute the cell of a task; None: nobody."""
    costs = np.ones(len(problem))
    costs[list(pattern.program.insider_of)] = 3.0
    spoilers = pattern.spoilers(number)
    while spoilers != frozenset():
        flow = pattern.program.sought(task, costs, pattern.cells_of(spoilers or frozenset()), again=0, either=True)
        if flow is None:
            break
        pattern.add(flow)
        spoilers = pattern.spoilers(number)
    if spoilers is None:  # a width that only both sides together reach: whoever is alone somewhere may know
        own = pattern.program.insider_of.get(task.cell)
        spoilers = frozenset(range(len(problem.insiders))) - {own}
    for one in sorted(spoilers):
        cells = pattern.cells_of(frozenset([one]))
        if not len(cells) or one not in (pattern.spoilers(number) or spoilers):
            continue
        flow = pattern.program.sought(task, costs, cells, again=0, either=True)
        if flow is not None:
            pattern.add(flow)
            continue
        value = problem.value[task.cell]
        rise, fall = (pattern.program.extent(task.cell, side, cells)[0] for side in ("up", "down"))
        if not problem.open_enough(task.cell, value - fall, value + rise):
            return Inference(task.cell, int(cells[0]), value - fall, value + rise)
    return None
