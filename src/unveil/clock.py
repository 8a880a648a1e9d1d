"""When something was made: the clock, in UTC, or the moment that `SOURCE_DATE_EPOCH` names, so that a build can be repeated."""

from __future__ import annotations

import datetime as dt
import os

from unveil.errors import ArgumentError

__all__ = ["moment", "today"]

_VARIABLE = "SOURCE_DATE_EPOCH"


def moment() -> dt.datetime:
    """Return the present moment to the second, in UTC; if the variable is set, the moment that it names."""
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
    """Return the present day in UTC, as ISO writes it."""
    return moment().date().isoformat()
