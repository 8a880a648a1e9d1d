"""Microaggregation against plain loops from the definitions, exhaustive search, and the literature's figures."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
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
from unveil.errors import ArgumentError, ColumnNotFoundError, NullsError, UnsupportedDataError
from unveil.mechanisms import microaggregate
from unveil.mechanisms.microaggregation import kernels, tree

Rows = Sequence[Sequence[float]]


def apart(one: Sequence[float], other: Sequence[float]) -> float:
    return sum((x - y) ** 2 for x, y in zip(one, other, strict=True))


def centre(rows: Rows) -> list[float]:
    return [sum(column) / len(rows) for column in zip(*rows, strict=True)]


def nearest(points: Rows, left: set[int], to: int, k: int) -> list[int]:
    return sorted(left, key=lambda at: (apart(points[at], points[to]), at))[:k]


def farthest(points: Rows, left: set[int], of: Sequence[float]) -> int:
    return max(left, key=lambda at: (apart(points[at], of), -at))


def slow_mdav(points: Rows, k: int) -> list[frozenset[int]]:
    """MDAV, step by step as it is written down."""
    left, groups = set(range(len(points))), []
    while len(left) >= 3 * k:
        first = farthest(points, left, centre([points[at] for at in sorted(left)]))
        second = farthest(points, left, points[first])
        for record in (first, second):
            group = frozenset(nearest(points, left, record, k))
            groups.append(group)
            left -= group
    if len(left) >= 2 * k:
        first = farthest(points, left, centre([points[at] for at in sorted(left)]))
        groups.append(frozenset(nearest(points, left, first, k)))
        left -= groups[-1]
    return [*groups, frozenset(left)]


def slow_v_mdav(points: Rows, k: int, gain: float) -> list[frozenset[int]]:
    """V-MDAV, step by step as it is written down; the last records join the group of their nearest neighbour."""
    middle, left = centre(points), set(range(len(points)))
    groups: list[set[int]] = []
    while len(left) >= k:
        group = set(nearest(points, left, farthest(points, left, middle), k))
        left -= group
        while left and len(group) < 2 * k - 1:
            into = {at: min(apart(points[at], points[member]) for member in group) for at in left}
            best = min(left, key=lambda at: (into[at], at))
            out = min((apart(points[best], points[at]) for at in left - {best}), default=float("inf"))
            if into[best] ** 0.5 >= gain * out**0.5:
                break
            group.add(best)
            left.remove(best)
        groups.append(group)
    taken = {at: group for group in groups for at in group}
    for record in left:
        taken[nearest(points, set(taken) - left, record, 1)[0]].add(record)
    return [frozenset(group) for group in groups]


def error(points: Rows, groups: Sequence[frozenset[int]]) -> float:
    return sum(apart(points[at], centre([points[other] for other in group])) for group in groups for at in group)


def partitions(values: Sequence[float], k: int) -> Iterator[list[list[float]]]:
    """All cuts of sorted values into runs of at least k."""
    if len(values) >= k:
        yield [list(values)]
    for size in range(k, len(values) - k + 1):
        for rest in partitions(values[size:], k):
            yield [list(values[:size]), *rest]


def frame_of(points: Any) -> pl.DataFrame:
    return pl.DataFrame({f"c{at}": column for at, column in enumerate(np.asarray(points, dtype=float).T)})


def groups_of(release: Any) -> set[frozenset[int]]:
    found: dict[Any, list[int]] = {}
    for at, row in enumerate(release.data.rows()):
        found.setdefault(row, []).append(at)
    return {frozenset(rows) for rows in found.values()}


def as_groups(of_record: Any) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(of_record == group).tolist()) for group in np.unique(of_record)}


def matrix(rows: int, width: int, seed: int) -> Any:
    return np.random.default_rng(seed).normal(size=(rows, width)).round(3)


# the literature


@pytest.mark.parametrize(("k", "percent"), [(3, 5.692), (5, 9.088), (10, 14.156)])
def test_mdav_loses_on_the_census_what_the_literature_says(k: int, percent: float) -> None:
    census = pl.read_csv(shared("data/casc/census.csv"))
    release = microaggregate(census, census.columns, k=k, refine=False, keep_order=True)
    assert len(census.columns) == 13
    assert round(100 * release.figures["loss"], 3) == percent
    assert release.figures["groups"] == 1080 // k
    assert min(Counter(release.data.rows()).values()) >= k
    refined = microaggregate(census, census.columns, k=k, keep_order=True)
    assert refined.figures["loss"] < 0.97 * release.figures["loss"]
    assert min(Counter(refined.data.rows()).values()) >= k


def test_given_groups_and_aggregates_give_thesis_table_2_6() -> None:
    """The table's Disease column differs from its original in one cell, which the mechanism does not touch."""
    table = unveil.datasets.load("paper-4").with_columns(Age=pl.col("Age").cast(pl.Int64))
    order = [f"{thousands}K" for thousands in range(4, 13)]
    release = microaggregate(
        table, ["Age", "Salary"], groups=[1, 1, 1, 2, 2, 2, 3, 3, 3], orders={"Salary": order}, keep_order=True
    )
    assert [round(age, 2) for age in release.data["Age"]] == [22.0] * 3 + [49.33] * 3 + [34.0] * 3
    assert release.data["Salary"].to_list() == ["5K"] * 3 + ["9K"] * 3 + ["10K"] * 3
    assert release.data["Disease"].equals(table["Disease"])
    assert release.settings["aggregate"] == {"Age": "mean", "Salary": "median"}


