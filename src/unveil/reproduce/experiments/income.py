"""How well do 5- and 10-anonymous and 2-diverse releases still tell the income? The thesis's utility of Adult."""

from __future__ import annotations

from collections.abc import Mapping

from unveil.measures.rates import mean
from unveil.models import DistinctLDiversity, KAnonymity
from unveil.models.asked import AnyModel
from unveil.project import Need
from unveil.reproduce.experiments.frame import SUPPRESSION, Conclusion, Experiment, Finding, described, released
from unveil.reproduce.experiments.taxonomies import hierarchies
from unveil.results.numbers import number
from unveil.sources import Data, datasets
from unveil.utility.needs import Served, utility

__all__ = ["KEYS", "run"]

KEYS = ("age", "education", "native-country", "race")
INCOME = "income-per-year"
_FIVE, _TEN, _DIVERSE, _ORIGINAL = "5-anonymity", "10-anonymity", "2-diversity", "original"
_MODELS: dict[str, list[AnyModel]] = {_FIVE: [KAnonymity(5)], _TEN: [KAnonymity(10)], _DIVERSE: [DistinctLDiversity(INCOME, 2)]}
_DEGREE, _VALUES = "degree to which the income can be told", "degree by value of race"
_WEIGHTED = (
    "A value's degree is weighted by its share of the records, so a rare value comes near 1 whatever it tells. A release that "
    "suppresses records of a rare race raises it further: that is why values seem more useful in a release than in the original."
)
_STAR = (
    "2-diversity suppresses the records of classes with a single income, mostly the lower one. So * itself tells the income, and "
    "every attribute that holds it gains."
)
_RACES = ("Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White")


def run() -> Experiment:
    """Measure how far each key attribute serves the need to tell the income, in the original and three releases."""
    age = hierarchies()["age"].height - 1
    releases = released(KEYS, INCOME, _MODELS, hierarchies(), suppression=SUPPRESSION, levels={"age": (age, age)})
    tables = {_ORIGINAL: datasets.adult(), **{name: release.data for name, release in releases.items()}}
    served = {name: _served(table) for name, table in tables.items()}
    degrees = {name: {key: one.degree or 0.0 for key, one in found.items()} for name, found in served.items()}
    values = {name: {str(row["race"]): row["dr"] for row in found["race"].by_value} for name, found in served.items()}
    counts = {name: {str(row["race"]): row["count"] for row in found["race"].by_value} for name, found in served.items()}
    findings = [Finding(_DEGREE, key, name, degree) for name, found in degrees.items() for key, degree in found.items()]
    findings += [Finding(_DEGREE, "mean", name, _mean(found)) for name, found in degrees.items()]
    findings += [Finding(_VALUES, race, name, found.get(race)) for name, found in values.items() for race in (*_RACES, "*")]
    findings += [Finding("records by race", race, name, found.get(race, 0)) for name, found in counts.items() for race in _RACES]
    return Experiment(
        name="income",
        title="Income: what 5- and 10-anonymity and 2-diversity leave to tell",
        source="thesis, section 6.6, Figure 6.1",
        theirs="Four key attributes; 5- and 10-anonymity and 2-diversity of the income by global recoding with ARX 3.5.1, which "
        "left two values of the age: below 80, and 80 and over. No figure is printed, only drawn.",
        ours="The same attributes and models, and the age as printed; else the generalisation of least loss that suppresses "
        "5 % of the records at most. The income itself stays as it is.",
        findings=tuple(findings),
        conclusions=_conclusions(degrees, values),
        releases=described(releases),
        notes=(_WEIGHTED, _STAR),
    )


def _served(table: Data) -> dict[str, Served]:
    needs = [Need(key, target=INCOME, given=key) for key in KEYS]
    return dict(utility(table, needs).needs)


def _mean(rates: Mapping[str, float]) -> float:
    return mean(list(rates.values())) or 0.0


def _conclusions(degrees: Mapping[str, Mapping[str, float]], values: Mapping[str, Mapping[str, float]]) -> tuple[Conclusion, ...]:
    best = {name: max(degrees[name], key=degrees[name].__getitem__) for name in _MODELS}
    worst = {name: min(degrees[name], key=degrees[name].__getitem__) for name in _MODELS}
    means = {name: _mean(degrees[name]) for name in _MODELS}
    races = {name: {race: rate for race, rate in values[name].items() if race in _RACES} for name in _MODELS}
    extremes = {name: (max(found, key=found.__getitem__), min(found, key=found.__getitem__)) for name, found in races.items()}
    raised = [race for race in _RACES if all(found.get(race, 0.0) > values[_ORIGINAL][race] for found in races.values())]
    age = degrees[_ORIGINAL]
    return (
        Conclusion("Education tells most in every release", set(best.values()) == {"education"}, _listed(best)),
        Conclusion("The 2-diverse release tells least", min(means, key=means.__getitem__) == _DIVERSE, _listed(_numbers(means))),
        Conclusion(
            "Age tells least in every release, and much in the original",
            set(worst.values()) == {"age"} and max(age, key=age.__getitem__) == "age",
            f"{_listed({name: degrees[name]['age'] for name in _MODELS} | {_ORIGINAL: age['age']})}",
        ),
        Conclusion(
            "Of the races, Other tells most and White least",
            set(extremes.values()) == {("Other", "White")},
            _listed({name: f"{most} most, {least} least" for name, (most, least) in extremes.items()}),
        ),
        Conclusion(
            "The races but White tell more in the releases than in the original",
            set(raised) >= set(_RACES) - {"White"},
            f"so in every release: {', '.join(raised) or 'none'}",
        ),
    )


def _numbers(found: Mapping[str, float]) -> dict[str, str]:
    return {name: number(value) for name, value in found.items()}


def _listed(found: Mapping[str, object]) -> str:
    return ", ".join(f"{name}: {number(value) if isinstance(value, float) else value}" for name, value in found.items())
