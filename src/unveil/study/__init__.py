"""Data as calls take it: a study, that is a source with the roles of its columns, and the pair of an original and a release."""

from unveil.study.columns import CodedColumns, Columns, Joint, columns_of, counted_columns
from unveil.study.counting import count
from unveil.study.pair import ColumnPair, Pair, paired
from unveil.study.statements import Stated, stated, study_of
from unveil.study.study import Study, studied

__all__ = [
    "CodedColumns",
    "ColumnPair",
    "Columns",
    "Joint",
    "Pair",
    "Stated",
    "Study",
    "columns_of",
    "count",
    "counted_columns",
    "paired",
    "stated",
    "studied",
    "study_of",
]
