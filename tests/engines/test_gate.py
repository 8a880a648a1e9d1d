"""A gate answers the same wherever the data is, and no record leaves an engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import unveil
from unveil.errors import DataChangedError
from unveil.queries import Differential, LedgerError

RANDOM = np.random.default_rng(3)
N = 300
TABLE = pl.DataFrame(
    {
        "age": RANDOM.integers(20, 60, N),
        'so "called" town': RANDOM.choice(["a", "o'x", "back\\slash", "é"], N),
        "pay": RANDOM.integers(-500, 9000, N),
        "score": RANDOM.normal(0, 3, N),
        "disease": RANDOM.choice(["flu", "aids"], N),
    }
).with_columns(score=pl.when(pl.col("age") == 33).then(float("nan")).otherwise(pl.col("score")))
SENSITIVE = ["pay", "score", "disease"]
QUESTIONS = [
    "SELECT COUNT(*), SUM(pay), AVG(pay), VARIANCE(pay), MIN(pay), MAX(pay), COUNT(score), AVG(score) FROM t WHERE age > 30",
    "SELECT SUM(pay) FROM t WHERE \"so \"\"called\"\" town\" IN ('o''x', 'back\\slash') OR age < 25",
    'SELECT COUNT(*) FROM t WHERE "so ""called"" town" > \'b\' AND disease = \'aids\'',
    'SELECT COUNT(*) FROM t WHERE pay > 4000 AND NOT "so ""called"" town" = \'back\\slash\'',
    "SELECT COUNT(*) FROM t WHERE score < 0 OR age = 33",
    'SELECT AVG(pay) FROM t GROUP BY "so ""called"" town"',
]

counting = pytest.mark.parametrize("engine", ["duckdb", "duckdb file", "postgresql", "spark"], indirect=True)


def numbers(gate: unveil.Gate, question: str) -> list[Any]:
    return [one.decision.value for one in gate.ask(question).numbers]


@counting
def test_answers_are_those_of_the_records_in_hand(engine: Any, tmp_path: Path) -> None:
    options: dict[str, Any] = {"policy": "open", "sensitive": SENSITIVE, "nulls": "drop"}
    here = unveil.Gate(TABLE, ledger=tmp_path / "here.db", **options)
    held = engine(TABLE)
    there = unveil.Gate(held, ledger=tmp_path / "there.db", **options)
    for question in QUESTIONS:
        assert numbers(there, question) == pytest.approx(numbers(here, question))
    again = unveil.Gate(held, ledger=tmp_path / "there.db", **options)  # the fingerprint is the same
    assert again.ask(QUESTIONS[1]).cost == 0
    changed = TABLE.with_columns(score=pl.when(pl.col("age") == 20).then(pl.col("score") + 0.01).otherwise(pl.col("score")))
    with pytest.raises(LedgerError, match="other data"):
        unveil.Gate(engine(changed), ledger=tmp_path / "there.db", **options)


@counting
def test_bounded_sums_are_taken_in_the_engine(engine: Any, tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "policy": Differential(epsilon=40.0, rho=900.0, analyst_rho=900.0), "sensitive": ["pay"], "bounds": {"pay": (0, 1000)},
    }  # fmt: skip
    found = unveil.Gate(engine(TABLE), ledger=tmp_path / "g.db", **options).ask("SELECT SUM(pay) FROM t WHERE age > 30").value
    expected = TABLE.filter(pl.col("age") > 30)["pay"].clip(0, 1000).sum()
    assert found == pytest.approx(expected, abs=1000)


def test_a_table_that_changes_meanwhile_answers_nothing(tmp_path: Path) -> None:
    import duckdb

    place = tmp_path / "people.duckdb"
    with duckdb.connect(str(place)) as connection:
        connection.register("held", TABLE.to_arrow())
        connection.execute("CREATE TABLE people AS SELECT * FROM held")
    gate = unveil.Gate(f"{place}?table=people", ledger=tmp_path / "g.db", policy="open", sensitive=SENSITIVE, nulls="drop")
    before = gate.ask("SELECT SUM(pay) FROM t").value
    with duckdb.connect(str(place)) as connection:
        connection.execute("INSERT INTO people SELECT * FROM people LIMIT 1")
    assert gate.ask("SELECT SUM(pay) FROM t WHERE age > 0").value == before  # of the moment when it was opened
    with pytest.raises(DataChangedError):
        gate.ask("SELECT COUNT(*) FROM t WHERE pay > 3")
