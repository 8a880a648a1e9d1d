"""An average risk as a requirement of a search: the smallest classes go, and no more of them than have to."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unveil
from helpers import shared
from unveil.errors import EmptyDataError, ModelNotMetError
from unveil.models import AverageRisk, DeltaPresence, KAnonymity
from unveil.search.lattice.class_table import ClassTable, CodeField
from unveil.search.requirements import gone_for_average

FIELDS = [CodeField(0, 0, 15)]
AGES = unveil.Hierarchy.from_levels(
    [str(age) for age in range(8)], [f"{age // 2}x" for age in range(8)], [f"{age // 4}y" for age in range(8)], ["*"] * 8
)
SEXES = unveil.Hierarchy.from_levels(["f", "m"], ["*"] * 2)
TREES = {"age": AGES, "sex": SEXES}
people = st.lists(st.tuples(st.integers(0, 7), st.sampled_from("fm"), st.sampled_from("abc")), min_size=6, max_size=40)


def frame_of(rows: list[tuple[int, str, str]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"age": pl.Int64, "sex": pl.String, "job": pl.String}, orient="row")


@given(
    st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=1, max_size=9), st.sampled_from([0.0, 0.12, 0.2, 0.35, 1.0])
)
def test_no_other_choice_of_classes_suppresses_fewer_records(classes: list[tuple[int, bool]], highest: float) -> None:
    n, gone = np.array([size for size, _ in classes]), np.array([out for _, out in classes])
    table = ClassTable((np.arange(len(n)).astype(np.uint64),), n[:, np.newaxis])
    found = gone_for_average(table, FIELDS, gone, highest)
    costs = []
    for kept in itertools.product([False, True], repeat=len(n)):
        left = [int(size) for size, stays, out in zip(n, kept, gone, strict=True) if stays and not out and size]
        if len(left) <= (highest + 1e-9) * sum(left):
            costs.append(int(n.sum()) - sum(left))
    assert int(n[found].sum()) == min(costs)
    assert found[gone].all()


def test_which_of_equally_small_classes_go_does_not_depend_on_the_order_of_rows() -> None:
    keys, n = np.array([5, 3, 9, 1], dtype=np.uint64), np.array([2, 2, 2, 20])
    for order in itertools.permutations(range(4)):
        rows = list(order)
        table = ClassTable((keys[rows],), n[rows][:, np.newaxis])
        found = gone_for_average(table, FIELDS, np.zeros(4, dtype=bool), 0.1)
        assert sorted(keys[rows][found].tolist()) == [5, 9]


def bits(original: pl.DataFrame, release: pl.DataFrame, trees: dict[str, Any], levels: dict[str, int]) -> float:
    """Return the non-uniform entropy as ARX sums it up: what is suppressed costs the entropy among the suppressed."""
    gone = np.all([release[name].cast(pl.String) == "*" for name in levels], axis=0)
    total = 0.0
    for name, level in levels.items():
        label = {row[0]: row[level] for row in trees[name].with_root().labels}
        values = original[name].cast(pl.String).to_list()
        labels = [label[value] for value in values]
        held, shown = Counter(values), Counter(labels)
        lost = Counter(one for one, out in zip(labels, gone, strict=True) if out)
        total += sum(math.log2(shown[one] / held[value]) for one, value in zip(labels, values, strict=True))
        total += sum(number * math.log2(gone.sum() / number) for number in lost.values())
    return total


def test_adult_under_an_average_risk_is_suppressed_as_arx_does() -> None:
    folder = shared("data/arx-adult")
    keys = [
        "sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation", "salary-class",
    ]  # fmt: skip
    trees = unveil.Hierarchy.read_folder(folder, keys)
    adult = pl.read_csv(folder / "adult.csv", separator=";", infer_schema=False)
    n = len(adult)
    most = {name: n * math.log2(n) - sum(x * math.log2(x) for x in adult[name].value_counts()["count"]) for name in keys}
    release = unveil.anonymize(
        adult, keys, [AverageRisk(0.01)], hierarchies=trees, suppression=0.04, objective="entropy", weights=most, keep_order=True
    )
    assert [*release.transformation.values()] == [1, 0, 1, 1, 3, 2, 2, 1, 1]
    assert bits(adult, release.data, trees, dict(release.transformation)) == pytest.approx(314637.8461904862, abs=1e-6)
    assert release.suppressed == 608
    assert release.optimal
    assert release.models[("average_risk",)].met


METHODS: dict[str, Callable[..., Any]] = {
    "full domain": unveil.anonymize, "subtrees": unveil.generalize_subtrees,
    "local": unveil.recode_locally,
}  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=15)
@given(people, st.sampled_from([0.1, 0.3]))
def test_every_recoding_that_may_suppress_meets_the_average(method: str, rows: list[tuple[int, str, str]], share: float) -> None:
    options: dict[str, Any] = {"hierarchies": TREES, "suppression": share}
    release = METHODS[method](frame_of(rows), list(TREES), [AverageRisk(0.25)], **options)
    assert all(one.met for one in release.models.values())
    assert release.suppressed <= math.floor(share * len(rows) + 1e-9)
    assert release.score <= unveil.anonymize(frame_of(rows), list(TREES), [AverageRisk(0.25)], **options).score + 1e-9


def test_a_front_suppresses_for_an_average_risk_as_well() -> None:
    rows = [(age % 4, "fm"[age // 4 % 2], "abc"[age % 4 % 3]) for age in range(80)] + [(7, "f", "c"), (6, "m", "a")]
    need = unveil.Need("job", target="job", given=["age", "sex"])
    front = unveil.anonymize_front(
        frame_of(rows), TREES, need, sensitive="job", models=[AverageRisk(0.051)], suppression=0.05, prefer="utility"
    )
    assert front.points[front.choice].suppressed == 2
    for at, point in enumerate(front.points):
        release = front.release(at)
        assert release.models[("average_risk",)].met
        assert release.suppressed == point.suppressed


def test_an_average_that_cannot_be_had_says_how_many_records_would_have_to_go() -> None:
    rows = [(age, "f", "a") for age in [0, 1, 2, 3, 4, 4, 5, 5, 5, 6, 6, 7]]
    levels = {"age": (0, 1), "sex": (0, 1)}
    with pytest.raises(ModelNotMetError, match=r"figure is 0\.3333"):
        unveil.anonymize(frame_of(rows), TREES, [AverageRisk(0.2)], levels=levels, suppression=0.5)
    assert unveil.anonymize(frame_of(rows), TREES, [AverageRisk(0.2)], levels=levels, suppression=0.6).suppressed == 7


@settings(max_examples=20)
@given(people, st.sampled_from([0.0, 0.1, 0.3]), st.sampled_from([(0.0, 0.0), (0.0, 0.6), (0.3, 1.0), (1.0, 1.0), (0.0, 1.0)]))
def test_whoever_is_suppressed_is_not_present_as_a_lower_bound_asks(
    rows: list[tuple[int, str, str]], share: float, bounds: tuple[float, float]
) -> None:
    part = frame_of(rows[: len(rows) // 2 + 1])
    models: list[Any] = [KAnonymity(2), DeltaPresence(*bounds)]
    try:
        release = unveil.anonymize(part, TREES, models, population=frame_of(rows), suppression=share)
    except (ModelNotMetError, EmptyDataError):
        return
    assert all(one.met for one in release.models.values())
