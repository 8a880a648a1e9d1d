r"""Within which bounds does the population's Discrimination Rate lie? A confidence interval that allows for sparse classes.

The records are taken as a random sample of a population in which the key has the rate :math:`\theta`. The measured rate D lies
above it by a bias b: classes of few records look purer than they are. How large b is depends on the rate and on the shape of
the dependence, which a sparse table does not show. But it has bounds. If the key tells nothing, b is known: the rate that random
relabelling gives, :math:`b_0`. Among populations with the same rate,

- b is largest if every class leaves the same uncertainty (each mixes a common distribution with one value of its
  own), or if the small classes leave all of it. It follows from the binomial distribution, class size by class size.
- b is smallest if some classes tell nothing and the others everything, :math:`b = (1 - \theta) b_0`, or less if the small
  classes tell everything; or if a class leaves few values, equally likely, whose bias is small for what they leave uncertain.

So the interval runs from the :math:`\theta` that explains :math:`D - z s` with the largest bias to the one that explains
:math:`D + z s` with the smallest, s being the standard error by the delta method. Nothing is resampled or drawn.
Its coverage is simulated in `benchmarks/coverage.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.counts import summed
from unveil.measures.entropy import entropy_bits, expected_information_bits
from unveil.results import Figures

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.counts import Classes, Counts, Split

__all__ = ["Interval", "interval_of", "rate_interval"]

_FEWEST_PER_CLASS = 3
_FEWEST_PER_VALUE = 20
"""Records per class of the key, and per sensitive value, below which coverage was not measured."""
_LARGE_CLASS = 200
"""From this size on, the bias of a class is that of Miller and Madow."""
_MOST_GROUPS = 24
"""The most groups that class sizes, and shares of sensitive values, are put into, on a logarithmic scale."""
_MIXTURES = np.linspace(0.0, 1.0, 9)
"""The share of a class that holds the class's own value, in the populations with the largest bias."""
_RATES = 201
"""The rates between which the bias is interpolated linearly."""
_TINY = 1e-300
_LN2 = float(np.log(2.0))


@dataclass(frozen=True, slots=True, eq=False)
class Interval(Figures):
    """A confidence interval of a figure."""

    low: float
    high: float
    confidence: float


@dataclass(frozen=True, slots=True)
class _Groups:
    """Values in groups: the mean of each group, and how many values it holds."""

    mean: NDArray[np.float64]
    times: NDArray[np.float64]

    @classmethod
    def of(cls, values: NDArray[Any], most: int) -> _Groups:
        held, times = np.unique(values, return_counts=True)
        if len(held) > most:
            scale = np.log(held / held[0])
            at = np.minimum((scale / scale[-1] * most).astype(np.int64), most - 1)
            count, total = np.bincount(at, weights=times), np.bincount(at, weights=times * held)
            some = count > 0
            return cls(total[some] / count[some], count[some].astype(np.float64))
        return cls(held.astype(np.float64), times.astype(np.float64))


def interval_of(split: Split, rate: float, confidence: float) -> tuple[Interval | None, str | None]:
    """Return the interval of the rate of a count table, given its known and hidden columns, or the reason why there is none."""
    keys, sensitive, counts = split.known, split.hidden, split.counts
    if sensitive is None:
        return None, None
    if reason := _refused(counts, keys, sensitive):
        return None, reason
    return rate_interval(keys, sensitive, counts.n, rate=rate, confidence=confidence), None


def _refused(counts: Counts, keys: Classes, sensitive: Classes) -> str | None:
    """Return the reason why an interval could not be trusted; None if it can."""
    if counts.weight is not None:
        return "with weights the records are not a simple random sample, and how far they are from one is not known"
    if counts.records < _FEWEST_PER_CLASS * keys.number:
        return _too_few(
            counts.records, keys.number, "classes of the key", _FEWEST_PER_CLASS, "name fewer or coarser key attributes"
        )
    if counts.records < _FEWEST_PER_VALUE * sensitive.number:
        return _too_few(
            counts.records, sensitive.number, "sensitive values", _FEWEST_PER_VALUE, "partition the sensitive attribute"
        )
    return None


