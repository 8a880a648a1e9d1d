"""How is a table split into ever smaller parts? All parts are split at once, again and again, while every model is met.

A part is split along one attribute: an ordered one at its median, one with a hierarchy into the children of the lowest node that
all its records share. Nulls are split off first. A part is named after what it holds: in an ordered attribute by its lowest
and highest value, in a hierarchy by that lowest node.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from unveil.compilation import Pace
from unveil.counts import summed
from unveil.run import active_run
from unveil.search.splitting.split_arrays import described, proposed, scattered
from unveil.search.splitting.split_kernels import POOLED, RELAXED, STRICT, describe, pool, propose, scatter

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.partitions import Levels

__all__ = ["Board", "Dimension", "Extents", "Parts", "Splitter", "block_parts", "extents_of", "one_part", "split_parts"]

_NONE = -1
_POOLED = 2
"""How often children of a node that violate a model are pooled: first with each other, then with one more child."""
_PACE = Pace(describe, propose, scatter)
"""The switch to compiled loops, which depends on the number of codes examined so far."""


@dataclass(frozen=True, slots=True, eq=False)
class Dimension:
    """An attribute along which parts are split.

    Attributes
    ----------
    codes
        The value of each unit: its rank in an ordered attribute, else its place among the values of the hierarchy.
    positions
        Where each rank of an ordered attribute lies, from 0 to 1; empty for a hierarchy.
    null
        The rank of the null of an ordered attribute; -1: there is none.
    levels
        The hierarchy; None: the attribute is ordered.
    """

    codes: NDArray[np.int64]
    positions: NDArray[np.float64]
    null: int = _NONE
    levels: Levels | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Extents:
    """The extent of each part in each attribute: one row per attribute, one column per part.

    Attributes
    ----------
    low, high
        The lowest and highest rank; for a hierarchy the level, and the group there, of the lowest node that holds all.
    mixed
        Whether an ordered attribute holds nulls beside values.
    """

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    mixed: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Units in parts: `order` lists the units part by part; `starts` has the start of each part, and the end of the last."""

    order: NDArray[np.int64]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, of_unit: NDArray[np.int64], number: int) -> Parts:
        """Return the parts, given the part of every unit; the units of a part stay in their order."""
        sizes = np.bincount(of_unit, minlength=number)
        return cls(np.argsort(of_unit, kind="stable"), np.concatenate([[0], np.cumsum(sizes)]))

    def __len__(self) -> int:
        """Return the number of parts."""
        return len(self.starts) - 1

    def of_unit(self) -> NDArray[np.int64]:
        """Return the part of every unit."""
        part_of = np.empty(len(self.order), dtype=np.int64)
        part_of[self.order] = np.repeat(np.arange(len(self)), np.diff(self.starts))
        return part_of


class Board:
    """The dimensions as arrays padded to one size, for loops and array operations."""

    def __init__(self, dimensions: Sequence[Dimension]) -> None:
        self.codes = np.stack([one.codes for one in dimensions]).astype(np.int32)
        values = max(len(one.positions) + 1 if one.levels is None else len(one.levels.groups[0]) for one in dimensions)
        height = max(1 if one.levels is None else one.levels.height + 1 for one in dimensions)
        self.hierarchical = np.array([one.levels is not None for one in dimensions])
        self.nulls = np.array([one.null for one in dimensions], dtype=np.int64)
        self.groups = np.zeros((len(dimensions), height, values), dtype=np.int32)
        self.widths = np.zeros((len(dimensions), height, values))
        for at, one in enumerate(dimensions):
            if one.levels is None:
                self.widths[at, 0, : len(one.positions)] = one.positions
                continue
            leaves = max(one.levels.leaves - 1, 1)
            for level, (groups, shares) in enumerate(zip(one.levels.groups, one.levels.shares, strict=True)):
                self.groups[at, level, : len(groups)] = groups
                self.widths[at, level, : len(shares)] = (shares * one.levels.leaves - 1.0) / leaves

    def extents(self, parts: Parts) -> Extents:
        """Return the extents of every part."""
        if not _PACE.pays(self.codes.size):
            return Extents(*described(self, parts))
        shape = (len(self.codes), len(parts))
        low, high, mixed = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.int64), np.empty(shape, dtype=bool)
        describe(parts.order, parts.starts, self.codes, self.hierarchical, self.nulls, self.groups, low, high, mixed)
        return Extents(low, high, mixed)


