"""How many records are unique? Requirements on the sizes of all classes together: uniques in the sample and the population.

Neither is a property of a single class. A search meets them by suppressing unique records, as few of them as possible. They
must be requested, because `measure` reports the same figures for every table in its section on risks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias, get_args

import numpy as np

from unveil.arguments import checked_arguments
from unveil.errors import ArgumentError
from unveil.measures import Equivalence, checked_sampling_fraction, population_uniqueness
from unveil.models.base import TOLERANCE, Measured, Model

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.models.population import Population

__all__ = ["ESTIMATORS", "Estimator", "PopulationUniques", "SampleUniques", "SizesModel"]

Estimator: TypeAlias = Literal["dankar", "pitman", "zayatz", "snb"]
ESTIMATORS: tuple[Estimator, ...] = get_args(Estimator)


@dataclass(frozen=True)
class SizesModel(Model):
    """A requirement on the sizes of all classes together.

    Attributes
    ----------
    lasts
        Whether records that must be suppressed for it must also be suppressed in every finer generalisation.
    """

    highest: float | None = None
    judged_on = "sizes"
    safe_is_high: ClassVar[bool] = False
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    lasts: ClassVar[bool] = False
    on_request: ClassVar[bool] = True  # the risks of a table already have the figure

    @property
    def threshold(self) -> float | None:
        """The required share."""
        return self.highest

    def share(self, sizes: NDArray[np.int64], records: int) -> float:
        """Return the figure for classes of these sizes, in a table of this many records including those suppressed."""
        raise NotImplementedError

    def excess(self, sizes: NDArray[np.int64], records: int) -> int:
        """Return the number of classes of one record to suppress: none, or as few as a bisection finds."""
        alone = int(np.count_nonzero(sizes == 1))
        if self.share(sizes, records) <= (self.highest or 0.0) + TOLERANCE:
            return 0
        others = sizes[sizes > 1]
        low, high = 1, alone
        while low < high:
            middle = (low + high) // 2
            kept = np.concatenate([np.ones(alone - middle, dtype=np.int64), others])
            low, high = (low, middle) if self.share(kept, records) <= (self.highest or 0.0) + TOLERANCE else (middle + 1, high)
        return high

    def figure(self, classes: Equivalence) -> float:
        """Return the share of a table; it is of persons, if they are distinguished."""
        return self.share(classes.own if classes.owners is None else classes.size.astype(np.int64), classes.every)

    def measure(self, classes: Equivalence, population: Population | None = None) -> Measured:  # noqa: ARG002 - classes only
        """Return the share; no single class decides."""
        value = self.figure(classes)
        met = None if self.highest is None else value <= self.highest + TOLERANCE
        return Measured(value, requirement=self.requirement, met=met)


@checked_arguments
@dataclass(frozen=True)
class SampleUniques(SizesModel):
    """At most this share of the records, or persons, is alone in its class.

    Examples
    --------
    >>> SampleUniques(0.01).requirement
    'sample_uniqueness <= 0.01'
    """

    name: ClassVar[str] = "sample_uniqueness"
    label: ClassVar[str] = "uniques in the sample"
    lasts: ClassVar[bool] = True

    def figure(self, classes: Equivalence) -> float:
        """Return the share of the records, or persons, that are unique."""
        return classes.among(classes.size <= 1.0) / classes.number

    def share(self, sizes: NDArray[np.int64], records: int) -> float:  # noqa: ARG002 - of those kept
        """Return the share of the kept records that are unique."""
        return float(np.count_nonzero(sizes == 1) / sizes.sum()) if len(sizes) else 0.0

    def excess(self, sizes: NDArray[np.int64], records: int) -> int:  # noqa: ARG002 - of those kept
        """Return the least number of records to suppress so that the uniques are at most the share of the remaining ones."""
        alone, highest = int(np.count_nonzero(sizes == 1)), (self.highest or 0.0) + TOLERANCE
        if highest >= 1.0:
            return 0
        return min(alone, max(0, math.ceil((alone - highest * float(sizes.sum())) / (1.0 - highest))))


@checked_arguments
@dataclass(frozen=True)
class PopulationUniques(SizesModel):
    """At most this share of the population is unique in it, by a model of the sizes of its classes (Dankar et al. 2012).

    `sampling_fraction` is the share of the population that is in the data. The estimator is Dankar's rule, which chooses between
    the others, or one of "pitman", "zayatz" and "snb"; if one has no answer, Zayatz's is used. A table without a unique record
    has no unique of the population either.

    Examples
    --------
    >>> PopulationUniques(0.001, 0.05).requirement
    'population_uniqueness <= 0.001 (dankar, sampling fraction 0.05)'
    """

    sampling_fraction: float = 1.0
    estimator: Estimator = "dankar"
    name: ClassVar[str] = "population_uniqueness"
    label: ClassVar[str] = "uniques in the population"
    closed: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Refuse a fraction that no sample can have, and an unknown estimator."""
        super().__post_init__()
        checked_sampling_fraction(self.sampling_fraction)
        if self.estimator not in ESTIMATORS:
            raise ArgumentError.not_one_of("estimator", self.estimator, ESTIMATORS)

    @property
    def requirement(self) -> str | None:
        """The threshold, the estimator and the fraction in words."""
        stated = super().requirement
        return None if stated is None else f"{stated} ({self.estimator}, sampling fraction {self.sampling_fraction:g})"

    def share(self, sizes: NDArray[np.int64], records: int) -> float:
        """Return the estimated share of the population that is unique."""
        if not (sizes == 1).any():
            return 0.0
        uniqueness = population_uniqueness(sizes, population=max(records, round(records / self.sampling_fraction)))
        estimate = getattr(uniqueness, self.estimator)
        return float((estimate if estimate.share is not None else uniqueness.zayatz).share or 0.0)
