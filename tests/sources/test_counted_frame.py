"""Records in hand that are counted column by column: the same counts as of coded records, whatever the columns hold."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest

from unveil.sources.microdata import CountedFrame
from unveil.study import Study

COLUMNS = {
    "nulls only": pl.Series([None] * 40),
    "wide integers": pl.Series([at % 3 for at in range(40)]).cast(pl.Int128),
    "decimals": pl.Series([Decimal(at % 3) for at in range(40)]),
    "floats": pl.Series([float("nan"), None, 1.0, -2.0, 0.5] * 8),
    "days": pl.Series([dt.date(2020, 1, 1 + at % 3) for at in range(40)]),
    "spans": pl.Series([dt.timedelta(at % 3) for at in range(40)]),
    "categories": pl.Series(list("abcd") * 10).cast(pl.Categorical),
    "fixed names": pl.Series(list("abcd") * 10).cast(pl.Enum(list("zdcba"))),
    "flags": pl.Series([True, False, None, True] * 10),
    "objects": pl.Series([1, "1", True, 1.0] * 10, dtype=pl.Object),
    "bytes": pl.Series([b"a", b"b"] * 20),
    "lists": pl.Series([[1], [2]] * 20),
    "^pattern$": pl.Series(list("abcd") * 10),
    "n": pl.Series(range(40)),
    "texts": pl.Series(["b", None, "a", ""] * 10),
    "many texts": pl.Series([f"{at % 39} ä" for at in range(40)]),
}


def counts(study: Study, name: str, owners: list[str]) -> Any:
    table = study.each([name], owners=owners).get(name)
    if table is None:
        return None
    rows = zip(*([column.values[code] for code in column.codes] for column in table.columns), strict=True)
    n = np.ones(len(table.columns[0].codes)) if table.n is None else table.n
    totals: dict[str, float] = {}
    for row, times in zip(rows, n, strict=True):
        totals[repr(row)] = totals.get(repr(row), 0.0) + float(times)
    return table.records, totals


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_counts_the_same_without_coding_its_records(name: str) -> None:
    frame = pl.DataFrame([column.alias(known) for known, column in COLUMNS.items()])
    by_values, by_records = Study(CountedFrame(frame, "here")), Study(frame)
    for owners in ([], ["many texts"]):
        assert counts(by_values, name, owners) == counts(by_records, name, owners)
