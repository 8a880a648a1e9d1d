"""The forms of data in calls: a study, that is a source with the roles of its columns, and the pair of original and release.

The modules of pairs, `count` and the columns of a proposal are loaded when first named: most calls need a study of one table.
"""

from typing import TYPE_CHECKING

from unveil.doors import lazily
from unveil.study.counted_tables import counted_split
from unveil.study.roles import checked_partitions
from unveil.study.statements import (
    Stated,
    apart_from,
    beside,
    files_read,
    open_both,
    planned_key,
    planned_needs,
    planned_population,
    planned_sensitive,
    require_as_they_are,
    require_no_nulls,
    require_nulls_as_values,
    require_values,
    said_of,
    stated,
    study_of,
)
from unveil.study.study import Study, studied

if TYPE_CHECKING:
    from unveil.study.columns import CodedColumns, Columns, Joint, columns_of, counted_columns
    from unveil.study.counting import count
    from unveil.study.pair import ColumnPair, Pair, common_policy, paired
else:
    __getattr__ = lazily(
        __name__,
        {
            "columns": ("CodedColumns", "Columns", "Joint", "columns_of", "counted_columns"),
            "counting": ("count",),
            "pair": ("ColumnPair", "Pair", "common_policy", "paired"),
        },
    )

__all__ = [
    "CodedColumns",
    "ColumnPair",
    "Columns",
    "Joint",
    "Pair",
    "Stated",
    "Study",
    "apart_from",
    "beside",
    "checked_partitions",
    "columns_of",
    "common_policy",
    "count",
    "counted_columns",
    "counted_split",
    "files_read",
    "open_both",
    "paired",
    "planned_key",
    "planned_needs",
    "planned_population",
    "planned_sensitive",
    "require_as_they_are",
    "require_no_nulls",
    "require_nulls_as_values",
    "require_values",
    "said_of",
    "stated",
    "studied",
    "study_of",
]