@pytest.mark.parametrize("method", ["optimal", "mdav", "v-mdav"])
def test_thesis_table_6_6_follows_from_6_5(method: str) -> None:
    salaries = unveil.datasets.load("thesis-4.1")["Salary"]
    printed = unveil.datasets.load("thesis-6.6")["Salary*"]
    table = pl.DataFrame({"Salary": [int(text.removesuffix("K")) for text in salaries]})
    release = microaggregate(table, "Salary", k=3, method=method, keep_order=True)
    assert [f"{salary:.0f}K" for salary in release.data["Salary"]] == printed.to_list()


# against the definitions


@pytest.mark.parametrize("records", [6, 8, 9, 10, 14, 15, 17, 40])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_mdav_is_what_is_written_down(records: int, k: int) -> None:
    points = matrix(records, 3, records + k)
    expected = slow_mdav(points.tolist(), k)
    release = microaggregate(frame_of(points), ["c0", "c1", "c2"], k=k, standardise=False, refine=False, keep_order=True)
    assert groups_of(release) == set(expected)
    assert release.figures["sse"] == pytest.approx(error(points.tolist(), expected))


@pytest.mark.parametrize(("records", "width", "k"), [(200, 1, 3), (331, 2, 4), (400, 3, 7), (257, 5, 2)])
def test_the_tree_finds_the_groups_that_are_written_down(records: int, width: int, k: int) -> None:
    points = np.random.default_rng(records).lognormal(size=(records, width))
    assert as_groups(tree.mdav(np.ascontiguousarray(points.T), k, np.zeros(2, dtype=np.int64))) == set(
        slow_mdav(points.tolist(), k)
    )


@given(st.integers(1, 400), st.integers(1, 3), st.integers(1, 9), st.integers(1, 40), st.integers(0, 10_000))
def test_the_tree_breaks_ties_as_one_who_looks_at_every_record(records: int, width: int, k: int, values: int, seed: int) -> None:
    """Few values, so that many records are alike and many distances equal; the same groups, with the same numbers."""
    points = np.random.default_rng(seed).integers(0, values, (width, records)).astype(float)
    stop, names = np.zeros(2, dtype=np.int64), np.empty((0, records), dtype=np.int64)
    every = kernels.mdav(points, names, np.empty(0), min(k, records), stop)  # type: ignore[no-untyped-call]
    assert tree.mdav(points, min(k, records), stop).tolist() == every.tolist()


