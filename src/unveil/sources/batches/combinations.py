"""How often does each combination of codes occur, when the records come in batches? A bounded table, and a spill beyond it.

The codes of a record are packed into the bits of one or more words, each column in as many bits as its dictionary needs so
far; if a dictionary outgrows its bits, the combinations held are packed again. They are counted in a hash table. When that
holds as many combinations as are allowed, its entries go to temporary files, by a hash of their codes, so that each file can be
counted by itself at the end. The files have no name: none is left, however the process ends.
"""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any, Self

import numpy as np

from unveil.compilation import compiled, compiled_in_place
from unveil.errors import OutputError, reason_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["KeyCounter", "Numbering", "hashed", "is_among"]

_WORD = 64
_FIRST_CAPACITY = 1 << 12
_PARTS = 64
"""Into how many files entries are spilled, each counted by itself at the end."""
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

    def pack(self, codes: Sequence[NDArray[Any]]) -> NDArray[np.uint64]:
        """Return the keys of rows, one row each."""
        keys = np.zeros((len(codes[0]), self.width), dtype=np.uint64)
        for column, word, shift in zip(codes, self.words, self.shifts, strict=True):
            _put(keys, word, column, np.uint64(shift))
        return keys

    def column(self, keys: NDArray[np.uint64], at: int, kind: np.dtype[Any]) -> NDArray[Any]:
        """Return the codes of one column."""
        codes = np.empty(len(keys), dtype=kind)
        _take(keys, self.words[at], np.uint64(self.shifts[at]), np.uint64((1 << self.bits[at]) - 1), codes)
        return codes

    def unpack(self, keys: NDArray[np.uint64]) -> list[NDArray[Any]]:
        """Return the codes that keys stand for, column by column."""
        return [self.column(keys, at, np.dtype(np.uint64)) for at in range(len(self.bits))]


