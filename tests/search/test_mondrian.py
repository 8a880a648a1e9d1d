"""Mondrian: against a slow one from the definition, under every model, in every library."""

from __future__ import annotations

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
from search.recodings import KEYS, MODELS, TREES, as_one_class, meets
from unveil.errors import ArgumentError, ColumnNotFoundError, HierarchyError, ModelNotMetError
from unveil.models import DistinctLDiversity, EntropyLDiversity, KAnonymity, KMap, PresentDeltaDisclosure, TCloseness
from unveil.search.request import finer_request, wanted_of
from unveil.search.requirements import PartRequirements
from unveil.testing import tables

ADULT = ["age", "education-num", "marital-status", "race", "sex", "native-country", "workclass"]


def slow_mondrian(points: np.ndarray, k: int) -> list[frozenset[int]]:
    """Strict Mondrian of numbers, part by part: cut the widest dimension nearest to its median while both halves hold k."""
    whole = np.ptp(points, axis=0)

    def split(rows: np.ndarray) -> list[frozenset[int]]:
        widths = [np.ptp(points[rows, at]) / whole[at] if whole[at] else 0.0 for at in range(points.shape[1])]
        for at in sorted(range(points.shape[1]), key=lambda at: -widths[at]):
            values = np.unique(points[rows, at])
            cuts = [(abs(2 * int((points[rows, at] <= value).sum()) - len(rows)), value) for value in values[:-1]]
            if not cuts:
                continue
            left = points[rows, at] <= min(cuts)[1]
            if min(left.sum(), (~left).sum()) >= k:
                return split(rows[left]) + split(rows[~left])
        return [frozenset(rows.tolist())]

    return split(np.arange(len(points)))


def classes_of(frame: pl.DataFrame, keys: list[str]) -> set[frozenset[int]]:
    found: dict[Any, set[int]] = {}
    for row, key in enumerate(frame.select(keys).rows()):
        found.setdefault(key, set()).add(row)
    return {frozenset(rows) for rows in found.values()}


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5), st.integers(0, 3)), min_size=3, max_size=40), st.integers(1, 3))
def test_strict_parts_are_those_of_the_definition(points: list[tuple[int, int, int]], k: int) -> None:
    table = pl.DataFrame(points, schema=["a", "b", "c"], orient="row")
    release = unveil.mondrian(table, KEYS, [KAnonymity(k)], keep_order=True)
    assert classes_of(release.data, KEYS) == set(slow_mondrian(np.array(points), k))


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("models", MODELS, ids=str)
@given(table=tables(columns=4, max_rows=16), trees=st.booleans())
@settings(max_examples=8)
def test_every_model_is_met(models: list[Any], strict: bool, table: pl.DataFrame, trees: bool) -> None:
    try:
        study = unveil.Study(table, keep="d")
        release = unveil.mondrian(study, KEYS, models, strict=strict, hierarchies=TREES if trees else None)
    except ModelNotMetError:
        assert not meets(as_one_class(table), models)
    else:
        assert meets(release.data, models)
        assert all(measured.met for measured in release.models.values())
        assert 0.0 <= release.score <= 1.0


