"""Requirements on the sizes of classes: against their definitions, on every generalisation of small tables."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import poisson

import unveil
from unveil.errors import ArgumentError, ModelNotMetError
from unveil.measures.population import population_uniqueness
from unveil.models import (
    EstimatedKMap,
    GrassbergerLDiversity,
    KAnonymity,
    NoAttack,
    PopulationUniques,
    PresentDeltaDisclosure,
    SampleUniques,
)
from unveil.models.requirements import parse_delta, parse_k_map, parse_l, parse_no_attack, parse_uniqueness

TREES = {
    "age": unveil.Hierarchy.from_levels(["1", "2", "3", "4"], ["a", "a", "b", "b"], ["*"] * 4),
    "town": unveil.Hierarchy.from_levels(["p", "q", "r"], ["x", "x", "y"], ["*"] * 3),
}
people = st.lists(st.tuples(st.integers(1, 4), st.sampled_from("pqr"), st.sampled_from("uvw")), min_size=4, max_size=16)


def frame_of(rows: list[tuple[int, str, str]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["age", "town", "job"], orient="row")


def generalised(row: tuple[Any, ...], node: tuple[int, ...]) -> tuple[str, ...]:
    pairs = zip(row[:2], TREES.values(), node, strict=True)
    return tuple(next(labels for labels in tree.labels if labels[0] == str(value))[level] for value, tree, level in pairs)


def fewest(sizes: list[int], fits: Any) -> int:
    """Return the fewest records in classes of one that must go, tried one by one."""
    alone = sizes.count(1)
    rest = [size for size in sizes if size > 1]
    return next(gone for gone in range(alone + 1) if fits([1] * (alone - gone) + rest))


@settings(max_examples=20)
@given(people, st.sampled_from([0.0, 0.1, 0.25]), st.sampled_from([0.0, 0.2, 0.5]))
def test_a_share_of_uniques_is_met_at_the_least_cost(rows: list[tuple[int, str, str]], share: float, most: float) -> None:
    costs = []
    for node in product(range(3), repeat=2):
        sizes = list(Counter(generalised(row, node) for row in rows).values())
        lost = fewest(sizes, lambda kept: not kept or kept.count(1) / sum(kept) <= share + 1e-9)
        if lost <= most * len(rows):
            costs.append((len(rows) - lost) * sum(level / 2 for level in node) / 2 + lost)
    release = unveil.anonymize(frame_of(rows), TREES, [SampleUniques(share)], suppression=most, objective="precision")
    assert release.optimal
    assert release.score == pytest.approx(min(costs) / len(rows))
    kept = release.data.filter(~((pl.col("age") == "*") & (pl.col("town") == "*"))) if release.suppressed else release.data
    alone = kept.group_by("age", "town").len().filter(pl.col("len") == 1).height
    assert alone <= share * kept.height + 1e-9
    assert release.models["sample_uniqueness",].met


@settings(max_examples=20)
@given(people, st.sampled_from(["dankar", "zayatz", "pitman", "snb"]), st.sampled_from([0.0, 0.5]))
def test_uniques_of_the_population_are_as_the_estimator_says(
    rows: list[tuple[int, str, str]], estimator: Any, most: float
) -> None:
    model, people_ = PopulationUniques(0.02, 0.2, estimator), len(rows) * 5

    def share(sizes: list[int]) -> float:
        if 1 not in sizes:
            return 0.0
        found = population_uniqueness(sizes, population=people_)
        chosen = getattr(found, estimator).share
        return float((found.zayatz.share or 0.0) if chosen is None else chosen)

    free = []
    for node in product(range(3), repeat=2):
        sizes = list(Counter(generalised(row, node) for row in rows).values())
        if share(sizes) <= 0.02:
            free.append(sum(node))
    release = unveil.anonymize(frame_of(rows), TREES, [model], suppression=most, objective="height")
    measured = release.models["population_uniqueness",]
    assert measured.met
    if not most:
        assert release.score == min(free)


def test_a_release_of_pairs_has_no_uniques_anywhere() -> None:
    rows = [(age, town, "u") for age in (1, 2, 3, 4) for town in "pqr"]
    for model in (SampleUniques(0.3), PopulationUniques(0.001, 0.1)):
        release = unveil.recode_locally(frame_of(rows), ["age", "town"], [model], hierarchies=TREES)
        assert release.data.group_by("age", "town").len()["len"].min() >= 2


@pytest.mark.parametrize(
    ("k", "fraction", "significance"), [(20, 0.1, 0.01), (50, 0.3, 0.05), (5, 0.9, 0.01), (3, 0.01, 0.2), (7, 1.0, 0.01)]
)
def test_the_smallest_class_of_an_estimated_k_map(k: int, fraction: float, significance: float) -> None:
    mean, expected = fraction * k, {}
    for estimator, given_one in (("poisson", 1.0), ("zero-truncated", 1.0 - math.exp(-mean))):
        chances = [poisson.pmf(n, mean) for n in range(400)]
        tails = [sum(chances[size:]) / given_one for size in range(1, k)]
        expected[estimator] = next((size for size, tail in enumerate(tails, start=1) if tail <= significance + 1e-15), k)
    found = {one: EstimatedKMap(k, fraction, significance, one).threshold for one in ("poisson", "zero-truncated")}
    assert found == (expected if fraction < 1.0 else dict.fromkeys(expected, k))


def test_no_attack_pays_where_classes_are_large_enough() -> None:
    assert [NoAttack(gain, 4.0).threshold for gain in (0.0, 3.9, 4.0, 7.9, 8.0, 300.0)] == [1, 1, 2, 2, 3, 76]
    for gain in (3.9, 4.0, 7.9, 8.0, 11.0):
        size = int(NoAttack(gain, 4.0).threshold or 0)
        assert gain / size < 4.0
        assert size == 1 or gain / (size - 1) >= 4.0


def grassberger(counts: list[int]) -> float:
    """Return the entropy from the recursion G(1) = -gamma - ln 2, G(2) = 2 - gamma - ln 2, G(2n + 1) = G(2n), G(2n + 2) = G(2n) + 2/(2n + 1)."""
    table = {1: -np.euler_gamma - math.log(2.0), 2: 2.0 - np.euler_gamma - math.log(2.0)}
    for n in range(2, 60, 2):
        table[n + 1], table[n + 2] = table[n], table[n] + 2.0 / (n + 1)
    return table[sum(counts)] - sum(n * table[n] for n in counts) / sum(counts)


@settings(max_examples=20)
@given(people, st.sampled_from([1.5, 2.0, 2.5]))
def test_grassbergers_entropy_is_required_of_every_class(rows: list[tuple[int, str, str]], l: float) -> None:  # noqa: E741
    free = []
    for node in product(range(3), repeat=2):
        jobs: dict[tuple[str, ...], Counter[str]] = {}
        for row in rows:
            jobs.setdefault(generalised(row, node), Counter())[row[2]] += 1
        counts = [list(one.values()) for one in jobs.values()]
        if all(len(one) >= l and grassberger(one) >= math.log(l) - 1e-9 for one in counts):
            free.append(sum(node))
    models = [GrassbergerLDiversity("job", l)]
    if not free:
        with pytest.raises(ModelNotMetError):
            unveil.anonymize(frame_of(rows), TREES, models, objective="height")
        return
    release = unveil.anonymize(frame_of(rows), TREES, models, objective="height")
    assert (release.score, release.optimal) == (min(free), True)


def test_classes_that_meet_grassbergers_model_may_fail_as_one_so_finer_recodings_refuse_it() -> None:
    assert grassberger([1, 1]) > math.log(2.0) > grassberger([2, 2])
    with pytest.raises(ArgumentError, match="may fail when classes that meet it are joined"):
        unveil.mondrian(frame_of([(1, "p", "u"), (2, "q", "v")]), ["age", "town"], [GrassbergerLDiversity("job", 1.5)])


@settings(max_examples=20)
@given(people, st.sampled_from([0.5, 1.1, 2.0]), st.sampled_from([0.0, 0.3]))
def test_values_that_a_class_lacks_do_not_count_where_only_those_present_do(
    rows: list[tuple[int, str, str]], delta: float, share: float
) -> None:
    whole = Counter(row[2] for row in rows)
    free = []
    for node in product(range(3), repeat=2):
        jobs: dict[tuple[str, ...], Counter[str]] = {}
        for row in rows:
            jobs.setdefault(generalised(row, node), Counter())[row[2]] += 1
        beyond = [
            one.total()
            for one in jobs.values()
            if max(abs(math.log2(n / one.total() / (whole[job] / len(rows)))) for job, n in one.items()) >= delta - 1e-9
        ]
        if sum(beyond) <= math.floor(share * len(rows) + 1e-9):
            free.append(sum(node))
    assert free  # everybody in one class: every share is that of the table
    release = unveil.anonymize(
        frame_of(rows), TREES, [PresentDeltaDisclosure("job", delta)], objective="height", suppression=share
    )
    assert (release.score, release.optimal) == (min(free), True)


def test_classes_that_lack_a_value_meet_delta_of_those_present_until_they_become_one() -> None:
    rows = [(1, "p", "u")] * 3 + [(1, "q", "v")] * 3 + [(1, "q", "w")] + [(4, "r", "w")] * 9
    frame, asked = frame_of(rows), [PresentDeltaDisclosure("job", 3.0)]
    found = unveil.measure(frame, "town", "job", models=asked).to_dict()["models"]["present_delta_disclosure"]["job"]
    assert found["value"] == pytest.approx(math.log2(16 / 3))
    assert found["met"] is True
    assert parse_delta("present:1.5:job", ["job"]) == PresentDeltaDisclosure("job", 1.5)
    assert "present_delta_disclosure" not in unveil.measure(frame, "town", "job").to_dict()["models"]
    with pytest.raises(ArgumentError, match="may fail when classes that meet it are joined"):
        unveil.mondrian(frame, ["age", "town"], asked)


def test_measures_say_them_only_where_they_are_asked_for() -> None:
    frame = frame_of([(1, "p", "u"), (1, "p", "v"), (2, "q", "v")])
    plain = unveil.measure(frame, ["age", "town"], "job").to_dict()["models"]
    assert not {"sample_uniqueness", "population_uniqueness", "no_attack", "estimated_k_map", "grassberger_l_diversity"} & set(
        plain
    )
    asked = unveil.measure(frame, ["age", "town"], "job", models=[SampleUniques(0.5), NoAttack(4, 2), KAnonymity(1)])
    found = asked.to_dict()["models"]
    assert found["sample_uniqueness"]["value"] == pytest.approx(1 / 3)
    assert (found["sample_uniqueness"]["met"], found["no_attack"]["met"]) == (True, False)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: SampleUniques(2.0), "from 0 to 1"),
        (lambda: PopulationUniques(0.1, 0.0), "sampling fraction"),
        (lambda: PopulationUniques(0.1, 0.5, "guess"), "estimator"),  # type: ignore[arg-type]
        (lambda: EstimatedKMap(0, 0.5), "at least 1"),
        (lambda: EstimatedKMap(5, 0.5, 2.0), "significance"),
        (lambda: NoAttack(-1.0, 2.0), "gain"),
        (lambda: NoAttack(1.0, 0.0), "cost"),
        (lambda: parse_uniqueness("sample:0.1:0.2"), "`uniqueness` takes"),
        (lambda: parse_uniqueness("sample:2"), "between 0 and 1"),
        (lambda: parse_uniqueness("population:0.1"), "a number is missing"),
        (lambda: parse_uniqueness("population:0.1:0.2:guess"), "estimator"),
        (lambda: parse_k_map("5:0.1:0.05:guess"), "estimator"),
        (lambda: parse_no_attack("5"), "a number is missing"),
        (lambda: parse_l("grassberger:x:job", ["job"]), "is not a number"),
    ],
)
def test_what_means_nothing_is_refused(call: Any, said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        call()
