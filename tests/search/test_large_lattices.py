"""Lattices too large to hold: what boxes and a walk find is what holding the whole lattice finds, and the bound is one."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import unveil
from search.lattices import chosen
from unveil.counts import count_table
from unveil.errors import ModelNotMetError
from unveil.models import AverageRisk, EntropyLDiversity, KAnonymity, TCloseness
from unveil.search.lattice.boxes import Box, Sizes
from unveil.search.lattice.capacity import USUAL, Capacity
from unveil.search.lattice.full_domain import SearchResult
from unveil.search.lattice.space import Space, key_attributes
from unveil.search.lattice.wandering import LatticeWalk
from unveil.sources import load
from unveil.time_limit import SearchBudget

DIGITS = [f"{high}{low}" for high in "0123" for low in "01"]
TREE = unveil.Hierarchy.from_levels(
    DIGITS, [one[0] for one in DIGITS], ["01" if one < "2" else "23" for one in DIGITS], ["*"] * 8
)
KEYS = ["a", "b", "c"]
TREES = dict.fromkeys(KEYS, TREE)
tables = st.lists(st.tuples(*[st.sampled_from(DIGITS)] * 3, st.sampled_from("xyz")), min_size=8, max_size=60)
MODELS: list[list[Any]] = [
    [KAnonymity(3)],
    [KAnonymity(2), EntropyLDiversity("ill", 1.5)],
    [TCloseness("ill", 0.4)],
    [AverageRisk(0.3)],
]
ENOUGH: list[Any] = [KAnonymity(4), EntropyLDiversity("ill", 1.0)]
"""Models of which sizes alone do not tell."""
LARGE = Capacity(nodes=1)
"""With this, every lattice is too large to hold."""


def frame_of(rows: Sequence[tuple[str, ...]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=dict.fromkeys([*KEYS, "ill"], pl.String), orient="row")


def best(rows: Sequence[tuple[str, ...]], models: list[Any], capacity: Capacity = USUAL, **options: Any) -> SearchResult:
    return chosen(frame_of(rows), TREES, models, capacity, **options).best


def best_if_any(rows: Sequence[tuple[str, ...]], models: list[Any], capacity: Capacity, **options: Any) -> SearchResult | None:
    try:
        return best(rows, models, capacity, **options)
    except ModelNotMetError:
        return None


@settings(max_examples=50)
@given(tables, st.sampled_from(MODELS), st.sampled_from([0.0, 0.1, 0.4]), st.sampled_from(["loss", "entropy", "loss-geometric"]))
def test_boxes_find_what_the_whole_lattice_holds(
    rows: Sequence[tuple[str, ...]], models: list[Any], share: float, objective: str
) -> None:
    options: dict[str, Any] = {"suppression": share, "objective": objective}
    whole, boxed = (best_if_any(rows, models, capacity, **options) for capacity in (USUAL, LARGE))
    assert (whole is None) == (boxed is None)
    assume(whole is not None)
    assert whole is not None
    assert boxed is not None
    assert boxed.optimal
    assert boxed.score == pytest.approx(whole.score, abs=1e-12)
    assert boxed.bound == boxed.score


def test_under_a_time_limit_a_walk_and_boxes_begin_earlier_where_there_are_boxes() -> None:
    rows = [(DIGITS[at * at % 8], DIGITS[at % 7], DIGITS[at * 3 % 5], "x") for at in range(80)]
    whole, boxed = (best(rows, ENOUGH, capacity, suppression=0.1) for capacity in (USUAL, LARGE))
    options: dict[str, Any] = {"capacity": Capacity(nodes_in_time=1), "budget": SearchBudget(60), "suppression": 0.1}
    limited = best(rows, ENOUGH, **options)
    assert limited.score == pytest.approx(whole.score)
    assert limited.optimal
    assert limited.evaluated == boxed.evaluated != whole.evaluated
    held = best(rows, ENOUGH, objective="discernibility", **options)
    assert held.optimal  # a walk would not know


@settings(max_examples=30)
@given(tables, st.sampled_from([0.0, 0.2, 0.9]), st.integers(6, 120), st.sampled_from([0.2, 0.5, 0.8]))
def test_a_search_cut_short_brackets_the_best(rows: Sequence[tuple[str, ...]], share: float, nodes: int, factor: float) -> None:
    options: dict[str, Any] = {"suppression": share, "factor": factor}
    whole = best_if_any(rows, [KAnonymity(3)], USUAL, **options)
    cut = best_if_any(rows, [KAnonymity(3)], LARGE, budget=SearchBudget(nodes=nodes), **options)
    assume(whole is not None and cut is not None)
    assert whole is not None
    assert cut is not None
    assert cut.bound <= whole.score + 1e-12
    assert cut.score >= whole.score - 1e-12
    assert cut.evaluated <= nodes + len(KEYS) * 4  # a box that is begun is settled


@pytest.mark.parametrize("objective", ["discernibility", "class-size", "kl"])
def test_figures_of_classes_are_walked_for(objective: str) -> None:
    rows = [(DIGITS[at * at % 8], DIGITS[at % 7], DIGITS[at * 3 % 5], "x") for at in range(80)]
    whole, walked = (best(rows, ENOUGH, capacity, objective=objective, suppression=0.1) for capacity in (USUAL, LARGE))
    assert walked.score == pytest.approx(whole.score)
    assert not walked.optimal


@settings(max_examples=40)
@given(tables, st.integers(1, 6), st.integers(0, 12), st.permutations(range(3)))
def test_a_box_fails_where_too_many_records_are_in_small_classes(
    rows: Sequence[tuple[str, ...]], k: int, limit: int, order: list[int]
) -> None:
    counts = count_table(load(frame_of(rows), KEYS))
    space = Space(counts, key_attributes(counts, TREES))
    probe = Sizes(space.rolled, k, limit)
    labels = [{one[0]: one for one in TREE.labels}[value] for value in DIGITS]
    label = dict(zip(DIGITS, labels, strict=True))
    for levels in itertools.product(range(4), repeat=3):
        settled = tuple(order[:2])
        highest = tuple(levels[at] if at in settled else 3 for at in range(3))
        lost = {}
        for node in (highest, levels):
            sizes = Counter(tuple(label[row[at]][node[at]] for at in range(3)) for row in rows)
            lost[node] = sum(n for n in sizes.values() if n < k)
        if lost[highest] <= limit:  # what is settled will do so far
            box = Box(space.bottom, highest, settled)
            assert probe.fails(box, order[2], levels[order[2]]) == (lost[levels] > limit)


def test_a_walk_can_be_repeated_and_keeps_to_what_is_allowed() -> None:
    def cost(node: tuple[int, ...]) -> float:
        looked.append(node)
        return float(sum(node)) if sum(level > 1 for level in node) >= 2 else np.inf

    ways = []
    for _ in range(2):
        looked: list[tuple[int, ...]] = []
        walk = LatticeWalk((3, 3, 3), [np.ones(3)] * 3, cost)
        for _ in range(20):
            walk.round()
        ways.append(looked)
    assert ways[0] == ways[1]
    assert min(map(sum, (node for node in ways[0] if cost(node) < np.inf))) == 4
    assert all(0 <= level <= 3 for node in ways[0] for level in node)


def test_the_walk_begins_again_where_it_finds_no_way_out() -> None:
    """Two valleys, and no way from one to the other but over more attributes than a round raises."""
    ours, other = (1, 1, 1, 1, 0, 0, 0, 0), (0, 0, 0, 0, 1, 1, 1, 1)
    weights = [1.0] * 4 + [0.9] * 4
    met: list[float] = []

    def cost(node: tuple[int, ...]) -> float:
        if not any(all(level >= least for level, least in zip(node, one, strict=True)) for one in (ours, other)):
            return float("inf")
        met.append(float(np.dot(node, weights)))
        return met[-1]

    walk = LatticeWalk(ours, [np.array([weight]) for weight in weights], cost)
    for _ in range(400):
        walk.round()
    assert min(met) == pytest.approx(3.6)
