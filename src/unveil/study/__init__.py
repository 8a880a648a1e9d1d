"""Data as calls take it: a study, that is a source with the roles of its columns, and the pair of an original and a release."""

from unveil.study.counting import count
from unveil.study.pair import ColumnPair, Pair, paired
from unveil.study.statements import Stated, stated, study_of
from unveil.study.study import Study, studied

__all__ = ["ColumnPair", "Pair", "Stated", "Study", "count", "paired", "stated", "studied", "study_of"]
