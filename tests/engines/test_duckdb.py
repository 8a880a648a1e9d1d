"""DuckDB: types, files opened for reading only, and what a failing query says."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import duckdb
import pytest

import unveil
from helpers import started
from unveil.errors import ArgumentError, DataFileError, DataNotFoundError, EngineError, UnsupportedDataError

UNVEIL = str(Path(sys.executable).with_name("unveil"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "census.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE people AS SELECT range % 7 AS age, range % 3 AS town FROM range(100)")
    return path


def test_types_are_counted_as_their_values() -> None:
    relation: Any = duckdb.sql("""
        SELECT 170141183460469231731687303715884105727::HUGEINT AS huge, 7::HUGEINT AS whole, 1.50::DECIMAL(9, 2) AS exact,
        '00000000-0000-0000-0000-00000000000a'::UUID AS id, INTERVAL 1 DAY AS span, 'ok'::ENUM ('sad', 'ok') AS mood,
        TIME '10:00' AS hour, TIMESTAMPTZ '2020-01-01 00:00+00' AS moment, '101'::BIT AS flags, NULL AS nothing
    """)
    values = {name: unveil.count(relation, [name]).columns[0].values for name in relation.columns}
    assert values["whole"] == (7,)
    assert str(values["huge"][0]) == "1.7014118346046923e+38"
    assert [str(values[name][0]) for name in ("exact", "id", "span", "mood", "hour", "flags", "nothing")] == [
        "1.50", "00000000-0000-0000-0000-00000000000a", "1 day", "ok", "10:00:00", "101", "None",
    ]  # fmt: skip


def test_texts_are_told_apart_whatever_their_collation() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (a VARCHAR COLLATE NOCASE); INSERT INTO t VALUES ('x'), ('X'), ('x')")
    assert unveil.count(connection.table("t"), ["a"]).n.tolist() == [1, 2]


@pytest.mark.parametrize("kind", ["[1]", "{'a': 1}", "MAP {1: 2}", "'x'::BLOB", "[1, 2]::INT[2]"])
def test_what_cannot_be_counted(kind: str) -> None:
    with pytest.raises(UnsupportedDataError, match=r"column 'a' holds .* values, which cannot be counted"):
        unveil.count(duckdb.sql(f"SELECT {kind} AS a"), ["a"])


def test_the_only_table_needs_no_name(file: Path) -> None:
    assert unveil.count(file, ["age"]).records == 100
    assert unveil.count(f"duckdb://{file}", ["age"]).records == 100
    with duckdb.connect(str(file)) as connection:
        connection.execute("CREATE SCHEMA s; CREATE TABLE s.t AS SELECT 1 AS a; CREATE VIEW other AS SELECT 1 AS a")
    with pytest.raises(ArgumentError, match=r"name the table with \?table=NAME; there are: other, people"):
        unveil.count(file, ["age"])
    assert unveil.count(f"{file}?schema=s&table=t", ["a"]).records == 1


def test_what_is_not_there(file: Path, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="table=peple: there is no such table; tables are: people"):
        unveil.count(f"{file}?table=peple", ["age"])
    with pytest.raises(DataNotFoundError, match="there is no such file"):
        unveil.count(tmp_path / "none.duckdb", ["age"])
    (tmp_path / "text.duckdb").write_text("age,town\n" * 1000)
    with pytest.raises(DataFileError, match="the file is damaged or no DuckDB database"):
        unveil.count(tmp_path / "text.duckdb", ["age"])
    with pytest.raises(ArgumentError, match="is followed by"):
        unveil.count(f"{file}?tabel=people", ["age"])


def test_a_file_open_for_writing(file: Path) -> None:
    with duckdb.connect(str(file)) as connection:
        with pytest.raises(EngineError, match=r"this program has the file open already; give the relation itself"):
            unveil.count(file, ["age"])
        assert unveil.count(connection.table("people"), ["age"]).records == 100
        other = subprocess.run(
            [UNVEIL, "dr", f"{file}?table=people", "--key", "age"],
            capture_output=True,
            text=True,
            check=False,
        )
    assert (other.returncode, other.stdout, other.stderr.count("\n")) == (2, "", 1)
    assert "another program has the file open for writing" in other.stderr


def test_the_command_line(file: Path) -> None:
    command = [UNVEIL, "dr", f"{file}?table=people", "--key", "age", "--json"]
    before = file.read_bytes()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert '"records": 100' in done.stdout
    assert file.read_bytes() == before


def test_an_interrupt_ends_the_query(tmp_path: Path) -> None:
    file = tmp_path / "long.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute("CREATE VIEW long AS SELECT range % 7 AS a FROM range(1_000_000_000_000)")
    command = [UNVEIL, "dr", f"{file}?table=long", "--key", "a"]
    process = started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while _seconds_worked(process.pid) < 4:
        assert process.poll() is None, process.communicate()
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    try:
        out, said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, out, said) == (130, "", "unveil: interrupted; nothing was written.\n")


def _seconds_worked(process: int) -> float:
    """Return the processor time of a process: a query that runs uses it up, one that has not begun does not."""
    user, system = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def test_a_failing_row_is_not_quoted() -> None:
    relation = duckdb.sql("SELECT CAST(a AS INT) AS a FROM (VALUES ('hunter2')) AS t(a)")
    with pytest.raises(EngineError, match=r"DuckDB could not run the query \(ConversionException\)") as failure:
        unveil.count(relation, ["a"])
    assert "hunter2" not in str(failure.value)


def test_the_extra_that_is_missing_is_named(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(unveil.errors.MissingExtraError, match=r"pip install 'unveil\[duckdb\]'"):
        unveil.count(file, ["age"])
