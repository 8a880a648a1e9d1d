"""Which values count as the same? One answer is a partition; a chain of ever coarser answers is a hierarchy.

A *semantic partition* splits the values of one column into disjoint, non-empty blocks that cover every value present. A
*hierarchy* is a chain of partitions, each coarser than the one before. Both recode a column; neither changes a record.
"""

from __future__ import annotations

from unveil.partitions.hierarchy import Hierarchy
from unveil.partitions.matching import Levels
from unveil.partitions.partition import Partition, PartitionSpec

__all__ = ["Hierarchy", "Levels", "Partition", "PartitionSpec"]

OPEN_MODULES = (
    "builders",
    "builders.automatic",
    "builders.base",
    "builders.dates",
    "files",
    "generalised",
    "matching",
    "moments",
    "rules",
)
"""Modules of this room that other rooms may import from; all others are private to it."""
