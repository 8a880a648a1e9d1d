"""Thresholds on measures: k-anonymity, l-diversity, t-closeness and related models, each a small frozen object."""

from __future__ import annotations

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
from unveil.models.closeness import TCloseness
from unveil.models.derived_k import EstimatedKMap, NoAttack
from unveil.models.grassberger import GrassbergerLDiversity
from unveil.models.population import AverageRisk, DeltaPresence, KMap
from unveil.models.present_disclosure import PresentDeltaDisclosure
from unveil.models.profitability import Profitable
from unveil.models.registry import register
from unveil.models.sets import KmAnonymity
from unveil.models.uniqueness import PopulationUniques, SampleUniques

__all__ = [
    "AlphaK",
    "AverageRisk",
    "BasicBetaLikeness",
    "DeltaDisclosure",
    "DeltaPresence",
    "DistinctLDiversity",
    "EnhancedBetaLikeness",
    "EntropyLDiversity",
    "EstimatedKMap",
    "GrassbergerLDiversity",
    "KAnonymity",
    "KMap",
    "KmAnonymity",
    "Measured",
    "Model",
    "NoAttack",
    "PSensitiveKAnonymity",
    "PopulationUniques",
    "PresentDeltaDisclosure",
    "Profitable",
    "RecursiveLDiversity",
    "SampleUniques",
    "SensitiveModel",
    "TCloseness",
    "register",
]

OPEN_MODULES = (
    "base",
    "closeness",
    "measure",
    "measurement_view",
    "persons",
    "population",
    "profitability",
    "registry",
    "requirements",
    "uniqueness",
)
"""Modules of this room that other rooms may import from; all others are private to it."""