@pytest.mark.parametrize("gain", [0.2, 1.1, 3.0])
@pytest.mark.parametrize(("records", "k"), [(9, 2), (20, 3), (23, 4), (41, 3)])
def test_v_mdav_is_what_is_written_down(records: int, k: int, gain: float) -> None:
    points = matrix(records, 2, records + k)
    expected = slow_v_mdav(points.tolist(), k, gain)
    options: dict[str, Any] = {"k": k, "method": "v-mdav", "gain": gain, "standardise": False, "refine": False}
    release = microaggregate(frame_of(points), ["c0", "c1"], keep_order=True, **options)
    assert groups_of(release) == set(expected)


@given(
    st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=4, max_size=40),
    st.integers(1, 4),
    st.sampled_from(["mdav", "v-mdav"]),
)
def test_refining_never_loses_and_leaves_no_move_that_gains(rows: list[tuple[int, int]], k: int, method: str) -> None:
    """From the definition: no record of a group that can spare it, and no group as a whole, does better in others."""
    table = pl.DataFrame(rows, schema={"a": pl.Float64, "b": pl.Float64}, orient="row")
    asked: dict[str, Any] = {"k": k, "method": method, "standardise": False, "keep_order": True}
    plain, refined = (microaggregate(table, ["a", "b"], refine=one, **asked) for one in (False, True))
    assert refined.figures["sse"] <= plain.figures["sse"] + 1e-6
    assert refined.figures["smallest_group"] >= k
    groups = [sorted(group) for group in groups_of(refined)]
    points = [tuple(map(float, row)) for row in rows]
    if len(rows) <= 8 + 2 * k and sum(map(len, groups)) == len(rows):  # every record is near
        known = {record: at for at, group in enumerate(groups) for record in group}
        for record, at in known.items():
            for other in range(len(groups)):
                if other != at and len(groups[at]) > k:
                    moved = [[one for one in group if one != record] for group in groups]
                    moved[other].append(record)
                    assert error(points, [*map(frozenset, moved)]) >= refined.figures["sse"] - 1e-6


def test_v_mdav_takes_in_a_whole_cluster() -> None:
    """Two far clusters of five and four: a fixed size of three would tear the first apart."""
    values = [0.0, 0.1, 0.2, 0.3, 0.4, 9.0, 9.1, 9.2, 9.3]
    release = microaggregate(pl.DataFrame({"x": values}), "x", k=3, method="v-mdav", gain=1.5, keep_order=True)
    assert groups_of(release) == {frozenset(range(5)), frozenset(range(5, 9))}


@given(st.lists(st.integers(-20, 20), min_size=3, max_size=12), st.integers(1, 3), st.sampled_from([0.0, 1e9]))
def test_optimal_is_the_best_of_all_partitions(values: list[int], k: int, offset: float) -> None:
    ordered = sorted(float(value) for value in values)
    best = min(sum(sum((x - sum(run) / len(run)) ** 2 for x in run) for run in cut) for cut in partitions(ordered, k))
    release = microaggregate(
        pl.DataFrame({"x": [value + offset for value in values]}), "x", k=k, method="optimal", standardise=False, keep_order=True
    )
    assert release.figures["sse"] == pytest.approx(best, abs=1e-6 if offset else 1e-9)


@settings(max_examples=20)
@given(
    st.lists(st.floats(-1e6, 1e6), min_size=6, max_size=60),
    st.integers(2, 5),
    st.sampled_from(["mdav", "v-mdav"]),
    st.floats(0.1, 3),
)
def test_on_one_attribute_the_optimal_method_is_never_worse(values: list[float], k: int, method: str, gain: float) -> None:
    table = pl.DataFrame({"x": values})
    best = microaggregate(table, "x", k=k, method="optimal", keep_order=True).figures["sse"]
    other = microaggregate(table, "x", k=k, method=method, gain=gain, keep_order=True).figures["sse"]
    assert best <= other * (1 + 1e-9) + 1e-9


