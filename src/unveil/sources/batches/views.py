"""Which rows of a column hold the same text? Told by what Arrow keeps of each text in place, without looking at the text itself.

A column of texts is an array of views of 16 bytes (Arrow's columnar format, "variable-size binary view layout"). Up to 12 bytes
of text stand in the view; of a longer text it has the length, the first 4 bytes, and where the text is. So equal views of one
chunk are equal texts, and those of short texts are equal wherever they come from. Reading Parquet repeats the views of a
dictionary, so that few of a column's rows have a view of their own. The views are reached through the Arrow PyCapsule interface.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from unveil.compilation import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["TextNumbering"]

_IN_PLACE = 12
"""Bytes of a text that a view holds."""
_LENGTH = (1 << 32) - 1
_FIRST_CAPACITY = 1 << 8
_FORMAT = b"vu"


class TextNumbering:
    """Numbers the texts of a column as they come, by their views; a text may have several numbers."""

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._views = np.zeros((_FIRST_CAPACITY, 2), dtype=np.uint64)
        self._numbers = np.zeros(_FIRST_CAPACITY, dtype=np.uint32)
        self.size = 1

    def numbers(self, chunk: pl.Series) -> tuple[NDArray[np.uint32], NDArray[np.uint32], bool]:
        """Give numbers to the texts of one chunk; that of a null is 0.

        Returns
        -------
        tuple
            The number of every row, the first row of each new number in their order, and whether numbers given so far are
            forgotten, because they stand for places of texts and not for texts.
        """
        found = np.empty(len(chunk), dtype=np.uint32)
        first = np.empty(len(chunk), dtype=np.uint32)
        null = chunk.is_null().to_numpy() if chunk.null_count() else None
        begin, row, long = self.size, 0, False
        with _views_of(chunk) as views:
            while row < len(chunk):
                row, self.size, long = _number(views, null, row, begin, found, first, self._views, self._numbers, self.size, long)
                if row < len(chunk):
                    self._grow()
        new = first[: self.size - begin].copy()
        if long:
            self._forget()
        return found, new, bool(long)

    def _grow(self) -> None:
        """Take twice as much room."""
        views, numbers = self._views, self._numbers
        self._views = np.zeros((2 * len(views), 2), dtype=np.uint64)
        self._numbers = np.zeros(2 * len(views), dtype=np.uint32)
        _move(views, numbers, self._views, self._numbers)


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


@contextmanager
def _views_of(chunk: pl.Series) -> Iterator[NDArray[np.uint64]]:
    """Give the views of a column that is one chunk, two words a row, as long as they are looked at."""
    capsule = chunk.__arrow_c_stream__()  # which lets go of the stream when it is let go
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    place = pointer(capsule, b"arrow_array_stream")
    stream, schema, array = _Stream.from_address(place), _Schema(), _Array()
    _require(stream.get_schema(place, ctypes.addressof(schema)) == 0)
    kind = schema.format
    schema.release(ctypes.addressof(schema))
    _require(kind == _FORMAT and stream.get_next(place, ctypes.addressof(array)) == 0)
    try:
        _require(array.length == len(chunk))
        start = array.buffers[1] + 16 * array.offset
        words = (ctypes.c_uint64 * (2 * array.length)).from_address(start)
        yield np.frombuffer(words, dtype=np.uint64).reshape(-1, 2)
    finally:
        array.release(ctypes.addressof(array))


def _require(holds: bool) -> None:  # noqa: FBT001
    if not holds:
        raise TypeError("a column of texts is asked for, in one chunk")


@compiled
def _number(views, null, row, begin, found, first, known, numbers, size, long):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Give numbers from a row on until the table is half full; returns where it stopped, the next number, and of long texts."""
    last, half = np.uint64(known.shape[0] - 1), numbers.shape[0] // 2
    while row < views.shape[0]:
        if null is not None and null[row]:
            found[row] = 0
            row += 1
            continue
        one, other = views[row, 0], views[row, 1]
        at = _mixed(one, other) & last
        while numbers[at] != 0 and (known[at, 0] != one or known[at, 1] != other):
            at = (at + np.uint64(1)) & last
        if numbers[at] == 0:
            if size > half:
                return row, size, long
            known[at, 0], known[at, 1], numbers[at] = one, other, size
            first[size - begin] = row
            long |= (one & np.uint64(_LENGTH)) > np.uint64(_IN_PLACE)
            size += 1
        found[row] = numbers[at]
        row += 1
    return row, size, long


@compiled
def _move(views, numbers, known, places):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    last = np.uint64(known.shape[0] - 1)
    for entry in range(views.shape[0]):
        if numbers[entry] != 0:
            at = _mixed(views[entry, 0], views[entry, 1]) & last
            while places[at] != 0:
                at = (at + np.uint64(1)) & last
            known[at, 0], known[at, 1], places[at] = views[entry, 0], views[entry, 1], numbers[entry]


@compiled
def _mixed(one, other):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Spread the bits of two words over one."""
    mixed = (one ^ (other * np.uint64(0xBF58476D1CE4E5B9))) * np.uint64(0x9E3779B97F4A7C15)
    return mixed ^ (mixed >> np.uint64(32))
