"""A long call is cancelled from another thread and from another process, and ends soon, whatever it is doing.

The bounds are generous, since other work may share the machine; every call here would last many times as long.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import unveil
from unveil.errors import CancelledError
from unveil.models import KAnonymity
from unveil.run import Limits, Run

SOON = 20.0
"""Seconds within which a cancelled call has ended; it ends within one where the machine has nothing else to do."""
Job = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]

JOBS: dict[str, Callable[[Path], Job]] = {}


def job(make: Callable[[Path], Job]) -> Callable[[Path], Job]:
    """Put a long call on the list."""
    JOBS[make.__name__] = make
    return make


def numbers(rows: int, columns: int, values: int) -> pl.DataFrame:
    random = np.random.default_rng(0)
    return pl.DataFrame({f"c{at}": random.integers(0, values + at, rows) for at in range(columns)})


@job
def scan(_: Path) -> Job:
    return unveil.scan, (numbers(300_000, 18, 3),), {}


@job
def assess(_: Path) -> Job:
    return unveil.assess, (numbers(300_000, 14, 3),), {"max_size": 14}


@job
def anonymize(_: Path) -> Job:
    table = numbers(100_000, 9, 40)
    return unveil.anonymize, (table, table.columns, [KAnonymity(5)]), {"suppression": 0.01}


@job
def attack(_: Path) -> Job:
    table = numbers(1_000_000, 4, 5000).with_columns(sex=pl.Series(["f", "m"] * 500_000))
    released = table.with_columns(
        c0=(pl.col("c0") // 10 * 10).cast(pl.String) + "-" + (pl.col("c0") // 10 * 10 + 9).cast(pl.String)
    )
    return unveil.attack, (table, released), {"same_order": True}


@job
def microaggregate(_: Path) -> Job:
    random = np.random.default_rng(0)
    table = pl.DataFrame({name: random.normal(size=200_000) for name in "abc"})
    return unveil.mechanisms.microaggregate, (table, ["a", "b", "c"]), {"k": 3}


@job
def suppress_locally(_: Path) -> Job:
    return unveil.suppress_locally, (numbers(200_000, 8, 9), [f"c{at}" for at in range(8)], 5), {}


@job
def duckdb(folder: Path) -> Job:
    import duckdb

    file = folder / "long.duckdb"
    with duckdb.connect(str(file)) as connection:
        # a view whose count takes hours: every pair of two million numbers
        connection.execute(
            "CREATE VIEW pairs AS SELECT hash(a.range, b.range) % 1000 AS a FROM range(2000000) a, range(2000000) b"
        )
    return unveil.discrimination_rate, (f"{file}?table=pairs", "a"), {}


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    from benchmarks.local_postgres import binary, local_postgres

    if binary("postgres") is None:
        pytest.skip("PostgreSQL's server is not installed (Debian: apt-get install postgresql)")
    with local_postgres() as address:
        yield address


def queries(address: str) -> int:
    """Return how many of our queries the server is running."""
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%\"endless\"%' AND pid <> pg_backend_pid()"
        )
        return int(cursor.fetchone()[0])


@pytest.fixture(scope="module")
def endless(postgres: str) -> str:
    """A view that the server would count for hours."""
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(postgres, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(
            "CREATE VIEW endless AS SELECT (x * y) % 1000 AS a FROM generate_series(1, 1000000) x, generate_series(1, 1000000) y"
        )
    return f"{postgres}?table=endless"


def cancelled_after(seconds: float, call: Callable[[Run], object]) -> float:
    """Cancel a call from another thread after a while, and return how long it took to end."""
    run, at = Run(), []

    def cancel() -> None:
        at.append(time.monotonic())
        run.cancel()

    timer = threading.Timer(seconds, cancel)
    timer.start()
    try:
        with pytest.raises(CancelledError):
            call(run)
        return time.monotonic() - at[0]
    finally:
        timer.cancel()


def called(function: Callable[..., Any], *values: Any, **options: Any) -> Callable[[Run], object]:
    def call(run: Run) -> object:
        with run:
            return function(*values, **options)

    return call


def called_in_process(function: Callable[..., Any], *values: Any, **options: Any) -> Callable[[Run], object]:
    return lambda run: unveil.run_in_process(function, *values, run=run, **options)


@pytest.mark.parametrize("name", JOBS)
def test_a_long_call_is_cancelled_from_another_thread(name: str, tmp_path: Path) -> None:
    function, values, options = JOBS[name](tmp_path)
    assert cancelled_after(1.0, called(function, *values, **options)) < SOON


@pytest.mark.parametrize("name", ["scan", "assess", "anonymize", "attack", "duckdb"])
def test_a_long_call_is_cancelled_from_another_process(name: str, tmp_path: Path) -> None:
    function, values, options = JOBS[name](tmp_path)
    assert cancelled_after(2.5, called_in_process(function, *values, **options)) < SOON


@pytest.mark.parametrize(("call", "after"), [(called, 1.0), (called_in_process, 2.5)], ids=["thread", "process"])
def test_a_query_is_cancelled_in_the_server(call: Callable[..., Any], after: float, postgres: str, endless: str) -> None:
    assert cancelled_after(after, call(unveil.discrimination_rate, endless, "a")) < SOON
    end = time.monotonic() + SOON
    while queries(postgres) and time.monotonic() < end:
        time.sleep(0.05)
    assert queries(postgres) == 0


def test_a_call_past_its_time_ends(tmp_path: Path) -> None:
    function, values, options = JOBS["scan"](tmp_path)
    with pytest.raises(CancelledError, match="time limit"), Run(limits=Limits(time=0.5)):
        function(*values, **options)
