"""Local recoding: every round's classes meet the models, and the whole costs no more than one generalisation for all."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
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
from unveil.models import EntropyLDiversity, KAnonymity, TCloseness
from unveil.search.request import finer_request
from unveil.search.splitting.rounds import round_of
from unveil.testing import tables

ADULT = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "salary-class"]


@pytest.mark.parametrize("models", MODELS, ids=str)
@given(table=tables(columns=4, max_rows=16), suppression=st.sampled_from([0.0, 0.2, 1.0]))
@settings(max_examples=5)
def test_every_model_is_met(models: list[Any], table: pl.DataFrame, suppression: float) -> None:
    try:
        release = unveil.recode_locally(table, KEYS, models, hierarchies=TREES, suppression=suppression)
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


@given(table=tables(columns=3, max_rows=16, nulls=False))
@settings(max_examples=15)
def test_every_record_has_the_labels_of_one_round(table: pl.DataFrame) -> None:
    release = unveil.recode_locally(table, KEYS, [KAnonymity(2)], hierarchies=TREES, keep_order=True)
    rounds = release.details["rounds"]
    assert sum(one["records"] for one in rounds) + release.suppressed == table.height
    label = {row[0]: row for row in LEAVES}
    for values, found in zip(table.rows(), release.data.rows(), strict=True):
        ways = [tuple(label[v][one["levels"][key]] for v, key in zip(values, KEYS, strict=True)) for one in rounds]
        assert found in ways


@given(table=tables(columns=4, max_rows=14))
@settings(max_examples=15)
def test_the_order_of_the_records_does_not_matter(table: pl.DataFrame) -> None:
    models = [KAnonymity(2)]
    one, other = (
        unveil.recode_locally(t, KEYS, models, hierarchies=TREES, keep_order=True).data for t in (table, table.reverse())
    )
    assert other.equals(one.reverse())


def test_every_library_gives_the_same() -> None:
    columns = {"a": list("xxyzzw"), "b": list("xyxyzz"), "d": list("pqpqpq")}
    expected = unveil.recode_locally(pl.DataFrame(columns), ["a", "b"], [KAnonymity(2)], hierarchies=TREES, seed=3)
    for frame in (pd.DataFrame(columns), pa.table(columns)):
        found = unveil.recode_locally(frame, ["a", "b"], [KAnonymity(2)], hierarchies=TREES, seed=3)
        assert isinstance(found.data, type(frame))
        assert found.to_frame().equals(expected.data)


@given(table=tables(columns=4, max_rows=16, nulls=False), start=st.integers(0, 8))
@settings(max_examples=30)
def test_classes_of_a_part_are_compared_with_the_whole_table(table: pl.DataFrame, start: int) -> None:
    """The last cells of a table are settled by themselves; a class's distance is that from all records."""
    task = finer_request(table, KEYS, [TCloseness("d", 0.3)], hierarchies=TREES)
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
    release = unveil.recode_locally(adult, ADULT, models, hierarchies=trees)
    assert release.suppressed == 0
    assert release.score < 0.1
    assert unveil.measure(release.data, ADULT, "occupation", models=models).met


@pytest.mark.parametrize("options", [{"step": 0.0}, {"step": 1.5}, {"suppression": -0.1}])
def test_bad_shares(options: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match=r"so it is not|it must be a number from 0 to 1"):
        unveil.recode_locally(pl.DataFrame({"a": ["x", "y"]}), "a", [KAnonymity(2)], hierarchies=TREES, **options)


def test_sensitive_values_that_python_takes_for_equal_are_values_of_their_own() -> None:
    frame = pd.DataFrame({"zip": ["a", "b"] * 8, "ill": pd.Series([1, True, 1.0, "1"] * 4, dtype=object)})
    models = [unveil.models.DistinctLDiversity("ill", 4)]
    release = unveil.recode_locally(frame, ["zip"], models, keep_order=True, seed=1)
    assert release.data["zip"].nunique() == 1
    assert next(iter(release.models.values())).value == 4
