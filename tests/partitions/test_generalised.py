"""What generalised values cover, text by text, and how a partition takes them in."""

from __future__ import annotations

import math
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unveil.errors import PartitionError
from unveil.partitions import Partition
from unveil.partitions.generalised import Generalised, fitted, is_null, is_suppressed, parse_generalised, point_of, text_form

INF = math.inf


def interval(low: float, high: float, *, left: bool = True, right: bool = True) -> Generalised:
    return Generalised(low, high, with_low=left, with_high=right)


@pytest.mark.parametrize(
    ("text", "covered"),
    [
        ("[20, 30)", interval(20, 30, right=False)),
        ("(20, 30]", interval(20, 30, left=False)),
        ("]20; 30]", interval(20, 30, left=False)),
        ("[20;30[", interval(20, 30, right=False)),
        (" [ -2.5e1 , .5 ] ", interval(-25, 0.5)),
        ("[-inf, 3)", interval(-INF, 3, right=False)),
        ("(0, +Infinity)", interval(0, INF, left=False, right=False)),
        ("[0, \u221e)", interval(0, INF, right=False)),
        ("[1970-01-03, 1970-01-05)", interval(2, 4, right=False)),
        ("20-29", interval(20, 29)),
        ("20 \u2013 29", interval(20, 29)),
        ("-5--1", interval(-5, -1)),
        ("20..29", interval(20, 29)),
        ("0.5 to 1.5", interval(0.5, 1.5)),
        ("1970-01-02..1970-01-03T12:00", interval(1, 2.5)),
        (">= 40", interval(40, INF)),
        (">40", interval(40, INF, left=False)),
        ("\u2265 40", interval(40, INF)),
        ("40+", interval(40, INF)),
        ("< 40", interval(-INF, 40, right=False)),
        ("<=-3", interval(-INF, -3)),
        ("\u2264 3", interval(-INF, 3)),
        ("2*", Generalised(20, 29, prefix="2", length=2)),
        ("355**", Generalised(35500, 35599, prefix="355", length=5)),
        ("-2*", Generalised(-29, -20, prefix="-2", length=3)),
        ("0*", Generalised(0, 9, prefix="0", length=2)),
        ("ab**", Generalised(prefix="ab", length=4)),
        ("7" * 400 + "*", Generalised(prefix="7" * 400, length=401)),
        ("{flu, cold}", Generalised(values=frozenset({"flu", "cold"}))),
        ("{flu}", Generalised(values=frozenset({"flu"}))),
        ("flu | cold", Generalised(values=frozenset({"flu", "cold"}))),
        (["flu", 3.0], Generalised(values=frozenset({"flu", "3"}))),
        (frozenset({True}), Generalised(values=frozenset({"true"}))),
        ("{flu, cold, +7}", Generalised()),
        ("*", Generalised()),
        (" *** ", Generalised()),
    ],
)
def test_each_form_is_read(text: Any, covered: Generalised) -> None:
    assert parse_generalised(text) == covered


@pytest.mark.parametrize(
    "plain",
    [
        "flu", "35510", "-5", "+5", "1e3", "A-B", "2020-01-01", "2020-01", "2020-13-01..2021-01-01", "", " ", "{}", "{a,}", "a||b", "|",
        "30-20", "[30, 20]", "[20, 20)", "[inf, inf]", "a*b", "*b", "a*b*", "[20, 30", "20, 30", "+7", 7, 2.5, None, True,
        date(2020, 1, 1),
    ],
)  # fmt: skip
def test_any_other_value_is_itself(plain: Any) -> None:
    assert parse_generalised(plain) is None


@given(st.integers(-50, 50), st.integers(-50, 50), st.floats(-60, 60), st.booleans(), st.booleans())
def test_an_interval_covers_the_numbers_between_its_ends(low: int, high: int, x: float, left: bool, right: bool) -> None:
    covered = parse_generalised(f"{'[' if left else '('}{low}, {high}{']' if right else ')'}")
    holds = (low < x or (left and low == x)) and (x < high or (right and x == high))
    if covered is None:
        assert low > high or (low == high and not (left and right))
    else:
        assert covered.covers(x) == covered.covers(str(x)) == holds


