"""What is the best guess of one column's value, given another's? The most frequent value, and how often it is right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["best_guess"]


def best_guess(by: NDArray[Any], of: NDArray[Any], width: int, n: NDArray[Any] | None = None) -> tuple[NDArray[np.int64], int]:
    """Return the most frequent code of one column within each code of another, and for how many records it is right.

    Parameters
    ----------
    by, of
        The codes of the column that is known and of the one that is guessed, record by record, or cell by cell.
    width
        How many codes the guessed column has; of several most frequent codes, the last is taken.
    n
        The number of records of each cell; none: one each.

    Examples
    --------
    >>> guess, right = best_guess(np.array([0, 0, 0, 1]), np.array([1, 1, 2, 0]), 3)
    >>> guess.tolist(), right
    ([1, 0], 3)
    """
    pairs, where = np.unique(by.astype(np.int64) * width + of, return_inverse=True)
    held = np.bincount(where, weights=n, minlength=len(pairs))
    rows, codes = pairs // width, pairs % width
    order = np.lexsort((codes, held, rows))
    last = order[np.append(np.flatnonzero(np.diff(rows[order])), len(order) - 1)] if len(order) else order
    guess = np.zeros(int(rows.max(initial=-1)) + 1, dtype=np.int64)
    guess[rows[last]] = codes[last]
    return guess, int(held[last].sum())
