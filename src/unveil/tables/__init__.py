"""Frequency and magnitude tables: what they disclose, and how to protect them.

`table` builds one; `attack_table` reports who can compute what; `suppress`, the roundings and the other methods protect it;
`audit` decides whether a published table is safe.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from unveil.doors import lazily

if TYPE_CHECKING:
    from unveil.tables.apriori import Apriori
    from unveil.tables.attacks import TableAttack, attack_table
    from unveil.tables.build import table
    from unveil.tables.comparison import ProtectedTable, TableComparison, compare_tables
    from unveil.tables.crosstab import crosstab_rows
    from unveil.tables.crosstable import CrossTable
    from unveil.tables.files.argus import read_apriori, read_jj, read_tab
    from unveil.tables.files.published import dimensions_of, read_published
    from unveil.tables.files.writing import check_table_path, write_crosstab, write_long
    from unveil.tables.perturbation.adjustment import adjust
    from unveil.tables.perturbation.cell_key import perturb_by_cell_keys
    from unveil.tables.perturbation.result import PerturbedTable
    from unveil.tables.perturbation.rounding import round_table
    from unveil.tables.perturbation.small_counts import round_small_counts
    from unveil.tables.published import TableAudit, audit, reordered
    from unveil.tables.rules import contributors_of, rules_of
    from unveil.tables.suppression.result import SuppressedTable
    from unveil.tables.suppression.suppress import suppress
else:
    __getattr__ = lazily(
        __name__,
        {
            "apriori": ("Apriori",),
            "attacks": ("TableAttack", "attack_table"),
            "build": ("table",),
            "comparison": ("ProtectedTable", "TableComparison", "compare_tables"),
            "crosstab": ("crosstab_rows",),
            "crosstable": ("CrossTable",),
            "files.argus": ("read_apriori", "read_jj", "read_tab"),
            "files.published": ("dimensions_of", "read_published"),
            "files.writing": ("check_table_path", "write_crosstab", "write_long"),
            "perturbation.adjustment": ("adjust",),
            "perturbation.cell_key": ("perturb_by_cell_keys",),
            "perturbation.result": ("PerturbedTable",),
            "perturbation.rounding": ("round_table",),
            "perturbation.small_counts": ("round_small_counts",),
            "published": ("TableAudit", "audit", "reordered"),
            "rules": ("contributors_of", "rules_of"),
            "suppression.result": ("SuppressedTable",),
            "suppression.suppress": ("suppress",),
        },
    )

__all__ = [
    "Apriori",
    "CrossTable",
    "PerturbedTable",
    "SuppressedTable",
    "TableAttack",
    "TableAudit",
    "TableComparison",
    "adjust",
    "attack_table",
    "audit",
    "compare_tables",
    "perturb_by_cell_keys",
    "round_small_counts",
    "round_table",
    "suppress",
    "table",
]
