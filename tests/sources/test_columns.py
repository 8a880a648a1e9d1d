"""Columns are read as the user says: codes as text with their zeros, and codes for a null as nulls."""

from __future__ import annotations

import datetime as dt
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unveil
from unveil.errors import ArgumentError, ColumnNotFoundError, UnsupportedDataError, UnveilError
from unveil.sources import ReadOptions, open_source
from unveil.sources.columns import read_as


@given(st.lists(st.none() | st.integers(0, 99_999), min_size=1))
def test_codes_are_as_long_as_the_longest(numbers: list[int | None]) -> None:
    frame = pl.DataFrame({"zip": numbers, "n": range(len(numbers))}, schema={"zip": pl.Int64, "n": pl.Int64})
    found = read_as(open_source(frame), ["zip"], {}).collect(["n", "zip"])
    width = max((len(str(number)) for number in numbers if number is not None), default=0)
    assert found["zip"].to_list() == [None if number is None else f"{number:0{width}}" for number in numbers]
    assert found["n"].to_list() == list(range(len(numbers)))


def test_texts_that_are_no_digits_stay() -> None:
    frame = pl.DataFrame(
        {"code": ["7", "0123", "A1", " 5", None], "half": [1.5, 2.0, None, 3.0, 4.0], "whole": [1.0, None, 20.0, 3.0, 4.0]}
    )
    found = read_as(open_source(frame), ["code", "half", "whole"], {}).collect(["code", "half", "whole"])
    pattern = read_as(open_source(frame.rename({"code": "^a.*$"})), ["^a.*$"], {}).collect(["^a.*$"])
    assert pattern.columns == ["^a.*$"], "a name that Polars takes for a pattern"
    assert pattern.to_series().to_list() == found["code"].to_list()
    assert found["code"].to_list() == ["0007", "0123", "A1", " 5", None]
    assert found["half"].to_list() == ["1.5", "2.0", None, "3.0", "4.0"]
    assert found["whole"].to_list() == ["01", None, "20", "03", "04"]


def test_codes_for_a_null_hold_for_their_column_alone(tmp_path: Path) -> None:
    place = tmp_path / "people.csv"
    place.write_text("income,warmth,age\n1200,-9,31\n-9,4,unknown\n3400,-9,29\n", encoding="utf-8")
    options = ReadOptions(missing_in=(("income", ("-9", "-99")), ("age", ("unknown",)), ("gone", ("x",))))
    found = open_source(str(place), options).collect(["income", "warmth", "age"])
    assert found.to_dict(as_series=False) == {"income": [1200, None, 3400], "warmth": [-9, 4, -9], "age": [31, None, 29]}


