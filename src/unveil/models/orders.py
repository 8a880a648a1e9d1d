"""Relations between the values of a sensitive attribute: an order, distances, or a hierarchy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.errors import ArgumentError, HierarchyError, shown
from unveil.measures.equivalence import Spread
from unveil.partitions import Hierarchy

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Scale"]


@dataclass(frozen=True, eq=False)
class Scale:
    """The relations between an attribute's values: their order, if it is not numeric, and their hierarchy.

    Parameters
    ----------
    attribute
        The attribute, for messages.
    order
        Its values from lowest to highest; None: numbers are in their own order.
    hierarchy
        The hierarchy of its values.
    """

    attribute: str
    order: tuple[Any, ...] | None = None
    hierarchy: Hierarchy | None = None
    _last: list[tuple[Any, list[NDArray[np.int64]]]] = field(default_factory=list, init=False, repr=False)

    def has_order(self, values: Sequence[Any]) -> bool:
        """Whether the values can be ranked."""
        return self.order is not None or _are_numbers(values)

    def has_distances(self, values: Sequence[Any]) -> bool:
        """Whether all values are numbers, with a finite distance between the lowest and the highest."""
        return _are_numbers(values) and (not values or math.isfinite(max(values) - min(values)))

    def gaps(self, spread: Spread, *, by_value: bool) -> tuple[Spread, NDArray[np.float64]]:
        """Return the spread with its values in order, and the distance of each value to the next, summing to 1."""
        ranks, gaps = self.ranked(spread.values, by_value=by_value)
        return _reordered(spread, ranks), gaps

    def ranked(self, values: Sequence[Any], *, by_value: bool) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the rank of every value, and the distance of each rank to the next, summing to 1."""
        ranks, number = self._ranks(values), len(values)
        if number == 1:
            return ranks, np.zeros(0)
        if not by_value:
            return ranks, np.full(number - 1, 1.0 / (number - 1))
        if not self.has_distances(values):
            needed = "finite numbers" if _are_numbers(values) else "numbers"
            raise ArgumentError(
                f"the value distance of {shown(self.attribute)} needs {needed}, and not all its values are; use another distance."
            )
        rising = sorted(values)  # not converted: large integers that differ may become the same floating-point number
        return ranks, np.array([(high - low) / (rising[-1] - rising[0]) for low, high in pairwise(rising)])

    def levels(self, values: Sequence[Any]) -> list[NDArray[np.int64]]:
        """Return the group of every value at each level of the hierarchy below its root; the last result is cached."""
        typed = [(type(value), value) for value in values]
        if self._last and self._last[0][0] == typed:
            return self._last[0][1]
        if self.hierarchy is None:
            raise ArgumentError(f"the hierarchical distance of {shown(self.attribute)} needs a hierarchy; give its file.")
        hierarchy = self.hierarchy.with_root()
        if hierarchy.height == 0:
            raise HierarchyError(f"the hierarchy of {shown(self.attribute)} has no level above its values.")
        levels = [hierarchy.level(number).apply(values, self.attribute)[0] for number in range(hierarchy.height)]
        self._last[:] = [(typed, levels)]
        return levels

    def _ranks(self, values: Sequence[Any]) -> NDArray[np.int64]:
        """Return the rank of every value."""
        if self.order is None:
            if None in values and _are_numbers([value for value in values if value is not None]):
                raise ArgumentError(
                    f"{shown(self.attribute)} holds nulls, which have no rank among numbers; leave their records out "
                    "(nulls='drop'), or use another distance."
                )
            if not _are_numbers(values):
                raise ArgumentError(f"the values of {shown(self.attribute)} have no order; give one, or use another distance.")
            return np.argsort(sorted(range(len(values)), key=values.__getitem__))
        place = {str(value): at for at, value in enumerate(self.order)}
        missing = sum(str(value) not in place for value in values)
        if missing:
            raise ArgumentError(
                f"{missing:,} of the {len(values):,} values of {shown(self.attribute)} are not in the order given."
            )
        return np.argsort(np.argsort([place[str(value)] for value in values]))


def _are_numbers(values: Sequence[Any]) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _reordered(spread: Spread, ranks: NDArray[np.int64]) -> Spread:
    """Return the spread with values numbered by rank, each class's cells in that order."""
    if np.array_equal(ranks, np.arange(len(ranks))):
        return spread
    value = ranks[spread.value]
    order = np.lexsort((value, spread.of_class))
    back = np.argsort(ranks)
    values = [spread.values[at] for at in back.tolist()]
    return replace(spread, values=values, value=value[order], n=spread.n[order], whole=spread.whole[back])
