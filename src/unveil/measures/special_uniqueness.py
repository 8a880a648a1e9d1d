r"""Which records are unique on only a few attributes? Special uniques (SUDA), and the risk of each (DIS-SUDA).

A record is a *sample unique* on some key attributes if no other record shares its values there. A *minimal sample unique*
(MSU) of a record is a set of key attributes on which it is unique, while it is unique on no smaller set within it; the empty
set does not count. A *special unique* is unique on all key attributes and already on fewer. The fewer attributes it takes, and
the more ways there are, the higher the score, and the riskier the record.

Uniqueness is a matter of records, not of sampling weights; a null is a value like any other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_number
from unveil.attributes import in_line, sides_of
from unveil.counts import Counts, largest_subsets
from unveil.errors import ArgumentError, EmptyDataError
from unveil.formats import jsonable
from unveil.results import MASK, Figures
from unveil.run import Progress, in_run

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.counts import MinimalUniques

__all__ = ["SpecialSummary", "SpecialUnique", "SpecialUniques", "dis_risk", "find_special_uniques", "special_uniqueness"]


@dataclass(frozen=True, slots=True, eq=False)
class SpecialUnique(Figures):
    """One record that is unique: its values, its scores, how many minimal sample uniques it has, and the smallest of them."""

    held: Mapping[str, Any] = field(metadata={"name": "values"})
    score: int
    dis_score: float
    msu_by_size: Mapping[str, int]
    smallest_msu: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True, eq=False)
class SpecialSummary(Figures):
    """The totals of `SpecialUniques`, the contribution of each attribute, and the records with the highest scores."""

    key: Sequence[str]
    records: int
    max_size: int
    sample_uniques: int
    special_uniques: int
    msu_by_size: Mapping[str, int]
    max_score: int
    dis_fraction: float
    dis: float
    contribution: Mapping[str, float]
    worst: Sequence[SpecialUnique]

    def without_values(self) -> SpecialSummary:
        """Return the same without the values of the records, each of which belongs to one person."""
        return replace(self, worst=[replace(one, held=dict.fromkeys(one.held, MASK)) for one in self.worst])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SpecialUniques:
    """The minimal sample uniques of every cell of a count table, and the scores that follow.

    Attributes
    ----------
    counts
        The count table over the key attributes, in the order they were named.
    max_size
        The size of the largest sets of attributes examined.
    dis_fraction, dis
        The share of the population that was sampled, and the file's risk: the estimated probability that a unique match is
        a correct one (0 if no record is unique).
    uniques
        The minimal sample uniques themselves.
    msu, msu_by_size
        For each cell, how many minimal sample uniques it has, and how many of one attribute, of two, and so on.
    score, dis_score
        The SUDA and the DIS-SUDA score of each cell's record; 0 if it has no minimal sample unique.
    contribution
        For each key attribute, the share of all scores that comes from minimal sample uniques with this attribute.
    """

    counts: Counts
    max_size: int
    dis_fraction: float
    dis: float
    uniques: MinimalUniques
    msu: NDArray[np.int32]
    msu_by_size: NDArray[np.int32]
    score: NDArray[np.float64]
    dis_score: NDArray[np.float64]
    contribution: NDArray[np.float64]

    @property
    def key(self) -> tuple[str, ...]:
        """The key attributes."""
        return self.counts.names

    @property
    def sample_uniques(self) -> int:
        """The number of records that are unique on all key attributes."""
        return int(np.count_nonzero(self.counts.n == 1))

    @property
    def special_uniques(self) -> int:
        """The number of records that are unique on all key attributes and on fewer; `max_size` may hide some."""
        return int(np.count_nonzero(self.msu_by_size[:, :-1].any(axis=1)))

    @property
    def max_score(self) -> int:
        """The highest score."""
        return max((self.exact_score(cell) for cell in self.worst(1)), default=0)

    def __repr__(self) -> str:
        """Return one line: key, special uniques, records."""
        return (
            f"SpecialUniques({in_line(self.key, ' x ')}: {self.special_uniques:,} special of {self.sample_uniques:,} "
            f"sample uniques, {self.counts.records:,} records)"
        )

    def __eq__(self, other: object) -> bool:
        """Two results are equal if their tables, questions and findings are; all else follows from these."""
        if not isinstance(other, SpecialUniques):
            return NotImplemented
        return (
            self.counts == other.counts
            and (self.max_size, self.dis_fraction) == (other.max_size, other.dis_fraction)
            and np.array_equal(self.uniques.starts, other.uniques.starts)
            and np.array_equal(self.uniques.sets, other.uniques.sets)
        )

    __hash__ = None  # type: ignore[assignment]

    def minimal_uniques(self, cell: int) -> list[tuple[str, ...]]:
        """Return the minimal sample uniques of a cell, smallest first, attributes in the order they were named."""
        sets = self.uniques.sets[self.uniques.starts[cell] : self.uniques.starts[cell + 1]]
        inside = [[at for at in range(len(self.key)) if columns >> at & 1] for columns in sets.tolist()]
        inside.sort(key=lambda places: (len(places), places))
        return [tuple(self.key[at] for at in places) for places in inside]

    def exact_score(self, cell: int) -> int:
        """Return a cell's SUDA score as an integer, whatever its size (`score` rounds what exceeds 2^53)."""
        keys = len(self.key)
        return sum(number * math.factorial(keys - 1 - at) for at, number in enumerate(self.msu_by_size[cell].tolist()))

    def worst(self, top: int) -> list[int]:
        """Return the cells with the highest scores, at most `top` of them, none without a score."""
        scored = np.flatnonzero(self.score)
        return [int(cell) for cell in scored[np.argsort(-self.score[scored], kind="stable")[:top]]]

    def summary(self, top: int = 10) -> SpecialSummary:
        """Return the totals and the `top` riskiest records, described by their values."""
        return SpecialSummary(
            key=list(self.key),
            records=self.counts.records,
            max_size=self.max_size,
            sample_uniques=self.sample_uniques,
            special_uniques=self.special_uniques,
            msu_by_size=_by_size(self.msu_by_size.sum(axis=0, dtype=np.int64)),
            max_score=self.max_score,
            dis_fraction=self.dis_fraction,
            dis=self.dis,
            contribution=dict(zip(self.key, self.contribution.tolist(), strict=True)),
            worst=[self._described(cell) for cell in self.worst(top)],
        )

    def to_dict(self, top: int = 10) -> dict[str, Any]:
        """Return the same as plain Python values."""
        return self.summary(top).to_dict()

    def _described(self, cell: int) -> SpecialUnique:
        minimal = self.minimal_uniques(cell)
        columns = zip(self.counts.columns, self.counts.codes, strict=True)
        return SpecialUnique(
            held={column.name: jsonable(column.values[int(codes[cell])]) for column, codes in columns},
            score=self.exact_score(cell),
            dis_score=float(self.dis_score[cell]),
            msu_by_size=_by_size(self.msu_by_size[cell]),
            smallest_msu=[list(subset) for subset in minimal if len(subset) == len(minimal[0])],
        )