def test_a_project_says_how_columns_are_read(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("zip,income\n2139,-9\n75011,100\n", encoding="utf-8")
    project = tmp_path / "unveil.toml"
    project.write_text(
        '[data]\npath = "people.csv"\ntext = ["zip"]\n\n[attributes.zip]\nrole = "key"\n\n[attributes.income]\nmissing = ["-9"]\n',
        encoding="utf-8",
    )
    study = unveil.Study.of(project)
    assert study.source.collect(["zip", "income"]).rows() == [("02139", None), ("75011", 100)]
    assert unveil.Project.read(project).to_toml() == project.read_text("utf-8").replace("income]\n", 'income]\nrole = "other"\n')


def test_an_unknown_column_is_refused() -> None:
    with pytest.raises(ColumnNotFoundError, match="column 'Zipp' not found"):
        unveil.source("paper-4", text="Zipp")


def test_bytes_that_are_no_text_are_no_codes() -> None:
    frame = pl.DataFrame({"code": [b"\xff\xfe", b"12"]})
    with pytest.raises(UnsupportedDataError, match="'code' holds bytes"):
        read_as(open_source(frame), ["code"], {}).collect(["code"])


def test_floats_beyond_whole_numbers_stay_as_they_are_written() -> None:
    frame = pl.DataFrame({"code": [1e30, 2.0, None]})
    texts = read_as(open_source(frame), ["code"], {}).collect(["code"])["code"].to_list()
    assert float(texts[0]) == 1e30
    assert texts[1:] == ["2.0", None]


@pytest.mark.parametrize(
    "values",
    [[dt.timedelta(1), dt.timedelta(2)], [[1], [2]], [b"\xff", b"a"]],
    ids=["durations", "lists", "bytes"],
)
def test_what_is_no_text_is_refused_as_text(values: list[Any]) -> None:
    with pytest.raises(UnsupportedDataError, match=r"column 'x' holds .* no text; leave it out of `text`"):
        read_as(open_source(pl.DataFrame({"x": values, "s": ["a", "b"]})), ["x"], {}).collect(["x"])


KINDS: dict[str, list[Any]] = {
    "texts": ["a", "b"], "integers": [1, 2], "floats": [1.5, 2.0], "durations": [dt.timedelta(1), dt.timedelta(2)],
    "dates": [dt.date(2020, 1, 1), dt.date(2020, 1, 2)], "lists": [[1], [2]], "bytes": [b"\xff", b"a"], "booleans": [True, False],
}  # fmt: skip


@pytest.mark.parametrize("one", KINDS)
@pytest.mark.parametrize("other", KINDS)
def test_files_of_two_kinds_are_one_column_or_refused_in_a_line(tmp_path: Path, one: str, other: str) -> None:
    for name, kind in (("a", one), ("b", other)):
        pl.DataFrame({"x": KINDS[kind], "s": ["p", "q"]}).write_parquet(tmp_path / f"{name}.parquet")
    both = {one, other}
    together = len(both - {"lists", "bytes"}) == 1 == len(both) or both <= {"texts", "integers", "floats", "booleans"}
    together = together or both == {"texts", "dates"}
    with nullcontext() if together else pytest.raises(UnveilError, match="column 'x'"):
        assert unveil.discrimination_rate(str(tmp_path / "*.parquet"), "x", "s").records == 4


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow", "frame", "pandas", "pattern"])
def test_codes_for_a_null_hold_in_every_kind_of_table(tmp_path: Path, kind: str) -> None:
    frame = pl.DataFrame({"x": ["?", "a", "?", "b"], "n": [-9, 7, 7, 8], "s": ["a", "b", "c", "d"]})
    frame.write_csv(tmp_path / "t.csv")
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_ipc(tmp_path / "t.arrow")
    kept: dict[str, Any] = {"frame": frame, "pandas": frame.to_pandas(), "pattern": str(tmp_path / "*.parquet")}
    data = kept.get(kind, tmp_path / f"t.{kind}")
    opened = unveil.source(data, missing=["?", "-9"], text="n")
    assert opened.collect(["x", "n"]).to_dict(as_series=False) == {"x": [None, "a", None, "b"], "n": [None, "7", "7", "8"]}
    assert unveil.discrimination_rate(opened, "x", "s", nulls="drop").records == 2


def test_codes_for_a_null_hold_in_built_in_tables() -> None:
    whole, without = (unveil.source("paper-2", missing=missing).collect(["Disease"])["Disease"] for missing in ("", "aids"))
    assert without.null_count() == (whole == "aids").sum() > 0


def test_an_engine_keeps_its_own_nulls(tmp_path: Path) -> None:
    place = tmp_path / "t.duckdb"
    with duckdb.connect(str(place)) as connection:
        connection.execute("CREATE TABLE t AS SELECT '?' AS x, 'a' AS s")
    for options in ({"missing": "?"}, {"text": "x"}):
        with pytest.raises(ArgumentError, match=r"`missing` and `text` are for files and frames; .* make a view"):
            unveil.source(f"{place}?table=t", **options)


@pytest.mark.parametrize("option", [{"separator": "|"}, {"encoding": "latin-1"}])
def test_what_is_about_delimited_text_is_refused_for_other_data(tmp_path: Path, option: dict[str, str]) -> None:
    frame = pl.DataFrame({"a": [1]})
    frame.write_parquet(tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_text("a|b\n1|2\n", encoding="latin-1")
    for data in (frame, "paper-2", tmp_path / "a.parquet", f"{tmp_path / 'a.duckdb'}?table=t", tmp_path):
        with pytest.raises(ArgumentError, match="about files of delimited text"):
            unveil.source(data, **option)
    for data in (tmp_path / "a.csv", str(tmp_path / "*.csv")):
        assert len(unveil.source(data, **option).names) in (1, 2)
