"""Which records are near enough to share a label? Mondrian: the table is halved again and again, while every model is met.

It also foretells how many labels it would leave of an attribute that a generalisation erases, under the same models.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_arguments
from unveil.attributes import Names
from unveil.counts import Column
from unveil.models import Model
from unveil.randomness import chance_of
from unveil.releases import Release
from unveil.run import active_run, looks
from unveil.search.request import Hierarchies, Request, finer_request, unfit_for_finer, wanted_of
from unveil.search.requirements import PartRequirements
from unveil.search.splitting.axes import axis_of, recoded_by_parts
from unveil.search.splitting.labelling import Recoding, merged_labels, released
from unveil.search.splitting.parts import one_part, split_parts
from unveil.sources import Data

if TYPE_CHECKING:
    import os

__all__ = ["groups_by_mondrian", "mondrian"]


@looks
@checked_arguments
def mondrian(  # noqa: PLR0913 - options by keyword
    data: Data,
    attributes: Names | Hierarchies | None = None,
    models: Sequence[Model] = (),
    *,
    strict: bool = True,
    hierarchies: Hierarchies | None = None,
    orders: Mapping[str, Sequence[Any]] | None = None,
    identifiers: Names = (),
    nulls: str | None = None,
    keep_order: bool = False,
    seed: int | None = None,
    key_file: str | os.PathLike[str] | None = None,
) -> Release[Recoding]:
    r"""Recode by multidimensional partitioning: parts of the table are split as long as all their parts meet the models.

    A part is split along the attribute in which it is widest, relative to the whole table; if a model forbids that, along the
    next widest. The width is

    .. math:: \frac{v_{\max} - v_{\min}}{V_{\max} - V_{\min}} \quad\text{(ordered)}, \qquad
        \frac{|\text{leaves of the node}| - 1}{|\text{leaves}| - 1} \quad\text{(hierarchy)} ,

    where v is the rank for an order of texts. Along a hierarchy, children of a node that are too small by themselves stay
    together under its label.

    Parameters
    ----------
    data
        A path, the name of a built-in data set, or any data frame narwhals knows. Never changed.
    attributes
        The key attributes, or a mapping from each to its hierarchy or the hierarchy's file; none: the key of the study or
        project that the data is.
    models
        What every class must meet, such as ``[KAnonymity(10), EntropyLDiversity("income", 1.5)]``; any but those that compare
        with a population; none: those that the project asks for.
    strict
        True: records of one value stay on one side of a cut. False: records of the median may go to both, so that halves are
        equal and classes are smaller, unless that costs more.
    hierarchies
        For key attributes that are to be split along a hierarchy, and for sensitive ones under the hierarchical distance. A key
        attribute without one is split by the order of its values.
    orders
        The values of key attributes, and of sensitive ones, from lowest to highest, if that is not their natural order.
    identifiers
        Columns that name people outright: they are left out.
    nulls
        "category": a null is a value. "drop": records with a null in a column named here are left out. "error": refuse.
    keep_order
        Whether records stay in their order; else they are shuffled, so that their places say nothing.
    seed, key_file
        Of the shuffling: a seed for tests, or a secret key file for anyone who must be able to repeat the release (see
        `unveil.randomness`). Neither: nobody can repeat or undo it.

    Returns
    -------
    Release
        With labels such as ``[20, 29]`` for numbers, the node of a hierarchy, or ``{a, b}`` for other values; a label that covers
        all values, or values and nulls together, is ``*``. The Loss counts the values of the table that a label spans, or the
        leaves of the hierarchy's node.

    Raises
    ------
    ModelNotMetError
        If a model is not even met by all records taken together.

    Notes
    -----
    If `strict`, the classes do not depend on the order of the records. All parts of a round are split in one go, in time
    proportional to records times attributes; the rounds grow with the logarithm of the number of classes.

    References
    ----------
    .. [1] LeFevre, DeWitt, Ramakrishnan (2006), Mondrian multidimensional k-anonymity, ICDE. doi:10.1109/ICDE.2006.101

    Examples
    --------
    >>> import polars as pl, unveil
    >>> people = pl.DataFrame({"age": [21, 24, 35, 38], "sex": ["f", "m", "f", "f"]})
    >>> unveil.mondrian(people, ["age", "sex"], [unveil.models.KAnonymity(2)], keep_order=True).data.rows()
    [('[21, 24]', '*'), ('[21, 24]', '*'), ('[35, 38]', 'f'), ('[35, 38]', 'f')]
    """
    chance = chance_of(seed, key_file)
    wanted = wanted_of(data, attributes, models, hierarchies=hierarchies, orders=orders, nulls=nulls)
    request, said = finer_request(wanted, identifiers), wanted.said
    began = time.perf_counter()
    if strict:  # the records of a cell stay together
        cells, n, unit = np.arange(len(request.cells)), request.cells.n, request.of_row
    else:
        canonical = request.sorted_rows(chance)
        cells, n, unit = request.of_row[canonical], np.ones(len(canonical), dtype=np.int64), np.argsort(canonical)
    axes = [axis_of(request, name, said.orders) for name in request.keys]
    dimensions = [axis.dimension(cells) for axis in axes]
    requirements = PartRequirements(request, cells, n)
    partitions = [split_parts(dimensions, n, requirements, relaxed=relaxed) for relaxed in ({False, not strict})]
    partitions.append(one_part(dimensions))
    steps = active_run().each("candidates", partitions)
    candidates = [recoded_by_parts(request, axes, extents, parts.of_unit()[unit]) for parts, extents in steps]
    kind = "strict" if strict else "relaxed"
    return released(
        f"{kind} Mondrian", request, candidates, began=began, keep_order=keep_order,
        chance=chance, settings={"strict": strict, "nulls": said.nulls},
    )  # fmt: skip


_FEW = 200_000
"""The most records for which Mondrian is run to see what it would keep."""


def groups_by_mondrian(request: Request, names: Sequence[str]) -> dict[str, int | None]:
    """Return how many groups of key attributes strict Mondrian would keep under the models of a request.

    One each if it cannot meet them, and None if the table is too large to try. It keeps the records of a cell together, so the
    cells and their counts are all that it needs.
    """
    if request.cells.n.sum() > _FEW:
        return dict.fromkeys(names)
    nothing: dict[str, int | None] = dict.fromkeys(names, 1)
    if any(unfit_for_finer(model) for model in request.models.values()):
        return nothing
    cells, n = np.arange(len(request.cells)), request.cells.n
    axes = [axis_of(request, name, None) for name in request.keys]
    requirements = PartRequirements(request, cells, n)
    parts, extents = split_parts([axis.dimension(cells) for axis in axes], n, requirements)
    part_of, settled = parts.of_unit(), requirements.only_of_parts  # every part meets such models, and so do joined parts
    columns, codes = list(request.cells.columns), list(request.cells.codes)
    by_attribute: dict[str, int | None] = {}
    for at, (name, axis) in enumerate(zip(request.keys, axes, strict=True)):
        if settled and name not in names:
            continue
        rule = axis.rule(extents, at, part_of, cells)
        labels, place = merged_labels(rule.labels)
        column = request.cells.names.index(name)
        columns[column], codes[column] = Column(name, labels), place[rule.codes]
        by_attribute[name] = int(np.count_nonzero(np.bincount(codes[column])))
    if settled:  # labels that are equal only join parts; a table that is never split has one label per attribute
        return {name: by_attribute[name] for name in names} if n.sum() >= requirements.smallest else nothing
    after = request.measured(request.cells.regrouped(columns, codes))
    return nothing if any(one.met is False for one in after.values()) else {name: by_attribute[name] for name in names}
