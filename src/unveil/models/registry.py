"""Every privacy model. A new one is a subclass of `Model` or `SensitiveModel` in a file of its own, and a line here.

The order is that of an answer: first what is said about the key alone, then what is said about each sensitive attribute.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

from unveil.arguments import checked_arguments
from unveil.errors import ArgumentError
from unveil.fitting import kind_of
from unveil.measures.equivalence import Equivalence
from unveil.models.base import Model, SensitiveModel
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
from unveil.models.closeness import TCloseness
from unveil.models.derived import EstimatedKMap, NoAttack
from unveil.models.grassberger import GrassbergerLDiversity
from unveil.models.orders import Scale
from unveil.models.population import AverageRisk, DeltaPresence, KMap
from unveil.models.present_disclosure import PresentDeltaDisclosure
from unveil.models.profitability import Profitable
from unveil.models.sets import KmAnonymity
from unveil.models.uniqueness import PopulationUniques, SampleUniques

__all__ = ["MODELS", "label_of", "measures", "register"]

_Kind = TypeVar("_Kind", bound=type[Model])

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
    """Add a model of your own, as a decorator of its class: `unveil.measure` then reports it for every table."""
    candidate: object = kind
    if not isinstance(candidate, type) or not issubclass(candidate, Model):
        raise ArgumentError(f"a model is a class that derives from Model, not {kind_of(kind)}.")
    MODELS.append(kind)
    return kind


def measures(classes: Equivalence, scales: Mapping[str, Scale], *, population: bool) -> Iterator[Model]:
    """Yield every measure that a table has; those that compare with a population only if there is one."""
    about_sensitive = [kind for kind in MODELS if issubclass(kind, SensitiveModel)]
    for kind in MODELS:
        if not issubclass(kind, SensitiveModel):
            yield from (one for one in kind.measures() if population or not one.needs_population)
    for name, spread in classes.spreads.items():
        for kind in about_sensitive:
            yield from kind.measures_of(name, spread, scales.get(name))


def label_of(name: str) -> str:
    """Return a model's name in words."""
    return next((kind.label for kind in MODELS if kind.name == name and kind.label), name)
