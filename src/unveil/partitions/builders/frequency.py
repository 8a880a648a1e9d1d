"""Rare values, merged: more of them at each level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from unveil.arguments import checked_arguments
from unveil.errors import ArgumentError, HierarchyError, shown
from unveil.partitions.builders.base import Builder, growing, read_all
from unveil.partitions.hierarchy import Hierarchy
from unveil.partitions.matching import text_of
from unveil.partitions.rules import at

__all__ = ["Rare"]


@checked_arguments
@dataclass(frozen=True)
class Rare(Builder):
    r"""Values with fewer records than a threshold become one group, ``other``; thresholds grow from level to level.

    With :math:`n_{(1)} \le n_{(2)} \le \dots` the numbers of records of the values, those merged at threshold :math:`t` are the
    rarest values, as few as possible, that include every :math:`n_{(i)} < t` and, if there is one, hold :math:`t` records
    together. So each group holds :math:`t` records, unless all values together do not.

    Parameters
    ----------
    thresholds
        The smallest number of records at each level, increasing.
    other
        The label of the merged values.

    Examples
    --------
    >>> Rare((3, 10)).build(["a", "b", "c", "d"], [1, 2, 9, 50], column="x").labels
    (('a', 'other', 'other', '*'), ('b', 'other', 'other', '*'), ('c', 'c', 'other', '*'), ('d', 'd', 'd', '*'))
    """

    name: ClassVar[str] = "rare"
    thresholds: tuple[int, ...]
    other: str = "other"

    def __post_init__(self) -> None:
        """Refuse thresholds that do not make each level coarser than the one below."""
        growing("the threshold of rare values", self.thresholds)

    def build(self, values: Sequence[Any], counts: Sequence[int] | None = None, *, column: str | None = None) -> Hierarchy:
        """Return the values, in the order given, with the rare ones merged at each level."""
        if counts is None or len(counts) != len(values):
            raise ArgumentError("merging rare values needs a count for each value.")
        texts = read_all(values, text_of, "value", column)
        if self.other in texts.values():
            raise HierarchyError(
                f"{at(column)}the label {shown(self.other)} for merged values is a value itself; choose another."
            )
        pairs = [(int(n), text_of(value)) for value, n in zip(values, counts, strict=True) if value is not None]
        levels = []
        for threshold in self.thresholds:
            merged = _merged(sorted(pairs), threshold)
            levels.append([self.other if text in merged else text for text in texts.values()])
        return Hierarchy.from_levels([*texts], *levels, column=column).with_root()


def _merged(by_count: Sequence[tuple[int, str]], threshold: int) -> set[str]:
    """Return the values to merge: the rare ones, and the next rarest until together they are not rare."""
    merged: set[str] = set()
    held = 0
    for n, text in by_count:
        if n >= threshold and (not merged or held >= threshold):
            break
        merged.add(text)
        held += n
    return merged
