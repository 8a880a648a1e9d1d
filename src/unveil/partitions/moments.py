"""Which day, month, quarter or year does a text name? Dates in the forms that people write, read according to their column.

======================================================  ==================================================================
Form                                                    Read as
======================================================  ==================================================================
``1985-03-14`` ``1985/3/14`` ``19850314``               a day, the year first
``14.03.1985`` ``14/03/85`` ``03/14/85`` ``3-14-1985``  a day, the year last; day or month first as the column's values allow
``14 March 1985`` ``14-Mar-85`` ``March 14, 1985``      a day, the month by its name in one of seven languages
``1985-03`` ``03/1985`` ``March 1985``                  a month
``1985-Q1`` ``Q1 1985`` ``T1 1985``                     a quarter
``1985``                                                a year, where other values of the column are longer
======================================================  ==================================================================

A day may have a time of day. A year of two digits is the latest that is not in the future. Whether the day or the month comes
first is decided for each separator on all values: if every value can be read in both orders, the day comes first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any, Literal, TypeAlias

from unveil.partitions.matching import plain
from unveil.run import in_blocks

__all__ = ["DateReading", "Moment", "Precision", "read_moments"]

Precision: TypeAlias = Literal["time", "day", "month", "quarter", "year"]
"""The precision of a text: the shortest unit that it names."""

_TIME = (
    r"(?:(?:T|,? +)(?P<h>\d{1,2}):(?P<mi>\d{2})(?::(?P<s>\d{2})(?:[.,]\d+)?)? ?(?P<half>[AP]M)?(?: ?Z| ?[+-]\d{2}:?\d{2}| UTC)?)?"
)
_NAME = r"(?P<n>[^\W\d_]{3,10})"
_DAYS = tuple(
    re.compile(form + _TIME, re.IGNORECASE)
    for form in (
        r"(?P<y>\d{4})(?P<sep>[-/.])(?P<m>\d{1,2})(?P=sep)(?P<d>\d{1,2})",
        r"(?P<a>\d{1,2})(?P<sep>[-/.])(?P<b>\d{1,2})(?P=sep)(?P<y>\d{4}|\d{2})",
        rf"(?P<d>\d{{1,2}})\.?[ -](?:de )?{_NAME}\.?[ -](?:de )?(?P<y>\d{{4}}|\d{{2}})",
        rf"{_NAME}\.? (?P<d>\d{{1,2}}),? (?P<y>\d{{4}})",
        r"(?P<y>(?:18|19|20)\d{2})(?P<m>\d{2})(?P<d>\d{2})",
    )
)
_MONTHS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (r"(?P<y>\d{4})[-/.](?P<m>\d{1,2})", r"(?P<m>\d{1,2})[-/.](?P<y>\d{4})", rf"{_NAME}\.?[ -](?:de )?(?P<y>\d{{4}})")
)
_QUARTERS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        r"(?P<y>\d{4})[ /-]?[QT](?P<q>[1-4])",
        r"[QT](?P<q>[1-4])[ /-]?(?P<y>\d{4})",
        r"(?P<q>[1-4])\. ?Quartal (?P<y>\d{4})",
    )
)
_YEAR = re.compile(r"(?P<y>(?:18|19|20)\d{2})")
_LONGEST = 40
_MOST_MONTHS = 12
_NOON = 12
_SCREEN = 200

_MONTH_NAMES = {
    **dict.fromkeys(("jan", "ene", "gen"), 1),
    **dict.fromkeys(("feb", "fev", "fév"), 2),
    **dict.fromkeys(("mar", "mär", "mrz", "maa", "mrt"), 3),
    **dict.fromkeys(("apr", "avr", "abr"), 4),
    **dict.fromkeys(("may", "mai", "mag", "mei"), 5),
    **dict.fromkeys(("jun", "giu", "juin"), 6),
    **dict.fromkeys(("jul", "lug", "juil"), 7),
    **dict.fromkeys(("aug", "aou", "aoû", "ago"), 8),
    **dict.fromkeys(("sep", "set"), 9),
    **dict.fromkeys(("oct", "okt", "ott", "out"), 10),
    **dict.fromkeys(("nov",), 11),
    **dict.fromkeys(("dec", "déc", "dez", "dic"), 12),
}


@dataclass(frozen=True, slots=True, order=True)
class Moment:
    """The start of a period, by the wall clock, and its length."""

    start: datetime
    precision: Precision = "day"

    @property
    def has_time(self) -> bool:
        """Whether it has a time of day other than midnight."""
        return self.precision == "time"


@dataclass(frozen=True, slots=True)
class DateReading:
    """The way in which the dates of a column are read.

    Attributes
    ----------
    day_first
        For each separator, whether the day comes before the month.
    undecided
        The separators for which all values can be read in both orders.
    today
        The latest date for years of two digits.
    """

    day_first: dict[str, bool]
    undecided: tuple[str, ...]
    today: date
    _known: dict[str, Moment | None] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, values: Iterable[Any], today: date | None = None) -> DateReading:
        """Decide from all values of a column in which order the parts of its dates are written.

        Examples
        --------
        >>> reading = DateReading.of(["03/14/85", "11/02/91", "14.03.1985"])
        >>> reading.read("11/02/91").start.date().isoformat(), reading.read("02.11.1991").start.date().isoformat()
        ('1991-11-02', '1991-11-02')
        """
        first: dict[str, list[int]] = {}
        for value in values:
            if not isinstance(value, str) or len(value) > _LONGEST or value.isdecimal():  # digits alone have no separator
                continue
            if (match := _DAYS[1].fullmatch(value.strip())) is not None:
                counts = first.setdefault(match["sep"], [0, 0, 0])
                counts[0] += int(match["b"]) <= _MOST_MONTHS
                counts[1] += int(match["a"]) <= _MOST_MONTHS
                counts[2] += 1
        undecided = tuple(sep for sep, (day, month, n) in first.items() if day == month == n)
        return cls({sep: day >= month for sep, (day, month, _) in first.items()}, undecided, today or datetime.now(tz=UTC).date())

    def read(self, value: Any) -> Moment | None:
        """Return the period that a value names; None if it names none."""
        value = plain(value)
        if isinstance(value, datetime):
            moment = value.replace(tzinfo=None)
            return Moment(moment, "time" if moment.time() != datetime.min.time() else "day")
        if isinstance(value, date):
            return Moment(datetime(value.year, value.month, value.day))  # noqa: DTZ001
        text = str(value).strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""
        if not text or len(text) > _LONGEST or not any(map(str.isdecimal, text)):
            return None
        if text not in self._known:
            self._known[text] = self._text(text)
        return self._known[text]

    def share(self, values: Sequence[Any]) -> float:
        """Return the share of values that name a period other than a year; from the first few hundred if hardly any does."""
        first = values[:_SCREEN]
        passed = sum(map(self._dated, first))
        if passed < len(first) / 2:
            return passed / max(len(first), 1)
        return (passed + sum(sum(map(self._dated, block)) for block in in_blocks(values[_SCREEN:]))) / len(values)

    def in_words(self) -> str:
        """Return a sentence on the order that was chosen if the values leave it open; empty if they do not."""
        if not self.undecided:
            return ""
        return f"between {' and '.join(map(repr, self.undecided))} every value can be read in two orders; the day is taken first"

    def _dated(self, value: Any) -> bool:
        moment = self.read(value)
        return moment is not None and moment.precision != "year"

    def _text(self, text: str) -> Moment | None:
        for forms, read in _READERS:
            for form in forms:
                if match := form.fullmatch(text):
                    try:
                        return read(self, {name: part for name, part in match.groupdict().items() if part is not None})
                    except ValueError:
                        continue
        return None

    def _day(self, parts: dict[str, str]) -> Moment:
        if "a" in parts:
            day, month = ("a", "b") if self.day_first.get(parts["sep"], True) else ("b", "a")
            parts = {**parts, "d": parts[day], "m": parts[month]}
        begin = datetime(self._year(parts["y"]), _month(parts), int(parts["d"]))  # noqa: DTZ001
        if "h" not in parts:
            return Moment(begin)
        hour = int(parts["h"])
        if "half" in parts:
            hour = hour % _NOON + _NOON * (parts["half"].casefold() == "pm")
        timed = begin.replace(hour=hour, minute=int(parts["mi"]), second=int(parts.get("s", "0")))
        return Moment(timed, "time" if timed != begin else "day")

    def _month(self, parts: dict[str, str]) -> Moment:
        return Moment(datetime(self._year(parts["y"]), _month(parts), 1), "month")  # noqa: DTZ001

    def _quarter(self, parts: dict[str, str]) -> Moment:
        return Moment(datetime(self._year(parts["y"]), 3 * int(parts["q"]) - 2, 1), "quarter")  # noqa: DTZ001

    def _whole_year(self, parts: dict[str, str]) -> Moment:
        return Moment(datetime(self._year(parts["y"]), 1, 1), "year")  # noqa: DTZ001

    def _year(self, digits: str) -> int:
        year = int(digits)
        if len(digits) > 2:  # noqa: PLR2004 - two digits
            return year
        century = self.today.year // 100 * 100
        return century + year if century + year <= self.today.year else century - 100 + year


def read_moments(values: Sequence[Any], today: date | None = None, *, least: float = 0.0) -> list[Moment]:
    """Return the periods that the values of a column name, in order; none if less than a share `least` of them name one.

    Examples
    --------
    >>> [moment.start.month for moment in read_moments(["3/14/85", "unknown", "11/2/91"])]
    [3, 11]
    """
    reading = DateReading.of((value for block in in_blocks(values) for value in block), today)
    if reading.share(values) < least:
        return []
    return [moment for block in in_blocks(values) for value in block if (moment := reading.read(value)) is not None]


_READERS: tuple[tuple[tuple[re.Pattern[str], ...], Callable[[DateReading, dict[str, str]], Moment]], ...] = (
    (_DAYS, DateReading._day),  # noqa: SLF001
    (_MONTHS, DateReading._month),  # noqa: SLF001
    (_QUARTERS, DateReading._quarter),  # noqa: SLF001
    ((_YEAR,), DateReading._whole_year),  # noqa: SLF001
)


def _month(parts: dict[str, str]) -> int:
    if "m" in parts:
        return int(parts["m"])
    word = parts["n"].casefold()
    return _MONTH_NAMES.get(word[:4]) or _MONTH_NAMES.get(word[:3], 0)
