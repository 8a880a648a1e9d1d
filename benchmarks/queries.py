"""The query gate: the audit, the ledger under many processes, and questions to ten million records in DuckDB."""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np
import polars as pl

import unveil
from benchmarks.rows import Row, at_most, slower
from benchmarks.timing import best_of
from unveil.queries import Differential, Ledger
from unveil.queries.audit import Audit

QUESTIONS = 1_000
RECORDS = 10_000_000
_PROCESSES, _EACH, _AFFORDABLE = 16, 25, 200
_PEOPLE = pl.DataFrame({"n": range(100), "pay": [float(at) for at in range(100)]})


def run() -> list[Row]:
    """Run all benchmarks of this part."""
    return [*audit(), *ledger(), *race(), *engine()]


def audit() -> list[Row]:
    """Decide about random halves of the records, one by one, in processor time."""
    random = np.random.default_rng(0)
    Audit(np.ones(20, dtype=np.int64), 5).add(random.random(20) < 0.5)  # the loops are compiled
    rows = []
    for records, whole in ((10_000, 5.0), (100_000, 15.0)):
        held, times = Audit(np.ones(records, dtype=np.int64), 5), []
        for _ in range(QUESTIONS):
            members = random.random(records) < 0.5
            start = time.process_time()
            held.add(members)
            times.append(time.process_time() - start)
        assert held.rank == QUESTIONS
        job = f"audit of {QUESTIONS:,} sums over {records:,} records"
        rows.append(at_most(f"{job}, all", sum(times), whole, "s"))
        if records == 10_000:
            rows.append(at_most(f"{job}, median", 1000.0 * float(np.median(times)), 2.0, "ms"))
    return rows


def ledger() -> list[Row]:
    """Write rows one by one, each in a transaction of its own; in processor time too, because the disk differs by machine."""
    with tempfile.TemporaryDirectory() as folder:
        held = Ledger(Path(folder, "gate.db"))
        held.bind(policy="p", data="d")
        row = {
            "analyst": "a",
            "account": "open",
            "question": "q",
            "decision": "answered",
            "reason": "",
            "answer": "{}",
            "cost": 1,
        }

        def write() -> None:
            for at in range(100):
                with held.book() as book:
                    book.news()
                    book.write({**row, "mark": str(at)})

        taken = best_of(3, write)
        held.close()
    return [
        at_most("a row of the ledger, processor time", 10.0 * taken.processor, 10.0, "ms"),
        at_most("a row of the ledger, wall time", 10.0 * taken.wall, 10.0, "ms"),
    ]


def race() -> list[Row]:
    """Let sixteen processes ask at once for more than the budget covers."""
    with tempfile.TemporaryDirectory() as folder:
        context = multiprocessing.get_context("spawn")
        with context.Pool(_PROCESSES) as pool:
            answered = sum(pool.starmap(_spend, [(str(Path(folder, "gate.db")), at) for at in range(_PROCESSES)]))
    job = f"overspent questions, {_PROCESSES} processes that ask {_PROCESSES * _EACH:,} of which {_AFFORDABLE:,} are affordable"
    assert answered == _AFFORDABLE
    return [at_most(job, float(answered - _AFFORDABLE), 0.0, "questions")]


def _spend(path: str, process: int) -> int:
    rho = _AFFORDABLE * 0.1**2 / 2
    gate = unveil.Gate(_PEOPLE, ledger=path, sensitive="pay", policy=Differential(epsilon=0.1, rho=rho, analyst_rho=rho))
    texts = (f"SELECT COUNT(*) FROM t WHERE n < {process * 1000 + at}" for at in range(_EACH))
    return sum(gate.ask(text, analyst=f"a{process}").answered for text in texts)


def engine() -> list[Row]:
    """Ask ten million records in DuckDB through an open gate, against the same question to DuckDB itself."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "people.duckdb")
        with duckdb.connect(str(place)) as connection:
            connection.execute(
                "CREATE TABLE people AS SELECT (random() * 70)::INT + 18 AS age, (random() * 50)::INT AS region, "
                f"random() < 0.5 AS member, (random() * 9000)::INT AS pay FROM range({RECORDS})"
            )
        address = f"{place}?table=people"
        opened = best_of(
            1, lambda: unveil.Gate(address, ledger=Path(folder, "a.db"), policy="restriction", sensitive="pay").close()
        )
        gate = unveil.Gate(address, ledger=Path(folder, "b.db"), policy="restriction", sensitive="pay")
        texts = iter(f"SELECT AVG(pay) FROM people WHERE age > {30 + at % 40} AND region < {10 + at // 40}" for at in range(1000))
        gate.ask(next(texts))
        ours = best_of(20, lambda: gate.ask(next(texts)))
        with duckdb.connect(str(place), read_only=True) as connection:
            bare = best_of(
                10, lambda: connection.execute("SELECT AVG(pay) FROM people WHERE age > 45 AND region < 20").fetchall()
            )
            grouped = best_of(
                2,
                lambda: connection.execute(
                    "SELECT age, region, member, SUM(pay), COUNT(*) FROM people GROUP BY 1, 2, 3"
                ).fetchall(),
            )
        gate.close()
    return [
        slower(f"a question to {RECORDS:,} records in DuckDB, wall time against the bare query", ours.wall, bare.wall, most=1.3),
        slower(f"opening a gate on {RECORDS:,} records in DuckDB, wall time against one group-by", opened.wall, grouped.wall),
    ]
