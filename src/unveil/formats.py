"""Numbers, units, texts and values in the forms for people and for JSON.

Figures count people if a column identifies the person of a record, else records.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import date, time, timedelta
from numbers import Integral
from typing import Any, Literal, SupportsFloat, TypeAlias

__all__ = [
    "RATE_OF_RECORDS",
    "Unit",
    "counted",
    "jsonable",
    "noun",
    "number",
    "numbered",
    "of_one_type",
    "people",
    "unit_of",
    "visible",
    "whole",
]

RATE_OF_RECORDS = "The rate is an entropy of records, though a column tells persons apart; models and risks count persons."

Unit: TypeAlias = Literal["records", "persons"]
"""persons: a column identifies the person of a record, and everyone counts once; records: without one, every record counts."""

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_JOINERS = "\u200c\u200d"  # they join emoji and Persian words, and control nothing


def unit_of(person: str | None) -> Unit:
    """Return the unit of counts: persons if a column identifies the person of a record, else records."""
    return "records" if person is None else "persons"


def noun(unit: str, *, one: bool = False) -> str:
    """Return the noun for a unit.

    Examples
    --------
    >>> noun("persons"), noun("records"), noun("persons", one=True)
    ('people', 'records', 'person')
    """
    if unit == "persons":
        return "person" if one else "people"
    return "record" if one else "records"


def people(number: int, unit: str) -> str:
    """Return a number with its unit: people if persons were counted, else records.

    Examples
    --------
    >>> people(2, "persons"), people(1, "records")
    ('2 people', '1 record')
    """
    return f"{number:,} {noun(unit, one=number == 1)}"


_DECIMALS = 4
_STEP = 10.0**-_DECIMALS
_ROUNDING = 1e-12  # a float closer than this to 0 or 1 is treated as 0 or 1
_LARGE = 1e15  # beyond this a float no longer holds the digits that would be printed


def number(value: SupportsFloat) -> str:
    """Return a number in the form for people: integers with separators, other numbers with four decimals.

    A number that is not quite 0 or 1 is never rounded to it, because these two are claims: nothing is disclosed, or everything.

    Examples
    --------
    >>> [number(x) for x in (30162, 0.5, 1.0, 0.99999, 0.00002, math.inf)]
    ['30,162', '0.5000', '1.0000', '>0.9999', '<0.0001', '∞']
    """
    if isinstance(value, Integral):
        return f"{int(value):,}"
    x = float(value)
    if not math.isfinite(x):
        return "nan" if math.isnan(x) else "∞" if x > 0 else "-∞"
    if abs(x) >= _LARGE:
        return f"{x:.{_DECIMALS}e}"
    rounded = round(x, _DECIMALS) + 0.0  # no "-0.0000"
    if rounded in {0.0, 1.0} and abs(x - rounded) > _ROUNDING:
        sign, bound = ("<", rounded + _STEP) if x > rounded else (">", rounded - _STEP)
        return f"{sign}{bound:.{_DECIMALS}f}"
    return f"{rounded:,.{_DECIMALS}f}"


def numbered(figures: Mapping[str, SupportsFloat]) -> str:
    """Return names, each with its figure.

    Examples
    --------
    >>> numbered({"age": 0.5, "zip": 1.0})
    'age (0.5000), zip (1.0000)'
    """
    return ", ".join(f"{name} ({number(figure)})" for name, figure in figures.items())


def counted(n: int, thing: str, things: str | None = None) -> str:
    """Return a number with the noun that it counts.

    Examples
    --------
    >>> counted(1, "record"), counted(30162, "record"), counted(2, "class", "classes")
    ('1 record', '30,162 records', '2 classes')
    """
    return f"{n:,} {thing if n == 1 else things or thing + 's'}"


_WIDEST = (1 << 63) - 1
"""The largest integer that every library can hold."""
_HELD = (bool, int, float, str, bytes, list, tuple, dict, date, time, timedelta)
"""The types that every library can hold; values of other types become text."""


def jsonable(value: Any) -> Any:
    """Return a value in a form for JSON: infinity becomes "inf", NaN becomes null, a date its ISO form."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, Mapping):
        return {str(name): jsonable(item) for name, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [jsonable(item) for item in value]
    if hasattr(value, "item"):
        return jsonable(value.item())
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def whole(text: Any) -> Any:
    """Return a text with halves of surrogate pairs as escapes; any other value unchanged."""
    return text.encode(errors="backslashreplace").decode() if isinstance(text, str) else text


def of_one_type(values: Sequence[Any]) -> Sequence[Any]:
    """Return values in a form that one column can hold: unchanged, as floats if integers and floats mix, or else as text."""
    kinds = {type(value) for value in values if value is not None}
    wide = int in kinds and any(isinstance(value, int) and abs(value) > _WIDEST for value in values)
    if (
        not wide
        and all(issubclass(kind, _HELD) or kind.__module__ == "numpy" for kind in kinds)
        and (len(kinds) <= 1 or kinds <= {int, float})
    ):
        return [None if value is None else float(value) for value in values] if len(kinds) > 1 else values
    return [None if value is None else str(value) for value in values]


def visible(text: str) -> str:
    r"""Return the text with all invisible characters written out.

    Examples
    --------
    >>> print(visible("two\nlines \x1b[31mred"))
    two\nlines \x1b[31mred
    """
    if text.isprintable():
        return text
    return "".join(
        char.encode("unicode_escape").decode() if unicodedata.category(char) in _HIDDEN and char not in _JOINERS else char
        for char in text
    )
