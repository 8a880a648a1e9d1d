"""Many Discrimination Rates of one coded table, as plain figures, with the reason for each that is undefined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from unveil import __version__
from unveil.counts import Split, split_each
from unveil.errors import UndefinedMeasureError
from unveil.measures.by_value import rows_of
from unveil.measures.discrimination import DiscriminationRate, split_rate
from unveil.partitions import Partition
from unveil.results import Figures, Provenance
from unveil.sources import CodedTable

__all__ = ["RateFigures", "RateQuestion", "mean", "rate", "rates"]


_PART = Provenance(0, "category", version=__version__, date="")
"""The provenance of a rate within a larger result, which states it for all of its rates."""


@dataclass(frozen=True, slots=True, eq=False)
class RateQuestion:
    """The question for a rate.

    Attributes
    ----------
    table, known, hidden
        A table, its known columns and its hidden ones; if none is hidden, the identity of the record is.
    values, adjusted
        Whether the rate of each value of the key is wanted, and the rate adjusted for chance.
    """

    table: CodedTable
    known: Sequence[str]
    hidden: Sequence[str] = ()
    values: bool = True
    adjusted: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class RateFigures(Figures):
    """A Discrimination Rate, or why it is undefined.

    Attributes
    ----------
    value, kind
        The rate and the kind of identifier; None if it is undefined.
    adjusted
        The rate with what chance would give removed.
    records
        The number of records measured; None if none could be.
    by_value
        The rate of each value of the key, if it was requested.
    reason
        Why the rate is undefined.
    """

    value: float | None
    kind: str | None = field(default=None, metadata={"beside": "by_value"})
    adjusted: float | None = field(default=None, metadata={"beside": "kind"})
    records: int | None = None
    by_value: Sequence[Mapping[str, Any]] | None = None
    reason: str = ""

    @classmethod
    def unmeasured(cls, reason: str) -> RateFigures:
        """Return the figures of a rate that cannot be measured, with the reason."""
        return cls(None, reason=reason)


def rate(question: RateQuestion, partitions: Mapping[str, Partition] | None = None) -> RateFigures:
    """Measure a rate; an undefined rate is None, with the reason."""
    return rates([question], partitions)[0]


def rates(questions: Sequence[RateQuestion], partitions: Mapping[str, Partition] | None = None) -> list[RateFigures]:
    """Measure several rates; an undefined rate is None, with the reason."""
    splits = split_each([(one.table, one.known, one.hidden) for one in questions], partitions or {})
    measured = [_measured(question, split) for question, split in zip(questions, splits, strict=True)]
    pairs = list(zip(questions, measured, strict=True))
    rows = iter(rows_of([one.table for question, one in pairs if question.values and not isinstance(one, str)]))
    return [
        RateFigures(None, records=question.table.records, by_value=[], reason=one)
        if isinstance(one, str)
        else RateFigures(one.value, one.kind, one.adjusted, question.table.records, next(rows) if question.values else None)
        for question, one in pairs
    ]


def _measured(question: RateQuestion, split: Split) -> DiscriminationRate | str:
    """Return the rate, or the reason why it is undefined."""
    try:
        return split_rate(split, _PART, adjust=question.adjusted, values=question.values)
    except UndefinedMeasureError as error:
        return str(error)


def mean(values: Sequence[float | None]) -> float | None:
    """Return the mean of the figures that are defined; None if none is."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
