"""Can a 0.3-close release disclose more than a 10-diverse one? The thesis's semantic Discrimination Rate on Adult."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from unveil.formats import number
from unveil.measures import DiscriminationRate, discrimination_rate, mean
from unveil.models import DistinctLDiversity, Model, TCloseness
from unveil.partitions import Partition
from unveil.releases import Release
from unveil.reproduce.experiments.frame import (
    KEPT,
    READINGS,
    SUPPRESSION,
    Conclusion,
    Experiment,
    ExperimentFigure,
    described,
    read,
    released,
)
from unveil.reproduce.experiments.taxonomies import OCCUPATIONS, PRINTED_OCCUPATIONS, hierarchies, mended
from unveil.sources import datasets

__all__ = ["KEYS", "run"]

KEYS = ("age", "education", "race", "sex")
_DIVERSE, _CLOSE = "10-diversity", "0.3-closeness"
_MODELS: dict[str, list[Model]] = {_DIVERSE: [DistinctLDiversity("occupation", 10)], _CLOSE: [TCloseness("occupation", 0.3)]}
_PLAIN, _SEMANTIC = "DR of the occupation", "semantic DR of the occupation"
_READINGS = "semantic DR of the occupation given the sex, by reading of the partition"
_FIRST = "the first group that names it"
_PRINTED = {_DIVERSE: 0.001, _CLOSE: 0.025}


def run() -> Experiment:
    """Measure a 10-diverse and a 0.3-close release of Adult with and without the groups of occupations."""
    releases = released(KEYS, "occupation", _MODELS, hierarchies(), suppression=SUPPRESSION)
    groups = mended(PRINTED_OCCUPATIONS, OCCUPATIONS)
    findings = _of_table("original", datasets.adult(), groups, KEPT, "")
    conclusions: list[Conclusion] = []
    why = _why(groups, releases)
    for reading in READINGS:
        tables = {name: read(release, reading)[0] for name, release in releases.items()}
        findings += [one for name, table in tables.items() for one in _of_table(name, table, groups, reading, why)]
        conclusions += _conclusions(tables, groups, reading)
    kept = {"original": datasets.adult(), **{name: release.data for name, release in releases.items()}}
    readings = _readings(kept)
    return Experiment(
        name="semantic",
        title="Semantic Discrimination Rate: 10-diversity against 0.3-closeness",
        source="thesis, section 5.6, Figure 5.1",
        theirs="Four key attributes; the occupation is sensitive; a 10-diverse and a 0.3-close release with ARX 3.5.1; which "
        "kind of diversity and which distance is not printed.",
        ours="Distinct 10-diversity, and 0.3-closeness with equal distances; the generalisation of least loss that suppresses "
        "at most 5 % of the records.",
        findings=(*findings, *readings),
        conclusions=tuple(conclusions),
        releases=described(releases),
        notes=(_mending(groups), _otherwise(readings), _given_up(releases)),
    )


def _of_table(name: str, table: Any, groups: Partition, reading: str, why: str) -> list[ExperimentFigure]:
    """Return the rates of a table with and without the groups, of the attributes and of the values of the sex."""
    findings = []
    for figure, partitions in ((_PLAIN, None), (_SEMANTIC, groups)):
        rates = _rates(table, partitions)
        for key, rate in {**rates, "mean": _mean(rates)}.items():
            printed = _PRINTED.get(name) if (figure, key, reading) == (_SEMANTIC, "sex", KEPT) else None
            findings.append(ExperimentFigure(figure, key, name, rate, printed, why if printed is not None else None, reading))
        values = _of_sex(table, partitions)
        findings += [ExperimentFigure(figure, f"sex = {value}", name, rate, suppressed=reading) for value, rate in values.items()]
    return findings


def _why(groups: Partition, releases: Mapping[str, Release[Any]]) -> str:
    rate = _rates(datasets.adult(), groups)["sex"]
    kept = [name for name, release in releases.items() if release.transformation["sex"] == 0]
    return (
        f"sex: in the original its semantic rate is {number(rate)}. A rate like 0.001 says that in their 10-diverse release the "
        f"sex was all but gone. Of ours {' and '.join(kept) or 'none'} keep it: giving up other attributes costs less."
    )


def _mending(groups: Partition) -> str:
    """Return a sentence on what is wrong with the printed groups, and how they are read."""
    named = [value for block in PRINTED_OCCUPATIONS for value in block]
    twice = sorted({value for value in named if named.count(value) > 1})
    missing = [value for value in OCCUPATIONS if value not in named]
    return (
        f"The groups of occupations are no partition as printed: {', '.join(twice)} is in two of them and "
        f"{', '.join(missing)} in none. {', '.join(twice)} stays in the first that names it, and {', '.join(missing)} gets a "
        f"group of its own; that makes {len(groups.to_dict()['blocks'])} groups."
    )


def _otherwise(readings: Sequence[ExperimentFigure]) -> str:
    first = {one.release: one.computed or 0.0 for one in readings if one.of == _FIRST}
    most = max(abs((one.computed or 0.0) - first[one.release]) for one in readings)
    return f"Other ways to read the printed groups change the rates of the sex by at most {number(most)}."


def _given_up(releases: Mapping[str, Release[Any]]) -> str:
    gone = {
        name: [key for key, level in release.transformation.items() if level == release.heights[key]]
        for name, release in releases.items()
    }
    losses = "; ".join(f"{name} {' and '.join(keys) or 'no attribute'}" for name, keys in gone.items())
    return f"Attributes given up altogether: {losses}. What a release gives up says nothing, with the groups or without."


def _rates(table: Any, groups: Partition | None) -> dict[str, float]:
    partitions = None if groups is None else {"occupation": groups}
    return {key: discrimination_rate(table, key, "occupation", partitions=partitions).value for key in KEYS}


def _mean(rates: Mapping[str, float]) -> float:
    return mean(list(rates.values())) or 0.0


def _of_sex(table: Any, groups: Partition | None) -> dict[str, float]:
    """Return what each value of the sex reveals."""
    partitions = None if groups is None else {"occupation": groups}
    return {str(row["sex"]): row["dr"] for row in _sex(table, partitions).by_value}


def _readings(tables: Mapping[str, Any]) -> list[ExperimentFigure]:
    """Return the figures under other ways to read the printed groups."""
    first, second, third, fourth = PRINTED_OCCUPATIONS
    meant = ("Craft-repair", "Farming-fishing", "Sales")
    readings = {
        _FIRST: PRINTED_OCCUPATIONS,
        "the second group that names it": (first, third, second, fourth),
        "Farming-fishing instead of the second": (first, second, meant, fourth),
    }
    figures = []
    for reading, blocks in readings.items():
        groups = {"occupation": mended(blocks, OCCUPATIONS)}
        figures += [ExperimentFigure(_READINGS, reading, name, _sex(table, groups).value) for name, table in tables.items()]
    return figures


def _sex(table: Any, partitions: Mapping[str, Partition] | None) -> DiscriminationRate:
    return discrimination_rate(table, "sex", "occupation", partitions=partitions)


def _conclusions(tables: Mapping[str, Any], groups: Partition, reading: str) -> tuple[Conclusion, ...]:
    before = {name: _mean(_rates(table, None)) for name, table in tables.items()}
    semantic = {name: _rates(table, groups) for name, table in tables.items()}
    after = {name: _mean(rates) for name, rates in semantic.items()}
    sex = {name: rates["sex"] for name, rates in semantic.items()}
    values = {name: _of_sex(table, groups) for name, table in tables.items()}
    both = [value for value in ("Female", "Male") if all(value in rates for rates in values.values())]
    return (
        Conclusion(
            "Without the groups the 10-diverse release says more over all",
            before[_DIVERSE] > before[_CLOSE],
            f"mean rate {number(before[_DIVERSE])} against {number(before[_CLOSE])}",
            reading,
        ),
        Conclusion(
            "With the groups the 0.3-close release says more over all",
            after[_CLOSE] > after[_DIVERSE],
            f"mean rate {number(after[_CLOSE])} against {number(after[_DIVERSE])}",
            reading,
        ),
        Conclusion(
            "With the groups the sex says more in the 0.3-close release",
            sex[_CLOSE] > sex[_DIVERSE],
            f"{number(sex[_CLOSE])} against {number(sex[_DIVERSE])}",
            reading,
        ),
        Conclusion(
            "So do its values, Female and Male",
            bool(both) and all(values[_CLOSE][value] > values[_DIVERSE][value] for value in both),
            ", ".join(f"{value} {number(values[_CLOSE][value])} against {number(values[_DIVERSE][value])}" for value in both)
            or "the releases hold neither",
            reading,
        ),
    )
