"""Data as calls take it: a study, that is a source with the roles of its columns, and the pair of an original and a release."""

from unveil.study.pair import ColumnPair, Pair, paired
from unveil.study.study import Study, studied

__all__ = ["ColumnPair", "Pair", "Study", "paired", "studied"]
