r"""How much does a window disclose that has more combinations than may be kept? Estimates from a sample of its classes.

Of the combinations of the columns that all keys share, the most frequent are always kept, and of the others those whose hash
falls into a share :math:`\pi = 2^{-j}` of all hashes, each with all its records: the classes that are kept are known exactly,
however many records came and went. Of the other records, only the sensitive values are counted, so that N and H(X) stay exact.
With n the size of a class, h its entropy (of the sensitive values; against record identity :math:`\log_2 n`), C the classes
that are always kept, S the drawn classes, and R the number of records outside C, which is known,

.. math:: DR \approx 1 - \frac{\sum_C n h + R \bar h}{N H(X)}, \qquad \bar h = \frac{\sum_S n h}{\sum_S n}, \qquad
          \text{error} = \frac{R \sqrt{(1 - \pi) \sum_g (\sum_{c \in g} n (h - \bar h))^2}}{N H(X) \sum_S n}

where g runs over the drawn combinations. Numbers of classes are those of C plus those of S divided by :math:`\pi`. Errors are
standard errors: two of them on either side contain the exact figure in about 95 of 100 cases as long as the sample has a few
hundred classes. The smallest class of the sample is at least as large as the smallest of all.

References
----------
P. Gibbons (2001), Distinct sampling for highly-accurate answers to distinct values queries and event reports, VLDB, 541-550.
C.-E. Särndal, B. Swensson, J. Wretman (1992), Model assisted survey sampling, Springer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.counts import Counts, MovingCounts, group
from unveil.stream.figures import Approximation, KeyFigures, KeySet, NeedFigure, NeedSet, class_sizes

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["estimated_key", "unknown_need"]

_OF_PERSONS = (
    "the window has more combinations than its limit; for persons, k, uniques and classes are estimated, but not the rate"
)
_CONSTANT = "there is only one value, so nothing can be disclosed"
_NO_KIND = "the kind of identifier cannot be determined from a sample of the classes"
_NO_SAMPLE = "the window has more combinations than its limit, and the sample contains no class of this key"


def estimated_key(counts: MovingCounts, one: KeySet) -> KeyFigures:
    """Estimate the disclosure by one key from the classes that were kept."""
    certain, drawn = (None if table is None else _Stratum.of(table, one, counts.sampled) for table in counts.strata())
    parts = [part for part in (certain, drawn) if part is not None]
    if not parts:
        return KeyFigures(one.names, None, _NO_SAMPLE, None, 0, 0, 0, Approximation(counts.share, None, None, None))
    uniques, uniques_error = _number([part.sizes == 1 for part in parts], certain, drawn, counts.share)
    classes, classes_error = _number([part.sizes > 0 for part in parts], certain, drawn, counts.share)
    rate, error, reason = _rate(counts, one, certain, drawn)
    errors = Approximation(counts.share, error, uniques_error, classes_error)
    return KeyFigures(one.names, rate, reason, None, min(int(part.sizes.min()) for part in parts), uniques, classes, errors)


def unknown_need(one: NeedSet) -> NeedFigure:
    """Return the figure of a need that cannot be measured because its classes are not complete in the sample."""
    return NeedFigure(one.need.name, None, None, None, "the window has more combinations than its limit")


@dataclass(frozen=True, slots=True, eq=False)
class _Stratum:
    """Classes that were kept: their sizes in records or persons, their records, entropies, and drawn combinations."""

    sizes: NDArray[np.int64]
    records: NDArray[np.float64]
    entropies: NDArray[np.float64]
    drawn: NDArray[np.int64]

    @classmethod
    def of(cls, table: Counts, one: KeySet, columns: tuple[str, ...]) -> _Stratum:
        cells = table.over([*one.key, *one.sensitive])
        classes = cells.classes(one.key)
        n = classes.n.astype(np.float64)
        inside = np.bincount(classes.of_cell, cells.n * np.log2(cells.n)) / n if one.sensitive else 0.0
        at = [one.key.index(name) for name in columns]
        drawn, _ = group([classes.codes[place] for place in at], [len(classes.columns[place].values) for place in at])
        return cls(class_sizes(table, one), n, np.log2(n) - inside, drawn)


def _number(
    chosen: Sequence[NDArray[np.bool_]], certain: _Stratum | None, drawn: _Stratum | None, share: float
) -> tuple[int, float]:
    """Return an estimate of the number of chosen classes, and its standard error."""
    known = 0 if certain is None else int(chosen[0].sum())
    if drawn is None:
        return known, 0.0
    per = np.bincount(drawn.drawn, chosen[-1].astype(np.float64))
    return known + round(float(per.sum()) / share), math.sqrt((1.0 - share) * float(per @ per)) / share


def _rate(
    counts: MovingCounts, one: KeySet, certain: _Stratum | None, drawn: _Stratum | None
) -> tuple[float | None, float | None, str]:
    """Return an estimate of the rate, its standard error, and the reason why the rate or the kind of identifier is unknown."""
    whole = _entropy(counts.marginal(one.sensitive)) if one.sensitive else math.log2(counts.records)
    if one.person is not None or not whole:
        return None, None, _OF_PERSONS if one.person is not None else _CONSTANT
    known, left = 0.0, float(counts.records)
    if certain is not None:
        known, left = float(certain.records @ certain.entropies), left - float(certain.records.sum())
    if drawn is None and left:
        return None, None, _NO_SAMPLE
    mean = error = 0.0
    if drawn is not None:
        total = float(drawn.records.sum())
        mean = float(drawn.records @ drawn.entropies) / total
        off = np.bincount(drawn.drawn, drawn.records * (drawn.entropies - mean))
        error = math.sqrt((1.0 - counts.share) * float(off @ off)) / total * left
    unit = counts.records * whole
    return min(max(1.0 - (known + left * mean) / unit, 0.0), 1.0), error / unit, _NO_KIND


def _entropy(n: NDArray[Any]) -> float:
    total = float(n.sum())
    return math.log2(total) - float(n @ np.log2(n)) / total if len(n) > 1 else 0.0
