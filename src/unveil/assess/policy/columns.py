"""Columns that no rule is about: do they name people, who vouches for them, and what do they add to the key?

Names of people do not pass, whatever a policy requires: a column recognised as a direct identifier keeps a release from passing,
unless the policy, the project or the caller vouches for it by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from unveil.errors import listed
from unveil.measures.unnamed import Unmeasured, never_measured, singled_out
from unveil.project.rules import Rule
from unveil.releases import Record

if TYPE_CHECKING:
    from unveil.assess.policy.case import Case
    from unveil.study import Study

__all__ = ["column_notes", "naming_nobody", "unmeasured_in", "vouched_in"]

_RULE = "direct_identifiers"
_MOST_TOLD = 3


def naming_nobody(rules: Sequence[Rule], keep: Sequence[str]) -> tuple[Rule, ...]:
    """Return the rules and one that looks for direct identifiers, except in columns that the user vouches for."""
    complete = []
    for rule in rules:
        excepted = (*rule.parameters.get("except", ()), *keep)
        takes = rule.name in (_RULE, "safe_harbor") and keep
        one = replace(rule, parameters={**rule.parameters, "except": excepted}) if takes else rule
        complete.append(replace(one, threshold=0) if rule.name == _RULE and rule.threshold is None else one)
    if not any(rule.name == _RULE for rule in rules):
        vouched = tuple(dict.fromkeys((*(name for rule in rules for name in rule.parameters.get("except", ())), *keep)))
        complete.append(Rule(_RULE, 0, {"except": vouched} if vouched else {}))
    return tuple(complete)


def vouched_in(rules: Sequence[Rule], study: Study) -> tuple[str, ...]:
    """Return the columns of a release that somebody vouches for by name."""
    names = [name for rule in rules for name in rule.parameters.get("except", ())]
    return tuple(name for name in dict.fromkeys(names) if name in study.names)


def unmeasured_in(case: Case, rules: Sequence[Rule], *, keyed: bool) -> tuple[Unmeasured, ...]:
    """Return the columns that no rule measures, with the persons or records that each singles out, alone and with the key.

    For a table in an engine, each column is counted alone only: nothing but counts of single columns leaves the engine.
    """
    if any(rule.name == "exposed_cells" for rule in rules):
        return ()  # a table of figures has no records
    named = {name for rule in rules for name in rule.parameters.get("key") or ()}
    named |= {str(rule.parameters.get(word)) for rule in rules for word in ("attribute", "sensitive")}
    study, keys = case.study, case.keys if keyed else ()
    named |= {*keys, *(case.sensitive if keyed else ()), str(study.person), str(study.weights)}
    return tuple(singled_out(study, [name for name in study.names if name not in named], study.person, keys).values())


def column_notes(case: Case, vouched: Sequence[str], unmeasured: Sequence[Unmeasured]) -> list[str]:
    """Say which columns are vouched for, here and by the maker of the release, and which nobody measured."""
    notes = [f"Columns that are vouched for by name and were not examined: {listed(vouched)}."] if vouched else []
    by_maker = case.record.vouched if isinstance(case.record, Record) else ()
    notes += [f"The maker of the release vouched for: {listed(by_maker)}."] if by_maker else []
    return [*notes, never_measured(unmeasured, _MOST_TOLD)] if unmeasured else notes
