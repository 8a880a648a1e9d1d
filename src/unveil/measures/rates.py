"""The Discrimination Rate of one coded table, again and again: a plain answer, with the reason where it is undefined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from unveil import __version__
from unveil.counts import split_each
from unveil.errors import UndefinedMeasureError
from unveil.measures.discrimination import split_rate
from unveil.partitions import Partition
from unveil.results import Provenance
from unveil.sources import CodedTable

__all__ = ["Question", "columns_of", "mean", "rate", "rates"]


Question: TypeAlias = "tuple[CodedTable, Sequence[str], Sequence[str]]"
"""A table, the columns that are known and those that are hidden; none: the identity of the record."""


def rate(
    table: CodedTable,
    key: Sequence[str],
    sensitive: Sequence[str],
    *,
    partitions: Mapping[str, Partition] | None = None,
    values: bool = True,
    adjust: bool = True,
) -> dict[str, Any]:
    """Measure the rate of some columns of a coded table; a rate that is undefined is a null with its reason."""
    return rates([(table, key, sensitive)], partitions=partitions, values=values, adjust=adjust)[0]


def rates(
    questions: Sequence[Question],
    *,
    partitions: Mapping[str, Partition] | None = None,
    values: bool = True,
    adjust: bool = True,
) -> list[dict[str, Any]]:
    """Measure several rates; one that is undefined is a null with its reason."""
    sections: list[dict[str, Any]] = []
    made = Provenance(0, "category", version=__version__)
    for (table, _, _), split in zip(questions, split_each(questions, partitions or {}), strict=True):
        try:
            one = split_rate(split, made, adjust=adjust, values=values)
        except UndefinedMeasureError as error:
            sections.append({"value": None, "reason": str(error), "kind": None, "records": table.records, "by_value": []})
            continue
        answer = {"value": one.value, "kind": one.kind, "adjusted": one.adjusted, "records": table.records}
        sections.append(answer | {"by_value": one.by_value} if values else answer)
    return sections


def columns_of(table: CodedTable, names: Sequence[str]) -> CodedTable:
    """Return the table with the columns named, in their order."""
    by_name = {column.name: column for column in table.columns}
    return replace(table, columns=tuple(by_name[name] for name in names))


def mean(values: Sequence[float | None]) -> float | None:
    """Return the mean of the figures that are defined; None where none is."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
