"""The screen of rules and needs: what must a release meet, and which uses must it still allow?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from unveil.app.same import command, python_study
from unveil.app.screens.columns import settled
from unveil.app.state import Desk
from unveil.app.visit import Answer, Go, Page, Same, Screen, Visit
from unveil.errors import ArgumentError, UnveilError
from unveil.project import PRESETS, RULES, Form, Need, Policy, Rule
from unveil.utility import utility

__all__ = ["SCREEN", "in_words"]

_NOT_OFFERED = ("exposed_cells", "safe_harbor", "repeatable")
"""Rules that take more than one number, or are part of a preset."""
_MOST_RECORDS = 5_000_000
"""Beyond this many records, the degrees of needs are not computed here."""


def _offered() -> tuple[str, ...]:
    """Return the rules that a form can state."""
    return tuple(name for name in RULES if name not in _NOT_OFFERED)


def in_words(rule: Rule) -> str:
    """Return a rule as a sentence."""
    form, stated = rule.form, {name: value for name, value in rule.parameters.items() if value not in (None, ())}
    of = "".join(f", {name} {_listed(value)}" for name, value in stated.items())
    about = form.about[0].upper() + form.about[1:].rstrip(".")
    return f"{about}{of}: {rule.requirement}"


def _listed(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple | list) else str(value)


@dataclass(frozen=True, slots=True)
class _Served:
    """A need, with the degree to which the data serves it today."""

    need: Need
    code: str
    degree: float | None
    reason: str


def _page(visit: Visit) -> Answer:
    desk = visit.desk
    policy = desk.project.policy
    values: dict[str, Any] = {
        "presets": [(preset, preset.name in policy.presets) for preset in PRESETS.values()],
        "rules": [(at, in_words(rule), rule.question, rule in policy.rules) for at, rule in enumerate(policy.in_force())],
        "offered": [(name, RULES[name].about, RULES[name].side.replace("_", " "), RULES[name]) for name in _offered()],
        "attributed": [name for name in _offered() if "attribute" in RULES[name].parameters],
        "sensitive": desk.project.names("sensitive"),
        "needs": _served(desk),
        "columns": desk.opened.columns,
    }
    return Page("rules.html", values, _same(desk))


def _served(desk: Desk) -> list[_Served]:
    """Return the needs with today's degree, each computed from the counts of its columns."""
    served = []
    known: dict[str, tuple[float | None, str]] = desk.memory.setdefault("needs", {})
    for at, need in enumerate(desk.project.needs.values()):
        key = repr((need, need.at_least, sorted(need.partitions)))
        if key not in known:
            known[key] = _degree(desk, need)
        degree, reason = known[key]
        served.append(_Served(need, f"n{at}", degree, reason))
    return served


def _degree(desk: Desk, need: Need) -> tuple[float | None, str]:
    if desk.opened.whole.records > _MOST_RECORDS:
        return None, "too many records to compute it here; use `unveil utility`"
    try:
        served = utility(desk.study, need).needs[need.name]
    except UnveilError as problem:
        return None, str(problem)
    return served.degree, served.reason or ""


# What the forms do ----------------------------------------------------------------------------------------------------


def _toggle(visit: Visit) -> Answer:
    """Add a preset, or remove it."""
    name = visit.word("preset", tuple(PRESETS))
    policy = visit.desk.project.policy
    taken = name not in policy.presets
    presets = (*policy.presets, name) if taken else tuple(one for one in policy.presets if one != name)
    _change(visit.desk, replace(policy, presets=presets), f"{'added' if taken else 'removed'} the preset {name}")
    return Go("/rules", f"The preset {name} is {'now' if taken else 'no longer'} in force.")


def _set_rule(visit: Visit) -> Answer:
    """State a rule, or change its threshold."""
    name = visit.word("rule", _offered())
    threshold = _threshold(visit.form.get("threshold", ""), RULES[name])
    parameters = {}
    if "attribute" in RULES[name].parameters and visit.form.get("attribute"):
        parameters["attribute"] = visit.column("attribute")
    rule = Rule(name, threshold, parameters)
    policy = visit.desk.project.policy
    others = tuple(one for one in policy.rules if one.place != rule.place)
    _change(visit.desk, replace(policy, rules=(*others, rule)), f"stated a rule: {in_words(rule)}")
    return Go("/rules", f"{in_words(rule)}.")


def _threshold(text: str, form: Form) -> float | None:
    """Read a threshold; None if the figure should only be reported."""
    if not text.strip():
        return None
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        raise ArgumentError("a threshold must be a number, such as 5 or 0.2.") from None
    if not form.low <= number <= form.high or (form.whole and number != int(number)):
        kind = "a whole number" if form.whole else "a number"
        top = "" if math.isinf(form.high) else f" and at most {form.high:g}"
        raise ArgumentError(f"this threshold must be {kind} of at least {form.low:g}{top}.")
    return int(number) if form.whole else number


def _drop_rule(visit: Visit) -> Answer:
    """Remove one of the project's own rules; those of a preset are removed with the preset."""
    policy = visit.desk.project.policy
    rule = _numbered(policy.in_force(), visit.form.get("number", ""))
    _change(
        visit.desk, replace(policy, rules=tuple(one for one in policy.rules if one != rule)), f"removed a rule: {in_words(rule)}"
    )
    return Go("/rules", "The rule is no longer in force.")


def _numbered(rules: Sequence[Rule], number: str) -> Rule:
    if number.isascii() and number.isdigit() and int(number) < len(rules):
        return rules[int(number)]
    raise ArgumentError("this rule no longer exists; reload the page.")


def _change(desk: Desk, policy: Policy, summary: str) -> None:
    desk.change(replace(desk.project, policy=policy), summary)


def _add_need(visit: Visit) -> Answer:
    """State a need."""
    desk = visit.desk
    target, given = visit.column("target"), visit.columns("given")
    given = [name for name in given if name != target]
    if not given:
        raise ArgumentError("a need infers one column from others; tick at least one to infer it from.")
    name = visit.form.get("name", "").strip() or target
    least = _threshold(visit.form.get("least", ""), Form())
    need = Need(name, target, given, at_least=least)
    desk.change(replace(desk.project, needs={**desk.project.needs, name: need}), f"stated a need: {name}")
    return Go("/rules#needs", f"The need {name} is stated.")


def _drop_need(visit: Visit) -> Answer:
    """Remove a need."""
    desk = visit.desk
    number = visit.form.get("need", "").removeprefix("n")
    names = list(desk.project.needs)
    if not (number.isascii() and number.isdigit() and int(number) < len(names)):
        raise ArgumentError("this need no longer exists; reload the page.")
    name = names[int(number)]
    needs = {one: need for one, need in desk.project.needs.items() if one != name}
    desk.change(replace(desk.project, needs=needs), f"removed a need: {name}")
    return Go("/rules#needs", "The need is removed.")


def _same(desk: Desk) -> Same:
    needs = ", ".join(f"unveil.Need({one.name!r}, {one.target!r}, {list(one.given)!r})" for one in desk.project.needs.values())
    return Same(
        f"{command('check', desk, '--policy', desk.project.path.name)}\n{command('utility', desk)}",
        f"import unveil\n\n{python_study(desk)}\nunveil.check(study, {desk.project.path.name!r})\n"
        f"unveil.utility(study, [{needs}])",
    )


SCREEN = Screen(
    name="rules",
    title="Rules and needs",
    question="What must be met?",
    page=_page,
    actions={"preset": _toggle, "rule": _set_rule, "drop": _drop_rule, "need": _add_need, "leave": _drop_need},
    missing=settled,
)
