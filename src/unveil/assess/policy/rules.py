"""Outcomes of rules: the figure that each requires, and whether it holds.

An unavailable figure meets nothing: the outcome states the reason, and the rule stays undecided.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from unveil import models as class_models
from unveil.assess.policy.case import Case
from unveil.assess.policy.safe_harbor import ITEMS, Sighting, sightings
from unveil.attributes import sides_of
from unveil.errors import CancelledError, MissingExtraError, UnveilError
from unveil.formats import counted, jsonable, noun, people
from unveil.models import TOLERANCE, Measured, judged_by_rules, rule_model
from unveil.partitions import Partition
from unveil.project import Rule
from unveil.releases import Record
from unveil.run import active_run
from unveil.study import checked_partitions, counted_split

__all__ = ["STATUS", "Outcome", "outcomes"]

STATUS = {True: "met", False: "NOT met", None: "not decided"}
"""The outcome of a rule, in words."""

_CONFIDENCES = ("certain", "likely", "possible")
_RISKS = ("prosecutor_highest", "prosecutor_average", "records_at_risk", "sample_uniqueness", "certain_disclosure")
_RELEASE_ALONE = "nulls match anything from both sides, so it holds against an intruder who has the release alone; "
_MAY_BE_LESS = {
    True: _RELEASE_ALONE + "give the original, and k is also checked against true records",
    False: _RELEASE_ALONE + "anyone who knows true records may find fewer: use nulls='category'",
}
"""The reasons why a figure with nulls as wildcards decides nothing: for k (True), and for any other figure (False)."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a rule.

    Attributes
    ----------
    rule, of
        The rule, and the subject of the figure (an attribute, a key, an identifier).
    value
        The figure; None if there is none.
    met
        Whether it holds; None: not decided.
    reason
        The reason why it is not decided.
    detail
        The origin of the figure.
    """

    rule: Rule
    of: str
    value: float | None = None
    met: bool | None = None
    reason: str | None = None
    detail: str = ""

    @property
    def status(self) -> str:
        """The status in words: met, NOT met or not decided."""
        return STATUS[self.met]

    @property
    def why(self) -> str:
        """The reason why it is not decided, and the origin of the figure."""
        return "; ".join(part for part in (self.reason, self.detail) if part)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        document = {
            "rule": self.rule.name,
            "parameters": jsonable(self.rule.parameters),
            "of": self.of,
            "value": jsonable(self.value),
            self.rule.form.side: self.rule.threshold,
            "met": self.met,
            "status": self.status,
            "reason": self.reason,
            "detail": self.detail,
        }
        return document | ({"question": self.rule.question} if self.rule.question else {})


@dataclass(frozen=True, slots=True)
class _Figures:
    """The figures of the key's classes that rules need; if there are no classes, only the models state the reason.

    Attributes
    ----------
    models
        The figures of models, or the reason why there is none, by the place and the threshold of the rule that requires them.
    above
        The share of records, or persons, with a risk above each limit.
    certain
        The records, or persons, whose class holds one value of a sensitive attribute, and those whose class has none; by the
        attribute, and by whether a missing value is sensitive.
    """

    models: Mapping[tuple[tuple[str, str], float | None], Measured | UnveilError]
    above: Mapping[float, float] = field(default_factory=dict)
    certain: Mapping[tuple[str, bool], tuple[int, int]] = field(default_factory=dict)


def outcomes(case: Case) -> tuple[tuple[Outcome, ...], tuple[Outcome, ...]]:
    """Return the outcome of every rule of a case, and those of the figures that are measured of every release with a key."""
    figures, rules = _figures(case), case.rules
    return _judged(case, "rules", rules.single, figures), _judged(case, "other figures", rules.standing, figures)


def _judged(case: Case, stage: str, rules: Sequence[Rule], figures: _Figures) -> tuple[Outcome, ...]:
    return tuple(_verified(case, _decided(_read(case, rule, figures))) for rule in active_run().each(stage, rules))


def _figures(case: Case) -> _Figures:
    """Measure all figures of the classes that rules need, together."""
    stated = [rule for rule in (*case.rules.single, *case.rules.standing) if not _lacks(rule)]
    models = [rule for rule in stated if rule.name not in _READERS]
    distances = class_models.TCloseness.scaled
    names = [rule.parameters["attribute"] for rule in models if rule.settings.get("distance") in distances]
    scales = {name: case.scale(name) for name in names}
    limits = [_limit(rule) for rule in stated if _READERS.get(rule.name) is _risk]
    values = [(rule.target, _gaps_tell(case, rule)) for rule in stated if rule.name == "certain_disclosure"]
    if not models and not limits and not values:
        return _Figures({})
    try:
        classes, risks = case.grouped
        above, certain = risks.above(limits), classes.certain(values)
        judged = judged_by_rules(models, scales, classes)
    except (CancelledError, MissingExtraError):
        raise
    except UnveilError as problem:  # there are no classes
        return _Figures({(rule.place, rule.threshold): problem for rule in models})
    measured = {(rule.place, rule.threshold): one for rule, one in zip(models, judged, strict=True)}
    return _Figures(measured, dict(zip(limits, above, strict=True)), dict(zip(values, certain, strict=True)))


def _read(case: Case, rule: Rule, figures: _Figures) -> Outcome:
    if case.original is not None and rule.name in _ATTACKS:
        _ = case.pair  # an original that cannot be paired is refused, instead of leaving a rule undecided
    try:
        if _lacks(rule):
            return Outcome(rule, "each sensitive attribute", reason="no sensitive attribute is named")
        return _READERS.get(rule.name, _model)(case, rule, figures)
    except MissingExtraError:
        raise
    except UnveilError as problem:
        return Outcome(rule, rule.target, reason=str(problem))


def _decided(outcome: Outcome) -> Outcome:
    """Compare the figure with the threshold, which it must not exceed; models are already decided."""
    rule = outcome.rule
    if outcome.met is not None or outcome.reason is not None:
        return outcome
    if rule.threshold is None:
        return replace(outcome, reason="no threshold is set")
    if outcome.value is None:
        return replace(outcome, reason="there is no figure")
    return replace(outcome, met=outcome.value <= rule.threshold + TOLERANCE)


def _verified(case: Case, outcome: Outcome) -> Outcome:
    """Check k against true records where nulls match anything; leave figures undecided that rest on the release alone."""
    if not case.wild or outcome.met is not True or (outcome.rule.name not in _RISKS and rule_model(outcome.rule.name) is None):
        return outcome
    is_k = outcome.rule.name == "k_anonymity"
    known = case.known["k_known"] if is_k else None
    if known is None or outcome.rule.threshold is None:
        return replace(outcome, met=None, reason=_MAY_BE_LESS[is_k])
    if known >= outcome.rule.threshold:
        return replace(outcome, value=min(known, outcome.value or known), detail=f"{known:,} or more cover each true record")
    return replace(
        outcome,
        value=known,
        met=False,
        detail=f"someone whose true key is known matches only {people(known, case.unit)} of the release",
    )


# Models ---------------------------------------------------------------------------------------------------------------


def _lacks(rule: Rule) -> bool:
    """Whether a rule is about an attribute and names none."""
    return "attribute" in rule.form.parameters and not isinstance(rule.parameters.get("attribute"), str)


def _model(case: Case, rule: Rule, figures: _Figures) -> Outcome:
    """Read a model's worst class; the model itself determines which classes fall short."""
    judged = figures.models[rule.place, rule.threshold]
    if isinstance(judged, UnveilError):
        raise judged
    detail = ""
    if judged.met is False:
        classes = counted(judged.violating_classes or 0, "class", "classes")
        detail = f"{judged.violating_records or 0:,} of {case.classes.records:,} records, in {classes}, fall short"
        detail += f": {judged.reason}" if judged.reason else ""
    reason = "no threshold is set" if rule.threshold is None else None
    return Outcome(rule, rule.target, judged.value, judged.met, reason, detail)


