"""What each attack on a table gains, against all tables that an attacker cannot exclude, one by one."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import unveil
from unveil.cli import run
from unveil.tables.attacks import CellAttack
from unveil.tables.gains import bits, step_of

WHOLE = [[1, 4, 3], [5, 2, 4], [3, 6, 1]]
"""Counts of three rows and three columns."""


def people(rows: list[list[int]]) -> pl.DataFrame:
    return pl.DataFrame(
        [("ABC"[a], "xyz"[b]) for a, row in enumerate(rows) for b, n in enumerate(row) for _ in range(n)],
        schema=["row", "column"],
        orient="row",
    )


def possible(rows: list[list[int]], hidden: list[tuple[int, int]]) -> list[dict[tuple[int, int], int]]:
    """Return all figures of the hidden inner cells with which rows and columns come to their published totals."""
    most = [min(sum(rows[a]), sum(row[b] for row in rows)) for a, b in hidden]
    tables = []
    for figures in itertools.product(*[range(one + 1) for one in most]):
        trial = [list(row) for row in rows]
        for (a, b), figure in zip(hidden, figures, strict=True):
            trial[a][b] = figure
        sums = [sum(row) for row in trial] == [sum(row) for row in rows]
        if sums and [sum(one) for one in zip(*trial, strict=True)] == [sum(one) for one in zip(*rows, strict=True)]:
            tables.append(dict(zip(hidden, figures, strict=True)))
    return tables


def pairs(attack: unveil.TableAttack, some: tuple[CellAttack, ...]) -> dict[tuple[str, str], CellAttack]:
    return {(one.attack, attack.table.name_of(one.cell)): one for one in some}


def inner(protected: Any) -> list[tuple[int, int]]:
    hidden = protected.suppressed.reshape(4, 4)
    assert not hidden[0].any()
    assert not hidden[:, 0].any()
    return [(int(a) - 1, int(b) - 1) for a, b in zip(*np.nonzero(hidden), strict=True)]


def test_the_rate_left_on_a_suppressed_cell_counts_the_tables_that_are_possible() -> None:
    protected = unveil.table(people(WHOLE), ["row", "column"]).suppress("threshold=2", insiders="none")
    attack = unveil.attack_table(protected)
    tables = possible(WHOLE, inner(protected))
    stopped = pairs(attack, attack.prevented)
    assert set(stopped) == {("external", "(A, x)"), ("external", "(C, z)")}
    beforehand = math.log2(1 + sum(map(sum, WHOLE)))
    for name, cell in (("(A, x)", (0, 0)), ("(C, z)", (2, 2))):
        one, figures = stopped["external", name], {table[cell] for table in tables}
        assert (one.low, one.high) == (min(figures), max(figures))
        assert one.rate_before == (1.0, 1.0)
        assert one.rate_after == pytest.approx((1 - math.log2(len(figures)) / beforehand,) * 2)
    assert not attack.found


def test_an_insider_gains_what_their_own_cell_leaves_possible() -> None:
    """Who is alone in (A, x) knows that it is 1."""
    protected = unveil.table(people(WHOLE), ["row", "column"]).suppress("threshold=3", method="lp", insiders="none", width=1)
    table = unveil.table(people(WHOLE), ["row", "column"])
    audit = unveil.tables.audit(protected, original=table, rules="threshold=3")
    assert not audit.safe
    hidden = inner(protected)
    cells = {table.name_of(at): at for at in range(16)}
    told = [("ABC"[a], "xyz"[b], a, b) for a, b in hidden]
    owner = next((a, b) for a, b in hidden if WHOLE[a][b] == 1)
    left = [one for one in possible(WHOLE, hidden) if one[owner] == 1]
    found = []
    for row, column, a, b in told:
        figures = {one[a, b] for one in left}
        found.append((cells[f"({row}, {column})"], cells["(A, x)"], float(min(figures)), float(max(figures))))
    attack = unveil.attack_table(replace(protected, insiders=tuple(found)))
    beforehand = math.log2(1 + sum(map(sum, WHOLE)))
    inside = [one for one in attack.found if one.attack == "insider"]
    assert len(inside) == len(found) > 2
    for one, (_, _, low, high) in zip(inside, found, strict=True):
        assert one.rate_before == (1.0, 1.0)
        assert one.rate_after == pytest.approx((1 - math.log2(high - low + 1) / beforehand,) * 2)


FIRMS = [("N", "f", [13, 40, 20]), ("N", "s", [89]), ("N", "t", [38, 42]), ("S", "f", [24, 43, 87]), ("S", "s", [96, 1, 2])]
MORE = [("S", "t", [118, 43, 33]), ("E", "f", [45, 110, 30]), ("E", "s", [39, 8, 28]), ("E", "t", [38, 54, 24])]
TURNOVER = pl.DataFrame(
    [(a, b, x) for a, b, some in FIRMS + MORE for x in some], schema=["region", "sector", "turnover"], orient="row"
)
TOTAL = int(TURNOVER["turnover"].sum())


def test_the_rates_of_contributors_by_hand() -> None:
    table = unveil.table(TURNOVER, ["region", "sector"], value="turnover")
    attack = unveil.attack_table(table)
    found = pairs(attack, attack.found)
    assert found["external", "(N, s)"].rate_before == found["external", "(N, s)"].rate_after == (1.0, 1.0)
    assert found["internal", "(N, t)"].rate_before == (1.0, 1.0)
    dominated = found["dominance", "(S, s)"]  # each other's value is one of 0, 1, 2, 3
    assert dominated.rate_before == pytest.approx((1 - 2 / math.log2(TOTAL + 1),) * 2)
    assert dominated.rate_after == dominated.rate_before
    assert attack.prevented == ()
    protected = table.suppress("p=10")
    after = unveil.attack_table(protected)
    stopped = pairs(after, after.prevented)
    own = {"(N, t)": 42, "(S, s)": 96}
    for (kind, name), one in stopped.items():
        low, high = float(protected.low[one.cell]), float(protected.high[one.cell])
        if kind != "external":
            low, high = (0.0 if kind == "dominance" else max(0.0, low - own[name])), high - own[name]
        assert (one.low, one.high) == pytest.approx((low, high))
        values = sum(1 for x in range(TOTAL + 1) if low - 1e-6 <= x <= high + 1e-6)
        assert one.rate_after == pytest.approx((1 - math.log2(values) / math.log2(TOTAL + 1),) * 2)
    assert {kind for kind, _ in stopped} == {"external", "internal", "dominance"}


def test_a_group_of_one_category_has_a_posterior_rate_of_one() -> None:
    """All of B are x: beforehand their category is as open as that of anybody in the table."""
    attack = unveil.attack_table(unveil.table(people([[2, 4, 3], [5, 0, 0], [3, 6, 2]]), ["row", "column"]))
    groups = [one for one in attack.found if one.attack == "group disclosure"]
    assert [one.rate_before for one in groups] == [(1.0, 1.0)]
    wider = {"column": [("x", "Total"), ("y", "Total")]}  # everybody is x, as everybody knows
    one_category = unveil.attack_table(unveil.table(people([[2, 0], [5, 0]]), ["row", "column"], hierarchies=wider))
    assert {one.rate_before for one in one_category.found if one.attack == "group disclosure"} == {None}


def test_a_group_that_is_suppressed_leaves_an_interval_that_holds_every_possible_rate() -> None:
    rows = [[2, 4, 3], [5, 0, 0], [3, 6, 2]]
    protected = unveil.table(people(rows), ["row", "column"]).suppress("group", insiders="none", cost="count")
    attack = unveil.attack_table(protected)
    stopped = pairs(attack, attack.prevented)["group disclosure", "(B, x)"]
    assert stopped.rate_before == (1.0, 1.0)
    assert stopped.rate_after is not None
    low, high = stopped.rate_after
    columns = np.array(rows).sum(axis=0)
    beforehand = -sum(n / columns.sum() * math.log2(n / columns.sum()) for n in columns)
    rates = []
    for table in possible(rows, inner(protected)):
        row = [table.get((1, b), rows[1][b]) for b in range(3)]
        rates.append(1 + sum(n / sum(row) * math.log2(n / sum(row)) for n in row if n) / beforehand)
    assert len(rates) > 2
    assert low - 1e-9 <= min(rates) < max(rates) <= high + 1e-9


def test_what_an_unsafe_pattern_gives_away_is_not_called_prevented() -> None:
    lax = unveil.table(people(WHOLE), ["row", "column"]).suppress("threshold=2", method="primary")
    attack = unveil.attack_table(lax)
    assert not lax.safe
    assert attack.prevented == ()
    assert {one.rate_after for one in attack.found if one.attack == "external"} == {(1.0, 1.0)}


def test_a_suppressed_total_or_an_unknown_interval_makes_the_rate_an_interval() -> None:
    protected = unveil.table(people(WHOLE), ["row", "column"]).suppress("threshold=2", insiders="none")
    loose = unveil.attack_table(replace(protected, exact=False)).prevented
    firm = unveil.attack_table(protected).prevented
    for one, other in zip(loose, firm, strict=True):
        assert other.rate_after is not None
        assert one.rate_after == (0.0, other.rate_after[1])  # intervals are at least so wide
    status, low, high = protected.status.copy(), protected.low.copy(), protected.high.copy()
    status[0], low[0], high[0] = 2, 20, 60  # the total of the table: beforehand a figure is at most 20 to 60
    first = unveil.attack_table(replace(protected, status=status, low=low, high=high)).prevented[0]
    left = math.log2(first.high - first.low + 1)
    assert first.rate_after == pytest.approx((1 - left / math.log2(21), 1 - left / math.log2(61)))
    values = unveil.table(TURNOVER, ["region", "sector"], value="turnover").suppress("threshold=2", on="count")
    unknown = unveil.attack_table(values).prevented
    assert {one.rate_after for one in unknown if one.attack == "external"} == {(0.0, 1.0)}


def test_differencing_has_its_rate() -> None:
    rows = [("N", "steel", "f")] + [("N", "steel", "m")] * 4 + [("S", "food", "f")] * 5 + [("S", "steel", "m")] * 6
    frame = pl.DataFrame([*rows, *[("S", "food", "m")] * 7], schema=["town", "trade", "sex"], orient="row")
    linked = unveil.table(frame, ["town", "trade", "sex"], tables=[["town", "trade"], ["town", "sex"]])
    attack = unveil.attack_table(linked)
    assert {one.rate_before for one in attack.found if one.attack == "differencing"} == {(1.0, 1.0)}
    stopped = [one for one in unveil.attack_table(linked.suppress("threshold=2")).prevented if one.attack == "differencing"]
    assert stopped
    for one in stopped:
        assert one.rate_after is not None
        assert 0 <= one.rate_after[0] < one.rate_after[1] == 1.0


def test_bounds_that_the_attacker_knows_are_where_a_rate_begins() -> None:
    protected = unveil.table(people(WHOLE), ["row", "column"]).suppress("threshold=2", insiders="none", attacker="0%:400%")
    prevented = unveil.attack_table(protected).prevented
    assert prevented
    for one in prevented:
        assert one.rate_after == pytest.approx((1 - math.log2(one.high - one.low + 1) / math.log2(5),) * 2)  # 0 to 4


def test_figures_are_counted_in_the_steps_in_which_they_are_written() -> None:
    assert step_of(np.array([1.0, 20.0])) == 1
    assert step_of(np.array([0.1 + 0.2, 7.0]), None) == pytest.approx(0.1)
    assert step_of(np.array([2.0]), np.array([[0.25]])) == pytest.approx(0.01)
    assert step_of(np.array([math.pi])) == pytest.approx(1e-6)
    assert bits(0, 3, 1) == 2
    assert bits(0.2, 3.9, 1) == pytest.approx(math.log2(3))
    assert bits(0, 0.3, 0.1) == 2
    assert bits(0, math.inf, 1) == math.inf


def test_signed_figures_have_a_rate_only_where_they_are_known() -> None:
    signed = pl.DataFrame({"a": ["x", "y", "y", "y"], "v": [-5, 1000, -1, 2]})
    attack = unveil.attack_table(unveil.table(signed, "a", value="v", signed=True))
    found = {one.attack: one.rate_before for one in attack.found}
    assert found["external"] == (1.0, 1.0)
    assert found["dominance"] is None


def test_rates_are_in_json_and_on_the_screen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    TURNOVER.write_csv(tmp_path / "firms.csv")
    words = ["table", str(tmp_path / "firms.csv"), "--by", "region", "--by", "sector", "--value", "turnover", "--attack"]
    assert run([*words, "--json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert all(one["rate_before"] == one["rate_after"] for one in whole["cells"])
    assert whole["prevented"] == []
    assert run([*words, "--rule", "p=10", "--protect", "suppress", "--json"]) == 0
    stopped = json.loads(capsys.readouterr().out)["prevented"]
    assert all(one["rate_after"][1] < one["rate_before"][0] for one in stopped)
    assert run([*words, "--rule", "p=10", "--protect", "suppress"]) == 0
    assert "prevented" in capsys.readouterr().out
    attack = unveil.attack_table(unveil.table(TURNOVER, ["region", "sector"], value="turnover"))
    assert attack.to_frame()["rate_after_high"].to_list() == [one.rate_after[1] for one in attack.found if one.rate_after]