def test_optimal_keeps_its_precision_far_from_zero() -> None:
    """Prefix sums of squares would lose all digits here."""
    values = np.repeat(np.arange(50.0) * 10, 3) + np.tile([0.0, 1.0, 2.0], 50)
    near = microaggregate(pl.DataFrame({"x": values}), "x", k=3, method="optimal", standardise=False, keep_order=True)
    far = microaggregate(pl.DataFrame({"x": values + 2.0**40}), "x", k=3, method="optimal", standardise=False, keep_order=True)
    assert near.figures["sse"] == far.figures["sse"] == pytest.approx(100.0)


# laws


@given(
    st.lists(st.tuples(st.integers(0, 4), st.sampled_from("abc"), st.floats(0, 1)), min_size=5, max_size=40),
    st.integers(1, 5),
    st.sampled_from(["mdav", "v-mdav"]),
)
def test_mixed_attributes_together_are_k_anonymous(rows: list[tuple[int, str, float]], k: int, method: str) -> None:
    table = pl.DataFrame(rows, schema=["n", "s", "x"], orient="row")
    release = microaggregate(table, ["n", "s", "x"], k=k, method=method, kinds={"n": "ordinal"}, gain=1.1, keep_order=True)
    assert min(Counter(release.data.rows()).values()) >= k
    assert set(release.data["n"]) <= set(table["n"])
    assert release.figures["smallest_group"] >= k
    assert release.figures["sse"] >= 0


@pytest.mark.parametrize("method", ["mdav", "v-mdav"])
def test_groups_within_strata_are_those_of_each_stratum_by_itself(method: str) -> None:
    """Units are those of the whole table, so they are left out here; of nulls there are two patterns in each stratum."""
    random = np.random.default_rng(8)
    table = pl.DataFrame(
        {"x": random.normal(size=200), "y": random.normal(size=200), "town": list("abcd") * 50, "sex": ["f", "m"] * 100}
    ).with_columns(y=pl.when(pl.int_range(200) % 7 == 0).then(None).otherwise(pl.col("y")))
    asked: dict[str, Any] = {"k": 3, "method": method, "standardise": False, "nulls": "keep", "keep_order": True}
    found = microaggregate(table, ["x", "y"], within=["town", "sex"], **asked)
    assert found.settings["within"] == ["town", "sex"]
    for town in "abcd":
        own = table.filter(pl.col("town") == town)
        alone = microaggregate(own, ["x", "y"], **asked).data.select("x", "y")
        for name in ("x", "y"):
            now = found.data.filter(pl.col("town") == town)[name]
            assert now.null_count() == own[name].null_count()
            assert now.fill_null(9.0).to_list() == pytest.approx(alone[name].fill_null(9.0).to_list())
    assert found.data.select("town", "sex").equals(table.select("town", "sex"))


def test_what_strata_cannot_be_is_refused() -> None:
    table = pl.DataFrame({"x": [1.0, 2.0, 3.0], "s": ["a", "a", "b"]})
    with pytest.raises(ArgumentError, match="1 record of a stratum cannot form groups of 2"):
        microaggregate(table, "x", k=2, within="s")
    with pytest.raises(ArgumentError, match="named among the attributes and as strata"):
        microaggregate(table, ["x", "s"], k=1, within="s")
    with pytest.raises(ArgumentError, match="leave out either `groups` or `within`"):
        microaggregate(table, "x", k=1, within="s", groups=[1, 1, 1])
    with pytest.raises(ColumnNotFoundError, match="town"):
        microaggregate(table, "x", k=1, within="town")