# Risks and rates ------------------------------------------------------------------------------------------------------


def _limit(rule: Rule) -> float:
    """Return the risk above which a rule counts records."""
    return float(rule.settings["above"] if rule.name == "records_at_risk" else rule.threshold or 1.0)


def _risk(case: Case, rule: Rule, figures: _Figures) -> Outcome:
    """Read the prosecutor's risk: highest, average, or the share of records above a limit."""
    risks, limit = case.risks, _limit(rule)
    if rule.name == "prosecutor_average":
        return Outcome(rule, rule.target, risks.average)
    above = figures.above[limit]
    if rule.name == "records_at_risk":
        return Outcome(rule, rule.target, above, detail=f"share of {noun(case.unit)} with a risk above {limit:g}")
    detail = f"{above:.1%} of the {noun(case.unit)} exceed {limit:g}" if above else ""
    return Outcome(rule, rule.target, risks.highest, detail=detail)


def _uniques(case: Case, rule: Rule, _: _Figures) -> Outcome:
    alone = case.risks.unique
    return Outcome(rule, rule.target, alone / case.classes.number, detail=f"{people(alone, case.unit)} unique by the key")


def _gaps_tell(case: Case, rule: Rule) -> bool:
    """Whether a missing value is sensitive, as the rule or else the project states."""
    declared = rule.settings["missing_is_sensitive"]
    return rule.target in case.study.missing_is_sensitive if declared is None else bool(declared)


