"""Prior decisions about single cells: whether they are published whatever the rules say, their costs and levels."""

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
    """Decisions about single cells, by their codes.

    Attributes
    ----------
    sensitive, safe
        Cells that are sensitive, or not (a waiver), whatever the rules say.
    published
        Cells that must be published.
    cost
        The cost of single cells.
    level, width
        The required uncertainty of a cell below and above its value, and the required width of its interval.
    bounds
        The bounds of single cells that everyone knows beforehand.
    """

    sensitive: frozenset[Cell] = frozenset()
    safe: frozenset[Cell] = frozenset()
    published: frozenset[Cell] = frozenset()
    cost: dict[Cell, float] = field(default_factory=dict)
    level: dict[Cell, tuple[float, float]] = field(default_factory=dict)
    width: dict[Cell, float] = field(default_factory=dict)
    bounds: dict[Cell, tuple[float, float]] = field(default_factory=dict)

    def masks(self, table: CrossTable) -> dict[str, NDArray[np.bool_]]:
        """Return which cells of a table are decided, as the masks of a problem."""
        return {
            "primary": _mask(table, self.sensitive),
            "safe": _mask(table, self.safe | self.published),
            "fixed": _mask(table, self.published),
        }

    def joined(self, later: Apriori) -> Apriori:
        """Return these decisions together with later ones, which take precedence."""
        decided = later.sensitive | later.safe | later.published
        return Apriori(
            (self.sensitive - decided) | later.sensitive,
            (self.safe - decided) | later.safe,
            (self.published - decided) | later.published,
            self.cost | later.cost,
            self.level | later.level,
            self.width | later.width,
            self.bounds | later.bounds,
        )

    def applied(self, table: CrossTable, problem: CellProblem) -> CellProblem:
        """Return a problem with the costs and levels of single cells."""
        place = {int(cell): at for at, cell in enumerate(problem.cells)}

        def at(codes: Cell) -> int:
            return place[cell_of(table.dimensions, codes)]

        cost, down, up, width = (one.copy() for one in (problem.cost, problem.down, problem.up, problem.width))
        lower, upper = problem.lower.copy(), problem.upper.copy()
        for codes, one in self.cost.items():
            cost[at(codes)] = one
        for codes, (below, above) in self.bounds.items():
            lower[at(codes)], upper[at(codes)] = below, above
        for codes, (below, above) in self.level.items():
            if problem.primary[at(codes)]:
                down[at(codes)], up[at(codes)] = below, above
        for codes, one in self.width.items():
            if problem.primary[at(codes)]:
                width[at(codes)] = one
        return replace(problem, cost=cost, down=down, up=up, width=width, lower=lower, upper=upper)


def _mask(table: CrossTable, cells: frozenset[Cell]) -> NDArray[np.bool_]:
    mask = np.zeros(len(table.n), dtype=bool)
    for codes in cells:
        mask[cell_of(table.dimensions, codes)] = True
    return mask
