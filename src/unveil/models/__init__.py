"""Thresholds on measures: k-anonymity, l-diversity, t-closeness and related models, each a small frozen object."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unveil.doors import lazily
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

if TYPE_CHECKING:
    from unveil.models.base import TOLERANCE, Place
    from unveil.models.closeness import Scale
    from unveil.models.measure import Measurement, MeasureOptions, measured_study
    from unveil.models.measurement_view import view_of
    from unveil.models.persons import in_persons
    from unveil.models.population import Population
    from unveil.models.profitability import Game, game_of
    from unveil.models.registry import figure_models, judged_by_rules, rule_model
    from unveil.models.requirements import (
        Requirements,
        completed,
        measured_models_each,
        parse_models,
        planned_models,
        published,
        require_thresholds,
        sensitive_groups,
        sensitive_of,
    )
    from unveil.models.uniqueness import SizesModel
else:
    __getattr__ = lazily(
        __name__,
        {
            "base": ("Place", "TOLERANCE"),
            "closeness": ("Scale",),
            "measure": ("MeasureOptions", "Measurement", "measured_study"),
            "measurement_view": ("view_of",),
            "persons": ("in_persons",),
            "population": ("Population",),
            "profitability": ("Game", "game_of"),
            "registry": ("figure_models", "judged_by_rules", "rule_model"),
            "requirements": (
                "Requirements",
                "completed",
                "measured_models_each",
                "parse_models",
                "planned_models",
                "published",
                "require_thresholds",
                "sensitive_groups",
                "sensitive_of",
            ),
            "uniqueness": ("SizesModel",),
        },
    )
