"""The classes of a generalisation, rolled up from those of a finer one, never from the records.

A class is a key of bit fields, one field per attribute, in one or more 64-bit words; raising an attribute's level rewrites its
field and merges the keys that became equal. A generalisation is reached attribute by attribute, those with most values first,
and the tables on the way are kept, so a neighbour costs only the roll-up of its last attributes. If there are very many cells,
these tables would take several times the memory of the cells: each generalisation is made in one pass instead (`one_pass`).
"""

from __future__ import annotations

import operator
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.compilation import Pace
from unveil.search.lattice import class_table, rollup_kernels
from unveil.search.lattice.capacity import USUAL, Capacity
from unveil.search.lattice.class_table import ClassTable, CodeField, fields_of, packed
from unveil.search.lattice.one_pass import OnePass, merged_at_once

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Merger", "RollUp", "classes_of", "code_sums", "rows_among"]

_PACE = Pace(rollup_kernels.merge, rollup_kernels.number, rollup_kernels.sum_codes)
_MOST_KEPT = 1 << 28
"""The most bytes that the intermediate tables kept may take."""


class RollUp:
    """The tables of all generalisations of some columns, made on request.

    Parameters
    ----------
    codes, sizes
        The cells of a count table: for every column the code of each cell, and the number of its values.
    amounts
        The amounts to sum: one row per cell, the number of its records in the first column.
    levels
        For the first columns, those that are generalised: for each allowed level, the group of every value. The other columns
        stay as they are.
    distinct
        Whether no two cells agree in all columns.
    capacity
        The sizes from which tables are made in other ways.
    pace
        When compiled loops take over from array operations.
    """

    def __init__(
        self,
        codes: Sequence[NDArray[Any]],
        sizes: Sequence[int],
        amounts: NDArray[np.integer[Any]],
        levels: Sequence[Sequence[NDArray[np.int64]]],
        *,
        distinct: bool = False,
        capacity: Capacity = USUAL,
        pace: Pace = _PACE,
    ) -> None:
        self.capacity, self._pace = capacity, pace
        lowest = [groups[0] for groups in levels]
        base = [*(int(groups.max()) + 1 for groups in lowest), *sizes[len(levels) :]]
        self.fields = fields_of(base)
        self.levels = levels
        self._maps: dict[tuple[int, int, int], NDArray[np.uint64]] = {}
        self._holders: dict[tuple[int, int], NDArray[np.int64]] = {}  # for each group of a level a value that is in it
        narrow = [groups.astype(np.min_scalar_type(size)) for groups, size in zip(lowest, base, strict=False)]
        coded = chain((groups[column] for groups, column in zip(narrow, codes, strict=False)), codes[len(levels) :])
        self.order = sorted(range(len(levels)), key=lambda at: -base[at])
        whole = ClassTable(packed(coded, self.fields, len(amounts)), amounts)
        apart = distinct and base[: len(levels)] == list(sizes[: len(levels)])  # at the lowest levels all cells stay distinct
        self.base = whole if apart else _cells_merged(whole, capacity, pace)
        many = len(self.base) > capacity.many_rows
        self._at_once = OnePass(self.base, self.fields, self.order, self.groups, capacity) if many else None
        self._merger = Merger(self.base.amounts[:0] if many else self.base.amounts, len(whole.keys), capacity, pace)
        self._kept: OrderedDict[tuple[int, ...], ClassTable] = OrderedDict()
        self._begin(self.base, [0] * len(levels))

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the intermediate tables, which can be made again from the first one."""
        return {**self.__dict__, "_kept": OrderedDict(), "_bytes": 0}

    def _begin(self, table: ClassTable, lowest: Sequence[int]) -> None:
        """Start from the table of a node, whose levels become the lowest."""
        self._first, self._lowest, self._is_raised = table, tuple(lowest[at] for at in self.order), any(lowest)
        upwards = [
            {level: self.groups(at, low, level) for level in range(low + 1, len(self.levels[at]))}
            for at, low in zip(self.order, self._lowest, strict=True)
        ]
        self._merger.follow([self.fields[at] for at in self.order], upwards, self._lowest)
        self._kept.clear()
        self._bytes = 0

    def raise_lowest(self, fails: Callable[[ClassTable], bool]) -> tuple[int, ...]:
        """Drop the levels of each attribute that fail even with all other attributes left out, and all lower levels.

        Returns the lowest levels that remain, at most the highest there are. All further tables are made from the table of these.
        """
        lowest, first = [0] * len(self.levels), self.base
        if self._at_once is not None:
            return tuple(lowest)
        for at in self.order:
            alone = self._alone(first, at, 0)
            low = bisect_left(range(len(self.levels[at]) - 1), x=True, key=partial(self._does_alone, fails, alone, at))
            if low:
                first, lowest[at] = self._merger.merged(first, self.fields[at], self.groups(at, 0, low)).copy(), low
        if any(lowest):
            self._begin(first, lowest)
        return tuple(lowest)

    def _does_alone(self, fails: Callable[[ClassTable], bool], alone: ClassTable, at: int, level: int) -> bool:
        """Whether an attribute at a level passes with all others left out."""
        return not fails(self._alone(alone, at, level))

    def _alone(self, table: ClassTable, at: int, level: int) -> ClassTable:
        """Return the classes by one attribute only, from a table that has it at its lowest level."""
        field, groups = self.fields[at], self.groups(at, 0, level)
        shift, mask, number = np.uint64(field.shift), np.uint64(field.mask), int(groups.max()) + 1
        sums = np.zeros((number, table.amounts.shape[1]), dtype=table.amounts.dtype)
        word = table.keys[field.word]
        if self._pace.pays(table.amounts.size):
            rollup_kernels.sum_groups(word, table.amounts, shift, mask, groups, sums)
        else:
            np.add.at(sums, groups[(word >> shift) & mask].astype(np.int64), table.amounts)
        keys = [np.zeros(number, dtype=np.uint64) for _ in table.keys]
        keys[field.word] = np.arange(number, dtype=np.uint64) << shift
        return ClassTable(tuple(keys), sums)

    def table(self, node: Sequence[int]) -> ClassTable:
        """Return the classes of the generalisation that has these levels, counted from the lowest allowed.

        The table lasts until the next one is requested.
        """
        if self._at_once is not None and (made := self._at_once.table(tuple(node))) is not None:
            return made
        path = tuple(node[at] for at in self.order)
        if self._is_raised and any(map(operator.lt, path, self._lowest)):
            self._begin(self.base, [0] * len(self.levels))
        table = self._first
        for done, (level, low) in enumerate(zip(path, self._lowest, strict=True), 1):
            if len(table.amounts) <= self.capacity.few_rows and self._pace.pays(table.amounts.size):
                return self._merger.merged_all(table, path, done - 1)
            if level > low:
                known = self._kept.get(path[:done])
                table = known if known is not None else self._raised(path[:done], table)
        return table

    def table_within(self, node: Sequence[int], most: int | None) -> ClassTable | None:
        """Return the classes of a generalisation as `table` does; the result may be None if there are more than `most`."""
        return self.table(node) if self._at_once is None else self._at_once.table(tuple(node), most)

    def _raised(self, path: tuple[int, ...], before: ClassTable) -> ClassTable:
        """Return a table, made from the one kept at the next lower level of this attribute, or at worst at its lowest level."""
        level, at, lowest = path[-1], self.order[len(path) - 1], self._lowest[len(path) - 1]
        lower = next((under for under in range(level - 1, lowest, -1) if (*path[:-1], under) in self._kept), lowest)
        finer = self._kept[*path[:-1], lower] if lower > lowest else before
        merged = self._merger.merged(finer, self.fields[at], self.groups(at, lower, level))
        return self._keep(path, merged.copy()) if len(path) < len(self.order) else merged

    def groups(self, at: int, lower: int, level: int) -> NDArray[np.uint64]:
        """Return, for every group of a lower level, the group at this level that contains it."""
        if (at, lower, level) not in self._maps:
            if (at, lower) not in self._holders:
                self._holders[at, lower] = np.unique(self.levels[at][lower], return_index=True)[1]
            self._maps[at, lower, level] = self.levels[at][level][self._holders[at, lower]].astype(np.uint64)
        return self._maps[at, lower, level]

    def _keep(self, path: tuple[int, ...], table: ClassTable) -> ClassTable:
        self._kept[path] = table
        self._bytes += table.nbytes
        while self._bytes > _MOST_KEPT and len(self._kept) > 1:
            _, dropped = self._kept.popitem(last=False)
            self._bytes -= dropped.nbytes
        return table


class Merger:
    """Reusable memory for merging tables; a slot belongs to the current merge if its entry is not below the epoch."""

    def __init__(self, amounts: NDArray[np.integer[Any]], words: int, capacity: Capacity = USUAL, pace: Pace = _PACE) -> None:
        rows = len(amounts)
        self._pace, self._last_epoch = pace, capacity.last_epoch
        self._keys = tuple(np.empty(rows, dtype=np.uint64) for _ in range(words))
        self._amounts = np.empty_like(amounts)
        self._slots = np.zeros(_slots(rows), dtype=np.int32)
        self._epoch = 1
        self._step = rows + 1
        few = min(rows, capacity.few_rows)
        self._few = [(tuple(word[:few].copy() for word in self._keys), self._amounts[:few].copy()) for _ in range(2)]
        self.follow([], [], [])

    def follow(
        self, fields: Sequence[CodeField], upwards: Sequence[Mapping[int, NDArray[np.uint64]]], lowest: Sequence[int]
    ) -> None:
        """Set the order in which columns are raised, the groups of each column at every level, and the lowest levels."""
        self._lowest, self._is_raised = np.array(lowest, dtype=np.int64), any(lowest)
        maps = [groups for levels in upwards for groups in levels.values()]
        ends = iter(np.cumsum([0, *(len(groups) for groups in maps)]).tolist())
        self._starts = np.zeros(
            (len(upwards), 1 + max((max(levels, default=0) for levels in upwards), default=0)), dtype=np.int64
        )
        for at, levels in enumerate(upwards):
            for level in levels:
                self._starts[at, level] = next(ends)
        self._maps = np.concatenate([*maps, np.zeros(0, dtype=np.uint64)])
        self._places = np.array([(one.word, one.shift, one.mask) for one in fields], dtype=np.uint64).reshape(-1, 3)

    def merged_all(self, table: ClassTable, path: Sequence[int], done: int) -> ClassTable:
        """Return a small table with the columns of a path raised, except those already raised."""
        levels = np.array(path)
        if self._is_raised:
            levels[levels == self._lowest] = 0
        levels[:done] = 0
        (keys, sums), (spare, spare_sums) = self._few
        slots = self._slots[: _slots(len(table))]
        self._begin(len(levels))
        rows, merges = rollup_kernels.merge_all(
            table.keys, table.amounts, levels, self._places, self._starts, self._maps, slots, self._epoch, self._step,
            keys, sums, spare, spare_sums,
        )  # fmt: skip
        self._epoch += self._step * merges
        if not merges:
            return table
        last = self._few[(merges + 1) % 2]
        return ClassTable(tuple(word[:rows] for word in last[0]), last[1][:rows])

    def _begin(self, merges: int) -> None:
        """Begin a new epoch; if too few epoch numbers are left, empty all slots first."""
        self._epoch += self._step
        if self._epoch + self._step * (merges + 1) > self._last_epoch:
            self._slots[:] = 0
            self._epoch = 1

    def merged(self, table: ClassTable, field: CodeField, groups: NDArray[np.uint64]) -> ClassTable:
        """Return the table with one column's codes replaced by their groups and equal keys merged."""
        if not self._pace.pays(table.amounts.size):
            return ClassTable(*class_table.merged(_regrouped(table.keys, field, groups), table.amounts))
        self._begin(1)
        slots = self._slots[: _slots(len(table))]
        shift, mask = np.uint64(field.shift), np.uint64(field.mask)
        rows = rollup_kernels.merge(
            table.keys, table.amounts, len(table), field.word, shift, mask, groups, slots, self._epoch, self._keys, self._amounts
        )
        return ClassTable(tuple(word[:rows] for word in self._keys), self._amounts[:rows])


