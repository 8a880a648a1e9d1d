"""One form per value: what is counted as one value is released as one, and what differs is counted apart."""

from __future__ import annotations

import numpy as np
import polars as pl

__all__ = ["as_counted", "finer_than_python", "time_texts"]


def as_counted(column: pl.Series) -> pl.Series:
    """Return a column of numbers with one form per value, as they are counted: a NaN is a null, and -0.0 is 0.0.

    Records that are released must have this form, or they would be told apart although they were counted together.
    """
    if not column.dtype.is_float():
        return column
    plain = column.alias("values")  # some names are patterns to Polars
    several = plain.is_nan().any() or bool(np.signbit(plain.filter(plain == 0.0).to_numpy()).any())
    return plain.fill_nan(None).set(plain == 0.0, 0.0).alias(column.name) if several else column


def time_texts(series: pl.Series) -> pl.Series:
    """Return times as texts that tell all of them apart."""
    return series.alias("values").dt.to_string("iso").alias(series.name)  # some names are patterns to Polars


def finer_than_python(series: pl.Series) -> bool:
    """Whether times differ that Python's would not: by nanoseconds, or by the hour that is repeated when summer time ends."""
    plain, dtype = series.alias("values"), series.dtype  # some names are patterns to Polars
    by_nanoseconds = dtype == pl.Time or (isinstance(dtype, pl.Datetime | pl.Duration) and dtype.time_unit == "ns")
    if by_nanoseconds and (plain.to_physical() % 1000 != 0).any():
        return True
    if not isinstance(dtype, pl.Datetime) or dtype.time_zone in (None, "UTC"):
        return False
    return plain.dt.replace_time_zone(None).n_unique() < plain.n_unique()
