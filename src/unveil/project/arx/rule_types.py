"""Data types of ARX: how a text is read as a value, and a value written as text, as its rules for hierarchies do it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from itertools import groupby
from typing import Any

from unveil.errors import HierarchyError
from unveil.partitions.matching import number_of, text_of

__all__ = ["ArxType", "DateType", "NumberType", "TextType", "date_text", "java_double"]

_SMALLEST, _LARGEST = 1e-3, 1e7
"""Between these Java writes decimal numbers without an exponent."""


@dataclass(frozen=True)
class ArxType:
    """What the values of a column are."""

    noun = "text"

    def read(self, value: Any) -> Any:
        """Return what is compared and computed with; None where a value cannot be read."""
        return text_of(value)

    def written(self, value: Any) -> str:
        """Return a value as ARX writes it."""
        return str(value)

    def ordered(self, values: Sequence[Any]) -> list[Any]:
        """Return values from the lowest to the highest."""
        return sorted(values, key=self.read)


@dataclass(frozen=True)
class TextType(ArxType):
    """Texts; ordered ones have a place each."""

    places: Mapping[str, int] = field(default_factory=dict)

    def ordered(self, values: Sequence[Any]) -> list[Any]:
        """Return texts in the order given, else by their characters, as Java compares them."""
        if not self.places:
            return sorted(values, key=lambda value: text_of(value).encode("utf-16-be", "surrogatepass"))
        if missing := sum(text_of(value) not in self.places for value in values):
            raise HierarchyError(f"the order of the rule does not have {missing:,} of {len(values):,} values.")
        return sorted(values, key=lambda value: self.places[text_of(value)])


@dataclass(frozen=True)
class NumberType(ArxType):
    """Whole numbers, or decimal ones."""

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
    """Dates and times in a form such as dd.MM.yyyy."""

    form: str = "dd.MM.yyyy"
    noun = "date in the form of the rule"

    def read(self, value: Any) -> Any:
        """Return the moment, by the wall clock."""
        if isinstance(value, datetime):
            return value.replace(tzinfo=None)
        if isinstance(value, date):
            return datetime.combine(value, time())
        match = re.fullmatch(_pattern(self.form), text_of(value).strip())
        return None if match is None else _moment(match.groupdict())

    def written(self, value: Any) -> str:
        """Return a moment in the form."""
        return date_text(value, self.form)


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
}  # fmt: skip
_TWO_DIGITS = 2
_MONTH_NAMES = 3


def parts_of(form: str) -> list[tuple[str, int]]:
    """Return the parts of a form of Java's: a letter and how often it stands, or a text, whose number is 0."""
    found: list[tuple[str, int]] = []
    for quoted, text in (("'" if one.startswith("'") else "", one) for one in re.findall(r"'[^']*'|[^']+", form)):
        if quoted:
            found.append((text[1:-1] or "'", 0))
            continue
        for letter, run in groupby(text):
            length = len(list(run))
            found.append((letter, length) if letter.isascii() and letter.isalpha() else (letter * length, 0))
    return found


def _pattern(form: str) -> str:
    """Return the pattern of texts that have a form."""
    found, seen = "", set()
    for letter, length in parts_of(form):
        if not length:
            found += re.escape(letter)
            continue
        if letter not in _FIELDS or letter in seen or (letter == "M" and length >= _MONTH_NAMES):
            raise HierarchyError(f"dates of the form {form} are not read; use ISO dates, or a form of numbers.")
        seen.add(letter)
        name, digits = _FIELDS[letter]
        found += f"(?P<{name}>{digits})"
    return found


def _moment(read: Mapping[str, str]) -> datetime | None:
    """Return the moment of these numbers; days and hours beyond their range go on counting, as Java reads them."""
    year = int(read.get("year", "1970"))
    months = int(read.get("month", "1")) - 1
    try:
        first = datetime(year + months // 12, months % 12 + 1, 1)  # noqa: DTZ001 - the wall clock
        return first + timedelta(
            days=int(read.get("day", "1")) - 1, hours=int(read.get("hour", "0")), minutes=int(read.get("minute", "0")),
            seconds=int(read.get("second", "0")), milliseconds=int(read.get("fraction", "0")),
        )  # fmt: skip
    except (ValueError, OverflowError):
        return None


def date_text(at: datetime, form: str) -> str:
    """Return a moment in a form of Java's."""
    found = ""
    for letter, length in parts_of(form):
        if not length:
            found += letter
        elif letter == "y" and length == _TWO_DIGITS:
            found += f"{at.year % 100:02d}"
        elif letter == "Q":
            quarter = (at.month + 2) // 3
            found += f"Q{quarter}" if length == _MONTH_NAMES else f"{quarter:0{length}d}"
        elif letter in _WRITTEN and not (letter == "M" and length >= _MONTH_NAMES):
            found += f"{_WRITTEN[letter](at):0{length}d}"
        else:
            raise HierarchyError(f"periods of the form {form} depend on a language or a calendar that the file does not tell.")
    return found
