r"""Requirements that reduce to a minimum class size: k-map without a table of the population, and attacks that do not pay.

**k-map by an estimator** (El Emam and Dankar 2008). If a class has k people in the population, and a share pi of the population
was sampled, the number of its records in the sample is approximately Poisson with mean :math:`\lambda = \pi k`. A class of f
records or more is taken to have at least k people if so many records would otherwise be unlikely: f is the smallest number with
:math:`P(F \ge f) \le \alpha`, the significance. A class is observed only if it has a record, so the zero-truncated estimator
requires :math:`P(F \ge f \mid F \ge 1) \le \alpha`. No more than k records are ever required.

**No attack** (Wan et al. 2015). An attacker of a class of n records finds the right one with probability 1/n. An attack that
gains g and costs c does not pay if :math:`g / n < c`. The prosecutor knows that the person is in the table, and n counts its
records; the journalist knows that they are in the population, and n counts its people who share the key of the class.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias, get_args

from unveil.arguments import checked_arguments, checked_count, checked_share
from unveil.errors import ArgumentError
from unveil.measures import checked_sampling_fraction
from unveil.models.base import Measured, Model
from unveil.models.population import Attacker, Population, checked_attacker, in_population

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from unveil.measures import Equivalence

__all__ = ["CELL_ESTIMATORS", "CellEstimator", "EstimatedKMap", "NoAttack"]

CellEstimator: TypeAlias = Literal["poisson", "zero-truncated"]
CELL_ESTIMATORS: tuple[CellEstimator, ...] = get_args(CellEstimator)
_MOST = 2**62
_LARGEST = 1e300


@dataclass(frozen=True)
class _SmallestClass(Model):
    """A model that is met if every class has a minimum number of records; its figure is the size of a class."""

    safe_is_high: ClassVar[bool] = True
    whole: ClassVar[bool] = True
    judged_on = "size"
    on_request: ClassVar[bool] = True  # k-anonymity already has the figure

    def by_class(self, classes: Equivalence) -> NDArray[np.float64]:
        """Return the size of every class."""
        return classes.size


@checked_arguments
@dataclass(frozen=True)
class EstimatedKMap(_SmallestClass):
    """Every class is estimated to have at least k people in the population, from the share of it that was sampled.

    Examples
    --------
    >>> EstimatedKMap(20, 0.1).threshold, EstimatedKMap(20, 0.1, 0.05, "zero-truncated").threshold
    (7, 6)
    """

    k: int | None = None
    sampling_fraction: float = 1.0
    significance: float = 0.01
    estimator: CellEstimator = "poisson"
    name: ClassVar[str] = "estimated_k_map"
    label: ClassVar[str] = "k-map by an estimator"

    def __post_init__(self) -> None:
        """Refuse a fraction that no sample can have, a significance that is not a share, and an unknown estimator."""
        if self.k is not None:
            checked_count("the k of estimated_k_map", self.k, least=1)
        checked_sampling_fraction(self.sampling_fraction)
        checked_share("the significance of estimated_k_map", self.significance)
        if self.estimator not in CELL_ESTIMATORS:
            raise ArgumentError.not_one_of("estimator", self.estimator, CELL_ESTIMATORS)

    @property
    def threshold(self) -> float | None:
        """The number of records that a class must have."""
        if self.k is None or self.sampling_fraction == 1.0:
            return self.k
        from scipy.stats import poisson

        mean = self.sampling_fraction * self.k
        seen = -math.expm1(-mean) if self.estimator == "zero-truncated" else 1.0
        allowed = self.significance * seen
        smallest = next((f for f in range(1, self.k) if poisson.sf(f - 1, mean) <= allowed), self.k)
        return int(smallest)

    @property
    def requirement(self) -> str | None:
        """The k and its estimator, in words."""
        if self.k is None:
            return None
        return f"estimated_k_map >= {self.k} (classes of {self.threshold}: {self.estimator}, {self.sampling_fraction:g} sampled)"


@checked_arguments
@dataclass(frozen=True)
class NoAttack(_SmallestClass):
    """No attack pays: what a right guess gains, times its probability, stays below what an attack costs (Wan et al. 2015).

    A prosecutor looks for somebody who is in the table, a journalist for somebody who is in the population.

    Examples
    --------
    >>> NoAttack(300, 4).threshold
    76
    """

    gain: float | None = None
    cost: float = 1.0
    attacker: Attacker = "prosecutor"
    name: ClassVar[str] = "no_attack"
    label: ClassVar[str] = "no attack pays"

    def __post_init__(self) -> None:
        """Refuse an unknown attacker, and a gain and a cost that no class size balances."""
        checked_attacker(self.attacker)
        if self.gain is not None and not (
            0.0 <= self.gain < _LARGEST and 0.0 < self.cost < _LARGEST and self.gain / self.cost < _MOST
        ):
            raise ArgumentError("no_attack takes a gain of zero or above, and a cost above zero.")

    @property
    def needs_population(self) -> bool:
        """Whether the attacker is a journalist."""
        return self.attacker == "journalist"

    @property
    def least_size(self) -> int | None:
        """The least number of records of a class, if the attacker is a prosecutor."""
        return None if self.needs_population else super().least_size

    @property
    def least_people(self) -> int | None:
        """The least number of people who share the key of a class, if the attacker is a journalist."""
        return int(self.threshold) if self.needs_population and self.threshold is not None else None

    def measure(self, classes: Equivalence, population: Population | None = None) -> Measured:
        """Return the size of the smallest class, in the table or in the population."""
        return in_population(self, classes, population) if self.needs_population else super().measure(classes)

    @property
    def threshold(self) -> float | None:
        """The number of records, or people, that a class must have: more than the gain divided by the cost."""
        return None if self.gain is None else max(1, math.floor(self.gain / self.cost) + 1)

    @property
    def requirement(self) -> str | None:
        """Gain and cost in words."""
        if self.gain is None:
            return None
        within = " in the population" if self.needs_population else ""
        return f"no_attack (gain {self.gain:g}, cost {self.cost:g}: classes of {self.threshold}{within})"
