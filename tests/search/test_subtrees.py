"""Subtree generalisation and local recoding: sound under every model, never worse than what they refine, and no node left to open."""

from __future__ import annotations

from itertools import product
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unveil
from helpers import shared
from search.recodings import KEYS, LEAVES, MODELS, TREES, as_one_class, loss_of, meets
from unveil.errors import ArgumentError, ModelNotMetError
from unveil.models import EntropyLDiversity, KAnonymity
from unveil.testing import tables

BOTH = [unveil.generalize_subtrees, unveil.recode_locally]
CUTS = [("x", "y", "z", "w"), ("xy", "xy", "z", "w"), ("x", "y", "zw", "zw"), ("xy", "xy", "zw", "zw"), ("*", "*", "*", "*")]
ADULT = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "salary-class"]


@pytest.mark.parametrize("function", BOTH)
@pytest.mark.parametrize("models", MODELS, ids=str)
@given(table=tables(columns=4, max_rows=16), suppression=st.sampled_from([0.0, 0.2, 1.0]))
@settings(max_examples=6)
def test_every_model_is_met(models: list[Any], function: Any, table: pl.DataFrame, suppression: float) -> None:
    try:
        release = function(unveil.Study(table, keep="d"), KEYS, models, hierarchies=TREES, suppression=suppression)
    except ModelNotMetError:
        assert not meets(as_one_class(table), models)
    else:
        assert meets(release.data, models)
        assert release.suppressed <= int(suppression * table.height)


@given(table=tables(columns=4, max_rows=16, nulls=False), suppression=st.sampled_from([0.0, 0.2, 1.0]))
@settings(max_examples=20)
def test_each_recoding_costs_no_more_than_the_coarser_one(table: pl.DataFrame, suppression: float) -> None:
    models = [KAnonymity(2)]
    full = unveil.anonymize(table, KEYS, models, hierarchies=TREES, suppression=suppression)
    subtrees, cells = (one(table, KEYS, models, hierarchies=TREES, suppression=suppression) for one in BOTH)
    assert subtrees.score <= full.score + 1e-9
    assert cells.score <= subtrees.score + 1e-9
    assert subtrees.score == pytest.approx(loss_of(subtrees.data.cast(pl.String)))
    assert cells.score == pytest.approx(loss_of(cells.data.cast(pl.String)))


@given(table=tables(columns=3, max_rows=14, nulls=False))
@settings(max_examples=20)
def test_a_cut_gives_a_value_one_label_and_no_node_of_it_could_be_opened(table: pl.DataFrame) -> None:
    release = unveil.generalize_subtrees(table, KEYS, [KAnonymity(2)], hierarchies=TREES, keep_order=True)
    labels = {}
    for key in KEYS:
        pairs = set(zip(table[key], release.data[key], strict=True))
        labels[key] = dict(pairs)
        assert len(labels[key]) == len(pairs)
        assert sorted(release.details["cut"][key]) == sorted(set(labels[key].values()))
    below = {"*": ("xy", "zw"), "xy": ("x", "y"), "zw": ("z", "w")}
    for key in KEYS:
        for node in below.keys() & set(release.data[key]):
            level = 1 if node == "*" else 0
            finer = {row[0]: row[level] for row in LEAVES if node in row}
            opened = [finer[v] if r == node else r for v, r in zip(table[key], release.data[key], strict=True)]
            assert not unveil.measure(release.data.with_columns(pl.Series(key, opened)), KEYS, models=[KAnonymity(2)]).met


def test_subtrees_are_near_the_best_cuts() -> None:
    """All cuts of small tables are tried: the greedy ones cost little more in sum."""
    found = best = 0.0
    for seed in range(12):
        table = pl.DataFrame({key: pl.Series(list("xyzw") * 6).sample(20, seed=10 * seed + at) for at, key in enumerate(KEYS)})
        found += unveil.generalize_subtrees(table, KEYS, [KAnonymity(3)], hierarchies=TREES).score
        costs = []
        for cuts in product(CUTS, repeat=3):
            recoded = table.with_columns(
                pl.col(key).replace(dict(zip("xyzw", cut, strict=True))) for key, cut in zip(KEYS, cuts, strict=True)
            )
            if recoded.group_by(KEYS).len()["len"].min() >= 3:  # type: ignore[operator]
                costs.append(loss_of(recoded))
        best += min(costs)
    assert best <= found <= 1.05 * best


