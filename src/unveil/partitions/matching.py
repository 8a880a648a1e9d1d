"""The matching of values that someone wrote down with the values of a column, singly or level by level in a hierarchy.

People write partitions and hierarchies by hand, in JSON, TOML or Python, and a column may hold text while they think of numbers.
So both sides are read in the way the column needs: as numbers if all its values are numbers, as dates if all are dates, else as
text. The levels of a hierarchy are in numbers, as a search needs them: the group of each value of a column, level by level.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from unveil.errors import HierarchyError, shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.partitions.hierarchy import Hierarchy

__all__ = [
    "ROOT",
    "Levels",
    "Reading",
    "edge_json",
    "edge_text",
    "forms_of",
    "keys_of",
    "levels_of",
    "moment_of",
    "number_of",
    "plain",
    "reading_for",
    "rooted_levels",
    "rows_of",
    "text_of",
]

Reading: TypeAlias = Callable[[Any], Hashable | None]
"""A function from a value, or a text for it, to the key that is compared; None: it cannot be in such a column."""

_LARGEST_EXACT = 2**53
_NUMBER = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf(?:inity)?)", re.IGNORECASE)


def plain(value: Any) -> Any:
    """Return a numpy scalar as the Python value it stands for, and anything else unchanged."""
    return value.item() if isinstance(value, np.generic) else value


def text_of(value: Any) -> str:
    """Return the text form of a value: ISO 8601 for dates, `true` and `false`, the shortest exact form for floats."""
    if type(value) is str:
        return value
    value = plain(value)
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (date, time)):
        return value.isoformat()
    return str(value)


def forms_of(member: Any) -> tuple[str, ...]:
    """Return the texts that a member of a block may stand for; only a boolean has several."""
    text = text_of(member)
    return (text, text.capitalize(), text.upper()) if isinstance(plain(member), bool) else (text,)


def number_of(value: Any) -> Decimal | None:
    """Return the number that a value or its text represents; None if there is none (NaN is none)."""
    value = plain(value)
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return Decimal(value)
    if isinstance(value, (float, Decimal)):
        number = Decimal(str(value))
        return None if number.is_nan() else number
    if not isinstance(value, str) or not _NUMBER.fullmatch(value.strip()):
        return None
    try:
        return Decimal(value.strip())
    except InvalidOperation:  # an exponent beyond the range of decimals
        return None


def moment_of(value: Any) -> datetime | None:
    """Return the moment that a value or its text represents, by the wall clock; a date is its midnight."""
    value = plain(value)
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            return None
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    return datetime(value.year, value.month, value.day) if isinstance(value, date) else None  # noqa: DTZ001


def edge_text(edge: Decimal | datetime) -> str:
    """Return the end of an interval as text: an integer without a point, midnight as its date."""
    if isinstance(edge, datetime):
        return edge.date().isoformat() if edge.time() == time() else edge.isoformat(sep=" ")
    return str(edge_json(edge))


def edge_json(edge: Decimal | datetime) -> int | float | str:
    """Return the end of an interval for JSON: a number if it is exact, else its text."""
    if isinstance(edge, datetime):
        return edge_text(edge)
    if -_LARGEST_EXACT <= edge <= _LARGEST_EXACT and edge == edge.to_integral_value():
        return int(edge)
    nearest = float(edge)
    return nearest if Decimal(str(nearest)) == edge else str(edge)


def reading_for(values: Sequence[Any]) -> Reading:
    """Return the reading for the values of a column, and for the members of blocks meant for it."""
    kinds = {_kind(value) for value in values if value is not None}
    return _READINGS[kinds.pop()] if len(kinds) == 1 else text_of


def keys_of(member: Any, read: Reading) -> set[Hashable]:
    """Return the keys by which a member of a block is compared in such a column; empty if it cannot be in the column."""
    return {key for form in forms_of(member) if (key := read(form)) is not None}


def _kind(value: Any) -> str:
    value = plain(value)
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float, Decimal)):
        return "number"
    if isinstance(value, datetime):
        return "moment"
    return "date" if isinstance(value, date) else "text"


def _as_number(value: Any) -> Hashable | None:
    number = number_of(value)
    return "nan" if number is None and text_of(value).strip().casefold() == "nan" else number


def _as_boolean(value: Any) -> Hashable | None:
    return text_of(value).strip().casefold()


def _as_date(value: Any) -> Hashable | None:
    try:
        return date.fromisoformat(text_of(value).strip())
    except ValueError:
        return None


def _as_moment(value: Any) -> Hashable | None:
    try:
        return datetime.fromisoformat(text_of(value).strip())
    except ValueError:
        return None


_READINGS: dict[str, Reading] = {
    "number": _as_number,
    "boolean": _as_boolean,
    "date": _as_date,
    "moment": _as_moment,
    "text": text_of,
}


ROOT = "*"
"""The label that covers every value."""
_NULL = -1
_NONE = -2
_TWINS = -3


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    r"""A hierarchy, for the distinct values of one column: one entry per level, from 0 (the values) to `height`.

    Only groups that hold a value present count; they are numbered by the first such value. Level 0 has one group per value. Two
    values that share a group share one at every level above.

    A null is a group of its own at level 0, labelled None. Above, it has the labels of the empty leaf, if there is one and the
    empty text is not itself a value present. Else it is fully generalised: its label is the root's and its share is 1, and at
    the top it joins the root's group.

    Attributes
    ----------
    groups
        For each level, the number of each value's group.
    labels
        For each level, the label of each group.
    shares
        For each level, the share of the hierarchy's leaves (all of them, not only those present) in each group,
        :math:`|\{\text{leaves of the group}\}| / |\{\text{leaves}\}|`: the loss of a value there.
    leaves
        The number of leaves of the hierarchy.
    height
        The number of levels above the values.
    """

    groups: tuple[NDArray[np.int64], ...]
    labels: tuple[tuple[str | None, ...], ...]
    shares: tuple[NDArray[np.float64], ...]
    leaves: int
    height: int = field(init=False)

    def __post_init__(self) -> None:
        """Count the levels."""
        object.__setattr__(self, "height", len(self.groups) - 1)


def rows_of(hierarchy: Hierarchy, values: Iterable[Any]) -> NDArray[np.int64]:
    """Return the row of each value in the hierarchy, -1 for a null without one; refuse other values without one."""
    present, leaves = list(values), hierarchy.leaves
    read = str if _read_alike(present, leaves) else reading_for(present)
    row_of = _rows_by_key(leaves, read)
    null = leaves.index("") if "" in leaves and "" not in present else _NULL
    rows = [null if value is None else row_of.get(read(value), _NONE) for value in present]
    _refuse(rows.count(_NONE), len(rows), "not in it (level 0)", hierarchy.column)
    _refuse(rows.count(_TWINS), len(rows), "in more than one of its rows", hierarchy.column)
    return np.array(rows, dtype=np.int64)


def _read_alike(values: Sequence[Any], leaves: Sequence[str]) -> bool:
    """Whether values are texts, or integers that all leaves write in the usual way, so that texts can be compared."""
    types = set(map(type, values))
    return types <= {str} or (
        types == {int} and all(leaf.isdecimal() and leaf.isascii() and str(int(leaf)) == leaf for leaf in leaves)
    )


def _rows_by_key(leaves: Sequence[str], read: Reading) -> dict[Hashable, int]:
    """Return the row of each leaf, under each key by which the leaf is compared."""
    if read in (str, text_of):  # leaves are texts, and no two of them are equal
        return {leaf: row for row, leaf in enumerate(leaves)}
    rows: dict[Hashable, int] = {}
    for row, leaf in enumerate(leaves):
        if (key := read(leaf)) is not None:
            rows[key] = _TWINS if key in rows else row
    return rows


def levels_of(hierarchy: Hierarchy, values: Sequence[Any]) -> Levels:
    """Return the groups of the values at every level; see `Hierarchy.levels_for`."""
    places = rows_of(hierarchy, values).tolist()
    columns: list[tuple[str | None, ...]] = [*zip(*hierarchy.labels, strict=True)]
    nulls = {row for row, value in zip(places, values, strict=True) if value is None}
    columns[0] = tuple(None if row in nulls else leaf for row, leaf in enumerate(columns[0]))
    root = columns[-1][0] if len(set(columns[-1])) == 1 else ROOT
    levels = [_level(places, labels, null=root if level else None) for level, labels in enumerate(columns)]
    groups, names, shares = zip(*levels, strict=True)
    return Levels(groups, names, shares, len(hierarchy.labels))


def rooted_levels(hierarchies: Mapping[str, Hierarchy], values: Mapping[str, Sequence[Any]]) -> dict[str, Levels]:
    """Return the groups of the values of several key attributes, each up to a common root, which is added if missing."""
    levels = {}
    for name, hierarchy in hierarchies.items():
        try:
            levels[name] = levels_of(hierarchy.with_root(), values[name])
        except HierarchyError as problem:
            raise HierarchyError(f"key attribute {shown(name)}: {problem}") from None
    return levels


def _level(
    rows: Sequence[int], labels: Sequence[str | None], *, null: str | None
) -> tuple[NDArray[np.int64], tuple[str | None, ...], NDArray[np.float64]]:
    """Return the groups of one level, their labels and their shares of the leaves."""
    sizes = Counter(labels)
    if _NULL not in rows:
        place: dict[str | None, int] = {}
        plain = [place.setdefault(labels[row], len(place)) for row in rows]
        return np.array(plain, dtype=np.int64), tuple(place), np.array([sizes[label] for label in place]) / len(labels)
    joins = len(sizes) == 1 and null in sizes  # a null has no row, and joins the root if that is the only group
    number: dict[tuple[str | None, bool], int] = {}
    groups = [number.setdefault((labels[row], False) if row != _NULL else (null, not joins), len(number)) for row in rows]
    everything = len(labels) if null is not None else 1
    held = [everything if alone else sizes[label] for label, alone in number]
    return np.array(groups, dtype=np.int64), tuple(label for label, _ in number), np.array(held) / len(labels)


def _refuse(n: int, present: int, what: str, column: str | None) -> None:
    if n:
        name = f"hierarchy of column {shown(column)}" if column is not None else "hierarchy"
        verb = "is" if n == 1 else "are"
        raise HierarchyError(f"{name}: {n:,} of {present:,} values present {verb} {what}.")
