"""The section `linkage` of an `Attack`: every way of linking that two tables allow, with its rate, baseline and interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from unveil.attacks.linkage.intervals import AttributeDisclosure
from unveil.attacks.linkage.rates import Control
from unveil.measures import Interval
from unveil.results import Figures

if TYPE_CHECKING:
    from unveil.attacks.linkage.rates import PersonRates

__all__ = [
    "AgreementWeights",
    "DistanceMatches",
    "IntervalMatches",
    "LikelihoodMatches",
    "LinkedMatches",
    "LinkedShare",
    "NoMatches",
    "PatternMatches",
    "RankedMatches",
    "RecordLinkage",
    "of_persons",
]

Way = TypeVar("Way", bound="LinkedMatches")


@dataclass(frozen=True, slots=True, eq=False)
class LinkedShare(Figures):
    """The share of records linked, the share that a random guess would link, and the confidence interval."""

    linked: float
    baseline: float
    interval: Interval


@dataclass(frozen=True, slots=True, eq=False)
class NoMatches(Figures):
    """A way of linking that is not possible, with the reason."""

    linked: None
    reason: str


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LinkedMatches(Figures):
    """The matches of a way of linking.

    Attributes
    ----------
    linked, baseline, interval
        The share linked, the share that a random guess would link, and the confidence interval; of persons if they are
        distinguished, else of records.
    persons
        The number of persons with a record in the release plus released records made from nobody; None if persons are not
        distinguished.
    of_records
        The rates of records, if the others are of persons.
    """

    linked: float
    baseline: float
    interval: Interval
    persons: int | None = None
    of_records: LinkedShare | None = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RankedMatches(LinkedMatches):
    """The matches of a way that ranks the original records; the figures as in `LinkageRates`."""

    value: float
    linked_second: float
    not_linked: float
    records: int
    control: Control | None
    excess: float | None
    distance: str
    ties: int
    made: Mapping[str, Any]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DistanceMatches(RankedMatches):
    """The matches by distance: whether a sample was linked, and the numbers that were compared as categories."""

    sampled: bool
    as_categories: Sequence[str]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LikelihoodMatches(RankedMatches):
    """The matches of an intruder who knows the method.

    Attributes
    ----------
    one_by_one, all_at_once
        The share linked record by record, and by one assignment of all; None if there are too many records.
    noise_removed
        For each attribute with noise, the share of its squared error that can be removed; None for other methods.
    """

    one_by_one: float
    all_at_once: float | None
    noise_removed: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class AgreementWeights(Figures):
    """The weights of agreement and of disagreement of an attribute, in bits."""

    agreement: float
    disagreement: float


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PatternMatches(LinkedMatches):
    """The matches by patterns of agreement over `attributes`; the figures as in `ProbabilisticLinkage`."""

    informed: float
    originals: int
    releases: int
    true_pairs: int
    matched: int
    clerical: int
    unmatched: int
    precision: float | None
    precision_reason: str = ""
    recall: float | None
    recall_reason: str = ""
    upper: float | None
    lower: float | None
    m: Sequence[float]
    u: Sequence[float]
    weights: Sequence[AgreementWeights]
    share_of_matches: float
    converged: bool
    iterations: int
    log_likelihood: float
    made: Mapping[str, Any]
    records: int
    attributes: Sequence[str]


@dataclass(frozen=True, slots=True, eq=False)
class IntervalMatches(Figures):
    """The original values that fall into an interval around the released one; the figures as in `IntervalDisclosure`."""

    value: float
    baseline: float
    by_attribute: Sequence[AttributeDisclosure]
    together: AttributeDisclosure | None
    method: str
    records: int
    made: Mapping[str, Any]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RecordLinkage(Figures):
    """Every way of linking that the attributes allow.

    Attributes
    ----------
    attributes
        The original and the released name of each compared attribute.
    strongest
        The way that links most; None if none has a rate.
    euclidean, mahalanobis, mixed, interval_rank, interval_deviation, probabilistic, known_method
        The matches of each way; None for a way that the attributes do not allow, or that was not requested.
    reason
        The reason why nothing is linked.
    """

    attributes: Sequence[Sequence[str]] | None = None
    strongest: str | None = field(default=None, metadata={"beside": "attributes"})
    euclidean: DistanceMatches | NoMatches | None = None
    mahalanobis: DistanceMatches | NoMatches | None = None
    mixed: DistanceMatches | NoMatches | None = None
    interval_rank: IntervalMatches | NoMatches | None = None
    interval_deviation: IntervalMatches | NoMatches | None = None
    probabilistic: PatternMatches | NoMatches | None = None
    known_method: LikelihoodMatches | None = None
    reason: str = ""


def of_persons(matches: Way, by_person: PersonRates) -> Way:
    """Return matches with the rates of persons first; those of records are kept inside."""
    return replace(
        matches,
        linked=by_person.value,
        baseline=by_person.baseline,
        interval=by_person.interval,
        persons=by_person.persons,
        of_records=LinkedShare(matches.linked, matches.baseline, matches.interval),
    )
