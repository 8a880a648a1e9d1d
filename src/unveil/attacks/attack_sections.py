"""The sections of an `Attack`: the gains of each attack, by attribute and together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from unveil.measures import RateFigures
from unveil.results import DecidingClass, Figures

__all__ = [
    "Background",
    "BackgroundOf",
    "BeliefShift",
    "BlackBox",
    "CountedClasses",
    "Difference",
    "ExternalMatches",
    "Homogeneity",
    "HomogeneityOf",
    "IdentityAttack",
    "KeyDifference",
    "KeyMissing",
    "KeyRate",
    "KeySimilarity",
    "KnownRecords",
    "MeaningRate",
    "MissingShare",
    "NewValues",
    "NoDifference",
    "Overall",
    "OverallByModel",
    "SimilarRate",
    "SimilarityModel",
    "SimilarityOf",
    "Skewness",
    "SkewnessOf",
    "StructureMatches",
    "WhiteBox",
    "WhiteBoxMeaning",
    "WhiteBoxRate",
    "WithoutValue",
]


@dataclass(frozen=True, slots=True, eq=False)
class KeyRate(Figures):
    """The rate of one key attribute of the release."""

    flat: ClassVar[tuple[str, ...]] = ("rate",)
    release: str
    rate: RateFigures


@dataclass(frozen=True, slots=True, eq=False)
class NewValues(Figures):
    """Released values that the original lacks and that generalise none of its values, and the records that hold them."""

    distinct: int = field(metadata={"name": "values"})
    records: int


# Identity -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class WhiteBoxRate(Figures):
    """The rate of an original attribute given the protected one, and the values that are new in the release.

    `within` is set if both were found in the original, as in a generalisation table.
    """

    flat: ClassVar[tuple[str, ...]] = ("rate",)
    attribute: str
    release: str
    rate: RateFigures
    new: NewValues | None
    within: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class MeaningRate(Figures):
    """The rate of an original attribute given the protected one, both read by blocks, beside the plain rate."""

    flat: ClassVar[tuple[str, ...]] = ("rate",)
    attribute: str
    release: str
    plain: float | None
    rate: RateFigures
    within: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class WhiteBoxMeaning(Figures):
    """The white box as an attacker's model reads the values."""

    risk: float | None
    by_attribute: Sequence[MeaningRate]
    combined: RateFigures


@dataclass(frozen=True, slots=True, eq=False)
class WhiteBox(Figures):
    """Original attributes given the protected ones: each alone, all together, and by each attacker's model."""

    risk: float | None
    by_attribute: Sequence[WhiteBoxRate]
    combined: RateFigures
    by_model: Mapping[str, WhiteBoxMeaning]


@dataclass(frozen=True, slots=True, eq=False)
class BlackBox(Figures):
    """The key of the release against the identity of its records.

    Attributes
    ----------
    rate
        The rate of all key attributes together.
    uniques, share_unique
        The number of records, or persons, that the key singles out, and their share.
    expected_matches
        The expected share of right guesses among those with the same key.
    by_attribute
        The rate of each key attribute.
    """

    flat: ClassVar[tuple[str, ...]] = ("rate",)
    rate: RateFigures
    uniques: int
    share_unique: float
    expected_matches: float
    by_attribute: Sequence[KeyRate]


@dataclass(frozen=True, slots=True, eq=False)
class ExternalMatches(Figures):
    """The number of records of other data that find their match in the release, by the common columns."""

    common: Sequence[str]
    external_records: int
    matched: int
    matched_once: int
    expected_links: float
    expected_share: float


@dataclass(frozen=True, slots=True, eq=False)
class StructureMatches(Figures):
    """The linkage of other data without a common column, by structure alone."""

    common: Sequence[str]
    external_records: int
    structure: Mapping[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class KnownRecords(Figures):
    """The number of released records, or persons, that cover a true record.

    Attributes
    ----------
    k_known
        The smallest number that covers one; None if nothing covers any.
    records, covered, covered_once
        The number of original records examined, of those that are covered, and of those that are covered exactly once.
    reason
        The reason why there is no figure.
    """

    k_known: int | None
    records: int | None = None
    covered: int | None = None
    covered_once: int | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class IdentityAttack(Figures):
    """The identity attack in its settings."""

    white_box: WhiteBox
    black_box: BlackBox
    grey_box: ExternalMatches | StructureMatches | None
    known: KnownRecords


# Homogeneity and background knowledge ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class CountedClasses(Figures):
    """Some classes, the number of their records and its share; if persons are distinguished, they are counted too."""

    classes: int
    records: int
    share: float
    persons: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class WithoutValue(Figures):
    """The classes in which nobody has a value, and whether a missing value is sensitive."""

    flat: ClassVar[tuple[str, ...]] = ("counted",)
    counted: CountedClasses
    missing_is_sensitive: bool


@dataclass(frozen=True, slots=True, eq=False)
class HomogeneityOf(Figures):
    """How far the key reveals one sensitive attribute, and who is certainly disclosed."""

    flat: ClassVar[tuple[str, ...]] = ("rate",)
    rate: RateFigures
    by_attribute: Sequence[KeyRate]
    certain: CountedClasses
    without_value: WithoutValue


@dataclass(frozen=True, slots=True, eq=False)
class Homogeneity(Figures):
    """How far the key reveals each sensitive attribute, and the mean of the rates."""

    risk: float | None
    by_sensitive: Mapping[str, HomogeneityOf]


@dataclass(frozen=True, slots=True, eq=False)
class MissingShare(Figures):
    """The distance from full disclosure, in total and for each value."""

    missing: float | None
    by_value: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True, eq=False)
