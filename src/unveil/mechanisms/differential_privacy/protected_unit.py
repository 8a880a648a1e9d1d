"""Whom does a guarantee protect? A record, or a person, of whose records only a limited number count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_count
from unveil.attributes import require_columns
from unveil.errors import ArgumentError, NullsError, shown
from unveil.mechanisms.columns import Chosen
from unveil.randomness import NOT_FOR_PUBLICATION, Chance, chance_of
from unveil.run import watched
from unveil.sources import Microdata, encode, require_countable, standing_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.sources import Data

__all__ = ["Unit", "chance_of_test", "notes_of_test"]

_MOST_RECORDS = 10**8
"""The largest number of records of one person; noise for more would exceed what its generators can represent."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Whom the guarantee protects.

    Attributes
    ----------
    person
        The column that identifies the persons; None: the guarantee is for records.
    contribution
        The largest number of records of one person that count; without a column of persons, the number of records that the
        guarantee covers jointly.
    """

    person: str | None
    contribution: int

    @classmethod
    def requested(cls, data: Data, person: Any, contribution: Any) -> Unit:
        """Check the caller's request; if it names no persons, use those of the study or project."""
        person = standing_of(data).person if person is None else person
        if person is not None and not isinstance(person, str):
            raise ArgumentError(f"person is {person!r}; it must be the name of the column that says whose record it is.")
        return cls(person, checked_count("contribution", contribution, least=1, most=_MOST_RECORDS))

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings of an answer that describe its unit."""
        protects = "record" if self.person is None else "person"
        return {"protects": protects, "person": self.person, "contribution": self.contribution}

    @property
    def note(self) -> str:
        """What a reader must know about the guarantee."""
        most = f"{self.contribution:,} record{'s' if self.contribution > 1 else ''}"
        if self.person is None:
            together = f", for any {most} together" if self.contribution > 1 else ""
            return (
                f"The guarantee is per record{together}: no column of persons was named, so it holds for a person only if "
                f"nobody has more than {most}."
            )
        return f"The guarantee is per person: at most {most} of each person count, chosen at random."

    def cut(self, chosen: Chosen, chance: Chance | None = None) -> Chosen:
        """Leave out a person's records beyond the number that may count."""
        rows = self.kept(chosen.records, chance)
        return replace(chosen, records=chosen.records.taken(rows), rows=chosen.rows[rows])

    def kept(self, records: Microdata, chance: Chance | None = None) -> NDArray[np.int64]:
        """Return the rows that count: a random choice for each person, which does not depend on other persons' records.

        Parameters
        ----------
        records
            The records to choose among.
        chance
            The source of randomness for the choice; none: the operating system.
        """
        if self.person is None:
            return np.arange(records.records)
        persons, random = self._persons(records), (chance or chance_of()).draws("records of a person")
        return watched(len(persons), lambda: self._drawn(persons, random))

    def number(self, cells: Microdata, n: NDArray[np.int64]) -> int:
        """Return how many records count, if `n` of them have the values of each cell."""
        if self.person is None:
            return int(n.sum())
        of_person = np.bincount(self._persons(cells), weights=n)
        return int(np.minimum(of_person, self.contribution).sum())

    def _drawn(self, persons: NDArray[np.int64], random: np.random.Generator) -> NDArray[np.int64]:
        shuffled = random.permutation(len(persons))
        by_person = shuffled[np.argsort(persons[shuffled], kind="stable")]
        sizes = np.bincount(persons)
        place = np.arange(len(persons)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return np.sort(by_person[place < self.contribution])

    def _persons(self, records: Microdata) -> NDArray[np.int64]:
        name = str(self.person)
        require_columns((name,), records.names)
        column = records.column(name)
        require_countable(name, column)
        coded = encode(column)
        if any(value is None or value != value for value in coded.values):  # noqa: PLR0124 - NaN differs from itself
            raise NullsError(f"the column of persons, {shown(name)}, has nulls: it must say whose record each one is.")
        return coded.codes.astype(np.int64)


def chance_of_test(seed: int | None, *, testing: bool) -> Chance:
    """Return the source of draws; a seed is refused unless the caller says that it is a test."""
    if seed is not None and not testing:
        raise ArgumentError(
            "a seed is given, but anyone who repeats the draws undoes the guarantee; leave it out, or say that this is a test "
            "(testing=True)."
        )
    return chance_of(seed)


def notes_of_test(chance: Chance) -> tuple[str, ...]:
    """Return the notes about draws that can be repeated."""
    return (NOT_FOR_PUBLICATION,) if chance.repeatable else ()
