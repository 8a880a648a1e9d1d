"""Columns of Python objects: every digit kept, every type told apart, and what has no text of its own refused."""

from __future__ import annotations

import math
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import unveil
from unveil.errors import UnsupportedDataError
from unveil.sources.microdata import write_frame
from unveil.sources.objects import column_of_objects


@pytest.mark.parametrize(
    ("cells", "dtype"),
    [
        ([1, -2, None], pl.Int64),
        ([1, 2**64 - 1], pl.UInt64),
        ([-1, 2**64 - 1], pl.Int128),
        ([2**127 - 1, 0], pl.Int128),
        ([2**127, 0], pl.Object),
        ([1, 2.5, math.nan], pl.Float64),
        ([2**53 + 1, 2.5], pl.Object),
        ([True, False], pl.Boolean),
        ([1, True], pl.Object),
        (["a", None], pl.String),
        (["a", 1], pl.Object),
        ([date(2020, 1, 1), None], pl.Date),
        ([timedelta(1)], pl.Duration),
        ([Decimal("1.10"), Decimal("1.1")], pl.Decimal),
        ([Decimal("Infinity"), Decimal(1)], pl.Object),
        ([Decimal("1" * 38), Decimal("0.1")], pl.Object),
        ([None, math.nan, pd.NA, pd.NaT, Decimal("NaN")], pl.String),
    ],
)
def test_cells_get_the_type_that_holds_them_exactly(cells: list[Any], dtype: Any) -> None:
    column = column_of_objects("x", cells)
    assert column.dtype == dtype
    missing = [cell is None or str(cell).upper() in {"NAN", "NAT", "<NA>"} for cell in cells]
    assert [kept is None for kept in column.to_list()] == missing
    assert all(kept == cell for kept, cell, gone in zip(column.to_list(), cells, missing, strict=True) if not gone)


@pytest.mark.parametrize(
    ("cells", "distinct"),
    [
        ([1, True, 1.0, "1"] * 2, 4),
        ([2**64, 2**64 + 1, 10**40] * 2, 3),
        ([2**64, 2**64 + 1, 0.5] * 2, 3),
        ([Decimal("1.10"), Decimal("1.1"), Decimal(2)], 2),
        ([timedelta(1), timedelta(hours=24), timedelta(2)], 2),
        ([None, math.nan, pd.NA, 1, "a"], 3),
    ],
)
def test_values_are_counted_apart(cells: list[Any], distinct: int) -> None:
    frame = pd.DataFrame({"x": pd.Series(cells, dtype=object)})
    assert len(unveil.count(frame, ["x"])) == distinct
    assert len(unveil.count(pl.DataFrame({"x": pl.Series(cells, dtype=pl.Object)}), ["x"])) == distinct


@pytest.mark.parametrize("cell", [[1], (1,), {"a": 1}, {1}, b"x", object(), lambda: None])
def test_what_cannot_be_told_apart_is_refused_by_name(cell: Any) -> None:
    frame = pd.DataFrame({"x": pd.Series(["a", cell], dtype=object)})
    with pytest.raises(UnsupportedDataError, match=r"column 'x' holds .* values, which cannot be counted"):
        unveil.count(frame, ["x"])


@pytest.mark.parametrize("name", ["", "x"])
def test_no_file_is_begun_for_mixed_cells_whatever_the_name(name: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({name: pl.Series([1, "a"], dtype=pl.Object)})
    with pytest.raises(UnsupportedDataError, match="a file cannot hold"):
        write_frame(frame, tmp_path / "x.parquet")
    assert list(tmp_path.iterdir()) == []
