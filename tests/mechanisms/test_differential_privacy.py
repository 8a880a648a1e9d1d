"""Differential privacy: noise of the scale that budget and declared bounds ask for, and nothing taken from the data but counts.

The noise cannot be seeded, so these tests can fail by chance: each is set to do so less than once in a million runs.
"""

from __future__ import annotations

import itertools
import math
import sys
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

import unveil
from unveil import mechanisms
from unveil.errors import ArgumentError, ColumnNotFoundError, MissingExtraError, NullsError, UnsupportedDataError
from unveil.mechanisms.differential_privacy.accounting import concentration
from unveil.mechanisms.differential_privacy.budget import gaussian_delta
from unveil.mechanisms.differential_privacy.protected_unit import Unit
from unveil.sources.microdata import open_microdata

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
    assert 3.0 < spent.scale < 0.85 * math.sqrt(2 * math.log(1.25e6))  # less than the classical bound
    assert stats.kstest(drawn, stats.norm(scale=spent.scale).cdf).pvalue > ALPHA


def test_the_gaussian_scale_keeps_to_epsilon_and_delta() -> None:
    """The excess of one normal density over e^epsilon times its neighbour, summed numerically, is delta and no more."""
    for epsilon, delta in ((0.1, 1e-5), (1.0, 1e-6), (8.0, 1e-9)):
        scale = mechanisms.dp_count(pl.DataFrame({"x": [1]}), epsilon=epsilon, mechanism="gaussian", delta=delta).spent[0].scale
        at = np.linspace(-12 * scale, 12 * scale + 1, 2_000_001)
        excess = np.maximum(stats.norm.pdf(at, 1, scale) - math.exp(epsilon) * stats.norm.pdf(at, 0, scale), 0.0)
        assert float(excess.sum() * (at[1] - at[0])) == pytest.approx(delta, rel=1e-4)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.01, 1e-9), (1e-6, 1e-12), (100.0, 1e-15), (1.0, 0.999), (1e-9, 1e-15)])
def test_the_gaussian_scale_exists_for_any_budget(epsilon: float, delta: float) -> None:
    scale = mechanisms.dp_count(pl.DataFrame({"x": [1]}), epsilon=epsilon, mechanism="gaussian", delta=delta).spent[0].scale
    assert 0.0 < gaussian_delta(scale, 1.0, epsilon) <= delta or scale > 1e9


def fifty_each() -> pl.DataFrame:
    return pl.DataFrame({"who": np.repeat(np.arange(40), 50), "x": [1.0] * 2000, "c": ["a", "b"] * 1000})


def test_a_person_counts_no_more_often_than_declared() -> None:
    """Forty people of fifty records each: nobody moves an answer by more than the contribution that the noise is made for."""
    frame, whole = fifty_each(), {"epsilon": 100, "person": "who"}
    assert mechanisms.dp_count(frame, **whole).value == pytest.approx(40, abs=2)
    assert mechanisms.dp_count(frame, contribution=3, **whole).value == pytest.approx(120, abs=4)
    assert mechanisms.dp_count(frame, {"c": "a"}, contribution=30, **whole).value == pytest.approx(1000, abs=20)
    assert mechanisms.dp_sum(frame, "x", bounds=(0, 1), contribution=2, **whole).value == pytest.approx(80, abs=4)
    mean = mechanisms.dp_mean(frame, "x", bounds=(0, 4), contribution=2, **whole)
    assert mean.value == pytest.approx(1.0, abs=0.2)
    bins = mechanisms.dp_histogram(frame, "c", values=["a", "b"], contribution=5, **whole).value
    assert sum(bins.values()) == pytest.approx(200, abs=8)
    cells = mechanisms.dp_marginals(frame, ["c"], domains={"c": ["a", "b"]}, contribution=5, **whole).value["c"]
    assert sum(cell["n"] for cell in cells) == pytest.approx(200, abs=8)
    made = mechanisms.dp_synthesize(frame, "c", domains={"c": ["a", "b"]}, contribution=1, **whole)
    assert made.records.records == pytest.approx(40, abs=3)


def test_a_person_more_moves_the_records_used_by_the_contribution() -> None:
    """The records of all others that count do not depend on whether one person is there."""
    frame = fifty_each().to_dict(as_series=False)
    records = open_microdata(pl.DataFrame(frame))
    for person in ("who", None):
        kept = Unit.requested(records, person, 4).kept(records)
        counted = np.bincount(np.array(frame["who"])[kept])
        assert set(counted.tolist()) == ({4} if person else {50})
    chosen = [np.bincount(Unit.requested(records, "who", 10).kept(records), minlength=2000) for _ in range(400)]
    often = np.sum(chosen, axis=0)  # each record with a chance of 10 in 50
    assert np.abs(often - 80).max() < 6 * math.sqrt(400 * 0.2 * 0.8)


