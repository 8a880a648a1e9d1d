r"""Which columns say the same thing? Those that nearly determine each other, and an age beside a date of birth.

Two columns are alike if each predicts the other far better than the most frequent value does: with :math:`m_{A}` the records
that the best guess of B gets right within each value of A, Goodman and Kruskal's lambda :math:`(m_A - \max n_B) / (N - \max
n_B)` is at least 0.95, both ways. Columns in which nearly every record has a value of its own are left out: they would all be
alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.counts.guessing import best_guess
from unveil.naming import hints_of, words_of
from unveil.partitions.matching import number_of
from unveil.partitions.moments import DateReading

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.sources import Coded

__all__ = ["AlikeColumns", "alike_columns"]

_LAMBDA = 0.95
_OWN = 0.5
"""A column with more values than this share of the persons is left out: nearly everybody has a value of their own."""
_WIDE = 80
"""If there are more columns, only exact duplicates, and columns whose names share a word, are compared."""
_STRAIGHT = 0.99
_FEWEST = 10
_YEAR = 365.2425


@dataclass(frozen=True, slots=True)
class AlikeColumns:
    """Columns that say the same, and the evidence for it."""

    columns: tuple[str, ...]
    evidence: str

    def in_words(self) -> str:
        """Return one sentence."""
        return f"{' and '.join(self.columns)} say the same: {self.evidence}."

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {"columns": list(self.columns), "evidence": self.evidence}


def alike_columns(coded: Mapping[str, Coded], persons: int | None = None) -> tuple[AlikeColumns, ...]:
    """Find the columns that say the same.

    Parameters
    ----------
    coded
        The columns of the records, coded.
    persons
        How many persons the records belong to; none: as many as records.
    """
    most = _OWN * (persons or max((len(one.codes) for one in coded.values()), default=0))
    few = {name: one for name, one in coded.items() if 2 <= len(one.values) <= most}  # noqa: PLR2004 - two values
    joined = _Groups()
    for first, second in _pairs(few):
        if _both_ways(few[first], few[second]):
            joined.join(first, second)
    alike = [AlikeColumns(tuple(group), "each determines the other's value in nearly every record") for group in joined.groups()]
    return (*alike, *_ages(coded))


def _pairs(coded: Mapping[str, Coded]) -> Sequence[tuple[str, str]]:
    if len(coded) <= _WIDE:
        return [*combinations(coded, 2)]
    twins: dict[bytes, list[str]] = {}
    words: dict[str, list[str]] = {}
    for name, one in coded.items():
        _, first, inverse = np.unique(one.codes, return_index=True, return_inverse=True)
        rank = np.empty(len(first), dtype=np.int64)
        rank[np.argsort(first)] = np.arange(len(first))
        twins.setdefault(rank[inverse].tobytes(), []).append(name)
        for word in {word for word in words_of(name) if len(word) > 2 and not word.isdecimal()}:  # noqa: PLR2004 - short words
            words.setdefault(word, []).append(name)
    near = [pair for names in words.values() if len(names) <= _FEWEST for pair in combinations(names, 2)]
    exact = [(names[0], other) for names in twins.values() for other in names[1:]]
    return [*dict.fromkeys([*exact, *near])]


def _both_ways(one: Coded, other: Coded) -> bool:
    """Whether each predicts the other far better than the most frequent value does."""
    few, many = sorted((len(one.values), len(other.values)))
    return few >= _LAMBDA * many - 1 and _lambda(one, other) >= _LAMBDA and _lambda(other, one) >= _LAMBDA


def _lambda(by: Coded, of: Coded) -> float:
    records, most = len(of.codes), int(np.bincount(of.codes).max())
    return (best_guess(by.codes, of.codes, len(of.values))[1] - most) / (records - most) if records > most else 0.0


def _ages(coded: Mapping[str, Coded]) -> list[AlikeColumns]:
    """Find ages beside dates of birth: they lie on a straight line, one year of age less for each later year of birth."""
    ages = [name for name in coded if "age" in words_of(name) or {"alter", "edad"} & {*words_of(name)}]
    births = [name for name in coded if "birth-date" in hints_of(name)] if ages else []
    groups = []
    for birth in births:
        years = _years(coded[birth])
        for age in ages:
            numbers = np.array([float(x) if (x := number_of(v)) is not None else np.nan for v in coded[age].values])
            x, y = years[coded[birth].codes], numbers[coded[age].codes]
            known = np.isfinite(x) & np.isfinite(y)
            if known.sum() >= _FEWEST and np.ptp(x[known]) > 0 and np.ptp(y[known]) > 0:
                straight = float(np.corrcoef(x[known], y[known])[0, 1])
                if straight <= -_STRAIGHT:
                    groups.append(
                        AlikeColumns((birth, age), f"the age follows from the date of birth (correlation {straight:.3f})")
                    )
    return groups


def _years(coded: Coded) -> NDArray[np.float64]:
    reading = DateReading.of(coded.values)
    moments = [reading.read(value) for value in coded.values]
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
