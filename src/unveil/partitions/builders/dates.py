"""In which week, month, quarter, year or decade does a date lie?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar, Literal

from unveil.arguments import checked_arguments
from unveil.errors import ArgumentError
from unveil.partitions._match import moment_of
from unveil.partitions.builders.base import Builder, read_all
from unveil.partitions.hierarchy import Hierarchy

__all__ = ["UNITS", "Dates", "Unit"]

Unit = Literal["day", "week", "month", "quarter", "year", "decade"]
UNITS: tuple[Unit, ...] = ("day", "week", "month", "quarter", "year", "decade")
_THURSDAY = 4


@checked_arguments
@dataclass(frozen=True)
class Dates(Builder):
    """Dates by ever longer periods: ``2024-03-05``, ``2024-W10``, ``2024-03``, ``2024-Q1``, ``2024``, ``2020s``.

    Weeks are those of ISO 8601. They cross months and years, so beside ``week`` each week belongs as a whole to the month,
    quarter, year and decade of its Thursday, as ISO 8601 counts years of weeks. Without ``week`` the calendar is plain.

    Parameters
    ----------
    units
        The period at each level, from short to long.

    Examples
    --------
    >>> Dates(("month", "year")).build(["2024-12-30", "2025-01-02"], column="visit").labels
    (('2024-12-30', '2024-12', '2024', '*'), ('2025-01-02', '2025-01', '2025', '*'))
    >>> Dates(("week", "year")).build(["2024-12-29", "2024-12-30"], column="visit").labels
    (('2024-12-29', '2024-W52', '2024', '*'), ('2024-12-30', '2025-W01', '2025', '*'))
    """

    name: ClassVar[str] = "dates"
    units: tuple[Unit, ...] = ("month", "quarter", "year", "decade")

    def __post_init__(self) -> None:
        """Refuse what makes no chain."""
        for unit in self.units:
            if unit not in UNITS:
                raise ArgumentError.not_one_of("the period", unit, UNITS)
        places = [UNITS.index(unit) for unit in self.units]
        if not places or places != sorted(set(places)):
            raise ArgumentError(f"periods go from short to long, each once: {', '.join(UNITS)}.")

    def build(self, values: Sequence[Any], counts: Sequence[int] | None = None, *, column: str | None = None) -> Hierarchy:  # noqa: ARG002
        """Return the dates, in their order, with a period at each level."""
        moments = read_all(values, moment_of, "date (ISO 8601)", column)
        ordered = sorted(moments, key=lambda value: moments[value])
        weeks = "week" in self.units
        levels = [[_period(moments[value], unit, by_week=weeks and unit != "day") for value in ordered] for unit in self.units]
        return Hierarchy.from_levels(ordered, *levels, column=column).with_root()


def _period(moment: datetime, unit: Unit, *, by_week: bool) -> str:
    """Return the label of the period in which a moment lies."""
    day = moment.date()
    year, week, weekday = day.isocalendar()
    if by_week:
        day += timedelta(days=_THURSDAY - weekday)
    labels: dict[Unit, str] = {
        "day": day.isoformat(),
        "week": f"{year:04}-W{week:02}",
        "month": f"{day.year:04}-{day.month:02}",
        "quarter": f"{day.year:04}-Q{(day.month + 2) // 3}",
        "year": f"{day.year:04}",
        "decade": f"{day.year // 10}0s",
    }
    return labels[unit]
