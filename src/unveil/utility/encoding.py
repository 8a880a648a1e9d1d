"""How does a table, generalised values and all, become numbers that a model can learn from?

A column is one of numbers where every value of the original, nulls aside, is a number (a truth value is none); any other column
is one of categories. In the release of a column of numbers a generalised value stands at the middle of what it covers:
``[20, 30)`` at 25, ``20-29`` and ``2*`` at 24.5, ``{20, 24}`` at 22. An open end, as in ``>= 65``, stands at the mean of the
original training values it covers (at its finite end where it covers none). What says nothing, ``*``, a null or a text that
is no number, stands at the median of the training values that do say something (at the original training mean where none does).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from unveil.errors import ArgumentError, ColumnNotFoundError, listed, shown
from unveil.partitions.generalised import Generalised, parse_generalised

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Rows: TypeAlias = NDArray[np.int64]
    Numbers: TypeAlias = NDArray[np.float64]

__all__ = [
    "MOST_CATEGORIES",
    "Categories",
    "Columns",
    "Feature",
    "FeatureUse",
    "Measured",
    "Side",
    "Split",
    "categories_of",
    "checked_draw",
    "checked_names",
    "column_of",
    "drawn",
    "feature_of",
    "indicators",
    "matrices",
    "most_frequent",
    "placed",
    "records_of",
    "span_of",
    "spans_of",
]

Columns: TypeAlias = Mapping[str, Sequence[Any]]
Side: TypeAlias = Literal["original", "release"]

MOST_CATEGORIES = 50
"""A column of categories has an indicator for each of its most frequent ones, this many; the others are told by none."""


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Which records a model learns from, and which it is tried on.

    Attributes
    ----------
    side
        The table it learns from.
    train
        The rows of that table.
    known
        The rows of the original that may be looked at: those of the training folds.
    test
        The rows of the original it is tried on.
    partners
        For every training record its original row (-1 none), where categories that the training data never holds are to be
        recoded as the training records were; None: they are ignored.
    """

    side: Side
    train: Rows
    known: Rows
    test: Rows
    partners: Rows | None = None


