"""Data swapping and rank swapping: what they promise to keep, exactly; how far they move; what they refuse."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unveil
from unveil.errors import ArgumentError, NullsError
from unveil.mechanisms import rank_swap, swap
from unveil.mechanisms.rank_swap_kernel import near_partners


def people(records: int = 400, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "id": np.arange(records),
            "age": rng.integers(18, 90, records),
            "income": rng.lognormal(10, 1, records),
            "sex": rng.choice(["f", "m"], records),
            "region": rng.choice(list("abcde"), records),
        }
    )


# rank swapping


@given(st.lists(st.integers(-5, 5), min_size=2, max_size=60), st.floats(1, 100), st.integers(0, 5))
def test_no_value_moves_by_more_ranks_than_its_window(values: list[int], percent: float, seed: int) -> None:
    reach = int(percent / 100 * len(values))
    table = pl.DataFrame({"x": values})
    if reach < 1:
        with pytest.raises(ArgumentError, match="holds no other record"):
            rank_swap(table, "x", window=percent, seed=seed, keep_order=True)
        return
    release = rank_swap(table, "x", window=percent, seed=seed, keep_order=True)
    after = release.data["x"].to_list()
    ordered = sorted(values)
    assert sorted(after) == ordered
    for before, value in zip(values, after, strict=True):
        first, last = bisect_left(ordered, before), bisect_right(ordered, before)  # equal values are ranked at random
        assert value in ordered[max(0, first - reach) : last + reach]
    assert release.figures["largest_move"]["x"] <= release.figures["window"]["x"] == reach


@given(st.integers(1, 60), st.integers(1, 60), st.integers(0, 10**6))
def test_partners_are_mutual_and_in_reach_and_few_stay_alone(records: int, reach: int, seed: int) -> None:
    partner = near_partners(reach, np.random.default_rng(seed).random(records))
    ranks = np.arange(records)
    assert np.array_equal(partner[partner], ranks)
    assert np.abs(partner - ranks).max() <= reach
    alone = np.flatnonzero(partner == ranks)
    assert np.all(np.diff(alone) > reach)  # two who stay alone could have swapped


def test_partners_are_picked_evenly_in_the_window() -> None:
    """The first rank's partner, over many seeds: each of the window equally often, within 4 standard errors."""
    seen = Counter(int(near_partners(4, np.random.default_rng(seed).random(9))[0]) for seed in range(4000))
    assert set(seen) == {1, 2, 3, 4}
    assert all(abs(n - 1000) < 4 * np.sqrt(4000 * 0.25 * 0.75) for n in seen.values())


def test_a_smaller_window_keeps_correlations_better() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=4000)
    table = pl.DataFrame({"x": x, "y": x + 0.5 * rng.normal(size=4000)})
    correlation = [
        np.corrcoef(release["x"], release["y"])[0, 1]
        for release in (
            table,
            *(
                rank_swap(unveil.Study(table, keep="y"), "x", window=window, keep_order=True, seed=1).data
                for window in (1, 10, 50)
            ),
        )
    ]
    assert correlation[0] == pytest.approx(correlation[1], abs=0.005)
    assert correlation == sorted(correlation, reverse=True)
    assert correlation[3] < 0.8 * correlation[0]


def test_windows_by_attribute_orders_and_dates() -> None:
    table = people(100).with_columns(day=pl.date(2020, 1, 1) + pl.duration(days=pl.col("id")))
    release = rank_swap(
        table,
        ["age", "region", "day"],
        window={"age": 10, "region": 40, "day": 5},
        orders={"region": list("abcde")},
        keep_order=True,
        seed=1,
    )
    assert release.figures["window"] == {"age": 10, "region": 40, "day": 5}
    assert release.data["day"].dtype == pl.Date
    assert (release.data["day"] - table["day"]).dt.total_days().abs().max() == release.figures["largest_move"]["day"]
    assert Counter(release.data["region"]) == Counter(table["region"])


def test_rank_swapping_and_nulls() -> None:
    table = pl.DataFrame({"x": [3.0, None, 1.0, float("nan"), 2.0, 4.0], "y": range(6)})
    with pytest.raises(NullsError, match=r"'x' \(2\)"):
        rank_swap(table, "x", window=50, keep_order=True, seed=1)
    kept = rank_swap(table, "x", window=50, nulls="keep", keep_order=True, seed=1).data["x"]
    assert kept[1] is None
    assert kept[3] is None
    assert sorted(kept.drop_nulls()) == [1.0, 2.0, 3.0, 4.0]
    skipped = rank_swap(unveil.Study(table, keep="y"), "x", window=50, nulls="drop", keep_order=True, seed=1)
    assert skipped.data["y"].to_list() == [0, 2, 4, 5]
    assert skipped.origin.tolist() == [0, 2, 4, 5]


