"""Real servers, one of each for all tests: PostgreSQL on a loopback port, Spark in local mode."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from adbc_driver_postgresql import dbapi
from benchmarks.local_postgres import binary, local_postgres
from pyspark.sql import SparkSession

from helpers import without

Engine = Callable[[pl.DataFrame], Any]
_numbers = count()


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a database."""
    if binary("postgres") is None:
        without("PostgreSQL's server", "postgresql")
    with local_postgres(jit="off", autovacuum="off") as address:  # tables are tiny: compiling costs more than counting
        yield address


@pytest.fixture(scope="session")
def run(postgres: str) -> Callable[..., list[tuple[Any, ...]]]:
    """Run statements on the PostgreSQL server."""

    def statements(*texts: str) -> list[tuple[Any, ...]]:
        with dbapi.connect(postgres, autocommit=True) as connection, connection.cursor() as cursor:
            for text in texts:
                cursor.execute(text)
            return list(cursor.fetchall()) if texts[-1].lower().startswith("select") else []

    return statements


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session with two local executors' threads."""
    if shutil.which("java") is None:
        without("Java, which Spark needs,", "default-jre-headless")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.sql.adaptive.enabled": "false",  # these tables are tiny: planning and compiling cost more than counting
        "spark.sql.codegen.wholeStage": "false",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").appName("unveil's tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def _duckdb_relation(frame: pl.DataFrame) -> Any:
    connection = duckdb.connect()
    connection.register("held", frame.to_arrow())
    return connection.sql("SELECT * FROM held")


def _duckdb_file(folder: Path) -> Engine:
    def made(frame: pl.DataFrame) -> str:
        file = folder / f"{next(_numbers)}.duckdb"
        with duckdb.connect(str(file)) as connection:
            connection.register("held", frame.to_arrow())
            connection.execute('CREATE TABLE "the ""table"" é" AS SELECT * FROM held')
        return f'{file}?table=the "table" é'

    return made


def _postgres_table(address: str) -> Engine:
    def made(frame: pl.DataFrame) -> str:
        table = f'the "table" é {next(_numbers)}'
        with dbapi.connect(address) as connection, connection.cursor() as cursor:
            cursor.adbc_ingest(table, frame.to_arrow(), mode="create")
            connection.commit()
        return f"{address}?table={table}"

    return made


def _spark_frame(session: SparkSession) -> Engine:
    return lambda frame: session.createDataFrame(frame.to_arrow())


@pytest.fixture(scope="session")
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """How a table gets into an engine."""
    made: dict[str, Callable[[], Engine]] = {
        "polars": lambda: lambda frame: frame,
        "polars lazy": lambda: lambda frame: frame.lazy(),
        "pandas": lambda: lambda frame: frame.to_pandas(use_pyarrow_extension_array=True),
        "pyarrow": lambda: lambda frame: frame.to_arrow(),
        "duckdb": lambda: _duckdb_relation,
        "duckdb file": lambda: _duckdb_file(tmp_path_factory.mktemp("databases")),
        "postgresql": lambda: _postgres_table(request.getfixturevalue("postgres")),
        "spark": lambda: _spark_frame(request.getfixturevalue("spark")),
    }
    return made[request.param]()
