"""The master problem of the cheapest pattern, and its solvers, one line each.

HiGHS (MIT licence) is restarted after every round of cuts; SCIP (Apache 2.0) requests cuts while it branches. SCIP's handling
of symmetry is switched off as a precaution, because it cannot know later cuts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import scipy.sparse as sp

from unveil.arguments import checked_word
from unveil.errors import MissingExtraError
from unveil.tables.solver import LinearProgram, highs
from unveil.time_limit import check_time, expire, time_left

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from unveil.tables.suppression.cuts import PatternCut

__all__ = ["LinearMaster", "Master", "master_of"]


class SafetyCheck(Protocol):
    """A check of whether a choice is safe, with the incumbent and the bound."""

    bound: float
    sure: float
    cost: float

    @property
    def room(self) -> float:
        """The largest distance of the bound below the incumbent that still proves it optimal."""

    def judged(self, values: NDArray[np.float64]) -> list[PatternCut]:
        """Return the cuts that a choice violates."""

    def new(self, cuts: list[PatternCut]) -> list[PatternCut]:
        """Return the cuts that are new."""

    def improve(self, suppressed: NDArray[np.bool_]) -> None:
        """Complete a pattern."""

    def x_of(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the whole pattern of a choice."""

    def tell(self) -> None:
        """Report the closed share of the gap."""


class Master(Protocol):
    """A solver of the master problem."""

    def run(self, judge: SafetyCheck) -> None:
        """Choose patterns and have them judged until the choice is safe or the time is up."""


class LinearMaster:
    """min w x subject to cuts, 0 <= x <= 1, by HiGHS."""

    def __init__(
        self, cost: NDArray[np.float64], cells: NDArray[np.int64], cuts: Sequence[PatternCut], *, whole: bool = False
    ) -> None:
        self.place = np.full(int(cells.max(initial=-1)) + 1, -1, dtype=np.int64)
        self.place[cells] = np.arange(len(cells))
        number = len(cells)
        integer = np.ones(number, dtype=bool) if whole else None
        matrix = self._rows(cuts, number)
        right = np.array([cut.right for cut in cuts])
        sides = (right, np.full(len(cuts), np.inf))
        self.program = LinearProgram(matrix, sides, np.zeros(number), np.ones(number), cost=cost, integer=integer)

    def _rows(self, cuts: Sequence[PatternCut], number: int) -> sp.csr_matrix:
        lengths = [len(cut.cells) for cut in cuts]
        rows = np.repeat(np.arange(len(cuts)), lengths)
        columns = self.place[np.concatenate([cut.cells for cut in cuts])] if cuts else np.zeros(0, dtype=np.int64)
        data = np.concatenate([cut.coefficients for cut in cuts]) if cuts else np.zeros(0)
        return sp.csr_matrix((data, (rows, columns)), shape=(len(cuts), number))

    def add(self, cuts: Sequence[PatternCut]) -> None:
        """Add cuts."""
        for cut in cuts:
            columns = self.place[cut.cells].astype(np.int32)
            self.program.solver.addRow(cut.right, np.inf, len(columns), columns, cut.coefficients)

    def solve(self, *, partial: bool = False) -> tuple[NDArray[np.float64], float]:
        """Return the best choice and its cost; when the time is up, possibly another choice."""
        solution = self.program.solve(partial=partial)
        return (np.zeros(0), 0.0) if solution is None else (solution, self.program.objective)


class HighsMaster:
    """The integer master problem, by HiGHS: solved again after every round of cuts."""

    def __init__(self, cost: NDArray[np.float64], cells: NDArray[np.int64], cuts: Sequence[PatternCut]) -> None:
        highs()
        self._cost, self._cells, self._cuts = cost, cells, list(cuts)

    def run(self, judge: SafetyCheck) -> None:
        """Choose patterns and have them judged until the choice is safe or the time is up."""
        while True:
            check_time()
            master = LinearMaster(self._cost, self._cells, self._cuts, whole=True)
            master.program.option("mip_rel_gap", value=0.0)
            master.program.option("objective_bound", value=judge.cost - judge.sure + 1e-6)
            values, _ = master.solve(partial=True)
            info = master.program.solver.getInfo()
            judge.bound = max(judge.bound, judge.sure + float(info.mip_dual_bound))
            judge.tell()
            if not len(values) or judge.bound >= judge.cost - judge.room:
                return
            violated = judge.judged(values)
            if violated:
                judge.improve(judge.x_of(values) > 0.5)  # noqa: PLR2004 - 0 or 1
            new = judge.new(violated)
            if not new:  # the choice is safe, or no new cut rules it out
                return
            self._cuts += new


