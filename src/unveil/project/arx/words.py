"""ARX's requirements, quality models and limits in the words of a project file, and notes on those without such words.

Nothing is left out silently: everything that cannot be translated is reported.
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
_ENDINGS = {"GEOMETRIC_MEAN": "-geometric", "MAXIMUM": "-max", "RANK": "-rank", "ARITHMETIC_MEAN": "", "SUM": ""}
_OBJECTIVES = {
    "Height": "height",
    "Non-monotonic precision": "precision-arx",
    "Monotonic precision": "precision",
    "Non-uniform entropy": "entropy-arx",
    "Non-monotonic non-uniform entropy": "entropy-arx",
    "Normalized non-uniform entropy": "entropy-normalized",
    "Average equivalence class size": "class-size",
    "Monotonic discernability (DM*)": "discernibility-monotone",
    "Non-monotonic discernability": "discernibility",
    "Ambiguity": "ambiguity",
    "EntropyBasedInformationLoss": "entropy-based",
    "KL-Divergence": "kl",
}
_MONOTONE = ("Monotonic precision", "Non-uniform entropy")
"""Quality models to which suppression adds nothing: a factor of 0."""
_FACTORED = (
    "Non-monotonic precision",
    "Non-monotonic non-uniform entropy",
    "Average equivalence class size",
    "EntropyBasedInformationLoss",
)
"""Quality models with a factor between generalisation and suppression, which is not in their names."""
_JOINING = ("loss", "height", "precision", "precision-arx", "entropy-arx", "entropy-normalized")
"""Objectives that combine the losses of the attributes, each with its weight."""
_EVEN = 0.5


@dataclass(slots=True, eq=False)
class Translated:
    """The requirements of a project of ARX.

    Attributes
    ----------
    models, of_population
        The requirements by name, and those among them that compare the selected records with all records.
    options
        Further settings of the generalisation.
    notes
        Notes on settings that have no counterpart here, or another meaning.
    ordered
        Columns whose order a requirement uses.
    """

    models: dict[str, Any] = field(default_factory=dict)
    of_population: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    ordered: set[str] = field(default_factory=set)

    @property
    def needs_population(self) -> bool:
        """Whether a requirement or the objective uses all records, not only the selected ones."""
        return bool(self.of_population) or str(self.options.get("objective")).endswith(":journalist")


def translated(archive: ArxArchive, records: int) -> Translated:
    """Return the requirements, quality model and limits of a project of ARX.

    Parameters
    ----------
    archive
        The project.
    records
        The number of records that it releases.
    """
    translation = Translated()
    for text in archive.criteria:
        _criterion(text, archive, records, translation)
    translation.ordered |= {one.split(":", 2)[2] for one in translation.models.get("t", ()) if one.split(":")[1] == "rank"}
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
    if archive.selected is not None and _in_population(text, translation):
        return
    if match := re.fullmatch(_GAME, text):
        _game_model(text, match, archive, translation)
        return
    for pattern, read in _CRITERIA:
        if (match := re.fullmatch(pattern, text)) is not None:
            note = read(translation.models, *match.groups())
            if note:
                translation.notes.append(f"{text}: {note}")
            return
    if match := re.fullmatch(rf"\({_N}\)-population-uniqueness \((\w+)\)", text):
        _population_uniqueness(text, match, archive, records, translation)
    elif match := re.fullmatch(r"\((\d+)\)-map estimated as \(unknown\)-anonymity \((.*)\)", text):
        _estimated_k_map(text, match, archive, records, translation)
    elif text != "Inclusion":
        translation.notes.append(f"{text}: there is no such requirement here, so it is left out.")


def _population_uniqueness(text: str, match: re.Match[str], archive: ArxArchive, records: int, translation: Translated) -> None:
    if archive.population is None:
        translation.notes.append(f"{text}: the size of the population could not be read, so it is left out.")
        return
    fraction = min(1.0, records / archive.population)
    _several(translation.models, "uniqueness", f"population:{_plain(match[1])}:{fraction:.12g}:{match[2]}")


def _estimated_k_map(text: str, match: re.Match[str], archive: ArxArchive, records: int, translation: Translated) -> None:
    if archive.population is None or archive.significance is None:
        translation.notes.append(f"{text}: the size of the population could not be read, so it is left out.")
        return
    truncated, fraction = "zero" in match[2].lower(), min(1.0, records / archive.population)
    estimator = "zero-truncated" if truncated else "poisson"
    translation.models["k_map"] = f"{match[1]}:{fraction:.12g}:{archive.significance:g}:{estimator}"
    if not truncated:
        translation.notes.append(f"{text}: ARX asks for classes of one record more.")


def _in_population(text: str, translation: Translated) -> bool:
    """Translate a requirement that compares the selected records with all of them; return whether it is one."""
    for pattern, word in _OF_POPULATION:
        if (match := re.fullmatch(pattern, text)) is not None:
            translation.of_population[word] = ":".join(_plain(amount) for amount in match.groups())
            return True
    return False


def _game_model(text: str, match: re.Match[str], archive: ArxArchive, translation: Translated) -> None:
    """Translate a requirement that weighs the gains and losses of publisher and attacker."""
    no_attack, attacker, *stated = match.groups()
    amounts = [_plain(amount) for amount in stated] if stated[0] is not None else _amounts(archive)
    if not amounts:
        translation.notes.append(f"{text}: its amounts could not be read, so it is left out.")
        return
    word = "no_attack" if no_attack else "profitable"
    figures = ":".join(amounts[2:] if no_attack else amounts)
    if attacker == "journalist" and archive.selected is not None:
        translation.of_population[word] = f"{figures}:journalist"
        return
    translation.models[word] = figures
    if attacker == "journalist":
        translation.notes.append(f"{text}: {_PROSECUTED}")


def _amounts(archive: ArxArchive) -> list[str]:
    return [f"{amount:g}" for amount in archive.game or ()]


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
    if derived is None:
        return "k-map is about a population, so it is left out; `k_map` as K:FRACTION estimates it from the share sampled."
    _least(models, derived)
    return f"taken as {derived}-anonymity, as ARX derived it."


def _presence(_models: dict[str, Any], low: str, high: str) -> str:
    return f"it is about a population, so it is left out; name its table by `population`, and `presence` {low}:{high}."


_PROSECUTED = "measured against a prosecutor, which requires no less; with its table as `population`, end it in :journalist."
"""The note for a project without a selection of records, which has no population."""
_GAME = rf"(no-attack-)?profitability \((\w+)\)(?:\[benefit={_N}, loss={_N}, gain={_N}, cost={_N}\])?"
_OF_POPULATION = ((r"\((\d+)\)-map", "k_map"), (rf"\({_N},{_N}\)-presence", "presence"))
_DISTANCES = {"equal ground-": "equal", "hierarchical ground-": "hierarchical", "ordered ": "rank"}
_CRITERIA: tuple[tuple[str, Callable[..., str | None]], ...] = (
    (r"(\d+)-anonymity", _least),
    (r"\((\d+)\)-map(?: estimated as \((\d+)\)-anonymity \(.*\))?", _estimated),
    (rf"\({_N},{_N}\)-presence", _presence),
    (rf"distinct-{_N}-diversity{_OF}", lambda m, n, x: _several(m, "l", f"distinct:{_plain(n)}:{x}")),
    (rf"(?:shannon-)?entropy-{_N}-diversity{_OF}", lambda m, n, x: _several(m, "l", f"entropy:{_plain(n)}:{x}")),
    (rf"grassberger-entropy-{_N}-diversity{_OF}", lambda m, n, x: _several(m, "l", f"grassberger:{_plain(n)}:{x}")),
    (rf"recursive-\({_N},{_N}\)-diversity{_OF}",
     lambda m, c, n, x: _several(m, "l", f"recursive:{_plain(c)}:{_plain(n)}:{x}")),
    (rf"{_N}-closeness with (equal ground-|hierarchical ground-|ordered )distance{_OF}",
     lambda m, t, d, x: _several(m, "t", f"{_plain(t)}:{_DISTANCES[d]}:{x}")),
    (rf"(basic|enhanced)-{_N}-likeness{_OF}", lambda m, kind, b, x: _several(m, "beta", f"{kind}:{_plain(b)}:{x}")),
    (rf"{_N}-disclosure privacy{_OF}", lambda m, d, x: _several(m, "delta", f"present:{_plain(d)}:{x}")),
    (rf"\({_N}(, .*)?\)-avg-reidentification-risk", _average),
    (rf"\({_N}\)-sample-uniqueness", lambda m, share: _several(m, "uniqueness", f"sample:{_plain(share)}")),
)  # fmt: skip
"""The form of each requirement in a .deid file, and its translation; a returned text is a note."""


def _objective(archive: ArxArchive, translation: Translated) -> None:
    plain, factor = _named(archive, translation)
    translation.options["objective"] = plain + (_ending(archive, translation) if plain in _JOINING else "")
    if factor != _EVEN:
        translation.options["factor"] = factor
    keys = [one.name for one in archive.columns if one.role == "QUASI_IDENTIFYING_ATTRIBUTE"]
    weights = {column: archive.weights.get(column, _EVEN) for column in keys}
    if plain in _JOINING and len(set(weights.values())) > 1:
        translation.options["weights"] = weights


def _ending(archive: ArxArchive, translation: Translated) -> str:
    """Return the ending of an objective that combines attributes."""
    if archive.metric not in _OBJECTIVES and not archive.metric.startswith("Loss ("):
        return ""
    ending = _ENDINGS.get(archive.joined or "")
    if ending is not None:
        return ending
    usual = "-geometric" if archive.metric.startswith("Loss") else ""
    mean = "geometric mean" if usual else "mean"
    translation.notes.append(f"How ARX joins the attributes' losses could not be read; their {mean} is used.")
    return usual


def _named(archive: ArxArchive, translation: Translated) -> tuple[str, float]:
    """Return the objective, and the factor between generalisation and suppression."""
    metric, factor = archive.metric, _EVEN if archive.factor is None else archive.factor
    if archive.factor is None and metric.startswith((*_FACTORED, "Classification accuracy", "PublisherBenefit (")):
        translation.notes.append("ARX's factor between generalisation and suppression could not be read; both count in full.")
    if match := re.fullmatch(rf"Loss \({_N}/{_N}/{_N}\)", metric):
        return "loss", float(match[1])
    if metric == "Classification accuracy":
        responses = [f"classification:{one.name}" for one in archive.columns if one.response]
        if responses:
            return "+".join(responses), factor
    if metric.startswith("PublisherBenefit (") and (game := _game(archive, translation)):
        return f"payoff:{game}", factor
    if metric in _OBJECTIVES:
        plain = "precision" if metric == "Non-monotonic precision" and factor >= _EVEN else _OBJECTIVES[metric]
        return plain, 0.0 if metric in _MONOTONE else factor if metric in _FACTORED else _EVEN
    translation.notes.append(f"Quality model {metric!r}: there is none like it here for these columns; loss is used instead.")
    return "loss", _EVEN


def _game(archive: ArxArchive, translation: Translated) -> str | None:
    """Return the gains and losses of publisher and attacker, from a requirement or from the settings."""
    stated = translation.of_population.get("profitable", translation.models.get("profitable"))
    game = str(stated).removesuffix(":journalist") if stated else ":".join(_amounts(archive))
    if not game or "Journalist" not in archive.metric:
        return game or None
    if archive.selected is not None:
        return f"{game}:journalist"
    translation.notes.append(f"{archive.metric}: {_PROSECUTED}")
    return game


def _levels(archive: ArxArchive) -> Iterator[tuple[str, list[int]]]:
    for one in archive.columns:
        hierarchy = archive.hierarchies.get(one.name)
        if hierarchy is not None and (one.lowest is not None or one.highest is not None):
            yield one.name, [one.lowest or 0, hierarchy.height if one.highest is None else min(one.highest, hierarchy.height)]
