"""What does a generalised value stand for? Reads the texts that protections leave behind.

===========================================  =====================================================================
Text                                         Stands for
===========================================  =====================================================================
``[20, 30)`` ``(20, 30]`` ``]20; 30]``       an interval; a round bracket, or one turned outwards, leaves the end out
``20-29`` ``20..29`` ``20 to 29``            an interval with both ends
``>= 40`` ``> 40`` ``40+``                   everything from there on
``< 40`` ``<= 40``                           everything up to there
``2*`` ``355**``                             a prefix: every text that begins so; as a number, those of the same length,
                                             so 2* is [20, 30) and 355** is [35500, 35600)
``{a, b}`` ``a|b``                           one of these values (a value with a comma or a bar cannot stand in one)
``*`` ``***``, a null                        anything: the value is suppressed
``{a, b, +7}``                               anything: a cut list says that values are missing from it, not which
any other                                    that very value
===========================================  =====================================================================

The ends of intervals are numbers, ``inf`` and ``-inf``, or dates in ISO 8601. Dates are counted in days since 1970.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np

from unveil.partitions._match import moment_of, plain, text_of

__all__ = ["Anything", "Cell", "Interval", "Prefix", "Values", "is_null", "is_suppressed", "parse_value", "point_of", "text_form"]

_FLOAT = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_DATE = r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?"
_POINT = rf"{_DATE}|{_FLOAT}"
_END = rf"{_POINT}|[+-]?(?:inf(?:inity)?|∞)"
_NUMBER = re.compile(_FLOAT, re.ASCII)
_MOMENT = re.compile(_DATE, re.ASCII)
_INFINITE = re.compile(r"([+-]?)(?:inf(?:inity)?|∞)", re.IGNORECASE)
_BRACKETS = re.compile(rf"([\[(\]])\s*({_END})\s*[,;]\s*({_END})\s*([\])\[])", re.ASCII | re.IGNORECASE)
_RANGE = re.compile(rf"({_POINT})\s*(?:-|\u2013|\.\.|to)\s*({_POINT})", re.ASCII)
_BEYOND = re.compile(rf"(<=|>=|<|>|≤|≥)\s*({_POINT})", re.ASCII)
_AND_MORE = re.compile(rf"({_POINT})\s*\+", re.ASCII)
_MASKED = re.compile(r"(.*[^*])(\*+)", re.DOTALL)
_DIGITS = re.compile(r"([+-]?)(\d+)", re.ASCII)
_REST = re.compile(r"\+\d+", re.ASCII)
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - by the wall clock
_DAY = 86400.0


@dataclass(frozen=True, slots=True)
class Interval:
    """All numbers between two ends."""

    low: float
    high: float
    low_open: bool = False
    high_open: bool = False

    def __contains__(self, x: float) -> bool:
        """Whether a number lies in the interval."""
        above = x > self.low if self.low_open else x >= self.low
        return above and (x < self.high if self.high_open else x <= self.high)


@dataclass(frozen=True, slots=True)
class Values:
    """One of some values, as text; a plain value stands for itself."""

    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Prefix:
    """All values that begin so; `masked` is how many characters were masked."""

    text: str
    masked: int

    def as_interval(self) -> Interval | None:
        """Return the numbers of the same length that begin so; None where the prefix is no whole number."""
        found = _DIGITS.fullmatch(self.text.strip())
        if not found:
            return None
        step = 10.0**self.masked
        first = int(found[2]) * step
        if found[1] == "-":
            return Interval(-first - step, -first, low_open=True)
        return Interval(first, first + step, high_open=True)


@dataclass(frozen=True, slots=True)
class Anything:
    """A suppressed value: it may be anything."""


Cell: TypeAlias = Interval | Values | Prefix | Anything
"""What a released value may stand for."""


def parse_value(value: Any) -> Cell:
    """Read what a released value stands for.

    Parameters
    ----------
    value
        A text in one of the forms above; a number, date or boolean, which stands for itself; a list, tuple or set of values;
        a null (None or NaN); or what this function returns.

    Examples
    --------
    >>> parse_value("[20, 30)")
    Interval(low=20.0, high=30.0, low_open=False, high_open=True)
    >>> parse_value("20-29") == parse_value("20..29") == Interval(20.0, 29.0)
    True
    >>> parse_value(">=40").low, parse_value("355**").as_interval().high
    (40.0, 35600.0)
    >>> parse_value("{flu, cold}"), parse_value("*"), parse_value("flu")
    (Values(members=('flu', 'cold')), Anything(), Values(members=('flu',)))
    """
    if isinstance(value, (Interval, Values, Prefix, Anything)):
        return value
    if isinstance(value, (list, tuple, set, frozenset)):
        return Values(tuple(sorted(text_form(member) for member in value)))
    if is_suppressed(value):
        return Anything()
    if not isinstance(value, str):
        return Values((text_form(value),))
    text = value.strip()
    return _interval_of(text) or _masked(text) or _listed(text) or Values((value,))


def is_null(value: Any) -> bool:
    """Whether a value is missing: None, NaN, or another library's mark of a missing value."""
    if value is None or isinstance(value, str):
        return value is None
    if isinstance(value, (float, np.floating)):
        return math.isnan(value)
    return type(value).__name__ in {"NAType", "NaTType"}


