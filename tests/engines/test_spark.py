"""Spark: addresses, types, and what a failing job says."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as PySpark's own documentation does

import unveil
from unveil.errors import ArgumentError, CancelledError, EngineError, UnsupportedDataError
from unveil.models import KAnonymity
from unveil.run import Run


def test_a_table_and_files_by_address(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.range(10).select((F.col("id") % 3).alias("age"))
    frame.createOrReplaceTempView("crowd")
    frame.write.parquet(str(tmp_path / "crowd"))
    assert unveil.count("spark://local?table=crowd", ["age"]).n.tolist() == [4, 3, 3]
    assert unveil.count(f"spark://local?path={tmp_path / 'crowd'}", ["age"]).n.tolist() == [4, 3, 3]


def test_what_is_not_there(spark: SparkSession, tmp_path: Path) -> None:
    assert spark.range(1).count() == 1
    for address in ("table=none`x", "table=t&schema=no.where", f"path={tmp_path / 'none'}"):
        with pytest.raises(EngineError, match="Spark finds no such table or files"):
            unveil.count(f"spark://local?{address}", ["age"])
    with pytest.raises(ArgumentError, match="name a table with"):
        unveil.count("spark://local", ["age"])


def test_no_java(tmp_path: Path) -> None:
    command = [str(Path(sys.executable).with_name("unveil")), "dr", "spark://local?table=t", "--key", "age"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "JAVA_HOME": str(tmp_path)})
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr
        == "unveil: spark://local?table=t: no Spark session starts; it needs Java 17 or later, and a master that answers.\n"
    )


def test_no_master() -> None:
    command = [str(Path(sys.executable).with_name("unveil")), "dr", "spark://127.0.0.1:1?table=t", "--key", "age"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    said = "spark://127.0.0.1:1?table=t: nothing listens there; look at host, port and whether the master runs."
    assert done.stderr == f"unveil: {said}\n"


def test_types(spark: SparkSession) -> None:
    frame = spark.sql("SELECT INTERVAL 1 DAY AS span, 1.50 AS exact, 7BD AS whole, map(1, 2) AS pairs, struct(1) AS parts")
    values = {name: unveil.count(frame, [name]).columns[0].values[0] for name in ("exact", "whole")}
    assert (str(values["exact"]), values["whole"]) == ("1.50", 7)
    assert "1" in str(unveil.count(frame, ["span"]).columns[0].values[0])
    for name in ("pairs", "parts"):
        with pytest.raises(UnsupportedDataError, match=f"column '{name}' holds (map|struct) values"):
            unveil.count(frame, [name])


def test_a_job_that_fails(spark: SparkSession) -> None:
    frame = spark.range(3).select(F.raise_error(F.lit("hunter2")).cast("int").alias("a"))
    with pytest.raises(EngineError, match="a Spark job failed or lost its executors") as failure:
        unveil.count(frame, ["a"])
    assert "hunter2" not in str(failure.value)
    assert "\n" not in str(failure.value)


def test_a_worker_that_dies(spark: SparkSession) -> None:
    def die(_: Iterable[int]) -> Iterable[Any]:
        os._exit(1)

    frame = spark.createDataFrame(spark.sparkContext.parallelize([1], 1).mapPartitions(die), "a int")
    with pytest.raises(EngineError, match="a Spark job failed or lost its executors"):
        unveil.count(frame, ["a"])


CLUSTER = """
import os, signal, subprocess, sys, threading, time
from pyspark.sql import SparkSession, functions as F
import unveil

builder = SparkSession.builder.master("local-cluster[1,1,1024]").config("spark.ui.enabled", "false")
settings = {"spark.driver.host": "127.0.0.1", "spark.executor.memory": "512m", "spark.sql.shuffle.partitions": "1"}
for name, value in settings.items():
    builder = builder.config(name, value)
session = builder.getOrCreate()
context = session.sparkContext
context.setLogLevel("OFF")

def executor():
    found = subprocess.run(["pgrep", "-f", f"CoarseGrainedExecutorBackend.*{context.applicationId}"], capture_output=True, text=True)
    return found.stdout.split()

def kill():
    stages = context.statusTracker()
    while not any(stages.getStageInfo(at).numActiveTasks for at in stages.getActiveStageIds() if stages.getStageInfo(at)):
        time.sleep(0.05)
    for process in executor():
        os.kill(int(process), signal.SIGKILL)
        print("killed")

thread = threading.Thread(target=kill)
thread.start()
slow = F.expr("reflect('java.lang.Thread', 'sleep', 50L)").cast("string")
frame = session.range(0, 40, 1, 4).select((F.col("id") % 7).alias("age"), slow.alias("slept"))
print(unveil.count(frame, ["age", "slept"]).over("age").n.tolist())
thread.join()
session.stop()
"""


@pytest.mark.usefixtures("spark")
def test_an_executor_that_is_lost_is_replaced(tmp_path: Path) -> None:
    """On a cluster of its own, of one executor, which is killed while it counts."""
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, "-c", CLUSTER]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env=environment, cwd=tmp_path)
    assert done.stdout.splitlines() == ["killed", "[6, 6, 6, 6, 6, 5, 5]"], done.stderr[-2000:]


def test_why_a_table_cannot_be_made(spark: Any) -> None:
    one = spark.createDataFrame([(1,), (1,)], ["x"])
    data = spark.createDataFrame([(1, 2), (1, 3)], ["x", "X"])
    with pytest.raises(EngineError, match="two columns differ only in case"):
        unveil.anonymize(data, ["x"], [KAnonymity(2)], out="spark://local?table=two_cases", keep="X")
    with pytest.raises(EngineError, match="no such schema"):
        unveil.anonymize(one, ["x"], [KAnonymity(2)], out="spark://local?table=r&schema=nowhere")
    spark.sql("CREATE TABLE taken AS SELECT 1 AS x")
    with pytest.raises(EngineError, match="this table exists already"):
        unveil.anonymize(one, ["x"], [KAnonymity(2)], out="spark://local?table=taken")
    assert not spark.catalog.tableExists("two_cases")


def test_a_cancelled_run_ends_its_jobs(spark: SparkSession) -> None:
    numbers = spark.range(10**13).selectExpr("id % 7 AS a")  # hours
    run, tracker = Run(), spark.sparkContext.statusTracker()

    def cancel() -> None:
        while not tracker.getActiveJobsIds():
            time.sleep(0.05)
        run.cancel()

    threading.Thread(target=cancel, daemon=True).start()
    with pytest.raises(CancelledError), run:
        unveil.count(numbers, ["a"])
    end = time.monotonic() + 30
    while tracker.getActiveJobsIds() and time.monotonic() < end:
        time.sleep(0.05)
    assert not tracker.getActiveJobsIds()
