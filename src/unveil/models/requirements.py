"""Requirements as they are written on a command line or in a project file: numbers and words, separated by colons.

    --k 5    --l entropy:3:disease    --l recursive:4:3:disease    --t 0.2:hierarchical:disease    --alpha 0.5

The attribute may be left out if there is only one sensitive attribute; a name may itself contain colons, because it comes last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any

from unveil.errors import ArgumentError, listed, shown
from unveil.models.base import Model
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
from unveil.models.closeness import DISTANCES, Distance, TCloseness
from unveil.models.derived import CELL_ESTIMATORS, CellEstimator, EstimatedKMap, NoAttack
from unveil.models.grassberger import GrassbergerLDiversity
from unveil.models.population import ATTACKERS, Attacker, AverageRisk, DeltaPresence, KMap
from unveil.models.present_disclosure import PresentDeltaDisclosure
from unveil.models.profitability import Profitable, game_of
from unveil.models.sets import KmAnonymity
from unveil.models.uniqueness import ESTIMATORS, Estimator, PopulationUniques, SampleUniques

__all__ = [
    "MODEL_WORDS",
    "parse_alpha",
    "parse_beta",
    "parse_delta",
    "parse_k_map",
    "parse_km",
    "parse_l",
    "parse_models",
    "parse_no_attack",
    "parse_p",
    "parse_presence",
    "parse_profitable",
    "parse_t",
    "parse_uniqueness",
]  # fmt: skip


MODEL_WORDS = (
    "k", "km", "p", "l", "t", "alpha", "beta", "delta", "k_map", "presence", "average_risk", "uniqueness", "no_attack",
    "profitable",
)  # fmt: skip
"""The words that name a requirement, in a project file and, with dashes, on a command line."""


def parse_models(figures: MutableMapping[str, Any], sensitive: Sequence[str]) -> list[Model]:
    """Take the requirements out of a mapping from the words that name them to their figures.

    Examples
    --------
    >>> parse_models({"k": 5, "l": ["distinct:3:disease"]}, ["disease"])
    [KAnonymity(k=5), DistinctLDiversity(attribute='disease', l=3)]
    """
    several: Mapping[str, Callable[[str, Sequence[str]], Model]] = {
        "km": parse_km, "p": parse_p, "l": parse_l, "t": parse_t, "alpha": parse_alpha, "beta": parse_beta,
        "delta": parse_delta,
        "uniqueness": lambda text, _: parse_uniqueness(text),
    }  # fmt: skip
    single: Mapping[str, Callable[[Any], Model]] = {
        "k": lambda value: KAnonymity(_count(value)), "k_map": lambda value: parse_k_map(str(value)),
        "presence": lambda value: parse_presence(str(value)), "average_risk": AverageRisk,
        "no_attack": lambda value: parse_no_attack(str(value)), "profitable": lambda value: parse_profitable(str(value)),
    }  # fmt: skip
    models: list[Model] = []
    for word in MODEL_WORDS:
        value = figures.pop(word, None)
        if value is None:
            continue
        if word in several:
            texts = value if isinstance(value, list | tuple) else [value]
            models += [several[word](str(text), sensitive) for text in texts]
        else:
            models.append(single[word](value))
    return models


def _count(value: Any) -> Any:
    """Return a count as an integer, even if a file holds it as a decimal number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def parse_km(text: str, sensitive: Sequence[str]) -> Model:  # noqa: ARG001 - its attribute is one of the key
    """Read K:M:ATTRIBUTE as k^m-anonymity of a column of sets.

    Examples
    --------
    >>> parse_km("5:2:cart", [])
    KmAnonymity(attribute='cart', k=5, m=2, separator=';')
    """
    number, rest = _split(text)
    most, attribute = _split(rest or "")
    if not attribute:
        raise ArgumentError(f"`km` takes K:M:COLUMN, such as 5:2:items, not {shown(text)}.")
    return KmAnonymity(attribute, _whole(number, "`km`", text), _whole(most, "`km`", text))


