"""Must all records with a value be generalised in the same way? Local recoding: only those that need it, as far as needed.

Parts of the table are gathered from the bottom up (`gathering`): small ones join the part with which they cost least. If every
key attribute has a hierarchy, parts are also opened from the top down, from the table as a whole and from the classes of
subtrees: the children of a node that are large enough become parts, and the others keep the node's label. And parts are halved
as Mondrian halves them. The best result is taken. So the same value may stay exact in some records and become an ancestor or a
range in others.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_arguments
from unveil.attributes import Names
from unveil.counts import group
from unveil.models import Model
from unveil.randomness import chance_of
from unveil.releases import Release
from unveil.run import looks
from unveil.search.lattice.space import KeyAttribute
from unveil.search.request import Hierarchies, Request, finer_request, wanted_of
from unveil.search.requirements import PartRequirements, limit_of
from unveil.search.splitting.axes import Axis, HierarchyAxis, axis_of, recoded_by_parts
from unveil.search.splitting.gathering import gathered_parts
from unveil.search.splitting.labelling import Recoded, Recoding, fully_general, released
from unveil.search.splitting.parts import Parts, one_part, split_parts
from unveil.search.splitting.subtrees import subtree_cuts
from unveil.sources import Data
from unveil.time_limit import SearchBudget

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

__all__ = ["recode_locally"]


@looks
@checked_arguments
def recode_locally(  # noqa: PLR0913 - options by keyword
    data: Data,
    attributes: Names | Hierarchies | None = None,
    models: Sequence[Model] = (),
    *,
    hierarchies: Hierarchies | None = None,
    suppression: float = 0.0,
    orders: Mapping[str, Sequence[Any]] | None = None,
    identifiers: Names = (),
    nulls: str | None = None,
    keep_order: bool = False,
    seed: int | None = None,
    key_file: str | os.PathLike[str] | None = None,
    time_limit: float | None = None,
) -> Release[Recoding]:
    """Generalise single cells: the same value may keep its exact form in some records and not in others.

    Parameters
    ----------
    data
        A path, the name of a built-in data set, or any data frame narwhals knows. Never changed.
    attributes
        The key attributes, or a mapping from each to its hierarchy or the hierarchy's file; none: the key of the study or
        project that the data is.
    models
        What the release must meet; any but those that compare with a population; none: those that the project asks for.
    hierarchies
        The hierarchies of key attributes, and of sensitive ones for the hierarchical distance. A key attribute without one gets
        ranges of its values, or sets of texts that follow each other.
    suppression
        The share of the records that may be suppressed: their key values become ``*``.
    orders
        The values of key attributes without a hierarchy, and of sensitive ones, from lowest to highest, if that is not their
        natural order.
    identifiers
        Columns that name people outright: they are left out.
    nulls
        "category": a null is a value. "drop": records with a null in a column named here are left out. "error": refuse.
    keep_order
        Whether records stay in their order; else they are shuffled, so that their places say nothing.
    seed, key_file
        Of the shuffling: a seed for tests, or a secret key file for anyone who must be able to repeat the release (see
        `unveil.randomness`). Neither: nobody can repeat or undo it.
    time_limit
        Seconds that the full-domain search at the beginning may take.

    Returns
    -------
    Release
        If every key attribute has a hierarchy, its Loss is at most that of `generalize_subtrees` under the same models and
        suppression, and so at most that of the best full-domain generalisation.

    Raises
    ------
    ModelNotMetError
        If a model is not even met by all records taken together.

    Notes
    -----
    Which of several records that agree in key and sensitive attributes keep the exact value is drawn.

    References
    ----------
    .. [1] Byun, Kamra, Bertino, Li (2007), Efficient k-anonymization using clustering techniques, DASFAA.
       doi:10.1007/978-3-540-71703-4_18
    .. [2] Fung, Wang, Chen, Yu (2010), Privacy-preserving data publishing: a survey, ACM Computing Surveys 42(4), section 3.1.
       doi:10.1145/1749603.1749605

    Examples
    --------
    >>> import polars as pl, unveil
    >>> towns = unveil.Hierarchy("town", [["Rome", "Italy"], ["Pisa", "Italy"], ["Bari", "Italy"]])
    >>> people = pl.DataFrame({"town": ["Rome", "Rome", "Rome", "Pisa"]})
    >>> sorted(unveil.recode_locally(people, {"town": towns}, [unveil.models.KAnonymity(2)]).data["town"])
    ['Italy', 'Italy', 'Rome', 'Rome']
    >>> ages = pl.DataFrame({"age": [21, 24, 35, 38]})
    >>> unveil.recode_locally(ages, "age", [unveil.models.KAnonymity(2)], keep_order=True).data["age"].to_list()
    ['[21, 24]', '[21, 24]', '[35, 38]', '[35, 38]']
    """
    chance = chance_of(seed, key_file)
    wanted = wanted_of(data, attributes, models, hierarchies=hierarchies, orders=orders, nulls=nulls)
    request, said = finer_request(wanted, identifiers), wanted.said
    began = time.perf_counter()
    rows = request.sorted_rows(chance)
    axes = [axis_of(request, name, said.orders) for name in request.keys]
    limit, budget = limit_of(suppression, len(request.rows)), SearchBudget(time_limit)
    hierarchical = all(isinstance(axis, HierarchyAxis) for axis in axes)
    return released(
        "local recoding",
        request,
        [
            *_gathered(request, rows, axes),
            *(_along_hierarchies(request, rows, limit, budget) if hierarchical else ()),
            *_halved(request, rows, axes),
        ],
        began=began,
        keep_order=keep_order,
        chance=chance,
        settings={"suppression": suppression, "nulls": said.nulls, "time_limit": time_limit},
    )


def _along_hierarchies(request: Request, rows: NDArray[np.int64], limit: int, budget: SearchBudget) -> list[Recoded]:
    """Return the result of opening classes from the top down, including those of subtrees."""
    known = request.key_attributes()
    cuts = subtree_cuts(request, known, limit, budget)
    begins = [(np.zeros(len(request.cells), dtype=np.int64), np.zeros(len(request.cells), dtype=bool))]
    begins += [(cut.of_cell, cut.gone) for cut in cuts if not cut.gone.all()]
    opened = [_opened(request, rows, known, *begin) for begin in begins]
    return [*opened, *(replace(cut.recoded(), details={}) for cut in cuts), fully_general(request, known)]


def _gathered(request: Request, rows: NDArray[np.int64], axes: Sequence[Axis]) -> list[Recoded]:
    """Return the result of gathering records from the bottom up; `rows` are sorted by cell."""
    cells = request.of_row[rows]
    gathered = gathered_parts(
        [axis.dimension(cells) for axis in axes], PartRequirements(request, cells, np.ones(len(rows), dtype=np.int64))
    )
    if gathered is None:
        return []
    parts, extents = gathered
    of_record = np.empty(len(rows), dtype=np.int64)
    of_record[rows] = parts.of_unit()
    return [recoded_by_parts(request, axes, extents, of_record)]


def _halved(request: Request, rows: NDArray[np.int64], axes: Sequence[Axis]) -> list[Recoded]:
    """Return the result of halving parts as Mondrian does, strict and relaxed, and all records as one part."""
    units = np.arange(len(request.cells))
    dimensions = [axis.dimension(units) for axis in axes]
    strict = split_parts(dimensions, request.cells.n, PartRequirements(request, units, request.cells.n))
    cells, ones = request.of_row[rows], np.ones(len(rows), dtype=np.int64)
    relaxed = split_parts([axis.dimension(cells) for axis in axes], ones, PartRequirements(request, cells, ones), relaxed=True)
    partitions = [(strict, request.of_row), (relaxed, np.argsort(rows)), (one_part(dimensions), request.of_row)]
    return [recoded_by_parts(request, axes, extents, parts.of_unit()[unit]) for (parts, extents), unit in partitions]


def _opened(
    request: Request, rows: NDArray[np.int64], known: Sequence[KeyAttribute], of_cell: NDArray[np.int64], gone: NDArray[np.bool_]
) -> Recoded:
    """Open the classes of a release, except suppressed ones, as far as the models allow; `rows` are sorted by cell."""
    units = rows[~gone[request.of_row[rows]]]
    cells = request.of_row[units]
    n = np.ones(len(units), dtype=np.int64)
    axes = [HierarchyAxis(one, request.codes(one.name)) for one in known]
    of_record = np.zeros(len(request.of_row), dtype=np.int64)
    of_unit, first = group([of_cell[cells]], [int(of_cell.max()) + 1])
    parts, extents = split_parts(
        [axis.dimension(cells) for axis in axes],
        n,
        PartRequirements(request, cells, n),
        start=Parts.of(of_unit, len(first[0])),
        pooled=True,
    )
    of_record[units] = parts.of_unit()
    rules = {axis.attribute.name: axis.rule(extents, at, of_record, request.of_row) for at, axis in enumerate(axes)}
    return Recoded(rules, gone[request.of_row])
