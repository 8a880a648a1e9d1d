"""Where original values stand, and what released ones cover of the line."""

from __future__ import annotations

import math
from datetime import date, datetime
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unveil
from unveil.attacks.linkage.cells import AttributeCells, attributes_of, cells_of, column_names, column_of, opened, rows_in
from unveil.attacks.linkage.lines import LinkedAttribute, coded
from unveil.attacks.linkage.search import distinct_rows
from unveil.errors import ArgumentError, PartitionError, UnsupportedDataError


def ranges(cells: AttributeCells, record: int) -> list[tuple[float, float]]:
    value = cells.value[record]
    found = range(cells.starts[value], cells.starts[value + 1])
    return [(float(cells.low[at]), float(cells.high[at])) for at in found]


def covered(cells: AttributeCells, record: int) -> list[int]:
    """Return the original records that a released value covers."""
    parts = ranges(cells, record)
    return [at for at, x in enumerate(cells.position.tolist()) if any(low <= x <= high for low, high in parts)]


@pytest.mark.parametrize(
    ("original", "options", "kind"),
    [
        ([1, 2.5, None], {}, "continuous"),
        (np.array([1, 2]), {}, "continuous"),
        ([date(2020, 1, 1), None], {}, "continuous"),
        (["1", "2"], {}, "nominal"),
        ([True, False], {}, "nominal"),
        ([None, None], {}, "nominal"),
        (["a", "b"], {"order": ["a", "b"]}, "ordinal"),
        ([1, 2], {"kind": "nominal"}, "nominal"),
    ],
)
def test_the_kind_is_found_where_it_is_not_given(original: Any, options: dict[str, Any], kind: str) -> None:
    assert cells_of(LinkedAttribute("a", **options), original, original).attribute.kind == kind


@pytest.mark.parametrize(
    ("released", "inside"),
    [
        (22, [1]),
        ("22", [1]),
        ("[20, 30)", [0, 1, 2]),
        ("(20, 30]", [1, 2, 3]),
        ("20-29", [0, 1]),
        ("2*", [0, 1, 2]),
        ("-2*", [5]),
        ("{20, 30, 31}", [0, 3]),
        ([20, 22], [0, 1]),
        (">= 30", [3]),
        ("< 20", [5]),
        ("(-inf, inf)", [0, 1, 2, 3, 5]),
        ("*", [0, 1, 2, 3, 4, 5]),
        (None, [0, 1, 2, 3, 4, 5]),
        (math.nan, [0, 1, 2, 3, 4, 5]),
        ("{20, 22, +3}", [0, 1, 2, 3, 4, 5]),
        ("(29.5, 29.9)", []),
        ("(29.4999999999, 30)", [2]),
    ],
)
def test_numbers_that_a_released_value_covers(released: Any, inside: list[int]) -> None:
    ages = [20, 22, 29.5, 30, None, -29.7]
    assert covered(cells_of(LinkedAttribute("age"), ages, [released]), 0) == inside


@pytest.mark.parametrize(
    ("released", "inside"),
    [
        ("355**", [0, 1]),
        ("3*", [0, 1, 2, 4]),
        ("35510", [0]),
        ("{35510, 90000}", [0]),
        ("35510|36000", [0, 2]),
        ("[35500, 35599]", [0, 1]),
        ("x*", [3]),
        ("elsewhere", []),
        (["35510", "xy9"], [0, 3]),
        (35510.0, [0]),
        ("*", [0, 1, 2, 3, 4, 5]),
    ],
)
def test_texts_that_a_released_value_covers(released: Any, inside: list[int]) -> None:
    codes = ["35510", "35512", "36000", "xy9", "3550", None]
    assert covered(cells_of(LinkedAttribute("zip"), codes, [released]), 0) == inside


def test_a_masked_text_covers_its_own_length_first() -> None:
    codes = ["2", "21", "29", "200"]
    assert covered(cells_of(LinkedAttribute("code"), codes, ["2*"]), 0) == [1, 2]
    assert covered(cells_of(LinkedAttribute("code"), codes, ["2****"]), 0) == [0, 1, 2, 3]


def test_a_value_of_the_original_is_itself_whatever_it_looks_like() -> None:
    names = ["a*", "ab", "1-3", "2", "{x}", "x"]
    cells = cells_of(LinkedAttribute("name"), names, names)
    assert [covered(cells, at) for at in range(6)] == [[at] for at in range(6)]