def parse_p(text: str, sensitive: Sequence[str]) -> Model:
    """Read P[:ATTRIBUTE] as p-sensitivity."""
    number, rest = _split(text)
    return PSensitiveKAnonymity(_attribute(rest, sensitive, text), _whole(number, "`p`", text))


def parse_l(text: str, sensitive: Sequence[str]) -> Model:
    """Read distinct:L, entropy:L, grassberger:L or recursive:C:L, each with [:ATTRIBUTE], as l-diversity.

    Examples
    --------
    >>> parse_l("recursive:4:3:disease", ["disease"])
    RecursiveLDiversity(attribute='disease', l=3, c=4.0)
    """
    kind, rest = _split(text)
    number, after = _split(rest or "")
    if kind == "distinct":
        return DistinctLDiversity(_attribute(after, sensitive, text), _whole(number, "`l`", text))
    if kind in ("entropy", "grassberger"):
        model = EntropyLDiversity if kind == "entropy" else GrassbergerLDiversity
        return model(_attribute(after, sensitive, text), _positive(number, "`l`", text))
    if kind == "recursive":
        length, last = _split(after or "")
        c, l = _positive(number, "`l`", text), _whole(length, "`l`", text)  # noqa: E741 - the model's own letters
        return RecursiveLDiversity(_attribute(last, sensitive, text), l, c)
    raise ArgumentError(f"`l` takes distinct:L, entropy:L, grassberger:L or recursive:C:L, then :ATTRIBUTE, not {shown(text)}.")


def parse_t(text: str, sensitive: Sequence[str]) -> Model:
    """Read T[:DISTANCE][:ATTRIBUTE] as t-closeness; the distance is equal unless stated otherwise."""
    number, rest = _split(text)
    distance: Distance = "equal"
    word, after = _split(rest or "")
    for known in DISTANCES:
        if word == known:
            distance, rest = known, after
    if rest and rest not in (*sensitive, " + ".join(sensitive)):
        raise ArgumentError.not_one_of("distance or sensitive attribute", rest, (*DISTANCES, *sensitive))
    return TCloseness(_attribute(rest, sensitive, text), _share(number, "`t`", text, above=distance == "kl"), distance)


def parse_alpha(text: str, sensitive: Sequence[str]) -> Model:
    """Read ALPHA[:ATTRIBUTE] as the highest share of a value in a class."""
    number, rest = _split(text)
    return AlphaK(_attribute(rest, sensitive, text), _share(number, "`alpha`", text))


def parse_beta(text: str, sensitive: Sequence[str]) -> Model:
    """Read [basic:|enhanced:]BETA[:ATTRIBUTE] as beta-likeness; basic unless stated otherwise."""
    kinds: dict[str, Callable[[str, float], Model]] = {"basic": BasicBetaLikeness, "enhanced": EnhancedBetaLikeness}
    kind, rest = _split(text)
    model = kinds.get(kind)
    number, after = _split(rest or "") if model is not None else (kind, rest)
    return (model or BasicBetaLikeness)(_attribute(after, sensitive, text), _positive(number, "`beta`", text))


def parse_delta(text: str, sensitive: Sequence[str]) -> Model:
    """Read [present:]DELTA[:ATTRIBUTE] as delta-disclosure: of all values, or, in bits, of those that a class holds.

    Examples
    --------
    >>> parse_delta("present:1.5", ["disease"])
    PresentDeltaDisclosure(attribute='disease', delta=1.5)
    """
    kind, rest = _split(text)
    if kind != "present":
        return DeltaDisclosure(_attribute(rest, sensitive, text), _positive(kind, "`delta`", text))
    number, after = _split(rest or "")
    return PresentDeltaDisclosure(_attribute(after, sensitive, text), _positive(number, "`delta`", text))


def parse_presence(text: str) -> DeltaPresence:
    """Read LOW:HIGH as delta-presence."""
    low, high = _split(text)
    return DeltaPresence(_share(low, "`presence`", text), _share(high or "", "`presence`", text))


