"""Top and bottom coding: only what lies beyond a limit changes, and no more than the share asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unveil.errors import ArgumentError, NullsError
from unveil.mechanisms import top_bottom_code


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=30), st.integers(-40, 0), st.integers(0, 40))
def test_limits_are_those_of_numpy_clip(values: list[int], bottom: int, top: int) -> None:
    frame = pl.DataFrame({"x": values})
    release = top_bottom_code(frame, "x", top=top, bottom=bottom, keep_order=True)
    assert release.data["x"].to_list() == np.clip(values, bottom, top).tolist()
    assert release.data["x"].dtype == pl.Int64
    assert frame["x"].to_list() == values
    assert release.figures["top_coded"]["x"] == sum(value > top for value in values)
    assert release.figures["bottom_coded"]["x"] == sum(value < bottom for value in values)


@given(st.lists(st.integers(0, 12), min_size=1, max_size=40), st.floats(0.01, 0.5))
def test_no_more_than_the_share_is_coded_and_as_much_as_ties_allow(values: list[int], share: float) -> None:
    release = top_bottom_code(pl.DataFrame({"x": values}), "x", top_share=share, keep_order=True)
    limit, coded = release.figures["top"]["x"], release.figures["top_coded"]["x"]
    assert coded == sum(value > limit for value in values) <= share * len(values)
    assert sum(value >= limit for value in values) > int(share * len(values))
    mirrored = top_bottom_code(pl.DataFrame({"x": [-value for value in values]}), "x", bottom_share=share, keep_order=True)
    assert mirrored.figures["bottom"]["x"] == -limit
    assert mirrored.data["x"].to_list() == [-value for value in release.data["x"]]


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=30))
def test_the_mean_of_the_coded_values_keeps_the_mean_and_the_middle(values: list[float]) -> None:
    release = top_bottom_code(pl.DataFrame({"x": values}), "x", top=50, bottom=-50, replacement="mean", keep_order=True)
    after = release.data["x"].to_list()
    assert sum(after) == pytest.approx(sum(values), abs=1e-6)
    assert all(new == old for new, old in zip(after, values, strict=True) if -50 <= old <= 50)
    assert len({new for new, old in zip(after, values, strict=True) if old > 50}) <= 1


def test_a_mean_of_few_is_pointed_out() -> None:
    frame = pl.DataFrame({"x": [1, 2, 3, 900]})
    assert "gives them away" in top_bottom_code(frame, "x", top=10, replacement="mean", keep_order=True).notes[0]
    assert not top_bottom_code(frame, "x", top=10, keep_order=True).notes
    assert not top_bottom_code(frame, "x", top=1, replacement="mean", keep_order=True).notes


def test_by_attribute_types_and_nulls() -> None:
    frame = pl.DataFrame({"x": [1, None, 30], "y": [1.0, 2.0, float("nan")], "big": [2**60 + 1, 2, 3]})
    with pytest.raises(NullsError):
        top_bottom_code(frame, ["x", "y"], top=2, keep_order=True)
    kept = top_bottom_code(frame, ["x", "y"], top={"x": 9.5, "y": 1}, nulls="keep", keep_order=True)
    assert kept.data["x"].to_list() == [1.0, None, 9.5]
    assert kept.data["y"].fill_nan(None).to_list() == [1.0, 1.0, None]
    assert top_bottom_code(frame, ["x"], top={"x": 9}, nulls="keep", keep_order=True).data["x"].to_list() == [1, None, 9]
    assert top_bottom_code(frame, "big", bottom=3, keep_order=True).data["big"].to_list() == [2**60 + 1, 3, 3]
    assert top_bottom_code(frame, ["x", "y"], top=9, nulls="drop", keep_order=True).origin.tolist() == [0]
    assert kept.figures["bottom"] == {"x": None, "y": None}


def test_libraries() -> None:
    frame = pl.DataFrame({"x": [1, 5, 9]})
    assert top_bottom_code(frame.to_pandas(), "x", top=5, keep_order=True).data["x"].tolist() == [1, 5, 5]
    assert top_bottom_code(frame.to_arrow(), "x", top=5, keep_order=True).data["x"].to_pylist() == [1, 5, 5]


@pytest.mark.parametrize(
    ("attributes", "options", "message"),
    [
        ("x", {}, "attribute 'x' has no limit"),
        ("x", {"top": 1, "bottom": 5}, "lies above the top limit"),
        ("x", {"top": 1, "top_share": 0.1}, "both given for 'x'"),
        ("x", {"top_share": 0}, "top_share of 'x' is 0; it must be above 0 and at most 1"),
        ("x", {"top": "high"}, "top must be a number or a table, not a text"),
        ("x", {"top": 1, "replacement": "zero"}, "replacement 'zero' is unknown"),
        ("s", {"top": 1}, "needs numbers, and attribute 's' holds text"),
    ],
)
def test_bad_input_is_refused(attributes: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        top_bottom_code(pl.DataFrame({"x": [1.0, 2.0], "s": ["a", "b"]}), attributes, **options, keep_order=True)
