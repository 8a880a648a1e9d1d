"""Thresholds on measures: k-anonymity, l-diversity, t-closeness and their kin, each a small frozen object."""

from __future__ import annotations

from unveil.models.base import Measured, Model
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
    TCloseness,
)
from unveil.models.population import AverageRisk, DeltaPresence, KMap

__all__ = [
    "AlphaK",
    "AverageRisk",
    "BasicBetaLikeness",
    "DeltaDisclosure",
    "DeltaPresence",
    "DistinctLDiversity",
    "EnhancedBetaLikeness",
    "EntropyLDiversity",
    "KAnonymity",
    "KMap",
    "Measured",
    "Model",
    "PSensitiveKAnonymity",
    "RecursiveLDiversity",
    "TCloseness",
]
