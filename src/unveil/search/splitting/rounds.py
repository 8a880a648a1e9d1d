"""The best full-domain generalisation of some records of a table, judged as a part of the whole table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from unveil.counts import places_among
from unveil.measures import Equivalence, Spread
from unveil.models import Model
from unveil.partitions import Levels
from unveil.search.lattice.applied import applied, suppressed_classes
from unveil.search.lattice.class_table import ClassTable
from unveil.search.lattice.full_domain import search
from unveil.search.lattice.objectives import objective_of
from unveil.search.lattice.space import KeyAttribute, Node, SensitiveColumn, Space
from unveil.search.request import Request
from unveil.search.requirements import NodeRequirements
from unveil.time_limit import SearchBudget

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["round_of"]


def round_of(
    request: Request,
    known: Sequence[KeyAttribute],
    cells: NDArray[np.int64],
    limit: int,
    *,
    factor: float = 0.5,
    budget: SearchBudget | None = None,
) -> tuple[Node, NDArray[np.bool_]] | None:
    """Find the best full-domain generalisation of some cells.

    Parameters
    ----------
    request, known
        The table, and its key attributes.
    cells
        The cells to generalise.
    limit
        How many of their records may be left over.
    factor
        The balance of costs, from 0 (leaving records over costs nothing) through 0.5 (both count in full) to 1 (generalising
        costs nothing).
    budget
        How far the search may go.

    Returns
    -------
    tuple or None
        The levels, and which of the cells are left over; None if no generalisation meets the models.
    """
    counts = request.cells.where(_mask(cells, len(request.cells)))
    own = tuple(_restricted(one, request.codes(one.name)[cells], request.cells.n[cells]) for one in known)
    space = Space(counts, own, request.sensitive_groups)
    whole = [SensitiveColumn.of(request.cells, names) for names in request.sensitive_groups]
    requirements = _RequirementsOfPart(
        space, list(request.models.values()), limit, {sensitive.name: sensitive for sensitive in whole}
    )
    goal = objective_of("loss", own, space.records, factor=factor)
    best = search(space, requirements, goal, limit, budget=budget)
    if best.node is None:
        return None
    table, gone = suppressed_classes(space, requirements, best.node)
    codes = [counts.codes[counts.names.index(one.name)] for one in own]
    return best.node, applied(space, best.node, table, gone, codes).suppressed


class _RequirementsOfPart(NodeRequirements):
    """The requirements on a part of a table, whose classes are compared with the whole table."""

    def __init__(self, space: Space, models: Sequence[Model], limit: int, whole: Mapping[str, SensitiveColumn]) -> None:
        super().__init__(space, models, limit)
        self._closeness_checks = {}  # these know only the shares within the part
        self._whole = whole
        self._places = {name: places_among(one.values, space.sensitive[name].values) for name, one in whole.items()}

    def _equivalence(self, node: Node, table: ClassTable, classes: NDArray[np.int64]) -> Equivalence:
        equivalence = super()._equivalence(node, table, classes)
        return replace(equivalence, spreads={name: self._in_whole(one) for name, one in equivalence.spreads.items()})

    def _in_whole(self, spread: Spread) -> Spread:
        one = self._whole[spread.name]
        place = self._places[spread.name][spread.value]
        return replace(spread, values=one.values, value=place, whole=one.share)


def _mask(cells: NDArray[np.int64], number: int) -> NDArray[np.bool_]:
    mask = np.zeros(number, dtype=bool)
    mask[cells] = True
    return mask


def _restricted(one: KeyAttribute, codes: NDArray[np.int64], n: NDArray[np.int64]) -> KeyAttribute:
    """Return an attribute restricted to the values of some cells; its leaves stay those of the hierarchy."""
    records = np.bincount(codes, weights=n, minlength=len(one.records)).astype(np.int64)
    used = np.flatnonzero(records)
    if len(used) == len(records):
        return replace(one, records=records)
    groups, labels, shares = [], [], []
    for numbers, names, parts in zip(one.levels.groups, one.levels.labels, one.levels.shares, strict=True):
        kept, first, inverse = np.unique(numbers[used], return_index=True, return_inverse=True)
        by_first = np.argsort(first)
        groups.append(np.argsort(by_first)[inverse])
        labels.append(tuple(names[at] for at in kept[by_first].tolist()))
        shares.append(parts[kept[by_first]])
    levels = Levels(tuple(groups), tuple(labels), tuple(shares), one.levels.leaves)
    return replace(one, levels=levels, records=records[used])
