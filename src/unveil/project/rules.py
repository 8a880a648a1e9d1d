"""Rules of policies: the figures that a rule may check, the parameters that it may have, and its threshold."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

__all__ = ["DISTANCE_WORDS", "ITEM_LETTERS", "KEYLESS", "RULES", "Form", "Rule", "RuleSet"]

Side: TypeAlias = Literal["at_least", "at_most"]

DISTANCE_WORDS = ("equal", "rank", "value", "hierarchical", "variational", "kl", "js")
"""The distances between values that t-closeness knows; the models, a room below, have the same words."""
ITEM_LETTERS = tuple("ABCDEFGHIJKLMNOPQR")
"""The 18 identifiers of the US Safe Harbor rule."""
KEYLESS = frozenset({"direct_identifiers", "safe_harbor", "repeatable", "exposed_cells"})
"""Rules about single columns, about how the release was made, or about a table of figures, independent of the key."""

_TARGETS = ("attribute", "sensitive", "item")
"""Parameters that name the target of a rule; without one, the rule applies to each attribute, or each identifier."""
_LENIENCE = ("except", "confidence", "missing_is_sensitive")


@dataclass(frozen=True, slots=True)
class Form:
    """The possible contents of a rule.

    Attributes
    ----------
    side
        Whether its figure must reach the threshold, or must not exceed it.
    low, high, whole
        The range of the threshold, and whether it is an integer.
    parameters
        The other parameters, with their defaults (None: there is no default).
    flag
        Whether the rule is about a fact that must be false, not about a figure.
    about
        The figure, in words.
    """

    side: Side = "at_most"
    low: float = 0.0
    high: float = 1.0
    whole: bool = False
    parameters: Mapping[str, Any] = field(default_factory=dict)
    flag: bool = False
    about: str = ""


_ATTRIBUTE = {"attribute": None}

RULES: dict[str, Form] = {
    "k_anonymity": Form("at_least", 1, math.inf, whole=True, about="records in the smallest class"),
    "prosecutor_highest": Form(about="re-identification risk of the record most at risk"),
    "prosecutor_average": Form(about="average re-identification risk of the records"),
    "records_at_risk": Form(parameters={"above": 0.2}, about="share of records with a risk above a limit"),
    "sample_uniqueness": Form(about="share of records that are unique by the key"),
    "p_sensitivity": Form(
        "at_least", 1, math.inf, whole=True, parameters=_ATTRIBUTE, about="least number of sensitive values in a class"
    ),
    "distinct_l_diversity": Form(
        "at_least", 1, math.inf, whole=True, parameters=_ATTRIBUTE, about="least number of distinct sensitive values in a class"
    ),
    "entropy_l_diversity": Form(
        "at_least",
        1,
        math.inf,
        parameters=_ATTRIBUTE,
        about="2 to the power of the lowest entropy of the sensitive values in a class",
    ),
    "recursive_l_diversity": Form(
        "at_most",
        0,
        math.inf,
        parameters={**_ATTRIBUTE, "l": 2},
        about="the c of recursive (c, l)-diversity; it must stay below",
    ),
    "t_closeness": Form(
        "at_most",
        0,
        math.inf,
        parameters={**_ATTRIBUTE, "distance": "equal"},
        about="largest distance of a class from the whole table",
    ),
    "alpha": Form(parameters=_ATTRIBUTE, about="largest share of a sensitive value in a class"),
    "basic_beta_likeness": Form(
        "at_most", 0, math.inf, parameters=_ATTRIBUTE, about="largest relative gain of a sensitive value in a class"
    ),
    "enhanced_beta_likeness": Form(
        "at_most", 0, math.inf, parameters=_ATTRIBUTE, about="the same, with frequent values protected as well"
    ),
    "delta_disclosure": Form(
        "at_most",
        0,
        math.inf,
        parameters=_ATTRIBUTE,
        about="largest ratio of a value's shares in a class and in the table, as a logarithm; it must stay below",
    ),
    "certain_disclosure": Form(
        parameters={**_ATTRIBUTE, "missing_is_sensitive": None},
        about="share of records whose class holds one sensitive value; those without one count if that is sensitive",
    ),
    "discrimination_rate": Form(
        parameters={"key": None, "sensitive": None, "adjusted": False, "partitions": None},
        about="Discrimination Rate against record identity, or against `sensitive` (a column, or `true` for each)",
    ),
    "identity_attack": Form(about="risk of the identity attack"),
    "homogeneity_attack": Form(about="risk of the homogeneity attack"),
    "linkage": Form(about="highest share of records that a linkage gets right"),
    "singling_out": Form(about="people singled out by a release beyond those of a hold-out"),
    "linkability": Form(about="people whose two halves a release links, beyond those of a hold-out"),
    "inference": Form(about="sensitive values that a release gives away, beyond those of a hold-out"),
    "membership": Form(about="people recognised as being in the original, beyond false alarms about a hold-out"),
    "direct_identifiers": Form(
        "at_most",
        0,
        math.inf,
        whole=True,
        parameters={"except": (), "confidence": "likely"},
        about="columns that name people outright",
    ),
    "safe_harbor": Form(
        "at_most",
        0,
        math.inf,
        whole=True,
        parameters={"item": None, "except": ()},
        about="columns with an identifier of the US Safe Harbor rule; `item` is a letter from A to R",
    ),
    "repeatable": Form(
        "at_most",
        0,
        0,
        whole=True,
        flag=True,
        about="whether everybody who has the software can repeat the draws of the release, as its record says",
    ),
    "exposed_cells": Form(
        "at_most",
        0,
        math.inf,
        whole=True,
        parameters={
            "by": None,
            "value": None,
            "rule": (),
            "holding": None,
            "request": None,
            "linked": (),
            "signed": False,
            "on": None,
            "attacker": None,
            "zeros": "publish",
            "insiders": "singletons",
            "level": "rule",
            "width": None,
            "total": "Total",
        },
        about="cells of a published table that an attacker can compute too closely; `rule` needs the original",
    ),
}
"""Every rule by its name; figures are those of `unveil.measure`, `unveil.attack` and `unveil.direct_identifiers`."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A figure, and the threshold against which it is checked.

    Parameters
    ----------
    name
        One of `RULES`.
    threshold
        None: not decided.
    parameters
        The target of the figure, if it is not the whole table.
    question
        The question in a preset's source that the figure answers.

    Attributes
    ----------
    form
        The form of rules with this name.
    settings
        All parameters, with defaults for those that are not given.
    requirement
        The threshold in words.
    target
        The target of the figure: an attribute, an identifier, or "the key".
    place
        The identity of this rule: its name, and the target of its figure (excepted columns do not make another figure).

    Examples
    --------
    >>> Rule("t_closeness", 0.2, {"attribute": "income"}).requirement
    'at most 0.2'
    """

    name: str
    threshold: float | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    question: str = ""
    form: Form = field(init=False, repr=False, compare=False)
    settings: Mapping[str, Any] = field(init=False, repr=False, compare=False)
    requirement: str = field(init=False, repr=False, compare=False)
    target: str = field(init=False, repr=False, compare=False)
    place: tuple[str, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Set the attributes that follow from the name, the threshold and the parameters."""
        form = RULES[self.name]
        settings = {**form.parameters, **self.parameters}
        stated = {name: value for name, value in settings.items() if value is not None and name not in _LENIENCE}
        words = "must be false" if form.flag else f"{form.side.replace('_', ' ')} {{:g}}"
        named = (self.parameters[name] for name in _TARGETS if isinstance(self.parameters.get(name), str))
        object.__setattr__(self, "form", form)
        object.__setattr__(self, "settings", settings)
        object.__setattr__(self, "requirement", "none set" if self.threshold is None else words.format(self.threshold))
        object.__setattr__(self, "target", next(named, "the key"))
        object.__setattr__(self, "place", (self.name, json.dumps(stated, sort_keys=True, default=str)))


