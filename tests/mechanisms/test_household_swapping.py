"""Households at risk move, and nothing else does: what stays exactly as it was, who moves, and where to."""

from __future__ import annotations

from collections import Counter
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unveil
from unveil.errors import ArgumentError, ColumnNotFoundError
from unveil.mechanisms import swap_households

homes = st.lists(
    st.tuples(
        st.sampled_from(["n1", "n2", "s1", "s2"]),
        st.lists(st.tuples(st.sampled_from("fm"), st.integers(0, 3)), min_size=1, max_size=3),
    ),
    min_size=4,
    max_size=25,
)


def frame_of(given_homes: list[tuple[str, list[tuple[str, int]]]]) -> pl.DataFrame:
    rows = [(at, town[0], town, sex, age) for at, (town, members) in enumerate(given_homes) for sex, age in members]
    return pl.DataFrame(rows, schema=["home", "area", "town", "sex", "age"], orient="row").sample(
        fraction=1.0, shuffle=True, seed=3
    )


def swapped(frame: pl.DataFrame, **options: Any) -> tuple[pl.DataFrame, dict[str, Any]]:
    told: dict[str, Any] = {"household": "home", "risk": "age", "similar": "sex", "keep_order": True, "seed": 5, **options}
    release = swap_households(unveil.Study(frame, keep=["home"]), ["area", "town"], **told)
    return release.data, dict(release.figures)


@given(homes, st.integers(1, 4), st.sampled_from([0.0, 0.3, 1.0]))
def test_places_move_between_households_that_are_alike_and_nothing_else_does(
    drawn: list[tuple[str, list[tuple[str, int]]]], k: int, share: float
) -> None:
    before = frame_of(drawn)
    after, figures = swapped(before, k=k, share=share)
    others = ["home", "sex", "age"]
    assert after.select(others).rows() == before.select(others).rows()
    whole = {
        frame["home"][0]: (frame["town"].unique().to_list(), frame["area"].unique().to_list())
        for frame in after.partition_by("home")
    }
    assert all(len(town) == len(area) == 1 and town[0][0] == area[0] for town, area in whole.values())
    was = dict(zip(before["home"], before["town"], strict=True))
    now = dict(zip(after["home"], after["town"], strict=True))
    like = {home: tuple(sorted(one["sex"].to_list())) for (home,), one in before.partition_by("home", as_dict=True).items()}
    assert Counter((like[home], town) for home, town in was.items()) == Counter((like[home], town) for home, town in now.items())
    moved = [home for home in was if was[home] != now[home]]
    assert len(moved) == figures["swapped"]
    assert figures["moved"] == sum(len(like[home]) for home in moved)


@given(homes, st.integers(2, 3))
def test_who_is_at_risk_moves_unless_there_is_nobody_to_change_places_with(
    drawn: list[tuple[str, list[tuple[str, int]]]], k: int
) -> None:
    before = frame_of(drawn)
    after, figures = swapped(before, k=k, share=0.0)
    was = dict(zip(before["home"], before["town"], strict=True))
    now = dict(zip(after["home"], after["town"], strict=True))
    like = {home: tuple(sorted(one["sex"].to_list())) for (home,), one in before.partition_by("home", as_dict=True).items()}
    risky: set[Any] = set()
    for level in ("area", "town"):
        sizes = Counter(before.select(level, "age").rows())
        found = {home for home, *key in before.select("home", level, "age").rows() if sizes[tuple(key)] < k}
        assert figures["at_risk"][level] == len(found)
        risky |= found
    stayed = [home for home in risky if was[home] == now[home]]
    free = [home for home in was if was[home] == now[home]]
    for home in stayed:
        assert not [other for other in free if like[other] == like[home] and was[other] != was[home]]


def test_a_household_moves_within_its_area_where_it_can() -> None:
    towns = ["n1"] * 6 + ["n2"] * 6 + ["s1"] * 6
    people = pl.DataFrame({"area": [town[0] for town in towns], "town": towns, "age": [0] * 5 + [9] + [0] * 6 + [0] * 6})
    for seed in range(10):
        release = swap_households(people, ["area", "town"], risk="age", k=2, share=0.0, keep_order=True, seed=seed)
        moved = release.data.filter(release.data["town"] != people["town"])
        # at 0 the 9 is alone in its area too, so at the coarsest level it leaves for the south
        assert sorted(moved["area"].to_list()) == ["n", "s"]
    both = people.with_columns(age=pl.Series([0] * 5 + [9] + [0] * 5 + [9] + [0] * 6))
    for seed in range(10):
        release = swap_households(both, ["area", "town"], risk="age", k=2, share=0.0, keep_order=True, seed=seed)
        assert release.data["area"].to_list() == both["area"].to_list()
        assert release.figures["swapped_at"] == {"area": 0, "town": 2}


def test_a_share_moves_whoever_is_at_risk() -> None:
    people = pl.DataFrame({"town": ["a", "b"] * 500, "age": [30] * 1000})
    release = swap_households(people, "town", risk="age", share=0.2, keep_order=True)
    assert release.figures["swapped"] == 200
    assert not any("instead of" in note for note in release.notes)
    assert (release.data["town"] != people["town"]).sum() == 200


def test_the_next_list_of_columns_counts_where_the_one_before_finds_no_partner() -> None:
    alone, women = ("n1", [("m", 90)]), [("s1", [("f", 20)])] * 2
    strict = {"k": 2, "share": 0.0}
    assert swapped(frame_of([alone, *women]), **strict, similar="sex")[1]["swapped"] == 0
    assert swapped(frame_of([alone, *women]), **strict, similar=[["sex"], []])[1]["swapped"] == 2
    data, _ = swapped(frame_of([alone, *women, *[("s2", [("m", 20)])] * 2]), **strict, similar=[["sex"], []])
    assert data.filter(age=90)["town"].to_list() == ["s2"]  # a partner who agrees in the first list is taken


def test_further_columns_of_the_place_move_along() -> None:
    people = pl.DataFrame({"town": ["a", "b"] * 20, "code": [1, 2] * 20, "age": range(40)})
    release = swap_households(unveil.Study(people, keep="age"), "town", risk="age", carry="code", keep_order=True)
    assert set(release.data.select("town", "code").rows()) == {("a", 1), ("b", 2)}
    assert release.figures["swapped"] == 40
    assert "40 of 40 households move, 100% instead of 5%: 40 are at risk by 'town'" in release.notes[0]


def test_what_cannot_be_swapped_is_refused() -> None:
    people = pl.DataFrame({"home": [1, 1, 2], "town": ["a", "b", "a"], "age": [1, 2, 3]})
    with pytest.raises(ArgumentError, match="1 household of 'home' with more than one value of 'town'"):
        swap_households(people, "town", household="home", risk="age")
    with pytest.raises(ArgumentError, match="cannot be both swapped and kept in place"):
        swap_households(people, "town", risk="town")
    with pytest.raises(ColumnNotFoundError, match="agee"):
        swap_households(people, "town", risk="agee")
    with pytest.raises(ArgumentError, match="share"):
        swap_households(people, "town", risk="age", share=1.5)
    with pytest.raises(ArgumentError, match="k is 0"):
        swap_households(people, "town", risk="age", k=0)
