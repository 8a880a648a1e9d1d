"""Numbers for the texts of a column, found from their views in Arrow: by a compiled loop, or all rows at once.

A column of texts is an array of views of 16 bytes (Arrow's columnar format, "variable-size binary view layout"). A text of up to
12 bytes is in the view itself; for a longer text, the view has its length, its first 4 bytes, and its location. The views are
reached through the Arrow PyCapsule interface. Texts are equal if they have the same bytes; a hash only locates candidates.

A process without compiled loops hashes every text to a slot of a table, in which the last row of each slot is kept, and then
compares all texts with that of the row kept.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from unveil.compilation import Pace, compiled
from unveil.ordering import smallest_unsigned

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "IN_PLACE",
    "LENGTH",
    "PACE",
    "Alike",
    "Views",
    "coded_alike",
    "counted_texts",
    "hash_of_long",
    "mixed",
    "numbered_texts",
    "place_of",
    "recode",
    "rows_alike",
    "same_long",
    "views_of",
]

IN_PLACE = 12
"""The most bytes of a text that fit into a view."""
LENGTH = (1 << 32) - 1
"""The mask for the length of a text in the first word of its view."""
_FORMAT = b"vu"


@dataclass(frozen=True, slots=True, eq=False)
class Views:
    """The location of the texts of a column.

    Attributes
    ----------
    words
        The views, two words per row.
    buffers
        The start of each piece of memory with longer texts, as a position in `memory`.
    memory
        The bytes from the first of these pieces on; the bytes between the pieces must not be read.
    """

    words: NDArray[np.uint64]
    buffers: NDArray[np.uint64]
    memory: NDArray[np.uint8]


class _Schema(ctypes.Structure):
    _fields_ = (
        ("format", ctypes.c_char_p),
        ("name", ctypes.c_char_p),
        ("metadata", ctypes.c_void_p),
        ("flags", ctypes.c_int64),
        ("n_children", ctypes.c_int64),
        ("children", ctypes.c_void_p),
        ("dictionary", ctypes.c_void_p),
        ("release", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("private_data", ctypes.c_void_p),
    )


class _Array(ctypes.Structure):
    _fields_ = (
        ("length", ctypes.c_int64),
        ("null_count", ctypes.c_int64),
        ("offset", ctypes.c_int64),
        ("n_buffers", ctypes.c_int64),
        ("n_children", ctypes.c_int64),
        ("buffers", ctypes.POINTER(ctypes.c_void_p)),
        ("children", ctypes.c_void_p),
        ("dictionary", ctypes.c_void_p),
        ("release", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("private_data", ctypes.c_void_p),
    )


class _Stream(ctypes.Structure):
    _fields_ = (
        ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)),
        ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)),
        ("get_last_error", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
    )


_POINTER = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))


@contextmanager
def views_of(chunk: pl.Series) -> Iterator[Views]:
    """Yield the views of a column of texts in one chunk; they are valid until the `with` block ends."""
    capsule = chunk.__arrow_c_stream__()  # which releases the stream when it is itself released
    place = _POINTER(capsule, b"arrow_array_stream")
    stream, schema, array = _Stream.from_address(place), _Schema(), _Array()
    _require(stream.get_schema(place, ctypes.addressof(schema)) == 0)
    kind = schema.format
    schema.release(ctypes.addressof(schema))
    _require(kind == _FORMAT and stream.get_next(place, ctypes.addressof(array)) == 0)
    try:
        _require(array.length == len(chunk))
        yield _views_in(array)
    finally:
        array.release(ctypes.addressof(array))


def _views_in(array: _Array) -> Views:
    """Return the views of an array; after them come its pieces of memory, and the sizes of these."""
    buffers, pieces = array.buffers, array.n_buffers - 3
    words = _at(np.uint64, (buffers[1] or 0) + 16 * array.offset, 2 * array.length).reshape(-1, 2)
    places = [buffers[2 + at] or 0 for at in range(pieces)]
    sizes = _at(np.uint64, buffers[array.n_buffers - 1] or 0, pieces).tolist()
    used = [(place, place + size) for place, size in zip(places, sizes, strict=True) if size]
    if not used:
        return Views(words, np.zeros(pieces, dtype=np.uint64), np.zeros(0, dtype=np.uint8))
    begin, end = min(place for place, _ in used), max(last for _, last in used)
    return Views(words, np.array(places, dtype=np.uint64) - np.uint64(begin), _at(np.uint8, begin, end - begin))


def _at(kind: type[Any], place: int, number: int) -> NDArray[Any]:
    """Return the given number of numbers at an address in memory."""
    size = number * np.dtype(kind).itemsize
    held: Any = (ctypes.c_char * size).from_address(place) if size else b""
    return np.frombuffer(held, dtype=kind)


def _require(holds: bool) -> None:  # noqa: FBT001
    if not holds:
        raise TypeError("a column of texts is asked for, in one chunk")


_FIRST_CAPACITY = 1 << 9
_TEXT = np.dtype([("hashed", np.uint64), ("row", np.uint32), ("n", np.int64)], align=True)


def numbered_texts(column: pl.Series) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Assign numbers to the texts of a column in the order of their first occurrence; a null's number is arbitrary.

    Returns
    -------
    tuple
        The first row of every text, and the number of the text in every row.
    """
    numbers = np.zeros(len(column), dtype=np.uint32)
    return _numbered(column, numbers)[0], numbers


