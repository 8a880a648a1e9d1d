"""Engines that hold data and can count it: DuckDB, PostgreSQL and Apache Spark.

An engine's source sends one query, and receives the combinations that occur with their counts; it receives no records unless a
call needs them. The client libraries of the engines are optional, and imported when such data is opened.
"""

from unveil.sources.engines.address import register

__all__ = ["register"]
