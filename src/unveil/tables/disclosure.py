"""Which cells of a pattern can be computed exactly, by everyone and by the only contributors of cells?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from unveil.tables.elimination import directions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.tables.problem import CellProblem

__all__ = ["given_away", "owners"]

_NOBODY = -1


def given_away(problem: CellProblem, suppressed: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the sensitive cells that can be computed exactly, each with the insider who can (-1 for everyone)."""
    cells = np.flatnonzero(suppressed)
    matrix = problem.equations[:, cells].tocsr()
    kind = directions(matrix[np.diff(matrix.indptr) > 0]).kind
    owner = owners(problem)[cells]
    known: dict[int, set[int]] = {}
    for at in np.flatnonzero(owner >= 0).tolist():
        known.setdefault(kind[at], set()).add(int(owner[at]))
    pairs = []
    for at in np.flatnonzero(problem.primary[cells]).tolist():
        if kind[at] == 0:
            pairs.append((int(cells[at]), _NOBODY))
        elif others := known.get(kind[at], set()) - {int(owner[at])}:
            pairs.append((int(cells[at]), min(others)))
    return pairs


def owners(problem: CellProblem) -> NDArray[np.int64]:
    """Return the only contributor of every cell; -1 if there is none."""
    owner = np.full(len(problem), _NOBODY, dtype=np.int64)
    for number, some in enumerate(problem.insiders):
        owner[some] = number
    return owner
