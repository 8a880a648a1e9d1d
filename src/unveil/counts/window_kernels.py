"""Compiled loops of counts that grow and expire: combinations of codes found in a hash table, and their records counted.

A combination is a row of codes; combinations are numbered (their place) in the order of their first occurrence. `slots` is a
table of places with open addressing, at least twice as long as the rows; an empty slot is -1. A loop that finds no room for a new
combination stops, says how far it has come, and continues when the caller has made room.

numba is imported with this module; import it when a window begins, not before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.compilation import compiled, compiled_in_place

__all__ = ["add_counted", "add_records", "find_rows", "refill_slots", "slide_records", "subtract_counted", "subtract_records"]


@compiled_in_place
def _slot_of(codes: Any, at: int, rows: Any, slots: Any) -> Any:
    """Return the slot that holds the combination of a record, or the empty one where it belongs."""
    # hash the codes of all columns
    mixed = np.uint64(0x9E3779B97F4A7C15)
    for column in range(codes.shape[1]):
        mixed = (mixed ^ np.uint64(codes[at, column])) * np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(29)
    # probe from there, slot by slot, until the combination or an empty slot comes
    mask = len(slots) - 1
    slot = np.int64(mixed & np.uint64(mask))
    while True:
        place = slots[slot]
        if place < 0:
            return slot
        same = True
        for column in range(codes.shape[1]):
            if rows[place, column] != codes[at, column]:
                same = False
                break
        if same:
            return slot
        slot = (slot + 1) & mask


@compiled
def add_records(codes: Any, start: int, rows: Any, n: Any, slots: Any, used: int, places: Any) -> tuple[int, int]:
    """Count one record for each row of codes from `start` on, and note its place; return the record reached and the used rows."""
    for at in range(start, len(codes)):
        # a new combination takes the next row, if there is room
        slot = _slot_of(codes, at, rows, slots)
        place = slots[slot]
        if place < 0:
            if used == len(rows):
                return at, used
            place = used
            slots[slot] = place
            for column in range(codes.shape[1]):
                rows[place, column] = codes[at, column]
            n[place] = 0
            used += 1
        n[place] += 1
        places[at] = place
    return len(codes), used


@compiled
def add_counted(codes: Any, amounts: Any, start: int, rows: Any, n: Any, slots: Any, used: int) -> tuple[int, int]:
    """Count as many records as `amounts` says for each row of codes."""
    for at in range(start, len(codes)):
        # a new combination takes the next row, if there is room
        slot = _slot_of(codes, at, rows, slots)
        place = slots[slot]
        if place < 0:
            if used == len(rows):
                return at, used
            place = used
            slots[slot] = place
            for column in range(codes.shape[1]):
                rows[place, column] = codes[at, column]
            n[place] = 0
            used += 1
        n[place] += amounts[at]
    return len(codes), used


@compiled
def slide_records(
    codes: Any, start: int, rows: Any, n: Any, slots: Any, used: int, ring: Any, oldest: int, held: int
) -> tuple[int, int, int, int]:
    """Count records one by one, each replacing the oldest once the ring is full.

    Returns the record reached, the rows used, where the oldest record is in the ring, and how many it holds.
    """
    size = len(ring)
    for at in range(start, len(codes)):
        # a new combination takes the next row, if there is room
        slot = _slot_of(codes, at, rows, slots)
        place = slots[slot]
        if place < 0:
            if used == len(rows):
                return at, used, oldest, held
            place = used
            slots[slot] = place
            for column in range(codes.shape[1]):
                rows[place, column] = codes[at, column]
            n[place] = 0
            used += 1
        n[place] += 1
        # the record joins the ring, in place of the oldest once the ring is full
        if held < size:
            ring[(oldest + held) % size] = place
            held += 1
        else:
            n[ring[oldest]] -= 1
            ring[oldest] = place
            oldest = oldest + 1 if oldest + 1 < size else 0
    return len(codes), used, oldest, held


@compiled
def subtract_records(places: Any, n: Any) -> None:
    """Subtract one record at each place."""
    for place in places:
        n[place] -= 1


@compiled
def subtract_counted(places: Any, amounts: Any, n: Any) -> None:
    """Subtract as many records at each place as `amounts` says."""
    for at in range(len(places)):
        n[places[at]] -= amounts[at]


@compiled
def find_rows(codes: Any, rows: Any, slots: Any, places: Any) -> None:
    """Note the place of each row of codes; -1 if it has never occurred."""
    for at in range(len(codes)):
        places[at] = slots[_slot_of(codes, at, rows, slots)]


@compiled
def refill_slots(rows: Any, used: int, slots: Any) -> None:
    """Enter all rows into an empty table of slots."""
    for place in range(used):
        slots[_slot_of(rows, place, rows, slots)] = place