def test_each_alone_is_each_on_its_own() -> None:
    table = frame_of(matrix(60, 2, 0))
    both = microaggregate(table, ["c0", "c1"], k=4, together=False, keep_order=True)
    for name in ("c0", "c1"):
        one = microaggregate(table, name, k=4, keep_order=True)
        assert both.data[name].equals(one.data[name])
        assert both.figures["loss_by_attribute"][name] == one.figures["loss"]
        assert both.figures["groups"][name] == one.figures["groups"]
    assert both.notes
    assert min(Counter(both.data.rows()).values()) < 4


def test_the_mean_keeps_means_and_standardised_groups_ignore_units() -> None:
    table = frame_of(matrix(100, 3, 5))
    release = microaggregate(table, table.columns, k=5, keep_order=True)
    scaled = microaggregate(table.with_columns(c1=pl.col("c1") * 1024 + 4), table.columns, k=5, keep_order=True)
    assert groups_of(release) == groups_of(scaled)
    assert groups_of(release) != groups_of(
        microaggregate(table.with_columns(pl.col("c1") * 1024), table.columns, k=5, standardise=False, keep_order=True)
    )
    for name in table.columns:
        assert release.data[name].mean() == pytest.approx(table[name].mean())


def test_aggregates_by_kind() -> None:
    """A group of four: mean 4, median 2.5; lower median b; mode y (z as often, but later)."""
    table = pl.DataFrame({"x": [1, 2, 3, 10], "o": list("abcd"), "s": list("yzzy"), "d": [True, True, False, True]})
    release = microaggregate(table, ["x", "o", "s", "d"], k=4, orders={"o": list("abcd")}, keep_order=True)
    assert release.data.row(0) == (4.0, "b", "y", True)
    medians = microaggregate(table, ["x"], k=4, aggregate="median", keep_order=True)
    assert medians.data["x"].to_list() == [2.5] * 4
    assert microaggregate(table, ["x"], k=4, kinds={"x": "ordinal"}, keep_order=True).data["x"].to_list() == [2] * 4
    assert microaggregate(
        pl.DataFrame({"d": pl.Series(["2020-01-03", "2020-01-01", "2020-01-02"]).str.to_date()}), "d", keep_order=True
    ).data["d"].dt.day().to_list() == [2, 2, 2]


def test_equal_values_stay_what_they_are() -> None:
    values = [0.1] * 3 + [0.7] * 3
    release = microaggregate(pl.DataFrame({"x": values}), "x", k=3, keep_order=True)
    assert release.data["x"].to_list() == values
    assert release.figures["loss"] == 0.0


def test_names_are_grouped_with_their_like() -> None:
    table = pl.DataFrame({"s": list("aabbccabc")})
    release = microaggregate(table, "s", k=3, keep_order=True)
    assert release.data["s"].equals(table["s"])


def test_a_constant_column_and_one_group_for_all() -> None:
    release = microaggregate(pl.DataFrame({"x": [5, 5, 5, 5], "y": [1, 2, 3, 6]}), ["x", "y"], k=4, keep_order=True)
    assert release.data.rows() == [(5.0, 3.0)] * 4
    assert release.figures["loss_by_attribute"] == {"x": 0.0, "y": 1.0}


# nulls, frames, records


def test_null_policies() -> None:
    table = pl.DataFrame({"x": [1.0, 2.0, 9.0, None, None, 8.0], "y": [1.0, 2.0, 9.0, 4.0, 6.0, float("nan")], "z": range(6)})
    with pytest.raises(NullsError, match=r"'x' \(2\), 'y' \(1\).*keep.*drop"):
        microaggregate(table, ["x", "y"], k=2, keep_order=True)
    kept = microaggregate(table, "x", k=2, nulls="keep", keep_order=True)
    assert kept.data["x"].to_list() == [1.5, 1.5, 8.5, None, None, 8.5]
    skipped = microaggregate(table, ["x", "y"], k=3, nulls="drop", keep_order=True)
    assert skipped.data["x"].to_list() == [4.0] * 3
    assert skipped.origin.tolist() == [0, 1, 2]
    assert skipped.figures["skipped"] == 3
    with pytest.raises(ArgumentError, match="1 record with nulls in the same attributes"):
        microaggregate(table, ["x", "y"], k=2, nulls="keep", keep_order=True)
    whole = microaggregate(unveil.Study(table.head(5), keep="z"), ["x", "y"], k=2, nulls="keep", keep_order=True)
    assert whole.data.rows() == [(4.0, 4.0, 0), (4.0, 4.0, 1), (4.0, 4.0, 2), (None, 5.0, 3), (None, 5.0, 4)]
    assert (
        microaggregate(table.with_columns(x=pl.lit(None, pl.Float64)), "x", nulls="keep", keep_order=True).figures["groups"] == 0
    )


