"""How far does a key refine a sensitive attribute, if there are too many combinations to hold? An estimate with its error.

A large file, or a table in an engine, is read twice: first to find the largest classes of the key, from records drawn at random,
then to keep all records of these classes and of a random share of the others. A hash of its values decides whether one of the
other classes is kept, so the share is a random sample, and estimates from it have a standard error. Nothing is estimated if the
limit is not reached, and an estimate is always marked as one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil import __version__
from unveil.arguments import checked_arguments, checked_count, checked_seed
from unveil.attributes import Names, in_line, require_columns, sides_of
from unveil.counts import summed
from unveil.errors import ArgumentError, UndefinedMeasureError, shown
from unveil.formats import counted, number
from unveil.measures.discrimination import DiscriminationRate, discrimination_rate
from unveil.measures.entropy import entropy_bits
from unveil.results import Figure, Provenance, Result, View
from unveil.run import looks
from unveil.sources import Data, EngineSource, Sampled, StreamSource, Tally, TallySource, open_source, sample
from unveil.study import Study, count, planned_key, study_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ApproximateRate", "SampleEstimate", "approximate_rate"]

_FEWEST = 30
"""With fewer classes than this, a sample says too little about its own error."""
_NORMAL_95 = 1.959963984540054


@dataclass(frozen=True, slots=True)
class SampleEstimate:
    """A figure estimated from a sample, with its standard error and the 95 % interval that follows from it."""

    value: float
    error: float
    low: float
    high: float

    @classmethod
    def of(cls, value: float, error: float, most: float = math.inf) -> SampleEstimate:
        """Return the estimate of a figure from 0 to `most`."""
        reach = _NORMAL_95 * error
        inside = [min(most, max(0.0, each)) for each in (value, value - reach, value + reach)]
        return cls(inside[0], error, inside[1], inside[2])

    def to_dict(self) -> dict[str, float | None]:
        """Return the fields."""
        return {"value": self.value, "error": self.error, "low": self.low, "high": self.high}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ApproximateRate(Result):
    r"""The Discrimination Rate of a key, estimated from a random share of the key's classes.

    Attributes
    ----------
    rate
        :math:`DR_X(Y)` with its standard error.
    entropy
        :math:`H(X)` in bits; exact.
    classes, uniques
        The number of classes of the key, and of classes of one record.
    share, sampled_classes
        The share of the classes that was kept, and the number of these classes.
    max_distinct
        The limit that made the estimate necessary.
    made
        How the result was made.
    """

    rate: SampleEstimate
    entropy: float
    classes: SampleEstimate
    uniques: SampleEstimate
    share: float
    sampled_classes: int
    max_distinct: int
    made: Provenance

    @property
    def value(self) -> float:
        """The estimated rate."""
        return self.rate.value

    def __repr__(self) -> str:
        """Return one line: the question, the rate and its error."""
        return f"ApproximateRate({self._question()}: {number(self.value)}, standard error {self.rate.error:.2g})"

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer as plain Python values."""
        return {
            "approximate": True,
            "value": self.value,
            "error": self.rate.error,
            "interval": {"low": self.rate.low, "high": self.rate.high, "confidence": 0.95},
            "entropy": self.entropy,
            "classes": self.classes.to_dict(),
            "uniques": self.uniques.to_dict(),
            "share": self.share,
            "sampled_classes": self.sampled_classes,
            "max_distinct": self.max_distinct,
            "records": self.made.records,
            "made": self.made.to_dict(),
        }

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return one row per figure."""
        rows = {"rate": self.rate, "classes": self.classes, "uniques": self.uniques}
        return {
            "figure": list(rows),
            "value": [row.value for row in rows.values()],
            "error": [row.error for row in rows.values()],
            "low": [row.low for row in rows.values()],
            "high": [row.high for row in rows.values()],
        }

    def view(self) -> View:
        """Return the displayed figures and notes."""
        figures = (
            Figure("Discrimination Rate", self.value, "estimated"),
            Figure(
                "95% interval", f"{number(self.rate.low)} to {number(self.rate.high)}", f"standard error {self.rate.error:.2g}"
            ),
            Figure("classes", round(self.classes.value), f"standard error {self.classes.error:,.0f}"),
            Figure("classes of one record", round(self.uniques.value), f"standard error {self.uniques.error:,.0f}"),
            Figure("H(X)", f"{self.entropy:.4f} bit", "exact"),
            Figure("records", self.made.records),
        )
        note = (
            f"Approximate: there are more than {self.max_distinct:,} combinations, so all records of 1 class in "
            f"{round(1 / self.share):,} were kept and all of the large ones, "
            f"{counted(self.sampled_classes, 'class', 'classes')}. Without a limit the answer is exact."
        )
        return View(f"Discrimination Rate, approximate: {self._question()}", figures, (), (note,))

    def _question(self) -> str:
        return f"{in_line(self.made.key, ' + ')} -> {in_line(self.made.sensitive, ' + ') or 'record identity'}"


@looks
@checked_arguments
def approximate_rate(
    data: Data, key: Names | None = None, sensitive: Names | None = None, *, max_distinct: int, seed: int = 0
) -> DiscriminationRate | ApproximateRate:
    r"""Measure the Discrimination Rate of a large file or table while holding a limited number of combinations.

    Of the classes :math:`y` of the key, all large ones (:math:`L`) are kept, and a random share :math:`q` of the others
    (:math:`S`). With :math:`m_y` the records of a class and :math:`g_y = \sum_x m_{xy} \log_2 (m_y / m_{xy})`,

    .. math:: \widehat{DR} = 1 - \frac{\sum_{y \in L} g_y + \hat R (N - \sum_{y \in L} m_y)}{N H(X)}, \qquad
        \hat R = \frac{\sum_{y \in S} g_y}{\sum_{y \in S} m_y}, \qquad
        \widehat{se} = \frac{\sqrt{1 - q}}{q N H(X)} \sqrt{\sum_{y \in S} (g_y - \hat R m_y)^2},

    :math:`H(X)` and the number of records :math:`N` being exact. The numbers of classes, and of classes of one record, are those
    of the share over :math:`q`, with the standard error :math:`\sqrt{(1 - q) c} / q` for :math:`c` of them in the share.

    Parameters
    ----------
    data
        A path, a table in an engine, or a data frame. Data that comes in batches is sampled: large files and tables in an
        engine. Of other data all combinations are held anyway.
    key, sensitive
        As in `discrimination_rate`.
    max_distinct
        How many combinations of key and sensitive columns may be held.
    seed
        Decides which classes are drawn.

    Returns
    -------
    DiscriminationRate or ApproximateRate
        The exact answer if the limit was enough, else the estimate.

    References
    ----------
    .. [1] Cochran (1977), Sampling Techniques, 3rd ed., chapter 6 (ratio estimators).

    Examples
    --------
    >>> from unveil.measures.approximate import approximate_rate
    >>> approximate_rate("paper-4", "Age", "Disease", max_distinct=1000)
    DiscriminationRate(Age -> Disease: 0.7002, partial-identifier)
    """
    checked_count("max_distinct", max_distinct, least=1)
    checked_seed(seed)
    source, study = open_source(data), study_of(data)
    if study is not None and sensitive is None:
        sensitive = study.roles.one_sensitive() or None
    keys, sensitive_names = sides_of(planned_key(data) if key is None else key, sensitive)
    if study is not None:
        _refuse_what_is_not_sampled(study, (*keys, *sensitive_names))
    if not isinstance(source, StreamSource | EngineSource):
        return discrimination_rate(source, keys, sensitive_names or None)
    require_columns([*keys, *sensitive_names], source.names)
    sampled = sample(source, keys, sensitive_names, max_distinct, seed)
    if not sampled.level:
        return discrimination_rate(TallySource("the data", sampled.cells), keys, sensitive_names or None)
    made = Provenance(sampled.records, "category", key=keys, sensitive=sensitive_names, seed=seed, version=__version__)
    return _estimated(sampled, made, max_distinct)


def _refuse_what_is_not_sampled(study: Study, columns: Sequence[str]) -> None:
    """Refuse a study with settings that a sample does not support."""
    if study.policy != "category":
        raise ArgumentError(
            f"a rate is estimated with nulls as values, but the study says nulls={study.policy!r}; measure it exactly."
        )
    if study.weights is not None:
        raise ArgumentError("a rate is estimated without weights, but the study has some; measure it exactly.")
    if blocks := [name for name in columns if name in study.partitions]:
        raise ArgumentError(f"a rate is estimated without partitions, but {shown(blocks[0])} has one; measure it exactly.")


def _estimated(sampled: Sampled, made: Provenance, max_distinct: int) -> ApproximateRate:
    """Estimate from the classes kept: large ones count once, and the random share of the others stands for all others."""
    share, records = 2.0**-sampled.level, sampled.records
    entropy = (
        math.log2(records) if sampled.sensitive is None or sampled.sensitive.n is None else entropy_bits(sampled.sensitive.n)
    )
    if entropy == 0:
        raise UndefinedMeasureError("the Discrimination Rate is undefined: the sensitive column holds one value only.")
    drawn, large = (_uncertain(tally, made.key, made.sensitive) for tally in (sampled.cells, sampled.certain))
    if len(drawn[0]) < _FEWEST:
        raise ArgumentError(
            f"with max_distinct {max_distinct:,} fewer than {_FEWEST} classes of the key can be drawn, too few for an estimate; "
            "raise it."
        )
    sizes, uncertain = drawn
    ratio = float(uncertain.sum() / sizes.sum())
    total = float(large[1].sum()) + ratio * (records - float(large[0].sum()))
    spread = float(np.sqrt((1 - share) * ((uncertain - ratio * sizes) ** 2).sum())) / share
    single = int(np.count_nonzero(sizes == 1))
    return ApproximateRate(
        SampleEstimate.of(1.0 - total / (records * entropy), spread / (records * entropy), most=1.0),
        entropy,
        SampleEstimate.of(len(large[0]) + len(sizes) / share, math.sqrt((1 - share) * len(sizes)) / share),
        SampleEstimate.of(single / share, math.sqrt((1 - share) * single) / share),
        share,
        len(sizes) + len(large[0]),
        max_distinct,
        made,
    )


def _uncertain(tally: Tally, keys: Sequence[str], sensitive: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the number of records of every class, and this number times the uncertainty that is left among them."""
    if tally.frame.is_empty():
        return np.empty(0), np.empty(0)
    counts = count(TallySource("the data", tally), [*keys, *sensitive])
    classes = counts.classes(keys)
    uncertain = classes.mass * np.log2(classes.mass)
    if sensitive:
        uncertain -= summed(classes.of_cell, counts.mass * np.log2(counts.mass), classes.number)
    return classes.mass, uncertain
