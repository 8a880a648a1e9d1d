"""How often does each combination of values occur? The joint count table, from which every measure follows.

A `Counts` holds the combinations that occur (the cells), in a fixed order, with the number of records in each and, if
sampling weights are given, their weight. Marginals, recodings, sums and differences are count tables again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from unveil.arguments import checked_arguments
from unveil.attributes import in_line, require_columns
from unveil.counts.amounts import Amounts
from unveil.counts.grouping import Codes, group, group_sums, in_strict_order, merged, places_among, summed, tally, united
from unveil.errors import CountsError, listed
from unveil.formats import counted, jsonable
from unveil.partitions import Partition
from unveil.run import active_run
from unveil.sources import Coded, CodedTable, Source, counted_source

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Classes", "Column", "Counts", "Crossing", "Pairs", "Split", "coded_each", "count_each", "count_table", "split_each"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a count table: its name and its values, in order; a cell's code is a position among them."""

    name: str
    values: Sequence[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """The equivalence classes of some columns: the class of each cell, the size and values of each class, and their number."""

    of_cell: NDArray[np.int64]
    columns: tuple[Column, ...]
    codes: tuple[Codes, ...]
    n: NDArray[np.int64]
    mass: NDArray[np.float64]
    number: int = field(init=False)

    def __post_init__(self) -> None:
        """Set the number of classes."""
        object.__setattr__(self, "number", len(self.n))

    @property
    def values(self) -> list[Any]:
        """The value of each class, or the tuple of values if there are several columns."""
        pairs = zip(self.columns, self.codes, strict=True)
        held = [[column.values[code] for code in codes.tolist()] for column, codes in pairs]
        return held[0] if len(held) == 1 else list(zip(*held, strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """A count table with its classes by the known columns and by the hidden ones, and the mass of each cell.

    None: the identity of the record is hidden.
    """

    counts: Counts
    known: Classes
    hidden: Classes | None
    mass: NDArray[np.float64]


class Pairs(NamedTuple):
    """The pairs of a class and a value that occur, in order, with the number of records of each."""

    of_class: NDArray[np.int64]
    value: NDArray[np.int64]
    n: NDArray[np.float64]


class Valued(NamedTuple):
    """The values of a whole table, the position of each value of a part among them, and the share of each value in the whole."""

    values: Sequence[Any]
    place: NDArray[np.int64]
    share: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Crossing:
    """The classes of a key crossed with those of other columns, one entry per set of columns: names, pairs, whole table."""

    classes: Classes
    names: Sequence[str]
    pairs: Sequence[Pairs]
    whole: Sequence[Valued]


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """A joint count table.

    Attributes
    ----------
    columns
        Names and values of the columns.
    codes
        For each column the code of every cell, in the smallest unsigned type.
    n
        The number of records in each cell, at least one.
    weight
        The sampling weight in each cell; None if every record counts one.
    amounts
        The amounts of named columns of numbers in each cell: the sum and the largest contributions.
    nulls, dropped
        The null policy by which the records were counted, and the number of records that it left out.
    names, records
        The names of the columns, and the number of records counted.

    Examples
    --------
    >>> import unveil
    >>> table = unveil.count("paper-2", ["Age*", "Disease"])
    >>> table
    Counts(Age* x Disease: 6 cells, 9 records)
    >>> table.over("Disease").to_dict()["cells"][0]
    {'Disease': 'aids', 'n': 2}
    >>> unveil.discrimination_rate(table, "Age*", "Disease")
    DiscriminationRate(Age* -> Disease: ...)
    """

    columns: tuple[Column, ...]
    codes: tuple[Codes, ...]
    n: NDArray[np.int64]
    weight: NDArray[np.float64] | None = None
    amounts: Mapping[str, Amounts] = field(default_factory=dict)
    nulls: str = "category"
    dropped: int = 0

    names: tuple[str, ...] = field(init=False)
    records: int = field(init=False)

    def __post_init__(self) -> None:
        """Set the names of the columns, and the number of records."""
        object.__setattr__(self, "names", tuple(column.name for column in self.columns))
        object.__setattr__(self, "records", int(self.n.sum()))

    @property
    def mass(self) -> NDArray[np.float64]:
        """The weight of each cell, or the number of its records if there are no weights."""
        return self.n.astype(np.float64) if self.weight is None else self.weight

    def __len__(self) -> int:
        """Return the number of non-empty cells."""
        return len(self.n)

    def __repr__(self) -> str:
        """Return one line: columns, cells, records."""
        return f"Counts({in_line(self.names, ' x ')}: {counted(len(self), 'cell')}, {counted(self.records, 'record')})"

    def __eq__(self, other: object) -> bool:
        """Two count tables are equal when they hold the same cells with the same counts."""
        if not isinstance(other, Counts):
            return NotImplemented
        if self.names != other.names or len(self) != len(other):
            return False
        mine, theirs = self.in_order(), other.in_order()
        return (
            all(list(a.values) == list(b.values) for a, b in zip(mine.columns, theirs.columns, strict=True))
            and all(np.array_equal(a, b) for a, b in zip(mine.codes, theirs.codes, strict=True))
            and np.array_equal(mine.n, theirs.n)
            and np.array_equal(mine.mass, theirs.mass)
            and mine.amounts.keys() == theirs.amounts.keys()
            and all(one.same(theirs.amounts[name]) for name, one in mine.amounts.items())
        )

    def in_order(self) -> Counts:
        """Return the table with the values of every column in order, and blocks in the order of their partition."""
        columns, codes = [], []
        for column, old in zip(self.columns, self.codes, strict=True):
            values, place, _ = united(column.values, ())
            columns.append(Column(column.name, values))
            codes.append(place[old])
        return self.regrouped(columns, codes)

    __hash__ = None  # type: ignore[assignment]

    @checked_arguments
    def over(self, names: str | Iterable[str]) -> Counts:
        """Return the marginal table over some of the columns."""
        kept = self._positions(names)
        if kept == list(range(len(self.columns))):
            return self
        return self.regrouped([self.columns[at] for at in kept], [self.codes[at] for at in kept])

    @checked_arguments
    def recode(self, name: str, partition: Partition | Any) -> Counts:
        """Return the table with one column's values replaced by the blocks of a partition."""
        at = self._positions(name)[0]
        blocks, labels = Partition.of(partition).apply(self.columns[at].values, name)
        columns, codes = list(self.columns), list(self.codes)
        columns[at] = Column(name, tuple(labels))
        codes[at] = blocks.astype(np.min_scalar_type(max(len(labels) - 1, 0)))[self.codes[at]]
        return self.regrouped(columns, codes)

    def where(self, kept: NDArray[np.bool_]) -> Counts:
        """Return the table of some of the cells."""
        weight = None if self.weight is None else self.weight[kept]
        codes = tuple(codes[kept] for codes in self.codes)
        amounts = {name: one.where(kept) for name, one in self.amounts.items()}
        return _without_unused(replace(self, codes=codes, n=self.n[kept], weight=weight, amounts=amounts))

    def classes(self, names: Iterable[str]) -> Classes:
        """Return the equivalence classes over some of the columns."""
        kept = self._positions(names)
        columns = tuple(self.columns[at] for at in kept)
        chosen, sizes = [self.codes[at] for at in kept], [len(column.values) for column in columns]
        if len(kept) == len(self.columns) and in_strict_order(chosen, sizes):  # every cell is a class
            return Classes(np.arange(len(self)), columns, tuple(chosen), self.n, self.mass)
        of_cell, codes = group(chosen, sizes)
        held = summed(of_cell, self.n, len(codes[0]))
        mass = held if self.weight is None else summed(of_cell, self.weight, len(codes[0]))
        return Classes(of_cell, columns, tuple(codes), held.astype(np.int64), mass)

    def crossed(self, keys: Sequence[str], sets: Iterable[Sequence[str]], whole: Counts) -> Crossing:
        """Return the classes of a key crossed with the values of several sets of columns, here and in the whole table."""
        classes, others = self.classes(keys), [self.classes(names) for names in sets]
        pairs = []
        for one in others:
            (of_class, value), n = group_sums([classes.of_cell, one.of_cell], [classes.number, one.number], self.n)
            pairs.append(Pairs(of_class.astype(np.int64), value.astype(np.int64), n))
        names = [" + ".join(column.name for column in one.columns) for one in others]
        return Crossing(classes, names, pairs, [whole.valued(one, own=whole is self) for one in others])

    def valued(self, part: Classes, *, own: bool) -> Valued:
        """Return the values of some columns of this table, of which the other table, perhaps its own, has a part."""
        if own:
            return Valued(part.values, np.arange(part.number), part.n / part.n.sum())
        all_ = self.classes([column.name for column in part.columns])
        mine, theirs = part.values, all_.values
        place = places_among(theirs, mine)
        new = np.flatnonzero(place < 0)  # a reference table may lack a value, which then has no share in it
        place[new] = len(theirs) + np.arange(len(new))
        share = np.concatenate([all_.n / all_.n.sum(), np.zeros(len(new))])
        return Valued([*theirs, *(mine[at] for at in new)], place, share)

    def split(self, known: Sequence[str], hidden: Sequence[str]) -> Split:
        """Return the table with its classes by the known columns and by the hidden ones."""
        return Split(self, self.classes(known), self.classes(hidden) if hidden else None, self.mass)

    def distinct(self, names: Sequence[str], owner: str) -> Counts:
        """Return the table over some columns that counts the distinct values of another column, such as persons, not records."""
        pairs = self.over([*names, owner])
        return replace(pairs, n=np.ones(len(pairs), dtype=np.int64), weight=None, amounts={}).over(names)

    def __add__(self, other: object) -> Counts:
        """Return the table of both sets of records together."""
        return self._combined(other, sign=1) if isinstance(other, Counts) else NotImplemented

    def __sub__(self, other: object) -> Counts:
        """Return the table without the records of another, all of which it must contain."""
        return self._combined(other, sign=-1) if isinstance(other, Counts) else NotImplemented

    def as_source(self) -> Source:
        """Return the table in the form of data, so that every measure that works on counts accepts it in place of data."""
        if self.weight is not None:
            raise CountsError(
                "a weighted count table cannot be counted again: the weights of single records are lost; count the weights as a "
                "column, and name that column as weights."
            )
        pairs = zip(self.columns, self.codes, strict=True)
        columns = {column.name: (column.values, codes) for column, codes in pairs}
        return counted_source(columns, self.n, self.nulls, self.dropped)

    def to_dict(self) -> dict[str, Any]:
        """Return the cells as a list of plain objects, and the null policy unless a null is a value."""
        values = jsonable([list(column.values) for column in self.columns])
        columns = {
            **{
                name: [own[code] for code in codes.tolist()]
                for name, own, codes in zip(self.names, values, self.codes, strict=True)
            },
            "n": self.n.tolist(),
            **({} if self.weight is None else {"weight": self.weight.tolist()}),
            **{f"amounts of {name}": one.to_dicts() for name, one in self.amounts.items()},
        }
        cells = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        policy = {} if self.nulls == "category" else {"nulls": self.nulls, "dropped": self.dropped}
        return {"columns": list(self.names), "records": self.records, **policy, "cells": cells}

    def _positions(self, names: str | Iterable[str]) -> list[int]:
        wanted = [names] if isinstance(names, str) else list(names)
        if not wanted:
            raise CountsError("name at least one column of the count table.")
        place = {name: at for at, name in enumerate(self.names)}
        require_columns(wanted, self.names)
        return [place[name] for name in wanted]

    def regrouped(self, columns: Sequence[Column], codes: Sequence[Codes]) -> Counts:
        """Return the table with other columns and codes for its cells; equal cells merge, and unused values are dropped."""
        sizes = [len(column.values) for column in columns]
        if self.weight is None and not self.amounts:
            cells, n = merged(codes, sizes, self.n)
            return _without_unused(replace(self, columns=tuple(columns), codes=tuple(cells), n=n))
        of_cell, kept = group(codes, sizes)
        number = len(kept[0])
        weight = None if self.weight is None else summed(of_cell, self.weight, number)
        amounts = {name: one.merged(of_cell, number) for name, one in self.amounts.items()}
        n = _integer_sums(of_cell, self.n, number)
        return _without_unused(replace(self, columns=tuple(columns), codes=tuple(kept), n=n, weight=weight, amounts=amounts))

    def _combined(self, other: Counts, *, sign: int) -> Counts:
        if self.names != other.names:
            raise CountsError(f"count tables over {listed(self.names)} and over {listed(other.names)} do not combine.")
        if (self.weight is None) != (other.weight is None):
            raise CountsError("a weighted and an unweighted count table do not combine.")
        amounts, nulls, dropped = self._amounts_with(other, sign), self._policy_with(other), self.dropped + sign * other.dropped
        columns, codes = [], []
        for at, column in enumerate(self.columns):
            values, mine, theirs = united(column.values, other.columns[at].values)
            columns.append(Column(column.name, values))
            codes.append(np.concatenate([mine[self.codes[at]], theirs[other.codes[at]]]))
        n = np.concatenate([self.n, sign * other.n])
        weight = None
        if self.weight is not None and other.weight is not None:
            weight = np.concatenate([self.weight, sign * other.weight])
        both = replace(self, n=n, weight=weight, amounts=amounts, nulls=nulls, dropped=dropped).regrouped(columns, codes)
        if dropped < 0:
            raise CountsError("cannot subtract: more records with a null were left out of the part than of the whole.")
        if int(both.n.min(initial=0)) < 0:
            short = int(np.count_nonzero(both.n < 0))
            raise CountsError(f"cannot subtract: {short:,} cells would hold fewer than zero records.")
        return both.where(both.n > 0)

    def _policy_with(self, other: Counts) -> str:
        """Return the null policy of both tables; where nulls are refused there are none, so that the other's policy holds."""
        policies = dict.fromkeys(one for one in (self.nulls, other.nulls) if one != "error")
        if len(policies) > 1:
            raise CountsError("a count table without the records that have a null and one with them do not combine.")
        return next(iter(policies), "error")

    def _amounts_with(self, other: Counts, sign: int) -> dict[str, Amounts]:
        """Return the amounts of both tables, one after the other."""
        if self.amounts.keys() != other.amounts.keys():
            raise CountsError("count tables that carry different amounts do not combine.")
        if self.amounts and sign < 0:
            raise CountsError("amounts cannot be subtracted: the largest contributions of what is left are not known.")
        return {name: one.followed_by(other.amounts[name]) for name, one in self.amounts.items()}


def count_table(table: CodedTable, partitions: Mapping[str, Any] | None = None) -> Counts:
    """Count coded columns, then recode those that have a partition."""
    run = active_run()
    run.check()
    columns = tuple(Column(coded.name, coded.values) for coded in table.columns)
    sizes = [len(column.values) for column in columns]
    codes = [coded.codes for coded in table.columns]
    if table.weights is None and table.n is None:
        cells, n = tally(codes, sizes)
        counts = Counts(columns, tuple(cells), n)
    elif table.weights is None and table.n is not None and _is_whole(codes, sizes):
        counts = Counts(columns, tuple(codes), table.n)
    elif table.weights is None and table.n is not None:
        cells, n = merged(codes, sizes, table.n)
        counts = Counts(columns, tuple(cells), n)
    else:
        of_row, cells = group(codes, sizes)
        number = len(cells[0])
        n = np.bincount(of_row, minlength=number).astype(np.int64) if table.n is None else _integer_sums(of_row, table.n, number)
        weight = None if table.mass is None else summed(of_row, table.mass, number)
        counts = Counts(columns, tuple(cells), n, weight)
    for name, partition in (partitions or {}).items():
        run.check()
        counts = counts.recode(name, partition)
    run.check()
    return replace(counts, nulls=table.nulls, dropped=table.dropped)


def _is_whole(codes: Sequence[Codes], sizes: Sequence[int]) -> bool:
    """Whether the rows are the values of a single column, each once and in order, so that nothing has to be counted."""
    return len(codes) == 1 and len(codes[0]) == sizes[0] and bool((codes[0] == np.arange(sizes[0])).all())


def count_each(tables: Iterable[CodedTable]) -> list[Counts]:
    """Count several tables of coded columns."""
    return [count_table(table) for table in tables]


def coded_each(tables: Iterable[Counts]) -> list[CodedTable]:
    """Return several count tables as coded columns again, with one row per combination."""
    return [_coded(counts) for counts in tables]


def _coded(counts: Counts) -> CodedTable:
    pairs = zip(counts.columns, counts.codes, strict=True)
    columns = (Coded(column.name, column.values, cast("NDArray[np.unsignedinteger[Any]]", codes)) for column, codes in pairs)
    return CodedTable(tuple(columns), counts.records, counts.dropped, None, counts.n, counts.nulls)


def split_each(
    questions: Iterable[tuple[CodedTable, Sequence[str], Sequence[str]]], partitions: Mapping[str, Partition]
) -> list[Split]:
    """Count the known and hidden columns of several tables; a column with a partition is counted by its blocks."""
    splits = []
    for table, known, hidden in questions:
        by_name = {column.name: column for column in table.columns}
        chosen = replace(table, columns=tuple(by_name[name] for name in (*known, *hidden)))
        blocks = {name: block for name, block in partitions.items() if name in (*known, *hidden)}
        splits.append(count_table(chosen, blocks).split(known, hidden))
    return splits


def _integer_sums(of_cell: NDArray[np.int64], n: NDArray[np.int64], number: int) -> NDArray[np.int64]:
    return summed(of_cell, n, number).astype(np.int64)


def _without_unused(counts: Counts) -> Counts:
    """Drop the values that no cell holds, so that equal tables compare equal."""
    columns, codes = list(counts.columns), list(counts.codes)
    for at, column in enumerate(columns):
        used = np.zeros(len(column.values), dtype=bool)
        used[codes[at]] = True
        if used.all():
            continue
        columns[at] = Column(column.name, tuple(column.values[int(code)] for code in np.flatnonzero(used)))
        place = np.cumsum(used) - 1
        codes[at] = place[codes[at]].astype(np.min_scalar_type(max(int(used.sum()) - 1, 0)))
    return replace(counts, columns=tuple(columns), codes=tuple(codes))
