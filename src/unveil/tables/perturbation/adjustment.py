"""Controlled tabular adjustment: sensitive cells are moved as far as their rule requires, the others as little as possible.

min sum w |z| subject to M z = 0, and z_k >= U_k or z_k <= -L_k for every sensitive cell. Up to a certain number of sensitive
cells, integer programming chooses the sides together with the moves; above it, they are fixed beforehand so that they balance
in every equation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
import scipy.sparse as sp

from unveil.arguments import checked_arguments, checked_time_limit
from unveil.errors import TableError
from unveil.run import active_run, in_run
from unveil.tables.crosstable import CrossTable
from unveil.tables.perturbation.result import PerturbedTable
from unveil.tables.problem import Aim, CellProblem, Insiders, Zeros, posed
from unveil.tables.rules import On, TableRule, rules_of
from unveil.tables.solver import LinearProgram

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["adjust"]

_WHOLE_UP_TO = 60
"""The most sensitive cells for which integer programming chooses the sides."""


@checked_arguments
@in_run
def adjust(  # noqa: PLR0913 - a public door
    table: CrossTable,
    rules: str | TableRule | Sequence[str | TableRule],
    *,
    on: On | None = None,
    attacker: str | None = None,
    zeros: Zeros = "publish",
    level: Literal["rule", "none"] | float = "rule",
    width: float | None = None,
    keep: Literal["nothing", "margins", "total"] = "nothing",
    cost: Literal["cells", "count", "value"] = "cells",
    time_limit: float = 60.0,
    insiders: Insiders = "none",
) -> PerturbedTable:
    """Move sensitive cells away from their true figures, and the others as little as possible, so that all sums still hold.

    Parameters
    ----------
    table, rules
        The table, and the rules for sensitive cells.
    on, attacker, zeros, level, width, insiders
        The aim of protection, as for `suppress`; a cell moves at least as far as its level, or half its width.
    keep
        The cells that must not move: "margins" (all totals), "total" (the grand total), or "nothing".
    cost
        The cost of a move: "cells": the same for all cells; "count", "value": relative to the cell.
    time_limit
        The number of seconds after which the best solution so far is used.

    Examples
    --------
    >>> import unveil
    >>> table = unveil.table("adult", ["race", "marital-status"])
    >>> unveil.tables.adjust(table, "threshold=5")
    PerturbedTable(race x marital-status: controlled tabular adjustment, 4 cells changed, ...)
    """
    checked_time_limit(time_limit)
    problem = posed(table, rules_of(rules), Aim(on, attacker, zeros, insiders, level, width)).aimed()
    down, up = (np.maximum(one, problem.width / 2) for one in (problem.down, problem.up))
    if problem.on == "count":
        down, up = np.ceil(down - 1e-9), np.ceil(up - 1e-9)
    weight = np.ones(len(problem)) if cost == "cells" else 1.0 / np.maximum(1.0, np.abs(table.amounts(cost)[problem.cells]))
    still = problem.fixed | _kept(table, problem, keep)
    figure = table.amounts(problem.on).copy()
    with active_run().stage("adjustment"):
        moves, exact = _moves(problem, down, up, weight, still, time_limit)
    if moves is None:
        raise TableError(
            f"no table that adds up has all {int(problem.primary.sum()):,} sensitive cells far enough from their true figures; "
            "keep fewer cells unchanged, or lower the level."
        )
    figure[problem.cells] += moves
    notes = () if exact else ("The sides of the sensitive cells were fixed beforehand, so a smaller adjustment may exist.",)
    settings = {"keep": keep, "cost": cost, "sensitive": int(problem.primary.sum())}
    return PerturbedTable(table, figure, problem.on, "controlled tabular adjustment", settings, notes=notes)


def _kept(table: CrossTable, problem: CellProblem, keep: str) -> NDArray[np.bool_]:
    """Return the cells that must not move."""
    mask = np.zeros([len(one) for one in table.dimensions], dtype=bool)
    if keep == "margins":
        groups = [one.is_group() for one in table.dimensions]
        for axis, group in enumerate(groups):
            mask |= np.expand_dims(group, [at for at in range(len(groups)) if at != axis])
    elif keep == "total" and all(one.root is not None for one in table.dimensions):
        mask[tuple(one.root for one in table.dimensions)] = True
    kept: NDArray[np.bool_] = mask.ravel()[problem.cells] & ~problem.primary
    return kept


def _moves(
    problem: CellProblem,
    down: NDArray[np.float64],
    up: NDArray[np.float64],
    weight: NDArray[np.float64],
    still: NDArray[np.bool_],
    time_limit: float,
) -> tuple[NDArray[np.float64] | None, bool]:
    """Return the moves of all cells, and whether their sides were chosen with them."""
    primary = np.flatnonzero(problem.primary)
    if len(primary) <= _WHOLE_UP_TO:
        return _solved(problem, down, up, weight, still, None, time_limit), True
    side = _sides(problem, primary, down)
    solution = _solved(problem, down, up, weight, still, side, time_limit)
    if solution is None:  # these sides are infeasible: choose them with the moves
        return _solved(problem, down, up, weight, still, None, time_limit), True
    return solution, False


def _sides(problem: CellProblem, primary: NDArray[np.int64], down: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return the sensitive cells to move up, so that they balance in each equation; a cell moves down only if it has room."""
    up = np.zeros(len(problem), dtype=bool)
    balance = np.zeros(problem.equations.shape[0])
    columns = problem.equations.tocsc()
    room = problem.value - problem.lower >= down
    for cell in primary.tolist():
        rows = columns.indices[columns.indptr[cell] : columns.indptr[cell + 1]]
        signs = columns.data[columns.indptr[cell] : columns.indptr[cell + 1]]
        up[cell] = bool(balance[rows] @ signs <= 0) or not room[cell]
        balance[rows] += signs if up[cell] else -signs
    return up