@given(table=tables(columns=4, max_rows=20), seed=st.integers(0, 9))
def test_the_order_of_the_records_does_not_matter(table: pl.DataFrame, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(table.height)
    one = unveil.mondrian(table, KEYS, [KAnonymity(2)], keep_order=True).data
    other = unveil.mondrian(table[order], KEYS, [KAnonymity(2)], keep_order=True).data
    assert other.equals(one[order])


@given(table=tables(columns=4, max_rows=20), seed=st.integers(0, 9))
def test_relaxed_releases_hold_the_same_for_another_order_of_the_records(table: pl.DataFrame, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(table.height)
    models = [KAnonymity(2), TCloseness("d", 0.5)]
    found = [unveil.mondrian(one, KEYS, models, strict=False).data for one in (table, table[order])]
    assert found[0].sort(found[0].columns).equals(found[1].sort(found[1].columns))


def test_relaxed_halves_are_equal_where_one_value_prevails() -> None:
    table = pl.DataFrame({"a": [1, 5, 5, 5, 5, 5, 5, 9]})
    strict = unveil.mondrian(table, "a", [KAnonymity(2)], keep_order=True)
    relaxed = unveil.mondrian(table, "a", [KAnonymity(2)], strict=False, keep_order=True)
    assert strict.data["a"].to_list() == ["[1, 9]"] * 8
    assert sorted(relaxed.data["a"]) == sorted(["[1, 5]", "[1, 5]", "5", "5", "5", "5", "[5, 9]", "[5, 9]"])
    assert (relaxed.data["a"][0], relaxed.data["a"][7]) == ("[1, 5]", "[5, 9]")


def test_the_place_in_the_file_does_not_decide_who_of_equal_records_goes_where() -> None:
    """Of forty equal records, those beside the lowest go to its half; which of them is drawn."""
    table = pl.DataFrame({"a": [1] * 10 + [5] * 40 + [9] * 10, "row": range(60)})
    halves = set()
    for _ in range(5):
        release = unveil.mondrian(unveil.Study(table, keep="row"), "a", [KAnonymity(15)], strict=False, keep_order=True).data
        halves.add(tuple(release.filter(pl.col("a") == release["a"][0])["row"].to_list()))
    assert len(halves) > 1


def test_labels() -> None:
    table = pl.DataFrame(
        {"n": [1, 2, 30, 40, None, None], "t": ["p", "q", "r", "r", "s", "s"], "h": ["x", "y", "x", "x", "z", "w"]}
    )
    trees = {"h": unveil.Hierarchy("h", [["x", "xy", "*"], ["y", "xy", "*"], ["z", "zw", "*"], ["w", "zw", "*"]])}
    release = unveil.mondrian(table, ["n", "t", "h"], [KAnonymity(2)], hierarchies=trees, keep_order=True)
    assert release.data.rows() == [
        ("[1, 2]", "{p, q}", "xy"), ("[1, 2]", "{p, q}", "xy"), ("[30, 40]", "r", "x"), ("[30, 40]", "r", "x"),
        (None, "s", "zw"), (None, "s", "zw"),
    ]  # fmt: skip
    assert release.transformation["t"] == {
        "labels": 3,
        "changed": 2,
        "loss": pytest.approx((2 * 2 / 4 + 4 / 4 - 6 / 4) / (6 - 6 / 4)),
    }


def test_nulls_and_values_together_are_everything() -> None:
    release = unveil.mondrian(pl.DataFrame({"n": [1, 2, None]}), "n", [KAnonymity(2)], keep_order=True)
    assert release.data["n"].to_list() == ["*", "*", "*"]
    assert release.score == 1.0


def test_an_order_decides_which_values_go_together() -> None:
    table = pl.DataFrame({"grade": ["low", "low", "high", "mid"], "name": list("abcd")})
    order = ["low", "mid", "high"]
    release = unveil.mondrian(table, "grade", [KAnonymity(2)], orders={"grade": order}, identifiers="name", keep_order=True)
    assert release.data.columns == ["grade"]
    assert release.data["grade"].to_list() == ["low", "low", "{mid, high}", "{mid, high}"]


def test_a_column_that_is_not_generalised_keeps_its_type() -> None:
    table = pl.DataFrame({"a": [1, 1, 2, 2], "b": [1, 2, 3, 4]})
    release = unveil.mondrian(table, ["a", "b"], [KAnonymity(2)])
    assert release.data["a"].dtype == pl.Int64
    assert release.data["b"].dtype == pl.String


def test_every_library_gives_the_same() -> None:
    columns = {"a": [1, 2, 3, 4, 9, 8], "b": list("xxyyzz"), "d": list("pqpqpq")}
    models = [KAnonymity(2)]
    expected = unveil.mondrian(pl.DataFrame(columns), ["a", "b"], models, seed=3)
    for frame in (pd.DataFrame(columns), pa.table(columns)):
        found = unveil.mondrian(frame, ["a", "b"], models, seed=3)
        assert isinstance(found.data, type(frame))
        assert found.to_frame().equals(expected.data)


def test_origin_and_link(tmp_path: Any) -> None:
    table = pl.DataFrame({"a": [5, 1, 4, 2], "d": list("wxyz")})
    release = unveil.mondrian(unveil.Study(table, keep="d"), "a", [KAnonymity(2)], seed=1)
    assert release.data["d"].to_list() == [table["d"][int(row)] for row in release.origin]
    release.write(tmp_path / "out.csv")
    release.write_link(tmp_path / "link.csv")
    assert pl.read_csv(tmp_path / "out.csv").equals(release.data)
    assert pl.read_csv(tmp_path / "link.csv").height == 4
    report = release.to_dict()
    assert report["models"]["k_anonymity"]["met"] is True
    assert report["before"]["k_anonymity"]["value"] == 1
    assert "strict Mondrian" in repr(release)


def test_adult() -> None:
    path = shared("data/adult/adult-train.csv")
    adult = pl.read_csv(path, null_values="?").drop_nulls()
    release = unveil.mondrian(adult, ADULT, [KAnonymity(10)])
    assert release.records.records == 30_162
    measured = unveil.measure(release.data, ADULT, models=[KAnonymity(10)])
    assert measured.met
    assert measured.classes == release.classes > 1_000


@pytest.mark.parametrize(
    ("attributes", "models", "options", "error", "words"),
    [
        ([], [KAnonymity(2)], {}, ArgumentError, "no key attribute"),
        (["a", "a"], [KAnonymity(2)], {}, ArgumentError, "named twice"),
        (["e"], [KAnonymity(2)], {}, ColumnNotFoundError, "not found"),
        (["a"], [], {}, ArgumentError, "no model"),
        (["a"], [TCloseness("a", 0.2)], {}, ArgumentError, "key and as sensitive"),
        (["a"], [KMap(2)], {}, ArgumentError, "population"),
        (["a"], [KAnonymity(7)], {}, ModelNotMetError, "figure is 4"),
        (["a"], [KAnonymity(2)], {"orders": {"a": ["x"]}}, ArgumentError, "misses 2 of its 3"),
        (["a"], [KAnonymity(2)], {"orders": {"a": ["x"]}, "hierarchies": TREES}, ArgumentError, "an order and a hierarchy"),
        (["a"], [KAnonymity(2)], {"hierarchies": {"a": unveil.Hierarchy("a", [["x", "*"]])}}, HierarchyError, "2 of 3"),
        (["a"], [KAnonymity(2)], {"nulls": "wildcard"}, ArgumentError, "unknown"),
        (["a"], [KAnonymity(2)], {"identifiers": "a"}, ArgumentError, "as identifier"),
    ],
)  # fmt: skip
def test_bad_input(attributes: Any, models: Any, options: Any, error: type[Exception], words: str) -> None:
    table = pl.DataFrame({"a": ["x", "y", "z", "z"], "b": [1, 2, 3, 4]})
    with pytest.raises(error, match=words):
        unveil.mondrian(table, attributes, models, **options)


@given(table=tables(columns=3, max_rows=24, nulls=False), k=st.integers(2, 4))
@settings(max_examples=20)
def test_relaxed_costs_no_more_than_strict(table: pl.DataFrame, k: int) -> None:
    if table.height < k:
        return
    for trees in ({}, TREES):
        strict, relaxed = (unveil.mondrian(table, KEYS, [KAnonymity(k)], strict=one, hierarchies=trees) for one in (True, False))
        assert relaxed.score <= strict.score + 1e-9


def test_children_too_small_to_stand_alone_stay_together_under_their_node() -> None:
    rows = [["a", "*"], ["b", "*"], ["c", "*"], ["d", "*"]]
    table = pl.DataFrame({"town": ["a"] * 4 + ["b"] * 4 + ["c", "d"], "ill": list("xyxyxxxxxy")})
    tree = {"town": unveil.Hierarchy("town", rows)}
    release = unveil.mondrian(table, tree, [KAnonymity(2)], keep_order=True)
    assert release.data["town"].to_list() == ["a"] * 4 + ["b"] * 4 + ["*"] * 2
    diverse = unveil.mondrian(table, tree, [KAnonymity(2), DistinctLDiversity("ill", 2)], keep_order=True)
    assert diverse.data["town"].to_list() == ["a"] * 4 + ["*"] * 6


@pytest.mark.parametrize("model", [TCloseness("pay", 0.6), EntropyLDiversity("pay", 8), DistinctLDiversity("pay", 10)], ids=str)
def test_many_parts_with_many_values_of_a_sensitive_attribute_are_counted_as_each_by_itself(model: Any) -> None:
    """Pairs of a part and a value are sorted where a table over all of them would be too large; for one part it is small."""
    random, number = np.random.default_rng(0), 120
    pay = np.where(random.random(3000) < 0.4, 0, random.integers(0, 2000, 3000))
    request = finer_request(wanted_of(pl.DataFrame({"age": random.integers(0, 90, 3000), "pay": pay}), ["age"], [model]))
    checked = PartRequirements(request, request.of_row, random.integers(1, 4, 3000))
    parts = (number * random.random(3000) ** 2).astype(np.int64)
    alone = [np.flatnonzero(parts == part) for part in range(number)]
    wrong = [bool(checked.violated(np.zeros(len(units), dtype=np.int64), 1, units)[0]) for units in alone]
    assert checked.violated(parts, number).tolist() == wrong
    assert 20 < sum(wrong) < 100


def test_no_recoding_is_advised_that_would_refuse_the_models() -> None:
    adult = unveil.datasets.adult()
    keys, strict = ["age", "sex", "race"], PresentDeltaDisclosure("occupation", 3)
    with pytest.raises(unveil.UnveilError, match="without finer recodings"):
        unveil.mondrian(adult, keys, [KAnonymity(5), strict])
    release = unveil.anonymize(adult, keys, [KAnonymity(5), strict], suppression=0.02, objective="loss-max")
    assert release.lost == {"sex": 1}
    assert not [note for note in release.notes if "would keep 3 groups" in note]
