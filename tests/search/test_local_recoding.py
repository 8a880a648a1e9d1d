"""Local recoding: every part meets the models, and the whole costs no more than coarser recodings and ARX."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unveil
from helpers import limited, shared
from search.recodings import KEYS, MODELS, TREES, as_one_class, loss_of, meets
from unveil.errors import ArgumentError, ModelNotMetError
from unveil.models import DistinctLDiversity, EntropyLDiversity, KAnonymity, TCloseness
from unveil.search.request import finer_request, wanted_of
from unveil.search.splitting.rounds import round_of
from unveil.testing import tables

ADULT = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "salary-class"]


@pytest.mark.parametrize("models", MODELS, ids=str)
@given(table=tables(columns=4, max_rows=16), suppression=st.sampled_from([0.0, 0.2, 1.0]))
@settings(max_examples=5)
def test_every_model_is_met(models: list[Any], table: pl.DataFrame, suppression: float) -> None:
    try:
        release = unveil.recode_locally(unveil.Study(table, keep="d"), KEYS, models, hierarchies=TREES, suppression=suppression)
    except ModelNotMetError:
        assert not meets(as_one_class(table), models)
    else:
        assert meets(release.data, models)
        assert release.suppressed <= int(suppression * table.height)


@given(table=tables(columns=3, max_rows=16, nulls=False), suppression=st.sampled_from([0.0, 0.2, 1.0]))
@settings(max_examples=15)
def test_it_costs_no_more_than_one_generalisation(table: pl.DataFrame, suppression: float) -> None:
    options: dict[str, Any] = {"hierarchies": TREES, "suppression": suppression, "keep_order": True}
    full = unveil.anonymize(table, KEYS, [KAnonymity(2)], **options)
    release = unveil.recode_locally(table, KEYS, [KAnonymity(2)], **options)
    assert release.score <= full.score + 1e-9
    assert release.score == pytest.approx(loss_of(release.data))


@given(table=tables(columns=3, max_rows=40, nulls=False), k=st.integers(2, 5), strict=st.booleans())
@settings(max_examples=30)
def test_it_costs_no_more_than_mondrian(table: pl.DataFrame, k: int, strict: bool) -> None:
    if table.height < k:
        return
    for trees in ({}, TREES):
        halved = unveil.mondrian(table, KEYS, [KAnonymity(k)], hierarchies=trees, strict=strict)
        assert unveil.recode_locally(table, KEYS, [KAnonymity(k)], hierarchies=trees).score <= halved.score + 1e-9


@pytest.mark.parametrize("seed", [106, 113, 249])
def test_halving_is_tried_where_gathering_and_opening_cost_more(seed: int) -> None:
    """Tables of which neither gathering nor opening gives as much as Mondrian does."""
    chance = np.random.default_rng(seed)
    values = [f"{one}{two}" for one in "abc" for two in "123"]
    trees = {name: unveil.Hierarchy(name, [[value, value[0], "*"] for value in values]) for name in "xyz"}
    shares = chance.dirichlet(np.full(9, 1.0), 3)
    table = pl.DataFrame({name: chance.choice(values, 30, p=shares[at]).tolist() for at, name in enumerate("xyz")})
    halved = unveil.mondrian(table, trees, [KAnonymity(5)])
    assert unveil.recode_locally(table, trees, [KAnonymity(5)]).score <= halved.score + 1e-9


def test_every_library_gives_the_same() -> None:
    columns = {"a": list("xxyzzw"), "b": list("xyxyzz"), "d": list("pqpqpq")}
    expected = unveil.recode_locally(pl.DataFrame(columns), ["a", "b"], [KAnonymity(2)], hierarchies=TREES, seed=3)
    for frame in (pd.DataFrame(columns), pa.table(columns)):
        found = unveil.recode_locally(frame, ["a", "b"], [KAnonymity(2)], hierarchies=TREES, seed=3)
        assert isinstance(found.data, type(frame))
        assert found.to_frame().equals(expected.data)


@given(table=tables(columns=4, max_rows=16, nulls=False), start=st.integers(0, 8))
@settings(max_examples=20)
def test_classes_of_a_part_are_compared_with_the_whole_table(table: pl.DataFrame, start: int) -> None:
    """The last cells of a table are settled by themselves; a class's distance is that from all records."""
    task = finer_request(wanted_of(table, KEYS, [TCloseness("d", 0.3)], hierarchies=TREES))
    known = task.key_attributes()
    cells = np.arange(min(start, len(task.cells) - 1), len(task.cells))
    found = round_of(task, known, cells, int(task.cells.n[cells].sum()))
    assert found is not None
    node, gone = found
    whole = {value: n / table.height for value, n in Counter(table["d"]).items()}
    classes: dict[Any, Counter[Any]] = {}
    for cell in cells.tolist():
        key = tuple(int(one.levels.groups[level][task.codes(one.name)[cell]]) for one, level in zip(known, node, strict=True))
        classes.setdefault(key, Counter())[task.values("d")[task.codes("d")[cell]]] += int(task.cells.n[cell])
    far = {
        key: sum(abs(held[value] / held.total() - share) for value, share in whole.items()) / 2 > 0.3 + 1e-9
        for key, held in classes.items()
    }
    for cell, dropped in zip(cells.tolist(), gone.tolist(), strict=True):
        key = tuple(int(one.levels.groups[level][task.codes(one.name)[cell]]) for one, level in zip(known, node, strict=True))
        assert dropped == far[key]


