"""How many people would be alone in the population? Estimates from the class sizes of a sample.

A record that is unique in a sample is unique in the population too only where nobody outside the sample shares its key.
Three models of the population's class sizes answer how often that is so, and Dankar's rule chooses between them.

Notation: a sample of n records, drawn at random from a population of N, falls into u classes; s_j of them hold j records.
The sampling fraction is pi = n / N. S_1, the number of classes of one record in the population, is what is estimated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from unveil.errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "PopulationUniqueness",
    "UniquenessModel",
    "UniquesEstimate",
    "checked_sampling_fraction",
    "checked_sizes",
    "population_uniqueness",
]

UniquenessModel: TypeAlias = Literal["pitman", "zayatz", "snb"]

_SMALL_FRACTION = 0.1
"""Up to this sampling fraction Dankar's rule trusts Pitman's model."""
_LEAST_LOG_THETA, _MOST_ALPHA = -30.0, 1.0 - 1e-10
"""How near the border of Pitman's parameter space the maximum is sought: theta + alpha > e^-30, alpha < 1."""
_LOGIT_REACH = 30.0
"""The logits of 1 - beta among which the slide negative binomial is solved."""
_STIRLING = 50.0
"""From here on the first terms of Stirling's series give every digit."""
_LOG_OF_NOTHING = -745.0
"""exp of less than this is zero."""
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