@dataclass(frozen=True, slots=True)
class RuleSet:
    """The rules by which a release is judged.

    Attributes
    ----------
    rules
        The stated rules, and one against direct identifiers, except in columns that the user vouches for.
    keyed
        Whether a rule uses the key.
    sensitive
        The sensitive attributes: those of the release, and those that rules name.
    named
        The columns that rules apply to.
    excepted
        The columns that somebody vouches for by name.
    single
        The rules, where those about each sensitive attribute, or each identifier, are split into rules about one.
    standing
        Rules without thresholds, for the figures that are measured for every release with a key under any policy.
    """

    rules: tuple[Rule, ...]
    keyed: bool
    sensitive: tuple[str, ...]
    named: tuple[str, ...]
    excepted: tuple[str, ...]
    single: tuple[Rule, ...]
    standing: tuple[Rule, ...]

    @classmethod
    def of(cls, stated: Sequence[Rule], sensitive: Sequence[str] = (), keep: Sequence[str] = ()) -> RuleSet:
        """Return the rules for a release with some sensitive attributes, in which the user vouches for some columns.

        Examples
        --------
        >>> asked = RuleSet.of([Rule("alpha"), Rule("alpha", 0.5, {"attribute": "income"})], ["disease"])
        >>> [(rule.name, rule.target) for rule in asked.single]
        [('alpha', 'disease'), ('alpha', 'income'), ('direct_identifiers', 'the key')]
        """
        rules = tuple(_naming_nobody(stated, keep))
        keyed = any(rule.name not in KEYLESS for rule in rules)
        targets = [rule.parameters.get(word) for rule in rules for word in ("attribute", "sensitive")]
        about = [name for name in targets if isinstance(name, str)]
        attributes = tuple(dict.fromkeys([*sensitive, *about]))
        named = (*about, *(name for rule in rules for name in rule.parameters.get("key") or ()))
        excepted = tuple(dict.fromkeys(name for rule in rules for name in rule.parameters.get("except", ())))
        standing = tuple(_standing(rules, attributes)) if keyed else ()
        return cls(rules, keyed, attributes, named, excepted, tuple(_single(rules, attributes)), standing)


