"""The required models of a table, their places in an answer, and their figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from unveil.errors import ArgumentError
from unveil.measures.equivalence import Equivalence
from unveil.models.base import Measured, Model, Place
from unveil.models.closeness import Scale
from unveil.models.population import Population
from unveil.results.masking import masked_class

if TYPE_CHECKING:
    from unveil.models.population import DeltaPresence
    from unveil.models.profitability import Profitable
    from unveil.models.uniqueness import SizesModel

__all__ = [
    "Requirements",
    "completed",
    "measured_models",
    "measured_models_each",
    "nested",
    "published",
    "require_thresholds",
    "sensitive_groups",
    "sensitive_of",
]


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
