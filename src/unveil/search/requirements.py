r"""The requirements of a release, checked on the classes of a lattice's nodes, or of the parts that a table is split into.

How many of a class's records violate a requirement in *every* node below, however the class is split? All of them, if every class
that contains one which meets the requirement meets it too: k-anonymity, k-map, distinct l-diversity and p-sensitivity. The other
class models set a bound b on a figure f that is convex in the class's distribution. Let s be the share of a class's records that
lie in parts which meet the model; those parts together meet it as well, and no part exceeds the largest figure m there can be. So

.. math:: f(C) \le s b + (1 - s) m , \qquad 1 - s \ge \frac{f(C) - b}{m - b} ,

which is what a model's `lasting` says. If the records that violate in every node below are more than may be suppressed, none
of these nodes meets the requirements. If nothing may be suppressed, one violating class is enough.

An average risk, or a share of uniques, is not a property of a class. Once the other requirements are applied, the smallest
classes are suppressed until it is met. The average risk is the number of classes kept divided by the number of their records: of
all sets of m classes, the m smallest hold the fewest records and leave the lowest average, so no other choice of classes
suppresses fewer records.

A finer generalisation has to suppress at least as many records as a coarser one. Take the classes that the finer one keeps: the
coarser classes that contain them are no more in number and hold no fewer records, so keeping these also meets the average.
Likewise, a record that is alone in a coarser class is alone in the finer one, so the share of uniques in the sample is met as
well.

Nearly all models are closed under union: records that meet one in two classes meet it in both together. So it does no harm if
parts end up with equal labels and look like one class. If a model is not closed, only the lattice is searched, and nothing is
concluded about the nodes below one that fails.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_share
from unveil.counts import Classes, group, summed
from unveil.measures import Equivalence, Spread
from unveil.models import TOLERANCE, Model, Requirements, SizesModel
from unveil.search.lattice.class_costs import class_payoffs
from unveil.search.lattice.class_table import ClassTable, CodeField
from unveil.search.lattice.closeness_kernel import closeness_check_of
from unveil.search.lattice.space import Node, SensitiveColumn, Space

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.search.request import Request

__all__ = ["NodeRequirements", "NodeVerdict", "PartRequirements", "gone_for_average", "gone_for_sizes", "limit_of"]

_SMALL_DOMAIN, _DENSE = 1 << 16, 4
"""Pairs of a part and a value are counted in a dense table if there are at most this many, or this many times the units."""


def limit_of(suppression: float, records: int) -> int:
    """Return how many records may be suppressed."""
    share = checked_share("the share of records that may be suppressed", suppression)
    return math.floor(share * records + TOLERANCE)  # 0.29 of 100 records are 29, though the product is slightly less


@dataclass(frozen=True, slots=True, eq=False)
class NodeVerdict:
    """The result of the requirements for a node.

    Attributes
    ----------
    violating
        Which classes are to be suppressed: those that violate a requirement and, if the average risk is too high, the smallest.
    lasting
        At least how many records have to be suppressed in every node below.
    fails
        Whether the table as a whole fails, whatever is suppressed.
    """

    violating: NDArray[np.bool_]
    lasting: float
    fails: bool = False


class NodeRequirements(Requirements):
    """The requirements, ready to be checked on a lattice's nodes.

    Parameters
    ----------
    space
        The lattice; its sensitive attributes are those that the models refer to.
    models
        The requirements.
    limit
        How many records may be suppressed.
    """

    def __init__(self, space: Space, models: Sequence[Model], limit: int) -> None:
        super().__init__(models)
        self._space, self._limit = space, limit
        self._closeness_checks = (
            {
                model: closeness_check_of(model, space.sensitive[model.sensitive])
                for model in self.of_classes
                if model.sensitive is not None
            }
            if space.dense
            else {}
        )

    def small(self, table: ClassTable) -> NDArray[np.bool_]:
        """Return which classes are too small, in the table or in its population."""
        small = table.n < self.size
        if not self._space.has_population:  # every class holds a record
            return small
        if self.people:
            small |= self._space.population(table) < self.people
        return small & (table.n > 0)

    @cached_property
    def least(self) -> int | None:
        """The smallest size of a class, if that is all that is required."""
        return self.size if self.only_small and not self.people else None

    @cached_property
    def most_classes(self) -> int | None:
        """The most classes that a node can have if it meets the requirements, small ones to suppress and large ones together.

        None if nothing is known, or if small classes alone do not decide it.
        """
        if self.least is None or self._space.has_population:
            return None
        return self._limit + (self._space.records - self._limit) // max(self.size, 1)

    def verdict(self, node: Node, table: ClassTable, small: NDArray[np.bool_]) -> NodeVerdict:
        """Check every requirement on a node's classes, of which `small` are known to be too small."""
        violating, lasting = small.copy(), np.where(small, table.n, 0).astype(np.float64)
        fails = self._ask_presence(table, violating)
        if self.of_classes and not fails:
            self._ask_classes(node, table, violating, lasting)
        for paying in self.paying:
            violating |= paying.violated(class_payoffs(paying.game, self._space, node, table)) & (table.n > 0)
        staying = float(lasting.sum())
        if self.average < 1.0:
            least = gone_for_average(table, self._space.fields, small, self.average)
            staying = max(staying, float(table.n[least].sum()))
            plain = np.array_equal(violating, small)
            violating = least if plain else gone_for_average(table, self._space.fields, violating, self.average)
        for model in self.of_sizes:
            if model.lasts:
                least = gone_for_sizes(table, self._space.fields, small, model, self._space.records)
                staying = max(staying, float(table.n[least].sum()))
            violating = gone_for_sizes(table, self._space.fields, violating, model, self._space.records)
        emptied = bool(violating.any()) and any((model.low or 0.0) > TOLERANCE for model in self.presence)
        return NodeVerdict(violating, staying, fails or emptied)  # suppressed people are less present than a lower bound allows

    def fails_below(self, table: ClassTable) -> bool:
        """Whether no node below these classes, which need not form a node, meets the requirements if nothing is suppressed."""
        violating = self.small(table)
        if violating.any() or not (self.closed and self._space.dense):
            return bool(violating.any())
        self._ask_classes((), table, violating, np.zeros(len(table)))
        return bool(violating.any())

    def _ask_presence(self, table: ClassTable, violating: NDArray[np.bool_]) -> bool:
        """Mark the classes whose presence is out of bounds; return whether one of them holds no record to suppress."""
        fails = False
        for model in self.presence:
            chance = table.n / self._space.population(table)
            high = 1.0 if model.high is None else model.high
            beyond = (chance > high + TOLERANCE) | (chance < (model.low or 0.0) - TOLERANCE)
            violating |= beyond & (table.n > 0)
            fails = fails or bool((beyond & (table.n == 0)).any())
        return fails

    def _ask_classes(self, node: Node, table: ClassTable, violating: NDArray[np.bool_], lasting: NDArray[np.float64]) -> None:
        """Mark the classes that violate a model, until it is clear that they are too many."""
        equivalence: Equivalence | None = None
        classes = np.flatnonzero(~violating & (table.n > 0))
        for model in self.of_classes:
            if not len(classes):
                return
            check = self._closeness_checks.get(model)
            if check is not None and model.sensitive is not None:
                check.mark(table.n, self._space.held(table, model.sensitive), violating, lasting, self._limit)
            else:
                equivalence = equivalence or self._equivalence(node, table, classes)
                figures = model.by_class(equivalence)
                wrong = model.violated(figures)
                violating[classes[wrong]] = True
                staying = table.n[classes] * model.lasting(figures, wrong)
                lasting[classes] = np.maximum(lasting[classes], staying)
            if lasting.sum() > self._limit:
                return

    def _equivalence(self, node: Node, table: ClassTable, classes: NDArray[np.int64]) -> Equivalence:
        """Return some classes of a node, with the distribution of the sensitive attributes in them."""
        size = table.n[classes].astype(np.int64)
        spreads = self._dense_spreads(table, classes) if self._space.dense else self._sparse_spreads(node, table, classes)
        bare = Classes(np.zeros(0, dtype=np.int64), (), (), size, size.astype(np.float64))
        return Equivalence(bare, bare.mass, bare.mass, spreads, self._space.records, 0)

    def _dense_spreads(self, table: ClassTable, classes: NDArray[np.int64]) -> dict[str, Spread]:
        spreads = {}
        for sensitive in self._space.sensitive.values():
            held = self._space.held(table, sensitive.name)[classes]
            of_class, value = np.nonzero(held)
            spreads[sensitive.name] = _spread(sensitive, of_class, value, held[of_class, value])
        return spreads

    def _sparse_spreads(self, node: Node, table: ClassTable, classes: NDArray[np.int64]) -> dict[str, Spread]:
        place = np.full(len(table), -1, dtype=np.int64)
        place[classes] = np.arange(len(classes))
        of_part, codes, n = self._space.joint(node, table)
        parts = np.flatnonzero(place[of_part] >= 0)
        spreads = {}
        for sensitive in self._space.sensitive.values():
            sizes = [len(classes), len(sensitive.values)]
            of_pair, (of_class, value) = group([place[of_part[parts]], codes[sensitive.name][parts]], sizes)
            spreads[sensitive.name] = _spread(sensitive, of_class, value, summed(of_pair, n[parts], len(of_class)))
        return spreads


