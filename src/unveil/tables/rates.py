r"""The Discrimination Rate of a table: exact if the table is whole, bounded if cells are suppressed.

With classes y of all dimensions but one, and categories x of that one, :math:`DR = 1 - H(X|Y)/H(X)`. If counts are only known
to lie in intervals, so is the rate. For each class, :math:`\sum_x n_{xy} \log_2 (n_y / n_{xy})` never falls when a count grows,
is least when the counts are as unequal as their intervals allow, and greatest when they are as equal as possible. The bounds
ignore that one table must explain all classes, and the least is taken over more counts than the intervals hold, so they are outer
bounds: the rate lies between them, but they may be wider than necessary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.tables.crosstable import CrossTable

__all__ = ["ClassRates", "rate_interval"]


def rate_interval(
    table: CrossTable, axis: int, low: NDArray[np.float64], high: NDArray[np.float64]
) -> tuple[float, float] | None:
    """Return bounds of the rate of all other dimensions for one; None if it is undefined."""
    lower, upper = _inner(table, axis, low), _inner(table, axis, high)
    records = float(table.made.records or table.n.max(initial=0))
    upper = np.minimum(upper, records)
    class_low, class_high = _margin(table, axis, low, lower.sum(axis=1), 0), _margin(table, axis, high, upper.sum(axis=1), 1)
    least, most = _uncertain(lower, upper, class_low, equal=False), _uncertain(lower, upper, class_high, equal=True)
    prior_least, prior_most = (records * one for one in _prior(table, axis, low, high))
    if prior_most <= 0:
        return None
    bottom = 0.0 if prior_least <= 0 else max(0.0, 1 - most / prior_least)
    return bottom, min(1.0, 1 - least / prior_most)


class ClassRates:
    """The information that everyone gains about one class: the rate 1 - H(X|Y=y)/H(X).

    Parameters
    ----------
    table, axis
        The table, and the position of its sensitive dimension.
    low, high
        The known bounds of every count.
    """

    def __init__(self, table: CrossTable, axis: int, low: NDArray[np.float64], high: NDArray[np.float64]) -> None:
        self._table, self._axis, self._low, self._high = table, axis, low, high
        self._prior = _prior(table, axis, low, high)

    def rate(self, cell: int, *, among: bool) -> tuple[float, float] | None:
        """Return bounds of the rate of the class of a cell; None if it is undefined.

        Parameters
        ----------
        cell
            A cell of the class.
        among
            Whether it is known that everyone in the class is in the category, or group of categories, of the cell.
        """
        least, most = self._uncertain(cell, among=among)
        prior_least, prior_most = self._prior
        if prior_most <= 0:
            return None
        bottom = 1.0 if most <= 0 else 0.0 if prior_least <= 0 else max(0.0, 1 - most / prior_least)
        return bottom, max(0.0, min(1.0, 1 - least / prior_most))

    def _uncertain(self, cell: int, *, among: bool) -> tuple[float, float]:
        """Return bounds of H(X|Y=y)."""
        table, axis, low, high = self._table, self._axis, self._low, self._high
        shape = [len(one) for one in table.dimensions]
        place, dimension = list(np.unravel_index(cell, shape)), table.dimensions[axis]
        code = int(place[axis])
        leaves = [leaf for at, leaf in enumerate(dimension.leaves) if not among or at in dimension.members[code]]

        def at(category: int) -> int:
            return int(np.ravel_multi_index([category if one == axis else int(x) for one, x in enumerate(place)], shape))

        row = np.array([at(leaf) for leaf in leaves])
        if len(row) == 1:
            return 0.0, 0.0
        total = at(code) if among else row[0] if dimension.root is None else at(dimension.root)
        known = (among or dimension.root is not None) and low[total] == high[total] > 0
        lower, upper = low[row][None], high[row][None]
        least = 0.0 if (lower > 0).sum() <= 1 else _uncertain(lower, upper, lower.sum(axis=1), equal=False) / float(upper.sum())
        most = float(np.log2(max(1, int((upper > 0).sum()))))
        if known:
            size = np.array([low[total]])
            least, most = (_uncertain(lower, upper, size, equal=one) / float(low[total]) for one in (False, True))
        elif (lower == upper).all():
            least = most = _uncertain(lower, upper, lower.sum(axis=1), equal=True) / max(1.0, float(lower.sum()))
        return least, most


def _prior(table: CrossTable, axis: int, low: NDArray[np.float64], high: NDArray[np.float64]) -> tuple[float, float]:
    """Return bounds of H(X), the uncertainty about the category of someone in the table, in bits."""
    records = float(table.made.records or table.n.max(initial=0))
    lower, upper = _inner(table, axis, low), np.minimum(_inner(table, axis, high), records)
    whole_low, whole_high = _categories(table, axis, low, lower)[None], _categories(table, axis, high, upper)[None]
    least, most = (_uncertain(whole_low, whole_high, np.array([records]), equal=one) / max(1.0, records) for one in (False, True))
    return least, most


def _inner(table: CrossTable, axis: int, amounts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the inner cells, one row per class, one column per category."""
    whole = amounts.reshape([len(one) for one in table.dimensions])
    inner = whole[np.ix_(*[list(one.leaves) for one in table.dimensions])]
    return np.asarray(np.moveaxis(inner, axis, -1).reshape(-1, inner.shape[axis]))


def _margin(
    table: CrossTable, axis: int, amounts: NDArray[np.float64], sums: NDArray[np.float64], side: int
) -> NDArray[np.float64]:
    """Return a bound of the size of every class: its published total, if that is tighter than the sum of its parts."""
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


def _uncertain(low: NDArray[np.float64], high: NDArray[np.float64], totals: NDArray[np.float64], *, equal: bool) -> float:
    """Return bounds of the sum n log2(N/n) over counts within their intervals with a given total in each row.

    The greatest is exact; the least may be lower than any counts reach, because finding those is as hard as packing a knapsack.
    """
    totals = np.clip(totals, low.sum(axis=1), high.sum(axis=1))
    counts = _level(low, high, totals) if equal else _steep(low, high, totals)
    sizes = np.broadcast_to(counts.sum(axis=1, keepdims=True), counts.shape)
    there = counts > 0
    return float((counts[there] * np.log2(sizes[there] / counts[there])).sum())


_WEIGHTS = np.linspace(0.0, 1.0, 9)
"""The weights of the upper bounds in the limits of `_steep`."""


def _level(low: NDArray[np.float64], high: NDArray[np.float64], totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the counts that are as equal as possible: a common height in each row, within their intervals."""
    below, above = low.min(axis=1, initial=0), high.max(axis=1, initial=0)
    for _ in range(100):
        height = (below + above) / 2
        short = np.clip(height[:, None], low, high).sum(axis=1) < totals
        below, above = np.where(short, height, below), np.where(short, above, height)
    return np.asarray(np.clip(above[:, None], low, high))


def _steep(low: NDArray[np.float64], high: NDArray[np.float64], totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return counts, largest first, that are at least as unequal as any within their intervals (they majorise them).

    The k largest counts hold at most the sum of their upper bounds, and at most what all others leave. With a mixture of both
    limits, for any weight, the largest k sums of it are a limit for every choice of k cells.
    """
    spare = (totals - low.sum(axis=1))[:, None]
    held = np.full(low.shape, np.inf)
    for weight in _WEIGHTS:
        mixed = -np.sort(-(weight * high + (1.0 - weight) * low), axis=1)
        held = np.minimum(held, np.cumsum(mixed, axis=1) + (1.0 - weight) * spare)
    return np.diff(np.minimum(held, totals[:, None]), axis=1, prepend=0.0)
