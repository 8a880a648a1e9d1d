"""The estimators of population uniques: Zayatz's, Pitman's and the slide negative binomial model."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from unveil.results import Figures

if TYPE_CHECKING:
    from numpy.typing import NDArray

UniquenessModel: TypeAlias = Literal["pitman", "zayatz", "snb"]


_SMALL_FRACTION = 0.1
"""Up to this sampling fraction Dankar's rule trusts Pitman's model."""


_LEAST_LOG_THETA, _MOST_ALPHA = -30.0, 1.0 - 1e-10
"""The limits of the search for the maximum in Pitman's parameter space: theta + alpha > e^-30, alpha < 1."""
_LOGIT_REACH = 30.0
"""The range of the logits of 1 - beta in which the slide negative binomial model is solved."""


_STIRLING = 50.0
"""From this x on, the first terms of Stirling's series give every digit."""


_LOG_OF_NOTHING = -745.0
"""Below this exponent, exp is zero in floating point."""


_SERIES_FROM = 1e4
"""How many times larger than a sum's length its offset must be for four terms of the series to give every digit."""


_ROUNDING = 1e-9


_NO_RECORDS = "there are no records"


_NO_SINGLES = "no class of the sample holds one record, which is what the model extrapolates from"


_ALL_SINGLES = "every record of the sample is unique, so nothing bounds the model's parameters"


_NO_PAIRS = "no class of the sample holds two records, which is what the model extrapolates from"


_NO_SOLUTION = "the model's equations have no solution for these class sizes"


_NO_CONVERGENCE = "the likelihood has no maximum inside the model's parameter space"


_TOO_MANY = "the estimated number of classes is larger than the population"


@dataclass(frozen=True, slots=True, eq=False)
class UniquesEstimate(Figures):
    """The population uniques that one model estimates.

    Attributes
    ----------
    model
        The model: pitman, zayatz or snb.
    value
        The estimated number of population uniques; None if the model has no answer.
    share
        The same as a share of the population.
    sample_value
        How many records of the sample are population uniques: `pi * value`, because a population unique is in the sample with
        probability pi, and is then a sample unique.
    sample_share
        The same as a share of the sample's records.
    parameters
        The fitted parameters of the model, by name.
    cut
        Whether the model estimated more uniques than the sample allows, so that `value` was cut to s_1 / pi.
    reason
        Why there is no value; None if there is one.
    """

    model: UniquenessModel
    value: float | None
    share: float | None
    sample_value: float | None
    sample_share: float | None
    parameters: dict[str, float] = field(default_factory=dict)
    cut: bool = field(default=False, metadata={"beside": "model"})
    reason: str | None = field(default=None, metadata={"beside": "model"})


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample as input of the models: `times` classes of each of the rising `sizes`, drawn from `population` records."""

    sizes: NDArray[np.int64]
    times: NDArray[np.int64]
    population: int

    @property
    def records(self) -> int:
        """The records of the sample, n."""
        return int(self.sizes @ self.times)

    @property
    def classes(self) -> int:
        """The classes of the sample, u."""
        return int(self.times.sum())

    @property
    def fraction(self) -> float:
        """The share of the population that was sampled, pi."""
        return self.records / self.population

    def of_size(self, size: int) -> int:
        """Return how many classes hold this many records."""
        return int(self.times[self.sizes == size].sum())

    def estimate(self, model: UniquenessModel, value: float, **parameters: float) -> UniquesEstimate:
        """Return a model's number of uniques, cut to the number that the sample allows."""
        if not math.isfinite(value):
            return self.without(model, _NO_CONVERGENCE)
        room = min(self.of_size(1) / self.fraction, float(self.population))
        cut = value > room * (1.0 + _ROUNDING)
        value = min(value, room)
        in_sample = self.fraction * value
        return UniquesEstimate(
            model, value, value / self.population, in_sample, in_sample / self.records, parameters=parameters, cut=cut
        )

    def without(self, model: UniquenessModel, reason: str) -> UniquesEstimate:
        """Return an estimate without a value, with the reason."""
        return UniquesEstimate(model, None, None, None, None, reason=reason)


