"""The columns of a table, singly and in pairs: the values of each, and whether one determines another.

Records in memory are coded once. An engine sends the values of each column with their counts and, for two columns that are
compared, the existing combinations with their counts; no record leaves it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.counts import group_sums, tally
from unveil.errors import DataChangedError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.sources import Coded, CodedTable
    from unveil.study.study import Study

__all__ = ["CodedColumns", "Columns", "Joint", "columns_of", "counted_columns"]

_ROUNDS = 10
"""The number of columns, among those with the same counts, that are compared with all others."""


@dataclass(frozen=True, slots=True, eq=False)
class Joint:
    """The existing combinations of two columns.

    Attributes
    ----------
    first, second
        The position of each combination's values among those of the two columns.
    n
        The number of records of each combination.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    n: NDArray[np.int64]


class Columns(ABC):
    """The columns of a table that can be counted.

    Attributes
    ----------
    names
        The columns, in the order of the table.
    records
        The number of records.
    """

    names: tuple[str, ...]
    records: int

    @abstractmethod
    def values(self, name: str) -> Sequence[Any]:
        """Return the distinct values of a column in order, with a null last."""

    @abstractmethod
    def counts(self, name: str) -> NDArray[np.int64]:
        """Return the number of records with each value of a column."""

    @abstractmethod
    def joint(self, first: str, second: str) -> Joint:
        """Count two columns together."""

    def numbered(self, first: str, second: str) -> Joint:
        """Count two columns that may name people together: an engine sends numbers for values, in an order of its own."""
        return self.joint(first, second)

    @abstractmethod
    def copies(self, names: Sequence[str]) -> list[tuple[str, str]]:
        """Return the columns that copy another one, under any names of its values, each after the first column of its kind."""


class CodedColumns(Columns):
    """The columns of records in memory, or of cells.

    Parameters
    ----------
    coded
        The columns by name, coded.
    n
        The number of records of each row; None: one each.
    """

    def __init__(self, coded: Mapping[str, Coded], n: NDArray[np.int64] | None = None) -> None:
        self._coded, self._n = coded, n
        rows = max((len(one.codes) for one in coded.values()), default=0)
        self.names, self.records = tuple(coded), rows if n is None else int(n.sum())

    def values(self, name: str) -> Sequence[Any]:
        """Return the distinct values of a column in order, a null last."""
        return self._coded[name].values

    def counts(self, name: str) -> NDArray[np.int64]:
        """Return how many records hold each value of a column."""
        return _by_value(self._coded[name], self._n)

    def joint(self, first: str, second: str) -> Joint:
        """Count two columns together."""
        return _joint((self._coded[first], self._coded[second]), self._n)

    def copies(self, names: Sequence[str]) -> list[tuple[str, str]]:
        """Return the columns whose values change from row to row in the same way as those of another column."""
        alike: dict[bytes, list[str]] = {}
        for name in names:
            _, first, inverse = np.unique(self._coded[name].codes, return_index=True, return_inverse=True)
            rank = np.empty(len(first), dtype=np.int64)
            rank[np.argsort(first)] = np.arange(len(first))
            alike.setdefault(rank[inverse].tobytes(), []).append(name)
        return [(some[0], other) for some in alike.values() for other in some[1:]]


class CountedColumns(Columns):
    """The columns of a study whose records are elsewhere: in an engine, or already counted.

    Parameters
    ----------
    study
        The study.
    alone
        The values of every column with their counts.
    """

    def __init__(self, study: Study, alone: Mapping[str, CodedTable]) -> None:
        self._study = study
        self._alone = {name: (one.columns[0].values, _by_value(one.columns[0], one.n)) for name, one in alone.items()}
        self.names = tuple(alone)
        self.records = max((one.records for one in alone.values()), default=0)

    def values(self, name: str) -> Sequence[Any]:
        """Return the distinct values of a column in order, a null last."""
        return self._alone[name][0]

    def counts(self, name: str) -> NDArray[np.int64]:
        """Return how many records hold each value of a column."""
        return self._alone[name][1]

    def joint(self, first: str, second: str) -> Joint:
        """Count two columns together, where the data is."""
        return self._counted(first, second, ())

    def numbered(self, first: str, second: str) -> Joint:
        """Count two columns together, where the data is, with numbers instead of their values."""
        return self._counted(first, second, (first, second))

    def copies(self, names: Sequence[str]) -> list[tuple[str, str]]:
        """Return the columns that copy another one; those with the same counts are compared in pairs.

        If very many columns have the same counts, only the first few of them are compared with all others.
        """
        place = {name: at for at, name in enumerate(names)}
        alike: dict[bytes, list[str]] = {}
        for name in names:
            alike.setdefault(np.sort(self.counts(name)).tobytes(), []).append(name)
        pairs: list[tuple[str, str]] = []
        for some in alike.values():
            left = some
            for _ in range(_ROUNDS):
                first, *others = left
                same = [other for other in others if len(self.joint(first, other).n) == len(self.values(first))]
                pairs += [(first, other) for other in same]
                left = [other for other in others if other not in same]
                if len(left) <= 1:
                    break
        return sorted(pairs, key=lambda pair: (place[pair[0]], place[pair[1]]))

    def _counted(self, first: str, second: str, owners: Sequence[str]) -> Joint:
        table = self._study.table([first, second], nulls="category", owners=owners)
        if any(len(one.values) != len(self.values(one.name)) for one in table.columns):
            raise DataChangedError.while_counted(self._study.place)
        return _joint(table.columns, table.n)


def columns_of(study: Study, names: Sequence[str]) -> Columns:
    """Return some columns of a study; an engine counts them singly, and in pairs if two are compared."""
    if not study.source.in_hand:
        return CountedColumns(study, study.each(names, strict=True))
    if study.source.can_count:  # in one pass
        table = study.table(names, nulls="category")
        return CodedColumns({one.name: one for one in table.columns}, table.n)
    return CodedColumns({one.name: one for one in study.coded(names)})


def counted_columns(study: Study) -> Columns:
    """Return all columns of a study, counted singly, except those whose values cannot be counted."""
    return CountedColumns(study, study.each(study.names))


def _by_value(column: Coded, n: NDArray[np.int64] | None) -> NDArray[np.int64]:
    return np.bincount(column.codes, weights=n, minlength=len(column.values)).astype(np.int64, copy=False)


def _joint(columns: Sequence[Coded], n: NDArray[np.int64] | None) -> Joint:
    """Return the combinations of two columns, in their order, with the number of records of each."""
    codes, sizes = [one.codes for one in columns], [len(one.values) for one in columns]
    cells, held = tally(codes, sizes) if n is None else group_sums(codes, sizes, n)
    first, second = (one.astype(np.int64, copy=False) for one in cells)
    return Joint(first, second, held.astype(np.int64, copy=False))
