"""Which values are dates, and could they be dates of birth?

Texts are read in the forms of `unveil.partitions.moments`; months, quarters and years are not dates of birth.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.partitions import read_moments

if TYPE_CHECKING:
    from unveil.identifiers.column import LookedColumn
    from unveil.identifiers.finding import Finding

__all__ = ["DatesRead", "birth_dates", "read_dates"]

_HARDLY_ANY = 0.5

_DAYS_A_YEAR = 365.2425
_OLDEST = 120
"""An age in years that nobody has reached."""
_FEWEST_DATES = 30
_OLD_QUANTILE, _OLD_ENOUGH = 95, 55
_SPREAD = 30
_MEDIAN_AGES = (20, 75)
_TOO_MANY_TIMES = 0.1
_SATURDAY, _FEWEST_WEEKENDS = 5, 0.12
_MANY_DAYS = 150


@dataclass(frozen=True)
class DatesRead:
    """The values that read as dates, their share of all examined values, and the number that have a time of day."""

    dates: tuple[dt.date, ...]
    share: float
    timed: float


def read_dates(column: LookedColumn) -> DatesRead:
    """Read values as days: those that are already dates, and texts in the usual ways of writing dates."""
    dates = column.values if column.kind == "date" else column.texts
    days = [moment for moment in read_moments(dates, column.today, least=_HARDLY_ANY) if moment.precision in ("day", "time")]
    if not days:
        return DatesRead((), 0.0, 0.0)
    timed = sum(moment.has_time for moment in days)
    return DatesRead(tuple(moment.start.date() for moment in days), len(days) / len(dates), timed / len(days))


def birth_dates(column: LookedColumn) -> Finding | None:
    """Find dates of birth: dates in a column whose name suggests it, or dates with the ages of a population.

    If the name does not suggest it, the ages today must look like people's: 95th percentile at least 55 years, 30 years from
    the 5th to the 95th, median between 20 and 75, nobody unborn or above 120, hardly any time of day, and at least 30 different
    dates spread over the year and the week (appointments are on working days).
    """
    if not column.holds_dates or column.says("about"):
        return None
    dates = column.dates
    ages = np.array([(column.today - date).days for date in dates.dates]) / _DAYS_A_YEAR
    lived = float(np.mean((ages >= 0) & (ages <= _OLDEST)))
    seen = column.seen(dates.share, "are dates")
    if column.says("birth-date") and lived >= dates.share * _HARDLY_ANY:
        return column.finding("birth-date", "certain", dates.share, seen, "the column name says date of birth")
    if not _like_a_population(ages, dates):
        return None
    low, middle, high = np.percentile(ages, [5, 50, _OLD_QUANTILE])
    shape = f"as ages they spread like a population's: median {middle:.0f} years, nine in ten between {low:.0f} and {high:.0f}"
    return column.finding("birth-date", "possible", dates.share, seen, shape, "the column name does not say so")


def _like_a_population(ages: np.ndarray[Any, np.dtype[np.float64]], dates: DatesRead) -> bool:
    if len(ages) < _FEWEST_DATES or dates.timed > _TOO_MANY_TIMES or ages.min() < 0 or ages.max() > _OLDEST:
        return False
    days_of_year = len({(date.month, date.day) for date in dates.dates})
    weekends = sum(date.weekday() >= _SATURDAY for date in dates.dates) / len(dates.dates)
    if days_of_year < min(len(ages) * _HARDLY_ANY, _MANY_DAYS) or weekends < _FEWEST_WEEKENDS:
        return False
    low, middle, high = np.percentile(ages, [100 - _OLD_QUANTILE, 50, _OLD_QUANTILE])
    return bool(high >= _OLD_ENOUGH and high - low >= _SPREAD and _MEDIAN_AGES[0] <= middle <= _MEDIAN_AGES[1])
