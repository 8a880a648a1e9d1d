from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from unveil.errors import ArgumentError
from unveil.measures.population import PopulationUniqueness, population_uniqueness
from unveil.measures.uniqueness_models import UniquesEstimate, _harmonic_rise, _log_gamma_rise, _snb_parameters, _sum_of_ratios

# The class sizes of the Adult data set as ARX ships it (30,162 records), all nine columns taken as key: size, classes.
ADULT = {
    1: 15512, 2: 2098, 3: 754, 4: 375, 5: 189, 6: 155, 7: 97, 8: 73, 9: 39, 10: 37, 11: 29, 12: 18, 13: 23, 14: 14, 15: 15,
    16: 9, 17: 11, 18: 10, 19: 10, 20: 5, 21: 3, 22: 4, 23: 3, 24: 2, 25: 1, 26: 3, 27: 5, 29: 1, 30: 2, 32: 1, 34: 1, 35: 1,
    36: 1, 45: 1,
}  # fmt: skip

SKEWED = {1: 60, 2: 20, 3: 9, 5: 4, 8: 2, 40: 1}


def sizes_of(histogram: dict[int, int]) -> NDArray[np.int64]:
    return np.repeat(np.array(list(histogram)), np.array(list(histogram.values())))


def estimates(result: PopulationUniqueness) -> list[UniquesEstimate]:
    return [result.pitman, result.zayatz, result.snb, result.dankar]


def value_of(estimate: UniquesEstimate) -> float:
    assert estimate.value is not None, estimate.reason
    return estimate.value


# --- published figures


@pytest.mark.parametrize(("fraction", "share"), [(0.1, 0.3207402393466189), (0.2, 0.3577099234829125)])
def test_zayatz_gives_the_figures_of_arx_for_adult(fraction: float, share: float) -> None:
    # ARX, TestRiskMetrics.testDecisionRule2
    result = population_uniqueness(sizes_of(ADULT), sampling_fraction=fraction)
    assert result.zayatz.share == pytest.approx(share, rel=1e-12)


@pytest.mark.parametrize(("fraction", "share"), [(0.1, 0.27684993883653597), (0.01, 0.1446083531167384)])
def test_pitman_gives_the_figures_of_arx_for_adult_by_its_approximation(fraction: float, share: float) -> None:
    # ARX, TestRiskMetrics.testDecisionRule2; ARX uses the approximation for large N, which is a little higher
    result = population_uniqueness(sizes_of(ADULT), sampling_fraction=fraction)
    theta, alpha = result.pitman.parameters["theta"], result.pitman.parameters["alpha"]
    approximate = math.exp(math.lgamma(theta + 1) - math.lgamma(theta + alpha)) * result.population ** (alpha - 1)
    assert approximate == pytest.approx(share, rel=1e-7)
    assert result.pitman.share == pytest.approx(share, rel=0.004)
    assert value_of(result.pitman) < approximate * result.population


def test_the_whole_population_has_its_own_uniques() -> None:
    # ARX, TestRiskMetrics.testDecisionRule2, with a sampling fraction of one
    result = population_uniqueness(sizes_of(ADULT), sampling_fraction=1.0)
    assert [value_of(estimate) for estimate in estimates(result)] == [15512.0] * 4
    assert result.dankar.share == pytest.approx(0.5142895033485844, rel=1e-12)
    assert result.dankar.sample_share == result.dankar.share
    assert population_uniqueness(sizes_of(ADULT), population=30162) == result


# --- Zayatz


def zayatz_by_counting(sizes: list[int], population: int) -> Fraction:
    n, u = sum(sizes), len(sizes)

    def one_drawn(size: int) -> Fraction:
        return Fraction(size * math.comb(population - size, n - 1), math.comb(population, n))

    singles = sizes.count(1)
    chance = Fraction(singles, u) * one_drawn(1) / sum((Fraction(1, u) * one_drawn(size) for size in sizes), Fraction(0))
    return singles * chance * population / n


