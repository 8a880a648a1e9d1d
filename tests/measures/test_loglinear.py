from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from unveil.errors import ArgumentError
from unveil.measures.loglinear import expected_counts, loglinear_uniqueness


def cells_of(table: NDArray[Any]) -> tuple[list[NDArray[np.int64]], list[int], NDArray[np.int64]]:
    """The non-empty cells of a table: codes, sizes, counts."""
    codes = np.nonzero(table)
    return list(codes), list(table.shape), table[codes].astype(np.int64)


def two_way_design(shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Main effects and all two-way interactions of every cell, as indicator columns without the first value of each."""
    codes = np.indices(shape).reshape(len(shape), -1)
    main = [[(codes[axis] == value).astype(float) for value in range(1, size)] for axis, size in enumerate(shape)]
    columns = [column for axis in main for column in axis]
    columns += [one * other for i in range(len(shape)) for j in range(i) for one in main[i] for other in main[j]]
    return np.column_stack(columns)


# --- the fit


def test_independence_gives_the_fit_of_sdcmicro() -> None:
    # sdcMicro, tests/testthat/test_modRisks.R (no missing value, method default): ten records, margins 1-5-4, 5-5, 2-2-4-2
    wanted = np.outer([0.1, 0.5, 0.4], np.tile([1.0, 1.0, 2.0, 1.0], 2)).reshape(3, 2, 4)
    table = np.zeros((3, 2, 4), dtype=np.int64)
    for cell in [(0, 0, 2), (1, 0, 0), (1, 1, 1), (1, 1, 2), (1, 0, 3), (2, 1, 0), (2, 0, 2), (2, 1, 3), (2, 1, 1), (1, 0, 2)]:
        table[cell] += 1
    assert [table.sum(axis=axes).tolist() for axes in ((1, 2), (0, 2), (0, 1))] == [[1, 5, 4], [5, 5], [2, 2, 4, 2]]
    codes, sizes, n = cells_of(table)
    assert expected_counts(codes, sizes, n) == pytest.approx(wanted[tuple(codes)], rel=1e-12)


def test_independence_is_the_poisson_regression_on_main_effects() -> None:
    from sklearn.linear_model import PoissonRegressor

    table = np.random.default_rng(0).poisson(6.0, (3, 2, 4)) + 1
    codes = np.indices(table.shape).reshape(3, -1)
    design = np.column_stack([codes[axis] == value for axis in range(3) for value in range(1, table.shape[axis])]).astype(float)
    model = PoissonRegressor(alpha=0.0, tol=1e-10, max_iter=2000, solver="newton-cholesky").fit(design, table.ravel())
    assert expected_counts(*cells_of(table)) == pytest.approx(model.predict(design), rel=1e-6)


@pytest.mark.parametrize("shape", [(3, 2, 4), (2, 3, 2, 3)])
def test_two_way_fitting_is_the_poisson_regression_on_all_pairs(shape: tuple[int, ...]) -> None:
    from sklearn.linear_model import PoissonRegressor

    table = np.random.default_rng(1).poisson(5.0, shape) + 1
    design = two_way_design(shape)
    model = PoissonRegressor(alpha=0.0, tol=1e-10, max_iter=5000, solver="newton-cholesky").fit(design, table.ravel())
    assert expected_counts(*cells_of(table), order=2) == pytest.approx(model.predict(design), rel=1e-5)


def test_two_way_fitting_of_a_sparse_table_maximises_the_likelihood() -> None:
    from scipy.optimize import minimize

    table = np.random.default_rng(2).poisson(0.9, (3, 3, 3))
    design = np.column_stack([np.ones(27), two_way_design((3, 3, 3))])
    counts = table.ravel()

    def loss(effects: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        rate = design @ effects
        return float(np.exp(rate).sum() - counts @ rate), design.T @ (np.exp(rate) - counts)

    best = minimize(loss, np.zeros(design.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000})
    found = expected_counts(*cells_of(table), order=2)
    assert found == pytest.approx(np.exp(design @ best.x)[counts > 0], rel=1e-4)


def test_two_columns_at_order_two_are_saturated() -> None:
    table = np.array([[1, 0, 2], [3, 4, 1]])
    codes, sizes, n = cells_of(table)
    assert expected_counts(codes, sizes, n, order=2).tolist() == n.tolist()
    # columns of one value change nothing
    assert expected_counts([*codes, np.zeros(5, dtype=int)], [*sizes, 1], n, order=2).tolist() == n.tolist()
    assert expected_counts([codes[0], np.zeros(5, dtype=int), codes[1]], [2, 1, 3], n) == pytest.approx(
        expected_counts(codes, sizes, n)
    )


def test_an_independent_table_is_its_own_fit_at_either_order() -> None:
    table = np.einsum("i,j,k->ijk", [1, 2, 5], [1, 3], [1, 1, 4])
    codes, sizes, n = cells_of(table)
    assert expected_counts(codes, sizes, n) == pytest.approx(n, rel=1e-12)
    assert expected_counts(codes, sizes, n, order=2) == pytest.approx(n, rel=1e-9)


# --- the risk


@pytest.mark.parametrize("fraction", [0.02, 0.3, 0.9])
def test_the_figures_are_the_sums_over_what_is_outside_the_sample(fraction: float) -> None:
    table = np.random.default_rng(4).poisson(0.8, (4, 5, 3))
    codes, sizes, n = cells_of(table)
    result = loglinear_uniqueness(codes, sizes, n, sampling_fraction=fraction)
    alone = matched = 0.0
    for rate in expected_counts(codes, sizes, n)[n == 1]:
        mean = (1 - fraction) / fraction * rate
        chance = math.exp(-mean)
        alone += chance
        # 1 / (1 + number of others), the others Poisson
        for others in range(400):
            matched += chance / (1 + others)
            chance *= mean / (1 + others)
    assert result.population_uniques == pytest.approx(alone, rel=1e-12)
    assert result.correct_matches == pytest.approx(matched, rel=1e-10)
    assert result.uniqueness.sum() == pytest.approx(alone, rel=1e-12)
    assert n[result.unique_cells].tolist() == [1] * result.sample_uniques
    assert result.population_unique_share == pytest.approx(alone / result.sample_uniques)


@pytest.mark.parametrize("order", [1, 2])
def test_the_whole_population_keeps_its_uniques(order: Any) -> None:
    table = np.random.default_rng(4).poisson(0.8, (4, 5, 3))
    result = loglinear_uniqueness(*cells_of(table), sampling_fraction=1.0, order=order)
    assert result.population_uniques == result.correct_matches == result.sample_uniques == int((table == 1).sum())
    assert result.population_unique_share == 1.0


@pytest.mark.parametrize("order", [1, 2])
def test_a_smaller_sampling_fraction_is_a_smaller_risk(order: Any) -> None:
    table = np.random.default_rng(6).poisson(0.7, (4, 5, 3))
    results = [loglinear_uniqueness(*cells_of(table), sampling_fraction=pi, order=order) for pi in (0.01, 0.1, 0.5, 0.99, 1.0)]
    for figure in ("population_uniques", "correct_matches"):
        values = [getattr(result, figure) for result in results]
        assert values == sorted(values)


def margins(sizes: list[int], generator: np.random.Generator) -> list[NDArray[np.float64]]:
    return [generator.dirichlet(np.full(size, 0.7)) for size in sizes]


def sampled(means: NDArray[np.float64], fraction: float, generator: np.random.Generator) -> tuple[NDArray[Any], NDArray[Any]]:
    population = generator.poisson(means)
    return population, generator.binomial(population, fraction)


def truth_of(population: NDArray[Any], sample: NDArray[Any]) -> tuple[int, float]:
    unique = sample == 1
    return int((population[unique] == 1).sum()), float((1 / population[unique]).sum())


def test_independent_columns_are_recovered() -> None:
    generator = np.random.default_rng(11)
    one, two, three = margins([12, 15, 20], generator)
    population, sample = sampled(30_000 * np.einsum("i,j,k->ijk", one, two, three), 0.1, generator)
    alone, matched = truth_of(population, sample)
    first = loglinear_uniqueness(*cells_of(sample), sampling_fraction=0.1)
    second = loglinear_uniqueness(*cells_of(sample), sampling_fraction=0.1, order=2)
    assert first.population_uniques == pytest.approx(alone, rel=0.2)
    assert first.correct_matches == pytest.approx(matched, rel=0.1)
    assert second.converged
    assert second.correct_matches == pytest.approx(matched, rel=0.2)


def test_columns_that_depend_in_pairs_need_the_second_order() -> None:
    generator = np.random.default_rng(12)
    figures = []
    for _ in range(10):
        pairs = [np.exp(generator.normal(0.0, 0.8, shape)) for shape in ((8, 9), (9, 10), (8, 10))]
        means = np.einsum("ij,jk,ik->ijk", *pairs)
        population, sample = sampled(5_000 * means / means.sum(), 0.3, generator)
        first = loglinear_uniqueness(*cells_of(sample), sampling_fraction=0.3)
        second = loglinear_uniqueness(*cells_of(sample), sampling_fraction=0.3, order=2)
        assert second.converged
        figures.append([*truth_of(population, sample), first.correct_matches, second.population_uniques, second.correct_matches])
    alone, matched, by_first, alone_by_second, by_second = np.sum(figures, axis=0)
    assert alone_by_second == pytest.approx(alone, rel=0.15)
    assert by_second == pytest.approx(matched, rel=0.1)
    assert abs(by_first - matched) > 0.2 * matched


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 4)), min_size=1, max_size=50),
    st.floats(1e-6, 1.0),
    st.sampled_from([1, 2]),
)
def test_bounds_and_the_order_of_columns(records: list[tuple[int, int, int]], fraction: float, order: Any) -> None:
    table = np.zeros((4, 3, 5), dtype=np.int64)
    np.add.at(table, tuple(np.array(records).T), 1)
    result = loglinear_uniqueness(*cells_of(table), sampling_fraction=fraction, order=order)
    assert 0.0 <= result.population_uniques <= result.correct_matches <= result.sample_uniques
    assert np.all(result.uniqueness <= result.match)
    turned = loglinear_uniqueness(*cells_of(table.transpose(2, 0, 1)), sampling_fraction=fraction, order=order)
    if result.converged and turned.converged:
        assert turned.correct_matches == pytest.approx(result.correct_matches, rel=1e-3, abs=1e-3)
    json.dumps(result.to_dict(), allow_nan=False)


# --- refusals and limits


def test_independence_needs_no_table() -> None:
    size = 1_000_000
    codes = [np.arange(3), np.arange(3), np.arange(3), np.arange(3)]
    result = loglinear_uniqueness(codes, [size] * 4, [1, 1, 2], sampling_fraction=0.5)
    assert result.table_cells == size**4
    assert result.sample_uniques == 2


def test_a_table_too_large_for_two_way_fitting_is_refused_with_a_way_out() -> None:
    with pytest.raises(ArgumentError, match=r"5,000,050 cells over 2 columns.*use order=1"):
        loglinear_uniqueness([[0], [0]], [50, 100_001], [1], sampling_fraction=0.5, order=2)


@pytest.mark.parametrize("fraction", [0.0, -1.0, 1.5, math.nan])
def test_an_impossible_sampling_fraction_is_refused(fraction: float) -> None:
    with pytest.raises(ArgumentError, match="sampling fraction"):
        loglinear_uniqueness([[0], [0]], [1, 1], [1], sampling_fraction=fraction)


@pytest.mark.parametrize(
    ("codes", "sizes", "n"),
    [
        ([], [], [1]),
        ([[0]], [1, 1], [1]),
        ([[0, 1]], [2], [1]),
        ([[2]], [2], [1]),
        ([[-1]], [2], [1]),
        ([[0.5]], [2], [1]),
        ([[0]], [2], [0]),
    ],
)
def test_lists_that_do_not_fit_are_refused(codes: Any, sizes: list[int], n: list[int]) -> None:
    with pytest.raises(ArgumentError):
        loglinear_uniqueness(codes, sizes, n, sampling_fraction=0.5)


def test_an_unknown_order_is_refused() -> None:
    with pytest.raises(ArgumentError, match="order 3 is unknown"):
        loglinear_uniqueness([[0]], [1], [1], sampling_fraction=0.5, order=3)  # type: ignore[arg-type]


@pytest.mark.parametrize("order", [1, 2])
def test_tables_without_uniques_or_records(order: Any) -> None:
    full = loglinear_uniqueness([[0, 1], [0, 1], [0, 1]], [2, 2, 2], [2, 3], sampling_fraction=0.5, order=order)
    assert (full.population_uniques, full.population_unique_share) == (0.0, None)
    none = loglinear_uniqueness([[], [], []], [2, 2, 2], [], sampling_fraction=0.5, order=order)
    assert (none.records, none.correct_matches, none.correct_match_share) == (0, 0.0, None)
