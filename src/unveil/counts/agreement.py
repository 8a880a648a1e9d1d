"""Agreements between the records of two tables, counted over all pairs and searched without listing the pairs.

The pattern of a pair says on which attributes its two records agree: attribute j is bit j. A missing value agrees with
nothing, not even with another missing value. Records that agree on a set of attributes form classes, which split as the set
grows; records without a partner in the other table are dropped on the way. Memory grows with the records and with the number of
patterns, never with the number of pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unveil.arguments import checked_array
from unveil.counts.grouping import Codes, group
from unveil.errors import ArgumentError, EmptyDataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BestOriginals", "RecordCells", "agreement_counts", "bits_of", "patterns_of"]

_MOST_ATTRIBUTES = 16
"""The most attributes that are compared; every further one doubles the number of patterns."""


def agreement_counts(original_codes: Sequence[Codes], release_codes: Sequence[Codes]) -> NDArray[np.int64]:
    """Count exactly the pairs of an original and a released record that show each pattern.

    Parameters
    ----------
    original_codes, release_codes
        The attributes that both tables share, one array of codes each, over common values; -1 is a missing value.

    Returns
    -------
    NDArray
        2^a counts that sum to the number of pairs, each at the position of its pattern.

    Examples
    --------
    >>> import numpy as np
    >>> agreement_counts([np.array([0, 1]), np.array([5, 5])], [np.array([0, 0, -1]), np.array([5, 6, 6])])
    array([3, 1, 1, 1])
    """
    return RecordCells.of(original_codes, release_codes).pattern_counts()


@dataclass(frozen=True, slots=True, eq=False)
class RecordCells:
    """The different records of both tables.

    Attributes
    ----------
    codes, sizes
        For each attribute, the value of every cell (0 if it is missing, else its code plus one), and the number of values.
    originals, releases
        How many records of each table a cell holds.
    of_original, of_release
        The cell of every record.
    """

    codes: list[Codes]
    sizes: list[int]
    originals: NDArray[np.int64]
    releases: NDArray[np.int64]
    of_original: NDArray[np.int64]
    of_release: NDArray[np.int64]

    @classmethod
    def of(cls, original_codes: Sequence[Codes], release_codes: Sequence[Codes]) -> RecordCells:
        """Check both tables and merge equal records."""
        one = [checked_array("original_codes", codes) for codes in original_codes]
        other = [checked_array("release_codes", codes) for codes in release_codes]
        _check_codes(one, other)
        columns = [np.concatenate([a.astype(np.int64), b.astype(np.int64)]) + 1 for a, b in zip(one, other, strict=True)]
        return cls._merged(columns, [int(column.max()) + 1 for column in columns], len(one[0]))

    @classmethod
    def _merged(cls, columns: Sequence[Codes], sizes: Sequence[int], originals: int) -> RecordCells:
        """Merge equal records, the first of which are the originals."""
        of_row, codes = group(columns, sizes)
        of_original, of_release = of_row[:originals], of_row[originals:]
        number = len(codes[0])
        one, other = np.bincount(of_original, minlength=number), np.bincount(of_release, minlength=number)
        return cls(codes, list(sizes), one, other, of_original, of_release)

    def over(self, attributes: Sequence[int]) -> RecordCells:
        """Return the different records over some of the attributes, in that order."""
        rows = np.concatenate([self.of_original, self.of_release])
        columns = [self.codes[at][rows] for at in attributes]
        return RecordCells._merged(columns, [self.sizes[at] for at in attributes], len(self.of_original))

    def agreements(self, originals: NDArray[np.int64], releases: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return, for some pairs of records, the attributes on which each pair agrees."""
        one, other = self.of_original[originals], self.of_release[releases]
        return np.stack([(codes[one] == codes[other]) & (codes[one] > 0) for codes in self.codes], axis=1)

    def pattern_counts(self) -> NDArray[np.int64]:
        """Count the pairs of each pattern.

        Pairs within a cell agree wherever it has a value. Pairs across cells are counted for each set of attributes on which
        they agree at least; from these counts, inclusion and exclusion give those that agree on exactly this set.
        """
        within = self.originals * self.releases
        counts = np.zeros(1 << len(self.codes), dtype=np.int64)
        counts[0] = len(self.of_original) * len(self.of_release) - int(within.sum())
        order = np.argsort(-np.asarray(self.sizes), kind="stable").tolist()  # many values first: most cells lose partners soon
        self._count_across(within, _Classes.whole(len(within)), 0, order, counts)
        for at in range(len(self.codes)):
            halves = counts.reshape(-1, 2, 1 << at)
            halves[:, 0] -= halves[:, 1]
        np.add.at(counts, patterns_of(np.stack([codes > 0 for codes in self.codes], axis=1)), within)
        return counts

    def _count_across(
        self, within: NDArray[np.int64], classes: _Classes, pattern: int, more: Sequence[int], counts: NDArray[np.int64]
    ) -> None:
        """Count the pairs across cells that agree at least on `pattern` and any of the attributes in `more`."""
        for at, attribute in enumerate(more):
            wider, rest = pattern | 1 << attribute, more[at + 1 :]
            finer = classes.split(self.codes[attribute], self.sizes[attribute])
            pairs = finer.totals(self.originals) * finer.totals(self.releases)
            counts[wider] = pairs.sum() - within[finer.cells].sum()
            if rest and counts[wider]:
                several = np.bincount(finer.of_cell, minlength=finer.number) > 1
                self._count_across(within, finer.where(several & (pairs > 0)), wider, rest, counts)


