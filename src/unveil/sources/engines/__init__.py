"""Engines that hold data and can count it: DuckDB, PostgreSQL and Apache Spark.

An engine's source sends one query, and the combinations that occur come back with their counts; no record does, unless a call
needs records. The libraries that talk to the engines are optional, and imported when such data is opened.
"""

from unveil.sources.engines.address import register

__all__ = ["register"]
