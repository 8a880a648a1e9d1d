"""How does Apache Spark count? The executors group and count; the driver gets the combinations that occur.

Columns are renamed by their position first, so that a name with a dot, a space or a backtick needs no quoting.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import polars as pl

from unveil.errors import ArgumentError, EngineError, MissingExtraError, UnsupportedDataError
from unveil.sources.engines.answers import named, tally_of
from unveil.sources.frames import Source, Tally, text_names

if TYPE_CHECKING:
    from unveil.sources.engines.address import Address

__all__ = ["open_address", "open_frame"]

_UNCOUNTABLE = ("array", "binary", "map", "struct", "udt", "variant")
_AS_IS = ("boolean", "byte", "short", "integer", "long", "float", "double", "decimal", "date", "timestamp", "timestamp_ntz")


def open_frame(frame: Any, place: str = "the Spark data frame") -> Source:
    """Open a PySpark data frame; it runs in its own session."""
    names = text_names(frame.columns, place)
    numbered = frame.toDF(*(str(at) for at in range(len(names))))
    kinds = [field.dataType.typeName() for field in frame.schema.fields]
    at = {name: position for position, name in enumerate(names)}

    def expression(name: str) -> Any:
        column = numbered[str(at[name])]
        plain = kinds[at[name]] in (*_AS_IS, *_UNCOUNTABLE)
        return (column if plain else column.cast("string")).alias(str(at[name]))

    def collect(columns: Sequence[str]) -> pl.DataFrame:
        with _failure_reported(place):
            return named(pl.DataFrame(numbered.select(*map(expression, columns)).toArrow()), columns)

    def count(columns: Sequence[str]) -> Tally:
        for name in columns:
            if kinds[at[name]] in _UNCOUNTABLE:
                raise UnsupportedDataError.uncountable(name, kinds[at[name]])
        with _failure_reported(place):
            return tally_of(pl.DataFrame(numbered.groupBy(*map(expression, columns)).count().toArrow()), columns)

    return Source(place, names, collect, count)


def open_address(address: Address) -> Source:
    """Open a table of the session's catalogue, or Parquet files by their path."""
    if (address.table is None) == (address.path is None) or address.rest:
        raise ArgumentError(f"{address.place}: name a table with ?table=NAME (&schema=NAME), or Parquet files with ?path=FOLDER.")
    session = _session(address)
    with _failure_reported(address.place):
        if address.path is not None:
            return open_frame(session.read.parquet(address.path), address.place)
        parts = [part for part in (address.schema, address.table) if part is not None]
        return open_frame(session.table(".".join("`" + part.replace("`", "``") + "`" for part in parts)), address.place)


def _session(address: Address) -> Any:
    """Return the session there is, or start a quiet one at the master of the address."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtraError.needed("reading from Apache Spark", extra="spark") from None
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    local = address.target.split("[")[0] == "local"
    master = ("local[*]" if address.target == "local" else address.target) if local else address.uri()
    builder = SparkSession.builder.master(master).appName("unveil").config("spark.ui.enabled", "false")
    try:
        with _silence():
            session = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
            session.sparkContext.setLogLevel("OFF")
    except Exception:  # noqa: BLE001 - what the launcher, Python's side and Java's raise has nothing else in common
        raise EngineError(
            f"{address.place}: no Spark session starts; it needs Java 17 or later, and a master that answers."
        ) from None
    return session


@contextmanager
def _silence() -> Iterator[None]:
    """Keep off standard error what the Java machine prints in its life: it inherits ours when it starts."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


@contextmanager
def _failure_reported(place: str) -> Iterator[None]:
    """Turn what Spark says, pages that may quote values, into one line that does not."""
    from py4j.protocol import Py4JError
    from pyspark.errors import AnalysisException, PySparkException

    try:
        yield
    except AnalysisException as error:
        if error.getCondition() in ("TABLE_OR_VIEW_NOT_FOUND", "PATH_NOT_FOUND"):
            raise EngineError(f"{place}: Spark finds no such table or files.") from None
        raise EngineError.failed(place, "Spark", error.getCondition()) from None
    except (PySparkException, Py4JError):
        raise EngineError(f"{place}: a Spark job failed or lost its executors; Spark's own log says which.") from None