# data swapping


@pytest.mark.parametrize("within", [None, "sex", ["sex", "region"]])
def test_swapping_keeps_the_attributes_jointly_and_with_the_strata(within: Any) -> None:
    table = people()
    release = swap(unveil.Study(table, keep="id"), ["age", "income"], share=0.5, within=within, seed=4, keep_order=True)
    kept = ["age", "income", *([within] if isinstance(within, str) else within or [])]
    assert Counter(release.data.select(kept).rows()) == Counter(table.select(kept).rows())
    untouched = ["id", "sex", "region"]
    assert release.data.select(untouched).equals(table.select(untouched))
    moved = sum(one != other for one, other in zip(release.data["income"], table["income"], strict=True))
    assert moved == release.figures["swapped"] == release.figures["changed"]


def test_the_share_of_swapped_records_holds_on_average_even_in_small_strata() -> None:
    """600 strata of three: in each 0 or 1 pair; the expected number of records is a third of all."""
    table = pl.DataFrame({"s": np.repeat(np.arange(600), 3), "x": np.arange(1800)})
    swapped = swap(table, "x", share=1 / 3, within="s", seed=2, keep_order=True).figures["swapped"]
    assert abs(swapped - 600) < 4 * 2 * np.sqrt(600 * 0.25)
    assert swap(table, "x", share=1.0, seed=0, keep_order=True).figures["swapped"] == 1800


def test_swapping_and_nulls() -> None:
    table = pl.DataFrame({"x": ["a", None, "b", "c"], "y": [1, 2, 3, 4], "s": [None, None, None, None]})
    with pytest.raises(NullsError):
        swap(table, ["x", "y"], share=1.0, keep_order=True, seed=1)
    kept = swap(table, ["x", "y"], share=1.0, within="s", nulls="keep", keep_order=True, seed=1)
    assert kept.data.row(1) == (None, 2, None)
    assert kept.figures["swapped"] == 2
    assert swap(table, ["x", "y"], share=1.0, nulls="drop", keep_order=True, seed=1).origin.tolist() == [0, 2, 3]


# both


@pytest.mark.parametrize("mechanism", [swap, rank_swap])
def test_seeds_and_libraries(mechanism: Any) -> None:
    table = people(200)
    first = mechanism(table, ["age", "income"], seed=7).data
    assert mechanism(table, ["age", "income"], seed=7).data.equals(first)
    assert not mechanism(table, ["age", "income"], seed=8).data.equals(first)
    assert mechanism(table.to_pandas(), ["age", "income"], seed=7).data["income"].tolist() == first["income"].to_list()
    assert mechanism(table.to_arrow(), ["age", "income"], seed=7).data["age"].to_pylist() == first["age"].to_list()


@pytest.mark.parametrize(
    ("mechanism", "attributes", "options", "message"),
    [
        (rank_swap, "age", {"window": 0}, "the window of 'age' is 0; it must be above 0 and at most 100"),
        (rank_swap, "age", {"window": 101}, "at most 100"),
        (rank_swap, "age", {"window": float("nan")}, "must be a number"),
        (rank_swap, "age", {"window": {"sex": 3}}, "a window is given for 'sex'"),
        (rank_swap, ["age", "income"], {"window": {"age": 3}}, "the window of 'income' is nothing; it must be a number"),
        (rank_swap, "age", {"window": 0.1}, r"a window of 0.1 % of 400 records of 'age' holds no other record.*0.25 %"),
        (rank_swap, "sex", {}, "rank swapping needs an order, and attribute 'sex' holds text"),
        (swap, "age", {"share": 0}, "share is 0; it must be above 0 and at most 1"),
        (swap, "age", {"share": "half"}, "share must be a number, not a text"),
        (swap, "age", {"within": "age"}, "'age' cannot be both swapped and kept in place"),
        (swap, "age", {"seed": -1}, "seed is -1; it must be a whole number from 0"),
    ],
)
def test_bad_input_is_refused(mechanism: Any, attributes: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        mechanism(people(), attributes, **options)
