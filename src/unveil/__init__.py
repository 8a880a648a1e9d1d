"""See what a table of personal data gives away before you publish it.

The public names are loaded when they are first used, so `import unveil` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unveil import attacks as attacks
    from unveil import mechanisms as mechanisms
    from unveil import models as models
    from unveil import queries as queries
    from unveil import stream as stream
    from unveil import tables as tables
    from unveil.assess import Assessment as Assessment
    from unveil.assess import Comparison as Comparison
    from unveil.assess import Composition as Composition
    from unveil.assess import TradeOff as TradeOff
    from unveil.assess import Verdict as Verdict
    from unveil.assess import Waiver as Waiver
    from unveil.assess import assess as assess
    from unveil.assess import check as check
    from unveil.assess import compare as compare
    from unveil.assess import compose as compose
    from unveil.assess import import_arx as import_arx
    from unveil.assess import start_project as start_project
    from unveil.assess import trade_off as trade_off
    from unveil.attacks import Attack as Attack
    from unveil.attacks import ComparablePartitions as ComparablePartitions
    from unveil.attacks import propose_partitions as propose_partitions
    from unveil.attacks.attack import attack as attack
    from unveil.counts import Counts as Counts
    from unveil.errors import UnveilError as UnveilError
    from unveil.identifiers import direct_identifiers as direct_identifiers
    from unveil.measures import DiscriminationRate as DiscriminationRate
    from unveil.measures import Scan as Scan
    from unveil.measures import approximate_rate as approximate_rate
    from unveil.measures import discrimination_rate as discrimination_rate
    from unveil.measures.scan import scan as scan
    from unveil.models import Measurement as Measurement
    from unveil.models.measure import measure as measure
    from unveil.partitions import Hierarchy as Hierarchy
    from unveil.partitions import Partition as Partition
    from unveil.processes import run_in_process as run_in_process
    from unveil.project import Need as Need
    from unveil.project import Project as Project
    from unveil.project import Step as Step
    from unveil.project import arx_rule as arx_rule
    from unveil.protect import Front as Front
    from unveil.protect import anonymize_front as anonymize_front
    from unveil.protect import protect as protect
    from unveil.protect.anonymize import anonymize as anonymize
    from unveil.queries import Gate as Gate
    from unveil.releases import Protection as Protection
    from unveil.releases import Release as Release
    from unveil.releases import Signature as Signature
    from unveil.releases import sign as sign
    from unveil.releases import verify as verify
    from unveil.run import Limits as Limits
    from unveil.run import Run as Run
    from unveil.search import HierarchyReport as HierarchyReport
    from unveil.search import Recoding as Recoding
    from unveil.search import build_hierarchy as build_hierarchy
    from unveil.search import check_hierarchy as check_hierarchy
    from unveil.search import generalize_subtrees as generalize_subtrees
    from unveil.search import mondrian as mondrian
    from unveil.search import propose_hierarchy as propose_hierarchy
    from unveil.search import recode_locally as recode_locally
    from unveil.search import suppress_locally as suppress_locally
    from unveil.sources import datasets as datasets
    from unveil.sources import source as source
    from unveil.stream import Window as Window
    from unveil.study import Pair as Pair
    from unveil.study import Study as Study
    from unveil.study import count as count
    from unveil.tables import CrossTable as CrossTable
    from unveil.tables import TableAttack as TableAttack
    from unveil.tables import attack_table as attack_table
    from unveil.tables import table as table
    from unveil.utility import Loss as Loss
    from unveil.utility import Propensity as Propensity
    from unveil.utility import Task as Task
    from unveil.utility import Tasks as Tasks
    from unveil.utility import Utility as Utility
    from unveil.utility import pmse as pmse
    from unveil.utility import utility as utility
    from unveil.utility.loss import loss as loss
    from unveil.utility.tasks import tasks as tasks

__version__ = "0.1.0"

_HOMES = {
    "Assessment": "unveil.assess.assessment",
    "Attack": "unveil.attacks.attack",
    "ComparablePartitions": "unveil.attacks.comparable",
    "Comparison": "unveil.assess.comparison",
    "Composition": "unveil.assess.composition",
    "Counts": "unveil.counts",
    "CrossTable": "unveil.tables.crosstable",
    "DiscriminationRate": "unveil.measures.discrimination",
    "Front": "unveil.protect.front_result",
    "Gate": "unveil.queries",
    "Hierarchy": "unveil.partitions",
    "HierarchyReport": "unveil.search.hierarchies",
    "Limits": "unveil.run",
    "Loss": "unveil.utility.loss",
    "Measurement": "unveil.models.measure",
    "Need": "unveil.project",
    "Pair": "unveil.study",
    "Partition": "unveil.partitions",
    "Project": "unveil.project",
    "Protection": "unveil.releases",
    "Release": "unveil.releases",
    "Propensity": "unveil.utility.propensity",
    "Run": "unveil.run",
    "Scan": "unveil.measures.scan",
    "Signature": "unveil.releases",
    "Step": "unveil.project",
    "Study": "unveil.study",
    "TableAttack": "unveil.tables.attacks",
    "Task": "unveil.utility.tasks",
    "Tasks": "unveil.utility.tasks",
    "TradeOff": "unveil.assess.tradeoff",
    "Utility": "unveil.utility.needs",
    "UnveilError": "unveil.errors",
    "Verdict": "unveil.assess.policy.verdict",
    "Waiver": "unveil.assess.policy.waivers",
    "anonymize": "unveil.protect.anonymize",
    "anonymize_front": "unveil.protect.front",
    "Window": "unveil.stream.window",
    "approximate_rate": "unveil.measures.approximate",
    "assess": "unveil",
    "attack": "unveil.attacks.attack",
    "attack_table": "unveil.tables.attacks",
    "attacks": "unveil",
    "build_hierarchy": "unveil.search.hierarchies",
    "check": "unveil.assess.policy.check",
    "check_hierarchy": "unveil.search.hierarchies",
    "compare": "unveil.assess.comparison",
    "compose": "unveil.assess.composition",
    "count": "unveil.study",
    "datasets": "unveil.sources",
    "direct_identifiers": "unveil.identifiers",
    "discrimination_rate": "unveil.measures.discrimination",
    "loss": "unveil.utility.loss",
    "measure": "unveil.models.measure",
    "mechanisms": "unveil",
    "models": "unveil",
    "pmse": "unveil.utility.propensity",
    "propose_hierarchy": "unveil.search.hierarchies",
    "protect": "unveil",
    "run_in_process": "unveil.processes",
    "propose_partitions": "unveil.attacks.comparable",
    "scan": "unveil.measures.scan",
    "sign": "unveil.releases",
    "source": "unveil.sources",
    "arx_rule": "unveil.project.arx",
    "import_arx": "unveil.assess.arx_import",
    "start_project": "unveil.assess.init",
    "table": "unveil.tables.build",
    "tables": "unveil",
    "stream": "unveil",
    "tasks": "unveil.utility.tasks",
    "trade_off": "unveil.assess.tradeoff",
    "mondrian": "unveil.search.splitting.mondrian",
    "recode_locally": "unveil.search.splitting.local_recoding",
    "generalize_subtrees": "unveil.search.splitting.subtrees",
    "suppress_locally": "unveil.search.suppression.local",
    "Recoding": "unveil.search.splitting.labelling",
    "queries": "unveil",
    "utility": "unveil",
    "verify": "unveil.releases",
}

__all__ = [*_HOMES, "__version__"]  # noqa: PLE0604 - the keys are names


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'unveil' has no attribute {name!r}")
    attribute = import_module(f"unveil.{name}") if _HOMES[name] == "unveil" else getattr(import_module(_HOMES[name]), name)
    globals()[name] = attribute
    return attribute


def __dir__() -> list[str]:
    return sorted(__all__)
