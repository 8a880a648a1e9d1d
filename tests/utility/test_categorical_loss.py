"""Categorical loss against loops written from the formulas, scikit-learn's mutual information, and laws."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import mutual_info_score

from helpers import entropy
from unveil.utility.categorical import CodedPair, attribute_loss, contingency_loss

VALUES = ("a", "b", "c", "*", None)
ORDER = ["c", "a", "b"]


def pair(name: str, before: list[Any], after: list[Any]) -> CodedPair:
    code = {value: at for at, value in enumerate(VALUES)}
    return CodedPair(name, VALUES, *(np.array([code[value] for value in some], dtype=np.uint8) for some in (before, after)))


@st.composite
def pairs(draw: st.DrawFn, *, columns: int = 1) -> list[tuple[list[Any], list[Any]]]:
    rows = draw(st.integers(1, 20))
    values = st.lists(st.sampled_from(VALUES), min_size=rows, max_size=rows)
    return [(draw(values), draw(values)) for _ in range(columns)]


@given(pairs())
def test_the_figures_of_an_attribute_follow_from_their_definitions(drawn: list[tuple[list[Any], list[Any]]]) -> None:
    before, after = drawn[0]
    loss = attribute_loss(pair("x", before, after), ORDER)
    n = len(before)
    assert loss["nominal"] == pytest.approx(sum(x != y for x, y in zip(before, after, strict=True)) / n)
    rank = {value: at for at, value in enumerate(ORDER)}
    apart = [
        0.0 if x == y else abs(rank[x] - rank[y]) / 3 if x in rank and y in rank else 1.0
        for x, y in zip(before, after, strict=True)
    ]
    assert loss["ordinal"] == pytest.approx(sum(apart) / n)
    conditional = sum(
        after.count(seen) / n * entropy([x for x, y in zip(before, after, strict=True) if y == seen]) for seen in set(after)
    )
    assert loss["entropy"] == pytest.approx(entropy(before), abs=1e-12)
    assert loss["conditional_entropy"] == pytest.approx(conditional, abs=1e-12)
    bits = mutual_info_score([str(x) for x in before], [str(y) for y in after]) / math.log(2)
    assert loss["mutual_information"] == pytest.approx(bits, abs=1e-12)
    assert 0.0 <= loss["entropy_loss"] <= 1.0


@given(pairs(columns=4))
def test_contingency_tables_are_compared_cell_by_cell(drawn: list[tuple[list[Any], list[Any]]]) -> None:
    columns = [pair(str(at), *sides) for at, sides in enumerate(drawn)]
    loss = contingency_loss(columns, 3)
    rows = len(drawn[0][0])
    for ways in (1, 2, 3):
        expected = []
        for chosen in combinations(range(4), ways):
            before, after = (Counter(zip(*(drawn[at][side] for at in chosen), strict=True)) for side in (0, 1))
            expected.append(sum(abs(before[cell] - after[cell]) for cell in before.keys() | after.keys()))
        found = loss[str(ways)]
        assert [table["difference"] for table in found["by_table"]] == expected
        assert found["difference"] == sum(expected)
        assert found["normalised"] == pytest.approx(sum(expected) / len(expected) / (2 * rows))


@given(pairs(columns=3))
def test_more_attributes_never_bring_tables_closer_and_untouched_ones_lose_nothing(
    drawn: list[tuple[list[Any], list[Any]]],
) -> None:
    columns = [pair(str(at), *sides) for at, sides in enumerate(drawn)]
    found = {
        tuple(table["attributes"]): table["difference"]
        for one in contingency_loss(columns, 3).values()
        for table in one["by_table"]
    }
    for names, difference in found.items():
        assert all(found[some] <= difference for size in range(1, len(names)) for some in combinations(names, size))
    same = [pair(str(at), before, before) for at, (before, _) in enumerate(drawn)]
    assert {one["difference"] for one in contingency_loss(same, 3).values()} == {0}
    for column in same:
        loss = attribute_loss(column, ORDER)
        assert loss["nominal"] == loss["ordinal"] == loss["conditional_entropy"] == loss["entropy_loss"] == 0.0


def test_too_many_tables_of_a_size_are_left_out_with_the_reason_and_the_others_compared() -> None:
    columns = [pair(str(at), ["a", "b"], ["a", "c"]) for at in range(633)]
    left_out: dict[str, Any] = {"difference": None, "normalised": None, "by_table": []}
    assert contingency_loss(columns, ways=3) == contingency_loss(columns, ways=1) | {
        "2": {"tables": 200_028, **left_out, "reason": "200,028 tables of 2 attributes, more than 200,000: not compared"},
        "3": {"tables": 42_072_556, **left_out, "reason": "42,072,556 tables of 3 attributes, more than 200,000: not compared"},
    }


def test_no_ways_compares_no_tables() -> None:
    assert contingency_loss([pair("x", ["a"], ["b"])], 0) == {}


def test_a_shuffled_column_differs_as_often_as_two_draws_and_tells_nothing() -> None:
    random = np.random.default_rng(0)
    before = random.choice(3, size=20_000, p=[0.6, 0.3, 0.1])
    column = CodedPair("x", ["a", "b", "c"], before, random.permutation(before))
    loss = attribute_loss(column)
    assert loss["nominal"] == pytest.approx(1 - (0.36 + 0.09 + 0.01), abs=0.01)
    assert loss["ordinal"] is None
    # 2 n ln 2 times the mutual information follows a chi-square with 4 degrees of freedom
    assert 2 * 20_000 * math.log(2) * loss["mutual_information"] < stats.chi2(4).ppf(0.9999)
    assert contingency_loss([column], 1)["1"]["difference"] == 0
