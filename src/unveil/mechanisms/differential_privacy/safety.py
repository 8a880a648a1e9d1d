"""When is k-anonymity differentially private? SafePub: random sampling, a generalisation fixed beforehand, and classes of k."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_arguments, checked_number, checked_size, shown_number
from unveil.attributes import Names, names_of
from unveil.counts import group
from unveil.errors import ArgumentError, EmptyDataError, shown
from unveil.mechanisms.columns import choose
from unveil.mechanisms.differential_privacy.accounting import PrivacyLoss
from unveil.mechanisms.differential_privacy.ledger import Account, charged
from unveil.mechanisms.differential_privacy.protected_unit import Unit, chance_of_test, notes_of_test
from unveil.mechanisms.door import heeds_study
from unveil.mechanisms.treatment import Treatment, made_anew
from unveil.partitions import Partition, PartitionSpec
from unveil.releases import Release
from unveil.sources import encode
from unveil.study import require_values

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.sources import Data

__all__ = ["safepub", "safepub_delta"]

_LARGEST_K = 1 << 20
_LARGEST_EPSILON = 20.0
_LEAST_EPSILON = 1e-10
_EXACT = 1 << 53
"""Draws are integer multiples of one over this, so that a rate that is such a multiple is met exactly."""
_TERMS = 400
"""Sizes beyond this many, plus some that grow with the first size, add nothing that floating point can represent."""
_NOTE = "The guarantee holds for the records if the generalisation was chosen without looking at the data."


@heeds_study
@checked_arguments
def safepub(  # noqa: PLR0913 - what to make, and whom to protect
    data: Data,
    attributes: Names,
    *,
    epsilon: float,
    delta: float,
    generalise: Mapping[str, PartitionSpec] | None = None,
    sampling: float | None = None,
    person: str | None = None,
    nulls: str = "error",
    seed: int | None = None,
    testing: bool = False,
    ledger: Account | None = None,
) -> Release[Treatment]:
    r"""Sample records, generalise them and leave out small classes, with (epsilon, delta)-differential privacy.

    Every record stays with probability beta, then values are generalised, and a record is left out if its combination of values
    is held by fewer than k records. k is the smallest for which `safepub_delta` does not exceed delta. The records are in
    random order, because the order of the data would reveal more about a record than its class.

    Parameters
    ----------
    data
        The records.
    attributes
        The columns of the release. Together they form the classes: for differential privacy, every attribute is a key.
    epsilon, delta
        The loss of privacy, and the probability that it is larger.
    generalise
        For an attribute, its partition in any form that `Partition.of` accepts: blocks, edges, a mapping, a function of a
        value, or a file. Choose it without looking at the data. Attributes that are not named stay as they are.
    sampling
        The probability beta that a record stays, at most :math:`1 - e^{-\epsilon}`, which is the default.
    nulls
        "keep": a null is a value like any other. "drop": a record with a null is left out. "error": refuse.
    person
        The column of persons, who own the records: one record of each person takes part, chosen at random, and the guarantee is
        per person. None: the persons of a study or project; without any, the guarantee is per record.
    seed, testing
        For tests: the seed of the sample, which is refused unless `testing` says that this is a test. The guarantee does not
        hold against anyone who knows the seed, and thereby the sample.
    ledger
        As for `dp_count`; the loss is epsilon and delta.

    Returns
    -------
    Release
        `figures` has k, the sampling rate and the delta for this k; `not_private` the number of sampled records, and of those
        among them that were left out in small classes.

    References
    ----------
    N. Li, W. Qardaji, D. Su (2012), On sampling, anonymization, and differential privacy: or, k-anonymization meets differential
    privacy, ASIACCS, 32-33.
    R. Bild, K. Kuhn, F. Prasser (2018), SafePub: a truthful data anonymization algorithm with strong privacy guarantees,
    Proceedings on Privacy Enhancing Technologies 2018(1), 67-87.

    Examples
    --------
    >>> from unveil import mechanisms
    >>> made = mechanisms.safepub("adult", ["sex", "race"], epsilon=1.0, delta=1e-6)
    >>> made.figures["k"]
    58
    """
    loss, chance = (
        checked_number("epsilon", epsilon, above=0.0, most=_LARGEST_EPSILON),
        checked_number("delta", delta, above=0.0, most=1.0),
    )
    most = -math.expm1(-loss)
    beta = most if sampling is None else checked_number("sampling", sampling, above=0.0, most=most)
    beta = max(math.floor(beta * _EXACT), 1) / _EXACT
    k, unit, random = _least_k(beta, loss, chance), Unit.requested(data, person, 1), chance_of_test(seed, testing=testing)
    require_values(data, names_of(attributes))
    chosen = unit.cut(choose(data, attributes, nulls), random)
    _known(generalise, chosen.names)
    remarks = charged(ledger, "safepub", [PrivacyLoss("pure", loss, chance)], unit)
    draws = random.draws("safepub")
    rows = np.flatnonzero(draws.random(chosen.records.records) < beta)
    columns = {name: _generalised(chosen.column(name), (generalise or {}).get(name)) for name in chosen.names}
    whole = replace(chosen.records, frame=type(chosen.records.frame)(columns)).taken(rows)
    kept = draws.permutation(_in_classes_of(k, [encode(whole.column(name)) for name in chosen.names], len(rows)))
    if not len(kept):
        raise EmptyDataError(f"no class of the sampled records has k = {k:,}; generalise more, or spend more.")
    settings = {"epsilon": loss, "delta": chance, "generalise": sorted(generalise or {}), **unit.settings, "nulls": nulls}
    figures = {"k": k, "sampling": beta, "delta": safepub_delta(k, beta, loss)}
    inside = {"sampled": len(rows), "suppressed": len(rows) - len(kept)}
    notes = (unit.note, _NOTE, *remarks, *notes_of_test(random))
    origin = chosen.rows[rows[kept]]
    treatment = Treatment("safepub", chosen.names, figures, not_private=inside)
    return Release(whole.taken(kept), treatment, origin, settings, notes, random.repeatable, made_anew(chosen.others))


@checked_arguments
def safepub_delta(k: int, sampling: float, epsilon: float) -> float:
    r"""Return the exact delta of sampling with probability beta before k-anonymity by a fixed generalisation.

    A class of n records is published with the size :math:`B(n, \beta)`, a binomial variable, or not at all below k. One more
    record makes a size j more likely by a factor above :math:`e^\epsilon` if :math:`j > \gamma n`, so

    .. math:: \delta = \max_n \sum_{j \ge \max(k, \, \gamma n)} \Pr(B(n, \beta) = j) - e^\epsilon \Pr(B(n - 1, \beta) = j),
              \qquad \gamma = 1 - (1 - \beta) e^{-\epsilon}

    Among the n whose sum begins at m, the sum is largest for the first n above :math:`(m - 1) / \gamma`. So one n is examined
    for each m, from m = k on, until Chernoff's bound on all that follow is lower. The bound of Bild, Kuhn and Prasser uses only
    the first term of each difference.

    Parameters
    ----------
    k
        The smallest number of records in a class that is published.
    sampling
        The probability beta that a record is drawn.
    epsilon
        The epsilon to which the delta belongs.

    Examples
    --------
    >>> from unveil import mechanisms
    >>> f"{mechanisms.safepub_delta(20, 0.1, 0.5):.2e}"
    '2.63e-11'
    """
    epsilon = checked_number("epsilon", epsilon, above=_LEAST_EPSILON, most=_LARGEST_EPSILON)
    if not 0.0 < sampling <= -math.expm1(-epsilon) * (1.0 + 1e-12):
        raise ArgumentError(f"sampling is {shown_number(sampling)}; it must be above 0 and at most 1 - exp(-epsilon).")
    sampling = float(sampling)
    start = checked_size("k", k)
    gamma = -math.expm1(-epsilon) + sampling * math.exp(-epsilon)
    divergence = gamma * math.log(gamma / sampling) - (1.0 - gamma) * epsilon
    highest = 0.0
    while math.exp(-divergence * (n := math.floor((start - 1) / gamma) + 1)) > highest:
        highest = max(highest, _excess(n, start, sampling, epsilon))
        start += 1
    return highest


def _excess(n: int, start: int, beta: float, epsilon: float) -> float:
    """Return the sum of the differences from a size on: P(j) - e^epsilon P'(j), with P'(j) = P(j) (n - j) / (n (1 - beta))."""
    from scipy.stats import binom

    sizes = np.arange(start, min(n, start + _TERMS + 40 * math.isqrt(start)) + 1)
    above = np.maximum(1.0 - math.exp(epsilon) * (n - sizes) / (n * (1.0 - beta)), 0.0)
    return float((binom.pmf(sizes, n, beta) * above).sum())


def _least_k(beta: float, epsilon: float, delta: float) -> int:
    """Return the smallest k whose delta is low enough: delta falls with k, so bisection finds it."""
    high = 1
    while safepub_delta(high, beta, epsilon) > delta:
        high *= 2
        if high > _LARGEST_K:
            raise ArgumentError(f"no k up to {_LARGEST_K:,} gives this epsilon and delta; spend more, or sample less.")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if safepub_delta(middle, beta, epsilon) <= delta else (middle, high)
    return high


def _known(generalise: Mapping[str, Any] | None, names: tuple[str, ...]) -> None:
    for name in generalise or {}:
        if name not in names:
            raise ArgumentError(f"a generalisation is given for {shown(name)}, which is not among the attributes named.")


def _generalised(column: Any, spec: PartitionSpec | None) -> Any:
    """Return a column with every value generalised to the label of its block."""
    if spec is None:
        return column
    coded = encode(column)
    blocks, labels = Partition.of(spec, column=column.name).apply(list(coded.values), column.name)
    return type(column)(column.name, labels).gather(blocks[coded.codes].astype(np.uint32))


def _in_classes_of(k: int, columns: list[Any], rows: int) -> NDArray[np.int64]:
    if not rows:
        return np.empty(0, dtype=np.int64)
    of_row, _ = group([column.codes for column in columns], [len(column.values) for column in columns])
    return np.flatnonzero(np.bincount(of_row)[of_row] >= k)
