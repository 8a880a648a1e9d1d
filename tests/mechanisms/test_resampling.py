"""Resampling keeps ranks exactly and the distribution within sampling error."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from unveil.errors import ArgumentError, NullsError
from unveil.mechanisms import resample


@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=40), st.integers(1, 5), st.integers(0, 50))
def test_ranks_are_kept_and_values_stay_in_range(values: list[int], samples: int, seed: int) -> None:
    after = resample(pl.DataFrame({"x": values}), "x", samples=samples, seed=seed, keep_order=True).data["x"].to_list()
    order = sorted(range(len(values)), key=lambda at: (values[at], after[at]))
    assert [after[at] for at in order] == sorted(after)
    assert min(values) <= min(after)
    assert max(after) <= max(values)
    if samples == 1:
        assert set(after) <= set(values)


def test_the_distribution_is_kept_within_sampling_error_and_more_samples_disturb_less() -> None:
    values = np.random.default_rng(1).lognormal(size=5000)
    changes = []
    for samples in (1, 3, 10):
        release = resample(pl.DataFrame({"x": values}), "x", samples=samples, seed=1, keep_order=True)
        after = release.data["x"].to_numpy()
        assert stats.ks_2samp(values, after).pvalue > 0.001
        assert abs(after.mean() - values.mean()) < 4 * values.std() / np.sqrt(5000 * samples)
        assert stats.spearmanr(values, after).statistic > 0.9999
        changes.append(release.figures["mean_change"]["x"])
    assert changes == sorted(changes, reverse=True)


def test_nulls_seeds_and_libraries() -> None:
    table = pl.DataFrame({"x": [5.0, None, 1.0, 3.0, 9.0, 7.0], "y": [1, 2, 3, 4, 5, 6]})
    with pytest.raises(NullsError):
        resample(table, "x", keep_order=True, seed=1)
    first = resample(table, ["x", "y"], nulls="keep", seed=1, keep_order=True).data
    assert first["x"].is_null().to_list() == [False, True, False, False, False, False]
    assert (
        resample(table.to_arrow(), ["x", "y"], nulls="keep", seed=1, keep_order=True).data["x"].to_pylist()
        == first["x"].to_list()
    )
    assert (
        resample(table.to_pandas(), ["x", "y"], nulls="keep", seed=1, keep_order=True).data["y"].tolist() == first["y"].to_list()
    )
    assert not resample(table, ["x", "y"], nulls="keep", seed=2, keep_order=True).data.equals(first)
    assert resample(table, "x", nulls="drop", keep_order=True, seed=1).origin.tolist() == [0, 2, 3, 4, 5]
    assert resample(table.with_columns(x=pl.lit(None, pl.Int64)), "x", nulls="keep", keep_order=True, seed=1).figures[
        "changed"
    ] == {"x": 0.0}


@pytest.mark.parametrize(
    ("attributes", "options", "message"),
    [
        ("x", {"samples": 0}, "samples is 0; it must be from 1 to 10,000"),
        ("s", {}, "resampling needs numbers, and attribute 's' holds text"),
    ],
)
def test_bad_input_is_refused(attributes: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        resample(pl.DataFrame({"x": [1.0, 2.0], "s": ["a", "b"]}), attributes, **options, keep_order=True)
