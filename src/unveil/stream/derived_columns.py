"""Columns that are derived from others while records arrive: grid cells of places, and parts of times.

A rule names the columns that it needs, and derives the new column for a whole batch at once. Codes of places nest: a cell's
code begins with the code of every larger cell around it, so masking its last digits (`unveil hierarchy build --redact right`)
yields the hierarchy.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl

from unveil.arguments import checked_arguments, checked_count
from unveil.attributes import require_columns
from unveil.errors import ArgumentError, UnsupportedDataError, listed, shown
from unveil.stream.times import NO_TIME, moments_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Decimals", "Derived", "GridCell", "Hours", "Period", "Weekday", "parse_derived", "with_derived"]

_MOST_LEVELS = 18
_MOST_DECIMALS = 9
_DAY = 86_400_000_000
_MINUTE = 60_000_000
_MOST_MINUTES = 5_260_320
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@checked_arguments
@dataclass(frozen=True)
class GridCell:
    """The cell of a grid over the earth that contains a place.

    At each level, every cell is cut into four, numbered 0 (south-west), 1 (south-east), 2 (north-west) and 3 (north-east): at
    level L, the cells are 360 / 2^L degrees wide and 180 / 2^L degrees high, and the code has L digits.

    Parameters
    ----------
    latitude, longitude
        Columns of degrees.
    level
        The number of digits, from 1 to 18; cells of level 12 are about 10 km by 5 km at the equator.

    Examples
    --------
    >>> GridCell("lat", "lon", 3).column(pl.DataFrame({"lat": [48.86, -33.9], "lon": [2.35, 151.2]})).to_list()
    ['320', '131']
    """

    latitude: str
    longitude: str
    level: int = 12

    def __post_init__(self) -> None:
        """Refuse a level that does not exist."""
        checked_count("the level of a grid", self.level, least=1, most=_MOST_LEVELS)

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns that it is derived from."""
        return self.latitude, self.longitude

    def column(self, frame: pl.DataFrame) -> pl.Series:
        """Return the cell of every record; null if there is no such place."""
        north, east = (_numbers(frame[name]) for name in self.needs)
        there = (np.abs(north) <= 90.0) & (np.abs(east) <= 180.0)  # noqa: PLR2004 - degrees
        side = 1 << self.level
        up = np.minimum(np.floor(np.where(there, north + 90.0, 0.0) / 180.0 * side), side - 1).astype(np.int64)
        across = np.minimum(np.floor(np.where(there, east + 180.0, 0.0) / 360.0 * side), side - 1).astype(np.int64)
        code = np.zeros(len(up), dtype=np.int64)
        for bit in range(self.level - 1, -1, -1):
            code = code * 10 + 2 * ((up >> bit) & 1) + ((across >> bit) & 1)
        text = pl.Series("cell", code).cast(pl.String).str.zfill(self.level)
        return text.set(pl.Series(~there), None)