def dankar_choice(
    sample: Sample, pitman: UniquesEstimate, zayatz: UniquesEstimate, snb: UniquesEstimate
) -> tuple[UniquesEstimate, str]:
    """Return the estimate that the decision rule of Dankar and others picks, and why."""
    if sample.records in (0, sample.population):
        return zayatz, "the sample is the population: nothing is estimated" if sample.records else _NO_RECORDS
    if sample.fraction <= _SMALL_FRACTION:
        if pitman.value is None:
            return zayatz, "the sampling fraction is at most 0.1, but Pitman's model has no answer: Zayatz"
        return pitman, "the sampling fraction is at most 0.1: Pitman"
    if snb.value is None or zayatz.value is None:
        return zayatz, "the sampling fraction is above 0.1, but the slide negative binomial has no answer: Zayatz"
    if zayatz.value < snb.value:
        return zayatz, "the sampling fraction is above 0.1 and Zayatz is below the slide negative binomial: Zayatz"
    return snb, "the sampling fraction is above 0.1 and the slide negative binomial is not above Zayatz: SNB"


def settled(sample: Sample, model: UniquenessModel) -> UniquesEstimate | None:
    """Return the estimate if no model is needed: there are no records, or the sample is the population."""
    if sample.records == 0:
        return sample.without(model, _NO_RECORDS)
    return sample.estimate(model, float(sample.of_size(1))) if sample.records == sample.population else None


def zayatz_uniques(sample: Sample) -> UniquesEstimate:
    """Return Zayatz's estimate, by the chance that a sample unique is a population unique."""
    singles = sample.of_size(1)
    if singles == 0:
        return sample.estimate("zayatz", 0.0)
    chances = _single_draw_chances(sample)
    probability = singles / float(sample.times @ chances)
    return sample.estimate("zayatz", singles * probability / sample.fraction, probability=probability)


def _single_draw_chances(sample: Sample) -> NDArray[np.float64]:
    r"""Return h_j / h_1, the chance that one record of a class of size j is drawn, relative to a class of size one.

    :math:`h_j / h_1 = j \prod_{i=0}^{j-2} (N - n - i) / (N - 1 - i)`; the product is zero when more than N - n are left out.
    """
    unsampled, others = sample.population - sample.records, sample.population - 1
    # every factor is at most the first one: beyond `reach` of them the product is zero in floating point
    first = math.log(unsampled) - math.log(others)
    reach = math.inf if first >= 0.0 else 2.0 + _LOG_OF_NOTHING / first
    longest = int(min(float(sample.sizes[-1]), float(unsampled + 1), reach))
    i = np.arange(longest - 1)
    logs = np.concatenate([[0.0], np.cumsum(np.log((unsampled - i) / (others - i)))])
    inside = sample.sizes <= longest
    chances = np.zeros(len(sample.sizes))
    chances[inside] = sample.sizes[inside] * np.exp(logs[sample.sizes[inside] - 1])
    return chances


def pitman_uniques(sample: Sample) -> UniquesEstimate:
    """Return the uniques under Pitman's superpopulation model, its parameters by maximum likelihood."""
    singles = sample.of_size(1)
    if singles == 0:
        return sample.without("pitman", _NO_SINGLES)
    if singles == sample.records:
        return sample.without("pitman", _ALL_SINGLES)
    fitted = _pitman_parameters(sample)
    if fitted is None:
        return sample.without("pitman", _NO_CONVERGENCE)
    theta, alpha = fitted
    # E(S_1) / N, of which the first factor is theta for alpha = 0
    log_share = _log_gamma_rise(theta + alpha, 1.0 - alpha) - _log_gamma_rise(
        theta + sample.population - 1.0 + alpha, 1.0 - alpha
    )
    return sample.estimate("pitman", sample.population * math.exp(log_share), theta=theta, alpha=alpha)


