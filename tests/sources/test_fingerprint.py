"""The fingerprint of data: the same for the same table however it is stored, another one after any change."""

import datetime as dt
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from unveil.sources.fingerprint import fingerprint_of_files, fingerprint_of_frame
from unveil.sources.microdata import open_microdata

TEXTS = st.lists(st.one_of(st.none(), st.text(max_size=4)), min_size=1, max_size=8)
SEVERAL_KINDS = {
    "number": [1, 2, None],
    "share": [0.5, float("nan"), None],
    "text": ["a", "", None],
    "truth": [True, False, None],
    "day": [dt.date(2020, 1, 1), dt.date(2021, 1, 1), None],
    "time": [dt.datetime(2020, 1, 1, 12), dt.datetime(2020, 1, 1, 13), None],  # noqa: DTZ001
    "money": [Decimal("1.10"), Decimal("1.20"), None],
    "bytes": [b"\x00", b"\xff", None],
    "list": [[1, 2], [], None],
    "structure": [{"x": 1}, {"x": 2}, None],
}


def test_how_a_table_is_stored_does_not_matter() -> None:
    whole = pl.DataFrame(SEVERAL_KINDS)
    chunked = pl.concat([whole[:1], whole[1:2], whole[2:]], rechunk=False)
    assert chunked["text"].n_chunks() == 3
    assert fingerprint_of_frame(chunked) == fingerprint_of_frame(whole)
    assert fingerprint_of_frame(whole[::-1][::-1]) == fingerprint_of_frame(whole)


@pytest.mark.parametrize("name", list(SEVERAL_KINDS))
def test_a_changed_value_of_any_type_changes_it(name: str) -> None:
    table = pl.DataFrame(SEVERAL_KINDS)
    prints = {
        fingerprint_of_frame(table.with_columns(table[name].gather(rows)))
        for rows in ([0, 1, 2], [0, 0, 2], [1, 1, 2], [1, 1, 1])
    }
    assert len(prints) == 4


@given(one=TEXTS, other=TEXTS)
def test_two_columns_of_text_have_one_only_if_they_are_equal(one: list[str | None], other: list[str | None]) -> None:
    prints = [fingerprint_of_frame(pl.DataFrame({"x": pl.Series(texts, dtype=pl.String)})) for texts in (one, other)]
    assert (prints[0] == prints[1]) == (one == other)


@given(rows=st.permutations(range(6)))
def test_the_order_of_rows_counts(rows: list[int]) -> None:
    assume(rows != sorted(rows))
    table = pl.DataFrame({"x": range(6)})
    assert fingerprint_of_frame(table[rows]) != fingerprint_of_frame(table)


def test_names_types_and_the_order_of_columns_count() -> None:
    tables = [
        pl.DataFrame({"a": [1], "b": [1]}),
        pl.DataFrame({"a": [1], "c": [1]}),
        pl.DataFrame({"ab": [1], "": [1]}),
        pl.DataFrame({"a": [1], "b": ["1"]}),
        pl.DataFrame({"a": [1], "b": [1.0]}),
        pl.DataFrame({"a": [1]}),
        pl.DataFrame({"b": [1], "a": [1]}),
    ]
    assert len({fingerprint_of_frame(table) for table in tables}) == len(tables)


def test_categories_count_by_their_text_not_their_number() -> None:
    pl.Series(["z", "y"], dtype=pl.Categorical)  # takes numbers
    one = pl.Series("x", ["a", "b", None], dtype=pl.Categorical)
    other = pl.Series("x", ["b", "a", "b", None], dtype=pl.Categorical)[1:]
    assert fingerprint_of_frame(one.to_frame()) == fingerprint_of_frame(other.to_frame())
    wider = pl.Series("x", ["a", "b"], dtype=pl.Enum(["q", "a", "b"]))
    assert fingerprint_of_frame(wider.to_frame()) == fingerprint_of_frame(wider.cast(pl.Enum(["b", "a"])).to_frame())
    assert fingerprint_of_frame(one.to_frame()) != fingerprint_of_frame(one[[1, 0, 2]].to_frame())


def test_objects_count_by_how_they_are_written() -> None:
    tables = [pl.DataFrame({"x": pl.Series([1 + 1j, last], dtype=pl.Object)}) for last in (2j, 2j, 3j)]
    one, again, other = (fingerprint_of_frame(table) for table in tables)
    assert one == again != other


def test_a_long_table_is_hashed_to_its_last_row() -> None:
    values = np.arange(300_000)
    one = fingerprint_of_frame(pl.DataFrame({"x": values, "y": pl.Series(values).cast(pl.String)}))
    values[-1] = 0
    assert fingerprint_of_frame(pl.DataFrame({"x": values, "y": pl.Series(values).cast(pl.String)})) != one


def test_records_in_hand_have_one_whichever_library_held_them() -> None:
    columns = {"age": [31, 42], "town": ["Bonn", "Kiel"]}
    prints = {open_microdata(table).fingerprint() for table in (pl.DataFrame(columns), pd.DataFrame(columns))}
    assert len(prints) == 1
    assert len(prints.pop()) == 32


def test_files_count_by_their_bytes_names_and_order(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_bytes(b"ab")
    other.write_bytes(b"c")
    before = fingerprint_of_files({"a": one, "b": other})
    assert fingerprint_of_files({"a": one, "b": other}) == before
    assert fingerprint_of_files({"b": other, "a": one}) != before
    assert fingerprint_of_files({"a": one, "year=1": other}) != before
    one.write_bytes(b"a")
    other.write_bytes(b"bc")
    assert fingerprint_of_files({"a": one, "b": other}) != before


def test_a_name_that_is_a_pattern_to_the_engine_is_a_name() -> None:
    prints = {fingerprint_of_frame(pl.DataFrame([pl.Series(name, ["a", None])])) for name in ("^a.*$", "*", "age")}
    assert len(prints) == 3
