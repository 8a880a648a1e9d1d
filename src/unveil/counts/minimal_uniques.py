"""On which smallest sets of columns is a record unique? A search over all of them, compiled.

A minimal sample unique of a record is a set of columns on which no other record shares its values, while on every smaller
set within it some other record does. Columns are numbered by rising cardinality, a set of them is a binary number, and the walk
goes up through the numbers, so that every set comes before those that contain it. Each set splits the classes of the set
without its lowest column. A cell that becomes unique leaves the classes; if it holds one record and none of its
minimal uniques found so far lies within the set, the set is one more.

Two things keep the walk short. Cells that no later column distinguishes are joined (others are still compared with them, but they
can never be unique), and a class without any record that could be unique is dropped. Cells are in the order of their codes from
the first column on, and splitting keeps that order, so such cells are neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.compilation import compiled
from unveil.counts.refine import subsets_up_to
from unveil.errors import ArgumentError
from unveil.run import Run, active_run, watched

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.counts.grouping import Codes

__all__ = ["MOST_COLUMNS", "MinimalUniques", "find_minimal_uniques"]

MOST_COLUMNS = 32
"""The most columns: a set of columns is a bit mask of 32 bits."""

_NONE = 0xFFFFFFFF
"""The mark at the end of a list of blocks."""

_BLOCK = 8
"""Minimal uniques are listed in blocks: the number of the next block, then sets of columns, filled up with zeros."""

_CROWD = 0x80000000
"""A bit that is set in a cell's number if the cell stands for several records, so that it can never be unique."""

_CELL = 0x7FFFFFFF
"""The mask of the remaining bits, which are the cell's number."""

_MOST_BLOCKS = _NONE
"""The most blocks: their numbers have 32 bits."""

_BUDGET = 5_000_000
"""The number of cells that can be examined in a few tenths of a second."""

_BEGIN, _END, _FIRST, _RUNS, _SET, _NEXT, _LOWEST = range(7)
"""The fields of a frame: where its cells begin and end, where its run starts begin, its number of runs, its set of columns,
the next column to add, and the column at which to stop."""

_DEPTH, _USED, _DONE = range(3)
"""The fields of the walk's state: its current frame (below 0 at the end), the blocks in use, the sets of columns done."""

_PAUSED, _NO_BLOCKS, _NO_ROOM = range(3)
"""Why the walk stopped: its budget is spent (or all is done), too few blocks are left, or too little room for classes."""


@dataclass(frozen=True, slots=True, eq=False)
class MinimalUniques:
    """The minimal sample uniques of every cell.

    Attributes
    ----------
    starts, sets
        The minimal sample uniques of cell c are sets[starts[c]:starts[c + 1]]; bit i of a set stands for column i.
    by_size
        For each cell, how many it has of one column, of two, and so on.
    by_column
        For each column, how many sets of one column, of two, and so on, contain it, over all cells.
    """

    starts: NDArray[np.int64]
    sets: NDArray[np.uint32]
    by_size: NDArray[np.int32]
    by_column: NDArray[np.int64]


def find_minimal_uniques(
    codes: Sequence[Codes],
    sizes: Sequence[int],
    n: NDArray[np.int64],
    *,
    max_size: int,
    budget: int = _BUDGET,
    most_blocks: int = _MOST_BLOCKS,
) -> MinimalUniques:
    """Find the minimal sample uniques of every cell of a count table.

    Parameters
    ----------
    codes, sizes
        For each column the code of every cell, and how many values it has. No two cells agree in all columns.
    n
        The records in each cell.
    max_size
        The largest sets of columns to look at.
    budget
        How many cells are examined between two reports of progress.
    most_blocks
        How many blocks of minimal uniques may be listed.
    """
    order = np.argsort(sizes, kind="stable")
    by_code = watched(len(n), lambda: np.lexsort([codes[at] for at in reversed(order)]))
    kind = np.min_scalar_type(max(sizes) - 1)
    rows = np.empty((len(order), len(n)), dtype=kind)
    for at, column in enumerate(order):
        rows[at] = codes[column][by_code]
    walk = _Walk(rows, n[by_code], max(sizes), max_size)
    total = subsets_up_to(len(order), max_size)
    run = active_run()
    while not walk.finished:
        walk.advance(budget, most_blocks, run)
        run.at("sets of attributes", walk.done, total)
    return walk.uniques(by_code, order, run)