def parse_k_map(text: str) -> Model:
    """Read K as k-map against a population, K:FRACTION[:SIGNIFICANCE[:ESTIMATOR]] as k-map by an estimator.

    Examples
    --------
    >>> parse_k_map("5"), parse_k_map("5:0.1:0.05:zero-truncated")
    (KMap(k=5), EstimatedKMap(k=5, sampling_fraction=0.1, significance=0.05, estimator='zero-truncated'))
    """
    k, rest = _split(text)
    if rest is None:
        return KMap(_whole(k, "`k_map`", text))
    fraction, after = _split(rest)
    significance, word = _split(after or "0.01")
    estimator: CellEstimator = _word(word or "poisson", CELL_ESTIMATORS)
    return EstimatedKMap(
        _whole(k, "`k_map`", text), _share(fraction, "`k_map`", text), _share(significance, "`k_map`", text), estimator
    )


def parse_uniqueness(text: str) -> Model:
    """Read sample:SHARE, or population:SHARE:FRACTION[:ESTIMATOR], as a bound on the records that are alone.

    Examples
    --------
    >>> parse_uniqueness("population:0.01:0.05")
    PopulationUniques(highest=0.01, sampling_fraction=0.05, estimator='dankar')
    """
    kind, rest = _split(text)
    number, after = _split(rest or "")
    if kind == "sample" and after is None:
        return SampleUniques(_share(number, "`uniqueness`", text))
    if kind == "population":
        fraction, word = _split(after or "")
        estimator: Estimator = _word(word or "dankar", ESTIMATORS)
        return PopulationUniques(_share(number, "`uniqueness`", text), _share(fraction, "`uniqueness`", text), estimator)
    raise ArgumentError(f"`uniqueness` takes sample:SHARE or population:SHARE:FRACTION[:ESTIMATOR], not {shown(text)}.")


def parse_no_attack(text: str) -> Model:
    """Read GAIN:COST[:ATTACKER] as the requirement that no attack pays.

    Examples
    --------
    >>> parse_no_attack("300:4:journalist")
    NoAttack(gain=300.0, cost=4.0, attacker='journalist')
    """
    gain, rest = _split(text)
    cost, word = _split(rest or "")
    attacker: Attacker = _word(word or "prosecutor", ATTACKERS, "attacker")
    return NoAttack(_positive(gain, "`no_attack`", text), _positive(cost, "`no_attack`", text), attacker)


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
    """Return a word if it is in the list; refuse it if not."""
    if word not in among:
        raise ArgumentError.not_one_of(kind, word, among)
    return word


def _split(text: str) -> tuple[str, str | None]:
    """Return what comes before the first colon and what follows it; None if there is no colon."""
    first, colon, rest = text.partition(":")
    return first.strip(), rest if colon else None


def _attribute(name: str | None, sensitive: Sequence[str], text: str) -> str:
    if name is None or not name.strip():
        if len(sensitive) == 1:
            return sensitive[0]
        raise ArgumentError(
            f"{shown(text)} does not name its sensitive attribute; sensitive attributes are: {listed(sensitive) or 'none'}."
        )
    joint = " + ".join(sensitive)
    if name not in sensitive and name != joint:
        raise ArgumentError.not_one_of("sensitive attribute", name, sensitive)
    return name


def _number(number: str, option: str, text: str) -> float:
    if not number:
        raise ArgumentError(f"{option} {shown(text)}: a number is missing.")
    try:
        return float(number)
    except ValueError:
        raise ArgumentError(f"{option} {shown(text)}: {shown(number)} is not a number.") from None


def _positive(number: str, option: str, text: str) -> float:
    value = _number(number, option, text)
    if not value > 0:
        raise ArgumentError(f"{option} {shown(text)}: the number must be above 0.")
    return value


def _share(number: str, option: str, text: str, *, above: bool = False) -> float:
    value = _number(number, option, text)
    if not (0 <= value <= 1 or (above and value > 1)):
        raise ArgumentError(f"{option} {shown(text)}: the number must lie between 0 and 1.")
    return value


def _whole(number: str, option: str, text: str) -> int:
    value = _number(number, option, text)
    if value < 1 or not value.is_integer():
        raise ArgumentError(f"{option} {shown(text)}: the number must be whole, and at least 1.")
    return int(value)
