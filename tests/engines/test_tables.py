"""Tables from engines: the sums and the largest contributions are computed where the data is."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import unveil
from unveil.errors import NullsError, UnsupportedDataError
from unveil.sources import open_source
from unveil.sources.amounts import amounts

COUNTING = ("duckdb", "duckdb file", "postgresql", "spark")
TOWN = 'so "called" town'
RNG = np.random.default_rng(5)
FIRMS = pl.DataFrame(
    {
        "age": RNG.integers(0, 4, 300),
        TOWN: RNG.choice(["Köln", "köln", "北京", ""], 300),
        "worth": RNG.lognormal(3, 1, 300).round(2),
        "gain": RNG.integers(-50, 50, 300),
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
    found = amounts(open_source(held), ["age"], "worth", 3)
    assert found is not None
    assert len(found.total) == 4  # one row per combination, no record


@pytest.mark.parametrize("engine", COUNTING, indirect=True)
def test_values_that_are_no_numbers_are_refused(engine: Any) -> None:
    held = engine(FIRMS.with_columns(hole=pl.when(pl.col("age") == 0).then(None).otherwise("worth")))
    with pytest.raises(UnsupportedDataError, match="are numbers"):
        unveil.table(held, ["age"], value=TOWN)
    with pytest.raises(NullsError, match="hole"):
        unveil.table(held, ["age"], value="hole")