def counted_texts(column: pl.Series) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Return the first row of every text of a column, in order, and its number of rows; nulls are left out."""
    return _numbered(column, np.zeros(0, dtype=np.uint32))


def _numbered(column: pl.Series, numbers: NDArray[np.uint32]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Return the first row and the number of rows of every text; unless empty, `numbers` gets the number of each row's text."""
    column = column.rechunk()
    null = column.is_null().to_numpy(writable=True) if column.null_count() else np.zeros(0, dtype=bool)
    places, texts = np.zeros(_FIRST_CAPACITY, dtype=np.uint32), _room(_FIRST_CAPACITY)
    row, size = 0, 0
    with views_of(column) as views:
        while row < len(column):
            row, size = _number(views.words, views.buffers, views.memory, null, row, numbers, places, texts, size)
            if row < len(column):
                places, known, texts = np.zeros(4 * len(places), dtype=np.uint32), texts, _room(4 * len(places))
                texts[:size] = known[:size]
                _place(places, texts, size)
    return texts["row"][:size].copy(), texts["n"][:size].copy()


def _room(capacity: int) -> NDArray[Any]:
    """Return memory for the hash, first row and row count of each text of a hash table that is at most half full."""
    return np.empty(capacity // 2, dtype=_TEXT)


@compiled
def _number(words, buffers, memory, null, row, numbers, places, texts, size):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Process texts from a row on until the table is half full; return the row where it stopped and the number of texts."""
    last = np.uint64(places.shape[0] - 1)
    while row < words.shape[0]:
        if null.shape[0] and null[row]:
            row += 1
            continue
        one, other = words[row, 0], words[row, 1]
        long = (one & np.uint64(LENGTH)) > np.uint64(IN_PLACE)
        text = place_of(buffers, other) if long else np.uint64(0)
        # a text of up to twelve bytes is in its view; a longer one is compared in memory, after length and hash
        hashed = hash_of_long(memory, text, one) if long else mixed(one, other)
        at = hashed & last
        while places[at] != 0:
            known = places[at] - np.uint32(1)
            if texts[known].hashed == hashed and words[texts[known].row, 0] == one:
                like = words[texts[known].row, 1]
                if like == other or (long and same_long(memory, text, memory, place_of(buffers, like), one)):
                    break
            at = (at + np.uint64(1)) & last
        # a new text, if there is room for one more
        if places[at] == 0:
            if size == texts.shape[0]:
                return row, size
            texts[size].hashed, texts[size].row, texts[size].n = hashed, row, 0
            size += 1
            places[at] = size
        known = places[at] - np.uint32(1)
        texts[known].n += 1
        if numbers.shape[0]:
            numbers[row] = known
        row += 1
    return row, size


@compiled
def recode(numbers, places, codes):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Write into `codes`, for every row, the code of its number."""
    for row in range(numbers.shape[0]):
        codes[row] = places[numbers[row]]


@compiled
def place_of(buffers, other):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Return the address of a long text: that of its buffer plus the offset in it."""
    return buffers[other & np.uint64(LENGTH)] + (other >> np.uint64(32))


@compiled
def _place(places, texts, size):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Enter the texts so far into a larger table."""
    last = np.uint64(places.shape[0] - 1)
    for number in range(size):
        place = texts[number].hashed & last
        while places[place] != 0:
            place = (place + np.uint64(1)) & last
        places[place] = number + 1


@compiled
def hash_of_long(memory, at, one):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Hash a long text by its words of eight bytes; the last word ends where the text ends."""
    end = (one & np.uint64(LENGTH)) - np.uint64(8)
    hashed = mixed(one + _word(memory, at + np.uint64(4)), _word(memory, at + end))  # the first bytes are in the view
    done = np.uint64(12)
    while done < end:
        hashed = mixed(hashed, _word(memory, at + done))
        done += np.uint64(8)
    return hashed


@compiled
def same_long(memory, at, others, other, one):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Whether two long texts of the same length and beginning, each in its own memory, are equal."""
    end, done = (one & np.uint64(LENGTH)) - np.uint64(8), np.uint64(4)
    while done < end:
        if _word(memory, at + done) != _word(others, other + done):
            return False
        done += np.uint64(8)
    return _word(memory, at + end) == _word(others, other + end)


@compiled
def _word(memory, at):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Return eight bytes as one word, which the compiled code reads at once."""
    word = np.uint64(memory[at])
    for step in range(1, 8):
        word |= np.uint64(memory[at + np.uint64(step)]) << np.uint64(8 * step)
    return word


@compiled
def mixed(one, other):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Mix the bits of two words into one."""
    product = (one ^ (other * np.uint64(0xBF58476D1CE4E5B9))) * np.uint64(0x9E3779B97F4A7C15)
    return product ^ (product >> np.uint64(32))


PACE = Pace(_number, recode, loads=False)
"""The decision, by the number of rows, whether these loops number a column's texts."""


_MOST_ROWS = 1 << 17
"""The largest number of rows of a column that are compared at once."""
_MOST_TEXTS = 1 << 12
"""The largest number of distinct texts, with which two texts rarely share a slot."""
_FEW = 32
"""The number of texts up to which they are read one by one."""
_SLOTS = 20
_FACTOR, _MIXED = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)


