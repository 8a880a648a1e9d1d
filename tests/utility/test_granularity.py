"""Granularity against loops written from the formulas, ARX's definition, hand-worked tables and laws."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unveil.errors import HierarchyError
from unveil.partitions import Hierarchy
from unveil.utility.categorical import CodedPair, attribute_loss
from unveil.utility.granularity import LOSSES, average_class_size, class_figure, discernibility, granularity_loss

CITIES = [
    ["Paris", "France", "Europe"],
    ["Lyon", "France", "Europe"],
    ["Oslo", "Norway", "Europe"],
    ["Lima", "Peru", "America"],
    ["Monaco", "Monaco", "Europe"],
]
TREE = Hierarchy("city", CITIES)
AGES = Hierarchy("age", [[str(age), f"{age // 10}*", "*"] for age in range(20, 60)])


def pair(before: list[Any], after: list[Any]) -> CodedPair:
    values = list(dict.fromkeys([*before, *after]))
    return CodedPair("x", values, *(np.array([values.index(value) for value in some]) for some in (before, after)))


def figures(before: list[Any], after: list[Any], tree: Hierarchy | None = None) -> dict[str, Any]:
    return dict(granularity_loss(pair(before, after), tree).figures)


@given(st.lists(st.tuples(st.sampled_from([row[0] for row in CITIES]), st.sampled_from([0, 1, 2, 3])), min_size=1, max_size=20))
def test_local_recoding_agrees_with_the_definitions(drawn: list[tuple[str, int]]) -> None:
    path = {row[0]: [*row, "*"] for row in CITIES}
    before, after = [city for city, _ in drawn], [path[city][level] for city, level in drawn]
    found = figures(before, after, TREE)
    covered, levels, bits = [], [], []
    for city, label in zip(before, after, strict=True):
        leaves = [row[0] for row in CITIES if label in row] if label != "*" else [row[0] for row in CITIES]
        covered.append(len(leaves))
        levels.append(1.0 if label == "*" else path[city].index(label) / 2)
        bits.append(-math.log2(before.count(city) / sum(before.count(leaf) for leaf in leaves)))
    n, most = len(drawn), len(CITIES)
    # ARX's loss: the shares of the leaves, between none and all generalised
    assert found["granularity"] == pytest.approx((sum(m / most for m in covered) - n / most) / (n - n / most))
    assert found["ncp"] == pytest.approx(sum(m / most if m > 1 else 0.0 for m in covered) / n)
    every = attribute_loss(pair(before, before))["entropy"]
    assert found["nonuniform_entropy"] == pytest.approx(sum(bits) / n / every if every else 0.0, abs=1e-12)
    if "Monaco" not in after:  # it stands at two levels
        assert found["precision"] == pytest.approx(sum(levels) / n)
    assert found["elsewhere"] == 0
    assert found["suppressed"] == after.count("*")


def test_one_level_that_explains_all_labels_is_their_level() -> None:
    assert figures(["Paris", "Monaco"], ["France", "Monaco"], TREE)["precision"] == 0.5
    # no single level explains these: each is of the lowest that has it
    assert figures(["Paris", "Monaco", "Lima"], ["France", "Monaco", "Lima"], TREE)["precision"] == pytest.approx(0.5 / 3)


def test_of_two_levels_that_explain_all_labels_the_lower_is_theirs() -> None:
    repeated = Hierarchy("city", [["Paris", "France", "France", "*"], ["Lima", "Peru", "Peru", "*"]])
    assert figures(["Paris", "Lima"], ["France", "Peru"], repeated)["precision"] == pytest.approx(1 / 3)


def test_suppressed_cells_count_as_the_top_and_nulls_of_the_original_are_left_out() -> None:
    found = figures(["Paris", "Lyon", None, "*"], ["*", None, "Paris", "*"], TREE)
    assert (found["granularity"], found["precision"], found["ncp"], found["nonuniform_entropy"]) == (1.0, 1.0, 1.0, 1.0)
    assert (found["cells"], found["nulls"], found["suppressed"]) == (2, 2, 2)


def test_for_a_global_recoding_nonuniform_entropy_is_the_conditional_entropy() -> None:
    random = np.random.default_rng(1)
    before = random.choice([row[0] for row in CITIES], size=200, p=[0.4, 0.3, 0.1, 0.1, 0.1]).tolist()
    after = [next(row[1] for row in CITIES if row[0] == city) for city in before]
    lost = attribute_loss(pair(before, after))["entropy_loss"]
    assert figures(before, after, TREE)["nonuniform_entropy"] == pytest.approx(lost)


def test_leaves_that_are_numbers_have_a_range() -> None:
    found = figures([23, 29, 41], ["2*", "29", "*"], AGES)
    assert found["ncp"] == pytest.approx((9 / 39 + 0.0 + 1.0) / 3)
    assert found["granularity"] == pytest.approx((9 / 39 + 0.0 + 1.0) / 3)
    assert found["precision"] == pytest.approx((0.5 + 0.0 + 1.0) / 3)


@pytest.mark.parametrize(
    ("label", "covered"),
    [("[20, 30)", 2), ("(20, 30]", 2), ("20-29", 2), (">= 30", 3), ("< 30", 2), ("2*", 2), ("{20, 41}", 2), ("*", 5), ("41", 1)],
)
def test_without_a_hierarchy_labels_cover_original_values(label: str, covered: int) -> None:
    ages = ["20", "21", "30", "41", "50"]
    found = granularity_loss(pair(ages, [label] * 5))
    assert found.figures["granularity"] == pytest.approx((covered - 1) / 4)
    assert found.figures["leaves"] == 5


def test_masked_codes_cover_texts_of_their_length() -> None:
    found = figures(["a1", "a2", "b1", "a10"], ["a*", "a*", "b1", "a10"])
    assert found["granularity"] == pytest.approx(2 * (1 / 3) / 4)
    assert found["precision"] is None
    assert found["reasons"]["precision"] == "labels without a hierarchy have no levels"


def test_values_kept_or_suppressed_need_no_hierarchy() -> None:
    found = figures(["x", "y", "z", "x"], ["x", "*", None, "x"])
    assert found["granularity"] == found["precision"] == found["ncp"] == 0.5
    assert found["height"] == 1


def test_a_label_that_does_not_cover_the_value_is_counted() -> None:
    found = figures(["Paris", "Lima"], ["Oslo", "America"], TREE)
    assert found["elsewhere"] == 1
    assert found["nonuniform_entropy"] is None
    assert found["reasons"]["nonuniform_entropy"] == "1 released label not above the original value"
    assert found["granularity"] == 0.0


def test_unknown_labels_and_values_are_refused_without_being_shown() -> None:
    for before, after, tree in ((["Paris"], ["Mars"], TREE), (["Mars"], ["Paris"], TREE), (["x", "y"], ["warm", "y"], None)):
        with pytest.raises(HierarchyError) as problem:
            granularity_loss(pair(before, after), tree)
        assert "Mars" not in str(problem.value)
        assert "warm" not in str(problem.value)


@given(st.lists(st.sampled_from([None, "*", "Paris", "Lyon", "Lima"]), min_size=1, max_size=12), st.booleans())
def test_a_release_that_equals_the_original_loses_nothing(values: list[Any], named: bool) -> None:
    found = figures(values, values, TREE if named else None)
    expected = {0.0} if found["cells"] else {None}
    assert {found[name] for name in LOSSES} == expected
    assert found["suppressed"] == found["elsewhere"] == 0


@given(st.lists(st.integers(20, 59), min_size=1, max_size=12))
def test_each_level_loses_at_least_as_much_as_the_one_below(ages: list[int]) -> None:
    levels = [figures(ages, [AGES.labels[age - 20][level] for age in ages], AGES) for level in range(3)]
    for name in LOSSES:
        assert levels[0][name] <= levels[1][name] <= levels[2][name] <= 1.0


def test_discernibility_and_average_class_size_by_hand() -> None:
    assert discernibility(np.array([3, 2]), 5, 10) == 9 + 4 + 50
    assert average_class_size(np.array([3, 2])) == 2.5
    assert average_class_size(np.array([], dtype=np.int64)) is None


def test_the_loss_of_a_class_figure_lies_between_the_original_and_the_highest() -> None:
    assert class_figure(10, 10, 100)["loss"] == 0.0
    assert class_figure(10, 100, 100)["loss"] == 1.0
    assert class_figure(20, 10, 100)["loss"] == -0.125
    assert class_figure(1.0, None, 9)["reason"] == "every record is suppressed, so there is no class"
    assert class_figure(1.0, math.inf, math.inf)["release"] == "inf"
    assert class_figure(4, 3, 4)["loss"] is None


def test_of_an_infinite_domain_only_an_infinite_interval_covers_anything() -> None:
    numbers = [1.0, 2.0, math.inf, 3.0]
    assert figures(numbers, numbers)["ncp"] == 0.0
    assert figures(numbers, [1.0, 2.0, math.inf, "[3, inf]"])["ncp"] == 0.25
    assert figures(numbers, [1.0, "[2, 3]", math.inf, "[2, 3]"])["ncp"] == 0.0