def test_labels_of_a_hierarchy_cover_their_leaves() -> None:
    tree = unveil.Hierarchy.from_levels(["d", "a", "c", "b"], ["one", "one", "two", "two"], ["*", "*", "*", "*"], column="x")
    attribute = LinkedAttribute("x", hierarchy=tree)
    cells = cells_of(attribute, ["a", "b", "c", "d", "a", None], ["one", "two", "*", "a", None])
    assert [covered(cells, at) for at in range(5)] == [[0, 3, 4], [1, 2], [0, 1, 2, 3, 4, 5], [0, 4], [0, 1, 2, 3, 4, 5]]
    # leaves of one label stand side by side, so a label is one range
    assert [len(ranges(cells, at)) for at in range(5)] == [1, 1, 1, 1, 1]


def test_labels_of_a_hierarchy_of_numbers_cover_theirs() -> None:
    tree = unveil.Hierarchy.from_levels(["1", "2", "3", "9"], ["few", "few", "few", "many"], column="n")
    cells = cells_of(LinkedAttribute("n", hierarchy=tree), [1, 2, 3, 9], ["few", "many", "2"])
    assert [covered(cells, at) for at in range(3)] == [[0, 1, 2], [3], [1]]
    with pytest.raises(PartitionError, match="1 of 2 values present is in no block"):
        cells_of(LinkedAttribute("n", hierarchy=tree), [1, 4], ["few", "few"])
    born = unveil.Hierarchy.from_levels(["2019-05-01", "2019-06-01", "2020-01-01"], ["2019", "2019", "2020"], column="born")
    days = [date(2019, 5, 1), date(2019, 6, 1), date(2020, 1, 1), None]
    dated = cells_of(LinkedAttribute("born", hierarchy=born), days, ["2019", "2020", "*"])
    assert [covered(dated, at) for at in (0, 2)] == [[0, 1], [0, 1, 2, 3]]


def test_ordered_categories_stand_at_their_rank() -> None:
    attribute = LinkedAttribute("level", order=("low", "middle", "high"))
    cells = cells_of(attribute, ["high", "low", None], ["{low, high}", "middle", "*"])
    assert cells.position.tolist() == [2.0, 0.0, math.inf]
    assert [ranges(cells, at) for at in range(3)] == [[(0.0, 0.0), (2.0, 2.0)], [(1.0, 1.0)], [(-math.inf, math.inf)]]
    assert [cells.factor(scale) for scale in ("deviation", "range")] == [0.5, 0.5]
    numbers = cells_of(LinkedAttribute("n", kind="ordinal"), ["10", "9", "2"], ["9", "2-9"])
    assert numbers.position.tolist() == [2.0, 1.0, 0.0]
    assert covered(numbers, 1) == [1, 2]


def test_the_middle_stands_for_an_interval_where_asked() -> None:
    released = ["[20, 30)", "{20, 40}", ">= 40", "< 30", "35", None, ">= 90"]
    cells = cells_of(LinkedAttribute("age"), [20, 60, None], released, intervals="midpoint")
    assert cells.points()[:5].tolist() == [25.0, 30.0, 50.0, 25.0, 35.0]
    assert math.isnan(cells.points()[5])
    assert cells.points()[6] == 90.0


def test_dates_are_days() -> None:
    born = [date(1970, 1, 2), datetime(1970, 1, 3, 12), None]  # noqa: DTZ001
    cells = cells_of(LinkedAttribute("born"), born, ["1970-01-02", "[1970-01-01, 1970-01-03)", date(1970, 1, 4)])
    assert cells.position.tolist() == [1.0, 2.5, math.inf]
    assert covered(cells, 1) == [0]
    assert ranges(cells, 2) == [(3.0, 3.0)]
    assert cells_of(LinkedAttribute("born"), np.array(["1970-01-02"], dtype="datetime64[ns]"), ["*"]).position.tolist() == [1.0]


def test_spread_and_span_leave_nulls_out_and_constants_count_nothing() -> None:
    cells = cells_of(LinkedAttribute("a"), [1, 5, None], [1])
    assert (cells.spread, cells.span, cells.nulls) == (2.0, 4.0, 1)
    assert [cells.factor(scale) for scale in ("unit", "deviation", "range")] == [0.5, 0.125, 0.25]
    assert cells_of(LinkedAttribute("a"), [0.1, 0.1, 0.1], [1]).factor("unit") == 0.0
    assert (cells.generalised, cells_of(LinkedAttribute("a"), [1], ["1-2"]).generalised) == (False, True)