@dataclass(slots=True)
class KeyCounter:
    """Counts combinations of codes that come in batches.

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
        Hashes, in order, of combinations of the first columns that are kept whatever the share.
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
    _table: NDArray[np.uint64] = field(init=False)
    _used: int = 0
    _files: list[IO[bytes]] = field(default_factory=list)
    _segments: list[tuple[_Layout, list[int]]] = field(default_factory=list)
    _open: ExitStack = field(default_factory=ExitStack)

    def __post_init__(self) -> None:
        """Begin with an empty table."""
        self._layout = _Layout.of([1] * self.columns)
        self._clear(_FIRST_CAPACITY)

    def __enter__(self) -> Self:
        """Return the counter; leaving the block deletes what was spilled."""
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
        self._count(self._layout.pack(codes), None)

    def cells(self, sizes: Sequence[int]) -> tuple[list[NDArray[Any]], NDArray[np.int64]]:
        """Return the combinations, column by column in the smallest type, and how many rows hold each; they are not kept."""
        kinds = [np.min_scalar_type(max(size - 1, 0)) for size in sizes]
        if not self._segments:
            parts = [self._entries()]
            self._clear(_FIRST_CAPACITY)
        else:
            self._spill()
            parts = list(self._merged())
        codes = [_joined([self._layout.column(keys, at, kind) for keys, _ in parts]) for at, kind in enumerate(kinds)]
        return codes, _joined([n for _, n in parts])

    def _clear(self, capacity: int) -> None:
        self._table = np.zeros((capacity, self._layout.width + 1), dtype=np.uint64)
        self._used = 0

    def _entries(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        keys = np.empty((self._used, self._layout.width), dtype=np.uint64)
        n = np.empty(self._used, dtype=np.int64)
        _list(self._table, keys, n)
        return keys, n

    def _widen(self, layout: _Layout) -> None:
        """Pack what is held again, with more bits for some column."""
        keys, n = self._entries()
        codes = self._layout.unpack(keys)
        self._layout = layout
        self._clear(len(self._table))
        self._count(layout.pack(codes), n)

    def _count(self, keys: NDArray[np.uint64], n: NDArray[np.int64] | None) -> None:
        """Add rows to the table; when it is half full, enlarge it or make room in it."""
        row = 0
        while row < len(keys):
            room = min(self.most, len(self._table) // 2)
            row, self._used = _add(keys, n, row, self._table, self._used, room)
            if row == len(keys):
                return
            if self._used < self.most:
                self._resize(2 * len(self._table))
            elif self.sampled is None:
                self._spill()
            else:
                keys, n, row = self._thinned(keys[row:], None if n is None else n[row:])

    def _resize(self, capacity: int) -> None:
        keys, n = self._entries()
        self._clear(capacity)
        _, self._used = _add(keys, n, 0, self._table, 0, capacity)

    def _thinned(
        self, keys: NDArray[np.uint64], n: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.uint64], NDArray[np.int64] | None, int]:
        """Halve the sample, in the table and among the rows still to come."""
        self.level += 1
        held, counts = self._entries()
        kept = self._in_sample(self._layout.unpack(held))
        self._clear(len(self._table))
        _, self._used = _add(held[kept], counts[kept], 0, self._table, 0, len(self._table))
        kept = self._in_sample(self._layout.unpack(keys))
        return keys[kept], None if n is None else n[kept], 0

    def _in_sample(self, codes: Sequence[NDArray[Any]]) -> NDArray[np.bool_]:
        """Return which rows belong to the sample: those that are certain, or whose hash ends in as many zeros as the level."""
        hashes = hashed(codes[: self.sampled], self.seed)
        return np.asarray((hashes & np.uint64((1 << self.level) - 1) == 0) | is_among(hashes, self.certain))

    def _spill(self) -> None:
        """Write the table's entries to the temporary files, by the hash of their codes."""
        keys, n = self._entries()
        part = np.empty(len(keys), dtype=np.uint8)
        for piece in _pieces(len(keys)):
            part[piece] = hashed(self._layout.unpack(keys[piece])) % np.uint64(_PARTS)
        order = np.argsort(part, kind="stable")
        ends = np.cumsum(np.bincount(part, minlength=_PARTS))
        try:
            if not self._files:
                self._files = [self._open.enter_context(tempfile.TemporaryFile(buffering=0)) for _ in range(_PARTS)]  # noqa: SIM115
            for file, rows in zip(self._files, np.split(order, ends[:-1]), strict=True):
                _write(file, keys[rows])
                _write(file, n[rows])
        except OSError as error:
            raise _no_room(error) from None
        self._segments.append((self._layout, np.diff(ends, prepend=0).tolist()))
        self._clear(len(self._table))

    def _merged(self) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.int64]]]:
        """Count each file by itself."""
        self._clear(_FIRST_CAPACITY)
        for part, file in enumerate(self._files):
            file.seek(0)
            merged = KeyCounter(self.columns, most=1 << 62)
            merged._layout = self._layout
            merged._clear(_FIRST_CAPACITY)
            for layout, rows in self._segments:
                keys = _read(file, (rows[part], layout.width), np.uint64)
                n = _read(file, (rows[part],), np.int64)
                merged._count(self._layout.pack(layout.unpack(keys)), n)
            yield merged._entries()


def _pieces(rows: int) -> Iterator[slice]:
    """Cut rows into pieces, so that intermediate results are small."""
    return (slice(start, start + _PIECE) for start in range(0, rows, _PIECE))


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return arrays one after the other; a single one as it is."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _write(file: IO[bytes], array: NDArray[Any]) -> None:
    """Write an array; a file without a buffer may take it in several steps."""
    rest = memoryview(array.tobytes())
    while rest:
        rest = rest[file.write(rest) :]


def _read(file: IO[bytes], shape: tuple[int, ...], kind: type[Any]) -> NDArray[Any]:
    size = 8
    for length in shape:
        size *= length
    return np.frombuffer(file.read(size), dtype=kind).reshape(shape)


def _no_room(error: OSError) -> OutputError:
    """Say why nothing more can be written to the temporary folder."""
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
    """Return a hash of every row's codes, whatever layout they are packed in."""
    hashes = np.full(len(codes[0]), (seed + 1) * _ODD % (1 << _WORD), dtype=np.uint64)
    for column in codes:
        hashes ^= column.astype(np.uint64)
        hashes ^= hashes >> np.uint64(30)
        hashes *= np.uint64(0xBF58476D1CE4E5B9)
        hashes ^= hashes >> np.uint64(27)
        hashes *= np.uint64(0x94D049BB133111EB)
        hashes ^= hashes >> np.uint64(31)
    return hashes