class ScipMaster:
    """The integer master problem, by SCIP: cuts are added while it branches."""

    def __init__(self, cost: NDArray[np.float64], cells: NDArray[np.int64], cuts: Sequence[PatternCut]) -> None:
        self._library = _scip()
        self.place = {int(cell): at for at, cell in enumerate(cells)}
        self.model = self._library.Model()
        self.model.hideOutput()
        self.model.setParam("misc/usesymmetry", 0)
        self.model.setParam("parallel/maxnthreads", 1)
        self.x = [self.model.addVar(vtype="B", obj=float(one), name=str(at)) for at, one in enumerate(cost)]
        for cut in cuts:
            self.model.addCons(self.expression(cut) >= cut.right)

    def expression(self, cut: PatternCut) -> Any:
        """Return the left side of a cut."""
        terms = zip(cut.cells.tolist(), cut.coefficients.tolist(), strict=True)
        return self._library.quicksum(coefficient * self.x[self.place[cell]] for cell, coefficient in terms)

    def run(self, judge: SafetyCheck) -> None:
        """Choose patterns and have them judged until the choice is safe or the time is up."""
        handler = _handler(self._library, self, judge)
        self.model.includeConshdlr(
            handler, "attacker", "safe patterns only", enfopriority=-10, chckpriority=-10, needscons=False, eagerfreq=-1
        )
        if np.isfinite(time_left()):
            self.model.setParam("limits/time", max(0.0, time_left()))
        if judge.room > 0.5:  # noqa: PLR2004 - whole costs
            self.model.setObjIntegral()
        self.model.setObjlimit(judge.cost - judge.sure + 1e-6)
        self.model.optimize()
        if handler.failure is not None:
            raise handler.failure
        status = self.model.getStatus()
        if status in ("optimal", "infeasible", "inforunbd"):
            judge.bound = judge.cost  # no cheaper pattern is left
        else:
            judge.bound = max(judge.bound, min(judge.cost, judge.sure + float(self.model.getDualbound())))
        judge.tell()
        if status == "timelimit":
            expire()


def _handler(library: Any, master: ScipMaster, judge: SafetyCheck) -> Any:  # noqa: C901 - SCIP has four callbacks
    """Return the handler through which SCIP checks whether a choice is safe."""

    class Attacker(library.Conshdlr):  # type: ignore[misc]
        failure: BaseException | None = None

        def _values(self, solution: Any) -> NDArray[np.float64]:
            return np.array([self.model.getSolVal(solution, one) for one in master.x])

        def _judged(self, solution: Any, *, add: bool) -> Any:
            try:
                new = judge.judged(self._values(solution))
                if add:
                    for cut in new:
                        self.model.addCons(master.expression(cut) >= cut.right)
            except BaseException as error:  # noqa: BLE001 - SCIP would only print it
                self.failure = error
                self.model.interruptSolve()
                return library.SCIP_RESULT.INFEASIBLE
            if not new:
                return library.SCIP_RESULT.FEASIBLE
            return library.SCIP_RESULT.CONSADDED if add else library.SCIP_RESULT.INFEASIBLE

        def conscheck(self, _constraints: Any, solution: Any, *_: Any, **__: Any) -> Any:
            return {"result": self._judged(solution, add=False)}

        def consenfolp(self, *_: Any) -> Any:
            return {"result": self._judged(None, add=True)}

        def consenfops(self, *_: Any) -> Any:
            return {"result": self._judged(None, add=True)}

        def conslock(self, _constraint: Any, _kind: Any, positive: int, negative: int) -> None:
            for one in master.x:
                self.model.addVarLocks(one, positive, negative)

    return Attacker()


def _scip() -> Any:
    try:
        import pyscipopt
    except ImportError:
        raise MissingExtraError.needed("the solver SCIP", extra="optimal") from None
    return pyscipopt


def master_of(solver: str) -> Any:
    """Return the solver with a name."""
    checked_word("solver", solver, SOLVERS)
    if solver == "scip":
        _scip()
    if solver != "auto":
        return _SOLVERS[solver]
    try:
        _scip()
    except MissingExtraError:
        return HighsMaster
    return ScipMaster


_SOLVERS = {"highs": HighsMaster, "scip": ScipMaster}
SOLVERS = ("auto", *_SOLVERS)
"""The names of solvers."""
