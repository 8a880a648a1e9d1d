r"""Which part of a large lattice can hold the best node? Branch and bound over boxes of nodes.

A box is all nodes between a lowest and a highest one. Attributes are settled one by one: a settled attribute has the same level
in both nodes; an open one may have any level from its lowest on, so it is at its top level in the highest node. Two facts are
used.

- A lasting requirement that fails at the highest node fails in the whole box. So an open attribute is tried alone: a level that
  fails with
  all other open attributes at the top can be left out, and the attribute's lowest level rises.
- The cost of generalisation at the lowest node is a lower bound for the whole box. A record in a class that is too small at the
  highest node is suppressed in every node of the box, so it counts as suppressed.

The box with the lowest bound is split first, by the open attribute that distinguishes the records best. So the bound of that box
is at any time a lower bound for everything that is left; when it reaches the best score found, that score is the optimum.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from unveil.search.lattice import box_kernels
from unveil.search.lattice.objectives import Separable
from unveil.search.lattice.rollup import RollUp
from unveil.search.lattice.space import Node, Space

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Boxes", "LookedAt", "Probe", "Sizes"]

_MOST_KEPT = 1 << 27
"""The most bytes that all kept partitions may take."""


@dataclass(frozen=True, slots=True)
class Box:
    """The nodes between a lowest and a highest one, and the attributes that are settled, in the order of settling."""

    lowest: Node
    highest: Node
    settled: tuple[int, ...] = ()


class Probe(Protocol):
    """A source of facts about a box that does not need its nodes to be examined."""

    def fails(self, box: Box, at: int, level: int) -> bool:
        """Whether every node of a box in which an open attribute has at most this level fails."""

    def added(self, box: Box, objective: Separable) -> NDArray[np.float64]:
        """Return how much the records suppressed everywhere in the box add to each attribute's sum at the lowest node."""


@dataclass(frozen=True, slots=True, eq=False)
class LookedAt:
    """A probe that examines the highest nodes; it works for any requirements.

    Attributes
    ----------
    lasting
        Tells whether a node and all nodes below it fail.
    """

    lasting: Callable[[Node], bool]

    def fails(self, box: Box, at: int, level: int) -> bool:
        """Examine the highest node in which the attribute has this level."""
        return self.lasting(_with(box.highest, at, level))

    def added(self, _box: Box, objective: Separable) -> NDArray[np.float64]:
        """Return zeros: nothing is known about suppressed records."""
        return np.zeros(len(objective.costs))


@dataclass(frozen=True, slots=True, eq=False)
class _Partition:
    """Classes that are large enough, and the cells of those that are not."""

    cells: NDArray[np.int32]
    starts: NDArray[np.int32]
    gone: NDArray[np.int32]
    lost: int

    @property
    def nbytes(self) -> int:
        return self.cells.nbytes + self.starts.nbytes + self.gone.nbytes


class Sizes:
    """A probe for requirements on class sizes alone: classes are split, and small ones are dropped for good.

    Parameters
    ----------
    rolled
        The classes of the lowest node, and the groups of each level.
    k, limit
        The smallest size, and how many records may be suppressed.
    """

    def __init__(self, rolled: RollUp, k: int, limit: int) -> None:
        self._rolled, self._k, self._limit = rolled, k, limit
        self._n = rolled.base.n.astype(np.int64)
        self._codes = [rolled.base.codes(field).astype(np.int32) for field in rolled.fields[: len(rolled.levels)]]
        whole = np.array([0, len(self._n)], dtype=np.int32)
        nothing = np.zeros(0, dtype=np.int32)
        self._whole = _Partition(np.arange(len(self._n), dtype=np.int32), whole, nothing, 0)
        self._kept: OrderedDict[tuple[tuple[int, int], ...], _Partition] = OrderedDict()
        self._bytes = 0
        self._records = np.zeros(max((int(codes.max()) + 1 for codes in self._codes), default=1), dtype=np.int64)

    def fails(self, box: Box, at: int, level: int) -> bool:
        """Split the classes of the box by the attribute, and count the records in classes that are too small."""
        known = self._of(tuple((one, box.highest[one]) for one in box.settled))
        allowed, groups = self._limit - known.lost, self._rolled.groups(at, 0, level)
        return bool(
            allowed
            < box_kernels.small_parts(
                known.cells, known.starts, self._codes[at], groups, self._n, self._k, allowed, self._records
            )
        )

    def added(self, box: Box, objective: Separable) -> NDArray[np.float64]:
        """Return how much the records lost so far cost beyond their cost at the lowest node."""
        known = self._of(tuple((one, box.highest[one]) for one in box.settled))
        kept = np.zeros(len(self._codes))
        n = self._n[known.gone]
        for at, level in enumerate(box.lowest):
            cost = objective.costs[at][level][self._rolled.groups(at, 0, level)]
            kept[at] = n @ cost[self._codes[at][known.gone]]
        return objective.surcharge(known.lost, kept)

    def _of(self, settled: tuple[tuple[int, int], ...]) -> _Partition:
        """Return the classes that the settled attributes form at their levels."""
        if not settled:
            return self._whole
        if (partition := self._kept.get(settled)) is not None:
            self._kept.move_to_end(settled)
            return partition
        before, (at, level) = self._of(settled[:-1]), settled[-1]
        groups = self._rolled.groups(at, 0, level)
        cells, starts, gone = box_kernels.split(
            before.cells, before.starts, self._codes[at], groups, self._n, self._k, int(groups.max()) + 1
        )
        lost = before.lost + int(self._n[gone].sum())
        return self._keep(settled, _Partition(cells, starts, np.concatenate([before.gone, gone]), lost))

    def _keep(self, settled: tuple[tuple[int, int], ...], made: _Partition) -> _Partition:
        self._kept[settled] = made
        self._bytes += made.nbytes
        while self._bytes > _MOST_KEPT and len(self._kept) > 1:
            self._bytes -= self._kept.popitem(last=False)[1].nbytes
        return made


