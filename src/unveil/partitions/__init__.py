"""Which values count as the same? One answer is a partition; a chain of ever coarser answers is a hierarchy.

A *semantic partition* splits the values of one column into disjoint, non-empty blocks that cover every value present. A
*hierarchy* is a chain of partitions, each coarser than the one before. Both recode a column; neither changes a record.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from unveil.doors import lazily
from unveil.partitions.hierarchy import Hierarchy
from unveil.partitions.matching import Levels
from unveil.partitions.partition import Partition, PartitionSpec

__all__ = ["Hierarchy", "Levels", "Partition", "PartitionSpec"]

if TYPE_CHECKING:
    from unveil.partitions.builders import Builder, Dates, Groups, Intervals, PostalCodes, Rare, Redaction, RootOnly, propose
    from unveil.partitions.builders.automatic import propose_each
    from unveil.partitions.builders.base import read_all
    from unveil.partitions.builders.dates import UNITS
    from unveil.partitions.files import (
        DocumentError,
        PathLike,
        hierarchy_file,
        not_there,
        parse_json,
        parse_toml,
        read_text,
        write_whole,
    )
    from unveil.partitions.generalised import (
        ComparedColumn,
        Generalised,
        ReadValue,
        compared,
        fitted,
        generalised_each,
        is_null,
        is_suppressed,
        novel,
        parse_generalised,
        point_of,
        read_each,
        read_values,
        text_form,
    )
    from unveil.partitions.matching import number_of, rooted_levels, rows_of, text_of
    from unveil.partitions.moments import DateReading, read_moments
    from unveil.partitions.rules import column_said
else:
    __getattr__ = lazily(
        __name__,
        {
            "builders": ("Builder", "Dates", "Groups", "Intervals", "PostalCodes", "Rare", "Redaction", "RootOnly", "propose"),
            "builders.automatic": ("propose_each",),
            "builders.base": ("read_all",),
            "builders.dates": ("UNITS",),
            "files": (
                "DocumentError",
                "PathLike",
                "hierarchy_file",
                "not_there",
                "parse_json",
                "parse_toml",
                "read_text",
                "write_whole",
            ),
            "generalised": (
                "ComparedColumn",
                "Generalised",
                "ReadValue",
                "compared",
                "fitted",
                "generalised_each",
                "is_null",
                "is_suppressed",
                "novel",
                "parse_generalised",
                "point_of",
                "read_each",
                "read_values",
                "text_form",
            ),
            "matching": ("number_of", "rooted_levels", "rows_of", "text_of"),
            "moments": ("DateReading", "read_moments"),
            "rules": ("column_said",),
        },
    )
