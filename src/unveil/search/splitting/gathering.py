"""How do small parts become large enough? From the bottom up: each joins the part with which it costs least.

Records that are alike begin as a part. The part that is nearest to being large enough joins the one with which it costs least,
and so on; a part whose records are alike hands over only as many as are missing. Then parts whose records cost less elsewhere are
dissolved, and records move out of parts that can spare them. If the models require more than a size, parts that violate a model
join other parts, preferably such that both together meet the models.

All pairs of parts are compared, so large tables are cut into blocks first, from the top down.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from unveil.counts import group
from unveil.run import active_run
from unveil.search.requirements import PartRequirements
from unveil.search.splitting.gather_kernels import costs, gather, improve, join, nearest, owners
from unveil.search.splitting.parts import Dimension, Extents, Parts, block_parts, extents_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["gathered_parts"]

_MOST_VALUES = 2048
"""Hierarchies with more values are not used for gathering: every pair of values has an entry in a table."""
_BLOCK = 512
"""The least number of different records that are compared with each other."""
_PASSES = 4
_WORTH = 1e-3
"""A pass is followed by another if it saves at least this share of the cost of suppressing a record, per record."""
_PARTNERS = 8


def gathered_parts(dimensions: Sequence[Dimension], requirements: PartRequirements) -> tuple[Parts, Extents] | None:
    """Gather units, records one by one, into parts that meet the requirements; None if a hierarchy has too many values.

    Parameters
    ----------
    dimensions
        The attributes, with the value of each unit.
    requirements
        What every part must meet; all units together do.
    """
    if any(one.levels is not None and len(one.levels.groups[0]) > _MOST_VALUES for one in dimensions):
        return None
    chart = _Chart.of(dimensions)
    alike, _ = group([one.codes for one in dimensions], [int(one.codes.max()) + 1 for one in dimensions])
    kinds = Parts.of(alike, int(alike.max()) + 1)
    first = kinds.order[kinds.starts[:-1]]
    blocks = block_parts([_taken(one, first) for one in dimensions], _BLOCK)
    of_unit = np.empty(len(alike), dtype=np.int64)
    number = 0
    for block in _settled(blocks, lambda chosen: _Block(chart, kinds, chosen, requirements)):
        units, owner, parts = block.result()
        of_unit[units] = owner + number
        number += parts
    gathered = Parts.of(of_unit, number)
    return gathered, extents_of(dimensions, gathered)


def _settled(blocks: Parts, block_of: Callable[[NDArray[np.int64]], _Block]) -> Iterator[_Block]:
    """Yield the settled blocks, in their order; each is settled by itself, several at a time.

    A block whose records violate a model even together is joined to the next.
    """
    run = active_run()
    threads = min(run.limits.threads or os.cpu_count() or 1, len(blocks))
    chosen = [blocks.order[begin:end] for begin, end in pairwise(blocks.starts.tolist())]

    def settled(kinds: NDArray[np.int64]) -> tuple[_Block, bool]:
        block = block_of(kinds)
        return block, block.settle()

    held = np.zeros(0, dtype=np.int64)
    with ThreadPoolExecutor(threads) as pool:
        try:
            waiting = [pool.submit(settled, kinds) for kinds in chosen[:threads]]
            for at in run.each("blocks", range(len(chosen))):
                block, met = waiting.pop(0).result()
                waiting += [pool.submit(settled, kinds) for kinds in chosen[at + threads : at + threads + 1]]
                kinds = np.concatenate([held, chosen[at]])
                if len(held):
                    block, met = settled(kinds)
                if met or at == len(chosen) - 1:
                    held = held[:0]
                    yield block
                else:
                    held = kinds
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _taken(one: Dimension, units: NDArray[np.int64]) -> Dimension:
    return Dimension(one.codes[units], one.positions, one.null, one.levels)


@dataclass(frozen=True, slots=True, eq=False)
class _Chart:
    """The attributes in the form that the compiled loops take, those that distinguish records most first.

    Attributes
    ----------
    codes
        The value of every unit.
    begins
        Where the pairs of values of a hierarchy begin in `meet`; -1 for an order.
    last
        The number of values of a hierarchy; for an order, its last rank.
    meet
        The lowest level at which two values of a hierarchy share a node.
    shares
        The cost of each value's node, level by level.
    """

    codes: NDArray[np.int64]
    begins: NDArray[np.int64]
    last: NDArray[np.int64]
    meet: NDArray[np.uint8]
    shares: NDArray[np.float64]

    @classmethod
    def of(cls, dimensions: Sequence[Dimension]) -> _Chart:
        """Lay out the attributes."""
        ordered = sorted(dimensions, key=_spread, reverse=True)
        height = max([1, *(one.levels.height + 1 for one in ordered if one.levels is not None)])
        values = max([1, *(len(one.levels.groups[0]) for one in ordered if one.levels is not None)])
        shares = np.zeros((len(ordered), height, values))
        begins, last, meet, begin = [], [], [np.zeros(0, dtype=np.uint8)], 0
        for at, one in enumerate(ordered):
            if one.levels is None:
                begins.append(-1)
                last.append(len(one.positions) - 1)
                continue
            leaves, number = max(one.levels.leaves - 1, 1), len(one.levels.groups[0])
            for level, (groups, share) in enumerate(zip(one.levels.groups, one.levels.shares, strict=True)):
                shares[at, level, :number] = ((share * one.levels.leaves - 1.0) / leaves)[groups]
            meet.append(_meeting(one.levels.groups))
            begins.append(begin)
            last.append(number)
            begin += number * number
        codes = np.ascontiguousarray(np.stack([one.codes for one in ordered]).astype(np.int64))
        return cls(codes, np.array(begins), np.array(last), np.concatenate(meet), shares)


def _spread(one: Dimension) -> int:
    return len(np.unique(one.codes))


def _meeting(groups: Sequence[NDArray[np.int64]]) -> NDArray[np.uint8]:
    """Return, for each pair of values, the lowest level at which they share a node."""
    heights = np.zeros((len(groups[0]), len(groups[0])), dtype=np.uint8)
    for level in groups[:-1]:
        heights += level[:, np.newaxis] != level[np.newaxis, :]
    return heights.ravel()


class _Block:
    """Some kinds of records that are gathered only among themselves.

    Parameters
    ----------
    chart
        The attributes.
    kinds, chosen
        The units by kind, where units of one kind are alike, and the kinds in this block.
    requirements
        What every part must meet.
    """

    def __init__(self, chart: _Chart, kinds: Parts, chosen: NDArray[np.int64], requirements: PartRequirements) -> None:
        self.requirements = requirements
        self.size = (kinds.starts[chosen + 1] - kinds.starts[chosen]).astype(np.int64)
        ends = np.cumsum(self.size)
        self.head: NDArray[np.int64] = ends - self.size
        within = np.arange(int(ends[-1])) - np.repeat(self.head, self.size)
        self.units = kinds.order[np.repeat(kinds.starts[chosen], self.size) + within]
        self.after: NDArray[np.int64] = np.arange(1, len(self.units) + 1, dtype=np.int64)
        self.after[ends - 1] = -1
        self.codes = np.ascontiguousarray(chart.codes[:, self.units])
        self.tables = (chart.begins, chart.last, chart.meet, chart.shares)
        self.names: NDArray[np.int32] = np.zeros((len(chosen) + 1, len(chart.codes), 2), dtype=np.int32)
        self.names[:-1, :, 0] = self.codes[:, self.head].T
        self.names[:-1, :, 1] = np.where(chart.begins >= 0, 0, self.names[:-1, :, 0])

    def settle(self) -> bool:
        """Gather until every part meets the requirements; return whether they do."""
        k = self.requirements.smallest
        gather(self.names, self.size, self.head, self.after, *self.tables, k)
        met = self._join_wrong()
        for _ in range(_PASSES if met else 0):
            before = self.names.copy(), self.size.copy(), self.head.copy(), self.after.copy()
            cost = self._cost()
            improve(self.names, self.size, self.head, self.after, self.codes, *self.tables, k)
            if not self._join_wrong() or self._cost() > cost:
                self.names, self.size, self.head, self.after = before
                break
            if cost - self._cost() < _WORTH * len(self.units):
                break
        return met

    def _cost(self) -> float:
        return float(costs(self.names, self.size, *self.tables) @ self.size)

    def result(self) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
        """Return the units, the part of each, and the number of parts."""
        owner, number = self._numbered()
        return self.units, owner, number

    def _numbered(self) -> tuple[NDArray[np.int64], int]:
        """Return the part of every unit, numbered without empty parts."""
        living = np.flatnonzero(self.size)
        place = np.full(len(self.size), -1, dtype=np.int64)
        place[living] = np.arange(len(living))
        return place[owners(self.head, self.after, len(self.units))], len(living)

    def _join_wrong(self) -> bool:
        """Let parts that violate a model join others, round after round."""
        while True:
            owner, number = self._numbered()
            wrong = self.requirements.violated(owner, number, self.units)
            if not wrong.any() or number == 1:
                return not wrong.any()
            living = np.flatnonzero(self.size)
            asking = living[wrong]
            partner, cost = nearest(self.names, self.size, living, asking, *self.tables, min(_PARTNERS, number - 1))
            self._join(asking, partner, np.where(self._wrong_together(asking, partner), cost + _DEAR, cost))

    def _wrong_together(self, asking: NDArray[np.int64], partner: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return, for each part and each of its possible partners, whether both together still violate a model."""
        owner = owners(self.head, self.after, len(self.units))
        parts = Parts.of(owner, len(self.size))
        pairs = np.stack([np.repeat(asking, partner.shape[1]), partner.ravel()], axis=1).ravel()
        sizes = self.size[pairs]
        begin = np.repeat(parts.starts[pairs] - (np.cumsum(sizes) - sizes), sizes)
        units = parts.order[begin + np.arange(int(sizes.sum()))]
        of_pair = np.repeat(np.arange(len(pairs)) // 2, sizes)
        return self.requirements.violated(of_pair, partner.size, self.units[units]).reshape(partner.shape)

    def _join(self, asking: NDArray[np.int64], partner: NDArray[np.int64], cost: NDArray[np.float64]) -> None:
        """Join each part to its cheapest partner, the cheapest pairs first, each part at most once."""
        used = np.zeros(len(self.size), dtype=bool)
        best = cost.argmin(axis=1)
        for at in np.argsort(cost[np.arange(len(asking)), best], kind="stable").tolist():
            one, other = int(asking[at]), int(partner[at, best[at]])
            if not used[one] and not used[other]:
                used[[one, other]] = True
                join(self.names, self.size, self.head, self.after, one, other, self.size[other], *self.tables[:3])


_DEAR = 1e9
"""The amount added to the cost of partners with whom a part would still violate a model."""
