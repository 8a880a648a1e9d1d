"""Tables from engines: the sums and the largest contributions are computed where the data is."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from adbc_driver_postgresql import dbapi

import unveil
from unveil.errors import ArgumentError, DataChangedError, EmptyDataError, NullsError, TableError, UnsupportedDataError
from unveil.sources import open_source
from unveil.sources.amounts import Contribution, amounts
from unveil.sources.engines.table import STATEMENTS
from unveil.tables.crosstable import CrossTable

COUNTING = ("duckdb", "duckdb file", "postgresql", "spark")
STEPS = [("duckdb", 1), ("duckdb file", 3), ("postgresql", 1), ("spark", 3)]
"""Every how many options are tried: all where a dialect is quick, some where it is slow or another way to the same one."""
TOWN = 'so "called" town'
RNG = np.random.default_rng(5)
FIRMS = pl.DataFrame(
    {
        "age": RNG.integers(0, 4, 300),
        TOWN: RNG.choice(["Köln", "köln", "北京", ""], 300),
        "worth": RNG.lognormal(3, 1, 300).round(2),
        "gain": RNG.integers(-50, 50, 300),
        "firm": RNG.choice([f"firm {number}" for number in range(40)], 300),
        "part": RNG.integers(1, 9, 300) / 4,
        "asks": pl.Series([("yes", "No", "", None)[at] for at in RNG.integers(0, 4, 300)]),
        "half": pl.Series([(0.5, 1.5, None, float("nan"))[at] for at in RNG.integers(0, 4, 300)]),
    }
)


@pytest.mark.parametrize("engine", COUNTING, indirect=True)
def test_a_table_of_an_engine_is_that_of_the_records(engine: Any) -> None:
    held = engine(FIRMS)
    for value, signed in (("worth", False), ("gain", True)):
        mine = unveil.table(FIRMS, ["age", TOWN], value=value, signed=signed)
        theirs = unveil.table(held, ["age", TOWN], value=value, signed=signed)
        assert [one.codes for one in mine.dimensions] == [one.codes for one in theirs.dimensions]
        for name in ("n", "units", "holder", "value", "size", "top"):
            assert np.allclose(getattr(mine, name), getattr(theirs, name)), name
    found = amounts(open_source(held), ["age"], Contribution("worth"), 3)
    assert found is not None
    assert len(found.total) == 4  # one row per combination, no record


def same(mine: CrossTable, theirs: CrossTable) -> None:
    """Both tables are alike, whatever numbers the contributors have who are alone in a cell."""
    assert [one.codes for one in mine.dimensions] == [one.codes for one in theirs.dimensions]
    for name in ("n", "units", "value", "size", "top", "asked"):
        ours, other = getattr(mine, name), getattr(theirs, name)
        assert (ours is None) == (other is None), name
        assert ours is None or (ours.dtype == other.dtype and np.allclose(ours, other)), name
    assert mine.holder is not None
    assert theirs.holder is not None
    pairs = set(zip(mine.holder.tolist(), theirs.holder.tolist(), strict=True))
    assert len(pairs) == len({ours for ours, _ in pairs}) == len({other for _, other in pairs})


KOELN = unveil.Hierarchy(TOWN, [("Köln", "a", "All"), ("köln", "a", "All"), ("北京", "b", "All"), ("", "b", "All")])
CROSSED = unveil.Hierarchy(TOWN, [("Köln", "c", "All"), ("北京", "c", "All"), ("köln", "d", "All"), ("", "d", "All")])
OPTIONS: list[dict[str, Any]] = [
    {"holding": "firm"},
    {"weights": "part"},
    {"holding": "firm", "weights": "part"},
    {"value": "worth", "request": "asks"},
    {"value": "worth", "weights": "part", "margins": False},
    {"value": "worth", "holding": "firm", "hierarchies": {TOWN: KOELN}},
    {"value": "worth", "holding": "firm", "request": "asks", "hierarchies": {TOWN: [KOELN, CROSSED]}, "top": 2},
    {"value": "gain", "signed": True, "weights": "part", "request": "asks", "top": 1},
    {"value": "gain", "signed": True, "holding": "firm", "weights": "part", "request": "asks", "margins": False},
    {"value": "gain", "signed": True, "holding": "age", "by": [TOWN, "half"]},
    {"value": "worth", "request": "asks", "by": ["half"]},
]


@pytest.mark.parametrize(("engine", "step"), STEPS, indirect=["engine"])
def test_holdings_requests_and_weights_are_those_of_the_records(engine: Any, step: int) -> None:
    for frame, some in ((FIRMS, OPTIONS[::step]), (FIRMS.head(12), OPTIONS[::3][::step])):
        held = engine(frame)
        for options in some:
            asked = {"by": ["age", TOWN], **options}
            same(unveil.table(frame, **asked), unveil.table(held, **asked))


class _Heard(logging.Handler):
    """Keeps the statements that are sent."""

    def __init__(self) -> None:
        super().__init__()
        self.statements: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.statements.append(record.getMessage())


@pytest.fixture
def heard() -> Iterator[list[str]]:
    """The statements that are sent to an engine."""
    handler, level = _Heard(), STATEMENTS.level
    STATEMENTS.addHandler(handler)
    STATEMENTS.setLevel(logging.DEBUG)
    yield handler.statements
    STATEMENTS.removeHandler(handler)
    STATEMENTS.setLevel(level)


def test_what_leaves_an_engine_are_cells(heard: list[str], postgres: str, run: Any) -> None:
    with dbapi.connect(postgres) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("contributors", FIRMS.to_arrow(), mode="replace")
        connection.commit()
    for options in OPTIONS:
        asked = {"by": ["age", TOWN], **options}
        heard.clear()
        table = unveil.table(f"{postgres}?table=contributors", **asked)
        sent = [text for text in heard if '"contributors"' in text and "SELECT" in text and "count(" in text]
        assert len(sent) == (2 if "holding" in options else 1)
        assert sum("SET TRANSACTION" in text for text in heard) == 2  # to open the table; then one for all questions
        for statement in heard:
            assert "Köln" not in statement  # no value goes there either
            assert "firm 1" not in statement
        for statement in sent:
            rows = run(statement)
            assert len(rows) <= len(table)
            assert not any(str(entry).startswith("firm ") for row in rows for entry in row)
        kept = len(asked["by"]) + 6 + options.get("top", 5)  # codes, n, contributors, sum, size, who asked, the one alone
        assert all(len(row) == kept for row in run(sent[-1])) or "holding" not in options


def test_data_that_changes_between_two_questions_is_refused() -> None:
    connection = duckdb.connect()
    connection.register("given", FIRMS.to_arrow())
    connection.execute("CREATE TABLE firms AS SELECT * FROM given")
    connection.execute("SELECT setseed(0.5)").fetchall()
    some = connection.sql("SELECT * FROM firms WHERE random() < 0.5")  # others whenever it is asked
    with pytest.raises(DataChangedError, match="while it was counted"):
        unveil.table(some, ["age", TOWN], value="worth", holding="firm")


WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"weights": TOWN}, UnsupportedDataError, "are numbers"),
    ({"value": "worth", "weights": "gain"}, ArgumentError, "not positive"),
    ({"value": "worth", "weights": "half"}, ArgumentError, "not positive"),
    ({"value": "worth", "holding": "asks"}, TableError, "nulls"),
    ({"value": "worth", "holding": "half"}, TableError, "nulls"),
    ({"value": "worth", "request": TOWN}, TableError, "who asked"),
    ({"value": "worth", "holding": "firm", "request": TOWN}, TableError, "who asked"),
    ({"value": "gain", "holding": "firm"}, TableError, "negative"),
    ({"value": "half", "holding": "firm"}, NullsError, "half"),
    ({"value": "worth", "holding": "nobody"}, KeyError, "nobody"),
]


@pytest.mark.parametrize("engine", COUNTING, indirect=True)
def test_contributors_that_are_none_are_refused(engine: Any) -> None:
    held = engine(FIRMS)
    for options, error, message in WRONG:
        with pytest.raises(error, match=message):
            unveil.table(held, ["age"], **options)


@pytest.mark.parametrize("engine", COUNTING, indirect=True)
def test_values_that_are_no_numbers_are_refused(engine: Any) -> None:
    held = engine(FIRMS.with_columns(hole=pl.when(pl.col("age") == 0).then(None).otherwise("worth")))
    with pytest.raises(UnsupportedDataError, match="are numbers"):
        unveil.table(held, ["age"], value=TOWN)
    with pytest.raises(NullsError, match="hole"):
        unveil.table(held, ["age"], value="hole")


GAPS = FIRMS.with_columns(
    worth=pl.when(pl.int_range(pl.len()) % 7 == 0).then(None).otherwise("worth"),
    firm=pl.when(pl.int_range(pl.len()) % 11 == 0).then(None).otherwise("firm"),
    age=pl.when(pl.int_range(pl.len()) % 13 == 0).then(None).otherwise("age"),
)
POLICIES: list[dict[str, Any]] = [
    {"value": "worth"},
    {"holding": "firm"},
    {"value": "worth", "holding": "firm", "weights": "part", "request": "asks"},
    {"value": "worth", "by": ["half", "age"]},
    {"value": "half", "holding": "firm"},
]


@pytest.mark.parametrize(("engine", "step"), STEPS, indirect=["engine"])
def test_null_policies_are_those_of_the_records(engine: Any, step: int) -> None:
    held = engine(GAPS)
    for options in POLICIES[::step]:
        asked = {"by": ["age", TOWN], **options}
        mine, theirs = (unveil.table(data, nulls="drop", **asked) for data in (GAPS, held))
        same(mine, theirs)
        assert 0 < mine.made.dropped == theirs.made.dropped
        assert mine.made.records == theirs.made.records
        refusals = []
        for data in (GAPS, held):
            with pytest.raises(NullsError) as refusal:
                unveil.table(data, nulls="error", **asked)
            refusals.append(str(refusal.value))
        assert refusals[0] == refusals[1]
        same(*(unveil.table(data, nulls="error", by=[TOWN], value="gain", signed=True) for data in (GAPS, held)))
    with pytest.raises(EmptyDataError, match="all 300"):
        unveil.table(engine(GAPS.with_columns(worth=pl.lit(None, pl.Float64))), [TOWN], value="worth", nulls="drop")


def test_a_null_policy_lets_no_more_than_cells_leave_an_engine(heard: list[str], postgres: str, run: Any) -> None:
    with dbapi.connect(postgres) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("gaps", GAPS.to_arrow(), mode="replace")
        connection.commit()
    for options in POLICIES:
        heard.clear()
        table = unveil.table(f"{postgres}?table=gaps", nulls="drop", **{"by": ["age", TOWN], **options})
        sent = [text for text in heard if '"gaps"' in text and "SELECT" in text and "count(" in text]
        assert len(sent) == (3 if "holding" in options else 2)
        assert len(run(sent[0])) == 1
        assert all(len(run(one)) <= len(table) for one in sent[1:])


KINDS = pl.DataFrame(
    {
        "price": pl.Series([Decimal(one) for one in ("1.50", "2.00", "3.25", "100.00")] * 9, dtype=pl.Decimal(10, 2)),
        "day": [date(2020, 1, 1), date(1999, 12, 31), None, date(2020, 1, 1)] * 9,
        "at": pl.Series(["2020-01-01T03:04:05", "2020-01-01T00:00:00", None, "2020-01-01T00:00:00"] * 9).str.to_datetime(),
        "flag": [True, False, None, True] * 9,
        "share": [0.5, float("nan"), -0.0, 1e20] * 9,
        "large": [2**40, None, -3, 2] * 9,
        "worth": [1.5, 2.0, 3.0, 6.25] * 9,
    }
)


@pytest.mark.parametrize(("engine", "step"), STEPS, indirect=["engine"])
def test_codes_are_those_of_the_records_whatever_their_kind(engine: Any, step: int) -> None:
    held = engine(KINDS)
    times = () if type(held).__module__.startswith("pyspark") else ("at",)  # Spark's times have a zone
    for column in ("day", "flag", "share", "large", *times):
        choices: list[dict[str, Any]] = [{}, {"value": "worth"}, {"value": "price"}, {"value": "worth", "weights": "price"}]
        for options in choices[::step]:
            same(unveil.table(KINDS, [column], **options), unveil.table(held, [column], **options))
        same(*(unveil.table(data, [column], value="worth", holding="price") for data in (KINDS, held)))


def test_decimals_have_the_digits_that_the_table_grants_them(postgres: str, run: Any) -> None:
    run(
        "CREATE TABLE prices (price numeric(10, 2), worth float8)",
        "INSERT INTO prices VALUES (1.5, 1.5), (2, 2), (3.25, 3), (100, 6.25)",
    )
    run("CREATE VIEW round_prices AS SELECT * FROM prices WHERE price <> 3.25")  # of these none needs two digits
    for frame, name in ((KINDS, "prices"), (KINDS.filter(pl.col("price") != Decimal("3.25")), "round_prices")):
        codes = unveil.table(frame, ["price"]).dimensions[0].codes
        choices: list[dict[str, Any]] = [{}, {"value": "worth"}, {"holding": "worth"}]
        for options in choices:
            assert unveil.table(f"{postgres}?table={name}", ["price"], **options).dimensions[0].codes == codes
