"""Is the column to tell told as well as it can be? Against the share of records that each class's majority gets wrong."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import product
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unveil
from search.lattices import chosen
from unveil.errors import ArgumentError, ColumnNotFoundError
from unveil.models import DistinctLDiversity, KAnonymity
from unveil.search.lattice.capacity import USUAL, Capacity

TREES = {
    "age": unveil.Hierarchy.from_levels(["1", "2", "3", "4"], ["a", "a", "b", "b"], ["*"] * 4),
    "sex": unveil.Hierarchy.from_levels(["f", "m"], ["*"] * 2),
}
people = st.lists(st.tuples(st.integers(1, 4), st.sampled_from("fm"), st.sampled_from("xyz")), min_size=6, max_size=14)


def wrong(rows: list[tuple[int, str, str]], node: tuple[int, int], factor: float) -> float | None:
    """Return the cost of a node from its definition; None where too many records are suppressed."""
    classes = defaultdict(list)
    for age, sex, job in rows:
        labels = [
            next(one for one in tree.labels if one[0] == str(value))
            for tree, value in zip(TREES.values(), (age, sex), strict=True)
        ]
        classes[labels[0][node[0]], labels[1][node[1]]].append(job)
    plain, even = min(1.0, 2.0 - 2.0 * factor), min(1.0, 2.0 * factor)
    total, lost = 0.0, 0
    for jobs in classes.values():
        most = [n for _, n in Counter(jobs).most_common(2)] + [0]
        if len(jobs) < 2:
            lost += len(jobs)
            total += factor * len(jobs)
        else:
            total += plain * (len(jobs) - most[0]) if most[0] > most[1] else even * len(jobs)
    return None if lost > 0.3 * len(rows) else total / (max(plain, even, factor) * len(rows))


@pytest.mark.parametrize("dense", [True, False])
@settings(max_examples=20)
@given(people, st.sampled_from([0.2, 0.5, 0.8]))
def test_no_generalisation_tells_the_column_better(dense: bool, rows: list[tuple[int, str, str]], factor: float) -> None:
    frame = pl.DataFrame(rows, schema=["age", "sex", "job"], orient="row")
    costs = [wrong(rows, node, factor) for node in product(range(3), range(2))]
    capacity = USUAL if dense else Capacity(sensitive_values=0)
    options: dict[str, Any] = {"suppression": 0.3, "objective": "classification:job", "factor": factor}
    choice = chosen(frame, TREES, [KAnonymity(2)], capacity, **options)
    assert choice.lattice.space.dense is dense
    assert choice.best.score == pytest.approx(min(cost for cost in costs if cost is not None), abs=1e-12)
    assert choice.request.sensitive == ()


def test_a_column_that_a_model_is_about_may_be_the_one_to_tell() -> None:
    frame = pl.DataFrame({"age": [1, 1, 2, 2], "sex": ["f"] * 4, "job": ["x", "y", "x", "x"]})
    release = unveil.anonymize(frame, TREES, [DistinctLDiversity("job", 2)], objective="classification:job")
    assert release.score == 0.25


def test_what_cannot_be_told_is_refused() -> None:
    frame = pl.DataFrame({"age": [1, 1], "sex": ["f", "f"], "job": ["x", "y"]})
    with pytest.raises(ColumnNotFoundError, match="jobb"):
        unveil.anonymize(frame, TREES, [KAnonymity(2)], objective="classification:jobb")
    with pytest.raises(ArgumentError, match="objective"):
        unveil.anonymize(frame, TREES, [KAnonymity(2)], objective="classification:")
    with pytest.raises(ArgumentError, match="takes no attribute weights"):
        unveil.anonymize(frame, TREES, [KAnonymity(2)], objective="classification:job", weights={"age": 2.0})