def _solved(
    problem: CellProblem,
    down: NDArray[np.float64],
    up: NDArray[np.float64],
    weight: NDArray[np.float64],
    still: NDArray[np.bool_],
    side: NDArray[np.bool_] | None,
    time_limit: float,
) -> NDArray[np.float64] | None:
    """Return the smallest moves; None if there are none."""
    cells, primary = len(problem), np.flatnonzero(problem.primary)
    far = 2.0 * max(1.0, float(np.abs(problem.value).max(initial=0)), float(up.max(initial=0)))
    rise = np.where(still, 0.0, np.minimum(problem.upper - problem.value, far))
    fall = np.where(still, 0.0, np.minimum(problem.value - problem.lower, far))
    low = np.zeros(2 * cells)
    high = np.concatenate([rise, fall])
    whole = np.full(2 * cells, problem.on == "count")
    matrix = sp.hstack([problem.equations, -problem.equations])
    left, right = np.zeros(matrix.shape[0]), np.zeros(matrix.shape[0])
    cost = np.concatenate([weight, weight])
    if side is not None:
        ups, downs = primary[side[primary]], primary[~side[primary]]
        low[ups], high[cells + ups] = up[ups], 0.0
        low[cells + downs], high[downs] = down[downs], 0.0
        if (low > high).any():
            return None
    else:
        number = len(primary)
        unit = sp.csr_matrix((np.ones(number), (np.arange(number), primary)), shape=(number, cells))
        none = sp.csr_matrix((number, cells))
        choice = sp.identity(number, format="csr")
        rise_p, fall_p = sp.diags(rise[primary]), sp.diags(fall[primary])
        # z+ >= U y, z- >= L (1 - y), z+ <= rise y, z- <= fall (1 - y)
        rows = [
            sp.hstack([unit, none, -sp.diags(up[primary])]),
            sp.hstack([none, unit, sp.diags(down[primary])]),
            sp.hstack([-unit, none, rise_p @ choice]),
            sp.hstack([none, -unit, -fall_p @ choice]),
        ]
        matrix = sp.vstack([sp.hstack([matrix, sp.csr_matrix((matrix.shape[0], number))]), *rows])
        left = np.concatenate([left, np.zeros(number), down[primary], np.zeros(number), -fall[primary]])
        right = np.concatenate([right, np.full(4 * number, np.inf)])
        low, high = np.concatenate([low, np.zeros(number)]), np.concatenate([high, np.ones(number)])
        cost = np.concatenate([cost, np.zeros(number)])
        whole = np.concatenate([whole, np.ones(number, dtype=bool)])
    program = LinearProgram(matrix, (left, right), low, high, cost=cost, integer=whole if whole.any() else None)
    program.option("time_limit", value=time_limit)
    solution = program.solve(partial=True)
    if solution is None:
        return None
    moves = solution[:cells] - solution[cells : 2 * cells]
    return np.rint(moves) if problem.on == "count" else moves
