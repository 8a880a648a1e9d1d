"""Engines that hold data and can count it: DuckDB, PostgreSQL and Apache Spark.

An engine's source sends one query, and the combinations that occur come back with their counts; no record does, unless a call
needs records. The libraries that talk to the engines are optional, and imported when such data is opened.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING

from unveil.sources.engines.address import Address, parse

if TYPE_CHECKING:
    from unveil.sources.base import Data
    from unveil.sources.engines.table import EngineSource

__all__ = ["open_engine"]


def open_engine(data: Data, held: ExitStack | None = None) -> EngineSource | None:
    """Open an address of an engine, a DuckDB relation or a PySpark data frame; None where it is none of these.

    A connection that is needed to look at the columns is kept until `held` is closed, where that is given.
    """
    if isinstance(data, str | os.PathLike):
        address = parse(os.fsdecode(data))
        return None if address is None else _open_address(address, held)
    kind = type(data)
    if kind.__name__ == "DuckDBPyRelation":
        from unveil.sources.engines.duckdb import RelationSource

        return RelationSource(data)
    if kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql."):
        from unveil.sources.engines.spark import SparkSource

        return SparkSource(data)
    return None


def _open_address(address: Address, held: ExitStack | None) -> EngineSource:
    match address.engine:
        case "duckdb":
            from unveil.sources.engines.duckdb import FileTable

            return FileTable(address, held)
        case "postgresql":
            from unveil.sources.engines.postgres import PostgresTable

            return PostgresTable(address, held)
        case "spark":
            from unveil.sources.engines.spark import open_address

            return open_address(address)