@pytest.mark.parametrize("population", [13, 14, 20, 100, 5000])
@pytest.mark.parametrize("sizes", [[1, 1, 2, 3, 5], [1, 11], [1, 1, 1, 1, 2, 2, 4], [1] * 12])
def test_zayatz_is_bayes_rule_with_hypergeometric_draws(sizes: list[int], population: int) -> None:
    found = population_uniqueness(sizes, population=population).zayatz
    assert value_of(found) == pytest.approx(float(zayatz_by_counting(sizes, population)), rel=1e-12)


def test_zayatz_keeps_its_digits_in_a_large_population() -> None:
    from scipy.stats import hypergeom

    sizes, population = sizes_of(ADULT), 40_000_000
    held, times = np.unique(sizes, return_counts=True)
    chances = hypergeom(population, held, int(sizes.sum())).pmf(1)
    expected = 15512**2 * chances[0] / (times @ chances) * population / sizes.sum()
    assert value_of(population_uniqueness(sizes, population=population).zayatz) == pytest.approx(expected, rel=1e-6)


def test_zayatz_with_a_class_larger_than_what_was_left_out() -> None:
    found = population_uniqueness([1, 5000], population=5010).zayatz
    assert value_of(found) == pytest.approx(5010 / 5001, rel=1e-12)


# --- Pitman


def pitman_log_likelihood(theta: float, alpha: float, sizes: NDArray[np.int64]) -> float:
    total = np.log(theta + alpha * np.arange(1, len(sizes))).sum() - np.log(theta + np.arange(1, sizes.sum())).sum()
    return float(total + sum(np.log(np.arange(1, size) - alpha).sum() for size in sizes.tolist()))


def uniques_by_recursion(theta: float, alpha: float, population: int) -> float:
    """The expected uniques, one record at a time: it opens a class or joins one, a single with chance (1 - alpha)."""
    uniques, classes = 1.0, 1.0
    for n in range(1, population):
        opens = (theta + alpha * classes) / (theta + n)
        uniques += opens - uniques * (1.0 - alpha) / (theta + n)
        classes += opens
    return uniques


@pytest.mark.parametrize("histogram", [SKEWED, {1: 3, 2: 1}, {1: 500, 2: 30, 3: 5, 900: 1}, {1: 5, 7: 40}, {1: 2, 3: 1}])
def test_pitman_parameters_maximise_the_likelihood(histogram: dict[int, int]) -> None:
    from scipy.optimize import minimize

    sizes = sizes_of(histogram)
    fitted = population_uniqueness(sizes, sampling_fraction=0.02).pitman.parameters
    theta, alpha = fitted["theta"], fitted["alpha"]

    def loss(point: NDArray[np.float64]) -> float:
        shape = 1.0 / (1.0 + math.exp(-point[1]))
        return -pitman_log_likelihood(math.exp(point[0]) - shape, shape, sizes)

    best = max(
        -minimize(loss, [start, slope], method="Nelder-Mead", options={"maxiter": 4000, "fatol": 1e-12}).fun
        for start in (0.0, 3.0)
        for slope in (-1.0, 1.0)
    )
    assert pitman_log_likelihood(theta, alpha, sizes) >= best - 1e-8 * abs(best)
    assert 0.0 <= alpha < 1.0
    assert theta > -alpha


def test_pitman_counts_the_uniques_that_its_sampling_formula_expects() -> None:
    result = population_uniqueness(sizes_of(SKEWED), population=4000)
    expected = uniques_by_recursion(result.pitman.parameters["theta"], result.pitman.parameters["alpha"], 4000)
    assert value_of(result.pitman) == pytest.approx(expected, rel=1e-9)


def test_pitman_without_alpha_is_the_formula_of_ewens() -> None:
    sizes = [1] * 5 + [7] * 40
    result = population_uniqueness(sizes, population=40_000)
    theta = result.pitman.parameters["theta"]
    assert result.pitman.parameters["alpha"] == 0.0
    assert sum(theta / (theta + i) for i in range(sum(sizes))) == pytest.approx(len(sizes), rel=1e-10)
    uncut = 40_000 * theta / (40_000 - 1 + theta)
    assert value_of(result.pitman) == pytest.approx(min(uncut, 5 * 40_000 / sum(sizes)), rel=1e-10)


