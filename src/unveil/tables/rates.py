r"""The Discrimination Rate that a table gives away: read off it where it is whole, bounded where cells are suppressed.

With classes y of all dimensions but one, and categories x of that one, :math:`DR = 1 - H(X|Y)/H(X)`. Where counts are only
known to lie in intervals, so is the rate. For each class, :math:`\sum_x n_{xy} \log_2 (n_y / n_{xy})` never falls when a count
grows, is least where the counts are as unequal as their intervals allow, and most where they are as equal. The bounds ignore
that one table must explain all classes, so they are outer bounds: the rate lies between them, and they may be further apart
than need be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.tables.crosstable import CrossTable

__all__ = ["rate_interval"]


def rate_interval(
    table: CrossTable, axis: int, low: NDArray[np.float64], high: NDArray[np.float64]
) -> tuple[float, float] | None:
    """Return bounds of the rate of all other dimensions for one; None where it is undefined."""
    lower, upper = _inner(table, axis, low), _inner(table, axis, high)
    records = float(table.made.records or table.n.max(initial=0))
    upper = np.minimum(upper, records)
    class_low, class_high = _margin(table, axis, low, lower.sum(axis=1), 0), _margin(table, axis, high, upper.sum(axis=1), 1)
    least = sum(_uncertain(a, b, n, equal=False) for a, b, n in zip(lower, upper, class_low, strict=True))
    most = sum(_uncertain(a, b, n, equal=True) for a, b, n in zip(lower, upper, class_high, strict=True))
    whole_low, whole_high = _categories(table, axis, low, lower), _categories(table, axis, high, upper)
    prior_least = _uncertain(whole_low, whole_high, records, equal=False)
    prior_most = _uncertain(whole_low, whole_high, records, equal=True)
    if prior_most <= 0:
        return None
    bottom = 0.0 if prior_least <= 0 else max(0.0, 1 - most / prior_least)
    return bottom, min(1.0, 1 - least / prior_most)


def _inner(table: CrossTable, axis: int, amounts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the inner cells, one row per class, one column per category."""
    whole = amounts.reshape([len(one) for one in table.dimensions])
    inner = whole[np.ix_(*[list(one.leaves) for one in table.dimensions])]
    return np.asarray(np.moveaxis(inner, axis, -1).reshape(-1, inner.shape[axis]))


def _margin(
    table: CrossTable, axis: int, amounts: NDArray[np.float64], sums: NDArray[np.float64], side: int
) -> NDArray[np.float64]:
    """Return the size of every class: its published total, where there is one and it says more than the sum of its parts."""
    root = table.dimensions[axis].root
    if root is None:
        return np.asarray(sums)
    whole = amounts.reshape([len(one) for one in table.dimensions])
    places = [[root] if at == axis else list(one.leaves) for at, one in enumerate(table.dimensions)]
    totals = np.moveaxis(whole[np.ix_(*places)], axis, -1).ravel()
    return np.asarray(np.minimum(sums, totals) if side else np.maximum(sums, totals))


def _categories(table: CrossTable, axis: int, amounts: NDArray[np.float64], inner: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the size of every category: its published total, or the sum over all classes."""
    roots = [one.root for one in table.dimensions]
    if any(root is None for at, root in enumerate(roots) if at != axis):
        return np.asarray(inner.sum(axis=0))
    whole = amounts.reshape([len(one) for one in table.dimensions])
    places = [list(one.leaves) if at == axis else [roots[at] or 0] for at, one in enumerate(table.dimensions)]
    return np.asarray(whole[np.ix_(*places)].ravel())


def _uncertain(low: NDArray[np.float64], high: NDArray[np.float64], total: float, *, equal: bool) -> float:
    """Return the least or the most of sum n log2(N/n) over counts within their intervals that come to a total."""
    total = float(np.clip(total, low.sum(), high.sum()))
    counts = _level(low, high, total) if equal else _steep(low, high, total)
    counts = counts[counts > 0]
    return float((counts * np.log2(counts.sum() / counts)).sum()) if len(counts) else 0.0


def _level(low: NDArray[np.float64], high: NDArray[np.float64], total: float) -> NDArray[np.float64]:
    """Return the counts that are as equal as they can be: a common height, within their intervals."""
    below, above = float(low.min(initial=0)), float(high.max(initial=0))
    for _ in range(100):
        height = (below + above) / 2
        if np.clip(height, low, high).sum() < total:
            below = height
        else:
            above = height
    return np.asarray(np.clip(above, low, high))


def _steep(low: NDArray[np.float64], high: NDArray[np.float64], total: float) -> NDArray[np.float64]:
    """Return the counts that are as unequal as they can be: what is left goes to the largest first."""
    counts, left = low.copy(), total - float(low.sum())
    for at in np.argsort(-high, kind="stable"):
        added = min(left, float(high[at] - low[at]))
        counts[at] += added
        left -= added
    return counts
