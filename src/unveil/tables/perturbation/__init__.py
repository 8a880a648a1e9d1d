"""Perturbation of tables: all cells are published, some with changed figures. A method is one file and one line of `WAYS`."""

from __future__ import annotations

WAYS = {
    "round": "unveil.tables.perturbation.rounding:round_table",
    "adjust": "unveil.tables.perturbation.adjustment:adjust",
    "small-counts": "unveil.tables.perturbation.small_counts:round_small_counts",
    "cell-key": "unveil.tables.perturbation.cell_key:perturb_by_cell_keys",
}
"""The functions of the methods of perturbation."""