@dataclass(frozen=True, slots=True, eq=False)
class _Classes:
    """Classes of cells that agree on some attributes; not every cell has to be in a class."""

    cells: NDArray[np.int64]
    of_cell: NDArray[np.int64]
    number: int

    @classmethod
    def whole(cls, cells: int) -> _Classes:
        """Return all cells as one class, before any attribute is compared."""
        return cls(np.arange(cells), np.zeros(cells, dtype=np.int64), 1)

    def split(self, codes: Codes, size: int) -> _Classes:
        """Return the classes that agree on one more attribute, without the cells in which it is missing."""
        held = codes[self.cells] > 0
        kept = self.cells[held]
        of_cell, first = group([self.of_cell[held], codes[kept]], [self.number, size])
        return _Classes(kept, of_cell, len(first[0]))

    def where(self, alive: NDArray[np.bool_]) -> _Classes:
        """Return some of the classes."""
        kept = alive[self.of_cell]
        return _Classes(self.cells[kept], self.of_cell[kept], self.number)

    def totals(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Sum a figure of the cells by class."""
        return np.bincount(self.of_cell, weights=values[self.cells], minlength=self.number).astype(np.int64)


class BestOriginals:
    """For each cell of the release the highest score of an original record, and how many originals have it.

    A score is the sum of the effects of the attributes that agree. Every effect is above zero, so agreeing on more scores
    more: if a record's best set of attributes is S, no original agrees on S and more, and those that agree at least on
    S are those that agree on exactly S. The sets are visited depth first, strongest attribute first; a record is left out
    once no further set reaches the best score it has.

    Attributes
    ----------
    cells
        The different records, over the attributes that have an effect.
    score, ties
        For each cell the highest score, and the number of originals that have it.
    """

    __slots__ = ("_effects", "_reach", "cells", "score", "ties")

    def __init__(self, cells: RecordCells, effects: NDArray[np.int64]) -> None:
        telling = np.flatnonzero(effects > 0)
        telling = telling[np.argsort(-effects[telling], kind="stable")]
        self.cells = cells.over(telling.tolist()) if len(telling) else cells
        self._effects = effects[telling].tolist()
        self._reach = [*np.cumsum(effects[telling][::-1])[::-1].tolist(), 0]
        number = len(self.cells.originals)
        self.score = np.zeros(number, dtype=np.int64)
        self.ties = np.full(number, len(cells.of_original), dtype=np.int64)
        if self._effects:
            equal = self._with_equals()
            self.score[equal] = self._reach[0] + 1  # out of reach while the others search
            self._visit(_Classes.whole(number), 0, 0)
            self.score[equal] = self._reach[0]
            self.ties[equal] = self.cells.originals[equal]

    def _with_equals(self) -> NDArray[np.bool_]:
        """Mark the records without missing values that have equals among the originals: nothing can score higher."""
        full = np.logical_and.reduce([codes > 0 for codes in self.cells.codes])
        return np.asarray(full & (self.cells.originals > 0))

    def _visit(self, classes: _Classes, score: int, first: int) -> None:
        for at in range(first, len(self._effects)):
            alive = self._alive(classes, score + self._reach[at])
            if not len(alive.cells):
                return  # later attributes reach even less
            finer = alive.split(self.cells.codes[at], self.cells.sizes[at])
            higher = score + self._effects[at]
            self._note(finer, higher)
            if at + 1 < len(self._effects):
                self._visit(finer, higher, at + 1)

    def _alive(self, classes: _Classes, reach: int) -> _Classes:
        """Return the classes that hold originals and a released record whose best score may still be equalled or exceeded."""
        asking = (self.cells.releases[classes.cells] > 0) & (self.score[classes.cells] <= reach)
        offering = self.cells.originals[classes.cells] > 0
        wanted, offered = np.zeros(classes.number, dtype=bool), np.zeros(classes.number, dtype=bool)
        wanted[classes.of_cell[asking]] = True
        offered[classes.of_cell[offering]] = True
        return classes.where(wanted & offered)

    def _note(self, classes: _Classes, score: int) -> None:
        """Record the originals found for one set of attributes, wherever it is the best so far or as good."""
        originals = classes.totals(self.cells.originals)[classes.of_cell]
        held = self.score[classes.cells]
        better, equal = (originals > 0) & (held < score), (originals > 0) & (held == score)
        self.score[classes.cells[better]] = score
        self.ties[classes.cells[better]] = originals[better]
        self.ties[classes.cells[equal]] += originals[equal]


def patterns_of(agrees: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the pattern of each row of agreements: attribute j is bit j."""
    return np.asarray(agrees @ (1 << np.arange(agrees.shape[1])), dtype=np.int64)


def bits_of(patterns: NDArray[np.int64], attributes: int) -> NDArray[np.float64]:
    """Return the agreements of each pattern, 1 or 0 for each attribute."""
    return np.asarray(patterns[:, None] >> np.arange(attributes) & 1, dtype=np.float64)


def _check_codes(one: Sequence[Codes], other: Sequence[Codes]) -> None:
    if len(one) != len(other) or not 0 < len(one) <= _MOST_ATTRIBUTES:
        raise ArgumentError(
            f"both tables need the same attributes, from 1 to {_MOST_ATTRIBUTES}: there are {len(one)} and {len(other)}."
        )
    for name, columns in (("original", one), ("release", other)):
        if any(column.ndim != 1 for column in columns) or len({len(column) for column in columns}) > 1:
            raise ArgumentError(f"the {name} table: every attribute is one array, and all have the same number of records.")
        if not len(columns[0]):
            raise EmptyDataError.no_records(f"the {name} table")
        if any(column.dtype.kind not in "iu" or int(column.min()) < -1 for column in columns):
            raise ArgumentError(f"the {name} table: a code is a whole number from 0, or -1 for a missing value.")
