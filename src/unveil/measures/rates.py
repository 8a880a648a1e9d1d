"""The Discrimination Rate of one coded table, again and again: a plain answer, with the reason if it is undefined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from unveil import __version__
from unveil.counts import split_each
from unveil.errors import UndefinedMeasureError
from unveil.measures.discrimination import split_rate
from unveil.partitions import Partition
from unveil.results import Provenance
from unveil.results.figures import Figures
from unveil.sources import CodedTable

__all__ = ["Question", "RateFigures", "columns_of", "mean", "rate", "rates"]


Question: TypeAlias = "tuple[CodedTable, Sequence[str], Sequence[str]]"
"""A table, the columns that are known and those that are hidden; none hidden: the identity of the record is."""


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
        The records that were measured; None if none could be.
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


def rate(
    table: CodedTable,
    key: Sequence[str],
    sensitive: Sequence[str],
    *,
    partitions: Mapping[str, Partition] | None = None,
    values: bool = True,
    adjust: bool = True,
) -> RateFigures:
    """Measure the rate of some columns of a coded table; a rate that is undefined is a null with its reason."""
    return rates([(table, key, sensitive)], partitions=partitions, values=values, adjust=adjust)[0]


def rates(
    questions: Sequence[Question],
    *,
    partitions: Mapping[str, Partition] | None = None,
    values: bool = True,
    adjust: bool = True,
) -> list[RateFigures]:
    """Measure several rates; one that is undefined is a null with its reason."""
    sections: list[RateFigures] = []
    made = Provenance(0, "category", version=__version__)
    for (table, _, _), split in zip(questions, split_each(questions, partitions or {}), strict=True):
        try:
            one = split_rate(split, made, adjust=adjust, values=values)
        except UndefinedMeasureError as error:
            sections.append(RateFigures(None, records=table.records, by_value=[], reason=str(error)))
        else:
            sections.append(RateFigures(one.value, one.kind, one.adjusted, table.records, one.by_value if values else None))
    return sections


def columns_of(table: CodedTable, names: Sequence[str]) -> CodedTable:
    """Return the table with the columns named, in their order."""
    by_name = {column.name: column for column in table.columns}
    return replace(table, columns=tuple(by_name[name] for name in names))


def mean(values: Sequence[float | None]) -> float | None:
    """Return the mean of the figures that are defined; None if none is."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
