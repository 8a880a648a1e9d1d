"""The tables of one source, where every set of columns is counted once; and the counts from which a rate follows.

A marginal is taken from a wider table if one is already counted and holds the same records. The memory of the cache is bounded:
a table that does not fit into the remaining room is made again when it is needed.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil import __version__
from unveil.attributes import checked_nulls, require_columns
from unveil.counts import Counts, Split, coded_each, count_each, count_table
from unveil.errors import NullsError
from unveil.results import Provenance
from unveil.run import active_run
from unveil.sources import Coded, CodedTable, HeldSource, Source, smallest_unsigned, wanted_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.partitions import Partition
    from unveil.study.study import Study

__all__ = ["Tables", "counted_split"]

_WEIGHT = "\x00weight"
"""The name of the column of coded weights, which no column of a file can have."""

_ALL = "\x00together"
"""The name of the set of columns that are counted together, which no column can have."""

_SHARE = 16
"""The tables that a study keeps take at most one part in this many of the memory that its run may use."""
_TOGETHER = 16
"""The number of columns that are coded at once."""


@dataclass(frozen=True, slots=True)
class _Question:
    """A question to count: a set of columns, some with numbers for values, under a null policy, with or without weights."""

    columns: frozenset[str]
    nulls: str
    weights: str | None
    numbered: frozenset[str] = frozenset()

    def within(self, other: _Question, dropped: int) -> bool:
        """Whether a marginal of another question's table answers this one: it must hold the same records."""
        same = self.weights in (None, other.weights) and self.columns <= other.columns
        same = same and self.numbered == other.numbered & self.columns
        return same and (other.nulls == self.nulls == "category" or (self.nulls == other.nulls and not dropped))


