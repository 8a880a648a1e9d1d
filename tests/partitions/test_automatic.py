"""The rule that is proposed fits the kind of the values; its levels merge more and more, and it says why."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unveil.errors import HierarchyError
from unveil.partitions.builders import Dates, HierarchyProposal, Intervals, PostalCodes, Rare, Redaction, RootOnly, propose
from unveil.partitions.builders.dates import Unit


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
    assert evenly(list(range(20_000, 95_000, 250))).rule == Intervals((5_000, 10_000, 20_000))
    assert evenly(list(range(20_000, 900_000, 999))).rule == Intervals((100_000, 200_000))
    assert evenly([number / 1000 for number in range(1000)]).rule == Intervals((0.1, 0.2, 0.4))


def test_far_out_numbers_are_taken_in_by_open_ends() -> None:
    values = [-500, *range(160), 900, 10_000]
    found = propose(values, [1, *[20] * 160, 1, 1], column="c")
    assert found.rule == Intervals((10, 20, 40), bottom=0, top=160)
    assert "open at the bottom and the top" in found.reason


def test_dates_have_periods_that_merge_something() -> None:
    days: list[Any] = [date(2019, 6, 1) + timedelta(days=3 * n) for n in range(300)]
    assert evenly(days).rule == Dates(("month", "quarter", "year", "5-years"))
    assert evenly([day.isoformat() for day in days]).rule == Dates(("month", "quarter", "year", "5-years"))
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
    assert isinstance(evenly(list(range(20240001, 20240131))).rule, Intervals)


def test_dates_are_read_in_any_form() -> None:
    days = [date(1950, 1, 1) + timedelta(days=23 * n) for n in range(1000)]
    units: tuple[Unit, ...] = ("month", "quarter", "year", "5-years", "decade")
    for form in ("%m/%d/%y", "%d.%m.%Y", "%Y%m%d", "%d-%b-%Y", "%B %d, %Y", "%Y-%m-%d %H:%M:%S"):
        found = evenly([day.strftime(form) for day in days])
        assert isinstance(found.rule, Dates), form
        assert found.rule.units == units, form
        assert {row[0]: row[1] for row in found.hierarchy.labels} == {day.strftime(form): f"{day:%Y-%m}" for day in days}, form
    assert evenly([int(day.strftime("%Y%m%d")) for day in days]).rule == Dates(units)
    quarters = [f"Q{quarter} {year}" for year in range(1990, 2009) for quarter in range(1, 5)]
    assert evenly(quarters).rule == Dates(("year", "5-years", "decade"))
    months = [f"{month:02}/{year}" for year in range(1990, 2009) for month in range(1, 13)]
    assert evenly(months).rule == Dates(("quarter", "year", "5-years", "decade"))


def test_three_forms_in_one_column_meet_at_the_day() -> None:
    days = [date(1950, 1, 1) + timedelta(days=97 * n) for n in range(100)]
    forms = ("%Y-%m-%d", "%m/%d/%y", "%d.%m.%Y")
    found = evenly([day.strftime(form) for day in days for form in forms])
    assert isinstance(found.rule, Dates)
    assert found.rule.units[0] == "day"
    assert {row[0]: row[1] for row in found.hierarchy.labels} == {
        f"{day.strftime(f)}": day.isoformat() for day in days for f in forms
    }


def test_what_is_no_date_stays_apart() -> None:
    found = evenly([*(f"{year}-05-17" for year in range(1950, 2000)), "unknown", "no date"])
    assert found.rule == Dates(("5-years", "decade"), rest="(no date)")
    assert {row[0]: row[1] for row in found.hierarchy.labels}["unknown"] == "(no date)"
    assert "2 values that cannot be read" in found.reason
    assert not isinstance(evenly([str(year) for year in range(1950, 2000)]).rule, Dates)


def test_postal_codes_get_their_lost_zeros_back() -> None:
    found = propose([*range(1001, 9000, 411), *range(10_001, 99_999, 1711)], [3] * 73, column="Zip")
    assert isinstance(found.rule, PostalCodes)
    assert "20 values of fewer than 5 digits lost the zeros" in found.reason
    labels = {row[0]: row[1:] for row in found.hierarchy.labels}
    assert labels["1001"][-2] == "0****"
    assert labels["10001"][-2] == "1****"


def test_a_name_that_suggests_a_code_is_no_number() -> None:
    for name in ("DeptID", "occupation_code", "StoreCode"):
        found = propose(list(range(1, 9)), [100, 90, 80, 70, 60, 3, 2, 1], column=name)
        assert isinstance(found.rule, Rare), name
        assert "suggests a code" in found.reason
    assert isinstance(propose(list(range(1, 90)), [5] * 89, column="age").rule, Intervals)


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
