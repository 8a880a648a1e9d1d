"""The view of a measurement: the main figures first, then the models with the deciding class of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from unveil.formats import counted, noun
from unveil.measures import UNDERSTATES
from unveil.models.registry import label_of
from unveil.results import MASK, DecidingClass, Figure, Table, View

if TYPE_CHECKING:
    from unveil.measures import ModelFit
    from unveil.models.base import Measured
    from unveil.models.measure import Measurement
    from unveil.models.risk_sections import MatchRisk, UniqueByModel

__all__ = ["view_of"]

_VERDICTS = {
    "fits": "no fault found",
    "overstates": "it leaves out dependence, and overstates",
    "understates": "it follows the sample, and understates",
}


def view_of(measurement: Measurement) -> View:
    """Return the figures, a table of requirements if there are any, and a table of models by attribute."""
    required = [(place, measured) for place, measured in measurement.models.items() if measured.requirement is not None]
    tables = [_requirements(required)] if required else []
    tables.append(_risks(measurement))
    plain = [(place, measured) for place, measured in measurement.models.items() if len(place) == 1]
    tables.append(_models("Classes", plain))
    attributes = dict.fromkeys(place[1] for place in measurement.models if len(place) > 1)
    tables += [
        _models(f"Sensitive: {name}", [(p, m) for p, m in measurement.models.items() if name in p[1:2]]) for name in attributes
    ]
    sensitive = " + ".join(measurement.made.sensitive)
    title = f"Privacy models and risk: {' + '.join(measurement.made.key)}" + (f" -> {sensitive}" if sensitive else "")
    return View(title, tuple(_figures(measurement)), tuple(tables), tuple(_notes(measurement)))


def _figures(measured: Measurement) -> list[Figure]:
    prosecutor = measured.risk["prosecutor"]
    sample = measured.uniqueness["sample"]
    many, classes = noun(measured.unit), counted(measured.classes, "class", "classes")
    apart = " with a key value" if measured.suppressed else ""
    figures = [
        Figure(
            "k",
            measured["k_anonymity"].value,
            "the smallest class" if measured.persons is None else "people in the smallest class",
        ),
        Figure("records", measured.made.records, f"in {classes}"),
        Figure("highest risk", prosecutor["highest"], "prosecutor: the target is known to be in the file"),
        Figure("average risk", prosecutor["average"], f"share of {many} matched correctly if all are linked"),
        Figure(f"{many} at risk", f"{prosecutor['records_above_threshold']:.2%}", f"risk above {prosecutor['threshold']:g}"),
        Figure("sample uniques", sample["uniques"], f"{sample['share']:.2%} of the {many}{apart}"),
    ]
    if measured.persons is not None:
        figures.insert(2, Figure("people", measured.persons, f"identified by {measured.made.person}"))
    if "household" in measured.risk:
        figures += _of_households(measured.risk["household"])
    if "loglinear" in measured.risk:
        matches = measured.risk["loglinear"]
        figures.append(
            Figure("correct matches", f"{matches['expected']:,.1f}", "expected of the whole file, by a log-linear model")
        )
    if measured.met is not None:
        figures.insert(0, Figure("requirements", "met" if measured.met else "NOT met"))
    return figures


def _of_households(homes: Mapping[str, Any]) -> list[Figure]:
    alone = f"{homes['unique_households']:,} of {counted(homes['households'], 'household')} unlike any other"
    return [
        Figure("k for households", homes["k"], "households in the smallest class: one member is known"),
        Figure("k, whole households", homes["k_whole"], f"all members are known; {alone}"),
    ]


def _risks(measured: Measurement) -> Table:
    """Return the risks by intruder, with the further risks from weights and a population."""
    rows: list[tuple[Any, ...]] = []
    for name, risk in measured.risk.items():
        average = risk.get("average", risk.get("rate"))
        rows.append((name.replace("_", " "), risk["highest"], average, risk.get("records_above_threshold")))
    for name, guess in measured.vulnerability.items():
        rows.append((f"best guess: {name.replace('_', ' ')}", None, guess["posterior"], None))
    limit = measured.risk["prosecutor"]["threshold"]
    note = f"above: share of {noun(measured.unit)} with a risk over {limit:g}; best guess: the chance of being right, on average"
    return Table(("risk", "highest", "average", "above"), tuple(rows), title="Risk", note=note)


def _requirements(required: Sequence[tuple[tuple[str, ...], Measured]]) -> Table:
    rows = tuple(
        (measured.requirement, place[1] if len(place) > 1 else None, measured.value, "yes" if measured.met else "NO",
         measured.violating_classes, measured.violating_records)
        for place, measured in required
    )  # fmt: skip
    return Table(
        ("requirement", "attribute", "found", "met", "violating classes", "violating records"), rows, title="Requirements"
    )


def _models(title: str, models: Sequence[tuple[tuple[str, ...], Measured]]) -> Table:
    rows = tuple((_name(place), measured.value, *_class(measured.worst_class)) for place, measured in models)
    notes = [f"{_name(place)}: {measured.reason}" for place, measured in models if measured.reason]
    return Table(("model", "value", "size", "class that decides"), rows, title=title, note="; ".join(notes))


def _name(place: tuple[str, ...]) -> str:
    word = label_of(place[0])
    return f"{word} {place[2]}" if place[0].startswith("recursive") else f"{word}, {place[2]}" if len(place) > 2 else word  # noqa: PLR2004


def _class(worst: DecidingClass | None) -> tuple[Any, Any]:
    if worst is None:
        return None, None
    if worst.masked:
        return worst.size, MASK
    return worst.size, ", ".join(f"{name} = {'null' if value is None else value}" for name, value in worst.key.items())


def _notes(measured: Measurement) -> list[str]:
    notes = list(measured.notes)
    if measured.suppressed:
        notes.append(
            f"{counted(measured.suppressed, 'record')} suppressed in every key attribute: counted separately, without a class."
        )
    if measured.made.dropped:
        notes.append(f"{counted(measured.made.dropped, 'record')} with a null in a named column left out (nulls='drop').")
    if "individual_exact" in measured.risk:
        notes.append(f"Risk of a record: read the log-linear figure. Individual risk from weights {UNDERSTATES}.")
        if measured.risk.loglinear is not None:
            notes.append(_fit_of_matches(measured.risk.loglinear))
    special, simple = measured.uniqueness.special, measured.uniqueness.simple
    model, estimated = measured.uniqueness.loglinear, measured.uniqueness.population
    if special is not None:
        notes.append(
            f"SUDA: {special.special_uniques:,} special uniques, highest score {special.max_score:,}; the whole answer has all."
        )
    if simple is not None:
        notes.append(f"{simple.population_uniques:,} of {simple.sample_uniques:,} sample uniques are unique in the population.")
    if model is not None:
        notes.append(_loglinear(model))
    if estimated is not None and estimated.dankar.value is not None:
        chosen = estimated.dankar
        notes.append(f"Population uniques: about {chosen.value:,.0f} ({chosen.model}, by Dankar's rule).")
    return notes


def _loglinear(model: UniqueByModel) -> str:
    """Return a sentence on the number of sample uniques that are population uniques, its bounds, and the fit of the model."""
    words = f"Log-linear model: {model.population_uniques:,.1f} of the sample uniques are unique in the population"
    inside = model.interval
    if inside is not None:
        words += f", {100.0 * inside.confidence:.4g} % interval {inside.low:,.0f} to {inside.high:,.0f}"
    else:
        words += f"; no interval: {model.interval_reason}"
    return f"{words}. {_verdict(model.fit, model.fit_reason, 'uniques_z')}"


def _fit_of_matches(model: MatchRisk) -> str:
    words = f"Log-linear model: {model.expected:,.1f} correct matches expected, {model.sampling_fraction:.2%} being sampled"
    return f"{words}. {_verdict(model.fit, model.fit_reason, 'matches_z')}"


def _verdict(fit: ModelFit | None, reason: str | None, z: Literal["uniques_z", "matches_z"]) -> str:
    if fit is None:
        return f"Its fit was not checked: {reason}."
    return f"Its fit: {_VERDICTS[fit.verdict]} (z = {fit[z]:,.1f})."
