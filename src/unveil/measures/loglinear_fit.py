r"""Does a log-linear model fit well enough for its risk to be trusted? The diagnostics of Skinner and Shlomo, and an interval.

A model that leaves out interactions overstates the risk of a large sparse table; a model with too many understates it. Both show
in the residuals. With :math:`\mu_k` the records expected in cell k of the sample and :math:`\lambda_k = \mu_k / \pi` the people
expected in the population, a measure :math:`\tau = \sum_k I(f_k = 1) h(\lambda_k)` is off by about

.. math:: B = \sum_k \lambda_k e^{-\mu_k} \left( -h'(\lambda_k) (f_k - \mu_k)
    + h''(\lambda_k) \frac{(f_k - \mu_k)^2 - f_k}{2 \pi} \right)

the expected value of the second-order difference between h under the model and h under the truth, over all cells, including
the empty ones. If the model holds, B is zero but for chance, and divided by its standard deviation it is about standard normal.
If B is above zero, the model overstates the risk; if below, it understates it.

If cells have sampling rates of their own, pi is the rate of the cell. The rate of a cell that holds records is one over its mean
weight. The sample does not show the rates of empty cells; a model that is fitted to the counts and to the weights alike gives
both the records and the people to expect in a cell, and so its rate.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from unveil.measures.interval import Interval
from unveil.results import Figures
from unveil.run import active_run

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Expected", "ModelFit", "Verdict", "fit_of", "uniques_interval", "with_rates"]

Verdict: TypeAlias = Literal["fits", "overstates", "understates"]

_SIGNIFICANT = NormalDist().inv_cdf(0.975)
_SERIES_BELOW = 0.02
"""Below this mu, the derivatives of (1 - exp(-mu)) / mu are computed by their series."""
_OVER = (
    "the estimated error is larger than the estimate, so the model is too far from the table; use the model of all two-way "
    "interactions, or fewer columns"
)
_LARGE_SAMPLE = 0.3
_LARGE = (
    "the model overstates, and from samples of more than 30 % it is not known how far it may err the other way; use the model of "
    "all two-way interactions, or fewer columns"
)
_UNDER = "the model follows the sample and understates the risk; use the model of independence, or coarser values"


@dataclass(frozen=True, slots=True, eq=False)
class ModelFit(Figures):
    """How far a log-linear model is off, by Skinner and Shlomo.

    Attributes
    ----------
    uniques_error, matches_error
        B for tau 1 and tau 2: by how much the model is estimated to overstate them; below zero it understates.
    uniques_z, matches_z
        These errors divided by their standard deviations: the model fits if they are within about 2 of zero.
    verdict
        fits, overstates or understates, at the level of 5 %.
    spread
        The standard deviation of `uniques_error` if the model holds; it is not reported.
    """

    uniques_error: float
    uniques_z: float
    matches_error: float
    matches_z: float
    verdict: Verdict
    spread: float = field(metadata={"name": None})


@dataclass(frozen=True, slots=True, eq=False)
class Expected:
    """The records that a model expects in cells of the sample, mu, and the rate at which each cell is sampled, pi."""

    mu: NDArray[np.float64]
    rate: NDArray[np.float64] | float


def with_rates(people: NDArray[np.float64], records: NDArray[np.float64], otherwise: float) -> Expected:
    """Return the expectations in cells, given the people by one model and the records by another, which give the rates.

    Examples
    --------
    >>> with_rates(np.array([10.0, 4.0]), np.array([1.0, 6.0]), 0.1).rate
    array([0.1, 1. ])
    """
    rate = np.divide(records, people, out=np.full(len(people), otherwise), where=(people > 0.0) & (records > 0.0))
    rate = np.minimum(rate, 1.0)
    return Expected(people * rate, rate)


def fit_of(blocks: Iterable[Expected], empty: Expected, held: Expected, n: NDArray[np.int64]) -> ModelFit:
    """Return the diagnostics of a model.

    Parameters
    ----------
    blocks
        All cells of the table as if they were empty, in pieces of any length and order.
    empty, held, n
        The cells that hold records: as they occur in `blocks`, as they are known to be, and the number of records they hold.

    References
    ----------
    .. [1] Skinner, Shlomo (2008), Assessing identification risk in survey microdata using log-linear models, Journal of the
       American Statistical Association 103(483), 989-1001.
    """
    sums = np.zeros((2, 2))
    run = active_run()
    for piece in blocks:
        run.check()
        sums += _sums(piece, np.zeros(1))
    sums += _sums(held, n.astype(np.float64)) - _sums(empty, np.zeros(1))
    (error, variance), (matches, matches_variance) = sums.tolist()
    z, matches_z = _ratio(error, variance), _ratio(matches, matches_variance)
    return ModelFit(error, z, matches, matches_z, _verdict(z, matches_z), math.sqrt(variance))


def uniques_interval(
    fit: ModelFit, uniqueness: NDArray[np.float64], *, sampling_fraction: float, confidence: float
) -> Interval | str:
    """Return the interval of the number of sample uniques that are population uniques, or why none can be trusted.

    It spans the estimate and the estimate minus its error B, and allows for chance beyond both: whether each sample unique is
    a population unique, and the standard deviation of B. A model that overstates on the whole may understate some cells, so
    half of B is allowed for on the other side.
    """
    estimate = float(uniqueness.sum())
    if fit.verdict == "understates":
        return _UNDER
    if fit.verdict == "overstates" and fit.uniques_error > estimate:
        return _OVER
    if fit.verdict == "overstates" and sampling_fraction > _LARGE_SAMPLE:
        return _LARGE
    chance = float((uniqueness * (1.0 - uniqueness)).sum())
    reach = NormalDist().inv_cdf(0.5 + confidence / 2.0) * math.sqrt(chance + fit.spread**2)
    below, above = max(fit.uniques_error, 0.0), max(-fit.uniques_error, fit.uniques_error / 2.0)
    return Interval(max(0.0, estimate - below - reach), min(float(len(uniqueness)), estimate + above + reach), confidence)


def _sums(cells: Expected, f: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return, for tau 1 and tau 2, B over these cells, and its variance if the model holds."""
    mu, pi = cells.mu, cells.rate
    people = mu / pi
    unseen = (1.0 - pi) * people
    weight = people * np.exp(-mu)
    residual = f - mu
    square = residual**2 - f
    sums = []
    for first, second in (_derivatives_of_uniqueness(unseen), _derivatives_of_match(unseen)):
        linear = -weight * (1.0 - pi) * first
        curved = weight * (1.0 - pi) ** 2 * second / (2.0 * pi)
        # f is Poisson: its residual has the variance mu, the square 2 mu^2, and the two do not vary together
        variance = (linear**2 * mu + 2.0 * (curved * mu) ** 2).sum()
        sums.append([(linear * residual + curved * square).sum(), variance])
    return np.array(sums)


def _derivatives_of_uniqueness(u: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the first two derivatives of exp(-u)."""
    power = np.exp(-u)
    return -power, power


def _derivatives_of_match(u: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the first two derivatives of (1 - exp(-u)) / u."""
    small = u < _SERIES_BELOW
    safe = np.where(small, 1.0, u)
    power = np.exp(-safe)
    first = np.where(small, -1 / 2 + u / 3 - u**2 / 8 + u**3 / 30, (power * (1.0 + safe) - 1.0) / safe**2)
    second = np.where(small, 1 / 3 - u / 4 + u**2 / 10 - u**3 / 36, (2.0 - power * (safe**2 + 2.0 * safe + 2.0)) / safe**3)
    return first, second


def _ratio(error: float, variance: float) -> float:
    return error / math.sqrt(variance) if variance > 0.0 else 0.0


def _verdict(*ratios: float) -> Verdict:
    if min(ratios) < -_SIGNIFICANT:
        return "understates"
    return "overstates" if max(ratios) > _SIGNIFICANT else "fits"