class _Walk:
    """The walk through the sets of columns: its position and its findings."""

    def __init__(self, rows: NDArray[Any], n: NDArray[np.int64], values: int, max_size: int) -> None:
        columns, cells = rows.shape
        self._rows, self._max_size = rows, max_size
        self._below = np.array(
            [[sum(math.comb(at, k) for k in range(room + 1)) for room in range(max_size)] for at in range(columns)],
            dtype=np.int64,
        )
        self._frames = np.zeros((columns + 1, 7), dtype=np.int64)
        self._frames[0, [_END, _RUNS, _LOWEST]] = cells, 1, columns
        self._state = np.zeros(3, dtype=np.int64)
        self._cells = np.empty(3 * cells + 1, dtype=np.uint32)
        self._cells[:cells] = np.arange(cells, dtype=np.uint32) | np.where(n > 1, np.uint32(_CROWD), np.uint32(0))
        self._starts = np.empty(cells + 5, dtype=np.uint32)
        self._starts[:2] = 0, cells
        self._tally = np.zeros(values, dtype=np.int64)
        self._touched = np.empty(min(values, cells), dtype=np.uint32)
        self._lists = np.empty((2 * cells + 1, _BLOCK), dtype=np.uint32)
        self._heads = np.full(cells, _NONE, dtype=np.uint32)

    @property
    def finished(self) -> bool:
        """Whether all sets of columns are done."""
        return bool(self._state[_DEPTH] < 0)

    @property
    def done(self) -> int:
        """How many sets of columns are done, including those that need not be examined."""
        return int(self._state[_DONE])

    def advance(self, budget: int, most_blocks: int, run: Run) -> None:
        """Continue until the budget of examined cells is spent, with at most the allowed number of blocks."""
        stopped = _NO_ROOM
        while stopped != _PAUSED:
            run.check()
            stopped = _walk(
                self._rows, self._max_size, self._below, self._frames, self._state, self._cells, self._starts,
                self._tally, self._touched, self._lists, self._heads, budget, run.flag,
            )  # fmt: skip
            if stopped == _NO_BLOCKS:
                self._lists = _grown(self._lists, most=most_blocks)
            elif stopped == _NO_ROOM:
                self._cells, self._starts = _grown(self._cells), _grown(self._starts)

    def uniques(self, by_code: NDArray[np.int64], order: NDArray[np.int64], run: Run) -> MinimalUniques:
        """Return the findings, with the caller's numbers of cells and columns."""
        columns, cells = self._rows.shape
        starts = np.zeros(cells + 1, dtype=np.int64)
        _count(self._heads, self._lists, by_code, starts, run.flag)
        run.check()
        np.cumsum(starts, out=starts)
        sets = np.empty(int(starts[-1]), dtype=np.uint32)
        by_size = np.zeros((cells, columns), dtype=np.int32)
        by_column = np.zeros((columns, columns), dtype=np.int64)
        _collect(self._heads, self._lists, by_code, order, starts, sets, by_size, by_column, run.flag)
        run.check()
        return MinimalUniques(starts, sets, by_size, by_column)


def _grown(array: NDArray[Any], *, most: int | None = None) -> NDArray[Any]:
    """Return the array with twice the room."""
    room = 2 * len(array) if most is None else min(2 * len(array), most)
    if room <= len(array):
        raise ArgumentError("there are more minimal sample uniques than can be held; name fewer columns, or limit max_size.")
    return watched(room, lambda: _with_room(array, room))


def _with_room(array: NDArray[Any], room: int) -> NDArray[Any]:
    larger = np.empty((room, *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)] = array
    return larger


