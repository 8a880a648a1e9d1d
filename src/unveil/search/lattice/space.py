"""The lattice of generalisations: every combination of one level per attribute, between bounds.

A node is a tuple of levels, counted from the lowest that each attribute may have. Node A lies above B if it is at least as
high in every attribute: its classes are unions of B's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from unveil.counts import Counts, group
from unveil.errors import ArgumentError, shown
from unveil.measures import population_sizes
from unveil.partitions import Hierarchy, Levels, rooted_levels
from unveil.search.lattice.capacity import USUAL, Capacity
from unveil.search.lattice.class_table import ClassTable, CodeField
from unveil.search.lattice.lattice_sizes import LatticeSizes, lattice_sizes
from unveil.search.lattice.rollup import RollUp, classes_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "KeyAttribute",
    "Node",
    "SensitiveColumn",
    "Space",
    "key_attributes",
    "lowest_first",
    "neighbours",
    "node_at",
    "nodes_below",
    "records_by_value",
]

Node: TypeAlias = tuple[int, ...]

_MOST_DENSE = 1 << 26
"""Sensitive values are counted class by class if this takes at most this many cells."""
_PIECE = 1 << 20
"""The number of cells processed at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class KeyAttribute:
    """A key attribute that may be generalised.

    Attributes
    ----------
    name
        Its column.
    levels
        Its hierarchy, for the values present.
    lowest, highest
        The levels that it may have.
    records
        The number of records that hold each value.
    """

    name: str
    levels: Levels
    lowest: int
    highest: int
    records: NDArray[np.int64]

    def group_records(self, level: int) -> NDArray[np.int64]:
        """Return how many records each group of a level holds."""
        return np.bincount(self.levels.groups[level], weights=self.records).astype(np.int64)


def key_attributes(
    counts: Counts, hierarchies: Mapping[str, Hierarchy], bounds: Mapping[str, tuple[int, int]] | None = None
) -> tuple[KeyAttribute, ...]:
    """Match the hierarchies of the key attributes to the values that a count table holds.

    A hierarchy without a common root gets one.
    """
    for name in bounds or {}:
        if name not in hierarchies:
            raise ArgumentError(f"levels are given for {shown(name)}, which is not a key attribute.")
    levels = rooted_levels(hierarchies, {column.name: column.values for column in counts.columns})
    return tuple(_attribute(counts, name, one, (bounds or {}).get(name)) for name, one in levels.items())


def _attribute(counts: Counts, name: str, levels: Levels, bounds: tuple[int, int] | None) -> KeyAttribute:
    at = counts.names.index(name)
    low, high = bounds or (0, levels.height)
    if not 0 <= low <= high <= levels.height:
        raise ArgumentError(
            f"the levels of {shown(name)} go from 0 to {levels.height}, so {low} to {high} is not a range of them."
        )
    return KeyAttribute(name, levels, low, high, records_by_value(counts.codes[at], counts.n, len(counts.columns[at].values)))


def records_by_value(codes: NDArray[Any], n: NDArray[np.int64], values: int) -> NDArray[np.int64]:
    """Return how many records hold each value, a piece of the cells at a time."""
    records = np.zeros(values, dtype=np.int64)
    for piece in (slice(start, start + _PIECE) for start in range(0, len(n), _PIECE)):
        records += np.bincount(codes[piece], weights=n[piece], minlength=values).astype(np.int64)
    return records


@dataclass(frozen=True, slots=True, eq=False)
class SensitiveColumn:
    """A sensitive attribute, or several taken jointly.

    Attributes
    ----------
    name
        Its name, or the names joined by " + ".
    values
        The values present, in order; for several attributes tuples of them.
    share
        The share of each in the whole table.
    of_cell
        Which of them each cell of the count table holds.
    """

    name: str
    values: Sequence[Any]
    share: NDArray[np.float64]
    of_cell: NDArray[np.int64]

    @classmethod
    def of(cls, counts: Counts, names: Sequence[str]) -> SensitiveColumn:
        """Find the values of one attribute, or the combinations of several, in a count table."""
        classes = counts.classes(names)
        return cls(" + ".join(names), classes.values, classes.n / counts.records, classes.of_cell)


