"""The calendar of the machine on which a rule was saved: first day of the week, names of months, century of two-digit years.

Weeks differ between countries. In the United States they begin on Sunday, and the week that contains January 1st is the first;
under ISO 8601, and in most of Europe, they begin on Monday, and the first week is the one with at least four days of the year.
The days from December 29th to January 3rd may thus be in week 1, 52 or 53. ARX saves the conventions of its machine together
with the format of the dates.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta

__all__ = ["JavaCalendar"]

_WEEK = 7
_LATE = 50
"""A week beyond this one may be the first of the next year."""
_QUARTERS = ("en", "de")
"""Languages in which the first quarter is Q1, in all versions of Java."""


@dataclass(frozen=True)
class JavaCalendar:
    """The conventions of a language and a country.

    Attributes
    ----------
    first_day, least_days
        The first day of a week (1: Sunday, 7: Saturday), and the least number of days in the first week of a year or month.
    months, short_months
        The names of the twelve months.
    language
        The language, by its code.
    century
        The first moment of the hundred years in which years of two digits lie.
    """

    first_day: int
    least_days: int
    months: tuple[str, ...] = ()
    short_months: tuple[str, ...] = ()
    language: str = ""
    century: datetime | None = None

    @property
    def quarters(self) -> bool:
        """Whether quarters are known to be written as Q1 to Q4."""
        return self.language in _QUARTERS

    def weekday(self, day: date) -> int:
        """Return the number of a day within its week, from 1.

        Examples
        --------
        >>> JavaCalendar(1, 1).weekday(date(2024, 1, 1)), JavaCalendar(2, 4).weekday(date(2024, 1, 1))
        (2, 1)
        """
        return (day.isoweekday() - (self.first_day - 1)) % _WEEK + 1

    def week_of_month(self, day: date) -> int:
        """Return the week of its month in which a day lies; 0 before the first week that has enough days of the month."""
        return _week(self._offset(day.day, day), day.day)

    def week_of_year(self, day: date) -> int:
        """Return the week of its year in which a day lies; the last days of a year may be in the first week of the next.

        Examples
        --------
        >>> [JavaCalendar(*rule).week_of_year(date(2021, 1, 1)) for rule in ((1, 1), (2, 4))]
        [1, 53]
        """
        place = day.timetuple().tm_yday
        offset = self._offset(place, day)
        week = _week(offset, place)
        if week == 0:
            return self.week_of_year(day - timedelta(days=place))
        if week > _LATE:
            length = date(day.year, 12, 31).timetuple().tm_yday
            following = _week(offset, length + self.least_days)
            return week - following + 1 if week >= following else week
        return week

    def _offset(self, place: int, day: date) -> int:
        """Return the shift of the weeks relative to the first day of a period whose `place`-th day is given."""
        start = (place - self.weekday(day)) % _WEEK
        return _WEEK - start if start + 1 > self.least_days else -start


def _week(offset: int, place: int) -> int:
    return (_WEEK + offset + place - 1) // _WEEK
