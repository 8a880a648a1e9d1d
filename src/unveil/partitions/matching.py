"""The matching of values that someone wrote down with the values of a column.

People write partitions by hand, in JSON, TOML or Python, and a column may hold text while they think of numbers. So both sides
are read in the way the column needs: as numbers if all its values are numbers, as dates if all are dates, else as text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any, TypeAlias

import numpy as np

__all__ = [
    "Reading",
    "edge_json",
    "edge_text",
    "forms_of",
    "keys_of",
    "moment_of",
    "number_of",
    "plain",
    "reading_for",
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