class Space:
    """The lattice over a table, and the classes of each of its nodes.

    Parameters
    ----------
    counts
        The count table over the key attributes, and the sensitive ones if there are any.
    attributes
        The key attributes.
    sensitive
        The sensitive attributes, alone or several jointly, whose distribution in the classes will be needed.
    population
        The count table over the key attributes of the population that the table is part of, with the same values in the same
        order; none: there is no population.
    capacity
        The size limits of what is held and processed at once.

    Attributes
    ----------
    records, cells
        The records of the table, and how many of them each cell over the key attributes holds.
    shape, size
        The number of levels of each attribute, and of nodes.
    top, bottom
        The most general node, and the most specific one.
    rolled, fields
        The maker of the classes of a node, and where each key attribute is in their keys.
    """

    def __init__(
        self,
        counts: Counts,
        attributes: Sequence[KeyAttribute],
        sensitive: Sequence[Sequence[str]] = (),
        population: Counts | None = None,
        capacity: Capacity = USUAL,
    ) -> None:
        self.attributes, self.capacity = tuple(attributes), capacity
        self.sensitive = {attribute.name: attribute for attribute in (SensitiveColumn.of(counts, names) for names in sensitive)}
        self.records = counts.records
        self.shape = tuple(one.highest - one.lowest + 1 for one in attributes)
        self.size = math.prod(self.shape)
        self.top: Node = tuple(size - 1 for size in self.shape)
        self.bottom: Node = tuple(0 for _ in self.shape)
        names = [one.name for one in attributes]
        own, places = _over(counts, names, wanted=bool(self.sensitive))
        self.cells = own.n
        everyone = own if population is None else population
        amounts = [own.n] if population is None else [population_sizes(population, own), population.n]
        self.has_population = population is not None
        self._first = len(amounts)
        width = sum(len(attribute.values) for attribute in self.sensitive.values())
        self.dense = width * len(everyone.n) <= _MOST_DENSE and width <= capacity.sensitive_values
        table = _columns(amounts, width if self.dense else 0)
        if self.dense and self.sensitive:
            self._spread_out(table, places if population is None else _places(counts, everyone, names), counts.n)
        self.rolled = self._rolled(everyone, table, names, [])
        self.fields: Sequence[CodeField] = self.rolled.fields
        self._joint = None if self.dense else self._rolled(counts, _columns([counts.n]), names, list(self.sensitive.values()))

    def _rolled(
        self, counts: Counts, amounts: NDArray[Any], names: Sequence[str], sensitive: Sequence[SensitiveColumn]
    ) -> RollUp:
        at = [counts.names.index(name) for name in names]
        levels = [[one.levels.groups[level] for level in range(one.lowest, one.highest + 1)] for one in self.attributes]
        codes = [*(counts.codes[i] for i in at), *(attribute.of_cell for attribute in sensitive)]
        sizes = [*(len(counts.columns[i].values) for i in at), *(len(attribute.values) for attribute in sensitive)]
        return RollUp(codes, sizes, amounts, levels, distinct=not sensitive, capacity=self.capacity)

    def _spread_out(self, table: NDArray[Any], places: NDArray[np.int64], n: NDArray[np.int64]) -> None:
        """Enter into a table how many records of each cell over the key hold each value of each sensitive attribute."""
        cells, records, at = table.ravel(), n.astype(table.dtype), self._first
        for sensitive in self.sensitive.values():
            np.add.at(cells, places * table.shape[1] + (sensitive.of_cell + at), records)
            at += len(sensitive.values)

    def classes(self, node: Node) -> ClassTable:
        """Return the classes of a node; the table lasts until the next is requested."""
        return self.rolled.table(node)

    def classes_within(self, node: Node, most: int | None) -> ClassTable | None:
        """Return the classes of a node as `classes` does; the result may be None if there are more than `most`."""
        return self.rolled.table_within(node, most)

    def survey(self, k: int) -> LatticeSizes | None:
        """Return the class sizes of every node as `LatticeSizes`; None if the keys are too wide for that."""
        return lattice_sizes(self.rolled, k)

    def population(self, table: ClassTable) -> NDArray[np.integer[Any]]:
        """Return how many records of the population each class stands for; if there is no population, those of the table."""
        return table.amounts[:, self._first - 1]

    def held(self, table: ClassTable, sensitive: str) -> NDArray[np.integer[Any]]:
        """Return how often each class holds each value of a sensitive attribute, if the space is dense."""
        at = self._first
        for name, one in self.sensitive.items():
            if name == sensitive:
                return table.amounts[:, at : at + len(one.values)]
            at += len(one.values)
        raise ArgumentError.not_one_of("sensitive attribute", sensitive, tuple(self.sensitive))

    def joint(self, node: Node, table: ClassTable) -> tuple[NDArray[np.int64], dict[str, NDArray[np.int64]], NDArray[np.int64]]:
        """Return the classes of a node split by the sensitive values, if the space is not dense.

        For each part: its class in `table`, the table of the node; the code of each sensitive attribute; the number of records.
        """
        if self._joint is None:
            raise ArgumentError("the classes of a dense space hold their sensitive values themselves.")
        split = self._joint.table(node)
        keys = tuple(np.concatenate(pair) for pair in zip(table.keys, split.keys, strict=False))
        of_row, _ = classes_of(keys, self.fields)
        codes = zip(self.sensitive, self._joint.fields[len(self.attributes) :], strict=True)
        return of_row[len(table) :], {name: split.codes(field) for name, field in codes}, split.n.astype(np.int64)

    def transformation(self, node: Node) -> dict[str, int]:
        """Return the level of every attribute, counted from level 0 of its hierarchy."""
        return {one.name: one.lowest + level for one, level in zip(self.attributes, node, strict=True)}