def test_adult() -> None:
    folder = shared("data/arx-adult")
    adult = pl.read_csv(folder / "adult.csv", separator=";")
    trees = unveil.Hierarchy.read_folder(folder, ADULT)
    models = [KAnonymity(5), EntropyLDiversity("occupation", 3)]
    for asked, arx in ((models[:1], 0.0332), (models, 0.0600)):
        release = unveil.recode_locally(adult, ADULT, asked, hierarchies=trees)
        assert release.suppressed == 0
        assert release.score < arx
        assert unveil.measure(release.data, ADULT, "occupation", models=asked).met


@pytest.mark.parametrize("trees", [TREES, None])
def test_bad_shares(trees: dict[str, unveil.Hierarchy] | None) -> None:
    with pytest.raises(ArgumentError, match="it must be from 0 to 1"):
        unveil.recode_locally(pl.DataFrame({"a": ["x", "y"]}), "a", [KAnonymity(2)], hierarchies=trees, suppression=-0.1)


def span(labels: Sequence[tuple[str, ...]]) -> list[float]:
    """Return what each label costs: the values from the lowest to the highest, of 0 to 9."""
    found = []
    for row in labels:
        ends = [[int(end) for end in re.findall(r"\d+", label)] for label in row]
        found.append(sum((max(both) - min(both)) / 9 if both else 1.0 for both in ends) / len(row))
    return found


numbers = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=6, max_size=40)


@given(numbers, st.integers(2, 4))
@settings(max_examples=20)
def test_ranges_hold_their_records_and_cost_no_more_than_halves(rows: list[tuple[int, int]], k: int) -> None:
    rows = [*rows, *((value, value) for value in range(10))]  # every value occurs
    table = pl.DataFrame(rows, schema=["a", "b"], orient="row")
    release = unveil.recode_locally(table, ["a", "b"], [KAnonymity(k)], keep_order=True)
    assert release.score <= unveil.mondrian(table, ["a", "b"], [KAnonymity(k)]).score + 1e-9
    assert min(Counter(release.data.rows()).values()) >= k
    for values, labels in zip(rows, release.data.cast(pl.String).rows(), strict=True):
        for value, label in zip(values, labels, strict=True):
            ends = [int(end) for end in re.findall(r"\d+", label)] or [0, 9]
            assert min(ends) <= value <= max(ends)
    assert release.score == pytest.approx(float(np.mean(span(release.data.cast(pl.String).rows()))))


@given(numbers)
@settings(max_examples=15)
def test_small_groups_are_gathered_nearly_as_well_as_can_be(rows: list[tuple[int, int]]) -> None:
    """In one dimension groups of two or three that follow each other are best: all ways are tried."""
    line = sorted(value for value, _ in rows)
    table = pl.DataFrame({"a": [*line]})
    width = max(len(set(line)) - 1, 1)
    rank = {value: at for at, value in enumerate(sorted(set(line)))}
    best = [0.0, *[np.inf] * len(line)]
    for end in range(2, len(line) + 1):
        for size in range(2, end + 1):
            cost = size * (rank[line[end - 1]] - rank[line[end - size]]) / width
            best[end] = min(best[end], best[end - size] + cost)
    found = unveil.recode_locally(table, "a", [KAnonymity(2)]).score * len(line)
    assert best[-1] - 1e-9 <= found <= 2.0 * best[-1] + 2.0


def test_blocks_that_violate_a_model_together_go_on_with_the_next() -> None:
    """The first half holds one secret only, so no block of it can meet the model alone."""
    table = pl.DataFrame({"a": range(4096), "d": ["p"] * 2048 + ["q"] * 2048})
    release = unveil.recode_locally(table, "a", [DistinctLDiversity("d", 2)], keep_order=True)
    assert unveil.measure(release.data, "a", "d", models=[DistinctLDiversity("d", 2)]).met


def test_threads_change_nothing() -> None:
    """Blocks are settled several at a time, and one that violates a model goes on with the next all the same."""
    random = np.random.default_rng(0)
    table = pl.DataFrame({"a": random.integers(0, 4_000, 6_000), "b": random.integers(0, 9, 6_000)})
    table = table.with_columns(
        d=pl.when(pl.col("a") % 2_000 < 500).then(pl.lit("q")).otherwise(pl.lit("p"))
    )  # blocks of one value
    made = []
    for threads in (1, 3):
        with limited(threads=threads):
            models = [KAnonymity(3), EntropyLDiversity("d", 1.5)]
            made.append(unveil.recode_locally(table, ["a", "b"], models, keep_order=True, seed=1))
    assert made[0].data.equals(made[1].data)


def test_texts_without_a_hierarchy_become_sets() -> None:
    table = pl.DataFrame({"a": list("aabbcd")})
    release = unveil.recode_locally(table, "a", [KAnonymity(2)], keep_order=True)
    assert release.data["a"].to_list() == ["a", "a", "b", "b", "{c, d}", "{c, d}"]


def test_sensitive_values_that_python_takes_for_equal_are_values_of_their_own() -> None:
    frame = pd.DataFrame({"zip": ["a", "b"] * 8, "ill": pd.Series([1, True, 1.0, "1"] * 4, dtype=object)})
    models = [unveil.models.DistinctLDiversity("ill", 4)]
    release = unveil.recode_locally(frame, ["zip"], models, keep_order=True, seed=1)
    assert release.data["zip"].nunique() == 1
    assert next(iter(release.models.values())).value == 4
