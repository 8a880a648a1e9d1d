"""Interval disclosure, by rank and by deviation, against every record written out from the definition."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from unveil.attacks import interval_disclosure
from unveil.attacks.linkage.intervals import METHODS, WIDTHS, Method
from unveil.attacks.linkage.lines import LinkedAttribute
from unveil.errors import ArgumentError, EmptyDataError

Ends = tuple[float, float] | None


def by_rank(released: list[float | None], at: int, percent: int) -> Ends:
    """Return the values so many places before the first and after the last of a value's equals."""
    value, known = released[at], sorted(x for x in released if x is not None)
    if value is None:
        return None
    places = percent * len(known) // 100
    first, last = known.index(value), len(known) - 1 - known[::-1].index(value)
    return known[max(first - places, 0)], known[min(last + places, len(known) - 1)]


def by_deviation(released: list[float | None], at: int, percent: int, original: list[float | None]) -> Ends:
    value, known = released[at], [x for x in original if x is not None]
    reach = percent / 100 * math.sqrt(sum((x - sum(known) / len(known)) ** 2 for x in known) / len(known))
    return None if value is None else (value - reach - 1e-9, value + reach + 1e-9)


def ends_of(method: Method, original: list[float | None], released: list[float | None], percent: int) -> list[Ends]:
    if method == "rank":
        return [by_rank(released, at, percent) for at in range(len(released))]
    return [by_deviation(released, at, percent, original) for at in range(len(released))]


def inside(x: float, ends: Ends) -> bool:
    return ends is not None and ends[0] <= x <= ends[1]


numbers = st.one_of(st.integers(0, 12).map(float), st.none())
columns = st.lists(st.tuples(st.integers(0, 12).map(float), numbers), min_size=1, max_size=25)


@given(columns, st.lists(st.integers(0, 3), min_size=25, max_size=25), st.sampled_from(METHODS), st.integers(1, 100))
def test_disclosure_and_chance_are_what_the_definition_says(
    rows: list[tuple[float, float | None]], nulls: list[int], method: Method, percent: int
) -> None:
    original: list[float | None] = [
        x if null or not at else None for at, ((x, _), null) in enumerate(zip(rows, nulls, strict=False))
    ]
    released = [y for _, y in rows]
    ends = ends_of(method, original, released, percent)
    known = [x for x in original if x is not None]
    hits = [inside(x, at) for x, at in zip(original, ends, strict=True) if x is not None]
    chance = sum(inside(x, at) for x in known for at in ends) / len(known) / len(released)
    found = interval_disclosure({"a": original}, {"a": released}, method=method, widths=percent / 100)
    part = found.by_attribute[0]
    assert part.records == len(known)
    assert found.value == part.value == pytest.approx(sum(hits) / len(known))
    assert found.baseline == pytest.approx(chance)
    theirs = binomtest(sum(hits), len(known)).proportion_ci(method="exact")
    assert (part.by_width[0].interval.low, part.by_width[0].interval.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


@given(st.lists(st.tuples(*[st.integers(0, 9).map(float)] * 4), min_size=1, max_size=15), st.sampled_from(METHODS))
def test_together_counts_records_disclosed_on_every_attribute(rows: list[tuple[float, ...]], method: Method) -> None:
    table = np.array(rows)
    original, release = {"a": table[:, 0], "b": table[:, 1]}, {"a": table[:, 2], "b": table[:, 3]}
    found = interval_disclosure(original, release, method=method)
    ends = {
        (name, percent): ends_of(method, original[name].tolist(), release[name].tolist(), percent)
        for name in original
        for percent in range(1, 11)
    }
    shares = [
        np.mean([all(inside(original[name][row], ends[name, percent][row]) for name in original) for row in range(len(rows))])
        for percent in range(1, 11)
    ]
    assert found.together is not None
    assert found.together.value == pytest.approx(np.mean(shares))
    assert [at.value for at in found.together.by_width] == pytest.approx(shares)
    assert found.value == pytest.approx(np.mean([part.value for part in found.by_attribute]))


@given(st.lists(st.integers(-20, 20).map(float), min_size=1, max_size=30), st.sampled_from(METHODS), st.data())
def test_laws(values: list[float], method: Method, data: st.DataObject) -> None:
    released = [x + data.draw(st.integers(-5, 5)) for x in values]
    found = interval_disclosure({"a": values}, {"a": released}, method=method, widths=WIDTHS)
    shares = [at.value for at in found.by_attribute[0].by_width]
    assert shares == sorted(shares)  # wider intervals disclose more
    same = interval_disclosure({"a": values}, {"a": values}, method=method)
    assert (same.value, same.together.value if same.together else None) == (1.0, 1.0)  # what is not protected is disclosed
    order = data.draw(st.permutations(range(len(values))))
    moved = interval_disclosure({"a": [values[at] for at in order]}, {"a": [released[at] for at in order]}, method=method)
    assert moved.value == pytest.approx(found.value)
    assert moved.baseline == pytest.approx(found.baseline)
    turned = interval_disclosure({"a": [-8 * x for x in values]}, {"a": [-8 * x for x in released]}, method=method)
    assert turned.value == pytest.approx(found.value)


def test_generalised_values_stand_at_their_middle_and_suppressed_ones_disclose_nothing() -> None:
    ages = [20, 25, 30, 39, 60]
    found = interval_disclosure(
        {"age": ages}, {"age": ["[20, 30]", "20-30", "30..40", None, ">= 50"]}, method="deviation", widths=0.01
    )
    # middles 25, 25, 35, none, and 55 between 50 and the highest age
    assert [found.value, found.by_attribute[0].records] == [pytest.approx(1 / 5), 5]


def test_ordered_categories_have_ranks() -> None:
    order = ("low", "middle", "high")
    levels = LinkedAttribute("level", order=order)
    found = interval_disclosure(
        {"level": ["low", "middle", "high"]},
        {"level": ["low", "high", "high"]},
        attributes=[levels],
        method="deviation",
        widths=1.0,
    )
    assert found.value == pytest.approx(2 / 3)


def test_the_answer_shows_itself() -> None:
    table: dict[str, Any] = {"a": [1.0, 2.0, 3.0], "b": [5.0, None, 6.0]}
    found = interval_disclosure(table, table, widths=[0.1, 0.2])
    assert found.to_frame()["attribute"].to_list() == ["a", "a", "b", "b", None, None]
    document = found.to_dict()
    assert document["together"]["records"] == 2
    assert document["together"]["baseline"] is None
    assert [row[0] for row in found.view().tables[0].rows] == ["a", "b", "all together"]
    assert repr(found).startswith("IntervalDisclosure(1.0000 disclosed")


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"method": "mean"}, ArgumentError, "method"),
        ({"widths": 0.0}, ArgumentError, "widths"),
        ({"widths": 1.1}, ArgumentError, "widths"),
        ({"widths": []}, ArgumentError, "widths"),
        ({"confidence": 0.0}, ArgumentError, "confidence"),
        ({"release": {"a": [1.0]}}, ArgumentError, "row by row"),
        ({"original": {"a": ["x", "y"]}, "release": {"a": ["x", "y"]}}, ArgumentError, "these are nominal: a"),
        ({"original": {"a": np.array([np.nan, np.nan])}}, EmptyDataError, "only nulls"),
    ],
)
def test_what_cannot_be_measured_is_refused(options: dict[str, Any], error: type[Exception], words: str) -> None:
    arguments: dict[str, Any] = {"original": {"a": [1.0, 2.0]}, "release": {"a": [1.0, 2.0]}, **options}
    with pytest.raises(error, match=words):
        interval_disclosure(**arguments)
