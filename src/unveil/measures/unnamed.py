"""How many people does a column single out by itself? Of columns that have no role, so that nobody measures them otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.attributes import in_line
from unveil.counts.grouping import group
from unveil.counts.owners import Owners
from unveil.measures.units import people, unit_of

if TYPE_CHECKING:
    from unveil.study import Study

__all__ = ["Unmeasured", "singled_out", "unique_by"]


@dataclass(frozen=True, slots=True)
class Unmeasured:
    """A column that stays in a table and that no figure is about.

    Attributes
    ----------
    column
        The column.
    unique, of
        How many persons (or records) have a value that no other has, and of how many.
    unit
        "persons" where a column says whose record it is, else "records".
    by_key, with_key
        How many are unique by the key alone, and by the key and this column together; None where there is no key.
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
        """Whether it singles anybody out, by itself or beside the key."""
        return self.unique > 0 or (self.with_key or 0) > (self.by_key or 0)

    def __str__(self) -> str:
        """Return the column and what it singles out, in words.

        Examples
        --------
        >>> str(Unmeasured("Salary", 305, 311, "persons"))
        'Salary, unique for 305 of 311 people'
        """
        told = f"{in_line([self.column])}, unique for {self.unique:,} of {people(self.of, self.unit)}"
        if self.with_key is None or self.with_key == self.by_key:
            return told
        return f"{told} (with the key {self.with_key:,}, by the key alone {self.by_key or 0:,})"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        found = {"column": self.column, "unique": self.unique, "of": self.of, "unit": self.unit}
        return found if self.with_key is None else found | {"by_key": self.by_key, "with_key": self.with_key}


def singled_out(study: Study, column: str, person: str | None = None) -> Unmeasured:
    """Count the persons, or without a column of them the records, that a value of a column belongs to alone; a null is none."""
    unique, of = unique_by(study, [column], person, nulls=False)
    return Unmeasured(column, unique, of, unit_of(person))


def unique_by(study: Study, columns: Sequence[str], person: str | None = None, *, nulls: bool = True) -> tuple[int, int]:
    """Count the persons, or the records, that a combination of values belongs to alone, and all of them.

    Parameters
    ----------
    study
        The table.
    columns
        The columns whose values are taken together.
    person
        The column that says whose record it is; none: every record is of another person.
    nulls
        Whether a null is a value that someone can be found by.
    """
    owners = () if person is None else (person,)
    if person in columns:
        table = study.owned([name for name in columns if name != person], owners, nulls="category")
        return len(np.unique(table.columns[-1].codes)), len(np.unique(table.columns[-1].codes))
    table = study.owned(columns, owners, nulls="category")
    coded = table.columns[: len(columns)]
    n = np.ones(len(coded[0].codes), dtype=np.int64) if table.n is None else table.n
    of_row, _ = group([one.codes for one in coded], [len(one.values) for one in coded])
    number = int(of_row.max()) + 1 if len(of_row) else 0
    told = np.ones(number, dtype=bool)
    for one in () if nulls else coded:
        if len(one.values) and one.values[-1] is None:
            told[of_row[one.codes == len(one.values) - 1]] = False
    if person is None:
        sizes = np.bincount(of_row, weights=n, minlength=number)
        return int(sizes[told & (sizes == 1)].sum()), int(n.sum())
    who = table.columns[-1]
    found = Owners.of(of_row, who.codes, number, len(who.values))
    return found.among(told & (found.sizes == 1)), found.number