def drawn_by_pitman(theta: float, alpha: float, population: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """The class of each record of a population drawn from Pitman's sampling formula."""
    of_record = np.zeros(population, dtype=np.int64)
    sizes = [1]
    chance, pick = generator.random((population, 2)).tolist(), generator.random(population).tolist()
    for n in range(1, population):
        opens, joins = chance[n]
        if opens * (theta + n) < theta + alpha * len(sizes):
            of_record[n] = len(sizes)
            sizes.append(1)
            continue
        # a record drawn at random names its class in proportion to the size m; (m - alpha) / m of these are kept
        at = int(of_record[int(pick[n] * n)])
        while joins * sizes[at] >= sizes[at] - alpha:
            at = int(of_record[generator.integers(n)])
            joins = generator.random()
        of_record[n] = at
        sizes[at] += 1
    return of_record


@pytest.mark.parametrize(("theta", "alpha"), [(50.0, 0.5), (300.0, 0.25), (5.0, 0.8)])
def test_pitman_recovers_a_population_drawn_from_its_formula(theta: float, alpha: float) -> None:
    generator = np.random.default_rng(20_240)
    alphas, ratios, shown = [], [], []
    for _ in range(10):
        population = drawn_by_pitman(theta, alpha, 30_000, generator)
        truth = np.bincount(population)
        sample = generator.choice(population, size=3_000, replace=False)
        result = population_uniqueness(np.unique(sample, return_counts=True)[1], population=30_000)
        assert result.dankar is result.pitman
        assert result.pitman.sample_value is not None
        alphas.append(result.pitman.parameters["alpha"])
        ratios.append(value_of(result.pitman) / int((truth == 1).sum()))
        shown.append(result.pitman.sample_value / int((truth[sample] == 1).sum()))
    # one draw is off by about a tenth (alpha: by 0.04), the mean of ten by a third of that
    assert np.mean(alphas) == pytest.approx(alpha, abs=0.05)
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.12)
    assert np.mean(shown) == pytest.approx(1.0, abs=0.15)


def test_an_estimate_that_contradicts_the_sample_is_cut() -> None:
    # one unique among ten thousand pairs: no random draw looks like that
    result = population_uniqueness([1] + [2] * 10_000, sampling_fraction=0.05)
    assert result.pitman.cut
    assert value_of(result.pitman) == pytest.approx(20.0)
    assert result.pitman.sample_value == pytest.approx(1.0)
    assert not result.zayatz.cut


# --- slide negative binomial


def snb_sample_chances(alpha: float, beta: float, pi: float) -> tuple[float, float]:
    """P(f = 1) and P(f = 2) by summing over the class sizes of the population."""
    ones, twos, chance = 0.0, 0.0, beta**alpha
    for size in range(1, 40_000):
        ones += chance * size * pi * (1 - pi) ** (size - 1)
        twos += chance * size * (size - 1) / 2 * pi**2 * (1 - pi) ** max(size - 2, 0)
        chance *= (alpha + size - 1) / size * (1 - beta)
    return ones, twos


@pytest.mark.parametrize("fraction", [0.15, 0.4, 0.8])
@pytest.mark.parametrize("histogram", [ADULT, SKEWED])
def test_snb_solves_its_equations(histogram: dict[int, int], fraction: float) -> None:
    result = population_uniqueness(sizes_of(histogram), sampling_fraction=fraction)
    fitted = result.snb.parameters
    ones, twos = snb_sample_chances(fitted["alpha"], fitted["beta"], result.sampling_fraction)
    assert fitted["classes"] * ones == pytest.approx(histogram[1], rel=1e-9)
    assert fitted["classes"] * twos == pytest.approx(histogram[2], rel=1e-9)
    assert value_of(result.snb) == pytest.approx(fitted["classes"] * fitted["beta"] ** fitted["alpha"], rel=1e-12)


@pytest.mark.parametrize("pi", [0.05, 0.3, 0.8])
@pytest.mark.parametrize(("alpha", "beta"), [(0.01, 0.01), (0.3, 0.7), (1.0, 0.5), (6.0, 0.7), (3.0, 0.95), (100.0, 0.95)])
def test_snb_finds_the_parameters_behind_what_it_expects(alpha: float, beta: float, pi: float) -> None:
    ones, twos = snb_sample_chances(alpha, beta, pi)
    assert _snb_parameters(1000 * ones, 1000 * twos, 1000.0, pi) == pytest.approx((alpha, beta), rel=1e-6)


