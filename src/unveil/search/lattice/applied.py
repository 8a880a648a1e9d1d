"""A generalisation applied to every record, with violating classes suppressed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.counts import Column, Counts
from unveil.counts.grouping import group, summed
from unveil.measures.equivalence import SUPPRESSED
from unveil.search.lattice.class_table import ClassTable, packed
from unveil.search.lattice.rollup import classes_of
from unveil.search.lattice.space import KeyAttribute, Node, Space
from unveil.search.requirements import NodeRequirements

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Applied", "applied", "recoded", "recoded_cells", "suppressed_classes"]

_PIECE = 1 << 18
"""Records are worked on in pieces of this many, or of a few times as many as there are classes."""
_CELLS = 1 << 21
"""Cells of a count table that are recoded at once."""


@dataclass(frozen=True, slots=True, eq=False)
class Applied:
    """What each record becomes.

    Attributes
    ----------
    labels
        For each key attribute the label of every group at its level and, unless it is one of these, that of what is suppressed.
    codes
        For each key attribute the label that each record gets.
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
        groups = [_at(one, level)[column[piece]] for one, level, column in zip(space.attributes, node, codes, strict=True)]
        keys = packed(groups, space.fields, len(groups[0]))
        of_row, _ = classes_of(tuple(np.concatenate(pair) for pair in zip(table.keys, keys, strict=True)), space.fields)
        suppressed[piece] = gone[of_row[len(table) :]]
        for codes_of_label, star, column in zip(coded.values(), stars, groups, strict=True):
            codes_of_label[piece] = np.where(suppressed[piece], star, column)
    return Applied(labels, coded, suppressed)


def recoded_cells(
    space: Space, node: Node, table: ClassTable, gone: NDArray[np.bool_], counts: Counts, codes: Sequence[NDArray[Any]]
) -> Counts:
    """Return a count table whose cells became what a node makes of them; the arguments are those of `applied`.

    Very many cells are recoded in pieces, each of which is much smaller afterwards.
    """
    if len(counts) <= _CELLS:
        return recoded(counts, applied(space, node, table, gone, codes))
    parts = []
    for piece in (slice(start, start + _CELLS) for start in range(0, len(counts), _CELLS)):
        what = applied(space, node, table, gone, [column[piece] for column in codes])
        columns, coded = _as_recoded(replace(counts, codes=tuple(column[piece] for column in counts.codes)), what)
        of_cell, cells = group(coded, [len(column.values) for column in columns])
        parts.append((cells, summed(of_cell, counts.n[piece], len(cells[0])).astype(np.int64)))
    together = [np.concatenate(column) for column in zip(*(cells for cells, _ in parts), strict=True)]
    return Counts(tuple(columns), tuple(together), np.concatenate([n for _, n in parts])).regrouped(columns, together)


def recoded(counts: Counts, what: Applied) -> Counts:
    """Return a count table whose cells became what `applied` says about them."""
    return counts.regrouped(*_as_recoded(counts, what))


def _as_recoded(counts: Counts, what: Applied) -> tuple[list[Column], list[NDArray[Any]]]:
    """Return the columns of a count table, and the codes of its cells, as `applied` says."""
    columns, codes = list(counts.columns), list(counts.codes)
    for name, labels in what.labels.items():
        at = counts.names.index(name)
        columns[at] = Column(name, labels)
        codes[at] = what.codes[name]
    return columns, codes


def _at(one: KeyAttribute, level: int) -> NDArray[np.int64]:
    return one.levels.groups[one.lowest + level]
