r"""Which columns hold the same information? Those that nearly determine each other, and an age beside a date of birth.

Two columns are alike if each predicts the other far better than the most frequent value does: with :math:`m_{A}` the number of
records for which the best guess of B within each value of A is right, Goodman and Kruskal's lambda :math:`(m_A - \max n_B) / (N
- \max n_B)` is at least 0.95, in both directions. Columns in which nearly every record has a value of its own are left out:
they would all be alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.counts import best_guess
from unveil.naming import hints_of, words_of
from unveil.partitions import DateReading, number_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.study import Columns

__all__ = ["AlikeColumns", "alike_columns"]

_LAMBDA = 0.95
_OWN = 0.5
"""A column with more values than this share of the persons is left out: nearly every person has a value of their own."""
_WIDE = 80
"""If there are more columns, only exact duplicates, and columns whose names share a word, are compared."""
_ROUNDING = 1e-6
"""The tolerance, in records, for the rounding error of a sum of floating-point numbers."""
_STRAIGHT = 0.99
_FEWEST = 10
_YEAR = 365.2425


@dataclass(frozen=True, slots=True)
class AlikeColumns:
    """Columns that hold the same information, and the evidence for it."""

    columns: tuple[str, ...]
    evidence: str

    def in_words(self) -> str:
        """Return one sentence."""
        return f"{' and '.join(self.columns)} say the same: {self.evidence}."

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {"columns": list(self.columns), "evidence": self.evidence}


def alike_columns(columns: Columns, persons: int | None = None) -> tuple[AlikeColumns, ...]:
    """Find the columns that hold the same information.

    Parameters
    ----------
    columns
        The columns of the table.
    persons
        The number of persons that the records belong to; none: as many as records.
    """
    most = _OWN * (persons or columns.records)
    few = [name for name in columns.names if 2 <= len(columns.values(name)) <= most]  # noqa: PLR2004 - two values
    joined = _Groups()
    for first, second in _pairs(columns, few):
        if _may_agree(columns.counts(first), columns.counts(second)) and _both_ways(columns, first, second):
            joined.join(first, second)
    alike = [AlikeColumns(tuple(group), "each determines the other's value in nearly every record") for group in joined.groups()]
    return (*alike, *_ages(columns))


def _pairs(columns: Columns, names: Sequence[str]) -> Sequence[tuple[str, str]]:
    if len(names) <= _WIDE:
        return [*combinations(names, 2)]
    words: dict[str, list[str]] = {}
    for name in names:
        for word in {word for word in words_of(name) if len(word) > 2 and not word.isdecimal()}:  # noqa: PLR2004 - short words
            words.setdefault(word, []).append(name)
    near = [pair for some in words.values() if len(some) <= _FEWEST for pair in combinations(some, 2)]
    return [*dict.fromkeys([*columns.copies(names), *near])]


def _may_agree(one: NDArray[np.int64], other: NDArray[np.int64]) -> bool:
    r"""Whether the counts of two columns, each by itself, permit that each predicts the other; they rule out most pairs.

    For at least :math:`m_A + m_B - N` records both guesses are right. The cells of these records match values one to one, so
    they hold at most the sum of the smaller count of each matched pair, which is largest if both columns are sorted by
    frequency.
    """
    few, many = sorted((len(one), len(other)))
    if few < _LAMBDA * many - 1:
        return False
    shared = np.minimum(np.sort(one)[::-1][:few], np.sort(other)[::-1][:few]).sum()
    records = one.sum()
    right = sum(counts.max() + _LAMBDA * (records - counts.max()) for counts in (one, other))
    return bool(shared >= right - records - _ROUNDING)


def _both_ways(columns: Columns, one: str, other: str) -> bool:
    """Whether each predicts the other far better than the most frequent value does."""
    cells = columns.joint(one, other)
    ways = (((cells.first, cells.second), other), ((cells.second, cells.first), one))
    return all(_lambda(codes, cells.n, columns.counts(of)) >= _LAMBDA for codes, of in ways)


def _lambda(codes: tuple[NDArray[np.int64], NDArray[np.int64]], n: NDArray[np.int64], counts: NDArray[np.int64]) -> float:
    """Return Goodman and Kruskal's lambda: how much better one column predicts another, which has these counts."""
    records, most = int(counts.sum()), int(counts.max())
    return (best_guess(*codes, len(counts), n)[1] - most) / (records - most) if records > most else 0.0


def _ages(columns: Columns) -> list[AlikeColumns]:
    """Find ages beside dates of birth: they lie on a straight line, with one year of age less per later year of birth."""
    ages = [name for name in columns.names if "age" in words_of(name) or {"alter", "edad"} & {*words_of(name)}]
    births = [name for name in columns.names if "birth-date" in hints_of(name)] if ages else []
    groups = []
    for birth in births:
        years = _years(columns.values(birth))
        for age in ages:
            numbers = np.array([float(x) if (x := number_of(v)) is not None else np.nan for v in columns.values(age)])
            if not (np.isfinite(years).any() and np.isfinite(numbers).any()):
                continue
            cells = columns.joint(birth, age)
            straight = _correlation(years[cells.first], numbers[cells.second], cells.n)
            if straight is not None and straight <= -_STRAIGHT:
                groups.append(AlikeColumns((birth, age), f"the age follows from the date of birth (correlation {straight:.3f})"))
    return groups


def _correlation(x: NDArray[np.float64], y: NDArray[np.float64], n: NDArray[np.int64]) -> float | None:
    """Return the correlation of two numeric columns, cell by cell; None if few records have both, or if one is constant."""
    known = np.isfinite(x) & np.isfinite(y)
    x, y, n = x[known], y[known], n[known]
    if n.sum() < _FEWEST or x.min() == x.max() or y.min() == y.max():
        return None
    x, y = x / np.abs(x).max(), y / np.abs(y).max()  # otherwise squares of large numbers would be infinite
    x, y = x - np.average(x, weights=n), y - np.average(y, weights=n)
    return float((n * x * y).sum() / np.sqrt((n * x * x).sum() * (n * y * y).sum()))


def _years(values: Sequence[Any]) -> NDArray[np.float64]:
    reading = DateReading.of(values)
    moments = [reading.read(value) for value in values]
    return np.array([np.nan if moment is None else moment.start.toordinal() / _YEAR for moment in moments])


class _Groups:
    """Names joined into groups."""

    def __init__(self) -> None:
        self._of: dict[str, list[str]] = {}

    def join(self, first: str, second: str) -> None:
        one, other = self._of.setdefault(first, [first]), self._of.setdefault(second, [second])
        if one is not other:
            one.extend(other)
            for name in other:
                self._of[name] = one

    def groups(self) -> list[list[str]]:
        return [*{id(group): group for group in self._of.values()}.values()]
