"""What is required of a table? Models, read from words, completed with what they need, and judged together.

The words are those of a command line or a project file: numbers and names, separated by colons.

    --k 5    --l entropy:3:disease    --l recursive:4:3:disease    --t 0.2:hierarchical:disease    --alpha 0.5

The attribute may be left out if there is only one sensitive attribute; a name may itself contain colons, because it comes last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from unveil.errors import ArgumentError, shown
from unveil.measures import Equivalence
from unveil.models.base import Measured, Model, Place
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
from unveil.models.closeness import DISTANCES, Distance, Scale, TCloseness
from unveil.models.derived_k import CELL_ESTIMATORS, CellEstimator, EstimatedKMap, NoAttack
from unveil.models.grassberger import GrassbergerLDiversity
from unveil.models.population import ATTACKERS, Attacker, AverageRisk, DeltaPresence, KMap, Population
from unveil.models.present_disclosure import PresentDeltaDisclosure
from unveil.models.profitability import Profitable, game_of
from unveil.models.registry import MODELS
from unveil.models.sets import KmAnonymity
from unveil.models.uniqueness import ESTIMATORS, Estimator, PopulationUniques, SampleUniques, SizesModel
from unveil.models.written import attribute_of, positive, share, split, whole_number
from unveil.project import MODEL_WORDS
from unveil.results import masked_class
from unveil.study import study_of

__all__ = [
    "PARSERS", "Requirements", "completed", "measured_models", "measured_models_each", "nested", "parse_alpha", "parse_beta",
    "parse_delta", "parse_k_map", "parse_km", "parse_l", "parse_models", "parse_no_attack", "parse_p", "parse_presence",
    "parse_profitable", "parse_t", "parse_uniqueness", "parser_of", "planned_models", "published", "require_thresholds",
    "sensitive_groups", "sensitive_of",
]  # fmt: skip


def completed(models: Sequence[Model], scales: Mapping[str, Scale], *, alone: bool = False) -> dict[Place, Model]:
    """Return the requirements by their place, each once, with the scales that they need.

    A table that is `alone` has no population, so a model that compares it with one is refused.
    """
    by_place: dict[Place, Model] = {}
    for model in models:
        if model.place in by_place:
            raise ArgumentError(f"{' of '.join(model.place[:2])} is required twice; name it once, with the stricter figure.")
        if alone and model.needs_population:
            raise ArgumentError(f"{model.name} compares the table with its population; give the population's table.")
        by_place[model.place] = model.with_scale(scales)
    return by_place


def measured_models(models: Mapping[Place, Model], classes: Equivalence, population: Population | None) -> dict[Place, Measured]:
    """Return the figure of each model for a table."""
    return measured_models_each(models, [(classes, population)])[0]


def measured_models_each(
    models: Mapping[Place, Model], tables: Sequence[tuple[Equivalence, Population | None]]
) -> list[dict[Place, Measured]]:
    """Return the figure of each model for several tables; the deciding classes of a table are described together."""
    judged = [_judged(models, classes, population) for classes, population in tables]
    described = [classes.described(list(worst.values())) for (classes, _), (_, worst) in zip(tables, judged, strict=True)]
    return [
        measured | {place: replace(measured[place], worst_class=one) for place, one in zip(worst, shown, strict=True)}
        for (measured, worst), shown in zip(judged, described, strict=True)
    ]


def _judged(
    models: Mapping[Place, Model], classes: Equivalence, population: Population | None
) -> tuple[dict[Place, Measured], dict[Place, int]]:
    """Return the figure of each model for a table, and the deciding class of each model that judges every class."""
    measured: dict[Place, Measured] = {}
    worst: dict[Place, int] = {}
    for place, model in models.items():
        if type(model).measure is Model.measure:
            measured[place], worst[place] = model.judge(classes)
        else:  # it does not judge by the classes alone
            measured[place] = model.measure(classes, population)
    return measured, worst


def published(models: Mapping[Place, Measured], *, original: bool = False) -> dict[str, Any]:
    """Return the answers in the form of `nested`, fit for display: no classes of `original` records, and other classes masked.

    Parameters
    ----------
    models
        The figure of each model.
    original
        Whether the answers are about the data to be protected, whose values must not be shown.
    """
    return nested(
        {place: replace(one, worst_class=None if original else masked_class(one.worst_class)) for place, one in models.items()}
    )


def nested(models: Mapping[Place, Measured]) -> dict[str, Any]:
    """Return the answers in the form written to JSON, with one level for each part of their place."""
    tables: dict[str, Any] = {}
    for place, measured in models.items():
        level = tables
        for name in place[:-1]:
            level = level.setdefault(name, {})
        level[place[-1]] = measured.to_dict()
    return tables


def sensitive_of(models: Sequence[Model], keys: Sequence[str]) -> tuple[str, ...]:
    """Return the sensitive attributes that the models name."""
    if not models:
        raise ArgumentError("no model is required; name one, such as KAnonymity(5).")
    require_thresholds(models)
    parts = [part for model in models if model.sensitive is not None for part in model.sensitive.split(" + ")]
    sensitive = tuple(dict.fromkeys(parts))
    for name in sensitive:
        if name in keys:
            raise ArgumentError.key_is_sensitive(name)
    return sensitive


def require_thresholds(models: Sequence[Model]) -> None:
    """Refuse a model without a threshold: it would only measure the release, and require nothing of it."""
    for model in models:
        if getattr(model, "requirement", "") is None:  # an object that is not a model is refused elsewhere
            raise ArgumentError(f"{model.name} is to be met, but no threshold is given.")


def sensitive_groups(models: Iterable[Model], columns: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return the sensitive attributes that models name, singly or several jointly; `columns` are the counted ones."""
    named = [model.sensitive for model in models if model.sensitive is not None]
    return tuple((name,) if name in columns else tuple(name.split(" + ")) for name in dict.fromkeys(named))


