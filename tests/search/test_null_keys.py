"""A null of a key attribute is a value like others: told from the empty text, and all right alone."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unveil
from unveil import Hierarchy
from unveil.cli import run
from unveil.models import KAnonymity

TREE = Hierarchy("town", [["", "none", "*"], ["a", "some", "*"], ["b", "some", "*"]])
TOWNS = st.lists(st.sampled_from(["", None, "a", "b"]), min_size=2, max_size=7)


def classes_of(frame: pl.DataFrame, keys: list[str]) -> Counter[tuple[Any, ...]]:
    return Counter(frame.select(keys).rows())


@given(TOWNS, st.booleans(), st.sampled_from([0.0, 0.4]))
def test_a_null_and_an_empty_text_are_counted_as_the_release_shows_them(
    towns: list[str | None], given_tree: bool, suppression: float
) -> None:
    data = pl.DataFrame({"town": pl.Series(towns, dtype=pl.String)})
    trees = {"town": TREE} if given_tree else None
    release = unveil.anonymize(data, "town", [KAnonymity(2)], hierarchies=trees, suppression=suppression, keep_order=True)
    kept = [row for row in classes_of(release.data, ["town"]).items() if release.suppressed == 0 or row[0] != ("*",)]
    assert all(size >= 2 for _, size in kept)
    if release.transformation["town"] == 0:
        shown = release.data["town"].to_list()
        assert all(after in (before, "*") for before, after in zip(towns, shown, strict=True))


AGES = Hierarchy("age", [["1", "low", "*"], ["2", "low", "*"], ["3", "high", "*"], ["4", "high", "*"]])
ABOVE = {None: (None, "*", "*"), 1: ("1", "low", "*"), 2: ("2", "low", "*"), 3: ("3", "high", "*"), 4: ("4", "high", "*")}


@given(
    st.lists(st.sampled_from([*ABOVE]), min_size=4, max_size=8),
    st.integers(2, 4),
    st.sampled_from([pl.Int64, pl.String, pl.Null]),
)
def test_a_key_of_nulls_alone_is_left_and_changes_no_choice(ages: list[int | None], k: int, dtype: Any) -> None:
    """The lowest level of the other attribute that meets k, found by counting at every level."""
    data = pl.DataFrame({"age": pl.Series(ages, dtype=pl.Int64), "none": pl.Series([None] * len(ages), dtype=dtype)})
    release = unveil.anonymize(data, ["age", "none"], [KAnonymity(k)], hierarchies={"age": AGES}, keep_order=True)
    sizes = [Counter(ABOVE[age][level] for age in ages) for level in range(3)]
    lowest = next(level for level in range(3) if min(sizes[level].values()) >= k)
    assert dict(release.transformation) == {"age": lowest, "none": 0}
    assert release.data["none"].to_list() == [None] * len(ages)
    alone = unveil.anonymize(data, "age", [KAnonymity(k)], hierarchies={"age": AGES}, keep_order=True)
    assert release.data["age"].to_list() == alone.data["age"].to_list()


@pytest.mark.parametrize("keys", [["age", "none"], ["none"]], ids=str)
def test_every_recoding_takes_a_key_of_nulls_alone(keys: list[str]) -> None:
    data = pl.DataFrame({"age": [1, 1, 2, 2, 3, 9, 9], "none": pl.Series([None] * 7, dtype=pl.String), "pay": [*"abababa"]})
    for recode in (unveil.mondrian, unveil.recode_locally, unveil.generalize_subtrees):
        found = recode(data, keys, [KAnonymity(2)])
        assert found.data["none"].to_list() == [None] * 7
        assert min(classes_of(found.data, keys).values()) >= 2
    front = unveil.anonymize_front(data, keys, [unveil.Need.parse("pay: pay given age")], sensitive="pay", models=[KAnonymity(2)])
    assert min(classes_of(front.chosen.data, keys).values()) >= 2


def test_a_file_whose_key_column_is_empty(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out, tree = tmp_path / "people.csv", tmp_path / "release.csv", tmp_path / "none.csv"
    file.write_text("age,none\n1,\n1,\n2,\n2,\n3,\n", encoding="utf-8")
    command = ["anonymize", str(file), "--key", "age", "--key", "none", "--k", "2", "--suppression", "0.2", "--keep-order"]
    assert run([*command, "--out", str(out)]) == 0
    assert out.read_text("utf-8") == "age,none\n1,\n1,\n2,\n2,\n*,*\n"
    assert run(["hierarchy", "build", str(file), "--column", "none", "--out", str(tree)]) == 0
    assert Hierarchy.read(tree) == unveil.propose_hierarchy(file, "none").hierarchy
    again = tmp_path / "again.csv"
    assert run([*command, "--hierarchy", f"none={tree}", "--out", str(again)]) == 0
    assert again.read_text("utf-8") == out.read_text("utf-8")
    capsys.readouterr()
