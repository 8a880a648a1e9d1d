"""Dates by week, month, quarter, year, five years or decade."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, ClassVar, Literal

from unveil.arguments import checked_arguments
from unveil.errors import ArgumentError
from unveil.partitions.builders.base import Builder, read_all
from unveil.partitions.hierarchy import Hierarchy
from unveil.partitions.moments import DateReading, Moment

__all__ = ["UNITS", "Dates", "Unit"]

Unit = Literal["day", "week", "month", "quarter", "year", "5-years", "decade"]
UNITS: tuple[Unit, ...] = ("day", "week", "month", "quarter", "year", "5-years", "decade")
_LENGTH = {"time": 0, "day": 0, "month": 2, "quarter": 3, "year": 4}
"""The unit that a text names, by its position among the units; for a moment, the day."""
_THURSDAY = 4


@checked_arguments
@dataclass(frozen=True)
class Dates(Builder):
    """Dates by ever longer periods: ``2024-03-05``, ``2024-W10``, ``2024-03``, ``2024-Q1``, ``2024``, ``2020-2024``, ``2020s``.

    Dates are read in the forms in which people write them (see `unveil.partitions.moments`): ``2024-03-05``, ``05.03.2024``,
    ``03/05/24``, ``5 March 2024``, with or without a time of day; months (``03/2024``) and quarters (``Q1 2024``) too. A value
    that names a longer period than a level does keeps it up to the level where it fits.

    Weeks are those of ISO 8601. They cross months and years, so if ``week`` is a level, each week belongs as a whole to the
    month, quarter, year and decade of its Thursday, as in the week-numbering year of ISO 8601. Without ``week``, the plain
    calendar is used.

    Parameters
    ----------
    units
        The period at each level, from short to long.
    day_first
        Whether the day comes before the month in a date such as ``05.03.2024``; none: as the column's values allow.
    rest
        The label, at every level, of values that are not dates; none: they are refused.

    Examples
    --------
    >>> Dates(("month", "year")).build(["2024-12-30", "2025-01-02"], column="visit").labels
    (('2024-12-30', '2024-12', '2024', '*'), ('2025-01-02', '2025-01', '2025', '*'))
    >>> Dates(("week", "year")).build(["2024-12-29", "2024-12-30"], column="visit").labels
    (('2024-12-29', '2024-W52', '2024', '*'), ('2024-12-30', '2025-W01', '2025', '*'))
    >>> sorted(Dates(("month", "5-years")).build(["03/14/85", "Q1 1985"], column="born").labels)
    [('03/14/85', '1985-03', '1985-1989'), ('Q1 1985', '1985-Q1', '1985-1989')]
    """

    name: ClassVar[str] = "dates"
    units: tuple[Unit, ...] = ("month", "quarter", "year", "decade")
    day_first: bool | None = None
    rest: str | None = None

    def __post_init__(self) -> None:
        """Refuse periods that do not make each level coarser than the one below."""
        for unit in self.units:
            if unit not in UNITS:
                raise ArgumentError.not_one_of("the period", unit, UNITS)
        places = [UNITS.index(unit) for unit in self.units]
        if not places or places != sorted(set(places)):
            raise ArgumentError(f"periods go from short to long, each once: {', '.join(UNITS)}.")

    def build(self, values: Sequence[Any], counts: Sequence[int] | None = None, *, column: str | None = None) -> Hierarchy:  # noqa: ARG002
        """Return the dates, in order, with a period at each level; values that are not dates come last."""
        reading = DateReading.of(values)
        if self.day_first is not None:
            reading = replace(reading, day_first=dict.fromkeys(reading.day_first, self.day_first), undecided=())
        moments = self._moments(values, reading, column)
        dated = sorted((value for value, moment in moments.items() if moment is not None), key=lambda value: moments[value])
        ordered = [*dated, *(value for value, moment in moments.items() if moment is None)]
        levels = [[self._label(moments[value], unit) for value in ordered] for unit in self.units]
        return Hierarchy.from_levels(ordered, *levels, column=column).with_root()

    def _moments(self, values: Sequence[Any], reading: DateReading, column: str | None) -> dict[Any, Any]:
        if self.rest is None:
            return read_all(values, reading.read, "date", column)
        return {value: reading.read(value) for value in values if value is not None}

    def _label(self, moment: Moment | None, unit: Unit) -> Any:
        """Return the label at a level: of the unit's period, or of the value's own period if that is longer."""
        if moment is None:
            return self.rest
        shortest = _LENGTH[moment.precision]
        shown = UNITS[max(UNITS.index(unit), shortest)]
        return _period(moment.start, shown, by_week="week" in self.units and shown != "day" and shortest <= 0)


def _period(moment: datetime, unit: Unit, *, by_week: bool) -> str:
    """Return the label of the period in which a moment lies."""
    day = moment.date()
    year, week, weekday = day.isocalendar()
    if by_week:
        day += timedelta(days=_THURSDAY - weekday)
    five = day.year // 5 * 5
    labels: dict[Unit, str] = {
        "day": day.isoformat(),
        "week": f"{year:04}-W{week:02}",
        "month": f"{day.year:04}-{day.month:02}",
        "quarter": f"{day.year:04}-Q{(day.month + 2) // 3}",
        "year": f"{day.year:04}",
        "5-years": f"{five:04}-{five + 4:04}",
        "decade": f"{day.year // 10}0s",
    }
    return labels[unit]
