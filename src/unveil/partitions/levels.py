"""A hierarchy in numbers, as a search needs it: the group of each value of a column, level by level."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.errors import HierarchyError, shown
from unveil.partitions.matching import Reading, reading_for, text_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.partitions.hierarchy import Hierarchy

__all__ = ["ROOT", "Levels", "levels_of", "rooted_levels", "rows_of"]

ROOT = "*"
"""The label that covers every value."""
_NULL = -1
_NONE = -2
_TWINS = -3


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    r"""A hierarchy, for the distinct values of one column: one entry per level, from 0 (the values) to `height`.

    Only groups that hold a value present count; they are numbered by the first such value. Level 0 has one group per value. Two
    values that share a group share one at every level above.

    A null is a group of its own at level 0, labelled None. Above, it has the labels of the empty leaf, if there is one and the
    empty text is not itself a value present. Else it is fully generalised: its label is the root's and its share is 1, and at
    the top it joins the root's group.

    Attributes
    ----------
    groups
        For each level, the number of each value's group.
    labels
        For each level, the label of each group.
    shares
        For each level, the share of the hierarchy's leaves (all of them, not only those present) in each group,
        :math:`|\{\text{leaves of the group}\}| / |\{\text{leaves}\}|`: the loss of a value there.
    leaves
        The number of leaves of the hierarchy.
    height
        The number of levels above the values.
    """

    groups: tuple[NDArray[np.int64], ...]
    labels: tuple[tuple[str | None, ...], ...]
    shares: tuple[NDArray[np.float64], ...]
    leaves: int
    height: int = field(init=False)

    def __post_init__(self) -> None:
        """Count the levels."""
        object.__setattr__(self, "height", len(self.groups) - 1)


def rows_of(hierarchy: Hierarchy, values: Iterable[Any]) -> NDArray[np.int64]:
    """Return the row of each value in the hierarchy, -1 for a null without one; refuse other values without one."""
    present, leaves = list(values), hierarchy.leaves
    read = str if _read_alike(present, leaves) else reading_for(present)
    row_of = _rows_by_key(leaves, read)
    null = leaves.index("") if "" in leaves and "" not in present else _NULL
    rows = [null if value is None else row_of.get(read(value), _NONE) for value in present]
    _refuse(rows.count(_NONE), len(rows), "not in it (level 0)", hierarchy.column)
    _refuse(rows.count(_TWINS), len(rows), "in more than one of its rows", hierarchy.column)
    return np.array(rows, dtype=np.int64)


def _read_alike(values: Sequence[Any], leaves: Sequence[str]) -> bool:
    """Whether values are texts, or integers that all leaves write in the usual way, so that texts can be compared."""
    types = set(map(type, values))
    return types <= {str} or (
        types == {int} and all(leaf.isdecimal() and leaf.isascii() and str(int(leaf)) == leaf for leaf in leaves)
    )


def _rows_by_key(leaves: Sequence[str], read: Reading) -> dict[Hashable, int]:
    """Return the row of each leaf, under each key by which the leaf is compared."""
    if read in (str, text_of):  # leaves are texts, and no two of them are equal
        return {leaf: row for row, leaf in enumerate(leaves)}
    rows: dict[Hashable, int] = {}
    for row, leaf in enumerate(leaves):
        if (key := read(leaf)) is not None:
            rows[key] = _TWINS if key in rows else row
    return rows


def levels_of(hierarchy: Hierarchy, values: Sequence[Any]) -> Levels:
    """Return the groups of the values at every level; see `Hierarchy.levels_for`."""
    places = rows_of(hierarchy, values).tolist()
    columns: list[tuple[str | None, ...]] = [*zip(*hierarchy.labels, strict=True)]
    nulls = {row for row, value in zip(places, values, strict=True) if value is None}
    columns[0] = tuple(None if row in nulls else leaf for row, leaf in enumerate(columns[0]))
    root = columns[-1][0] if len(set(columns[-1])) == 1 else ROOT
    levels = [_level(places, labels, null=root if level else None) for level, labels in enumerate(columns)]
    groups, names, shares = zip(*levels, strict=True)
    return Levels(groups, names, shares, len(hierarchy.labels))


def rooted_levels(hierarchies: Mapping[str, Hierarchy], values: Mapping[str, Sequence[Any]]) -> dict[str, Levels]:
    """Return the groups of the values of several key attributes, each up to a common root, which is added if missing."""
    levels = {}
    for name, hierarchy in hierarchies.items():
        try:
            levels[name] = levels_of(hierarchy.with_root(), values[name])
        except HierarchyError as problem:
            raise HierarchyError(f"key attribute {shown(name)}: {problem}") from None
    return levels


def _level(
    rows: Sequence[int], labels: Sequence[str | None], *, null: str | None
) -> tuple[NDArray[np.int64], tuple[str | None, ...], NDArray[np.float64]]:
    """Return the groups of one level, their labels and their shares of the leaves."""
    sizes = Counter(labels)
    if _NULL not in rows:
        place: dict[str | None, int] = {}
        plain = [place.setdefault(labels[row], len(place)) for row in rows]
        return np.array(plain, dtype=np.int64), tuple(place), np.array([sizes[label] for label in place]) / len(labels)
    joins = len(sizes) == 1 and null in sizes  # a null has no row, and joins the root if that is the only group
    number: dict[tuple[str | None, bool], int] = {}
    groups = [number.setdefault((labels[row], False) if row != _NULL else (null, not joins), len(number)) for row in rows]
    everything = len(labels) if null is not None else 1
    held = [everything if alone else sizes[label] for label, alone in number]
    return np.array(groups, dtype=np.int64), tuple(label for label, _ in number), np.array(held) / len(labels)


def _refuse(n: int, present: int, what: str, column: str | None) -> None:
    if n:
        name = f"hierarchy of column {shown(column)}" if column is not None else "hierarchy"
        verb = "is" if n == 1 else "are"
        raise HierarchyError(f"{name}: {n:,} of {present:,} values present {verb} {what}.")
