"""Anatomy: every group holds l secrets, the two tables answer queries, and the thesis's example query gives 2."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import unveil
from unveil import mechanisms
from unveil.errors import ArgumentError, ColumnNotFoundError, NullsError, OutputError

THESIS = pl.DataFrame(
    {
        "ID": [1, 1, 1, 2, 2, 2, 2, 2, 1],
        "ZIP Code": [35567, 35502, 35560, 35817, 35810, 35812, 35502, 35568, 35505],
        "Age": [22, 22, 22, 45, 63, 40, 35, 35, 32],
        "Salary": ["4K", "5K", "6K", "7K", "12K", "9K", "8K", "10K", "11K"],
        "Disease": [
            "colon cancer",
            "stomach cancer",
            "lung cancer",
            "diabetes",
            "diabetes",
            "aids",
            "aids",
            "flu",
            "lung cancer",
        ],
    }
)
"""Table 2.3 of the thesis."""
KEY = ["ZIP Code", "Age", "Salary"]


def split(**options: Any) -> Any:
    return mechanisms.anatomize(THESIS, KEY, "Disease", **options, keep_order=True)


def test_tables_2_4_and_2_5_and_the_query() -> None:
    tables = split(l=3, groups="ID")
    assert tables.quasi.columns == [*KEY, "group"]
    number = dict(zip(tables.quasi["group"], THESIS["ID"], strict=True))  # groups are numbered at random
    assert [number[group] for group in tables.quasi["group"]] == THESIS["ID"].to_list()
    assert {(number[group], disease, n) for group, disease, n in tables.sensitive.rows()} == {
        (1, "colon cancer", 1),
        (1, "stomach cancer", 1),
        (1, "lung cancer", 2),
        (2, "diabetes", 2),
        (2, "aids", 2),
        (2, "flu", 1),
    }
    assert tables.count({"Age": lambda age: age >= 35, "Disease": "aids"}) == 2.0
    assert tables.figures == {"groups": 2, "least_distinct": 3, "smallest_group": 4, "largest_share": 0.5}


def test_queries_follow_the_definition() -> None:
    tables = split(l=2, seed=4)
    for diseases in (["aids"], ["flu", "diabetes"], {"lung cancer"}):
        expected = 0.0
        for at in set(tables.quasi["group"]):
            ages = tables.quasi.filter(pl.col("group") == at)["Age"].to_list()
            secrets = {d: n for g, d, n in tables.sensitive.rows() if g == at}
            expected += sum(a in (22, 35) for a in ages) * sum(n for d, n in secrets.items() if d in diseases) / len(ages)
        assert tables.count({"Age": (22, 35), "Disease": diseases}) == pytest.approx(expected)
    assert tables.count({}) == 9.0
    assert tables.count({"Age": 22}) == 3.0
    assert tables.count({"Disease": "aids"}) == 2.0


@given(st.lists(st.integers(0, 6), min_size=2, max_size=60), st.integers(1, 4), st.integers(0, 50))
def test_groups_hold_each_secret_once_and_at_least_l(secrets: list[int], least: int, seed: int) -> None:
    assume(max(Counter(secrets).values()) * least <= len(secrets))
    frame = pl.DataFrame({"k": range(len(secrets)), "s": secrets})
    tables = mechanisms.anatomize(frame, "k", "s", l=least, seed=seed, keep_order=True)
    groups = tables.quasi["group"].to_list()
    held: dict[int, list[int]] = {}
    for at, secret in zip(groups, secrets, strict=True):
        held.setdefault(at, []).append(secret)
    assert all(len(set(some)) == len(some) >= least for some in held.values())
    assert {(g, s): n for g, s, n in tables.sensitive.rows()} == Counter(zip(groups, secrets, strict=True))
    assert tables.figures["largest_share"] <= 1 / least


def test_adult_answers_are_near_the_truth() -> None:
    adult = unveil.datasets.adult()
    tables = mechanisms.anatomize(adult, ["age", "sex"], "occupation", l=5, seed=1, keep_order=True)
    truth = adult.filter((pl.col("age") >= 40) & (pl.col("occupation") == "Sales")).height
    assert tables.count({"age": lambda age: age >= 40, "occupation": "Sales"}) == pytest.approx(truth, rel=0.1)
    assert "Sales" not in str(tables.quasi.columns)


def test_seeds_and_libraries() -> None:
    pandas = mechanisms.anatomize(pd.DataFrame(THESIS.to_dict(as_series=False)), KEY, "Disease", l=3, seed=5, keep_order=True)
    arrow = mechanisms.anatomize(THESIS.to_arrow(), KEY, "Disease", l=3, seed=5, keep_order=True)
    ours = split(l=3, seed=5)
    assert isinstance(pandas.quasi, pd.DataFrame)
    assert ours.quasi["group"].to_list() == pandas.quasi["group"].tolist() == arrow.quasi["group"].to_pylist()
    assert any(split(l=3, seed=seed).quasi["group"].to_list() != ours.quasi["group"].to_list() for seed in range(6))


def test_two_files_are_written(tmp_path: Path) -> None:
    tables = split(l=3, groups="ID")
    tables.write(tmp_path)
    assert pl.read_csv(tmp_path / "quasi.csv").equals(tables.quasi)
    assert pl.read_csv(tmp_path / "sensitive.csv").equals(tables.sensitive.cast({"count": pl.Int64}))
    tables.write(tmp_path / "a.parquet", tmp_path / "b.parquet")
    assert pl.read_parquet(tmp_path / "b.parquet").equals(tables.sensitive)
    with pytest.raises(ArgumentError, match="name a file for each"):
        tables.write(tmp_path / "a.csv", tmp_path / "a.csv")
    tables.write(tmp_path / "both.csv")
    assert pl.read_csv(tmp_path / "both-quasi.csv").equals(tables.quasi)
    assert (tmp_path / "both-sensitive.csv.unveil.json").exists()
    with pytest.raises(ArgumentError, match="2 tables, and 3 files are named"):
        tables.write(tmp_path / "a.csv", tmp_path / "b.csv", tmp_path / "c.csv")
    with pytest.raises(ArgumentError, match="no link"):
        tables.write_link(tmp_path / "link.csv")
    with pytest.raises(OutputError):
        tables.write(tmp_path / "c.csv", tmp_path / "none" / "b.csv")
    assert not (tmp_path / "c.csv").exists()


def test_nulls() -> None:
    frame = pl.DataFrame({"k": [1, 2, 3, 4], "s": ["a", None, "b", "a"]})
    assert mechanisms.anatomize(frame, "k", "s", l=2, nulls="keep", keep_order=True, seed=1).sensitive["s"].null_count() == 1
    skipped = mechanisms.anatomize(frame, "k", "s", l=1, nulls="drop", keep_order=True, seed=1)
    assert skipped.origin.tolist() == [0, 2, 3]
    assert mechanisms.anatomize(frame, "k", "s", l=2, nulls="keep", keep_order=True, seed=1).count({"s": None}) == 1.0
    with pytest.raises(NullsError):
        mechanisms.anatomize(frame, "k", "s", l=2, keep_order=True, seed=1)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"l": 0}, "at least 1"),
        ({"l": 7}, "only 6 distinct"),
        ({"l": 5}, "at most 4"),
        ({"l": 4, "groups": "ID"}, "a group has 3"),
        ({"group": "Age"}, "another name"),
        ({"group": "count"}, "another name"),
    ],
)
def test_bad_input_is_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ArgumentError, match=says):
        split(**options)


def test_bad_columns_are_refused() -> None:
    with pytest.raises(ArgumentError, match="one side"):
        mechanisms.anatomize(THESIS, ["Age", "Disease"], "Disease", keep_order=True, seed=1)
    with pytest.raises(ColumnNotFoundError):
        split(groups="none")
    with pytest.raises(ArgumentError, match="neither table"):
        split().count({"ID": 1})
    with pytest.raises(ArgumentError, match="mapping"):
        split().count({"Age": {"from": 3}})


def test_it_shows_itself() -> None:
    tables = split(l=3, groups="ID")
    assert repr(tables) == "Release(anatomy of ZIP Code, Age, Salary | Disease; 9 records; 2 groups; l = 3)"
    assert tables.to_dict()["figures"]["groups"] == 2
    assert tables.to_frame().columns == [*KEY, "group"]
    assert "groups" in tables._repr_html_()
    assert np.array_equal(tables.origin, np.arange(9))


def test_a_group_column_is_named_by_characters() -> None:
    people = pl.DataFrame({"age": [1, 2, 3, 4], "job": list("abcd")})
    with pytest.raises(ArgumentError, match="half a surrogate pair"):
        mechanisms.anatomize(people, "age", "job", l=2, group="\ud800")