class PartRequirements(Requirements):
    """The requirements of a request, ready to be checked on parts.

    Parameters
    ----------
    request
        The table and its models.
    of_unit
        The cell of each unit; units are cells or records.
    n
        The records that each unit stands for.
    """

    def __init__(self, request: Request, of_unit: NDArray[np.int64], n: NDArray[np.int64]) -> None:
        super().__init__(request.models.values())
        known = [SensitiveColumn.of(request.cells, names) for names in request.sensitive_groups]
        self._sensitive: Mapping[str, tuple[SensitiveColumn, NDArray[np.int64]]] = {
            one.name: (one, one.of_cell[of_unit]) for one in known
        }
        self._n = n

    @property
    def smallest(self) -> int:
        """The fewest records that a part may hold; two if the share of records that are alone is bounded."""
        return max(2 if self.of_sizes else 1, self.size)

    @property
    def only_size(self) -> bool:
        """Whether the size of a part is all that is required of it."""
        return not self.of_classes

    @property
    def only_of_parts(self) -> bool:
        """Whether the models are met by all parts, and by any of them joined, as soon as each part meets them."""
        others = self.presence or self.of_sizes or self.paying or self.average < 1.0 or self.people
        return self.closed and not others

    def most_parts(self, records: int) -> int:
        """Return the most parts into which this many records may be split, by the average over all parts."""
        return math.floor(self.average * records + TOLERANCE)

    def violated(
        self, of_unit: NDArray[np.int64], number: int, units: NDArray[np.int64] | slice = slice(None)
    ) -> NDArray[np.bool_]:
        """Return which parts violate a requirement, given the part of every unit (of all units, or of some)."""
        n = self._n[units]
        size = summed(of_unit, n, number)
        violated = size < self.smallest
        if self.of_classes:
            spreads = {name: _spread_of(one, of_unit, codes[units], n, number) for name, (one, codes) in self._sensitive.items()}
            bare = Classes(np.zeros(0, dtype=np.int64), (), (), size.astype(np.int64), size)
            classes = Equivalence(bare, size, size, spreads, int(size.sum()), 0)
            for model in self.of_classes:
                violated |= model.violated(model.by_class(classes))
        return violated


