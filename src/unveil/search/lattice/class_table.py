"""Classes as keys of bit fields, one field per column, in one or more 64-bit words, with their counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ClassTable", "CodeField", "fields_of", "packed"]

_WORD = 64
_PIECE = 1 << 17
"""How many rows are packed at a time."""


@dataclass(frozen=True, slots=True)
class CodeField:
    """Where a column's code is in a key."""

    word: int
    shift: int
    mask: int


@dataclass(frozen=True, slots=True, eq=False)
class ClassTable:
    """Distinct keys, one per row, with their counts.

    Attributes
    ----------
    keys
        The words of the keys, an array each.
    amounts
        One row per key; first the records that hold it, then whatever else is added up.
    """

    keys: tuple[NDArray[np.uint64], ...]
    amounts: NDArray[np.integer[Any]]

    def __len__(self) -> int:
        """Return the number of keys."""
        return len(self.amounts)

    @property
    def n(self) -> NDArray[np.integer[Any]]:
        """The records that hold each key."""
        return self.amounts[:, 0]

    @property
    def nbytes(self) -> int:
        """How many bytes the table takes."""
        return self.amounts.nbytes + sum(word.nbytes for word in self.keys)

    def codes(self, field: CodeField, rows: NDArray[np.int64] | slice = slice(None)) -> NDArray[np.int64]:
        """Return one column's codes, of all rows or some."""
        return ((self.keys[field.word][rows] >> np.uint64(field.shift)) & np.uint64(field.mask)).astype(np.int64)

    def copy(self) -> ClassTable:
        """Return a copy that lasts when the table's memory is used again."""
        return ClassTable(tuple(word.copy() for word in self.keys), self.amounts.copy())


def fields_of(sizes: Sequence[int]) -> list[CodeField]:
    """Give every column the bits that its codes need; none straddles two words."""
    fields: list[CodeField] = []
    word = used = 0
    for size in sizes:
        bits = max(1, (size - 1).bit_length())
        if used + bits > _WORD:
            word, used = word + 1, 0
        fields.append(CodeField(word, used, (1 << bits) - 1))
        used += bits
    return fields


def packed(codes: Iterable[NDArray[Any]], fields: Sequence[CodeField], rows: int) -> tuple[NDArray[np.uint64], ...]:
    """Return the keys of rows with these codes, word by word."""
    words = tuple(np.zeros(rows, dtype=np.uint64) for _ in range(fields[-1].word + 1))
    for column, field in zip(codes, fields, strict=True):
        word = words[field.word]
        for start in range(0, rows, _PIECE):
            piece = slice(start, start + _PIECE)
            word[piece] |= column[piece].astype(np.uint64) << np.uint64(field.shift)
    return words
