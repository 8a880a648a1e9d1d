r"""How often does linking find the right person if a person has several records?

An intruder who takes an original record for the one behind a release record has found the person if any record of theirs is
taken. With :math:`C_r` the chance of that for release record r (of the records at the top, the share that are the person's), the
intruder is assumed to know one record of a person, whichever says most: a person is linked with :math:`\max_r C_r` over their
release records, and the rate is the mean over the persons. A release record made from nobody counts as somebody who is never
linked. If everyone has one record, this is the rate of the records.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.attacks.linkage.rates import share_bounds
from unveil.errors import ArgumentError
from unveil.measures.interval import Interval

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["PersonRates", "Targets", "checked_persons"]


@dataclass(frozen=True, slots=True)
class PersonRates:
    """How many persons are linked.

    Attributes
    ----------
    value
        The share of persons who are linked by the best linked of their records.
    persons
        Persons with a record in the release, and release records made from nobody.
    baseline
        The share that a random guess would link.
    interval
        The confidence interval of `value`.
    """

    value: float
    persons: int
    baseline: float
    interval: Interval

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {
            "linked": self.value,
            "persons": self.persons,
            "baseline": self.baseline,
            "interval": self.interval.to_dict(),
        }


@dataclass(frozen=True, slots=True, eq=False)
class Targets:
    """The original records that are right for each release record: all of the person that it is about.

    Attributes
    ----------
    person
        For each release record a number of its person, in the order in which they appear; one of its own for a record of nobody.
    row, original
        Every pair of a release record and an original record of its person, by release record.
    of_person
        For each person, their original records; 0 for nobody.
    originals
        The number of all original records.
    """

    person: NDArray[np.int64]
    row: NDArray[np.int64]
    original: NDArray[np.int64]
    of_person: NDArray[np.int64]
    originals: int

    @classmethod
    def of(cls, truth: NDArray[np.int64], whose: NDArray[np.int64]) -> Targets:
        """Return the targets, given the original row of each release record and the person of each original record."""
        nobody = truth < 0
        label = np.where(nobody, -1 - np.arange(len(truth)), whose[np.where(nobody, 0, truth)])
        _, first, number = np.unique(label, return_index=True, return_inverse=True)
        place = np.empty(len(first), dtype=np.int64)
        place[np.argsort(first, kind="stable")] = np.arange(len(first))
        held = np.bincount(whose)
        starts = np.concatenate([[0], np.cumsum(held)])
        known = np.flatnonzero(~nobody)
        lengths = held[label[known]]
        at = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths - starts[label[known]], lengths)
        of_person = np.zeros(len(first), dtype=np.int64)
        person = place[number.reshape(-1)]
        of_person[person[known]] = lengths
        return cls(person, np.repeat(known, lengths), np.argsort(whose, kind="stable")[at], of_person, len(whose))

    @property
    def starts(self) -> NDArray[np.int64]:
        """Where the pairs begin of each release record that has any."""
        return np.flatnonzero(np.diff(self.row, prepend=-1))

    def rates(self, chances: NDArray[np.float64], confidence: float = 0.95) -> PersonRates:
        """Return how many persons are linked, given for each release record the chance that a record of theirs is taken."""
        number = len(self.of_person)
        best = np.zeros(number)
        np.maximum.at(best, self.person, chances)
        linked = float(best.sum())
        baseline = float(self.of_person.sum()) / number / self.originals
        return PersonRates(linked / number, number, baseline, share_bounds(linked, number, confidence))


def checked_persons(persons: ArrayLike | None, originals: int) -> NDArray[np.int64] | None:
    """Return whose record each original one is, as numbers from 0; refuse another number of them."""
    if persons is None:
        return None
    try:
        whose = np.asarray(persons)
    except ValueError:  # lists of several lengths
        raise ArgumentError("persons holds lists; it says whose record each original record is, by one value.") from None
    if whose.shape != (originals,):
        raise ArgumentError(f"persons holds {whose.size:,} entries for {originals:,} original records; it says whose each is.")
    return np.unique(whose, return_inverse=True)[1].reshape(-1).astype(np.int64)
