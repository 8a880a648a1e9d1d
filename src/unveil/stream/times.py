"""Durations in the usual notation, and times of records as microseconds since 1970."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from unveil.errors import ArgumentError, UnsupportedDataError, shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MICROS", "NO_TIME", "Duration", "as_text", "duration_of", "moment_of", "moments_of", "shown_moment"]

Duration: TypeAlias = str | float | timedelta
"""A text such as "90s", "15m", "1h" or "7d", a number of seconds, or a `timedelta`."""

MICROS = 1_000_000
NO_TIME = np.iinfo(np.int64).min
"""The value for the time of a record without a readable time."""

_UNITS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_TEXT = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*(ms|s|min|m|h|d|w)\s*$")
_LONGEST = 100 * 366 * 86400


def duration_of(name: str, duration: Duration) -> int:
    """Return a duration in microseconds; refuse an invalid one.

    Examples
    --------
    >>> duration_of("the window", "1.5h") // MICROS
    5400
    """
    if isinstance(duration, timedelta):
        seconds = duration.total_seconds()
    elif isinstance(duration, str):
        written = _TEXT.match(duration)
        if written is None:
            raise ArgumentError(f"{name} is {shown(duration)}; write a duration as 500ms, 10s, 15m, 1h, 7d or 2w.")
        seconds = float(written[1]) * _UNITS[written[2]]
    else:
        seconds = float(max(-1, min(duration, 2 * _LONGEST)))  # an integer may be too large for a float
    if not 0 <= seconds <= _LONGEST:
        raise ArgumentError(f"{name} must be a duration from 0 to 100 years.")
    return round(seconds * MICROS)


def as_text(micros: int) -> str:
    """Return a duration in the usual notation."""
    for unit, size in (("w", 604800), ("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        if micros and micros % (size * MICROS) == 0:
            return f"{micros // (size * MICROS)}{unit}"
    return f"{micros / 1000:g}ms"


def moments_of(column: pl.Series) -> NDArray[np.int64]:
    """Return the time of every record, from dates and times, ISO 8601 texts, or numbers of seconds.

    A time without a zone is taken as UTC. `NO_TIME` stands for a missing time, or a text that is not a time.
    """
    column = column.alias("time")  # some names are patterns to Polars
    kind = column.dtype
    if kind.is_numeric() and not kind.is_decimal():
        seconds = column.cast(pl.Float64).fill_null(np.nan).to_numpy()
        good = np.abs(seconds) < 2**53 / MICROS * 1024
        exact = (
            column.cast(pl.Int64, strict=False).fill_null(0).to_numpy() * MICROS
            if kind.is_integer()
            else np.round(np.where(good, seconds, 0.0) * MICROS)
        )
        return np.where(good, exact, NO_TIME).astype(np.int64)
    if kind == pl.String:
        column = _read_times(column)
    elif kind == pl.Date:
        column = column.cast(pl.Datetime("us"))
    elif not isinstance(kind, pl.Datetime):
        raise UnsupportedDataError(
            f"column {shown(column.name)} holds {kind.base_type()} values, which are not times; give dates and times, ISO 8601 "
            "texts or seconds since 1970."
        )
    return column.dt.epoch("us").fill_null(NO_TIME).to_numpy()


def _read_times(column: pl.Series) -> pl.Series:
    """Read ISO 8601 texts, with or without a zone, a T or fractions of a second."""
    plain = column.str.replace(r"^(\d{4}-\d\d-\d\d)$", "${1}T00:00:00").str.replace(" ", "T", literal=True)
    zoned = plain.str.replace(r"[zZ]$", "+00:00").str.replace(r"([+-]\d\d):?(\d\d)$", "${1}${2}")
    has_zone = zoned.str.contains(r"T.*[+-]\d{4}$")
    full = pl.select(pl.when(has_zone).then(zoned).otherwise(zoned + "+0000")).to_series()
    with_seconds = full.str.replace(r"T(\d\d:\d\d)([+-])", "T${1}:00${2}")
    return with_seconds.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f%z", time_unit="us", strict=False)


def moment_of(value: Any) -> int:
    """Return one time in microseconds since 1970, from a `datetime`, an ISO 8601 text, or seconds."""
    moment = int(moments_of(pl.Series("time", [value]))[0])
    if moment == NO_TIME:
        raise ArgumentError("this is not a time; give a date and time, an ISO 8601 text or seconds since 1970.")
    return moment


def shown_moment(micros: int) -> str:
    """Return a time as ISO 8601, in UTC.

    Examples
    --------
    >>> shown_moment(0)
    '1970-01-01T00:00:00+00:00'
    """
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=int(micros))).isoformat()
