"""Continuous loss against numpy, scipy, scikit-learn and loops written from the formulas."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray
from scipy import stats
from sklearn.decomposition import PCA

from unveil.errors import ArgumentError, EmptyDataError
from unveil.utility.continuous import QUANTILES, ContinuousLoss, continuous_loss, ks_statistic

Matrix = NDArray[np.float64]


def correlated(rows: int = 400, width: int = 4, seed: int = 1) -> Matrix:
    """Numbers of different scales that hang together, with eigenvalues well apart."""
    rng = np.random.default_rng(seed)
    mixing = np.tril(rng.uniform(0.4, 1.0, (width, width)))
    return np.asarray(rng.normal(size=(rows, width)) @ mixing.T * 10.0 ** np.arange(width) + np.arange(width))


def noisy(data: Matrix, share: float = 0.2, seed: int = 2) -> Matrix:
    rng = np.random.default_rng(seed)
    return np.asarray(data + rng.normal(size=data.shape) * data.std(axis=0) * share)


def names(data: Matrix) -> list[str]:
    return [f"c{at}" for at in range(data.shape[1])]


def loss_of(before: Matrix, after: Matrix, **options: Any) -> ContinuousLoss:
    return continuous_loss(before, after, names(before), **options)


def slow(before: Any, after: Any) -> tuple[float, float, float, int]:
    """The three means over cells, one by one, and the cells that are zero."""
    cells = list(zip(np.ravel(before).tolist(), np.ravel(after).tolist(), strict=True))
    some = [(x, y) for x, y in cells if x != 0]
    mse = sum((x - y) ** 2 for x, y in cells) / len(cells)
    mae = sum(abs(x - y) for x, y in cells) / len(cells)
    return mse, mae, sum(abs(x - y) / abs(x) for x, y in some) / len(some), len(cells) - len(some)


def loadings(data: Matrix) -> Matrix:
    """Correlations of the attributes with the components' scores, computed as such from scikit-learn's components."""
    standard = (data - data.mean(axis=0)) / data.std(axis=0)
    scores = PCA().fit_transform(standard)
    return np.array([[np.corrcoef(column, score)[0, 1] for score in scores.T] for column in data.T])


def score_coefficients(data: Matrix) -> Matrix:
    return np.asarray(np.linalg.solve(np.corrcoef(data, rowvar=False), loadings(data)))


def signed(after: Matrix, before: Matrix) -> Matrix:
    return np.asarray(after * np.where((after * before).sum(axis=0) < 0, -1.0, 1.0))


def test_each_matrix_agrees_with_the_definition_and_the_libraries() -> None:
    before = correlated()
    after = noisy(before)
    loss = loss_of(before, after, components=2)
    upper, above = np.triu_indices(4), np.triu_indices(4, 1)
    first = loadings(before)
    second = signed(loadings(after), first)
    turn = np.where((loadings(after) * first).sum(axis=0) < 0, -1.0, 1.0)
    expected = {
        "data": (before, after),
        "covariance": (np.cov(before, rowvar=False)[upper], np.cov(after, rowvar=False)[upper]),
        "correlation": (
            np.asarray(np.corrcoef(before, rowvar=False))[above],
            np.asarray(np.corrcoef(after, rowvar=False))[above],
        ),
        "principal_components": (first, second),
        "communalities": ((first[:, :2] ** 2).sum(axis=1), (second[:, :2] ** 2).sum(axis=1)),
        "factor_scores": (score_coefficients(before), score_coefficients(after) * turn),
    }
    assert set(loss.matrices) == set(expected)
    for name, pair in expected.items():
        found = loss.matrices[name]
        mse, mae, variation, zeros = slow(*pair)
        assert (found.mse, found.mae, found.variation) == pytest.approx((mse, mae, variation), rel=1e-8), name
        assert (found.cells, found.zeros, found.reason) == (np.size(pair[0]), zeros, "")


def test_an_attribute_by_itself_agrees_with_scipy() -> None:
    before = correlated(seed=5)
    after = np.exp(noisy(before) / before.std(axis=0))
    for at, attribute in enumerate(loss_of(before, after).attributes):
        for column, marginal in ((before[:, at], attribute.original), (after[:, at], attribute.release)):
            assert marginal is not None
            assert marginal.mean == pytest.approx(column.mean())
            assert marginal.variance == pytest.approx(column.var(ddof=1))
            assert marginal.sd == pytest.approx(column.std(ddof=1))
            assert marginal.skewness == pytest.approx(stats.skew(column))
            assert marginal.quantiles == pytest.approx(np.quantile(column, QUANTILES))
        assert attribute.original is not None
        assert attribute.release is not None
        assert attribute.difference is not None
        assert attribute.difference.mean == attribute.release.mean - attribute.original.mean
        assert attribute.ks == pytest.approx(stats.ks_2samp(before[:, at], after[:, at]).statistic)
        il1s = np.mean(np.abs(before[:, at] - after[:, at]) / (math.sqrt(2) * before[:, at].std(ddof=1)))
        assert attribute.il1s == pytest.approx(il1s)
        mse, mae, variation, zeros = slow(before[:, at], after[:, at])
        assert (attribute.data.mse, attribute.data.mae, attribute.data.variation) == pytest.approx((mse, mae, variation))
        assert attribute.data.zeros == zeros


def test_il1s_is_the_mean_over_all_cells() -> None:
    before = correlated()
    after = noisy(before)
    expected = np.mean(np.abs(before - after) / (math.sqrt(2) * before.std(axis=0, ddof=1)))
    assert loss_of(before, after).il1s == pytest.approx(expected)


def test_worked_by_hand() -> None:
    before = np.array([[1.0, 0.0], [2.0, 2.0], [3.0, 4.0]])
    after = np.array([[1.0, 1.0], [3.0, 2.0], [2.0, 4.0]])
    loss = loss_of(before, after)
    data = loss.matrices["data"]
    assert (data.mse, data.mae, data.cells, data.zeros) == (3 / 6, 3 / 6, 6, 1)
    assert data.variation == pytest.approx((1 / 2 + 1 / 3) / 5)
    covariance = loss.matrices["covariance"]  # original 1, 2, 4; release 1, 1/2, 7/3
    assert covariance.mae == pytest.approx((0 + 1.5 + 5 / 3) / 3)
    assert loss.matrices["correlation"].mae == pytest.approx(1 - 0.5 / math.sqrt(7 / 3))
    assert loss.il1s == pytest.approx(((0 + 1 + 1) / math.sqrt(2) + (1 + 0 + 0) / (2 * math.sqrt(2))) / 6)
    assert [attribute.ks for attribute in loss.attributes] == pytest.approx([0, 1 / 3])


finite = st.floats(-1e6, 1e6, allow_subnormal=False).map(lambda x: round(x, 3))
cells = st.one_of(finite, st.sampled_from([0.0, 1.0, math.nan]))


@given(hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=8), elements=cells))
def test_a_release_that_equals_the_original_loses_exactly_zero(data: Matrix) -> None:
    loss = loss_of(data, data.copy(order="F"))
    for matrix in loss.matrices.values():
        assert {matrix.mse, matrix.mae, matrix.variation} <= {0.0, None}
        assert matrix.mse is not None or matrix.reason
    assert loss.il1s in {0.0, None}
    for attribute in loss.attributes:
        assert {attribute.ks, attribute.il1s, attribute.data.mse} <= {0.0, None}
        moved = attribute.difference
        if moved is not None:
            assert {moved.mean, moved.variance, moved.sd, moved.skewness, *moved.quantiles} <= {0.0, None}
    json.dumps(loss.to_dict(), allow_nan=False)


def test_equal_tables_of_many_records_lose_exactly_zero() -> None:
    data = correlated(200_000, 6)
    loss = loss_of(data, data.copy())
    assert all((matrix.mse, matrix.mae, matrix.variation) == (0.0, 0.0, 0.0) for matrix in loss.matrices.values())
    assert loss.il1s == 0.0


@given(hnp.arrays(np.float64, (2, 9), elements=st.integers(-4, 4).map(float)))
def test_ks_is_the_largest_difference_of_the_distribution_functions(pair: Matrix) -> None:
    before, after = np.sort(pair[0]), np.sort(pair[1])
    slowest = max(abs(np.mean(before <= t) - np.mean(after <= t)) for t in pair.ravel())
    assert ks_statistic(before, after) == pytest.approx(slowest)
    assert ks_statistic(before, after) == ks_statistic(after, before)


def test_a_shuffled_column_keeps_its_distribution_and_loses_its_correlations() -> None:
    before = correlated(20_000)
    after = before.copy()
    np.random.default_rng(7).shuffle(after[:, 1])
    loss = loss_of(before, after)
    moved = loss.attributes[1].difference
    assert moved is not None
    assert loss.attributes[1].ks == 0.0
    assert (moved.mean, moved.variance, moved.skewness, moved.quantiles) == (0.0, 0.0, 0.0, (0.0,) * 5)
    correlations = np.asarray(np.corrcoef(before, rowvar=False))
    lost = np.abs(np.delete(correlations[1], 1)).sum() / 6
    assert loss.matrices["correlation"].mae == pytest.approx(lost, abs=0.01)
    independent = loss.attributes[1]  # E|x - x'| of independent draws, in standard deviations
    assert independent.il1s == pytest.approx(2 / math.sqrt(math.pi) / math.sqrt(2), abs=0.02)


@pytest.mark.parametrize("seed", range(20))
def test_the_sign_of_a_component_is_no_loss(seed: int) -> None:
    before = correlated(seed=seed)
    loss = loss_of(before, noisy(before, 1e-6, seed))
    gap = -np.diff(np.array(loss.eigenvalues[0])).max()
    assert gap > 1e-3
    largest = loss.matrices["principal_components"].mse
    assert largest is not None
    assert largest < 1e-6


def test_mirroring_every_attribute_turns_no_component() -> None:
    before = correlated()
    loss = loss_of(before, -before)
    assert loss.matrices["correlation"].mae == 0.0
    assert loss.matrices["principal_components"].mae == pytest.approx(0.0, abs=1e-12)


def test_relative_figures_do_not_depend_on_the_unit() -> None:
    before = correlated()
    after = noisy(before)
    unit = np.array([1.0, 0.01, 1000.0, 7.0])
    one, other = loss_of(before, after), loss_of(before * unit, after * unit)
    assert one.il1s == pytest.approx(other.il1s)
    for name in ("data", "covariance"):
        assert one.matrices[name].variation == pytest.approx(other.matrices[name].variation)
    assert one.matrices["correlation"].mse == pytest.approx(other.matrices["correlation"].mse)


def test_components_by_default_are_those_with_an_eigenvalue_above_one() -> None:
    before = correlated()
    loss = loss_of(before, noisy(before))
    eigenvalues = np.sort(np.linalg.eigvalsh(np.corrcoef(before, rowvar=False)))[::-1]
    assert loss.eigenvalues[0] == pytest.approx(eigenvalues)
    assert loss.components == int((eigenvalues > 1).sum())
    assert np.array(loss.correlations[0]) == pytest.approx(np.corrcoef(before, rowvar=False))
    every = loss_of(before, noisy(before), components=4)
    assert every.components == 4
    assert every.matrices["communalities"].mae == pytest.approx(0.0, abs=1e-12)  # all components explain all of everything


def test_uncorrelated_attributes_have_one_component_not_a_random_number() -> None:
    square = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    assert loss_of(square, square + 1.0).components == 1


def test_an_attribute_constant_in_the_original_is_left_out_of_the_correlations() -> None:
    varied = correlated(width=2)
    before = np.insert(varied, 1, 0.1, axis=1)
    after = np.insert(noisy(varied), 1, 5.0, axis=1)
    loss, rest = loss_of(before, after), loss_of(varied, noisy(varied))
    assert loss.correlated == ("c0", "c2")
    for name in ("correlation", "principal_components", "communalities", "factor_scores"):
        assert loss.matrices[name].mse == pytest.approx(rest.matrices[name].mse)
        assert "c1" in loss.matrices[name].reason
    assert loss.matrices["covariance"].cells == 6
    assert loss.matrices["covariance"].zeros == 3
    assert loss.il1s == pytest.approx(rest.il1s)
    assert "c1" in loss.il1s_reason
    constant = loss.attributes[1]
    assert constant.data.mae == pytest.approx(4.9)
    assert (constant.ks, constant.il1s) == (1.0, None)
    assert {"il1s", "skewness"} <= set(constant.reasons)
    assert constant.original is not None
    assert (constant.original.mean, constant.original.variance, constant.original.skewness) == (0.1, 0.0, None)


def test_an_attribute_constant_in_the_release_leaves_the_correlations_undefined() -> None:
    before = correlated(width=3)
    after = before.copy()
    after[:, 2] = before[:, 2].mean()
    loss = loss_of(before, after)
    for name in ("correlation", "principal_components", "communalities", "factor_scores"):
        assert loss.matrices[name].mse is None
        assert "constant in the release: c2" in loss.matrices[name].reason
    expected = np.cov(before, rowvar=False)[[0, 1, 2], 2]
    assert loss.matrices["covariance"].mae == pytest.approx(np.abs(expected).sum() / 6)
    assert loss.components is None
    assert loss.matrices["data"].mse is not None


def test_without_variation_at_all_the_rest_is_still_given() -> None:
    loss = loss_of(np.zeros((3, 2)), np.ones((3, 2)))
    assert (loss.matrices["data"].mae, loss.matrices["data"].variation, loss.matrices["data"].zeros) == (1.0, None, 6)
    assert loss.matrices["covariance"].mae == 0.0
    assert loss.matrices["correlation"].mae is None
    assert "every attribute is constant" in loss.matrices["correlation"].reason
    assert loss.il1s is None


def test_one_attribute_has_no_correlation_but_a_component() -> None:
    before = correlated(width=1)
    loss = loss_of(before, noisy(before))
    assert loss.matrices["correlation"].mae is None
    assert loss.matrices["correlation"].reason
    assert loss.matrices["principal_components"].mae == 0.0


def test_collinear_attributes_leave_the_component_without_variance_out_of_the_scores() -> None:
    one = correlated(width=2)
    before = np.column_stack([one, 2.0 * one[:, 0]])
    after = noisy(before)
    loss = loss_of(before, after)
    assert loss.matrices["factor_scores"].cells == 6
    assert "1 component left out" in loss.matrices["factor_scores"].reason
    assert loss.matrices["principal_components"].cells == 9


@given(st.integers(0, 10_000))
def test_nulls_are_left_out_attribute_by_attribute_and_for_matrices_record_by_record(seed: int) -> None:
    before = correlated(40, 3, seed=seed)
    after = noisy(before, seed=seed + 1)
    rng = np.random.default_rng(seed)
    before[rng.random(before.shape) < 0.2] = np.nan
    after[rng.random(after.shape) < 0.1] = np.nan
    loss = loss_of(before, after)
    gone = np.isnan(before) | np.isnan(after)
    complete = ~gone.any(axis=1)
    assume(complete.sum() > 3)
    assert (loss.records, loss.complete) == (40, complete.sum())
    whole = loss_of(before[complete], after[complete])
    for name in ("covariance", "correlation", "principal_components", "communalities", "factor_scores"):
        assert loss.matrices[name] == whole.matrices[name]
    assert loss.matrices["data"].mae == pytest.approx(np.abs(before - after)[~gone].mean())
    for at, attribute in enumerate(loss.attributes):
        kept = ~gone[:, at]
        alone = loss_of(before[kept][:, [at]], after[kept][:, [at]]).attributes[0]
        assert (attribute.left_out, attribute.records) == (gone[:, at].sum(), kept.sum())
        assert attribute.ks == alone.ks
        assert attribute.original == alone.original
        assert attribute.data == alone.data


def test_many_records_in_pieces_with_nulls() -> None:
    before = correlated(150_000, 3)
    after = noisy(before)
    before[::7, 0] = np.nan
    after[:70_000, 2] = np.nan  # the first piece has no complete record
    loss = loss_of(before, after)
    complete = ~(np.isnan(before) | np.isnan(after)).any(axis=1)
    upper = np.triu_indices(3)
    pair = [np.cov(table[complete], rowvar=False)[upper] for table in (before, after)]
    assert loss.matrices["covariance"].mse == pytest.approx(slow(*pair)[0])


def test_an_attribute_that_is_all_null_has_a_reason() -> None:
    before = correlated(width=2)
    after = before.copy()
    after[:, 1] = np.nan
    loss = loss_of(before, after)
    gone = loss.attributes[1]
    assert (gone.records, gone.left_out, gone.ks, gone.original, gone.data.mse) == (0, 400, None, None, None)
    assert gone.reasons["all"] == gone.data.reason != ""
    assert loss.complete == 0
    assert loss.matrices["covariance"].mse is None
    assert loss.matrices["data"].mse == 0.0
    json.dumps(loss.to_dict(), allow_nan=False)


def test_one_record_has_no_spread() -> None:
    loss = loss_of(np.array([[3.0]]), np.array([[4.0]]))
    attribute = loss.attributes[0]
    assert attribute.original is not None
    assert (attribute.original.variance, attribute.il1s, attribute.ks) == (None, None, 1.0)
    assert set(attribute.reasons) == {"variance", "sd", "skewness", "il1s"}
    assert loss.matrices["data"].variation == pytest.approx(1 / 3)


def test_integers_are_numbers_and_nothing_is_changed() -> None:
    before = np.arange(12).reshape(6, 2)
    after = before + 1
    kept = before.copy()
    assert continuous_loss(before, after, ["a", "b"]).matrices["data"].mae == 1.0
    assert np.array_equal(before, kept)


def test_tiny_and_huge_numbers_raise_no_warning() -> None:
    before = np.array([[1e-300, 1e99], [2e-300, -1e99], [0.0, 3e98]])
    after = np.array([[1e100, 1e100], [0.0, 1.0], [1.0, -1e100]])
    loss = loss_of(before, after)
    assert loss.matrices["data"].variation == math.inf
    assert json.loads(json.dumps(loss.to_dict(), allow_nan=False))["data"]["variation"] == "inf"


def test_the_answer_shows_itself_in_one_line() -> None:
    before = correlated(width=2)
    assert repr(loss_of(before, before + 1.0)) == "ContinuousLoss(2 attributes, 400 records, mean absolute error 1)"


def test_what_does_not_fit_is_refused() -> None:
    data = correlated(width=2)
    with pytest.raises(ArgumentError, match="one shape"):
        continuous_loss(data, data[:-1], ["a", "b"])
    with pytest.raises(ArgumentError, match="1 names"):
        continuous_loss(data, data, ["a"])
    with pytest.raises(EmptyDataError):
        continuous_loss(data[:0], data[:0], ["a", "b"])
    with pytest.raises(ArgumentError, match="components"):
        continuous_loss(data, data, ["a", "b"], components=3)
    endless = data.copy()
    endless[3, 1] = -np.inf
    with pytest.raises(ArgumentError, match="in b"):
        continuous_loss(data, endless, ["a", "b"])