class Boxes:
    """The boxes that may hold a better node than the best so far.

    Parameters
    ----------
    space, objective
        The lattice, and what to minimise.
    probe
        What is known about a box.
    most
        Returns the score that a better node must currently stay below.
    look
        Looks at a node.
    """

    def __init__(
        self, space: Space, objective: Separable, probe: Probe, most: Callable[[], float], look: Callable[[Node], bool]
    ) -> None:
        self._objective, self._probe, self._most, self._look = objective, probe, most, look
        self._shape = space.shape
        self._telling = [_entropies(one.group_records, one.lowest, one.highest) for one in space.attributes]
        first = Box(space.bottom, space.top)
        self._waiting: list[tuple[float, int, Box]] = [(objective.floor(first.lowest, np.zeros(len(self._shape))), 0, first)]
        self._number = 0
        self.probes = 0

    @property
    def bound(self) -> float:
        """No node in any box that is left has a score below this."""
        return self._waiting[0][0] if self._waiting else np.inf

    @property
    def done(self) -> bool:
        """Whether no box may hold a better node."""
        return self.bound >= self._most()

    def split(self) -> None:
        """Split the box with the lowest bound, or examine its node if it has only one."""
        _, _, box = self._waiting[0]  # it stays in the queue until it is settled, so that the bound holds if time runs out
        parts = self._parts(box)
        heapq.heappop(self._waiting)
        for bound, part in parts:
            self._number += 1
            heapq.heappush(self._waiting, (bound, self._number, part))

    def _parts(self, box: Box) -> Sequence[tuple[float, Box]]:
        """Raise the open attributes of a box above the levels that fail, and split it by one of them."""
        most = self._most()
        for at in self._open(box):
            level = box.lowest[at]
            while level < self._shape[at] - 1 and self._failing(box, at, level):
                level += 1
            if level > box.lowest[at]:
                box = Box(_with(box.lowest, at, level), box.highest, box.settled)
                if self._bound(box) >= most:
                    return []
        open_ = [at for at in self._open(box) if box.lowest[at] < self._shape[at] - 1]
        if not open_:
            self._look(box.lowest)
            return []
        at = max(open_, key=lambda one: self._telling[one][box.lowest[one]])
        parts = []
        for level in range(box.lowest[at], self._shape[at]):
            part = Box(_with(box.lowest, at, level), _with(box.highest, at, level), (*box.settled, at))
            if (bound := self._bound(part)) < most:
                parts.append((bound, part))
        return parts

    def _bound(self, box: Box) -> float:
        return self._objective.floor(box.lowest, self._probe.added(box, self._objective))

    def _failing(self, box: Box, at: int, level: int) -> bool:
        self.probes += 1
        return self._probe.fails(box, at, level)

    def _open(self, box: Box) -> list[int]:
        return [at for at in range(len(self._shape)) if at not in box.settled]


def _entropies(records: Callable[[int], NDArray[np.int64]], lowest: int, highest: int) -> list[float]:
    """Return how well each level of an attribute distinguishes the records."""
    entropies = []
    for level in range(lowest, highest + 1):
        n = records(level)
        share = n[n > 0] / n.sum()
        entropies.append(float(-(share * np.log2(share)).sum()))
    return entropies


def _with(node: Node, at: int, level: int) -> Node:
    return (*node[:at], level, *node[at + 1 :])
