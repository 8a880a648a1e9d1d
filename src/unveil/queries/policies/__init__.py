"""The policies of a gate, each in its own file. To add one, write a file and a line in `POLICIES`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from unveil.arguments import checked_arguments, checked_word
from unveil.errors import ArgumentError, listed, near_miss, shown
from unveil.queries.policies.base import REASONS, Decision, GatePolicy, Keeper
from unveil.queries.policies.camouflage import Camouflage
from unveil.queries.policies.differential import Differential
from unveil.queries.policies.open import Open
from unveil.queries.policies.records import PerturbedRecords
from unveil.queries.policies.restriction import Restriction
from unveil.queries.policies.sticky import Sticky

__all__ = [
    "POLICIES",
    "REASONS",
    "Camouflage",
    "Decision",
    "Differential",
    "GatePolicy",
    "Keeper",
    "Open",
    "PerturbedRecords",
    "Restriction",
    "Sticky",
    "policy_of",
]

POLICIES: dict[str, type[GatePolicy]] = {
    policy.name: policy for policy in (Open, Restriction, Differential, Sticky, PerturbedRecords, Camouflage)
}
"""The policies by name."""


@checked_arguments
def policy_of(name: str, settings: Mapping[str, Any]) -> GatePolicy:
    """Return a policy by its name, with settings; None stands for the default of a setting.

    Examples
    --------
    >>> policy_of("restriction", {"k": 10})
    Restriction(k=10, share=1.0)
    """
    checked_word("policy", name, tuple(POLICIES))
    known = [one.name for one in fields(POLICIES[name])]
    for setting in settings:
        if setting not in known:
            there = f"it has: {listed(known)}" if known else "it has none"
            raise ArgumentError(f"the policy {name!r} has no setting {shown(setting)}; {there}.{near_miss(setting, known)}")
    return POLICIES[name](**{setting: value for setting, value in settings.items() if value is not None})
