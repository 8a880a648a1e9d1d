"""The texts of a column as Arrow stores them: views of 16 bytes, and the memory of longer texts.

A column of texts is an array of views (Arrow's columnar format, "variable-size binary view layout"). A text of up to 12 bytes
is in the view itself; for a longer text, the view has its length, its first 4 bytes, and its location. The views are reached
through the Arrow PyCapsule interface.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

__all__ = ["IN_PLACE", "LENGTH", "Views", "views_of"]

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