def _naming_nobody(rules: Sequence[Rule], keep: Sequence[str]) -> Iterator[Rule]:
    """Return the rules, and one against direct identifiers, except in columns that the user vouches for."""
    for rule in rules:
        excepted = (*rule.parameters.get("except", ()), *keep)
        takes = rule.name in ("direct_identifiers", "safe_harbor") and keep
        one = replace(rule, parameters={**rule.parameters, "except": excepted}) if takes else rule
        yield replace(one, threshold=0) if rule.name == "direct_identifiers" and rule.threshold is None else one
    if not any(rule.name == "direct_identifiers" for rule in rules):
        vouched = tuple(dict.fromkeys((*(name for rule in rules for name in rule.parameters.get("except", ())), *keep)))
        yield Rule("direct_identifiers", 0, {"except": vouched} if vouched else {})


def _single(rules: Sequence[Rule], sensitive: Sequence[str]) -> Iterator[Rule]:
    """Split rules about each sensitive attribute, or each identifier; a target with a rule of its own is not judged twice."""
    taken = {rule.place for rule in rules}
    for rule in rules:
        target = next((name for name in _TARGETS if name in rule.form.parameters), None)
        one_only = target is None or rule.parameters.get(target) != (True if target == "sensitive" else None)
        names = () if one_only else ITEM_LETTERS if target == "item" else sensitive
        if not names:
            yield rule
        for name in names:
            one = replace(rule, parameters={**rule.parameters, str(target): name})
            if one.place not in taken:
                yield one


def _standing(rules: Sequence[Rule], sensitive: Sequence[str]) -> Iterator[Rule]:
    """Yield the rules without thresholds, except for figures that already have a rule."""
    smallest = next((rule.threshold for rule in rules if rule.name == "k_anonymity" and rule.threshold), None)
    above = 0.2 if smallest is None else 1.0 / float(smallest)
    named = [Rule("k_anonymity"), Rule("sample_uniqueness"), Rule("prosecutor_average")]
    named += [Rule("records_at_risk", None, {"above": above})]
    about_values = ("distinct_l_diversity", "certain_disclosure")
    named += [Rule(name, None, {"attribute": attribute}) for attribute in sensitive for name in about_values]
    taken = {rule.place for rule in rules}
    yield from (rule for rule in named if rule.place not in taken)