@in_run
def special_uniqueness(
    counts: Counts,
    keys: Sequence[str],
    *,
    max_size: int | None = None,
    dis_fraction: float = 0.01,
    progress: Progress | None = None,  # noqa: ARG001 - `in_run` takes it
) -> SpecialUniques:
    r"""Find the records that are unique on only a few attributes, and score them.

    With :math:`m` key attributes, the SUDA score of a record is a sum over its minimal sample uniques :math:`M` [1]_ [2]_:

    .. math:: S = \sum_{M} (m - |M|)!

    The file's risk is that of the data intrusion simulation [3]_ [4]_, the probability that a unique match is a correct one,
    estimated from the number of sample uniques :math:`U`, the number of records in pairs :math:`P`, and the sampling fraction
    :math:`f`. DIS-SUDA [5]_ spreads it over the records with a score, :math:`V` in number (all sample uniques, unless
    `max_size` hides some):

    .. math::

        DIS = \frac{U f}{U f + P (1 - f)}, \qquad
        \frac{1}{DS_i} = 1 + \left(\frac{1}{DIS} - 1\right) \frac{V \, S_i^{-q}}{\sum_j S_j^{-q}}, \qquad
        q = 1 + \frac{8 - m}{20} .

    So a record with the higher score has the higher risk, and the harmonic mean of the risks is DIS.

    Parameters
    ----------
    counts
        A count table with the key attributes among its columns.
    keys
        The attributes an intruder may know.
    max_size
        The size of the largest sets of attributes to examine; none: all.
    dis_fraction
        The share of the population that was sampled, above 0 and at most 1.
    progress
        Called with the number of sets of attributes done and their total number.

    Returns
    -------
    SpecialUniques
        For each cell, the number of minimal sample uniques by size and both scores; for each attribute, its contribution; and
        totals.

    Notes
    -----
    The published score of a minimal sample unique is :math:`\prod_{i=|M|}^{L} (m - i)`, with :math:`L < m` the largest size
    looked for [2]_: the score here divided by the constant :math:`(m - 1 - L)!`. Ranks, contributions and DIS-SUDA
    are the same, and here `max_size` changes a record's score only by the sets that are not looked for. A set of all
    attributes counts :math:`0! = 1`, as in sdcMicro.

    How DIS is spread over the records is a heuristic, for which no derivation was found in print; the formula is that of
    sdcMicro's `suda2` (after a program of the IHSN), and gives the figures printed in the IHSN's guide. Up to 300,000 records,
    sdcMicro 5.8.1 gives the same scores, and the same DIS-SUDA to the seven digits of its numbers. Differences: a null is a
    value, while sdcMicro leaves missing values out; and :math:`q` stops at 0 (from 28 attributes on), below which higher scores
    would mean lower risks. With `max_size` :math:`V` takes the place of sdcMicro's U, which knows no such limit. Without a single
    pair DIS is 1, and so is every risk.

    A contribution is the share of a score that comes from minimal sample uniques with that attribute, as in sdcMicro;
    a minimal sample unique of several attributes counts for each, so contributions add up to more than 1.

    References
    ----------
    .. [1] Elliot, Manning, Ford (2002), A computational algorithm for handling the special uniques problem, International
       Journal of Uncertainty, Fuzziness and Knowledge-Based Systems 10(5), 493-509.
    .. [2] Elliot, Manning, Mayes, Gurd, Bane (2005), SUDA: a program for detecting special uniques, UNECE/Eurostat work
       session on statistical data confidentiality, Geneva.
    .. [3] Elliot (2000), DIS: a new approach to the measurement of statistical disclosure risk, Risk Management 2(4), 39-48.
    .. [4] Skinner, Elliot (2002), A measure of disclosure risk for microdata, Journal of the Royal Statistical Society B
       64(4), 855-867.
    .. [5] Elliot, Manning (2003), Using DIS to modify the classification of special uniques, UNECE/Eurostat work session on
       statistical data confidentiality, Luxembourg.

    Examples
    --------
    >>> import polars as pl
    >>> import unveil
    >>> people = pl.DataFrame({"zip": [1, 1, 1, 2], "age": [30, 30, 40, 40], "sex": ["f", "m", "m", "m"]})
    >>> special_uniqueness(unveil.count(people, ["zip", "age", "sex"]), ["zip", "age", "sex"])
    SpecialUniques(zip x age x sex: 4 special of 4 sample uniques, 4 records)
    """
    return find_special_uniques(counts, keys, max_size=max_size, dis_fraction=dis_fraction)


