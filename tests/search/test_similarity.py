"""Values that are used alike are grouped, and each merge loses as little as any would."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from math import log2

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unveil
from unveil.cli import run
from unveil.errors import ArgumentError, HierarchyError
from unveil.search.similarity import similar_values
from unveil.sources import load
from unveil.study import CodedColumns


def uncertain(rows: Sequence[tuple[int, ...]], group: frozenset[int]) -> float:
    """Return the bits that are unknown of the other columns among the records of a group of values."""
    total = 0.0
    for column in range(1, len(rows[0])):
        counts = Counter(row[column] for row in rows if row[0] in group)
        n = sum(counts.values())
        total -= sum(m * log2(m / n) for m in counts.values())
    return total


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, 2)), min_size=8, max_size=40))
def test_each_level_is_what_merging_the_cheapest_pair_gives(rows: list[tuple[int, int, int]]) -> None:
    table = load(pl.DataFrame(rows, schema=["a", "b", "c"], orient="row"), ["a", "b", "c"])
    found = similar_values(CodedColumns({one.name: one for one in table.columns}), "a", ["b", "c"])
    groups = {frozenset([value]) for value in {row[0] for row in rows}}
    for level in found.groups:
        wanted = {frozenset(int(value) for value in level if level[value] == label) for label in level.values()}
        while len(groups) > len(wanted):
            losses = {
                pair: uncertain(rows, pair[0] | pair[1]) - uncertain(rows, pair[0]) - uncertain(rows, pair[1])
                for pair in combinations(sorted(groups, key=sorted), 2)
            }
            least = min(losses.values())
            ties = [pair for pair, loss in losses.items() if loss <= least + 1e-9]
            allowed = [pair for pair in ties if any(pair[0] | pair[1] <= group for group in wanted)]
            assert allowed, "a pair was merged that loses more than another"
            groups = (groups - {*allowed[0]}) | {allowed[0][0] | allowed[0][1]}
        assert groups == wanted


def jobs() -> pl.DataFrame:
    rng = np.random.default_rng(11)
    job = rng.integers(0, 8, 2000)
    return pl.DataFrame(
        {
            "job": [f"job {one}" for one in job],
            "hours": [20 + 5 * (one % 2) + int(rng.integers(0, 4)) for one in job],
            "place": ["in" if rng.random() < (0.9 if one % 2 else 0.1) else "out" for one in job],
        }
    )


def test_alike_by_construction_is_found() -> None:
    report = unveil.propose_hierarchy(jobs(), "job", similar=["hours", "place"])
    top = {row[0]: row[-2] for row in report.hierarchy.labels}
    assert {*top.values()} == {"{job 0, job 2, job 4, job 6}", "{job 1, job 3, job 5, job 7}"}
    assert "least is lost of what they say about hours, place" in (report.reason or "")
    assert report.to_dict()["rule"] == {"rule": "similar", "by": ["hours", "place"]}


def test_refuses(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ArgumentError, match="columns other than their own"):
        unveil.propose_hierarchy(jobs(), "job", similar="job")
    many = pl.DataFrame({"a": [f"v{at}" for at in range(500)], "b": [0, 1] * 250})
    with pytest.raises(HierarchyError, match="500 values are too many"):
        unveil.propose_hierarchy(many, "a", similar="b")
    assert run(["hierarchy", "build", "adult", "--column", "race", "--similar", "age", "--rare", "5"]) == 2
    assert "one rule" in capsys.readouterr().err
