"""The models that are required of a table, their places in an answer, and their figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from unveil.errors import ArgumentError
from unveil.measures.equivalence import Equivalence
from unveil.models.base import Measured, Model, Place
from unveil.models.orders import Scale
from unveil.models.population import Population
from unveil.results.masking import masked_class

__all__ = ["completed", "measured_models", "nested", "published"]


def completed(models: Sequence[Model], scales: Mapping[str, Scale]) -> dict[Place, Model]:
    """Return the requirements by their place, each once, with what they must know about how values relate to each other."""
    by_place: dict[Place, Model] = {}
    for model in models:
        if model.place in by_place:
            raise ArgumentError(f"{' of '.join(model.place[:2])} is required twice; name it once, with the stricter figure.")
        by_place[model.place] = model.with_scale(scales)
    return by_place


def measured_models(models: Mapping[Place, Model], classes: Equivalence, population: Population | None) -> dict[Place, Measured]:
    """Return the figure of each model for a table; the classes that decide are described together."""
    measured: dict[Place, Measured] = {}
    worst: dict[Place, int] = {}
    for place, model in models.items():
        if type(model).measure is Model.measure:
            measured[place], worst[place] = model.judge(classes)
        else:  # not by its classes alone
            measured[place] = model.measure(classes, population)
    for place, shown in zip(worst, classes.described(list(worst.values())), strict=True):
        measured[place] = replace(measured[place], worst_class=shown)
    return measured


def published(models: Mapping[Place, Measured], *, original: bool = False) -> dict[str, Any]:
    """Return the answers as `nested` does, fit to be shown: no classes of the `original` records, and others masked.

    Parameters
    ----------
    models
        What each model says.
    original
        Whether the answers are about the data to be protected, whose values nobody may see.
    """
    return nested(
        {place: replace(one, worst_class=None if original else masked_class(one.worst_class)) for place, one in models.items()}
    )


def nested(models: Mapping[Place, Measured]) -> dict[str, Any]:
    """Return the answers as they are written to JSON, one level for each part of their place."""
    tables: dict[str, Any] = {}
    for place, measured in models.items():
        level = tables
        for name in place[:-1]:
            level = level.setdefault(name, {})
        level[place[-1]] = measured.to_dict()
    return tables
