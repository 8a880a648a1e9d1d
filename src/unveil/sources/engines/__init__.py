"""Does something hold this data that can count it: DuckDB, PostgreSQL or Apache Spark?

An engine's source sends one query, and the combinations that occur come back with their counts; no record does, unless a call
needs records. The libraries that talk to the engines are optional, and imported when such data is opened.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from unveil.sources.engines.address import Address, parse

if TYPE_CHECKING:
    from unveil.sources.frames import Data, Source

__all__ = ["open_engine"]


def open_engine(data: Data) -> Source | None:
    """Open an address of an engine, a DuckDB relation or a PySpark data frame; None where it is none of these."""
    if isinstance(data, str | os.PathLike):
        address = parse(os.fsdecode(data))
        return None if address is None else _open_address(address)
    kind = type(data)
    if kind.__name__ == "DuckDBPyRelation":
        from unveil.sources.engines.duckdb import open_relation

        return open_relation(data)
    if kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql."):
        from unveil.sources.engines.spark import open_frame

        return open_frame(data)
    return None


def _open_address(address: Address) -> Source:
    match address.engine:
        case "duckdb":
            from unveil.sources.engines.duckdb import open_database

            return open_database(address)
        case "postgresql":
            from unveil.sources.engines.postgres import open_table

            return open_table(address)
        case "spark":
            from unveil.sources.engines.spark import open_address

            return open_address(address)
