"""Which models are asked of a table, and what does each say of it? Their places in an answer, and the answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from unveil.errors import ArgumentError
from unveil.measures.equivalence import Equivalence
from unveil.models.base import Measured, Model, SecretModel
from unveil.models.classes import RecursiveLDiversity, TCloseness
from unveil.models.orders import Scale
from unveil.models.population import DeltaPresence, KMap, Population
from unveil.results.masking import masked_class

__all__ = ["AnyModel", "Place", "completed", "measured_models", "nested", "place_of", "published"]

AnyModel: TypeAlias = Model | KMap | DeltaPresence
Place: TypeAlias = tuple[str, ...]
"""Where a model stands in an answer: its name, its sensitive attribute, and its distance or l where there are several."""


def completed(asked: Sequence[AnyModel], scales: Mapping[str, Scale]) -> dict[Place, AnyModel]:
    """Return the requirements by their place, each once; t-closeness is told how the values of its attribute lie."""
    found: dict[Place, AnyModel] = {}
    for model in asked:
        place = place_of(model)
        if place in found:
            raise ArgumentError(f"{' of '.join(place[:2])} is required twice; name it once, with the stricter figure.")
        found[place] = model
        if isinstance(model, TCloseness) and model.scale is None and model.attribute in scales:
            found[place] = TCloseness(model.attribute, model.t, model.distance, scales[model.attribute])
    return found


def measured_models(
    models: Mapping[Place, AnyModel], classes: Equivalence, population: Population | None
) -> dict[Place, Measured]:
    """Return what each model says of a table."""
    return {place: _measured(model, classes, population) for place, model in models.items()}


def _measured(model: AnyModel, classes: Equivalence, population: Population | None) -> Measured:
    if isinstance(model, Model):
        return model.measure(classes)
    if population is None:
        raise ArgumentError(f"{model.name} compares the table with its population; give the population's table.")
    return model.measure(classes, population) if isinstance(model, KMap) else model.measure(population)


def place_of(model: AnyModel) -> tuple[str, ...]:
    """Return where a model stands in the answer."""
    if isinstance(model, TCloseness):
        return (model.name, model.attribute, model.distance)
    if isinstance(model, RecursiveLDiversity):
        return (model.name, model.attribute, str(model.l))
    return (model.name, model.attribute) if isinstance(model, SecretModel) else (model.name,)


def published(models: Mapping[Place, Measured], *, original: bool = False) -> dict[str, Any]:
    """Return the answers as `nested` does, fit to be shown: a class of the `original` records not at all, another one as masked.

    Parameters
    ----------
    models
        What each model says.
    original
        Whether it says so of the data that is protected, whose values nobody is to see.
    """
    return nested(
        {place: replace(one, worst_class=None if original else masked_class(one.worst_class)) for place, one in models.items()}
    )


def nested(models: Mapping[Place, Measured]) -> dict[str, Any]:
    """Return the answers as they are written to JSON, one level for each part of their place."""
    found: dict[str, Any] = {}
    for place, measured in models.items():
        level = found
        for name in place[:-1]:
            level = level.setdefault(name, {})
        level[place[-1]] = measured.to_dict()
    return found