def is_suppressed(value: Any) -> bool:
    """Whether a value is missing, or a text of stars only."""
    if isinstance(value, str):
        text = value.strip()
        return bool(text) and not text.strip("*")
    return is_null(value)


def text_form(value: Any) -> str:
    """Return the text by which values are matched; a float that is a whole number is written as one."""
    value = plain(value)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return text_of(value)


def point_of(value: Any) -> float | None:
    """Return the number that a value is, or that its text reads as; a date in days since 1970. None where there is none."""
    value = plain(value)
    if isinstance(value, str):
        text = value.strip()
        if _NUMBER.fullmatch(text):
            return float(text)
        if not _MOMENT.fullmatch(text):
            return None
    elif isinstance(value, bool):
        return None
    elif isinstance(value, (int, float, Decimal)):
        return float(value)
    elif not isinstance(value, date):
        return None
    moment = moment_of(value)
    return None if moment is None else (moment - _EPOCH).total_seconds() / _DAY


def _interval_of(text: str) -> Interval | None:  # noqa: PLR0911 - one return a form
    if found := _BRACKETS.fullmatch(text):
        return _ordered(_end(found[2]), _end(found[3]), low_open=found[1] != "[", high_open=found[4] != "]")
    if _MOMENT.fullmatch(text) or _NUMBER.fullmatch(text):
        return None
    if found := _RANGE.fullmatch(text):
        return _ordered(_end(found[1]), _end(found[2]))
    if found := _BEYOND.fullmatch(text):
        end, strict = _end(found[2]), found[1] in {"<", ">"}
        if found[1] in {"<", "<=", "≤"}:
            return _ordered(-math.inf, end, low_open=True, high_open=strict)
        return _ordered(end, math.inf, low_open=strict, high_open=True)
    if found := _AND_MORE.fullmatch(text):
        return _ordered(_end(found[1]), math.inf, high_open=True)
    return None


def _ordered(low: float, high: float, *, low_open: bool = False, high_open: bool = False) -> Interval | None:
    """Return the interval, unless it would be empty: such a text means something else."""
    empty = not low <= high or (low == high and (low_open or high_open)) or low == math.inf or high == -math.inf
    return None if empty else Interval(low, high, low_open, high_open)


def _end(text: str) -> float:
    if found := _INFINITE.fullmatch(text):
        return -math.inf if found[1] == "-" else math.inf
    point = point_of(text)
    return math.nan if point is None else point


def _masked(text: str) -> Prefix | None:
    found = _MASKED.fullmatch(text)
    return Prefix(found[1], len(found[2])) if found and "*" not in found[1] else None


def _listed(text: str) -> Cell | None:
    if len(text) > 2 and text[0] == "{" and text[-1] == "}":  # noqa: PLR2004 - braces around something
        members = [member.strip() for member in text[1:-1].split(",")]
    elif "|" in text:
        members = [member.strip() for member in text.split("|")]
    else:
        return None
    if not all(members):
        return None
    return Anything() if _REST.fullmatch(members[-1]) and len(members) > 1 else Values(tuple(members))
