"""Small count rounding: inner cells below a base become 0 or the base, and all totals are summed again.

Cells to round up are chosen one by one: always the cell whose change brings the totals it belongs to closest to the true ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from unveil.arguments import checked_arguments, checked_count
from unveil.errors import TableError
from unveil.run import active_run, looks
from unveil.tables.cells import rolled_up
from unveil.tables.crosstable import CrossTable
from unveil.tables.perturbation.result import PerturbedTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from unveil.tables.classification import Classification

__all__ = ["round_small_counts"]


_LARGEST_BASE = 1_000_000
_TOLD = 100
"""The number of counts rounded up between two reports of progress."""


@looks
@checked_arguments
def round_small_counts(table: CrossTable, *, base: int = 3) -> PerturbedTable:
    """Round inner counts below a base to 0 or the base, and sum all totals again.

    Parameters
    ----------
    table
        The table.
    base
        Counts from 1 to base - 1 are rounded.

    Examples
    --------
    >>> import unveil
    >>> unveil.tables.round_small_counts(unveil.table("paper-2", ["Age*", "Disease"]))
    PerturbedTable(Age* x Disease: small counts to 0 or 3, ...)
    """
    checked_count("base", base, least=2, most=_LARGEST_BASE)
    dimensions = table.dimensions
    whole = table.n.reshape([len(one) for one in dimensions])
    inner = whole[np.ix_(*[list(one.leaves) for one in dimensions])]
    if not np.array_equal(rolled_up(dimensions, inner), whole):
        raise TableError("the totals of this table are not the sums of its inner cells, so they cannot be summed again.")
    small = (inner > 0) & (inner < base)
    raised = _raised(dimensions, np.where(small, inner, 0), small, base)
    figure = rolled_up(dimensions, np.where(small, np.where(raised, base, 0), inner)).ravel().astype(np.float64)
    return PerturbedTable(table, figure, "count", f"small counts to 0 or {base}", {"base": base})


def _raised(
    dimensions: Sequence[Classification], counts: NDArray[np.int64], small: NDArray[np.bool_], base: int
) -> NDArray[np.bool_]:
    """Return the small counts to round up."""
    raised = np.zeros(small.shape, dtype=bool)
    missing = rolled_up(dimensions, counts.astype(np.float64))  # the amounts that all cells, including margins, still lack
    cells = float(_gathered(dimensions, np.ones_like(missing)).flat[0]) if small.any() else 0.0
    run, most = active_run(), round(float(counts.sum()) / base)
    with run.stage("small counts") as steps:
        for done in range(most):
            run.check()
            if done % _TOLD == 0:
                steps(done, most)
            gain = np.where(small & ~raised, 2 * _gathered(dimensions, missing) - base * cells, -np.inf)
            at = np.unravel_index(int(np.argmax(gain)), gain.shape)
            if not np.isfinite(gain[at]):
                break
            raised[at] = True
            _subtract(dimensions, missing, at, base)
    return raised


def _gathered(dimensions: Sequence[Classification], amounts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for every inner cell the sum of the amounts of all cells it belongs to."""
    sums = amounts
    for axis, dimension in enumerate(dimensions):
        moved = np.moveaxis(sums, axis, 0)
        gathered = np.zeros((len(dimension.leaves), *moved.shape[1:]))
        for code, members in enumerate(dimension.members):
            gathered[members] += moved[code]
        sums = np.moveaxis(gathered, 0, axis)
    return sums


def _subtract(dimensions: Sequence[Classification], missing: NDArray[np.float64], at: tuple[np.intp, ...], base: int) -> None:
    """Subtract the base from the missing amounts of the cells to which an inner cell belongs."""
    above = [
        [code for code, members in enumerate(dimension.members) if leaf in members]
        for dimension, leaf in zip(dimensions, at, strict=True)
    ]
    missing[np.ix_(*above)] -= base