def split_parts(
    dimensions: Sequence[Dimension],
    n: NDArray[np.int64],
    requirements: Splittable,
    *,
    start: Parts | None = None,
    relaxed: bool = False,
    pooled: bool = False,
) -> tuple[Parts, Extents]:
    """Split parts until none can be split further.

    Parameters
    ----------
    dimensions
        The attributes, with the value of each unit.
    n
        The records of each unit.
    requirements
        What every part must meet.
    start
        The parts to begin with, all meeting the requirements; none: one part.
    relaxed
        Whether records with an ordered attribute's median may go to both sides, so that halves are equal.
    pooled
        Whether children of a node lend records to children that are too small to be parts, and the attribute that gains most is
        split first. In either case, children that still cannot be parts of their own stay together under their node.
    """
    board = Board(dimensions)
    begun = start or _whole(len(n))
    mode = POOLED if pooled else RELAXED if relaxed else STRICT
    splitter = Splitter(board, n, requirements, mode, len(begun))
    done, active = [], begun
    run = active_run()
    run = run.telling(None) if pooled else run  # such parts are steps of a longer work
    with run.stage("splitting, relaxed" if relaxed else "splitting") as steps:
        while len(active):
            steps(len(n) - len(active.order), len(n))
            finished, active = splitter.round(active)
            done.append(finished)
    parts = _joined(done)
    return parts, board.extents(parts)


def one_part(dimensions: Sequence[Dimension]) -> tuple[Parts, Extents]:
    """Return all units as one part, with its extents."""
    parts = _whole(len(dimensions[0].codes))
    return parts, extents_of(dimensions, parts)


def extents_of(dimensions: Sequence[Dimension], parts: Parts) -> Extents:
    """Return the extents of parts."""
    return Board(dimensions).extents(parts)


def block_parts(dimensions: Sequence[Dimension], smallest: int) -> Parts:
    """Split units into parts of at least this many, whatever the models require."""
    units = np.ones(len(dimensions[0].codes), dtype=np.int64)
    return split_parts(dimensions, units, _Sized(smallest), pooled=True)[0]


def _whole(units: int) -> Parts:
    return Parts(np.arange(units), np.array([0, units]))


class Splittable(Protocol):
    """The requirements on parts."""

    @property
    def smallest(self) -> int:
        """The fewest records that a part may hold."""

    @property
    def only_size(self) -> bool:
        """Whether the size of a part is all that is required of it."""

    def most_parts(self, records: int) -> int:
        """Return the largest number of parts into which this many records may be split."""

    def violated(
        self, of_unit: NDArray[np.int64], number: int, units: NDArray[np.int64] | slice = slice(None)
    ) -> NDArray[np.bool_]:
        """Return which parts violate a requirement, given the part of every unit, of all units or some."""


@dataclass(frozen=True, slots=True)
class _Sized:
    """The requirement that parts have a minimum size, and nothing else."""

    smallest: int
    only_size: bool = True

    def most_parts(self, records: int) -> int:
        return records

    def violated(
        self,
        of_unit: NDArray[np.int64],
        number: int,
        units: NDArray[np.int64] | slice = slice(None),  # noqa: ARG002
    ) -> NDArray[np.bool_]:
        return np.bincount(of_unit, minlength=number) < self.smallest