class Requirements:
    """Models to meet, sorted by the basis of their judgement.

    Attributes
    ----------
    size, people
        The number of records that a class must hold, in the table and in the population.
    presence
        Bounds on the probability that a member of a class is in the table.
    average
        The highest average risk.
    of_classes, of_sizes
        The models that depend on a figure of every class, and those that depend on the sizes of all classes.
    paying
        The models that depend on the payoff of every class to its publisher.
    closed
        Whether the union of classes that meet all of them also meets them.
    only_small
        Whether they require nothing but class sizes.
    """

    def __init__(self, models: Iterable[Model]) -> None:
        by_kind: dict[str, list[Any]] = {}
        self.closed, self.people = True, 0
        for model in models:
            by_kind.setdefault(model.judged_on, []).append(model)
            self.closed = self.closed and model.closed
            self.people = max(self.people, model.least_people or 0)
        self.size: int = max([0, *(model.least_size or 0 for model in by_kind.get("size", ()))])
        averages = [model.threshold for model in by_kind.get("average", ()) if model.threshold is not None]
        self.average: float = min([1.0, *averages])
        self.presence: Sequence[DeltaPresence] = by_kind.get("presence", [])
        self.of_classes: Sequence[Model] = by_kind.get("class", [])
        self.of_sizes: Sequence[SizesModel] = by_kind.get("sizes", [])
        self.paying: Sequence[Profitable] = by_kind.get("payoff", [])
        self.only_small = not (self.presence or self.of_classes or self.of_sizes or self.paying or self.average < 1.0)


Parser: TypeAlias = Callable[[Any, Sequence[str]], Model]
"""A function that makes a requirement from the text behind its word, given the sensitive attributes."""


def parse_models(figures: MutableMapping[str, Any], sensitive: Sequence[str]) -> list[Model]:
    """Remove the requirements from a mapping of words that name them to their figures, and return them.

    Examples
    --------
    >>> parse_models({"k": 5, "l": ["distinct:3:disease"]}, ["disease"])
    [KAnonymity(k=5), DistinctLDiversity(attribute='disease', l=3)]
    """
    models: list[Model] = []
    for word, kind in MODEL_WORDS.items():
        value = figures.pop(word, None)
        if value is None:
            continue
        read = parser_of(word)
        if kind == "number":
            models.append(read(value, sensitive))
        else:
            several = kind == "texts" and isinstance(value, list | tuple)
            models += [read(str(text), sensitive) for text in (value if several else [value])]
    return models


def parser_of(word: str) -> Parser:
    """Return the function that reads the requirement of a word: one of `PARSERS`, else that of the model which has the word."""
    if word in PARSERS:
        return PARSERS[word]
    return next(kind.read for kind in MODELS if kind.word == word)


