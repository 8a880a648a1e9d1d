"""A first look at a table in an engine: projects and hierarchies are proposed from counts, and are those of the records."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

import unveil
from unveil.cli import run as run_cli
from unveil.errors import ArgumentError
from unveil.sources.engines.table import STATEMENTS

counting = pytest.mark.parametrize("engine", ["duckdb", "duckdb file", "postgresql", "spark"], indirect=True)


def visits(records: int = 300) -> pl.DataFrame:
    """Return visits of people who come several times, with places within places, and columns that say the same."""
    rng = np.random.default_rng(6)
    person = rng.integers(0, 90, records)
    born = [dt.date(1940 + one // 2, 1 + one % 12, 1 + one % 28) for one in person]
    town = person % 30
    return pl.DataFrame(
        {
            "patient_id": person + 1000,
            "sex": ["fm"[one % 2] for one in person],
            "GenderID": person % 2,
            "born": born,
            "age": [2024 - day.year for day in born],
            "town": [f"town {one}" for one in town],
            "county": [None if one >= 27 else f"Köln {one // 3}" for one in town],
            "state": [f"state {one // 15}" for one in town],
            "weight": [None if one == 7 else float("nan") if one == 8 else 50.0 + one % 40 for one in person],
            "job": pl.Series([f"job {one}" for one in rng.integers(0, 8, records)]),
            "diagnosis": rng.choice(["flu", "asthma", "unknown", "gout"], records),
        }
    )


def started(data: Any) -> list[Any]:
    start = unveil.start_project(data)
    document = start.to_dict()
    document.pop("data")
    leaves = {one.column: one.hierarchy.labels for one in start.proposals if one.hierarchy is not None}
    return [document, leaves, start.project.data, [one.missing for one in start.project.attributes.values()]]


def hierarchies(data: Any) -> list[Any]:
    made = [unveil.propose_hierarchy(data, name) for name in ("town", "county", "age", "born", "weight", "diagnosis")]
    made += [unveil.propose_hierarchy(data, "job", similar=["town", "weight", "born"])]
    made += [unveil.check_hierarchy(made[0].hierarchy, data)]
    return [one.to_dict() for one in made]


ASKED: list[Callable[[Any], list[Any]]] = [started, hierarchies, lambda data: [unveil.direct_identifiers(data).to_dict()]]


@contextmanager
def statements() -> Iterator[list[str]]:
    """Record every statement on data, without those on a catalogue or settings."""
    said: list[str] = []
    listener, level = logging.Handler(), STATEMENTS.level
    listener.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    STATEMENTS.addHandler(listener)
    STATEMENTS.setLevel(logging.DEBUG)
    try:
        yield said
    finally:
        STATEMENTS.removeHandler(listener)
        STATEMENTS.setLevel(level)


def columns_in(statement: str) -> list[str]:
    return [name for name in visits().columns if f'"{name}"' in statement]


def counted(said: list[str]) -> list[list[str]]:
    """Return the columns of each statement, after a check that it gives counts and nothing else."""
    on_data = [one for one in said if columns_in(one) or "SELECT *" in one]
    for one in on_data:
        assert "count(*)" in one, one
        assert one.rindex("GROUP BY") > one.rindex("SELECT"), one
    return [columns_in(one) for one in on_data]


@counting
def test_what_is_proposed_is_what_the_records_say(engine: Callable[[pl.DataFrame], Any]) -> None:
    data, frame = engine(visits()), visits()
    for ask in ASKED:
        assert ask(data) == ask(frame)
    said = started(data)
    assert said[0]["say_the_same"], "the test compares something"
    assert any("town in county in state" in " ".join(one["reasons"]) for one in said[0]["columns"])
    assert [one["column"] for one in said[0]["columns"] if one["role"] == "person"] == ["patient_id"]


@counting
def test_columns_are_counted_one_by_one_and_in_pairs(engine: Callable[[pl.DataFrame], Any]) -> None:
    data, names = engine(visits()), visits().columns
    with statements() as said:
        unveil.start_project(data)
    asked = counted(said)
    assert asked[: len(names)] == [[name] for name in names]
    pairs = asked[len(names) :]
    assert all(len(pair) == 2 for pair in pairs)
    assert len(pairs) == len({frozenset(pair) for pair in pairs}) < 12, "most pairs are ruled out by the counts of each column"
    with statements() as said:
        unveil.propose_hierarchy(data, "town")
        unveil.propose_hierarchy(data, "job", similar=["sex", "weight"])
        unveil.direct_identifiers(data, ["born"])
    asked = counted(said)
    assert {len(some) for some in asked} == {1, 2}
    assert {name for some in asked for name in some} == {"town", "county", "state", "job", "sex", "weight", "born"}


@pytest.mark.parametrize("engine", ["duckdb file", "postgresql"], indirect=True)
def test_whose_records_they_are_is_asked_with_numbers(engine: Callable[[pl.DataFrame], Any]) -> None:
    data = engine(visits())
    with statements() as said:
        unveil.start_project(data)
    together = [one for one in said if "patient_id" in one and len(columns_in(one)) == 2]
    steady = {name for one in together for name in columns_in(one)} - {"patient_id"}
    assert steady == {"sex", "GenderID", "born"}
    assert all(one.count("dense_rank()") == 2 for one in together)


@pytest.mark.parametrize("engine", ["duckdb file", "postgresql"], indirect=True)
def test_the_verbs_send_what_the_calls_send(
    engine: Callable[[pl.DataFrame], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    data = engine(visits())
    tree = ["--column", "town", "--out", "town.csv"]
    verbs = [["init", data, "--yes"], ["identifiers", data], ["hierarchy", "build", data, *tree]]
    verbs += [["hierarchy", "check", "town.csv", "--data", data, "--column", "town"]]
    for words in verbs:
        with statements() as said:
            assert run_cli(words) == 0
        asked = counted(said)
        assert asked, words
        assert max(map(len, asked)) <= 2


def test_twins_among_many_columns() -> None:
    rng = np.random.default_rng(4)
    frame = pl.DataFrame({f"q{at}": rng.integers(0, 3, 200) for at in range(90)})
    frame = frame.with_columns(
        (2 - pl.col("q7")).alias("r7"),
        (pl.col("q8") * 5).alias("region"),
        pl.col("q8").reverse().alias("same counts"),
        pl.col("q8").reverse().alias("the same counts"),
    )
    with duckdb.connect() as connection:
        connection.register("held", frame.to_arrow())
        found = unveil.start_project(connection.sql("SELECT * FROM held")).to_dict()
    here = unveil.start_project(frame).to_dict()
    assert found["say_the_same"] == here["say_the_same"]
    assert len(found["say_the_same"]) == 3


def test_a_file_of_an_engine_gets_a_project_that_opens(tmp_path: Path) -> None:
    file = tmp_path / "people.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.register("held", visits().to_arrow())
        connection.execute("CREATE TABLE people AS SELECT * FROM held")
    start = unveil.start_project(file, tmp_path / "unveil.toml")
    start.write()
    assert unveil.Study.of(tmp_path / "unveil.toml").records == 300
    with pytest.raises(ArgumentError, match="an engine's table has its own nulls and types"):
        unveil.start_project(file, text=["patient_id"])


def test_counts_are_enough_for_a_project() -> None:
    frame = visits().select("sex", "town", "county", "state", "diagnosis")
    found, expected = (started(data) for data in (unveil.count(frame, frame.columns), frame))
    assert found == expected


def test_data_that_changes_meanwhile_is_refused() -> None:
    frame = visits()
    with duckdb.connect() as connection:
        connection.register("held", frame.to_arrow())
        connection.execute("CREATE TABLE changing AS SELECT * FROM held")
        study = unveil.Study(connection.sql("SELECT * FROM changing"))
        columns = unveil.study.columns_of(study, ["town", "state"])
        connection.execute("INSERT INTO changing SELECT * REPLACE ('elsewhere' AS town) FROM changing LIMIT 1")
        with pytest.raises(unveil.errors.DataChangedError, match="the data changed while it was counted"):
            columns.joint("town", "state")
