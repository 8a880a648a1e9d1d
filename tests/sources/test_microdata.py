"""Records in hand: nulls put into columns of every type, names that are refused, and columns handed back as they came."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import unveil
from unveil import mechanisms
from unveil.errors import DataFileError, UnsupportedDataError
from unveil.sources.microdata import open_microdata

COLUMNS: dict[str, tuple[Any, list[Any]]] = {
    "integer": (pl.Int32, [1, 2, 3]),
    "long": (pl.Int128, [1 << 100, 2, 3]),
    "decimal": (pl.Decimal(38, 4), [Decimal("1.5000"), Decimal("2.0000"), None]),
    "text": (pl.String, ["a", "b", None]),
    "category": (pl.Categorical, ["a", "b", "a"]),
    "enum": (pl.Enum(["a", "b"]), ["a", "b", "a"]),
    "date": (pl.Date, [date(2020, 1, 1), date(2021, 1, 1), None]),
    "list": (pl.List(pl.Int64), [[1], [], [2]]),
    "struct": (pl.Struct({"x": pl.Int64}), [{"x": 1}, {"x": 2}, {"x": 3}]),
    "nothing": (pl.Null, [None, None, None]),
    "object": (pl.Object, [1, "a", 2.5]),
}


@pytest.mark.parametrize("kind", list(COLUMNS))
@pytest.mark.parametrize("name", ["a", "^a$"])
def test_nulls_are_put_into_a_column_of_any_type(kind: str, name: str) -> None:
    dtype, cells = COLUMNS[kind]
    column = pl.Series("cells", cells, dtype=dtype).alias(name)
    found = open_microdata(pl.DataFrame([column])).nulled(name, np.array([False, True, False]))
    assert found.dtype == dtype
    assert found.to_list() == [cells[0], None, cells[2]]


def test_integers_of_128_bits_come_back_to_pandas() -> None:
    frame = pd.DataFrame({"a": pd.Series([1 << 100, -1, 7], dtype=object)})
    assert open_microdata(frame).native()["a"].tolist() == [1 << 100, -1, 7]


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame, pa.table, lambda columns: pl.DataFrame(columns).lazy()])
def test_a_column_name_with_the_character_nul_is_refused_at_the_door(make: Any) -> None:
    with pytest.raises(UnsupportedDataError, match=r"the name of column 'a\\x00b' holds the character NUL"):
        unveil.count(make({"a\0b": [1, 2], "c": [1, 2]}), "c")


def test_a_file_whose_header_holds_the_character_nul_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"a\0b,c\n1,2\n")
    with pytest.raises((UnsupportedDataError, DataFileError)):
        unveil.count(tmp_path / "t.csv", "c")


@pytest.mark.parametrize(
    "protect",
    [
        lambda table: mechanisms.resample(table, "x", seed=1, keep_order=True),
        lambda table: mechanisms.add_noise(table, "x", amount=0.5, seed=1, keep_order=True),
        lambda table: mechanisms.swap(table, "x", seed=1, keep_order=True),
    ],
    ids=["resample", "add_noise", "swap"],
)
def test_columns_of_a_pyarrow_table_that_are_not_named_are_unchanged(protect: Any) -> None:
    others = {
        "text": pa.array(["a", None, "c"] * 10),
        "category": pa.array(["a", None, "c"] * 10).dictionary_encode(),
        "small": pa.array([1, None, 3] * 10, pa.int8()),
        "single": pa.array([0.1, None, 3.5] * 10, pa.float32()),
        "nan": pa.array([0.1, float("nan"), None] * 10),
        "date": pa.array([date(2020, 1, 1), None, date(1900, 1, 1)] * 10),
        "moment": pa.array([0, None, 86_400_000_001] * 10, pa.timestamp("us", "Europe/Paris")),
        "length": pa.array([0, None, 5] * 10, pa.duration("ms")),
        "money": pa.array([Decimal("1.10"), None, Decimal("2.20")] * 10),
        "price": pa.array([Decimal("1.10"), Decimal("-5.00"), Decimal("2.20")] * 10),
        "time": pa.array([0, None, 1] * 10, pa.time64("us")),
        "bytes": pa.array([b"a", None, b"\xff"] * 10),
        "list": pa.array([[1], None, []] * 10, pa.list_(pa.int64())),
        "flag": pa.array([True, None, False] * 10),
        "nothing": pa.nulls(30),
    }
    table = pa.table({"x": pa.array(range(30)), **others})
    after = protect(unveil.Study(table, keep=list(others))).data
    assert isinstance(after, pa.Table)
    for name in others:
        before = [None if cell != cell else cell for cell in table[name].to_pylist()]  # noqa: PLR0124 - a NaN is a null
        assert repr(after[name].to_pylist()) == repr(before), name


@pytest.mark.parametrize("cells", [pl.Series([1, "a"], dtype=pl.Object), pl.Series([1, 1 << 100], dtype=pl.Int128)])
def test_what_an_arrow_table_cannot_hold_is_refused(cells: pl.Series) -> None:
    records = open_microdata(pa.table({"a": [1, 2]})).replaced({"a": cells})
    with pytest.raises(UnsupportedDataError, match="which an Arrow table cannot hold"):
        records.native()


def test_decimals_of_an_arrow_table_are_counted_as_decimals() -> None:
    table = pa.table({"a": pa.array([Decimal("10.00"), Decimal("9.00"), Decimal("10.00")])})
    counts = unveil.count(table, "a")
    assert (counts.columns[0].values, counts.n.tolist()) == ((Decimal("9.00"), Decimal("10.00")), [1, 2])
