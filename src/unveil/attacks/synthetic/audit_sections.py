"""The section `synthetic` of an `Attack`: the gains of each attack on a synthetic release beside a hold-out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Self

from unveil.results import Figures

__all__ = [
    "RISKS",
    "SECTIONS",
    "Closeness",
    "CopiedPeople",
    "Copies",
    "DistanceSummary",
    "GuessRate",
    "HoldOut",
    "Linkability",
    "Membership",
    "MembershipRisk",
    "NoFigure",
    "NoRisk",
    "PredicateRisk",
    "RiskFigures",
    "SensitiveGuessRate",
    "SensitiveInference",
    "SensitiveRisk",
    "SinglingOut",
    "SyntheticAudit",
    "beside",
]

SECTIONS = ("discrimination_rate", "singling_out", "linkability", "inference", "membership", "copies", "closest")
"""The parts of an audit."""
RISKS = ("singling_out", "linkability", "inference", "membership")
"""Those of them that have a risk."""


@dataclass(frozen=True, slots=True, eq=False)
class NoFigure(Figures):
    """Figures that were not computed, with the reason."""

    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class NoRisk(Figures):
    """An attack that was not made, with the reason."""

    risk: None
    low: None
    high: None
    baseline: None
    control: None
    reason: str

    @classmethod
    def because(cls, reason: str) -> NoRisk:
        """Return the section without a risk, with the reason."""
        return cls(None, None, None, None, None, reason)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RiskFigures(Figures):
    """The risk of an attack beside the hold-out, or the reason why there is none.

    Attributes
    ----------
    risk, low, high
        Of the attacks that fail on the hold-out, the share that succeed because of the release, not below 0, and its interval.
    residual, residual_low, residual_high
        The same with its sign.
    main, control, baseline
        The share of attacks that succeed on people of the original, on those of the hold-out, and by chance.
    attacks, confidence
        The number of attacks made, and the confidence of the interval.
    reason
        The reason why there is no risk.
    """

    risk: float | None
    low: float | None
    high: float | None
    residual: float | None
    residual_low: float | None = None
    residual_high: float | None = None
    main: float | None = None
    control: float | None
    baseline: float | None
    attacks: int | None = None
    confidence: float | None = None
    reason: str = ""

    @classmethod
    def unmeasured(cls, reason: str) -> Self:
        """Return the section of an attack that the tables do not allow: no risk, and the reason."""
        return cls(risk=None, low=None, high=None, residual=None, control=None, baseline=None, reason=reason)


def beside(risk: RiskFigures) -> dict[str, Any]:
    """Return the fields of a risk, for a section that has more fields beside them."""
    return {one.name: getattr(risk, one.name) for one in fields(risk)}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PredicateRisk(RiskFigures):
    """The risk of predicates of one kind; `control_as_it_is` is the share on the hold-out before it is adjusted for size."""

    control_as_it_is: float | None = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SinglingOut(PredicateRisk):
    """The risk of being singled out: by the kind of predicates named as the `headline`, and by each kind.

    `width` is the number of columns of a multivariate predicate.
    """

    width: int
    headline: str
    ways: Mapping[str, PredicateRisk]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Linkability(RiskFigures):
    """The risk that the release joins two files, and the columns of each."""

    files: Sequence[Sequence[str]] | None = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SensitiveRisk(RiskFigures):
    """The risk that the value of one sensitive attribute is inferred from the release."""

    sensitive: str = field(metadata={"name": "secret"})


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SensitiveInference(RiskFigures):
    """The risk that sensitive values are inferred from the release: the mean, and each.

    Attributes
    ----------
    tolerance
        The largest difference of a guessed number from the true one, as a share of it.
    worst
        The sensitive attribute with the highest risk; None if none has one.
    by_sensitive
        The risk of each sensitive attribute.
    """

    tolerance: float | None = None
    worst: str | None = field(default=None, metadata={"beside": "tolerance"})
    by_sensitive: Sequence[SensitiveRisk] | None = field(default=None, metadata={"name": "by_secret"})


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MembershipRisk(RiskFigures):
    """The risk that members are identified by one score, at one false-positive rate."""

    true_positive_rate: float | None = None
    false_positive_rate: float | None = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Membership(MembershipRisk):
    """The risk that members are identified: by the strongest score, and by each.

    Attributes
    ----------
    strongest
        The score that finds most members.
    members, strangers
        The number of people of the original and of the hold-out.
    levels
        The strongest score at each false-positive rate.
    ways
        Every score at each false-positive rate.
    """

    strongest: str = ""
    members: int | None = None
    strangers: int | None = None
    levels: Sequence[MembershipRisk] | None = None
    ways: Mapping[str, Sequence[MembershipRisk]] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class SensitiveGuessRate(Figures):
    """The Discrimination Rate of one sensitive attribute given its guesses, of the original's people and of the hold-out's."""

    sensitive: str = field(metadata={"name": "secret"})
    value: float
    control: float


@dataclass(frozen=True, slots=True, eq=False)
class GuessRate(Figures):
    """The Discrimination Rate of the sensitive values given the guesses from the release, adjusted for chance.

    Attributes
    ----------
    value, low, high
        The mean over the sensitive attributes, and its interval.
    control, control_low, control_high
        The same on the hold-out.
    residual
        The share that the release adds; None if nothing is left to add.
    by_sensitive
        The rates of each sensitive attribute.
    reason
        The reason why there is no rate.
    """

    value: float | None
    low: float | None
    high: float | None
    control: float | None
    control_low: float | None = None
    control_high: float | None = None
    residual: float | None = field(default=None, metadata={"beside": "control_low"})
    by_sensitive: Sequence[SensitiveGuessRate] | None = field(default=None, metadata={"name": "by_secret"})
    reason: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class CopiedPeople(Figures):
    """The number of unique people of a table, of those who are in the release, their share and its interval."""

    people: int
    copied: int
    share: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, eq=False)
class Copies(Figures):
    """The copies in the release.

    Attributes
    ----------
    records, share, control_share
        The number of released records that equal an original one, their share, and the share that equal one of the hold-out.
    of_unique
        The number that equal a unique person of the original.
    unique, control_unique
        The unique people of the original, and of the hold-out.
    """

    records: int
    share: float
    of_unique: int
    unique: CopiedPeople
    control_share: float
    control_unique: CopiedPeople


@dataclass(frozen=True, slots=True, eq=False)
class DistanceSummary(Figures):
    """The distances of released records to the closest record of a table, per column."""

    mean: float
    fifth_percentile: float
    median: float


@dataclass(frozen=True, slots=True, eq=False)
class Closeness(Figures):
    """The distances of released records to the original and to the hold-out, `compared_with` equally many records of each.

    Attributes
    ----------
    original, control
        The distances to either.
    ratio
        The mean distance to the original over that to the hold-out; None if the latter is 0.
    nearer_share, low, high
        The share of released records nearer to the original, ties as halves, and its interval.
    """

    original: DistanceSummary
    control: DistanceSummary
    ratio: float | None
    nearer_share: float
    low: float
    high: float
    compared_with: int


@dataclass(frozen=True, slots=True, eq=False)
class HoldOut(Figures):
    """The number of records of the hold-out, of those that equal an original one, and of those expected to do so by chance."""

    records: int
    equal_to_original: int
    expected: float


@dataclass(frozen=True, slots=True, eq=False)
class SyntheticAudit(Figures):
    """Every attack on a synthetic release beside the hold-out, which is None if the release was not audited."""

    discrimination_rate: GuessRate | NoFigure
    singling_out: SinglingOut | NoRisk
    linkability: Linkability | NoRisk
    inference: SensitiveInference | NoRisk
    membership: Membership | NoRisk
    copies: Copies | NoFigure
    closest: Closeness | NoFigure
    control: HoldOut | None

    @classmethod
    def without(cls, reason: str) -> SyntheticAudit:
        """Return the same sections without figures, with the reason."""
        sections: dict[str, Any] = {name: NoRisk.because(reason) if name in RISKS else NoFigure(reason) for name in SECTIONS}
        return cls(**sections, control=None)