@dataclass(frozen=True, slots=True)
class FeatureUse:
    """How a feature was read.

    Attributes
    ----------
    name
        The column.
    kind
        "number" or "category".
    ranges, open_ends, unknown
        Of a column of numbers: how many release values stand at the middle of a range, at the mean of an open end, and how many
        say nothing.
    unseen
        Of a column of categories: the share of the original records whose category the release never holds.
    """

    name: str
    kind: str
    ranges: int = 0
    open_ends: int = 0
    unknown: int = 0
    unseen: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that say something of this kind of column."""
        if self.kind == "category":
            return {"name": self.name, "kind": self.kind, "unseen": self.unseen}
        counts = {"ranges": self.ranges, "open_ends": self.open_ends, "unknown": self.unknown}
        return {"name": self.name, "kind": self.kind, **counts}


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """A column of numbers: for every record the lowest and the highest number its value may stand for, NaN where any may be."""

    name: str
    original: Numbers
    release: Numbers

    def columns(self, split: Split) -> tuple[Numbers, Numbers]:
        """Return the numbers of the training and the test records, in standard deviations from the training mean."""
        known = self.original[split.known, 0]
        spans = (self.original if split.side == "original" else self.release)[split.train]
        train, test = placed(spans, known), self.original[split.test, 0]
        fill = _middle(train, known)
        train, test = np.where(np.isnan(train), fill, train), np.where(np.isnan(test), fill, test)
        mean, spread = train.mean(), train.std()
        if spread <= np.finfo(float).eps * max(1.0, abs(mean)):  # says nothing about the target, whatever the test records hold
            return np.zeros((len(train), 1)), np.zeros((len(test), 1))
        return ((train - mean) / spread)[:, None], ((test - mean) / spread)[:, None]

    def use(self, original: Rows, release: Rows) -> FeatureUse:
        """Say how the records named were read."""
        del original
        low, high = self.release[release].T
        open_ends = np.isinf(low) | np.isinf(high)
        ranges = (high > low) & ~open_ends
        counts = [int(np.count_nonzero(some)) for some in (ranges, open_ends, np.isnan(low))]
        return FeatureUse(self.name, "number", *counts)


@dataclass(frozen=True, slots=True, eq=False)
class Categories:
    """A column of categories: a code for every record of both tables, in the order of the labels; a null has the code -1."""

    name: str
    original: Rows
    release: Rows
    labels: tuple[str, ...]

    def columns(self, split: Split) -> tuple[Numbers, Numbers]:
        """Return an indicator for each category that the training records hold; any other category has none."""
        train = (self.original if split.side == "original" else self.release)[split.train]
        test = self.original[split.test]
        if split.partners is not None and split.side == "release":
            test = self._recoded(test, train, split.partners)
        kept = most_frequent(train)
        return indicators(train, kept), indicators(test, kept)

    def use(self, original: Rows, release: Rows) -> FeatureUse:
        """Say how the records named were read."""
        seen = np.isin(self.original[original], self.release[release])
        return FeatureUse(self.name, "category", unseen=float(1.0 - seen.mean()) if len(seen) else 0.0)

    def _recoded(self, test: Rows, train: Rows, partners: Rows) -> Rows:
        """Give a category that the release never holds the one that records of it most often became."""
        paired = partners >= 0
        before, after = self.original[partners[paired]], train[paired]
        pairs, times = np.unique(np.column_stack([before, after]), axis=0, return_counts=True)
        order = np.lexsort((pairs[:, 1], -times, pairs[:, 0]))  # of each category the most frequent first
        pairs = pairs[order]
        categories, first = np.unique(pairs[:, 0], return_index=True)
        became = dict(zip(categories.tolist(), pairs[first, 1].tolist(), strict=True))
        held = set(train.tolist())
        return np.array([code if code in held else became.get(code, code) for code in test.tolist()], dtype=np.int64)


Feature: TypeAlias = Measured | Categories


def feature_of(original: Columns, release: Columns, name: str) -> Feature:
    """Read a column of both tables; the original says whether it is one of numbers."""
    before, after = column_of(original, name, "the original"), column_of(release, name, "the release")
    if _are_numbers(before):
        return Measured(name, spans_of(before), spans_of(after))
    return categories_of(original, release, name)


def categories_of(original: Columns, release: Columns, name: str) -> Categories:
    """Read a column of both tables as one of categories, whatever it holds."""
    before, after = column_of(original, name, "the original"), column_of(release, name, "the release")
    texts, others = [_text(value) for value in before], [_text(value) for value in after]
    labels = sorted({text for text in (*texts, *others) if text is not None})
    code: dict[str | None, int] = {None: -1, **{label: at for at, label in enumerate(labels)}}
    codes = [np.array([code[text] for text in some], dtype=np.int64) for some in (texts, others)]
    return Categories(name, codes[0], codes[1], tuple(labels))


def matrices(features: Sequence[Feature], split: Split) -> tuple[Numbers, Numbers]:
    """Return the training and the test records as the rows of two matrices with the same columns."""
    parts = [feature.columns(split) for feature in features]
    return np.hstack([train for train, _ in parts]), np.hstack([test for _, test in parts])


def placed(spans: Numbers, known: Numbers) -> Numbers:
    """Return the number at which each span stands, NaN where nothing is known.

    Parameters
    ----------
    spans
        The lowest and the highest number of each record.
    known
        The original training values, whose mean an open end takes.
    """
    with np.errstate(invalid="ignore"):
        numbers = spans.mean(axis=1)
    open_ended = np.isinf(spans).any(axis=1)
    if open_ended.any():
        found, at = np.unique(spans[open_ended], axis=0, return_inverse=True)
        means = np.array([_mean_inside(low, high, known) for low, high in found.tolist()])
        numbers[open_ended] = means[at.ravel()]
    return np.asarray(numbers)


def span_of(value: object) -> tuple[float, float]:
    """Return the lowest and the highest number a value may stand for; NaN twice where it says nothing.

    Examples
    --------
    >>> span_of(23), span_of("[20, 30)"), span_of("2*"), span_of(">= 65"), span_of("*")
    ((23.0, 23.0), (20.0, 30.0), (20.0, 29.0), (65.0, inf), (nan, nan))
    """
    number = _number(value)
    if number is None and isinstance(value, str):
        number = _plain(value)
        covered = parse_generalised(value) if number is None else None
        if covered is not None:
            return _covered(covered)
    return (number, number) if number is not None and math.isfinite(number) else (math.nan, math.nan)


def spans_of(values: Iterable[object]) -> Numbers:
    """Return the span of each value, read once for each distinct text."""
    read: dict[str, tuple[float, float]] = {}
    spans = []
    for value in values:
        if not isinstance(value, str):
            spans.append(span_of(value))
            continue
        if value not in read:
            read[value] = span_of(value)
        spans.append(read[value])
    return np.array(spans, dtype=np.float64).reshape(-1, 2)


def most_frequent(codes: Rows) -> Rows:
    """Return the codes that occur most often, in their own order; of equally frequent ones the first."""
    found, times = np.unique(codes, return_counts=True)
    return np.asarray(np.sort(found[np.argsort(-times, kind="stable")[:MOST_CATEGORIES]]))


def indicators(codes: Rows, kept: Rows) -> Numbers:
    """Return a column for each code kept: 1 where a record has it."""
    return np.asarray(codes[:, None] == kept[None, :], dtype=np.float64)


def drawn(rows: Rows, most: int | None, seed: Sequence[int]) -> Rows:
    """Return the rows, or as many of them as allowed, drawn by the seed, in their order."""
    if most is None or len(rows) <= most:
        return rows
    return np.asarray(np.sort(np.random.default_rng(list(seed)).choice(rows, most, replace=False)))


def column_of(table: Columns, name: str, place: str) -> list[Any]:
    """Return a column as a list of Python values."""
    if name not in table:
        raise ColumnNotFoundError(f"{place}: {ColumnNotFoundError.among(name, list(table))}")
    column: Any = table[name]
    return list(column.tolist() if isinstance(column, np.ndarray) else column)


def records_of(table: Columns, names: Iterable[str], place: str) -> int:
    """Return how many records the columns named hold; all hold as many."""
    lengths = {name: len(table[name]) for name in names if name in table}
    if len(set(lengths.values())) > 1:
        raise ArgumentError(
            f"{place}: its columns are not equally long: {listed(f'{name} ({n:,})' for name, n in lengths.items())}."
        )
    return next(iter(lengths.values()), 0)


def checked_draw(seed: int, sample: int | None) -> None:
    """Refuse a seed or a sample that cannot be."""
    if not 0 <= seed < 2**32:
        raise ArgumentError("seed is at least 0 and below 2 to the power of 32.")
    if sample is not None and sample < 1:
        raise ArgumentError("sample is at least 1 record, or None for all.")


def checked_names(features: Sequence[str]) -> tuple[str, ...]:
    """Return the features named, each once, at least one."""
    names = (features,) if isinstance(features, str) else tuple(features)
    if not names:
        raise ArgumentError("no features are named; a model learns from at least one column.")
    for at, name in enumerate(names):
        if name in names[:at]:
            raise ArgumentError(f"the feature {shown(name)} is named more than once.")
    return names


def _covered(covered: Generalised) -> tuple[float, float]:
    """Return the ends of what is covered; an end that does not belong to an open-ended range is stepped over."""
    if covered.values is not None:
        spans = [span_of(text) for text in covered.values]
        ends = [end for span in spans for end in span]
        return (min(ends), max(ends)) if ends and not any(math.isnan(end) for end in ends) else (math.nan, math.nan)
    low, high = covered.low, covered.high
    if low is None or high is None or not low <= high or (math.isinf(low) and math.isinf(high)):
        return math.nan, math.nan
    if math.isinf(high) and not covered.with_low:
        low = math.nextafter(low, math.inf)
    if math.isinf(low) and not covered.with_high:
        high = math.nextafter(high, -math.inf)
    return low, high


def _mean_inside(low: float, high: float, known: Numbers) -> float:
    inside = known[(known >= low) & (known <= high)]
    if len(inside):
        return float(inside.mean())
    return high if math.isinf(low) else low


def _middle(train: Numbers, known: Numbers) -> float:
    for numbers, middle in ((train, np.nanmedian), (known, np.nanmean)):
        if not np.isnan(numbers).all():
            return float(middle(numbers))
    return 0.0


def _are_numbers(values: Sequence[object]) -> bool:
    present = [value for value in values if not _missing(value)]
    return bool(present) and all(_number(value) is not None for value in present)


def _number(value: object) -> float | None:
    """Return a value that is a number as a float; a truth value is none."""
    if isinstance(value, bool | np.bool_):
        return None
    if not isinstance(value, int | float | np.integer | np.floating | Decimal | Fraction):
        return None
    try:
        return float(value)
    except (OverflowError, ValueError):  # beyond any float, or a signalling NaN
        return math.nan


def _plain(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _missing(value: object) -> bool:
    if value is None:
        return True
    number = _number(value)
    return number is not None and math.isnan(number)


def _text(value: object) -> str | None:
    """Return the text under which a category is known: 1, 1.0 and "1" are one; a null is none."""
    if isinstance(value, float | np.floating | Decimal):
        return None if math.isnan(value) else str(int(value)) if math.isfinite(value) and value == int(value) else str(value)
    return None if value is None else str(value)
