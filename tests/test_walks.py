"""A walk through the rooms does not get longer with the data: values are read by the column, not one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from website.walks import traced

import unveil


def _table(values: int) -> pl.DataFrame:
    rows = range(8 * values)
    return pl.DataFrame(
        {
            "age": [20 + row % values for row in rows],
            "zip": [str(10_000 + row % (2 * values)) for row in rows],
            "disease": ["flu" if row % 3 else "cold" if row % 5 else "none" for row in rows],
        }
    )


def _release(table: pl.DataFrame) -> pl.DataFrame:
    low = pl.col("age") // 2 * 2
    return table.with_columns(pl.format("[{}, {})", low, low + 2).alias("age"), pl.col("zip").str.slice(0, 4) + "*")


def _discrimination_rate(table: pl.DataFrame) -> Any:
    return unveil.discrimination_rate(table, ["age", "zip"], "disease").to_dict()


def _measure(table: pl.DataFrame) -> Any:
    return unveil.measure(table, ["age", "zip"], "disease").to_dict()


def _white_box(table: pl.DataFrame) -> Any:
    return unveil.attack(table, _release(table), ["age", "zip"], "disease", same_order=True, link_records=False).to_dict()


def _check(table: pl.DataFrame) -> Any:
    return unveil.check(table, {"k_anonymity": 5}, key=["age", "zip"], sensitive="disease").to_dict()


@pytest.mark.parametrize("call", [_discrimination_rate, _measure, _white_box, _check])
def test_changes_of_room_do_not_grow_with_the_number_of_values(call: Callable[[pl.DataFrame], Any]) -> None:
    few, many = _table(8), _table(80)
    assert traced(lambda: call(few)).changes == traced(lambda: call(many)).changes


@pytest.mark.parametrize(("name", "most"), [("discrimination_rate", 10), ("check", 36), ("attack", 130)])
def test_a_call_gathers_what_it_needs_in_few_changes_of_room(name: str, most: int) -> None:
    table, keys = _table(8), ["age", "zip"]
    rules = {"k_anonymity": 5, "t_closeness": 0.2}
    calls: dict[str, Callable[[], Any]] = {
        "discrimination_rate": lambda: unveil.discrimination_rate(table, keys, "disease"),
        "check": lambda: unveil.check(table, rules, key=keys, sensitive="disease"),
        "attack": lambda: _white_box(table),
    }
    assert traced(calls[name]).changes <= most
