"""A lazy frame is run for the columns that a call names, and for no others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import unveil
from unveil.partitions.builders import RootOnly
from unveil.sources import open_source


def _fail(_: pl.Series) -> pl.Series:
    raise RuntimeError("a column was run that no call names")


def visits(name: str) -> pl.LazyFrame:
    plain = pl.LazyFrame({name: [1, 2, 2, 3], "town": list("stuv"), "state": list("aabb")})
    return plain.with_columns(pl.col("town").map_batches(_fail, return_dtype=pl.String).alias("unnamed"))


CALLS: dict[str, Callable[[Any, str], Any]] = {
    "count": lambda data, name: unveil.count(data, [name]),
    "dr": lambda data, name: unveil.discrimination_rate(data, name, "town"),
    "scan": lambda data, name: unveil.scan(data, [name, "town"]),
    "measure": lambda data, name: unveil.measure(data, name, "town"),
    "table": lambda data, name: unveil.table(data, by=["town"], value=name),
    "identifiers": lambda data, name: unveil.direct_identifiers(data, [name]),
    "hierarchy": unveil.propose_hierarchy,
    "hierarchy of places": lambda data, _: unveil.propose_hierarchy(data, "town"),
    "hierarchy by another column": lambda data, name: unveil.propose_hierarchy(data, name, similar="town"),
    "hierarchy by a rule": lambda data, name: unveil.build_hierarchy(data, name, RootOnly()),
}


@pytest.mark.parametrize("name", ["age", "^a.*$", "*"])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_only_the_columns_named_are_run(call: Callable[[Any, str], Any], name: str) -> None:
    call(visits(name), name)


def test_a_name_that_is_a_pattern_to_polars_is_that_of_one_column() -> None:
    frame = pl.LazyFrame({"^a.*$": [1, 2], "age": [3, 4], "*": [5, 6]})
    assert open_source(frame).collect(["*", "^a.*$"]).to_dict(as_series=False) == {"*": [5, 6], "^a.*$": [1, 2]}
