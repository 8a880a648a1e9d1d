"""Secondary suppression by linear programs: a pattern that protects and is then thinned out.

There are two starts: the pattern of the elimination, and the cheapest flow for one sensitive cell after the other, largest
needs first, with a low cost for cells that are already suppressed. Cells that the attack on either exposes are protected by
further flows. Then the publication of every secondary cell is tried, the most costly first, and the cheapest result is used.
Small tables start from flows several times, with randomised costs. In large tables, flows over all cells take too long, so the
elimination is the only start.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from unveil.tables.findings import Findings, audited
from unveil.tables.flows import SHORTCUTS, Flow, FlowProgram, FlowTask, Shortcuts, tasks_of
from unveil.tables.pattern import Pattern
from unveil.tables.suppression.failure import Unprotectable
from unveil.tables.suppression.gauss import by_elimination
from unveil.tables.suppression.pool import thinned_by_pool
from unveil.tables.suppression.rows import EquationRows
from unveil.time_limit import OutOfTime, check_time

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.tables.findings import Depth
    from unveil.tables.problem import CellProblem

__all__ = ["attacked_flows", "by_flows", "completed", "mended", "thinned"]

Step = Callable[[int, int], None]
_REPAIRS = 5
_SMALL, _DRAWN = 400, 8
"""Tables with at most this many cells have this many more starts with randomised costs: flows are greedy, and quick there."""
_NOTHING: NDArray[np.int64] = np.zeros(0, dtype=np.int64)


def by_flows(problem: CellProblem, *, shortcuts: Shortcuts = SHORTCUTS) -> NDArray[np.bool_]:
    """Return a pattern that protects every sensitive cell: the cheapest result of all starts."""
    return attacked_flows(problem, shortcuts=shortcuts).pattern(len(problem))


def attacked_flows(problem: CellProblem, *, step: Step | None = None, shortcuts: Shortcuts = SHORTCUTS) -> Findings:
    """Return the same pattern with the findings of the attack on it; when the time is up, the cheapest safe one so far.

    Raises
    ------
    OutOfTime
        If there was not enough time to find one.
    """
    best = _Best(problem.aimed(), shortcuts)
    try:
        for begin in _ways(len(problem), shortcuts):
            suppressed = best.offered(begin(best.problem, step))
            if suppressed is not None:
                best.offered(thinned_by_pool(best.problem, suppressed, step))
        if best.findings is None:
            return best.mended(_by_flows_alone(best.problem, step, shortcuts))[1]
    except OutOfTime:
        if best.findings is None:
            raise
    return best.findings


def _ways(cells: int, shortcuts: Shortcuts) -> list[Callable[[CellProblem, Step | None], NDArray[np.bool_]]]:
    """Return the starts for a table with the given number of cells."""
    if cells > shortcuts.beyond:
        return [_from_elimination]
    return [
        _from_elimination,
        _from_flows,
        *([partial(_from_other_costs, draw=at) for at in range(_DRAWN)] if cells <= _SMALL else []),
    ]


class _Best:
    """The cheapest pattern so far that was attacked and is safe."""

    def __init__(self, problem: CellProblem, shortcuts: Shortcuts) -> None:
        self.problem, self._shortcuts = problem, shortcuts
        self.findings: Findings | None = None

    def mended(self, suppressed: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], Findings]:
        """Attack and repair a pattern."""
        return mended(self.problem, suppressed, "enough", shortcuts=self._shortcuts)

    def offered(self, suppressed: NDArray[np.bool_]) -> NDArray[np.bool_] | None:
        """Repair a pattern and keep it if it is the cheapest; return None if it is not safe."""
        suppressed, findings = self.mended(suppressed)
        if not findings.safe:
            return None
        if self.findings is None or self._cost(findings) < self._cost(self.findings) - 1e-9:
            self.findings = findings
        return suppressed

    def _cost(self, findings: Findings) -> float:
        return float(self.problem.cost[findings.suppressed].sum())


def _from_elimination(aimed: CellProblem, step: Step | None) -> NDArray[np.bool_]:
    return by_elimination(aimed, step=step)


def _from_flows(aimed: CellProblem, step: Step | None) -> NDArray[np.bool_]:
    pattern = Pattern(aimed, FlowProgram(aimed), tasks_of(aimed))
    completed(pattern, step=step)
    return pattern.suppressed


def _from_other_costs(aimed: CellProblem, _step: Step | None, *, draw: int) -> NDArray[np.bool_]:
    """Start from flows that are cheapest by randomised costs, the same on every run."""
    factor = np.random.default_rng(draw).uniform(0.5, 2.0, len(aimed))
    return _from_flows(aimed.with_cost(aimed.cost * factor), None)


def _by_flows_alone(aimed: CellProblem, step: Step | None, shortcuts: Shortcuts) -> NDArray[np.bool_]:
    """Return a pattern with proofs for every cell: a slow method for tables that repairs do not settle."""
    pattern = Pattern(aimed, FlowProgram.at_first(aimed, shortcuts), tasks_of(aimed))
    completed(pattern, step=step)
    thinned(pattern, step=step)
    return pattern.suppressed


def mended(
    problem: CellProblem,
    suppressed: NDArray[np.bool_],
    depth: Depth,
    step: Step | None = None,
    shortcuts: Shortcuts = SHORTCUTS,
) -> tuple[NDArray[np.bool_], Findings]:
    """Attack a pattern; protect the cells that the attack exposes by further flows, and attack it again."""
    findings = audited(problem, suppressed, depth=depth, step=step)
    for _ in range(_REPAIRS):
        if findings.safe:
            break
        aimed = problem.aimed()
        exposed = set(findings.suppressed[findings.exposed].tolist())
        tasks = [task for task in tasks_of(aimed) if task.cell in exposed]
        pattern = Pattern(aimed, FlowProgram.at_first(aimed, shortcuts), tasks)
        pattern.suppressed |= suppressed
        completed(pattern)
        suppressed = pattern.suppressed
        findings = audited(problem, suppressed, depth=depth, step=step)
    return suppressed, findings


def _secondary(pattern: Pattern) -> NDArray[np.int64]:
    """Return the cells that are suppressed only to protect others, the most costly first."""
    problem = pattern.problem
    cells = np.flatnonzero(pattern.suppressed & ~problem.primary & ~problem.hidden)
    return np.asarray(cells[np.lexsort((cells, -problem.cost[cells]))])


def completed(pattern: Pattern, *, step: Step | None = None) -> None:
    """Suppress the cells that unmet tasks need."""
    for number, task in enumerate(pattern.tasks):
        check_time()
        _meet(pattern, number, task)
        if step is not None:
            step(number + 1, 2 * len(pattern.tasks))


def _meet(pattern: Pattern, number: int, task: FlowTask) -> None:
    """Add flows until a task is proved against everyone."""
    spoilers = pattern.spoilers(number)
    if spoilers == frozenset():
        return
    if spoilers is None:
        flow = _sought(pattern, task, _NOTHING)
        if flow is None:
            raise Unprotectable(task.cell, insider=False)
        pattern.add(flow)
        spoilers = pattern.spoilers(number)
    if not spoilers:
        return
    flow = _sought(pattern, task, pattern.cells_of(spoilers))
    if flow is not None:
        pattern.add(flow)
        return
    for one in sorted(spoilers):
        if one not in (pattern.spoilers(number) or frozenset()):
            continue
        flow = _sought(pattern, task, pattern.cells_of(frozenset([one])))
        if flow is None:
            raise Unprotectable(task.cell, insider=True)
        pattern.add(flow)


def _sought(pattern: Pattern, task: FlowTask, forbidden: NDArray[np.int64]) -> Flow | None:
    """Return a cheap flow; if there is none over likely cells, use all cells from then on."""
    flow = pattern.program.sought(task, _costs(pattern), forbidden)
    if flow is None and pattern.program.narrow:
        pattern.program = pattern.program.over(None)
        flow = pattern.program.sought(task, _costs(pattern), forbidden)
    return flow


def _costs(pattern: Pattern) -> NDArray[np.float64]:
    """Return the cost of every cell, a little for cells that are already suppressed, so that flows stay short."""
    cost = np.maximum(pattern.problem.cost, 1e-6)
    return np.where(pattern.suppressed, pattern.little, cost)


def thinned(pattern: Pattern, *, step: Step | None = None) -> None:
    """Publish again the cells that are not needed, the most costly first."""
    problem = pattern.problem
    order = _secondary(pattern)
    total = len(pattern.tasks)
    pattern.program = pattern.program.over(pattern.suppressed)
    rows = EquationRows(problem, pattern.suppressed)
    for done, cell in enumerate(order.tolist()):
        check_time()
        if not rows.bares(cell) and _spared(pattern, cell):
            pattern.publish(cell)
            rows.publish(cell)
        if step is not None:
            step(total + total * (done + 1) // len(order), 2 * total)


def _spared(pattern: Pattern, cell: int) -> bool:
    """Return whether every task can be proved without a cell; new flows are kept."""
    affected = {task for number in pattern.of_cell.get(cell, ()) for task in _served(pattern, number)}
    problem = pattern.problem
    published = pattern.program.columns[~pattern.suppressed[pattern.program.columns]]
    wishes = np.where(problem.primary, pattern.little, np.maximum(problem.cost, 1e-6))
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
    return [] if flow is None else flow.tasks
