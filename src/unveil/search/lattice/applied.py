"""A generalisation applied to every record, with violating classes suppressed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.counts import Column, Counts, group, summed
from unveil.measures import SUPPRESSED
from unveil.search.lattice.class_table import ClassTable, packed
from unveil.search.lattice.rollup import classes_of, rows_among
from unveil.search.lattice.space import Node, Space
from unveil.search.requirements import NodeRequirements

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Applied", "SuppressedCells", "applied", "recoded", "recoded_cells", "suppressed_classes"]

_PIECE = 1 << 18
"""How many records are processed at a time; a few times the number of classes if that is more."""
_FEWER, _MOST_SORTED = 8, 1 << 26


@dataclass(frozen=True, slots=True, eq=False)
class Applied:
    """The recoded records.

    Attributes
    ----------
    labels
        For each key attribute, the label of every group at its level, followed by the label of suppressed values unless that is
        already among them.
    codes
        For each key attribute, the code of the label that each record gets.
    suppressed
        Which records are suppressed.
    """

    labels: Mapping[str, Sequence[str | None]]
    codes: Mapping[str, NDArray[Any]]
    suppressed: NDArray[np.bool_]


def suppressed_classes(space: Space, requirements: NodeRequirements, node: Node) -> tuple[ClassTable, NDArray[np.bool_]]:
    """Return the classes of a node, and which of them violate a requirement."""
    table = space.classes(node).copy()
    small = requirements.small(table)
    return table, small if requirements.only_small else requirements.verdict(node, table, small).violating


def applied(space: Space, node: Node, table: ClassTable, gone: NDArray[np.bool_], codes: Sequence[NDArray[Any]]) -> Applied:
    """Apply a node to records.

    Parameters
    ----------
    space, node
        The lattice, and the node chosen.
    table, gone
        Its classes, and those to suppress.
    codes
        For each key attribute the code of every record's value.
    """
    rows, labels, coded, stars = len(codes[0]), {}, {}, []
    for one, level in zip(space.attributes, node, strict=True):
        known = one.levels.labels[one.lowest + level]
        stars.append(known.index(SUPPRESSED) if SUPPRESSED in known else len(known))
        labels[one.name] = known if stars[-1] < len(known) else [*known, SUPPRESSED]
        coded[one.name] = np.empty(rows, dtype=np.min_scalar_type(len(known)))
    suppressed = np.empty(rows, dtype=bool)
    step = max(_PIECE, 4 * len(table))
    for piece in (slice(start, start + step) for start in range(0, rows, step)):
        groups = _groups(space, node, [column[piece] for column in codes])
        suppressed[piece] = gone[rows_among(table, packed(groups, space.fields, len(groups[0])), space.fields)]
        for codes_of_label, star, column in zip(coded.values(), stars, groups, strict=True):
            codes_of_label[piece] = np.where(suppressed[piece], star, column)
    return Applied(labels, coded, suppressed)


class SuppressedCells:
    """An index of the cells of a count table that are suppressed with some classes of a node, without a pass over all cells.

    The cells are sorted once into the classes of a few finer nodes; for a node that lies above, only one cell per class
    has to be looked up.

    Parameters
    ----------
    space
        The lattice.
    codes
        For each key attribute the code of every cell's value.
    fewer
        Cells are sorted by the classes of a node if the number of classes is at most this fraction of the number of cells.
    most_sorted
        The most cells whose order is kept, over all nodes by which they are sorted.
    """

    def __init__(
        self, space: Space, codes: Sequence[NDArray[Any]], *, fewer: int = _FEWER, most_sorted: int = _MOST_SORTED
    ) -> None:
        self._space, self._codes, self._fewer, self._most_sorted = space, codes, fewer, most_sorted
        self._sorted: OrderedDict[Node, _Sorted] = OrderedDict()

    def among(self, node: Node, table: ClassTable, gone: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the suppressed cells in order, given the classes of a node (in a lasting table) and which are suppressed."""
        finer = self._finer(node)
        groups = _groups(self._space, node, finer.codes)
        keys = packed(groups, self._space.fields, len(finer.codes[0]))
        return finer.cells(gone[rows_among(table, keys, self._space.fields)])

    def _finer(self, node: Node) -> _Sorted:
        """Return the cells sorted by a lower node that has far fewer classes than cells; if there is none, in their own order."""
        below = [one for one in self._sorted if all(map(int.__le__, one, node))]
        one = min(below, key=lambda known: len(self._sorted[known].starts)) if below else self._few_classes(node)
        if one is None:
            return _Sorted(list(self._codes), None, np.arange(len(self._codes[0]) + 1))
        if one not in self._sorted:
            self._sorted[one] = self._sort(one)
            while len(self._sorted) > 1 and len(self._sorted) * len(self._codes[0]) > self._most_sorted:
                self._sorted.popitem(last=False)
        self._sorted.move_to_end(one)
        return self._sorted[one]

    def _few_classes(self, node: Node) -> Node | None:
        """Return a node on the path to this one with far fewer classes than cells, as low as possible in its last attribute."""
        order = self._space.rolled.order
        for raised, at in enumerate(order, 1):
            one = tuple(level if other in order[:raised] else 0 for other, level in enumerate(node))
            if not self._has_few(one):
                continue
            lower = (*one[:at], one[at] - 1, *one[at + 1 :])
            while lower[at] > 0 and self._has_few(lower):
                one, lower = lower, (*lower[:at], lower[at] - 1, *lower[at + 1 :])
            return one
        return None

    def _has_few(self, node: Node) -> bool:
        return len(self._space.classes(node)) * self._fewer <= len(self._codes[0])

    def _sort(self, node: Node) -> _Sorted:
        groups = _groups(self._space, node, self._codes)
        of_cell, first = classes_of(packed(groups, self._space.fields, len(groups[0])), self._space.fields)
        by_low = np.argsort((of_cell & 0xFFFF).astype(np.uint16), kind="stable")  # numbers of 16 bits are sorted fastest
        high = (of_cell >> 16).astype(np.uint16 if len(first) <= 1 << 32 else np.int64)
        order = by_low[np.argsort(high[by_low], kind="stable")].astype(np.int32)
        ends = np.cumsum(np.bincount(of_cell, minlength=len(first)))
        return _Sorted([column[first] for column in self._codes], order, np.concatenate([[0], ends]))