def rate_interval(
    keys: Classes,
    sensitive: Classes,
    n: NDArray[np.int64],
    *,
    rate: float,
    confidence: float,
    most_groups: int = _MOST_GROUPS,
) -> Interval:
    """Return the interval of a rate from the cells of a count table.

    Parameters
    ----------
    keys, sensitive
        The classes of the key and of the sensitive attribute over the same cells.
    n
        The records of each cell.
    rate
        The measured rate.
    confidence
        The least share of samples whose interval contains the population's rate, as far as this was measured.
    most_groups
        The most groups that class sizes, and shares of sensitive values, are put into.

    References
    ----------
    .. [1] Miller (1955), Note on the bias of information estimates, Information theory in psychology, 95-100.
    .. [2] Paninski (2003), Estimation of entropy and mutual information, Neural computation 15(6), 1191-1253.
    """
    entropy = entropy_bits(sensitive.mass)
    by_chance = expected_information_bits(keys.n, sensitive.n) / entropy
    reach = NormalDist().inv_cdf(0.5 + confidence / 2.0) * _standard_error(keys, sensitive, n, max(0.0, rate - by_chance))
    shares = sensitive.n / sensitive.n.sum()
    theta = np.linspace(0.0, 1.0, _RATES)
    bias = _Bias(theta, keys.n, entropy, most_groups)
    most = np.maximum(bias.even(shares), bias.uneven(shares, smallest=False))
    scale = by_chance / max(float(most[0]), _TINY)  # b_0 is for records drawn without replacement; the curves are with
    most = np.maximum(most, bias.even(np.full_like(shares, 1.0 / len(shares))))
    least = np.minimum(bias.few_values(shares), bias.uneven(shares, smallest=True))
    low = float(np.interp(rate - reach, np.maximum.accumulate(theta + most * scale), theta))
    high = float(np.interp(rate + reach, np.maximum.accumulate(theta + least * scale), theta))
    return Interval(min(low, high), high, confidence)


def _too_few(records: int, count: int, what: str, fewest: int, hint: str) -> str:
    return (
        f"{records:,} records are too few for {count:,} {what}: an interval needs {fewest} for each, since with fewer "
        f"nothing is known about how often it holds; {hint}"
    )


def _standard_error(keys: Classes, sensitive: Classes, n: NDArray[np.int64], rate: float) -> float:
    r"""Return the standard error of the rate by the delta method.

    A record (x, y) moves the rate by :math:`(\log_2 p(x|y) - (1 - DR) \log_2 p(x)) / H(X)`, and the standard error is the
    standard deviation of that, divided by the root of the number of records. So that a pure class does not count as certain, one
    record is added to every class for :math:`p(x|y)`, distributed like the sensitive values of the whole. The values absent from
    a class are handled through those of the whole.
    """
    share = sensitive.n / sensitive.n.sum()
    bits = -np.log2(share)
    entropy = float(share @ bits)
    size = keys.n + 1.0
    own, of_class, value = share[sensitive.of_cell], keys.of_cell, bits[sensitive.of_cell]
    p = (n + own) / size[of_class]
    held = -np.log2(p) - (1.0 - rate) * value
    unseen = rate * value + np.log2(size)[of_class]
    log_size = np.log2(size)
    whole = (rate * entropy + log_size, rate**2 * float(share @ bits**2) + 2.0 * rate * entropy * log_size + log_size**2)
    moments = [
        float(keys.n @ (whole[power - 1] / size + _per_class(keys, p * held**power - own / size[of_class] * unseen**power)))
        for power in (1, 2)
    ]
    records = float(keys.n.sum())
    mean, square = moments[0] / records, moments[1] / records
    return float(np.sqrt(max(0.0, square - mean**2) / records) / entropy)


def _per_class(keys: Classes, terms: NDArray[np.float64]) -> NDArray[np.float64]:
    return summed(keys.of_cell, terms, keys.number)


