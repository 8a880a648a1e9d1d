r"""How safe is a household? Anyone who finds one member has found them all.

The risk of a household is the probability that at least one member is re-identified, :math:`1 - \prod_i (1 - r_i)`, if its
members are found independently of each other (Franconi and Polettini 2004). The risk of a member is that of the prosecutor, or
with sampling weights the individual risk. Members are persons if they are distinguished, else records.

k for households has two readings, and both are given. `k`: the fewest households with members in a class of the key, for an
intruder who knows one member. `k_whole`: the fewest households that are alike as a whole, having the same number of members in
the same classes, for an intruder who knows all members; it is never above `k`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unveil.counts import Codes, Counts, Owners, group, summed
from unveil.measures.individual import household_risk
from unveil.results import Figures

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.measures.equivalence import Equivalence

__all__ = ["OF_MEMBERS", "Homes", "HouseholdRisks"]

OF_MEMBERS = "from the prosecutor's risk of every member"


@dataclass(frozen=True, slots=True, eq=False)
class HouseholdRisks(Figures):
    """The risk of households, and k for them.

    Attributes
    ----------
    households
        The number of households.
    highest, rate, expected, note
        The risk of the household most at risk, the mean risk, the expected number of households re-identified, and the notes.
    k, k_whole, unique_households
        The fewest households in a class (one member is known), the fewest that look alike (all members are known), and the number
        that look like no other.
    """

    households: int
    highest: float | None
    rate: float | None
    expected: float
    note: str
    k: int
    k_whole: int
    unique_households: int


@dataclass(frozen=True, slots=True, eq=False)
class Homes:
    """Who lives together.

    Attributes
    ----------
    of_class, home, member
        One entry for each class, household and member with a record there: all three as numbers; members are numbered if
        persons are distinguished.
    n
        The number of records of each entry.
    classes
        The number of classes.
    """

    of_class: NDArray[np.int64]
    home: NDArray[np.int64]
    member: NDArray[np.int64] | None
    n: NDArray[np.int64]
    classes: int

    @classmethod
    def of(cls, counts: Counts, keys: Sequence[str], household: str, person: str | None) -> Homes:
        """Sort the cells of a count table by class, household and, if they are distinguished, person."""
        classes, names = counts.classes(keys), [household, *([] if person is None else [person])]
        places = [counts.names.index(name) for name in names]
        codes: list[Codes] = [classes.of_cell, *(counts.codes[at] for at in places)]
        sizes = [classes.number, *(len(counts.columns[at].values) for at in places)]
        of_entry, held = group(codes, sizes)
        columns = [one.astype(np.int64) for one in held]
        n = summed(of_entry, counts.n, len(columns[0])).astype(np.int64)
        return cls(columns[0], columns[1], columns[2] if person is not None else None, n, classes.number)

    def member_risk(self, classes: Equivalence) -> NDArray[np.float64]:
        """Return the prosecutor's risk of the member behind every entry: for a person, the highest over all their classes."""
        own = 1.0 / classes.size[self.of_class]
        if self.member is None:
            return np.asarray(own)
        highest = np.zeros(int(self.member.max(initial=-1)) + 1)
        np.maximum.at(highest, self.member, own)
        return np.asarray(highest[self.member])

    def risk(self, risk: NDArray[np.float64], note: str, *, by_record: bool = False) -> HouseholdRisks:
        """Return the risk of households, and k for them, from the risk of the member behind every entry.

        Parameters
        ----------
        risk
            The risk for each entry.
        note
            The notes on it.
        by_record
            Whether every record counts as a member, even if persons are distinguished, as when weights estimate the risk of a
            record.
        """
        if by_record or self.member is None:
            together = household_risk(np.repeat(risk, self.n), np.repeat(self.home, self.n))
        else:
            first = np.unique(np.column_stack([self.home, self.member]), axis=0, return_index=True)[1]
            together = household_risk(risk[first], self.home[first])
        alike = self._alike()
        return HouseholdRisks(
            together.households,
            together.highest,
            together.rate,
            together.expected,
            note,
            k=int(Owners.of(self.of_class, self.home, self.classes, int(self.home.max()) + 1).sizes.min()),
            k_whole=int(alike.min()),
            unique_households=int(np.count_nonzero(alike == 1)),
        )

    def _alike(self) -> NDArray[np.int64]:
        """Return, for each household, how many (itself included) have the same number of members in the same classes."""
        of_pair, (home, of_class) = group([self.home, self.of_class], [int(self.home.max()) + 1, self.classes])
        members = np.bincount(of_pair, weights=self.n if self.member is None else None, minlength=len(home)).astype(np.int64)
        rows = np.ascontiguousarray(np.column_stack([of_class.astype(np.int64), members]))
        starts = np.flatnonzero(np.diff(home.astype(np.int64), prepend=-1))
        kinds: dict[bytes, int] = {}
        of_home = [kinds.setdefault(one.tobytes(), len(kinds)) for one in np.split(rows, starts[1:])]
        return np.bincount(of_home)[of_home]
