"""Log-linear models with any interactions: against closed forms, Newton's method, and what the search promises."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import polars as pl
import pytest

import unveil
from unveil.errors import ArgumentError, ColumnNotFoundError
from unveil.measures.loglinear import loglinear_uniqueness

SIZES = (3, 4, 2, 3)


def table(seed: int = 1, records: int = 900) -> pl.DataFrame:
    """Draw people whose a and b go together, and whose c and d do not depend on anything."""
    random = np.random.default_rng(seed)
    a = random.integers(0, 3, records)
    b = np.where(random.random(records) < 0.7, a, random.integers(0, 4, records))
    return pl.DataFrame({"a": a, "b": b, "c": random.integers(0, 2, records), "d": random.integers(0, 3, records)})


def cells(frame: pl.DataFrame) -> tuple[list[np.ndarray], np.ndarray]:
    counted = frame.group_by(frame.columns).len().sort(frame.columns)
    return [counted[name].to_numpy() for name in frame.columns], counted["len"].to_numpy()


def uniques_of(expected: np.ndarray, n: np.ndarray, fraction: float) -> float:
    return float(np.exp(-(1.0 - fraction) / fraction * expected[n == 1]).sum())


def test_one_interaction_has_the_closed_form_of_its_margins() -> None:
    codes, n = cells(table())
    total = n.sum()

    def margin(*axes: int) -> np.ndarray:
        key = [tuple(row) for row in np.stack([codes[axis] for axis in axes]).T]
        sums = {one: sum(int(m) for other, m in zip(key, n, strict=True) if other == one) for one in set(key)}
        return np.array([sums[one] for one in key], dtype=float)

    expected = margin(0, 1) * margin(2) * margin(3) / total**2
    found = loglinear_uniqueness(codes, SIZES, n, sampling_fraction=0.1, terms=[[0, 1]])
    assert found.population_uniques == pytest.approx(uniques_of(expected, n, 0.1))
    decomposable = margin(0, 1, 2) * margin(2, 3) / margin(2)
    found = loglinear_uniqueness(codes, SIZES, n, sampling_fraction=0.1, terms=[[0, 1, 2], [3, 2], [0, 2]])
    assert found.population_uniques == pytest.approx(uniques_of(decomposable, n, 0.1))
    assert found.converged


def test_interactions_without_a_closed_form_agree_with_newtons_method() -> None:
    codes, n = cells(table(3))
    terms = [[0, 1], [1, 2], [0, 2]]
    grid = np.array(list(product(*(range(size) for size in SIZES))))
    observed = np.zeros(len(grid))
    observed[np.ravel_multi_index(tuple(codes), SIZES)] = n
    columns = [np.ones(len(grid))]
    for term in [[0], [1], [2], [3], *terms]:
        columns += [
            np.all([grid[:, axis] == level for axis, level in zip(term, levels, strict=True)], axis=0) * 1.0
            for levels in product(*(range(1, SIZES[axis]) for axis in term))
        ]
    design = np.column_stack(columns)
    beta = np.zeros(design.shape[1])
    beta[0] = np.log(observed.mean())
    for _ in range(60):
        mean = np.exp(design @ beta)
        step = np.linalg.lstsq(design.T @ (mean[:, None] * design), design.T @ (observed - mean), rcond=None)[0]
        beta += step
    expected = np.exp(design @ beta)[np.ravel_multi_index(tuple(codes), SIZES)]
    found = loglinear_uniqueness(codes, SIZES, n, sampling_fraction=0.2, terms=terms)
    assert found.population_uniques == pytest.approx(uniques_of(expected, n, 0.2), rel=1e-4)


def test_orders_are_formulas() -> None:
    frame = table(5)
    for order, formula in ((1, "a + b"), (2, " + ".join(f"{one} * {other}" for one, other in combinations("abcd", 2)))):
        found = [
            unveil.measure(frame, list("abcd"), sampling_fraction=0.1, loglinear=one).uniqueness["loglinear"]
            for one in (order, formula)
        ]
        assert found[0]["population_uniques"] == pytest.approx(found[1]["population_uniques"])
    assert found[1]["interactions"] == [list(pair) for pair in combinations("abcd", 2)]


def test_the_search_finds_the_pair_that_goes_together() -> None:
    random = np.random.default_rng(7)
    a = random.integers(0, 30, 4000)
    frame = pl.DataFrame({"a": a, "b": (a + random.integers(0, 3, 4000)) % 30, "c": random.integers(0, 10, 4000)})
    plain = unveil.measure(frame, list("abc"), sampling_fraction=0.1, loglinear=1).uniqueness["loglinear"]
    found = unveil.measure(frame, list("abc"), sampling_fraction=0.1, loglinear="search").uniqueness["loglinear"]
    assert plain["fit"]["verdict"] == "overstates"
    assert ["a", "b"] in found["interactions"]
    assert abs(found["fit"]["uniques_error"]) < abs(plain["fit"]["uniques_error"])
    assert found["fit"]["verdict"] == "fits"


def test_formulas_that_mean_nothing_are_refused() -> None:
    frame = table()
    for formula in ("a * ", "+", ""):
        with pytest.raises(ArgumentError, match="formula"):
            unveil.measure(frame, list("abcd"), sampling_fraction=0.1, loglinear=formula)
    with pytest.raises(ColumnNotFoundError, match="'e'"):
        unveil.measure(frame, list("abcd"), sampling_fraction=0.1, loglinear="a * e")
    with pytest.raises(ArgumentError, match="order 1"):
        unveil.measure(frame, list("abcd"), sampling_fraction=0.1, loglinear=3)
