"""Which weights make a sample add up to known totals? Raking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from unveil.run import active_run

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["raked"]

_ROUNDS = 500
_CLOSE = 1e-10


def raked(
    weights: NDArray[np.float64], codes: Sequence[NDArray[np.int64]], totals: Sequence[NDArray[np.float64]]
) -> tuple[NDArray[np.float64], float]:
    r"""Scale weights until the weighted count of every value of every attribute equals its total.

    .. math:: w_i \leftarrow w_i \frac{T_{a, x_i}}{\sum_{j : x_j = x_i} w_j} \quad \text{for each attribute } a \text{ in turn}

    A value that no record has any more cannot reach its total, which is shared among the attribute's other values.

    Returns
    -------
    tuple
        The weights, and the largest remaining relative difference between a count and its total.

    References
    ----------
    W. Deming, F. Stephan (1940), On a least squares adjustment of a sampled frequency table when the expected marginal totals are
    known, Annals of Mathematical Statistics 11(4), 427-444.
    """
    wanted = [_reachable(column, total) for column, total in zip(codes, totals, strict=True)]
    gap, run = np.inf, active_run()
    for _ in range(_ROUNDS):
        for column, total in zip(codes, wanted, strict=True):
            run.check()
            weights = weights * _factor(weights, column, total)[column]
        gap = max((float(np.abs(1.0 - _factor(weights, c, t)[c]).max()) for c, t in zip(codes, wanted, strict=True)), default=0.0)
        if gap < _CLOSE:
            break
    return weights, gap


def _reachable(column: NDArray[np.int64], total: NDArray[np.float64]) -> NDArray[np.float64]:
    held = np.where(np.bincount(column, minlength=len(total)) > 0, total, 0.0)
    return np.asarray(held * (total.sum() / held.sum()))


def _factor(weights: NDArray[np.float64], column: NDArray[np.int64], total: NDArray[np.float64]) -> NDArray[np.float64]:
    sums = np.bincount(column, weights, len(total))
    return np.divide(total, sums, out=np.ones_like(total), where=sums > 0.0)
