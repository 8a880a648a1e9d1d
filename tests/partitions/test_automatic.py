"""The rule that is proposed fits the kind of the values; its levels merge more and more, and it says why."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unveil.errors import HierarchyError
from unveil.partitions.builders import Dates, HierarchyProposal, Intervals, Rare, Redaction, RootOnly, propose


def groups(found: HierarchyProposal) -> list[int]:
    return [len(set(labels)) for labels in zip(*found.hierarchy.labels, strict=True)]


def evenly(values: list[Any], n: int = 10) -> HierarchyProposal:
    return propose(values, [n] * len(values), column="c")


def test_few_values_have_a_root_only() -> None:
    for values in (["f", "m"], [1, 2, 3], [True, False, None]):
        found = evenly(values)
        assert found.rule == RootOnly()
        assert found.hierarchy.height == 1
        assert "too few" in found.reason


def test_numbers_have_nested_intervals() -> None:
    assert evenly(list(range(18, 81))).rule == Intervals((5, 10, 20, 40))
    assert evenly([str(age) for age in range(18, 81)]).rule == Intervals((5, 10, 20, 40))
    assert evenly([number / 1000 for number in range(1000)]).rule == Intervals((0.1, 0.2, 0.4))


def test_far_out_numbers_are_taken_in_by_open_ends() -> None:
    values = [-500, *range(160), 900, 10_000]
    found = propose(values, [1, *[20] * 160, 1, 1], column="c")
    assert found.rule == Intervals((10, 20, 40, 80), bottom=0, top=160)
    assert "open at the bottom and the top" in found.reason


def test_dates_have_periods_that_merge_something() -> None:
    days: list[Any] = [date(2019, 6, 1) + timedelta(days=3 * n) for n in range(300)]
    assert evenly(days).rule == Dates(("month", "quarter", "year", "decade"))
    assert evenly([day.isoformat() for day in days]).rule == Dates(("month", "quarter", "year", "decade"))
    assert evenly([date(2024, 1, 1) + timedelta(days=n) for n in range(60)]).rule == Dates(("month",))
    hours = [datetime(2024, 1, 1) + timedelta(hours=n) for n in range(100)]  # noqa: DTZ001
    assert evenly(hours).rule == Dates(("day",))


def test_codes_of_one_length_are_masked() -> None:
    assert evenly([f"{n:05}" for n in range(0, 9000, 37)]).rule == Redaction(characters=(2, 3))
    assert isinstance(evenly([f"A{n}-{m}" for n in range(10, 20) for m in range(100, 104)]).rule, Redaction)
    long = evenly([f"{n:04}{n % 7}{n % 5}{n % 3}{n % 2}" + f"{n:08}" for n in range(0, 9999, 7)])
    assert isinstance(long.rule, Redaction)
    assert long.hierarchy.height <= 6


def test_numbers_of_one_length_are_numbers() -> None:
    assert isinstance(evenly([str(n) for n in range(10_000, 99_999, 100)]).rule, Intervals)
    assert isinstance(evenly([str(n) for n in range(20240101, 20240131)]).rule, Intervals)


def test_other_values_are_merged_by_rarity() -> None:
    values = [*"abcdefgh", "Other"]
    found = propose(values, [1000, 800, 500, 60, 30, 8, 4, 2, 1], column="c")
    assert isinstance(found.rule, Rare)
    assert found.rule.other == "(other)"
    assert "rare ones are merged" in found.reason
    assert found.hierarchy.height >= 2


def test_values_that_occur_once_have_a_root_only() -> None:
    assert evenly([f"person {n}" for n in range(50)], n=1).rule == RootOnly()


def test_nothing_to_build_from() -> None:
    with pytest.raises(HierarchyError, match=r"^column 'c': there are no values to build a hierarchy of\.$"):
        propose([], [], column="c")


def test_nulls_alone_have_a_leaf_and_stay_as_they_are() -> None:
    found = propose([None], [5], column="c")
    assert (found.rule, found.hierarchy.labels) == (RootOnly(), (("",),))
    assert "every value is a null" in found.reason
    assert found.hierarchy.levels_for([None]).labels == ((None,),)


def test_a_null_beside_one_value_can_be_made_alike() -> None:
    found = propose(["a", None], [5, 1], column="c")
    assert found.hierarchy.labels == (("a", "*"),)
    assert found.hierarchy.levels_for(["a", None]).labels == (("a", None), ("*",))
    assert propose(["a"], [5], column="c").hierarchy.labels == (("a",),)


COLUMNS = st.one_of(
    st.lists(st.integers(-(10**9), 10**9) | st.integers(-20, 20), unique=True, min_size=1, max_size=60),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), unique=True, min_size=1, max_size=30),
    st.lists(st.dates(), unique=True, min_size=1, max_size=30),
    st.lists(st.text(max_size=5), unique=True, min_size=1, max_size=30),
    st.lists(st.from_regex(r"[A-C][0-9]{3}", fullmatch=True), unique=True, min_size=1, max_size=30),
)


@settings(deadline=None)
@given(COLUMNS, st.integers(0, 2**32 - 1), st.booleans())
def test_any_column_gets_a_chain_that_covers_it(values: list[Any], seed: int, null: bool) -> None:
    values = values + [None] * null
    counts = np.random.default_rng(seed).geometric(0.01, len(values))
    found = propose(values, counts.tolist(), column="c")
    levels = found.hierarchy.levels_for(values)
    sizes = groups(found)
    assert sizes[-1] == 1
    assert all(above < below for below, above in pairwise(sizes)) or len(values) - null == 1
    assert levels.height <= 6
    assert found.reason
