"""The strict loops of `split_kernels` as array operations, without the half second that it takes to load the compiler.

All parts are handled together. Both choose the same attribute for every part, and number its children in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.search.splitting.parts import Board, Parts

__all__ = ["described", "proposed", "scattered"]

_NONE = -1


def scattered(order: NDArray[np.int64], of_place: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the units part by part, those of a part in their previous order."""
    return order[np.argsort(of_place, kind="stable")]


def described(board: Board, parts: Parts) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Return the extent of every part in every attribute: see `Extents`."""
    extents = [
        _node_of(board, at, parts) if board.hierarchical[at] else _range_of(board, at, parts) for at in range(len(board.codes))
    ]
    low, high, mixed = zip(*extents, strict=True)
    return np.stack(low), np.stack(high), np.stack(mixed)


def _node_of(board: Board, at: int, parts: Parts) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_]]:
    """Return the level, and the group at that level, of the lowest node that holds each part."""
    codes, starts = board.codes[at][parts.order], parts.starts[:-1]
    level = np.zeros(len(parts), dtype=np.int64)
    several = np.ones(len(parts), dtype=bool)
    for groups in board.groups[at]:
        of_place = groups[codes]
        several &= np.minimum.reduceat(of_place, starts) != np.maximum.reduceat(of_place, starts)
        if not several.any():
            break
        level += several
    return level, board.groups[at][level, codes[starts]].astype(np.int64), np.zeros(len(parts), dtype=bool)


def _range_of(board: Board, at: int, parts: Parts) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_]]:
    """Return the lowest and highest rank of each part, and whether it holds nulls beside values."""
    codes, starts, null = board.codes[at][parts.order].astype(np.int64), parts.starts[:-1], board.nulls[at]
    if null == _NONE:
        return np.minimum.reduceat(codes, starts), np.maximum.reduceat(codes, starts), np.zeros(len(parts), dtype=bool)
    absent = codes == null
    nulls = np.add.reduceat(absent, starts, dtype=np.int64)
    empty = nulls == np.diff(parts.starts)
    low = np.minimum.reduceat(np.where(absent, np.iinfo(np.int64).max, codes), starts)
    high = np.maximum.reduceat(np.where(absent, _NONE, codes), starts)
    return np.where(empty, null, low), np.where(empty, null, high), (nulls > 0) & ~empty


@dataclass(frozen=True, slots=True, eq=False)
class _Some:
    """The units of some parts: the part (counted from 0), code and records of each unit, and the fewest records of a part."""

    part: NDArray[np.int64]
    parts: int
    codes: NDArray[np.int64]
    n: NDArray[np.int64]
    smallest: int

    def sums(self, of_unit: NDArray[np.int64], number: int) -> NDArray[np.int64]:
        """Return the records of each of so many groups of units."""
        return np.bincount(of_unit, weights=self.n, minlength=number).astype(np.int64)


_Split: TypeAlias = "tuple[NDArray[np.int64], NDArray[np.int64]]"
"""The child of every unit, and the number of children of each part: one if it is not split."""


def proposed(
    board: Board, parts: Parts, tried: NDArray[np.bool_], n: NDArray[np.int64], smallest: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the child of every unit, each part's number of children, and the widest attribute along which it may be split."""
    child = np.zeros(len(parts.order), dtype=np.int64)
    number, chosen = np.ones(len(parts), dtype=np.int64), np.full(len(parts), _NONE, dtype=np.int64)
    low, high, mixed = described(board, parts)
    span = _spans(board, low, high, mixed)
    span[tried.T] = 0.0
    sizes = np.diff(parts.starts)
    weight = np.add.reduceat(n[parts.order], parts.starts[:-1])
    span[:, (weight < 2 * smallest) | (sizes == 1)] = 0.0
    while (span > 0.0).any():
        widest = np.where(span.max(axis=0) > 0.0, span.argmax(axis=0), _NONE)
        for at in np.unique(widest[widest != _NONE]).tolist():
            which = widest == at
            span[at, which] = 0.0
            for some, split in _ways(board, at, which, low[at], mixed[at]):
                places = np.repeat(some, sizes)
                units = parts.order[places]
                of_part = np.repeat(np.arange(np.count_nonzero(some)), sizes[some])
                held = _Some(of_part, int(some.sum()), board.codes[at][units].astype(np.int64), n[units], smallest)
                of_unit, children = split(held)
                child[places], number[some] = np.where(children[of_part] > 1, of_unit, 0), children
            done = which & (number > 1)
            chosen[done], span[:, done] = at, 0.0
    return child, number, chosen


