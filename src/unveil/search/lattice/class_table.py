"""Classes as keys of bit fields, one field per column, in one or more 64-bit words, with their counts.

Equal keys are merged here by array operations: slower per row than `rollup_kernels`, but without the half second that it takes to
load the compiler. Both give the same rows in the same order, that of the first occurrence of each key, and sums that are equal to
the last bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.run import watched

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ClassTable", "CodeField", "fields_of", "merged", "numbered", "packed", "summed_codes"]

Words = Sequence["NDArray[np.uint64]"]

_WORD = 64
_PIECE = 1 << 17
"""The number of rows packed at a time."""


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
        One row per key: first the number of its records, then any other amounts that are summed.
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
        """The size of the table in bytes."""
        return self.amounts.nbytes + sum(word.nbytes for word in self.keys)

    def codes(self, field: CodeField, rows: NDArray[np.int64] | slice = slice(None)) -> NDArray[np.int64]:
        """Return the codes of one column, for all rows or some."""
        return ((self.keys[field.word][rows] >> np.uint64(field.shift)) & np.uint64(field.mask)).astype(np.int64)

    def copy(self) -> ClassTable:
        """Return a copy that stays valid when the table's memory is reused."""
        return ClassTable(tuple(word.copy() for word in self.keys), self.amounts.copy())


def fields_of(sizes: Sequence[int]) -> list[CodeField]:
    """Give every column as many bits as its codes need; no column straddles two words."""
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


def merged(keys: Words, amounts: NDArray[Any]) -> tuple[tuple[NDArray[np.uint64], ...], NDArray[Any]]:
    """Return the distinct keys, and the amounts of equal ones added up."""
    order, starts, first = watched(len(keys[0]), lambda: _runs(keys))
    by_first = np.argsort(first)
    sums = np.add.reduceat(amounts[order], starts, axis=0, dtype=amounts.dtype)
    return tuple(word[first[by_first]] for word in keys), sums[by_first]


def numbered(keys: Words) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the number of every row's key, in the order of first occurrence, and the first row of each key."""
    order, starts, first = watched(len(keys[0]), lambda: _runs(keys))
    by_first = np.argsort(first)
    number = np.empty(len(first), dtype=np.int64)
    number[by_first] = np.arange(len(first))
    of_row = np.empty(len(order), dtype=np.int64)
    of_row[order] = np.repeat(number, np.diff(starts, append=len(order)))
    return of_row, first[by_first]


def summed_codes(
    n: NDArray[Any], codes: Sequence[NDArray[np.int64]], costs: Sequence[NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Return for each column the cost of its codes, summed over the records in the order of the rows."""
    none = np.zeros(len(n), dtype=np.int64)
    return np.array([np.bincount(none, n * cost[code], 1)[0] for code, cost in zip(codes, costs, strict=True)])


def _runs(keys: Words) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows in the order of their keys, where each run of equal keys starts, and the first row of each run."""
    order = np.argsort(keys[0], kind="stable") if len(keys) == 1 else np.lexsort(tuple(keys))
    begins = np.zeros(len(order), dtype=bool)
    begins[:1] = True
    for word in keys:
        ordered = word[order]
        begins[1:] |= ordered[1:] != ordered[:-1]
    starts = np.flatnonzero(begins)
    return order, starts, order[starts]