@dataclass(frozen=True, slots=True, eq=False)
class _Bias:
    """The bias of the measured rate for populations with these rates, under several assumptions about their classes.

    Attributes
    ----------
    theta
        The rates of the populations.
    sizes
        The size of every class.
    entropy
        The entropy of the sensitive attribute, in bits.
    most_groups
        The most groups that sizes and shares are put into.
    """

    theta: NDArray[np.float64]
    sizes: NDArray[np.int64]
    entropy: float
    most_groups: int = _MOST_GROUPS

    def even(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the bias if all classes mix the same shares with one value of their own."""
        groups = _Groups.of(shares, self.most_groups)
        others = np.outer(1.0 - _MIXTURES, groups.mean)
        own = np.minimum(1.0, others + _MIXTURES[:, None])
        # a class whose own value is v has the terms of `others`, but for v that of `own`; v is drawn as the sensitive values are
        weight = groups.times * groups.mean
        uncertain = _term_bits(others) @ groups.times + (_term_bits(own) - _term_bits(others)) @ weight
        bias_of_others = self._missing(others.ravel()).reshape(others.shape)
        bias_of_own = self._missing(own.ravel()).reshape(own.shape)
        bias = (bias_of_others @ groups.times + (bias_of_own - bias_of_others) @ weight) / self.entropy
        return np.interp(self.theta, 1.0 - uncertain / self.entropy, bias)

    def uneven(self, shares: NDArray[np.float64], *, smallest: bool) -> NDArray[np.float64]:
        """Return the bias if the smallest classes, or the largest, tell everything and the others nothing.

        Bias comes from small classes. But a class may be small by chance: sizes that vary no more than they would by chance do
        not show which classes are small in the population; all are then taken to be alike.
        """
        sizes, theta = self.sizes, self.theta
        groups, held = _Groups.of(sizes, self.most_groups), _Groups.of(shares, self.most_groups)
        order = np.argsort(groups.mean) if smallest else np.argsort(-groups.mean)
        mass = groups.mean * groups.times / float(sizes.sum())
        of_size = np.array(
            [_missing_bits(np.array([size]), held.mean) @ held.times for size in np.rint(groups.mean).astype(np.int64)]
        )
        bias = mass * of_size / self.entropy
        cumulated = np.concatenate([[0.0], np.cumsum(mass[order])])
        left = np.concatenate([[0.0], np.cumsum(bias[order])])
        varied = max(0.0, 1.0 - float(sizes.mean()) / max(float(sizes.var()), _TINY))
        total = float(bias.sum())
        return np.asarray((1.0 - varied) * (1.0 - theta) * total + varied * (total - np.interp(theta, cumulated, left)))

    def few_values(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the bias if classes tell nothing, or leave a few values, equally likely, or tell everything."""
        held, entropy = _Groups.of(shares, self.most_groups), self.entropy
        nothing = float(self._missing(held.mean) @ held.times) / entropy
        few = np.unique(np.geomspace(2.0, max(2.0, 2.0**entropy), _MIXTURES.size).round())[::-1]
        uncertain = np.log2(few)
        uncertain[-1] = min(1.0, 2.0 * (1.0 - float(shares.max())))  # classes of two values, as many as the shares allow
        bias = few * self._missing(1.0 / few) / np.log2(few) * uncertain / entropy
        rates = 1.0 - uncertain / entropy
        inside = rates > 0.0
        corners, least = rates[inside], np.minimum(bias[inside], (1.0 - rates[inside]) * nothing)
        return np.asarray(np.interp(self.theta, [0.0, *corners, 1.0], [nothing, *least, 0.0]))

    def _missing(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        return _missing_bits(self.sizes, p, self.most_groups)


def _missing_bits(sizes: NDArray[np.int64], p: NDArray[np.float64], most_groups: int = _MOST_GROUPS) -> NDArray[np.float64]:
    r"""Return by how much the plug-in estimate falls short of :math:`-p \log_2 p`, on average over the records of the classes.

    In a class of s records the value is seen k times, k binomial with s and p, and :math:`-k/s \log_2 k/s` is taken for it.
    """
    term = _term_bits(p)
    large = sizes >= _LARGE_CLASS
    missing = np.minimum((1.0 - p) / (2.0 * _LN2) * np.count_nonzero(large), term * float(sizes[large].sum()))
    none = _Groups(np.empty(0), np.empty(0))
    groups = none if bool(large.all()) else _Groups.of(sizes[~large], most_groups)
    for size, times in zip(np.rint(groups.mean).astype(np.int64).tolist(), (groups.mean * groups.times).tolist(), strict=True):
        missing += times * (term - _expected_bits(size, p))
    return missing / float(sizes.sum())


def _expected_bits(size: int, p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the expected plug-in term of values of these shares, in a class of this many records."""
    from scipy.special import gammaln, xlog1py, xlogy

    k = np.arange(1, size)  # a value that every record holds, or none, has the term zero
    log_ways = gammaln(size + 1) - gammaln(k + 1) - gammaln(size - k + 1)
    chance = np.exp(log_ways + xlogy(k, p[:, None]) + xlog1py(size - k, -p[:, None]))
    return np.asarray(chance @ _term_bits(k / size))


def _term_bits(p: NDArray[np.float64]) -> NDArray[np.float64]:
    from scipy.special import entr

    return np.asarray(entr(p) / _LN2)
