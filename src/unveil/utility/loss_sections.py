"""The sections of a `Loss`: numbers, categories, classes, and suppression."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from unveil.results import Figures

__all__ = [
    "CategoricalLoss",
    "CategoryLoss",
    "ClassFigure",
    "ClassLoss",
    "ClassNumbers",
    "Coarseness",
    "ComparedCells",
    "ContingencyLoss",
    "ContinuousLoss",
    "EntropyLoss",
    "NumberLoss",
    "NumberSummary",
    "SuppressionLoss",
    "TableLoss",
]


@dataclass(frozen=True, slots=True, eq=False)
class ComparedCells(Figures):
    """Compared cells: the mean squared and absolute difference, the mean relative one, and the cells that were zero before."""

    mse: float | None
    mae: float | None
    variation: float | None
    cells: int
    zeros: int
    reason: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class NumberSummary(Figures):
    """An attribute of numbers in one table, or its difference between two tables."""

    mean: float | None
    variance: float | None
    sd: float | None
    skewness: float | None
    kurtosis: float | None
    quantiles: Mapping[str, float]


@dataclass(frozen=True, slots=True, eq=False)
class NumberLoss(Figures):
    """The loss of one attribute of numbers.

    Attributes
    ----------
    records, left_out
        The number of records that have it in both tables, and of those that do not.
    compared
        The comparison of its cells.
    il1s, ks
        The mean change divided by the standard deviation times the square root of 2, and the Kolmogorov-Smirnov distance.
    original, release, difference
        Both tables, and the second minus the first.
    reason
        The reason why a figure is undefined.
    """

    flat: ClassVar[tuple[str, ...]] = ("compared",)
    records: int
    left_out: int
    compared: ComparedCells
    il1s: float | None
    ks: float | None
    original: NumberSummary | None
    release: NumberSummary | None
    difference: NumberSummary | None
    reason: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class EntropyLoss(Figures):
    """The entropy of an attribute before, the uncertainty about it after, the information kept, and the share lost."""

    entropy: float
    conditional_entropy: float
    mutual_information: float
    entropy_loss: float


@dataclass(frozen=True, slots=True, eq=False)
class Coarseness(Figures):
    """The coarseness of an attribute.

    Attributes
    ----------
    granularity, precision, ncp, nonuniform_entropy
        The four losses, None if undefined.
    cells, nulls, suppressed, elsewhere, leaves, height
        The number of cells with something to lose, of those that were null before, of suppressed cells, and of cells whose
        label does not cover the original value; the leaves and the height of the hierarchy. None if the labels cannot be read.
    reasons
        The reason why a loss is undefined, by loss.
    """

    granularity: float | None
    precision: float | None
    ncp: float | None
    nonuniform_entropy: float | None
    cells: int | None = None
    nulls: int | None = None
    suppressed: int | None = None
    elsewhere: int | None = None
    leaves: int | None = None
    height: int | None = None
    reasons: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class CategoryLoss(Figures):
    """The loss of one categorical attribute: by direct comparison, in entropy, and by its coarseness."""

    flat: ClassVar[tuple[str, ...]] = ("entropies", "coarse")
    nominal: float
    ordinal: float | None
    entropies: EntropyLoss
    coarse: Coarseness | None = None


@dataclass(frozen=True, slots=True, eq=False)
class TableLoss(Figures):
    """The change of a contingency table: the sum of the differences of its cells, and the same divided by its bound."""

    attributes: Sequence[str]
    difference: int
    normalised: float


@dataclass(frozen=True, slots=True, eq=False)
class ContingencyLoss(Figures):
    """The change of all contingency tables of one size: the sum over them, the mean, and each."""

    tables: int
    difference: int | None
    normalised: float | None
    by_table: Sequence[TableLoss]
    reason: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class ContinuousLoss(Figures):
    """The loss of attributes that are numbers in both tables.

    Attributes
    ----------
    data, covariance, correlation, principal_components, communalities, factor_scores, eigenvalues
        The cells and the structures over them, each with `mse`, `mae`, `variation`, `cells` and `zeros`.
    complete
        The number of records from which the structures are computed.
    il1s
        The mean change of a number, divided by its standard deviation times the square root of 2.
    attributes
        The figures of each attribute.
    il1s_reason, reason
        The attributes without `il1s`; the reason why there is nothing to measure.
    """

    data: ComparedCells
    covariance: ComparedCells
    correlation: ComparedCells
    principal_components: ComparedCells
    communalities: ComparedCells
    factor_scores: ComparedCells
    eigenvalues: ComparedCells
    complete: int
    il1s: float | None
    attributes: Mapping[str, NumberLoss]
    il1s_reason: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class CategoricalLoss(Figures):
    """The loss of all other attributes.

    Attributes
    ----------
    nominal, ordinal, conditional_entropy, mutual_information, entropy_loss, granularity, precision, ncp, nonuniform_entropy
        Means over the attributes; None if none has the figure.
    left_out
        The attributes without a figure, by figure.
    contingency
        The changes of contingency tables, by number of attributes.
    attributes
        The figures of each attribute.
    reason
        The reason why there is nothing to measure.
    """

    nominal: float | None
    ordinal: float | None
    conditional_entropy: float | None
    mutual_information: float | None
    entropy_loss: float | None
    granularity: float | None
    precision: float | None
    ncp: float | None
    nonuniform_entropy: float | None
    left_out: Mapping[str, Sequence[str]]
    contingency: Mapping[str, ContingencyLoss]
    attributes: Mapping[str, CategoryLoss]
    reason: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class ClassFigure(Figures):
    """A figure of whole tables, of both, and the loss between the original's and the highest; a reason if there is none."""

    original: float | str | None
    release: float | str | None
    loss: float | None
    reason: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class ClassNumbers(Figures):
    """The number of classes in each table."""

    original: int
    release: int


@dataclass(frozen=True, slots=True, eq=False)
class ClassLoss(Figures):
    """The figures of classes and whole records, for the release and for the original."""

    classes: ClassNumbers
    discernibility: ClassFigure
    average_class_size: ClassFigure
    ambiguity: ClassFigure


@dataclass(frozen=True, slots=True, eq=False)
class SuppressionLoss(Figures):
    """The cells, and the records in their whole key, that carry no information in the release but did in the original."""

    cells: int
    share_of_cells: float
    records: int
    share_of_records: float
    by_attribute: Mapping[str, int]