def _cells_merged(cells: ClassTable, capacity: Capacity, pace: Pace) -> ClassTable:
    """Return cells with equal keys merged."""
    if not pace.pays(cells.amounts.size):
        return ClassTable(*class_table.merged(cells.keys, cells.amounts))
    return merged_at_once(cells, [], [], first_room=capacity.first_room) or cells


def _regrouped(keys: Sequence[NDArray[np.uint64]], field: CodeField, groups: NDArray[np.uint64]) -> list[NDArray[np.uint64]]:
    """Return keys with one column's codes replaced by their groups."""
    words, shift, mask = list(keys), np.uint64(field.shift), np.uint64(field.mask)
    word = words[field.word]
    words[field.word] = (word & ~(mask << shift)) | (groups[(word >> shift) & mask] << shift)
    return words


def classes_of(
    keys: tuple[NDArray[np.uint64], ...], fields: Sequence[CodeField], pace: Pace = _PACE
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the class of every row, where rows that agree in these columns form a class, and the first row of each class."""
    masks = np.zeros(len(keys), dtype=np.uint64)
    for field in fields:
        masks[field.word] |= np.uint64(field.mask << field.shift)
    rows = len(keys[0])
    if not pace.pays(rows):
        return class_table.numbered([word & mask for word, mask in zip(keys, masks, strict=True)])
    of_row, first = np.empty(rows, dtype=np.int64), np.empty(rows, dtype=np.int64)
    number = rollup_kernels.number(keys, masks, np.full(_slots(rows), -1, dtype=np.int64), of_row, first)
    return of_row, first[:number]


def rows_among(table: ClassTable, keys: tuple[NDArray[np.uint64], ...], fields: Sequence[CodeField]) -> NDArray[np.int64]:
    """Return the row of each key in a table that contains all of them."""
    of_row, _ = classes_of(tuple(np.concatenate(pair) for pair in zip(table.keys, keys, strict=True)), fields)
    return of_row[len(table) :]


def code_sums(
    table: ClassTable,
    fields: Sequence[CodeField],
    costs: Sequence[NDArray[np.float64]],
    chosen: NDArray[np.bool_],
    pace: Pace = _PACE,
) -> tuple[int, NDArray[np.float64]]:
    """Return the number of records in the chosen rows, and for each column the cost of their codes, summed over these records."""
    if not pace.pays(len(table)):
        rows = np.flatnonzero(chosen)
        n = table.n[rows].astype(np.int64)
        return int(n.sum()), class_table.summed_codes(n, [table.codes(one, rows) for one in fields], costs)
    at = np.array([(one.word, one.shift, one.mask) for one in fields], dtype=np.uint64)
    starts = np.cumsum([0, *(len(cost) for cost in costs)])
    sums = np.zeros(len(fields))
    return rollup_kernels.sum_codes(table.keys, table.amounts, at, starts, np.concatenate(costs), chosen, sums), sums


def _slots(rows: int) -> int:
    return 1 << max(4, ((4 if rows <= USUAL.many_rows else 2) * rows - 1).bit_length())
