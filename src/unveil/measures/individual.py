"""How likely is it that a given record is matched with its owner? The risk of a class of records, a record, a household.

A class of records that share their key holds f records of the sample and F of the population. If F is known, the risk is f / F;
if only sampling weights are known, their sum estimates F and the risk is an expectation over the possible F. More is more
disclosure; every risk lies between 0 and 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from unveil.counts import group, places_among
from unveil.errors import ArgumentError, CountsError, listed
from unveil.measures.population import checked_sizes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from unveil.counts import Counts

__all__ = [
    "UNDERSTATES",
    "HouseholdRisk",
    "IndividualRisk",
    "RiskMethod",
    "SimpleUniqueness",
    "approximated",
    "household_risk",
    "individual_risk",
    "population_sizes",
    "simple_uniqueness",
]

UNDERSTATES = (
    "understates: for samples of 2, 10 and 30 % of Adult by age, education, sex, race and native country it gave 0.29, 0.52 "
    "and 0.73 of the true number of correct matches, the log-linear model 1.04, 1.05 and 1.02"
)
"""A note on how far the individual risk from weights, and the figures derived from it, were found to understate the truth."""

RiskMethod: TypeAlias = Literal["exact", "approximate"]

_METHODS: tuple[RiskMethod, ...] = ("exact", "approximate")
_CLOSED_UP_TO = 3
"""Up to this class size the approximate method uses the closed form, which is exact."""
_LARGE_CLASS, _LARGE_FRACTION = 32, 0.5
"""From this class size or this p on, the series needs few terms; below, the recurrence is stable."""
_NEGLIGIBLE = 1e-17
_ROUNDING = 1e-9
"""Because of rounding, a sum of weights may fall short of the number of records by this relative amount."""


@dataclass(frozen=True, slots=True, eq=False)
class IndividualRisk:
    """The risk of every record of a sample, by class.

    Attributes
    ----------
    sample, population
        f and F for each class.
    risk
        The risk of each record of the class.
    method
        exact or approximate.
    records
        The number of records of the sample.
    expected
        The expected number of re-identifications: the sum of the records' risks.
    rate
        The same as a share of the records; None if there are none.
    highest
        The highest risk of a record; None if there are none.
    """

    sample: NDArray[np.int64]
    population: NDArray[np.float64]
    risk: NDArray[np.float64]
    method: RiskMethod
    records: int
    expected: float
    rate: float | None
    highest: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {
            "method": self.method,
            "records": self.records,
            "expected": self.expected,
            "rate": self.rate,
            "highest": self.highest,
            "sample": self.sample.tolist(),
            "population": self.population.tolist(),
            "risk": self.risk.tolist(),
        }


@dataclass(frozen=True, slots=True, eq=False)
class HouseholdRisk:
    """The risk that at least one member of a record's household is re-identified, for every record.

    Attributes
    ----------
    risk
        The household's risk, for each record.
    records, households
        The number of each.
    expected
        The expected number of records in households of which a member is re-identified.
    rate
        The same as a share of the records; None if there are none.
    highest
        The highest risk of a household; None if there are none.
    """

    risk: NDArray[np.float64]
    records: int
    households: int
    expected: float
    rate: float | None
    highest: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {
            "records": self.records,
            "households": self.households,
            "expected": self.expected,
            "rate": self.rate,
            "highest": self.highest,
            "risk": self.risk.tolist(),
        }


@dataclass(frozen=True, slots=True, eq=False)
class SimpleUniqueness:
    """The uniqueness of a sample's records, counted in a known population.

    Attributes
    ----------
    sample, population
        f and F of each class of the sample.
    risk
        f / F of each class.
    records, classes
        The numbers of records and of classes of the sample.
    sample_uniques
        The number of classes of one record in the sample, f = 1.
    population_uniques
        The number of those that also hold one record in the population, F = 1.
    share
        The share of the sample uniques that are population uniques; None if there are no sample uniques.
    """

    sample: NDArray[np.int64]
    population: NDArray[np.int64]
    risk: NDArray[np.float64]
    records: int
    classes: int
    sample_uniques: int
    population_uniques: int
    share: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {
            "records": self.records,
            "classes": self.classes,
            "sample_uniques": self.sample_uniques,
            "population_uniques": self.population_uniques,
            "share": self.share,
            "sample": self.sample.tolist(),
            "population": self.population.tolist(),
            "risk": self.risk.tolist(),
        }


def individual_risk(sample: ArrayLike, population: ArrayLike, *, method: RiskMethod = "exact") -> IndividualRisk:
    r"""Return the individual risk of Benedetti and Franconi: the expected value of 1 / F given f, for each class.

    Given f, the unknown F is taken as negative binomial: :math:`P(F = h) = \binom{h-1}{f-1} p^f (1-p)^{h-f}` for
    :math:`h \ge f`, with p = f / (sum of the class's weights). Then

    .. math:: E(1/F \mid f) = \frac{p^f}{f} \, {}_2F_1(f, f; f + 1; 1 - p) = \frac{p}{f} \, {}_2F_1(1, 1; f + 1; 1 - p)

    which with :math:`o = p / (1 - p)` and :math:`L = \log(1/p)` is

    .. math:: r_1 = o L, \qquad r_2 = o (1 - r_1), \qquad r_3 = o (\tfrac12 - r_2), \qquad r_f = o (\tfrac1{f-1} - r_{f-1})

    The exact method sums the second form's series, of positive terms, when it is short (p at least 1/2, or f large) and
    uses the recurrence elsewhere, where it loses no digits. The approximate method uses, as is usual, the closed forms up to
    f = 3 and :math:`p / (f - (1 - p))` above, which is never below the exact value.

    Parameters
    ----------
    sample
        f: the records of each class in the sample.
    population
        F: the sum of the sampling weights in each class, at least f.
    method
        exact or approximate.

    Raises
    ------
    ArgumentError
        If a class has less weight than records, or a weight that is not finite; if the two differ in length.

    Notes
    -----
    The estimate is too low. The sum of the weights of a class estimates F well only if the class is large. A class of one record
    of weight 50 may well be alone, and the model does not know that keys are sparse. For samples of 2, 10 and 30 % of Adult by
    five columns the expected number of re-identifications was 0.29, 0.52 and 0.73 of the truth, by seven columns 0.15, 0.41 and
    0.66; `loglinear_uniqueness` gave 1.02 to 1.05 and 1.11 to 1.26 of it.

    Linear in the number of classes. sdcMicro's `indivRisk` uses its approximation for f = 3 too, and its `measure_risk`
    lowers p by 0.0001 first; the exact figures agree.

    References
    ----------
    .. [1] Benedetti, Franconi (1998), Statistical and technological solutions for controlled data dissemination,
       Pre-proceedings of New Techniques and Technologies for Statistics 1, 225-232.
    .. [2] Franconi, Polettini (2004), Individual risk estimation in mu-Argus: a review, Privacy in Statistical Databases,
       LNCS 3050, 262-272.
    .. [3] Rinott (2003), On models for statistical disclosure risk estimation, Joint ECE/Eurostat work session on
       statistical data confidentiality, Luxembourg.

    Examples
    --------
    >>> individual_risk([3, 1], [108.0, 17.0]).risk.round(6).tolist()
    [0.013553, 0.177076]
    """
    if method not in _METHODS:
        raise ArgumentError.not_one_of("method", method, _METHODS)
    f = checked_sizes(sample, "sample")
    weight = np.asarray(population, dtype=np.float64)
    _require_same_length(f, weight)
    if not bool(np.all(np.isfinite(weight))):
        raise ArgumentError("the weight of a class must be a finite number; some are missing or infinite.")
    _refuse_short(f, weight * (1.0 + _ROUNDING), "less weight than records; a sampling weight is at least one")
    weight = np.maximum(weight, f)
    exact = _of_risks(f, weight, _exact(f, weight), "exact")
    return exact if method == "exact" else approximated(exact)


def approximated(exact: IndividualRisk) -> IndividualRisk:
    """Return the individual risk by the approximate method, given the exact risk up to f = 3."""
    f, p = exact.sample, exact.sample / exact.population
    return _of_risks(f, exact.population, np.where(f > _CLOSED_UP_TO, p / (f - (1.0 - p)), exact.risk), "approximate")


def _of_risks(f: NDArray[np.int64], weight: NDArray[np.float64], risk: NDArray[np.float64], method: RiskMethod) -> IndividualRisk:
    records, expected = int(f.sum()), float((f * risk).sum())
    return IndividualRisk(
        sample=f,
        population=weight,
        risk=risk,
        method=method,
        records=records,
        expected=expected,
        rate=expected / records if records else None,
        highest=float(risk.max()) if records else None,
    )


def household_risk(risk: ArrayLike, household: ArrayLike) -> HouseholdRisk:
    r"""Return, for each record, the risk that anyone of its household is re-identified: :math:`1 - \prod_i (1 - r_i)`.

    Members are assumed to be re-identified independently of each other; anyone who finds one has found them all.

    Parameters
    ----------
    risk
        The individual risk of each record.
    household
        The household of each record, as any labels that can be sorted.

    Raises
    ------
    ArgumentError
        If a risk is outside [0, 1] or missing, or the two differ in length.

    References
    ----------
    .. [1] Franconi, Polettini (2004), Individual risk estimation in mu-Argus: a review, Privacy in Statistical Databases,
       LNCS 3050, 262-272.

    Examples
    --------
    >>> household_risk([0.5, 0.5, 0.1], [1, 1, 2]).risk.round(6).tolist()
    [0.75, 0.75, 0.1]
    """
    own, label = np.asarray(risk, dtype=np.float64), np.asarray(household)
    _require_same_length(own, label)
    wrong = int(np.count_nonzero(~((own >= 0.0) & (own <= 1.0))))
    if wrong:
        raise ArgumentError(f"a risk is a probability; {wrong:,} are missing or outside 0 to 1.")
    held, of_record = np.unique(label, return_inverse=True)
    with np.errstate(divide="ignore"):
        safe = np.log1p(-own)
    whole = -np.expm1(np.bincount(of_record, weights=safe, minlength=len(held)))
    shared = whole[of_record]
    expected = float(shared.sum())
    return HouseholdRisk(
        risk=shared,
        records=len(own),
        households=len(held),
        expected=expected,
        rate=expected / len(own) if len(own) else None,
        highest=float(shared.max()) if len(own) else None,
    )


def simple_uniqueness(sample: ArrayLike, population: ArrayLike) -> SimpleUniqueness:
    r"""Count the sample uniques and those of them that are unique in a known population, and compute f / F.

    A record is a sample unique if :math:`f_k = 1` and a population unique if :math:`F_k = 1`. The probability of
    re-identification by pattern k is :math:`f_k / F_k`: the share of the people who fit the pattern that is in the sample.

    Parameters
    ----------
    sample, population
        f and F: the records of each class in the sample and in the population. `population_sizes` finds F for a sample.

    Raises
    ------
    ArgumentError
        If a class has more records in the sample than in the population, so that the sample cannot come from it.

    References
    ----------
    .. [1] Sondeck (2017), Privacy and utility assessment within statistical data bases, section 3.4.1, after Templ, Meindl,
       Kowarik (2013).

    Examples
    --------
    >>> result = simple_uniqueness([2, 1, 1], [4, 1, 5])
    >>> result.risk.tolist(), result.sample_uniques, result.population_uniques
    ([0.5, 1.0, 0.2], 2, 1)
    """
    f = checked_sizes(sample, "sample")
    held = np.asarray(population)
    _require_same_length(f, held)
    _refuse_short(f, held, "more records in the sample than in the population; the sample cannot come from it")
    whole = checked_sizes(held, "population")
    uniques, both = int(np.count_nonzero(f == 1)), int(np.count_nonzero(whole == 1))
    return SimpleUniqueness(
        sample=f,
        population=whole,
        risk=f / whole,
        records=int(f.sum()),
        classes=len(f),
        sample_uniques=uniques,
        population_uniques=both,
        share=both / uniques if uniques else None,
    )


def population_sizes(sample: Counts, population: Counts) -> NDArray[np.int64]:
    """Return F, the number of records of the population in each cell of the sample's count table.

    The population may be counted over more columns than the sample.

    Examples
    --------
    >>> import unveil
    >>> sample, population = unveil.count("paper-2", ["Age*"]), unveil.count("paper-2", ["Age*", "Disease"])
    >>> population_sizes(sample, population).tolist()
    [3, 3, 3]
    """
    missing = [name for name in sample.names if name not in population.names]
    if missing:
        raise CountsError(f"the population's count table has no column {listed(missing)}, which the sample's has.")
    whole = population.over(sample.names)
    codes, sizes = [], []
    for at, column in enumerate(whole.columns):
        place, size = _placed(column.values, sample.columns[at].values)
        codes.append(np.concatenate([whole.codes[at].astype(np.int64), place[sample.codes[at]]]))
        sizes.append(size)
    of_cell, _ = group(codes, sizes)
    totals = np.zeros(int(of_cell.max(initial=-1)) + 1, dtype=np.int64)
    totals[of_cell[: len(whole)]] = whole.n
    return totals[of_cell[len(whole) :]]


def _placed(known: Sequence[Any], values: Sequence[Any]) -> tuple[NDArray[np.int64], int]:
    """Return the place of each value among the known ones, with new values after these, and the number of all values."""
    codes = places_among(known, values)
    new = np.flatnonzero(codes < 0)
    codes[new] = len(known) + np.arange(len(new))
    return codes, len(known) + len(new)


def _exact(f: NDArray[np.int64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    p, q = f / weight, (weight - f) / weight
    by_series = (p >= _LARGE_FRACTION) | (f >= _LARGE_CLASS)
    risk = np.empty(len(f))
    risk[by_series] = _series(f[by_series], p[by_series], q[by_series])
    risk[~by_series] = _recurrence(f[~by_series], p[~by_series], q[~by_series])
    return risk


def _series(f: NDArray[np.int64], p: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return p/f 2F1(1, 1; f+1; q): the sum over k of k! f! / (f + k)! q^k, times p/f."""
    term, total = np.ones(len(f)), np.ones(len(f))
    k = 0
    while float(term.max(initial=0.0)) > _NEGLIGIBLE:
        term *= (k + 1.0) / (f + 1.0 + k) * q
        total += term
        k += 1
    return p / f * total


def _recurrence(f: NDArray[np.int64], p: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return r_f from r_1 = o log(1/p) and r_f = o (1/(f-1) - r_(f-1)); o = p/q < 1 lets errors shrink."""
    odds = p / q
    risk = -odds * np.log(p)
    for size in range(2, int(f.max(initial=1)) + 1):
        risk = np.where(f >= size, odds * (1.0 / (size - 1) - risk), risk)
    return risk


def _require_same_length(one: NDArray[Any], other: NDArray[Any]) -> None:
    if one.ndim != 1 or one.shape != other.shape:
        raise ArgumentError(
            f"both lists must have the same length, with one entry per class or record, not {one.shape} and {other.shape}."
        )


def _refuse_short(f: NDArray[np.int64], held: NDArray[Any], what: str) -> None:
    short = int(np.count_nonzero(~(held >= f)))
    if short:
        raise ArgumentError(f"{short:,} of {len(f):,} classes have {what}.")
