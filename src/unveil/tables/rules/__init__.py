"""The rules that decide which cells of a table are sensitive; a rule is one file and one line of `RULES`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from unveil.errors import ArgumentError, shown
from unveil.tables.rules.base import On, TableRule
from unveil.tables.rules.dominance import DominanceRule
from unveil.tables.rules.group_disclosure import GroupRule
from unveil.tables.rules.percent import PercentRule
from unveil.tables.rules.prior_posterior import PriorPosteriorRule
from unveil.tables.rules.request import RequestRule
from unveil.tables.rules.threshold import ThresholdRule

__all__ = [
    "RULES",
    "DominanceRule",
    "GroupRule",
    "On",
    "PercentRule",
    "PriorPosteriorRule",
    "RequestRule",
    "TableRule",
    "ThresholdRule",
    "rules_of",
]


RULES: dict[str, Any] = {
    rule.word: rule for rule in (ThresholdRule, DominanceRule, PercentRule, PriorPosteriorRule, GroupRule, RequestRule)
}
"""The rules by their word."""


def rules_of(rules: str | TableRule | Sequence[str | TableRule]) -> tuple[TableRule, ...]:
    """Return rules, given as such or as written on a command line.

    Examples
    --------
    >>> rules_of(["threshold=3", "p=10"])
    (ThresholdRule(k=3), PercentRule(p=10.0, coalition=1))
    """
    several = [rules] if isinstance(rules, str) or not isinstance(rules, Sequence) else list(rules)
    return tuple(_rule(one) for one in several)


def _rule(rule: str | TableRule) -> TableRule:
    if isinstance(rule, TableRule):
        return rule
    if not isinstance(rule, str):
        raise ArgumentError(
            f"a rule cannot be {shown(type(rule).__name__)}; write it as text (threshold=3) or use unveil.tables.rules."
        )
    word, _, text = rule.partition("=")
    if word not in RULES:
        raise ArgumentError.not_one_of("rule", word, tuple(RULES))
    parsed: TableRule = RULES[word].read(text)
    return parsed
