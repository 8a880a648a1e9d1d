"""The cheapest safe pattern: a master problem chooses cells, and an attacker answers with cuts that the choice violates.

The bound is that of the master problem, which has only the inequalities found so far, so it never exceeds the optimum. Every
choice that is not safe is completed by flows to one that is; the best of these is returned, with the gap to the bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unveil.tables.findings import Findings, audited
from unveil.tables.flows import FlowProgram, tasks_of
from unveil.tables.insiders import spoiled
from unveil.tables.pattern import Pattern
from unveil.tables.suppression.cuts import CutMaker, PatternCut, rows_with_two
from unveil.tables.suppression.everything import everything_needed
from unveil.tables.suppression.failure import Unprotectable
from unveil.tables.suppression.lp import attacked_flows, completed, thinned
from unveil.tables.suppression.master import LinearMaster, Master, master_of
from unveil.time_limit import OutOfTime, check_time, limited, time_left

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.tables.problem import CellProblem

__all__ = ["Optimum", "optimum"]

_ROUNDS = 60
_CLOSED = 1e-6
_ROUNDING = 1e-4
_NOTHING: NDArray[np.int64] = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Optimum:
    """The best pattern found, its cost, and a lower bound of the cost of any pattern.

    Attributes
    ----------
    suppressed, cost, bound
        The pattern, its cost, and the bound.
    start
        The pattern from which the search started, which was attacked and is safe.
    """

    suppressed: NDArray[np.bool_]
    cost: float
    bound: float
    start: Findings

    @property
    def gap(self) -> float:
        """The largest possible distance of the cost above the optimum, as a share of the cost."""
        return 0.0 if self.cost <= 0 else max(0.0, (self.cost - self.bound) / self.cost)


def optimum(
    problem: CellProblem,
    *,
    time_limit: float | None = None,
    solver: str = "auto",
    step: Callable[[int, int], None] | None = None,
) -> Optimum:
    """Return the cheapest safe pattern, or the best found in time.

    Parameters
    ----------
    problem
        The table, its needs and the costs.
    time_limit
        Seconds after which the best pattern so far is returned; None for no limit.
    solver
        The solver of the master problem: "scip", "highs", or "auto" (SCIP if it is installed).
    step
        A function called with the closed share of the gap, in thousandths, and 1,000.
    """
    master_of(solver)  # a missing solver is reported before the work begins
    with limited(time_limit):
        with limited(time_left() / 2):
            start = _start(problem)
        search = _Search(problem, start, step)
        try:
            search.prepare()
            search.root()
            search.branch(solver)
        except OutOfTime:
            pass  # the incumbent and the bound are kept
    return Optimum(search.best, search.cost, search.proven, start)


def _start(problem: CellProblem) -> Findings:
    """Return a safe pattern to start from: by flows or, if these find none, everything that may be suppressed."""
    try:
        return attacked_flows(problem)
    except Unprotectable:
        return audited(problem, everything_needed(problem), depth="enough")


class _Search:
    """The state of the search: cuts, incumbent and bound."""

    def __init__(self, problem: CellProblem, start: Findings, step: Callable[[int, int], None] | None) -> None:
        self.problem = problem.aimed()
        self.tasks = tasks_of(self.problem, split=False)
        self.step = step
        self.best = start.pattern(len(problem))
        self.cost = float(problem.cost[self.best].sum())
        self.sure = float(self.problem.cost[self.problem.primary | self.problem.hidden].sum())
        self.bound = self.sure
        self.free = np.flatnonzero(~self.problem.fixed & ~self.problem.primary & ~self.problem.hidden)
        self.cuts: list[PatternCut] = []
        self._keys: set[tuple[bytes, bytes]] = set()
        self.pairs: dict[tuple[int, int], None] = {}

    def prepare(self) -> None:
        """Build the separation of choices, and the cuts of single equations."""
        self.maker = CutMaker(self.problem)
        self.new(rows_with_two(self.problem, [task.cell for task in self.tasks]))

    def new(self, cuts: list[PatternCut]) -> list[PatternCut]:
        """Keep the cuts that are new, and return them."""
        new = []
        for cut in cuts:
            if (key := cut.key()) not in self._keys:
                self._keys.add(key)
                new.append(cut)
        self.cuts += new
        return new

    @property
    def closed(self) -> bool:
        """Whether the best pattern is known to be optimal; with whole costs, a gap below 1 proves it."""
        return self.bound >= self.cost - self.room

    @property
    def room(self) -> float:
        """The largest distance of the bound below the incumbent that still proves it optimal."""
        return 1 - _ROUNDING if self._whole else _CLOSED * max(1.0, self.cost)

    @property
    def _whole(self) -> bool:
        """Whether every cost is a whole number."""
        return bool(np.all(self.problem.cost == np.rint(self.problem.cost)))

    @property
    def proven(self) -> float:
        """The cost below which there is no pattern; a whole number if costs are whole."""
        bound = float(np.ceil(self.bound - _ROUNDING)) if self._whole else self.bound
        return min(bound, self.cost)

    def tell(self) -> None:
        """Report the closed share of the gap."""
        if self.step is not None and self.cost > self.sure:
            self.step(round(1000 * (self.bound - self.sure) / (self.cost - self.sure)), 1000)

    def separated(self, x: NDArray[np.float64]) -> list[PatternCut]:
        """Return the cuts that a possibly fractional pattern violates."""
        cuts: list[PatternCut] = []
        self.maker.pattern(x, _NOTHING)
        cuts += [cut for task in self.tasks if (cut := self.maker.cut(task)) is not None]
        for task, insider in self.pairs:
            self.maker.pattern(x, self._known(insider))
            if (cut := self.maker.cut(self.tasks[task])) is not None:
                cuts.append(cut)
        return cuts

    def _known(self, insider: int) -> NDArray[np.int64]:
        cells = self.problem.insiders[insider]
        return cells[self.maker.place[cells] >= 0]

    def inside(self, suppressed: NDArray[np.bool_]) -> list[PatternCut]:
        """Return the cuts against insiders, for a pattern that outsiders cannot attack."""
        if not self.problem.insiders:
            return []
        cuts = []
        x = suppressed.astype(np.float64)
        for task, insider in spoiled(self.problem, suppressed, self.tasks):
            self.pairs[task, insider] = None
            self.maker.pattern(x, self._known(insider))
            if (cut := self.maker.cut(self.tasks[task])) is not None:
                cuts.append(cut)
        return cuts

    def improve(self, suppressed: NDArray[np.bool_]) -> None:
        """Complete a pattern by flows, and keep it if it is the cheapest so far."""
        pattern = Pattern(self.problem, FlowProgram(self.problem), tasks_of(self.problem))
        pattern.suppressed |= suppressed
        try:
            completed(pattern)
        except Unprotectable:  # flows require a little more than necessary
            return
        thinned(pattern)
        if pattern.cost() < self.cost - 1e-9:
            self.best, self.cost = pattern.suppressed.copy(), pattern.cost()

    def x_of(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the whole pattern of a choice of the master problem."""
        x = (self.problem.primary | self.problem.hidden).astype(np.float64)
        x[self.free] = values
        return x

    def root(self) -> None:
        """Solve the linear relaxation of the master problem as long as there are new cuts."""
        master = LinearMaster(self.problem.cost[self.free], self.free, self.cuts)
        for number in range(_ROUNDS):
            check_time()
            if self.closed:
                return
            values, bound = master.solve()
            self.bound = max(self.bound, self.sure + bound)
            self.tell()
            new = self.new(self.separated(self.x_of(values)))
            if not new:
                return
            master.add(new)
            if number % 10 == 5:  # noqa: PLR2004 - now and then
                self.improve(self.x_of(values) > 0.5)  # noqa: PLR2004 - rounded

    def branch(self, solver: str) -> None:
        """Solve the integer master problem, adding cuts until its choice is safe."""
        check_time()
        if self.closed:
            return
        master: Master = master_of(solver)(self.problem.cost[self.free], self.free, self.cuts)
        master.run(self)

    def judged(self, values: NDArray[np.float64]) -> list[PatternCut]:
        """Return the cuts that an integer choice violates; if there are none, it is safe, and kept if it is the cheapest."""
        x = self.x_of(np.rint(values))
        violated = self.separated(x) or self.inside(x > 0.5)  # noqa: PLR2004 - 0 or 1
        if violated:
            return violated
        cost = float(self.problem.cost[x > 0.5].sum())  # noqa: PLR2004
        if cost < self.cost - 1e-9:
            self.best, self.cost = x > 0.5, cost  # noqa: PLR2004
        return []
