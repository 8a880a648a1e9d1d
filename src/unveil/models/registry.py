"""The registry of privacy models. A new one is a subclass of `Model` or `SensitiveModel` in its own file, and a line here.

The order is that of an answer: first the models of the key alone, then those of each sensitive attribute.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, TypeVar

from unveil.arguments import checked_arguments
from unveil.errors import ArgumentError, CancelledError, MissingExtraError, UnveilError, shown
from unveil.fitting import kind_of
from unveil.measures import Equivalence
from unveil.models.base import Measured, Model, SensitiveModel
from unveil.models.classes import (
    AlphaK,
    BasicBetaLikeness,
    DeltaDisclosure,
    DistinctLDiversity,
    EnhancedBetaLikeness,
    EntropyLDiversity,
    KAnonymity,
    PSensitiveKAnonymity,
    RecursiveLDiversity,
)
from unveil.models.closeness import Scale, TCloseness
from unveil.models.derived_k import EstimatedKMap, NoAttack
from unveil.models.grassberger import GrassbergerLDiversity
from unveil.models.population import AverageRisk, DeltaPresence, KMap
from unveil.models.present_disclosure import PresentDeltaDisclosure
from unveil.models.profitability import Profitable
from unveil.models.sets import KmAnonymity
from unveil.models.uniqueness import PopulationUniques, SampleUniques
from unveil.project import MODEL_WORDS, RULES, Form, Rule
from unveil.run import active_run

__all__ = ["MODELS", "figure_models", "judged_by_rules", "label_of", "measures", "register", "rule_model"]

_Kind = TypeVar("_Kind", bound=type[Model])
_OF_CLASSES = ("class", "size")
"""The basis of the figures of models that a rule can require: the classes, and nothing else."""

MODELS: list[type[Model]] = [
    KAnonymity,
    AverageRisk,
    KMap,
    DeltaPresence,
    EstimatedKMap,
    NoAttack,
    Profitable,
    SampleUniques,
    PopulationUniques,
    KmAnonymity,
    PSensitiveKAnonymity,
    DistinctLDiversity,
    EntropyLDiversity,
    GrassbergerLDiversity,
    RecursiveLDiversity,
    TCloseness,
    AlphaK,
    BasicBetaLikeness,
    EnhancedBetaLikeness,
    DeltaDisclosure,
    PresentDeltaDisclosure,
]


@checked_arguments
def register(kind: _Kind) -> _Kind:
    """Add a user's own model, as a decorator of its class.

    `unveil.measure` then reports it for every table, `unveil.check` has a rule of its name, and `unveil.compare` a figure of
    privacy; if it has a `word`, a project file and the settings of a step name it by that.

    Raises
    ------
    ArgumentError
        If it is not a model, or if another model or a rule of policies has its name, or another requirement its word.
    """
    candidate: object = kind
    if not isinstance(candidate, type) or not issubclass(candidate, Model):
        raise ArgumentError(f"a model is a class that derives from Model, not {kind_of(kind)}.")
    same = [one for one in MODELS if one.name == kind.name]
    if any(one.__qualname__ != kind.__qualname__ for one in same) or (not same and kind.name in RULES):
        raise ArgumentError(f"the name {shown(kind.name)} is taken by another model or rule; give the model one of its own.")
    if kind.word in MODEL_WORDS and all(one.word != kind.word for one in same):
        raise ArgumentError(f"the word {shown(kind.word)} already names a requirement; give the model one of its own.")
    MODELS[:] = [*(one for one in MODELS if one not in same), kind]
    if kind.judged_on in _OF_CLASSES:
        RULES[kind.name] = _form(kind)
    for one in same:
        MODEL_WORDS.pop(one.word, None)
    if kind.word:
        MODEL_WORDS[kind.word] = "texts" if kind.of_sensitive else "text"
    return kind


def _form(kind: type[Model]) -> Form:
    """Return the form in which a policy states a model as a rule."""
    low, high = kind.range
    about = kind.label or kind.name.replace("_", " ")
    parameters = {"attribute": None} if kind.of_sensitive else {}
    side: Literal["at_least", "at_most"] = "at_least" if kind.safe_is_high else "at_most"
    return Form(side, low, high, whole=kind.whole, parameters=parameters, about=about)


def rule_model(name: str) -> type[Model] | None:
    """Return the model of this name that a rule can require; None if there is none."""
    return next((kind for kind in MODELS if kind.name == name and kind.judged_on in _OF_CLASSES), None)


def judged_by_rules(rules: Sequence[Rule], scales: Mapping[str, Scale], classes: Equivalence) -> list[Measured | UnveilError]:
    """Judge classes by the models that rules state; if a model cannot judge them, the reason takes its place.

    Parameters
    ----------
    rules
        The rules, each about the key or about one attribute.
    scales
        The relations between the values of attributes, for distances that require them.
    classes
        The classes of the release.
    """
    judged: list[Measured | UnveilError] = []
    for rule in rules:
        active_run().check()
        try:
            judged.append(_stated_by(rule, scales).judge(classes)[0])
        except (CancelledError, MissingExtraError):
            raise
        except UnveilError as problem:
            judged.append(problem)
    return judged


def _stated_by(rule: Rule, scales: Mapping[str, Scale]) -> Model:
    """Return the model that a rule states; two have parameters beside the threshold."""
    attribute, settings = rule.parameters.get("attribute") or "", rule.settings
    if rule.name == TCloseness.name:
        scale = scales.get(attribute) if settings["distance"] in TCloseness.scaled else None
        return TCloseness(attribute, rule.threshold, settings["distance"], scale)
    if rule.name == RecursiveLDiversity.name:
        return RecursiveLDiversity(attribute, settings["l"], rule.threshold)
    kind = rule_model(rule.name)
    if kind is None:
        raise ArgumentError(f"there is no model {shown(rule.name)}; register it before the policy is read.")
    return kind.with_threshold(rule.threshold, attribute)


def figure_models() -> dict[str, type[Model]]:
    """Return the models that have one figure for the key, or one for each sensitive attribute, by name."""
    return {kind.name: kind for kind in MODELS if kind.judged_on in _OF_CLASSES and not kind.on_request and _single(kind)}


def _single(kind: type[Model]) -> bool:
    """Whether a table has one figure of a model, instead of one for each of several distances, sizes or lengths."""
    own, usual = (kind.measures, Model.measures)
    if issubclass(kind, SensitiveModel):
        own, usual = kind.measures_of, SensitiveModel.measures_of  # type: ignore[assignment]
    return getattr(own, "__func__", None) is getattr(usual, "__func__", None)


def measures(classes: Equivalence, scales: Mapping[str, Scale], *, population: bool) -> Iterator[Model]:
    """Yield every measure that a table has without a request; those that compare with a population, only if there is one."""
    usual = [kind for kind in MODELS if not kind.on_request]
    about_sensitive = [kind for kind in usual if issubclass(kind, SensitiveModel)]
    for kind in usual:
        if not issubclass(kind, SensitiveModel):
            yield from (one for one in kind.measures() if population or not one.needs_population)
    for name, spread in classes.spreads.items():
        for kind in about_sensitive:
            yield from kind.measures_of(name, spread, scales.get(name))


def label_of(name: str) -> str:
    """Return a model's name in words."""
    return next((kind.label for kind in MODELS if kind.name == name and kind.label), name)
