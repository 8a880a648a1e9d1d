"""The distinct numbers and texts of a column that comes in batches, numbered in the order of their first occurrence.

A dictionary holds every value once, and a hash table of positions. Texts are held as in Arrow: a view of 16 bytes contains a
short text itself (`texts`); the bytes of longer ones are kept one after the other, and their views say where.
"""

from __future__ import annotations

import math
import mmap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from unveil.compilation import compiled, compiled_in_place
from unveil.sources.texts import IN_PLACE, LENGTH, hash_of_long, mixed, place_of, same_long, views_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["NumberDictionary", "TextDictionary", "enlarged", "scattered", "zeros"]

_FIRST = 1 << 9
_RECENT = 1 << 12
_PIECE = 1 << 17
"""The number of texts passed on at a time."""
_OWN = 1 << 20
"""Arrays of at least this many bytes get memory mappings of their own."""
_VIEW = 16
_BEFORE = 4
"""The offset of a short text in its view, in bytes."""


def zeros(shape: tuple[int, ...], kind: type[Any]) -> NDArray[Any]:
    """Return zeros; many of them in memory of their own, which the system has back as soon as the array is gone.

    Memory freed in the heap of a process is rarely returned to the system: growing arrays leave holes there that are together
    larger than the arrays. A part that is not used yet takes no memory.
    """
    size = math.prod(shape) * np.dtype(kind).itemsize
    if size < _OWN:
        return np.zeros(shape, dtype=kind)
    return np.frombuffer(mmap.mmap(-1, size), dtype=kind).reshape(shape)


@dataclass(slots=True)
class NumberDictionary:
    """A numbering of the distinct integers of a column; 0 is a null."""

    size: int = 1
    _slots: NDArray[np.uint32] = field(default_factory=lambda: np.zeros(2 * _FIRST, dtype=np.uint32))
    _known: NDArray[np.int64] = field(default_factory=lambda: np.empty(_FIRST, dtype=np.int64))

    def codes(self, values: NDArray[np.int64]) -> NDArray[np.uint32]:
        """Return the numbers of values; values not seen before get new numbers."""
        codes = np.empty(len(values), dtype=np.uint32)
        row = 0
        while row < len(values):
            row, self.size = _number(values, row, codes, self._slots, self._known, self.size)
            if row < len(values):
                self._known, self._slots = enlarged(self._known, self.size), zeros((2 * len(self._slots),), np.uint32)
                _place_numbers(self._slots, self._known, self.size)
        return codes

    def values(self) -> NDArray[np.int64]:
        """Return the values in the order of their numbers, from 1."""
        return self._known[1 : self.size]


class TextDictionary:
    """A numbering of the distinct texts of a column; 0 is a null."""

    def __init__(self) -> None:
        self.size = 1
        self._slots = np.zeros(2 * _FIRST, dtype=np.uint32)
        self._known = np.empty((_FIRST, 2), dtype=np.uint64)
        self._bytes, self._used = np.empty(_FIRST, dtype=np.uint8), 0
        self._recent = np.zeros((_RECENT, 3), dtype=np.uint64)

    def codes(self, chunk: pl.Series) -> NDArray[np.uint32]:
        """Return the numbers of the texts of one chunk; texts not seen before get new numbers."""
        codes = np.empty(len(chunk), dtype=np.uint32)
        null = chunk.is_null().to_numpy(writable=True) if chunk.null_count() else np.zeros(0, dtype=bool)
        self._recent[:] = 0  # places in another chunk mean other texts
        row = 0
        with views_of(chunk) as views:
            read = views.words, views.buffers, views.memory
            while row < len(chunk):
                held = self._slots, self._known, self._bytes, self._recent
                row, self.size, self._used = _number_texts(read, null, row, codes, *held, self.size, self._used)
                if row < len(chunk):
                    self._grow(int(views.words[row, 0] & np.uint64(LENGTH)))
        return codes

    def values(self) -> pl.Series:
        """Return the texts in the order of their numbers, from 1."""
        pieces = [self._texts(slice(start, min(start + _PIECE, self.size))) for start in range(1, self.size, _PIECE)]
        return pl.concat([pl.Series(dtype=pl.String), *pieces])

    def _grow(self, length: int) -> None:
        """Make room for a text of this length."""
        if self.size == len(self._known):
            self._known, self._slots = enlarged(self._known, self.size), zeros((2 * len(self._slots),), np.uint32)
            self._recent[:] = 0
            _place_texts(self._slots, self._known, self._bytes, self.size)
        while self._used + length > len(self._bytes):
            self._bytes = enlarged(self._bytes, self._used)

    def _texts(self, those: slice) -> pl.Series:
        """Return some of the texts, which the engine cuts out of the views of short texts followed by the bytes of long ones."""
        words = self._known[those]
        length = words[:, 0] & np.uint64(LENGTH)
        long = length > np.uint64(IN_PLACE)
        short = words[~long]
        first, last = _reach(words[long, 1], length[long])
        begin = np.empty(len(words), dtype=np.uint64)
        begin[~long] = np.arange(_BEFORE, short.nbytes, _VIEW, dtype=np.uint64)
        begin[long] = words[long, 1] - np.uint64(first) + np.uint64(short.nbytes)
        held = pl.lit(short.tobytes() + self._bytes[first:last].tobytes())
        cut = held.bin.slice(pl.Series(begin), pl.Series(length)).cast(pl.String)
        return pl.select(cut.alias("")).to_series()