class Splitter:
    """Rounds of splitting: every part proposes the split along its widest attribute not yet refused."""

    def __init__(self, board: Board, n: NDArray[np.int64], requirements: Splittable, mode: int, number: int) -> None:
        self.board, self.n, self.requirements, self.mode = board, n, requirements, mode
        self.room = requirements.most_parts(int(n.sum())) - number
        self.tried = np.zeros((number, len(board.codes)), dtype=bool)

    def round(self, parts: Parts) -> tuple[Parts, Parts]:
        """Split every part that can be split once; return the parts that stay, and those to continue with."""
        child, number, chosen = self.proposals(parts)
        accepted = self._accepted(parts, child, number, chosen)
        self._make_room(accepted, number)
        again = ~accepted & (chosen != _NONE) & (self.room > 0)
        stay = ~accepted & ~again
        new, of_part = _regrouped(parts, child, np.where(accepted, number, 1), accepted)
        kept, left = _taken(new, stay[of_part]), _taken(new, ~stay[of_part])
        self.tried[np.flatnonzero(again), chosen[again]] = True
        self.tried = (self.tried[of_part] & ~accepted[of_part, np.newaxis])[~stay[of_part]]
        return kept, left

    def proposals(self, parts: Parts) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return the child that each place in the order would go to, and for each part its number of children and attribute."""
        board = self.board
        if self.mode == STRICT and not _PACE.pays(len(parts.order) * len(board.codes)):
            return proposed(board, parts, self.tried, self.n, self.requirements.smallest)
        child = np.zeros(len(parts.order), dtype=np.int64)
        number, chosen = np.ones(len(parts), dtype=np.int64), np.full(len(parts), _NONE, dtype=np.int64)
        values, width = board.groups.shape[2], len(board.codes)
        room = (
            *(np.zeros(values, np.int64), np.zeros(values, np.int64)),
            *(np.empty(width, np.int64), np.empty(width, np.int64), np.empty(width, np.bool_), np.empty(width)),
        )
        propose(
            parts.order, parts.starts, self.tried, board.codes, board.hierarchical, board.nulls, board.groups, board.widths,
            self.n, self.requirements.smallest, self.mode, room, child, number, chosen,
        )  # fmt: skip
        return child, number, chosen

    def _accepted(
        self, parts: Parts, child: NDArray[np.int64], number: NDArray[np.int64], chosen: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Return which proposals the models allow; children of a node that violate one are pooled."""
        open_: NDArray[np.bool_] = chosen != _NONE
        if self.requirements.only_size or not open_.any():
            return open_
        wrong = self._wrong(parts, child, number, open_)
        accepted: NDArray[np.bool_] = open_ & ~wrong.any
        doubtful = open_ & wrong.any & self.board.hierarchical[np.maximum(chosen, 0)]
        for _ in range(_POOLED):
            if not doubtful.any():
                break
            pool(parts.starts, doubtful, wrong.children, wrong.first, child, number)
            doubtful &= number > 1
            wrong = self._wrong(parts, child, number, doubtful)
            accepted |= doubtful & ~wrong.any
            doubtful &= wrong.any
            wrong.children[wrong.first[doubtful] + 1] = True  # the pool takes in one more child
        return accepted

    def _wrong(self, parts: Parts, child: NDArray[np.int64], number: NDArray[np.int64], which: NDArray[np.bool_]) -> _Wrong:
        """Return which children of the given parts violate a model, and which parts have a violating child."""
        children = np.where(which, number, 0)
        first = np.cumsum(children) - children
        places = np.repeat(which, np.diff(parts.starts))
        of_place = np.repeat(first, np.diff(parts.starts))[places] + child[places]
        violated = self.requirements.violated(of_place, int(children.sum()), parts.order[places])
        hit = summed(np.repeat(np.arange(len(parts)), children), violated, len(parts)) > 0
        return _Wrong(violated, first, hit)

    def _make_room(self, accepted: NDArray[np.bool_], number: NDArray[np.int64]) -> None:
        """If the number of parts is limited, take back splits that would exceed it."""
        more = np.cumsum(np.where(accepted, number - 1, 0))
        accepted &= more <= self.room
        self.room -= int((number - 1)[accepted].sum())


@dataclass(frozen=True, slots=True, eq=False)
class _Wrong:
    children: NDArray[np.bool_]
    first: NDArray[np.int64]
    any: NDArray[np.bool_]


def _regrouped(
    parts: Parts, child: NDArray[np.int64], number: NDArray[np.int64], accepted: NDArray[np.bool_]
) -> tuple[Parts, NDArray[np.int64]]:
    """Return the parts, with accepted ones replaced by their children, and the part that each came from."""
    first = np.cumsum(number) - number
    sizes = np.diff(parts.starts)
    of_place = np.repeat(first, sizes) + np.where(np.repeat(accepted, sizes), child, 0)
    total = int(number.sum())
    starts = np.concatenate([[0], np.cumsum(np.bincount(of_place, minlength=total))])
    if not _PACE.pays(len(parts.order)):
        return Parts(scattered(parts.order, of_place), starts), np.repeat(np.arange(len(parts)), number)
    order = np.empty_like(parts.order)
    scatter(parts.order, of_place, starts[:-1].copy(), order)
    return Parts(order, starts), np.repeat(np.arange(len(parts)), number)


def _taken(parts: Parts, chosen: NDArray[np.bool_]) -> Parts:
    sizes = np.diff(parts.starts)
    return Parts(parts.order[np.repeat(chosen, sizes)], np.concatenate([[0], np.cumsum(sizes[chosen])]))


def _joined(some: Sequence[Parts]) -> Parts:
    sizes = np.concatenate([np.diff(one.starts) for one in some])
    return Parts(np.concatenate([one.order for one in some]), np.concatenate([[0], np.cumsum(sizes)]))
