"""May each branch of a hierarchy have its own level? Subtree generalisation: a cut through the hierarchy of every attribute.

The search goes down both from the most general release and from the best full-domain one: the node whose children save most is
replaced by them if the models are still met, until no node can be opened; the better result is taken. So the result never costs
more than the best full-domain generalisation, and no node of it could be opened without breaking a model or adding to the cost.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_arguments
from unveil.attributes import Names
from unveil.counts import group
from unveil.models import Model
from unveil.randomness import chance_of
from unveil.releases import Release
from unveil.run import active_run, looks
from unveil.search.lattice.space import KeyAttribute
from unveil.search.request import Hierarchies, Request, finer_request, wanted_of
from unveil.search.requirements import PartRequirements, limit_of
from unveil.search.splitting.labelling import Recoded, Recoding, fully_general, of_levels, released
from unveil.search.splitting.rounds import round_of
from unveil.sources import Data
from unveil.time_limit import SearchBudget

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

__all__ = ["Cut", "generalize_subtrees", "subtree_cuts"]

_NOTHING = 1e-6
"""Costs, summed over the records, that differ by no more than this are equal."""


@looks
@checked_arguments
def generalize_subtrees(  # noqa: PLR0913 - options by keyword
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
    """Generalise each branch of the hierarchies only as far as the models ask.

    Values are replaced by an ancestor, together with all values below it, so that one value has one label throughout. Unlike in
    full-domain generalisation, other branches may keep finer labels.

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
        one proposed from its values.
    suppression
        The share of the records that may be suppressed: their key values become ``*``.
    orders
        Values of sensitive attributes from lowest to highest, for the distance by rank.
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
        Its Loss is at most that of the best full-domain generalisation under the same models and suppression; `details` holds
        the labels of each cut.

    Raises
    ------
    ModelNotMetError
        If a model is not even met by all records taken together.

    References
    ----------
    .. [1] Iyengar (2002), Transforming data to satisfy privacy constraints, KDD. doi:10.1145/775047.775089
    .. [2] Fung, Wang, Yu (2005), Top-down specialization for information and privacy preservation, ICDE.
       doi:10.1109/ICDE.2005.143

    Examples
    --------
    >>> import polars as pl, unveil
    >>> ages = unveil.Hierarchy("age", [["21", "20s", "*"], ["24", "20s", "*"], ["35", "30s", "*"]])
    >>> people = pl.DataFrame({"age": [21, 24, 35, 35]})
    >>> unveil.generalize_subtrees(people, {"age": ages}, [unveil.models.KAnonymity(2)], keep_order=True).data["age"].to_list()
    ['20s', '20s', '35', '35']
    """
    chance = chance_of(seed, key_file)
    wanted = wanted_of(data, attributes, models, hierarchies=hierarchies, orders=orders, nulls=nulls)
    request, said = finer_request(wanted, identifiers), wanted.said
    began = time.perf_counter()
    known = request.key_attributes()
    cuts = subtree_cuts(request, known, limit_of(suppression, len(request.rows)), SearchBudget(time_limit))
    return released(
        "subtree generalisation",
        request,
        [*(cut.recoded() for cut in cuts), fully_general(request, known)],
        began=began,
        keep_order=keep_order,
        chance=chance,
        settings={"suppression": suppression, "nulls": said.nulls, "time_limit": time_limit},
        proposed=[*request.proposed],
    )


def subtree_cuts(request: Request, known: Sequence[KeyAttribute], limit: int, budget: SearchBudget) -> list[Cut]:
    """Return a cut for each starting release."""
    first = round_of(request, known, np.arange(len(request.cells)), limit, budget=budget)
    begins = [(tuple(one.levels.height for one in known), None), *([] if first is None else [first])]
    cuts = [Cut(request, known, levels, limit, gone) for levels, gone in begins]
    for cut in cuts:
        cut.open_all()
    return cuts


class Cut:
    """A cut: a level for every value of every attribute, the same for all values below a node of the cut, and its classes.

    Parameters
    ----------
    request, known
        The table, and its key attributes.
    levels
        The level of each attribute at the start, where the models are met.
    limit
        How many records may be suppressed.
    gone
        Which cells are suppressed at the start; None: those of classes that violate a model.
    """

    def __init__(
        self,
        request: Request,
        known: Sequence[KeyAttribute],
        levels: Sequence[int],
        limit: int,
        gone: NDArray[np.bool_] | None = None,
    ) -> None:
        self.request, self.known, self.limit = request, known, limit
        self.n = request.cells.n
        self.requirements = PartRequirements(request, np.arange(len(request.cells)), self.n)
        self.codes = [request.codes(one.name) for one in known]
        self.level = [np.full(len(one.levels.groups[0]), level) for one, level in zip(known, levels, strict=True)]
        self.scale = [1.0 / max(one.levels.leaves - 1, 1) * one.levels.leaves / len(known) for one in known]
        at_level = [one.levels.groups[level][codes] for one, level, codes in zip(known, levels, self.codes, strict=True)]
        self.of_cell, first = group(at_level, [int(column.max()) + 1 for column in at_level])
        self.classes = len(first[0])
        self.gone = self.requirements.violated(self.of_cell, self.classes)[self.of_cell] if gone is None else gone
        self.kept = len(np.unique(self.of_cell[~self.gone]))
        shares = [one.levels.shares[level][groups] for one, level, groups in zip(known, levels, at_level, strict=True)]
        self.each = np.sum([scale * share for scale, share in zip(self.scale, shares, strict=True)], axis=0)
        self.most = float(sum(self.scale))

    def open_all(self) -> None:
        """Open nodes, those that save most first, until none can be opened."""
        waiting = [(at, node) for at, one in enumerate(self.known) for node in self._nodes(one, at)]
        while waiting:
            waiting, opened = self._sweep(waiting)
            if not opened or not self.limit:
                break

    def recoded(self) -> Recoded:
        """Return the recoded records."""
        rules = {}
        for one, level, codes in zip(self.known, self.level, self.codes, strict=True):
            rules[one.name] = of_levels(one, level[codes][self.request.of_row], codes[self.request.of_row])
        return Recoded(rules, self.gone[self.request.of_row], {"cut": self.labels()})

    def labels(self) -> dict[str, list[str | None]]:
        """Return the labels of each attribute's cut that stand for values present."""
        labels = {}
        for one, level in zip(self.known, self.level, strict=True):
            pairs = [(int(high), int(one.levels.groups[high][code])) for code, high in enumerate(level.tolist())]
            labels[one.name] = [one.levels.labels[high][node] for high, node in dict.fromkeys(pairs)]
        return labels

    def _nodes(self, one: KeyAttribute, at: int) -> list[tuple[int, int]]:
        """Return the nodes of an attribute's cut that are not values."""
        pairs = {(high, int(one.levels.groups[high][code])) for code, high in enumerate(self.level[at].tolist()) if high}
        return sorted(pairs)

    def _sweep(self, waiting: Sequence[tuple[int, tuple[int, int]]]) -> tuple[list[tuple[int, tuple[int, int]]], int]:
        """Try every node once, and the children of those opened; return the nodes refused, and how many were opened."""
        heap = [(-self._saving(at, node), at, node) for at, node in waiting]
        heapq.heapify(heap)
        refused, opened = [], 0
        run = active_run()
        while heap:
            run.check()
            _, at, node = heapq.heappop(heap)
            if not self._open(at, node):
                refused.append((at, node))
                continue
            opened += 1
            level, values = node[0] - 1, self._values(at, node)
            for child in np.unique(self.known[at].levels.groups[level][values]).tolist() if level else ():
                heapq.heappush(heap, (-self._saving(at, (level, child)), at, (level, child)))
        return refused, opened

    def _values(self, at: int, node: tuple[int, int]) -> NDArray[np.int64]:
        """Return the values below a node."""
        return np.flatnonzero(self.known[at].levels.groups[node[0]] == node[1])

    def _saving(self, at: int, node: tuple[int, int]) -> float:
        """Return how much opening a node would save if no class violated a model."""
        one, values = self.known[at], self._values(at, node)
        children = one.levels.groups[node[0] - 1][values]
        saved = one.levels.shares[node[0]][node[1]] - one.levels.shares[node[0] - 1][children]
        return float(self.scale[at] * (one.records[values] @ saved))

    def _open(self, at: int, node: tuple[int, int]) -> bool:
        """Replace a node by its children, if the models allow it and it saves something."""
        level, which = node
        levels = self.known[at].levels
        cells = np.flatnonzero(levels.groups[level][self.codes[at]] == which)
        children = levels.groups[level - 1][self.codes[at][cells]]
        of_cell, (old, _) = group([self.of_cell[cells], children], [self.classes, int(children.max()) + 1])
        violated = self.requirements.violated(of_cell, len(old), cells)
        gone = violated[of_cell]
        each = self.each[cells] - self.scale[at] * (levels.shares[level][which] - levels.shares[level - 1][children])
        lost = int(self.n[self.gone].sum() - self.n[cells][self.gone[cells]].sum() + self.n[cells][gone].sum())
        kept = self.kept - len(np.unique(self.of_cell[cells][~self.gone[cells]])) + int(np.count_nonzero(~violated))
        allowed = lost <= self.limit and kept <= self.requirements.most_parts(int(self.n.sum()) - lost)
        if not allowed or self._sum(cells, each, gone) > self._sum(cells, self.each[cells], self.gone[cells]) + _NOTHING:
            return False
        self.of_cell[cells] = of_cell + self.classes
        self.classes += len(old)
        self.kept, self.each[cells], self.gone[cells] = kept, each, gone
        self.level[at][self._values(at, node)] = level - 1
        return True

    def _sum(self, cells: NDArray[np.int64] | slice, each: NDArray[np.float64], gone: NDArray[np.bool_]) -> float:
        return float((self.n[cells] * np.where(gone, self.most, each)).sum())  # a product of vectors would wake further threads