def test_snb_counts_classes_by_the_modified_estimator_of_shlosser() -> None:
    result = population_uniqueness(sizes_of(SKEWED), sampling_fraction=0.25)
    q = result.sampling_fraction
    above = sum(i * q**2 * (1 - q**2) ** (i - 1) * f for i, f in SKEWED.items())
    below = sum((1 - q) ** i * ((1 + q) ** i - 1) * f for i, f in SKEWED.items())
    missed = sum((1 - q) ** i * f for i, f in SKEWED.items())
    once = sum(i * q * (1 - q) ** (i - 1) * f for i, f in SKEWED.items())
    expected = result.classes + SKEWED[1] * above / below * (missed / once) ** 2
    assert result.snb.parameters["classes"] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("alpha", "beta"), [(0.5, 0.1), (1.0, 0.3), (0.2, 0.05)])
@pytest.mark.parametrize("fraction", [0.4, 0.6])
def test_snb_recovers_a_population_drawn_from_it(alpha: float, beta: float, fraction: float) -> None:
    generator = np.random.default_rng(7)
    truth = 1 + generator.negative_binomial(alpha, beta, 20_000)
    sample = generator.binomial(truth, fraction)
    result = population_uniqueness(sample[sample > 0], population=int(truth.sum()))
    assert value_of(result.snb) == pytest.approx(int((truth == 1).sum()), rel=0.08)
    assert result.snb.sample_value == pytest.approx(int(((truth == 1) & (sample == 1)).sum()), rel=0.1)


# --- Dankar's rule


def test_the_rule_asks_pitman_up_to_a_tenth_and_the_smaller_of_the_others_above() -> None:
    sizes = sizes_of(ADULT)
    low, high = population_uniqueness(sizes, sampling_fraction=0.1), population_uniqueness(sizes, sampling_fraction=0.11)
    assert low.dankar is low.pitman
    assert high.dankar is high.snb
    assert value_of(high.snb) < value_of(high.zayatz)
    generator = np.random.default_rng(1)
    truth = 1 + generator.negative_binomial(3.0, 0.5, 5_000)
    sample = generator.binomial(truth, 0.2)
    even = population_uniqueness(sample[sample > 0], sampling_fraction=0.2)
    smaller = min([even.zayatz, even.snb], key=value_of)
    assert even.dankar is smaller


@pytest.mark.parametrize("fraction", [0.05, 0.5])
def test_zayatz_stands_in_where_the_model_asked_for_has_no_answer(fraction: float) -> None:
    result = population_uniqueness([1] * 7, sampling_fraction=fraction)
    assert result.dankar is result.zayatz
    assert result.dankar.share == 1.0
    assert result.pitman.value is None
    assert result.snb.value is None
    assert "unique" in str(result.pitman.reason)
    assert "Zayatz" in result.decision


# --- odd data and refusals


def test_a_sample_without_uniques_has_no_population_uniques_in_it() -> None:
    result = population_uniqueness([2, 3, 9], sampling_fraction=0.05)
    assert result.dankar.value == 0.0
    assert result.pitman.value is None
    assert "one record" in str(result.pitman.reason)
    assert result.snb.reason == result.pitman.reason


def test_no_records_are_no_answer() -> None:
    result = population_uniqueness([], sampling_fraction=0.5)
    assert [estimate.value for estimate in estimates(result)] == [None] * 4
    assert result.decision == "there are no records"


@pytest.mark.parametrize("fraction", [0.0, -0.1, 1.0001, math.nan, math.inf])
def test_an_impossible_sampling_fraction_is_refused(fraction: float) -> None:
    with pytest.raises(ArgumentError, match="sampling fraction"):
        population_uniqueness([1, 2], sampling_fraction=fraction)


def test_a_population_smaller_than_the_sample_is_refused() -> None:
    with pytest.raises(ArgumentError, match="smaller than its sample of 3 records"):
        population_uniqueness([1, 2], population=2)


