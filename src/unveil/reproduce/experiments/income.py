"""How well can the income still be inferred from 5- and 10-anonymous and 2-diverse releases? The thesis's utility of Adult."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unveil.formats import number
from unveil.measures import mean
from unveil.models import DistinctLDiversity, KAnonymity, Model
from unveil.project import Need
from unveil.releases import Release
from unveil.reproduce.experiments.frame import (
    LEFT_OUT,
    READINGS,
    SUPPRESSION,
    Conclusion,
    Experiment,
    ExperimentFigure,
    described,
    read,
    released,
)
from unveil.reproduce.experiments.taxonomies import hierarchies
from unveil.sources import Data, datasets
from unveil.utility import Served, utility

__all__ = ["KEYS", "run"]

KEYS = ("age", "education", "native-country", "race")
INCOME = "income-per-year"
_FIVE, _TEN, _DIVERSE, _ORIGINAL = "5-anonymity", "10-anonymity", "2-diversity", "original"
_MODELS: dict[str, list[Model]] = {_FIVE: [KAnonymity(5)], _TEN: [KAnonymity(10)], _DIVERSE: [DistinctLDiversity(INCOME, 2)]}
_DEGREE, _VALUES, _RECORDS = "degree to which the income can be inferred", "degree by value of race", "records by race"
_LOWER = "<=50K"
_WEIGHTED = (
    "A value's degree is weighted by its share of the records, so a rare value comes near 1 whatever it tells. A release that "
    "suppresses records of a rare race raises it further: that is why values seem more useful in a release than in the original."
)
_RACES = ("Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White")


def run() -> Experiment:
    """Measure how far each key attribute serves the need to infer the income, in the original and three releases."""
    age = hierarchies()["age"].height - 1
    releases = released(KEYS, INCOME, _MODELS, hierarchies(), suppression=SUPPRESSION, levels={"age": (age, age)})
    findings: list[ExperimentFigure] = []
    conclusions: list[Conclusion] = []
    for reading in READINGS:
        tables = {_ORIGINAL: datasets.adult(), **{name: read(release, reading)[0] for name, release in releases.items()}}
        served = {name: _served(table) for name, table in tables.items()}
        findings += [one for name, utility in served.items() for one in _findings(name, utility, reading)]
        conclusions += _conclusions(served, reading)
    return Experiment(
        name="income",
        title="Income: what 5- and 10-anonymity and 2-diversity leave to tell",
        source="thesis, section 6.6, Figure 6.1",
        theirs="Four key attributes; 5- and 10-anonymity and 2-diversity of the income by global recoding with ARX 3.5.1, which "
        "left two values of the age: below 80, and 80 and over. No figure is printed, only drawn.",
        ours="The same attributes and models, and the age as printed; otherwise the generalisation of least loss that suppresses "
        "at most 5 % of the records. The income itself stays as it is.",
        findings=tuple(findings),
        conclusions=tuple(conclusions),
        releases=described(releases),
        notes=(_WEIGHTED, _star(releases[_DIVERSE])),
    )


def _findings(name: str, served: Mapping[str, Served], reading: str) -> list[ExperimentFigure]:
    """Return the degree of each attribute and of each race, and the number of records by race; the original occurs once."""
    if name == _ORIGINAL and reading == LEFT_OUT:
        return []
    degrees = _degrees(served)
    races = {str(row["race"]): row for row in served["race"].by_value}
    return [
        *(ExperimentFigure(_DEGREE, key, name, degree, suppressed=reading) for key, degree in degrees.items()),
        ExperimentFigure(_DEGREE, "mean", name, _mean(degrees), suppressed=reading),
        *(
            ExperimentFigure(_VALUES, race, name, races[race]["dr"], suppressed=reading)
            for race in (*_RACES, "*")
            if race in races
        ),
        *(
            ExperimentFigure(_RECORDS, race, name, races[race]["count"] if race in races else 0, suppressed=reading)
            for race in _RACES
        ),
    ]


def _degrees(served: Mapping[str, Served]) -> dict[str, float]:
    return {key: one.degree or 0.0 for key, one in served.items()}


def _star(release: Release[Any]) -> str:
    """Return a sentence on what suppression by 2-diversity reveals, from the incomes of the suppressed records."""
    data = datasets.adult()
    gone = data.filter(~read(release, LEFT_OUT)[1])[INCOME]
    share, whole = (float((column == _LOWER).mean() or 0.0) for column in (gone, data[INCOME]))
    return (
        f"2-diversity suppresses the records of classes with a single income: of them {share:.0%} have the lower one, of all "
        f"records {whole:.0%}. So * itself tells the income, and every attribute that holds it gains; left out, it does not."
    )


def _served(table: Data) -> dict[str, Served]:
    needs = [Need(key, target=INCOME, given=key) for key in KEYS]
    return dict(utility(table, needs).needs)


def _mean(rates: Mapping[str, float]) -> float:
    return mean(list(rates.values())) or 0.0


def _conclusions(served: Mapping[str, Mapping[str, Served]], reading: str) -> tuple[Conclusion, ...]:
    degrees = {name: _degrees(utility) for name, utility in served.items()}
    values = {name: {str(row["race"]): row["dr"] for row in utility["race"].by_value} for name, utility in served.items()}
    best = {name: max(degrees[name], key=degrees[name].__getitem__) for name in _MODELS}
    worst = {name: min(degrees[name], key=degrees[name].__getitem__) for name in _MODELS}
    means = {name: _mean(degrees[name]) for name in _MODELS}
    races = {name: {race: rate for race, rate in values[name].items() if race in _RACES} for name in _MODELS}
    extremes = {
        name: (max(utility, key=utility.__getitem__), min(utility, key=utility.__getitem__)) for name, utility in races.items()
    }
    raised = [race for race in _RACES if all(utility.get(race, 0.0) > values[_ORIGINAL][race] for utility in races.values())]
    age = degrees[_ORIGINAL]
    return (
        Conclusion("Education tells most in every release", set(best.values()) == {"education"}, _listed(best), reading),
        Conclusion(
            "The 2-diverse release tells least",
            min(means, key=means.__getitem__) == _DIVERSE,
            _listed(_numbers(means)),
            reading,
        ),
        Conclusion(
            "Age tells least in every release, and much in the original",
            set(worst.values()) == {"age"} and max(age, key=age.__getitem__) == "age",
            f"{_listed({name: degrees[name]['age'] for name in _MODELS} | {_ORIGINAL: age['age']})}",
            reading,
        ),
        Conclusion(
            "Of the races, Other tells most and White least",
            set(extremes.values()) == {("Other", "White")},
            _listed({name: f"{most} most, {least} least" for name, (most, least) in extremes.items()}),
            reading,
        ),
        Conclusion(
            "The races but White tell more in the releases than in the original",
            set(raised) >= set(_RACES) - {"White"},
            f"so in every release: {', '.join(raised) or 'none'}",
            reading,
        ),
    )


def _numbers(numbers: Mapping[str, float]) -> dict[str, str]:
    return {name: number(value) for name, value in numbers.items()}


def _listed(figures: Mapping[str, object]) -> str:
    return ", ".join(f"{name}: {number(value) if isinstance(value, float) else value}" for name, value in figures.items())