def test_one_value_may_be_exact_in_some_records_only() -> None:
    table = pl.DataFrame({"a": ["x"] * 5 + ["y"]})
    release = unveil.recode_locally(table, {"a": TREES["a"]}, [KAnonymity(2)], keep_order=True)
    assert sorted(release.data["a"]) == ["x", "x", "x", "x", "xy", "xy"]
    assert release.data["a"][5] == "xy"
    assert release.transformation["a"]["changed"] == 2


@pytest.mark.parametrize("function", BOTH)
def test_every_library_gives_the_same(function: Any) -> None:
    columns = {"a": list("xxyzzw"), "b": list("xyxyzz"), "d": list("pqpqpq")}
    expected = function(pl.DataFrame(columns), ["a", "b"], [KAnonymity(2)], hierarchies=TREES, seed=3)
    for frame in (pd.DataFrame(columns), pa.table(columns)):
        found = function(frame, ["a", "b"], [KAnonymity(2)], hierarchies=TREES, seed=3)
        assert isinstance(found.data, type(frame))
        assert found.to_frame().equals(expected.data)


@given(table=tables(columns=4, max_rows=14))
@settings(max_examples=15)
def test_the_order_of_the_records_does_not_matter(table: pl.DataFrame) -> None:
    turned = table.reverse()
    one, other = (
        unveil.generalize_subtrees(t, KEYS, [KAnonymity(2)], hierarchies=TREES, keep_order=True) for t in (table, turned)
    )
    assert other.data.equals(one.data.reverse())
    one, other = (unveil.recode_locally(t, KEYS, [KAnonymity(2)], hierarchies=TREES) for t in (table, turned))
    assert one.data.select(KEYS).sort(KEYS).equals(other.data.select(KEYS).sort(KEYS))


def test_hierarchies_are_proposed_and_said_so() -> None:
    release = unveil.generalize_subtrees(pl.DataFrame({"n": [20, 21, 35, 36]}), "n", [KAnonymity(2)])
    assert "proposed" in release.notes[0]


def test_adult() -> None:
    folder = shared("data/arx-adult")
    adult = pl.read_csv(folder / "adult.csv", separator=";")
    trees = unveil.Hierarchy.read_folder(folder, ADULT)
    models = [KAnonymity(5), EntropyLDiversity("occupation", 3)]
    subtrees, cells = (one(adult, ADULT, models, hierarchies=trees, suppression=0.04) for one in BOTH)
    assert cells.score < 0.06 < subtrees.score < 0.22
    for release in (subtrees, cells):
        assert unveil.measure(release.data, ADULT, "occupation", models=models).met


@pytest.mark.parametrize("function", BOTH)
def test_bad_input(function: Any) -> None:
    table = pl.DataFrame({"a": ["x", "y", "z"]})
    with pytest.raises(ArgumentError, match="from 0 to 1"):
        function(table, "a", [KAnonymity(2)], hierarchies=TREES, suppression=2.0)
    with pytest.raises(ModelNotMetError, match="figure is 3"):
        function(table, "a", [KAnonymity(4)], hierarchies=TREES)


@pytest.mark.parametrize("call", BOTH)
@pytest.mark.parametrize("seconds", [-1, -(10**300), float("nan")], ids=["minus", "minus huge", "NaN"])
def test_a_time_limit_that_is_none_is_refused(call: Any, seconds: float) -> None:
    with pytest.raises(ArgumentError, match=r"time_limit is .*; it must be .*at least 0"):
        call(pl.DataFrame({"a": [1, 2, 3, 4]}), "a", [KAnonymity(2)], time_limit=seconds)