def test_an_answer_says_whom_it_protects() -> None:
    frame = fifty_each()
    told = mechanisms.dp_count(frame, epsilon=1).to_dict()
    assert (told["settings"]["protects"], told["repeatable"]) == ("record", False)
    assert any("per record" in note for note in told["notes"])
    told = mechanisms.dp_count(frame, epsilon=1, person="who", contribution=7).to_dict()
    assert told["settings"] == {"where": [], "protects": "person", "person": "who", "contribution": 7}
    assert any("per person: at most 7 records" in note for note in told["notes"])


def test_persons_must_be_known() -> None:
    frame = pl.DataFrame({"who": [1, None], "x": [1.0, 2.0]})
    with pytest.raises(NullsError, match="whose"):
        mechanisms.dp_sum(frame, "x", bounds=(0, 4), epsilon=1, person="who")
    with pytest.raises(ColumnNotFoundError, match="nobody"):
        mechanisms.dp_count(frame, epsilon=1, person="nobody")
    with pytest.raises(ArgumentError, match="person must be a text"):
        mechanisms.dp_count(frame, epsilon=1, person=3)


def test_bins_never_become_one() -> None:
    edges = [0.0, 1.0, 1.0 + 1e-9, 1.0 + 2e-9, 123_456_789.0, 123_456_790.0]
    values = [(one + other) / 2 for one, other in itertools.pairwise(edges)]
    answer = mechanisms.dp_histogram(pl.DataFrame({"x": values * 100}), "x", edges=edges, epsilon=90)
    assert len(answer.value) == len(answer.to_dict()["value"]) == 5
    assert list(answer.value.values()) == pytest.approx([100] * 5, abs=2)
    mixed = pd.DataFrame({"x": [1, "1", 2]})
    with pytest.raises(ArgumentError, match="written in the same way"):
        mechanisms.dp_histogram(mixed, "x", values=[1, "1", 2], epsilon=1)
    with pytest.raises(ArgumentError, match="the same name"):
        mechanisms.dp_marginals(
            pl.DataFrame({"a": [1], "b": [1], "a x b": [1]}),
            [["a", "b"], "a x b"],
            domains={"a": [1], "b": [1], "a x b": [1]},
            epsilon=1,
        )
    with pytest.raises(ArgumentError, match="named 'n'"):
        mechanisms.dp_marginals(pl.DataFrame({"n": [1]}), ["n"], domains={"n": [1]}, epsilon=1)


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
    assert mechanisms.dp_sum(frame, "x", bounds=(0, 4), epsilon=90, nulls="drop").value == pytest.approx(4, abs=2)
    with pytest.raises(ArgumentError, match="nulls 'keep'"):
        mechanisms.dp_mean(frame, "x", bounds=(0, 4), epsilon=1, nulls="keep")
    answer = mechanisms.dp_mean(pd.DataFrame({"x": [1.0, None, 3.0]}), "x", bounds=(0, 4), epsilon=90, nulls="drop")
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
    made = mechanisms.dp_synthesize(adult, names, domains=domains, epsilon=3.0)
    assert sum(part["rho"] for part in made.figures["spent"]) == pytest.approx(concentration(3.0, 1e-9))
    assert ["sex", "relationship"] in made.figures["pairs"]
    assert made.records.records == pytest.approx(adult.height, abs=200)
    husbands = made.data.filter(pl.col("relationship") == "Husband")
    assert husbands.filter(pl.col("sex") == "Male").height / husbands.height > 0.98
    share = made.data.filter(pl.col("income-per-year") == ">50K").height / made.data.height
    assert share == pytest.approx(adult.filter(pl.col("income-per-year") == ">50K").height / adult.height, abs=0.02)
    originals = set(adult.select(names).rows())
    assert set(made.figures) == {"epsilon", "delta", "rho", "pairs", "spent"}
    assert made.not_private["equal_share"] == pytest.approx(np.mean([row in originals for row in made.data.rows()]))
    assert made.origin.tolist() == [-1] * made.records.records
    assert made.to_dict()["not_private"] == dict(made.not_private)