def _certain(case: Case, rule: Rule, figures: _Figures) -> Outcome:
    """Read the share of records, or persons, in classes with one sensitive value; a gap is a value if declared sensitive."""
    number, name, declared = case.classes.number, rule.target, _gaps_tell(case, rule)
    disclosed, gaps = figures.certain[name, declared]
    detail = f"the key determines it for {people(disclosed, case.unit)}"
    if gaps:
        apart = f"; {gaps:,} more have no value, which is not treated as sensitive"
        detail += f", {gaps:,} of which have no value" if declared else apart
    return Outcome(rule, name, disclosed / number, detail=detail)


def _rate(case: Case, rule: Rule, _: _Figures) -> Outcome:
    """Read a Discrimination Rate: of the key or of named columns, against record identity or a sensitive attribute."""
    from unveil.measures import split_rate

    sensitive = rule.settings["sensitive"]
    if sensitive is True:
        return Outcome(rule, "each sensitive attribute", reason="no sensitive attribute is named")
    keys = rule.settings["key"] or case.keys
    blocks = {name: Partition.from_document(document) for name, document in (rule.settings["partitions"] or {}).items()}
    known, hidden = sides_of(keys, sensitive)
    rate = split_rate(*counted_split(case.study, known, hidden, checked_partitions(blocks, (*known, *hidden))))
    of = f"{'the key' if keys == case.keys else ' + '.join(keys)} -> {sensitive or 'record identity'}"
    if not rule.settings["adjusted"]:
        return Outcome(rule, of, rate.value, detail=rate.kind)
    reason = None if rate.adjusted is not None else f"not adjusted for chance: {rate.adjusted_reason}"
    return Outcome(rule, of, rate.adjusted, reason=reason, detail="adjusted for chance")


# Attacks --------------------------------------------------------------------------------------------------------------


def _attack(case: Case, rule: Rule, _: _Figures) -> Outcome:
    name = rule.name.removesuffix("_attack")
    risks = case.attack.overall["risk"]
    if name not in risks:
        lack = "a hold-out and no correspondence of records are given, so the release is attacked as synthetic data"
        return Outcome(rule, rule.target, reason=f"the attack has no rate: {lack}")
    value = risks[name]
    lacks = {"identity": "it is not known which release record came from which original record"}
    lack = lacks.get(name, "no sensitive attribute is named")
    return Outcome(rule, rule.target, value, reason=None if value is not None else f"the attack has no rate: {lack}")


def _linkage(case: Case, rule: Rule, _: _Figures) -> Outcome:
    """Read the highest share of records that any linkage method matches correctly."""
    linked: dict[str, Any] = dict(case.attack.linkage)
    ways = {name: way for name, way in linked.items() if isinstance(way, Mapping) and way.get("linked") is not None}
    if not ways:
        return Outcome(rule, rule.target, reason=str(linked.get("reason", "no way of linking has a rate")))
    best = max(ways, key=lambda name: float(ways[name]["linked"]))
    detail = f"by {best.replace('_', ' ')} linkage; {ways[best]['baseline']:.4f} by chance"
    return Outcome(rule, rule.target, float(ways[best]["linked"]), detail=detail)


def _beyond_holdout(case: Case, rule: Rule, _: _Figures) -> Outcome:
    """Read the gain of an attack beyond its gain on people whose records were not used."""
    if case.original is not None and case.original.control is None:
        lack = "no hold-out is given: what is true of everybody cannot be separated from what the release gives away"
        return Outcome(rule, "the release", reason=lack)
    audited: dict[str, Any] = dict(case.attack.synthetic)
    if audited.get("control") is None:
        return Outcome(
            rule, "the release", reason="records are said to be paired; the hold-out is for synthetic data, which has no pairs"
        )
    figure = audited[rule.name]
    if figure.get("risk") is None:
        return Outcome(rule, "the release", reason=str(figure.get("reason", "the attack has no rate")))
    detail = f"between {figure['low']:.4f} and {figure['high']:.4f}; {figure['control']:.4f} of the hold-out"
    return Outcome(rule, "the release", float(figure["risk"]), detail=detail)


# How it was made ------------------------------------------------------------------------------------------------------


def _repeatable(case: Case, rule: Rule, _: _Figures) -> Outcome:
    """Read from the record of the release whether anyone with the software can repeat its draws."""
    if not isinstance(case.record, Record):
        return Outcome(rule, "the release", reason=case.record)
    mark = case.record.repeatable
    by_key = "only by anyone who has the key file" if mark == "key" else ""
    return Outcome(rule, "the release", int(mark == "seed"), detail="its draws come from a seed" if mark == "seed" else by_key)


