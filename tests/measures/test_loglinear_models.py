"""Log-linear models with any interactions: against closed forms, Newton's method, and what the search promises."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import polars as pl
import pytest

import unveil
from unveil.errors import ArgumentError, ColumnNotFoundError
from unveil.measures.loglinear import CellWeights, loglinear_uniqueness
from unveil.measures.loglinear_formula import interactions

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


def by_newton(observed: np.ndarray, terms: list[list[int]], offset: np.ndarray) -> np.ndarray:
    """Fit a Poisson regression to all cells of the table, by Newton's method."""
    grid = np.array(list(product(*(range(size) for size in SIZES))))
    columns = [np.ones(len(grid))]
    for term in [[0], [1], [2], [3], *terms]:
        columns += [
            np.all([grid[:, axis] == level for axis, level in zip(term, levels, strict=True)], axis=0) * 1.0
            for levels in product(*(range(1, SIZES[axis]) for axis in term))
        ]
    design = np.column_stack(columns)
    beta = np.zeros(design.shape[1])
    beta[0] = np.log(observed.sum() / np.exp(offset).sum())
    for _ in range(60):
        mean = np.exp(design @ beta + offset)
        beta += np.linalg.lstsq(design.T @ (mean[:, None] * design), design.T @ (observed - mean), rcond=None)[0]
    return np.asarray(np.exp(design @ beta + offset))


def test_interactions_without_a_closed_form_agree_with_newtons_method() -> None:
    codes, n = cells(table(3))
    terms, at = [[0, 1], [1, 2], [0, 2]], np.ravel_multi_index(tuple(codes), SIZES)
    observed = np.zeros(np.prod(SIZES))
    observed[at] = n
    expected = by_newton(observed, terms, np.zeros_like(observed))[at]
    found = loglinear_uniqueness(codes, SIZES, n, sampling_fraction=0.2, terms=terms)
    assert found.population_uniques == pytest.approx(uniques_of(expected, n, 0.2), rel=1e-4)


@pytest.mark.parametrize("terms", [[], [[0, 1]], [[0, 1], [1, 2], [0, 2]]])
def test_models_by_weights_agree_with_newtons_method(terms: list[list[int]]) -> None:
    """Pseudo likelihood: of the sums of the weights. Clogg and Eliason: of the counts, the rates of the cells as offset."""
    codes, n = cells(table(4, 150))
    at, mean = np.ravel_multi_index(tuple(codes), SIZES), np.random.default_rng(4).uniform(2.0, 30.0, len(n))
    sums, overall = mean * n, (mean * n).sum() / n.sum()
    observed, people, rates = np.zeros(np.prod(SIZES)), np.zeros(np.prod(SIZES)), np.full(np.prod(SIZES), 1.0 / overall)
    observed[at], people[at], rates[at] = n, sums, 1.0 / mean
    alone = n == 1
    assert alone.any()
    outside = {
        "pml": by_newton(people, terms, np.zeros_like(people))[at] * (1.0 - 1.0 / mean),
        "ce": by_newton(observed, terms, np.log(rates))[at] * (mean - 1.0),
        "cells": by_newton(observed, terms, np.zeros_like(people))[at] * (mean - 1.0),
    }
    for use, unsampled in outside.items():
        weights = CellWeights(sums, use)  # type: ignore[arg-type]
        found = loglinear_uniqueness(codes, SIZES, n, sampling_fraction=1.0 / overall, terms=terms, weights=weights)
        assert found.converged
        assert found.uniqueness == pytest.approx(np.exp(-unsampled[alone]), rel=1e-4)
        assert (found.fit is None) is (use == "ce" or (use == "pml" and bool(terms)))


def test_equal_weights_are_a_sampling_fraction() -> None:
    frame = table(6, 300).with_columns(w=pl.lit(8.0))
    plain = unveil.measure(frame, list("abcd"), sampling_fraction=0.125, loglinear="a * b").uniqueness["loglinear"]
    for model in ("a * b", "pml: a * b", "ce:a * b"):
        found = unveil.measure(frame, list("abcd"), weights="w", loglinear=model).uniqueness["loglinear"]
        for figure in ("population_uniques", "correct_matches"):
            assert found[figure] == pytest.approx(plain[figure], rel=1e-6)
        assert found["interactions"] == [["a", "b"]]
        assert found["fit"]["uniques_error"] == pytest.approx(plain["fit"]["uniques_error"])
        assert (found["interval"], found["interval_reason"]) == (pytest.approx(plain["interval"]), plain["interval_reason"])
    searched = unveil.measure(frame, list("abcd"), weights="w", loglinear="pml:search").uniqueness["loglinear"]
    assert searched["fit"] is not None


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


@pytest.mark.parametrize(
    ("formula", "terms"),
    [
        ("~ a * b + c", ["ab"]),
        ("a:b + c:d", ["ab", "cd"]),
        ("a*b*c + a:b", ["abc"]),  # what lies within a larger term says nothing new
        ("(a + b + c)^2 + d", ["ab", "ac", "bc"]),
        ("(a + b) * (c + d)", ["ac", "ad", "bc", "bd"]),
        ("(a + b + c + d)^9", ["abcd"]),
        ("(a)^2 + a*a", []),
    ],
)
def test_formulas_are_read_as_in_r(formula: str, terms: list[str]) -> None:
    assert interactions(formula, list("abcd")) == [["abcd".index(name) for name in term] for term in terms]


def test_names_of_columns_may_hold_signs() -> None:
    assert interactions("hours-per-week * income (net) + b:c", ["hours-per-week", "income (net)", "b:c"]) == [[0, 1]]
    with pytest.raises(ColumnNotFoundError, match="'hours'"):
        interactions("hours * b:c", ["hours-per-week", "b:c"])


def test_formulas_that_mean_nothing_are_refused() -> None:
    frame = table()
    for formula in ("a * ", "+", "", "(a + b", "a + b)", "a^b", "a^0", "a ^", ":a", "a (b)"):
        with pytest.raises(ArgumentError, match="formula"):
            unveil.measure(frame, list("abcd"), sampling_fraction=0.1, loglinear=formula)
    with pytest.raises(ArgumentError, match="pml needs sampling weights"):
        unveil.measure(frame, list("abcd"), sampling_fraction=0.1, loglinear="pml: a * b")
    with pytest.raises(ArgumentError, match="sampling fraction, or sampling weights"):
        unveil.measure(frame, list("abcd"), loglinear="a * b")
    with pytest.raises(ColumnNotFoundError, match="'e'"):
        unveil.measure(frame, list("abcd"), sampling_fraction=0.1, loglinear="a * e")
    with pytest.raises(ArgumentError, match="order 1"):
        unveil.measure(frame, list("abcd"), sampling_fraction=0.1, loglinear=3)
