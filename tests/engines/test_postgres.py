"""PostgreSQL: types, read-only transactions, credentials, and what a failing server says."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl
import pytest

import unveil
from helpers import started
from unveil.errors import EngineError, UnsupportedDataError
from unveil.models import KAnonymity
from unveil.sources import open_source

Run = Callable[..., list[tuple[Any, ...]]]

UNVEIL = str(Path(sys.executable).with_name("unveil"))
SECRET = "hunter2"  # noqa: S105 - the one that must not be seen


@pytest.fixture(scope="module")
def types(postgres: str, run: Run) -> str:
    run(
        "CREATE TYPE mood AS ENUM ('sad', 'ok')",
        "CREATE DOMAIN small AS int CHECK (value < 10)",
        "CREATE TYPE pair AS (a int, b int)",
        """CREATE TABLE types (m mood, s small, d numeric(10, 2), free numeric, u uuid, t timestamptz, i interval, c char(4),
           j jsonb, x xml, address inet, whole numeric(30, 0), far date, pairs pair, flags bit(3), p point)""",
        """INSERT INTO types VALUES
           ('ok', 3, 1.50, 1e-20, '00000000-0000-0000-0000-00000000000a', '2020-01-01 00:00+02', '1 mon', 'ab', '{"a": 1}', '<a/>',
            '::1', 7, 'infinity', (1, 2), '101', '(1,2)'),
           ('sad', 3, 1.5, 'NaN', null, '2019-12-31 22:00+00', '30 days', 'ab ', '{"a":1}', '<a/>', '::1', 7, '2020-01-01', (1, 2),
            '101', '(1,2)')""",
    )
    return f"{postgres}?table=types&schema=public"


def test_types_are_counted_as_their_values(types: str) -> None:
    def counted(name: str) -> list[tuple[str, int]]:
        table = unveil.count(types, [name])
        return [(str(table.columns[0].values[code]), int(n)) for code, n in zip(table.codes[0], table.n, strict=True)]

    assert counted("m") == [("ok", 1), ("sad", 1)]
    assert counted("d") == [("1.50", 2)]
    assert counted("free") == [("1E-20", 1), ("None", 1)]
    assert counted("u") == [("00000000-0000-0000-0000-00000000000a", 1), ("None", 1)]
    assert counted("i") == [("1 mon", 1), ("30 days", 1)]
    assert counted("c") == [("ab", 2)]
    assert [len(counted(name)) for name in ("s", "t", "j", "x", "address", "whole", "flags", "p")] == [1] * 8
    assert unveil.count(types, ["whole"]).columns[0].values == (7,)


def test_numbers_too_long_for_a_decimal(postgres: str, run: Run) -> None:
    run("CREATE TABLE long (a numeric)", "INSERT INTO long VALUES (1e200), (1e-200), ('infinity'), (2), (2.0)")
    assert unveil.count(f"{postgres}?table=long", ["a"]).columns[0].values == (1e-200, 2.0, 1e200, float("inf"))


def test_domains_are_followed_to_their_type(postgres: str, run: Run, tmp_path: Path) -> None:
    run(
        "CREATE DOMAIN whole AS int CHECK (value < 100)", "CREATE DOMAIN few AS whole CHECK (value < 10)",
        "CREATE DOMAIN share AS float8", "CREATE DOMAIN part AS share", "CREATE DOMAIN price AS numeric(6, 2)",
        "CREATE DOMAIN raw AS bytea", "CREATE DOMAIN secret AS raw",
        """CREATE TABLE domains AS SELECT (i % 3)::few AS n, (CASE i % 3 WHEN 0 THEN 'NaN' ELSE '0.5' END)::float8::part AS f,
           (i % 3 + 0.5)::price AS p, '\\x00'::bytea::secret AS s FROM generate_series(1, 30) AS i""",
    )  # fmt: skip
    address = f"{postgres}?table=domains"
    held = open_source(address).collect(["n", "f", "p"])
    assert [dtype.is_numeric() for dtype in held.dtypes] == [True] * 3
    assert [column.values for column in unveil.count(address, ["n", "f"]).columns] == [(0, 1, 2), (0.5, None)]
    with pytest.raises(UnsupportedDataError, match="column 's' holds bytea values"):
        unveil.count(address, ["s"])
    release = unveil.anonymize(address, ["n"], [KAnonymity(2)], out=tmp_path / "r.parquet")
    assert release.data.collect_schema()["p"] == pl.Decimal(38, 2)


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_infinite_dates_are_not_written_into_a_file(types: str, tmp_path: Path, ending: str) -> None:
    """They are no key, so they were not counted."""
    with pytest.raises(UnsupportedDataError, match="column 'far' holds infinite dates"):
        unveil.anonymize(types, ["whole"], [KAnonymity(1)], out=tmp_path / f"r.{ending}", keep="far")
    assert not list(tmp_path.iterdir())


def test_composites_and_infinite_dates_are_refused(types: str) -> None:
    with pytest.raises(UnsupportedDataError, match="column 'pairs' holds pair values, which cannot be counted"):
        unveil.count(types, ["pairs"])
    with pytest.raises(UnsupportedDataError, match="column 'far' holds infinite dates"):
        unveil.count(types, ["far"])


def test_a_release_into_a_schema_that_is_not_there(postgres: str, run: Run) -> None:
    run("CREATE VIEW never AS SELECT 1 AS a, pg_sleep(600)::text AS b")
    with pytest.raises(EngineError, match=r"\?schema=nowhere&table=r: the database has no such schema"):  # before the count
        unveil.anonymize(f"{postgres}?table=never", ["b"], [KAnonymity(1)], out=f"{postgres}?table=r&schema=nowhere")


def test_views_and_schemas(postgres: str, run: Run) -> None:
    run('CREATE SCHEMA "the schema"', 'CREATE VIEW "the schema".v AS SELECT generate_series(1, 6) % 2 AS a')
    assert unveil.count(f"{postgres}?table=v&schema=the schema", ["a"]).n.tolist() == [3, 3]


def test_a_view_that_writes_is_refused(postgres: str, run: Run) -> None:
    run(
        "CREATE TABLE seen (a int)",
        "CREATE FUNCTION note() RETURNS int LANGUAGE sql VOLATILE AS 'INSERT INTO seen VALUES (1) RETURNING a'",
        "CREATE VIEW writing AS SELECT note() AS a",
    )
    with pytest.raises(EngineError, match=r"PostgreSQL could not run the query \(SQLSTATE 25006\)"):
        unveil.count(f"{postgres}?table=writing", ["a"])
    assert run("SELECT count(*) FROM seen") == [(0,)]


def test_a_failing_row_is_not_quoted(postgres: str, run: Run) -> None:
    run("CREATE TABLE texts (a text)", f"INSERT INTO texts VALUES ('{SECRET}')", "CREATE VIEW cast_ AS SELECT a::int FROM texts")  # noqa: S608
    with pytest.raises(EngineError, match="SQLSTATE 22P02") as failure:
        unveil.count(f"{postgres}?table=cast_", ["a"])
    assert SECRET not in str(failure.value)


def test_a_table_that_is_not_there(postgres: str, run: Run) -> None:
    run("CREATE TABLE IF NOT EXISTS people (age int)")
    with pytest.raises(EngineError, match=r"table=peple: there is no such table; tables are: .*people"):
        unveil.count(f"{postgres}?table=peple", ["age"])
    with pytest.raises(EngineError, match="there is no such table"):
        unveil.count(f'{postgres}?table=people"; DROP TABLE people; --', ["age"])
    assert unveil.sources.open_source(f"{postgres}?table=people").names == ("age",)


def test_a_query_cancelled_on_the_server(postgres: str, run: Run) -> None:
    run("CREATE VIEW slow AS SELECT pg_sleep(60)::text AS a")
    stop = threading.Event()

    def cancel() -> None:
        while not stop.wait(0.05):
            run(
                "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND state = 'active' AND query LIKE '%COPY%\"slow\"%'"
            )

    thread = threading.Thread(target=cancel)
    thread.start()
    try:
        with pytest.raises(EngineError, match="the query was cancelled, by a person or by a time limit"):
            unveil.count(f"{postgres}?table=slow", ["a"])
    finally:
        stop.set()
        thread.join()


def test_the_environment_and_a_service_file_hold_credentials(
    postgres: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(f"CREATE ROLE locked LOGIN PASSWORD '{SECRET}'", "CREATE TABLE open_ (a int)", "INSERT INTO open_ VALUES (1)")
    run("GRANT SELECT ON open_ TO locked", "CREATE TABLE closed (a int)")
    server = postgres.partition("@")[2]
    monkeypatch.setenv("PGUSER", "locked")
    monkeypatch.setenv("PGPASSWORD", SECRET)
    assert unveil.count(f"postgresql://{server}?table=open_", ["a"]).records == 1
    with pytest.raises(EngineError, match="the user may not read the table"):
        unveil.count(f"postgresql://{server}?table=closed", ["a"])
    monkeypatch.setenv("PGPASSWORD", "wrong")
    with pytest.raises(EngineError, match="the server does not accept the user or the password"):
        unveil.count(f"postgresql://{server}?table=open_", ["a"])
    monkeypatch.delenv("PGUSER")
    host, _, rest = server.partition(":")
    service = f"[census]\nhost={host}\nport={rest.partition('/')[0]}\ndbname=postgres\nuser=locked\npassword={SECRET}\n"
    (tmp_path / "services").write_text(service)
    monkeypatch.delenv("PGPASSWORD")
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    assert unveil.count("postgresql:///?service=census&table=open_", ["a"]).records == 1
    with pytest.raises(EngineError, match="the service file has no such service"):
        unveil.count("postgresql:///?service=none&table=open_", ["a"])


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("postgresql://127.0.0.1:1/d?table=t", "postgresql://127.0.0.1:1/d?table=t: nothing listens there"),
        ("{server}/nowhere?table=t", "the server has no such database"),
        ("{server}/postgres", "name the table with"),
        ("{server}/postgres?table=t&colour=red", "the address holds a setting that libpq does not know"),
    ],
)
def test_no_connection(postgres: str, address: str, message: str) -> None:
    with pytest.raises(unveil.errors.UnveilError) as failure:
        open_source(address.format(server=postgres.rpartition("/")[0]))
    assert message in str(failure.value)
    assert "unveil" not in str(failure.value)  # the role's name


def test_the_command_line(postgres: str, run: Run) -> None:
    run('CREATE TABLE "crowd é" (age int, town text)')
    run("INSERT INTO \"crowd é\" SELECT i % 7, 'town' || i % 3 FROM generate_series(1, 100) AS i")

    def command(address: str, *words: str) -> subprocess.CompletedProcess[str]:
        called = [UNVEIL, "dr", address, "--key", "age", *words]
        return subprocess.run(called, capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "200"})

    address = f"{postgres.replace('unveil@', f'unveil:{SECRET}@')}?table={quote('crowd é')}"
    done = command(address, "--sensitive", "town", "--json")
    assert done.returncode == 0, done.stderr
    assert '"records": 100' in done.stdout
    assert SECRET not in done.stdout + done.stderr
    wrong = command(address.replace("postgres?", "nowhere?"))
    assert (wrong.returncode, wrong.stdout, wrong.stderr.count("\n")) == (2, "", 1)
    assert SECRET not in wrong.stderr


def test_an_interrupt_ends_the_query_and_leaves_no_table(postgres: str, run: Run) -> None:
    run("CREATE TABLE waiting AS SELECT 1 AS a", "CREATE VIEW patient AS SELECT a, pg_sleep(60)::text AS b FROM waiting")
    run(
        "CREATE VIEW writing_long AS SELECT a, CASE WHEN current_setting('transaction_read_only') = 'off' THEN pg_sleep(60)::text END AS b FROM waiting"
    )
    commands = [["dr", f"{postgres}?table=patient", "--key", "b"]]
    commands.append(
        ["anonymize", f"{postgres}?table=writing_long", "--key", "a", "--k", "1", "--out", f"{postgres}?table=interrupted"]
    )
    for words in commands:
        process = started([UNVEIL, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while not run("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'")[0][0]:
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, said = process.communicate(timeout=30)
        assert (process.returncode, out, said) == (130, "", "unveil: interrupted; nothing was written.\n")
        assert run("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") == [(0,)]
    assert run("SELECT count(*) FROM pg_class WHERE relname = 'interrupted'") == [(0,)]


def test_the_server_stays_as_it_was(run: Run) -> None:
    deadline = time.monotonic() + 10
    while (left := run("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'")) != [(1,)]:
        assert time.monotonic() < deadline, f"{left} connections are left open"
        time.sleep(0.05)
