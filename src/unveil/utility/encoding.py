"""Tables as numbers that a model can learn from, including generalised values.

The original determines the type of a column. In a column of numbers, a value of the release is the middle of what it covers:
``[20, 30)`` is 25, ``20-29`` and ``2*`` are 24.5, ``{20, 24}`` is 22; an open range such as ``>= 65`` is its end. A value
without information (``*``, a null, a text that is not a number) is the median of the training records. Numbers are
standardised.

Any other column is categorical: generalised values and nulls are categories like others, each with an indicator. An original
record is given to a model in the terms of its training data: a category that does not occur there becomes the one that training
records of that category most often became, as if new data were recoded in the way the release was.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from unveil.arguments import checked_count, checked_seed
from unveil.attributes import Names, names_of
from unveil.errors import ArgumentError, ColumnNotFoundError, MissingExtraError, listed, shown
from unveil.partitions import parse_generalised
from unveil.run import active_run
from unveil.sources import Source, common_codes, encode, require_countable

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "MOST_SQUARED", "Encoded", "check_draw", "encoded", "in_common", "in_one_thread", "learners_seed", "middle", "need_sklearn",
    "recoded", "transformer",
]  # fmt: skip

_Answer = TypeVar("_Answer")

_TURN = threading.Lock()
"""The lock that guards changes to the number of threads of numerical libraries."""
_MOST_CATEGORIES = 50
"""A column with more categories has an indicator for each of the most frequent ones; the others share one."""
_LEARNERS_SEEDS = 2**32
"""The number of seeds that scikit-learn accepts."""
MOST_SQUARED = 1e140
"""Sums of squares of larger numbers may be infinite."""


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """Columns of both tables as numbers.

    Attributes
    ----------
    names
        The columns.
    numeric
        Which of them hold numbers; the others hold codes of categories, -1 for a null.
    original, release
        One row per record and one column per name; NaN where a number is unknown.
    """

    names: tuple[str, ...]
    numeric: NDArray[np.bool_]
    original: NDArray[np.float64]
    release: NDArray[np.float64]

    def largest(self) -> NDArray[np.float64]:
        """Return the largest magnitude in each column."""
        both = np.abs(np.vstack([self.original, self.release]))
        return np.asarray(np.max(both, axis=0, where=~np.isnan(both), initial=0.0))

    def within_reach(self) -> Encoded:
        """Return the numbers in a larger unit, a power of two, if sums of their squares would overflow."""
        largest = active_run().watching(self.largest)
        units = np.ldexp(1.0, -np.where(largest > MOST_SQUARED, np.frexp(largest)[1], 0))
        return self if (units == 1.0).all() else replace(self, original=self.original * units, release=self.release * units)


def encoded(original: Source, release: Source, names: Sequence[str], *, numbers: bool = True) -> Encoded:
    """Read columns of both tables; without `numbers`, every column is categorical."""
    for what, source in (("original", original), ("release", release)):
        for name in names:
            if name not in source.names:
                raise ColumnNotFoundError(f"the {what}: {ColumnNotFoundError.among(name, source.names)}")
    before, after = original.collect(names), release.collect(names)
    pairs = [_pair(before[name], after[name], numbers=numbers) for name in names]
    numeric = np.array([numbers and before[name].dtype.is_numeric() for name in names], dtype=bool)
    return Encoded(tuple(names), numeric, np.column_stack([one for one, _ in pairs]), np.column_stack([two for _, two in pairs]))


def in_common(original: Source, release: Source, columns: Names | None, *, without: Iterable[str | None] = ()) -> tuple[str, ...]:
    """Return the named columns, each once, or, if none are named, those that both tables have."""
    names = names_of(columns)
    if doubled := [name for name in names if names.count(name) > 1]:
        raise ArgumentError(f"column {shown(doubled[0])} is named twice; name it once.")
    common = names or tuple(name for name in original.names if name in release.names and name not in set(without))
    if not common:
        raise ColumnNotFoundError(
            f"original and release have no column in common; those of the release are: {listed(release.names)}."
        )
    return common


def middle(value: Any) -> float:
    """Return the number that a value stands for; NaN if it stands for none.

    Examples
    --------
    >>> [middle(text) for text in ("23", "[20, 30)", "2*", "{20, 24}", ">= 65", "*")]
    [23.0, 25.0, 24.5, 22.0, 65.0, nan]
    """
    covered = parse_generalised(value)
    if covered is None:
        return _number(value)
    if covered.values is not None:
        ends = [_number(text) for text in covered.values]
    else:
        ends = [end for end in (covered.low, covered.high) if end is not None and math.isfinite(end)]
    return (min(ends) + max(ends)) / 2.0 if ends and not any(map(math.isnan, ends)) else math.nan


def transformer(numeric: NDArray[np.bool_], *, indicators: bool = False) -> Any:
    """Return the scikit-learn transformer that makes a design matrix: standardised numbers, and an indicator for each category.

    Parameters
    ----------
    numeric
        Which columns hold numbers.
    indicators
        Whether a further column indicates where a number is unknown.
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    known = make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True, add_indicator=indicators), StandardScaler())
    one_hot = OneHotEncoder(handle_unknown="ignore", max_categories=_MOST_CATEGORIES, sparse_output=False)
    return ColumnTransformer(
        [("numbers", known, np.flatnonzero(numeric)), ("categories", one_hot, np.flatnonzero(~numeric))], sparse_threshold=0.0
    )


