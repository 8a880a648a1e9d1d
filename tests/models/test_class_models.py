"""Every class-based model against brute force from its definition, and by name what people get wrong."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.stats import entropy as scipy_entropy
from scipy.stats import wasserstein_distance

import unveil
from helpers import shared, together
from unveil.errors import ArgumentError, EmptyDataError, UnveilError
from unveil.models import (
    AlphaK,
    DeltaDisclosure,
    DistinctLDiversity,
    EnhancedBetaLikeness,
    EntropyLDiversity,
    KAnonymity,
    PSensitiveKAnonymity,
    RecursiveLDiversity,
    TCloseness,
)
from unveil.models.closeness import Scale
from unveil.testing import tables

CLOSE = 1e-9


def classes_of(frame: pl.DataFrame, keys: Sequence[str], secret: str) -> list[list[Any]]:
    """The sensitive values of every class, straight from the rows; records without any key value form no class."""
    found: dict[Any, list[Any]] = {}
    for key, value in zip(together(frame, keys), frame[secret].to_list(), strict=True):
        if any(part not in (None, "*") for part in key):
            found.setdefault(key, []).append(value)
    return list(found.values())


def shares(values: Sequence[Any], universe: Sequence[Any]) -> list[float]:
    counted = Counter(values)
    return [counted[value] / len(values) for value in universe]


def transport(p: Sequence[float], q: Sequence[float], distance: np.ndarray[Any, Any]) -> float:
    """The earth mover distance as the linear program of the transport problem."""
    size = len(p)
    constraints = np.zeros((2 * size, size * size))
    for at in range(size):
        constraints[at, at * size : (at + 1) * size] = 1
        constraints[size + at, at::size] = 1
    solved = linprog(distance.ravel(), A_eq=constraints, b_eq=[*p, *q], bounds=(0, None))
    return float(solved.fun)


def measured(frame: pl.DataFrame, **options: Any) -> dict[str, Any]:
    assume(classes_of(frame, ["a", "b"], "c"))
    models: dict[str, Any] = unveil.measure(frame, ["a", "b"], "c", **options).to_dict()["models"]
    return models


@given(tables())
def test_sizes_and_distinct_values(frame: pl.DataFrame) -> None:
    models, classes = measured(frame), classes_of(frame, ["a", "b"], "c")
    assert models["k_anonymity"]["value"] == min(map(len, classes))
    assert models["distinct_l_diversity"]["c"]["value"] == min(len(set(some)) for some in classes)
    assert models["p_sensitivity"]["c"]["value"] == min(len(set(some)) for some in classes)
    assert models["average_risk"]["value"] == pytest.approx(len(classes) / sum(map(len, classes)))
    assert models["alpha"]["c"]["value"] == pytest.approx(max(max(Counter(some).values()) / len(some) for some in classes))


@given(tables())
def test_entropy_diversity_is_a_real_number(frame: pl.DataFrame) -> None:
    models, classes = measured(frame), classes_of(frame, ["a", "b"], "c")
    worst = min(2 ** scipy_entropy(list(Counter(some).values()), base=2) for some in classes)
    assert models["entropy_l_diversity"]["c"]["value"] == pytest.approx(worst, abs=CLOSE)


@given(tables(max_rows=20))
def test_recursive_diversity_takes_counts_in_falling_order(frame: pl.DataFrame) -> None:
    models, classes = measured(frame), classes_of(frame, ["a", "b"], "c")
    falling = [sorted(Counter(some).values(), reverse=True) for some in classes]
    fewest = min(map(len, falling))
    found = models.get("recursive_l_diversity", {}).get("c", {})
    assert set(found) == {str(length) for length in range(2, fewest + 1)}
    for length in range(2, fewest + 1):
        assert found[str(length)]["value"] == pytest.approx(max(r[0] / sum(r[length - 1 :]) for r in falling))


@given(tables())
def test_distances_between_distributions(frame: pl.DataFrame) -> None:
    models, classes = measured(frame), classes_of(frame, ["a", "b"], "c")
    universe = sorted(set(frame["c"].to_list()), key=str)
    whole = np.array(shares(frame["c"].to_list(), universe))
    parts = [np.array(shares(some, universe)) for some in classes]
    found = models["t_closeness"]["c"]
    equal = max(np.abs(p - whole).sum() / 2 for p in parts)
    assert found["equal"]["value"] == pytest.approx(equal, abs=CLOSE)
    assert found["variational"]["value"] == pytest.approx(equal, abs=CLOSE)
    assert found["kl"]["value"] == pytest.approx(max(scipy_entropy(p, whole, base=2) for p in parts), abs=CLOSE)
    middle = [(scipy_entropy(p, (p + whole) / 2, base=2) + scipy_entropy(whole, (p + whole) / 2, base=2)) / 2 for p in parts]
    assert found["js"]["value"] == pytest.approx(max(middle), abs=CLOSE)
    gains = [[(a - b) / b for a, b in zip(p, whole, strict=True) if a > b] for p in parts]
    assert models["basic_beta_likeness"]["c"]["value"] == pytest.approx(
        max((max(gain, default=0) for gain in gains), default=0), abs=CLOSE
    )
    ratios = [max(abs(math.log(a / b)) if a else math.inf for a, b in zip(p, whole, strict=True)) for p in parts]
    value = models["delta_disclosure"]["c"]["value"]
    assert (math.inf if value == "inf" else value) == pytest.approx(max(ratios), abs=CLOSE)


@given(tables(columns=2), st.data())
def test_ordered_distances_are_the_transport_problem_and_scipys(frame: pl.DataFrame, data: st.DataObject) -> None:
    assume(classes_of(frame, ["a"], "b"))
    numbers = data.draw(st.lists(st.sampled_from([1, 2, 4, 10]), min_size=frame.height, max_size=frame.height))
    frame = frame.with_columns(b=pl.Series(numbers))
    found = unveil.measure(frame, "a", "b").to_dict()["models"]["t_closeness"]["b"]
    universe = sorted(set(numbers))
    whole, size = shares(numbers, universe), len(universe)
    classes = classes_of(frame, ["a"], "b")
    by_rank = np.abs(np.subtract.outer(np.arange(size), np.arange(size))) / max(size - 1, 1)
    assert found["rank"]["value"] == pytest.approx(max(transport(shares(c, universe), whole, by_rank) for c in classes), abs=1e-7)
    span = max(universe) - min(universe) or 1
    assert found["value"]["value"] == pytest.approx(max(wasserstein_distance(c, numbers) / span for c in classes), abs=CLOSE)


LEAVES = ["a1", "a2", "b1", "b2", "c1"]
TREE = unveil.Hierarchy.from_levels(LEAVES, ["a", "a", "b", "b", "c"], ["ab", "ab", "ab", "ab", "c"])


@given(st.lists(st.tuples(st.sampled_from("xyz"), st.sampled_from(LEAVES)), min_size=2, max_size=12))
def test_hierarchical_distance_is_the_transport_problem(rows: list[tuple[str, str]]) -> None:
    frame = pl.DataFrame(rows, schema=["a", "b"], orient="row")
    universe = sorted(set(frame["b"]))
    ancestors = {
        row[0]: row
        for row in (
            ("a1", "a", "ab", "*"),
            ("a2", "a", "ab", "*"),
            ("b1", "b", "ab", "*"),
            ("b2", "b", "ab", "*"),
            ("c1", "c", "c", "*"),
        )
    }
    height = 3

    def apart(one: str, other: str) -> float:
        return next(at for at in range(height + 1) if ancestors[one][at] == ancestors[other][at]) / height

    distance = np.array([[apart(one, other) for other in universe] for one in universe])
    whole = shares(frame["b"].to_list(), universe)
    expected = max(transport(shares(some, universe), whole, distance) for some in classes_of(frame, ["a"], "b"))
    found = unveil.measure(frame, "a", "b", hierarchies={"b": TREE}).to_dict()["models"]["t_closeness"]["b"]["hierarchical"]
    assert found["value"] == pytest.approx(expected, abs=1e-7)


@given(tables())
def test_fewer_keys_or_coarser_ones_never_raise_t(frame: pl.DataFrame) -> None:
    """With suppressed records as a class, so that the same records are in classes before and after."""
    options: dict[str, Any] = {"suppressed": "class"}
    fine = unveil.measure(frame, ["a", "b"], "c", **options)
    fewer = unveil.measure(frame, "a", "c", **options)
    coarse = unveil.measure(frame, ["a", "b"], "c", partitions={"b": [["x", "y"], ["z"]]}, **options)
    for distance in ("equal", "kl", "js"):
        place = ("t_closeness", "c", distance)
        for coarser in (fewer, coarse):
            assert coarser[place].value <= fine[place].value + CLOSE  # type: ignore[operator]


def undisclosed(figures: dict[str, Any]) -> dict[str, Any]:
    """The figures without what the class that decides discloses, which depends on all sensitive attributes."""
    return {**figures, "worst_class": {**figures["worst_class"], "discloses": None}}


@given(tables(columns=4))
def test_several_sensitive_attributes_are_measured_alone_and_jointly(frame: pl.DataFrame) -> None:
    assume(classes_of(frame, ["a", "b"], "c"))
    both = unveil.measure(frame, ["a", "b"], ["c", "d"]).to_dict()["models"]
    joint = frame.with_columns(both=pl.Series([str(row) for row in together(frame, ["c", "d"])]))
    alone = {name: unveil.measure(joint, ["a", "b"], name).to_dict()["models"] for name in ("c", "d", "both")}
    for model in ("distinct_l_diversity", "entropy_l_diversity", "alpha", "basic_beta_likeness"):
        for name in ("c", "d"):
            assert undisclosed(both[model][name]) == undisclosed(alone[name][model][name])
        assert both[model]["c + d"]["value"] == pytest.approx(alone["both"][model]["both"]["value"])


def test_adult_gives_the_published_figures() -> None:
    models = unveil.measure("adult", ["sex", "race"], "occupation").to_dict()["models"]
    assert models["k_anonymity"]["value"] == 87
    assert models["distinct_l_diversity"]["occupation"]["value"] == 10
    assert models["entropy_l_diversity"]["occupation"]["value"] == pytest.approx(7.555588, abs=1e-6)
    assert models["t_closeness"]["occupation"]["equal"]["value"] == pytest.approx(0.324962, abs=1e-6)
    assert models["alpha"]["occupation"]["value"] == pytest.approx(0.278912, abs=1e-6)
    assert models["basic_beta_likeness"]["occupation"]["value"] == pytest.approx(17.722533, abs=1e-6)
    closeness = unveil.measure("adult", ["marital-status", "sex"], "hours-per-week").to_dict()["models"]["t_closeness"][
        "hours-per-week"
    ]
    assert closeness["rank"]["value"] == pytest.approx(0.160820, abs=1e-6)
    assert closeness["value"]["value"] == pytest.approx(0.160009, abs=1e-6)


def test_pycanon_gives_the_same_where_it_is_right() -> None:
    """Figures of pycanon 1.3.6 on the same data; it truncates entropy l to 7 and leaves absent values out of delta."""
    found = unveil.measure("adult", ["sex", "race"], "occupation")
    assert found["t_closeness", "occupation", "equal"].value == pytest.approx(0.3249624441807344, abs=1e-15)
    assert found["alpha", "occupation"].value == pytest.approx(0.2789115646258503, abs=1e-15)
    assert found["basic_beta_likeness", "occupation"].value == pytest.approx(17.722532588454378, abs=1e-12)
    assert found["delta_disclosure", "occupation"].value == math.inf
    by_rank = unveil.measure("adult", ["marital-status", "sex"], "hours-per-week")["t_closeness", "hours-per-week", "rank"]
    assert by_rank.value == pytest.approx(0.1608198642503718, abs=1e-12)
    keys = ["age", "workclass", "education", "marital-status", "race", "sex", "native-country"]
    assert unveil.measure("adult", keys, "occupation")["t_closeness", "occupation", "equal"].value == pytest.approx(
        0.9997016112989857, abs=1e-12
    )


def test_documents_examples_of_closeness() -> None:
    """Salary: 0.375 and 0.167; Disease: 4/9 and 8/27 (print says 0.5 and 0.278, an erratum)."""
    table = unveil.datasets.load("t-closeness-3").with_columns(group=pl.Series([1, 1, 1, 2, 2, 2, 3, 3, 3]))
    table = table.with_columns(amount=pl.col("Salary").str.strip_chars_end("K").cast(pl.Int64))
    tree = unveil.datasets.hierarchy("disease", column="Disease")
    for rows, salary, disease in (([0, 1, 2], 0.375, 4 / 9), ([3, 4, 5], 1 / 6, 8 / 27)):
        found = unveil.measure(table[rows], "group", ["amount", "Disease"], reference=table, hierarchies={"Disease": tree})
        assert found["t_closeness", "amount", "rank"].value == pytest.approx(salary)
        assert found["t_closeness", "Disease", "hierarchical"].value == pytest.approx(disease)


def test_two_sensitive_k_anonymity_of_1000_patients_allows_five_groups() -> None:
    """Five positives among 1,000: with p = 2 every class needs one, so there are at most five classes."""
    positive = ["yes"] * 5 + ["no"] * 995
    five = pl.DataFrame({"group": [at % 5 for at in range(1000)], "hiv": positive})
    six = pl.DataFrame({"group": [at % 6 for at in range(1000)], "hiv": positive})
    assert unveil.measure(five, "group", "hiv", models=[PSensitiveKAnonymity("hiv", 2)]).met is True
    assert unveil.measure(six, "group", "hiv", models=[PSensitiveKAnonymity("hiv", 2)]).met is False


def test_three_equally_frequent_values_have_an_entropy_l_of_three() -> None:
    frame = pl.DataFrame({"y": [1] * 9, "x": ["a", "b", "c"] * 3})
    found = unveil.measure(frame, "y", "x", models=[EntropyLDiversity("x", 3)])
    assert found["entropy_l_diversity", "x"].value == pytest.approx(3.0)
    assert found.met is True
    assert unveil.measure(frame, "y", "x", models=[EntropyLDiversity("x", 3.0001)]).met is False


def test_recursive_diversity_is_strict() -> None:
    frame = pl.DataFrame({"y": [1] * 6, "x": list("aaabbc")})  # r = 3, 2, 1
    assert unveil.measure(frame, "y", "x", models=[RecursiveLDiversity("x", 2, 1.0)]).met is False
    assert unveil.measure(frame, "y", "x", models=[RecursiveLDiversity("x", 2, 1.0001)]).met is True
    assert unveil.measure(frame, "y", "x", models=[RecursiveLDiversity("x", 3, 3.0)]).met is False
    assert (
        unveil.measure(frame, "y", "x", models=[RecursiveLDiversity("x", 4, 99.0)])["recursive_l_diversity", "x", "4"].value
        == math.inf
    )


def test_a_null_key_is_a_class_of_its_own() -> None:
    """pycanon drops null keys and reports k = 2 here."""
    frame = pl.DataFrame({"a": ["p", "p", None], "b": ["q", "q", "q"], "x": [1, 2, 3]})
    assert unveil.measure(frame, ["a", "b"], "x")["k_anonymity"].value == 1


def test_suppressed_records_are_counted_apart_unless_asked() -> None:
    frame = pl.DataFrame({"a": ["p", "p", "*", None], "b": ["q", "q", "*", "*"], "x": [1, 2, 3, 3]})
    apart = unveil.measure(frame, ["a", "b"], "x")
    assert (apart["k_anonymity"].value, apart.classes, apart.suppressed, apart.made.records) == (2, 1, 2, 4)
    assert apart["t_closeness", "x", "equal"].value == pytest.approx(0.5)  # compared with the whole table as given
    within = unveil.measure(frame, ["a", "b"], "x", suppressed="class")
    assert (within["k_anonymity"].value, within.classes, within.suppressed) == (1, 3, 0)


def test_all_suppressed_is_said() -> None:
    with pytest.raises(EmptyDataError, match="all 2 records are suppressed"):
        unveil.measure(pl.DataFrame({"a": ["*", None], "x": [1, 2]}), "a", "x")


def test_violations_are_counted_and_the_worst_class_shown() -> None:
    frame = pl.DataFrame({"a": list("ppqqqr"), "x": list("uvuuvu")})
    found = unveil.measure(frame, "a", "x", models=[KAnonymity(3), DistinctLDiversity("x", 2), AlphaK("x", 0.5, 2)])
    models = found.to_dict()["models"]
    assert models["k_anonymity"]["violations"] == {"classes": 2, "records": 3}
    assert models["k_anonymity"]["worst_class"] == {"key": {"a": "r"}, "size": 1, "discloses": ["x"]}
    assert models["distinct_l_diversity"]["x"]["violations"] == {"classes": 1, "records": 1}
    assert models["alpha"]["x"]["violations"] == {"classes": 2, "records": 4}
    assert found.met is False


def test_without_requirements_there_is_no_verdict() -> None:
    found = unveil.measure("paper-2", "Age*", "Disease")
    assert found.met is None
    assert "violations" not in found.to_dict()["models"]["k_anonymity"]


def test_a_reference_table_that_lacks_a_value_makes_kl_infinite() -> None:
    frame = pl.DataFrame({"y": [1, 1], "x": ["a", "b"]})
    found = unveil.measure(frame, "y", "x", reference=pl.DataFrame({"x": ["a", "c"]}))
    assert found["t_closeness", "x", "kl"].value == math.inf
    assert found["t_closeness", "x", "kl"].reason
    assert found["t_closeness", "x", "equal"].value == pytest.approx(0.5)


def test_an_order_ranks_values_that_are_no_numbers() -> None:
    frame = pl.DataFrame({"y": [1, 1, 2, 2], "x": ["low", "mid", "high", "high"]})
    found = unveil.measure(frame, "y", "x", orders={"x": ["low", "mid", "high"]})
    assert found["t_closeness", "x", "rank"].value == pytest.approx(0.375)
    assert ("t_closeness", "x", "value") not in found.models
    with pytest.raises(ArgumentError, match="1 of the 3 values"):
        unveil.measure(frame, "y", "x", orders={"x": ["low", "mid"]})


@pytest.mark.parametrize(
    ("models", "words"),
    [
        ([TCloseness("x", 0.2, "rank")], "have no order"),
        ([TCloseness("x", 0.2, "hierarchical")], "needs a hierarchy"),
        ([DistinctLDiversity("z", 2)], "those measured are: x"),
        ([unveil.models.KMap(3)], "population"),
    ],
)
def test_a_model_that_cannot_be_measured_says_what_it_needs(models: list[Any], words: str) -> None:
    frame = pl.DataFrame({"y": [1, 1], "x": ["a", "b"]})
    with pytest.raises(ArgumentError, match=words):
        unveil.measure(frame, "y", "x", models=models)


def test_an_unknown_distance_is_refused() -> None:
    with pytest.raises(ArgumentError, match="did you mean 'equal'"):
        TCloseness("x", 0.1, "equall")  # type: ignore[arg-type]


def test_delta_disclosure_is_strict_and_says_when_a_value_is_absent() -> None:
    frame = pl.DataFrame({"y": [1, 1, 2, 2], "x": ["a", "b", "a", "b"]})
    assert unveil.measure(frame, "y", "x", models=[DeltaDisclosure("x", 0.1)]).met is True
    absent = unveil.measure(pl.DataFrame({"y": [1, 1, 2], "x": ["a", "b", "a"]}), "y", "x")["delta_disclosure", "x"]
    assert absent.value == math.inf
    assert absent.reason is not None
    assert "lacks a value" in absent.reason


def test_arx_hierarchy_of_occupation_gives_a_distance_between_those_of_a_coarse_and_a_fine_tree() -> None:
    tree = unveil.Hierarchy.read(shared("data/arx-adult/adult_hierarchy_occupation.csv"), column="occupation")
    found = unveil.measure("adult", ["sex", "race"], "occupation", hierarchies={"occupation": tree})
    hierarchical, equal = (
        found["t_closeness", "occupation", "hierarchical"].value,
        found["t_closeness", "occupation", "equal"].value,
    )
    assert hierarchical is not None
    assert equal is not None
    assert 0 < hierarchical < equal


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: KAnonymity(0), "whole number from 1"),
        (lambda: KAnonymity(2.5), "whole number"),  # type: ignore[arg-type]
        (lambda: KAnonymity("5"), "not a text"),  # type: ignore[arg-type]
        (lambda: EntropyLDiversity("x", 0.5), "from 1"),
        (lambda: RecursiveLDiversity("x", 1, 2.0), "at least 2"),
        (lambda: TCloseness("x", 1.5), "t, of the distance .equal., is 1.5; it must be from 0 to 1"),
        (lambda: TCloseness("x", -0.1), "from 0"),
        (lambda: AlphaK("x", 1.5), "from 0 to 1"),
        (lambda: unveil.models.AverageRisk(2.0), "from 0 to 1"),
        (lambda: unveil.models.KMap(0), "from 1"),
        (lambda: unveil.models.KMap(1.5), "whole number"),  # type: ignore[arg-type]
        (lambda: unveil.models.KMap(math.nan), "must be a whole number"),  # type: ignore[arg-type]
        (lambda: unveil.models.DeltaPresence(0.1, 1.5), "from 0 to 1"),
        (lambda: unveil.models.DeltaPresence(math.nan), "from 0 to 1"),
        (lambda: unveil.models.DeltaPresence(0.9, 0.1), "0.9 is above 0.1"),
        (lambda: TCloseness("x", math.nan), "not nan"),
        (lambda: RecursiveLDiversity("x", 2.5, 1.0), "must be a whole number"),  # type: ignore[arg-type]
        (lambda: AlphaK("x", 0.5, 0), "must be at least 1"),
        (lambda: AlphaK("x", k=5), "use KAnonymity\\(5\\)"),
        (lambda: PSensitiveKAnonymity("x", k=5), "use KAnonymity\\(5\\)"),
        (lambda: PSensitiveKAnonymity("x", 1, -1), "must be at least 1"),
    ],
)
def test_a_threshold_that_means_nothing_is_refused(make: Any, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        make()


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0 - 1e-10, 1.0])
def test_a_class_smaller_than_k_meets_no_alpha(alpha: float) -> None:
    alone = pl.DataFrame({"a": [0, 1, 2, 3, 4], "b": [0, 1, 2, 0, 4]})
    found = unveil.measure(alone, "a", "b", models=[AlphaK("b", alpha, 2)])
    assert found.met is False
    assert found["alpha", "b"].value == math.inf
    assert found["alpha", "b"].reason == "a class is smaller than 2"
    assert found.to_dict()["models"]["alpha"]["b"]["violations"] == {"classes": 5, "records": 5}
    assert unveil.measure(alone, "a", "b", models=[PSensitiveKAnonymity("b", 1, 2)]).met is False
    together = alone.with_columns(a=pl.lit(0))
    assert unveil.measure(together, "a", "b", models=[AlphaK("b", alpha, 2)]).met is (alpha >= 0.4)


@pytest.mark.parametrize("model", [EnhancedBetaLikeness, DeltaDisclosure])
def test_a_figure_for_which_no_threshold_would_do_meets_not_even_an_infinite_one(model: Any) -> None:
    frame = pl.DataFrame({"a": [0, 0, 1, 1, 1, 1], "b": [0, 0, 1, 1, 1, 0]})
    found = unveil.measure(frame, "a", "b", models=[model("b", math.inf)])
    assert found[model.name, "b"].value == math.inf
    assert found.met is False


def test_a_requirement_named_twice_or_no_model_is_refused() -> None:
    with pytest.raises(ArgumentError, match="required twice"):
        unveil.measure("paper-2", "Age*", "Disease", models=[KAnonymity(5), KAnonymity(2)])
    with pytest.raises(ArgumentError, match=r"models: entry 1 must be a Model, not a text"):
        unveil.measure("paper-2", "Age*", "Disease", models=["k=5"])  # type: ignore[list-item]
    with pytest.raises(ArgumentError, match=r"entry 1 must be a Model, not a class"):
        unveil.measure("paper-2", "Age*", "Disease", models=[KAnonymity])  # type: ignore[list-item]


INFINITE = {"inf": math.inf, "-inf": -math.inf}


@pytest.mark.parametrize("value", INFINITE.values(), ids=INFINITE)
def test_an_infinite_number_is_a_value_with_a_rank_and_no_distance(value: float) -> None:
    frame = pl.DataFrame({"room": [1, 1, 1, 2, 2, 2], "pay": [1.0, 2.0, value, 1.0, 2.0, 3.0]})
    other = frame.with_columns(pl.col("pay").replace([value], [math.copysign(1e6, value)]))
    found, expected = (unveil.measure(some, "room", "pay").models for some in (frame, other))
    assert set(expected) - set(found) == {("t_closeness", "pay", "value")}
    for place, measured in found.items():
        assert measured.value == expected[place].value, place
    with pytest.raises(ArgumentError, match="'pay' needs finite numbers"):
        unveil.measure(frame, "room", "pay", models=[TCloseness("pay", 0.5, distance="value")])
    assert unveil.measure(frame, "pay", "room").to_dict()["models"]["k_anonymity"]["value"] == 1


@pytest.mark.parametrize(
    "values", [(2**60, 2**60 + 1, 2**60 + 3), (-1e308, 0.0, 1e308), (5e-324, 1e-323, 1e300)], ids=["long", "wide", "tiny"]
)
def test_numbers_at_the_limits_of_a_floating_point_number_have_an_answer(values: tuple[float, ...]) -> None:
    """Two integers may be one floating-point number, and a difference of two numbers may be infinite."""
    frame = pl.DataFrame({"room": [1, 1, 2, 2, 2], "pay": [values[0], values[1], values[0], values[1], values[2]]})
    small = frame.with_columns(pl.col("pay").replace_strict(values, [0.0, 1.0, 3.0]))
    found, expected = (unveil.measure(some, "room", "pay").models for some in (frame, small))
    assert found["t_closeness", "pay", "rank"].value == expected["t_closeness", "pay", "rank"].value
    by_value = found.get(("t_closeness", "pay", "value"))
    if isinstance(values[0], int):
        assert by_value is not None
        assert by_value.value == pytest.approx(expected["t_closeness", "pay", "value"].value)
    else:
        assert by_value is None or 0 <= (by_value.value or 0) <= 1


def test_the_levels_of_a_scale_are_those_of_the_values_asked_for() -> None:
    tree = unveil.Hierarchy("job", [["1", "a", "*"], ["2", "b", "*"], ["3", "b", "*"], ["true", "c", "*"]])
    scale = Scale("job", hierarchy=tree)
    for values in (["1", "3"], ["2", "3"], ["2", "3"], ["1", "2", "3"], [1, 2], [True]):
        fresh = Scale("job", hierarchy=tree).levels(values)
        assert [level.tolist() for level in scale.levels(values)] == [level.tolist() for level in fresh]
    with pytest.raises(UnveilError, match="value"):
        scale.levels(["4"])
