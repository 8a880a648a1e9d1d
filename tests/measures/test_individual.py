from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from unveil.counts import Column, Counts
from unveil.errors import ArgumentError, CountsError
from unveil.measures.individual import household_risk, individual_risk, population_sizes, simple_uniqueness


def risk_of(f: int, weight: float) -> float:
    return float(individual_risk([f], [weight]).risk[0])


def by_summing(f: int, p: float) -> float:
    """E(1/F) under P(F = h) = C(h-1, f-1) p^f (1-p)^(h-f), h >= f, term by term."""
    terms, chance, h = [], p**f, f
    while chance / h > 1e-18 or h < 2 * f / p:
        terms.append(chance / h)
        chance *= h / (h - f + 1.0) * (1.0 - p)
        h += 1
    return math.fsum(terms)


def by_integrating(f: int, p: float) -> float:
    """E(1/F) = p * integral of v^(f-1) / (p + (1-p) v) over [0, 1]; in w = v^f for large f, where it is smooth."""
    from scipy.integrate import quad

    if f == 1:
        return math.log(1.0 / p) * p / (1.0 - p)
    if f > 30:
        return float(quad(lambda w: p / f / (p + (1.0 - p) * w ** (1.0 / f)), 0.0, 1.0, epsabs=0.0, epsrel=1e-9, limit=400)[0])
    return float(quad(lambda v: p * v ** (f - 1) / (p + (1.0 - p) * v), 0.0, 1.0, epsabs=0.0, epsrel=1e-10, limit=400)[0])


# --- individual risk


@pytest.mark.parametrize("p", [0.03, 0.2, 0.499, 0.5, 0.501, 0.9, 0.999])
@pytest.mark.parametrize("f", [1, 2, 3, 4, 10, 31, 32, 33, 60])
def test_the_exact_risk_is_the_mean_of_the_negative_binomial_model(f: int, p: float) -> None:
    assert risk_of(f, f / p) == pytest.approx(by_summing(f, p), rel=1e-11)


@pytest.mark.parametrize("p", [0.01, 0.1, 0.3, 0.6, 0.95])
@pytest.mark.parametrize("f", [1, 2, 5, 20, 40])
def test_the_exact_risk_is_the_hypergeometric_function_of_the_papers(f: int, p: float) -> None:
    from scipy.special import hyp2f1

    assert risk_of(f, f / p) == pytest.approx(p**f / f * hyp2f1(f, f, f + 1, 1 - p), rel=1e-9)


@pytest.mark.parametrize("p", [1e-9, 1e-6, 1e-3, 1.0 - 1e-7])
@pytest.mark.parametrize("f", [1, 2, 3, 31, 32, 500, 100_000])
def test_the_exact_risk_holds_near_the_ends(f: int, p: float) -> None:
    assert risk_of(f, f / p) == pytest.approx(by_integrating(f, p), rel=2e-8)


def test_closed_forms() -> None:
    p = np.array([0.01, 0.2, 0.7])
    odds, log = p / (1 - p), np.log(1 / p)
    assert individual_risk([1, 1, 1], 1 / p).risk == pytest.approx(odds * log, rel=1e-12)
    assert individual_risk([2, 2, 2], 2 / p).risk == pytest.approx(odds - odds**2 * log, rel=1e-12)
    third = p / (2 * (1 - p) ** 3) * (1 - 4 * p + 3 * p**2 + 2 * p**2 * log)
    assert individual_risk([3, 3, 3], 3 / p).risk == pytest.approx(third, rel=1e-11)


def test_the_figures_of_sdcmicro() -> None:
    # sdcMicro, tests/testthat/test_indivRisk.R and test_freqCalc.R: eight records, weighted, classes in record order
    f, weight = [3, 1, 1, 2, 1], [108.0, 45.5, 17.0, 100.0, 123.5]
    exact = [0.01355297, 0.08579129, 0.17707583, 0.01877883, 0.03931625]
    assert individual_risk(f, weight).risk == pytest.approx(exact, abs=5e-9)
    # with missing keys matching anything: f = 4 and 5, where its approximation is the one used here
    f, weight = [4, 5], [125.0, 210.0]
    assert individual_risk(f, weight).risk == pytest.approx([0.010504889, by_summing(5, 5 / 210)], abs=5e-10)
    assert individual_risk(f, weight, method="approximate").risk == pytest.approx(
        [0.010554090, (5 / 210) / (4 + 5 / 210)], abs=5e-10
    )


def test_the_approximation_is_the_closed_form_for_small_classes_and_an_upper_bound_above() -> None:
    f = np.repeat(np.arange(1, 40), 50)
    weight = f / np.tile(np.geomspace(1e-5, 1.0, 50), 39)
    exact, rough = individual_risk(f, weight).risk, individual_risk(f, weight, method="approximate").risk
    small = f <= 3
    assert np.array_equal(exact[small], rough[small])
    assert np.all(rough >= exact * (1 - 1e-12))
    assert np.all(rough[~small] <= exact[~small] * 1.05)