def lowest_first(node: Node) -> tuple[int, Node]:
    """Return the sort key for nodes of equal cost: the sum of their levels, then the levels one by one."""
    return sum(node), node


def node_at(place: int, shape: Sequence[int]) -> Node:
    """Return the node at a place of the flattened lattice."""
    levels = []
    for size in reversed(shape):
        place, level = divmod(place, size)
        levels.append(level)
    return tuple(reversed(levels))


def nodes_below(node: Node) -> tuple[slice, ...]:
    """Return the slices of a node and all nodes below it in an array over the lattice."""
    return tuple(slice(0, level + 1) for level in node)


def neighbours(node: Node, shape: Sequence[int]) -> Iterator[Node]:
    """Return the nodes one step below, and those where one attribute goes down and another up."""
    for down, level in enumerate(node):
        if level == 0:
            continue
        lower = (*node[:down], level - 1, *node[down + 1 :])
        yield lower
        for up, size in enumerate(shape):
            if up != down and lower[up] < size - 1:
                yield (*lower[:up], lower[up] + 1, *lower[up + 1 :])


def _columns(amounts: Sequence[NDArray[np.int64]], more: int = 0) -> NDArray[Any]:
    """Return columns side by side, in the smallest type that holds their sums, followed by empty columns for parts of them."""
    most = max(int(column.sum()) for column in amounts)
    columns: NDArray[Any] = np.zeros((len(amounts[0]), len(amounts) + more), dtype=np.int32 if most < 2**31 else np.int64)
    for at, column in enumerate(amounts):
        columns[:, at] = column
    return columns


def _over(counts: Counts, names: Sequence[str], *, wanted: bool) -> tuple[Counts, NDArray[np.int64]]:
    """Return the cells over some columns and, on request, which of them each cell of a count table belongs to."""
    if tuple(names) == counts.names:
        return counts, np.arange(len(counts.n) if wanted else 0)
    classes = counts.classes(names)
    return Counts(classes.columns, classes.codes, classes.n), classes.of_cell


def _places(counts: Counts, everyone: Counts, names: Sequence[str]) -> NDArray[np.int64]:
    """Return which cell over the key each cell of a count table belongs to; both have the same values in the same order."""
    codes = []
    for name in names:
        one, other = everyone.codes[everyone.names.index(name)], counts.codes[counts.names.index(name)]
        codes.append(np.concatenate([one.astype(np.int64), other.astype(np.int64)]))
    of_cell, _ = group(codes, [len(everyone.columns[everyone.names.index(name)].values) for name in names])
    place = np.empty(int(of_cell.max()) + 1, dtype=np.int64)
    place[of_cell[: len(everyone.n)]] = np.arange(len(everyone.n))
    return place[of_cell[len(everyone.n) :]]
