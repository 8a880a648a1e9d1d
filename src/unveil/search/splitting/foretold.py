"""The labels that Mondrian would leave of the key attributes, predicted from the count table."""

from __future__ import annotations

import numpy as np

from unveil.counts import Column
from unveil.search.request import Request, unfit_for_finer
from unveil.search.requirements import PartRequirements
from unveil.search.splitting.axes import axis_of
from unveil.search.splitting.labelling import merged_labels
from unveil.search.splitting.parts import split_parts

__all__ = ["labels_by_mondrian"]


def labels_by_mondrian(request: Request) -> dict[str, int]:
    """Return how many labels strict Mondrian would leave of each key attribute; one if it cannot meet the models.

    The records of a cell stay together where it is strict, so the cells and their counts are all that it needs.
    """
    nothing = dict.fromkeys(request.keys, 1)
    if any(unfit_for_finer(model) for model in request.models.values()):
        return nothing
    cells, n = np.arange(len(request.cells)), request.cells.n
    axes = [axis_of(request, name, None) for name in request.keys]
    parts, extents = split_parts([axis.dimension(cells) for axis in axes], n, PartRequirements(request, cells, n))
    columns, codes = list(request.cells.columns), list(request.cells.codes)
    by_attribute = {}
    for at, (name, axis) in enumerate(zip(request.keys, axes, strict=True)):
        rule = axis.rule(extents, at, parts.of_unit(), cells)
        labels, place = merged_labels(rule.labels)
        column = request.cells.names.index(name)
        columns[column], codes[column] = Column(name, labels), place[rule.codes]
        by_attribute[name] = int(np.count_nonzero(np.bincount(codes[column])))
    after = request.measured(request.cells.regrouped(columns, codes))
    return nothing if any(one.met is False for one in after.values()) else by_attribute
