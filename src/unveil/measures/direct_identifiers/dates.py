"""Which values are dates, and could they be dates of birth?

Texts are read in the usual orders (year first, day first, month first; whichever fits most of the column), with digits or
month names in seven languages, with or without a time of day; eight digits are read as year, month, day.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from unveil.measures.direct_identifiers.column import LookedColumn
    from unveil.measures.direct_identifiers.finding import Finding

__all__ = ["DatesRead", "birth_dates", "read_dates"]

_TIME = r"(?:[T ]\s*(?P<time>\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?)\s*(?:[AP]M)?\s*(?:Z|[+-]\d{2}:?\d{2}|UTC)?)?"
_YEAR_FIRST = re.compile(rf"(?P<a>\d{{4}})([-/.])(?P<b>\d{{1,2}})\2(?P<c>\d{{1,2}}){_TIME}", re.IGNORECASE)
_YEAR_LAST = re.compile(rf"(?P<a>\d{{1,2}})([-/.])(?P<b>\d{{1,2}})\2(?P<c>\d{{4}}|\d{{2}}){_TIME}", re.IGNORECASE)
_DAY_MONTH_NAME = re.compile(
    rf"(?P<a>\d{{1,2}})\.?[ -](?:de )?(?P<b>[^\W\d_]{{3,10}})\.?[ -](?:de )?(?P<c>\d{{4}}){_TIME}", re.IGNORECASE
)
_MONTH_NAME_DAY = re.compile(rf"(?P<b>[^\W\d_]{{3,10}})\.? (?P<a>\d{{1,2}}),? (?P<c>\d{{4}}){_TIME}", re.IGNORECASE)
_EIGHT_DIGITS = re.compile(r"(?P<a>(?:18|19|20)\d{2})(?P<b>\d{2})(?P<c>\d{2})")
_LONGEST_DATE = 40
_SCREEN = 200
_HARDLY_ANY = 0.5

_MONTHS = {
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

_DAYS_A_YEAR = 365.2425
_OLDEST = 120
"""Years that nobody has lived."""
_FEWEST_DATES = 30
_OLD_QUANTILE, _OLD_ENOUGH = 95, 55
_SPREAD = 30
_MEDIAN_AGES = (20, 75)
_TOO_MANY_TIMES = 0.1
_SATURDAY, _FEWEST_WEEKENDS = 5, 0.12
_MANY_DAYS = 150


@dataclass(frozen=True)
class DatesRead:
    """The values that read as dates, their share of all values looked at, and how many carry a time of day."""

    dates: tuple[dt.date, ...]
    share: float
    timed: float


def read_dates(values: Sequence[Any], texts: Sequence[str], today: dt.date) -> DatesRead:
    """Read values as dates: those that are dates already, or texts by the order that fits most of them."""
    if values and all(isinstance(value, dt.date) for value in values):
        return _made([(_day(value), _has_time(value)) for value in values], len(values))
    best: list[tuple[dt.date, bool]] = []
    for reader in _readers(today):
        first = [read for text in texts[:_SCREEN] if (read := reader(text))]
        if len(first) < _HARDLY_ANY * min(_SCREEN, len(texts)):
            continue
        found = [*first, *(read for text in texts[_SCREEN:] if (read := reader(text)))]
        best = max(best, found, key=len)
    return _made(best, len(texts))


def birth_dates(column: LookedColumn) -> Finding | None:
    """Find dates of birth: dates whose name says so, or whose ages are those of a population.

    Without a name, the ages today must look like people's: 95th percentile at least 55 years, 30 years from the 5th to the
    95th, median between 20 and 75, nobody unborn or above 120, hardly any time of day, at least 30 different dates all over the
    year and the week (appointments keep to working days).
    """
    found = column.dates
    if not column.holds_dates or column.says("about"):
        return None
    ages = np.array([(column.today - date).days for date in found.dates]) / _DAYS_A_YEAR
    lived = float(np.mean((ages >= 0) & (ages <= _OLDEST)))
    seen = column.seen(found.share, "are dates")
    if column.says("birth-date") and lived >= found.share * _HARDLY_ANY:
        return column.finding("birth-date", "certain", found.share, seen, "the column name says date of birth")
    if not _like_a_population(ages, found):
        return None
    low, middle, high = np.percentile(ages, [5, 50, _OLD_QUANTILE])
    shape = f"as ages they spread like a population's: median {middle:.0f} years, nine in ten between {low:.0f} and {high:.0f}"
    return column.finding("birth-date", "possible", found.share, seen, shape, "the column name does not say so")


def _like_a_population(ages: np.ndarray[Any, np.dtype[np.float64]], found: DatesRead) -> bool:
    if len(ages) < _FEWEST_DATES or found.timed > _TOO_MANY_TIMES or ages.min() < 0 or ages.max() > _OLDEST:
        return False
    days_of_year = len({(date.month, date.day) for date in found.dates})
    weekends = sum(date.weekday() >= _SATURDAY for date in found.dates) / len(found.dates)
    if days_of_year < min(len(ages) * _HARDLY_ANY, _MANY_DAYS) or weekends < _FEWEST_WEEKENDS:
        return False
    low, middle, high = np.percentile(ages, [100 - _OLD_QUANTILE, 50, _OLD_QUANTILE])
    return bool(high >= _OLD_ENOUGH and high - low >= _SPREAD and _MEDIAN_AGES[0] <= middle <= _MEDIAN_AGES[1])


def _made(found: Sequence[tuple[dt.date, bool]], number: int) -> DatesRead:
    timed = sum(1 for _, time in found if time)
    return DatesRead(tuple(date for date, _ in found), len(found) / max(number, 1), timed / max(len(found), 1))


def _day(value: dt.date) -> dt.date:
    return value.date() if isinstance(value, dt.datetime) else value


def _has_time(value: dt.date) -> bool:
    return isinstance(value, dt.datetime) and value.time() != dt.time()


def _readers(today: dt.date) -> list[Callable[[str], tuple[dt.date, bool] | None]]:
    """Return a reader for each way to write a date."""

    def reader(form: re.Pattern[str], year: str, month: str, day: str) -> Callable[[str], tuple[dt.date, bool] | None]:
        def read(text: str) -> tuple[dt.date, bool] | None:
            match = form.fullmatch(text) if len(text) <= _LONGEST_DATE else None
            if match is None:
                return None
            parts = match.groupdict()
            try:
                date = dt.date(_full_year(parts[year], today), _month(parts[month]), int(parts[day]))
            except ValueError:
                return None
            return date, (parts.get("time") or "0").strip("0:.") != ""

        return read

    return [
        reader(_YEAR_FIRST, "a", "b", "c"),
        reader(_YEAR_LAST, "c", "b", "a"),
        reader(_YEAR_LAST, "c", "a", "b"),
        reader(_DAY_MONTH_NAME, "c", "b", "a"),
        reader(_MONTH_NAME_DAY, "c", "b", "a"),
        reader(_EIGHT_DIGITS, "a", "b", "c"),
    ]


def _full_year(digits: str, today: dt.date) -> int:
    """Read a year; one of two digits is the latest that is not in the future."""
    year = int(digits)
    if len(digits) > 2:  # noqa: PLR2004 - two digits
        return year
    century = today.year // 100 * 100
    return century + year if century + year <= today.year else century - 100 + year


def _month(text: str) -> int:
    if text.isdecimal():
        return int(text)
    word = text.casefold()
    return _MONTHS.get(word[:4]) or _MONTHS.get(word[:3], 0)
