"""Axes along which an attribute is split, and the labels of its parts: its order, or its hierarchy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from unveil.errors import ArgumentError, shown
from unveil.measures import SUPPRESSED
from unveil.run import in_blocks
from unveil.search.lattice.space import KeyAttribute
from unveil.search.request import Request
from unveil.search.splitting.labelling import Labelling, Recoded, of_levels
from unveil.search.splitting.parts import Dimension, Extents

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Axis", "HierarchyAxis", "OrderedAxis", "axis_of", "recoded_by_parts"]


@dataclass(frozen=True, slots=True, eq=False)
class HierarchyAxis:
    """An attribute with a hierarchy: the label of a part is the lowest node that holds all its values."""

    attribute: KeyAttribute
    codes: NDArray[np.int64]

    def dimension(self, cells: NDArray[np.int64]) -> Dimension:
        """Return the attribute as the splitting takes it, given the cell of every unit."""
        return Dimension(self.codes[cells], np.zeros(0), levels=self.attribute.levels)

    def rule(self, extents: Extents, at: int, of_record: NDArray[np.int64], of_row: NDArray[np.int64]) -> Labelling:
        """Return what records hold, given the part and the cell of each."""
        return of_levels(self.attribute, extents.low[at][of_record], self.codes[of_row])


@dataclass(frozen=True, slots=True, eq=False)
class OrderedAxis:
    """An attribute whose values are ordered: the label of a part is the range from its lowest value to its highest.

    Attributes
    ----------
    values
        The values by rank, without the null.
    ranks
        The rank of every cell's value; that of a null is the number of values.
    numeric
        Whether the values are numbers or dates, so that a label is an interval; else it is a set.
    """

    values: Sequence[Any]
    ranks: NDArray[np.int64]
    numeric: bool

    def dimension(self, cells: NDArray[np.int64]) -> Dimension:
        """Return the attribute as the splitting takes it, given the cell of every unit."""
        null = len(self.values)
        return Dimension(self.ranks[cells], _positions(self.values), null if (self.ranks == null).any() else -1)

    def rule(self, extents: Extents, at: int, of_record: NDArray[np.int64], of_row: NDArray[np.int64]) -> Labelling:  # noqa: ARG002
        """Return what records hold, given the part and the cell of each."""
        last = len(self.values)
        low, high = (np.where(extents.mixed[at], end, extent[at]) for end, extent in ((0, extents.low), (last, extents.high)))
        spans, of_part = np.unique(low * (last + 1) + high, return_inverse=True)
        pairs = [divmod(span, last + 1) for span in spans.tolist()]
        leaves = max(last, 1)
        shares = np.array([1.0 if high == last > low else (high - low + 1) / leaves for low, high in pairs])
        exact = np.array([low == high for low, high in pairs])
        texts = [str(value) for block in in_blocks(self.values) for value in block]
        labels = [self._label(low, high, texts) for block in in_blocks(pairs, 64) for low, high in block]
        return Labelling(labels, shares, exact, leaves, of_part.reshape(-1)[of_record])

    def _label(self, low: int, high: int, texts: Sequence[str]) -> str | None:
        last = len(texts)
        if low == last:
            return None
        if low == high:
            return texts[low]
        if high == last or (not self.numeric and high - low + 1 == last):
            return SUPPRESSED
        return f"[{texts[low]}, {texts[high]}]" if self.numeric else f"{{{', '.join(texts[low : high + 1])}}}"


Axis: TypeAlias = HierarchyAxis | OrderedAxis


def axis_of(request: Request, name: str, orders: Mapping[str, Sequence[Any]] | None) -> Axis:
    """Return how an attribute is split: along its hierarchy if it has one, else along the order given or its natural one."""
    codes, values = request.codes(name), list(request.values(name))
    if name in request.hierarchies:
        if orders is not None and name in orders:
            raise ArgumentError(
                f"{shown(name)} has both an order and a hierarchy; give only the one along which it is to be split."
            )
        return HierarchyAxis(request.with_hierarchy[name], codes)
    present = [value for value in values if value is not None]
    numeric = not any(isinstance(value, str | bool | bytes) for value in present)
    ranks = np.arange(len(values))
    if orders is not None and name in orders:
        order, numeric = _ordered(name, present, orders[name]), False
        ranks[: len(present)] = np.argsort(order)
        present = [present[at] for at in order]
    return OrderedAxis(present, ranks[codes], numeric)


def recoded_by_parts(request: Request, axes: Sequence[Axis], extents: Extents, of_record: NDArray[np.int64]) -> Recoded:
    """Return the recoded records, given the part of each; none is suppressed."""
    rules = {request.keys[at]: axis.rule(extents, at, of_record, request.of_row) for at, axis in enumerate(axes)}
    return Recoded(rules, np.zeros(len(request.of_row), dtype=bool))


def _ordered(name: str, present: Sequence[Any], order: Sequence[Any]) -> NDArray[np.int64]:
    """Return the values present, by their places, in the order given."""
    place = {str(value): at for at, value in enumerate(order)}
    if missing := sum(str(value) not in place for value in present):
        raise ArgumentError(f"the order of {shown(name)} misses {missing:,} of its {len(present):,} values.")
    return np.argsort([place[str(value)] for value in present], kind="stable")


def _positions(values: Sequence[Any]) -> NDArray[np.float64]:
    """Return the position of each value from 0 to 1: numbers by value, other values by rank."""
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    places = np.array([float(value) for value in values] if numbers else np.arange(len(values)), dtype=np.float64)
    if len(places) < 2 or not np.isfinite(places).all():  # noqa: PLR2004
        places = np.arange(len(places), dtype=np.float64)
    width = places[-1] - places[0] if len(places) else 0.0
    return (places - places[0]) / width if width > 0.0 else places