@checked_arguments
@dataclass(frozen=True)
class Decimals:
    """A number rounded down to some decimals: 48.8566 with two is 48.85.

    Examples
    --------
    >>> Decimals("lat", 2).column(pl.DataFrame({"lat": [48.8566, -0.001, 0.29]})).to_list()
    ['48.85', '-0.01', '0.29']
    """

    source: str
    decimals: int = 2

    def __post_init__(self) -> None:
        """Refuse an invalid number of decimals."""
        checked_count("the number of decimals", self.decimals, least=0, most=_MOST_DECIMALS)

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns that it is derived from."""
        return (self.source,)

    def column(self, frame: pl.DataFrame) -> pl.Series:
        """Return the number rounded down, as text; null if there is no number."""
        scale = 10**self.decimals
        scaled = _numbers(frame[self.source]) * scale
        there = np.abs(scaled) < 2**53
        scaled = np.where(there, scaled, 0.0)
        nearest = np.round(scaled)
        exact = np.abs(nearest - scaled) <= 1e-9 * np.maximum(np.abs(scaled), 1.0)  # 0.29 * 100 is not quite 29
        units = np.where(exact, nearest, np.floor(scaled)).astype(np.int64)
        distinct, of_row = np.unique(units, return_inverse=True)
        labels = pl.Series([_decimal(unit, self.decimals) for unit in distinct.tolist()], dtype=pl.String)
        return labels.gather(of_row).set(pl.Series(~there), None)


@checked_arguments
@dataclass(frozen=True)
class Hours:
    """The part of the day, in UTC, that a time falls into.

    Examples
    --------
    >>> Hours("when", 6).column(pl.DataFrame({"when": ["2026-03-02T07:30:00Z", "2026-03-02T23:59:59Z"]})).to_list()
    ['06:00', '18:00']
    """

    source: str
    hours: float = 1

    def __post_init__(self) -> None:
        """Refuse a length that does not divide the day."""
        minutes = self.hours * 60
        if not (minutes > 0 and float(minutes).is_integer() and 1440 % int(minutes) == 0):
            raise ArgumentError("the hours of a part of the day must divide 24, in whole minutes: 0.25, 1, 6 ...")

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns that it is derived from."""
        return (self.source,)

    def column(self, frame: pl.DataFrame) -> pl.Series:
        """Return the start of the part of the day; null if there is no time."""
        moments = moments_of(frame[self.source])
        length = int(self.hours * 60)
        part = moments % _DAY // (_MINUTE * length)
        labels = [f"{at * length // 60:02}:{at * length % 60:02}" for at in range(1440 // length)]
        return pl.Series(labels).gather(part).set(pl.Series(moments == NO_TIME), None)


@checked_arguments
@dataclass(frozen=True)
class Period:
    """The period, in UTC, that a time falls into, such as its hour or its day; all periods have the same length.

    Examples
    --------
    >>> Period("when", 6).column(pl.DataFrame({"when": ["2026-03-02T07:30:00Z", "2026-03-03T07:30:00Z"]})).to_list()
    ['2026-03-02T06:00', '2026-03-03T06:00']
    """

    source: str
    hours: float = 1

    def __post_init__(self) -> None:
        """Refuse an impossible length."""
        minutes = self.hours * 60
        if not (0 < minutes <= _MOST_MINUTES and float(minutes).is_integer()):
            raise ArgumentError("the hours of a period must be above 0, in whole minutes, and at most ten years: 0.25, 1, 24 ...")

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns that it is derived from."""
        return (self.source,)

    def column(self, frame: pl.DataFrame) -> pl.Series:
        """Return the start of the period; null if there is no time."""
        moments = moments_of(frame[self.source])
        there = moments != NO_TIME
        length = int(self.hours * 60) * _MINUTE
        begins, of_row = np.unique(np.where(there, moments // length * length, 0), return_inverse=True)
        labels = pl.Series(begins).cast(pl.Datetime("us")).dt.strftime("%Y-%m-%dT%H:%M")
        return labels.gather(of_row).set(pl.Series(~there), None)


@checked_arguments
@dataclass(frozen=True)
class Weekday:
    """The day of the week, in UTC, that a time falls on.

    Examples
    --------
    >>> Weekday("when").column(pl.DataFrame({"when": ["2026-03-02T07:30:00Z"]})).to_list()
    ['Monday']
    """

    source: str

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns that it is derived from."""
        return (self.source,)

    def column(self, frame: pl.DataFrame) -> pl.Series:
        """Return the name of the day; null if there is no time."""
        moments = moments_of(frame[self.source])
        return pl.Series(_DAYS).gather((moments // _DAY + 3) % 7).set(pl.Series(moments == NO_TIME), None)


Derived: TypeAlias = GridCell | Decimals | Hours | Period | Weekday
"""A rule by which a column is derived from others."""

_TEXT = re.compile(r"^(?P<name>[^=]+?)\s*=\s*(?P<rule>\w+)\((?P<words>[^()]*)\)$")
_RULES: Mapping[str, Callable[[list[str]], Derived]] = {
    "cell": lambda words: GridCell(words[0], words[1], *(int(word) for word in words[2:])),
    "decimals": lambda words: Decimals(words[0], *(int(word) for word in words[1:])),
    "hours": lambda words: Hours(words[0], *(float(word) for word in words[1:])),
    "period": lambda words: Period(words[0], *(float(word) for word in words[1:])),
    "weekday": lambda words: Weekday(*words),
}


def parse_derived(text: str) -> tuple[str, Derived]:
    """Read "NAME=RULE(COLUMN, ...)".

    Examples
    --------
    >>> parse_derived("where=cell(lat, lon, 10)")
    ('where', GridCell(latitude='lat', longitude='lon', level=10))
    """
    written = _TEXT.match(text)
    if written is None or written["rule"] not in _RULES:
        raise ArgumentError(
            f"a derived column is written as NAME=RULE(COLUMN, ...), not {shown(text)}; rules are: {listed(_RULES)}, as in "
            "where=cell(lat, lon, 12), lat2=decimals(lat, 2), part=hours(when, 6), hour=period(when, 1), day=weekday(when)."
        )
    words = [word.strip() for word in written["words"].split(",")]
    try:
        return written["name"].strip(), _RULES[written["rule"]](words)
    except (IndexError, TypeError, ValueError) as problem:
        reason = f": {problem}" if isinstance(problem, ArgumentError) else "; name its columns, then its number."
        raise ArgumentError(f"the derived column {shown(text)} cannot be read{reason}") from None


def with_derived(frame: pl.DataFrame, derived: Mapping[str, Derived]) -> pl.DataFrame:
    """Return a batch with the derived columns beside its own."""
    if not derived:
        return frame
    for rule in derived.values():
        require_columns(rule.needs, frame.columns)
    return frame.with_columns(*(rule.column(frame).alias(name) for name, rule in derived.items()))


def _numbers(column: pl.Series) -> NDArray[np.float64]:
    if column.dtype.is_nested() or column.dtype == pl.Object:
        raise UnsupportedDataError(f"column {shown(column.name)} contains no numbers, so no place can be derived from it.")
    if not column.dtype.is_numeric() and column.null_count() < len(column):
        numbers = (column.cast(pl.String) if column.dtype in (pl.Categorical, pl.Enum) else column).cast(pl.Float64, strict=False)
        if numbers.null_count() == len(numbers):
            raise UnsupportedDataError(f"column {shown(column.name)} contains no numbers, so no place can be derived from it.")
        column = numbers
    return (
        column.alias("numbers").cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    )  # some names are patterns to Polars


def _decimal(units: int, decimals: int) -> str:
    digits = f"{abs(units):0{decimals + 1}}"
    sign = "-" if units < 0 else ""
    return f"{sign}{digits[:-decimals]}.{digits[-decimals:]}" if decimals else f"{sign}{digits}"
