"""How many records or people does a column single out, by itself or beside a key?

No other measure covers columns without a role.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.attributes import in_line
from unveil.counts import Owners, group, rows_alone
from unveil.formats import people, unit_of
from unveil.sources import Coded, CodedTable, smallest_unsigned

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.counts import Codes
    from unveil.study import Study

__all__ = [
    "ColumnExposure",
    "Unmeasured",
    "column_exposure",
    "column_exposures",
    "first_of",
    "never_measured",
    "records_alone",
    "singled_out",
    "singled_out_by",
    "unique_by",
]

MOST_LISTED = 12
"""The most columns that a sentence names."""


@dataclass(frozen=True, slots=True)
class Unmeasured:
    """A column that stays in a table although no figure covers it.

    Attributes
    ----------
    column
        The column.
    unique, of
        How many persons (or records) have a value that no other has, and how many there are.
    unit
        "persons" where a column says whose record it is, else "records".
    by_key, with_key
        How many are unique by the key alone, and by the key and this column together; None if there is no key.
    """

    column: str
    unique: int
    of: int
    unit: str
    by_key: int | None = None
    with_key: int | None = None

    @property
    def mostly(self) -> bool:
        """Whether more than half of the persons have a value that no other has."""
        return 2 * self.unique > self.of

    @property
    def adds(self) -> bool:
        """Whether the column singles anybody out, by itself or together with the key."""
        return self.unique > 0 or (self.with_key or 0) > (self.by_key or 0)

    def __str__(self) -> str:
        """Return the column and the number of people it singles out, in words.

        Examples
        --------
        >>> str(Unmeasured("Salary", 305, 311, "persons"))
        'Salary, unique for 305 of 311 people'
        """
        sentence = f"{in_line([self.column])}, unique for {self.unique:,} of {people(self.of, self.unit)}"
        if self.with_key is None or self.with_key == self.by_key:
            return sentence
        return f"{sentence} (with the key {self.with_key:,}, by the key alone {self.by_key or 0:,})"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        document = {"column": self.column, "unique": self.unique, "of": self.of, "unit": self.unit}
        return document if self.with_key is None else document | {"by_key": self.by_key, "with_key": self.with_key}


def never_measured(columns: Sequence[Unmeasured], most: int = MOST_LISTED) -> str:
    """List the columns that no figure covers, those that single out most people first, and how many more there are.

    Examples
    --------
    >>> never_measured([Unmeasured("Sex", 0, 311, "records"), Unmeasured("Salary", 305, 311, "records")])
    'Never measured: Salary, unique for 305 of 311 records; Sex, unique for none.'
    """
    some = sorted((one for one in columns if one.adds), key=lambda one: (-(one.with_key or 0), -one.unique))
    none = [in_line([one.column]) for one in columns if not one.adds]
    sentences = [str(one) for one in some[:most]]
    sentences += [f"{len(some) - most:,} more"] if len(some) > most else []
    sentences += [f"{first_of(none, most)}, unique for none"] if none else []
    return f"Never measured: {'; '.join(sentences)}."


def first_of(texts: Sequence[str], most: int = MOST_LISTED) -> str:
    """Return texts in one line; of many, the first ones and how many more there are."""
    rest = len(texts) - most
    return ", ".join([*texts[:most], *([f"and {rest:,} more"] if rest > 0 else [])])


def singled_out(
    study: Study, columns: Sequence[str], person: str | None = None, key: Sequence[str] = ()
) -> dict[str, Unmeasured]:
    """Count, for every column, the persons (or else records) with a value that no other has; a null is no value.

    A column that holds no single values, such as lists, is left out.

    Parameters
    ----------
    study
        The table.
    columns
        The columns, each taken by itself.
    person
        The column that says whose record it is; none: every record is of another person.
    key
        The key attributes with which each column is also combined. Not for a table in an engine, where key and column together
        nearly make up the records: only counts of single columns leave the engine.
    """
    owners = () if person is None else (person,)
    alone = study.each([name for name in columns if name != person], owners=owners)
    by_key, with_key = _beside(study, list(alone), person, key) if key else (None, {})
    unmeasured = singled_out_by(alone, person, by_key, with_key)
    if person is not None and person in columns:
        unique, of = unique_by(study, [person], person)
        unmeasured[person] = Unmeasured(person, unique, of, unit_of(person))
    return {name: unmeasured[name] for name in columns if name in unmeasured}


def singled_out_by(
    alone: Mapping[str, CodedTable], person: str | None, by_key: int | None, with_key: Mapping[str, int]
) -> dict[str, Unmeasured]:
    """Return the same, given the counts of every column (the person last) and the numbers of uniques by the key and with it."""
    unit, unmeasured = unit_of(person), {}
    for name, table in alone.items():
        unique, of = _uniques(table, person, nulls=False)
        unmeasured[name] = Unmeasured(name, unique, of, unit, by_key, with_key.get(name))
    return unmeasured


def records_alone(key: Sequence[Coded], others: Sequence[Coded]) -> tuple[int, dict[str, int]]:
    """Count the records that are unique by a key, and those that are unique by the key together with each other column."""
    by_key, *with_each = rows_alone(*_codes_of(key), *_codes_of(others))
    return by_key, dict(zip([one.name for one in others], with_each, strict=True))


def _beside(study: Study, columns: Sequence[str], person: str | None, key: Sequence[str]) -> tuple[int, dict[str, int]]:
    """Count the uniques by the key, and by the key together with each column; in an engine, only those by the key."""
    if study.source.of_counts:
        return unique_by(study, key, person)[0], {name: unique_by(study, [*key, name], person)[0] for name in columns}
    if study.source.can_count:
        return unique_by(study, key, person)[0], {}
    coded = study.coded([*key, *columns, *([] if person is None else [person])])
    known, others, whose = coded[: len(key)], coded[len(key) : len(key) + len(columns)], coded[len(key) + len(columns) :]
    if not whose:
        return records_alone(known, others)
    of_key, cells = group(*_codes_of(known))
    number = len(cells[0])
    classes = Coded("", range(number), of_key.astype(smallest_unsigned(number)))
    tables = {one.name: CodedTable((classes, one, *whose), len(of_key)) for one in others}
    by_key = unique_by(study, key, person)[0]
    return by_key, {name: _uniques(table, person)[0] for name, table in tables.items()}


def _codes_of(columns: Sequence[Coded]) -> tuple[list[Codes], list[int]]:
    return [one.codes for one in columns], [len(one.values) for one in columns]


def unique_by(study: Study, columns: Sequence[str], person: str | None = None) -> tuple[int, int]:
    """Count the persons (or records) with a combination of values that no other has, and all of them.

    Parameters
    ----------
    study
        The table.
    columns
        The columns whose values are taken together.
    person
        The column that says whose record it is; none: every record is of another person.
    """
    if person is None:
        n = study.counts(columns, nulls="category", partitions={}).n
        return int(np.count_nonzero(n == 1)), int(n.sum())
    table = study.owned([name for name in columns if name != person], [person], nulls="category")
    if person in columns:
        every = len(np.unique(table.columns[-1].codes))
        return every, every
    return _uniques(table, person)


def _uniques(table: CodedTable, person: str | None, *, nulls: bool = True) -> tuple[int, int]:
    """Count those with a combination of their own, and all; each row is a combination, with the person in the last column.

    A null counts as a value by which someone can be found, unless `nulls` is False.
    """
    coded = table.columns if person is None else table.columns[:-1]
    n = np.ones(len(coded[0].codes), dtype=np.int64) if table.n is None else table.n
    complete = np.ones(len(n), dtype=bool)
    for one in () if nulls else coded:
        if len(one.values) and one.values[-1] is None:
            complete &= one.codes != len(one.values) - 1
    if person is None:
        return int(np.count_nonzero(complete & (n == 1))), int(n.sum())
    of_row, _ = group(*_codes_of(coded))
    number = int(of_row.max(initial=-1)) + 1
    who = table.columns[-1]
    owned = Owners.of(of_row, who.codes, number, len(who.values))
    named = np.zeros(number, dtype=bool)
    named[of_row[complete]] = True
    return owned.among(named & (owned.sizes == 1)), owned.number


@dataclass(frozen=True, slots=True)
class ColumnExposure:
    """How far one column reveals whose record is whose.

    Attributes
    ----------
    distinct
        The number of distinct values, null included.
    uniques
        How many records have a value that no other has.
    rate
        Its Discrimination Rate against record identity, from 0 to 1; 0 if there is one record.
    """

    distinct: int
    uniques: int
    rate: float


def column_exposure(sizes: NDArray[np.int64]) -> ColumnExposure:
    r"""Return how far a column identifies records by itself: :math:`DR = 1 - \sum_y n_y \log_2 n_y / (N \log_2 N)`.

    Examples
    --------
    >>> import unveil
    >>> column_exposure(unveil.count("paper-4", "Age").n)
    ColumnExposure(distinct=6, uniques=4, rate=0.7632...)
    """
    total = int(sizes.sum())
    rate = 1.0 - float((sizes * np.log2(sizes)).sum()) / (total * float(np.log2(total))) if total > 1 else 0.0
    return ColumnExposure(len(sizes), int((sizes == 1).sum()), rate)


def column_exposures(table: CodedTable, names: Sequence[str], alone: Mapping[str, CodedTable]) -> dict[str, ColumnExposure]:
    """Return how far each of some columns of a table identifies records by itself.

    Columns that are already counted `alone`, of all records, one row per value, are not counted again.
    """
    known = {} if table.dropped else {name: one.n for name, one in alone.items() if one.n is not None}
    codes = {one.name: one.codes for one in table.columns if one.name in names and one.name not in known}
    sizes = {name: np.bincount(one, weights=table.n).astype(np.int64) for name, one in codes.items()} | known
    return {name: column_exposure(sizes[name][sizes[name] > 0]) for name in names}
