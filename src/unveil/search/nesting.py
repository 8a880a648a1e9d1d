"""Which columns of places lie within each other? A town in its county in its state: a hierarchy that the table itself holds.

Only columns whose names suggest a place are looked at. One lies within another if it determines the other in 99 of 100 records
or more; the few exceptions, usually typing errors, follow the most frequent parent.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

from unveil.counts import best_guess
from unveil.naming import is_place
from unveil.partitions import Builder, Hierarchy, text_of

if TYPE_CHECKING:
    from unveil.study import Columns

__all__ = ["Nested", "nested_places"]

_NEARLY_ALWAYS = 0.99
_OWN = 0.8
"""With this many values per record or more, nearly every record has its own value, which trivially lies in every other column."""
_NONE = "(none)"


@dataclass(frozen=True)
class Nested(Builder):
    """A rule that nests values within those of other columns of the same table: a town, its county, its state.

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


def nested_places(columns: Columns, only: Collection[str] | None = None) -> dict[str, tuple[Nested, str]]:
    """Return the rule, and its reason, for each column of places that lies within others.

    Parameters
    ----------
    columns
        Columns of one table.
    only
        The columns to find a rule for; none: all.
    """
    places = [name for name in columns.names if is_place(name) and len(columns.values(name)) > 1]
    by_name = {}
    for name in places:
        if (only is not None and name not in only) or len(columns.values(name)) > _OWN * columns.records:
            continue
        if chain := _chain(columns, name, [other for other in places if other != name]):
            reason = f"places: {' in '.join((name, *chain))}, as in nearly every record of the table"
            by_name[name] = (Nested(tuple(chain), _paths(columns, name, chain)), reason)
    return by_name


def _chain(columns: Columns, one: str, others: Sequence[str]) -> list[str]:
    """Return the columns that contain this one, each within the next."""
    sizes = {name: len(columns.values(name)) for name in (one, *others)}
    chain = [one]
    for other in sorted(others, key=lambda other: -sizes[other]):
        below = dict.fromkeys((chain[-1], one))
        if sizes[other] < sizes[chain[-1]] and all(_lies_in(columns, name, other) for name in below):
            chain.append(other)
    return chain[1:]


def _lies_in(columns: Columns, one: str, other: str) -> bool:
    """Whether one column determines the other nearly always, and far better than the most frequent value does."""
    records, most = columns.records, int(columns.counts(other).max())
    cells = columns.joint(one, other)
    right = best_guess(cells.first, cells.second, len(columns.values(other)), cells.n)[1]
    return right >= _NEARLY_ALWAYS * records and (right - most) >= _NEARLY_ALWAYS * (records - most) - 1


def _paths(columns: Columns, one: str, chain: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the labels above each value, one step at a time, so that each label has one label above it."""
    above: list[dict[int, int]] = []
    for below, parent in pairwise((one, *chain)):
        cells = columns.joint(below, parent)
        guess, _ = best_guess(cells.first, cells.second, len(columns.values(parent)), cells.n)
        above.append(dict(enumerate(guess.tolist())))
    paths = {}
    for code, value in enumerate(columns.values(one)):
        labels, at = [], code
        for step, parent in zip(above, chain, strict=True):
            at = step.get(at, 0)
            place = columns.values(parent)[at]
            labels.append(_NONE if place is None else text_of(place))
        if value is not None:
            paths[text_of(value)] = tuple(labels)
    return paths
