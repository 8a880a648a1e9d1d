"""Continuous loss against numpy, scipy, scikit-learn and loops written from the formulas."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray
from scipy import stats
from sklearn.decomposition import PCA

from unveil.utility.continuous import QUANTILES, continuous_loss, ks_distance
from unveil.utility.loss_sections import ContinuousLoss

Matrix = NDArray[np.float64]
STRUCTURES = ("data", "covariance", "correlation", "principal_components", "communalities", "factor_scores", "eigenvalues")


def correlated(rows: int = 400, width: int = 4, seed: int = 1) -> Matrix:
    """Numbers of different scales that hang together, with eigenvalues well apart."""
    rng = np.random.default_rng(seed)
    mixing = np.tril(rng.uniform(0.4, 1.0, (width, width)))
    return np.asarray(rng.normal(size=(rows, width)) @ mixing.T * 10.0 ** np.arange(width) + np.arange(width))


def noisy(data: Matrix, share: float = 0.2, seed: int = 2) -> Matrix:
    rng = np.random.default_rng(seed)
    return np.asarray(data + rng.normal(size=data.shape) * data.std(axis=0) * share)


def loss_of(before: Matrix, after: Matrix) -> ContinuousLoss:
    sides = ({f"c{at}": np.ascontiguousarray(column) for at, column in enumerate(data.T)} for data in (before, after))
    return continuous_loss(*sides)


def slow(before: Any, after: Any) -> tuple[float, float, float, int]:
    """The three means over cells, one by one, and the cells that are zero."""
    cells = list(zip(np.ravel(before).tolist(), np.ravel(after).tolist(), strict=True))
    some = [(x, y) for x, y in cells if x != 0]
    mse = sum((x - y) ** 2 for x, y in cells) / len(cells)
    mae = sum(abs(x - y) for x, y in cells) / len(cells)
    return mse, mae, sum(abs(x - y) / abs(x) for x, y in some) / len(some), len(cells) - len(some)


def correlations(data: Matrix) -> Matrix:
    return np.asarray(np.corrcoef(data, rowvar=False))


def loadings(data: Matrix) -> Matrix:
    """Correlations of the attributes with the components' scores, computed as such from scikit-learn's components."""
    standard = (data - data.mean(axis=0)) / data.std(axis=0)
    scores = PCA().fit_transform(standard)
    return np.array([[np.corrcoef(column, score)[0, 1] for score in scores.T] for column in data.T])


def score_coefficients(data: Matrix) -> Matrix:
    return np.asarray(np.linalg.solve(correlations(data), loadings(data)))


def test_each_structure_agrees_with_the_definition_and_the_libraries() -> None:
    before = correlated()
    after = noisy(before)
    loss = loss_of(before, after)
    upper, above = np.triu_indices(4), np.triu_indices(4, 1)
    first, second = loadings(before), loadings(after)
    turn = np.where((first * second).sum(axis=0) < 0, -1.0, 1.0)
    expected = {
        "data": (before, after),
        "covariance": (np.cov(before, rowvar=False)[upper], np.cov(after, rowvar=False)[upper]),
        "correlation": (correlations(before)[above], correlations(after)[above]),
        "principal_components": (first, second * turn),
        "communalities": (first[:, 0] ** 2, second[:, 0] ** 2),
        "eigenvalues": (np.linalg.eigvalsh(correlations(before))[::-1], np.linalg.eigvalsh(correlations(after))[::-1]),
        "factor_scores": (score_coefficients(before), score_coefficients(after) * turn),
    }
    for name, pair in expected.items():
        found = loss[name]
        mse, mae, variation, zeros = slow(*pair)
        assert (found["mse"], found["mae"], found["variation"]) == pytest.approx((mse, mae, variation), rel=1e-7), name
        assert (found["cells"], found["zeros"]) == (np.size(pair[0]), zeros)
        assert "reason" not in found


def test_an_attribute_by_itself_agrees_with_scipy() -> None:
    before = correlated(seed=5)
    after = np.exp(noisy(before) / before.std(axis=0))
    for at, one in enumerate(loss_of(before, after)["attributes"].values()):
        for column, marginal in ((before[:, at], one["original"]), (after[:, at], one["release"])):
            assert marginal["mean"] == pytest.approx(column.mean())
            assert marginal["variance"] == pytest.approx(column.var(ddof=1))
            assert marginal["sd"] == pytest.approx(column.std(ddof=1))
            assert marginal["skewness"] == pytest.approx(stats.skew(column))
            assert marginal["kurtosis"] == pytest.approx(stats.kurtosis(column))
            assert list(marginal["quantiles"].values()) == pytest.approx(np.quantile(column, QUANTILES))
        assert one["difference"]["mean"] == one["release"]["mean"] - one["original"]["mean"]
        assert one["difference"]["quantiles"]["50%"] == one["release"]["quantiles"]["50%"] - one["original"]["quantiles"]["50%"]
        assert one["ks"] == pytest.approx(stats.ks_2samp(before[:, at], after[:, at]).statistic)
        il1s = np.mean(np.abs(before[:, at] - after[:, at]) / (math.sqrt(2) * before[:, at].std(ddof=1)))
        assert one["il1s"] == pytest.approx(il1s)
        assert (one["mse"], one["mae"], one["variation"], one["zeros"]) == pytest.approx(slow(before[:, at], after[:, at]))


def test_il1s_is_the_mean_over_all_cells() -> None:
    before = correlated()
    after = noisy(before)
    cells = [
        abs(x - y) / (math.sqrt(2) * sd)
        for row, other in zip(before, after, strict=True)
        for x, y, sd in zip(row, other, before.std(axis=0, ddof=1), strict=True)
    ]
    assert loss_of(before, after)["il1s"] == pytest.approx(sum(cells) / len(cells))


@given(hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=6), elements=st.floats(-1e3, 1e3)))
def test_a_release_that_equals_the_original_loses_nothing(data: Matrix) -> None:
    loss = loss_of(data, data.copy())
    for name in STRUCTURES:
        assert {loss[name][figure] for figure in ("mse", "mae", "variation")} <= {0.0, None}, name
    assert loss["il1s"] in (0.0, None)
    for one in loss["attributes"].values():
        assert one["ks"] == one["mae"] == 0.0
        assert set(one["difference"]["quantiles"].values()) == {0.0}


@given(
    hnp.arrays(np.float64, (8, 3), elements=st.integers(-5, 5).map(float)),
    hnp.arrays(np.float64, (8, 3), elements=st.integers(-5, 5).map(float)),
    st.permutations(range(8)),
)
def test_the_order_of_the_records_does_not_matter(before: Matrix, after: Matrix, order: list[int]) -> None:
    one, other = loss_of(before, after), loss_of(before[order], after[order])
    for name in ("data", "covariance"):
        assert one[name] == pytest.approx(other[name])
    assert [part["ks"] for part in one["attributes"].values()] == [part["ks"] for part in other["attributes"].values()]


@given(st.lists(st.integers(0, 5).map(float), min_size=1, max_size=30), st.randoms(use_true_random=False))
def test_the_ks_distance_is_the_largest_between_distribution_functions_with_ties(before: list[float], random: Any) -> None:
    after = [float(random.randint(0, 5)) for _ in before]
    below = [(sum(x <= t for x in before), sum(x <= t for x in after)) for t in range(6)]
    expected = max(abs(one - other) for one, other in below) / len(before)
    assert ks_distance(np.sort(before), np.sort(after)) == pytest.approx(expected)


def test_a_shuffled_column_keeps_its_distribution_and_loses_its_correlations() -> None:
    before = correlated(rows=4000, width=3)
    after = before.copy()
    after[:, 1] = np.random.default_rng(0).permutation(after[:, 1])
    loss = loss_of(before, after)
    one = loss["attributes"]["c1"]
    assert one["ks"] == 0.0
    assert one["difference"]["sd"] == one["difference"]["skewness"] == one["difference"]["quantiles"]["95%"] == 0.0
    # the difference of two independent draws has twice the variance
    assert one["mse"] == pytest.approx(2 * before[:, 1].var(), rel=0.05)
    # two of three correlations go to zero, the third stays
    lost = correlations(before)[[0, 1], [1, 2]]
    assert loss["correlation"]["mae"] == pytest.approx(np.abs(lost).sum() / 3, abs=0.03)


def test_cells_that_are_zero_have_no_variation_and_are_counted() -> None:
    loss = loss_of(np.array([[0.0], [2.0], [4.0]]), np.array([[1.0], [1.0], [4.0]]))
    assert loss["data"]["zeros"] == 1
    assert loss["data"]["variation"] == pytest.approx((0.5 + 0.0) / 2)
    nothing = loss_of(np.zeros((3, 1)), np.ones((3, 1)))["data"]
    assert nothing["variation"] is None
    assert "zero in the original" in nothing["reason"]


def test_nulls_are_left_out_attribute_by_attribute_and_record_by_record() -> None:
    before, after = correlated(50, 3), noisy(correlated(50, 3))
    before[3, 0], after[7, 1], after[3, 2] = np.nan, np.nan, np.nan
    loss = loss_of(before, after)
    assert [one["left_out"] for one in loss["attributes"].values()] == [1, 1, 1]
    assert loss["complete"] == 48
    kept = np.delete(np.arange(50), [3, 7])
    assert loss["covariance"] == pytest.approx(loss_of(before[kept], after[kept])["covariance"])
    assert loss["data"]["cells"] == 147


def test_constants_and_what_cannot_be_held_have_reasons_and_the_others_answer() -> None:
    before = correlated(30, 3)
    flat = before.copy()
    flat[:, 0] = 5.0
    same = loss_of(flat, noisy(before))
    assert same["correlation"]["cells"] == 1
    assert "left out, constant in the original: c0" in same["correlation"]["reason"]
    gone = loss_of(before, flat)
    assert gone["correlation"]["mae"] is None
    assert "constant in the release: c0" in gone["factor_scores"]["reason"]
    assert gone["covariance"]["mae"] > 0
    endless = before.copy()
    endless[0, 1] = np.inf
    found = loss_of(before, endless)
    assert found["attributes"]["c1"]["mae"] is None
    assert "infinite" in found["attributes"]["c1"]["reason"]
    assert found["attributes"]["c0"]["mae"] == 0.0
    assert found["covariance"]["cells"] == 3
    nothing = loss_of(before, np.full_like(before, np.nan))
    assert nothing["data"]["reason"] == "no cell is known in both tables"
    assert nothing["covariance"]["reason"] == "fewer than two records are complete"


def test_the_structures_of_too_many_attributes_are_left_out_with_the_reason() -> None:
    before = np.zeros((3, 2_001))
    before[2, 0] = 1.0
    found, one = loss_of(before, before + 1.0), loss_of(before[:, :1], before[:, :1] + 1.0)
    for name in STRUCTURES[1:]:
        assert (found[name]["mse"], found[name]["reason"]) == (None, "2,001 attributes, more than 2,000: not compared")
    assert (found["data"]["cells"], found["data"]["mae"], found["complete"]) == (6_003, 1.0, 3)
    assert (found["il1s"], found["attributes"]["c0"]) == (one["il1s"], one["attributes"]["c0"])
    most = loss_of(before[:, 1:], before[:, 1:] + 1.0)
    assert most["covariance"]["cells"] == 2_000 * 2_001 / 2


def test_a_repeated_attribute_has_a_component_without_score() -> None:
    before = correlated(60, 2)
    doubled = np.column_stack([before, before[:, 0] * 2.0])
    assert "1 component without variance left out" in loss_of(doubled, doubled)["factor_scores"]["reason"]


def test_the_sign_of_a_component_means_nothing() -> None:
    for seed in range(10):  # with some, a component comes out the other way round
        before = correlated(200, 3, seed)
        assert loss_of(before, noisy(before, seed=seed))["principal_components"]["mae"] < 0.1
