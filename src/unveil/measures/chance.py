"""How much of a Discrimination Rate is chance? Its expected value under random relabelling, and a bootstrap interval.

The plug-in rate rises with the number of classes even when the key is noise. Two answers: the adjusted rate, from which
the rate expected of a randomly relabelled key of the same class sizes is removed, and an interval from resampled records.
Neither means anything against record identity, where every relabelling is alike and a bootstrap repeats records.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.counts.grouping import summed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.counts import Classes

__all__ = ["Interval", "adjusted_rate", "beyond_chance", "bootstrap_interval", "expected_information_bits"]

_TAIL = 25.0
"""Hypergeometric terms beyond a distance t with exp(-2 t^2 / draws) < exp(-2 _TAIL) < 1e-21 are left out."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval and how it was made."""

    low: float
    high: float
    confidence: float
    resamples: int
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {
            "low": self.low,
            "high": self.high,
            "confidence": self.confidence,
            "resamples": self.resamples,
            "seed": self.seed,
        }


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
    sums = [
        times * (times_b @ _expected_terms(size, sizes_b, total))
        for size, times in zip(sizes_a.tolist(), times_a.tolist(), strict=True)
    ]
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


def bootstrap_interval(
    keys: Classes,
    secrets: Classes,
    n: NDArray[np.int64],
    mass: NDArray[np.float64],
    *,
    rate: float,
    resamples: int,
    confidence: float,
    seed: int,
) -> Interval:
    """Return the basic bootstrap interval of a rate: records are drawn with replacement, so cells from a multinomial.

    The basic interval mirrors the resampled rates around the measured one, which takes out the upward bias that every
    resample adds; it is cut to [0, 1]. A resample in which the sensitive attribute is constant has no rate and is left out.

    Parameters
    ----------
    keys, secrets
        The classes of the key and of the sensitive attribute over the same cells.
    n, mass
        Records and mass of each cell; a cell's weight is resampled at its mean.
    rate
        The measured rate.
    resamples, confidence, seed
        How many resamples, the share of them inside the interval, and the seed of the generator.
    """
    generator = np.random.default_rng(seed)
    records = int(n.sum())
    share, weight = n / records, mass / n
    rates = np.empty(resamples)
    for at in range(resamples):
        rates[at] = _rate(keys, secrets, generator.multinomial(records, share) * weight)
    tail = (1.0 - confidence) / 2.0
    low, high = np.nanquantile(rates, [tail, 1.0 - tail])
    return Interval(
        low=float(np.clip(2.0 * rate - high, 0.0, 1.0)),
        high=float(np.clip(2.0 * rate - low, 0.0, 1.0)),
        confidence=confidence,
        resamples=resamples,
        seed=seed,
    )


def _rate(keys: Classes, secrets: Classes, mass: NDArray[np.float64]) -> float:
    """Return the Discrimination Rate of cells of which some may be empty; NaN where it is undefined."""
    total = mass.sum()
    secret_mass = summed(secrets.of_cell, mass, len(secrets))
    key_mass = summed(keys.of_cell, mass, len(keys))
    entropy = _sum_m_log_m(np.array([total])) - _sum_m_log_m(secret_mass)
    if np.count_nonzero(secret_mass) < 2:  # noqa: PLR2004
        return float("nan")
    return float(1.0 - (_sum_m_log_m(key_mass) - _sum_m_log_m(mass)) / entropy)


def _sum_m_log_m(mass: NDArray[np.float64]) -> float:
    held = mass[mass > 0]
    return float((held * np.log2(held)).sum())