class KeyMissing(Figures):
    """The distance of one key attribute from full disclosure."""

    flat: ClassVar[tuple[str, ...]] = ("figures",)
    release: str
    figures: MissingShare


@dataclass(frozen=True, slots=True, eq=False)
class BackgroundOf(Figures):
    """The distance of one sensitive attribute from disclosure, and the pieces of knowledge that would add most."""

    flat: ClassVar[tuple[str, ...]] = ("figures",)
    figures: MissingShare
    by_attribute: Sequence[KeyMissing]
    knowledge: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Background(Figures):
    """The distance of each sensitive attribute from disclosure."""

    by_sensitive: Mapping[str, BackgroundOf]


# Skewness -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Difference(Figures):
    """The rate in the original minus that in the release."""

    difference: float | None
    in_original: float | None
    in_release: float | None
    reason: str | None = ""


@dataclass(frozen=True, slots=True, eq=False)
class NoDifference(Figures):
    """The reason why there is no rate in the original."""

    difference: None
    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class KeyDifference(Figures):
    """The difference of one key attribute, and of each of its values if it is known which released values stand for them."""

    flat: ClassVar[tuple[str, ...]] = ("figures",)
    release: str
    figures: Difference | NoDifference
    attribute: str = ""
    by_value: Sequence[Mapping[str, Any]] | None = None
    by_value_reason: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class BeliefShift(Figures):
    """The change of belief from the whole table to a class.

    Attributes
    ----------
    ratio, value, prior, posterior, worst_class
        The value and class in which belief rises by the largest factor, with the belief before and after.
    distance, farthest_class
        The class whose distribution is farthest from that of the whole, and its distance.
    """

    ratio: float
    value: Any
    prior: float
    posterior: float
    worst_class: DecidingClass | None
    distance: float
    farthest_class: DecidingClass | None


@dataclass(frozen=True, slots=True, eq=False)
class SkewnessOf(Figures):
    """The change of the rate of one sensitive attribute by the protection, and where belief shifts most."""

    flat: ClassVar[tuple[str, ...]] = ("figures",)
    figures: Difference | NoDifference
    belief: BeliefShift
    new: NewValues | None
    by_attribute: Sequence[KeyDifference] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Skewness(Figures):
    """The change of the rate of each sensitive attribute by the protection, and how to read it."""

    by_sensitive: Mapping[str, SkewnessOf]
    reading: str


# Similarity -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class SimilarRate(Figures):
    """A semantic rate beside the plain one."""

    flat: ClassVar[tuple[str, ...]] = ("rate",)
    plain: float | None
    rate: RateFigures


@dataclass(frozen=True, slots=True, eq=False)
class KeySimilarity(Figures):
    """The semantic rate of one key attribute."""

    flat: ClassVar[tuple[str, ...]] = ("rate",)
    release: str
    rate: SimilarRate


@dataclass(frozen=True, slots=True, eq=False)
class SimilarityOf(Figures):
    """The semantic rates of one sensitive attribute."""

    flat: ClassVar[tuple[str, ...]] = ("rate",)
    rate: SimilarRate
    by_attribute: Sequence[KeySimilarity]


@dataclass(frozen=True, slots=True, eq=False)
class SimilarityModel(Figures):
    """How far the key reveals sensitive values that are read by an attacker's model."""

    risk: float | None
    by_sensitive: Mapping[str, SimilarityOf]


# Global figures -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class OverallByModel(Figures):
    """The risk and information loss of the attacks that have one, and the mean loss."""

    risk: Mapping[str, float | None]
    information_loss: Mapping[str, float | None]
    overall_information_loss: float | None


@dataclass(frozen=True, slots=True, eq=False)
class Overall(Figures):
    """The risk and information loss of the attacks, the mean loss, and the same for each attacker's model."""

    flat: ClassVar[tuple[str, ...]] = ("figures",)
    figures: OverallByModel
    by_model: Mapping[str, OverallByModel]
