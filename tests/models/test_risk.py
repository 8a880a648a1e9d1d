"""Risks, uniqueness and vulnerability as `measure` reports them."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unveil
from helpers import together
from unveil.errors import ArgumentError, ColumnNotFoundError
from unveil.models import AverageRisk, DeltaPresence, KMap
from unveil.testing import tables

keyed = {"suppressed": "class"}


@given(tables())
def test_prosecutor_risk_is_one_over_those_alike(frame: pl.DataFrame) -> None:
    sizes = Counter(together(frame, ["a", "b"]))
    risks = [1 / sizes[key] for key in together(frame, ["a", "b"])]
    found = unveil.measure(frame, ["a", "b"], "c", threshold=0.4, **keyed).to_dict()  # type: ignore[arg-type]
    prosecutor = found["risk"]["prosecutor"]
    assert prosecutor["highest"] == pytest.approx(max(risks))
    assert prosecutor["average"] == pytest.approx(sum(risks) / len(risks))
    assert prosecutor["records_above_threshold"] == pytest.approx(sum(risk > 0.4 for risk in risks) / len(risks))
    sample = found["uniqueness"]["sample"]
    assert sample["uniques"] == sum(n == 1 for n in sizes.values())
    assert sample["distinction"] == pytest.approx(len(sizes) / frame.height)
    pairs = list(combinations(together(frame, ["a", "b"]), 2))
    assert sample["separation"] == pytest.approx(sum(one != other for one, other in pairs) / len(pairs) if pairs else 0.0)


@given(tables())
def test_vulnerability_is_the_best_guess(frame: pl.DataFrame) -> None:
    found = unveil.measure(frame, ["a", "b"], "c", **keyed).to_dict()["vulnerability"]  # type: ignore[arg-type]
    pairs = Counter(zip(together(frame, ["a", "b"]), frame["c"].to_list(), strict=True))
    best: dict[Any, int] = {}
    for (key, _), n in pairs.items():
        best[key] = max(best.get(key, 0), n)
    assert found["c"]["prior"] == pytest.approx(max(Counter(frame["c"].to_list()).values()) / frame.height)
    assert found["c"]["posterior"] == pytest.approx(sum(best.values()) / frame.height)
    assert found["re_identification"]["prior"] == pytest.approx(1 / frame.height)
    assert found["re_identification"]["posterior"] == pytest.approx(len(best) / frame.height)


@given(tables(), st.data())
def test_population_models_count_in_the_population(population: pl.DataFrame, data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.integers(0, population.height - 1), min_size=1, unique=True))
    sample = population[rows]
    whole, part = Counter(together(population, ["a", "b"])), Counter(together(sample, ["a", "b"]))
    found = unveil.measure(sample, ["a", "b"], population=population, **keyed).to_dict()  # type: ignore[arg-type]
    assert found["models"]["k_map"]["value"] == min(whole[key] for key in part)
    assert found["models"]["delta_presence"]["value"] == pytest.approx(max(part[key] / n for key, n in whole.items()))
    assert found["models"]["delta_presence"]["worst_class"]["lowest"] == pytest.approx(
        min(part[key] / n for key, n in whole.items())
    )
    risks = [1 / whole[key] for key in together(sample, ["a", "b"])]
    assert found["risk"]["journalist"]["highest"] == pytest.approx(max(risks))
    assert found["risk"]["marketer"]["average"] == pytest.approx(sum(risks) / len(risks))
    simple = found["uniqueness"]["simple"]
    assert simple["population_uniques"] == sum(part[key] == 1 and whole[key] == 1 for key in part)


def test_population_requirements() -> None:
    population = pl.DataFrame({"a": list("ppppqq")})
    sample = pl.DataFrame({"a": list("ppq")})
    met = unveil.measure(sample, "a", population=population, models=[KMap(2), DeltaPresence(0.4, 0.6), AverageRisk(0.7)])
    assert met.met is True
    assert unveil.measure(sample, "a", population=population, models=[KMap(3)]).to_dict()["models"]["k_map"]["violations"] == {
        "classes": 1,
        "records": 1,
    }
    assert unveil.measure(sample, "a", population=population, models=[DeltaPresence(0.0, 0.4)]).met is False
    assert unveil.measure(sample, "a", models=[AverageRisk(0.6)]).met is False


def test_a_population_that_lacks_records_or_columns_is_refused() -> None:
    sample = pl.DataFrame({"a": list("ppq")})
    with pytest.raises(ArgumentError, match="more records in the data than in the population"):
        unveil.measure(sample, "a", population=pl.DataFrame({"a": list("pq")}))
    with pytest.raises(ColumnNotFoundError, match="the population lacks a"):
        unveil.measure(sample, "a", population=pl.DataFrame({"b": list("pq")}))


def test_weights_give_individual_and_household_risk() -> None:
    frame = pl.DataFrame({"a": ["p", "p", "q", "r"], "w": [10.0, 10.0, 50.0, 2.0], "home": [1, 1, 2, 2]})
    risk = unveil.measure(frame, "a", weights="w", household="home").to_dict()["risk"]
    import math

    unique = {"q": 1 / 50, "r": 1 / 2}
    exact = {key: p / (1 - p) * math.log(1 / p) for key, p in unique.items()}
    assert risk["individual_exact"]["highest"] == pytest.approx(exact["r"])
    pair = 0.1 / 0.9 - (0.1 / 0.9) ** 2 * math.log(1 / 0.1)
    homes = {1: 1 - (1 - pair) ** 2, 2: 1 - (1 - exact["q"]) * (1 - exact["r"])}
    assert risk["household"]["households"] == 2
    assert risk["household"]["highest"] == pytest.approx(max(homes.values()))


def test_without_weights_household_risk_follows_from_the_prosecutors() -> None:
    frame = pl.DataFrame({"a": list("ppppq"), "home": [1, 1, 2, 2, 3]})
    found = unveil.measure(frame, "a", household="home").to_dict()["risk"]["household"]
    pair = 1 - (1 - 1 / 4) ** 2
    assert (found["households"], found["highest"], found["k"], found["k_whole"]) == (3, 1.0, 1, 1)
    assert found["expected"] == pytest.approx(4 * pair + 1)
    assert found["unique_households"] == 1


def test_special_and_population_uniqueness_on_request() -> None:
    keys = ["age", "education", "marital-status", "race", "sex"]
    found = unveil.measure("adult", keys, sampling_fraction=0.1, special=True, loglinear=1).to_dict()["uniqueness"]
    assert found["special"]["special_uniques"] > 0
    assert 0 < found["population"]["dankar"]["value"] < 30_162 / 0.1
    assert 0 < found["loglinear"]["population_uniques"] < found["sample"]["uniques"]
    plain = unveil.measure("adult", keys).to_dict()["uniqueness"]
    assert set(plain) == {"sample"}


def test_a_loglinear_model_needs_a_fraction_and_an_order() -> None:
    with pytest.raises(ArgumentError, match="sampling fraction"):
        unveil.measure("paper-2", "Age*", loglinear=1)
    with pytest.raises(ArgumentError, match="order 1"):
        unveil.measure("paper-2", "Age*", loglinear=3, sampling_fraction=0.5)


@given(tables(), st.sampled_from([0.0, 0.5, 1.0]))
def test_wildcard_nulls_match_anything(frame: pl.DataFrame, alpha: float) -> None:
    """Each record's f is the sum over the records that match it: itself and equals in full, others with a null by alpha."""
    rows = together(frame, ["a", "b"])

    def counted(one: tuple[Any, ...], other: tuple[Any, ...]) -> float:
        if one == other:
            return 1.0
        if any(x != y and x is not None and y is not None for x, y in zip(one, other, strict=True)):
            return 0.0
        return alpha if None in other else 1.0

    sizes = [sum(counted(one, other) for other in rows) for one in rows]
    found = unveil.measure(frame, ["a", "b"], "c", nulls="wildcard", alpha=alpha, **keyed)  # type: ignore[arg-type]
    assert found["k_anonymity"].value == pytest.approx(min(sizes))
    assert found.to_dict()["risk"]["prosecutor"]["average"] == pytest.approx(sum(1 / size for size in sizes) / len(sizes))
    secrets = frame["c"].to_list()
    held = [{secrets[at] for at, other in enumerate(rows) if counted(one, other) > 0} for one in rows]
    assert found["distinct_l_diversity", "c"].value == min(map(len, held))


