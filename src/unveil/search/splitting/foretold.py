"""Which key attributes does a generalisation erase, and how many of their labels would Mondrian leave under the same models?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.counts import Column
from unveil.search.lattice.generalisation import Choice
from unveil.search.request import Request, unfit_for_finer
from unveil.search.requirements import PartRequirements
from unveil.search.splitting.axes import axis_of
from unveil.search.splitting.labelling import merged_labels
from unveil.search.splitting.parts import split_parts

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["lost_attributes"]

_FEW = 200_000
"""The most records for which Mondrian is run to see what it would keep."""


def lost_attributes(choice: Choice) -> dict[str, int | None]:
    """Return the key attributes that have one value in all remaining records, although the data has several.

    Each comes with the number of groups that Mondrian would keep of it under the same models; None if the table is too large
    to try.
    """
    request, space = choice.request, choice.lattice.space
    kept = np.flatnonzero(~choice.gone)
    fields = zip(space.attributes, space.fields, strict=True)
    alike = {one.name for one, field in fields if _alike(choice.classes.codes(field, kept))}
    gone = [name for name in request.keys if name in alike and len(request.values(name)) > 1]
    if not gone or request.cells.n.sum() > _FEW:
        return dict.fromkeys(gone)
    return _labels_by_mondrian(request, gone)


def _alike(codes: NDArray[Any]) -> bool:
    """Whether there is at least one code, and all codes are equal."""
    return bool(len(codes) and (codes == codes[0]).all())


def _labels_by_mondrian(request: Request, names: Sequence[str]) -> dict[str, int | None]:
    """Return how many groups of given key attributes strict Mondrian would keep; one each if it cannot meet the models.

    It keeps the records of a cell together, so the cells and their counts are all that it needs.
    """
    nothing: dict[str, int | None] = dict.fromkeys(names, 1)
    if any(unfit_for_finer(model) for model in request.models.values()):
        return nothing
    cells, n = np.arange(len(request.cells)), request.cells.n
    axes = [axis_of(request, name, None) for name in request.keys]
    requirements = PartRequirements(request, cells, n)
    parts, extents = split_parts([axis.dimension(cells) for axis in axes], n, requirements)
    part_of, only_size = parts.of_unit(), requirements.only_small
    columns, codes = list(request.cells.columns), list(request.cells.codes)
    by_attribute: dict[str, int | None] = {}
    for at, (name, axis) in enumerate(zip(request.keys, axes, strict=True)):
        if only_size and name not in names:
            continue
        rule = axis.rule(extents, at, part_of, cells)
        labels, place = merged_labels(rule.labels)
        column = request.cells.names.index(name)
        columns[column], codes[column] = Column(name, labels), place[rule.codes]
        by_attribute[name] = int(np.count_nonzero(np.bincount(codes[column])))
    if only_size:  # no part is smaller than all records together, and labels that are equal only join parts
        return {name: by_attribute[name] for name in names} if n.sum() >= requirements.smallest else nothing
    after = request.measured(request.cells.regrouped(columns, codes))
    return nothing if any(one.met is False for one in after.values()) else {name: by_attribute[name] for name in names}
