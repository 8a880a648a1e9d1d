"""Differential privacy: noise of the scale that budget and declared bounds ask for, and nothing taken from the data but counts.

The noise cannot be seeded, so these tests can fail by chance: each is set to do so less than once in a million runs.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

import unveil
from unveil import mechanisms
from unveil.errors import ArgumentError, MissingExtraError, NullsError

ALPHA = 1e-7
EMPTY = 8_000
"""Bins that hold nothing, so that their counts are noise."""


def noise(**options: Any) -> tuple[np.ndarray[Any, Any], mechanisms.Private]:
    answer = mechanisms.dp_histogram(pl.DataFrame({"x": [-1]}), "x", values=range(EMPTY), **options)
    return np.array(list(answer.value.values())), answer


def test_geometric_noise_has_the_scale_asked_for() -> None:
    drawn, answer = noise(epsilon=0.5, contribution=2)
    assert answer.spent[0].scale == pytest.approx(4.0)
    base = math.exp(-1 / 4.0)
    at = np.arange(-12, 13)
    chance = (1 - base) / (1 + base) * base ** np.abs(at)
    observed = [*(np.count_nonzero(drawn == one) for one in at), np.count_nonzero(np.abs(drawn) > 12)]
    expected = [*chance, 1 - chance.sum()]
    assert stats.chisquare(observed, np.array(expected) * EMPTY).pvalue > ALPHA


def test_laplace_noise_has_the_scale_asked_for() -> None:
    drawn, answer = noise(epsilon=2.0, mechanism="laplace")
    assert answer.spent[0].scale == pytest.approx(0.5)
    assert stats.kstest(drawn, stats.laplace(scale=0.5).cdf).pvalue > ALPHA


def test_gaussian_noise_has_the_scale_asked_for() -> None:
    drawn, answer = noise(epsilon=1.0, mechanism="gaussian", delta=1e-6)
    (spent,) = answer.spent
    assert (answer.epsilon, answer.delta) == (1.0, 1e-6)
    assert 3.0 < spent.scale < math.sqrt(2 * math.log(1.25e6))  # no more than the classical bound
    assert stats.kstest(drawn, stats.norm(scale=spent.scale).cdf).pvalue > ALPHA


def test_the_gaussian_scale_keeps_to_epsilon_and_delta() -> None:
    """The exact delta of Gaussian noise (Balle and Wang 2018) at that scale is no larger than asked for."""
    for epsilon, delta in ((0.1, 1e-5), (1.0, 1e-6), (8.0, 1e-9)):
        scale = mechanisms.dp_count(pl.DataFrame({"x": [1]}), epsilon=epsilon, mechanism="gaussian", delta=delta).spent[0].scale
        exact = stats.norm.cdf(0.5 / scale - epsilon * scale) - math.exp(epsilon) * stats.norm.cdf(-0.5 / scale - epsilon * scale)
        assert 0 < exact <= delta


@pytest.mark.parametrize("mechanism", ["geometric", "laplace", "gaussian"])
def test_answers_are_near_the_truth_at_a_large_budget(mechanism: str) -> None:
    adult = unveil.datasets.adult()
    options: dict[str, Any] = {"epsilon": 50, "mechanism": mechanism, "delta": 1e-6 if mechanism == "gaussian" else None}
    women = mechanisms.dp_count(adult, {"sex": "Female", "age": lambda age: age >= 40}, **options)
    assert women.value == pytest.approx(adult.filter((pl.col("sex") == "Female") & (pl.col("age") >= 40)).height, abs=30)
    total = mechanisms.dp_sum(adult, "age", bounds=(0, 100), **options)
    assert total.value == pytest.approx(adult["age"].sum(), abs=3000)
    mean = mechanisms.dp_mean(adult, "age", bounds=(0, 100), **options)
    assert mean.value == pytest.approx(adult["age"].mean(), abs=0.2)
    assert mean.epsilon == 50


def test_sensitivity_comes_from_the_bounds_not_from_the_data() -> None:
    small, large = pl.DataFrame({"x": [1, 2, 3]}), pl.DataFrame({"x": [1, 2, 3_000_000]})
    answers = [mechanisms.dp_sum(frame, "x", bounds=(-7, 5), epsilon=1.0, mechanism="geometric") for frame in (small, large)]
    assert [answer.spent for answer in answers] == [answers[0].spent] * 2
    assert answers[0].spent[0].sensitivity == 7.0
    means = [mechanisms.dp_mean(frame, "x", bounds=(0, 10), epsilon=1.0, contribution=3) for frame in (small, large)]
    assert [part.sensitivity for part in means[1].spent] == [15.0, 3.0]
    assert means[0].spent == means[1].spent
    assert [part.epsilon for part in means[0].spent] == [0.5, 0.5]


def test_values_beyond_the_bounds_count_as_the_bound() -> None:
    frame = pl.DataFrame({"x": [1e9, -1e9, 2.0] * 100})
    answer = mechanisms.dp_sum(frame, "x", bounds=(-1.0, 3.0), epsilon=80)
    assert answer.value == pytest.approx(100 * (3 - 1 + 2), abs=3)
    assert answer.spent[0].sensitivity == 3.0
    mean = mechanisms.dp_mean(pl.DataFrame({"x": [5.0]}), "x", bounds=(0, 1), epsilon=0.001)
    assert 0 <= mean.value <= 1


def test_a_sum_on_the_grid_is_within_rounding_of_the_exact_one() -> None:
    random = np.random.default_rng(4)
    values = random.uniform(-0.3, 1.7, 1000)
    answer = mechanisms.dp_sum(pl.DataFrame({"x": values}), "x", bounds=(-0.3, 1.7), epsilon=100)
    assert answer.value == pytest.approx(values.sum(), abs=1.7 / 100 * 30)
    assert 1.7 <= answer.spent[0].sensitivity < 1.7 * (1 + 1e-5)


def test_histograms_by_edges_and_values() -> None:
    frame = pl.DataFrame({"x": [-5.0, 0.0, 9.9, 10.0, 20.0, 99.0]})
    answer = mechanisms.dp_histogram(frame, "x", edges=[0, 10, 20], epsilon=90)
    assert list(answer.value) == ["[0, 10)", "[10, 20]"]
    assert answer.value == pytest.approx({"[0, 10)": 3, "[10, 20]": 3}, abs=1)
    named = mechanisms.dp_histogram(pl.DataFrame({"c": ["a", "b", "b", None]}), "c", values=["b", None], epsilon=90, nulls="keep")
    assert named.value == pytest.approx({"b": 2, None: 1}, abs=1)


def test_nulls() -> None:
    frame = pl.DataFrame({"x": [1.0, None, 3.0, float("nan")]})
    with pytest.raises(NullsError):
        mechanisms.dp_sum(frame, "x", bounds=(0, 4), epsilon=1)
    assert mechanisms.dp_sum(frame, "x", bounds=(0, 4), epsilon=90, nulls="skip").value == pytest.approx(4, abs=2)
    with pytest.raises(ArgumentError, match="nulls 'keep'"):
        mechanisms.dp_mean(frame, "x", bounds=(0, 4), epsilon=1, nulls="keep")
    answer = mechanisms.dp_mean(pd.DataFrame({"x": [1.0, None, 3.0]}), "x", bounds=(0, 4), epsilon=90, nulls="skip")
    assert answer.value == pytest.approx(2, abs=0.7)


def test_marginals_share_one_budget() -> None:
    adult = unveil.datasets.adult()
    domains = {"sex": ["Female", "Male"], "race": sorted(adult["race"].unique()), "age": range(17, 91)}
    answer = mechanisms.dp_marginals(adult, [["sex", "race"], "age"], domains=domains, epsilon=40)
    assert answer.spent[0].sensitivity == 2.0
    assert answer.spent[0].scale == pytest.approx(2 / 40)
    truth = {(s, r): n for s, r, n in adult.group_by("sex", "race").len().rows()}
    found = {(cell["sex"], cell["race"]): cell["n"] for cell in answer.value["sex x race"]}
    assert found == pytest.approx(truth, abs=3)
    assert len(answer.value["age"]) == 74
    gaussian = mechanisms.dp_marginals(adult, ["sex", "race"], domains=domains, epsilon=1, mechanism="gaussian", delta=1e-6)
    assert gaussian.spent[0].sensitivity == pytest.approx(math.sqrt(2))


def test_synthetic_records_keep_the_strong_relations() -> None:
    adult = unveil.datasets.adult()
    names = ["sex", "relationship", "race", "income-per-year"]
    domains = {name: sorted(adult[name].unique()) for name in names}
    made = mechanisms.dp_synthesize(adult, names, domains=domains, epsilon=3.0, seed=1)
    assert sum(part["epsilon"] for part in made.figures["spent"]) == pytest.approx(3.0)
    assert ["sex", "relationship"] in made.figures["tree"]
    assert len(made.figures["tree"]) == 3
    assert made.records.records == pytest.approx(adult.height, abs=200)
    husbands = made.data.filter(pl.col("relationship") == "Husband")
    assert husbands.filter(pl.col("sex") == "Male").height / husbands.height > 0.98
    share = made.data.filter(pl.col("income-per-year") == ">50K").height / made.data.height
    assert share == pytest.approx(adult.filter(pl.col("income-per-year") == ">50K").height / adult.height, abs=0.02)
    originals = set(adult.select(names).rows())
    assert made.figures["equal_share"] == pytest.approx(np.mean([row in originals for row in made.data.rows()]))
    assert made.origin.tolist() == [-1] * made.records.records
    assert any("not private" in note for note in made.notes)


def test_synthesis_of_one_and_two_attributes_and_a_number_of_records() -> None:
    frame = pl.DataFrame({"a": ["x", "y"] * 500, "b": ["u", "v"] * 500})
    domains = {"a": ["x", "y", "z"], "b": ["u", "v"]}
    one = mechanisms.dp_synthesize(frame, "a", domains=domains, epsilon=20, records=50)
    assert one.data.shape == (50, 1)
    assert [part["epsilon"] for part in one.figures["spent"]] == [20]
    two = mechanisms.dp_synthesize(frame, ["a", "b"], domains=domains, epsilon=20, records=5000)
    assert two.data.filter((pl.col("a") == "x") & (pl.col("b") == "u")).height == pytest.approx(2500, abs=300)
    assert [part["epsilon"] for part in two.figures["spent"]] == [10, 10]


def test_mixed_objects_are_told_apart_by_their_text() -> None:
    frame = pd.DataFrame({"x": ["a", 1, 2.5, "a"] * 20})
    made = mechanisms.dp_synthesize(frame, "x", domains={"x": ["a", "b"]}, epsilon=50, records=10)
    assert made.figures["equal_share"] == 1.0


@pytest.mark.parametrize("epsilon", [0, -1, math.inf, math.nan, "one", None, True])
def test_a_budget_that_is_none_is_refused(epsilon: Any) -> None:
    with pytest.raises(ArgumentError, match="epsilon"):
        mechanisms.dp_count(pl.DataFrame({"x": [1]}), epsilon=epsilon)


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("dp_count", {"mechanism": "staircase"}, "mechanism 'staircase'"),
        ("dp_count", {"mechanism": "gaussian"}, "needs a delta"),
        ("dp_count", {"mechanism": "gaussian", "delta": 1.0}, "below 1"),
        ("dp_count", {"delta": 1e-6}, "has no delta"),
        ("dp_count", {"contribution": 0}, "contribution"),
        ("dp_sum", {"attribute": "x", "bounds": (3, 1)}, "bounds"),
        ("dp_sum", {"attribute": "x", "bounds": 3}, "bounds"),
        ("dp_sum", {"attribute": "x", "bounds": (0, math.inf)}, "bounds"),
        ("dp_sum", {"attribute": "c", "bounds": (0, 1)}, "needs numbers"),
        ("dp_sum", {"attribute": "f", "bounds": (0, 1), "mechanism": "geometric"}, "whole numbers"),
        ("dp_sum", {"attribute": "x", "bounds": (0, 1.5), "mechanism": "geometric"}, "whole bounds"),
        ("dp_histogram", {"attribute": "c"}, "either"),
        ("dp_histogram", {"attribute": "c", "values": "ab"}, "values must be a list, not a text"),
        ("dp_histogram", {"attribute": "c", "values": [["a"]]}, "each named once"),
        ("dp_sum", {"attribute": "x", "bounds": (0, 1e-320)}, "bounds"),
        ("dp_histogram", {"attribute": "c", "values": ["a", "a"]}, "each named once"),
        ("dp_histogram", {"attribute": "x", "edges": [2, 1]}, "edges"),
        ("dp_histogram", {"attribute": "x", "edges": ["low", "high"]}, "edges"),
        ("dp_marginals", {"tables": [], "domains": {}}, "at least one table"),
        ("dp_marginals", {"tables": ["c"], "domains": {}}, "not declared"),
        ("dp_marginals", {"tables": [["x", "f"]], "domains": {"x": range(2000), "f": range(2000)}}, "4,000,000 cells"),
        ("dp_synthesize", {"attributes": ["c"], "domains": {"c": ["a"]}, "records": 0}, "records"),
    ],
)
def test_bad_input_is_refused(name: str, options: dict[str, Any], says: str) -> None:
    frame = pl.DataFrame({"x": [1, 2], "f": [0.5, 1.5], "c": ["a", "b"]})
    with pytest.raises(ArgumentError, match=says):
        getattr(mechanisms, name)(frame, **{"epsilon": 1.0, **options})


def test_without_opendp_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'unveil\[dp\]'"):
        mechanisms.dp_count(pl.DataFrame({"x": [1]}), epsilon=1)


def test_an_answer_shows_itself_and_its_account() -> None:
    answer = mechanisms.dp_histogram(pl.DataFrame({"x": [1, 2]}), "x", values=[1, 2], epsilon=0.5)
    assert repr(answer) == "Private(histogram of x: 2 figures; epsilon = 0.5)"
    told = answer.to_dict()
    assert told["spent"] == [
        {"what": "histogram", "mechanism": "geometric", "sensitivity": 1.0, "scale": 2.0, "epsilon": 0.5, "delta": 0.0}
    ]
    assert any("no seed" in note for note in told["notes"])
    assert answer.to_frame().columns == ["bin", "value"]
    assert "noisy count" in answer._repr_html_()
    assert "scale" in mechanisms.dp_count(pl.DataFrame({"x": [1]}), epsilon=1)._repr_html_()