def _pitman_parameters(sample: Sample) -> tuple[float, float] | None:
    """Return the theta and alpha that maximise the likelihood, or None.

    For a given alpha the likelihood rises in theta, then falls; so theta follows from alpha by one root, and alpha is the
    root of the slope along that path. If the slope is not positive at alpha = 0, the maximum is there: Ewens' formula.
    """
    from scipy.special import digamma

    n, u = sample.records, sample.classes
    sizes, times = sample.sizes.astype(np.float64), sample.times

    def slope(alpha: float) -> float:
        theta = _theta_of(alpha, n, u)
        rise = times @ (digamma(sizes - alpha) - digamma(1.0 - alpha))
        return _sum_of_ratios(theta, alpha, u) - float(rise)

    if slope(0.0) <= 0.0:
        return _theta_of(0.0, n, u), 0.0
    alpha = _root(slope, 0.0, _MOST_ALPHA)
    return None if alpha is None else (_theta_of(alpha, n, u), alpha)


def _theta_of(alpha: float, n: int, u: int) -> float:
    """Return the theta at which the likelihood is highest for this alpha, given n records in 1 < u < n classes."""

    def slope(log_theta: float) -> float:
        start = math.exp(log_theta)
        classes = _harmonic_rise(start / alpha, u - 1) / alpha if alpha > 0.0 else (u - 1) / start
        return classes - _harmonic_rise(start - alpha + 1.0, n - 1)

    # if theta > u n the slope is below zero, as sum 1/(theta + i alpha) < (u-1)/theta and sum 1/(theta + i) > (n-1)/(theta+n)
    root = _root(slope, _LEAST_LOG_THETA, math.log(u * float(n) + 2.0))
    return math.nan if root is None else math.exp(root) - alpha


def _sum_of_ratios(theta: float, alpha: float, u: int) -> float:
    """Return the sum of i / (theta + i alpha) for i from 1 to u - 1."""
    last = u - 1.0
    if abs(theta) < _SERIES_FROM * alpha * u:
        x = theta / alpha
        return (last - x * _harmonic_rise(x + 1.0, u - 1)) / alpha
    # theta is far above every i alpha: a short series in place of a difference of large numbers
    sums = (
        last * u / 2.0,
        last * u * (2.0 * u - 1.0) / 6.0,
        (last * u / 2.0) ** 2,
        last * u * (2.0 * u - 1.0) * (3.0 * last * last + 3.0 * last - 1.0) / 30.0,
    )
    ratio = -alpha / theta
    return sum(total * ratio**power for power, total in enumerate(sums)) / theta


def snb_uniques(sample: Sample) -> UniquesEstimate:
    """Return the uniques under the slide negative binomial model of Chen and McNulty."""
    singles, pairs = sample.of_size(1), sample.of_size(2)
    if singles == 0:
        return sample.without("snb", _NO_SINGLES)
    if pairs == 0:
        return sample.without("snb", _NO_PAIRS)
    classes = _shlosser(sample)
    if classes > sample.population:
        return sample.without("snb", _TOO_MANY)
    solved = _snb_parameters(singles, pairs, classes, sample.fraction)
    if solved is None:
        return sample.without("snb", _NO_SOLUTION)
    alpha, beta = solved
    value = classes * math.exp(alpha * math.log(beta))
    return sample.estimate("snb", value, classes=classes, alpha=alpha, beta=beta)


