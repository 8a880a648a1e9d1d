"""Stata, SPSS and SAS files: labels, missing values, and the extra that reads them."""

from __future__ import annotations

import datetime as dt
import gzip
import sys
from typing import TYPE_CHECKING, Any

import pandas as pd
import polars as pl
import pyreadstat
import pytest

from unveil.errors import ColumnNotFoundError, DataFileError, EmptyDataError, MissingExtraError
from unveil.sources.files import ReadOptions, column_names, read

if TYPE_CHECKING:
    from pathlib import Path

VALUE = "Zed-7731"
DAYS = [dt.date(2020, 1, 1), None, dt.date(2021, 2, 3), dt.date(2020, 1, 1)]
FRAME = pd.DataFrame(
    {
        "age": [30.0, 31.0, None, 40.0],
        "sex": [1.0, 2.0, 1.0, 9.0],
        "name": ["Ann", "", "Bö", "007"],
        "pay": [1.5, 2.25, None, 4.0],
        "day": DAYS,
    }
)
PLAIN: dict[str, list[Any]] = {
    "age": [30, 31, None, 40],
    "sex": [1, 2, 1, 9],
    "name": ["Ann", None, "Bö", "007"],
    "pay": [1.5, 2.25, None, 4.0],
    "day": DAYS,
}
LABELS: dict[str, dict[Any, str]] = {"sex": {1: "male", 2: "female"}}


def write(path: Path) -> dict[str, list[Any]]:
    """Write the frame in the format of the suffix, and return what should come back."""
    labelled = {**PLAIN, "sex": ["male", "female", "male", "9"]}
    match path.suffix:
        case ".dta":
            pyreadstat.write_dta(FRAME, path, variable_value_labels=LABELS)
        case ".sav" | ".zsav":
            pyreadstat.write_sav(FRAME, path, variable_value_labels=LABELS, compress=path.suffix == ".zsav")
        case ".xpt":
            pyreadstat.write_xport(FRAME, path)
            return PLAIN
        case _:
            pyreadstat.write_por(FRAME.drop(columns=["day", "name"]), path)
            return {name.upper(): PLAIN[name] for name in ("age", "sex", "pay")}
    return labelled


@pytest.mark.parametrize("name", ["t.dta", "t.sav", "t.zsav", "t.por", "t.xpt", "t.SAV"])
def test_every_format_gives_the_table_with_labels(tmp_path: Path, name: str) -> None:
    written = write(tmp_path / name.lower())
    path = (tmp_path / name.lower()).rename(tmp_path / name)
    frame = read(path)
    assert column_names(path) == list(written)
    assert frame.to_dict(as_series=False) == written
    assert frame.schema[frame.columns[0]] == pl.Int64
    last_two = list(written)[:-3:-1]
    assert read(path, last_two).to_dict(as_series=False) == {column: written[column] for column in last_two}
    with pytest.raises(ColumnNotFoundError, match="column 'aeg' not found"):
        read(path, ["aeg"])


def test_labels_of_codes_declared_missing_do_not_make_numbers_text(tmp_path: Path) -> None:
    path = tmp_path / "t.sav"
    pyreadstat.write_sav(FRAME, path, variable_value_labels={"sex": {9: "refused"}}, missing_ranges={"sex": [9]})
    assert read(path, ["sex"])["sex"].to_list() == [1, 2, 1, None]


def test_labels_of_texts(tmp_path: Path) -> None:
    path = tmp_path / "t.sav"
    labels: dict[str, dict[Any, str]] = {"name": {"007": "Bond"}}
    pyreadstat.write_sav(FRAME, path, variable_value_labels=labels)
    assert read(path, ["name"])["name"].to_list() == ["Ann", None, "Bö", "Bond"]


def test_a_column_of_nulls_is_text(tmp_path: Path) -> None:
    pyreadstat.write_sav(pd.DataFrame({"a": [1.0, 2.0], "b": [float("nan")] * 2}), tmp_path / "t.sav")
    frame = read(tmp_path / "t.sav")
    assert frame.schema == {"a": pl.Int64, "b": pl.String}


def test_an_encoding_given_is_passed_on(tmp_path: Path) -> None:
    write(tmp_path / "t.dta")
    assert read(tmp_path / "t.dta", ["name"], ReadOptions(encoding="latin-1"))["name"].to_list()[2] != "Bö"


@pytest.mark.parametrize("suffix", [".dta", ".sav", ".zsav", ".por", ".sas7bdat", ".xpt"])
def test_damaged_files_are_refused(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"t{suffix}"
    path.write_bytes(VALUE.encode() * 500)
    for call in (column_names, read):
        with pytest.raises(DataFileError, match=f"t{suffix}: the file cannot be read as {suffix} data") as caught:
            call(path)
        assert VALUE not in str(caught.value)
        assert caught.value.__suppress_context__
    path.write_bytes(b"")
    with pytest.raises(EmptyDataError):
        read(path)


def test_a_file_without_records_is_refused(tmp_path: Path) -> None:
    pyreadstat.write_sav(FRAME.iloc[:0][["age", "pay"]], tmp_path / "t.sav")
    assert column_names(tmp_path / "t.sav") == ["age", "pay"]
    with pytest.raises(EmptyDataError, match=r"t\.sav: there are columns but no records"):
        read(tmp_path / "t.sav")


def test_a_compressed_file_is_unpacked(tmp_path: Path) -> None:
    write(tmp_path / "t.dta")
    (tmp_path / "t.dta.gz").write_bytes(gzip.compress((tmp_path / "t.dta").read_bytes()))
    assert read(tmp_path / "t.dta.gz").equals(read(tmp_path / "t.dta"))


def test_the_extra_is_named_where_it_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "t.dta")
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    with pytest.raises(MissingExtraError, match=r"reading \.dta files needs .* 'unveil\[stats-files\]'"):
        read(tmp_path / "t.dta")
