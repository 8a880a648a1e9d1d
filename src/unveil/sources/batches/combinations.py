"""How often does each combination of codes occur, when the records come in batches? A bounded table, and a spill beyond it.

The codes of a record are packed into the bits of one or more words, each column in as many bits as its dictionary needs so
far; if a dictionary outgrows its bits, the combinations held are packed again. Each combination is held once, as an entry of its
words and its count, found by a hash table. When the limit is reached, the entries are written to temporary files, chosen by a
hash of their codes, so that each file can be counted by itself at the end. The files have no name, so none is left, however the
process ends.
"""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any, Self

import numpy as np

from unveil.compilation import compiled
from unveil.errors import OutputError, reason_of
from unveil.run import active_run
from unveil.sources.batches.dictionaries import enlarged, scattered, zeros

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["KeyCounter", "hashed", "is_among"]

_WORD = 64
_FIRST = 1 << 11
_PARTS = 64
"""The number of files that entries are spilled to, each counted by itself at the end."""
_PIECE = 1 << 18
_ODD = 0x9E3779B97F4A7C15


@dataclass(frozen=True, slots=True)
class _Layout:
    """The place of each column's code: its word, its lowest bit there and its number of bits; first columns are highest."""

    words: tuple[int, ...]
    shifts: tuple[int, ...]
    bits: tuple[int, ...]

    @classmethod
    def of(cls, bits: Sequence[int]) -> _Layout:
        words, shifts, word, free = [], [], 0, _WORD
        for width in bits:
            if width > free:
                word, free = word + 1, _WORD
            free -= width
            words.append(word)
            shifts.append(free)
        return cls(tuple(words), tuple(shifts), tuple(bits))

    @property
    def width(self) -> int:
        """The number of words."""
        return self.words[-1] + 1

    def pack(self, codes: Sequence[NDArray[Any]], n: NDArray[np.uint64] | None = None) -> NDArray[np.uint64]:
        """Return the words of rows, one row each; with their counts, as the last word, they are entries."""
        words = np.zeros((len(codes[0]), self.width + (n is not None)), dtype=np.uint64)
        for column, word, shift in zip(codes, self.words, self.shifts, strict=True):
            _put(words, word, column, np.uint64(shift))
        if n is not None:
            words[:, self.width] = n
        return words

    def column(self, keys: NDArray[np.uint64], at: int, kind: np.dtype[Any]) -> NDArray[Any]:
        """Return the codes of one column."""
        codes = np.empty(len(keys), dtype=kind)
        _take(keys, self.words[at], np.uint64(self.shifts[at]), np.uint64((1 << self.bits[at]) - 1), codes)
        return codes

    def repacked(self, entries: NDArray[np.uint64], layout: _Layout) -> NDArray[np.uint64]:
        """Return entries in another layout."""
        return entries if layout == self else layout.pack(self.unpack(entries), entries[:, self.width])

    def unpack(self, keys: NDArray[np.uint64]) -> list[NDArray[Any]]:
        """Return the codes of rows or entries, column by column."""
        return [self.column(keys, at, np.dtype(np.uint64)) for at in range(len(self.bits))]


