"""The rules that decide which cells of a table are sensitive; a rule is one file, and one line of `RULES` or `register`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from unveil.arguments import checked_arguments
from unveil.errors import ArgumentError, listed, shown
from unveil.fitting import kind_of
from unveil.tables.rules.base import On, TableRule, contributions, no_level, numbers_of, values
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
    "contributions",
    "contributors_of",
    "no_level",
    "numbers_of",
    "register",
    "rules_of",
    "values",
]

_Kind = TypeVar("_Kind", bound=type)
_PARTS = ("word", "on", "attack", "read", "primary", "level", "words")
_LEAST_CONTRIBUTORS = 2


RULES: dict[str, Any] = {
    rule.word: rule for rule in (ThresholdRule, DominanceRule, PercentRule, PriorPosteriorRule, GroupRule, RequestRule)
}
"""The rules by their words."""


@checked_arguments
def register(kind: _Kind) -> _Kind:
    """Add a rule of your own, as a decorator of its class, so that it can be written as text, as on the command line.

    Raises
    ------
    ArgumentError
        If the class lacks a part of a rule (see `TableRule`), or another rule has its word.
    """
    given: object = kind
    if not isinstance(given, type):
        raise ArgumentError(f"a table rule is a class, not {kind_of(kind)}.")
    if missing := [name for name in _PARTS if not hasattr(kind, name)]:
        raise ArgumentError(f"the table rule {kind.__name__} lacks: {listed(missing)}; see TableRule.")
    word = kind.word  # type: ignore[attr-defined]
    if word in RULES and RULES[word].__name__ != kind.__name__:
        raise ArgumentError(f"two table rules have the word {shown(word)}: {RULES[word].__name__} and {kind.__name__}.")
    RULES[word] = kind
    return kind


def rules_of(rules: str | TableRule | Sequence[str | TableRule]) -> tuple[TableRule, ...]:
    """Return rules that are given as such or as written on a command line.

    Examples
    --------
    >>> rules_of(["threshold=3", "p=10"])
    (ThresholdRule(k=3), PercentRule(p=10.0, coalition=1))
    """
    several = [rules] if isinstance(rules, str) or not isinstance(rules, Sequence) else list(rules)
    return tuple(_rule(one) for one in several)


def contributors_of(rules: Sequence[str | TableRule]) -> int:
    """Return the number of largest contributions to a cell that a table must keep for the rules."""
    return max(_LEAST_CONTRIBUTORS, *(getattr(rule, "contributors", 0) for rule in rules_of(list(rules))), 0)


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
