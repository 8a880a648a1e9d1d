"""Does the population hide a file's records? Models that compare a table with the population from which it was drawn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias, get_args

import numpy as np

from unveil.arguments import checked_arguments, checked_share
from unveil.counts import Counts
from unveil.errors import ArgumentError
from unveil.measures import Equivalence, disclosing, population_sizes, without_suppressed
from unveil.models.base import TOLERANCE, Measured, Model
from unveil.results import DecidingClass

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "ATTACKERS",
    "Attacker",
    "AverageRisk",
    "DeltaPresence",
    "KMap",
    "Population",
    "checked_attacker",
    "in_population",
    "people_of_classes",
]

Attacker: TypeAlias = Literal["prosecutor", "journalist"]
"""The intruders: a prosecutor knows that the person is in the table, a journalist that they are in the population."""
ATTACKERS: tuple[Attacker, ...] = get_args(Attacker)


@dataclass(frozen=True, eq=False)
class Population:
    """The population's count table over the key, beside the table's classes.

    Attributes
    ----------
    size
        For each class of the table, the number of records of the population that hold its key.
    counts, held
        The population's own classes over the key, and the number of records of the table in each.
    """

    size: NDArray[np.int64]
    counts: Counts
    held: NDArray[np.int64]

    @classmethod
    def of(cls, table: Counts, classes: Equivalence, population: Counts) -> Population:
        """Find every class of the table in the population; each must have at least as many records there."""
        keys = [column.name for column in classes.classes.columns]
        sample = table.over(keys)
        kept = sample if classes.suppressed == 0 else without_suppressed(sample, keys)
        size = population_sizes(kept, population)
        short = int(np.count_nonzero(size < kept.n))
        if short:
            raise ArgumentError(f"{short:,} of the {len(kept):,} classes hold more records in the data than in the population.")
        whole = population.over(keys)
        return cls(size, whole, population_sizes(whole, sample))


def checked_attacker(attacker: str) -> None:
    """Refuse an unknown attacker."""
    if attacker not in ATTACKERS:
        raise ArgumentError.not_one_of("attacker", attacker, ATTACKERS)


def people_of_classes(model: Model, population: Population | None) -> NDArray[np.int64]:
    """Return the number of people in the population who share the key of each class; a population must be given."""
    return _required(model, population).size


def in_population(
    model: Model, classes: Equivalence, population: Population | None, figures: NDArray[np.float64] | None = None
) -> Measured:
    """Measure a model whose figure is the number of people who share the key of a class, or follows from it; high is safe."""
    size = people_of_classes(model, population)
    figures = size.astype(np.float64) if figures is None else figures
    worst, violated = int(np.argmin(figures)), model.violated(figures)
    required = model.requirement is not None
    return Measured(
        value=int(figures[worst]) if model.whole else float(figures[worst]),
        worst_class=replace(classes.describe(worst), population=int(size[worst])),
        requirement=model.requirement,
        met=not violated.any() if required else None,
        violating_classes=int(violated.sum()) if required else None,
        violating_records=int(classes.own[violated].sum()) if required else None,
        of_population=True,
    )


def _required(model: Model, population: Population | None) -> Population:
    if population is None:
        raise ArgumentError(f"{model.name} compares the table with its population; give the population's table.")
    return population


@checked_arguments
@dataclass(frozen=True)
class KMap(Model):
    """Every record's key is shared by at least k records of the population (Sweeney 2002)."""

    k: int | None = None
    name: ClassVar[str] = "k_map"
    label: ClassVar[str] = "k-map"
    safe_is_high: ClassVar[bool] = True
    whole: ClassVar[bool] = True
    judged_on = "population"

    @property
    def threshold(self) -> float | None:
        """The required k."""
        return self.k

    def measure(self, classes: Equivalence, population: Population | None = None) -> Measured:
        """Return the size of the smallest class of the population to which a record of the table belongs."""
        return in_population(self, classes, population)


@checked_arguments
@dataclass(frozen=True)
class DeltaPresence(Model):
    """The chance that someone is in the table is never below `low` or above `high` (Nergiz et al. 2007)."""

    low: float | None = None
    high: float | None = None
    name: ClassVar[str] = "delta_presence"
    label: ClassVar[str] = "delta-presence"
    safe_is_high: ClassVar[bool] = False
    judged_on = "presence"

    def __post_init__(self) -> None:
        """Refuse bounds that are not probabilities, or between which no probability lies."""
        for name, bound in (("low", self.low), ("high", self.high)):
            if bound is not None:
                checked_share(f"the {name} bound of delta_presence", bound)
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ArgumentError(f"delta_presence lies between a low and a high bound; {self.low:g} is above {self.high:g}.")

    @property
    def threshold(self) -> float | None:
        """The highest probability allowed."""
        return self.high

    @property
    def requirement(self) -> str | None:
        """The bounds in words."""
        low, high = self.low or 0.0, 1.0 if self.high is None else self.high
        return None if self.low is None and self.high is None else f"{low:g} <= delta_presence <= {high:g}"

    def measure(self, classes: Equivalence, population: Population | None = None) -> Measured:  # noqa: ARG002 - the population's
        """Return the highest probability of presence; the lowest is in the description of the worst class."""
        population = _required(self, population)
        chance = population.held / population.counts.n
        worst = int(np.argmax(chance))
        required = self.requirement is not None
        violated = np.zeros(len(chance), dtype=bool)
        if self.low is not None:
            violated |= chance < self.low - TOLERANCE
        if self.high is not None:
            violated |= chance > self.high + TOLERANCE
        values = {
            column.name: column.values[int(codes[worst])]
            for column, codes in zip(population.counts.columns, population.counts.codes, strict=True)
        }
        tells = disclosing(population.held, population.counts.n, population.held.sum() / population.counts.records)[worst]
        deciding = DecidingClass(
            values,
            int(population.held[worst]),
            ["presence"] if tells else (),
            population=int(population.counts.n[worst]),
            lowest=float(chance.min()),
        )
        return Measured(
            value=float(chance[worst]),
            worst_class=deciding,
            requirement=self.requirement,
            met=not violated.any() if required else None,
            violating_classes=int(violated.sum()) if required else None,
            violating_records=int(population.held[violated].sum()) if required else None,
            of_population=True,
        )


@checked_arguments
@dataclass(frozen=True)
class AverageRisk(Model):
    """On average no more than this share of records, or persons, is re-identified: one over the mean size of a class."""

    highest: float | None = None
    name: ClassVar[str] = "average_risk"
    label: ClassVar[str] = "average risk"
    judged_on = "average"
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    safe_is_high: ClassVar[bool] = False

    @property
    def threshold(self) -> float | None:
        """The required share."""
        return self.highest

    def measure(self, classes: Equivalence, population: Population | None = None) -> Measured:  # noqa: ARG002 - classes only
        """Return the mean over the records, or persons, of one over the size of their class; no single class decides."""
        own = classes.worst(classes.size)
        value = float((own / classes.size).sum() / own.sum())
        met = None if self.highest is None else value <= self.highest + TOLERANCE
        return Measured(value, requirement=self.requirement, met=met)