def test_synthesis_of_one_and_two_attributes_and_a_number_of_records() -> None:
    frame = pl.DataFrame({"a": ["x", "y"] * 500, "b": ["u", "v"] * 500})
    domains = {"a": ["x", "y", "z"], "b": ["u", "v"]}
    one = mechanisms.dp_synthesize(frame, "a", domains=domains, epsilon=20, records=50)
    assert one.data.shape == (50, 1)
    assert [part["rho"] for part in one.figures["spent"]] == [concentration(20.0, 1e-9)]
    two = mechanisms.dp_synthesize(frame, ["a", "b"], domains=domains, epsilon=20, records=5000)
    assert two.data.filter((pl.col("a") == "x") & (pl.col("b") == "u")).height == pytest.approx(2500, abs=300)
    assert [part["what"] for part in two.figures["spent"]][:3] == ["values of a", "values of b", "choice of a pair"]


def test_mixed_objects_are_told_apart_by_their_text() -> None:
    frame = pd.DataFrame({"x": ["a", 1, 2.5, "a"] * 20})
    made = mechanisms.dp_synthesize(frame, "x", domains={"x": ["a", "b"]}, epsilon=50, records=10)
    assert made.not_private["equal_share"] == 1.0


@pytest.mark.parametrize("epsilon", [0, -1, math.inf, math.nan, "one", None, True])
def test_a_budget_that_is_none_is_refused(epsilon: Any) -> None:
    with pytest.raises(ArgumentError, match="epsilon"):
        mechanisms.dp_count(pl.DataFrame({"x": [1]}), epsilon=epsilon)


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("dp_count", {"mechanism": "stairs"}, "mechanism 'stairs'"),
        ("dp_histogram", {"attribute": "c", "values": ["a"], "mechanism": "staircase"}, "mechanism 'staircase'"),
        ("dp_count", {"mechanism": "staircase", "epsilon": 1e-6}, "geometric noise"),
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
        ("dp_synthesize", {"attributes": ["c"], "domains": {"c": ["a"]}, "delta": 0}, "delta"),
        ("dp_synthesize", {"attributes": ["c"], "domains": {"c": ["a"]}, "workload": [["c", "x"]]}, "workload names 'x'"),
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


@pytest.mark.parametrize("backend", ["polars", "pandas", "pyarrow"])
def test_marginals_become_a_table_of_any_library_whatever_their_domains_hold(backend: Any) -> None:
    frame, domains = pl.DataFrame({"a": ["x", "y"]}), {"a": ["x", math.nan, 1]}
    answer = mechanisms.dp_marginals(frame, ["a"], domains=domains, epsilon=50)
    table = nw.from_native(answer.to_frame(backend))
    assert table["bin"].to_list() == ["a: x", "a: nan", "a: 1"]
    assert table["value"].to_list() == [cell["n"] for cell in answer.value["a"]]


@pytest.mark.parametrize("contribution", [10**300, 2**63], ids=["huge", "64 bits"])
def test_more_records_of_one_person_than_noise_can_hide_are_refused(contribution: int) -> None:
    with pytest.raises(ArgumentError, match="it must be from 1 to 100,000,000"):
        mechanisms.dp_count(pl.DataFrame({"x": [1]}), epsilon=1.0, contribution=contribution)


@pytest.mark.parametrize("null", [None, pd.NA, float("nan")])
def test_a_condition_on_a_null_of_any_library_counts_the_nulls(null: Any) -> None:
    table = pd.DataFrame({"a": pd.Series(["x", None, "y", None, "x"], dtype=object)})
    assert mechanisms.dp_count(table, where={"a": null}, epsilon=100.0).value == 2
    assert mechanisms.dp_count(table, where={"a": ["y", null]}, epsilon=100.0).value == 3


def test_counts_are_enough_to_count() -> None:
    frame = pl.DataFrame({"who": [1, 1, 1, 2, 2, 3], "x": list("aabaab"), "y": range(6)})
    counts = unveil.count(frame, ["who", "x"])
    for where in ({}, {"x": "a"}, {"x": ["c"]}, {"who": 1, "x": lambda x: x == "b"}):
        for unit in ({}, *({"person": "who", "contribution": most} for most in (1, 2, 3))):
            exact = [mechanisms.dp_count(one, where, epsilon=100, **unit).value for one in (frame, counts, unveil.Study(counts))]
            assert exact[0] == exact[1] == exact[2]
    told = mechanisms.dp_count(unveil.Study(counts, person="who"), epsilon=1).to_dict()
    assert (told["settings"]["protects"], told["spent"][0]["sensitivity"]) == ("person", 1)
    with pytest.raises(ColumnNotFoundError):
        mechanisms.dp_count(unveil.count(frame, "x"), epsilon=1, person="who")
    with pytest.raises(NullsError, match="has nulls"):
        mechanisms.dp_count(unveil.count(frame.with_columns(who=None), ["who", "x"]), epsilon=1, person="who")
    with pytest.raises(UnsupportedDataError, match="has no records"):
        mechanisms.dp_sum(counts, "who", bounds=(0, 3), epsilon=1)