def test_it_is_said_against_whom_wildcards_hold() -> None:
    frame = pl.DataFrame({"a": ["p", None], "b": ["x", "x"]})
    found = unveil.measure(frame, ["a", "b"], nulls="wildcard")
    assert "has the release alone" in found.to_dict()["notes"][0]
    assert found.notes[0] in found.view().notes
    assert unveil.measure(frame, ["a", "b"]).to_dict()["notes"] == []


def test_wildcard_without_nulls_is_the_plain_measure() -> None:
    plain = unveil.measure("adult", ["sex", "race"], "occupation").to_dict()
    wild = unveil.measure("adult", ["sex", "race"], "occupation", nulls="wildcard").to_dict()
    assert wild["models"] == plain["models"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"nulls": "wild"}, "nulls 'wild' is unknown"),
        ({"threshold": 0.0}, "threshold is 0.0; it must be above 0 and at most 1"),
        ({"suppressed": "gone"}, "'gone'"),
        ({"orders": {"z": [1]}}, "'z'"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises((ArgumentError, ColumnNotFoundError), match=words):
        unveil.measure("paper-2", "Age*", "Disease", **options)


def test_records_without_any_key_value_are_no_special_uniques() -> None:
    frame = pl.DataFrame({"a": ["p", "p", "*", None], "b": ["q", "q", "*", "*"]})
    found = unveil.measure(frame, ["a", "b"], special=True, sampling_fraction=0.5, loglinear=1).to_dict()["uniqueness"]
    assert found["sample"]["uniques"] == found["special"]["special_uniques"] == found["loglinear"]["sample_uniques"] == 0


def test_individual_risk_and_wildcards_do_not_go_together() -> None:
    with pytest.raises(ArgumentError, match="no meaning if nulls match any value"):
        unveil.measure(pl.DataFrame({"a": ["p", None], "w": [1.0, 2.0]}), "a", weights="w", nulls="wildcard")


def test_with_weights_the_log_linear_figure_leads_and_the_individual_risk_says_that_it_understates() -> None:
    """Against the truth: a tenth of Adult, every record standing for ten people."""
    keys = ["age", "education", "sex", "race", "native-country"]
    adult = unveil.datasets.adult()
    sample = adult.sample(adult.height // 10, seed=1).with_columns(pl.lit(10.0).alias("weight"))
    found = unveil.measure(sample, keys, weights="weight", population=adult)
    order = list(found.risk)
    assert order.index("loglinear") < order.index("individual_exact")
    truth = found.risk["marketer"]["average"]
    assert found.risk["loglinear"]["rate"] == pytest.approx(truth, rel=0.15)
    assert found.risk["loglinear"]["sampling_fraction"] == pytest.approx(0.1)
    assert found.risk["individual_exact"]["rate"] < 0.6 * truth
    assert all("understates" in found.risk[name]["note"] for name in ("individual_exact", "individual_approximate"))
    figures = {figure.label: figure.value for figure in found.view().figures}
    assert figures["correct matches"] == f"{found.risk['loglinear']['expected']:,.1f}"
    assert any("read the log-linear figure" in note for note in found.view().notes)


def test_the_log_linear_model_comes_with_its_fit_and_an_interval_or_the_reason_for_none() -> None:
    keys = ["age", "education", "sex", "race", "native-country"]
    adult = unveil.datasets.adult()
    sample = adult.sample(adult.height // 10, seed=1)
    one, two = (unveil.measure(sample, keys, sampling_fraction=0.1, loglinear=order, population=adult) for order in (1, 2))
    truth = one.uniqueness["simple"]["population_uniques"]
    first, second = one.uniqueness["loglinear"], two.uniqueness["loglinear"]
    assert first["fit"]["verdict"] == "overstates"
    assert first["interval"]["low"] <= truth <= first["interval"]["high"]
    assert second["fit"]["verdict"] == "understates"
    assert second["interval"] is None
    assert "understates" in second["interval_reason"]
    assert any("95 % interval" in note and "overstates" in note for note in one.view().notes)
    assert any("no interval: the model follows the sample" in note for note in two.view().notes)