@pytest.mark.parametrize("method", ["mdav", "v-mdav"])
def test_every_library_gets_the_same_release_in_its_own_frame(method: str) -> None:
    table = pl.DataFrame({"x": matrix(30, 1, 1)[:, 0], "s": list("abc") * 10})
    before = table.clone()
    expected = microaggregate(table, ["x", "s"], k=4, method=method, keep_order=True).data
    for other in (table.to_pandas(), table.to_arrow(), table.lazy()):
        release = microaggregate(other, ["x", "s"], k=4, method=method, keep_order=True).data
        assert type(release) is type(other)
        as_polars = (
            release.collect()
            if isinstance(release, pl.LazyFrame)
            else pl.DataFrame(dict(zip(table.columns, _columns(release), strict=True)))
        )
        assert as_polars.equals(expected)
    assert table.equals(before)


def _columns(frame: pd.DataFrame | pa.Table) -> list[Any]:
    return [frame[name].to_list() if isinstance(frame, pd.DataFrame) else frame[name].to_pylist() for name in ("x", "s")]


def test_the_answer_shows_itself_and_chains() -> None:
    names = ["Subject", "ZIP", "Age", "Salary"]
    first = microaggregate(unveil.Study("thesis-4.1", keep=names), "Disease", k=3, keep_order=True)
    second = microaggregate(first.records, "Age", k=3, keep_order=True)
    assert second.to_dict()["settings"]["k"] == 3
    assert "microaggregation of Age" in repr(second)
    assert second.records.names == ("Subject", "ZIP", "Age", "Salary", "Disease")


# bad input

TABLE = pl.DataFrame({"x": [1.0, 2.0, 3.0], "s": ["a", "b", "c"], "f": [1.0, float("inf"), 2.0]})


