"""Staircase noise, against its distribution written out."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import polars as pl
import pytest

from unveil import mechanisms
from unveil.mechanisms.differential_privacy.staircase import expected_error, stair_width, staircase, staircase_error


def stairs(epsilon: float, sensitivity: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    reach = sensitivity * math.ceil(60 / epsilon)
    n = np.arange(-reach, reach + 1)
    k, j = np.abs(n) // sensitivity, np.abs(n) % sensitivity
    p = np.exp(-epsilon * (k + (j >= width)))
    return n, p / p.sum()


GRID = [(0.1, 3), (0.5, 7), (1.0, 1), (1.0, 5), (3.0, 10), (5.0, 2)]


@pytest.mark.parametrize(("epsilon", "sensitivity"), GRID)
def test_no_shift_within_the_sensitivity_changes_a_probability_by_more_than_epsilon(epsilon: float, sensitivity: int) -> None:
    _, p = stairs(epsilon, sensitivity, stair_width(epsilon, sensitivity))
    for shift in range(1, sensitivity + 1):
        ratio = p[shift:] / p[:-shift]
        assert max(ratio.max(), (1 / ratio).max()) <= math.exp(epsilon) * (1 + 1e-9)


@pytest.mark.parametrize(("epsilon", "sensitivity"), GRID)
def test_the_width_is_the_best_and_the_error_is_the_expected_one(epsilon: float, sensitivity: int) -> None:
    errors = {}
    for width in range(1, sensitivity + 1):
        n, p = stairs(epsilon, sensitivity, width)
        errors[width] = float((np.abs(n) * p).sum())
    assert errors[stair_width(epsilon, sensitivity)] == pytest.approx(min(errors.values()))
    assert staircase_error(epsilon, sensitivity) == pytest.approx(min(errors.values()), rel=1e-6)
    n = np.arange(-4000, 4001)
    p = np.exp(-epsilon * np.abs(n) / sensitivity)
    geometric = float((np.abs(n) * p / p.sum()).sum())
    assert expected_error("geometric", sensitivity / epsilon) == pytest.approx(geometric, rel=1e-6)
    assert min(errors.values()) <= geometric * (1 + 1e-9)


@pytest.mark.parametrize(("epsilon", "sensitivity"), [(1.0, 3), (2.0, 1), (3.0, 5)])
def test_draws_have_that_distribution(epsilon: float, sensitivity: int) -> None:
    draws = 20_000
    found = Counter(staircase(0, epsilon, sensitivity) for _ in range(draws))
    n, p = stairs(epsilon, sensitivity, stair_width(epsilon, sensitivity))
    for at, share in zip(n.tolist(), p.tolist(), strict=True):
        if share > 1e-3:
            assert abs(found[at] - draws * share) < 7 * math.sqrt(draws * share)


def test_expected_errors_of_the_other_noises() -> None:
    assert expected_error("laplace", 3.0) == 3.0
    at = np.linspace(-60, 60, 2_000_001)
    density = np.exp(-(at**2) / (2 * 9.0)) / math.sqrt(2 * math.pi * 9.0)
    assert expected_error("gaussian", 3.0) == pytest.approx(float((np.abs(at) * density).sum() * (at[1] - at[0])), rel=1e-6)
    assert expected_error("geometric", 1e-6) == 0.0


def test_counts_and_sums_choose_what_errs_least_and_say_so() -> None:
    frame = pl.DataFrame({"x": [1, 2, 3] * 10, "f": [0.5, 1.0, 2.0] * 10})
    one = mechanisms.dp_count(frame, epsilon=1.0, mechanism="auto")
    assert one.spent[0].mechanism == "geometric"
    assert one.error == pytest.approx(expected_error("geometric", 1.0))
    several = mechanisms.dp_count(frame, epsilon=3.0, contribution=4, mechanism="auto")
    assert several.spent[0].mechanism == "staircase"
    assert several.error == pytest.approx(staircase_error(3.0, 4))
    assert staircase_error(3.0, 4) < expected_error("geometric", 4 / 3.0)
    assert any("Staircase noise, with an expected error of" in note for note in several.notes)
    assert several.epsilon == 3.0
    whole = mechanisms.dp_sum(frame, "x", bounds=(0, 3), epsilon=2.0, mechanism="auto")
    assert (whole.spent[0].mechanism, whole.spent[0].sensitivity) == ("staircase", 3.0)
    assert isinstance(whole.value, int)
    assert mechanisms.dp_sum(frame, "f", bounds=(0, 3), epsilon=2.0, mechanism="auto").spent[0].mechanism == "laplace"
    assert mechanisms.dp_sum(frame, "x", bounds=(0, 3), epsilon=50.0, mechanism="staircase").value == pytest.approx(60, abs=3)
    assert mechanisms.dp_mean(frame, "x", bounds=(0, 3), epsilon=2.0).to_dict()["error"] is None


def test_the_choice_does_not_depend_on_values() -> None:
    """A column of decimal numbers is one, though all its values happen to be whole."""
    frame = pl.DataFrame({"x": [1.0, 2.0]})
    assert mechanisms.dp_sum(frame, "x", bounds=(0, 3), epsilon=2.0, mechanism="auto").spent[0].mechanism == "laplace"
