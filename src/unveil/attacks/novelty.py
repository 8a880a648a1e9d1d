"""What the release says that the original does not: values that are new in it."""

from __future__ import annotations

from typing import Any

from unveil.partitions.generalised import read_values
from unveil.study import Pair

__all__ = ["new_values"]


def new_values(pair: Pair, original: str | None, released: str) -> dict[str, int] | None:
    """Count the released values that the original lacks and that generalise none, and their records; None without the columns."""
    if original is None or original not in pair.original.names or released not in pair.release.names:
        return None
    known, shown = pair.original.counts([original], nulls="category"), pair.release.counts([released], nulls="category")
    old: set[Any] = {form for value in read_values(known.columns[0].values) for form in value.forms}
    if (hierarchy := pair.hierarchy(original)) is not None:
        old |= {label for path in hierarchy.labels for label in path}
    new = [
        one.value is not None and not one.forms & old and one.generalised is None for one in read_values(shown.columns[0].values)
    ]
    return {"values": sum(new), "records": int(sum(int(n) for n, code in zip(shown.n, shown.codes[0], strict=True) if new[code]))}
