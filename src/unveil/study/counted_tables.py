"""The tables of one source: every set of columns is counted once.

A marginal is taken from a wider table if one is counted already and holds the same records. What is kept is bounded: a table
that does not fit into the room left is made again when it is needed.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unveil.attributes import checked_nulls, require_columns
from unveil.counts import Counts, coded_each, count_each, count_table
from unveil.errors import NullsError
from unveil.run import active_run
from unveil.sources import CodedTable, Source, wanted_columns
from unveil.sources.allowance import Allowance
from unveil.sources.held import HeldSource

__all__ = ["Tables"]

_SHARE = 16
"""Tables that a study keeps take at most one part in so many of the memory that its run may use."""
_TOGETHER = 16
"""How many columns are coded at once."""


@dataclass(frozen=True, slots=True)
class _Question:
    """What was counted: a set of columns, some with numbers in place of values, under a null policy, with or without weights."""

    columns: frozenset[str]
    nulls: str
    weights: str | None
    numbered: frozenset[str] = frozenset()

    def within(self, other: _Question, dropped: int) -> bool:
        """Whether this question is answered by a marginal of another's table: the same records must be in it."""
        same = self.weights in (None, other.weights) and self.columns <= other.columns
        same = same and self.numbered == other.numbered & self.columns
        return same and (other.nulls == self.nulls == "category" or (self.nulls == other.nulls and not dropped))


