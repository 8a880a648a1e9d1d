"""One body, every kind of input: the same table gives the same answer, to the last digit, whoever holds it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pytest

import unveil
from unveil.errors import DuplicateColumnError, UnsupportedDataError


def csv_file(frame: pl.DataFrame, folder: Path) -> str:
    frame.write_csv(folder / "table.csv")
    return str(folder / "table.csv")


def tsv_file(frame: pl.DataFrame, folder: Path) -> Path:
    frame.write_csv(folder / "table.tsv", separator="\t")
    return folder / "table.tsv"


def parquet_file(frame: pl.DataFrame, folder: Path) -> str:
    frame.write_parquet(folder / "table.parquet")
    return str(folder / "table.parquet")


def arrow_file(frame: pl.DataFrame, folder: Path) -> str:
    pyarrow.feather.write_feather(frame.to_arrow(), folder / "table.arrow", compression="uncompressed")
    return str(folder / "table.arrow")


def json_lines(frame: pl.DataFrame, folder: Path) -> str:
    frame.write_ndjson(folder / "table.jsonl")
    return str(folder / "table.jsonl")


CONSTRUCTORS: dict[str, Callable[[pl.DataFrame, Path], Any]] = {
    "polars": lambda frame, _: frame,
    "polars lazy": lambda frame, _: frame.lazy(),
    "polars categorical": lambda frame, _: frame.with_columns(pl.col(pl.String).cast(pl.Categorical)),
    "pandas": lambda frame, _: frame.to_pandas(),
    "pandas object": lambda frame, _: frame.to_pandas().astype(object),
    "pandas categorical": lambda frame, _: frame.to_pandas().astype("category"),
    "pyarrow": lambda frame, _: frame.to_arrow(),
    "csv": csv_file,
    "tsv": tsv_file,
    "parquet": parquet_file,
    "arrow ipc": arrow_file,
    "json lines": json_lines,
}


@pytest.fixture(params=list(CONSTRUCTORS))
def constructor(request: pytest.FixtureRequest) -> Callable[[pl.DataFrame, Path], Any]:
    return CONSTRUCTORS[request.param]


def answers(data: Any) -> list[Any]:
    key, sensitive = ["age", "native-country"], "occupation"
    found: list[Any] = []
    for nulls in ("category", "drop"):
        rate = unveil.discrimination_rate(data, key, sensitive, nulls=nulls)
        found += [rate.value, rate.entropy, rate.kind, rate.adjusted, rate.records, rate.made.dropped]
        found += sorted((str(row["native-country"]), row["count"], row["dr"], row["posterior"]) for row in rate.by_value)
        found += [unveil.discrimination_rate(data, key, nulls=nulls).value]
    found += [unveil.scan(data, [*key, "sex", "workclass"], sensitive).to_dict()["subsets"]]
    return found


def test_the_same_table_gives_the_same_answer(constructor: Callable[[pl.DataFrame, Path], Any], tmp_path: Path) -> None:
    frame = unveil.datasets.adult(complete=False).head(4000)
    assert frame["occupation"].null_count() > 0
    assert answers(constructor(frame, tmp_path)) == answers(frame)


def test_a_nan_is_a_null_everywhere() -> None:
    with_both = pl.DataFrame({"y": [1.0, float("nan"), None, 1.0, float("nan")], "x": list("abcda")})
    nulls = pl.DataFrame({"y": [1.0, None, None, 1.0, None], "x": list("abcda")})
    inputs = [with_both, with_both.lazy(), with_both.to_arrow(), nulls.to_pandas(), nulls.to_arrow()]
    answers = [unveil.discrimination_rate(data, "y", "x") for data in inputs]
    assert {answer.value for answer in answers} == {unveil.discrimination_rate(nulls, "y", "x").value}
    assert all([row["y"] for row in answer.by_value].count(None) == 1 for answer in answers)
    assert unveil.discrimination_rate(with_both, "y", "x", nulls="drop").made.dropped == 3


def test_mixed_types_are_told_apart_by_type_and_text() -> None:
    frame = pd.DataFrame({"y": [1, "1", 1.0, True, None, float("nan"), 1], "x": list("abcdefa")}, dtype=object)
    result = unveil.discrimination_rate(frame, "y", "x")
    counts = sorted(row["count"] for row in result.by_value)
    assert counts == [1, 1, 1, 2, 2]


def test_dates_booleans_and_decimals_count() -> None:
    from datetime import date
    from decimal import Decimal

    frame = pl.DataFrame(
        {
            "day": [date(2020, 1, 1), date(2021, 1, 1), None, date(2020, 1, 1)],
            "flag": [True, False, None, True],
            "price": [Decimal("1.10"), Decimal("2.20"), Decimal("1.10"), None],
            "x": [1, 2, 3, 4],
        }
    )
    for column, classes in (("day", 3), ("flag", 3), ("price", 3)):
        result = unveil.discrimination_rate(frame, column, "x")
        assert len(result.by_value) == classes
        assert result.to_dict()["by_value"]


def test_an_all_null_column_is_one_class() -> None:
    frame = pl.DataFrame({"y": [None, None, None], "x": [1, 2, 3]})
    result = unveil.discrimination_rate(frame, "y", "x")
    assert (result.value, result.kind) == (0.0, "zero-identifier")


def test_two_columns_of_one_name_are_refused() -> None:
    with pytest.raises(DuplicateColumnError, match=r"one name|more than once"):
        unveil.discrimination_rate(pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]), "a")


def test_column_names_that_are_no_text_are_refused() -> None:
    with pytest.raises(UnsupportedDataError, match="2 column names are not text"):
        unveil.discrimination_rate(pd.DataFrame([[1, 2], [3, 4]]), "0")


def test_a_pyarrow_table_with_two_columns_of_one_name() -> None:
    table = pa.table([[1, 2], [3, 4]], names=["a", "a"])
    with pytest.raises(DuplicateColumnError, match=r"one name|more than once"):
        unveil.discrimination_rate(table, "a")


def test_large_dictionaries_keep_their_values() -> None:
    frame = pl.DataFrame({"id": [f"{at:07d}" for at in range(70_000)], "x": [at % 3 for at in range(70_000)]})
    result = unveil.discrimination_rate(frame, "id", "x")
    assert result.kind == "identifier"
    assert {row["id"] for row in result.by_value} == set(frame["id"])


@pytest.mark.parametrize("backend", ["polars", "pandas", "pyarrow"])
def test_adult_comes_in_any_library(backend: Any) -> None:
    frame = unveil.datasets.adult(backend=backend)
    assert unveil.discrimination_rate(frame, "sex", "occupation").records == 30_162


@pytest.mark.parametrize("name", ["*", "^a.*$", "", "a b", "\N{SNAKE}", 'say "hi"', "x,y"])
def test_strange_column_names_are_just_names(name: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({name: [1, 1, 2, None], "other": [1, 2, 3, 4], "abc": [1, 2, 3, 4]})
    for data in (
        frame,
        frame.lazy(),
        frame.to_arrow(),
        frame.to_pandas(),
        csv_file(frame, tmp_path),
        parquet_file(frame, tmp_path),
    ):
        assert unveil.discrimination_rate(data, name).kind == "partial-identifier"
        assert unveil.discrimination_rate(data, name, nulls="drop").made.dropped == 1
        assert unveil.discrimination_rate(data, [name, "other"], "abc").value == 1.0
    assert unveil.discrimination_rate(frame, name).value == pytest.approx(0.75)


def test_a_file_is_opened_with_what_cannot_be_found_out(tmp_path: Path) -> None:
    path = tmp_path / "latin.csv"
    path.write_bytes("pr\u00e9nom|x\nZo\u00e9|?\nAndr\u00e9|1\n".encode("latin-1"))
    opened = unveil.source(path, separator="|", encoding="latin-1", missing="?")
    assert opened.names == ("pr\u00e9nom", "x")
    assert unveil.discrimination_rate(opened, "pr\u00e9nom", "x", nulls="category").records == 2
    assert {row["x"] for row in unveil.discrimination_rate(opened, "x").by_value} == {1, None}
