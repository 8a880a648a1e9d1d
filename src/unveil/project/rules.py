"""Rules of policies: which figures a rule may be about, what it may say about them, and its threshold."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

__all__ = ["DISTANCE_WORDS", "RULES", "Form", "Rule"]

Side: TypeAlias = Literal["at_least", "at_most"]

DISTANCE_WORDS = ("equal", "rank", "value", "hierarchical", "variational", "kl", "js")
"""The distances between values that t-closeness knows; the models, a room below, have the same words."""
_LENIENCE = ("except", "confidence", "missing_is_sensitive")


@dataclass(frozen=True, slots=True)
class Form:
    """What a rule may say.

    Attributes
    ----------
    side
        Whether its figure must reach the threshold, or must not exceed it.
    low, high, whole
        The range of the threshold, and whether it is a whole number.
    parameters
        What else it takes, with the default (None: there is none).
    flag
        Whether the rule is about a fact that must be false, not about a figure.
    about
        What the figure is, in words.
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
"""Every rule by its name; figures are as `unveil.measure`, `unveil.attack` and `unveil.direct_identifiers` give them."""


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
        What the figure is of, if it is not of the whole table.
    question
        The question of a preset's source on which the figure bears.

    Attributes
    ----------
    form
        What a rule of this name may say.
    settings
        All parameters; those that are not given have their defaults.
    requirement
        The threshold in words.
    place
        What distinguishes this rule: its name, and what its figure is of (excepted columns do not make another figure).

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
    place: tuple[str, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Set what follows from the name, the threshold and the parameters."""
        form = RULES[self.name]
        settings = {**form.parameters, **self.parameters}
        stated = {name: value for name, value in settings.items() if value is not None and name not in _LENIENCE}
        words = "must be false" if form.flag else f"{form.side.replace('_', ' ')} {{:g}}"
        object.__setattr__(self, "form", form)
        object.__setattr__(self, "settings", settings)
        object.__setattr__(self, "requirement", "none set" if self.threshold is None else words.format(self.threshold))
        object.__setattr__(self, "place", (self.name, json.dumps(stated, sort_keys=True, default=str)))
