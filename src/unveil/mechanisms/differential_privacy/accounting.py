r"""What is the total of several losses of privacy? Renyi differential privacy, and its conversion to epsilon and delta.

A mechanism is :math:`(\alpha, r(\alpha))`-Renyi private when the divergence of order alpha between its answers on two
neighbouring tables is at most r. Losses of adaptively chosen mechanisms add up order by order; the probabilities delta with
which their bounds fail add up separately. The meaning of epsilon depends on which tables are neighbours:

- "add or remove": one table holds the records of one person more than the other;
- "change one": both tables hold the same number of records, and those of one person differ.

References
----------
I. Mironov (2017), Renyi differential privacy, CSF, 263-275.
M. Bun, T. Steinke (2016), Concentrated differential privacy: simplifications, extensions, and lower bounds, TCC, 635-658.
I. Mironov, K. Talwar, L. Zhang (2019), Renyi differential privacy of the sampled Gaussian mechanism, arXiv:1908.10530.
C. Canonne, G. Kamath, T. Steinke (2020), The discrete Gaussian for differential privacy, NeurIPS.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_number, checked_word
from unveil.errors import ArgumentError
from unveil.mechanisms.differential_privacy.budget import Budget, gaussian_delta, gaussian_scale

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "ADD_REMOVE",
    "CHANGE_ONE",
    "NEIGHBOURS",
    "PrivacyLoss",
    "composed_delta",
    "composed_epsilon",
    "concentration",
    "loss_of",
]

ADD_REMOVE, CHANGE_ONE = "add or remove", "change one"
NEIGHBOURS = (ADD_REMOVE, CHANGE_ONE)
_KINDS = ("pure", "concentrated", "gaussian")
_ORDERS: NDArray[np.float64] = np.unique(
    np.concatenate([1.0 + np.geomspace(1e-3, 9.0, 400), np.arange(2.0, 129.0), np.geomspace(129.0, 1e10, 600)])
)
"""The orders that are examined: any order gives a valid bound, and more orders give a better one."""
_SUMMED = 512
"""The highest order for which the sum for a sample is computed; beyond it, sampling is not taken into account."""
_MOST_EPSILON = 1e6


@dataclass(frozen=True, slots=True)
class PrivacyLoss:
    r"""An upper bound of what one mechanism may disclose about one person.

    Attributes
    ----------
    kind
        "pure": `amount` is epsilon, for any noise. "concentrated": `amount` is rho of zero-concentrated differential privacy,
        as for discrete Gaussian noise or the exponential mechanism. "gaussian": the same for continuous Gaussian noise, whose
        exact profile is known; :math:`\rho = \Delta_2^2 / (2 \sigma^2)`.
    amount
        Epsilon, or rho.
    delta
        The probability that the bound does not hold.
    sampling
        The probability that a person takes part, drawn independently for each; 1: everyone takes part.
    neighbours
        "add or remove" or "change one".

    Examples
    --------
    >>> loss = PrivacyLoss("pure", 1.0, sampling=0.1)
    >>> round(composed_epsilon([loss], 0.0), 4)
    0.1586
    >>> round(composed_epsilon([PrivacyLoss("gaussian", 0.005)] * 100, 1e-6), 3)
    4.887
    """

    kind: str
    amount: float
    delta: float = 0.0
    sampling: float = 1.0
    neighbours: str = ADD_REMOVE

    def __post_init__(self) -> None:
        """Check the fields."""
        checked_word("kind", self.kind, _KINDS)
        checked_word("neighbours", self.neighbours, NEIGHBOURS)
        checked_number("amount", self.amount, most=_MOST_EPSILON)
        checked_number("delta", self.delta, most=1.0)
        checked_number("sampling", self.sampling, above=0.0, most=1.0)
        if min(self.amount, self.delta) < 0.0:
            raise ArgumentError("a loss of privacy is not negative.")
        if self.sampling < 1.0 and self.neighbours != ADD_REMOVE:
            raise ArgumentError(
                "a sample lowers the loss only for neighbours of which one has one more person; name these neighbours."
            )
        if self.sampling < 1.0 and self.kind == "concentrated":
            raise ArgumentError(
                "there is no general bound on how much sampling reduces a concentrated loss; name the kind of noise."
            )
        if self.delta and self.kind != "pure":
            raise ArgumentError("a delta belongs to an epsilon; a loss of rho has none of its own.")

    def to_dict(self) -> dict[str, Any]:
        """Return the fields."""
        return asdict(self)

    def among(self, neighbours: str) -> PrivacyLoss:
        """Return the loss for another kind of neighbours: changing a person is removing one and adding one."""
        if neighbours == self.neighbours:
            return self
        if self.neighbours == CHANGE_ONE:
            raise ArgumentError(
                'this mechanism takes the number of records as known: its loss has no counterpart for neighbours that "add or '
                'remove" somebody. Account for it among neighbours that "change one".'
            )
        if self.kind == "pure":
            twice = self.sampling * self.delta * (1.0 + math.exp(min(self.epsilon, 700.0)))
            return PrivacyLoss("pure", 2.0 * self.epsilon, min(twice, 1.0), neighbours=neighbours)
        if self.sampling < 1.0:
            raise ArgumentError('noise on a sample is accounted for among neighbours that "add or remove" somebody.')
        return replace(self, amount=self.amount * 4.0, neighbours=neighbours)

    @property
    def epsilon(self) -> float:
        """Epsilon beside the delta of the loss, lower for a sample; infinite for a rho, which has none without a delta."""
        if self.kind != "pure":
            return math.inf if self.amount else 0.0
        if self.amount > 700.0:  # noqa: PLR2004 - where an exponential overflows
            return self.amount
        return math.log1p(self.sampling * math.expm1(self.amount)) if self.sampling < 1.0 else self.amount

    def renyi(self) -> NDArray[np.float64]:
        """Return the divergence at the examined orders."""
        if self.kind == "pure":
            return _of_pure(self.epsilon)
        whole = _ORDERS * self.amount
        return whole if self.sampling == 1.0 else np.minimum(whole, _of_sample(self.amount, self.sampling))


def composed_epsilon(losses: Sequence[PrivacyLoss], delta: float) -> float:
    """Return the epsilon that several losses together do not exceed, except with a probability of delta.

    The lowest of three bounds: from Renyi divergences, from the sum of epsilons, and, for Gaussian noise alone, from its exact
    profile.
    """
    if not losses:
        return 0.0
    left = delta - math.fsum(loss.sampling * loss.delta for loss in losses)
    if left < -1e-15:  # noqa: PLR2004 - a rounding error of the sum
        return math.inf
    added = math.fsum(loss.epsilon for loss in losses)
    if left <= 0.0:
        return added
    total = np.sum([loss.renyi() for loss in losses], axis=0)
    by_order = total + np.log1p(-1.0 / _ORDERS) - (math.log(left) + np.log(_ORDERS)) / (_ORDERS - 1.0)
    return max(0.0, min(added, float(by_order.min()), _by_profile(_of_gaussians(losses), left)))


def composed_delta(losses: Sequence[PrivacyLoss], epsilon: float) -> float:
    """Return the probability that several losses together exceed epsilon."""
    failing = math.fsum(loss.sampling * loss.delta for loss in losses)
    if math.fsum(loss.epsilon for loss in losses) <= epsilon:
        return min(failing, 1.0)
    total = np.sum([loss.renyi() for loss in losses], axis=0)
    logs = (_ORDERS - 1.0) * (total - epsilon) + (_ORDERS - 1.0) * np.log1p(-1.0 / _ORDERS) - np.log(_ORDERS)
    chance = math.exp(min(0.0, float(logs.min())))
    if (rho := _of_gaussians(losses)) is not None:
        chance = min(chance, gaussian_delta(1.0, math.sqrt(2.0 * rho), epsilon))
    return min(failing + chance, 1.0)


def loss_of(budget: Budget) -> PrivacyLoss:
    """Return the loss of a mechanism whose noise is calibrated to a budget."""
    if budget.mechanism == "gaussian":
        return PrivacyLoss("gaussian", 0.5 * gaussian_scale(1.0, budget) ** -2)
    return PrivacyLoss("pure", budget.epsilon)


@cache
def concentration(epsilon: float, delta: float) -> float:
    r"""Return the greatest rho for which a zero-concentrated loss, of any mechanisms, keeps to epsilon and delta.

    .. math:: \delta = \min_\alpha \frac{e^{(\alpha - 1)(\alpha \rho - \epsilon)}}{\alpha - 1}
              \left(1 - \frac1\alpha\right)^\alpha
    """
    low, high = 0.0, epsilon + 1.0
    while _epsilon_of(high, delta) < epsilon:
        high *= 2.0
    for _ in range(100):
        middle = (low + high) / 2.0
        low, high = (middle, high) if _epsilon_of(middle, delta) <= epsilon else (low, middle)
    if not low > 0.0:
        raise ArgumentError(f"epsilon is {epsilon:g}, too little to divide at a delta of {delta:g}; use a larger one.")
    return low


def _epsilon_of(rho: float, delta: float) -> float:
    """Return the epsilon of zero-concentrated losses that add up to rho."""
    by_order = _ORDERS * rho + np.log1p(-1.0 / _ORDERS) - (math.log(delta) + np.log(_ORDERS)) / (_ORDERS - 1.0)
    return max(0.0, float(by_order.min()))


def _of_pure(epsilon: float) -> NDArray[np.float64]:
    r"""Return the divergence of randomised response, which no mechanism with the same epsilon exceeds."""
    if not math.isfinite(epsilon):
        return np.full(len(_ORDERS), math.inf)
    high, low = -math.log1p(math.exp(-epsilon)), -epsilon - math.log1p(math.exp(-epsilon))
    one, other = _ORDERS * high + (1.0 - _ORDERS) * low, _ORDERS * low + (1.0 - _ORDERS) * high
    return np.asarray(np.minimum(np.logaddexp(one, other) / (_ORDERS - 1.0), epsilon))


@cache
def _of_sample(rho: float, sampling: float) -> NDArray[np.float64]:
    r"""Return the divergence of Gaussian noise on a sample; for a fractional order, that of the next whole one.

    .. math:: \frac{1}{\alpha - 1} \ln \sum_{k=0}^{\alpha} \binom{\alpha}{k} (1 - q)^{\alpha - k} q^k e^{(k^2 - k) \rho}
    """
    losses = np.full(len(_ORDERS), math.inf)
    whole = np.ceil(_ORDERS)
    for order in np.unique(whole[whole <= _SUMMED]).astype(int):
        losses[whole == order] = _log_moment(int(order), rho, sampling) / (order - 1.0)
    return losses


def _log_moment(order: int, rho: float, sampling: float) -> float:
    from scipy.special import gammaln, logsumexp

    k = np.arange(order + 1.0)
    ways = gammaln(order + 1.0) - gammaln(k + 1.0) - gammaln(order - k + 1.0)
    return float(logsumexp(ways + (order - k) * math.log1p(-sampling) + k * math.log(sampling) + (k * k - k) * rho))


def _of_gaussians(losses: Sequence[PrivacyLoss]) -> float | None:
    """Return the rho of losses that are all of Gaussian noise, because such noises compose into one; else None."""
    if all(loss.kind == "gaussian" and loss.sampling == 1.0 for loss in losses):
        return math.fsum(loss.amount for loss in losses)
    return None


def _by_profile(rho: float | None, delta: float) -> float:
    """Return the lowest epsilon for which the exact delta of Gaussian noise is low enough; infinite for other noise."""
    if rho is None:
        return math.inf
    shift, low, high = math.sqrt(2.0 * rho), 0.0, rho + 2.0 * math.sqrt(rho * math.log(1.0 / delta)) + 1e-9
    if gaussian_delta(1.0, shift, low) <= delta:
        return 0.0
    while high - low > 1e-12 * high:
        middle = (low + high) / 2.0
        low, high = (low, middle) if gaussian_delta(1.0, shift, middle) <= delta else (middle, high)
    return high
