"""The Discrimination Rate of one coded table, again and again: a plain answer, with the reason where it is undefined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from unveil import __version__
from unveil.counts import count_table
from unveil.errors import UndefinedMeasureError
from unveil.measures.discrimination import rate_of
from unveil.partitions import Partition
from unveil.results import Provenance
from unveil.sources import CodedTable

__all__ = ["columns_of", "mean", "rate"]


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
    wanted = [*key, *sensitive]
    chosen = {name: block for name, block in (partitions or {}).items() if name in wanted}
    counts = count_table(columns_of(table, wanted), chosen)
    made = Provenance(table.records, "category", table.dropped, tuple(key), tuple(sensitive), version=__version__)
    try:
        found = rate_of(counts, key, sensitive, made, adjust=adjust)
    except UndefinedMeasureError as error:
        return {"value": None, "reason": str(error), "kind": None, "records": table.records, "by_value": []}
    answer = {"value": found.value, "kind": found.kind, "adjusted": found.adjusted, "records": table.records}
    return answer | {"by_value": found.by_value} if values else answer


def columns_of(table: CodedTable, names: Sequence[str]) -> CodedTable:
    """Return the table with the columns named, in their order."""
    by_name = {column.name: column for column in table.columns}
    return replace(table, columns=tuple(by_name[name] for name in names))


def mean(values: Sequence[float | None]) -> float | None:
    """Return the mean of the figures that are defined; None where none is."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
