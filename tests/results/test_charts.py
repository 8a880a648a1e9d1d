"""Charts: what is drawn, that data cannot become markup, and the same figures as objects of Altair."""

from __future__ import annotations

import builtins
import re
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unveil.errors import ArgumentError, MissingExtraError
from unveil.formats import visible
from unveil.results import Chart, Figure, Result, Table, View
from unveil.results.html_view import html_parts
from unveil.results.svg import svg
from unveil.results.terminal import to_rich

HOSTILE = "<script>alert(1)</script>\"'&\x1b[31m"
CHARTS = {
    "bars": Chart(
        "bars",
        "bars",
        "Bars",
        ("a", "share", "mark"),
        ((HOSTILE, 0.25, 0.5), ("b", 1.0, 1.0), ("c", -0.1, 0.0), ("d", 0.00001, 0.99999)),
    ),
    "columns": Chart("columns", "columns", "Columns", (HOSTILE, "n"), ((HOSTILE, 3), ("2", 0), ("3", 0.00001))),
    "dots": Chart(
        "dots", "dots", "Dots", ("a", "v", "p", "n"), (("x", HOSTILE, 0.2, 9), ("x", "w", 0.99999, 1), (HOSTILE, "u", -3.0, 4))
    ),
    "heat": Chart("heat", "heat", "Heat", ("r", "c", "s"), ((HOSTILE, HOSTILE, 0.9), ("b", HOSTILE, 0.99999), ("b", "b", 1.0))),
}


class Answer(Result):
    def view(self) -> View:
        return View("Answer", charts=(CHARTS["bars"],), parts=(View("Part", charts=(CHARTS["heat"],)),))


def shapes(drawn: str, mark: str) -> list[dict[str, str]]:
    return [dict(element.attrib) for element in ET.fromstring(drawn).iter() if mark in element.attrib.get("class", "").split()]  # noqa: S314


def words(drawn: str) -> list[str]:
    return ["".join(element.itertext()) for element in ET.fromstring(drawn).iter("text")]  # noqa: S314


@pytest.mark.parametrize("kind", CHARTS)
def test_a_chart_is_well_formed_named_described_and_escaped(kind: str) -> None:
    drawn = svg(CHARTS[kind], visible)
    root = ET.fromstring(drawn)  # noqa: S314
    assert root.attrib["role"] == "img"
    assert root.attrib["aria-label"] == CHARTS[kind].title
    assert [child.tag for child in root][:2] == ["title", "desc"]
    assert "script" not in {element.tag for element in root.iter()}
    assert r"\x1b[31m" in drawn
    assert not any("style" in element.attrib for element in root.iter())
    assert "http" not in drawn


@pytest.mark.parametrize("kind", CHARTS)
def test_a_chart_of_nothing_is_drawn(kind: str) -> None:
    empty = Chart("empty", CHARTS[kind].kind, "Empty", CHARTS[kind].columns, ())
    assert "nothing to show" in svg(empty, visible)


def test_bars_are_as_long_as_their_shares_and_stay_inside() -> None:
    drawn = svg(CHARTS["bars"], visible)
    quarter, whole, negative, _ = (float(bar["width"]) for bar in shapes(drawn, "unveil-mark"))
    assert quarter == pytest.approx(whole / 4, abs=0.1)
    assert negative == 0.0
    assert whole == float(shapes(drawn, "unveil-rest")[0]["width"])
    assert {"0.2500", "1.0000", "-0.1000"} <= set(words(drawn))


def test_columns_are_as_high_as_their_amounts() -> None:
    three, none, tiny = (float(bar["height"]) for bar in shapes(svg(CHARTS["columns"], visible), "unveil-mark"))
    assert three > 100
    assert none == 0.0
    assert tiny < 1.0
    assert {"3", "0", "<0.1 %"} <= set(words(svg(CHARTS["columns"], visible)))


def test_dots_lie_in_order_and_larger_ones_hold_more_records() -> None:
    drawn = svg(CHARTS["dots"], visible)
    first, second, third = shapes(drawn, "unveil-dot")
    assert float(first["r"]) > float(second["r"])
    assert float(third["cx"]) < float(first["cx"]) < float(second["cx"])
    assert first["cy"] == second["cy"] != third["cy"]


def test_a_heat_map_never_rounds_to_one() -> None:
    drawn = svg(CHARTS["heat"], visible)
    assert [cell["fill-opacity"] for cell in shapes(drawn, "unveil-mark")] == ["0.906", "1.000", "1.000"]
    assert [word for word in words(drawn) if word[0] in ".>1"][:3] == [".90", ">.99", "1"]


@given(st.floats(-50, 1), st.floats(-50, 1))
def test_dots_stay_inside_whatever_their_range(one: float, other: float) -> None:
    chart = Chart("d", "dots", "D", ("a", "v", "p", "n"), (("x", "v", one, 2), ("x", "w", other, 1)))
    assert all(100 <= float(dot["cx"]) <= 480 for dot in shapes(svg(chart, visible), "unveil-dot"))


def test_a_page_shows_lead_charts_definitions_and_parts() -> None:
    part = View("Part", tables=(Table(("a",), ((1,),), definition="what a is"),), notes=("run `unveil scan <x>`",))
    view = View("Whole", (Figure("f", 1, "m", "what f is"),), charts=tuple(CHARTS.values()), lead="In short.", parts=(part,))
    _, markup = html_parts(view, level=1)
    assert re.findall(r"<h(\d) ", markup) == ["1", "2"]
    assert markup.count("<svg ") == 4
    assert markup.count("<details ") == 2
    assert '<p class="unveil-lead">In short.</p>' in markup
    assert "<code><span>unveil</span> <span>scan</span> <span>&lt;x&gt;</span></code>" in markup
    assert "<script" not in markup


def test_a_terminal_shows_the_parts_without_charts() -> None:
    import io

    from rich.console import Console

    file = io.StringIO()
    view = View("Whole", charts=(CHARTS["bars"],), lead="In short.", parts=(View("Part", notes=("a note",)),))
    Console(file=file, width=80).print(to_rich(view))
    assert [line for line in file.getvalue().splitlines() if line] == ["Whole", "In short.", "Part", "• a note"]


@pytest.mark.parametrize("kind", CHARTS)
def test_a_chart_becomes_an_object_of_altair_over_the_same_figures(kind: str) -> None:
    from unveil.results._altair import altair_chart

    spec = altair_chart(CHARTS[kind]).to_dict()
    assert spec["title"] == CHARTS[kind].title
    assert [tuple(row.values()) for row in spec["datasets"][spec["data"]["name"]]] == list(CHARTS[kind].rows)
    fields = {channel["field"] for name, channel in spec["encoding"].items() if name != "tooltip"}
    assert fields <= {f"c{at}" for at in range(len(CHARTS[kind].columns))}


def test_a_result_gives_its_charts_by_name_and_they_can_be_changed() -> None:
    chart = Answer().chart("heat").properties(width=300)
    assert chart.to_dict()["width"] == 300
    with pytest.raises(ArgumentError, match="it is one of: bars, heat"):
        Answer().chart("heats")


def test_without_altair_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **options: Any) -> Any:
        if name == "altair":
            raise ImportError(name)
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"unveil\[charts\]"):
        Answer().chart("bars")
