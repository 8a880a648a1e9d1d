"""Mutual information, divergence and squared error, against their definitions, scipy and scikit-learn."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import entropy
from sklearn.metrics import mutual_info_score

import unveil
from unveil.errors import UndefinedMeasureError

records = st.lists(st.tuples(st.integers(0, 3), st.integers(-5, 5)), min_size=2, max_size=40).filter(
    lambda rows: len({x for _, x in rows}) > 1
)


def measured(rows: list[tuple[int, int]]) -> unveil.DiscriminationRate:
    frame = pl.DataFrame({"y": [y for y, _ in rows], "x": [x for _, x in rows]})
    return unveil.discrimination_rate(frame, "y", "x")


@given(records)
def test_figures_follow_from_their_definitions(rows: list[tuple[int, int]]) -> None:
    found = measured(rows)
    ys, xs = np.array([y for y, _ in rows]), np.array([x for _, x in rows], dtype=float)
    assert found.mutual_information == pytest.approx(mutual_info_score(ys, xs) / math.log(2), abs=1e-9)
    values = np.unique(xs)
    whole = [np.mean(xs == value) for value in values]
    divergences = [entropy([np.mean(xs[ys == y] == value) for value in values], whole, base=2) for y in ys]
    assert found.distortion is not None
    assert found.distortion.largest_divergence == pytest.approx(max(divergences), abs=1e-9)
    assert np.mean(divergences) == pytest.approx(found.mutual_information, abs=1e-9)
    best = np.array([xs[ys == y].mean() for y in ys])
    assert found.distortion.squared_error == pytest.approx(np.mean((xs - best) ** 2), abs=1e-9)
    assert found.distortion.variance == pytest.approx(np.var(xs), abs=1e-9)


@given(records)
def test_knowledge_never_makes_the_best_guess_worse(rows: list[tuple[int, int]]) -> None:
    found = measured(rows).distortion
    assert found is not None
    assert found.squared_error is not None
    assert found.variance is not None
    assert found.squared_error <= found.variance + 1e-12


def test_large_numbers_keep_their_error() -> None:
    frame = pl.DataFrame({"y": [0, 0, 1, 1], "x": [1e9, 1e9 + 2, 1e9 + 4, 1e9 + 8]})
    found = unveil.discrimination_rate(frame, "y", "x").distortion
    assert found is not None
    assert found.squared_error == pytest.approx(2.5)


def test_weights_count() -> None:
    frame = pl.DataFrame({"y": ["a", "a", "b"], "x": [0.0, 4.0, 9.0], "w": [3.0, 1.0, 4.0]})
    found = unveil.discrimination_rate(frame, "y", "x", weights="w").distortion
    assert found is not None
    assert found.squared_error == pytest.approx((3 * 1 + 1 * 9) / 8)


@pytest.mark.parametrize(
    ("sensitive", "reason"),
    [("Disease", "does not hold numbers"), (["Disease", "Salary"], "several sensitive"), (None, "record identity")],
)
def test_there_is_a_reason_where_there_is_no_error(sensitive: str | list[str] | None, reason: str) -> None:
    found = unveil.discrimination_rate("paper-4", "Age", sensitive)
    assert found.distortion is not None
    assert found.distortion.squared_error is None
    assert reason in str(found.distortion.reason)
    assert found.mutual_information == pytest.approx(found.value * found.entropy)


def test_a_set_of_one_is_said_to_be_identified_directly() -> None:
    alone = unveil.datasets.load("thesis-location").filter(period="09:00")
    with pytest.raises(UndefinedMeasureError, match="anonymity set of one"):
        unveil.discrimination_rate(alone, "request", "user")
    with pytest.raises(UndefinedMeasureError, match="identified it directly"):
        unveil.discrimination_rate(alone, "request")
