"""Noise: what each method promises to keep is kept within sampling error; what it gives up changes as it should."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from scipy import stats

from unveil.errors import ArgumentError, EmptyDataError, NullsError
from unveil.mechanisms import add_noise
from unveil.randomness import chance_of

RECORDS = 20_000
AMOUNT = 0.25
NAMES = ["x", "y", "z"]
TOLERANCE = 5.0 / np.sqrt(RECORDS)
"""Five standard errors of a correlation, or of a mean in standard deviations."""

Matrix = NDArray[np.float64]


def sample(seed: int = 0) -> Matrix:
    """Three attributes of different scales that hang together, one of them skewed."""
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(RECORDS, 3)) @ np.array([[1.0, 0.0, 0.0], [0.8, 0.6, 0.0], [-0.5, 0.5, 0.7]]).T
    base[:, 2] = np.exp(base[:, 2] / 2)
    return np.asarray(base * [1.0, 100.0, 5.0] + [10.0, -500.0, 0.0])


BEFORE = sample()
TABLE = pl.DataFrame(dict(zip(NAMES, BEFORE.T, strict=True)))


def released(method: str, **options: Any) -> Matrix:
    found: Matrix = add_noise(TABLE, NAMES, method=method, amount=AMOUNT, **options, keep_order=True).data.to_numpy()
    return found


def ratio(before: Matrix, after: Matrix) -> Matrix:
    """Covariances after, in units of the standard deviations before."""
    scale = before.std(axis=0)
    return np.asarray(np.cov(after.T) / np.outer(scale, scale))


@pytest.mark.parametrize("method", ["uncorrelated", "correlated", "linear", "multiplicative"])
def test_means_are_kept(method: str) -> None:
    shift = (released(method).mean(axis=0) - BEFORE.mean(axis=0)) / BEFORE.std(axis=0)
    spread = released(method).std(axis=0) / BEFORE.std(axis=0)
    assert np.abs(shift / spread).max() < TOLERANCE


def test_uncorrelated_noise_keeps_covariances_and_raises_variances() -> None:
    found, own = ratio(BEFORE, released("uncorrelated")), np.asarray(np.corrcoef(BEFORE.T))
    off = ~np.eye(3, dtype=bool)
    assert np.abs(found - own)[off].max() < 2 * TOLERANCE
    assert np.abs(np.diag(found) - (1 + AMOUNT)).max() < 2 * TOLERANCE
    attenuated = own[off] / (1 + AMOUNT)
    assert np.abs(np.asarray(np.corrcoef(released("uncorrelated").T))[off] - attenuated).max() < TOLERANCE


def test_correlated_noise_keeps_correlations_and_raises_all_covariances() -> None:
    after = released("correlated")
    assert np.abs(np.corrcoef(after.T) - np.corrcoef(BEFORE.T)).max() < TOLERANCE
    assert np.abs(ratio(BEFORE, after) - (1 + AMOUNT) * np.corrcoef(BEFORE.T)).max() < 2 * TOLERANCE
    noise = after - BEFORE
    assert np.abs(ratio(BEFORE, noise) - AMOUNT * np.corrcoef(BEFORE.T)).max() < TOLERANCE
    assert max(stats.kstest(noise[:, at] / noise[:, at].std(), "norm").statistic for at in range(3)) < 0.02


def test_a_linear_transformation_restores_covariances() -> None:
    after = released("linear")
    assert np.abs(ratio(BEFORE, after) - np.corrcoef(BEFORE.T)).max() < 2 * TOLERANCE
    distance = ((after - BEFORE) ** 2).mean(axis=0) / BEFORE.var(axis=0)
    assert np.all(distance > AMOUNT / 2)  # the values themselves have moved


def test_a_non_linear_transformation_keeps_distributions_and_rank_correlations() -> None:
    after = released("non-linear")
    for at in range(3):
        assert stats.ks_2samp(BEFORE[:, at], after[:, at]).statistic < 0.015
        assert BEFORE[:, at].min() <= after[:, at].min()
        assert after[:, at].max() <= BEFORE[:, at].max()
    ranks = [stats.spearmanr(values).statistic for values in (BEFORE, after)]
    assert np.abs(ranks[0] - ranks[1]).max() < TOLERANCE
    linear = released("linear")
    assert stats.ks_2samp(BEFORE[:, 2], linear[:, 2]).statistic > 0.03  # which the linear one does not, of a skewed attribute


def test_the_non_linear_method_keeps_the_shape_of_counts() -> None:
    counts = np.random.default_rng(1).poisson(3, RECORDS)
    after = (
        add_noise(pl.DataFrame({"n": counts}), "n", method="non-linear", amount=0.5, keep_order=True, seed=1).data["n"].to_numpy()
    )
    rounded = np.bincount(np.rint(after).astype(int), minlength=12)[:12] / RECORDS
    assert np.abs(rounded - np.bincount(counts, minlength=12)[:12] / RECORDS).max() < TOLERANCE
    assert np.mean(np.rint(after) != counts) > 0.3


def test_multiplicative_noise_keeps_signs_and_zeros_and_raises_mean_squares() -> None:
    values = np.concatenate([BEFORE[:, 0] - 10.0, np.zeros(50)])
    after = (
        add_noise(pl.DataFrame({"x": values}), "x", method="multiplicative", amount=AMOUNT, keep_order=True, seed=1)
        .data["x"]
        .to_numpy()
    )
    assert np.array_equal(np.sign(after), np.sign(values))
    assert (after**2).mean() / (values**2).mean() == pytest.approx(1 + AMOUNT, rel=0.05)
    factor = after[:RECORDS] / values[:RECORDS]
    assert factor.mean() == pytest.approx(1.0, abs=5 * np.sqrt(AMOUNT / RECORDS))
    assert factor.var() == pytest.approx(AMOUNT, rel=0.05)


def test_noise_is_not_the_callers_own_random_numbers() -> None:
    values = np.random.default_rng(0).normal(size=(RECORDS, 1))
    noise = add_noise(pl.DataFrame({"x": values[:, 0]}), "x", seed=0, keep_order=True).data["x"].to_numpy() - values[:, 0]
    assert abs(np.corrcoef(noise, values[:, 0])[0, 1]) < TOLERANCE


def test_a_covariance_of_ones_own() -> None:
    wanted = np.diag([4.0, 0.0, 1.0])
    wanted[0, 2] = wanted[2, 0] = -2.0  # singular: the third is minus half the first
    noise = released("correlated", covariance=wanted.tolist()) - BEFORE
    assert np.allclose(noise[:, 1], 0.0)
    assert np.allclose(noise[:, 2], -noise[:, 0] / 2, atol=1e-5), "up to the rounding of the release"
    assert noise[:, 0].var() == pytest.approx(4.0 * AMOUNT, rel=0.05)


def test_attributes_that_repeat_one_another_and_constants() -> None:
    """The covariance is singular; noise then repeats itself too."""
    table = TABLE.with_columns(twice=2 * pl.col("x"), one=pl.lit(1.0))
    after = add_noise(table, ["x", "twice", "one"], method="linear", keep_order=True, seed=1).data
    assert np.allclose(after["twice"], 2 * after["x"])
    assert after["one"].to_list() == pytest.approx([1.0] * RECORDS)


@pytest.mark.parametrize("method", ["uncorrelated", "correlated", "linear", "non-linear", "multiplicative"])
def test_seeds_libraries_and_nulls(method: str) -> None:
    table = TABLE.head(300).with_columns(x=pl.when(pl.int_range(300) % 7 == 0).then(None).otherwise(pl.col("x")), s=pl.lit("s"))
    with pytest.raises(NullsError, match=r"'x' \(43\)"):
        add_noise(table, NAMES, method=method, keep_order=True, seed=1)
    first = add_noise(table, NAMES, method=method, nulls="keep", seed=1, keep_order=True)
    assert first.data["x"].is_null().equals(table["x"].is_null())
    assert first.data["y"].null_count() == 0
    assert not first.data["y"].equals(table["y"])
    assert first.data["s"].equals(table["s"])
    again = add_noise(table.to_pandas(), NAMES, method=method, nulls="keep", seed=1, keep_order=True)
    assert again.data["y"].tolist() == first.data["y"].to_list()
    assert not add_noise(table, NAMES, method=method, nulls="keep", seed=2, keep_order=True).data["y"].equals(first.data["y"])
    skipped = add_noise(table.to_arrow(), NAMES, method=method, nulls="drop", keep_order=True, seed=1)
    assert skipped.data.num_rows == 300 - 43 == len(skipped.origin)
    assert skipped.figures["skipped"] == 43


def test_figures_compare_before_and_after() -> None:
    found = add_noise(TABLE, "x", amount=1.0, keep_order=True, seed=1)
    assert found.figures["mean"]["x"]["before"] == pytest.approx(BEFORE[:, 0].mean())
    assert found.figures["variance"]["x"]["after"] == pytest.approx(found.data["x"].var())
    assert "seed" not in found.settings


@pytest.mark.parametrize(
    ("attributes", "options", "message"),
    [
        ("s", {}, "noise needs numbers, and attribute 's' holds text"),
        ("b", {}, "noise needs numbers, and attribute 'b' holds yes or no"),
        ("x", {"amount": 0}, "amount is 0; it must be above 0"),
        ("x", {"amount": float("inf")}, "amount is inf"),
        ("x", {"method": "gaussian"}, "method 'gaussian' is unknown"),
        ("x", {"covariance": [[1]]}, "method 'uncorrelated' takes none"),
        ("x", {"method": "correlated", "covariance": [[1, 2], [2, 1]]}, r"must be a matrix of 1 x 1 finite numbers"),
        ("x", {"method": "correlated", "covariance": [["a"]]}, "covariance: entry 1, entry 1 must be a number"),
        (
            ["x", "y"],
            {"method": "correlated", "covariance": [[1, 2], [2, 1]]},
            "not positive definite: its smallest eigenvalue is -1",
        ),
        (["x", "y"], {"method": "correlated", "covariance": [[1, 2], [0, 9]]}, "not symmetric"),
    ],
)
def test_bad_input_is_refused(attributes: Any, options: dict[str, Any], message: str) -> None:
    table = pl.DataFrame({"x": [1.0, 2.0], "y": [2.0, 1.0], "s": ["a", "b"], "b": [True, False]})
    with pytest.raises(ArgumentError, match=message):
        add_noise(table, attributes, **options, keep_order=True)


def test_one_record_has_no_variance() -> None:
    with pytest.raises(EmptyDataError, match="two records"):
        add_noise(pl.DataFrame({"x": [1.0]}), "x", keep_order=True, seed=1)


def test_noise_within_sub_populations_is_in_proportion_to_their_own_variation() -> None:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame(
        {"region": ["north"] * RECORDS + ["south"] * RECORDS, "x": np.r_[rng.normal(0, 1, RECORDS), rng.normal(50, 100, RECORDS)]}
    )
    one = add_noise(frame, "x", amount=AMOUNT, within="region", keep_order=True, seed=1)
    assert one.figures["populations"] == 2
    added = one.data["x"].to_numpy() - frame["x"].to_numpy()
    for rows, spread in ((slice(0, RECORDS), 1.0), (slice(RECORDS, None), 100.0)):
        assert added[rows].std() == pytest.approx(spread * np.sqrt(AMOUNT), rel=0.03)
    whole = add_noise(frame, "x", amount=AMOUNT, keep_order=True, seed=1).data["x"].to_numpy() - frame["x"].to_numpy()
    assert whole[:RECORDS].std() > 20.0


@pytest.mark.parametrize("method", ["correlated", "linear"])
def test_what_a_method_keeps_it_keeps_in_each_sub_population(method: str) -> None:
    rng = np.random.default_rng(4)
    base = np.r_[
        rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], RECORDS),
        rng.multivariate_normal([9, 9], [[4, -3], [-3, 4]], RECORDS),
    ]
    frame = pl.DataFrame({"x": base[:, 0], "y": base[:, 1], "part": [0] * RECORDS + [1] * RECORDS})
    after = add_noise(frame, ["x", "y"], method=method, amount=AMOUNT, within="part", keep_order=True).data
    for part in (0, 1):
        before_own, after_own = (table.filter(pl.col("part") == part).select("x", "y").to_numpy() for table in (frame, after))
        assert np.corrcoef(after_own.T)[0, 1] == pytest.approx(np.corrcoef(before_own.T)[0, 1], abs=2 * TOLERANCE)


def test_sub_populations_of_one_record_are_refused_and_constant_ones_are_said() -> None:
    frame = pl.DataFrame({"x": [1.0, 2.0, 5.0], "part": ["a", "a", "b"]})
    with pytest.raises(EmptyDataError, match="1 sub-population of 2"):
        add_noise(frame, "x", within="part")
    with pytest.raises(ArgumentError, match="named among the attributes and as sub-populations"):
        add_noise(frame, "x", within="x")
    still = pl.DataFrame({"x": [1.0, 2.0, 5.0, 5.0], "part": ["a", "a", "b", "b"]})
    assert "2 values stay as they were" in add_noise(still, "x", within="part").notes[0]
    assert not any("stay as they were" in note for note in add_noise(still, "x").notes)


@pytest.mark.parametrize("method", ["uncorrelated", "linear", "multiplicative"])
def test_only_outliers_are_disturbed_where_asked(method: str) -> None:
    values = [*range(1, 101), -300, 500, None]
    table = pl.DataFrame({"x": values, "y": [*range(50), *[7] * 52, 9]})
    made = add_noise(table, "x", method=method, only_outliers=True, nulls="keep", keep_order=True, seed=2)
    moved = [at for at, (old, new) in enumerate(zip(values, made.data["x"], strict=True)) if old is not None and old != new]
    assert moved == [100, 101]
    assert made.data["x"][102] is None
    assert made.figures["outliers"] == {"x": 2}
    assert made.settings["only_outliers"] is True


def test_noise_of_many_records_is_drawn_record_by_record() -> None:
    values = np.random.default_rng(0).normal(50, 10, (10_001, 2))
    table = pl.DataFrame({"x": values[:, 0], "y": values[:, 1]})
    release = add_noise(table, ["x", "y"], amount=0.5, keep_order=True, seed=3)
    drawn = chance_of(seed=3).draws("noise").standard_normal(values.shape)
    expected = values + drawn * np.sqrt(0.5 * values.var(axis=0, ddof=1))
    assert np.allclose(release.data.to_numpy(), expected, rtol=0.0, atol=1e-4)  # but for the last bits of the noise