class Alike(NamedTuple):
    """The texts of a column: one row of each, and for every row that of its text."""

    first: NDArray[np.int64]
    of_row: NDArray[np.uint32]


def coded_alike(column: pl.Series) -> tuple[list[str | None], NDArray[Any]] | None:
    """Return the texts of a column in order, a null last, and the position of each row's text; None if there are too many."""
    column = column.alias("")  # some names are patterns to Polars
    if (alike := rows_alike(column)) is None:
        return None
    first, null = alike.first, column.is_null().to_numpy() if column.null_count() else None
    if null is not None:
        first = first[~null[first]]
    rows = first.tolist() if len(first) <= _FEW else ()
    texts: list[str | None] = [column.item(row) for row in rows] if rows else column[first].to_list()
    order = sorted(range(len(texts)), key=texts.__getitem__)  # type: ignore[arg-type]
    size = len(texts) + (null is not None)
    place = np.full(len(column), size - 1, dtype=smallest_unsigned(size))  # that of a null, if there is one
    place[first[order]] = np.arange(len(order), dtype=place.dtype)
    return [*(texts[at] for at in order), *((None,) if null is not None else ())], place.take(alike.of_row)


def rows_alike(column: pl.Series) -> Alike | None:
    """Find the rows of a column with the same text; None if there are too many texts. Nulls count as one more text."""
    if not 0 < len(column) <= _MOST_ROWS:
        return None
    column = column.rechunk().alias("")  # some names are patterns to Polars
    if not column.null_count():
        with views_of(column) as views:
            alike = _by_views(column, views.words)
        if alike is not None:
            return alike
    alike = _in_slots(column.hash().to_numpy(writable=True))
    return alike if alike is not None and column[alike.of_row].equals(column) else None


def _by_views(column: pl.Series, views: NDArray[np.uint64]) -> Alike | None:
    """Find the rows by views: short texts by all bytes, longer ones by their length and first bytes, as long as these differ."""
    first, hashed = views[:, 0].copy(), views[:, 1].copy()  # so that the next steps read one word after another
    short = first.astype(np.uint32) <= IN_PLACE
    long = len(short) - int(np.count_nonzero(short))
    if long:
        hashed *= short  # of a longer text, the second word is where it is
    hashed *= _MIXED
    hashed ^= first
    alike = _in_slots(hashed)
    if alike is None:
        return None
    if 2 * long > len(short):
        return alike if column[alike.of_row].equals(column) else None
    differ = views.take(alike.of_row, axis=0) != views
    if not long:
        return None if differ.any() else alike
    if differ[:, 0].any() or (differ[:, 1] & short).any():
        return None
    rows = np.flatnonzero(~short)
    return alike if column[alike.of_row[rows]].equals(column[rows]) else None


def _in_slots(hashed: NDArray[np.uint64]) -> Alike | None:
    """Find the rows with the same slot; None if there are too many texts to have a slot each."""
    hashed *= _FACTOR
    hashed >>= np.uint64(64 - _SLOTS)
    rows, slots = np.arange(len(hashed), dtype=np.uint32), hashed.view(np.int64)
    table = np.empty(1 << _SLOTS, dtype=np.uint32)
    table[slots] = rows
    of_row = table.take(slots)
    first = np.flatnonzero(of_row == rows)
    return Alike(first, of_row) if len(first) <= _MOST_TEXTS else None
