"""How far do 10- and 15-anonymity hide the original attributes? The thesis's identity attack on Adult."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unveil.attacks.attack import attack
from unveil.formats import number
from unveil.measures import mean
from unveil.models import KAnonymity
from unveil.releases import Release
from unveil.reproduce.experiments.frame import (
    KEPT,
    READINGS,
    SUPPRESSION,
    Conclusion,
    Experiment,
    ExperimentFigure,
    alike,
    described,
    read,
    released,
)
from unveil.reproduce.experiments.taxonomies import hierarchies
from unveil.sources import datasets

__all__ = ["KEYS", "run"]

KEYS = ("marital-status", "native-country", "race", "workclass")
_WEAKER, _STRONGER = "10-anonymity", "15-anonymity"
_RATE = "DR of the original attribute given the protected one"
_VALUES = "DR of the original marital status given a protected value"
_WIDOWED = "Widowed"
_PRINTED = {
    ("native-country", _WEAKER): 0.004,
    ("native-country", _STRONGER): 0.0047,
    (_WIDOWED, _WEAKER): 0.9779,
    (_WIDOWED, _STRONGER): 1.0,
}


def run() -> Experiment:
    """Attack a 10- and a 15-anonymous release of Adult whose originals are known."""
    models = {_WEAKER: [KAnonymity(10)], _STRONGER: [KAnonymity(15)]}
    releases = released(KEYS, "occupation", models, hierarchies(), suppression=SUPPRESSION)
    rates = {reading: {name: _white_box(release, reading) for name, release in releases.items()} for reading in READINGS}
    why = {"native-country": _why_country(releases), _WIDOWED: _why_widowed(releases)}
    return Experiment(
        name="identity",
        title="Identity attack: 10-anonymity against 15-anonymity",
        source="thesis, section 4.7.1, Figure 4.4",
        theirs="Four key attributes, 10- and 15-anonymity by generalisation and suppression with ARX 3.5.1; DR with R.",
        ours="The same four attributes and models; the generalisation of least loss that suppresses at most 5 % of the records.",
        findings=tuple(one for reading in READINGS for one in _findings(rates[reading], reading, why)),
        conclusions=tuple(one for reading in READINGS for one in _conclusions(rates[reading], reading)),
        releases=described(releases),
        notes=(
            "A suppressed record's values are *, one more value that hides what it stands for; left out, it hides nothing.",
            alike(releases),
        ),
    )


def _white_box(release: Release[Any], reading: str) -> Mapping[str, Any]:
    """Return the rates of the original attributes given the protected ones, of all records or of those not suppressed."""
    protected, kept = read(release, reading)
    original = datasets.adult().select(KEYS).filter(kept)
    box: Mapping[str, Any] = attack(original, protected, KEYS, same_order=True, link_records=False).identity["white_box"]
    return box


def _findings(boxes: Mapping[str, Mapping[str, Any]], reading: str, why: Mapping[str, str]) -> list[ExperimentFigure]:
    findings = []
    for name, box in boxes.items():
        rates = {**_rates(box), "mean": box["risk"]}
        findings += [_finding(_RATE, key, name, rate, reading, why) for key, rate in rates.items()]
        findings += [_finding(_VALUES, value, name, rate, reading, why) for value, rate in _by_value(box).items()]
    return findings


def _finding(figure: str, of: str, release: str, rate: float, reading: str, why: Mapping[str, str]) -> ExperimentFigure:
    printed = _PRINTED.get((of, release)) if reading == KEPT else None
    same = printed is None or abs(rate - printed) < 1e-4  # noqa: PLR2004 - the print has four decimals
    return ExperimentFigure(figure, of, release, rate, printed, None if same else why[of], reading)


def _rates(box: Mapping[str, Any]) -> dict[str, float]:
    return {entry["attribute"]: entry["value"] for entry in box["by_attribute"]}


def _by_value(box: Mapping[str, Any]) -> dict[str, float]:
    """Return what each protected marital status reveals about the original one, by name."""
    entry = next(entry for entry in box["by_attribute"] if entry["attribute"] == KEYS[0])
    return {str(row[KEYS[0]]): row["dr"] for row in sorted(entry["by_value"], key=lambda row: str(row[KEYS[0]]))}


def _conclusions(boxes: Mapping[str, Mapping[str, Any]], reading: str) -> tuple[Conclusion, ...]:
    weaker, stronger = (_rates(boxes[name]) for name in (_WEAKER, _STRONGER))
    risks = {name: box["risk"] for name, box in boxes.items()}
    exceptions = [key for key in KEYS if stronger[key] > weaker[key]]
    values = {name: _by_value(box) for name, box in boxes.items()}
    common = [value for value in values[_WEAKER] if value in values[_STRONGER] and value != "*"]
    means = {name: mean([by_name[value] for value in common]) or 0.0 for name, by_name in values.items()}
    widowed = {name: by_name.get(_WIDOWED) for name, by_name in values.items()}
    return (
        Conclusion(
            "15-anonymity resists better over all",
            risks[_STRONGER] < risks[_WEAKER],
            f"mean rate {number(risks[_STRONGER])} against {number(risks[_WEAKER])}",
            reading,
        ),
        Conclusion(
            "Yet for some attribute it resists less",
            bool(exceptions),
            f"its rate is higher for {', '.join(exceptions) or 'no attribute'}",
            reading,
        ),
        Conclusion(
            "Over the values of the marital status 15-anonymity resists better",
            means[_STRONGER] < means[_WEAKER],
            f"mean rate {number(means[_STRONGER])} against {number(means[_WEAKER])}",
            reading,
        ),
        Conclusion(
            "Yet for Widowed it resists less",
            (widowed[_STRONGER] or 0.0) > (widowed[_WEAKER] or 0.0),
            " against ".join("not in the release" if rate is None else number(rate) for rate in reversed(widowed.values())),
            reading,
        ),
    )


def _why_country(releases: Mapping[str, Release[Any]]) -> str:
    levels = ", ".join(
        f"{release.transformation['native-country']} of {release.heights['native-country']} in {name}"
        for name, release in releases.items()
    )
    return (
        "native-country: a rate near 0 says that next to nothing of the country was left in their releases. Ours, of least loss "
        f"in another hierarchy, keep it at level {levels}. How theirs were chosen is not printed."
    )


def _why_widowed(releases: Mapping[str, Release[Any]]) -> str:
    kept = [name for name, release in releases.items() if release.transformation[KEYS[0]] == 0]
    return (
        f"Widowed: the marital status stays as it is in {' and '.join(kept) or 'none of our releases'}, where a value stands for "
        "itself alone and its rate is 1, as in their 15-anonymous one. A rate below 1 says that in their 10-anonymous release it "
        "stood for others too."
    )
