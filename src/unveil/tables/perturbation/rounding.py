"""Rounding of a table to multiples of a base: conventional, random, or controlled so that totals remain sums.

Controlled rounding assigns every cell one of its two neighbouring multiples, leaves multiples unchanged, keeps all equations,
and returns one of the closest such tables. In two dimensions there is always one; in more there need not be. Cells may then
move to multiples farther away, one step at a time, and the result says so.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

import numpy as np

from unveil.arguments import checked_arguments, checked_number, checked_time_limit
from unveil.errors import TableError
from unveil.randomness import chance_of
from unveil.run import active_run, in_run
from unveil.tables.crosstable import CrossTable
from unveil.tables.perturbation.result import PerturbedTable
from unveil.tables.rules import On
from unveil.tables.solver import LinearProgram

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import NDArray

__all__ = ["round_table"]

_STEPS = 4
"""The most multiples beyond its neighbours that a cell may be rounded."""
_NEAR = 0.02
"""The allowed excess of a controlled rounding's distance over that of the closest table, as a share of the distance."""


@checked_arguments
@in_run
def round_table(
    table: CrossTable,
    *,
    base: float = 5,
    method: Literal["controlled", "conventional", "random"] = "controlled",
    on: On | None = None,
    time_limit: float = 60.0,
    seed: int | None = None,
    key_file: str | os.PathLike[str] | None = None,
) -> PerturbedTable:
    """Round every cell of a table to a multiple of a base.

    Parameters
    ----------
    table
        The table.
    base
        The base.
    method
        "controlled": totals stay the sums of their parts. "conventional": to the nearest multiple, halves away from zero.
        "random": to one of the two neighbours, with probabilities that make the figure right on average.
    on
        Whether counts or values are rounded; by default values if there are any.
    time_limit
        The number of seconds for a controlled rounding, after which the closest table so far is used.
    seed, key_file
        For random rounding: a seed for tests, or the secret key with which the data steward can repeat it.

    Examples
    --------
    >>> import unveil
    >>> unveil.tables.round_table(unveil.table("paper-2", ["Age*", "Disease"]), base=3)
    PerturbedTable(Age* x Disease: controlled rounding to base 3, ...)
    """
    checked_number("base", base, above=0)
    checked_time_limit(time_limit)
    chance = chance_of(seed, key_file)
    chosen: On = on or ("count" if table.value is None else "value")
    value = table.amounts(chosen)
    settings = {"base": base, "method": method}
    way = f"{method} rounding to base {base:g}"
    if method == "conventional":
        figure = np.sign(value) * np.floor(np.abs(value) / base + 0.5) * base
        return PerturbedTable(table, figure, chosen, way, settings, additive=False, notes=(_NOT_ADDITIVE, _NO_RULE))
    if method == "random":
        print_of = value.tobytes() if chance.keyed else b""
        draws = chance.draws("random rounding", settings, print_of)
        below = np.floor(value / base)
        figure = (below + (draws.random(len(value)) < value / base - below)) * base
        return PerturbedTable(
            table, figure, chosen, way, settings, additive=False, repeatable=chance.repeatable, notes=(_NOT_ADDITIVE, _NO_RULE)
        )
    cells = table.cells
    figure = value.copy()
    figure[cells], steps = _controlled(table.equations()[:, cells], value[cells], base, time_limit)
    further = (f"In no table is every cell a neighbouring multiple: some cells moved {steps} farther.",) if steps else ()
    return PerturbedTable(table, figure, chosen, way, {**settings, "steps": steps}, notes=(*further, _NO_RULE))


_NOT_ADDITIVE = "Every cell is rounded separately, so totals need not be the sums of their parts."
_NO_RULE = "Every cell is rounded, sensitive or not: a figure could come from any true figure within the base around it."


def _controlled(
    matrix: sp.csr_matrix, value: NDArray[np.float64], base: float, time_limit: float
) -> tuple[NDArray[np.float64], int]:
    """Return a table of multiples that adds up, close to the true one, and the number of steps beyond the neighbours."""
    below = np.floor(value / base + 1e-9)
    exact = np.abs(value / base - np.rint(value / base)) < 1e-9  # noqa: PLR2004 - rounding
    below = np.where(exact, np.rint(value / base), below)
    for steps in active_run().each("rounding", range(_STEPS + 1)):
        multiples = _nearest(matrix, value / base, below, exact, steps, time_limit)
        if multiples is not None:
            return multiples * base, steps
    raise TableError(f"no table of multiples of {base:g} that adds up was found; use a smaller base, or conventional rounding.")


def _nearest(
    matrix: sp.csr_matrix,
    target: NDArray[np.float64],
    below: NDArray[np.float64],
    exact: NDArray[np.bool_],
    steps: int,
    time_limit: float,
) -> NDArray[np.float64] | None:
    """Return multiples within their bounds that add up; None if there are none, or none were found in time."""
    low, high = below - steps, np.where(exact, below, below + 1) + steps
    if steps and not np.any(target < 0):
        low = np.maximum(low, 0)  # a count that was not negative stays non-negative
        high = np.where(target == 0, 0, high)
        low = np.where(target == 0, 0, low)
    span = high - low
    free = np.flatnonzero(span > 0)
    if not len(free):
        return low if not np.abs(matrix @ low).max(initial=0) else None
    rows = matrix[:, free].tocsr()
    right = -(matrix @ low)
    kept = np.diff(rows.indptr) > 0
    if np.abs(right[~kept]).max(initial=0) > 1e-6:  # noqa: PLR2004 - rounding
        return None
    # the distance is convex in the multiple, and linear between neighbours: its slope there serves as the cost
    cost = np.abs(low + 1 - target) - np.abs(low - target) if not steps else np.where(low[:] + span / 2 < target, -1.0, 1.0)
    whole = LinearProgram(
        rows[kept], right[kept], np.zeros(len(free)), span[free], cost=cost[free], integer=np.ones(len(free), dtype=bool)
    )
    whole.option("mip_rel_gap", value=_NEAR)
    whole.option("time_limit", value=time_limit)
    solution = whole.solve(partial=True)
    if solution is None:
        return None
    rounded = low.copy()
    rounded[free] += np.rint(solution)
    return rounded
