"""The tables of one source: every column is read once, every set of columns is counted once.

A marginal is taken from a wider table where one is counted already and holds the same records. What is kept is bounded: a table
or a column that does not fit into the room left is made again when it is asked for.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from unveil.attributes import checked_nulls, require_columns
from unveil.counts import Counts, count_table
from unveil.errors import NullsError
from unveil.sources import Coded, CodedTable, Source, coded_table, wanted_columns
from unveil.sources.base import Tally
from unveil.sources.coding import encode, require_countable
from unveil.sources.frames import frame_of

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

__all__ = ["HeldSource", "Tables"]

_ROOM = 512 << 20
"""Bytes of columns and tables that a study keeps."""


@dataclass(frozen=True, slots=True)
class _Question:
    """What was counted: a set of columns, some by numbers for their values, under a null policy, with weights or without."""

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
    """What has been read and counted of a source."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._lock = threading.RLock()
        self._room = _ROOM
        self._read: dict[str, pl.Series] = {}
        self._coded: dict[str, Coded] = {}
        self._tables: dict[_Question, CodedTable] = {}
        self._counts: dict[_Question, Counts] = {}

    def records(self, columns: Sequence[str]) -> pl.DataFrame:
        """Return columns of the records, in their order; those that were read already are not read again."""
        with self._lock:
            missing = [name for name in columns if name not in self._read]
            if not missing:
                return frame_of({name: self._read[name] for name in columns})
            found = self.source.collect(missing)
            known = {**self._read, **{name: found.get_column(name) for name in missing}}
            for name in missing:
                if self._fits(int(found.get_column(name).estimated_size())):
                    self._read[name] = known[name]
            return frame_of({name: known[name] for name in columns})

    def coded(self, name: str) -> Coded:
        """Return one column of the records, coded; its nulls are a value."""
        with self._lock:
            if name not in self._coded:
                coded = _encoded(name, self.records([name]).get_column(name))
                if not self._fits(coded.codes.nbytes):
                    return coded
                self._coded[name] = coded
            return self._coded[name]

    def table(
        self, columns: Sequence[str], nulls: str = "category", weights: str | None = None, *, owners: Sequence[str] = ()
    ) -> CodedTable:
        """Return the combinations of some columns with their counts; with weights, each with the weight of its records.

        Of columns that say whose records they are (`owners`), an engine sends numbers for the values.
        """
        checked_nulls(nulls)
        require_columns(columns if weights is None else wanted_columns(columns, weights), self.source.names)
        question = _Question(frozenset(columns), nulls, weights, frozenset(owners if self.source.can_count else ()))
        with self._lock:
            found = self._wider(question) or self._counted(question, columns)
        by_name = {column.name: column for column in found.columns}
        return replace(found, columns=tuple(by_name[name] for name in columns))

    def owned(self, columns: Sequence[str], owners: Sequence[str], nulls: str, weights: str | None) -> CodedTable:
        """Return the combinations of some columns and of those that say whose records they are; refuse records of nobody."""
        table = self.table([*columns, *owners], nulls, weights, owners=owners)
        for column in table.columns[len(columns) :]:
            if not len(column.values) or column.values[-1] is not None:
                continue
            nobody = column.codes == len(column.values) - 1
            held = int(nobody.sum() if table.n is None else table.n[nobody].sum())
            if held:
                raise NullsError.nobodys(column.name, held, table.records)
        return table

    def counts(self, columns: Sequence[str], nulls: str = "category", weights: str | None = None) -> Counts:
        """Return the count table over some columns."""
        question = _Question(frozenset(columns), nulls, weights)
        with self._lock:
            table = self.table(columns, nulls, weights)
            known = self._counts.get(question)
            if known is None:
                known = count_table(table)
                if self._fits(_size(known.codes)):
                    self._counts[question] = known
        return known if known.names == tuple(columns) else known.over(columns)

    def only(self, table: CodedTable, nulls: str, weights: str | None) -> Tables:
        """Return the tables of some records alone: those of a table that was counted under a null policy."""
        made = Tables(self.source)
        columns, whole = frozenset(column.name for column in table.columns), replace(table, dropped=0)
        made._tables[_Question(columns, nulls, weights)] = whole
        if weights is not None:
            made._tables[_Question(columns, nulls, None)] = replace(whole, weights=None)
        return made

    def _wider(self, question: _Question) -> CodedTable | None:
        """Return the smallest table that answers a question, where there is one."""
        answers = [table for known, table in self._tables.items() if question.within(known, table.dropped)]
        found = min(answers, key=lambda table: len(table.columns[0].codes), default=None)
        return found if found is None or question.weights is not None else replace(found, weights=None)

    def _counted(self, question: _Question, columns: Sequence[str]) -> CodedTable:
        """Ask the source for a table, and keep it."""
        wanted = list(columns) if question.weights is None else [*columns, question.weights]
        plain = question.nulls == "category" and question.weights is None
        if self.source.can_count:
            numbered = question.numbered
            tally = self.source.count_numbered(wanted, numbered) if numbered else self.source.count(wanted)
            found = coded_table(self.source.place, tally, columns, question.nulls, question.weights)
        elif plain and self._coded.keys() >= set(columns):
            coded = tuple(self._coded[name] for name in columns)
            found = CodedTable(coded, len(coded[0].codes))
        else:
            found = coded_table(self.source.place, Tally(self.records(wanted)), columns, question.nulls, question.weights)
        if found.weights is not None:
            if self._fits(_size([column.codes for column in found.columns])):
                self._tables[question] = found
            return found
        counts = count_table(found)
        table = _combinations(found, counts)
        if self._fits(_size(counts.codes) + counts.n.nbytes):
            self._tables[question], self._counts[question] = table, counts
        return table

    def _fits(self, size: int) -> bool:
        """Take room, where so much of it is left."""
        if size > self._room:
            return False
        self._room -= size
        return True


class HeldSource(Source):
    """A source whose columns are read once, in the place of one that would be read again."""

    def __init__(self, tables: Tables) -> None:
        super().__init__(tables.source.place, tables.source.names)
        self._tables, self.ordered = tables, tables.source.ordered

    def _read(self, columns: Sequence[str]) -> pl.DataFrame:
        return self._tables.records(columns)


def _combinations(table: CodedTable, counts: Counts) -> CodedTable:
    """Return a table with one row per combination."""
    pairs = zip(counts.columns, counts.codes, strict=True)
    columns = (Coded(column.name, column.values, cast("NDArray[np.unsignedinteger[Any]]", codes)) for column, codes in pairs)
    return CodedTable(tuple(columns), table.records, table.dropped, None, counts.n)


def _encoded(name: str, series: pl.Series) -> Coded:
    require_countable(name, series)
    plain = series.alias("values")  # some names are patterns to Polars
    return replace(encode(plain.fill_nan(None) if plain.dtype.is_float() else plain), name=name)


def _size(codes: Sequence[Any]) -> int:
    return int(np.sum([one.nbytes for one in codes], dtype=np.int64))