def _shlosser(sample: Sample) -> float:
    r"""Return the number of classes in the population by the modified estimator of Shlosser.

    .. math:: u + s_1 \frac{\sum_j j \pi^2 (1 - \pi^2)^{j-1} s_j}{\sum_j (1 - \pi)^j ((1 + \pi)^j - 1) s_j}
        \left(\frac{\sum_j (1 - \pi)^j s_j}{\sum_j j \pi (1 - \pi)^{j-1} s_j}\right)^2
    """
    pi, sizes, times = sample.fraction, sample.sizes.astype(np.float64), sample.times
    left, left_twice = math.log1p(-pi), math.log1p(-pi) + math.log1p(pi)
    missed = np.exp(sizes * left)
    once_of_two = times @ (sizes * pi**2 * np.exp((sizes - 1.0) * left_twice))
    # exp(a) (1 - exp(b - a)) keeps the digits of a small difference
    not_of_two = times @ (np.exp(sizes * left_twice) * -np.expm1(-sizes * math.log1p(pi)))
    once = times @ (sizes * pi * np.exp((sizes - 1.0) * left))
    return float(sample.classes + sample.of_size(1) * once_of_two / not_of_two * (times @ missed / once) ** 2)


def _snb_parameters(singles: float, pairs: float, classes: float, pi: float) -> tuple[float, float] | None:
    """Return the alpha and beta of the slide negative binomial that expects these singles and pairs, or None.

    The quotient of the two equations is free of K and quadratic in alpha, so that alpha follows from beta and the first
    equation alone remains, in one unknown.
    """

    def parameters(logit: float) -> tuple[float, float]:
        """Return alpha and the odds (1 - beta) / beta."""
        odds = math.exp(logit)
        x = (1.0 - pi) * odds / (1.0 + odds)
        target = 2.0 * pairs / singles * (1.0 - x) * (1.0 + odds) / (pi * odds)
        # alpha (2 + w) / (1 + w) = target with w = (alpha - 1) x, which rises in alpha: the one positive root
        half = (2.0 - x - target * x) / 2.0
        root = math.sqrt(half * half + x * target * (1.0 - x))
        return (target * (1.0 - x) / (half + root) if half > 0.0 else (root - half) / x), odds

    def excess(logit: float) -> float:
        """Return the logarithm of the ratio of expected to observed singles, which falls with the logit."""
        alpha, odds = parameters(logit)
        # D / beta = 1 + pi odds and x / D = (1 - pi) odds / (1 + pi odds)
        expected = math.log(classes * pi / singles) - alpha * math.log1p(pi * odds)
        return expected + math.log1p(alpha * (1.0 - pi) * odds / (1.0 + pi * odds))

    logit = _root(excess, -_LOGIT_REACH, _LOGIT_REACH)
    if logit is None:
        return None
    alpha, odds = parameters(logit)
    return alpha, 1.0 / (1.0 + odds)


def _root(function: Callable[[float], float], low: float, high: float) -> float | None:
    """Return the root of a function that is positive at `low` and negative at `high`; None if it is not."""
    from scipy.optimize import brentq

    if not (function(low) >= 0.0 >= function(high)):
        return None
    return float(brentq(function, low, high, xtol=1e-13, rtol=1e-14, maxiter=200, disp=False))


def _harmonic_rise(x: float, terms: int) -> float:
    """Return 1/x + 1/(x + 1) + ..., this many terms, for x > 0: a difference of digamma functions."""
    if x < _STIRLING:
        from scipy.special import digamma

        return float(digamma(x + terms) - digamma(x))
    y = x + terms
    tail = 0.5 * (1.0 / x - 1.0 / y) + (x**-2 - y**-2) / 12.0 - (x**-4 - y**-4) / 120.0 + (x**-6 - y**-6) / 252.0
    return math.log1p(terms / x) + tail


def _log_gamma_rise(x: float, step: float) -> float:
    """Return log(Gamma(x + step) / Gamma(x)) for x > 0, without the loss of digits of a difference of large logarithms."""
    if x < _STIRLING:
        return math.lgamma(x + step) - math.lgamma(x)
    y = x + step
    tail = (1.0 / y - 1.0 / x) / 12.0 - (y**-3 - x**-3) / 360.0 + (y**-5 - x**-5) / 1260.0
    return (y - 0.5) * math.log1p(step / x) + step * math.log(x) - step + tail
