"""The classes of a generalisation in one pass over a table of very many rows, in little memory.

All fields of a key that are raised are rewritten at once, and only the classes are held: there is no intermediate table with
nearly as many rows as the first. Room grows with the classes. A caller who knows the largest useful number of classes can have
the pass end when there is one more. Of the tables made, those that are much smaller than the first are kept, within a share of
its bytes, and whatever is coarser is made from the smallest of them. To get some, the attributes with most values are raised
first, as few of them as possible.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from unveil.search.lattice import rollup_kernels
from unveil.search.lattice.capacity import USUAL, Capacity
from unveil.search.lattice.class_table import ClassTable, CodeField

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["OnePass", "merged_at_once"]

_GROWTH = 4
_MOST_KEPT = 256


class OnePass:
    """The tables of all generalisations of a large one, made on request.

    Parameters
    ----------
    base
        The table of the lowest levels.
    fields
        Where each attribute that is generalised is in the keys.
    order
        The attributes, those with most values first.
    groups
        For an attribute, and a level, the group of every group of a lower level.
    capacity
        How much room a pass begins with, and which tables are kept.
    """

    def __init__(
        self,
        base: ClassTable,
        fields: Sequence[CodeField],
        order: Sequence[int],
        groups: Callable[[int, int, int], NDArray[np.uint64]],
        capacity: Capacity = USUAL,
    ) -> None:
        self._base, self._fields, self._order, self._groups, self._capacity = base, fields, order, groups, capacity
        self._bottom = (0,) * len(order)
        self._kept: OrderedDict[tuple[int, ...], ClassTable] = OrderedDict()
        self._wide: set[tuple[int, ...]] = set()  # nodes with more classes than are kept
        self._rows = len(base) // capacity.much_smaller

    def table(self, node: tuple[int, ...], most: int | None = None) -> ClassTable | None:
        """Return the classes of a node; None if there are more than `most`."""
        if node == self._bottom:
            return self._base if most is None or len(self._base) <= most else None
        if (known := self._kept.get(node)) is not None:
            self._kept.move_to_end(node)
            return known
        finer = self._finer(node)
        if finer == self._bottom:
            finer = self._on_the_way(node)
        table = self._raised(finer, node, most)
        if table is not None and len(table) <= self._rows:
            self._keep(node, table)
        return table

    def _finer(self, node: tuple[int, ...]) -> tuple[int, ...]:
        """Return the node below this one that has the smallest kept table."""
        below = [one for one in self._kept if all(map(int.__le__, one, node))]
        return min(below, key=lambda one: len(self._kept[one]), default=self._bottom)

    def _on_the_way(self, node: tuple[int, ...]) -> tuple[int, ...]:
        """Make a small table below a node, with as few attributes raised as possible; return its node, or the bottom if none."""
        for number in range(1, len(self._order)):
            raised = set(self._order[:number])
            one = tuple(level if at in raised else 0 for at, level in enumerate(node))
            if one == node:
                break
            if any(all(map(int.__le__, one, wide)) for wide in self._wide):
                continue
            table = self._raised(self._bottom, one, self._rows)
            if table is not None:
                self._keep(one, table)
                return one
            self._wide.add(one)
        return self._bottom

    def _raised(self, finer: tuple[int, ...], node: tuple[int, ...], most: int | None) -> ClassTable | None:
        table = self._base if finer == self._bottom else self._kept[finer]
        steps = [(at, lower, level) for at, (lower, level) in enumerate(zip(finer, node, strict=True)) if level > lower]
        fields, groups = [self._fields[at] for at, _, _ in steps], [self._groups(*step) for step in steps]
        return merged_at_once(table, fields, groups, most, self._capacity.first_room)

    def _keep(self, node: tuple[int, ...], table: ClassTable) -> None:
        self._kept[node] = table
        room = self._base.nbytes // self._capacity.share_kept
        while len(self._kept) > 1 and (len(self._kept) > _MOST_KEPT or sum(one.nbytes for one in self._kept.values()) > room):
            self._kept.popitem(last=False)


def merged_at_once(
    table: ClassTable,
    fields: Sequence[CodeField],
    groups: Sequence[NDArray[np.uint64]],
    most: int | None = None,
    first_room: int = USUAL.first_room,
) -> ClassTable | None:
    """Return the table with the codes of some fields replaced by their groups, and equal keys merged.

    The keys are in the order of their first occurrence. None: there are more than `most` of them. There is room for `first_room`
    keys at first, and it grows as needed.
    """
    keep = np.full(len(table.keys), ~np.uint64(0), dtype=np.uint64)
    for field in fields:
        keep[field.word] &= ~np.uint64(field.mask << field.shift)
    places = np.array([(one.word, one.shift, one.mask) for one in fields], dtype=np.uint64).reshape(-1, 3)
    starts = np.cumsum([0, *(len(one) for one in groups)])
    maps = np.concatenate([*groups, np.zeros(1, dtype=np.uint64)])
    limit = len(table) if most is None else min(most, len(table))
    room, row, classes = _room(table, min(limit, first_room)), 0, 0
    while True:
        slots = np.full(_slots(len(room)), -1, dtype=np.int32)
        rollup_kernels.place(room.keys, classes, slots)
        row, classes = rollup_kernels.merge_fields(
            table.keys, table.amounts, row, keep, places, starts, maps, slots, classes, room.keys, room.amounts
        )
        if row == len(table):
            return ClassTable(tuple(word[:classes] for word in room.keys), room.amounts[:classes])
        if classes == limit:
            return None
        room = _room(room, min(limit, _GROWTH * classes), classes)


def _room(table: ClassTable, rows: int, filled: int = 0) -> ClassTable:
    """Return a table with room for this many rows and one to write the next key to; its first rows are those of another."""
    larger = ClassTable(
        tuple(np.empty(rows + 1, dtype=word.dtype) for word in table.keys),
        np.empty((rows + 1, table.amounts.shape[1]), dtype=table.amounts.dtype),
    )
    for new, old in zip((*larger.keys, larger.amounts), (*table.keys, table.amounts), strict=True):
        new[:filled] = old[:filled]
    return larger


def _slots(rows: int) -> int:
    return 1 << max(4, (2 * rows - 1).bit_length())
