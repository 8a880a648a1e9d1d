"""A micro-batch of Spark Structured Streaming, counted by the executors; no records go to the driver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from unveil.sources.engines.spark import SparkSource

__all__ = ["COUNTED", "counted_batch"]

COUNTED = "\x00counted"
"""The column with the number of records that a row stands for."""


def counted_batch(frame: Any, columns: Sequence[str], time: str | None, step: int | None) -> pl.DataFrame:
    """Return the combinations of some columns in a micro-batch, with their counts.

    Parameters
    ----------
    frame
        The data frame of the micro-batch.
    columns
        The columns, including that of times.
    time, step
        The column of times, which are first rounded down to multiples of `step` microseconds, so that they take few values.
    """
    if time is not None and step is not None:
        from pyspark.sql import functions

        micros = functions.unix_micros(frame[time].cast("timestamp"))
        frame = frame.withColumn(time, functions.timestamp_micros(micros - functions.pmod(micros, functions.lit(step))))
    tally = SparkSource(frame, "the micro-batch").count(columns)
    counts = tally.n if tally.n is not None else [1] * tally.frame.height
    return tally.frame.with_columns(pl.Series(COUNTED, counts, dtype=pl.Int64))