@given(st.from_regex(r"[0-9a-z]{1,6}", fullmatch=True), st.from_regex(r"[0-9a-z]{1,6}", fullmatch=True), st.integers(1, 6))
def test_a_mask_covers_the_codes_of_its_length_that_begin_so(code: str, other: str, masked: int) -> None:
    shown = code[: max(len(code) - masked, 1)]
    covered = parse_generalised(shown + "*" * (len(code) - len(shown))) if len(shown) < len(code) else None
    if covered is not None:
        assert covered.covers(code)
        assert covered.covers(other) == (len(other) == len(code) and other.startswith(shown))


@given(st.text())
def test_no_text_breaks_the_reader(text: str) -> None:
    covered = parse_generalised(text)
    assert covered is None or covered.is_anything or covered.is_interval or covered.prefix or covered.values


def test_what_is_covered_is_matched_by_form() -> None:
    assert parse_generalised("{1, 2}").covers(2.0)  # type: ignore[union-attr]
    assert parse_generalised("2*").covers(np.int64(25))  # type: ignore[union-attr]
    assert parse_generalised("[2020-01-01, 2021-01-01)").covers(date(2020, 12, 31))  # type: ignore[union-attr]
    assert not parse_generalised("[0, 1]").covers(True)  # type: ignore[union-attr]
    assert not parse_generalised(">= 0").covers("many")  # type: ignore[union-attr]


def test_values_have_a_text_a_number_and_may_be_missing() -> None:
    assert [text_form(x) for x in (3.0, 3.5, "3.0", True, date(2020, 1, 2), np.float64(7))] == [
        "3",
        "3.5",
        "3.0",
        "true",
        "2020-01-02",
        "7",
    ]
    numbers = [point_of(x) for x in (3, " 3.5 ", Decimal("1.5"), datetime(1970, 1, 2, 12), date(1969, 12, 31), True, "x", None)]  # noqa: DTZ001
    assert numbers == [3.0, 3.5, 1.5, 1.5, -1.0, None, None, None]
    assert [is_null(x) for x in (None, math.nan, np.float32("nan"), "", "*", 0)] == [True, True, True, False, False, False]
    assert [is_suppressed(x) for x in (None, "*", " ** ", "", "a*", 0)] == [True, True, True, False, False, False]


@pytest.mark.parametrize(
    ("value", "block"),
    [
        ("[20, 30)", "[0, 30)"),
        ("[20, 30]", None),
        ("2*", "[0, 30)"),
        ("{20, 29}", "[0, 30)"),
        ("{20, 31}", None),
        ("{20, many}", None),
        ("30..59", "[30, 60)"),
        (">= 60", ">= 60"),
        ("> 70", ">= 60"),
        ("< 0", None),
        ("*", None),
    ],
)
def test_a_generalised_number_goes_to_the_interval_that_holds_it(value: str, block: str | None) -> None:
    partition = Partition.from_edges([0, 30, 60, "inf"])
    found, straddling = fitted(partition, [value, "5"], "age")
    assert found.apply([value], "age")[1] == [value if block is None else block]
    assert straddling == (block is None)


def test_a_generalised_date_goes_to_its_interval() -> None:
    partition = Partition.from_edges(["2019-01-01", "2020-01-01", "2021-01-01"])
    values = ["[2020-01-01, 2020-07-01)", "[2019-06-01, 2020-06-01)", "*", "2019-03-04"]
    found, straddling = fitted(partition, values, "born")
    codes, labels = found.apply(values, "born")
    assert [labels[code] for code in codes] == [
        "[2020-01-01, 2021-01-01)", "[2019-06-01, 2020-06-01)", "*", "[2019-01-01, 2020-01-01)",
    ]  # fmt: skip
    assert straddling == 2


def test_a_set_goes_to_the_block_that_names_all_of_it() -> None:
    partition = Partition.from_blocks([["a", "b"], ["c"], ["22", "23"]], labels=["early", "late", "twenties"])
    values = ["{a, b}", "a|c", "{c, z}", "2*", None, "a"]
    found, straddling = fitted(partition, values, "letter")
    codes, labels = found.apply(values, "letter")
    assert [labels[code] for code in codes] == ["early", "a|c", "{c, z}", "twenties", None, "early"]
    assert straddling == 2


def test_plain_values_are_left_to_the_partition() -> None:
    partition = Partition.from_blocks([["a"], ["b"]])
    assert fitted(partition, ["a", "b", None], "x") == (partition, 0)
    with pytest.raises(PartitionError, match="in no block"):
        fitted(partition, ["a", "z", "*"], "x")
