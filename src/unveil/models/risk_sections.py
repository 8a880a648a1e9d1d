"""The sections of a measurement that estimate risks: journalist, population, households, matches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from unveil.arguments import shown_number
from unveil.counts import Counts
from unveil.errors import ArgumentError
from unveil.measures.equivalence import Equivalence
from unveil.measures.households import OF_MEMBERS, Homes
from unveil.measures.risk import intruder_risk, vulnerability_of_records, vulnerability_of_secret
from unveil.models.measure_options import MeasureOptions
from unveil.models.population import Population


def risks(
    classes: Equivalence, cells: Counts | None, homes: Homes | None, population: Population | None, threshold: float
) -> dict[str, Any]:
    """Return the risks by intruder, and with weights, which `cells` have, those of a record."""
    alike = classes.size if population is None else population.size.astype(np.float64)
    outsider = intruder_risk(classes, alike, threshold).to_dict()
    if population is None:
        outsider["note"] = "no population is given: the file is taken for it"
    sections = {
        "prosecutor": intruder_risk(classes, classes.size, threshold).to_dict(),
        "journalist": outsider,
        "marketer": dict(outsider),
    }
    if cells is None:
        return sections if homes is None else sections | {"household": homes.risk(homes.member_risk(classes), OF_MEMBERS)}
    return sections | _matches(cells) | _individual(classes, homes)


def _matches(cells: Counts) -> dict[str, Any]:
    """Return the risk of a record under a log-linear model of the key, each cell being sampled as its weights say."""
    from unveil.measures.loglinear import loglinear_uniqueness

    fraction = min(1.0, cells.records / float(cells.mass.sum()))
    sizes = [len(column.values) for column in cells.columns]
    fitted = loglinear_uniqueness(cells.codes, sizes, cells.n, sampling_fraction=fraction, weights=cells.mass)
    return {
        "loglinear": {
            "highest": fitted.highest,
            "rate": fitted.expected / fitted.records,
            "expected": fitted.expected,
            "sampling_fraction": fraction,
            "fit": None if fitted.fit is None else fitted.fit.to_dict(),
            "fit_reason": fitted.fit_reason,
        }
    }


def _individual(classes: Equivalence, homes: Homes | None) -> dict[str, Any]:
    """Return the individual risk under both methods, and the household risk that follows from the exact one."""
    from unveil.measures.individual import UNDERSTATES, individual_risk

    exact = individual_risk(classes.own, classes.mass, method="exact")
    rough = individual_risk(classes.own, classes.mass, method="approximate")
    section: dict[str, Any] = {
        f"individual_{risk.method}": {"highest": risk.highest, "rate": risk.rate, "expected": risk.expected, "note": UNDERSTATES}
        for risk in (exact, rough)
    }
    if homes is not None:
        section["household"] = homes.risk(exact.risk[homes.of_class], UNDERSTATES, by_record=True)
    return section


def uniqueness(
    counts: Counts,
    keys: Sequence[str],
    classes: Equivalence,
    population: Population | None,
    options: MeasureOptions,
) -> dict[str, Any]:
    """Return sample uniqueness, and what the further inputs allow."""
    alone = classes.among(classes.size <= 1.0)
    section: dict[str, Any] = {"sample": {"uniques": alone, "share": alone / classes.number, **_told_apart(classes)}}
    if population is not None:
        from unveil.measures.individual import simple_uniqueness

        simple = simple_uniqueness(classes.own if classes.owners is None else classes.owners.sizes, population.size)
        section["simple"] = {
            "sample_uniques": simple.sample_uniques,
            "population_uniques": simple.population_uniques,
            "share": simple.share,
            "highest_risk": float(simple.risk.max()),
        }
    sampling_fraction = options.sampling_fraction
    if sampling_fraction is not None:
        from unveil.measures.population import population_uniqueness

        section["population"] = population_uniqueness(classes.own, sampling_fraction=sampling_fraction).to_dict()
    if options.loglinear is not None:
        section["loglinear"] = _loglinear(counts.over(keys), sampling_fraction, options.loglinear)
    if options.special:
        from unveil.measures.special_uniqueness import special_uniqueness

        fraction = 0.01 if sampling_fraction is None else sampling_fraction
        section["special"] = special_uniqueness(counts, keys, dis_fraction=fraction).to_dict()
    return section


def _loglinear(cells: Counts, sampling_fraction: float | None, model: int | str) -> dict[str, Any]:
    if sampling_fraction is None:
        raise ArgumentError("a log-linear model of population uniqueness needs the sampling fraction.")
    if not isinstance(model, str) and model not in (1, 2):
        raise ArgumentError(f"a log-linear model here has order 1 (independence) or 2 (all pairs), not {shown_number(model)}.")
    from unveil.measures.loglinear_search import fitted_model

    fitted, terms = fitted_model(cells, model, sampling_fraction)
    return {
        "order": fitted.order if isinstance(model, str) else model,
        "interactions": terms,
        "sample_uniques": fitted.sample_uniques,
        "population_uniques": fitted.population_uniques,
        "interval": None if fitted.interval is None else fitted.interval.to_dict(),
        "interval_reason": fitted.interval_reason,
        "correct_matches": fitted.correct_matches,
        "fit": None if fitted.fit is None else fitted.fit.to_dict(),
        "fit_reason": fitted.fit_reason,
        "converged": fitted.converged,
    }


def vulnerabilities(classes: Equivalence) -> dict[str, Any]:
    """Return the Bayes vulnerability of the records and of each sensitive attribute."""
    sections = {"re_identification": vulnerability_of_records(classes).to_dict()}
    for name, spread in classes.spreads.items():
        sections[name] = vulnerability_of_secret(spread, classes.own).to_dict()
    return sections


def _told_apart(classes: Equivalence) -> dict[str, float]:
    """Return how far the key tells records apart: its values by the records, and the share of all pairs that differ."""
    n = [int(size) for size in classes.own]
    records = sum(n)
    pairs = records * (records - 1)
    separated = 1.0 - sum(size * (size - 1) for size in n) / pairs if pairs else 0.0
    return {"distinction": len(n) / records, "separation": separated}
