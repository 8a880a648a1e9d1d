"""How much of a Discrimination Rate is chance? Its expected value under random relabelling.

The plug-in rate rises with the number of classes even when the key is noise. From the adjusted rate, the rate expected of a
randomly relabelled key of the same class sizes is removed. It means nothing against record identity, where every relabelling
is alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from unveil.run import active_run

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["adjusted_rate", "beyond_chance", "expected_information_bits"]

_TAIL = 25.0
"""Hypergeometric terms beyond a distance t with exp(-2 t^2 / draws) < exp(-2 _TAIL) < 1e-21 are left out."""


def adjusted_rate(rate: float, entropy: float, keys: NDArray[np.int64], secrets: NDArray[np.int64]) -> float | None:
    r"""Return :math:`(DR - E[DR]) / (1 - E[DR])`, with the expectation over random relabellings of the records.

    0: no more than chance. 1: the key determines the sensitive attribute. Below 0: less than chance. None where a random
    key of these class sizes would determine the sensitive attribute too (every record in a class of its own), so
    nothing can be said.

    Parameters
    ----------
    rate, entropy
        The plug-in rate and H(X), in bits.
    keys, secrets
        The sizes of the classes of the key, and the counts of the sensitive values.

    References
    ----------
    .. [1] Vinh, Epps, Bailey (2010), Information theoretic measures for clusterings comparison, JMLR 11, 2837-2854.
    """
    expected = expected_information_bits(keys, secrets) / entropy
    if 1.0 - expected < 1e-12:  # noqa: PLR2004
        return None
    return (rate - expected) / (1.0 - expected)


def beyond_chance(adjusted: float | None) -> float:
    """Return what a threshold is held against: the adjusted rate, 0 where it is below chance or nothing can be said."""
    return 0.0 if adjusted is None else max(adjusted, 0.0)


def expected_information_bits(a: NDArray[np.int64], b: NDArray[np.int64]) -> float:
    r"""Return the mutual information expected of two random labellings with class sizes `a` and `b`, in bits.

    .. math:: \sum_{i,j} \sum_n P(n) \frac{n}{N} \log_2 \frac{N n}{a_i b_j}, \qquad n \sim \mathrm{Hypergeometric}(N, a_i, b_j)

    Classes of equal size share their term. The probabilities are built from their ratios around the most likely n and
    sum to one, which keeps their digits where differences of log-factorials of millions would lose them.
    """
    total = int(a.sum())
    sizes_a, times_a = np.unique(a, return_counts=True)
    sizes_b, times_b = np.unique(b, return_counts=True)
    if len(sizes_b) < len(sizes_a):
        sizes_a, times_a, sizes_b, times_b = sizes_b, times_b, sizes_a, times_a
    run, sums = active_run(), []
    for size, times in zip(sizes_a.tolist(), times_a.tolist(), strict=True):
        run.check()
        sums.append(times * (times_b @ _expected_terms(size, sizes_b, total)))
    return float(np.sum(sums))


def _expected_terms(a: int, b: NDArray[np.int64], total: int) -> NDArray[np.float64]:
    """Return E[n/N log2(N n / (a b))] for one class of size a against each class of size b."""
    lowest, highest = np.maximum(0, a + b - total), np.minimum(a, b)
    reach = np.ceil(np.sqrt(_TAIL * highest)).astype(np.int64) + 1
    mode = np.clip((a + 1) * (b + 1) // (total + 2), lowest, highest)
    start, end = np.maximum(lowest, mode - reach), np.minimum(highest, mode + reach)
    terms = np.empty(len(b))
    # rows of similar width go together, so that little of the rectangle is padding
    order = np.argsort(end - start, kind="stable")
    for piece in np.array_split(order, max(1, len(b) // 64)):
        terms[piece] = _expected_piece(a, b[piece], total, start[piece], end[piece])
    return terms


def _expected_piece(
    a: int, b: NDArray[np.int64], total: int, start: NDArray[np.int64], end: NDArray[np.int64]
) -> NDArray[np.float64]:
    width = int((end - start).max()) + 1
    n = start[:, None] + np.arange(width)[None, :]
    inside = n <= end[:, None]
    b_of_row = b[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        # log P(n) - log P(n - 1) = log((a - n + 1)(b - n + 1) / (n (N - a - b + n)))
        ratio = ((a - n + 1.0) * (b_of_row - n + 1.0)) / (n * (total - a - b_of_row + n * 1.0))
        steps = np.where(inside, np.log(ratio), -np.inf)
        steps[:, 0] = 0.0
        log_p = np.cumsum(steps, axis=1)
        p = np.exp(log_p - log_p.max(axis=1, keepdims=True))
        p[~inside] = 0.0
        information = np.where(inside & (n > 0), n / total * np.log2(total * n / (a * 1.0 * b_of_row)), 0.0)
    return np.asarray((p * information).sum(axis=1) / p.sum(axis=1))