class Tables:
    """What has been counted of a source; `records` are its columns, each read once."""

    def __init__(self, source: Source) -> None:
        self.source, self.records = source, HeldSource(source)
        self._lock = threading.RLock()
        self._allowance = Allowance(active_run().limits.memory // _SHARE)
        self._tables: dict[_Question, CodedTable] = {}
        self._counts: dict[_Question, Counts] = {}

    def __reduce__(self) -> tuple[type[Tables], tuple[Source]]:
        """Pickle the source only: the counts stay behind, and another process reads the source again."""
        return Tables, (self.source,)

    def table(
        self, columns: Sequence[str], nulls: str = "category", weights: str | None = None, *, owners: Sequence[str] = ()
    ) -> CodedTable:
        """Return the combinations of some columns with their counts; with weights, each with the weight of its records.

        For columns that say whose records they are (`owners`), an engine sends numbers in place of the values.
        """
        checked_nulls(nulls)
        require_columns(columns if weights is None else wanted_columns(columns, weights), self.source.names)
        question = _Question(frozenset(columns), nulls, weights, frozenset(owners if self.source.can_count else ()))
        with self._lock:
            table = self._wider(question) or self._counted(question, columns)
        return _in_order(table, columns)

    def owned(self, columns: Sequence[str], owners: Sequence[str], nulls: str, weights: str | None) -> CodedTable:
        """Return the combinations of some columns and of those that say whose records they are; refuse records of nobody."""
        return _of_somebody(self.table([*columns, *owners], nulls, weights, owners=owners), len(columns))

    def each(self, columns: Sequence[str], owners: Sequence[str], *, strict: bool) -> dict[str, CodedTable]:
        """Return the values of every column, one row each, and whose records they are."""
        sets = {name: [name, *owners] for name in columns}
        require_columns([*columns, *owners], self.source.names)
        if len(columns) > _TOGETHER and not self.source.can_count:
            self.records.collect([*columns, *owners])  # all in one pass
        tables: dict[str, CodedTable] = {}
        for start in range(0, len(columns), _TOGETHER):
            active_run().check()
            some = columns[start : start + _TOGETHER]
            with self._lock:
                tables |= self._each({name: sets[name] for name in some}, owners, strict=strict)
        return {name: _of_somebody(table, 1) for name, table in tables.items()}

    def _each(self, sets: Mapping[str, Sequence[str]], owners: Sequence[str], *, strict: bool) -> dict[str, CodedTable]:
        """Count sets of columns, each under a name, together; those that cannot be counted are left out."""
        numbered = frozenset(owners if self.source.can_count else ())
        questions = {name: _Question(frozenset(columns), "category", None, numbered) for name, columns in sets.items()}
        counted = {name: self._counts[question] for name, question in questions.items() if question in self._counts}
        rows = {name: self._wider(question) for name, question in questions.items() if name not in counted}
        fresh = [name for name, table in rows.items() if table is None]
        if fresh:
            rows |= zip(fresh, self.records.tables([sets[name] for name in fresh], numbered, strict=strict), strict=True)
        ordered = {name: _in_order(table, sets[name]) for name, table in rows.items() if table is not None}
        if ordered:
            counted |= zip(ordered, count_each(list(ordered.values())), strict=True)
        tables = {
            name: table for name, counts in counted.items() if (table := self._combined(questions[name], counts)) is not None
        }
        made = [name for name in counted if name not in tables]
        tables |= zip(made, coded_each([counted[name] for name in made]), strict=True)
        for name in ordered:
            self._keep(questions[name], tables[name], counted[name])
        return {name: _in_order(tables[name], columns) for name, columns in sets.items() if name in tables}

    def _combined(self, question: _Question, counts: Counts) -> CodedTable | None:
        """Return the table that is kept of a question, if it has one row per combination."""
        table = self._tables.get(question)
        return table if table is not None and len(table.columns[0].codes) == len(counts.n) else None

    def each_counted(self, columns: Sequence[str]) -> dict[str, Counts]:
        """Return the count table of every column by itself; refuse one that cannot be counted."""
        self.each(columns, (), strict=True)
        return {name: self.counts([name]) for name in columns}

    def counts(self, columns: Sequence[str], nulls: str = "category", weights: str | None = None) -> Counts:
        """Return the count table over some columns."""
        question = _Question(frozenset(columns), nulls, weights)
        with self._lock:
            table = self.table(columns, nulls, weights)
            known = self._counts.get(question)
            if known is None:
                known = count_table(table)
                if self._allowance.grants(_size(known.codes)):
                    self._counts[question] = known
        return known if known.names == tuple(columns) else known.over(columns)

    def only(self, table: CodedTable, nulls: str, weights: str | None) -> Tables:
        """Return the tables of only those records that are in a table counted under a null policy."""
        made = Tables(self.source)
        made.records = self.records
        columns, whole = frozenset(column.name for column in table.columns), replace(table, dropped=0)
        made._tables[_Question(columns, nulls, weights)] = whole
        if weights is not None:
            made._tables[_Question(columns, nulls, None)] = replace(whole, weights=None)
        return made

    def _wider(self, question: _Question) -> CodedTable | None:
        """Return the smallest table that answers a question, if there is one."""
        answers = [table for known, table in self._tables.items() if question.within(known, table.dropped)]
        wider = min(answers, key=lambda table: len(table.columns[0].codes), default=None)
        return wider if wider is None or question.weights is not None else replace(wider, weights=None)

    def _counted(self, question: _Question, columns: Sequence[str]) -> CodedTable:
        """Ask the source for a table, and keep it."""
        coded_ = self.records.table(columns, question.nulls, question.weights, question.numbered)
        if coded_.weights is not None:
            if self._allowance.grants(_size([column.codes for column in coded_.columns])):
                self._tables[question] = coded_
            return coded_
        counts = count_table(coded_)
        table = coded_each([counts], coded_.dropped)[0]
        self._keep(question, table, counts)
        return table

    def _keep(self, question: _Question, table: CodedTable, counts: Counts) -> None:
        if self._allowance.grants(_size(counts.codes) + counts.n.nbytes):
            self._tables[question], self._counts[question] = table, counts


def _in_order(table: CodedTable, columns: Sequence[str]) -> CodedTable:
    """Return a table with the columns named, in their order."""
    by_name = {column.name: column for column in table.columns}
    if list(by_name) == list(columns):
        return table
    return replace(table, columns=tuple(by_name[name] for name in columns))


def _of_somebody(table: CodedTable, width: int) -> CodedTable:
    """Return a table whose columns after the first few say whose records they are; refuse records of nobody."""
    for column in table.columns[width:]:
        if not len(column.values) or column.values[-1] is not None:
            continue
        nobody = column.codes == len(column.values) - 1
        held = int(nobody.sum() if table.n is None else table.n[nobody].sum())
        if held:
            raise NullsError.nobodys(column.name, held, table.records)
    return table


def _size(codes: Sequence[Any]) -> int:
    return int(np.sum([one.nbytes for one in codes], dtype=np.int64))
