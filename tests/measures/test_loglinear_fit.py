"""The diagnostics of a log-linear model against the formula written out, their distribution, and how often the interval holds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import poisson

from unveil.measures.interval import Interval
from unveil.measures.loglinear import CellWeights, LoglinearUniqueness, _expected_match, loglinear_uniqueness
from unveil.measures.loglinear_fit import Expected, _derivatives_of_match, fit_of
from unveil.measures.loglinear_tables import products

PEOPLE, SIZES = 20_000, (20, 15, 6, 4)


def population(random: np.random.Generator, dependence: float) -> np.ndarray:
    """Draw a table of people from skewed margins, with interactions between all pairs of columns."""
    joint = np.ones(())
    for size in SIZES:
        joint = np.multiply.outer(joint, random.dirichlet(np.ones(size)))
    for one in range(len(SIZES)):
        for other in range(one):
            shape = [SIZES[axis] if axis in (one, other) else 1 for axis in range(len(SIZES))]
            joint = joint * np.exp(dependence * random.normal(size=shape))
    return random.multinomial(PEOPLE, (joint / joint.sum()).ravel()).reshape(SIZES)


def fitted(random: np.random.Generator, people: np.ndarray, fraction: float) -> tuple[LoglinearUniqueness, int, float]:
    """Fit independence to a sample; return the result, the true tau 1, and the true number of correct matches."""
    drawn = random.multivariate_hypergeometric(people.ravel(), round(fraction * PEOPLE), method="marginals")
    cells = np.flatnonzero(drawn)
    codes = np.unravel_index(cells, SIZES)
    result = loglinear_uniqueness(codes, SIZES, drawn[cells], sampling_fraction=fraction)
    whole = people.ravel()[cells]
    return result, int(((drawn[cells] == 1) & (whole == 1)).sum()), float((drawn[cells] / whole).sum())


@pytest.mark.parametrize(("dependence", "fraction"), [(0.0, 0.02), (0.0, 0.3), (0.3, 0.1), (0.3, 0.3)])
def test_the_interval_of_population_uniques_holds_the_truth(dependence: float, fraction: float) -> None:
    """In 95 % of the samples and more; if it were 80 %, 54 of 60 or more would hold once in 30 runs."""
    random = np.random.default_rng(2)
    held = []
    for _ in range(60):
        result, truth, _ = fitted(random, population(random, dependence), fraction)
        if result.interval is not None:
            held.append(result.interval.low <= truth <= result.interval.high)
    assert len(held) >= 45
    assert np.mean(held) >= 0.9


def test_if_the_model_holds_the_diagnostic_is_standard_normal_and_otherwise_far_above() -> None:
    random = np.random.default_rng(1)
    right = [fitted(random, population(random, 0.0), 0.1)[0].fit for _ in range(60)]
    wrong = [fitted(random, population(random, 0.7), 0.1)[0] for _ in range(5)]
    z = np.array([fit.uniques_z for fit in right if fit is not None])
    assert abs(z.mean()) < 0.5
    assert 0.7 < z.std() < 1.4
    assert np.mean(np.abs(z) < 1.96) >= 0.85
    assert all(result.fit is not None and result.fit.verdict == "overstates" for result in wrong)
    assert any("larger than the estimate" in (result.interval_reason or "") for result in wrong)


def test_a_saturated_model_follows_the_sample_and_is_found_out() -> None:
    random = np.random.default_rng(3)
    table = random.poisson(0.4, (60, 50))
    at = np.nonzero(table)
    result = loglinear_uniqueness(at, table.shape, table[at], sampling_fraction=0.1, order=2)
    assert result.fit is not None
    assert result.fit.verdict == "understates"
    assert result.fit.uniques_error < 0 < result.sample_uniques
    assert result.interval is None
    assert "follows the sample" in (result.interval_reason or "")


def test_the_expected_matches_of_a_right_model_are_those_of_the_population() -> None:
    random = np.random.default_rng(5)
    ratios = []
    for _ in range(10):
        result, _, truth = fitted(random, population(random, 0.0), 0.1)
        ratios.append(result.expected / truth)
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.02)


@given(st.integers(1, 250), st.floats(0.0, 250.0))
def test_the_expected_share_of_a_match_is_a_sum_over_the_poisson_distribution(f: int, unsampled: float) -> None:
    more = np.arange(2_000)
    expected = float((poisson.pmf(more, unsampled) / (f + more)).sum())
    assert _expected_match(np.array([f]), np.array([unsampled]))[0] == pytest.approx(expected, rel=2e-4)


@pytest.mark.parametrize("rates", ["one", "own"])
def test_the_error_is_the_formula_written_out_over_every_cell(rates: str) -> None:
    random = np.random.default_rng(0)
    pi, mu = np.full(40, 0.2) if rates == "one" else random.uniform(0.05, 0.6, 40), 0.01 + random.gamma(0.5, 1.0, 40)
    f = random.poisson(mu)
    error = matches = 0.0
    for expected, seen, rate in zip(mu.tolist(), f.tolist(), pi.tolist(), strict=True):
        people = expected / rate
        for measure in (1, 2):
            first, second = _numeric(measure, people, rate)
            weight = people * math.exp(-expected)
            term = weight * (-first * (seen - expected) + second * ((seen - expected) ** 2 - seen) / (2 * rate))
            error, matches = (error + term, matches) if measure == 1 else (error, matches + term)
    some = f > 0
    taken_for_empty = np.where(some, 0.3, pi)  # what a cell that holds records would be if it were empty counts for nothing
    fit = fit_of(
        [Expected(mu[:7], taken_for_empty[:7]), Expected(mu[7:], taken_for_empty[7:])],
        Expected(mu[some], taken_for_empty[some]),
        Expected(mu[some], pi[some]),
        f[some],
    )
    assert fit.uniques_error == pytest.approx(error, rel=1e-5)
    assert fit.matches_error == pytest.approx(matches, rel=1e-5)
    assert set(fit.to_dict()) == {"uniques_error", "uniques_z", "matches_error", "matches_z", "verdict"}


def test_a_model_by_weights_is_checked_at_the_rate_of_every_cell() -> None:
    """Of a cell that holds records that of its weights; of an empty one that of the two models, of the weights and of the counts."""
    random = np.random.default_rng(6)
    table = random.poisson(0.7, (5, 4))
    at = np.nonzero(table)
    sums = table[at] * random.uniform(8.0, 20.0, len(at[0]))
    people = np.zeros(table.shape)
    people[at] = sums
    result = loglinear_uniqueness(at, table.shape, table[at], sampling_fraction=0.1, weights=CellWeights(sums, "pml"))
    by_weights = np.outer(people.sum(axis=1), people.sum(axis=0)) / people.sum()
    by_counts = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    error = 0.0
    for cell in np.ndindex(table.shape):
        rate = float(table[cell] / people[cell] if table[cell] else by_counts[cell] / by_weights[cell])
        expected = by_weights[cell] * rate
        first, second = _numeric(1, by_weights[cell], rate)
        off = table[cell] - expected
        error += by_weights[cell] * math.exp(-expected) * (-first * off + second * (off**2 - table[cell]) / (2 * rate))
    assert result.fit is not None
    assert result.fit.uniques_error == pytest.approx(error, rel=1e-4)


def sampled_by_weights(random: np.random.Generator, people: np.ndarray, design: str) -> tuple[LoglinearUniqueness, int]:
    """Fit independence by pseudo likelihood to a sample at two rates, by a column of the key or by something else."""
    flat = np.repeat(np.arange(people.size), people.ravel())
    follows = np.unravel_index(flat, people.shape)[0] % 2 if design == "key" else random.integers(0, 2, len(flat))
    rate = np.where(follows == 1, 0.04, 0.16)
    drawn = random.random(len(flat)) < rate
    cells, place = np.unique(flat[drawn], return_inverse=True)
    n, sums = np.bincount(place), np.bincount(place, weights=1.0 / rate[drawn])
    result = loglinear_uniqueness(
        np.unravel_index(cells, people.shape), people.shape, n, sampling_fraction=n.sum() / sums.sum(),
        weights=CellWeights(sums.astype(np.float64), "pml"),
    )  # fmt: skip
    return result, int(((n == 1) & (people.ravel()[cells] == 1)).sum())


@pytest.mark.parametrize("design", ["key", "other"])
@pytest.mark.parametrize("dependence", [0.0, 0.3])
def test_the_interval_by_pseudo_likelihood_holds_the_truth(design: str, dependence: float) -> None:
    random = np.random.default_rng(8)
    held = []
    for _ in range(25):
        result, truth = sampled_by_weights(random, population(random, dependence), design)
        if result.interval is not None:
            held.append(result.interval.low <= truth <= result.interval.high)
    assert len(held) >= 12
    assert np.mean(held) >= 0.9


def test_unequal_weights_have_an_interval_by_pseudo_likelihood_only() -> None:
    codes, n = ([0, 0, 1, 2], [0, 1, 1, 2]), np.array([1, 6, 3, 1])
    sums = np.array([2.0, 60.0, 30.0, 9.0])
    found = {
        use: loglinear_uniqueness(codes, [3, 3], n, sampling_fraction=0.1, weights=CellWeights(sums, use))
        for use in ("cells", "pml", "ce")
    }
    assert found["cells"].fit is not None
    assert found["cells"].interval is None
    assert "different numbers of people" in (found["cells"].interval_reason or "")
    assert found["ce"].fit is None
    assert found["ce"].interval is None
    assert "rate of the whole" in (found["ce"].fit_reason or "")
    assert found["pml"].fit is not None
    assert found["pml"].fit_reason is None
    more = {"weights": CellWeights(sums, "pml"), "sampling_fraction": 0.1}
    paired = loglinear_uniqueness(codes, [3, 3], n, terms=[[0, 1]], **more)  # type: ignore[arg-type]
    assert paired.fit is None
    assert "follows those of single records" in (paired.fit_reason or "")
    most = loglinear_uniqueness(codes, [3, 3], n, weights=CellWeights(sums, "pml"), sampling_fraction=0.2)
    assert most.interval is None
    assert "more than 15 %" in (most.interval_reason or "")


def test_equal_weights_have_the_check_and_the_interval_of_one_rate() -> None:
    random = np.random.default_rng(5)
    drawn = random.poisson(0.6 * np.multiply.outer(random.dirichlet(np.ones(60)), random.dirichlet(np.ones(50))) * 3000)
    at = np.nonzero(drawn)
    plain = loglinear_uniqueness(at, drawn.shape, drawn[at], sampling_fraction=0.1)
    assert plain.fit is not None
    for use in ("cells", "pml", "ce"):
        weights = CellWeights(10.0 * drawn[at], use)  # type: ignore[arg-type]
        found = loglinear_uniqueness(at, drawn.shape, drawn[at], sampling_fraction=0.1, weights=weights)
        assert found.fit is not None
        assert found.fit.uniques_error == pytest.approx(plain.fit.uniques_error)
        assert found.fit.spread == pytest.approx(plain.fit.spread)
        assert (found.interval is None) == (plain.interval is None)
        assert plain.interval is not None
        assert found.interval is not None
        assert found.interval.high == pytest.approx(plain.interval.high)


def _numeric(measure: int, people: float, pi: float) -> tuple[float, float]:
    """Return the derivatives of the measure by differences."""
    step = 1e-3

    def h(x: float) -> float:
        return math.exp(-(1 - pi) * x) if measure == 1 else -math.expm1(-(1 - pi) * x) / ((1 - pi) * x)

    low, middle, high = h(people - step), h(people), h(people + step)
    return (high - low) / (2 * step), (high - 2 * middle + low) / step**2


def test_the_derivatives_have_no_step_where_the_series_ends() -> None:
    below, above = _derivatives_of_match(np.array([0.02 - 1e-12])), _derivatives_of_match(np.array([0.02 + 1e-12]))
    assert below[0][0] == pytest.approx(above[0][0], rel=1e-8)
    assert below[1][0] == pytest.approx(above[1][0], rel=1e-7)


def test_all_cells_of_independence_come_in_pieces_and_add_up() -> None:
    shares = [np.array([0.25, 0.75]), np.array([0.1, 0.2, 0.7]), np.full(5, 0.2)]
    found = np.sort(np.concatenate(list(products(10.0, shares))))
    expected = 10.0 * np.multiply.outer(np.multiply.outer(shares[0], shares[1]), shares[2]).ravel()
    assert found == pytest.approx(np.sort(expected))


def test_a_whole_population_has_no_error_and_no_width() -> None:
    result = loglinear_uniqueness([[0, 0, 1], [0, 1, 1]], [2, 2], [1, 6, 3], sampling_fraction=1.0)
    assert result.fit is not None
    assert result.fit.verdict == "fits"
    assert result.interval == Interval(1.0, 1.0, 0.95)


def test_a_table_too_large_to_check_says_so_and_has_no_interval() -> None:
    result = loglinear_uniqueness([[0], [0]], [3_000, 2_000], [1], sampling_fraction=0.5)
    answer = result.to_dict()
    assert answer["fit"] is answer["interval"] is None
    assert "6,000,000 cells" in answer["fit_reason"]
    assert answer["interval_reason"] == "the fit of the model was not checked"


def test_a_record_that_stands_for_few_people_is_more_at_risk() -> None:
    codes, n = ([0, 0, 1], [0, 1, 1]), np.array([1, 6, 3])
    equal = loglinear_uniqueness(codes, [2, 2], n, sampling_fraction=0.1)
    same = loglinear_uniqueness(codes, [2, 2], n, sampling_fraction=0.1, weights=CellWeights(10.0 * n))
    few = loglinear_uniqueness(codes, [2, 2], n, sampling_fraction=0.1, weights=CellWeights(np.array([2.0, 60.0, 30.0])))
    assert same.uniqueness == pytest.approx(equal.uniqueness)
    assert same.expected == pytest.approx(equal.expected)
    assert few.uniqueness[0] == pytest.approx(math.exp(-0.7 * (2 - 1)))  # lambda is 10 * 0.7 * 0.1
    assert few.expected > equal.expected
