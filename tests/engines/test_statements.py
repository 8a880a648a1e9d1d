"""What is sent to an engine: counts of the columns that are named, never records, and one connection per call."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import unveil
from unveil.partitions.builders import Intervals
from unveil.sources import open_source
from unveil.sources.engines.table import STATEMENTS

PEOPLE = pl.DataFrame(
    {
        "age": [21, 24, 35, 38, 35, 21],
        "sex": ["f", "m", "f", "m", "f", "f"],
        "mail": [f"p{number}@example.org" for number in range(6)],
        "salary": [1000, 2000, 3000, 4000, 5000, 6000],
    }
)
NEED = unveil.Need("sex", target="sex", given="age")
SEXES = unveil.Hierarchy("sex", [["f", "*"], ["m", "*"]])
RULES = {"k_anonymity": 2, "discrimination_rate": 0.5}
CALLS: dict[str, Callable[[Any], Any]] = {
    "dr": lambda data: unveil.discrimination_rate(data, "age", "sex"),
    "scan": lambda data: unveil.scan(data, ["age", "sex"]),
    "measure": lambda data: unveil.measure(data, "age", "sex"),
    "utility": lambda data: unveil.utility(data, NEED),
    "check": lambda data: unveil.check(data, RULES, key="age", sensitive="sex"),
    "compare": lambda data: unveil.compare({"original": data, "copy": data}, "age", "sex", needs=NEED),
    "assess": lambda data: unveil.assess(data, "age", "sex"),
    "check for identifiers": lambda data: unveil.check(
        data, {"k_anonymity": 2, "direct_identifiers": 0}, key="age", sensitive="sex"
    ),
    "count": lambda data: unveil.count(data, ["age", "sex"]),
    "table": lambda data: unveil.table(data, by=["age", "sex"]),
    "init": unveil.start_project,
    "identifiers": unveil.direct_identifiers,
    "hierarchy": lambda data: unveil.propose_hierarchy(data, "age"),
    "hierarchy by another column": lambda data: unveil.propose_hierarchy(data, "sex", similar="age"),
    "hierarchy by a rule": lambda data: unveil.build_hierarchy(data, "age", Intervals((10, 20))),
    "hierarchy checked": lambda data: unveil.check_hierarchy(SEXES, data),
}
LOOKING = ("assess", "check", "check for identifiers", "init", "identifiers")
"""Calls that look for direct identifiers, and so at every column, one by one."""


@pytest.fixture(params=["duckdb", "postgres"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a table of four columns."""
    if request.param == "duckdb":
        file = tmp_path / "people.duckdb"
        with duckdb.connect(str(file)) as connection:
            connection.register("given", PEOPLE.to_arrow())
            connection.execute("CREATE TABLE persons AS SELECT * FROM given")
        return f"{file}?table=persons"
    address, run = request.getfixturevalue("postgres"), request.getfixturevalue("run")
    rows = ", ".join(str(row) for row in PEOPLE.rows())
    run(
        "DROP TABLE IF EXISTS persons",
        "CREATE TABLE persons (age int, sex text, mail text, salary int)",
        f"INSERT INTO persons VALUES {rows}",  # noqa: S608 - our own,
    )
    return f"{address}?table=persons"


@contextmanager
def listening() -> Iterator[list[str]]:
    """Record every statement on the data, without those on the catalogue and on transactions."""
    statements: list[str] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            text = record.getMessage()
            if "persons" in text:
                statements.append(text)

    listener, level = Listener(), STATEMENTS.level
    STATEMENTS.addHandler(listener)
    STATEMENTS.setLevel(logging.DEBUG)
    try:
        yield statements
    finally:
        STATEMENTS.removeHandler(listener)
        STATEMENTS.setLevel(level)


def columns_in(statement: str) -> set[str]:
    return {name for name in PEOPLE.columns if f'"{name}"' in statement or f"({name})" in statement}


def test_only_counts_of_the_columns_named_are_asked_for(table: str) -> None:
    for name, call in CALLS.items():
        with listening() as statements:
            call(table)
        assert statements, name
        for statement in statements:
            assert "count" in statement.lower(), (name, statement)
            assert "GROUP BY" in statement, (name, statement)
            others = columns_in(statement) - {"age", "sex"}
            assert not others or (name in LOOKING and len(columns_in(statement)) == 1), (name, statement)


