"""When is k-anonymity differentially private? SafePub: random sampling, a generalisation fixed beforehand, and classes of k."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_arguments, checked_number, checked_size, shown_number
from unveil.attributes import Names
from unveil.counts.grouping import group
from unveil.errors import ArgumentError, EmptyDataError, shown
from unveil.mechanisms.columns import choose, seeded
from unveil.mechanisms.protected import Protected
from unveil.partitions import Partition, PartitionSpec
from unveil.sources.coding import encode

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.sources.frames import Data

__all__ = ["safepub", "safepub_delta"]

_LARGEST_K = 1 << 20
_LARGEST_EPSILON = 20.0
_LEAST_EPSILON = 1e-10
_ROUNDING = 1.0 + 1e-12
"""Where gamma n is whole up to rounding, it counts as exceeded."""
_NOTE = (
    "The guarantee holds for the records, not for these figures, when each person has one record, the generalisation was chosen "
    "without looking at the data, and the seed of the sample, if one was given, is secret."
)


@checked_arguments
def safepub(
    data: Data,
    attributes: Names,
    *,
    epsilon: float,
    delta: float,
    generalise: Mapping[str, PartitionSpec] | None = None,
    sampling: float | None = None,
    nulls: str = "error",
    seed: int | None = None,
) -> Protected:
    r"""Sample records, generalise them and leave out small classes, with (epsilon, delta)-differential privacy.

    Every record stays with probability beta, then values are generalised, and a record is left out whose combination of values is
    held by fewer than k. k is the least for which `safepub_delta` does not exceed delta.

    Parameters
    ----------
    data
        The records.
    attributes
        The columns of the release. All of them form the classes: to differential privacy every attribute is a key.
    epsilon, delta
        The loss of privacy, and the probability with which it may be larger.
    generalise
        For an attribute its partition, as `Partition.of` takes it: blocks, edges, a mapping, a function of a value, or a file.
        Choose it without looking at the data. Attributes that are not named stay as they are.
    sampling
        The probability beta with which a record stays, at most :math:`1 - e^{-\epsilon}`, which is taken where none is given.
    nulls
        "keep": a null is a value like others. "skip": a record with a null is left out. "error": refuse.
    seed
        The seed of the sample; none: a sample that nobody can repeat. Who knows the seed knows the sample, and the guarantee is
        gone: give one to test, not to publish.

    Returns
    -------
    Protected
        `figures` has k, the sampling rate, the delta that k gives, and the records sampled; records of small classes are gone.

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
    74
    """
    loss, chance = (
        checked_number("epsilon", epsilon, above=0.0, most=_LARGEST_EPSILON),
        checked_number("delta", delta, above=0.0, most=1.0),
    )
    most = -math.expm1(-loss)
    beta = most if sampling is None else checked_number("sampling", sampling, above=0.0, most=most)
    k = _least_k(beta, loss, chance)
    chosen = choose(data, attributes, nulls)
    _known(generalise, chosen.names)
    random = np.random.default_rng() if seed is None else seeded(seed, "safepub")
    rows = np.flatnonzero(random.random(chosen.records.records) < beta)
    columns = {name: _generalised(chosen.column(name), (generalise or {}).get(name)) for name in chosen.names}
    whole = replace(chosen.records, frame=type(chosen.records.frame)(columns)).taken(rows)
    kept = _in_classes_of(k, [encode(whole.column(name)) for name in chosen.names], len(rows))
    if not len(kept):
        raise EmptyDataError(f"no class of the {len(rows):,} sampled records has k = {k:,}; generalise more, or spend more.")
    settings = {"epsilon": loss, "delta": chance, "generalise": sorted(generalise or {}), "nulls": nulls}
    figures = {
        "k": k,
        "sampling": beta,
        "delta": safepub_delta(k, beta, loss),
        "sampled": len(rows),
        "suppressed": len(rows) - len(kept),
    }
    return Protected("safepub", whole.taken(kept), chosen.names, settings, figures, chosen.rows[rows[kept]], (_NOTE,))


@checked_arguments
def safepub_delta(k: int, sampling: float, epsilon: float) -> float:
    r"""Return the delta of sampling with probability beta before k-anonymity by a fixed generalisation.

    .. math:: \delta = \max_{n \ge \lceil k / \gamma - 1 \rceil} \Pr(B(n, \beta) > \gamma n), \qquad
              \gamma = \frac{e^\epsilon - 1 + \beta}{e^\epsilon}

    B is a binomial variable. Between two n at which gamma n passes a whole number m the probability grows, so only the last n
    before each m is looked at, from m = k on, until Chernoff's bound on all that follow is lower.

    Examples
    --------
    >>> from unveil import mechanisms
    >>> f"{mechanisms.safepub_delta(20, 0.1, 0.5):.2e}"
    '1.61e-09'
    """
    from scipy.stats import binom

    if not 0.0 < sampling <= -math.expm1(-epsilon) * (1.0 + 1e-12):
        raise ArgumentError(f"sampling is {shown_number(sampling)}; it must be above 0 and at most 1 - exp(-epsilon).")
    checked_size("k", k)
    checked_number("epsilon", epsilon, above=_LEAST_EPSILON)
    gamma = -math.expm1(-epsilon) + sampling * math.exp(-epsilon)
    divergence = gamma * math.log(gamma / sampling) - (1.0 - gamma) * epsilon
    reached, found = k, 0.0
    while math.exp(-divergence * (n := math.ceil(reached / gamma * _ROUNDING) - 1)) > found:
        found = max(found, float(binom.sf(reached - 1, n, sampling)))
        reached += 1
    return found


def _least_k(beta: float, epsilon: float, delta: float) -> int:
    """Return the least k whose delta is low enough: it falls with k, so halving finds it."""
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
