"""Has the risk grown since an earlier result? Figures of a stored check or measurement, compared with those of today.

A figure for which higher is safer (k, l) is compared by its reciprocal, which is a risk: from k = 10 to k = 5 it grows by 0.1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unveil.assess.policy.case import Profile
from unveil.assess.policy.rules import Outcome
from unveil.errors import ArgumentError, DataFileError, ProjectError, listed
from unveil.formats import jsonable
from unveil.models import TOLERANCE
from unveil.partitions import DocumentError, PathLike, parse_json, read_text
from unveil.project import RULES, Policy, Rule

__all__ = ["Baseline", "Drift", "drifts", "lost", "read_baseline"]


@dataclass(frozen=True, slots=True)
class Drift:
    """A figure before and now, and the growth of its risk."""

    rule: str
    of: str
    before: float
    now: float
    growth: float
    allowed: float

    @property
    def met(self) -> bool:
        """Whether the growth is allowed."""
        return self.growth <= self.allowed + TOLERANCE

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {
            "rule": self.rule,
            "of": self.of,
            "before": jsonable(self.before),
            "now": jsonable(self.now),
            "growth": jsonable(self.growth),
            "allowed": self.allowed,
            "met": self.met,
        }


@dataclass(frozen=True, slots=True)
class Baseline:
    """An earlier result: its key, its nulls, and its figures by rule."""

    place: str
    key: tuple[str, ...]
    nulls: str
    figures: Mapping[tuple[str, str], float]
    rules: tuple[Rule, ...]
    profile: Profile | None = None

    def check_key(self, key: tuple[str, ...], nulls: str) -> None:
        """Refuse to compare figures of different keys or treatments of nulls."""
        if set(self.key) != set(key):
            raise ArgumentError(
                f"{self.place}: the earlier figures are of the key {listed(self.key)}, today's of {listed(key)}; "
                "they cannot be compared."
            )
        if self.nulls != nulls:
            raise ArgumentError(f"{self.place}: the earlier figures treat nulls as {self.nulls}, today's as {nulls}; choose one.")


def read_baseline(baseline: PathLike | Mapping[str, Any]) -> Baseline:
    """Read an earlier result: the JSON of `unveil check` or `unveil measure`, in a file or as a mapping."""
    if isinstance(baseline, Mapping):
        place, document = "the earlier result", baseline
    else:
        place, document = str(baseline), _document(Path(baseline))
    try:
        provenance = document["made"]
        stored = [*document.get("rules", ()), *document.get("figures", ())]
        pairs = list(_of_check(stored) if "rules" in document else _of_measure(document))
        profile = Profile.of(document["profile"]) if document.get("profile") is not None else None
        key, nulls = tuple(provenance["key"]), str(provenance["nulls"])
        figures = {rule.place: _number(value) for rule, value in pairs if value is not None}
    except (KeyError, TypeError, AttributeError, ValueError, ProjectError):
        raise DataFileError(f"{place}: this is not an answer of `check` or `measure`, as JSON.") from None
    return Baseline(place, key, nulls, figures, tuple(rule for rule, value in pairs if value is not None), profile)


def drifts(baseline: Baseline, outcomes: tuple[Outcome, ...], allowed: float) -> tuple[Drift, ...]:
    """Compare every figure that both results have."""
    drift = []
    for outcome in outcomes:
        before = baseline.figures.get(outcome.rule.place)
        if before is None or outcome.value is None:
            continue
        growth = _growth(_risk(outcome.rule, before), _risk(outcome.rule, outcome.value))
        drift.append(Drift(outcome.rule.name, outcome.of, before, outcome.value, growth, allowed))
    if not drift and baseline.profile is None:
        raise ArgumentError(f"{baseline.place}: no figure of the earlier result is among today's; there is nothing to compare.")
    return tuple(drift)


def lost(baseline: Baseline, outcomes: tuple[Outcome, ...]) -> str | None:
    """Return a sentence on the rules with a figure in only one of the two results; None if there are none."""
    missing = [one.rule.name for one in outcomes if one.value is None or one.rule.place not in baseline.figures]
    if not missing:
        return None
    return f"Not compared with the earlier result, because one of the two has no figure: {listed(dict.fromkeys(missing))}."


def _risk(rule: Rule, value: float) -> float:
    return value if rule.form.side == "at_most" else math.inf if value == 0 else 1.0 / value


def _growth(before: float, now: float) -> float:
    return 0.0 if before == now else now - before


def _document(path: Path) -> Mapping[str, Any]:
    try:
        document = parse_json(read_text(path, DataFileError))
    except DocumentError as problem:
        raise DataFileError(f"{path}: {problem.problem}") from None
    if not isinstance(document, Mapping):
        raise DataFileError(f"{path}: this is not an answer of `check` or `measure`, as JSON.")
    return document


def _number(value: Any) -> float:
    return {"inf": math.inf, "-inf": -math.inf}[value] if isinstance(value, str) else float(value)


def _of_check(rules: list[Mapping[str, Any]]) -> Iterator[tuple[Rule, Any]]:
    """Yield the rules of a stored check with their figures."""
    for stored in rules:
        rule = Policy.of({stored["rule"]: dict(stored["parameters"])}).rules[0]
        yield rule, stored["value"]


def _of_measure(document: Mapping[str, Any]) -> Iterator[tuple[Rule, Any]]:
    """Yield the figures of a stored measurement, each with the rule that requires it."""
    prosecutor = document["risk"]["prosecutor"]
    yield Rule("k_anonymity"), document["models"]["k_anonymity"]["value"]
    yield Rule("prosecutor_highest"), prosecutor["highest"]
    yield Rule("prosecutor_average"), prosecutor["average"]
    yield Rule("records_at_risk", None, {"above": prosecutor["threshold"]}), prosecutor["records_above_threshold"]
    yield Rule("sample_uniqueness"), document["uniqueness"]["sample"]["share"]
    sensitive = document["made"]["sensitive"]
    for name, by_attribute in document["models"].items():
        if name not in RULES or "attribute" not in RULES[name].parameters:
            continue
        for attribute, figures in by_attribute.items():
            if attribute in sensitive:  # no rule is about several attributes jointly
                yield from _of_model(name, attribute, figures)


def _of_model(name: str, attribute: str, figures: Mapping[str, Any]) -> Iterator[tuple[Rule, Any]]:
    parameter = {"t_closeness": "distance", "recursive_l_diversity": "l"}.get(name)
    if parameter is None:
        yield Rule(name, None, {"attribute": attribute}), figures["value"]
        return
    for word, one in figures.items():
        value: Any = int(word) if parameter == "l" else word
        yield Rule(name, None, {"attribute": attribute, parameter: value}), one["value"]
