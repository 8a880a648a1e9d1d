"""Spark Structured Streaming: micro-batches counted by the executors, the window kept by the driver, each batch once."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from pyspark.sql import SparkSession

import unveil
from unveil.errors import ArgumentError
from unveil.stream.figures import WindowFigures
from unveil.stream.spark import each_batch
from unveil.stream.window import Window

SCHEMA = "at timestamp, age long, ill string"


def made() -> Window:
    return Window("age", "ill", duration=60, time="at", every=20)


def records() -> pl.DataFrame:
    at = pl.Series(range(0, 300, 2)).cast(pl.Int64) * 1_000_000
    return pl.DataFrame(
        {
            "at": at.cast(pl.Datetime("us", "UTC")),
            "age": [x % 7 for x in range(150)],
            "ill": [["flu", "hiv"][x % 5 > 2] for x in range(150)],
        }
    )


def test_micro_batches_give_the_figures_of_the_table_and_count_once(spark: SparkSession, tmp_path: Path) -> None:
    folder, kept, table = tmp_path / "in", tmp_path / "kept", records()
    folder.mkdir()

    def run(part: pl.DataFrame, name: str) -> tuple[list[WindowFigures], Window]:
        part.write_parquet(folder / name)
        shown: list[WindowFigures] = []
        window = made()
        counting = each_batch(window, shown.append, state=kept / "window")

        def twice(frame: object, number: int) -> None:  # as after a failure, when Spark gives the last batch again
            counting(frame, number)
            counting(frame, number)

        stream = spark.readStream.schema(SCHEMA).parquet(str(folder))
        query = stream.writeStream.foreachBatch(twice).option("checkpointLocation", str(tmp_path / "spark"))
        query.trigger(availableNow=True).start().awaitTermination(120)
        return shown, window

    kept.mkdir()
    first, _ = run(table[:80], "1.parquet")
    second, _ = run(table[80:], "2.parquet")
    figures = first + second
    assert [one.records for one in figures] == [10, 20, *[30] * 12]
    for at, one in enumerate(figures, start=1):
        seconds = table["at"].dt.epoch("s")
        inside = table.filter((seconds < 20 * at) & (seconds >= 20 * at - 60))
        assert one.dr == unveil.discrimination_rate(inside, "age", "ill").value


def test_a_window_that_has_no_meaning_over_spark_is_refused() -> None:
    with pytest.raises(ArgumentError, match="own times"):
        each_batch(Window("age", size=10, every=5), print)
    with pytest.raises(ArgumentError, match="multiple of every"):
        each_batch(Window("age", duration=50, time="at", every=20), print)
