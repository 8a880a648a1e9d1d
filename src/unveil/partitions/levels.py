"""Which group does each value of a column fall into, level by level? A hierarchy in numbers, as a search wants it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.errors import HierarchyError, shown
from unveil.partitions.matching import keys_of, reading_for

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.partitions.hierarchy import Hierarchy

__all__ = ["ROOT", "Levels", "levels_of", "rows_of"]

ROOT = "*"
"""The label of everything."""
_NULL = -1
_NONE = -2
_TWINS = -3


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    r"""A hierarchy, for the distinct values of one column: one entry per level, from 0 (the values) to `height`.

    Groups are those that hold a value present, numbered by the first value that each holds. Level 0 has one group per value. Two
    values that share a group share one at every level above.

    A null is a group of its own at level 0, labelled None. Above, it has the labels of the empty leaf, where there is one and the
    empty text is not itself a value present. Else it is fully generalised: its label is the root's and its share is 1, and at the
    top it joins the root's group.

    Attributes
    ----------
    groups
        For each level, the number of each value's group.
    labels
        For each level, the label of each group.
    shares
        For each level, the share of the hierarchy's leaves (all of them, not only those present) that each group holds,
        :math:`|\{\text{leaves of the group}\}| / |\{\text{leaves}\}|`: what a value there loses.
    leaves
        How many leaves the hierarchy has.
    """

    groups: tuple[NDArray[np.int64], ...]
    labels: tuple[tuple[str | None, ...], ...]
    shares: tuple[NDArray[np.float64], ...]
    leaves: int

    @property
    def height(self) -> int:
        """The number of levels above the values."""
        return len(self.groups) - 1


def rows_of(hierarchy: Hierarchy, values: Iterable[Any]) -> NDArray[np.int64]:
    """Return the row of each value in the hierarchy, -1 for a null that has none; what else has none is counted and refused."""
    present = list(values)
    read = reading_for(present)
    row_of: dict[Hashable, int] = {}
    for row, leaf in enumerate(hierarchy.leaves):
        for key in keys_of(leaf, read):
            row_of[key] = _TWINS if key in row_of else row
    empty = next((row for row, leaf in enumerate(hierarchy.leaves) if not leaf), _NULL)
    null = _NULL if "" in present else empty
    rows = [null if value is None else row_of.get(read(value), _NONE) for value in present]
    _refuse(rows.count(_NONE), len(rows), "not in it (level 0)", hierarchy.column)
    _refuse(rows.count(_TWINS), len(rows), "in more than one of its rows", hierarchy.column)
    return np.array(rows, dtype=np.int64)


def levels_of(hierarchy: Hierarchy, values: Sequence[Any]) -> Levels:
    """Return the groups of the values at every level; `Hierarchy.levels_for` says more."""
    rows = rows_of(hierarchy, values)
    columns: list[tuple[str | None, ...]] = [*zip(*hierarchy.labels, strict=True)]
    nulls = {row for row, value in zip(rows.tolist(), values, strict=True) if value is None}
    columns[0] = tuple(None if row in nulls else leaf for row, leaf in enumerate(columns[0]))
    root = columns[-1][0] if len(set(columns[-1])) == 1 else ROOT
    found = [_level(rows, labels, null=root if level else None) for level, labels in enumerate(columns)]
    groups, names, shares = zip(*found, strict=True)
    return Levels(groups, names, shares, len(hierarchy.labels))


def _level(
    rows: NDArray[np.int64], labels: Sequence[str | None], *, null: str | None
) -> tuple[NDArray[np.int64], tuple[str | None, ...], NDArray[np.float64]]:
    """Return the groups of one level, their labels and their shares of the leaves."""
    names: list[str | None] = [*dict.fromkeys(labels)]
    number = {label: at for at, label in enumerate(names)}
    group_of = [number[label] for label in labels]
    sizes = [*np.bincount(group_of).tolist(), len(labels) if null is not None else 1]
    group_of.append(0 if names == [null] else len(names))  # a null has the row after the last, and joins the root
    names.append(null)
    used, first, groups = np.unique(np.array(group_of)[rows], return_index=True, return_inverse=True)
    by_first = np.argsort(first)
    shares = np.array([sizes[at] for at in used[by_first]]) / len(labels)
    return np.argsort(by_first)[groups], tuple(names[at] for at in used[by_first]), shares


def _refuse(n: int, present: int, what: str, column: str | None) -> None:
    if n:
        name = f"hierarchy of column {shown(column)}" if column is not None else "hierarchy"
        verb = "is" if n == 1 else "are"
        raise HierarchyError(f"{name}: {n:,} of {present:,} values present {verb} {what}.")