def _reach(places: NDArray[np.uint64], length: NDArray[np.uint64]) -> tuple[int, int]:
    """Return where the first of some long texts begins, and where the last one ends."""
    return (int(places[0]), int(places[-1] + length[-1])) if len(places) else (0, 0)


def enlarged(array: NDArray[Any], used: int) -> NDArray[Any]:
    """Return an array twice as long, with the used entries."""
    larger = zeros((2 * len(array), *array.shape[1:]), array.dtype.type)
    larger[:used] = array[:used]
    return larger


@compiled_in_place
def scattered(key):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Mix the bits of a word, so that each affects all others."""
    key = (key ^ (key >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    key = (key ^ (key >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return key ^ (key >> np.uint64(32))


@compiled
def _number(values, row, codes, slots, known, size):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Give values numbers from a row on, as long as there is room; return the row, and the next number."""
    last = np.uint64(slots.shape[0] - 1)
    while row < values.shape[0]:
        value = values[row]
        # a new value takes the first free slot and the next number, if there is room
        at = scattered(np.uint64(value)) & last
        while slots[at] != 0 and known[slots[at]] != value:
            at = (at + np.uint64(1)) & last
        if slots[at] == 0:
            if size == known.shape[0]:
                return row, size
            known[size] = value
            slots[at] = size
            size += 1
        codes[row] = slots[at]
        row += 1
    return row, size


@compiled
def _place_numbers(slots, known, size):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Enter the values so far into a larger table."""
    last = np.uint64(slots.shape[0] - 1)
    for code in range(1, size):
        at = scattered(np.uint64(known[code])) & last
        while slots[at] != 0:
            at = (at + np.uint64(1)) & last
        slots[at] = code


@compiled
def _number_texts(views, null, row, codes, slots, known, held, recent, size, used):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, C901 - one loop, kept whole for speed
    """Give texts numbers from a row on, as long as there is room; return the row, the next number, and the bytes used.

    Parquet repeats the views of a dictionary: a long text whose view occurred recently is not read again.
    """
    words, buffers, memory = views
    last, latest = np.uint64(slots.shape[0] - 1), np.uint64(recent.shape[0] - 1)
    while row < words.shape[0]:
        if null.shape[0] and null[row]:
            codes[row] = 0
            row += 1
            continue
        one, other = words[row, 0], words[row, 1]
        length = np.int64(one & np.uint64(LENGTH))
        # a short text is its view; a long one is found by the place of a view that came lately, or by its hash and bytes
        if length <= IN_PLACE:
            at = scattered(mixed(one, other)) & last
            while slots[at] != 0 and (known[slots[at], 0] != one or known[slots[at], 1] != other):
                at = (at + np.uint64(1)) & last
        else:
            lately = scattered(other) & latest
            at = recent[lately, 2]
            if slots[at] == 0 or recent[lately, 0] != one or recent[lately, 1] != other:
                text = place_of(buffers, other)
                at = hash_of_long(memory, text, one) & last
                while slots[at] != 0:
                    if known[slots[at], 0] == one and same_long(memory, text, held, known[slots[at], 1], one):
                        break
                    at = (at + np.uint64(1)) & last
                recent[lately, 0], recent[lately, 1], recent[lately, 2] = one, other, at
        # a new text takes the free slot and the next number, if there is room for it and its bytes
        if slots[at] == 0:
            if size == known.shape[0] or (length > IN_PLACE and used + length > held.shape[0]):
                return row, size, used
            known[size, 0], known[size, 1] = one, other
            if length > IN_PLACE:
                known[size, 1] = used
                used = _copied(memory, place_of(buffers, other), length, held, used)
            slots[at] = size
            size += 1
        codes[row] = slots[at]
        row += 1
    return row, size, used


@compiled
def _copied(memory, text, length, held, used):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Append the bytes of a text; return how many bytes are then in use."""
    for byte in range(length):
        held[used + byte] = memory[text + np.uint64(byte)]
    return used + length


@compiled
def _place_texts(slots, known, held, size):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Enter the texts so far into a larger table."""
    last = np.uint64(slots.shape[0] - 1)
    for code in range(1, size):
        one, other = known[code, 0], known[code, 1]
        long = (one & np.uint64(LENGTH)) > np.uint64(IN_PLACE)
        at = (hash_of_long(held, other, one) if long else scattered(mixed(one, other))) & last
        while slots[at] != 0:
            at = (at + np.uint64(1)) & last
        slots[at] = code
