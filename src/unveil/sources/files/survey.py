"""A check that all records of delimited text have as many fields as the header, and that no quote is out of place.

A fast engine silently pads short records, cuts long ones and can lose count at a stray quote. So the bytes are checked
first, one block of lines at a time, by the parity of quotes: after an odd number of quotes, a position is inside a
quoted field. This holds as long as quotes open only at the start of a field and close only at its end; if they do not,
the survey is marked as irregular (`regular` is false).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from unveil.errors import DataFileError
from unveil.run import active_run

if TYPE_CHECKING:
    from collections.abc import Iterable

    from unveil.sources.files.inputs import Block

__all__ = ["Survey", "ragged", "survey"]

_Bools = npt.NDArray[np.bool_]
_Bytes = npt.NDArray[np.uint8]
_Ints = npt.NDArray[np.intp]

_QUOTE, _LINE_FEED, _RETURN = b'"\n\r'
_WORD = 64


@dataclass(frozen=True, slots=True)
class Survey:
    """The result of checking the text.

    `records` includes the header. `blanks` are the positions of the blank lines among records and blank lines.
    """

    records: int
    blanks: _Ints
    regular: bool = True


_IRREGULAR = Survey(0, np.empty(0, np.intp), regular=False)


def survey(blocks: Iterable[Block], separator: str, n_fields: int, place: str) -> Survey:
    """Check the text; refuse a record with more or fewer fields than `n_fields`."""
    run, surveyor = active_run(), _Surveyor(ord(separator), n_fields, place)
    for block in blocks:
        run.check()
        if not surveyor.take(block):
            return _IRREGULAR
    if surveyor.open:
        return _IRREGULAR
    blanks = np.concatenate([np.empty(0, np.intp), *surveyor.blanks])
    return Survey(surveyor.seen - len(blanks), blanks)


def ragged(place: str, line: int, number: int, expected: int) -> DataFileError:
    """Return the error for a record whose number of fields differs from that of the header."""
    fields = "1 field" if number == 1 else f"{number:,} fields"
    return DataFileError.at_line(
        place,
        line,
        f"the record starting here has {fields}, the header {expected:,}; correct the line, or give the separator.",
    )


@dataclass(slots=True)
class _Surveyor:
    """The state carried from block to block: the counts so far, and the start of a record that has not ended yet."""

    separator: int
    n_fields: int
    place: str
    open: bool = False
    record_line: int = 1
    separators: int = 0
    seen: int = 0
    blanks: list[_Ints] = field(default_factory=list)

    def take(self, block: Block) -> bool:
        """Check one block; return False if a quote is out of place."""
        data = np.frombuffer(block.data, np.uint8)
        breaks, cuts = data == _LINE_FEED, data == self.separator
        if self.open or b'"' in block.data:
            quotes = data == _QUOTE
            positions = np.flatnonzero(quotes)
            if not self._in_place(data, positions):
                return False
            outside = ~_inside(quotes, open_before=self.open)
            breaks &= outside
            cuts &= outside
            self.open ^= bool(len(positions) % 2)
        self._count(block, data, breaks, cuts)
        return True

    def _in_place(self, data: _Bytes, quotes: _Ints) -> bool:
        """Whether quotes open after a separator, a line end or a quote, and close before one of these.

        A block ends with a line feed, so index -1, before the first byte, holds one, and a closing quote has a successor.
        """
        before = data[quotes[int(self.open) :: 2] - 1]
        closing = quotes[1 - int(self.open) :: 2]
        after = data[closing + 1]
        after_return = np.take(data, closing + 2, mode="clip")
        opens = self._bounds(before)
        closes = self._bounds(after) | ((after == _RETURN) & (after_return == _LINE_FEED))
        return bool(opens.all() and closes.all())

    def _bounds(self, data: _Bytes) -> _Bools:
        return np.asarray((data == self.separator) | (data == _LINE_FEED) | (data == _QUOTE))

    def _count(self, block: Block, data: _Bytes, breaks: _Bools, cuts: _Bools) -> None:
        """Count the fields of every record that ends in the block."""
        events = np.flatnonzero(breaks | cuts)
        last = np.flatnonzero(breaks[events])
        if not len(last):
            self.separators += len(events)
            return
        ends = events[last]
        separators, lengths = np.diff(last, prepend=-1) - 1, np.diff(ends, prepend=-1) - 1
        separators[0] += self.separators  # its length is not carried over: with the quote that ends it, it is never blank
        blank = (separators == 0) & ((lengths == 0) | ((lengths == 1) & (data[ends - 1] == _RETURN)))
        self._refuse_ragged(block, ends, np.where(blank, self.n_fields, separators + 1))
        self.blanks.append(self.seen + np.flatnonzero(blank))
        self.seen += len(ends)
        self.separators = len(events) - 1 - int(last[-1])
        self.record_line = block.line + block.data.count(b"\n", 0, int(ends[-1]) + 1)

    def _refuse_ragged(self, block: Block, ends: _Ints, fields: _Ints) -> None:
        wrong = np.flatnonzero(fields != self.n_fields)
        if not len(wrong):
            return
        first = int(wrong[0])
        line = self.record_line
        if first:
            line = block.line + block.data.count(b"\n", 0, int(ends[first - 1]) + 1)
        raise ragged(self.place, line, int(fields[first]), self.n_fields)


def _inside(quotes: _Bools, *, open_before: bool) -> _Bools:
    """Return for every byte whether an odd number of quotes precedes it, computed 64 bytes at a time as bits of a word."""
    padded = np.zeros(-(-len(quotes) // _WORD) * _WORD, np.bool_)
    padded[: len(quotes)] = quotes
    words = np.packbits(padded, bitorder="little").view("<u8")
    for shift in (1, 2, 4, 8, 16, 32):
        words ^= words << np.uint64(shift)
    parity = np.logical_xor.accumulate(words >> np.uint64(_WORD - 1) != 0)
    words[np.concatenate([[open_before], parity[:-1] ^ open_before])] ^= ~np.uint64(0)
    return np.unpackbits(words.view(np.uint8), count=len(quotes), bitorder="little").view(np.bool_)
