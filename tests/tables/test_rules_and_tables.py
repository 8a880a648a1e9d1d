"""Tables from records, and the rules for sensitive cells, against the definitions."""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unveil
from unveil.errors import ArgumentError, HierarchyError, NullsError, TableError
from unveil.tables import CrossTable
from unveil.tables.rules import (
    DominanceRule,
    GroupRule,
    PercentRule,
    PriorPosteriorRule,
    RequestRule,
    ThresholdRule,
    rules_of,
)

TREE = [("a1", "A", "All"), ("a2", "A", "All"), ("b1", "B", "All"), ("c", "c", "All")]
ABOVE = {"a1": ("a1", "A", "All"), "a2": ("a2", "A", "All"), "b1": ("b1", "B", "All"), "c": ("c", "All")}
records = st.lists(
    st.tuples(
        st.sampled_from(["a1", "a2", "b1", "c"]),
        st.sampled_from(["x", "y"]),
        st.integers(0, 30),
        st.integers(1, 6),
        st.booleans(),
    ),
    min_size=1,
    max_size=40,
)


def frame(rows: list[tuple[Any, ...]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["where", "what", "worth", "firm", "asked"], orient="row")


def contributions(rows: list[tuple[Any, ...]], *, holding: bool) -> dict[tuple[str, ...], list[float]]:
    """The contributions to every cell, margins included, straight from the records."""
    cells: dict[tuple[str, ...], dict[Any, float]] = defaultdict(lambda: defaultdict(float))
    for number, (where, what, worth, firm, _) in enumerate(rows):
        for by in itertools.product(ABOVE[where], (what, "Total")):
            cells[by][firm if holding else number] += worth
    return {by: sorted(some.values(), reverse=True) for by, some in cells.items()}


def built(rows: list[tuple[Any, ...]], **options: Any) -> CrossTable:
    return unveil.table(frame(rows), ["where", "what"], value="worth", hierarchies={"where": TREE}, **options)


@given(records, st.booleans())
def test_cells_hold_what_the_records_say(rows: list[tuple[Any, ...]], holding: bool) -> None:
    table = built(rows, **({"holding": "firm"} if holding else {}))
    assert table.value is not None
    assert table.top is not None
    expected = contributions(rows, holding=holding)
    for cell, by in enumerate(tuple(one.values()) for one in table.codes_of(table.cells)):
        mine = expected.get(by, [])
        assert table.units[cell] == len(mine)
        assert table.value[cell] == sum(mine)
        assert table.top[cell].tolist() == (mine + [0.0] * 5)[:5]
    assert np.abs(table.equations() @ table.value).max() == 0
    assert table.n.max() == len(rows)


@given(records, st.booleans())
def test_rules_are_their_definitions(rows: list[tuple[Any, ...]], holding: bool) -> None:
    table = built(rows, **({"holding": "firm"} if holding else {}))
    expected = contributions(rows, holding=holding)
    definitions: dict[Any, Any] = {
        ThresholdRule(3): lambda x: 0 < len(x) < 3,
        DominanceRule(2, 85): lambda x: sum(x[:2]) * 100 > 85 * sum(x),
        PercentRule(10): lambda x: sum(x[2:]) < 0.1 * x[0],
        PercentRule(10, 2): lambda x: sum(x[3:]) < 0.1 * x[0],
        PriorPosteriorRule(15, 50): lambda x: 50 * sum(x[2:]) < 15 * x[0],
    }
    for rule, definition in definitions.items():
        marked = rule.primary(table)
        for cell, by in enumerate(tuple(one.values()) for one in table.codes_of(table.cells)):
            mine = expected.get(by, [])
            assert marked[cell] == (bool(mine) and definition(mine)), (rule, mine)
        assert (rule.level(table)[marked] >= 0).all()


def test_rules_are_strict_on_their_border() -> None:
    data = pl.DataFrame({"g": ["a"] * 3 + ["b"] * 3, "v": [85, 10, 5, 80, 15, 5]})
    table = unveil.table(data, "g", value="v", margins=False)
    assert DominanceRule(1, 85).primary(table).tolist() == [False, False]
    assert DominanceRule(1, 84.999).primary(table).tolist() == [True, False]
    border = unveil.table(pl.DataFrame({"g": ["a"] * 3, "v": [100, 50, 10]}), "g", value="v", margins=False)
    assert PercentRule(10).primary(border).tolist() == [False]
    assert PercentRule(10.001).primary(border).tolist() == [True]
    assert PriorPosteriorRule(10, 100).primary(border).tolist() == [False]


def test_levels_make_the_total_safe() -> None:
    table = unveil.table(pl.DataFrame({"g": ["a"] * 3, "v": [100, 5, 1]}), "g", value="v", margins=False)
    assert PercentRule(10).level(table).tolist() == [9.0]
    assert PriorPosteriorRule(15, 50).level(table).tolist() == [29.0]
    assert DominanceRule(2, 85).level(table)[0] == pytest.approx(105 / 0.85 - 106)


def test_a_whole_class_in_one_group_of_categories_is_group_disclosure() -> None:
    """All of N have a cancer, of one kind or another: the group gives that away, the kinds do not."""
    rows = [("N", "lung"), ("N", "skin"), ("S", "lung"), ("S", "flu"), ("S", "flu")]
    tree = [("lung", "cancer", "Total"), ("skin", "cancer", "Total"), ("flu", "other", "Total"), ("cold", "other", "Total")]
    data = pl.DataFrame(rows, schema=["town", "ill"], orient="row")
    table = unveil.table(data, ["town", "ill"], hierarchies={"ill": tree})
    marked = {table.name_of(cell) for cell in np.flatnonzero(rules_of("group")[0].primary(table)).tolist()}
    assert marked == {"(N, cancer)", "(N, other)", "(N, flu)", "(N, cold)"}
    flat = unveil.table(data, ["town", "ill"])
    assert not rules_of("group")[0].primary(flat).any()


def test_a_whole_class_in_one_category_is_group_disclosure() -> None:
    data = pl.DataFrame({"class": ["a"] * 4 + ["b"] * 4, "ill": ["yes"] * 4 + ["yes", "no", "no", "no"]})
    table = unveil.table(data, ["class", "ill"])
    marked = {tuple(table.codes_of(np.array([cell]))[0].values()) for cell in np.flatnonzero(GroupRule().primary(table))}
    assert marked == {("a", "yes"), ("a", "no")}
    with_one = {table.name_of(cell) for cell in np.flatnonzero(GroupRule("ill", 1).primary(table)).tolist()}
    assert with_one == {"(a, yes)", "(a, no)", "(b, no)"}
    assert unveil.attack_table(table).to_dict()["attacks"]["group disclosure"] == 1


def test_only_the_largest_contributor_who_asked_is_heeded() -> None:
    data = pl.DataFrame({"g": ["a", "a", "b", "b"], "v": [9, 1, 5, 5], "ask": ["yes", "no", "no", "yes"]})
    table = unveil.table(data, "g", value="v", request="ask")
    marked = {table.name_of(cell) for cell in np.flatnonzero(RequestRule(60).primary(table)).tolist()}
    assert marked == {"(a)"}


def test_signed_values_are_ranked_by_their_size() -> None:
    data = pl.DataFrame({"g": ["a", "a", "a"], "v": [-100, 5, 90]})
    with pytest.raises(TableError, match="negative"):
        unveil.table(data, "g", value="v")
    table = unveil.table(data, "g", value="v", signed=True, margins=False)
    assert table.top is not None
    assert table.top[0, :3].tolist() == [100, 90, 5]
    assert PercentRule(10).primary(table).tolist() == [True]
    assert PercentRule(4).primary(table).tolist() == [False]


def test_weights_multiply_contributions() -> None:
    data = pl.DataFrame({"g": ["a", "a"], "v": [10.0, 20.0], "w": [3.0, 1.0]})
    table = unveil.table(data, "g", value="v", weights="w", margins=False)
    assert table.value is not None
    assert table.top is not None
    assert table.value.tolist() == [50.0]
    assert table.top[0, :2].tolist() == [30.0, 20.0]


def test_rules_read_as_they_are_written() -> None:
    texts = ["threshold=3", "dominance=2:85", "p=10", "p=10:2", "pq=15:50", "group", "group=ill:1", "request=5"]
    assert [rule.words() for rule in rules_of(texts)] == texts


@pytest.mark.parametrize("rules", [{"p=10"}, [3], None, [["p=10"]]])
def test_what_is_no_rule_is_refused(rules: Any) -> None:
    with pytest.raises(ArgumentError, match="a rule cannot be"):
        rules_of(rules)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("threshold=1", "at least 2"),
        ("threshold=x", "written as threshold=K"),
        ("dominance=2", "dominance=N:K"),
        ("dominance=2:101", "at most 100"),
        ("pq=50:15", "p below q"),
        ("p=-1", "above 0"),
        ("q=3", "unknown"),
    ],
)
def test_rules_that_are_none_are_refused(text: str, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        rules_of(text)


FEW = pl.DataFrame(
    {"a": ["x", "x", "y"], "b": ["u", "v", "u"], "v": [1, 2, 3], "t": ["one", "two", "three"], "null": [1, None, 2]}
)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"by": ["nope"]}, KeyError, "not found"),
        ({"by": []}, ArgumentError, "no dimension"),
        ({"by": ["a", "a"]}, ArgumentError, "named twice"),
        ({"by": ["a"], "value": "t"}, TableError, "text"),
        ({"by": ["a"], "value": "null"}, NullsError, r"null in 1 record, .*nulls='drop'"),
        ({"by": ["a"], "value": "v", "holding": "null"}, TableError, "nulls"),
        ({"by": ["a"], "hierarchies": {"a": [("x", "Total")]}}, HierarchyError, "not in it"),
        ({"by": ["a"], "total": "x"}, TableError, "written like the total"),
        ({"by": ["a", "b"], "tables": [["c"]]}, ArgumentError, "linked table"),
    ],
)
def test_what_makes_no_table_is_refused(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        unveil.table(FEW, options.pop("by"), **options)


def test_rules_on_values_need_values() -> None:
    with pytest.raises(TableError, match="column of values"):
        unveil.table(FEW, "a").suppress("p=10")
    with pytest.raises(TableError, match="top=4"):
        unveil.table(FEW, "a", value="v", top=2).suppress("dominance=4:80")


def test_nulls_are_a_code_of_their_own() -> None:
    table = unveil.table(pl.DataFrame({"a": ["x", None, "x"]}), "a")
    assert table.to_frame().rows() == [("Total", 3), ("x", 2), ("(missing)", 1)]
    rooted = unveil.table(pl.DataFrame({"a": ["x", None, "x"]}), "a", hierarchies={"a": [("x", "G", "All")]})
    assert rooted.to_frame().rows() == [("All", 3), ("G", 2), ("x", 2), ("(missing)", 1)]
    both = unveil.table(pl.DataFrame({"a": ["x", None, ""]}), "a", hierarchies={"a": [("x", "G", "All"), ("", "H", "All")]})
    assert sorted(both.to_frame().rows()) == [("", 1), ("(missing)", 1), ("All", 3), ("G", 1), ("H", 1), ("x", 1)]
    null = unveil.table(pl.DataFrame({"a": ["x", None]}), "a", hierarchies={"a": [("x", "G", "All"), ("", "H", "All")]})
    assert sorted(null.to_frame().rows()) == [("", 1), ("All", 2), ("G", 1), ("H", 1), ("x", 1)]


def test_the_derived_figures_of_adult() -> None:
    attack = unveil.attack_table("adult", ["marital-status", "native-country"], value="capital-gain", margins=False)
    assert int((attack.table.n > 0).sum()) == 205
    assert len(attack.table.n) == 287
    found = attack.to_dict()["attacks"]
    assert (found["external"], found["internal"], found["dominance"]) == (30, 30, 34)
    assert int(ThresholdRule(5).primary(attack.table).sum()) == 90


def test_engines_give_the_same_table() -> None:
    import duckdb

    relation = duckdb.connect().from_arrow(FEW.select("a", "b", "v").to_arrow())
    mine, theirs = (unveil.table(data, ["a", "b"], value="v") for data in (FEW, relation))
    assert mine.to_dict()["cells"] == theirs.to_dict()["cells"]
    assert mine.top is not None
    assert theirs.top is not None
    assert np.array_equal(mine.top, theirs.top)


@settings(max_examples=20)
@given(records, st.booleans(), st.booleans(), st.booleans())
def test_engines_sum_contributors_as_records_are(
    rows: list[tuple[Any, ...]], holding: bool, request: bool, weights: bool
) -> None:
    import duckdb

    data = frame(rows).with_columns(part=pl.col("firm") / 2)
    options: dict[str, Any] = {"holding": "firm"} if holding else {}
    options |= {"request": "asked"} if request else {}
    options |= {"weights": "part"} if weights else {}
    relation = duckdb.connect().from_arrow(data.to_arrow())
    mine, theirs = (
        unveil.table(one, ["where", "what"], value="worth", hierarchies={"where": TREE}, **options) for one in (data, relation)
    )
    assert mine.to_dict()["cells"] == theirs.to_dict()["cells"]
    for name in ("n", "units", "value", "size", "top", "asked"):
        assert np.array_equal(getattr(mine, name), getattr(theirs, name)), name  # quarters and halves add without rounding
    assert np.array_equal(PercentRule(10).primary(mine), PercentRule(10).primary(theirs))
    if request:
        assert np.array_equal(RequestRule(20).primary(mine), RequestRule(20).primary(theirs))