def find_special_uniques(
    counts: Counts, keys: Sequence[str], *, max_size: int | None = None, dis_fraction: float = 0.01
) -> SpecialUniques:
    """Return the result of `special_uniqueness` as a part of another call, which reports its progress."""
    keys, _ = sides_of(keys, None)
    largest = _checked_size(len(keys), max_size)
    checked_number("dis_fraction", dis_fraction, above=0.0, most=1.0)
    if not len(counts):
        raise EmptyDataError.no_records("the count table")
    return _scored(counts.over(keys), largest, dis_fraction)


def dis_risk(n: NDArray[np.int64], fraction: float) -> float:
    """Return the probability that a unique match is correct, given the size of each class; 0 if no record is unique."""
    unique, paired = int(np.count_nonzero(n == 1)), 2 * int(np.count_nonzero(n == 2))  # noqa: PLR2004
    return unique * fraction / (unique * fraction + paired * (1.0 - fraction)) if unique else 0.0


def _scored(counts: Counts, largest: int, fraction: float) -> SpecialUniques:
    from unveil.counts import find_minimal_uniques

    sizes = [len(column.values) for column in counts.columns]
    uniques = find_minimal_uniques(counts.codes, sizes, counts.n, max_size=largest)
    points = _points(len(sizes))
    score = uniques.by_size @ points
    dis = dis_risk(counts.n, fraction)
    total = float(score.sum())
    return SpecialUniques(
        counts=counts,
        max_size=largest,
        dis_fraction=fraction,
        dis=dis,
        uniques=uniques,
        msu=np.diff(uniques.starts).astype(np.int32),
        msu_by_size=uniques.by_size,
        score=score,
        dis_score=_dis_scores(score, dis, len(sizes)),
        contribution=(uniques.by_column @ points) / total if total else np.zeros(len(sizes)),
    )


def _points(keys: int) -> NDArray[np.float64]:
    """Return (m - size)! for sizes 1 to m."""
    return np.array([float(math.factorial(keys - size)) for size in range(1, keys + 1)])


def _dis_scores(score: NDArray[np.float64], dis: float, keys: int) -> NDArray[np.float64]:
    """Spread the file's risk over the records with a score."""
    scored = score > 0
    q = max(0.0, 1.0 + (8 - keys) / 20)
    # relative to the mean score, so that no power leaves the range of floating point
    low = (score[scored] / score[scored].mean()) ** -q if scored.any() else score[scored]
    risk = np.zeros(len(score))
    if len(low):
        risk[scored] = 1.0 / (1.0 + (1.0 / dis - 1.0) * low / low.mean())
    return risk


def _by_size(numbers: NDArray[Any]) -> dict[str, int]:
    """Return the numbers above zero by size."""
    return {str(at + 1): number for at, number in enumerate(numbers.tolist()) if number}


def _checked_size(keys: int, max_size: int | None) -> int:
    from unveil.counts import MOST_COLUMNS

    if keys > MOST_COLUMNS:
        raise ArgumentError(f"{keys} key attributes are named, and at most {MOST_COLUMNS} can be searched; name fewer.")
    return largest_subsets(keys, max_size)
