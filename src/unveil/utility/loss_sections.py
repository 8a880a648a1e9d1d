"""The sections of a `Loss`: numbers, categories, classes, and what is suppressed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unveil.results.figures import Figures

__all__ = ["CategoricalLoss", "ClassFigure", "ClassLoss", "ClassNumbers", "ContinuousLoss", "SuppressionLoss"]


@dataclass(frozen=True, slots=True, eq=False)
class ContinuousLoss(Figures):
    """What attributes that are numbers in both tables have lost.

    Attributes
    ----------
    data, covariance, correlation, principal_components, communalities, factor_scores, eigenvalues
        The cells and the structures over them, each with `mse`, `mae`, `variation`, `cells` and `zeros`.
    complete
        The records that the structures are computed on.
    il1s
        The mean move of a number, over its standard deviation times the root of 2.
    attributes
        The figures of each attribute.
    il1s_reason, reason
        Which attributes have no `il1s`; why there is nothing to measure.
    """

    data: Mapping[str, Any]
    covariance: Mapping[str, Any]
    correlation: Mapping[str, Any]
    principal_components: Mapping[str, Any]
    communalities: Mapping[str, Any]
    factor_scores: Mapping[str, Any]
    eigenvalues: Mapping[str, Any]
    complete: int
    il1s: float | None
    attributes: Mapping[str, Mapping[str, Any]]
    il1s_reason: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class CategoricalLoss(Figures):
    """What all other attributes have lost.

    Attributes
    ----------
    nominal, ordinal, conditional_entropy, mutual_information, entropy_loss, granularity, precision, ncp, nonuniform_entropy
        Means over the attributes; None where none has the figure.
    left_out
        The attributes without a figure, by figure.
    contingency
        How contingency tables differ, by their ways.
    attributes
        The figures of each attribute.
    reason
        Why there is nothing to measure.
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
    contingency: Mapping[str, Any]
    attributes: Mapping[str, Mapping[str, Any]]
    reason: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class ClassFigure(Figures):
    """A figure of whole tables, of both, and the loss between the original's and the highest; a reason where there is none."""

    original: float | str | None
    release: float | str | None
    loss: float | None
    reason: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class ClassNumbers(Figures):
    """How many classes both tables have."""

    original: int
    release: int


@dataclass(frozen=True, slots=True, eq=False)
class ClassLoss(Figures):
    """The figures of classes and whole records, of the release beside the original's own."""

    classes: ClassNumbers
    discernibility: ClassFigure
    average_class_size: ClassFigure
    ambiguity: ClassFigure


@dataclass(frozen=True, slots=True, eq=False)
class SuppressionLoss(Figures):
    """The cells, and the records in their whole key, that say nothing in the release and did in the original."""

    cells: int
    share_of_cells: float
    records: int
    share_of_records: float
    by_attribute: Mapping[str, int]
