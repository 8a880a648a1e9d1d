"""A hierarchy in numbers agrees with its partitions, level by level, and a folder gives one hierarchy per column."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import shared
from unveil.errors import DataNotFoundError, HierarchyError
from unveil.partitions import Hierarchy

COLUMNS = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation", "salary-class")


@st.composite
def hierarchies_with_values(draw: st.DrawFn) -> tuple[Hierarchy, list[Any]]:
    """Give a rooted chain over numbers, and some of its numbers with perhaps a null."""
    leaves = draw(st.lists(st.integers(-20, 20), unique=True, min_size=1, max_size=12))
    rows = [[str(leaf)] for leaf in leaves]
    for level in range(draw(st.integers(0, 3))):
        above = {row[-1]: f"{level}:{draw(st.integers(0, 3))}" for row in rows}
        rows = [[*row, above[row[-1]]] for row in rows]
    present = draw(st.lists(st.sampled_from(leaves), unique=True))
    return Hierarchy("n", [[*row, "*"] for row in rows]), present + [None] * draw(st.integers(0, 1))


@given(hierarchies_with_values())
def test_groups_are_those_of_the_partitions(case: tuple[Hierarchy, list[Any]]) -> None:
    hierarchy, values = case
    levels = hierarchy.levels_for(values)
    assert levels.height == hierarchy.height
    assert levels.leaves == len(hierarchy.leaves)
    for number in range(hierarchy.height + 1):
        label_of = {int(row[0]): row[number] for row in hierarchy.labels}
        leaves_of = Counter(row[number] for row in hierarchy.labels)
        groups, labels, shares = levels.groups[number], levels.labels[number], levels.shares[number]
        assert list(dict.fromkeys(groups.tolist())) == list(range(len(labels)))
        for value, group in zip(values, groups.tolist(), strict=True):
            if value is not None:
                assert labels[group] == label_of[value]
                assert shares[group] == leaves_of[label_of[value]] / levels.leaves
            else:
                assert labels[group] == ("*" if number else None)
                assert shares[group] == (1.0 if number else 1 / levels.leaves)


@given(hierarchies_with_values())
def test_what_is_together_stays_together(case: tuple[Hierarchy, list[Any]]) -> None:
    levels = case[0].levels_for(case[1])
    assert levels.groups[0].tolist() == list(range(len(case[1])))
    for below, above in zip(levels.groups, levels.groups[1:], strict=False):
        assert len({*zip(below.tolist(), above.tolist(), strict=True)}) == len({*below.tolist()})
    assert len({*levels.groups[-1].tolist()}) <= 1


def test_an_empty_leaf_names_the_null() -> None:
    levels = Hierarchy("c", [["a", "known", "*"], ["", "unknown", "*"]]).levels_for(["a", None])
    assert levels.labels == (("a", None), ("known", "unknown"), ("*",))
    assert [share.tolist() for share in levels.shares] == [[0.5, 0.5], [0.5, 0.5], [1.0]]


def test_an_empty_text_beside_a_null_is_the_empty_leaf() -> None:
    levels = Hierarchy("c", [["a", "known", "*"], ["", "unknown", "*"]]).levels_for(["", None, "a"])
    assert levels.labels == (("", None, "a"), ("unknown", "*", "known"), ("*",))
    assert [groups.tolist() for groups in levels.groups] == [[0, 1, 2], [0, 1, 2], [0, 0, 0]]


def test_without_a_root_the_null_stays_apart() -> None:
    levels = Hierarchy("c", [["a", "x"], ["b", "y"]]).levels_for([None, "b", "a"])
    assert levels.labels == ((None, "b", "a"), ("*", "y", "x"))


def test_a_label_like_the_root_below_the_top_does_not_take_the_null_in() -> None:
    levels = Hierarchy("c", [["a", "*", "x", "*"], ["b", "b", "x", "*"]]).levels_for(["a", "b", None])
    assert [groups.tolist() for groups in levels.groups] == [[0, 1, 2], [0, 1, 2], [0, 0, 1], [0, 0, 0]]


def test_counts_what_it_cannot_place() -> None:
    ages = Hierarchy("age", [["17", "x"], ["17.0", "y"], ["18", "y"]])
    with pytest.raises(HierarchyError, match=r"^hierarchy of column 'age': 1 of 3 values present is not in it \(level 0\)\.$"):
        ages.levels_for([18, 19, None])
    with pytest.raises(HierarchyError, match=r"1 of 2 values present is in more than one of its rows\.$"):
        ages.levels_for([17, 18])
    assert ages.levels_for(["17", "17.0"]).groups[1].tolist() == [0, 1]


def test_a_folder_of_the_reference_hierarchies() -> None:
    found = Hierarchy.read_folder(shared("data/arx-adult"), COLUMNS)
    assert tuple(found) == COLUMNS
    assert [found[name].height for name in COLUMNS] == [1, 4, 1, 2, 3, 2, 2, 2, 1]
    ages = found["age"].levels_for(range(17, 91))
    assert [len(labels) for labels in ages.labels] == [74, 15, 8, 5, 1]
    assert [set(shares.tolist()) for shares in ages.shares] == [{0.01}, {0.05}, {0.1}, {0.2}, {1.0}]


def test_a_folder_gives_roots(tmp_path: Path) -> None:
    tmp_path.joinpath("sex.csv").write_text("f\nm\n", encoding="utf-8")
    tmp_path.joinpath("x_hierarchy_age.CSV").write_text("1;low\n9;high\n", encoding="utf-8")
    tmp_path.joinpath("age.txt").write_text("no hierarchy", encoding="utf-8")
    found = Hierarchy.read_folder(tmp_path, ["age", "sex"])
    assert found["age"].labels == (("1", "low", "*"), ("9", "high", "*"))
    assert found["sex"] == Hierarchy("sex", [["f", "*"], ["m", "*"]])


def test_a_folder_that_does_not_fit(tmp_path: Path) -> None:
    for name in ("age.csv", "adult_hierarchy_age.csv", "sex.csv"):
        tmp_path.joinpath(name).write_text("1;*\n", encoding="utf-8")
    with pytest.raises(HierarchyError, match=r"2 files could be .* 'age': adult_hierarchy_age.csv, age.csv; leave one\.$"):
        Hierarchy.read_folder(tmp_path, ["age"])
    with pytest.raises(DataNotFoundError, match=r"no hierarchy of column 'sexx'; it would be .* Hint: did you mean 'sex'\?$"):
        Hierarchy.read_folder(tmp_path, ["sexx"])
    with pytest.raises(DataNotFoundError, match=r"the folder '.*nowhere' is not there\.$"):
        Hierarchy.read_folder(tmp_path / "nowhere", ["age"])
    with pytest.raises(DataNotFoundError, match=r"cannot be read as a folder"):
        Hierarchy.read_folder(tmp_path / "age.csv", ["age"])