@dataclass(frozen=True, slots=True, eq=False)
class _Sorted:
    """Cells sorted by the classes of a node.

    Attributes
    ----------
    codes
        For each key attribute the code of one cell of every class.
    order, starts
        The cells class by class, and where each class begins; None: every cell is a class.
    """

    codes: list[NDArray[Any]]
    order: NDArray[np.int32] | None
    starts: NDArray[np.int64]

    def cells(self, classes: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the cells of some classes, in order."""
        chosen = np.flatnonzero(classes)
        if self.order is None:
            return chosen
        lengths = np.diff(self.starts)[chosen]
        before = np.repeat(np.cumsum(lengths) - lengths - self.starts[chosen], lengths)
        return np.sort(self.order[np.arange(int(lengths.sum())) - before].astype(np.int64))


def recoded_cells(
    space: Space, node: Node, table: ClassTable, gone: NDArray[np.bool_], counts: Counts, codes: Sequence[NDArray[Any]]
) -> Counts:
    """Return the count table of the cells as a node recodes them; the arguments are those of `applied`.

    Very many cells are recoded in pieces, each of which is much smaller afterwards.
    """
    step = space.capacity.recoded
    if len(counts.n) <= step:
        return recoded(counts, applied(space, node, table, gone, codes))
    parts = []
    for piece in (slice(start, start + step) for start in range(0, len(counts.n), step)):
        what = applied(space, node, table, gone, [column[piece] for column in codes])
        columns, coded = _as_recoded(replace(counts, codes=tuple(column[piece] for column in counts.codes)), what)
        of_cell, cells = group(coded, [len(column.values) for column in columns])
        parts.append((cells, summed(of_cell, counts.n[piece], len(cells[0])).astype(np.int64)))
    together = [np.concatenate(column) for column in zip(*(cells for cells, _ in parts), strict=True)]
    return Counts(tuple(columns), tuple(together), np.concatenate([n for _, n in parts])).regrouped(columns, together)


def recoded(counts: Counts, what: Applied) -> Counts:
    """Return the count table of the cells as `applied` recodes them."""
    return counts.regrouped(*_as_recoded(counts, what))


def _as_recoded(counts: Counts, what: Applied) -> tuple[list[Column], list[NDArray[Any]]]:
    """Return the recoded columns of a count table, and the codes of its cells."""
    columns, codes = list(counts.columns), list(counts.codes)
    for name, labels in what.labels.items():
        at = counts.names.index(name)
        columns[at] = Column(name, labels)
        codes[at] = what.codes[name]
    return columns, codes


def _groups(space: Space, node: Node, codes: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """Return for each key attribute the group that a node puts every record's value into, in the smallest type."""
    groups = [one.levels.groups[one.lowest + level] for one, level in zip(space.attributes, node, strict=True)]
    return [one.astype(np.min_scalar_type(int(one.max())))[column] for one, column in zip(groups, codes, strict=True)]
