from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unveil.sources.coding import Coded, encode

TEXTS = st.text(max_size=20) | st.integers(0, 30).map(lambda at: f"a text too long to stand in its column itself: {at}")
LONG = 70_000
"""So many rows that a sample of them is looked at first."""


def assert_coded(coded: Coded, cells: Sequence[Any]) -> None:
    """Compare with a coding by plain Python: values in order, a null last, codes in the smallest type."""
    values = [*sorted({cell for cell in cells if cell is not None}), *([None] if None in cells else [])]
    place = {value: code for code, value in enumerate(values)}
    assert list(coded.values) == values
    assert coded.codes.tolist() == [place[cell] for cell in cells]
    assert coded.codes.dtype == np.min_scalar_type(max(len(values) - 1, 0))
    assert coded.codes.flags.writeable


@given(st.lists(TEXTS | st.none(), max_size=40), st.data())
def test_texts_are_coded_alike_however_the_column_holds_them(cells: list[str | None], data: st.DataObject) -> None:
    known = data.draw(st.permutations(list({*(cell for cell in cells if cell is not None), "never there", ""})))
    for kind in (pl.String, pl.Categorical, pl.Categorical(pl.Categories.random()), pl.Enum(known)):
        assert_coded(encode(pl.Series("x", cells, dtype=kind)), cells)


@given(
    st.lists(TEXTS | st.none(), min_size=1, max_size=6),
    st.dictionaries(st.integers(0, LONG - 1), TEXTS | st.none(), max_size=6),
    st.booleans(),
)
def test_texts_that_a_sample_of_a_long_column_misses_are_coded(
    common: list[str | None],
    rare: dict[int, str | None],
    sorts: bool,
) -> None:
    cells = (common * LONG)[:LONG]
    if sorts:
        cells.sort(key=lambda cell: (cell is None, cell or ""))
    for row, cell in rare.items():
        cells[row] = cell
    assert_coded(encode(pl.Series("x", cells, dtype=pl.String)), cells)


@pytest.mark.parametrize("distinct", [300, 5_000, 40_000, LONG])
@pytest.mark.parametrize("kind", [pl.String, pl.Categorical])
@pytest.mark.parametrize("nulls", [0, 0.2])
def test_long_columns_of_few_and_of_many_texts(distinct: int, kind: pl.DataType, nulls: float) -> None:
    random = np.random.default_rng(distinct)
    cells = [
        None if null else f"text {value}"
        for value, null in zip(random.integers(0, distinct, LONG).tolist(), random.random(LONG) < nulls, strict=True)
    ]
    assert_coded(encode(pl.Series("x", cells, dtype=kind)), cells)


@pytest.mark.parametrize("number", [255, 256, 257])
@pytest.mark.parametrize("null", [[], [None]])
def test_codes_come_in_the_smallest_type(number: int, null: list[None]) -> None:
    cells = [*(f"{at}" for at in range(number)), *null]
    assert_coded(encode(pl.Series("x", cells)), cells)
    assert_coded(encode(pl.Series("x", cells, dtype=pl.Categorical)), cells)


@given(st.lists(st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-3, 3) | st.none(), max_size=30))
def test_numbers_are_coded_in_their_order(cells: list[int | None]) -> None:
    assert_coded(encode(pl.Series("x", cells, dtype=pl.Int64)), cells)


@pytest.mark.parametrize("kind", [pl.Int64, pl.UInt64, pl.Int32, pl.Float64, pl.Float32, pl.Decimal(18, 2), pl.Boolean])
@pytest.mark.parametrize("nulls", [0, 0.2])
@pytest.mark.parametrize("rows", [300, LONG])
def test_long_columns_of_numbers_far_apart(kind: pl.DataType, nulls: float, rows: int) -> None:
    random = np.random.default_rng(rows)
    far = pl.Series(random.integers(0, 1 << 30, rows)).set(pl.Series(random.random(rows) < nulls), None)
    column = (far % 2 == 0 if kind == pl.Boolean else far / 7 if kind in (pl.Float64, pl.Float32) else far).cast(kind).alias("x")
    assert_coded(encode(column), column.to_list())


@pytest.mark.parametrize("rows", [2, 1000])
def test_zero_has_no_sign_whichever_comes_first(rows: int) -> None:
    for cells in ([-0.0, 0.0] * rows, [0.0, -0.0] * rows):
        coded = encode(pl.Series("x", cells))
        assert [str(value) for value in coded.values] == ["0.0"]
        assert not coded.codes.any()


@given(st.lists(st.dates() | st.none(), max_size=30))
def test_dates_are_coded_in_their_order(cells: list[date | None]) -> None:
    assert_coded(encode(pl.Series("x", cells, dtype=pl.Date)), cells)


@pytest.mark.parametrize(
    ("kind", "cells"),
    [
        (pl.Int8, [127, None, -128, 127]),
        (pl.UInt8, [255, 0, None]),
        (pl.UInt64, [(1 << 64) - 1, None, 1 << 63]),
        (pl.Int128, [1 << 100, None, -5]),
        (pl.UInt128, [5, 1, 5]),
        (pl.UInt128, [1 << 100, None]),
        (pl.Boolean, [True, None, False, True]),
        (pl.Datetime("us", "UTC"), [datetime(2026, 1, 2, 3, 4, 5, 6, UTC), None, datetime(1, 1, 1, tzinfo=UTC)]),
        (pl.Duration("ms"), [timedelta(days=1), None, timedelta(milliseconds=-1)]),
        (pl.Time, [time(23, 59, 59, 999999), time(0), None]),
        (pl.Null, [None, None]),
        (pl.String, [None]),
        (pl.Categorical, []),
    ],
)
def test_the_ends_of_every_type(kind: pl.DataType, cells: list[Any]) -> None:
    assert_coded(encode(pl.Series("x", cells, dtype=kind)), cells)
