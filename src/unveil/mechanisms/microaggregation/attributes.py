"""How far apart are two values of an attribute, and which value represents a group? Both depend on the attribute's kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_word
from unveil.attributes import KINDS, Kind
from unveil.errors import ArgumentError, listed, shown
from unveil.mechanisms.columns import Chosen, by_attribute, numbers, ranks
from unveil.sources import encode

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["AggregatedAttribute", "prepared"]

_AGGREGATES: dict[Kind, tuple[str, ...]] = {"continuous": ("mean", "median"), "ordinal": ("median",), "nominal": ("mode",)}
"""The aggregates that may represent a group of values of each kind; the first is the default."""


@dataclass(frozen=True, slots=True, eq=False)
class AggregatedAttribute:
    """One attribute as the methods see it.

    Attributes
    ----------
    column
        Its original values.
    kind, aggregate
        Its kind, and the aggregate that represents a group.
    values
        Its values as numbers: themselves, their ranks in the order, or the codes of names; NaN for a null.
    unit
        The weight of a squared difference of one (or of a difference of names) in the distance of two records.
    """

    column: Any
    kind: Kind
    aggregate: str
    values: NDArray[np.float64]
    unit: float

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.column.name)

    def aggregated(self, group: NDArray[np.int64]) -> tuple[Any, NDArray[np.float64]]:
        """Return the column with every value replaced by that of its group, and the same as numbers."""
        rows = np.flatnonzero(~np.isnan(self.values))
        of_row, groups = _dense(group[rows])
        new = np.full(len(self.values), np.nan)
        if self.aggregate == "mean":
            new[rows] = _means(self.values[rows], of_row, groups)[of_row]
            return new, new
        if self.kind == "continuous":
            new[rows] = _middles(self.values[rows], of_row, groups)[of_row]
            return new, new
        stands_for = _modes if self.kind == "nominal" else _low_medians
        source = np.arange(len(self.values))
        source[rows] = rows[stands_for(self.values[rows], of_row, groups)[of_row]]
        return self.column.gather(source), self.values[source]

    def squares(self, others: NDArray[np.float64] | float) -> float:
        """Return the sum of squared distances between its values and others, nulls left out."""
        apart = self.values != others if self.kind == "nominal" else (self.values - others) ** 2
        return self.unit * float(np.sum(apart, where=~np.isnan(self.values), dtype=np.float64))

    def squares_from_centre(self) -> float:
        """Return the sum of squared distances between its values and their mean, or the most frequent value."""
        present = self.values[~np.isnan(self.values)]
        if not len(present):
            return 0.0
        alike = np.zeros(len(present), dtype=np.int64)
        centre = present[_modes(present, alike, 1)] if self.kind == "nominal" else _means(present, alike, 1)
        return self.squares(float(centre[0]))


def prepared(
    chosen: Chosen,
    kinds: Mapping[str, str] | None,
    orders: Mapping[str, Sequence[Any]] | None,
    aggregate: Any,
    *,
    standardise: bool,
) -> list[AggregatedAttribute]:
    """Prepare every attribute: its kind, its values as numbers, and its aggregate."""
    kinds, orders = by_attribute(kinds or {}, chosen.names, "a kind"), by_attribute(orders or {}, chosen.names, "an order")
    aggregates = by_attribute(aggregate, chosen.names, "an aggregate")
    return [
        _attribute(chosen.column(name), kinds.get(name), orders.get(name), aggregates.get(name), standardise=standardise)
        for name in chosen.names
    ]


def _attribute(
    column: Any, kind: Any, order: Sequence[Any] | None, aggregate: str | None, *, standardise: bool
) -> AggregatedAttribute:
    kind = kind or _own_kind(column, order)
    checked_word(f"the kind of {shown(column.name)}", kind, KINDS)
    chosen = aggregate or _AGGREGATES[kind][0]
    if chosen not in _AGGREGATES[kind]:
        known = listed(_AGGREGATES[kind])
        raise ArgumentError(
            f"aggregate {shown(chosen)} does not fit {shown(column.name)}, which is {kind}; it is one of: {known}."
        )
    values = _as_numbers(column, kind, order)
    return AggregatedAttribute(column, kind, chosen, values, _unit(values, kind) if standardise else 1.0)


def _own_kind(column: Any, order: Sequence[Any] | None) -> Kind:
    """Return the default kind of a column: numbers are continuous, dates and values with an order are ordinal."""
    if order is not None or column.dtype.is_temporal():
        return "ordinal"
    return "continuous" if column.dtype.is_numeric() else "nominal"


def _as_numbers(column: Any, kind: Kind, order: Sequence[Any] | None) -> NDArray[np.float64]:
    if kind == "continuous":
        return numbers(column, "a continuous attribute")
    if kind == "ordinal":
        places = ranks(column, order, "an ordinal attribute")
        return np.where(places < 0, np.nan, places)
    coded = encode(column)
    missing = len(coded.values) - 1 if len(coded.values) and coded.values[len(coded.values) - 1] is None else -1
    return np.where(coded.codes.astype(np.int64) == missing, np.nan, coded.codes)


def _unit(values: NDArray[np.float64], kind: Kind) -> float:
    """Return the unit in which two records picked at random are 2 apart in this attribute, on average."""
    present = values[~np.isnan(values)]
    if not len(present):
        return 1.0
    if kind == "nominal":
        differ = 1.0 - float(np.sum((np.bincount(present.astype(np.int64)) / len(present)) ** 2))
        return 2.0 / differ if differ > 0.0 else 1.0
    spread = float(np.var(present - present[0]))
    return 1.0 / spread if spread > 0.0 else 1.0


def _dense(group: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Return the groups numbered from 0 on, in their order, and the number of groups that occur."""
    occurs = np.bincount(group) > 0
    return (np.cumsum(occurs) - 1)[group], int(occurs.sum())