@dataclass(slots=True)
class KeyCounter:
    """A counter of combinations of codes that come in batches.

    Parameters
    ----------
    columns
        How many columns there are.
    most
        How many distinct combinations are held in memory; more are spilled.
    sampled
        None: every combination is counted. A number of columns: beyond `most` combinations, only those in a random half, quarter,
        ... of the combinations of these first columns are kept, with all their records; nothing is spilled.

    certain
        Sorted hashes of combinations of the first columns that are always kept.
    seed
        The seed of the hash that decides which combinations are in the share.

    Attributes
    ----------
    level
        The share of the combinations that is kept is 2 to the power of minus this; 0: all are kept.
    """

    columns: int
    most: int
    sampled: int | None = None
    certain: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, dtype=np.uint64))
    seed: int = 0
    level: int = 0
    records: int = 0
    _layout: _Layout = field(init=False)
    _slots: NDArray[np.uint32] = field(init=False)
    _held: NDArray[np.uint64] = field(init=False)
    _used: int = 0
    _files: list[IO[bytes]] = field(default_factory=list)
    _segments: list[tuple[_Layout, list[int]]] = field(default_factory=list)
    _open: ExitStack = field(default_factory=ExitStack)

    def __post_init__(self) -> None:
        """Begin with an empty table."""
        self._begin(_Layout.of([1] * self.columns))

    def __enter__(self) -> Self:
        """Return the counter; leaving the block deletes the spilled files."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the temporary files, which deletes them."""
        self._open.close()

    def add(self, codes: Sequence[NDArray[Any]], sizes: Sequence[int]) -> None:
        """Count rows: their codes, column by column, each below the column's size so far."""
        self.records += len(codes[0])
        bits = [max(old, int(size - 1).bit_length()) for old, size in zip(self._layout.bits, sizes, strict=True)]
        if tuple(bits) != self._layout.bits:
            self._widen(_Layout.of(bits))
        if self.level:
            kept = self._in_sample(codes)
            codes = [column[kept] for column in codes]
        self._count(self._layout.pack(codes))

    def cells(self, sizes: Sequence[int]) -> tuple[list[NDArray[Any]], NDArray[np.int64]]:
        """Return the combinations, column by column in the smallest type, and their numbers of rows; they are not kept."""
        kinds = [np.min_scalar_type(max(size - 1, 0)) for size in sizes]
        columns: list[list[NDArray[Any]]] = [[] for _ in kinds]
        numbers = []
        for entries in self._parts():
            for at, kind in enumerate(kinds):
                columns[at].append(self._layout.column(entries, at, kind))
            numbers.append(entries[:, self._layout.width].astype(np.int64))
        return [_joined(column) for column in columns], _joined(numbers)

    def _parts(self) -> Iterator[NDArray[np.uint64]]:
        """Yield the entries, from memory or from the spilled files; they are not kept."""
        if self._segments:
            self._spill()
            self._begin(self._layout)
            yield from self._merged()
        else:
            yield self._entries()
            self._begin(self._layout)

    def _begin(self, layout: _Layout) -> None:
        """Begin with an empty table that takes little memory."""
        self._layout, self._used = layout, 0
        self._slots, self._held = zeros((2 * _FIRST,), np.uint32), zeros((_FIRST, layout.width + 1), np.uint64)

    def _clear(self) -> None:
        """Empty the table, and keep its memory."""
        self._slots[:], self._used = 0, 0

    def _entries(self) -> NDArray[np.uint64]:
        return self._held[: self._used]

    def _widen(self, layout: _Layout) -> None:
        """Pack the entries again, with more bits for some columns."""
        before, entries = self._layout, self._entries()
        if layout.width > before.width:
            self._held = zeros((len(self._held), layout.width + 1), np.uint64)
        self._layout, widened = layout, self._entries()
        for piece in _pieces(len(entries)):
            widened[piece] = before.repacked(entries[piece], layout)
        self._slots[:] = 0
        _find_place(self._slots, self._held, self._used)

    def _count(self, rows: NDArray[np.uint64]) -> None:
        """Count rows or entries; when the table is full, make room."""
        row = 0
        while row < len(rows):
            room = min(self.most, len(self._held))
            row, self._used = _add(rows, row, self._slots, self._held, self._used, room)
            if row == len(rows):
                return
            if self._used < self.most:
                self._held = enlarged(self._held, self._used)
                self._slots = zeros((2 * len(self._slots),), np.uint32)
                _find_place(self._slots, self._held, self._used)
            elif self.sampled is None:
                self._spill()
            else:
                rows, row = self._thinned(rows[row:]), 0

    def _thinned(self, rows: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Halve the sample, among the entries held and among the remaining rows, which are returned."""
        self.level += 1
        held = self._entries()
        held = held[self._in_sample(self._layout.unpack(held))]
        self._clear()
        _, self._used = _add(held, 0, self._slots, self._held, 0, len(self._held))
        return rows[self._in_sample(self._layout.unpack(rows))]

    def _in_sample(self, codes: Sequence[NDArray[Any]]) -> NDArray[np.bool_]:
        """Return which rows belong to the sample: those that are certain, or whose hash ends in `level` zeros."""
        hashes = hashed(codes[: self.sampled], self.seed)
        return np.asarray((hashes & np.uint64((1 << self.level) - 1) == 0) | is_among(hashes, self.certain))

    def _spill(self) -> None:
        """Write the entries to the temporary files, by the hash of their codes."""
        entries = self._entries()
        part = np.empty(len(entries), dtype=np.uint8)
        for piece in _pieces(len(entries)):
            part[piece] = hashed(self._layout.unpack(entries[piece])) % np.uint64(_PARTS)
        order = np.argsort(part, kind="stable")
        ends = np.cumsum(np.bincount(part, minlength=_PARTS))
        try:
            if not self._files:
                self._files = [self._open.enter_context(tempfile.TemporaryFile(buffering=0)) for _ in range(_PARTS)]  # noqa: SIM115
            for file, rows in zip(self._files, np.split(order, ends[:-1]), strict=True):
                _write(file, entries[rows])
        except OSError as error:
            raise _no_room(error) from None
        self._segments.append((self._layout, np.diff(ends, prepend=0).tolist()))
        self._clear()

    def _merged(self) -> Iterator[NDArray[np.uint64]]:
        """Count each file by itself."""
        run = active_run()
        for part, file in enumerate(self._files):
            run.check()
            file.seek(0)
            merged = KeyCounter(self.columns, most=1 << 62)
            merged._begin(self._layout)
            for layout, rows in self._segments:
                entries = _read(file, rows[part], layout.width + 1)
                merged._count(layout.repacked(entries, self._layout))
            yield merged._entries()


def _pieces(rows: int) -> Iterator[slice]:
    """Cut rows into pieces, so that intermediate results are small."""
    return (slice(start, start + _PIECE) for start in range(0, rows, _PIECE))


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """Return arrays concatenated, or a single one as it is; they are removed from the list."""
    joined = parts[0] if len(parts) == 1 else np.concatenate(parts)
    parts.clear()
    return joined


def _write(file: IO[bytes], array: NDArray[Any]) -> None:
    """Write an array; an unbuffered file may need several steps."""
    rest = memoryview(array.tobytes())
    while rest:
        rest = rest[file.write(rest) :]


def _read(file: IO[bytes], rows: int, width: int) -> NDArray[np.uint64]:
    return np.fromfile(file, dtype=np.uint64, count=rows * width).reshape(rows, width)


def _no_room(error: OSError) -> OutputError:
    """Return the error that nothing more can be written to the temporary folder, with the reason."""
    folder = tempfile.gettempdir()
    reasons = {
        errno.ENOSPC: "the disk is full",
        errno.EDQUOT: "the disk quota is used up",
        errno.EFBIG: "a file may not grow that large",
        errno.EMFILE: "too many files are open",
    }
    reason = reasons.get(error.errno or 0, reason_of(error))
    return OutputError(
        f"the combinations do not fit into memory, and cannot be written to {folder!r}: {reason}; set TMPDIR to a folder with "
        "room, name fewer columns, or give a limit (max_distinct)."
    )


def is_among(hashes: NDArray[np.uint64], known: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Return which hashes are among the known ones, which are sorted."""
    if not len(known):
        return np.zeros(len(hashes), dtype=bool)
    return np.asarray(known[np.minimum(np.searchsorted(known, hashes), len(known) - 1)] == hashes)


def hashed(codes: Sequence[NDArray[Any]], seed: int = 0) -> NDArray[np.uint64]:
    """Return a hash of every row's codes, which does not depend on the layout."""
    hashes = np.full(len(codes[0]), (seed + 1) * _ODD % (1 << _WORD), dtype=np.uint64)
    for column in codes:
        hashes ^= column.astype(np.uint64)
        hashes ^= hashes >> np.uint64(30)
        hashes *= np.uint64(0xBF58476D1CE4E5B9)
        hashes ^= hashes >> np.uint64(27)
        hashes *= np.uint64(0x94D049BB133111EB)
        hashes ^= hashes >> np.uint64(31)
    return hashes


def _add(
    rows: NDArray[np.uint64], row: int, slots: NDArray[np.uint32], held: NDArray[np.uint64], used: int, room: int
) -> tuple[int, int]:
    """Count rows or entries from a row on, until as many entries are held as there is room for; return where it stopped."""
    kernel = _add_words if held.shape[1] > 2 else _add_word  # noqa: PLR2004
    counted: tuple[int, int] = kernel(rows, row, slots, held, used, room)
    return counted


@compiled
def _put(keys, word, column, shift):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Put codes into their places in the keys."""
    for row in range(column.shape[0]):
        keys[row, word] |= np.uint64(column[row]) << shift


@compiled
def _take(keys, word, shift, mask, codes):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Take codes from their places in the keys."""
    for row in range(keys.shape[0]):
        codes[row] = (keys[row, word] >> shift) & mask


@compiled
def _find_place(slots, held, used):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Enter the entries held into a larger table."""
    mask = np.uint64(slots.shape[0] - 1)
    for entry in range(used):
        at = np.uint64(0)
        for word in range(held.shape[1] - 1):
            at = scattered(at ^ held[entry, word])
        at &= mask
        while slots[at] != 0:
            at = (at + np.uint64(1)) & mask
        slots[at] = entry + 1


@compiled
def _add_word(rows, row, slots, held, used, room):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Count rows of one word each; rows of two words are entries."""
    mask = np.uint64(slots.shape[0] - 1)
    counted = rows.shape[1] > 1
    while row < rows.shape[0]:
        key = rows[row, 0]
        at = scattered(key) & mask
        while slots[at] != 0 and held[slots[at] - 1, 0] != key:
            at = (at + np.uint64(1)) & mask
        # a new key, if there is room for one more
        if slots[at] == 0:
            if used >= room:
                return row, used
            held[used, 0], held[used, 1] = key, 0
            used += 1
            slots[at] = used
        held[slots[at] - 1, 1] += rows[row, 1] if counted else np.uint64(1)
        row += 1
    return row, used


@compiled
def _add_words(rows, row, slots, held, used, room):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Count rows of several words; rows with one more word are entries."""
    mask = np.uint64(slots.shape[0] - 1)
    width = held.shape[1] - 1
    counted = rows.shape[1] > width
    while row < rows.shape[0]:
        # the place where the key is, or would be
        at = np.uint64(0)
        for word in range(width):
            at = scattered(at ^ rows[row, word])
        at &= mask
        while slots[at] != 0:
            same = True
            for word in range(width):
                same &= held[slots[at] - 1, word] == rows[row, word]
            if same:
                break
            at = (at + np.uint64(1)) & mask
        # a new key, if there is room for one more
        if slots[at] == 0:
            if used >= room:
                return row, used
            for word in range(width):
                held[used, word] = rows[row, word]
            held[used, width] = 0
            used += 1
            slots[at] = used
        held[slots[at] - 1, width] += rows[row, width] if counted else np.uint64(1)
        row += 1
    return row, used
