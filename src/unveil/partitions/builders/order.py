"""Groups of neighbours in an order."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from unveil.arguments import checked_arguments
from unveil.errors import ArgumentError, HierarchyError
from unveil.partitions.builders.base import Builder, growing, read_all
from unveil.partitions.hierarchy import Hierarchy
from unveil.partitions.matching import moment_of, number_of, reading_for, text_of
from unveil.partitions.rules import at

__all__ = ["Groups"]


@checked_arguments
@dataclass(frozen=True)
class Groups(Builder):
    """Groups of neighbours in an order, of a given size at each level.

    A group of numbers is named ``[first, last]``, any other ``first to last``; a group of one by its value.

    Parameters
    ----------
    sizes
        The number of neighbours in a group at each level, increasing; each a multiple of the one before, so that groups nest.
        The last group may be smaller.
    order
        All values from first to last; none: numbers and dates in their own order, other values by their text.

    Examples
    --------
    >>> Groups((2,), order=("low", "mid", "high")).build(["high", "low", "mid"], column="income").labels
    (('low', 'low to mid', '*'), ('mid', 'low to mid', '*'), ('high', 'high', '*'))
    """

    name: ClassVar[str] = "groups"
    sizes: tuple[int, ...]
    order: tuple[Any, ...] | None = None

    def __post_init__(self) -> None:
        """Refuse sizes that do not make each level coarser than the one below."""
        if any(not isinstance(size, int) for size in self.sizes):
            raise ArgumentError("the size of groups takes whole numbers.")
        growing("the size of groups", self.sizes, nested=True)

    def build(self, values: Sequence[Any], counts: Sequence[int] | None = None, *, column: str | None = None) -> Hierarchy:  # noqa: ARG002
        """Return the values in their order, with a group at each level."""
        leaves = self._ordered([*read_all(values, lambda value: value, "value", column)], column)
        numeric = all(number_of(leaf) is not None for leaf in leaves)
        levels = [_labels(leaves, size, numeric=numeric) for size in self.sizes]
        return Hierarchy.from_levels(leaves, *levels, column=column).with_root()

    def _ordered(self, values: list[Any], column: str | None) -> list[Any]:
        if self.order is None:
            return _naturally(values)
        read = reading_for(values)
        known = {read(value) for value in self.order}
        if missing := sum(read(value) not in known for value in values):
            verb = "is" if missing == 1 else "are"
            raise HierarchyError(f"{at(column)}{missing:,} of {len(values):,} values present {verb} not in the order given.")
        if twins := len(self.order) - len(known):
            raise HierarchyError(f"{at(column)}{twins:,} of {len(self.order):,} values of the order given repeat another.")
        return [*self.order]


def _naturally(values: list[Any]) -> list[Any]:
    """Return numbers and dates in their own order, anything else by its text."""
    for read in (number_of, moment_of):
        points: dict[Any, Any] = {value: read(value) for value in values}
        if None not in points.values():
            return sorted(values, key=lambda value, points=points: points[value])  # type: ignore[misc]
    return sorted(values, key=text_of)


def _labels(leaves: Sequence[Hashable], size: int, *, numeric: bool) -> list[str]:
    """Return the label of each leaf's group."""
    labels: list[str] = []
    for begin in range(0, len(leaves), size):
        group = leaves[begin : begin + size]
        first, last = text_of(group[0]), text_of(group[-1])
        label = first if len(group) == 1 else f"[{first}, {last}]" if numeric else f"{first} to {last}"
        labels += [label] * len(group)
    return labels
