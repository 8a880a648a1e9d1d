"""The codes along one dimension of a table: the values of a column, the groups above them, and how the groups add up.

Codes are kept from the top down, a group before its members. A classification may have several hierarchies over the same
values, whose groups need not be nested in one another; each of them gives equations.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.errors import HierarchyError, TableError, shown
from unveil.partitions import Hierarchy, rows_of, text_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MISSING", "TOTAL", "Classification", "of_levels"]

TOTAL = "Total"
"""The code of the margin, if no hierarchy names it."""
MISSING = "(missing)"
"""The code of a null."""


@dataclass(frozen=True, eq=False)
class Classification:
    """The codes of one dimension and the sums between them.

    Attributes
    ----------
    name
        The column.
    codes
        All codes, a group before its members.
    depth
        The level of each code below the top.
    leaves
        The positions of the codes that are not groups.
    sums
        For each group, the position of its code and those of the codes that add up to it.
    """

    name: str
    codes: tuple[str, ...]
    depth: tuple[int, ...]
    leaves: tuple[int, ...]
    sums: tuple[tuple[int, tuple[int, ...]], ...]

    def __len__(self) -> int:
        """Return the number of codes."""
        return len(self.codes)

    @cached_property
    def place(self) -> dict[str, int]:
        """The position of each code."""
        return {code: at for at, code in enumerate(self.codes)}

    @cached_property
    def members(self) -> tuple[NDArray[np.int64], ...]:
        """For each code, the leaves below it, by their rank among the leaves."""
        known = {at: frozenset([rank]) for rank, at in enumerate(self.leaves)}
        parts = dict(reversed(self.sums))

        def below(at: int) -> frozenset[int]:
            if at not in known:
                known[at] = frozenset().union(*map(below, parts[at]))
            return known[at]

        return tuple(np.array(sorted(below(at)), dtype=np.int64) for at in range(len(self.codes)))

    @cached_property
    def root(self) -> int | None:
        """The position of the code that covers all leaves; None if there is none."""
        covering = [at for at, some in enumerate(self.members) if len(some) == len(self.leaves) and len(self.leaves) > 0]
        return covering[0] if covering and (len(self.leaves) > 1 or covering[0] not in self.leaves) else None

    def is_group(self) -> NDArray[np.bool_]:
        """Return which codes are groups."""
        groups = np.ones(len(self.codes), dtype=bool)
        groups[list(self.leaves)] = False
        return groups

    @classmethod
    def flat(cls, name: str, values: Iterable[Any], *, total: str | None = TOTAL) -> Classification:
        """Return the values of a column under one total, or without one."""
        codes = [_code(value) for value in values]
        _refuse_twins(name, codes)
        if total is None:
            return cls(name, tuple(codes), (0,) * len(codes), tuple(range(len(codes))), ())
        if total in codes:
            raise TableError(
                f"column {shown(name)} has a value that is written like the total ({shown(total)}); choose another total."
            )
        leaves = tuple(range(1, len(codes) + 1))
        return cls(name, (total, *codes), (0, *(1,) * len(codes)), leaves, ((0, leaves),))

    @classmethod
    def of(cls, name: str, hierarchies: Sequence[Hierarchy], *, null: bool = False, total: str | None = TOTAL) -> Classification:
        """Return the codes of one or several hierarchies over the same leaves; a null is directly below the total."""
        rows = [_rooted(one, total) for one in hierarchies]
        leaves = [row[0] for row in rows[0]]
        for other in rows[1:]:
            if {row[0] for row in other} != set(leaves):
                raise HierarchyError(
                    f"the hierarchies of column {shown(name)} have different leaves; each must contain all of them."
                )
        hierarchy = _Groups(name, leaves, null=null)
        for one in rows:
            hierarchy.add(one)
        return hierarchy.classification(total)

    def leaf_of(self, values: Sequence[Any], hierarchy: Hierarchy | None) -> NDArray[np.int64]:
        """Return the rank of the leaf of each value of the column."""
        if hierarchy is None:
            rank = {self.codes[at]: rank for rank, at in enumerate(self.leaves)}
            return np.array([rank[_code(value)] for value in values], dtype=np.int64)
        rows = rows_of(hierarchy, values)
        rank = {self.codes[at]: rank for rank, at in enumerate(self.leaves)}
        of_row = [rank[leaf] for leaf in hierarchy.leaves]
        return np.array([rank[MISSING] if row < 0 else of_row[row] for row in rows.tolist()], dtype=np.int64)


def _code(value: Any) -> str:
    if isinstance(value, float):
        value += 0.0  # -0.0 is 0.0
    return MISSING if value is None else text_of(value)


def _refuse_twins(name: str, codes: Sequence[str]) -> None:
    if len(set(codes)) < len(codes):
        raise TableError(f"column {shown(name)} has values that are written alike, such as 1 and '1'; convert them to one type.")


def _rooted(hierarchy: Hierarchy, total: str | None) -> list[tuple[str, ...]]:
    """Return the rows of a hierarchy, each ending in a common root; the margin is added if there is none."""
    if len({row[-1] for row in hierarchy.labels}) == 1 or total is None:
        return list(hierarchy.labels)
    return [(*row, total) for row in hierarchy.labels]


class _Groups:
    """Groups of leaves by their codes; one code for two different groups is refused."""

    def __init__(self, name: str, leaves: Sequence[str], *, null: bool) -> None:
        self.name, self.leaves = name, [*leaves, *([MISSING] if null and MISSING not in leaves else [])]
        self.leaves_of: dict[str, frozenset[str]] = {leaf: frozenset([leaf]) for leaf in self.leaves}
        self.parts: dict[str, list[tuple[str, ...]]] = {}
        self.tops: list[str] = []

    def add(self, rows: Sequence[tuple[str, ...]]) -> None:
        """Add the groups of one hierarchy."""
        height = len(rows[0])
        below = {row[0]: [row[0]] for row in rows}
        if MISSING in self.leaves:
            below[MISSING] = [MISSING]
        parts: dict[str, dict[str, None]] = {}
        members: dict[str, set[str]] = {}
        for row in rows:
            for level in range(1, height):
                members.setdefault(row[level], set()).add(row[0])
                if row[level] != row[level - 1]:
                    parts.setdefault(row[level], {})[row[level - 1]] = None
        if MISSING in self.leaves and height > 1:
            members[rows[0][-1]].add(MISSING)
            parts.setdefault(rows[0][-1], {})[MISSING] = None
        for code, some in members.items():
            self._hold(code, frozenset(some))
        for code, some_parts in parts.items():
            if tuple(some_parts) not in self.parts.setdefault(code, []):
                self.parts[code].append(tuple(some_parts))
        self.tops += [code for code in dict.fromkeys(row[-1] for row in rows) if code not in self.tops]

    def _hold(self, code: str, leaves: frozenset[str]) -> None:
        if self.leaves_of.setdefault(code, leaves) != leaves:
            raise HierarchyError(
                f"hierarchy of column {shown(self.name)}: one code stands for two different groups of values; give each "
                "group a code of its own."
            )

    def classification(self, total: str | None) -> Classification:
        """Return the codes from the top down."""
        order: dict[str, int] = {}
        for top in self.tops:
            self._walk(top, 0, order)
        if total is None and len(self.tops) == 1 and self.tops[0] in self.parts:
            del order[self.tops[0]]
            order = {code: depth - 1 for code, depth in order.items()}
        place = {code: at for at, code in enumerate(order)}
        leaves = tuple(at for code, at in place.items() if code not in self.parts)
        sums = tuple((place[code], tuple(place[part] for part in some)) for code in order for some in self.parts.get(code, ()))
        return Classification(self.name, tuple(order), tuple(order.values()), leaves, sums)

    def _walk(self, code: str, depth: int, order: dict[str, int]) -> None:
        """List the codes below one, each after the groups that contain it."""
        if code in order:
            return
        order[code] = depth
        for some in self.parts.get(code, ()):
            for part in some:
                self._walk(part, depth + 1, order)


def of_levels(name: str, levels: Sequence[tuple[int, str]]) -> Hierarchy:
    """Return the hierarchy of codes that are listed from the top down, each with its level, as in sdcTable.

    Examples
    --------
    >>> of_levels("size", [(1, "Total"), (2, "small"), (2, "large")]).labels
    (('small', 'Total'), ('large', 'Total'))
    """
    if not levels:
        raise HierarchyError(f"hierarchy of column {shown(name)}: it has no codes.")
    path: list[str] = []
    chains: list[list[str]] = []
    for at, (level, code) in enumerate(levels):
        if level > len(path) + 1 or level < 1:
            raise HierarchyError(
                f"hierarchy of column {shown(name)}: entry {at + 1:,} is more than one level below the previous one."
            )
        path[level - 1 :] = [code]
        if at + 1 == len(levels) or levels[at + 1][0] <= level:
            chains.append(path[::-1])
    height = max(map(len, chains))
    return Hierarchy(name, ([*[chain[0]] * (height - len(chain)), *chain] for chain in chains))