@dataclass(slots=True)
class Numbering:
    """Numbers the distinct integers of a column in the order of their first occurrence; 0 stands for a null."""

    size: int = 1
    _known: NDArray[np.int64] = field(default_factory=lambda: np.zeros(_FIRST_CAPACITY, dtype=np.int64))
    _code: NDArray[np.uint32] = field(default_factory=lambda: np.zeros(_FIRST_CAPACITY, dtype=np.uint32))

    def codes(self, values: NDArray[np.int64]) -> NDArray[np.uint32]:
        """Return the numbers of values, giving new ones to those not seen before."""
        codes = np.empty(len(values), dtype=np.uint32)
        row = 0
        while row < len(values):
            row, self.size = _number(values, row, codes, self._known, self._code, self.size)
            if row < len(values):
                known, self._known = self.values(), np.zeros(2 * len(self._known), dtype=np.int64)
                self._code = np.zeros(len(self._known), dtype=np.uint32)
                _number(known, 0, np.empty(len(known), dtype=np.uint32), self._known, self._code, 1)
        return codes

    def values(self) -> NDArray[np.int64]:
        """Return the values in the order of their numbers, from 1."""
        used = self._code > 0
        values = np.empty(self.size - 1, dtype=np.int64)
        values[self._code[used] - 1] = self._known[used]
        return values


def _add(
    rows: NDArray[np.uint64], amounts: NDArray[np.int64] | None, row: int, table: NDArray[np.uint64], used: int, room: int
) -> tuple[int, int]:
    """Add rows to a hash table from a row on, until it holds as many keys as there is room for; return where it stopped."""
    kernel = _add_words if rows.shape[1] > 1 else _add_word
    counted: tuple[int, int] = kernel(rows, amounts, row, table, used, room)
    return counted


@compiled_in_place
def _scattered(key):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Spread the bits of a word over all of them."""
    key = (key ^ (key >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    key = (key ^ (key >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return key ^ (key >> np.uint64(32))


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
def _list(table, keys, n):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """List the entries of a hash table."""
    row = 0
    width = keys.shape[1]
    for at in range(table.shape[0]):
        if table[at, width] != 0:
            for word in range(width):
                keys[row, word] = table[at, word]
            n[row] = table[at, width]
            row += 1


@compiled
def _number(values, row, numbered, known, code, size):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    mask = np.uint64(known.shape[0] - 1)
    half = known.shape[0] // 2
    while row < values.shape[0]:
        value = values[row]
        # a new value takes the first free place and the next number, if there is room
        at = _scattered(np.uint64(value)) & mask
        while code[at] != 0 and known[at] != value:
            at = (at + np.uint64(1)) & mask
        if code[at] == 0:
            if size > half:
                return row, size
            known[at] = value
            code[at] = size
            size += 1
        numbered[row] = code[at]
        row += 1
    return row, size


@compiled
def _add_word(rows, amounts, row, table, used, room):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Add keys of one word; an entry of the table is a key and its count, so that one access to memory finds both."""
    mask = np.uint64(table.shape[0] - 1)
    while row < rows.shape[0]:
        key = rows[row, 0]
        at = _scattered(key) & mask
        while table[at, 1] != 0 and table[at, 0] != key:
            at = (at + np.uint64(1)) & mask
        if table[at, 1] == 0:
            if used >= room:
                return row, used
            table[at, 0] = key
            used += 1
        table[at, 1] += np.uint64(1) if amounts is None else np.uint64(amounts[row])
        row += 1
    return row, used


@compiled
def _add_words(rows, amounts, row, table, used, room):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Add keys of several words."""
    mask = np.uint64(table.shape[0] - 1)
    width = rows.shape[1]
    while row < rows.shape[0]:
        # the place where the key is, or would be
        at = np.uint64(0)
        for word in range(width):
            at = _scattered(at ^ rows[row, word])
        at &= mask
        while table[at, width] != 0:
            same = True
            for word in range(width):
                same &= table[at, word] == rows[row, word]
            if same:
                break
            at = (at + np.uint64(1)) & mask
        # a new key, if there is room for one more
        if table[at, width] == 0:
            if used >= room:
                return row, used
            for word in range(width):
                table[at, word] = rows[row, word]
            used += 1
        table[at, width] += np.uint64(1) if amounts is None else np.uint64(amounts[row])
        row += 1
    return row, used