@pytest.mark.parametrize("arguments", [{}, {"population": 10, "sampling_fraction": 0.3}])
def test_one_of_population_and_fraction_is_needed(arguments: dict[str, float]) -> None:
    with pytest.raises(ArgumentError, match="either"):
        population_uniqueness([1, 2], **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("sizes", [[1, 0], [1, -2], [1.5, 2.0], [math.nan, 1.0], [[1, 2]], ["a"]])
def test_sizes_that_are_none_are_refused(sizes: list[object]) -> None:
    with pytest.raises(ArgumentError, match="class_sizes"):
        population_uniqueness(sizes, sampling_fraction=0.5)  # type: ignore[arg-type]


# --- laws


@given(
    st.lists(st.one_of(st.just(1), st.integers(1, 6), st.integers(1, 4000)), min_size=1, max_size=60),
    st.floats(1e-4, 1.0),
    st.randoms(use_true_random=False),
)
def test_estimates_stay_within_their_bounds(sizes: list[int], fraction: float, order: object) -> None:
    result = population_uniqueness(sizes, sampling_fraction=fraction)
    for estimate in estimates(result):
        assert (estimate.value is None) == (estimate.reason is not None)
        if estimate.value is not None:
            assert estimate.share is not None
            assert estimate.sample_value is not None
            assert estimate.sample_share is not None
            assert 0.0 <= estimate.value <= result.population
            assert 0.0 <= estimate.share <= 1.0
            assert estimate.sample_value <= result.sample_uniques * (1 + 1e-9)
            assert 0.0 <= estimate.sample_share <= 1.0
    json.dumps(result.to_dict(), allow_nan=False)
    mixed = list(sizes)
    order.shuffle(mixed)  # type: ignore[attr-defined]
    assert population_uniqueness(mixed, sampling_fraction=fraction) == result


@pytest.mark.parametrize("histogram", [ADULT, SKEWED])
def test_a_larger_population_leaves_fewer_of_the_sample_unique(histogram: dict[int, int]) -> None:
    results = [
        population_uniqueness(sizes_of(histogram), sampling_fraction=fraction) for fraction in (0.01, 0.05, 0.2, 0.5, 0.9, 1.0)
    ]
    for model in ("pitman", "zayatz"):
        shares = [getattr(result, model).sample_share for result in results]
        assert shares == sorted(shares)


def test_nearly_the_whole_population_has_nearly_the_uniques_of_the_sample() -> None:
    result = population_uniqueness(sizes_of(ADULT), population=30_163)
    for estimate in estimates(result):
        assert value_of(estimate) == pytest.approx(15512, rel=1e-3)


def test_a_result_is_plain() -> None:
    result = population_uniqueness(sizes_of(SKEWED), sampling_fraction=0.2).to_dict()
    assert result["dankar"]["model"] in {"zayatz", "snb"}
    assert json.loads(json.dumps(result)) == result


# --- the sums behind the models


@pytest.mark.parametrize("x", [1e-6, 0.3, 7.0, 49.9, 50.1, 1e4, 1e9])
@pytest.mark.parametrize("terms", [1, 2, 50, 3000])
def test_harmonic_sums(x: float, terms: int) -> None:
    assert _harmonic_rise(x, terms) == pytest.approx(math.fsum(1.0 / (x + i) for i in range(terms)), rel=1e-12)


@pytest.mark.parametrize("x", [0.01, 3.0, 49.9, 50.1, 1000.0])
@pytest.mark.parametrize("step", [0.0, 0.25, 1.0])
def test_gamma_ratios(x: float, step: float) -> None:
    assert _log_gamma_rise(x, step) == pytest.approx(math.lgamma(x + step) - math.lgamma(x), abs=2e-12)


def test_gamma_ratios_of_large_numbers_keep_their_digits() -> None:
    assert _log_gamma_rise(1e12, 1.0) == pytest.approx(math.log(1e12), rel=1e-15)


@pytest.mark.parametrize(("theta", "alpha"), [(-0.3, 0.5), (0.0, 0.2), (5.0, 0.9), (1e7, 1e-3), (1e9, 0.5), (12.0, 0.0)])
@pytest.mark.parametrize("u", [2, 3, 200])
def test_sums_of_ratios(theta: float, alpha: float, u: int) -> None:
    expected = math.fsum(i / (theta + i * alpha) for i in range(1, u))
    assert _sum_of_ratios(theta, alpha, u) == pytest.approx(expected, rel=1e-10)