# Direct identifiers ---------------------------------------------------------------------------------------------------


def _identifiers(case: Case, rule: Rule, _: _Figures) -> Outcome:
    """Count the columns that name people outright, by their best finding or because the study states it."""
    best = {finding.column: finding for finding in reversed(case.identifiers.findings)}
    enough = _CONFIDENCES[: _CONFIDENCES.index(rule.settings["confidence"]) + 1]
    best_of = [best[name] for name in case.study.names if name in best and name not in rule.settings["except"]]
    findings = [finding for finding in best_of if finding.confidence in enough]
    vouched = (*rule.settings["except"], *case.study.keep)
    said = [name for name in case.study.identifiers if name in case.study.names and name not in vouched]
    why = dict.fromkeys(said, "named as an identifier") | {finding.column: finding.category for finding in findings}
    doubtful = [finding.column for finding in best_of if finding.column not in why]
    detail = ", ".join(f"{name} ({why[name]})" for name in case.study.names if name in why)
    detail += f"{'; ' if detail else ''}worth a look: {', '.join(doubtful)}" if doubtful else ""
    return Outcome(rule, "columns", len(why), detail=detail)


def _safe_harbor(case: Case, rule: Rule, _: _Figures) -> Outcome:
    """Count the columns that hold one of the 18 identifiers; a column that may hold one leaves the rule undecided."""
    item = rule.parameters["item"]
    seen = sightings(case.study, case.identifiers, item, rule.settings["except"])
    sure = [sighting for sighting in seen if sighting.sure]
    reason = None
    if not sure and seen:
        reason = f"a person has to look: {_in_words(seen)}; remove the column, or name it under 'except'"
    return Outcome(rule, f"({item}) {ITEMS[item].title}", len(sure), reason=reason, detail=_in_words(sure))


def _in_words(seen: Sequence[Sighting]) -> str:
    return "; ".join(f"{sighting.column} ({sighting.why})" for sighting in seen)


# Tables of figures -----------------------------------------------------------------------------------------------------


def _exposed(case: Case, rule: Rule, _: _Figures) -> Outcome:
    """Count the cells of a published table that an attacker can estimate too precisely."""
    from unveil.tables import audit

    words = list(rule.settings["rule"])
    if words and case.original is None:
        return Outcome(rule, "the table", reason="its rule needs the records behind the table, and no original is given")
    by, same = rule.settings["by"], ("value", "signed", "on", "attacker", "zeros", "insiders", "level", "width", "total")
    audited = audit(
        case.study.source,
        by=by,
        hierarchies={name: one for name, one in case.study.hierarchies.items() if by is None or name in by},
        rules=words,
        intervals="enough",
        **{name: rule.settings[name] for name in same},
        **({} if not words else _records_behind(case, rule)),
    )
    detail = next(iter(audited.reasons.values()), "") if words else "levels are not known without the original and a rule"
    return Outcome(rule, "the table", int(audited.exposed.sum()), detail=detail)


def _records_behind(case: Case, rule: Rule) -> dict[str, Any]:
    """Return the records behind a table, and the settings of its tabulation."""
    linked = [tuple(one.split(",")) for one in rule.settings["linked"]] or None
    holders = {name: rule.settings[name] for name in ("holding", "request")}
    data = None if case.original is None else case.original.data
    return {"original": data, "nulls": case.study.nulls, "tables": linked, **holders}


BEYOND_HOLDOUT = ("singling_out", "linkability", "inference", "membership")
"""Rules about synthetic data, which need a hold-out."""

_ATTACKS = frozenset({"identity_attack", "homogeneity_attack", "linkage", *BEYOND_HOLDOUT})
"""Rules that compare the release with its original."""

_READERS: dict[str, Callable[[Case, Rule, _Figures], Outcome]] = {
    "prosecutor_highest": _risk,
    "prosecutor_average": _risk,
    "records_at_risk": _risk,
    "sample_uniqueness": _uniques,
    "certain_disclosure": _certain,
    "discrimination_rate": _rate,
    "identity_attack": _attack,
    "homogeneity_attack": _attack,
    "linkage": _linkage,
    **dict.fromkeys(BEYOND_HOLDOUT, _beyond_holdout),
    "direct_identifiers": _identifiers,
    "safe_harbor": _safe_harbor,
    "repeatable": _repeatable,
    "exposed_cells": _exposed,
}
"""The functions for rules that are not models; models come from their registry."""
