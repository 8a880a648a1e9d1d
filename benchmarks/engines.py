"""How near is a count in an engine to the engine's own group-by?"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
from adbc_driver_postgresql import dbapi

import unveil
from benchmarks.local_postgres import binary, local_postgres
from benchmarks.rows import Row, not_measured, slower
from benchmarks.timing import best_of

_ROWS = 10_000_000
_KEY = ["age", "sex", "town", "education"]
_RECORDS = """
SELECT (hash % 91)::int AS age, CASE WHEN hash / 91 % 2 = 0 THEN 'f' ELSE 'm' END AS sex,
'town ' || (sqrt(hash / 182 % 40000))::int AS town, (hash / 7280000 % 16)::int AS education
FROM (SELECT i * 2654435761 % 4294967296 AS hash FROM generate_series(1, {rows}) AS series(i)) AS drawn
"""
_QUERY = "SELECT count(*) FROM (SELECT age, sex, town, education, count(*) FROM people GROUP BY 1, 2, 3, 4) AS cells"
"""The group-by alone: its cells stay in the engine."""


def run() -> list[Row]:
    """Run all benchmarks of this part."""
    return [in_postgres(), in_duckdb()]


def in_postgres() -> Row:
    """Count ten million records on the server, against the same group-by alone, asked for through psql."""
    psql = binary("psql")
    if psql is None or binary("postgres") is None:
        return not_measured("count of 10 million records in PostgreSQL", "PostgreSQL is not installed", "at most 1.3 times")
    with local_postgres(shared_buffers="2GB", work_mem="256MB", max_wal_size="8GB") as address:
        with dbapi.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE TABLE people AS " + _RECORDS.format(rows=_ROWS))
            cursor.execute("VACUUM ANALYZE people")
        command = [psql, "-X", "-q", "-A", "-t", "-o", "/dev/null", "-c", _QUERY, address]
        return _compared(
            "PostgreSQL",
            lambda: subprocess.run(command, check=True),  # noqa: S603
            lambda: unveil.count(f"{address}?table=people", _KEY),
        )


def in_duckdb() -> Row:
    """Count ten million records in a database file, against the same group-by alone."""
    with TemporaryDirectory() as folder:
        file = str(Path(folder) / "people.duckdb")
        with duckdb.connect(file) as connection:
            connection.execute("CREATE TABLE people AS " + _RECORDS.format(rows=_ROWS))

        def theirs() -> None:
            with duckdb.connect(file, read_only=True) as connection:
                connection.execute("SET enable_progress_bar = false")
                connection.sql(_QUERY).fetchall()

        return _compared("DuckDB", theirs, lambda: unveil.count(f"{file}?table=people", _KEY))


def _compared(engine: str, theirs: Callable[[], object], ours: Callable[[], object]) -> Row:
    """Compare wall times, in turns: the work is done in another process, on a machine that may be busy."""
    rounds = [(best_of(1, theirs).wall, best_of(1, ours).wall) for _ in range(5)]
    plain, measured = (min(times) for times in zip(*rounds, strict=True))
    what = f"count of 10 million records in {engine}, 4 columns, wall time against its own group-by"
    return slower(what, measured, plain, against=f"{engine}: count", most=1.3)
