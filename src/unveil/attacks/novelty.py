"""Novelties of a release: values that the original does not have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from unveil.attacks.attack_sections import NewValues
from unveil.partitions.generalised import read_values
from unveil.study import Pair

if TYPE_CHECKING:
    from unveil.counts import Counts
    from unveil.partitions import Hierarchy

__all__ = ["new_values"]


def new_values(pair: Pair, columns: Sequence[tuple[str | None, str]]) -> list[NewValues | None]:
    """Count the released values that the original lacks and that generalise none, and their records; None without the columns.

    Parameters
    ----------
    pair
        The original and the release.
    columns
        An original column, or none, and the released one that stands for it.
    """
    there = [
        (original, released)
        for original, released in columns
        if original is not None and original in pair.original.names and released in pair.release.names
    ]
    known = pair.original.counted([original for original, _ in there])
    shown = pair.release.counted([released for _, released in there])
    by_pair = {one: _new(known[one[0]], shown[one[1]], pair.hierarchies.get(one[0])) for one in there}
    return [None if original is None else by_pair.get((original, released)) for original, released in columns]


def _new(known: Counts, shown: Counts, hierarchy: Hierarchy | None) -> NewValues:
    old: set[Any] = {form for value in read_values(known.columns[0].values) for form in value.forms}
    if hierarchy is not None:
        old |= {label for path in hierarchy.labels for label in path}
    new = [
        one.value is not None and not one.forms & old and one.generalised is None for one in read_values(shown.columns[0].values)
    ]
    return NewValues(sum(new), int(sum(int(n) for n, code in zip(shown.n, shown.codes[0], strict=True) if new[code])))