def test_every_set_of_columns_is_counted_once(table: str) -> None:
    with listening() as statements:
        unveil.assess(table, "age", "sex")
    assert sorted(map(sorted, map(columns_in, statements))) == [["age", "sex"], ["mail"], ["salary"]]
    with listening() as statements:
        study = unveil.Study(table, key="age", sensitive="sex")
        unveil.measure(study)
        unveil.discrimination_rate(study)
        unveil.scan(study)
        unveil.check(study, RULES)
    assert list(map(columns_in, statements)) == [{"age", "sex"}, {"mail"}, {"salary"}]


def test_answers_are_those_of_the_records(table: str) -> None:
    for name, call in CALLS.items():
        there, here = call(table).to_dict(), call(PEOPLE).to_dict()
        for document in (there, here):
            for named in ("data", "files", "advice", "release", "title", "notes"):  # where the data is
                document.pop(named, None)
            for column in document.get("never_measured", ()):  # counts of the key and another column do not leave an engine
                column.pop("by_key", None)
                column.pop("with_key", None)
        assert there == here, name


def test_attacks_read_only_the_columns_they_need(table: str) -> None:
    with listening() as statements:
        unveil.attack(table, table, "age", "sex", id="mail", link_records=False)
    assert not any("salary" in statement for statement in statements)


def test_a_call_opens_one_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And keeps none: the file can be written once the call has answered, or failed."""
    file = tmp_path / "people.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.register("given", PEOPLE.to_arrow())
        connection.execute("CREATE TABLE persons AS SELECT * FROM given")
    opened, connect = [], duckdb.connect

    def counted(*arguments: Any, **options: Any) -> Any:
        opened.append(arguments)
        return connect(*arguments, **options)

    monkeypatch.setattr(duckdb, "connect", counted)
    unveil.assess(str(file), "age", "sex")
    assert len(opened) == 1
    with pytest.raises(unveil.UnveilError) as failure:
        unveil.measure(str(file), "age", "nobody")
    assert "nobody" in str(failure.value)
    with connect(str(file)) as connection:
        connection.execute("INSERT INTO persons SELECT * FROM persons")


@contextmanager
def every_statement() -> Iterator[list[str]]:
    """Record what the logger says, whatever it is about."""
    statements: list[str] = []
    listener, level = logging.Handler(), STATEMENTS.level
    listener.emit = lambda record: statements.append(record.getMessage())  # type: ignore[method-assign]
    STATEMENTS.addHandler(listener)
    STATEMENTS.setLevel(logging.DEBUG)
    try:
        yield statements
    finally:
        STATEMENTS.removeHandler(listener)
        STATEMENTS.setLevel(level)


def test_what_writes_a_release_is_logged(table: str) -> None:
    with every_statement() as statements:
        unveil.anonymize(table, ["age", "sex"], [unveil.models.KAnonymity(2)], suppression=1.0, out=f"{table}_made")
    made = [one for one in statements if one.startswith("CREATE TABLE") and "persons_made" in one]
    held = [one for one in statements if one.startswith("CREATE TEMP TABLE")]
    dropped = [one for one in statements if one.startswith("DROP TABLE")]
    assert len(made) == 1
    assert held
    assert dropped


def test_sums_are_logged(table: str) -> None:
    source: Any = open_source(table)
    with every_statement() as statements:
        source.aggregated(["sex"], lambda written, _: [f"sum({written('salary')})"])
    assert any("sum(" in one.lower() and "salary" in one for one in statements)


def test_what_spark_is_asked_is_logged(spark: Any, tmp_path: Path) -> None:
    place = f"spark://local?path={tmp_path}"
    spark.createDataFrame([(n % 3, n % 2) for n in range(30)], "a int, b int").write.parquet(str(tmp_path / "plain"))
    with every_statement() as statements:
        unveil.measure(f"{place}/plain", ["a", "b"])
        unveil.anonymize(f"{place}/plain", ["a", "b"], [unveil.models.KAnonymity(2)], out=f"{place}/made")
    assert any('SELECT "a", "b", count(*)' in one and one.endswith('GROUP BY "a", "b"') for one in statements)
    assert any(one.startswith("CREATE TABLE") and "made" in one for one in statements)
