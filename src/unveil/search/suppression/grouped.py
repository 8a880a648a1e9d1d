"""Which cells must be suppressed so that every record at risk equals k - 1 others? Groups of records that lose the same cells.

A record is at risk if fewer than k share its key, a null of the data being a value. Such records are put into groups of at least
k; the members of a group lose the cells in which they differ, and are alike in what is left. So no record at risk stays complete,
and k holds however nulls are interpreted: as values, as matching anything on either side, or in comparison with the true records.

Fewer cells would suffice if a few records lost nearly all of their cells, because such records cover everybody. But they would
cover thousands of unchanged records, and anyone who knows one of these would not mistake an emptied record for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unveil.counts import group
from unveil.run import active_run
from unveil.search.suppression.group_kernels import regroup

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["grouped", "numbered"]

_PART, _WORK = 256, 1 << 24
"""The numbers of records treated, and of comparisons made, before progress is reported and the search can be stopped."""


def grouped(
    codes: NDArray[np.int64],
    k: int,
    costs: NDArray[np.float64],
    tell: Callable[[int, int], None],
    covered: NDArray[np.bool_] | None = None,
) -> NDArray[np.bool_]:
    """Return the cells to suppress.

    For each set of cells, from the cheapest to the dearest, at least k records at risk that are alike without these cells become
    a group. Records left over join a group that loses no more, or form a group with spare records of groups of the same price.
    The few that remain in the end join the group for which this costs least.

    Parameters
    ----------
    codes
        The records in an order of their own, a null being -1.
    k, costs
        How many records must be alike; the cost of each set of attributes, as bit masks.
    tell
        Called with the number of records at risk that have a group, and the number of all records at risk.
    covered
        Records that are safe although fewer than k are like them; None: there are no such records.
    """
    bits = 1 << np.arange(codes.shape[1])
    alike = numbered(codes)
    few = np.bincount(alike)[alike] < k
    at_risk = few if covered is None else few & ~covered
    if few.all() and np.count_nonzero(at_risk) < k:  # there is nobody else to join
        at_risk = few
    lost = np.zeros(len(codes), dtype=np.int64)
    if at_risk.any():
        groups = _Groups.of(codes[at_risk])
        for price in np.unique(costs[1:]):
            groups.grow(k, costs, np.flatnonzero(costs == price), tell)
        lost[at_risk] = groups.gone
        waiting = np.flatnonzero(at_risk)[groups.group_of < 0]
        settled = at_risk | ~few
        settled[waiting] = False
        _taken_along(codes, lost, waiting, settled, k, costs)
    released = np.where(lost[:, None] & bits, -1, codes)
    return _needed(codes, released)


def numbered(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a number for each record; records that are alike share it."""
    if not codes.size:
        return np.zeros(len(codes), dtype=np.int64)
    return group([column + 1 for column in codes.T], [int(column.max()) + 2 for column in codes.T])[0]


