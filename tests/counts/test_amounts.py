"""Counts that carry amounts: they add, and a table made of them is the table of the records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unveil
from unveil.errors import ArgumentError, CountsError, TableError

records = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.integers(-20, 50)), min_size=1, max_size=25)


def frame(rows: list[tuple[str, str, int]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"town": pl.String, "trade": pl.String, "sales": pl.Int64}, orient="row")


def counted(rows: list[tuple[str, str, int]], columns: tuple[str, ...] = ("town", "trade")) -> unveil.Counts:
    return unveil.count(frame(rows), columns, amounts="sales", top=3)


@given(records, records)
def test_amounts_of_parts_add_to_those_of_the_whole(some: list[Any], others: list[Any]) -> None:
    assert counted(some) + counted(others) == counted([*some, *others])


@given(records)
def test_amounts_are_those_of_the_records(rows: list[Any]) -> None:
    for cell in counted(rows).to_dict()["cells"]:
        mine = [x for town, trade, x in rows if (town, trade) == (cell["town"], cell["trade"])]
        largest = [*sorted(map(abs, mine), reverse=True), 0, 0, 0][:3]
        assert cell["amounts of sales"] == {"sum": sum(mine), "largest": largest}


@given(records)
def test_a_marginal_is_that_of_the_records(rows: list[Any]) -> None:
    assert counted(rows).over("trade") == counted(rows, ("trade",))


@settings(max_examples=20, deadline=None)
@given(records)
def test_a_table_of_counts_is_the_table_of_the_records(rows: list[Any]) -> None:
    mine = unveil.table(counted(rows), ["trade", "town"], value="sales", signed=True)
    direct = unveil.table(frame(rows), ["trade", "town"], value="sales", signed=True, top=3)
    for name in ("n", "value", "size", "top", "units", "holder"):
        assert np.allclose(getattr(mine, name), getattr(direct, name)), name


def test_counts_of_two_files_make_one_protected_table(tmp_path: Path) -> None:
    adult = pl.DataFrame({"town": ["A", "B", "C"] * 40, "trade": ["x", "y"] * 60, "sales": list(range(1, 121))})
    adult.head(50).write_csv(tmp_path / "first.csv")
    adult.tail(70).write_parquet(tmp_path / "second.parquet")
    parts = [unveil.count(tmp_path / name, ["town", "trade"], amounts=["sales"]) for name in ("first.csv", "second.parquet")]
    both = unveil.table(parts[0] + parts[1], ["town", "trade"], value="sales").suppress("p=10")
    whole = unveil.table(adult, ["town", "trade"], value="sales").suppress("p=10")
    assert both.to_dict()["cells"] == whole.to_dict()["cells"]


def test_an_engine_gives_the_same_amounts() -> None:
    duckdb = pytest.importorskip("duckdb")
    rows = frame([("a", "x", 3), ("a", "x", 7), ("b", "y", -4), ("b", "x", 0)])
    relation = duckdb.sql("SELECT * FROM rows")
    there = unveil.count(relation, ["town", "trade"], amounts="sales", top=3)
    assert there == unveil.count(rows, ["town", "trade"], amounts="sales", top=3)


def test_several_amounts_are_carried() -> None:
    data = pl.DataFrame({"a": ["u", "v", "u"], "x": [1.0, 2.0, 4.0], "y": [10, 20, 30]})
    both = unveil.count(data, "a", amounts=["x", "y"])
    assert both.amounts["x"].total.tolist() == [5.0, 2.0]
    assert both.amounts["y"].top[:, 0].tolist() == [30.0, 20.0]
    joined = both.recode("a", [["u", "v"]])
    assert joined.amounts["x"].total.tolist() == [7.0]


def test_what_amounts_cannot_do_is_said() -> None:
    counts, bare = counted([("a", "x", 3), ("b", "x", 4)]), unveil.count(frame([("a", "x", 3)]), ["town", "trade"])
    with pytest.raises(CountsError, match="cannot be subtracted"):
        counts - counts
    with pytest.raises(CountsError, match="different amounts"):
        counts + bare
    with pytest.raises(ArgumentError, match="cannot be an amount"):
        unveil.count(frame([("a", "x", 3)]), "town", amounts="town")
    with pytest.raises(TableError, match="holds text"):
        unveil.count(frame([("a", "x", 3)]), "town", amounts="trade")
    with pytest.raises(ArgumentError, match="weighted"):
        unveil.count(frame([("a", "x", 3)]), "town", amounts="sales", weights="sales")


@pytest.mark.parametrize("amounts", [(), "x"])
def test_no_columns_cannot_be_counted(amounts: Any) -> None:
    with pytest.raises(ArgumentError, match="no columns are named to count"):
        unveil.count(pl.DataFrame({"x": [1, 2]}), [], amounts=amounts)


def test_several_amounts_are_those_of_the_same_records() -> None:
    frame = pl.DataFrame({"a": ["x", "x", "y", "z"], "v": [1, 2, None, 3], "w": [1, 2, 3, None]})
    counts = unveil.count(frame, "a", amounts=["v", "w"], nulls="drop")
    cells = [{"a": "x", "n": 2, **{f"amounts of {name}": {"sum": 3.0, "largest": [2.0, 1.0, 0.0, 0.0, 0.0]} for name in "vw"}}]
    assert counts.to_dict() == {"columns": ["a"], "records": 2, "nulls": "drop", "dropped": 2, "cells": cells}
