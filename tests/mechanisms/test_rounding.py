"""Rounding to a base or to given values: against Python's own arithmetic, unbiased at random."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unveil.errors import ArgumentError, NullsError
from unveil.mechanisms import round_values


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=20), st.sampled_from([2, 5, 10, 1000]))
def test_integers_go_to_the_nearest_multiple_half_up(values: list[int], base: int) -> None:
    after = round_values(pl.DataFrame({"x": values}), "x", base=base, keep_order=True).data["x"]
    assert after.dtype == pl.Int64
    assert after.to_list() == [(2 * value + base) // (2 * base) * base for value in values]


@given(st.lists(st.integers(-10_000, 10_000), min_size=1, max_size=20))
def test_decimals_are_written_as_the_base_is(hundredths: list[int]) -> None:
    """Multiples of 0.1 come out as 0.3, not 0.30000000000000004."""
    values = [hundredth / 100 for hundredth in hundredths if hundredth % 10 != 5] or [0.0]
    after = round_values(pl.DataFrame({"x": values}), "x", base=0.1, keep_order=True).data["x"].to_list()
    assert after == [float(Decimal(str(value)).quantize(Decimal("0.1"), ROUND_HALF_UP)) for value in values]


@given(
    st.lists(st.floats(-50, 50), min_size=1, max_size=20),
    st.lists(st.integers(-40, 40), min_size=1, max_size=6),
    st.integers(0, 9),
)
def test_given_values_are_the_only_ones_and_the_nearest(values: list[float], wanted: list[int], seed: int) -> None:
    table = pl.DataFrame({"x": values})
    for value, new in zip(values, round_values(table, "x", values=wanted, keep_order=True).data["x"], strict=True):
        assert new in wanted
        assert abs(value - new) <= min(abs(value - other) for other in wanted) + 1e-9
    for value, new in zip(
        values, round_values(table, "x", values=wanted, method="random", seed=seed, keep_order=True).data["x"], strict=True
    ):
        low, high = (
            max((w for w in wanted if w <= value), default=min(wanted)),
            min((w for w in wanted if w >= value), default=max(wanted)),
        )
        assert new in (low, high)


@pytest.mark.parametrize("options", [{"base": 10}, {"values": [0, 10, 20]}])
def test_random_rounding_is_right_on_average(options: dict[str, Any]) -> None:
    values = np.repeat([3.0, 10.0, 17.0], 10_000)
    after = (
        round_values(pl.DataFrame({"x": values}), "x", method="random", seed=1, **options, keep_order=True).data["x"].to_numpy()
    )
    for value in (3.0, 10.0, 17.0):
        assert after[values == value].mean() == pytest.approx(value, abs=4 * 5 / 100)
    assert set(after) == {0.0, 10.0, 20.0}
    assert set(after[values == 10.0]) == {10.0}


def test_bases_by_attribute_figures_and_nulls() -> None:
    table = pl.DataFrame({"x": [1, None, 14, 10], "y": [0.26, 0.9, None, 1.0]})
    options: dict[str, Any] = {"base": {"x": 5}, "values": {"y": [0.0, 0.5, 1.0]}}
    with pytest.raises(NullsError, match=r"'x' \(1\), 'y' \(1\)"):
        round_values(table, ["x", "y"], **options, keep_order=True)
    kept = round_values(table, ["x", "y"], nulls="keep", **options, keep_order=True)
    assert kept.data.to_dict(as_series=False) == {"x": [0, None, 15, 10], "y": [0.5, 1.0, None, 1.0]}
    assert kept.data["x"].dtype == pl.Int64
    assert kept.figures["changed"] == {"x": pytest.approx(2 / 3), "y": pytest.approx(2 / 3)}
    assert kept.figures["distinct"] == {"x": 3, "y": 2}
    assert round_values(table, ["x", "y"], nulls="drop", **options, keep_order=True).data.rows() == [(0, 0.5), (10, 1.0)]


def test_seeds_and_libraries() -> None:
    table = pl.DataFrame({"x": np.random.default_rng(0).normal(size=100)})
    first = round_values(table, "x", base=1, method="random", seed=3, keep_order=True).data["x"].to_list()
    assert round_values(table.to_pandas(), "x", base=1, method="random", seed=3, keep_order=True).data["x"].tolist() == first
    assert round_values(table.to_arrow(), "x", base=1, method="random", seed=3, keep_order=True).data["x"].to_pylist() == first
    assert round_values(table, "x", base=1, method="random", seed=4, keep_order=True).data["x"].to_list() != first


@pytest.mark.parametrize(
    ("attributes", "options", "message"),
    [
        ("x", {}, "give attribute 'x' a base or a list of values"),
        ("x", {"base": 5, "values": [1]}, "and not both"),
        ("x", {"base": 0}, "the base of 'x' is 0; it must be above 0"),
        ("x", {"base": 1e-300}, "the base of 'x' is too small"),
        ("x", {"values": []}, "is empty"),
        ("x", {"values": ["a"]}, "must be a number"),
        ("x", {"base": 5, "method": "up"}, "method 'up' is unknown"),
        ("s", {"base": 5}, "rounding needs numbers, and attribute 's' holds text"),
    ],
)
def test_bad_input_is_refused(attributes: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        round_values(pl.DataFrame({"x": [1.0, 2.0], "s": ["a", "b"]}), attributes, **options, keep_order=True)