def _spans(board: Board, low: NDArray[Any], high: NDArray[Any], mixed: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return how wide every part is along every attribute."""
    spans = np.empty(low.shape)
    for at, widths in enumerate(board.widths):
        if board.hierarchical[at]:
            spans[at] = np.where(low[at] > 0, widths[low[at], high[at]], 0.0)
        else:
            spans[at] = np.where(mixed[at], 1.0, widths[0, high[at]] - widths[0, low[at]])
    return spans


def _ways(
    board: Board, at: int, which: NDArray[np.bool_], low: NDArray[Any], mixed: NDArray[np.bool_]
) -> Iterator[tuple[NDArray[np.bool_], Callable[[_Some], _Split]]]:
    """Yield the chosen parts in groups, with the way in which each group is split along an attribute."""
    if board.hierarchical[at]:
        for level in np.unique(low[which]).tolist():
            yield which & (low == level), partial(_children, below=board.groups[at][level - 1])
        return
    if (which & mixed).any():
        yield which & mixed, partial(_nulls_apart, null=board.nulls[at])
    if (which & ~mixed).any():
        yield which & ~mixed, _halves


def _nulls_apart(some: _Some, null: np.int64) -> _Split:
    absent = (some.codes == null).astype(np.int64)
    sides = some.sums(2 * some.part + absent, 2 * some.parts).reshape(-1, 2)
    return absent, np.where((sides >= some.smallest).all(axis=1), 2, 1)


def _halves(some: _Some) -> _Split:
    """Cut an ordered attribute where the halves are most nearly equal; of several such cuts, at the lowest."""
    values = int(some.codes.max()) + 1
    cells, of_unit = np.unique(some.part * values + some.codes, return_inverse=True)
    n = some.sums(of_unit, len(cells))
    part, code = np.divmod(cells, values)
    first = np.searchsorted(part, np.arange(some.parts))
    last = np.append(first[1:], len(cells)) - 1
    whole = np.cumsum(n)
    below = whole - (whole[first] - n[first])[part]
    weight = below[last]
    far = np.abs(2 * below - weight[part])
    far[last] = np.iinfo(np.int64).max  # all of them on one side are no halves
    nearest = np.flatnonzero(far == np.minimum.reduceat(far, first)[part])
    cut = nearest[np.searchsorted(part[nearest], np.arange(some.parts))]
    left = below[cut]
    children = np.where((left >= some.smallest) & (weight - left >= some.smallest), 2, 1)
    return (some.codes > code[cut][some.part]).astype(np.int64), children


def _children(some: _Some, below: NDArray[Any]) -> _Split:
    """Make every child of a node a part; children that are too small share one, with the smallest of the others if need be."""
    width = len(below)
    keys = some.part * width + below[some.codes]
    cells, first, of_unit = np.unique(keys, return_index=True, return_inverse=True)
    part, n = cells // width, some.sums(of_unit, len(cells))
    small = n < some.smallest
    rest = np.bincount(part, weights=np.where(small, n, 0), minlength=some.parts).astype(np.int64)
    lacking = (rest > 0) & (rest < some.smallest)
    # the smallest large child of each part, of several the one that comes first, takes in what is left over
    large = np.flatnonzero(~small)
    large = large[np.lexsort((first[large], n[large], part[large]))]
    least = large[np.diff(part[large], prepend=_NONE) > 0]
    own = ~small
    own[least[lacking[part[least]]]] = False
    # children are numbered as they come; what is left over is number 0
    kept = np.flatnonzero(own)
    kept = kept[np.lexsort((first[kept], part[kept]))]
    before = np.searchsorted(part[kept], np.arange(some.parts))
    number = np.zeros(len(cells), dtype=np.int64)
    number[kept] = np.arange(len(kept)) - before[part[kept]] + (rest > 0)[part[kept]]
    return number[of_unit], np.bincount(part[kept], minlength=some.parts) + (rest > 0)