def test_a_class_that_is_the_whole_population_of_its_pattern() -> None:
    result = individual_risk([1, 4, 50], [1.0, 4.0, 50.0])
    assert result.risk.tolist() == [1.0, 0.25, 0.02]
    assert individual_risk([1, 4, 50], [1.0, 4.0, 50.0], method="approximate").risk.tolist() == [1.0, 0.25, 0.02]
    assert result.expected == pytest.approx(3.0)
    assert result.rate == pytest.approx(3 / 55)
    assert result.highest == 1.0


def test_the_expected_number_of_reidentifications_sums_over_records() -> None:
    result = individual_risk([3, 1], [108.0, 17.0])
    assert result.expected == pytest.approx(3 * result.risk[0] + result.risk[1])
    assert result.rate == pytest.approx(result.expected / 4)


def test_the_risk_is_what_a_simulation_of_the_model_finds() -> None:
    generator = np.random.default_rng(5)
    for f, p in [(1, 0.1), (2, 0.3), (6, 0.05)]:
        population = f + generator.negative_binomial(f, p, 200_000)
        assert risk_of(f, f / p) == pytest.approx(float((1 / population).mean()), rel=0.01)


@given(st.integers(1, 10**6), st.floats(1e-9, 1.0), st.floats(1.0, 1e6))
def test_the_risk_lies_between_one_over_the_mean_and_one_over_f_and_falls(f: int, p: float, more: float) -> None:
    weight = f / p
    risk = risk_of(f, weight)
    assert 1.0 / weight * (1 - 1e-12) <= risk <= 1.0 / f * (1 + 1e-12)
    assert risk_of(f, weight * more) <= risk * (1 + 1e-9)


def test_classes_with_less_weight_than_records_are_refused() -> None:
    with pytest.raises(ArgumentError, match="2 of 3 classes have less weight than records"):
        individual_risk([2, 3, 1], [1.5, 2.9, 8.0])


def test_rounding_in_a_sum_of_weights_is_forgiven() -> None:
    assert risk_of(3, 3 * (1 - 1e-12)) == 1 / 3


@pytest.mark.parametrize("weight", [[math.nan, 3.0], [math.inf, 3.0], [3.0]])
def test_weights_that_are_none_are_refused(weight: list[float]) -> None:
    with pytest.raises(ArgumentError):
        individual_risk([1, 1], weight)


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(ArgumentError, match="did you mean 'exact'"):
        individual_risk([1], [2.0], method="exakt")  # type: ignore[arg-type]


def test_no_classes_have_no_rate() -> None:
    result = individual_risk([], [])
    assert (result.expected, result.rate, result.highest) == (0.0, None, None)
    assert json.loads(json.dumps(result.to_dict()))["risk"] == []


# --- households


def test_a_household_is_as_exposed_as_all_its_members() -> None:
    generator = np.random.default_rng(3)
    risk, household = generator.random(300), generator.integers(0, 90, 300)
    found = household_risk(risk, household)
    for at in range(300):
        assert found.risk[at] == pytest.approx(1 - np.prod(1 - risk[household == household[at]]), rel=1e-12)
    assert found.households == len(set(household.tolist()))
    assert found.expected == pytest.approx(found.risk.sum())
    assert np.all(found.risk >= risk * (1 - 1e-12))


def test_households_of_one_keep_their_risk() -> None:
    risk = np.random.default_rng(4).random(100)
    assert household_risk(risk, np.arange(100)).risk == pytest.approx(risk, rel=1e-15)


def test_a_certain_member_makes_the_household_certain_and_small_risks_add_up() -> None:
    assert household_risk([1.0, 0.2, 0.0], ["a", "a", "b"]).risk.tolist() == [1.0, 1.0, 0.0]
    assert household_risk([1e-18, 2e-18], [1, 1]).risk == pytest.approx([3e-18, 3e-18], rel=1e-12)


def test_risks_that_are_no_probabilities_are_refused() -> None:
    with pytest.raises(ArgumentError, match="2 are missing or outside"):
        household_risk([0.1, 1.5, math.nan], [1, 2, 3])
    with pytest.raises(ArgumentError, match="the same length"):
        household_risk([0.1], [1, 2])


def test_no_records_have_no_household_rate() -> None:
    result = household_risk([], [])
    assert (result.rate, result.households) == (None, 0)
    assert json.loads(json.dumps(result.to_dict()))["records"] == 0


# --- simple uniqueness


