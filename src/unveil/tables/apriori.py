"""What is decided beforehand of single cells: published or not whatever the rules say, at which cost, to which level."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from unveil.tables.cells import cell_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.tables.crosstable import CrossTable
    from unveil.tables.problem import CellProblem

__all__ = ["Apriori"]

Cell = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Apriori:
    """Decisions on single cells, by their codes.

    Attributes
    ----------
    sensitive, safe
        Cells that are sensitive, or are not (a waiver), whatever the rules say.
    published
        Cells that must be published.
    cost
        What single cells cost.
    level
        How far below and above single cells must stay open.
    """

    sensitive: frozenset[Cell] = frozenset()
    safe: frozenset[Cell] = frozenset()
    published: frozenset[Cell] = frozenset()
    cost: dict[Cell, float] = field(default_factory=dict)
    level: dict[Cell, tuple[float, float]] = field(default_factory=dict)

    def masks(self, table: CrossTable) -> dict[str, NDArray[np.bool_]]:
        """Return which cells of a table are decided on, in the words of a problem."""
        return {
            "primary": _mask(table, self.sensitive),
            "safe": _mask(table, self.safe | self.published),
            "fixed": _mask(table, self.published),
        }

    def applied(self, table: CrossTable, problem: CellProblem) -> CellProblem:
        """Return a problem with the costs and levels of single cells."""
        place = {int(cell): at for at, cell in enumerate(problem.cells)}
        cost, down, up = problem.cost.copy(), problem.down.copy(), problem.up.copy()
        for codes, one in self.cost.items():
            cost[place[cell_of(table.dimensions, codes)]] = one
        for codes, (below, above) in self.level.items():
            at = place[cell_of(table.dimensions, codes)]
            if problem.primary[at]:
                down[at], up[at] = below, above
        return replace(problem, cost=cost, down=down, up=up)


def _mask(table: CrossTable, cells: frozenset[Cell]) -> NDArray[np.bool_]:
    mask = np.zeros(len(table.n), dtype=bool)
    for codes in cells:
        mask[cell_of(table.dimensions, codes)] = True
    return mask
