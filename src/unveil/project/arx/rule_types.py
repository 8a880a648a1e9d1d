"""Data types of ARX: how its rules for hierarchies read a text as a value, and write a value as text."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from itertools import groupby
from typing import Any

from unveil.errors import HierarchyError
from unveil.partitions import number_of, text_of
from unveil.project.arx.rule_calendar import JavaCalendar

__all__ = ["ArxType", "DateType", "NumberType", "TextType", "date_text", "java_double"]

_SMALLEST, _LARGEST = 1e-3, 1e7
"""Between these, Java writes decimal numbers without an exponent."""


@dataclass(frozen=True)
class ArxType:
    """The type of the values of a column."""

    noun = "text"

    def read(self, value: Any) -> Any:
        """Return the value to compare and compute with; None if a text cannot be read."""
        return text_of(value)

    def written(self, value: Any) -> str:
        """Return a value as ARX writes it."""
        return str(value)

    def ordered(self, values: Sequence[Any]) -> list[Any]:
        """Return values from the lowest to the highest."""
        return sorted(values, key=self.read)


@dataclass(frozen=True)
class TextType(ArxType):
    """Texts; if they are ordered, each has a position."""

    places: Mapping[str, int] = field(default_factory=dict)

    def ordered(self, values: Sequence[Any]) -> list[Any]:
        """Return texts in the given order, else by their characters, as Java compares them."""
        if not self.places:
            return sorted(values, key=lambda value: text_of(value).encode("utf-16-be", "surrogatepass"))
        if missing := sum(text_of(value) not in self.places for value in values):
            raise HierarchyError(f"the order of the rule lacks {missing:,} of {len(values):,} values.")
        return sorted(values, key=lambda value: self.places[text_of(value)])


@dataclass(frozen=True)
class NumberType(ArxType):
    """Integers, or decimal numbers."""

    whole: bool
    noun = "number that the rule takes"

    def read(self, value: Any) -> Any:
        """Return an integer, or a float."""
        number = number_of(value)
        if number is None or not number.is_finite() or (self.whole and number != number.to_integral_value()):
            return None
        return int(number) if self.whole else float(number)

    def written(self, value: Any) -> str:
        """Return the number as Java writes it."""
        return str(value) if self.whole else java_double(float(value))


@dataclass(frozen=True)
class DateType(ArxType):
    """Dates and times in a format such as dd.MM.yyyy, with the names of a calendar if the rule has one."""

    form: str = "dd.MM.yyyy"
    calendar: JavaCalendar | None = None
    noun = "date in the form of the rule"

    def read(self, value: Any) -> Any:
        """Return the moment, by the wall clock."""
        if isinstance(value, datetime):
            return value.replace(tzinfo=None)
        if isinstance(value, date):
            return datetime.combine(value, time())
        match = re.fullmatch(_pattern(self.form, self.calendar), text_of(value).strip(), re.IGNORECASE)
        return None if match is None else _moment(match.groupdict(), self.calendar)

    def written(self, value: Any) -> str:
        """Return a moment in the format."""
        return date_text(value, self.form, self.calendar)


def java_double(number: float) -> str:
    """Return a decimal number as Java writes it: 5.0, 0.001, 1.0E7."""
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"
    if number == 0 or _SMALLEST <= abs(number) < _LARGEST:
        text = format(number, "f") if "e" in repr(number) else repr(number)
        return text if "." in text else f"{text}.0"
    digits, _, power = f"{number:e}".partition("e")
    shortest = repr(number).lower().partition("e")[0].replace("-", "").replace(".", "").strip("0")
    sign, first, rest = "-" if digits.startswith("-") else "", shortest[0], shortest[1:] or "0"
    return f"{sign}{first}.{rest}E{int(power)}"


_FIELDS: Mapping[str, tuple[str, str]] = {
    "y": ("year", r"\d{1,4}"), "M": ("month", r"\d{1,2}"), "d": ("day", r"\d{1,2}"), "H": ("hour", r"\d{1,2}"),
    "m": ("minute", r"\d{1,2}"), "s": ("second", r"\d{1,2}"), "S": ("fraction", r"\d{1,3}"),
}  # fmt: skip
_WRITTEN: Mapping[str, Callable[[datetime], int]] = {
    "y": lambda at: at.year, "M": lambda at: at.month, "d": lambda at: at.day, "H": lambda at: at.hour,
    "m": lambda at: at.minute, "s": lambda at: at.second, "S": lambda at: at.microsecond // 1000,
    "Q": lambda at: (at.month + 2) // 3,
}  # fmt: skip
_TWO_DIGITS = 2
_MONTH_NAMES = 3


def parts_of(form: str) -> list[tuple[str, int]]:
    """Return the parts of a Java date format: a letter and how often it occurs, or a text with the number 0."""
    parts: list[tuple[str, int]] = []
    for text in re.findall(r"'(?:[^']|'')*'|[^']+", form):
        if text.startswith("'"):
            parts.append((text[1:-1].replace("''", "'") or "'", 0))
            continue
        for letter, run in groupby(text):
            length = len(list(run))
            parts.append((letter, length) if letter.isascii() and letter.isalpha() else (letter * length, 0))
    return parts


def _pattern(form: str, calendar: JavaCalendar | None) -> str:
    """Return the pattern of texts in a format."""
    pattern, seen = "", set()
    for letter, length in parts_of(form):
        if not length:
            pattern += re.escape(letter)
            continue
        named, short = letter == "M" and length >= _MONTH_NAMES, letter == "y" and length <= _TWO_DIGITS
        known = calendar is not None and (bool(calendar.months) if named else calendar.century is not None)
        if letter not in _FIELDS or letter in seen or ((named or short) and not known):
            raise HierarchyError(f"dates of the form {form} are not read; use ISO dates, or a form of numbers.")
        seen.add(letter)
        name, digits = ("name", _names(calendar)) if named else _FIELDS[letter]
        pattern += f"(?P<{'short' if short else name}>{digits})"
    return pattern


def _names(calendar: JavaCalendar | None) -> str:
    """Return the pattern of the names of months, long ones first."""
    known = () if calendar is None else {*calendar.months, *calendar.short_months}
    return "|".join(re.escape(one) for one in sorted(known, key=len, reverse=True))


def _year(read: Mapping[str, str], calendar: JavaCalendar | None) -> int:
    """Return the year; a year of two digits lies within the hundred years that the rule states."""
    if "short" not in read or calendar is None or calendar.century is None:
        return int(read.get("year", "1970"))
    year = int(read["short"])
    if len(read["short"]) != _TWO_DIGITS:
        return year
    year += calendar.century.year // 100 * 100
    rest = {name: text for name, text in read.items() if name != "short"}
    at = _moment({**rest, "year": str(year)}, calendar)
    return year + 100 if at is not None and at < calendar.century else year


def _month(read: Mapping[str, str], calendar: JavaCalendar | None) -> int:
    """Return the month, by its name or its number."""
    if "name" not in read or calendar is None:
        return int(read.get("month", "1"))
    name = read["name"].casefold()
    lists = (calendar.months, calendar.short_months)
    return next(at for names in lists for at, one in enumerate(names, start=1) if one.casefold() == name)


def _moment(read: Mapping[str, str], calendar: JavaCalendar | None) -> datetime | None:
    """Return the moment for these numbers; days and hours beyond their range carry over, as in Java."""
    year = _year(read, calendar)
    months = _month(read, calendar) - 1
    try:
        first = datetime(year + months // 12, months % 12 + 1, 1)  # noqa: DTZ001 - the wall clock
        return first + timedelta(
            days=int(read.get("day", "1")) - 1, hours=int(read.get("hour", "0")), minutes=int(read.get("minute", "0")),
            seconds=int(read.get("second", "0")), milliseconds=int(read.get("fraction", "0")),
        )  # fmt: skip
    except (ValueError, OverflowError):
        return None


def date_text(at: datetime, form: str, calendar: JavaCalendar | None = None) -> str:
    """Return a moment in a Java date format; weeks, weekdays and names are those of the calendar."""
    written = ""
    for letter, length in parts_of(form):
        text = letter if not length else _part(at, letter, length, calendar)
        if text is None:
            raise HierarchyError(f"periods of the form {form} depend on a language or a calendar that the file does not name.")
        written += text
    return written


def _part(at: datetime, letter: str, length: int, calendar: JavaCalendar | None) -> str | None:
    """Return the text for a letter of a format; None if it depends on an unknown language or calendar."""
    if letter == "y" and length == _TWO_DIGITS:
        return f"{at.year % 100:02d}"
    if letter in "QM" and length >= _MONTH_NAMES:
        return _name(at, letter, length, calendar)
    if letter in _WRITTEN:
        return f"{_WRITTEN[letter](at):0{length}d}"
    if calendar is None or letter not in "Wwe" or length > (1 if letter == "W" else _TWO_DIGITS):
        return None
    counted = {"W": calendar.week_of_month, "w": calendar.week_of_year, "e": calendar.weekday}[letter](at.date())
    return f"{counted:0{length}d}"


def _name(at: datetime, letter: str, length: int, calendar: JavaCalendar | None) -> str | None:
    """Return the name of a quarter or a month; None if it is unknown."""
    if letter == "Q":
        return f"Q{(at.month + 2) // 3}" if length == _MONTH_NAMES and (calendar is None or calendar.quarters) else None
    names = () if calendar is None else calendar.short_months if length == _MONTH_NAMES else calendar.months
    return names[at.month - 1] if names and length <= _MONTH_NAMES + 1 else None
