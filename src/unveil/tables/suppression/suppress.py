"""Cell suppression in one call: the rules, a method, the attack on its result, and the table to publish."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from unveil.arguments import checked_arguments, checked_time_limit, checked_word
from unveil.attributes import in_line
from unveil.errors import ArgumentError, TableError
from unveil.run import Progress, active_run, in_run
from unveil.tables.apriori import Apriori
from unveil.tables.crosstable import CrossTable
from unveil.tables.findings import Depth
from unveil.tables.problem import Aim, CellProblem, Insiders, Zeros, posed
from unveil.tables.rules import On, TableRule, rules_of
from unveil.tables.suppression.failure import Unprotectable
from unveil.tables.suppression.master import SOLVERS
from unveil.tables.suppression.methods import EVERYTHING, METHODS, ChosenPattern, Effort, chosen
from unveil.tables.suppression.result import SuppressedTable
from unveil.time_limit import OutOfTime, limited

if TYPE_CHECKING:
    from numpy.typing import NDArray


__all__ = ["suppress"]


@checked_arguments
@in_run
def suppress(  # noqa: PLR0913 - a public door
    table: CrossTable,
    rules: str | TableRule | Sequence[str | TableRule],
    *,
    method: str = "lp",
    cost: str | CrossTable = "cells",
    on: On | None = None,
    attacker: str | None = None,
    zeros: Zeros = "publish",
    insiders: Insiders = "singletons",
    level: Literal["rule", "none"] | float = "rule",
    width: float | None = None,
    apriori: Apriori | None = None,
    intervals: Depth = "auto",
    time_limit: float | None = None,
    solver: str = "auto",
    progress: Progress | None = None,  # noqa: ARG001 - `in_run` takes it
) -> SuppressedTable:
    """Suppress sensitive cells, and others to keep anyone from computing them.

    Parameters
    ----------
    table
        The table.
    rules
        The rules for sensitive cells, or their texts (``"threshold=3"``, ``"p=10"``, ``"pq=15:50"``,
        ``"dominance=2:85"``, ``"group"``, ``"request"``).
    method
        "lp": a good pattern; "optimal": the cheapest, with bound and gap; "gauss": for very large tables.
    cost
        The cost of a suppressed cell: "cells" (1), "count" (its records), "value" (its value), or a table of the same
        dimensions whose cells are the costs.
    on
        The figures to protect: "count" or "value"; by default those that the rules are about.
    attacker
        The bounds of each cell that everyone knows beforehand, such as ``"0:inf"`` or ``"50%:150%"``; by default, that it is
        not negative, or no bounds for signed values.
    zeros
        Whether empty cells are published, suppressed, or structural (known to be empty).
    insiders
        "singletons": the only contributor of a cell knows it; "none": nobody knows any cell.
    level, width
        The required uncertainty of each sensitive cell, on each side ("rule": as the rules require; "none": not known exactly),
        and the required width of its interval.
    apriori
        Decisions about single cells.
    intervals
        The depth of the audit: "exact", "enough", or "auto".
    time_limit
        The number of seconds for the search and the audit; after that, the best pattern that has passed the audit is returned,
        marked as `timed_out`.
    solver
        The solver for the optimum.
    progress
        A function called with a stage, the finished steps and the total.

    Returns
    -------
    SuppressedTable
        The published and the suppressed cells, with the interval that an attacker can compute for each.

    Raises
    ------
    TableError
        If a cell cannot be protected even with everything suppressed, or if no pattern passes the audit in time.
    """
    checked_word("method", method, tuple(one for one in METHODS if one != EVERYTHING))
    checked_word("solver", solver, SOLVERS)
    checked_time_limit(time_limit)
    required = rules_of(rules)
    aim = Aim(on, attacker, zeros, insiders, level, width)
    decided = {} if apriori is None else apriori.masks(table)
    problem = posed(table, required, aim, **decided)
    problem = problem.with_cost(_costs(table, problem, cost))
    if apriori is not None:
        problem = apriori.applied(table, problem)
    try:
        pattern = _chosen(problem, method, Effort(time_limit, solver), intervals)
    except Unprotectable as failure:
        raise _unprotectable(table, problem, failure) from None
    except OutOfTime:
        raise TableError.out_of_time(time_limit or 0.0, method) from None
    by = cost if isinstance(cost, str) else "table"
    by = "decided" if apriori is not None and apriori.cost else by  # some costs were decided beforehand
    return SuppressedTable.of(table, problem, pattern, method=method, rules=required, aim=aim, cost=by)


def _chosen(problem: CellProblem, method: str, effort: Effort, intervals: Depth) -> ChosenPattern:
    """Choose a pattern; if the method finds none, suppress everything; a cell that is then still exposed is unprotectable."""
    with limited(effort.time_limit):
        try:
            return chosen(problem, method, effort, intervals, _stages())
        except Unprotectable:
            return chosen(problem, EVERYTHING, effort, intervals, _stages())


def _stages() -> Callable[[str], Callable[[int, int], None]]:
    run = active_run()
    return lambda stage: lambda done, total: run.at(stage, done, total)


def _costs(table: CrossTable, problem: CellProblem, cost: str | CrossTable) -> NDArray[np.float64]:
    """Return the cost of each cell."""
    if isinstance(cost, CrossTable):
        if cost.names != table.names or len(cost.n) != len(table.n):
            raise ArgumentError("the dimensions of the table of costs differ from those of the table.")
        return np.abs(cost.amounts("count" if cost.value is None else "value"))[problem.cells]
    checked_word("cost", cost, ("cells", "count", "value"))
    if cost == "cells":
        return np.ones(len(problem))
    return np.abs(table.amounts(cost))[problem.cells]


def _unprotectable(table: CrossTable, problem: CellProblem, failure: Unprotectable) -> TableError:
    why = (
        "the only contributor of another cell can compute it (`insiders` of 'none' would accept that)"
        if failure.insider
        else "its sums leave no room, or the attacker's bounds are too close; lower level or width, or publish fewer totals"
    )
    row = int(np.searchsorted(table.cells, problem.cells[failure.cell])) + 1
    return TableError.unprotectable(in_line(table.names, " x "), row, why)
