"""Counts of the small classes of every generalisation of a lattice: all nodes in one compiled pass.

The lattice is walked depth first, one attribute after the other, each level rolled up from the one below it, so every node costs
one merge of the classes of a neighbour. Only one table per attribute is kept, in which its levels are merged in place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unveil.compilation import compiled
from unveil.run import active_run
from unveil.search.lattice.rollup_kernels import merge_word

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.search.lattice.rollup import RollUp

__all__ = ["LatticeSizes", "lattice_sizes"]

_MOST_ROWS = 1 << 29


@dataclass(frozen=True, slots=True, eq=False)
class LatticeSizes:
    """For each node of a lattice: the records in classes below k, the number of other classes, and their summed squares."""

    small: NDArray[np.int64]
    classes: NDArray[np.int64]
    squares: NDArray[np.int64]


def lattice_sizes(rolled: RollUp, k: int) -> LatticeSizes | None:
    """Return the figures of every node; None if the keys do not fit into one word."""
    base, order = rolled.base, rolled.order
    if len(base.keys) > 1 or len(base) >= _MOST_ROWS:
        return None
    shape = tuple(len(rolled.levels[at]) for at in order)
    fields = np.array([(rolled.fields[at].shift, rolled.fields[at].mask) for at in order], dtype=np.uint64)
    maps = [rolled.groups(at, level - 1, level) for at, size in zip(order, shape, strict=True) for level in range(1, size)]
    starts = np.cumsum([0, *(len(groups) for groups in maps)])
    first = np.cumsum([0, *(size - 1 for size in shape)])
    sizes = np.zeros((3, int(np.prod(shape))), dtype=np.int64)
    together = np.concatenate(maps) if maps else np.zeros(0, dtype=np.uint64)
    n = np.ascontiguousarray(base.n)
    run = active_run()
    _walk(base.keys[0], n, np.array(shape), fields, together, starts, first, k, sizes, rolled.capacity.last_epoch, run.flag)
    run.check()
    back = np.argsort(order)
    return LatticeSizes(*(np.ascontiguousarray(one.reshape(shape).transpose(back)) for one in sizes))


@compiled
def _walk(keys, n, shape, fields, maps, starts, first, k, sizes, last, flag):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, PLR0913
    """Fill in the figures of all nodes, in the order of the walk; stop when the flag says so."""
    depths, rows = shape.shape[0], keys.shape[0]
    slots = np.zeros(_power(2 * rows), dtype=np.int32)
    all_keys, all_n = np.empty((depths, rows), dtype=np.uint64), np.empty((depths, rows), dtype=n.dtype)
    level, table, size = np.zeros(depths, dtype=np.int64), np.full(depths + 1, -1), np.full(depths + 1, rows)
    node, depth, epoch = 0, depths, np.int64(1)
    while depth >= 0 and flag[0] == 0:
        if depth == depths:
            # a node is complete: note its figures, and find the attribute that is raised next
            at = table[depths]
            _look(n[:rows] if at < 0 else all_n[at], size[depths], k, sizes, node)
            node += 1
            depth -= 1
            while depth >= 0 and level[depth] == shape[depth] - 1:
                depth -= 1
            if depth < 0:
                break
            # raise it: the classes of the level below, which may already be in its table, are merged into it
            level[depth] += 1
            move = first[depth] + level[depth] - 1
            groups = maps[starts[move] : starts[move + 1]]
            at, other = table[depth + 1], depth
            epoch += rows + 1
            if epoch + rows >= last:
                slots[:] = 0
                epoch = np.int64(1)
            used = slots[: _power(2 * size[depth + 1])]
            size[depth + 1] = merge_word(
                keys if at < 0 else all_keys[at], n if at < 0 else all_n[at], size[depth + 1], fields[depth, 0], fields[depth, 1],
                groups, used, epoch, all_keys[other], all_n[other],
            )  # fmt: skip
            table[depth + 1] = other
            depth += 1
        else:
            # the attributes after it start again at their lowest level
            level[depth], table[depth + 1], size[depth + 1] = 0, table[depth], size[depth]
            depth += 1


@compiled
def _look(n, rows, k, sizes, node):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    small, classes, squares = np.int64(0), np.int64(0), np.int64(0)
    for row in range(rows):
        size = np.int64(n[row])
        if size < k:
            small += size
        else:
            classes += 1
            squares += size * size
    sizes[0, node], sizes[1, node], sizes[2, node] = small, classes, squares


@compiled
def _power(size):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    power = 16
    while power < size:
        power *= 2
    return power
