"""The methods of secondary suppression: each is one function and one line of `METHODS`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unveil.tables.findings import Findings, audited
from unveil.tables.suppression.everything import everything_needed
from unveil.tables.suppression.gauss import by_elimination
from unveil.tables.suppression.lp import by_flows, mended
from unveil.tables.suppression.optimal import optimum

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from unveil.tables.findings import Depth
    from unveil.tables.problem import CellProblem

__all__ = ["EVERYTHING", "METHODS", "ChosenPattern", "Effort", "chosen"]

Step = Callable[[int, int], None]
EVERYTHING = "everything"
"""What a method that finds no pattern is followed by."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How long, and with what, a method may work."""

    time_limit: float | None = None
    solver: str = "auto"


@dataclass(frozen=True, slots=True, eq=False)
class _Choice:
    """A pattern, the bound below which none costs (None: the method knows none), and whether it is not to be mended."""

    suppressed: NDArray[np.bool_]
    bound: float | None = None
    final: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class ChosenPattern:
    """A pattern that was attacked, and what came of it."""

    suppressed: NDArray[np.bool_]
    findings: Findings
    cost: float
    bound: float | None


def _lp(problem: CellProblem, _effort: Effort, step: Step | None) -> _Choice:
    return _Choice(by_flows(problem, step=step))


def _gauss(problem: CellProblem, _effort: Effort, step: Step | None) -> _Choice:
    return _Choice(by_elimination(problem, step=step))


def _optimal(problem: CellProblem, effort: Effort, step: Step | None) -> _Choice:
    best = optimum(problem, time_limit=effort.time_limit, solver=effort.solver, step=step)
    return _Choice(best.suppressed, best.bound)


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
"""The methods by their name; "primary" suppresses the sensitive cells alone, to show what that would be worth."""


def chosen(
    problem: CellProblem, method: str, effort: Effort, depth: Depth, stages: Callable[[str], Step | None]
) -> ChosenPattern:
    """Choose a pattern and attack it; what the attack exposes is protected by further flows, and attacked again."""
    choice = METHODS[method](problem, effort, stages("suppression"))
    if choice.final:
        suppressed, findings = choice.suppressed, audited(problem, choice.suppressed, depth=depth, step=stages("audit"))
    else:
        suppressed, findings = mended(problem, choice.suppressed, depth, stages("audit"))
    return ChosenPattern(suppressed, findings, float(problem.cost[suppressed].sum()), choice.bound)
