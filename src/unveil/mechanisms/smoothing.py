"""Smoothing: numbers that only one person has are replaced by others nearby, so that no synthetic record repeats them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["is_smoothed", "taken", "taken_smoothed"]

_MOST_DECIMALS = 6
_EXACT = 2.0**53
"""Up to here, floating point represents every integer."""


def taken(column: Any, rows: NDArray[np.int64]) -> Any:
    """Return the values of some records."""
    return column.gather(np.ascontiguousarray(rows).astype(np.uint32))


def taken_smoothed(column: Any, rows: NDArray[np.int64], random: np.random.Generator) -> Any:
    """Return the values of some records, with numbers that occur once replaced.

    Such a number is replaced by one drawn uniformly from half-way to the next smaller one up to half-way to the next larger one
    (for the smallest and the largest number: from itself), with as many decimals as the column has. Values that are not
    numbers, and values that several people share, are returned unchanged.
    """
    values = taken(column, rows)
    if not is_smoothed(column):
        return values
    known, times = np.unique(_numbers(column), return_counts=True)
    middle = known[:-1] + np.diff(known) / 2.0
    low, high = np.concatenate([known[:1], middle]), np.concatenate([middle, known[-1:]])
    drawn = values.cast(float).fill_null(np.nan).to_numpy()
    place = np.minimum(np.searchsorted(known, drawn), len(known) - 1)
    alone = (times[place] == 1) & ~np.isnan(drawn)
    between = low[place] + random.random(len(drawn)) * (high[place] - low[place])
    decimals = 0 if column.dtype.is_integer() else _decimals(known)
    between = between if decimals is None else np.round(between, decimals)
    made = np.where(alone, np.clip(between, known[0], known[-1]), drawn)
    blurred = type(column)(column.name, made).cast(column.dtype, strict=False)
    return values.zip_with(type(column)(column.name, ~alone), blurred)


def is_smoothed(column: Any) -> bool:
    """Return whether a column holds numbers that can be blurred: finite ones that floating point represents exactly."""
    if not (column.dtype.is_integer() or column.dtype.is_float()):
        return False
    own = _numbers(column)
    return len(np.unique(own)) > 1 and bool(np.isfinite(own).all()) and float(np.abs(own).max()) < _EXACT


def _numbers(column: Any) -> NDArray[np.float64]:
    return np.asarray(column.cast(float).drop_nulls().drop_nans().to_numpy())


def _decimals(known: NDArray[np.float64]) -> int | None:
    """Return the smallest number of decimals that represents every number; None if it is large."""
    for decimals in range(_MOST_DECIMALS + 1):
        if np.allclose(np.round(known, decimals), known, rtol=1e-12, atol=0.0):
            return decimals
    return None
