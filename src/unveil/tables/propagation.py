"""Bounds from single equations: an unknown lies within the limits that the other unknowns of its equation leave.

Rows with one unknown determine it exactly. The bounds are tightened until nothing changes; they are outer bounds of the
attacker's interval, and often exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from unveil.time_limit import check_time

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import NDArray

__all__ = ["propagated"]

_ROUNDS = 200
_STILL = 1e-9


def propagated(
    matrix: sp.csr_matrix, right: NDArray[np.float64], lower: NDArray[np.float64], upper: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return bounds of y with A y = b and l <= y <= u that follow from one equation at a time."""
    low, high = lower.astype(np.float64).copy(), upper.astype(np.float64).copy()
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    column, sign = matrix.indices, matrix.data
    if not len(row):
        return low, high
    for _ in range(_ROUNDS):
        check_time()
        least, most = _others(row, column, sign, low, high, matrix.shape[0])
        rest_high, rest_low = right[row] - least, right[row] - most  # what sign * y may be
        new_low, new_high = np.where(sign > 0, rest_low, -rest_high), np.where(sign > 0, rest_high, -rest_low)
        before = low.copy(), high.copy()
        np.maximum.at(low, column, new_low)
        np.minimum.at(high, column, new_high)
        if _still(before[0], low) and _still(before[1], high):
            break
    crossed = low > high
    low[crossed] = high[crossed] = (low[crossed] + high[crossed]) / 2
    return low, high


def _others(
    row: NDArray[np.int64],
    column: NDArray[np.int64],
    sign: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    rows: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return for every entry the least and the greatest possible sum of the other entries of its row."""
    least = np.where(sign > 0, low[column], -high[column])
    most = np.where(sign > 0, high[column], -low[column])
    return _rest(row, least, rows, -np.inf), _rest(row, most, rows, np.inf)


def _rest(row: NDArray[np.int64], part: NDArray[np.float64], rows: int, infinite: float) -> NDArray[np.float64]:
    """Return for every entry the sum of the other entries of its row, which may be infinite."""
    endless = np.isinf(part)
    finite = np.where(endless, 0.0, part)
    total = np.bincount(row, weights=finite, minlength=rows)
    number = np.bincount(row, weights=endless, minlength=rows)
    return np.where(number[row] - endless > 0, infinite, total[row] - finite)


def _still(before: NDArray[np.float64], after: NDArray[np.float64]) -> bool:
    moved = before != after
    if not moved.any():
        return True
    both = np.isfinite(before[moved]) & np.isfinite(after[moved])
    return bool(both.all() and (np.abs(after[moved] - before[moved]) <= _STILL * np.maximum(1, np.abs(after[moved]))).all())
