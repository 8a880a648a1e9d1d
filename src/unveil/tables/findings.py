"""Is a pattern of suppressed cells safe? The attack on a table, and its findings.

For every suppressed cell, the interval that an attacker can compute from the published cells, the equations, common prior
knowledge and the knowledge of the only contributors of cells. A sensitive cell is exposed if its interval is narrower than
required.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from unveil.tables.insiders import Inference, inferences
from unveil.tables.intervals import CORNERS_UP_TO, Unknowns, intervals

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.tables.problem import CellProblem

__all__ = ["Depth", "Findings", "audited"]

Depth: TypeAlias = Literal["exact", "enough", "auto"]
"""exact: compute intervals to their ends; enough: until it is known which sensitive cells are safe; auto: by their number."""
_EXACT_UP_TO = 1_500
"""With at most this many suppressed cells, intervals are computed to their ends, unless set otherwise."""


@dataclass(frozen=True, slots=True, eq=False)
class Findings:
    """The findings of an attack on a pattern, for the cells of a problem.

    Attributes
    ----------
    suppressed
        The suppressed cells.
    low, high
        The interval of every suppressed cell.
    exact
        Whether the intervals are exact; otherwise they are at least this wide.
    determined
        A mask of the suppressed cells that the equations determine.
    exposed
        A mask of the suppressed cells that are exposed.
    insiders
        The findings on the only contributors of cells.
    """

    suppressed: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    exact: bool
    determined: NDArray[np.bool_]
    exposed: NDArray[np.bool_]
    insiders: tuple[Inference, ...]

    def pattern(self, cells: int) -> NDArray[np.bool_]:
        """Return which of the cells of a problem are suppressed, given their number."""
        suppressed = np.zeros(cells, dtype=bool)
        suppressed[self.suppressed] = True
        return suppressed

    @property
    def safe(self) -> bool:
        """Whether no cell is exposed."""
        return not self.exposed.any()


def audited(
    problem: CellProblem,
    suppressed: NDArray[np.bool_],
    *,
    depth: Depth = "auto",
    step: Callable[[int, int], None] | None = None,
    corners_up_to: int = CORNERS_UP_TO,
) -> Findings:
    """Attack a pattern of suppressed cells; with more of them than `corners_up_to`, by interior points instead of corners."""
    cells = np.flatnonzero(suppressed)
    unknowns = Unknowns.of(problem.equations, problem.value, cells, problem.lower, problem.upper)
    exact = depth == "exact" or (depth == "auto" and len(cells) <= _EXACT_UP_TO)
    need = _Need(problem, cells)
    ranges = intervals(unknowns, None if exact else need, step, corners_up_to=corners_up_to)
    exposed = need.missed(ranges.low, ranges.high)
    inside: list[Inference] = []
    if problem.insiders:
        sought = np.zeros(len(problem), dtype=bool)
        sought[cells] = problem.primary[cells] & ~exposed
        inside = inferences(problem, suppressed, sought, corners_up_to=corners_up_to)
    place = {int(cell): at for at, cell in enumerate(cells)}
    for one in inside:
        exposed[place[one.cell]] = True
    return Findings(cells, ranges.low, ranges.high, ranges.exact, ranges.determined, exposed, tuple(inside))


class _Need:
    """The protection that the suppressed cells need, in the order of the unknowns."""

    def __init__(self, problem: CellProblem, cells: NDArray[np.int64]) -> None:
        self._problem, self._cells = problem, cells

    def missed(
        self, low: NDArray[np.float64], high: NDArray[np.float64], at: NDArray[np.int64] | None = None
    ) -> NDArray[np.bool_]:
        """Return which sensitive unknowns, of all or of some, are less uncertain than required."""
        return self._problem.exposed(low, high, self._cells if at is None else self._cells[at])

    def reach(self, at: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how far from its value each of some unknowns must be shown to move, with room to spare."""
        return 2 * self._problem.need(self._cells[at])
