"""The time of making: the clock, in UTC, or the time that `SOURCE_DATE_EPOCH` states, so that a build can be repeated."""

from __future__ import annotations

import datetime as dt
import os

from unveil.errors import ArgumentError

__all__ = ["moment", "today"]

_VARIABLE = "SOURCE_DATE_EPOCH"


def moment() -> dt.datetime:
    """Return the current time to the second, in UTC; if the variable is set, the time that it states."""
    named = os.environ.get(_VARIABLE)
    if named is None:
        return dt.datetime.now(tz=dt.UTC).replace(microsecond=0)
    try:
        return dt.datetime.fromtimestamp(int(named), tz=dt.UTC)
    except (ValueError, OverflowError, OSError):
        raise ArgumentError(
            f"the environment variable {_VARIABLE} must be a whole number of seconds since 1970; correct it, or unset it."
        ) from None


def today() -> str:
    """Return the current date in UTC, in ISO format."""
    return moment().date().isoformat()
