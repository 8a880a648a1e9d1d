"""The methods of secondary suppression: each is one function and one line of `METHODS`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unveil.tables.findings import Findings, audited
from unveil.tables.suppression.everything import everything_needed
from unveil.tables.suppression.gauss import by_elimination
from unveil.tables.suppression.lp import attacked_flows, mended
from unveil.tables.suppression.optimal import optimum
from unveil.time_limit import OutOfTime, limited, time_left

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.tables.findings import Depth
    from unveil.tables.problem import CellProblem

__all__ = ["EVERYTHING", "METHODS", "ChosenPattern", "Effort", "chosen"]

Step = Callable[[int, int], None]
EVERYTHING = "everything"
"""The method that follows one that finds no pattern."""
_SEARCH = 0.8
"""The share of the time that the search for the optimum may take; the rest is for the attack on its result."""


@dataclass(frozen=True, slots=True)
class Effort:
    """The time that a method may take, and the solver it uses."""

    time_limit: float | None = None
    solver: str = "auto"


@dataclass(frozen=True, slots=True, eq=False)
class _Choice:
    """A pattern, the bound below which no pattern costs (None if unknown), and whether it must not be repaired.

    `safe` is the fallback when the time is up: a pattern that was attacked and is safe; None if there is none.
    """

    suppressed: NDArray[np.bool_]
    bound: float | None = None
    final: bool = False
    safe: Findings | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ChosenPattern:
    """A pattern that was attacked, and the findings."""

    suppressed: NDArray[np.bool_]
    findings: Findings
    cost: float
    bound: float | None
    timed_out: bool


def _lp(problem: CellProblem, _effort: Effort, step: Step | None) -> _Choice:
    findings = attacked_flows(problem, step=step)
    return _Choice(findings.pattern(len(problem)), safe=findings if findings.safe else None)


def _gauss(problem: CellProblem, _effort: Effort, step: Step | None) -> _Choice:
    return _Choice(by_elimination(problem, step=step))


def _optimal(problem: CellProblem, effort: Effort, step: Step | None) -> _Choice:
    best = optimum(problem, time_limit=_SEARCH * time_left(), solver=effort.solver, step=step)
    return _Choice(best.suppressed, best.bound, safe=best.start if best.start.safe else None)


def _primary(problem: CellProblem, _effort: Effort, _step: Step | None) -> _Choice:
    return _Choice(problem.primary | problem.hidden, final=True)


def _everything(problem: CellProblem, _effort: Effort, step: Step | None) -> _Choice:
    return _Choice(everything_needed(problem, step), final=True)


METHODS: dict[str, Callable[[CellProblem, Effort, Step | None], _Choice]] = {
    "lp": _lp,
    "gauss": _gauss,
    "optimal": _optimal,
    "primary": _primary,
    EVERYTHING: _everything,
}
"""The methods by name; "primary" suppresses only the sensitive cells, to show how little that protects."""


def chosen(
    problem: CellProblem, method: str, effort: Effort, depth: Depth, stages: Callable[[str], Step | None]
) -> ChosenPattern:
    """Choose a pattern and attack it; protect the cells that the attack exposes by further flows, and attack it again.

    Raises
    ------
    OutOfTime
        If there was not enough time to find a pattern and attack it.
    """
    with limited(effort.time_limit) as clock:
        choice = METHODS[method](problem, effort, stages("suppression"))
        findings = _attacked(problem, choice, depth, stages("audit"))
    suppressed = findings.pattern(len(problem))
    return ChosenPattern(suppressed, findings, float(problem.cost[suppressed].sum()), choice.bound, clock.expired)


def _attacked(problem: CellProblem, choice: _Choice, depth: Depth, step: Step | None) -> Findings:
    """Attack a choice; if the time is up before everything is known, use the last pattern known to be safe."""
    if choice.final:
        return audited(problem, choice.suppressed, depth=depth, step=step)
    safe = choice.safe
    try:
        if np.isfinite(time_left()) and depth != "enough":
            _, findings = mended(problem, choice.suppressed, "enough", step)
            safe = findings if findings.safe else safe
            return audited(problem, findings.pattern(len(problem)), depth=depth, step=step) if findings.safe else findings
        return mended(problem, choice.suppressed, depth, step)[1]
    except OutOfTime:
        if safe is None:
            raise
    return safe
