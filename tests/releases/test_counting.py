"""Counting queries on a generalised table, beside anatomy: the comparison of the documents."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import unveil
from unveil import mechanisms
from unveil.errors import ArgumentError
from unveil.models import KAnonymity
from unveil.partitions import Hierarchy
from unveil.releases import uniform_count

ORIGINAL = unveil.datasets.load("thesis-2.1")
QUERY: dict[str, Any] = {"Age": lambda age: age >= 35, "Disease": "aids"}


def test_the_query_of_the_documents_on_a_generalised_table_and_on_anatomy() -> None:
    """Of the two who have aids, the table says that they are above 32; the five there are 35, 35, 40, 45 and 63."""
    table = ORIGINAL.select(
        pl.when(pl.col("Age") <= 32).then(pl.lit("<= 32")).otherwise(pl.lit("> 32")).alias("Age"), pl.col("Disease")
    )
    ages = sorted(set(ORIGINAL["Age"].to_list()))
    assert uniform_count(table, QUERY, domains={"Age": ages}) == 2.0
    assert uniform_count(table, QUERY, domains={"Age": range(18, 63)}) == pytest.approx(2 * 28 / 30)
    group = ORIGINAL.with_columns(group=(pl.col("Age") > 32).cast(pl.Int64))
    tables = mechanisms.anatomize(group, ["ZIP", "Age", "Salary"], "Disease", l=2, groups="group", group="id")
    assert tables.count(QUERY) == 2.0


def test_a_release_counts_by_its_hierarchies() -> None:
    tree = Hierarchy("Age", [[str(age), "young" if age < 35 else "old", "*"] for age in (22, 32, 35, 40, 45, 63)])
    release = unveil.anonymize(ORIGINAL, ["Age"], [KAnonymity(4)], hierarchies={"Age": tree}, seed=1)
    assert set(release.data["Age"].to_list()) == {"young", "old"}
    assert release.count(QUERY, hierarchies={"Age": tree}) == 2.0
    assert release.count({"Age": lambda age: age >= 45}, hierarchies={"Age": tree}) == pytest.approx(5 * 2 / 4)
    assert release.count({"Age": 22}, hierarchies={"Age": tree}) == pytest.approx(4 / 2)


@pytest.mark.parametrize(
    ("values", "condition", "expected"),
    [
        (["[20, 30)"], lambda x: x >= 25, 0.5),
        (["(20, 30]"], lambda x: x > 20, 1.0),
        (["2*", "3*"], lambda x: x < 25, 0.5),
        (["{a, b}", "a", "c"], ["a", "b"], 2.0),
        (["{a, b}", "a", "c"], "a", 1.5),
        ([1, 2, 3], lambda x: x > 1, 2.0),
        ([1, None], lambda x: x > 0, 1.0),
    ],
)
def test_shares_are_those_of_the_values_covered(values: list[Any], condition: Any, expected: float) -> None:
    assert uniform_count(pl.DataFrame({"x": values}), {"x": condition}) == pytest.approx(expected)


@pytest.mark.parametrize("value", ["*", "> 30", "[0, 1e9]", "{a, b, +7}"])
def test_what_does_not_say_what_it_covers_needs_a_domain(value: str) -> None:
    table = pl.DataFrame({"x": [value, "35"]})
    with pytest.raises(ArgumentError, match=r"domain"):
        uniform_count(table, {"x": lambda x: x == 35})
    with pytest.raises(ArgumentError, match="no column"):
        uniform_count(table, {})
    with pytest.raises(ArgumentError, match="mapping"):
        uniform_count(table, {"x": {}})


def test_a_suppressed_value_may_be_any_of_the_domain() -> None:
    assert uniform_count(pl.DataFrame({"x": ["*", "1"]}), {"x": 1}, domains={"x": [1, 2, 3, 4]}) == 1.25
    with pytest.raises(ArgumentError, match="no value"):
        uniform_count(pl.DataFrame({"x": ["> 9"]}), {"x": 1}, domains={"x": [1, 2]})
