"""The interval of a Discrimination Rate: how often it holds the truth, its parts against oracles, and what it refuses."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from benchmarks.coverage import DEPENDENCE, Shape, interval_of, population_of
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

import unveil
from unveil.measures.entropy import expected_information_bits
from unveil.measures.interval import (
    Interval,
    _Bias,
    _missing_bits,
    _standard_error,
    rate_interval,
)
from unveil.study import count

EQUAL, SKEWED = np.full(4, 0.25), np.array([0.85, 0.15])


def share_held(records: int, key: np.ndarray, shares: np.ndarray, shape: Shape, dependence: str) -> float:
    """Return how many of 120 samples, of ten populations, have an interval that holds the true rate."""
    random = np.random.default_rng(3)
    held = []
    for _ in range(10):
        population = population_of(shape, DEPENDENCE[dependence], key / key.sum(), shares, random)
        for _ in range(12):
            interval = interval_of(population.sample(random, records))
            assert interval is not None
            held.append(interval[0] - 1e-9 <= population.rate <= interval[1] + 1e-9)
    return float(np.mean(held))


@pytest.mark.parametrize(
    ("records", "key", "shares", "shape", "dependence"),
    [
        (300, np.ones(100), EQUAL, "even", "no"),
        (300, np.ones(100), EQUAL, "even", "strong"),
        (300, np.ones(100), EQUAL, "uneven", "strong"),
        (300, 1.0 / np.arange(1.0, 61.0), SKEWED, "random", "weak"),
        (1_000, np.ones(20), SKEWED, "pairs", "strong"),
    ],
)
def test_it_holds_the_rate_of_the_population_in_nine_of_ten_samples(
    records: int, key: np.ndarray, shares: np.ndarray, shape: Shape, dependence: str
) -> None:
    """True shares are 95 % and more; if one were 80 %, 120 samples would show at least 90 % once in 400 runs."""
    assert share_held(records, key, shares, shape, dependence) >= 0.9


def test_a_key_that_is_noise_has_an_interval_that_begins_at_zero_and_ends_far_below_the_measured_rate() -> None:
    random = np.random.default_rng(0)
    noise = pl.DataFrame({"y": random.integers(0, 100, 300), "x": random.integers(0, 2, 300)})
    result = unveil.discrimination_rate(noise, "y", "x", interval=True)
    assert result.value > 0.2
    assert result.interval is not None
    assert result.interval.low == 0.0
    assert result.interval.high < 0.15


def test_with_many_records_it_is_the_rate_and_two_standard_errors() -> None:
    result = unveil.discrimination_rate("adult", "education", "income-per-year", interval=True)
    counts = count("adult", ["education", "income-per-year"])
    keys, secrets = counts.classes(["education"]), counts.classes(["income-per-year"])
    error = _standard_error(keys, secrets, counts.n, result.value)
    assert result.interval is not None
    assert result.interval.low == pytest.approx(result.value - 1.96 * error, abs=1e-3)
    assert result.interval.high == pytest.approx(result.value + 1.96 * error, abs=1e-3)
    assert result.to_dict()["interval"] == {"low": result.interval.low, "high": result.interval.high, "confidence": 0.95}


def test_more_confidence_makes_it_wider() -> None:
    found = [
        unveil.discrimination_rate("adult", "age", "sex", interval=True, confidence=each).interval for each in (0.5, 0.9, 0.99)
    ]
    assert all(isinstance(each, Interval) for each in found)
    low, high = [each.low for each in found if each], [each.high for each in found if each]
    assert low == sorted(low, reverse=True)
    assert high == sorted(high)
    assert len(set(low)) == len(set(high)) == 3


def test_a_key_that_determines_the_value_in_the_sample_may_not_do_so_in_the_population() -> None:
    pure = pl.DataFrame({"y": [1, 2] * 60, "x": ["a", "b"] * 60})
    result = unveil.discrimination_rate(pure, "y", "x", interval=True)
    assert result.value == 1.0
    assert result.interval is not None
    assert result.interval.high == 1.0
    assert 0.7 < result.interval.low < 0.97


def test_a_constant_key_tells_nothing_in_any_sample() -> None:
    result = unveil.discrimination_rate(pl.DataFrame({"y": [1] * 60, "x": ["a", "b"] * 30}), "y", "x", interval=True)
    assert result.interval == Interval(0.0, 0.0, 0.95)


@pytest.mark.parametrize(
    ("key_values", "values", "reason"),
    [(50, 2, "100 records are too few for 50 classes of the key"), (2, 10, "100 records are too few for 10 sensitive values")],
)
def test_too_few_records_are_a_reason_for_none(key_values: int, values: int, reason: str) -> None:
    at = np.arange(100)
    result = unveil.discrimination_rate(pl.DataFrame({"y": at % key_values, "x": at % values}), "y", "x", interval=True)
    answer = result.to_dict()
    assert answer["interval"] is result.interval is None
    assert answer["interval_reason"] == result.interval_reason
    assert reason in answer["interval_reason"]


def test_weights_are_a_reason_for_none_and_the_person_is_told() -> None:
    frame = pl.DataFrame({"y": [1, 2] * 60, "x": ["a", "b", "b"] * 40, "w": [1.0, 2.0, 3.0, 4.0] * 30})
    result = unveil.discrimination_rate(frame, "y", "x", weights="w", interval=True)
    assert result.interval is None
    assert "not a simple random sample" in (result.interval_reason or "")
    assert any(note.startswith("No interval: with weights") for note in result.view().notes)
    assert unveil.discrimination_rate(frame, "y", "x", weights="w").interval_reason is None


@given(st.lists(st.integers(1, 40), min_size=1, max_size=6), st.floats(0.001, 0.999))
def test_what_the_plug_in_term_misses_is_its_expectation_under_the_binomial_distribution(sizes: list[int], p: float) -> None:
    missed = 0.0
    for size in sizes:
        k = np.arange(1, size + 1)
        seen = float(binom.pmf(k, size, p) @ (-(k / size) * np.log2(k / size)))
        missed += size * (-p * np.log2(p) - seen)
    assert _missing_bits(np.array(sizes), np.array([p]))[0] == pytest.approx(missed / sum(sizes), abs=1e-10)


def test_large_classes_miss_what_miller_and_madow_say() -> None:
    one = _missing_bits(np.array([199]), np.array([0.3]))[0]
    other = _missing_bits(np.array([200]), np.array([0.3]))[0]
    assert other == pytest.approx(0.7 / (2 * 200 * np.log(2)))
    assert one == pytest.approx(other, rel=0.02)


def test_the_standard_error_is_that_of_the_smoothed_table_written_out() -> None:
    random = np.random.default_rng(1)
    frame = pl.DataFrame({"y": random.integers(0, 9, 200), "x": random.integers(0, 5, 200) ** 2 // 4})
    counts = count(frame, ["y", "x"])
    keys, secrets = counts.classes(["y"]), counts.classes(["x"])
    table = np.zeros((keys.number, secrets.number))
    table[keys.of_cell, secrets.of_cell] = counts.n
    share = table.sum(axis=0) / 200
    p = (table + share) / (table.sum(axis=1) + 1)[:, None]
    joint = table.sum(axis=1)[:, None] / 200 * p
    moved = np.log2(p) - (1 - 0.3) * np.log2(share)
    variance = (joint * moved**2).sum() - (joint * moved).sum() ** 2
    expected = np.sqrt(variance / 200) / -(share @ np.log2(share))
    assert _standard_error(keys, secrets, counts.n, 0.3) == pytest.approx(expected, rel=1e-10)


def test_the_bias_without_dependence_is_near_the_one_of_random_relabelling_and_is_gone_at_one() -> None:
    sizes, values = np.array([3] * 50 + [10] * 20), np.array([200, 100, 50])
    shares = values / 350
    entropy = float(-(shares @ np.log2(shares)))
    expected = expected_information_bits(sizes, values) / entropy
    ends = np.array([0.0, 1.0])
    bias = _Bias(ends, sizes, entropy)
    for curve in (
        bias.even(shares),
        bias.uneven(shares, smallest=True),
        bias.uneven(shares, smallest=False),
        bias.few_values(shares),
    ):
        assert curve[0] == pytest.approx(expected, rel=0.02)
        assert curve[1] == pytest.approx(0.0, abs=1e-12)


def test_the_smallest_bias_is_nowhere_above_the_largest() -> None:
    theta, sizes, shares = np.linspace(0, 1, 50), np.array([2] * 60 + [40] * 5), np.array([0.7, 0.1, 0.1, 0.1])
    entropy = float(-(shares @ np.log2(shares)))
    bias = _Bias(theta, sizes, entropy)
    most = np.maximum(bias.even(shares), bias.uneven(shares, smallest=False))
    assert bool(np.all(bias.uneven(shares, smallest=True) <= most + 1e-12))
    assert bool(np.all(bias.few_values(shares) <= most + 1e-12))


def test_many_sizes_and_many_values_are_put_into_groups_without_moving_the_interval() -> None:
    """200 different class sizes and 60 values of different shares against the same without groups."""
    random = np.random.default_rng(4)
    key = np.repeat(np.arange(200), np.arange(1, 201))
    frame = pl.DataFrame({"y": key, "x": (random.pareto(1.0, len(key)) * 3).astype(np.int64).clip(0, 59)})
    counts = count(frame, ["y", "x"])
    sides = counts.classes(["y"]), counts.classes(["x"])
    rough = rate_interval(*sides, counts.n, rate=0.3, confidence=0.95)
    fine = rate_interval(*sides, counts.n, rate=0.3, confidence=0.95, most_groups=10_000)
    assert rough.low != fine.low
    assert rough.low == pytest.approx(fine.low, abs=0.003)
    assert rough.high == pytest.approx(fine.high, abs=0.003)
