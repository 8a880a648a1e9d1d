"""Linked tables and totals that are not nested, in one model."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import unveil
from unveil.errors import TableError
from unveil.partitions import Hierarchy

REGIONS = dict(zip("ABIJKLMN", (2, 2, 8, 8, 3, 3, 3, 7), strict=True))
COUNTIES = Hierarchy("region", [(one, "ABIJ" if one in "ABIJ" else "KLMN", "Total") for one in REGIONS])
GROUPS = Hierarchy("region", [(one, "LM" if one in "LM" else "ABIJKN", "Total") for one in REGIONS])
PEOPLE = pl.DataFrame({"region": [one for one, n in REGIONS.items() for _ in range(n)]})


def published(*hierarchies: Hierarchy) -> pl.DataFrame:
    table = unveil.table(PEOPLE, "region", hierarchies={"region": list(hierarchies)})
    frame: pl.DataFrame = table.to_frame()
    return frame.with_columns(n=pl.when(pl.col("region").is_in(list("ABKLM"))).then(None).otherwise("n"))


def test_a_pattern_that_is_safe_in_each_table_is_not_in_both() -> None:
    for alone in (COUNTIES, GROUPS):
        assert unveil.tables.audit(published(alone), hierarchies={"region": alone}, insiders="none").safe
    both = unveil.tables.audit(published(COUNTIES, GROUPS), hierarchies={"region": [COUNTIES, GROUPS]})
    found = {one["by"]["region"]: one for one in both.to_dict()["cells"]}
    assert not both.safe
    assert found["K"]["exposed"]
    assert (found["K"]["low"], found["K"]["high"]) == (3, 3)
    assert "KLMN" in found["K"]["because"] or "LM" in found["K"]["because"]


@pytest.mark.parametrize("method", ["lp", "gauss", "optimal"])
def test_both_tables_in_one_model_are_protected(method: str) -> None:
    table = unveil.table(PEOPLE, "region", hierarchies={"region": [COUNTIES, GROUPS]})
    result = table.suppress("threshold=4", method=method, insiders="none")
    assert result.safe
    again = unveil.tables.audit(
        result.to_frame(), hierarchies={"region": [COUNTIES, GROUPS]}, original=table, rules="threshold=4", insiders="none"
    )
    assert again.safe


def test_linked_tables_share_the_cells_they_have_in_common() -> None:
    chance = np.random.default_rng(3)
    data = pl.DataFrame({name: chance.integers(0, 4, 150) for name in ("a", "b", "c")})
    whole = unveil.table(data, ["a", "b", "c"])
    linked = unveil.table(data, ["a", "b", "c"], tables=[["a", "b"], ["a", "c"]])
    assert len(whole) == 125
    assert len(linked) == 25 + 25 - 5
    result = linked.suppress("threshold=6", method="lp", cost="count")
    assert result.safe
    shared_margin = linked.cells[(linked.n[linked.cells] == linked.n.max())]
    assert len(shared_margin) == 1


def test_differencing_between_tables_over_overlapping_groups() -> None:
    ages = [str(one) for one in range(15, 27)]
    young = Hierarchy("age", [(one, "15-24" if int(one) <= 24 else one, "Total") for one in ages])
    old = Hierarchy("age", [(one, "16-25" if 16 <= int(one) <= 25 else one, "Total") for one in ages])
    data = pl.DataFrame({"age": [one for one in ages for _ in range(1 if one == "15" else 5)]})
    table = unveil.table(data, "age", hierarchies={"age": [young, old]})
    shown = np.isin(np.array(table.dimensions[0].codes), ["Total", "15-24", "16-25", "25"])
    from dataclasses import replace

    attack = unveil.attack_table(replace(table, shown=shown))
    named = [table.name_of(one.cell) for one in attack.found if one.attack == "differencing"]
    assert named == ["(15)"]


def test_hierarchies_of_different_leaves_are_refused() -> None:
    from unveil.errors import HierarchyError

    other = Hierarchy("region", [("A", "x"), ("B", "x")])
    with pytest.raises(HierarchyError, match="different leaves"):
        unveil.table(PEOPLE, "region", hierarchies={"region": [COUNTIES, other]})
    with pytest.raises(TableError, match="there is a hierarchy for"):
        unveil.table(PEOPLE, "region", hierarchies={"sex": COUNTIES})


def test_differencing_is_found_in_protected_tables_too() -> None:
    """All of a town work in one trade: what each table shows of the town says who does which work."""
    rows = [("N", "steel", "f")] + [("N", "steel", "m")] * 4 + [("S", "food", "f")] * 5 + [("S", "steel", "m")] * 6
    frame = pl.DataFrame([*rows, *[("S", "food", "m")] * 7], schema=["town", "trade", "sex"], orient="row")
    linked = unveil.table(frame, ["town", "trade", "sex"], tables=[["town", "trade"], ["town", "sex"]])
    found = {linked.name_of(one.cell) for one in unveil.attack_table(linked).found if one.attack == "differencing"}
    assert "(N, steel, f)" in found
    blank = linked.suppress("threshold=2")
    assert "differencing" not in unveil.attack_table(blank).to_dict()["attacks"]
    lax = linked.suppress("threshold=2", method="primary")
    assert lax.primary == 1
    assert "differencing" in unveil.attack_table(lax).to_dict()["attacks"]


def test_groupings_over_the_finest_values_do_not_give_their_difference_away() -> None:
    """Under 66 less under 65 is one person of 65: safe where both groupings are protected in one model."""
    ages = ["64"] * 7 + ["65"] + ["66"] * 9
    split = Hierarchy("age", [("64", "under 65", "Total"), ("65", "65 and over", "Total"), ("66", "65 and over", "Total")])
    other = Hierarchy("age", [("64", "under 66", "Total"), ("65", "under 66", "Total"), ("66", "66 and over", "Total")])
    table = unveil.table(pl.DataFrame({"age": ages}), "age", hierarchies={"age": [split, other]})
    frame = table.suppress("threshold=3").to_frame()
    groups = {row["age"]: row["n"] for row in frame.iter_rows(named=True)}
    assert groups["under 65"] is None or groups["under 66"] is None