def recoded(test: NDArray[np.float64], before: NDArray[np.float64], after: NDArray[np.float64]) -> NDArray[np.float64]:
    """Translate categories into those of the training data.

    Parameters
    ----------
    test
        The codes of original records in one column.
    before, after
        The same column of the aligned training records: in the original, and as the model learns from it.
    """
    seen = set(after.tolist())
    pairs, times = np.unique(np.column_stack([before, after]), axis=0, return_counts=True)
    became = dict(pairs[np.argsort(times, kind="stable")].tolist())  # the most frequent comes last and is kept
    return np.array([code if code in seen else became.get(code, code) for code in test.tolist()])


def need_sklearn(what: str) -> None:
    """Refuse to continue without scikit-learn."""
    try:
        import sklearn  # noqa: F401
    except ImportError:
        raise MissingExtraError.needed(what, extra="tasks") from None


def in_one_thread(work: Callable[[], _Answer]) -> _Answer:
    """Return the result of some work, done while numerical libraries use one thread; once the run is cancelled, stop waiting.

    So sums are computed in one order, and small problems are not slowed down by waiting. The number of threads of these
    libraries is one setting of the process: such work takes turns, also with a fit that nobody is waiting for any more.
    """
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    def working() -> _Answer:
        with _TURN, threadpool_limits(limits=1):
            active_run().check()
            return work()

    return active_run().watching(working)


def learners_seed(seed: int) -> int:
    """Return the seed that scikit-learn accepts in place of a seed; the same, unless it is longer than 32 bits."""
    return seed % _LEARNERS_SEEDS


def check_draw(seed: int, sample: int | None) -> None:
    """Refuse an impossible seed or sample."""
    checked_seed(seed)
    if sample is not None:
        checked_count("sample", sample, least=1, note=", or None for all records")


def _pair(before: Any, after: Any, *, numbers: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a column of both tables as numbers or codes."""
    for column in (before, after):
        require_countable(column.name, column)
    if numbers and before.dtype.is_numeric():
        return _numbers(before), _numbers(after)
    if before.dtype.is_numeric() and after.dtype.is_numeric():
        before, after = before.cast(float), after.cast(float)
    one, other = common_codes(before, after)
    return one.astype(np.float64), other.astype(np.float64)


def _numbers(column: Any) -> NDArray[np.float64]:
    if column.dtype.is_numeric():
        numbers = column.cast(float).to_numpy().copy()
        numbers[~np.isfinite(numbers)] = np.nan
        return np.asarray(numbers, dtype=np.float64)
    coded = encode(column)
    return np.asarray(np.array([middle(value) for value in coded.values])[coded.codes])


def _number(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
    return number if math.isfinite(number) else math.nan
