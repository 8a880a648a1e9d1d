"""Every rule builds a chain that covers the values, with the groups that its definition says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from unveil.errors import ArgumentError, HierarchyError
from unveil.partitions import Hierarchy
from unveil.partitions.builders import Builder, Dates, Groups, Intervals, Rare, Redaction, RootOnly

DATES = st.dates(date(1890, 1, 1), date(2090, 12, 31))


def level(hierarchy: Hierarchy, number: int) -> dict[str, str]:
    """Return the label of each leaf at a level."""
    return {row[0]: row[number] for row in hierarchy.labels}


def is_chain(hierarchy: Hierarchy, values: Sequence[Any]) -> bool:
    """Whether values that share a label share all labels above, up to one root, and no value is missing."""
    below_above = zip(*(tuple(pairwise(row)) for row in hierarchy.labels), strict=True)
    hierarchy.check_covers(values)
    return (
        all(len(set(pairs)) == len({low for low, _ in pairs}) for pairs in below_above)
        and len({r[-1] for r in hierarchy.labels}) == 1
    )


class TestIntervals:
    @given(
        st.lists(st.integers(-500, 500) | st.decimals(-500, 500, places=2).map(float), unique=True, min_size=1, max_size=20),
        st.sampled_from([1, 5, 0.5, 0.3]),
        st.lists(st.integers(2, 5), max_size=3),
        st.sampled_from([0, 3, -7.25]),
    )
    def test_each_number_lies_in_its_interval(self, values: list[float], width: float, factors: list[int], origin: float) -> None:
        widths = [Fraction(str(width))]
        for factor in factors:
            widths.append(widths[-1] * factor)
        built = Intervals(tuple(float(w) for w in widths), origin=origin).build(values, column="x")
        assert is_chain(built, values)
        for at, w in enumerate(widths, start=1):
            for value, label in level(built, at).items():
                low, high = (Fraction(end) for end in label.strip("[)").split(", "))
                assert low <= Fraction(value) < high
                assert high - low == w
                assert ((low - Fraction(str(origin))) / w).denominator == 1

    @given(st.lists(st.integers(-50, 150), unique=True, min_size=1, max_size=30))
    def test_open_ends(self, values: list[int]) -> None:
        built = Intervals((10, 20), bottom=18, top=65).build(values, column="age")
        assert is_chain(built, values)
        for at in (1, 2):
            for text, label in level(built, at).items():
                assert (label == "< 18") == (int(text) < 18)
                assert (label == ">= 65") == (int(text) >= 65)

    def test_intervals_are_cut_at_the_open_ends(self) -> None:
        built = Intervals((10, 20), bottom=18, top=65).build([17, 19, 20, 64, 65], column="age")
        assert list(level(built, 1).values()) == ["< 18", "[18, 20)", "[20, 30)", "[60, 65)", ">= 65"]
        assert list(level(built, 2).values()) == ["< 18", "[18, 20)", "[20, 40)", "[60, 65)", ">= 65"]

    def test_text_of_numbers_and_the_null(self) -> None:
        built = Intervals((0.1,)).build(["10", "9.95", None], column="x")
        assert built.labels == (("9.95", "[9.9, 10)", "*"), ("10", "[10, 10.1)", "*"))

    def test_huge_and_tiny_numbers_are_exact(self) -> None:
        built = Intervals((3,)).build([1e30, 10**30 + 3], column="x")
        assert is_chain(built, [1e30, 10**30 + 3])
        assert len(set(level(built, 1).values())) == 2

    def test_numbers_without_a_common_unit_that_is_not_tiny(self) -> None:
        built = Intervals((2, 4), origin=1, top=9).build(["1e-5000", "0.5", "3", "12"], column="x")
        assert [label for _, label in level(built, 1).items()] == ["[-1, 1)", "[-1, 1)", "[3, 5)", ">= 9"]
        assert Intervals((2, 4), origin=1, top=9).build(["0.5", "3", "12"], column="x").labels == built.labels[1:]

    def test_only_open_ends(self) -> None:
        built = Intervals((10,), bottom=0, top=10).build([-3, 44], column="x")
        assert level(built, 1) == {"-3": "< 0", "44": ">= 10"}

    @pytest.mark.parametrize(
        ("make", "problem"),
        [
            (lambda: Intervals(()), "one or more positive numbers"),
            (lambda: Intervals((0,)), "one or more positive numbers"),
            (lambda: Intervals((math.inf,)), "one or more positive numbers"),
            (lambda: Intervals((10, 5)), "must grow, and 5 comes after 10"),
            (lambda: Intervals((10, 15)), "15 is not a multiple of 10"),
            (lambda: Intervals((10,), bottom=9, top=9), "bottom of intervals must lie below"),
            (lambda: Intervals((10,), origin="x"), "origin of intervals is a number"),
        ],
    )
    def test_refuses(self, make: Any, problem: str) -> None:
        with pytest.raises(ArgumentError, match=problem):
            make()

    def test_counts_what_is_no_number(self) -> None:
        with pytest.raises(HierarchyError, match=r"^column 'x': 2 of 3 values present are no finite number\.$"):
            Intervals((5,)).build(["Zorro", 1, math.inf, None], column="x")
        with pytest.raises(HierarchyError, match="there are no values"):
            Intervals((5,)).build([None], column="x")


class TestGroups:
    @given(st.lists(st.text("abc", min_size=1), unique=True, min_size=1, max_size=20), st.integers(1, 4), st.integers(2, 3))
    def test_groups_are_runs_of_the_order(self, values: list[str], size: int, factor: int) -> None:
        built = Groups((size, size * factor)).build(values, column="x")
        assert is_chain(built, values)
        assert list(built.leaves) == sorted(values)
        for at, n in ((1, size), (2, size * factor)):
            labels = [row[at] for row in built.labels]
            assert [labels[i] == labels[i - 1] for i in range(1, len(labels))] == [i % n != 0 for i in range(1, len(labels))]

    def test_numbers_stand_in_their_own_order(self) -> None:
        assert level(Groups((2,)).build(["10", "9", "100"]), 1) == {"9": "[9, 10]", "10": "[9, 10]", "100": "100"}
        days = [date(2024, 2, 1), date(2023, 1, 1)]
        assert Groups((1,)).build(days).leaves == ("2023-01-01", "2024-02-01")

    def test_a_given_order_may_name_more(self) -> None:
        built = Groups((2,), order=("1", "2", "3", "4")).build([3, 1], column="x")
        assert level(built, 1) == {"1": "[1, 2]", "2": "[1, 2]", "3": "[3, 4]", "4": "[3, 4]"}

    def test_refuses(self) -> None:
        with pytest.raises(HierarchyError, match=r"^column 'x': 1 of 2 values present is not in the order given\.$"):
            Groups((2,), order=("a", "b")).build(["a", "Zorro"], column="x")
        with pytest.raises(HierarchyError, match="1 of 3 values of the order given repeat"):
            Groups((2,), order=("a", "b", "a")).build(["a"], column="x")
        with pytest.raises(ArgumentError, match="3 is not a multiple of 2"):
            Groups((2, 3))
        with pytest.raises(ArgumentError, match="whole number"):
            Groups((2.5,))  # type: ignore[arg-type]


class TestRedaction:
    @given(st.lists(st.text("0123", min_size=1, max_size=6), unique=True, min_size=1), st.sampled_from(["left", "right"]))
    def test_groups_are_those_of_what_is_left(self, codes: list[str], side: Any) -> None:
        built = Redaction(side).build(codes, column="zip")
        length = max(map(len, codes))
        assert is_chain(built, codes)
        for at in range(1, length):
            for code, label in level(built, at).items():
                filled = code.rjust(length, "*") if side == "left" else code.ljust(length, "*")
                assert label == ("*" * at + filled[at:] if side == "left" else filled[: length - at] + "*" * at)

    def test_filled_up_on_the_other_side(self) -> None:
        built = Redaction(pad="0", pad_side="left", characters=(2,), mask="x").build([1225, 75011], column="zip")
        assert level(built, 1) == {"1225": "012xx", "75011": "750xx"}

    def test_masking_more_than_there_is(self) -> None:
        assert level(Redaction(characters=(9,)).build(["ab", "c"]), 1) == {"ab": "**", "c": "**"}

    def test_refuses(self) -> None:
        with pytest.raises(ArgumentError, match="one of: left, right"):
            Redaction("both")  # type: ignore[arg-type]
        with pytest.raises(ArgumentError, match="the mask of a redaction is one character"):
            Redaction(mask="**")
        with pytest.raises(ArgumentError, match="must grow"):
            Redaction(characters=(2, 1))
        with pytest.raises(HierarchyError, match=r"1 of 2 values present hold the mask '\*'; choose another\.$"):
            Redaction().build(["1*", "12"], column="zip")


class TestDates:
    @given(st.lists(DATES, unique=True, min_size=1, max_size=12), st.booleans())
    def test_every_period(self, days: list[date], with_weeks: bool) -> None:
        units: tuple[Any, ...] = ("day", "week", "month", "quarter", "year", "5-years", "decade")
        units = units if with_weeks else tuple(unit for unit in units if unit != "week")
        built = Dates(units).build(days, column="day")
        assert is_chain(built, days)
        for row in built.labels:
            labels = dict(zip(units, row[1:], strict=False))
            day = date.fromisoformat(row[0])
            assert labels["day"] == row[0]
            if with_weeks:
                assert labels["week"] == f"{day:%G-W%V}"
                day = date.fromisocalendar(day.isocalendar().year, day.isocalendar().week, 4)
            assert labels["month"] == f"{day:%Y-%m}"
            assert labels["quarter"] == f"{day:%Y}-Q{math.ceil(day.month / 3)}"
            assert labels["year"] == f"{day:%Y}"
            first, last = map(int, labels["5-years"].split("-"))
            assert first <= day.year <= last == first + 4
            assert first % 5 == 0
            assert labels["decade"] == f"{day:%Y}"[:3] + "0s"

    def test_moments_and_text_in_the_order_of_time(self) -> None:
        built = Dates(("day",)).build(["2024-03-05T23:00", datetime(2023, 1, 1, 4), None], column="t")  # noqa: DTZ001
        assert built.labels == (("2023-01-01T04:00:00", "2023-01-01", "*"), ("2024-03-05T23:00", "2024-03-05", "*"))

    def test_refuses(self) -> None:
        with pytest.raises(ArgumentError, match="is one of: day, week"):
            Dates(("fortnight",))  # type: ignore[arg-type]
        with pytest.raises(ArgumentError, match="from short to long, each once"):
            Dates(("year", "month"))
        with pytest.raises(HierarchyError, match=r"^column 'day': 1 of 2 values present is no date\.$"):
            Dates().build(["2024-01-01", "Zorro"], column="day")


class TestRare:
    @given(
        st.lists(st.integers(1, 40), min_size=1, max_size=12), st.lists(st.integers(1, 60), unique=True, min_size=1, max_size=3)
    )
    def test_no_group_is_rare(self, counts: list[int], thresholds: list[int]) -> None:
        values = [f"v{number}" for number in range(len(counts))]
        thresholds = sorted(thresholds)
        built = Rare(tuple(thresholds)).build(values, counts, column="x")
        assert is_chain(built, values)
        for at, threshold in enumerate(thresholds, start=1):
            labels = level(built, at)
            held: dict[str, int] = {}
            for value, n in zip(values, counts, strict=True):
                held[labels[value]] = held.get(labels[value], 0) + n
            assert min(held.values()) >= threshold or set(held) == {"other"}
            merged = [n for value, n in zip(values, counts, strict=True) if labels[value] == "other"]
            if merged:
                assert any(n < threshold for n in merged)
                assert sum(merged) - max(merged) < threshold or all(n < threshold for n in merged)

    def test_the_null_is_left_out(self) -> None:
        built = Rare((5,), other="rest").build(["a", None, "b", "c"], [1, 1, 4, 9], column="x")
        assert level(built, 1) == {"a": "rest", "b": "rest", "c": "c"}

    def test_refuses(self) -> None:
        with pytest.raises(HierarchyError, match=r"^column 'x': the label 'other' for merged values is a value itself"):
            Rare((5,)).build(["other", "b"], [1, 9], column="x")
        with pytest.raises(ArgumentError, match="needs a count for each value"):
            Rare((5,)).build(["a", "b"], [1])


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (RootOnly(), {"rule": "root"}),
        (Intervals((5, 10), top=80), {"rule": "intervals", "widths": [5, 10], "origin": 0, "top": 80}),
        (Groups((2,), order=(date(2024, 1, 1),)), {"rule": "groups", "sizes": [2], "order": ["2024-01-01"]}),
        (Dates(("year",)), {"rule": "dates", "units": ["year"]}),
        (Rare((5,)), {"rule": "rare", "thresholds": [5], "other": "other"}),
        (Redaction(), {"rule": "redaction", "side": "right", "mask": "*"}),
    ],
)
def test_a_rule_says_what_it_is(rule: Builder, expected: dict[str, Any]) -> None:
    assert rule.to_dict() == expected


@given(st.lists(DATES, unique=True, min_size=2, max_size=8))
def test_weeks_nest_in_years_of_weeks(days: list[date]) -> None:
    assume(len({day.year for day in days}) > 1)
    near = [day.replace(month=12, day=28) + timedelta(days=offset) for day in days[:1] for offset in range(8)]
    built = Dates(("week", "year")).build(near, column="day")
    assert is_chain(built, near)