@compiled
def _walk(  # type: ignore[no-untyped-def]  # noqa: ANN202, PLR0913 - the state of the walk, array by array
    rows, max_size, below, frames, state, cells, starts, tally, touched, lists, heads, budget, flag,  # noqa: ANN001
):  # fmt: skip
    """Continue until the budget is spent, room is short, the flag is set, or all is done; return which of these it was."""
    depth, used, done = state[_DEPTH], state[_USED], state[_DONE]
    spent = 0
    stopped = _PAUSED
    while depth >= 0 and spent < budget and flag[0] == 0:
        frame = frames[depth]
        begin, end, first, runs, at = frame[_BEGIN], frame[_END], frame[_FIRST], frame[_RUNS], frame[_NEXT]
        if at == frame[_LOWEST]:
            depth -= 1
            continue
        width = end - begin
        free = first + runs + 1
        room = max_size - depth - 1
        leaf = at == 0 or room == 0
        if used + width > lists.shape[0]:
            stopped = _NO_BLOCKS
            break
        if not leaf and (end + width > cells.shape[0] or free + width // 2 + 1 > starts.shape[0]):
            stopped = _NO_ROOM
            break
        frame[_NEXT] = at + 1
        spent += width
        subset = frame[_SET] | 1 << at
        if leaf:
            used = _single(rows[at], subset, cells, begin, starts, first, runs, tally, touched, lists, heads, used, flag)
            done += below[at, room]
            continue
        used, new_runs = _split(
            rows[at], subset, cells, begin, end, starts, first, runs, free, tally, touched, lists, heads, used, flag,
        )  # fmt: skip
        if at > 1 and at + 1 < frame[_LOWEST]:
            new_runs = _join(rows, at, cells, end, starts, free, new_runs)
        if new_runs == 0:
            done += below[at, room]
            continue
        done += 1
        depth += 1
        child = frames[depth]
        child[_BEGIN], child[_END], child[_FIRST], child[_RUNS] = end, end + starts[free + new_runs], free, new_runs
        child[_SET], child[_NEXT], child[_LOWEST] = subset, 0, at
    state[_DEPTH], state[_USED], state[_DONE] = depth, used, done
    return stopped


@compiled
def _note(cell, subset, lists, heads, used):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Keep a set on which a cell is unique, unless a subset of it is kept already; return how many blocks are in use."""
    at = heads[cell]
    # go through the sets of the cell, newest block first; the free slot is in the newest
    free = 1 if at != _NONE else _BLOCK
    newest = True
    while at != _NONE:
        for slot in range(1, _BLOCK):
            kept = lists[at, slot]
            if kept == 0:
                break
            if kept & ~subset == 0:
                return used
            free += newest
        newest = False
        at = lists[at, 0]
    if free < _BLOCK:
        lists[heads[cell], free] = subset
        return used
    # a new block, before the others
    lists[used, 0], lists[used, 1], lists[used, 2:] = heads[cell], subset, 0
    heads[cell] = used
    return used + 1


@compiled
def _single(  # type: ignore[no-untyped-def]  # noqa: ANN202, C901, PLR0912, PLR0913 - one loop, kept whole for speed
    row, subset, cells, begin, starts, first, runs, tally, touched, lists, heads, used, flag,  # noqa: ANN001
):  # fmt: skip
    """Note the cells that the last column makes unique, without splitting their classes."""
    for run in range(first, first + runs):
        if flag[0] != 0:
            break
        start, stop = begin + starts[run], begin + starts[run + 1]
        if stop - start == 2:  # noqa: PLR2004 - most classes are pairs
            one, other = cells[start], cells[start + 1]
            if row[one & _CELL] != row[other & _CELL]:
                if one < _CROWD:
                    used = _note(one, subset, lists, heads, used)
                if other < _CROWD:
                    used = _note(other, subset, lists, heads, used)
            continue
        # how many cells hold each value, up to many; a crowd counts as a cell, but is never noted
        values = 0
        alone = 0
        for at in range(start, stop):
            code = row[cells[at] & _CELL]
            held = tally[code]
            if held == 0:
                touched[values] = code
                values += 1
                alone += 1
            elif held == 1:
                alone -= 1
            tally[code] = held + 1
        # those that hold a value alone are unique
        if alone > 0:
            for at in range(start, stop):
                cell = cells[at]
                if cell < _CROWD and tally[row[cell]] == 1:
                    used = _note(cell, subset, lists, heads, used)
        for value in range(values):
            tally[touched[value]] = 0
    return used


@compiled
def _split(  # type: ignore[no-untyped-def]  # noqa: ANN202, C901, PLR0913 - one loop, kept whole for speed
    row, subset, cells, begin, end, starts, first, runs, free, tally, touched, lists, heads, used, flag,  # noqa: ANN001
):  # fmt: skip
    """Split the classes by a column, note the cells that become unique, and keep classes in which others may still do so."""
    kept = 0
    new_runs = 0
    starts[free] = 0
    for run in range(first, first + runs):
        if flag[0] != 0:
            break
        start, stop = begin + starts[run], begin + starts[run + 1]
        # how many cells hold each value, and (above bit 32) how many of them could be unique
        values = 0
        for at in range(start, stop):
            cell = cells[at]
            code = row[cell & _CELL]
            if tally[code] == 0:
                touched[values] = code
                values += 1
            tally[code] += 1 if cell >= _CROWD else 0x100000001
        # where each value's cells go: -1, the one cell is unique; -2, nobody there can be
        for value in range(values):
            code = touched[value]
            held = tally[code]
            if held < 0x100000000:  # noqa: PLR2004
                tally[code] = -2
            elif held == 0x100000001:  # noqa: PLR2004
                tally[code] = -1
            else:
                tally[code] = kept
                kept += held & 0xFFFFFFFF
                new_runs += 1
                starts[free + new_runs] = kept
        for at in range(start, stop):
            cell = cells[at]
            code = row[cell & _CELL]
            to = tally[code]
            if to >= 0:
                cells[end + to] = cell
                tally[code] = to + 1
            elif to == -1:
                used = _note(cell, subset, lists, heads, used)
        for value in range(values):
            tally[touched[value]] = 0
    return used, new_runs


@compiled
def _join(rows, lowest, cells, base, starts, first, runs):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Join cells of a class that agree in all columns below `lowest`, and drop classes in which no cell can be unique."""
    kept = 0
    new_runs = 0
    start = 0
    for run in range(first + 1, first + runs + 1):
        stop = starts[run]
        begin = kept
        hopeful = False
        at = start
        while at < stop:
            cell = cells[base + at]
            at += 1
            # cells in a row that agree become one crowd
            while at < stop and _agree(rows, lowest, cell & _CELL, cells[base + at] & _CELL):
                cell |= _CROWD
                at += 1
            hopeful |= cell < _CROWD
            cells[base + kept] = cell
            kept += 1
        # keep the class only if a cell in it is still alone
        if hopeful:
            new_runs += 1
            starts[first + new_runs] = kept
        else:
            kept = begin
        start = stop
    return new_runs


@compiled
def _agree(rows, lowest, one, other):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Whether two cells have the same values in all columns below `lowest`; columns with more values are compared first."""
    for at in range(lowest - 1, -1, -1):  # noqa: SIM110 - compiled
        if rows[at, one] != rows[at, other]:
            return False
    return True


@compiled
def _count(heads, lists, by_code, starts, flag):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Count each cell's minimal uniques, in the entry after its own."""
    for cell in range(heads.shape[0]):
        if flag[0] != 0:
            return
        at = heads[cell]
        while at != _NONE:
            for slot in range(1, _BLOCK):
                starts[by_code[cell] + 1] += lists[at, slot] != 0
            at = lists[at, 0]


@compiled
def _collect(  # type: ignore[no-untyped-def]  # noqa: ANN202
    heads, lists, by_code, order, starts, sets, by_size, by_column, flag,  # noqa: ANN001
):  # fmt: skip
    """Write every cell's minimal uniques in one piece, in the caller's numbering, and count them by size and column."""
    inside = np.empty(order.shape[0], dtype=np.int64)
    for cell in range(heads.shape[0]):
        if flag[0] != 0:
            return
        to = by_code[cell]
        place = starts[to]
        at = heads[cell]
        while at != _NONE:
            for slot in range(1, _BLOCK):
                kept = lists[at, slot]
                if kept == 0:
                    break
                # columns are kept in the order of the search; write them in the caller's
                size = 0
                subset = 0
                for column in range(order.shape[0]):
                    if kept >> column & 1:
                        inside[size] = order[column]
                        subset |= 1 << order[column]
                        size += 1
                for some in range(size):
                    by_column[inside[some], size - 1] += 1
                by_size[to, size - 1] += 1
                sets[place] = subset
                place += 1
            at = lists[at, 0]