@given(st.lists(st.one_of(st.none(), st.integers(-9, 9)), min_size=1, max_size=20))
def test_arrays_and_lists_are_read_alike(values: list[int | None]) -> None:
    array = np.array([math.nan if x is None else x for x in values], dtype=float)
    attribute = LinkedAttribute("a", kind="continuous")
    one, other = cells_of(attribute, values, values), cells_of(attribute, array, array)
    assert one.position.tolist() == other.position.tolist()
    assert [ranges(one, at) for at in range(len(values))] == [ranges(other, at) for at in range(len(values))]


@given(st.lists(st.lists(st.sampled_from([0.0, -0.0, 1.0, math.inf, 2.5]), min_size=2, max_size=2), min_size=1, max_size=20))
def test_distinct_rows_are_those_that_differ(rows: list[list[float]]) -> None:
    numbered, first = distinct_rows(np.array(rows))
    assert [rows[at] for at in first[numbered].tolist()] == rows
    assert len(first) == len({tuple(row) for row in rows})


def test_values_that_are_lists_or_sets_are_told_apart() -> None:
    codes, distinct = coded([["a", "b"], ["a", "b"], "a", None, math.nan, 1, 1.0, True])
    assert codes.tolist() == [0, 0, 1, 2, 2, 3, 4, 5]
    assert len(distinct) == 6


def test_columns_are_reached_in_any_table() -> None:
    frame = pl.DataFrame({"a": [1, None], "b": ["x", "y"]})
    for table in map(opened, (frame, frame.lazy(), frame.to_pandas(), frame.to_dict(as_series=False))):
        assert (column_names(table), rows_in(table), list(column_of(table, "b"))) == (["a", "b"], 2, ["x", "y"])
    assert column_names(np.zeros((2, 3))) == ["0", "1", "2"]
    with pytest.raises(ArgumentError, match="differ in length"):
        rows_in({"a": [1], "b": [1, 2]})
    with pytest.raises(ArgumentError, match="two dimensions"):
        opened(np.zeros(3))
    with pytest.raises(ArgumentError, match="lists of values"):
        opened({"a": 1})
    with pytest.raises(UnsupportedDataError, match="data of type object"):
        opened(object())


def test_attributes_are_named_in_three_ways() -> None:
    tables: list[dict[str, Any]] = [{"a": [1], "b": [2]}, {"a": [3], "b*": [4]}]
    assert [attribute.released for attribute, _, _ in attributes_of(None, *tables)] == ["a"]
    found = attributes_of(["a", ("b", "b*"), LinkedAttribute("b", "a", kind="nominal")], *tables)
    assert [(at.name, at.released, mine, theirs) for at, mine, theirs in found] == [
        ("a", "a", [1], [3]),
        ("b", "b*", [2], [4]),
        ("b", "a", [2], [3]),
    ]
    with pytest.raises(ArgumentError, match="kind"):
        LinkedAttribute("a", kind="numeric")  # type: ignore[arg-type]


@pytest.mark.parametrize("released", ["{1, x}", "ab*", "young", True, math.inf])
def test_what_is_no_number_has_no_place_among_numbers(released: Any) -> None:
    with pytest.raises(UnsupportedDataError, match="1 of its 1 distinct values is no finite number"):
        cells_of(LinkedAttribute("age", kind="continuous"), [1, 2], [released])


@pytest.mark.parametrize("released", ["{1, x}", "ab*", "young", True])
def test_numbers_that_the_release_has_words_for_are_categories(released: Any) -> None:
    cells = cells_of(LinkedAttribute("age"), [1, 2, 30], [released, "30", "[1, 2]", None])
    assert cells.nominal
    assert cells.low[-3:].tolist() == [2.0, 0.0, -math.inf]  # 1, 2 and 30 are the entries 0, 1 and 2
    assert cells.high[-3:].tolist() == [2.0, 1.0, math.inf]
    assert not cells_of(LinkedAttribute("age"), [1, 2, 30], ["[1, 2]", "30", "3*", None]).nominal
    with pytest.raises(UnsupportedDataError, match="1 of its 2 distinct values is no finite number"):
        cells_of(LinkedAttribute("age"), [1, 2], [1.0, math.inf])