def counted(names: list[str], records: list[tuple[Any, ...]]) -> Counts:
    cells = sorted(set(records))
    values = [sorted({cell[at] for cell in cells}) for at in range(len(names))]
    codes: list[NDArray[Any]] = [np.array([values[at].index(cell[at]) for cell in cells]) for at in range(len(names))]
    columns = tuple(Column(name, tuple(known)) for name, known in zip(names, values, strict=True))
    return Counts(columns, tuple(codes), np.array([records.count(cell) for cell in cells]))


NAMES = ["ZIP Code", "Age", "Disease"]
TABLE_3_5: list[tuple[Any, ...]] = [
    (75002, 22, "lung cancer"),
    (75005, 23, "lung cancer"),
    (75002, 22, "lung cancer"),
    (75012, 45, "flu"),
    (75002, 63, "diabetes"),
    (75002, 40, "flu"),
    (75012, 35, "aids"),
    (75012, 35, "aids"),
    (75002, 25, "diabetes"),
]


def by_pattern(counts: Counts, figures: NDArray[Any]) -> dict[tuple[Any, ...], float]:
    columns = [[column.values[int(code)] for code in codes] for column, codes in zip(counts.columns, counts.codes, strict=True)]
    return dict(zip(zip(*columns, strict=True), figures.tolist(), strict=True))


def test_the_sample_uniques_of_table_3_5() -> None:
    # thesis, section 3.4.1: record 2 is a sample unique, records 7 and 8 have f = 2
    sample = counted(NAMES, TABLE_3_5)
    f = by_pattern(sample, sample.n)
    assert f[TABLE_3_5[1]] == 1
    assert f[TABLE_3_5[6]] == 2
    assert [f[record] for record in TABLE_3_5] == [2, 1, 2, 1, 1, 1, 2, 2, 1]
    # record 2 is unique on ZIP Code and Age alone, too: a special unique
    part = sample.over(["ZIP Code", "Age"])
    assert by_pattern(part, part.n)[(75005, 23)] == 1


def test_table_3_5_against_a_population_that_holds_it() -> None:
    # the thesis prints no population; this one adds two people who fit record 2 and one who fits records 7 and 8
    population = counted(NAMES, [*TABLE_3_5, TABLE_3_5[1], TABLE_3_5[1], TABLE_3_5[6], (75001, 50, "flu")])
    sample = counted(NAMES, TABLE_3_5)
    result = simple_uniqueness(sample.n, population_sizes(sample, population))
    assert (result.records, result.classes, result.sample_uniques, result.population_uniques) == (9, 7, 5, 4)
    assert result.share == 0.8
    risk = by_pattern(sample, result.risk)
    assert risk[TABLE_3_5[1]] == pytest.approx(1 / 3)
    assert risk[TABLE_3_5[6]] == pytest.approx(2 / 3)
    assert risk[TABLE_3_5[0]] == 1.0
    assert json.loads(json.dumps(result.to_dict()))["population_uniques"] == 4


def test_a_sample_of_everyone_is_certain() -> None:
    whole = counted(NAMES, TABLE_3_5)
    result = simple_uniqueness(whole.n, population_sizes(whole, whole))
    assert set(result.risk.tolist()) == {1.0}
    assert result.population_uniques == result.sample_uniques == 5


def test_the_population_may_have_more_columns_and_other_values() -> None:
    sample = counted(["ZIP Code"], [(75012,), (75999,)])
    assert population_sizes(sample, counted(NAMES, TABLE_3_5)).tolist() == [3, 0]


def test_a_sample_that_is_not_from_the_population_is_refused() -> None:
    with pytest.raises(ArgumentError, match="2 of 3 classes have more records in the sample"):
        simple_uniqueness([2, 1, 1], [1, 0, 5])
    with pytest.raises(CountsError, match="no column Disease"):
        population_sizes(counted(NAMES, TABLE_3_5), counted(["ZIP Code", "Age"], [(75001, 3)]))


def test_without_sample_uniques_there_is_no_share() -> None:
    assert simple_uniqueness([2], [4]).share is None
    assert simple_uniqueness([], []).share is None


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=40), st.data())
def test_population_sizes_are_those_of_counting_by_hand(population: list[tuple[int, int]], data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.integers(0, len(population) - 1), min_size=1, unique=True))
    records: list[tuple[Any, ...]] = [population[at] for at in chosen]
    sample, whole = counted(["a", "b"], records), counted(["a", "b"], list(population))
    found = by_pattern(sample, population_sizes(sample, whole))
    assert found == {pattern: population.count(pattern) for pattern in found}
    result = simple_uniqueness(sample.n, population_sizes(sample, whole))
    assert np.all((result.risk > 0) & (result.risk <= 1))
    assert result.population_uniques <= result.sample_uniques