def _means(values: NDArray[np.float64], group: NDArray[np.int64], groups: int) -> NDArray[np.float64]:
    """Return the mean of every group, computed from its first value on, so that the mean of equal values is that value."""
    first = np.empty(groups)
    first[group[::-1]] = values[::-1]
    total = np.bincount(group, weights=values - first[group], minlength=groups)
    return np.asarray(first + total / np.bincount(group, minlength=groups))


def _in_groups(
    values: NDArray[np.float64], group: NDArray[np.int64], groups: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows by group and value, where each group starts among them, and its size."""
    size = np.bincount(group, minlength=groups)
    return np.lexsort((values, group)), np.cumsum(size) - size, size


def _middles(values: NDArray[np.float64], group: NDArray[np.int64], groups: int) -> NDArray[np.float64]:
    """Return the median of every group: the middle value, or the midpoint of the two middle values."""
    order, start, size = _in_groups(values, group, groups)
    low, high = values[order[start + (size - 1) // 2]], values[order[start + size // 2]]
    return np.asarray(low + (high - low) / 2.0)


def _low_medians(values: NDArray[np.float64], group: NDArray[np.int64], groups: int) -> NDArray[np.int64]:
    """Return a row of every group that holds its median, the lower of two middle values."""
    order, start, size = _in_groups(values, group, groups)
    return np.asarray(order[start + (size - 1) // 2])


def _modes(values: NDArray[np.float64], group: NDArray[np.int64], groups: int) -> NDArray[np.int64]:
    """Return a row of every group that holds its most frequent value; of several, the first in order."""
    order, _, _ = _in_groups(values, group, groups)
    begins = np.flatnonzero((np.diff(group[order], prepend=-1) != 0) | (np.diff(values[order], prepend=-1.0) != 0))
    often = np.diff(begins, append=len(order))
    of_run = group[order[begins]]
    best = np.lexsort((-often, of_run))
    return np.asarray(order[begins[best[np.flatnonzero(np.diff(of_run[best], prepend=-1))]]])
