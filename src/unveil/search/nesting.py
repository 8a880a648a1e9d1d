"""Which columns of places lie within each other? A town in its county in its state: a hierarchy that the table itself holds.

Only columns whose names suggest a place are looked at. One lies within another if it determines the other in 99 of 100 records
or more; the few exceptions, usually typing errors, follow the most frequent parent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from unveil.counts.guessing import best_guess
from unveil.naming import hints_of
from unveil.partitions import Hierarchy
from unveil.partitions.builders import Builder
from unveil.partitions.matching import text_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Nested", "PlaceColumn", "nested_places"]

_NEARLY_ALWAYS = 0.99
_OWN = 0.8
"""With this many values per record or more, nearly every record has its own value, which lies within everything."""
_NONE = "(none)"


@dataclass(frozen=True, slots=True, eq=False)
class PlaceColumn:
    """A column in codes: its name, its values, and the code of each record or cell."""

    name: str
    values: Sequence[Any]
    codes: NDArray[Any]


@dataclass(frozen=True)
class Nested(Builder):
    """Values within those of other columns of the same table: a town, its county, its state.

    Parameters
    ----------
    within
        The columns, from the nearest to the widest.
    places
        For each value, by its text, the values of these columns.

    Examples
    --------
    >>> Nested(("state",), {"Lima": ("OH",), "Rome": ("NY",)}).build(["Lima", "Rome"], column="town").labels
    (('Lima', 'OH', '*'), ('Rome', 'NY', '*'))
    """

    name: ClassVar[str] = "nested"
    within: tuple[str, ...]
    places: Mapping[str, tuple[str, ...]] = field(repr=False)

    def build(self, values: Sequence[Any], counts: Sequence[int] | None = None, *, column: str | None = None) -> Hierarchy:  # noqa: ARG002
        """Return the values, in the order given, with the places in which they lie."""
        present = [value for value in values if value is not None]
        levels = zip(*(self.places[text_of(value)] for value in present), strict=True)
        return Hierarchy.from_levels(present, *levels, column=column).with_root()

    def to_dict(self) -> dict[str, Any]:
        """Return the rule's name and the columns."""
        return {"rule": self.name, "within": list(self.within)}


def nested_places(columns: Sequence[PlaceColumn], n: NDArray[np.int64] | None = None) -> dict[str, tuple[Nested, str]]:
    """Return the rule, and its reason, for each column of places that lies within others.

    Parameters
    ----------
    columns
        Columns of one table.
    n
        The records of each cell; none: one each.
    """
    places = {one.name: one for one in columns if _is_place(one.name) and len(one.values) > 1}
    by_name = {}
    for name, one in places.items():
        records = len(one.codes) if n is None else int(n.sum())
        chain = (
            _chain(one, [other for other in places.values() if other is not one], n) if len(one.values) <= _OWN * records else []
        )
        if chain:
            within = tuple(parent.name for parent in chain)
            reason = f"places: {' in '.join((name, *within))}, as in nearly every record of the table"
            by_name[name] = (Nested(within, _paths(one, chain, n)), reason)
    return by_name


def _is_place(name: str) -> bool:
    hints = hints_of(name)
    return "place" in hints and "person-name" not in hints and "birth-date" not in hints


def _chain(one: PlaceColumn, others: Sequence[PlaceColumn], n: NDArray[np.int64] | None) -> list[PlaceColumn]:
    """Return the columns in which the column lies, each within the next."""
    chain = [one]
    for other in sorted(others, key=lambda other: -len(other.values)):
        if len(other.values) < len(chain[-1].values) and _lies_in(chain[-1], other, n) and _lies_in(one, other, n):
            chain.append(other)
    return chain[1:]


def _lies_in(one: PlaceColumn, other: PlaceColumn, n: NDArray[np.int64] | None) -> bool:
    """Whether one column determines the other nearly always, and far better than the most frequent value does."""
    records = len(one.codes) if n is None else int(n.sum())
    most = int(np.bincount(other.codes, weights=n).max())
    right = best_guess(one.codes, other.codes, len(other.values), n)[1]
    return right >= _NEARLY_ALWAYS * records and (right - most) >= _NEARLY_ALWAYS * (records - most) - 1


def _paths(one: PlaceColumn, chain: Sequence[PlaceColumn], n: NDArray[np.int64] | None) -> dict[str, tuple[str, ...]]:
    """Return the labels above each value, one step at a time, so that each label has one label above it."""
    above: list[dict[int, int]] = []
    below = one
    for parent in chain:
        guess, _ = best_guess(below.codes, parent.codes, len(parent.values), n)
        above.append(dict(enumerate(guess.tolist())))
        below = parent
    paths = {}
    for code, value in enumerate(one.values):
        labels, at = [], code
        for step, parent in zip(above, chain, strict=True):
            at = step.get(at, 0)
            labels.append(_NONE if parent.values[at] is None else text_of(parent.values[at]))
        if value is not None:
            paths[text_of(value)] = tuple(labels)
    return paths