@dataclass(frozen=True, slots=True)
class UniquesEstimate:
    """The population uniques that one model sees.

    Attributes
    ----------
    model
        The model: pitman, zayatz or snb.
    value
        The estimated number of population uniques; None where the model has no answer.
    share
        The same as a share of the population.
    sample_value
        How many records of the sample are population uniques: `pi * value`, as a population unique is in the sample with
        probability pi, and is a sample unique there.
    sample_share
        The same as a share of the sample's records.
    parameters
        The fitted parameters of the model, by name.
    cut
        Whether the model saw more uniques than the sample leaves room for, so that `value` was cut to s_1 / pi.
    reason
        Why there is no value; None where there is one.
    """

    model: UniquenessModel
    value: float | None
    share: float | None
    sample_value: float | None
    sample_share: float | None
    parameters: dict[str, float] = field(default_factory=dict)
    cut: bool = False
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {
            "model": self.model,
            "value": self.value,
            "share": self.share,
            "sample_value": self.sample_value,
            "sample_share": self.sample_share,
            "parameters": dict(self.parameters),
            "cut": self.cut,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class PopulationUniqueness:
    """The population uniques that each model sees, and the model that Dankar's rule chooses.

    Attributes
    ----------
    records, classes, sample_uniques
        The sample: its records, their classes, and the classes of one record.
    population, sampling_fraction
        N, and n / N.
    pitman, zayatz, snb
        The estimate of each model.
    dankar
        The estimate that the rule chooses: one of the three above.
    decision
        Why it chose so.
    """

    records: int
    classes: int
    sample_uniques: int
    population: int
    sampling_fraction: float
    pitman: UniquesEstimate
    zayatz: UniquesEstimate
    snb: UniquesEstimate
    dankar: UniquesEstimate
    decision: str

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {
            "records": self.records,
            "classes": self.classes,
            "sample_uniques": self.sample_uniques,
            "population": self.population,
            "sampling_fraction": self.sampling_fraction,
            "pitman": self.pitman.to_dict(),
            "zayatz": self.zayatz.to_dict(),
            "snb": self.snb.to_dict(),
            "dankar": self.dankar.to_dict(),
            "decision": self.decision,
        }


@dataclass(frozen=True, slots=True)
class _Sample:
    """A sample as the models see it: `times` classes of each of the rising `sizes`, drawn from `population` records."""

    sizes: NDArray[np.int64]
    times: NDArray[np.int64]
    population: int

    @property
    def records(self) -> int:
        return int(self.sizes @ self.times)

    @property
    def classes(self) -> int:
        return int(self.times.sum())

    @property
    def fraction(self) -> float:
        return self.records / self.population

    def of_size(self, size: int) -> int:
        return int(self.times[self.sizes == size].sum())

    def estimate(self, model: UniquenessModel, value: float, **parameters: float) -> UniquesEstimate:
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
        return UniquesEstimate(model, None, None, None, None, reason=reason)


def population_uniqueness(
    class_sizes: ArrayLike, *, population: int | None = None, sampling_fraction: float | None = None
) -> PopulationUniqueness:
    r"""Estimate how many records are unique in the population, from the sizes of the classes of a sample.

    **Pitman** [1]_. The class sizes follow Pitman's sampling formula; its parameters maximise

    .. math:: \sum_{i=1}^{u-1} \log(\theta + i\alpha) - \sum_{i=1}^{n-1} \log(\theta + i)
        + \sum_j s_j \sum_{i=1}^{j-1} \log(i - \alpha), \qquad 0 \le \alpha < 1, \; \theta > -\alpha

    and the expected number of uniques among N records is

    .. math:: E(S_1) = N \frac{\Gamma(\theta + 1)}{\Gamma(\theta + \alpha)}
        \frac{\Gamma(\theta + N - 1 + \alpha)}{\Gamma(\theta + N)}
        \approx \frac{\Gamma(\theta + 1)}{\Gamma(\theta + \alpha)} N^\alpha

    of which the exact form is used here; ARX gives the approximation, which is a little higher. An estimate above
    :math:`s_1 / \pi` contradicts the sample, in which every population unique that was drawn is alone, and is cut to it.
    That happens where the classes are far more even than the formula knows.

    **Zayatz** [2]_. The shares :math:`p_j = s_j / u` of the class sizes are taken over from the sample, and Bayes' rule gives
    the probability that a sample unique is a population unique:

    .. math:: P = \frac{p_1 h_1}{\sum_j p_j h_j}, \qquad h_j = j \binom{N - j}{n - 1} \Big/ \binom{N}{n},
        \qquad S_1 = s_1 P / \pi

    **Slide negative binomial** [3]_. A population class holds one record more than a negative binomial number, so that
    :math:`P(F = j) = \binom{\alpha + j - 2}{j - 1} (1 - \beta)^{j - 1} \beta^\alpha`. With K classes in the population,
    :math:`x = (1 - \pi)(1 - \beta)` and :math:`D = 1 - x`, each record drawn with probability pi,

    .. math:: s_1 = K \pi (\beta / D)^\alpha (1 + \alpha x / D), \qquad
        s_2 = K \pi^2 \alpha (1 - \beta) \beta^\alpha (2 + (\alpha - 1) x) / (2 D^{\alpha + 2})

    are solved for alpha and beta, with K from the modified estimator of Shlosser [4]_; then :math:`S_1 = K \beta^\alpha`.
    There is one solution or none.

    **Dankar's rule** [5]_. With a sampling fraction of at most 0.1, Pitman; above, the smaller of Zayatz and SNB. Where the
    model it asks for has no answer, Zayatz stands in, as in ARX.

    Parameters
    ----------
    class_sizes
        The records in each class of the sample, all at least one.
    population, sampling_fraction
        The number of records in the population, or the share of it that was sampled: one of the two.

    Returns
    -------
    PopulationUniqueness
        An estimate a model. One without an answer has the value None and says why. With a sampling fraction of one nothing
        is estimated: every model gives the sample's uniques.

    Raises
    ------
    ArgumentError
        If the sampling fraction is outside (0, 1], the population is smaller than the sample, or a class size is below one.

    Notes
    -----
    More is more disclosure; shares lie between 0 and 1. The models suppose a simple random sample. They say little of a
    sample that was made k-anonymous: its class sizes are no longer those of a draw.

    References
    ----------
    .. [1] Hoshino (2001), Applying Pitman's sampling formula to microdata disclosure risk assessment, Journal of Official
       Statistics 17(4), 499-520.
    .. [2] Zayatz (1991), Estimation of the percent of unique population elements on a microdata file using the sample,
       Statistical Research Division Report 91/08, US Bureau of the Census.
    .. [3] Chen, Keller-McNulty (1998), Estimation of identification disclosure risk in microdata, Journal of Official
       Statistics 14(1), 79-95.
    .. [4] Haas, Stokes (1998), Estimating the number of classes in a finite population, Journal of the American
       Statistical Association 93(444), 1475-1487.
    .. [5] Dankar, El Emam, Neisa, Roffey (2012), Estimating the re-identification risk of clinical data sets, BMC Medical
       Informatics and Decision Making 12:66.

    Examples
    --------
    >>> result = population_uniqueness([1] * 60 + [2] * 20 + [5] * 10, sampling_fraction=0.05)
    >>> result.population, round(result.dankar.share, 3), result.dankar.model
    (3000, 0.051, 'pitman')
    """
    sizes = checked_sizes(class_sizes, "class_sizes")
    held, times = np.unique(sizes, return_counts=True)
    records = int(sizes.sum())
    sample = _Sample(held, times, _population_size(records, population, sampling_fraction))
    pitman = _settled(sample, "pitman") or _pitman(sample)
    zayatz = _settled(sample, "zayatz") or _zayatz(sample)
    snb = _settled(sample, "snb") or _snb(sample)
    dankar, decision = _dankar(sample, pitman, zayatz, snb)
    return PopulationUniqueness(
        records=records,
        classes=sample.classes,
        sample_uniques=sample.of_size(1),
        population=sample.population,
        sampling_fraction=sample.fraction if records else 0.0,
        pitman=pitman,
        zayatz=zayatz,
        snb=snb,
        dankar=dankar,
        decision=decision,
    )


def checked_sampling_fraction(sampling_fraction: float) -> float:
    """Return the sampling fraction, or refuse one that no sample can have."""
    if not 0.0 < sampling_fraction <= 1.0:
        raise ArgumentError(
            f"a sampling fraction of {sampling_fraction} is impossible; it lies above 0 and is at most 1, which is the "
            "whole population."
        )
    return float(sampling_fraction)


def checked_sizes(sizes: ArrayLike, name: str) -> NDArray[np.int64]:
    """Return class sizes as integers, or refuse them where one is below one or not whole."""
    given = np.asarray(sizes)
    if given.ndim != 1:
        raise ArgumentError(f"{name} must be a list of class sizes, not an array of {given.ndim} dimensions.")
    if given.size == 0:
        return np.zeros(0, dtype=np.int64)
    if given.dtype.kind not in "iuf":
        raise ArgumentError(f"{name} must hold numbers of records.")
    wrong = int(np.count_nonzero(~((given >= 1) & (given < 2.0**62) & (np.floor(given) == given))))
    if wrong:
        raise ArgumentError(f"{name} must hold whole numbers of at least one record; {wrong:,} are not.")
    return given.astype(np.int64)


def _population_size(records: int, population: int | None, sampling_fraction: float | None) -> int:
    if (population is None) == (sampling_fraction is None):
        raise ArgumentError("give either the size of the population or the sampling fraction.")
    if sampling_fraction is not None:
        return max(records, round(records / checked_sampling_fraction(sampling_fraction)))
    if population is None or not math.isfinite(population) or population < records or population < 1:
        raise ArgumentError(
            f"a population of {population} is smaller than its sample of {records:,} records; give the number of people "
            "that the sample was drawn from."
        )
    return round(population)


def _dankar(
    sample: _Sample, pitman: UniquesEstimate, zayatz: UniquesEstimate, snb: UniquesEstimate
) -> tuple[UniquesEstimate, str]:
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


def _settled(sample: _Sample, model: UniquenessModel) -> UniquesEstimate | None:
    """Return the answer that needs no model: there are no records, or the sample is the population."""
    if sample.records == 0:
        return sample.without(model, _NO_RECORDS)
    return sample.estimate(model, float(sample.of_size(1))) if sample.records == sample.population else None


def _zayatz(sample: _Sample) -> UniquesEstimate:
    singles = sample.of_size(1)
    if singles == 0:
        return sample.estimate("zayatz", 0.0)
    chances = _single_draw_chances(sample)
    probability = singles / float(sample.times @ chances)
    return sample.estimate("zayatz", singles * probability / sample.fraction, probability=probability)


def _single_draw_chances(sample: _Sample) -> NDArray[np.float64]:
    r"""Return h_j / h_1, the chance that one record of a class of size j is drawn, against that of a class of size one.

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


def _pitman(sample: _Sample) -> UniquesEstimate:
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


def _pitman_parameters(sample: _Sample) -> tuple[float, float] | None:
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

    # where theta > u n the slope is below zero, as sum 1/(theta + i alpha) < (u-1)/theta and sum 1/(theta + i) > (n-1)/(theta+n)
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


def _snb(sample: _Sample) -> UniquesEstimate:
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


def _shlosser(sample: _Sample) -> float:
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
        """Return the logarithm of the singles expected over those there are, which falls in the logit."""
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
    """Return where a function that is above zero at `low` and below at `high` is zero, or None where it is not so."""
    from scipy.optimize import brentq

    if not (function(low) >= 0.0 >= function(high)):
        return None
    return float(brentq(function, low, high, xtol=1e-13, rtol=1e-14, maxiter=200, disp=False))


def _harmonic_rise(x: float, terms: int) -> float:
    """Return 1/x + 1/(x + 1) + ..., so many terms, for x > 0: a difference of digamma functions."""
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
