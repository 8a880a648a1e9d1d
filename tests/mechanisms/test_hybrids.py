"""k-anonymity and differential privacy together: SafePub's account, and groups that one record hardly changes."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import unveil
from unveil import mechanisms
from unveil.errors import ArgumentError, EmptyDataError, PartitionError
from unveil.mechanisms.differential_privacy.safety import _least_k

ALPHA = 1e-7


def published(n: int, k: int, beta: float) -> np.ndarray[Any, Any]:
    """The chances of what a class of n records may publish: nothing, or a size from k on."""
    chances = stats.binom.pmf(np.arange(400), n, beta)
    return np.append(chances[:k].sum(), chances[k:])


def slow_delta(k: int, beta: float, epsilon: float) -> float:
    """The largest excess of one of two neighbours over e^epsilon times the other, either way round, class size by class size."""
    excess = []
    for n in range(1, 300):
        one, other = published(n, k, beta), published(n - 1, k, beta)
        excess += [np.maximum(a - math.exp(epsilon) * b, 0).sum() for a, b in ((one, other), (other, one))]
    return float(max(excess))


@pytest.mark.parametrize(
    ("k", "beta", "epsilon"),
    [(1, 0.3, 1.0), (5, 0.1, 0.5), (20, 0.1, 0.5), (10, 0.3, 1.0), (3, 0.05, 0.06), (40, 0.6, 1.0), (58, 1 - math.exp(-1), 1.0)],
)
def test_delta_is_that_of_the_mechanism_itself(k: int, beta: float, epsilon: float) -> None:
    assert mechanisms.safepub_delta(k, beta, epsilon) == pytest.approx(slow_delta(k, beta, epsilon), rel=1e-9)


def test_a_large_budget_has_an_answer_too() -> None:
    assert mechanisms.safepub_delta(1000, -math.expm1(-20.0), 20.0) == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-6])
def test_k_is_the_least_that_does(epsilon: float, delta: float) -> None:
    beta = 1 - math.exp(-epsilon)
    k = _least_k(beta, epsilon, delta)
    assert mechanisms.safepub_delta(k, beta, epsilon) <= delta < mechanisms.safepub_delta(k - 1, beta, epsilon)


def test_a_tiny_budget_is_accounted_for_too() -> None:
    assert _least_k(-math.expm1(-1e-9), 1e-9, 1e-9) == 1  # a record is hardly ever sampled
    assert 1 < _least_k(-math.expm1(-1e-9), 1e-9, 1e-10) < 1000


def test_the_release_is_a_generalised_sample_of_classes_of_k() -> None:
    adult = unveil.datasets.adult()
    names = ["sex", "race", "age"]
    made = mechanisms.safepub(adult, names, epsilon=1.0, delta=1e-5, generalise={"age": [0, 30, 50, 100]})
    assert made.data.columns == names
    assert min(Counter(made.data.rows()).values()) >= made.figures["k"]
    assert made.figures["sampling"] == pytest.approx(1 - math.exp(-1))
    assert stats.binomtest(made.not_private["sampled"], adult.height, made.figures["sampling"]).pvalue > ALPHA
    assert made.figures["delta"] <= 1e-5
    assert made.not_private["sampled"] - made.not_private["suppressed"] == made.records.records
    assert set(made.figures) == {"k", "sampling", "delta"}
    assert made.to_dict()["not_private"] == dict(made.not_private)
    assert "not private: keep inside" in made._repr_html_()
    assert made.data["sex"].equals(adult["sex"][made.origin])
    blocks = {(label, age // 10 in (3, 4)) for label, age in zip(made.data["age"], adult["age"][made.origin], strict=True)}
    assert len(blocks) == 3
    assert made.to_dict()["repeatable"] is False


def test_the_order_of_the_data_is_gone() -> None:
    """The place of a record is uniform: whether the last record took part cannot be seen from the last row."""
    frame = pl.DataFrame({"x": ["a"] * 400})
    last = [mechanisms.safepub(frame, "x", epsilon=1.0, delta=1e-4).origin for _ in range(60)]
    assert not any(np.array_equal(origin, np.sort(origin)) for origin in last)
    assert sum(origin[-1] == 399 for origin in last) < 8
    places = np.concatenate(
        [np.argsort(np.argsort(origin)) / len(origin) - np.arange(len(origin)) / len(origin) for origin in last]
    )
    assert np.std(places) == pytest.approx(math.sqrt(1 / 6), abs=0.02)  # the difference of two independent uniform places


def test_one_record_of_a_person_takes_part() -> None:
    frame = pl.DataFrame({"who": [at // 50 for at in range(20_000)], "x": ["a", "b"] * 10_000})
    made = mechanisms.safepub(frame, "x", epsilon=1.0, delta=1e-4, person="who")
    assert made.not_private["sampled"] <= 400
    assert len(set((made.origin // 50).tolist())) == made.records.records
    assert made.settings["protects"] == "person"
    assert "per record" in mechanisms.safepub(frame, "x", epsilon=1.0, delta=1e-4).notes[0]


def test_a_seed_is_for_tests_only() -> None:
    frame = pl.DataFrame({"x": ["a", "b"] * 400})
    with pytest.raises(ArgumentError, match="testing=True"):
        mechanisms.safepub(frame, "x", epsilon=1.0, delta=1e-4, seed=5)
    with pytest.raises(ArgumentError, match="testing=True"):
        mechanisms.dp_synthesize(frame, "x", domains={"x": ["a"]}, epsilon=1.0, seed=0)
    made = mechanisms.safepub(frame, "x", epsilon=1.0, delta=1e-4, seed=5, testing=True).to_dict()
    assert made["repeatable"] == "seed"
    assert any("not for publication" in note for note in made["notes"])
    assert "seed" not in made["settings"]


def test_the_sample_cannot_be_repeated_without_a_seed() -> None:
    frame = pl.DataFrame({"x": ["a", "b"] * 400})
    options: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-4}
    assert mechanisms.safepub(frame, "x", **options).origin.tolist() != mechanisms.safepub(frame, "x", **options).origin.tolist()
    made = [
        mechanisms.safepub(some, "x", seed=5, testing=True, **options)
        for some in (frame, pd.DataFrame({"x": ["a", "b"] * 400}), frame.to_arrow())
    ]
    assert made[0].origin.tolist() == made[1].origin.tolist() == made[2].origin.tolist()


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"epsilon": 0}, ArgumentError, "epsilon"),
        ({"delta": 0}, ArgumentError, "delta"),
        ({"sampling": 0.9}, ArgumentError, "sampling"),
        ({"generalise": {"y": {"a": "z"}}}, ArgumentError, "not among"),
        ({"generalise": {"x": {"a": "z"}}}, PartitionError, "no block"),
        ({"delta": 1e-9, "epsilon": 0.001, "sampling": 0.00099}, EmptyDataError, "generalise more"),
    ],
)
def test_safepub_refuses_bad_input(options: dict[str, Any], error: type[Exception], says: str) -> None:
    frame = pl.DataFrame({"x": ["a", "b"] * 50, "y": range(100)})
    with pytest.raises(error, match=says):
        mechanisms.safepub(frame, "x", **{"epsilon": 1.0, "delta": 1e-5, "seed": 1, "testing": True, **options})


def averages(values: np.ndarray[Any, Any], k: int) -> np.ndarray[Any, Any]:
    """The averages that noise is added to, from the definition."""
    order = sorted(range(len(values)), key=lambda at: (values[at].sum(), *values[at]))
    groups = len(values) // k
    cuts = [order[at * k : (at + 1) * k if at < groups - 1 else None] for at in range(groups)]
    return np.array([values[cut].mean(axis=0) for cut in cuts])


@given(st.integers(1, 3), st.integers(1, 5), st.integers(5, 25), st.integers(0, 1000))
def test_one_record_changes_averages_by_no_more_than_the_sensitivity(attributes: int, k: int, n: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    values = random.integers(0, 5, (n, attributes)) / 4
    other = values.copy()
    other[random.integers(n)] = random.integers(0, 5, attributes) / 4
    change = np.abs(averages(values, k) - averages(other, k)).sum()
    assert change <= (1 / k if attributes == 1 else attributes * (n // k) / k) + 1e-12


def test_noise_is_of_the_scale_of_one_over_k() -> None:
    frame = pl.DataFrame({"x": np.linspace(400, 600, 9000)})
    made = mechanisms.dp_microaggregate(frame, "x", bounds={"x": (0, 1000)}, k=3, epsilon=20.0)
    assert made.figures["groups"] == 3000
    assert made.figures["scale"] == pytest.approx(1 / 60, rel=1e-5)
    noise = made.data["x"].to_numpy()[::3] - frame["x"].to_numpy().reshape(-1, 3).mean(axis=1)
    assert stats.kstest(noise, stats.laplace(scale=1000 / 60).cdf).pvalue > ALPHA
    assert made.origin.tolist() == list(range(9000))


def test_noise_hides_all_records_of_a_person() -> None:
    frame = pl.DataFrame({"x": np.linspace(400, 600, 9000), "who": [at // 3 for at in range(9000)]})
    options: dict[str, Any] = {"bounds": {"x": (0, 1000)}, "k": 3, "epsilon": 20.0}
    made = mechanisms.dp_microaggregate(frame, "x", person="who", contribution=2, **options)
    assert made.records.records == 6000
    assert made.figures["scale"] == pytest.approx(2 / 60, rel=1e-5)
    assert made.settings["protects"] == "person"


def test_several_attributes_are_grouped_together() -> None:
    random = np.random.default_rng(2)
    frame = pl.DataFrame({"x": random.uniform(0, 1, 1000), "y": random.uniform(0, 10, 1000), "z": range(1000)})
    made = mechanisms.dp_microaggregate(frame, ["x", "y"], bounds={"x": (0, 1), "y": (0, 10)}, k=300, epsilon=90.0)
    assert made.data.columns == ["x", "y"]
    assert made.figures["sensitivity"] == pytest.approx(2 * 3 / 300)
    scaled = frame.select("x", pl.col("y") / 10).to_numpy()
    expected = averages(scaled, 300)[[0] * 300 + [1] * 300 + [2] * 400]
    assert np.abs(made.data.select("x", pl.col("y") / 10).to_numpy() - expected).max() < 0.02
    assert made.data["x"].value_counts()["count"].sort().to_list() == [300, 300, 400]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"k": 0}, "k is 0"),
        ({"k": 11}, "only 10 records"),
        ({"epsilon": -1}, "epsilon"),
        ({"bounds": {}}, "not declared"),
        ({"bounds": {"x": (3, 3)}}, "lower one first"),
        ({"bounds": {"x": ("a", "b")}}, "what is under 'x', entry 1 must be a number"),
        ({"nulls": "keep"}, "no meaning"),
        ({"attributes": "c", "bounds": {"c": (0, 1)}}, "needs numbers"),
    ],
)
def test_bad_input_is_refused(options: dict[str, Any], says: str) -> None:
    frame = pl.DataFrame({"x": range(10), "c": list("abcdefghij")})
    with pytest.raises(ArgumentError, match=says):
        mechanisms.dp_microaggregate(frame, **{"attributes": "x", "bounds": {"x": (0, 9)}, "k": 2, "epsilon": 1.0, **options})


@pytest.mark.parametrize("epsilon", [10**300, -(10**300), math.nan, 0], ids=["huge", "minus huge", "NaN", "zero"])
def test_a_budget_that_is_none_is_refused_before_it_is_reckoned_with(epsilon: Any) -> None:
    with pytest.raises(ArgumentError, match=r"epsilon is .*; it must be .*above"):
        mechanisms.safepub_delta(2, 0.5, epsilon)


def test_a_share_may_be_a_fraction() -> None:
    assert mechanisms.safepub_delta(5, Fraction(1, 3), 10.0) == mechanisms.safepub_delta(5, 1 / 3, 10.0)
