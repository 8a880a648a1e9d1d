"""The sections of a measurement: risks by intruder, of records and households; uniqueness; vulnerability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_number, shown_number
from unveil.counts import Counts
from unveil.errors import ArgumentError
from unveil.measures import (
    OF_MEMBERS,
    Equivalence,
    Homes,
    HouseholdRisks,
    Intruder,
    Vulnerability,
    intruder_risk,
    vulnerability_of_records,
    vulnerability_of_sensitive,
)
from unveil.models.base import Model
from unveil.models.population import Population
from unveil.results import DecidingClass, Figures
from unveil.sources import Data
from unveil.study import Study

if TYPE_CHECKING:
    from unveil.measures import Interval, ModelFit, PopulationUniqueness, SpecialSummary

__all__ = [
    "MatchRisk",
    "RecordRisk",
    "Risks",
    "UniqueByModel",
    "UniqueInBoth",
    "UniqueInSample",
    "Uniqueness",
    "risks",
    "uniqueness",
    "vulnerabilities",
]


@dataclass(frozen=True, slots=True)
class MeasureOptions:
    """The requests beyond the models of a study: the arguments of `measure` that are not about the data."""

    models: tuple[Model, ...] = ()
    reference: Data | None = None
    sampling_fraction: float | None = None
    special: bool = False
    loglinear: int | str | None = None
    threshold: float = 0.2
    alpha: float = 1.0
    suppressed: str = "apart"

    def check(self, study: Study) -> None:
        """Refuse options that are invalid for the study."""
        checked_number("threshold", self.threshold, above=0.0, most=1.0)
        if study.weights is not None and study.nulls == "wildcard":
            raise ArgumentError("individual risk has no meaning if nulls match any value; choose other nulls, or no weights.")


_COUNTABLE_PAIRS = 3_000_000_000
"""The number of ordered pairs of fewer records than this fits into an integer of 64 bits."""


@dataclass(frozen=True, slots=True, eq=False)
class MatchRisk(Figures):
    """The risk of a record under a log-linear model of the key, and the fit of the model."""

    highest: float | None
    rate: float
    expected: float
    sampling_fraction: float
    fit: ModelFit | None
    fit_reason: str | None


@dataclass(frozen=True, slots=True, eq=False)
class RecordRisk(Figures):
    """The individual risk from weights: the highest, the mean, and the number of records that an intruder identifies."""

    highest: float | None
    rate: float | None
    expected: float
    note: str


@dataclass(frozen=True, slots=True, eq=False)
class Risks(Figures):
    """The risks by intruder; with weights, also the risk of a record; with households, also theirs."""

    prosecutor: Intruder
    journalist: Intruder
    marketer: Intruder
    loglinear: MatchRisk | None = None
    individual_exact: RecordRisk | None = None
    individual_approximate: RecordRisk | None = None
    household: HouseholdRisks | None = None

    @property
    def intruders(self) -> dict[str, Intruder]:
        """The risks by intruder."""
        return {"prosecutor": self.prosecutor, "journalist": self.journalist, "marketer": self.marketer}

    def with_classes(self, shown: Mapping[tuple[str, ...], DecidingClass]) -> Risks:
        """Return the risks with their worst classes in the form to be shown."""
        risks = (replace(risk, worst_class=shown.get(("risk", name))) for name, risk in self.intruders.items())
        prosecutor, journalist, marketer = risks
        return replace(self, prosecutor=prosecutor, journalist=journalist, marketer=marketer)


@dataclass(frozen=True, slots=True, eq=False)
class UniqueInSample(Figures):
    """The uniques of the file, and how far the key distinguishes records.

    Attributes
    ----------
    uniques, share
        The number of uniques by the key, and their share.
    distinction, separation
        The number of key values per record, and the share of all pairs that differ.
    """

    uniques: int
    share: float
    distinction: float
    separation: float


@dataclass(frozen=True, slots=True, eq=False)
class UniqueInBoth(Figures):
    """The uniques of the file that are also unique in the population."""

    sample_uniques: int
    population_uniques: int
    share: float | None
    highest_risk: float


@dataclass(frozen=True, slots=True, eq=False)
class UniqueByModel(Figures):
    """The number of population uniques, under a log-linear model of the key."""

    order: int
    interactions: Sequence[Any]
    sample_uniques: int
    population_uniques: float
    interval: Interval | None
    interval_reason: str | None
    correct_matches: float
    fit: ModelFit | None
    fit_reason: str | None
    converged: bool


@dataclass(frozen=True, slots=True, eq=False)
class Uniqueness(Figures):
    """Sample uniqueness, and the figures that further inputs allow."""

    sample: UniqueInSample
    simple: UniqueInBoth | None = None
    population: PopulationUniqueness | None = None
    loglinear: UniqueByModel | None = None
    special: SpecialSummary | None = None


def risks(
    classes: Equivalence, cells: Counts | None, homes: Homes | None, population: Population | None, threshold: float
) -> Risks:
    """Return the risks by intruder and, if `cells` have weights, the risk of a record."""
    alike = classes.size if population is None else population.size.astype(np.float64)
    outsider = intruder_risk(classes, alike, threshold)
    if population is None:
        outsider = replace(outsider, note="no population is given: the file is taken as the population")
    sections = Risks(intruder_risk(classes, classes.size, threshold), outsider, outsider)
    if cells is None:
        return sections if homes is None else replace(sections, household=homes.risk(homes.member_risk(classes), OF_MEMBERS))
    return _with_individual(replace(sections, loglinear=_matches(cells)), classes, homes)


def _matches(cells: Counts) -> MatchRisk:
    """Return the risk of a record under a log-linear model of the key, with each cell sampled according to its weights."""
    from unveil.measures import CellWeights, loglinear_uniqueness

    fraction = min(1.0, cells.records / float(cells.mass.sum()))
    sizes = [len(column.values) for column in cells.columns]
    weights = CellWeights(cells.mass)
    fitted = loglinear_uniqueness(cells.codes, sizes, cells.n, sampling_fraction=fraction, weights=weights)
    return MatchRisk(
        fitted.highest, fitted.expected / fitted.records, fitted.expected, fraction, fitted.fit, fit_reason=fitted.fit_reason
    )


def _with_individual(risks: Risks, classes: Equivalence, homes: Homes | None) -> Risks:
    """Return the individual risk under both methods, and the household risk that follows from the exact one."""
    from unveil.measures import UNDERSTATES, approximated, individual_risk

    exact = individual_risk(classes.own, classes.mass, method="exact")
    rough = approximated(exact)
    one, other = (RecordRisk(risk.highest, risk.rate, risk.expected, UNDERSTATES) for risk in (exact, rough))
    together = None if homes is None else homes.risk(exact.risk[homes.of_class], UNDERSTATES, by_record=True)
    return replace(risks, individual_exact=one, individual_approximate=other, household=together)


def uniqueness(
    counts: Counts,
    keys: Sequence[str],
    classes: Equivalence,
    population: Population | None,
    options: MeasureOptions,
) -> Uniqueness:
    """Return sample uniqueness, and the figures that further inputs allow."""
    alone = classes.among(classes.size <= 1.0)
    section = Uniqueness(UniqueInSample(alone, alone / classes.number, *_distinction(classes)))
    if population is not None:
        from unveil.measures import simple_uniqueness

        simple = simple_uniqueness(classes.own if classes.owners is None else classes.owners.sizes, population.size)
        both = UniqueInBoth(simple.sample_uniques, simple.population_uniques, simple.share, float(simple.risk.max()))
        section = replace(section, simple=both)
    sampling_fraction = options.sampling_fraction
    if sampling_fraction is not None:
        from unveil.measures import population_uniqueness

        section = replace(section, population=population_uniqueness(classes.own, sampling_fraction=sampling_fraction))
    if options.loglinear is not None:
        section = replace(section, loglinear=_loglinear(counts.over(keys), sampling_fraction, options.loglinear))
    if options.special:
        from unveil.measures import find_special_uniques

        fraction = 0.01 if sampling_fraction is None else sampling_fraction
        section = replace(section, special=find_special_uniques(counts, keys, dis_fraction=fraction).summary())
    return section


def _loglinear(cells: Counts, sampling_fraction: float | None, model: int | str) -> UniqueByModel:
    if sampling_fraction is None and cells.weight is None:
        raise ArgumentError("a log-linear model of population uniqueness needs the sampling fraction, or sampling weights.")
    if not isinstance(model, str) and model not in (1, 2):
        raise ArgumentError(f"a log-linear model here has order 1 (independence) or 2 (all pairs), not {shown_number(model)}.")
    from unveil.measures import fitted_model

    fraction = min(1.0, cells.records / float(cells.mass.sum())) if sampling_fraction is None else sampling_fraction
    fitted, terms = fitted_model(cells, model, fraction)
    return UniqueByModel(
        order=fitted.order if isinstance(model, str) else model,
        interactions=terms,
        sample_uniques=fitted.sample_uniques,
        population_uniques=fitted.population_uniques,
        interval=fitted.interval,
        interval_reason=fitted.interval_reason,
        correct_matches=fitted.correct_matches,
        fit=fitted.fit,
        fit_reason=fitted.fit_reason,
        converged=fitted.converged,
    )


def vulnerabilities(classes: Equivalence) -> dict[str, Vulnerability]:
    """Return the Bayes vulnerability of the records and of each sensitive attribute."""
    by_attribute = {name: vulnerability_of_sensitive(spread, classes.own) for name, spread in classes.spreads.items()}
    return {"re_identification": vulnerability_of_records(classes), **by_attribute}


def _distinction(classes: Equivalence) -> tuple[float, float]:
    """Return how far the key distinguishes records: the number of its values per record, and the share of pairs that differ."""
    n = classes.own if classes.own.sum() < _COUNTABLE_PAIRS else classes.own.astype(object)
    records = int(n.sum())
    pairs = records * (records - 1)
    separated = 1.0 - int((n * (n - 1)).sum()) / pairs if pairs else 0.0
    return len(n) / records, separated
