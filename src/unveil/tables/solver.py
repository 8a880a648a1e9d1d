"""Linear programs that are solved repeatedly with changing costs and bounds: a thin layer over HiGHS, with warm starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from unveil.errors import MissingExtraError, TableError
from unveil.run import active_run
from unveil.time_limit import check_time, expire, time_left

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LinearProgram", "highs"]

_PRECISE = 1e-7
"""The largest violation of an equation or a bound by an interior point."""
_PRIMAL = 4
"""HiGHS's number for the primal simplex method."""
MOST_UNKNOWNS = 1_000_000
"""The most unknowns of a program; a larger one would take too long."""


def highs() -> Any:
    """Return the solver's library; if it is missing, the error says how to install it."""
    try:
        import highspy
    except ImportError:
        raise MissingExtraError.needed("solving what an attacker can compute", extra="tables") from None
    return highspy


class LinearProgram:
    """min c y subject to A y = b, l <= y <= u; costs and bounds change from one solution to the next.

    Parameters
    ----------
    matrix, right
        A and b.
    lower, upper
        l and u.
    integer
        The columns that must be whole numbers; None for a linear program.
    primal
        Whether the simplex method moves between feasible points: better if only costs change.
    """

    def __init__(
        self,
        matrix: sp.spmatrix,
        right: NDArray[np.float64] | tuple[NDArray[np.float64], NDArray[np.float64]],
        lower: NDArray[np.float64],
        upper: NDArray[np.float64],
        *,
        cost: NDArray[np.float64] | None = None,
        integer: NDArray[np.bool_] | None = None,
        primal: bool = False,
    ) -> None:
        if matrix.shape[1] > MOST_UNKNOWNS:
            raise TableError(
                f"a linear program with {matrix.shape[1]:,} unknowns would take too long; at most {MOST_UNKNOWNS:,} are "
                "solved. Use fewer or coarser dimensions, or suppress by elimination (gauss)."
            )
        self._library = highs()
        columns = sp.csc_matrix(matrix)
        low, high = right if isinstance(right, tuple) else (right, right)
        model = self._library.HighsLp()
        model.num_col_, model.num_row_ = columns.shape[1], columns.shape[0]
        model.col_cost_ = np.zeros(columns.shape[1]) if cost is None else cost
        model.col_lower_, model.col_upper_ = self._finite(lower), self._finite(upper)
        model.row_lower_, model.row_upper_ = self._finite(low), self._finite(high)
        model.a_matrix_.format_ = self._library.MatrixFormat.kColwise
        model.a_matrix_.start_ = columns.indptr
        model.a_matrix_.index_ = columns.indices
        model.a_matrix_.value_ = columns.data.astype(np.float64)
        if integer is not None:
            kinds = self._library.HighsVarType
            model.integrality_ = [kinds.kInteger if one else kinds.kContinuous for one in integer]
        self.solver = self._library.Highs()
        self.option("output_flag", value=False)
        self.option("threads", value=1)
        if integer is None:
            self.option("presolve", value="off")  # the last solution helps more
            self.option("solver", value="simplex")
        if primal:
            self.option("simplex_strategy", value=_PRIMAL)
        self._whole = integer is not None
        self._watched = [np.zeros(1, dtype=np.uint8)]
        self._be_stoppable()
        self.solver.passModel(model)
        self._costly: NDArray[np.int32] = np.zeros(0, dtype=np.int32)
        self._limited = False

    def _be_stoppable(self) -> None:
        """Let the solver check now and then whether the run that it works in is cancelled."""

        def looked(_kind: Any, _line: str, _found: Any, answer: Any, _data: Any) -> None:
            answer.user_interrupt = bool(watched[0][0])

        watched, kinds = self._watched, self._library.cb.HighsCallbackType
        self.solver.setCallback(looked, None)
        for kind in (kinds.kCallbackSimplexInterrupt, kinds.kCallbackIpmInterrupt, kinds.kCallbackMipInterrupt):
            self.solver.startCallback(kind)

    def _run(self) -> None:
        """Run the solver; stop if the run is cancelled meanwhile.

        Before it branches, the solver of an integer program does not check the run for a while. It works in a thread of its
        own, so that nobody waits for it; the thread ends at the next check.
        """
        run = active_run()
        self._watched[0] = run.flag
        if self._whole:
            run.watching(self.solver.run)
        else:
            self.solver.run()
        run.check()

    def _finite(self, bounds: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.clip(np.asarray(bounds, dtype=np.float64), -self._library.kHighsInf, self._library.kHighsInf)

    def option(self, name: str, *, value: Any) -> None:
        """Set an option of the solver."""
        self.solver.setOptionValue(name, value)

    def costs(self, columns: NDArray[np.int64], costs: NDArray[np.float64]) -> None:
        """Set the costs of some columns, and 0 elsewhere."""
        places = np.asarray(columns, dtype=np.int32)
        if not np.array_equal(places, self._costly):
            self.solver.changeColsCost(len(self._costly), self._costly, np.zeros(len(self._costly)))
        self._costly = places
        self.solver.changeColsCost(len(self._costly), self._costly, np.asarray(costs, dtype=np.float64))

    def bounds(self, columns: NDArray[np.int64], lower: NDArray[np.float64], upper: NDArray[np.float64]) -> None:
        """Set the bounds of some columns."""
        if len(columns):
            places = np.asarray(columns, dtype=np.int32)
            self.solver.changeColsBounds(len(places), places, self._finite(lower), self._finite(upper))

    def solve(self, *, fresh: bool = False, partial: bool = False) -> NDArray[np.float64] | None:
        """Return the optimal point; None if there is none.

        Parameters
        ----------
        fresh
            Whether to start afresh instead of from the last solution: better if all costs have changed and are positive.
        partial
            Whether to accept a point that may not be optimal when the time is up.

        Raises
        ------
        OutOfTime
            If an outer time limit has passed, and no other point is accepted.
        """
        self._keep_time()
        if fresh:
            self.solver.clearSolver()
        self._run()
        status, kinds = self.solver.getModelStatus(), self._library.HighsModelStatus
        if partial and status in (kinds.kTimeLimit, kinds.kSolutionLimit, kinds.kInterrupt):
            feasible = self.solver.getInfo().primal_solution_status == self._library.SolutionStatus.kSolutionStatusFeasible
            return np.array(self.solver.getSolution().col_value) if feasible else None
        if status == kinds.kTimeLimit and self._limited:
            expire()
        if status not in (kinds.kOptimal, kinds.kUnbounded, kinds.kUnboundedOrInfeasible, kinds.kInfeasible):
            self.solver.clearSolver()  # a start that led nowhere
            self._run()
            status = self.solver.getModelStatus()
        return np.array(self.solver.getSolution().col_value) if status == kinds.kOptimal else None

    def _keep_time(self) -> None:
        """Pass the outer time limit, if there is one, to the solver, whose clock is cumulative."""
        check_time()
        seconds = time_left()
        if self._limited or seconds < np.inf:
            self._limited = seconds < np.inf
            self.option("time_limit", value=float(self.solver.getRunTime() + seconds))

    def interior(self) -> NDArray[np.float64] | None:
        """Return an optimal point in the interior of all optimal ones, which is much faster in large programs.

        At such a point many columns move at once, whereas a corner moves few.
        """
        self.option("solver", value="ipm")
        self.option("run_crossover", value="off")
        self._keep_time()
        self.solver.clearSolver()
        self._run()
        status, kinds = self.solver.getModelStatus(), self._library.HighsModelStatus
        precise = status == kinds.kOptimal and self.solver.getInfo().max_primal_infeasibility <= _PRECISE
        point = np.array(self.solver.getSolution().col_value) if precise else None
        self.option("solver", value="simplex")
        if status == kinds.kTimeLimit and self._limited:
            expire()
        return self.solve(fresh=True) if point is None else point

    def duals(self) -> NDArray[np.float64]:
        """Return the multipliers of the equations at the last solution."""
        return np.array(self.solver.getSolution().row_dual)

    @property
    def objective(self) -> float:
        """The cost of the last solution."""
        return float(self.solver.getInfo().objective_function_value)
