"""ARX's requirements, quality models and limits in the words of a project file, and what has no such words.

Nothing is left out silently: whatever cannot be translated is reported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from unveil.project.arx.archive import ArxArchive

__all__ = ["Translated", "translated"]

_N = r"([0-9.eE+-]+)"
_OF = r" for attribute '(.*)'"
_JOINED = {
    "GEOMETRIC_MEAN": "loss-geometric", "MAXIMUM": "loss-max", "RANK": "loss-rank", "ARITHMETIC_MEAN": "loss", "SUM": "loss",
}  # fmt: skip
_OBJECTIVES = {
    "Height": "height",
    "Non-monotonic precision": "precision",
    "Monotonic precision": "precision",
    "Non-uniform entropy": "entropy",
    "Non-monotonic non-uniform entropy": "entropy-arx",
    "Normalized non-uniform entropy": "entropy-arx",
    "Average equivalence class size": "class-size",
    "Monotonic discernability (DM*)": "discernibility-monotone",
    "Non-monotonic discernability": "discernibility",
    "Ambiguity": "ambiguity",
    "EntropyBasedInformationLoss": "entropy-based",
    "KL-Divergence": "kl",
}
_MONOTONE = ("Monotonic precision", "Non-uniform entropy")
"""Suppression adds nothing to them: a factor of 0."""
_WEIGHTED = ("loss", "loss-geometric", "loss-max", "loss-rank", "precision", "entropy")


@dataclass(slots=True, eq=False)
class Translated:
    """What a project of ARX asks for.

    Attributes
    ----------
    models
        The requirements by their words.
    options
        Further settings of the generalisation.
    notes
        What has no words here, or means something else.
    """

    models: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def translated(archive: ArxArchive, records: int) -> Translated:
    """Return the requirements, quality model and limits of a project of ARX.

    Parameters
    ----------
    archive
        The project.
    records
        How many records it releases.
    """
    translation = Translated()
    for text in archive.criteria:
        _criterion(text, archive, records, translation)
    translation.options["suppression"] = min(1.0, max(0.0, archive.suppression))
    _objective(archive, translation)
    levels = dict(_levels(archive))
    if levels:
        translation.options["levels"] = levels
    for one in archive.columns:
        if one.microaggregated:
            translation.notes.append(
                f"ARX may replace {one.name} by an aggregate ({one.microaggregated}) within each class; here it is generalised."
            )
    return translation


def _criterion(text: str, archive: ArxArchive, records: int, translation: Translated) -> None:
    for pattern, read in _CRITERIA:
        if (match := re.fullmatch(pattern, text)) is not None:
            note = read(translation.models, *match.groups())
            if note:
                translation.notes.append(f"{text}: {note}")
            return
    if match := re.fullmatch(rf"\({_N}\)-population-uniqueness \((\w+)\)", text):
        _population_uniqueness(text, match, archive, records, translation)
    elif text != "Inclusion":
        translation.notes.append(f"{text}: there is no such requirement here, so it is left out.")


def _population_uniqueness(text: str, match: re.Match[str], archive: ArxArchive, records: int, translation: Translated) -> None:
    if archive.population is None:
        translation.notes.append(f"{text}: the size of the population could not be read, so it is left out.")
        return
    fraction = min(1.0, records / archive.population)
    _several(translation.models, "uniqueness", f"population:{_plain(match[1])}:{fraction:.6g}:{match[2]}")


def _plain(number: str) -> str:
    value = float(number)
    return f"{value:g}"


def _several(models: dict[str, Any], word: str, text: str) -> None:
    models.setdefault(word, []).append(text)


def _least(models: dict[str, Any], k: str) -> None:
    models["k"] = max(int(k), int(models.get("k", 1)))


def _average(models: dict[str, Any], risk: str, more: str | None) -> str | None:
    models["average_risk"] = float(risk)
    return None if more is None else "the bound on the highest risk beside the average is left out."


def _estimated(models: dict[str, Any], _k: str, derived: str | None) -> str | None:
    if derived is None or not derived.isdecimal():
        return "k-map is about a population, so it is left out; `k_map` as K:FRACTION estimates it from the share sampled."
    _least(models, derived)
    return f"taken as {derived}-anonymity, as ARX derived it."


def _presence(_models: dict[str, Any], low: str, high: str) -> str:
    return f"it is about a population, so it is left out; name its table by `population`, and `presence` {low}:{high}."


def _no_attack(models: dict[str, Any], attacker: str, gain: str, cost: str) -> str | None:
    models["no_attack"] = f"{_plain(gain)}:{_plain(cost)}"
    return _prosecuted(attacker)


def _profitable(models: dict[str, Any], attacker: str, *amounts: str) -> str | None:
    models["profitable"] = ":".join(_plain(amount) for amount in amounts)
    return _prosecuted(attacker)


def _prosecuted(attacker: str) -> str | None:
    """Say that the stricter prosecutor takes the place of a journalist, because a project file has no population."""
    if attacker == "prosecutor":
        return None
    return "measured against a prosecutor, which requires no less; with its table as `population`, end it in :journalist."


_DISTANCES = {"equal ground-": "equal", "hierarchical ground-": "hierarchical", "ordered ": "rank"}
_CRITERIA: tuple[tuple[str, Callable[..., str | None]], ...] = (
    (r"(\d+)-anonymity", _least),
    (r"\((\d+)\)-map(?: estimated as \((\w+)\)-anonymity \(.*\))?", _estimated),
    (rf"\({_N},{_N}\)-presence", _presence),
    (rf"distinct-{_N}-diversity{_OF}", lambda m, n, x: _several(m, "l", f"distinct:{_plain(n)}:{x}")),
    (rf"(?:shannon-)?entropy-{_N}-diversity{_OF}", lambda m, n, x: _several(m, "l", f"entropy:{_plain(n)}:{x}")),
    (rf"grassberger-entropy-{_N}-diversity{_OF}", lambda m, n, x: _several(m, "l", f"grassberger:{_plain(n)}:{x}")),
    (rf"recursive-\({_N},{_N}\)-diversity{_OF}",
     lambda m, c, n, x: _several(m, "l", f"recursive:{_plain(c)}:{_plain(n)}:{x}")),
    (rf"{_N}-closeness with (equal ground-|hierarchical ground-|ordered )distance{_OF}",
     lambda m, t, d, x: _several(m, "t", f"{_plain(t)}:{_DISTANCES[d]}:{x}")),
    (rf"(basic|enhanced)-{_N}-likeness{_OF}", lambda m, kind, b, x: _several(m, "beta", f"{kind}:{_plain(b)}:{x}")),
    (rf"{_N}-disclosure privacy{_OF}", lambda m, d, x: _several(m, "delta", f"{_plain(d)}:{x}")),
    (rf"\({_N}(, .*)?\)-avg-reidentification-risk", _average),
    (rf"\({_N}\)-sample-uniqueness", lambda m, share: _several(m, "uniqueness", f"sample:{_plain(share)}")),
    (rf"profitability \((\w+)\)\[benefit={_N}, loss={_N}, gain={_N}, cost={_N}\]", _profitable),
    (rf"no-attack-profitability \((\w+)\)\[benefit=.*, gain={_N}, cost={_N}\]", _no_attack),
)  # fmt: skip
"""How each requirement is written in a .deid file, and what it becomes; a text that is returned is a note."""


def _objective(archive: ArxArchive, translation: Translated) -> None:
    name, factor = _named(archive, translation)
    translation.options["objective"] = name
    if factor != 0.5:  # noqa: PLR2004 - both count in full
        translation.options["factor"] = factor
    keys = {one.name for one in archive.columns if one.role == "QUASI_IDENTIFYING_ATTRIBUTE"}
    weights = {column: weight for column, weight in archive.weights.items() if column in keys}
    if name in _WEIGHTED and len(weights) == len(keys) and len(set(weights.values())) > 1:
        translation.options["weights"] = weights


def _named(archive: ArxArchive, translation: Translated) -> tuple[str, float]:
    """Return the objective, and the factor between generalisation and suppression."""
    if match := re.fullmatch(rf"Loss \({_N}/{_N}/{_N}\)", archive.metric):
        if archive.joined not in _JOINED:
            translation.notes.append("How ARX joins the attributes' losses could not be read; their geometric mean is used.")
        return _JOINED.get(archive.joined or "", "loss-geometric"), float(match[1])
    if archive.metric == "Classification accuracy":
        responses = [one.name for one in archive.columns if one.response]
        if len(responses) == 1:
            return f"classification:{responses[0]}", 0.5
    if archive.metric.startswith("PublisherBenefit (") and "profitable" in translation.models:
        return f"payoff:{translation.models['profitable']}", 0.5
    if archive.metric in _OBJECTIVES:
        return _OBJECTIVES[archive.metric], 0.0 if archive.metric in _MONOTONE else 0.5
    translation.notes.append(
        f"Quality model {archive.metric!r}: there is none like it here for these columns; loss is used instead."
    )
    return "loss", 0.5


def _levels(archive: ArxArchive) -> Iterator[tuple[str, list[int]]]:
    for one in archive.columns:
        hierarchy = archive.hierarchies.get(one.name)
        if hierarchy is not None and (one.lowest is not None or one.highest is not None):
            yield one.name, [one.lowest or 0, hierarchy.height if one.highest is None else min(one.highest, hierarchy.height)]
