"""The ledger: nothing is answered that it does not hold, and nobody changes it unseen."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import unveil
from unveil.errors import ArgumentError, OutputError
from unveil.ledger import key_place
from unveil.queries import Differential, Ledger, LedgerError

TABLE = pl.DataFrame({"town": ["a", "b"] * 20, "n": range(40), "pay": [float(x % 7) for x in range(40)]})
ROW = {"analyst": "eve", "account": "open", "question": "q", "mark": "m", "decision": "answered", "reason": "", "answer": "{}"}


def written(path: Path, rows: int) -> Ledger:
    ledger = Ledger(path)
    ledger.bind(data="d", policy="p")
    with ledger.book() as book:
        for row in range(rows):
            book.write({**ROW, "mark": str(row), "cost": row})
    return ledger


def changed(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(statement)
    connection.close()


def test_rows_are_kept_in_a_chain_with_a_head(tmp_path: Path) -> None:
    ledger = written(tmp_path / "g.db", 3)
    found = ledger.verify()
    assert (found["rows"], found["head"]) == (3, ledger.head)
    assert [entry.cost for entry in Ledger(tmp_path / "g.db").history()] == [0, 1, 2]
    assert ledger.verify(found["head"])["intact"]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET cost = 0 WHERE id = 3",
        "UPDATE entries SET analyst = 'bob' WHERE id = 2",
        "UPDATE entries SET answer = '1' WHERE id = 1",
        "DELETE FROM entries WHERE id = 2",
        "DELETE FROM entries WHERE id = 1",
        "INSERT INTO entries SELECT 4, at, analyst, account, question, mark, decision, reason, answer, cost, mac FROM entries WHERE id = 3",
    ],
)
def test_a_changed_row_is_seen(tmp_path: Path, statement: str) -> None:
    written(tmp_path / "g.db", 3).close()
    changed(tmp_path / "g.db", statement)
    with pytest.raises(LedgerError, match="chain is broken"):
        Ledger(tmp_path / "g.db").verify()
    with pytest.raises(LedgerError, match="chain is broken"), Ledger(tmp_path / "g.db").book() as book:
        book.news()


def test_rows_cut_off_are_seen_by_an_open_gate_and_by_the_head(tmp_path: Path) -> None:
    ledger = written(tmp_path / "g.db", 3)
    head = ledger.head
    changed(tmp_path / "g.db", "DELETE FROM entries WHERE id = 3")
    with pytest.raises(LedgerError, match="chain is broken"), ledger.book() as book:
        book.news()
    with pytest.raises(LedgerError, match="cut off"):
        Ledger(tmp_path / "g.db").verify(head)


def test_the_key_is_beside_the_ledger_and_nobody_elses(tmp_path: Path) -> None:
    written(tmp_path / "g.db", 1).close()
    for place in (tmp_path / "g.db", key_place(tmp_path / "g.db")):
        assert stat.S_IMODE(place.stat().st_mode) == 0o600
    key = key_place(tmp_path / "g.db").read_bytes().strip()
    assert key not in (tmp_path / "g.db").read_bytes()


def test_a_ledger_without_its_key_is_refused(tmp_path: Path) -> None:
    written(tmp_path / "g.db", 1).close()
    key_place(tmp_path / "g.db").unlink()
    with pytest.raises(LedgerError, match="key of the ledger"):
        Ledger(tmp_path / "g.db")


def test_a_ledger_under_another_key_is_refused(tmp_path: Path) -> None:
    written(tmp_path / "g.db", 1).close()
    key_place(tmp_path / "g.db").write_text("another key of enough letters")
    ledger = Ledger(tmp_path / "g.db")
    with pytest.raises(LedgerError):
        ledger.bind(data="d", policy="p")
    with pytest.raises(LedgerError, match="chain"):
        ledger.verify()


def test_what_is_no_ledger_is_refused(tmp_path: Path) -> None:
    (tmp_path / "g.db").write_text("hello " * 100)
    key_place(tmp_path / "g.db").write_text("k" * 40)
    with pytest.raises(LedgerError, match="not a ledger"):
        Ledger(tmp_path / "g.db")
    with pytest.raises(unveil.UnveilError, match="cannot be created"):
        Ledger(tmp_path / "nowhere" / "g.db")


def opened(folder: Path, **options: Any) -> unveil.Gate:
    return unveil.Gate(TABLE, **{"ledger": folder / "g.db", "policy": "open", "sensitive": "pay", **options})


def test_a_ledger_belongs_to_one_policy_and_one_table(tmp_path: Path) -> None:
    opened(tmp_path).close()
    for options in ({"policy": "restriction"}, {"key": "town"}, {"nulls": "drop"}, {"bounds": {"pay": (0, 9)}}):
        with pytest.raises(LedgerError, match="another policy"):
            opened(tmp_path, **options)
    with pytest.raises(LedgerError, match="other data"):
        unveil.Gate(TABLE.with_columns(pay=pl.col("pay") + 1), ledger=tmp_path / "g.db", policy="open", sensitive="pay")


def test_a_failed_write_answers_nothing_and_forgets_what_was_decided(tmp_path: Path) -> None:
    gate = opened(tmp_path, policy="restriction")
    half = "SELECT SUM(pay) FROM t WHERE n < 20"
    changed(tmp_path / "g.db", "CREATE TRIGGER full BEFORE INSERT ON entries BEGIN SELECT RAISE(ABORT, 'disk full'); END")
    with pytest.raises(LedgerError):
        gate.ask(half)
    changed(tmp_path / "g.db", "DROP TRIGGER full")
    assert gate.history() == []
    assert gate.ask("SELECT SUM(pay) FROM t WHERE n < 19").answered  # it would be refused had the first one counted
    assert gate.ask(half).reason == "audit"


def spend(path: str, asked: int, offset: int) -> list[int]:
    gate = unveil.Gate(
        TABLE, ledger=path, sensitive="pay", policy=Differential(epsilon=0.1, rho=0.2, analyst_rho=0.2), bounds={"pay": (0, 10)}
    )
    questions = (f"SELECT COUNT(*) FROM t WHERE n < {offset * 1000 + at}" for at in range(asked))
    return [int(gate.ask(question, analyst=f"a{offset}").answered) for question in questions]


def test_processes_that_race_for_a_budget_get_exactly_what_it_covers(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    with context.Pool(2) as pool:
        answered = pool.starmap(spend, [(str(tmp_path / "g.db"), 23, at) for at in range(2)])
    assert sum(map(sum, answered)) == 40  # 0.2 / (0.1 ** 2 / 2)
    gate = unveil.Gate(
        TABLE, ledger=tmp_path / "g.db", sensitive="pay", policy=Differential(epsilon=0.1, rho=0.2, analyst_rho=0.2),
        bounds={"pay": (0, 10)},
    )  # fmt: skip
    assert gate.spent("*")["*"]["differential"] == pytest.approx(0.2)
    assert gate.ledger.verify()["rows"] == 46


def test_a_ledger_waits_for_another_that_is_making_the_same_file(tmp_path: Path) -> None:
    written(tmp_path / "g.db", 0).close()
    other = sqlite3.connect(tmp_path / "g.db", isolation_level=None, check_same_thread=False)
    other.execute("PRAGMA journal_mode=DELETE")  # as a file is that nobody has opened as a ledger yet
    other.execute("BEGIN IMMEDIATE")
    end = threading.Timer(0.3, other.execute, ["COMMIT"])
    end.start()
    assert Ledger(tmp_path / "g.db").verify()["rows"] == 0
    end.join()
    other.close()


ENDLESS = """
import sys, polars as pl, unveil
table = pl.DataFrame({"town": ["a", "b"] * 20, "n": range(40), "pay": [float(x % 7) for x in range(40)]})
gate = unveil.Gate(table, ledger=sys.argv[1], policy="open", sensitive="pay")
at = 0
while True:
    at += 1
    print(at, gate.ask(f"SELECT SUM(pay) FROM t WHERE n < 20 AND n > {-at}.5").value, flush=True)
"""


def test_a_killed_process_has_written_all_that_it_answered(tmp_path: Path) -> None:
    command = [sys.executable, "-c", ENDLESS, str(tmp_path / "g.db")]
    for _ in range(2):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            lines = [process.stdout.readline() for _ in range(5)]
            time.sleep(0.02)
            os.kill(process.pid, signal.SIGKILL)
            lines += process.stdout.readlines()
        whole = [line for line in lines if line.endswith("\n")]
    gate = opened(tmp_path)
    entries = gate.history()
    assert len(whole) >= 5
    assert gate.ledger.verify()["intact"]
    assert len(entries) >= 10
    assert all(json.loads(entry.answer)["value"] is not None for entry in entries)


@pytest.mark.parametrize("name", ["a\0b", "\ud800"])
def test_a_name_that_no_file_can_have_is_refused(name: str) -> None:
    with pytest.raises(ArgumentError, match="characters that no file name may have"):
        Ledger(name)
    with pytest.raises(OutputError, match="too long"):
        Ledger("x" * 5000)
