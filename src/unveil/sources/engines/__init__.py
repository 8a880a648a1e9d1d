"""Engines that hold data and can count it: DuckDB, PostgreSQL and Apache Spark.

An engine's source sends one query, and the combinations that occur come back with their counts; no record does, unless a call
needs records. The libraries that talk to the engines are optional, and imported when such data is opened.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from importlib import import_module
from typing import TYPE_CHECKING

from unveil.sources.engines.address import SCHEMES, Address, parse

if TYPE_CHECKING:
    from collections.abc import Callable

    from unveil.sources.base import Data, Source

__all__ = ["open_engine", "register"]

_OPENERS: dict[str, str | Callable[[Address, ExitStack | None], Source]] = {
    "duckdb": "duckdb.FileTable",
    "postgresql": "postgres.PostgresTable",
    "spark": "spark.open_address",
}
"""What opens an address of each engine: a function of the address and the holder of connections, or its module and name."""


def open_engine(data: Data, held: ExitStack | None = None) -> Source | None:
    """Open an address of an engine, a DuckDB relation or a PySpark data frame; None if it is none of these.

    If `held` is given, a connection that is needed to look at the columns is kept until `held` is closed.
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


def register(scheme: str, opener: Callable[[Address], Source]) -> None:
    """Add an engine of your own: addresses that begin with its scheme are opened by a function from address to source."""
    SCHEMES[scheme] = scheme
    _OPENERS[scheme] = lambda address, _: opener(address)


def _open_address(address: Address, held: ExitStack | None) -> Source:
    opener = _OPENERS[address.engine]
    if isinstance(opener, str):  # imported when it is needed
        module, _, function = opener.rpartition(".")
        opener = getattr(import_module(f"unveil.sources.engines.{module}"), function)
    return opener(address, held)
