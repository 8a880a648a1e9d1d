"""Frequency and magnitude tables: what they disclose, and how to protect them.

`table` builds one; `attack_table` reports who can compute what; `suppress`, the roundings and the other methods protect it;
`audit` decides whether a published table is safe.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unveil.tables.apriori import Apriori as Apriori
    from unveil.tables.attacks import TableAttack as TableAttack
    from unveil.tables.attacks import attack_table as attack_table
    from unveil.tables.build import table as table
    from unveil.tables.comparison import TableComparison as TableComparison
    from unveil.tables.comparison import compare_tables as compare_tables
    from unveil.tables.crosstable import CrossTable as CrossTable
    from unveil.tables.perturbation.adjustment import adjust as adjust
    from unveil.tables.perturbation.cell_key import perturb_by_cell_keys as perturb_by_cell_keys
    from unveil.tables.perturbation.result import PerturbedTable as PerturbedTable
    from unveil.tables.perturbation.rounding import round_table as round_table
    from unveil.tables.perturbation.small_counts import round_small_counts as round_small_counts
    from unveil.tables.published import TableAudit as TableAudit
    from unveil.tables.published import audit as audit
    from unveil.tables.suppression.result import SuppressedTable as SuppressedTable
    from unveil.tables.suppression.suppress import suppress as suppress

_HOMES = {
    "Apriori": "unveil.tables.apriori",
    "CrossTable": "unveil.tables.crosstable",
    "PerturbedTable": "unveil.tables.perturbation.result",
    "SuppressedTable": "unveil.tables.suppression.result",
    "TableAttack": "unveil.tables.attacks",
    "TableAudit": "unveil.tables.published",
    "TableComparison": "unveil.tables.comparison",
    "adjust": "unveil.tables.perturbation.adjustment",
    "attack_table": "unveil.tables.attacks",
    "audit": "unveil.tables.published",
    "compare_tables": "unveil.tables.comparison",
    "perturb_by_cell_keys": "unveil.tables.perturbation.cell_key",
    "round_small_counts": "unveil.tables.perturbation.small_counts",
    "round_table": "unveil.tables.perturbation.rounding",
    "suppress": "unveil.tables.suppression.suppress",
    "table": "unveil.tables.build",
}

__all__ = [*_HOMES]  # noqa: PLE0604 - the keys are names

OPEN_MODULES = (
    "attacks",
    "build",
    "comparison",
    "crosstab",
    "crosstable",
    "files.argus",
    "files.published",
    "files.writing",
    "published",
    "rules",
)
"""Modules of this room that other rooms may import from; all others are private to it."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'unveil.tables' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
