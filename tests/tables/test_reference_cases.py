"""The reference cases: primary cells, proven least patterns, and no method that leaves an exposed cell."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unveil
from helpers import shared
from unveil.cli import run
from unveil.tables import CrossTable, SuppressedTable

FLAT = ("flat2_freq3", "flat2_nk285", "flat2_pq", "adult2_freq5")
PROVEN = (*FLAT, "hier2_freq3")
THREE = ("hier3_freq3", "adult3h_freq5")
AS_SDCTABLE: dict[str, Any] = {"on": "count", "width": 1, "insiders": "none", "zeros": "publish"}


def case(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(shared("golden/tables.json").read_text())[name]
    return found


def rule(case: dict[str, Any]) -> str:
    asked = case["rule"]
    match asked["type"]:
        case "freq":
            return f"threshold={asked['maxN'] + 1}"
        case "nk":
            return f"dominance={asked['n']}:{asked['k']}"
        case _:
            return f"pq={asked['pq'][0]}:{asked['pq'][1]}"


@cache
def table(name: str) -> CrossTable:
    known = case(name)
    levels = {column: [tuple(one) for one in codes] for column, codes in known["dims"].items()}
    return unveil.table(shared(known["micro"]), list(levels), value=known["value"], hierarchies=levels)


@cache
def suppressed(name: str, method: str, cost: str) -> SuppressedTable:
    return table(name).suppress(rule(case(name)), method=method, cost=cost, **AS_SDCTABLE)


def cells_of(result: SuppressedTable) -> set[tuple[str, ...]]:
    return {tuple(one["by"].values()) for one in result.to_dict()["cells"] if one["status"] == "primary"}


@pytest.mark.parametrize("name", PROVEN)
def test_primary_cells_are_those_of_sdctable(name: str) -> None:
    known = case(name)
    primary = cells_of(suppressed(name, "lp", "cells"))
    assert len(primary) == known["checked"]["primary_sdcTable"]
    assert primary == {tuple(one[0]) for one in known["sdcTable"]["GAUSS"]["intervals"]}


@pytest.mark.parametrize("name", THREE)
def test_as_many_primary_cells_in_three_dimensions(name: str) -> None:
    assert suppressed(name, "lp", "cells").primary == case(name)["sdcTable"]["GAUSS"]["primary"]


@pytest.mark.parametrize("cost", ["cells", "count"])
@pytest.mark.parametrize("name", PROVEN)
def test_the_optimum_is_the_proven_least(name: str, cost: str) -> None:
    best = suppressed(name, "optimal", cost)
    least = case(name)["proven_optimum"]["optimum_cells" if cost == "cells" else "optimum_freq"]["weight"]
    assert best.cost == best.bound == least
    assert best.safe


@pytest.mark.parametrize("method", ["lp", "gauss"])
@pytest.mark.parametrize("name", [*PROVEN, *THREE])
def test_no_method_leaves_an_exposed_cell(name: str, method: str) -> None:
    assert suppressed(name, method, "cells").safe
    assert suppressed(name, method, "count").safe


def test_lp_lies_at_most_a_tenth_above_the_optimum_on_average() -> None:
    ratios = [
        suppressed(name, "lp", cost).cost / suppressed(name, "optimal", cost).cost
        for name in PROVEN
        for cost in ("cells", "count")
    ]
    assert np.mean(ratios) <= 1.1
    assert min(ratios) >= 1


def test_what_a_single_contributor_knows_costs_more_cells() -> None:
    best = table("flat2_freq3").suppress("threshold=3", method="optimal", on="count", width=1)
    assert (best.cost, best.bound) == (7, 7)
    by_count = table("flat2_freq3").suppress("threshold=3", method="optimal", on="count", width=1, cost="count")
    assert by_count.cost == 17


@pytest.mark.parametrize(("name", "cells", "value"), [("flat2_nk285", 9, 3250), ("flat2_pq", 11, 5170)])
def test_values_with_the_levels_of_the_rule(name: str, cells: int, value: int) -> None:
    known = case(name)
    for cost, least in (("cells", cells), ("value", value)):
        best = table(name).suppress(rule(known), method="optimal", cost=cost, insiders="none")
        assert (best.on, best.cost, best.bound) == ("value", least, least)


def test_intervals_are_those_of_sdctable_for_its_own_pattern() -> None:
    known = case("flat2_pq")
    mine = table("flat2_pq").suppress(rule(known), method="primary", **AS_SDCTABLE)
    by = {tuple(one["by"].values()): (one["low"], one["high"]) for one in mine.to_dict()["cells"]}
    for codes, _, low, high in known["sdcTable"]["OPT"]["intervals"]:
        assert by[tuple(codes)] == (low, high)


@pytest.mark.parametrize("name", ["flat2_freq3", "hier2_freq3"])
def test_the_command_line_gives_the_shape_that_is_promised(name: str, tmp_path: Path) -> None:
    known = case(name)
    words = ["table", str(shared(known["micro"]))]
    for column, codes in known["dims"].items():
        words += ["--by", column, "--hierarchy", f"{column}={written(tmp_path / f'{column}.csv', codes)}"]
    words += ["--rule", rule(known), "--protect", "suppress", "--method", "optimal", "--cost", "cells", "--json"]
    words += ["--on", "count", "--width", "1", "--insiders", "none", "--zeros", "publish"]
    printed = io.StringIO()
    with redirect_stdout(printed):
        assert run(words) == 0
    answer = json.loads(printed.getvalue())
    assert {"cells", "primary", "secondary", "exposed", "cost", "bound", "method"} <= set(answer)
    assert set(answer["cells"][0]) == {"by", "n", "value", "status", "low", "high"}
    assert {one["status"] for one in answer["cells"]} <= {"published", "primary", "secondary", "zero"}
    assert answer["cost"] == known["proven_optimum"]["optimum_cells"]["weight"]
    hidden = sum(one["status"] in ("primary", "secondary") for one in answer["cells"])
    assert answer["primary"] + answer["secondary"] == hidden == answer["cost"]
    assert len(answer["cells"]) == known["checked"]["cells"]


def written(path: Path, codes: list[list[Any]]) -> Path:
    """Write levels and codes as ARX does: from leaf to root; a leaf of a shorter branch repeats itself."""
    chains: list[list[str]] = []
    stack: list[str] = []
    for at, (level, code) in enumerate(codes):
        stack[level - 1 :] = [code]
        if at + 1 == len(codes) or codes[at + 1][0] <= level:
            chains.append(stack[::-1])
    height = max(map(len, chains))
    path.write_text("".join(";".join([chain[0]] * (height - len(chain)) + chain) + "\n" for chain in chains))
    return path