@pytest.mark.parametrize(
    ("attributes", "options", "message"),
    [
        ("x", {"k": 4}, "k is 4, and there are only 3 records"),
        ("x", {"k": 0}, "k is 0; it must be at least 1"),
        ("x", {"k": 2.5}, "k must be a whole number, not a float"),
        ("x", {"method": "mdva"}, "did you mean 'mdav'"),
        ("x", {"gain": 0}, "gain is 0; it must be above 0"),
        ("s", {"aggregate": "mean"}, "'mean' does not fit 's', which is nominal; it is one of: mode"),
        ("s", {"kinds": {"s": "continuous"}}, "a continuous attribute needs numbers, and attribute 's' holds text"),
        ("s", {"kinds": {"s": "ordinal"}}, "an ordinal attribute needs an order"),
        ("s", {"orders": {"s": ["a", "b"]}}, "1 of the 3 values of 's' are not in the order given"),
        ("s", {"orders": {"s": ["a", "b", "c", "b"]}}, "names a value twice"),
        ("s", {"method": "optimal"}, "needs an order, and s has none"),
        (["x", "s"], {"method": "optimal"}, "takes one attribute at a time"),
        ("x", {"groups": [1, 1]}, "groups has 2 entries for 3 records"),
        ("x", {"groups": [1, 1, 2], "k": 2}, "the smallest group given has 1 record, but k is 2"),
        ("x", {"kinds": {"y": "ordinal"}}, "a kind is given for 'y', which is not among the attributes"),
        ("x", {"kinds": {"x": "number"}}, "the kind of 'x' 'number' is unknown"),
        ("x", {"nulls": "wild"}, "nulls 'wild' is unknown"),
        ([], {}, "no attribute is named"),
        (["x", "x"], {}, "named twice"),
    ],
)
def test_bad_input_is_refused(attributes: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        microaggregate(TABLE, attributes, **options, keep_order=True)


def test_other_refusals() -> None:
    with pytest.raises(ColumnNotFoundError, match="'y' not found"):
        microaggregate(TABLE, "y", keep_order=True)
    with pytest.raises(UnsupportedDataError, match="infinite"):
        microaggregate(TABLE, "f", keep_order=True)


@pytest.mark.parametrize("method", ["mdav", "v-mdav"])
def test_an_interrupt_ends_the_compiled_loop(method: str) -> None:
    microaggregate(
        pl.DataFrame({"x": np.arange(9.0), "y": np.arange(9.0)}), ["x", "y"], k=3, method=method, keep_order=True
    )  # compiled
    table = pl.DataFrame(np.random.default_rng(1).normal(size=(400_000, 2)), schema=["x", "y"])  # hours of work
    threads = threading.active_count()
    main = threading.main_thread().ident
    assert main is not None
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started the tests may have it ignored
    interrupt = threading.Timer(1.5, signal.pthread_kill, [main, signal.SIGINT])
    interrupt.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            microaggregate(table, ["x", "y"], k=3, method=method, keep_order=True)
    finally:
        interrupt.join()
        signal.signal(signal.SIGINT, before)
    assert threading.active_count() == threads


def test_groups_of_more_than_one_dimension_are_refused() -> None:
    with pytest.raises(ArgumentError, match="one entry per record"):
        microaggregate(pl.DataFrame({"a": [1, 2, 3]}), "a", k=1, groups=[[1, 1, 1]])


def test_the_largest_share_of_a_value_in_its_group_is_reported() -> None:
    people = pl.DataFrame({"income": [1.0, 2.0, 97.0, 10.0, 10.0, 20.0], "group": [1, 1, 1, 2, 2, 2]})
    release = microaggregate(people, "income", groups="group", keep_order=True)
    assert release.figures["largest_share"] == {"income": pytest.approx(0.97)}
    alike = microaggregate(pl.DataFrame({"x": [5.0] * 6}), "x", k=3, keep_order=True)
    assert alike.figures["largest_share"]["x"] in (pytest.approx(1 / 3), pytest.approx(1 / 6))


def test_a_value_that_dominates_its_group_is_refused_on_request() -> None:
    people = pl.DataFrame({"income": [1.0, 2.0, 97.0, 10.0, 10.0, 20.0], "group": [1, 1, 1, 2, 2, 2]})
    with pytest.raises(ArgumentError, match=r"share of 0\.97 .* dominance allows 0\.9"):
        microaggregate(people, "income", groups="group", dominance=0.9)
    assert microaggregate(people, "income", groups="group", dominance=0.97).records.records == 6
    with pytest.raises(ArgumentError, match="dominance"):
        microaggregate(people, "income", k=3, dominance=1.5)


def test_shares_of_totals_of_zero_and_of_names_are_not_given() -> None:
    frame = pl.DataFrame({"x": [0.0] * 4, "name": list("aabb")})
    assert microaggregate(frame, ["x", "name"], k=2).figures["largest_share"] == {"x": None}
    assert "largest_share" not in microaggregate(frame, "name", k=2).figures


def test_groups_may_be_a_column_of_long_integers() -> None:
    data = pl.DataFrame({"a": [1.0, 2.0, 3.0, 5.0], "group": pl.Series([1 << 70, 1 << 70, 2, 2], dtype=pl.Int128)})
    assert microaggregate(data, "a", k=2, groups="group", keep_order=True).data["a"].to_list() == [1.5, 1.5, 4.0, 4.0]
