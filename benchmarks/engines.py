"""How close is a count in an engine to the time of the engine's own group-by, and a release to that of its shuffled copy?"""

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
from unveil.models import KAnonymity

_ROWS = 10_000_000
_KEY = ["age", "sex", "town", "education"]
_RECORDS = """
SELECT (hash % 91)::int AS age, CASE WHEN hash / 91 % 2 = 0 THEN 'f' ELSE 'm' END AS sex,
'town ' || (sqrt(hash / 182 % 40000))::int AS town, (hash / 7280000 % 16)::int AS education
FROM (SELECT i * 2654435761 % 4294967296 AS hash FROM generate_series(1, {rows}) AS series(i)) AS drawn
"""
_QUERY = "SELECT count(*) FROM (SELECT age, sex, town, education, count(*) FROM people GROUP BY 1, 2, 3, 4) AS cells"
"""The group-by alone: its cells stay in the engine."""
_COPY = "CREATE TABLE copied AS SELECT * FROM people ORDER BY random()"


def run() -> list[Row]:
    """Run all benchmarks of this part."""
    return [*in_postgres(), *in_duckdb()]


def in_postgres() -> list[Row]:
    """Count ten million records on the server, and anonymise them into a table, against the same work requested by psql."""
    psql = binary("psql")
    if psql is None or binary("postgres") is None:
        return [not_measured("count of 10 million records in PostgreSQL", "PostgreSQL is not installed", "at most 1.3 times")]
    with local_postgres(shared_buffers="2GB", work_mem="256MB", max_wal_size="8GB") as address:
        with dbapi.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE TABLE people AS " + _RECORDS.format(rows=_ROWS))
            cursor.execute("VACUUM ANALYZE people")

        def ask(query: str) -> None:
            subprocess.run([psql, "-X", "-q", "-A", "-t", "-o", "/dev/null", "-c", query, address], check=True)  # noqa: S603

        return _compared("PostgreSQL", ask, f"{address}?table=")


def in_duckdb() -> list[Row]:
    """Count ten million records in a database file, and anonymise them into a table, against the same work by DuckDB itself."""
    with TemporaryDirectory() as folder:
        file = str(Path(folder) / "people.duckdb")
        with duckdb.connect(file) as connection:
            connection.execute("CREATE TABLE people AS " + _RECORDS.format(rows=_ROWS))

        def ask(query: str) -> None:
            with duckdb.connect(file) as connection:
                connection.execute("SET enable_progress_bar = false")
                connection.execute(query).fetchall()

        return _compared("DuckDB", ask, f"{file}?table=")


def _compared(engine: str, ask: Callable[[str], None], table: str) -> list[Row]:
    """Compare wall times, measured in turns: the work is done in another process, on a machine that may be busy."""
    counts = [
        (best_of(1, lambda: ask(_QUERY)).wall, best_of(1, lambda: unveil.count(f"{table}people", _KEY)).wall) for _ in range(5)
    ]
    releases = []
    for _ in range(3):
        releases.append((best_of(1, lambda: ask(_COPY)).wall, best_of(1, lambda: _released(table)).wall))
        ask("DROP TABLE copied")
        ask("DROP TABLE release")
    plain, measured = (min(times) for times in zip(*counts, strict=True))
    copied, released = (min(times) for times in zip(*releases, strict=True))
    what = f"count of 10 million records in {engine}, 4 columns, wall time against its own group-by"
    other = f"5-anonymity of 10 million records from table to table in {engine}, wall time against its own shuffled copy"
    return [
        slower(what, measured, plain, against=f"{engine}: count", most=1.3),
        slower(other, released, copied),
    ]


def _released(table: str) -> None:
    unveil.anonymize(f"{table}people", _KEY, [KAnonymity(5)], out=f"{table}release", suppression=0.05)