def _spread_of(
    sensitive: SensitiveColumn, of_unit: NDArray[np.int64], codes: NDArray[Any], n: NDArray[np.int64], number: int
) -> Spread:
    """Return the distribution of a sensitive attribute in the parts, given the part and the value of every unit."""
    width = len(sensitive.values)
    if number * width <= max(_SMALL_DOMAIN, _DENSE * len(of_unit)):
        records = np.bincount(of_unit * width + codes, weights=n, minlength=number * width)
        pairs = np.flatnonzero(records)
        parts, value = np.divmod(pairs, width)
        return _spread(sensitive, parts, value, records[pairs])
    of_pair, (parts, value) = group([of_unit, codes], [number, width])
    return _spread(sensitive, parts, value, summed(of_pair, n, len(parts)))


def _spread(sensitive: SensitiveColumn, of_class: NDArray[Any], value: NDArray[Any], n: NDArray[Any]) -> Spread:
    rows = of_class.astype(np.int64, copy=False)
    begins = np.empty(len(rows), dtype=bool)
    begins[:1] = True
    np.not_equal(rows[1:], rows[:-1], out=begins[1:])
    codes, records = value.astype(np.int64, copy=False), n.astype(np.float64, copy=False)
    return Spread(sensitive.name, sensitive.values, rows, codes, records, np.flatnonzero(begins), sensitive.share)


def gone_for_average(
    table: ClassTable, fields: Sequence[CodeField], gone: NDArray[np.bool_], highest: float
) -> NDArray[np.bool_]:
    """Return the classes to suppress: those already suppressed, and the smallest of the others.

    Ties are decided by the classes' values, by the first key attribute, then by the second, and so on: those that come first are
    kept.

    Parameters
    ----------
    table, fields
        The classes, and where each key attribute is in their keys.
    gone
        Which of them are suppressed in any case.
    highest
        The highest average risk of the classes kept; it is met if none is kept.
    """
    rows = np.flatnonzero(~gone & (table.n > 0))
    sizes = table.n[rows]
    most = highest + TOLERANCE
    if len(rows) <= most * int(sizes.sum()):
        return gone
    left = int(sizes.sum()) - np.cumsum(np.sort(sizes), dtype=np.int64)
    number = 1 + int(np.argmax(len(rows) - np.arange(1, len(rows) + 1) <= most * left))
    return _without_smallest(table, fields, gone, rows, number)


def gone_for_sizes(
    table: ClassTable, fields: Sequence[CodeField], gone: NDArray[np.bool_], model: SizesModel, records: int
) -> NDArray[np.bool_]:
    """Return the classes to suppress: those already suppressed, and as many classes of one record as the model requires."""
    rows = np.flatnonzero(~gone & (table.n > 0))
    number = model.excess(table.n[rows].astype(np.int64), records)
    return _without_smallest(table, fields, gone, rows, number) if number else gone


def _without_smallest(
    table: ClassTable, fields: Sequence[CodeField], gone: NDArray[np.bool_], rows: NDArray[np.int64], number: int
) -> NDArray[np.bool_]:
    """Return the suppressed classes, together with the given number of the smallest of the others."""
    sizes = table.n[rows]
    last = np.partition(sizes, number - 1)[number - 1]
    suppressed = gone.copy()
    suppressed[rows[sizes < last]] = True
    suppressed[_last(table, fields, rows[sizes == last], number - int(np.count_nonzero(sizes < last)))] = True
    return suppressed


def _last(table: ClassTable, fields: Sequence[CodeField], rows: NDArray[np.int64], number: int) -> NDArray[np.int64]:
    """Return the last of several classes in the order of their values, because the order of a table's rows is arbitrary."""
    order = np.lexsort([table.codes(field, rows) for field in reversed(fields)])
    return rows[order[len(rows) - number :]]