class Tables:
    """The cached counts of a source; `records` are its columns, each read once."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._lock, self._memory = threading.RLock(), active_run().limits.memory
        self._left = self._memory // _SHARE
        self._tables: dict[_Question, CodedTable] = {}
        self._counts: dict[_Question, Counts] = {}

    @cached_property
    def records(self) -> HeldSource:
        """The columns of the records, each read once."""
        return HeldSource(self.source, self._memory)

    def __reduce__(self) -> tuple[type[Tables], tuple[Source]]:
        """Pickle only the source: the counts stay behind, and another process reads the source again."""
        return Tables, (self.source,)

    def table(
        self, columns: Sequence[str], nulls: str = "category", weights: str | None = None, *, owners: Sequence[str] = ()
    ) -> CodedTable:
        """Return the combinations of some columns with their counts; with weights, also with the weight of their records.

        For columns that identify persons or households (`owners`), an engine sends numbers instead of values.
        """
        checked_nulls(nulls)
        require_columns(columns if weights is None else wanted_columns(columns, weights), self.source.names)
        question = _Question(frozenset(columns), nulls, weights, frozenset(owners if self.source.can_count else ()))
        with self._lock:
            table = self._wider(question) or self._counted(question, columns)
        return _in_order(table, columns)

    def owned(self, columns: Sequence[str], owners: Sequence[str], nulls: str, weights: str | None) -> CodedTable:
        """Return the combinations of some columns and of the owners of records; refuse records without an owner."""
        return _of_somebody(self.table([*columns, *owners], nulls, weights, owners=owners), len(columns))

    def each(
        self, columns: Sequence[str], owners: Sequence[str], together: Sequence[str] = (), *, strict: bool
    ) -> dict[str, CodedTable]:
        """Return the values of every column, one row each, with the owners of records; also count some columns together."""
        wanted = [*columns, *owners, *together]
        require_columns(wanted, self.source.names)
        if len(columns) > _TOGETHER and not self.source.can_count:
            self.records.collect(list(dict.fromkeys(wanted)))  # all in one pass
        tables: dict[str, CodedTable] = {}
        for start in range(0, len(columns), _TOGETHER):
            active_run().check()
            sets: dict[str, Sequence[str]] = {name: [name, *owners] for name in columns[start : start + _TOGETHER]}
            if together and not start:
                sets[_ALL] = together
            with self._lock:
                tables |= self._each(sets, owners, strict=strict)
        tables.pop(_ALL, None)
        return {name: _of_somebody(table, 1) for name, table in tables.items()} if owners else tables

    def _each(self, sets: Mapping[str, Sequence[str]], owners: Sequence[str], *, strict: bool) -> dict[str, CodedTable]:
        """Count several sets of columns at once, each under a name; sets that cannot be counted are left out."""
        numbered = frozenset(owners if self.source.can_count else ())
        questions = {name: _Question(frozenset(columns), "category", None, numbered) for name, columns in sets.items()}
        tables = {name: table for name, question in questions.items() if (table := self._combined(question)) is not None}
        counted = {name: self._counts[one] for name, one in questions.items() if name not in tables and one in self._counts}
        left = {name: one for name, one in questions.items() if name not in tables and name not in counted}
        if rows := self._rows(left, sets, strict=strict):
            counted |= zip(rows, count_each(list(rows.values())), strict=True)
        if counted:
            tables |= zip(counted, coded_each(list(counted.values())), strict=True)
        for name in rows:
            self._keep(questions[name], tables[name], counted[name])
        return {name: _in_order(tables[name], columns) for name, columns in sets.items() if name in tables}

    def _rows(
        self, questions: Mapping[str, _Question], sets: Mapping[str, Sequence[str]], *, strict: bool
    ) -> dict[str, CodedTable]:
        """Return the rows to be counted for some sets of columns: from a wider table, else from the source."""
        wider = {name: table for name, one in questions.items() if (table := self._wider(one)) is not None}
        rows = {name: _in_order(table, sets[name]) for name, table in wider.items()}
        if fresh := [name for name in questions if name not in rows]:
            wanted, numbered = {name: sets[name] for name in fresh}, questions[fresh[0]].numbered
            rows |= self.records.tables(wanted, numbered, strict=strict)
        return rows

    def _combined(self, question: _Question) -> CodedTable | None:
        """Return the cached table of a question, if it has one row per combination."""
        table, counts = self._tables.get(question), self._counts.get(question)
        return table if table is not None and counts is not None and len(table.columns[0].codes) == len(counts.n) else None

    def each_counted(self, columns: Sequence[str]) -> dict[str, Counts]:
        """Return the count table of every column by itself; refuse one that cannot be counted."""
        self.each(columns, (), strict=True)
        return {name: self.counts([name]) for name in columns}

    def counts(self, columns: Sequence[str], nulls: str = "category", weights: str | None = None) -> Counts:
        """Return the count table over some columns."""
        question = _Question(frozenset(columns), nulls, weights)
        with self._lock:
            known = self._counts.get(question)
            if known is None:
                known = self._regrouped(question, self.table(columns, nulls, weights))
        return known if known.names == tuple(columns) else known.over(columns)

    def _regrouped(self, question: _Question, table: CodedTable) -> Counts:
        """Count a table, unless it was counted when it was made, and keep the counts."""
        if (known := self._counts.get(question)) is not None:
            return known
        counts = count_table(table)
        if (size := _size(counts.codes)) <= self._left:
            self._left, self._counts[question] = self._left - size, counts
        return counts

    def only(self, table: CodedTable, nulls: str, weights: str | None) -> Tables:
        """Return the tables of only those records that a table counted under a null policy holds."""
        made = Tables(self.source)
        made.records = self.records
        columns, whole = frozenset(column.name for column in table.columns), replace(table, dropped=0)
        made._tables[_Question(columns, nulls, weights)] = whole
        if weights is not None:
            made._tables[_Question(columns, nulls, None)] = replace(whole, weights=None)
        return made

    def _wider(self, question: _Question) -> CodedTable | None:
        """Return the smallest table that answers a question, if there is one."""
        before = self.source.dropped
        answers = [table for known, table in self._tables.items() if question.within(known, table.dropped - before)]
        wider = min(answers, key=lambda table: len(table.columns[0].codes), default=None)
        return wider if wider is None or question.weights is not None else replace(wider, weights=None)

    def _counted(self, question: _Question, columns: Sequence[str]) -> CodedTable:
        """Count a table in the source, and keep it."""
        coded_ = self.records.table(columns, question.nulls, question.weights, question.numbered)
        if coded_.weights is not None:
            if (size := _size([column.codes for column in coded_.columns])) <= self._left:
                self._left, self._tables[question] = self._left - size, coded_
            return coded_
        counts = count_table(coded_)
        table = coded_each([counts])[0]
        self._keep(question, table, counts)
        return table

    def _keep(self, question: _Question, table: CodedTable, counts: Counts) -> None:
        if (size := _size(counts.codes) + counts.n.nbytes) <= self._left:
            self._left, self._tables[question], self._counts[question] = self._left - size, table, counts


def _in_order(table: CodedTable, columns: Sequence[str]) -> CodedTable:
    """Return a table with the named columns, in their order."""
    by_name = {column.name: column for column in table.columns}
    if list(by_name) == list(columns):
        return table
    return replace(table, columns=tuple(by_name[name] for name in columns))


def _of_somebody(table: CodedTable, width: int) -> CodedTable:
    """Return a table whose columns after the first few are owners of records; refuse records without an owner."""
    for column in table.columns[width:]:
        if not len(column.values) or column.values[-1] is not None:
            continue
        nobody = column.codes == len(column.values) - 1
        held = int(nobody.sum() if table.n is None else table.n[nobody].sum())
        if held:
            raise NullsError.nobodys(column.name, held, table.records)
    return table


def _size(codes: Sequence[Any]) -> int:
    return sum(int(one.nbytes) for one in codes)


def counted_split(
    study: Study, keys: Sequence[str], sensitive: Sequence[str], partitions: Mapping[str, Partition] | None = None
) -> tuple[Split, Provenance]:
    """Return the counts from which a rate follows, and their provenance; without partitions, those of the study are used."""
    columns = [*keys, *sensitive]
    blocks = study.blocks(columns) if partitions is None else partitions
    by_name = {name: block.to_dict() for name, block in blocks.items()}
    table = study.table(columns, weights=study.weights)
    if table.weights is None:
        split = study.split(keys, sensitive, partitions=blocks)
    else:
        counts = count_table(table if sensitive else _with_weight_column(table, table.weights), blocks)
        split = counts.split(keys, sensitive)
    made = Provenance(
        records=split.counts.records,
        nulls=study.policy,
        dropped=table.dropped,
        key=tuple(keys),
        sensitive=tuple(sensitive),
        partitions=by_name,
        weights=study.weights,
        person=study.person,
        version=__version__,
    )
    return split, made


def _with_weight_column(table: CodedTable, weights: NDArray[np.float64]) -> CodedTable:
    """Append the weights as a column, so that every cell holds records of one weight."""
    values, codes = np.unique(weights, return_inverse=True)
    column = Coded(_WEIGHT, tuple(values.tolist()), codes.astype(smallest_unsigned(len(values))))
    return replace(table, columns=(*table.columns, column))