def _needed(codes: NDArray[np.int64], released: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return the suppressed cells, without those in which the members of a group agree after all."""
    numbers = numbered(released)
    groups = int(numbers.max()) + 1
    needed = np.zeros(codes.shape, dtype=bool)
    for at, column in enumerate(codes.T):
        low, high = np.full(groups, np.iinfo(np.int64).max), np.full(groups, -2)
        np.minimum.at(low, numbers, column)
        np.maximum.at(high, numbers, column)
        needed[:, at] = (low < high)[numbers] & (column >= 0)
    return needed


@dataclass(frozen=True, slots=True, eq=False)
class _Groups:
    """The groups of the records at risk.

    Attributes
    ----------
    codes
        The records, a line for each attribute.
    gone, group_of
        The set of cells that each record loses, and its group; -1 for one that still waits.
    sizes, last
        The members of each group, and the number of groups so far.
    """

    codes: NDArray[np.int32]
    gone: NDArray[np.int32]
    group_of: NDArray[np.int64]
    sizes: NDArray[np.int64]
    last: NDArray[np.int64]

    @classmethod
    def of(cls, codes: NDArray[np.int64]) -> _Groups:
        """Begin with all records waiting; every group is formed around one of them, so there are no more groups than records."""
        records = len(codes)
        lines = np.ascontiguousarray(codes.T.astype(np.int32))
        sizes = np.zeros(records + 1, dtype=np.int64)
        return cls(lines, np.zeros(records, np.int32), np.full(records, -1, np.int64), sizes, np.zeros(1, np.int64))

    def grow(self, k: int, costs: NDArray[np.float64], sets: NDArray[np.int64], tell: Callable[[int, int], None]) -> None:
        """Form groups whose members lose one of some sets of cells, all of one price."""
        gain = {lost: self._alike(lost, k)[2] for lost in sets.tolist()}
        for lost in sorted((lost for lost in gain if gain[lost]), key=lambda lost: -gain[lost]):
            self._form(lost, k)
        waiting = np.flatnonzero(self.group_of < 0)
        size = max(1, min(_PART, _WORK // len(self.gone)))
        room = (
            *(np.empty(len(self.gone), np.int32), np.empty(len(costs), np.int64)),
            *(np.empty(k, np.int64), np.empty(k, np.int32), np.empty(k, np.int64)),
        )
        for start in range(0, len(waiting), size):
            part = waiting[start : start + size]
            regroup(self.codes, self.gone, self.group_of, self.sizes, self.last, k, costs, sets.astype(np.int32), part, room)
            tell(len(self.gone) - len(waiting) + start, len(self.gone))

    def _alike(self, lost: int, k: int) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
        """Return a number for waiting records that agree outside a set of cells, the sizes, and how many records form groups."""
        active_run().check()
        waiting = np.flatnonzero(self.group_of < 0)
        kept = np.array([at for at in range(len(self.codes)) if not lost >> at & 1], dtype=np.int64)
        numbers = numbered(self.codes[np.ix_(kept, waiting)].T.astype(np.int64))
        sizes = np.bincount(numbers)
        return numbers, sizes, int(sizes[sizes >= k].sum())

    def _form(self, lost: int, k: int) -> None:
        """Make groups of the waiting records that are alike without a set of cells, if there are enough of them."""
        waiting = np.flatnonzero(self.group_of < 0)
        numbers, sizes, _ = self._alike(lost, k)
        large = sizes >= k
        first, number = int(self.last[0]), int(large.sum())
        place = first + np.cumsum(large) - 1
        members = large[numbers]
        self.group_of[waiting[members]] = place[numbers[members]]
        self.gone[waiting[members]] = lost
        self.sizes[first : first + number] = sizes[large]
        self.last[0] = first + number


def _taken_along(
    codes: NDArray[np.int64],
    lost: NDArray[np.int64],
    waiting: NDArray[np.int64],
    settled: NDArray[np.bool_],
    k: int,
    costs: NDArray[np.float64],
) -> None:
    """Put each waiting record together with settled records of the group for which that costs least.

    A group of 2k - 1 or more lends k - 1 members; a smaller one is taken along whole.
    """
    bits = 1 << np.arange(codes.shape[1])
    run = active_run()
    for row in waiting.tolist():
        run.check()
        numbers = numbered(np.where(lost[:, None] & bits, -1, codes))
        numbers[~settled] = -1
        sizes = np.bincount(numbers[settled])
        others = np.flatnonzero(settled)
        wider = lost[others] | ((codes[others] != codes[row]) * bits).sum(axis=1)
        size = sizes[numbers[others]]
        moved = np.where(size >= 2 * k - 1, k - 1, size)
        extra = moved * (costs[wider] - costs[lost[others]]) + costs[wider]
        best = int(np.argmin(extra))
        members = np.flatnonzero(numbers == numbers[others[best]])[: int(moved[best])]
        members = np.array([*members, row])
        lost[members] = np.bitwise_or.reduce(((codes[members] != codes[row]) * bits).sum(axis=1) | lost[members])
        settled[row] = True