def planned_models(data: Any) -> list[Model]:
    """Return the models that a project behind data requires; one that names no attribute is about each sensitive one."""
    study = study_of(data)
    if study is None or study.project is None:
        return []
    return parse_models(dict(study.project.models), study.sensitive or study.names)


def _count(value: Any) -> Any:
    """Return a count as an integer, even if a file stores it as a decimal number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def parse_km(text: str, sensitive: Sequence[str]) -> Model:  # noqa: ARG001 - its attribute is one of the key
    """Read K:M:ATTRIBUTE as k^m-anonymity of a column of sets.

    Examples
    --------
    >>> parse_km("5:2:cart", [])
    KmAnonymity(attribute='cart', k=5, m=2, separator=';')
    """
    number, rest = split(text)
    most, attribute = split(rest or "")
    if not attribute:
        raise ArgumentError(f"`km` takes K:M:COLUMN, such as 5:2:items, not {shown(text)}.")
    return KmAnonymity(attribute, whole_number(number, "`km`", text), whole_number(most, "`km`", text))


def parse_p(text: str, sensitive: Sequence[str]) -> Model:
    """Read P[:ATTRIBUTE] as p-sensitivity."""
    number, rest = split(text)
    return PSensitiveKAnonymity(attribute_of(rest, sensitive, text), whole_number(number, "`p`", text))


def parse_l(text: str, sensitive: Sequence[str]) -> Model:
    """Read distinct:L, entropy:L, grassberger:L or recursive:C:L, each with [:ATTRIBUTE], as l-diversity.

    Examples
    --------
    >>> parse_l("recursive:4:3:disease", ["disease"])
    RecursiveLDiversity(attribute='disease', l=3, c=4.0)
    """
    kind, rest = split(text)
    number, after = split(rest or "")
    if kind == "distinct":
        return DistinctLDiversity(attribute_of(after, sensitive, text), whole_number(number, "`l`", text))
    if kind in ("entropy", "grassberger"):
        model = EntropyLDiversity if kind == "entropy" else GrassbergerLDiversity
        return model(attribute_of(after, sensitive, text), positive(number, "`l`", text))
    if kind == "recursive":
        length, last = split(after or "")
        c, l = positive(number, "`l`", text), whole_number(length, "`l`", text)  # noqa: E741 - the model's own letters
        return RecursiveLDiversity(attribute_of(last, sensitive, text), l, c)
    raise ArgumentError(f"`l` takes distinct:L, entropy:L, grassberger:L or recursive:C:L, then :ATTRIBUTE, not {shown(text)}.")


def parse_t(text: str, sensitive: Sequence[str]) -> Model:
    """Read T[:DISTANCE][:ATTRIBUTE] as t-closeness; the distance is equal unless stated otherwise."""
    number, rest = split(text)
    distance: Distance = "equal"
    word, after = split(rest or "")
    for known in DISTANCES:
        if word == known:
            distance, rest = known, after
    if rest and rest not in (*sensitive, " + ".join(sensitive)):
        raise ArgumentError.not_one_of("distance or sensitive attribute", rest, (*DISTANCES, *sensitive))
    return TCloseness(attribute_of(rest, sensitive, text), share(number, "`t`", text, above=distance == "kl"), distance)


def parse_alpha(text: str, sensitive: Sequence[str]) -> Model:
    """Read ALPHA[:ATTRIBUTE] as the highest share of a value in a class."""
    number, rest = split(text)
    return AlphaK(attribute_of(rest, sensitive, text), share(number, "`alpha`", text))


def parse_beta(text: str, sensitive: Sequence[str]) -> Model:
    """Read [basic:|enhanced:]BETA[:ATTRIBUTE] as beta-likeness; basic unless stated otherwise."""
    kinds: dict[str, Callable[[str, float], Model]] = {"basic": BasicBetaLikeness, "enhanced": EnhancedBetaLikeness}
    kind, rest = split(text)
    model = kinds.get(kind)
    number, after = split(rest or "") if model is not None else (kind, rest)
    return (model or BasicBetaLikeness)(attribute_of(after, sensitive, text), positive(number, "`beta`", text))


def parse_delta(text: str, sensitive: Sequence[str]) -> Model:
    """Read [present:]DELTA[:ATTRIBUTE] as delta-disclosure: of all values, or, in bits, of those that a class holds.

    Examples
    --------
    >>> parse_delta("present:1.5", ["disease"])
    PresentDeltaDisclosure(attribute='disease', delta=1.5)
    """
    kind, rest = split(text)
    if kind != "present":
        return DeltaDisclosure(attribute_of(rest, sensitive, text), positive(kind, "`delta`", text))
    number, after = split(rest or "")
    return PresentDeltaDisclosure(attribute_of(after, sensitive, text), positive(number, "`delta`", text))


def parse_presence(text: str) -> DeltaPresence:
    """Read LOW:HIGH as delta-presence."""
    low, high = split(text)
    return DeltaPresence(share(low, "`presence`", text), share(high or "", "`presence`", text))


def parse_k_map(text: str) -> Model:
    """Read K as k-map against a population, K:FRACTION[:SIGNIFICANCE[:ESTIMATOR]] as k-map by an estimator.

    Examples
    --------
    >>> parse_k_map("5"), parse_k_map("5:0.1:0.05:zero-truncated")
    (KMap(k=5), EstimatedKMap(k=5, sampling_fraction=0.1, significance=0.05, estimator='zero-truncated'))
    """
    k, rest = split(text)
    if rest is None:
        return KMap(whole_number(k, "`k_map`", text))
    fraction, after = split(rest)
    significance, word = split(after or "0.01")
    estimator: CellEstimator = _word(word or "poisson", CELL_ESTIMATORS)
    return EstimatedKMap(
        whole_number(k, "`k_map`", text), share(fraction, "`k_map`", text), share(significance, "`k_map`", text), estimator
    )


def parse_uniqueness(text: str) -> Model:
    """Read sample:SHARE, or population:SHARE:FRACTION[:ESTIMATOR], as a bound on unique records.

    Examples
    --------
    >>> parse_uniqueness("population:0.01:0.05")
    PopulationUniques(highest=0.01, sampling_fraction=0.05, estimator='dankar')
    """
    kind, rest = split(text)
    number, after = split(rest or "")
    if kind == "sample" and after is None:
        return SampleUniques(share(number, "`uniqueness`", text))
    if kind == "population":
        fraction, word = split(after or "")
        estimator: Estimator = _word(word or "dankar", ESTIMATORS)
        return PopulationUniques(share(number, "`uniqueness`", text), share(fraction, "`uniqueness`", text), estimator)
    raise ArgumentError(f"`uniqueness` takes sample:SHARE or population:SHARE:FRACTION[:ESTIMATOR], not {shown(text)}.")


def parse_no_attack(text: str) -> Model:
    """Read GAIN:COST[:ATTACKER] as the requirement that no attack pays.

    Examples
    --------
    >>> parse_no_attack("300:4:journalist")
    NoAttack(gain=300.0, cost=4.0, attacker='journalist')
    """
    gain, rest = split(text)
    cost, word = split(rest or "")
    attacker: Attacker = _word(word or "prosecutor", ATTACKERS, "attacker")
    return NoAttack(positive(gain, "`no_attack`", text), positive(cost, "`no_attack`", text), attacker)


def parse_profitable(text: str) -> Model:
    """Read BENEFIT:LOSS:GAIN:COST[:ATTACKER] as the requirement that every class pays its publisher.

    Examples
    --------
    >>> parse_profitable("1200:300:300:4")
    Profitable(benefit=1200.0, loss=300.0, gain=300.0, cost=4.0, attacker='prosecutor')
    """
    game = game_of(text, "`profitable`")
    return Profitable(game.benefit, game.loss, game.gain, game.cost, game.attacker)


def _word(word: str, among: Sequence[Any], kind: str = "estimator") -> Any:
    """Return a word if it is in the list; otherwise refuse it."""
    if word not in among:
        raise ArgumentError.not_one_of(kind, word, among)
    return word


PARSERS: Mapping[str, Parser] = {
    "k": lambda value, _: KAnonymity(_count(value)),
    "km": parse_km,
    "p": parse_p,
    "l": parse_l,
    "t": parse_t,
    "alpha": parse_alpha,
    "beta": parse_beta,
    "delta": parse_delta,
    "k_map": lambda text, _: parse_k_map(text),
    "presence": lambda text, _: parse_presence(text),
    "average_risk": lambda value, _: AverageRisk(value),
    "uniqueness": lambda text, _: parse_uniqueness(text),
    "no_attack": lambda text, _: parse_no_attack(text),
    "profitable": lambda text, _: parse_profitable(text),
}
"""The readers of words that name several models, or that take more than a threshold and an attribute."""
