"""The propensity score error against scikit-learn and plain optimisation, under the null, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import unveil
from unveil.errors import ArgumentError, ColumnNotFoundError
from unveil.testing import tables


def people(records: int, seed: int) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    age = random.integers(18, 80, records)
    return pl.DataFrame({"age": age, "pay": random.normal(age * 10, 100), "town": random.choice(list("abcd"), records)})


def stacked(original: pl.DataFrame, release: pl.DataFrame) -> tuple[Any, Any]:
    """A design matrix made by pandas: numbers, and an indicator for each category but the first."""
    frame = pd.DataFrame(pl.concat([original, release]).to_dict(as_series=False))
    numbers = frame[["age", "pay"]]
    design = np.column_stack(
        [(numbers - numbers.mean()) / numbers.std(), pd.get_dummies(frame["town"], drop_first=True, dtype=float)]
    )
    return design, np.repeat([0.0, 1.0], [original.height, release.height])


def test_is_that_of_an_unpenalised_regression() -> None:
    original, release = people(400, 1), people(300, 2).with_columns(pay=pl.col("pay") + 60)
    design, member = stacked(original, release)
    scores = LogisticRegression(C=np.inf, max_iter=1000, tol=1e-10).fit(design, member).predict_proba(design)[:, 1]
    c = 300 / 700
    found = unveil.pmse(original, release)
    assert found.value == pytest.approx(np.mean((scores - c) ** 2), rel=1e-5)
    assert found.parameters == 1 + 2 + 3
    assert found.expected == pytest.approx(5 * (1 - c) ** 2 * c / 700)
    assert found.ratio == pytest.approx(found.value / found.expected)
    assert found.highest == pytest.approx(c * (1 - c))


def test_maximises_the_likelihood() -> None:
    original, release = people(120, 3), people(80, 4).with_columns(pay=pl.col("pay") + 100)
    design, member = stacked(original, release)
    design = np.column_stack([np.ones(200), design])

    def misfit(weights: Any) -> float:
        logits = design @ weights
        return float(np.logaddexp(0.0, logits).sum() - member @ logits)

    best = minimize(misfit, np.zeros(6), method="BFGS", options={"gtol": 1e-4}).x
    assert unveil.pmse(original, release).value == pytest.approx(np.mean((expit(design @ best) - 0.4) ** 2), rel=1e-4)


@pytest.mark.parametrize("model", ["logistic", "tree"])
def test_the_original_itself_cannot_be_told_apart(model: str) -> None:
    original = people(200, 5)
    found = unveil.pmse(original, original, model=model)
    assert found.value == 0.0
    assert found.ratio == 0.0
    drawn = unveil.pmse(original, original, model=model, sample=50)
    assert (drawn.value, drawn.original_records, drawn.release_records) == (0.0, 50, 50)


@given(tables(columns=2))
@settings(max_examples=20)
def test_of_itself_is_zero_for_any_table(table: pl.DataFrame) -> None:
    assert unveil.pmse(table, table).value == pytest.approx(0.0, abs=1e-20)


@given(tables(columns=2), tables(columns=2))
@settings(max_examples=20)
def test_lies_between_its_bounds(original: pl.DataFrame, release: pl.DataFrame) -> None:
    found = unveil.pmse(original, release)
    assert 0.0 <= found.value <= found.highest + 1e-9
    assert unveil.pmse(release, original).value == pytest.approx(found.value, abs=1e-6)  # which is which does not matter


def wide(records: int, seed: int) -> pl.DataFrame:
    """Many columns, so that the error varies little from draw to draw."""
    return pl.DataFrame(np.random.default_rng(seed).normal(size=(records, 60)), schema=[f"x{at}" for at in range(60)])


@pytest.mark.parametrize(("release", "sample"), [(1000, 200), (500, None)])
def test_a_bootstrap_has_a_ratio_of_one_at_every_sample_size(release: int, sample: int | None) -> None:
    """The mean of 40 ratios has a standard error of 0.03."""
    original, random = wide(1000, 17), np.random.default_rng(18)
    draws = [original[random.integers(0, 1000, release)] for _ in range(40)]
    ratios = [unveil.pmse(original, drawn, sample=sample, seed=seed).ratio for seed, drawn in enumerate(draws)]
    assert np.mean([ratio for ratio in ratios if ratio is not None]) == pytest.approx(1.0, abs=0.07)


@pytest.mark.parametrize("sample", [100, None])
def test_a_tree_gives_a_bootstrap_a_ratio_of_one_too(sample: int | None) -> None:
    original, random = people(400, 19), np.random.default_rng(20)
    draws = [original[random.integers(0, 400, 400)] for _ in range(12)]
    ratios = [unveil.pmse(original, drawn, model="tree", sample=sample, seed=seed).ratio for seed, drawn in enumerate(draws)]
    assert np.mean([ratio for ratio in ratios if ratio is not None]) == pytest.approx(1.0, abs=0.12)


@pytest.mark.parametrize("model", ["logistic", "tree"])
@pytest.mark.parametrize("sample", [60, None])
def test_the_order_of_the_rows_does_not_matter(model: str, sample: int | None) -> None:
    original, release = people(200, 21), people(150, 22).with_columns(pl.col("town").replace("a", None))
    order, other = np.random.default_rng(23).permutation(200), np.random.default_rng(24).permutation(150)
    found = unveil.pmse(original, release, model=model, sample=sample)
    again = unveil.pmse(original[order], release[other], model=model, sample=sample)
    assert again.to_dict() == found.to_dict()
    copy = unveil.pmse(original, original[order], model=model, sample=sample)
    assert (copy.value, copy.ratio) == (0.0, 0.0)


def test_two_samples_of_one_population_have_a_ratio_of_one_over_one_minus_c() -> None:
    ratios = [unveil.pmse(people(400, 2 * seed), people(200, 2 * seed + 1)).ratio for seed in range(100, 160)]
    assert np.mean([ratio for ratio in ratios if ratio is not None]) == pytest.approx(1 / (1 - 1 / 3), abs=0.25)


def test_repeated_columns_are_no_further_parameters() -> None:
    original, release = people(200, 8), people(200, 9)
    one, two = (frame.with_columns(again=pl.col("age") * 2 + 1) for frame in (original, release))
    assert unveil.pmse(one, two).parameters == unveil.pmse(original, release).parameters
    assert unveil.pmse(one, two).value == pytest.approx(unveil.pmse(original, release).value)


def test_a_generalised_category_gives_records_away_and_a_midpoint_does_not() -> None:
    original = people(300, 10)
    wide = (pl.col("age") // 2 * 2).cast(pl.String)
    ages = original.with_columns(age=pl.format("[{}, {})", wide, (pl.col("age") // 2 * 2 + 2).cast(pl.String)))
    towns = original.with_columns(town=pl.lit("{a, b, c, d}"))
    assert unveil.pmse(original, towns).value == pytest.approx(0.25, abs=1e-4)
    assert unveil.pmse(original, ages).value < 0.001


def test_numbers_that_are_not_known_give_records_away() -> None:
    original = people(100, 11)
    assert unveil.pmse(original, original.with_columns(age=pl.lit("*")), "age").value == pytest.approx(0.25, abs=1e-4)


def test_the_tree_is_that_of_scikit_learn() -> None:
    original, release = people(300, 12), people(300, 13).with_columns(pay=pl.col("pay") + 80)
    member = np.repeat([0, 1], 300)
    numbers = np.concatenate([original["pay"].to_numpy(), release["pay"].to_numpy()])[:, None]
    scores = DecisionTreeClassifier(min_samples_leaf=20, random_state=0).fit(numbers, member).predict_proba(numbers)[:, 1]
    found = unveil.pmse(original, release, "pay", model="tree")
    assert found.value == pytest.approx(np.mean((scores - 0.5) ** 2))
    assert found.parameters is None
    assert found.ratio is not None
    assert found.ratio > 1.0


def test_a_tree_sees_what_columns_do_together() -> None:
    random = np.random.default_rng(14)
    one, flip = random.choice(["x", "y"], 600), random.choice(["x", "y"], 600)
    original, release = pl.DataFrame({"a": one, "b": one}), pl.DataFrame({"a": one, "b": flip})
    logistic, tree = unveil.pmse(original, release), unveil.pmse(original, release, model="tree")
    assert logistic.value < 0.001
    assert tree.value > 0.05


def test_what_cannot_be_told_is_said() -> None:
    same = pl.DataFrame({"a": [1, 1, 1]})
    found = unveil.pmse(same, same)
    assert (found.value, found.ratio, found.parameters) == (0.0, None, 1)
    assert "no column varies" in str(found.reason)
    table = people(20, 15)
    with pytest.raises(ColumnNotFoundError, match="no column in common; those of the release are: x"):
        unveil.pmse(table, pl.DataFrame({"x": [1]}))
    with pytest.raises(ColumnNotFoundError, match="the release: column 'town' not found"):
        unveil.pmse(table, table.drop("town"), ["age", "town"])
    with pytest.raises(ArgumentError, match="named twice"):
        unveil.pmse(table, table, ["age", "age"])
    with pytest.raises(ArgumentError, match="model 'forest' is unknown"):
        unveil.pmse(table, table, model="forest")
    with pytest.raises(ArgumentError, match="sample"):
        unveil.pmse(table, table, sample=0)
    with pytest.raises(ArgumentError, match="seed"):
        unveil.pmse(table, table, seed=-1)


def test_is_a_result() -> None:
    table = people(50, 16)
    found = unveil.pmse(table, table)
    assert found.to_frame()["pmse"].to_list() == [found.to_dict()["pmse"]]
    assert "be distinguished" in found._repr_html_()
    assert "original" in repr(found.view())


def test_numbers_too_small_for_their_own_unit_stay_as_they_are() -> None:
    tiny = pl.DataFrame({"x": [5e-324, 0.0, 5e-324, 0.0], "y": [1e200, 2e200, 3e200, 4e200]})
    assert unveil.pmse(tiny, tiny).value == pytest.approx(0.0, abs=1e-9)
