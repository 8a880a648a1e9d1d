"""The trade-off: its front against brute force, its figures against the calls they come from, and what it refuses."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unveil
from unveil.assess.release_figures import Axis
from unveil.assess.tradeoff import _judged, dominance
from unveil.errors import ArgumentError, ColumnNotFoundError
from unveil.sources.microdata import write_link

KEY = ["age", "sex"]
NEED = unveil.Need("by age", target="ill", given="age")
TASK = unveil.Task("predicted", "ill", ["age", "sex"])


def people(records: int = 200) -> pl.DataFrame:
    random = np.random.default_rng(1)
    age = random.integers(20, 60, records)
    ill = np.where(age + random.normal(0, 6, records) > 40, "yes", "no")
    pay = (age * 100 + random.integers(0, 500, records)).astype(float)
    return pl.DataFrame({"id": np.arange(records), "age": age, "sex": random.choice(["f", "m"], records), "pay": pay, "ill": ill})


def coarse(table: pl.DataFrame, width: int) -> pl.DataFrame:
    low = pl.col("age") // width * width
    return table.with_columns(age=pl.format("[{}, {})", low, low + width))


TABLE = people()
RELEASES = {"original": TABLE, "5": coarse(TABLE, 5), "20": coarse(TABLE, 20), "none": TABLE.with_columns(age=pl.lit("*"))}


# The front --------------------------------------------------------------------------------------------------------------


def dominates(one: list[float | None], other: list[float | None]) -> bool:
    """From the definition, higher is better; an undefined figure compares with nothing."""
    if None in one or None in other:
        return False
    pairs = [(a, b) for a, b in zip(one, other, strict=True) if a is not None and b is not None]
    return all(a >= b for a, b in pairs) and any(a > b for a, b in pairs)


figure = st.one_of(st.none(), st.integers(0, 3), st.sampled_from([0.5, 0.25, -1.0]))
tables_of_figures = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.lists(figure, min_size=width, max_size=width), min_size=1, max_size=7)
)


@given(tables_of_figures, st.data())
def test_the_front_is_what_nothing_dominates(rows: list[list[float | None]], data: st.DataObject) -> None:
    higher = [data.draw(st.booleans()) for _ in rows[0]]
    axes = [Axis(f"f{at}", "utility", up) for at, up in enumerate(higher)]
    readings: Any = {
        f"r{at}": {axis.name: "why" if value is None else value for axis, value in zip(axes, row, strict=True)}
        for at, row in enumerate(rows)
    }
    found = _judged(readings, axes)
    known = [at for at in range(len(axes)) if any(row[at] is not None for row in rows)]
    signed = [[None if row[at] is None else row[at] * (1 if higher[at] else -1) for at in known] for row in rows]  # type: ignore[operator]
    for at, row in enumerate(signed):
        better = [f"r{other}" for other, its in enumerate(signed) if dominates(its, row)]
        point = found[f"r{at}"]
        assert list(point.dominated_by) == better
        assert point.undominated == (None if None in row or not row else not better)
        assert set(point.reasons) == {axis.name for axis, value in zip(axes, rows[at], strict=True) if value is None}


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=9))
def test_dominance_is_a_strict_order(rows: list[tuple[int, int]]) -> None:
    found = dominance(np.array(rows, dtype=float))
    assert not found.diagonal().any()
    assert not (found & found.T).any()
    for a, b, c in product(range(len(rows)), repeat=3):
        if found[a, b] and found[b, c]:
            assert found[a, c]
    assert not found.any(axis=0).all()  # somebody is always on the front


def test_equal_releases_do_not_dominate_each_other_and_rounding_does_not_decide() -> None:
    axes = [Axis("a", "privacy", higher_is_better=True)]
    found = _judged({"x": {"a": 0.1 + 0.2}, "y": {"a": 0.3}}, axes)
    assert [point.undominated for point in found.values()] == [True, True]
    same = unveil.trade_off(TABLE, {"one": TABLE, "two": TABLE.reverse()}, KEY, needs=NEED)
    assert same.front == ("one", "two")


# The figures ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def everything() -> unveil.TradeOff:
    losses = ["il1s", "nominal", "granularity", "discernibility", "average_class_size", "suppressed", "pmse"]
    return unveil.trade_off(
        TABLE,
        RELEASES,
        KEY,
        "ill",
        privacy=["prosecutor", "k", "l", "t", "attack"],
        needs=NEED,
        tasks=TASK,
        losses=losses,
        id="id",
        folds=2,
    )


@pytest.mark.parametrize("name", list(RELEASES))
def test_figures_are_those_of_the_calls_they_come_from(everything: unveil.TradeOff, name: str) -> None:
    release, figures = RELEASES[name], everything[name].figures
    measured = unveil.measure(release, KEY, "ill")
    assert figures["k"] == measured["k_anonymity"].value
    assert figures["prosecutor"] == measured.risk["prosecutor"]["average"]
    assert figures["l of ill"] == measured["distinct_l_diversity", "ill"].value
    assert figures["t of ill"] == measured["t_closeness", "ill", "equal"].value
    attacked = unveil.attack(TABLE, release, KEY, "ill", id="id")
    assert figures["attack"] == pytest.approx(np.mean([attacked.overall["risk"][a] for a in ("identity", "homogeneity")]))
    assert figures["by age"] == unveil.utility(release, NEED).needs["by age"].degree
    best = unveil.tasks(TABLE, release, TASK, id="id", folds=2)["predicted"].best()
    assert best is not None
    assert figures["predicted"] == best.release.mean
    lost = unveil.loss(TABLE, release, id="id", key=KEY, categorical="age").to_dict()
    assert figures["il1s"] == lost["continuous"]["il1s"]
    assert figures["nominal"] == lost["categorical"]["nominal"]
    assert figures["granularity"] == lost["categorical"]["granularity"]
    assert figures["discernibility"] == lost["classes"]["discernibility"]["loss"]
    assert figures["suppressed"] == lost["suppressed"]["share_of_cells"]
    assert figures["pmse"] == unveil.pmse(TABLE, release, ["age", "sex", "pay", "ill"]).value


def test_the_direction_of_each_figure_is_stated(everything: unveil.TradeOff) -> None:
    said = {axis.name: (axis.about, axis.higher_is_better) for axis in everything.axes}
    assert said["k"] == said["l of ill"] == ("privacy", True)
    assert said["prosecutor"] == said["t of ill"] == said["attack"] == ("privacy", False)
    assert said["by age"] == said["predicted"] == ("utility", True)
    assert said["pmse"] == said["nominal"] == ("utility", False)
    directions = everything.view().tables[1].rows
    assert ("k", "privacy", "records in the smallest class", "higher is safer") in directions
    assert ("pmse", "utility", "lower is better") in [(row[0], row[1], row[3]) for row in directions]
    document = everything.to_dict()
    assert {one["name"]: one["higher_is_better"] for one in document["figures"]} == {n: up for n, (_, up) in said.items()}


def test_generalising_more_is_safer_and_less_useful(everything: unveil.TradeOff) -> None:
    frame = everything.to_frame()
    assert frame["release"].to_list() == list(RELEASES)
    for name in ("prosecutor", "attack", "by age"):
        assert frame[name].is_sorted(descending=True)
    assert frame["granularity"].is_sorted()
    assert everything["original"].figures["nominal"] == 0.0
    assert everything["original"].figures["pmse"] == 0.0


def test_a_release_that_gives_something_away_for_nothing_is_dominated() -> None:
    """Noise in pay changes neither class nor need; its loss is all that differs."""
    worse = RELEASES["20"].with_columns(pay=pl.col("pay") * 1.5)
    found = unveil.trade_off(TABLE, RELEASES | {"worse": worse}, KEY, losses="il1s", needs=NEED, same_order=True)
    assert found["worse"].dominated_by == ("20",)
    assert found["worse"].undominated is False
    assert found.front == ("original", "5", "20", "none")
    assert repr(found) == "TradeOff(5 releases; undominated: original, 5, 20, none)"
    assert found.to_frame()["dominated_by"].to_list() == ["", "", "", "", "20"]
    assert found.to_dict()["releases"]["worse"]["dominated_by"] == ["20"]


# Comparable columns -----------------------------------------------------------------------------------------------------


def test_a_column_left_out_counts_as_suppressed() -> None:
    options: Any = {"privacy": ["k", "attack"], "needs": NEED, "losses": ["suppressed", "nominal"], "same_order": True}
    found = unveil.trade_off(TABLE, {"dropped": TABLE.drop("age"), "original": TABLE}, KEY, **options)
    blank = TABLE.with_columns(age=pl.lit(None, dtype=pl.Int64))
    assert found["dropped"].figures == unveil.trade_off(TABLE, {"r": blank, "original": TABLE}, KEY, **options)["r"].figures
    assert found["dropped"].figures["suppressed"] == pytest.approx(1 / 5)
    assert found["dropped"].figures["by age"] == 0.0


def test_an_attribute_is_a_number_only_where_every_table_says_so() -> None:
    """Age is a number in one release and an interval in the other: both are judged by it as a category."""
    both = {"exact": TABLE, "5": coarse(TABLE, 5)}
    found = unveil.trade_off(TABLE, both, KEY, losses="nominal", same_order=True)
    assert found["exact"].figures["nominal"] == 0.0
    assert found["5"].figures["nominal"] == pytest.approx(1 / 3)  # age, sex and ill, of which age differs throughout


# Alignment --------------------------------------------------------------------------------------------------------------


def test_each_release_has_its_own_alignment(tmp_path: Path) -> None:
    order = np.random.default_rng(3).permutation(TABLE.height)
    path = tmp_path / "link.csv"
    write_link(str(path), order)
    shuffled = coarse(TABLE, 5)[order]
    releases = {"id": shuffled, "link": shuffled.drop("id"), "order": coarse(TABLE, 5).drop("id")}
    found = unveil.trade_off(TABLE, releases, KEY, losses="nominal", id="id", link={"link": str(path)}, same_order="order")
    assert [point.figures["nominal"] for point in found.releases.values()] == pytest.approx([1 / 3] * 3)
    assert found.front == ("id", "link", "order")


# Undefined figures ------------------------------------------------------------------------------------------------------


def test_an_undefined_figure_is_a_null_with_a_reason_and_cannot_dominate() -> None:
    constant = RELEASES["20"].with_columns(ill=pl.lit("no"))
    found = unveil.trade_off(TABLE, {"constant": constant, "20": RELEASES["20"], "5": RELEASES["5"]}, KEY, needs=NEED)
    assert found["constant"].figures["by age"] is None
    assert found["constant"].undominated is None
    assert "by age" in found["constant"].reasons
    assert found.front == ("20", "5")
    assert "release 'constant': by age undefined" in found.view().notes[0]
    assert found.to_dict()["releases"]["constant"]["figures"]["by age"] is None


def test_without_alignment_losses_are_undefined_and_left_out_of_the_comparison() -> None:
    found = unveil.trade_off(TABLE, RELEASES, KEY, needs=NEED, losses="nominal")
    assert all(point.figures["nominal"] is None for point in found.releases.values())
    assert "which release record came from which" in found["5"].reasons["nominal"]
    assert found.front == tuple(RELEASES)


def test_a_release_without_the_secret_has_no_diversity() -> None:
    found = unveil.trade_off(TABLE, {"without": TABLE.drop("ill"), "with": TABLE}, KEY, "ill", privacy=["l", "t"], losses="pmse")
    assert found["without"].figures["l of ill"] is None
    assert "'ill' not found" in found["without"].reasons["l of ill"]
    assert found["with"].figures["l of ill"] == 1


# Bad input --------------------------------------------------------------------------------------------------------------


def test_bad_input_is_refused() -> None:
    with pytest.raises(ArgumentError, match="no releases"):
        unveil.trade_off(TABLE, {}, KEY, needs=NEED)
    with pytest.raises(ColumnNotFoundError, match=r"the release 'b' has no column in common.*its columns are: x, y"):
        unveil.trade_off(TABLE, {"a": TABLE, "b": pl.DataFrame({"x": [1], "y": [2]})}, KEY, needs=NEED)
    with pytest.raises(ColumnNotFoundError, match="did you mean 'age'"):
        unveil.trade_off(TABLE, RELEASES, "agee", needs=NEED)
    with pytest.raises(ArgumentError, match="two sides"):
        unveil.trade_off(TABLE, RELEASES, KEY)
    with pytest.raises(ArgumentError, match="two sides"):
        unveil.trade_off(TABLE, RELEASES, KEY, needs=NEED, privacy=())
    with pytest.raises(ArgumentError, match="privacy 'risk' is unknown"):
        unveil.trade_off(TABLE, RELEASES, KEY, needs=NEED, privacy="risk")
    with pytest.raises(ArgumentError, match=r"loss 'nominl' is unknown.*did you mean 'nominal'"):
        unveil.trade_off(TABLE, RELEASES, KEY, losses="nominl")
    with pytest.raises(ArgumentError, match="l and t are about sensitive attributes"):
        unveil.trade_off(TABLE, RELEASES, KEY, needs=NEED, privacy="l")
    with pytest.raises(ArgumentError, match="two figures are called 'k'"):
        unveil.trade_off(TABLE, RELEASES, KEY, needs=unveil.Need("k", "ill", "age"), privacy="k")
    with pytest.raises(ArgumentError, match="the release 'six' is unknown"):
        unveil.trade_off(TABLE, RELEASES, KEY, needs=NEED, same_order=["six"])
    with pytest.raises(ArgumentError, match="seed"):
        unveil.trade_off(TABLE, RELEASES, KEY, losses="pmse", seed=-1)


# The picture ------------------------------------------------------------------------------------------------------------

SVG = "{http://www.w3.org/2000/svg}"


def test_the_picture_shows_every_release_and_fills_the_front() -> None:
    worse = RELEASES["20"].with_columns(pay=pl.col("pay") * 1.5)
    releases = {"<b>&": TABLE, "20": RELEASES["20"], "worse": worse}
    found = unveil.trade_off(TABLE, releases, KEY, needs=NEED, losses="il1s", same_order=True)
    drawn = ET.fromstring(found.svg(utility="il1s"))  # noqa: S314 - our own
    circles = drawn.findall(f"{SVG}circle")
    texts = [text.text for text in drawn.findall(f"{SVG}text")]
    assert len(circles) == 3
    assert sum(circle.get("class") == "unveil-mark" for circle in circles) == 2
    assert {"<b>&", "20", "worse", "il1s (lower is better)", "prosecutor (lower is safer)"} <= set(texts)
    right = {text.text: float(text.get("x", "nan")) for text in drawn.findall(f"{SVG}text") if text.text in releases}
    assert right["20"] < right["worse"]
    assert '<svg class="unveil-chart"' in found._repr_html_()
    assert "<b>&" not in found._repr_html_()
    with pytest.raises(ArgumentError, match="the figure of privacy 'il1s' is unknown"):
        found.svg(privacy="il1s")


def test_what_has_no_place_is_not_drawn() -> None:
    constant = TABLE.with_columns(ill=pl.lit("no"))
    for releases, number in (({"a": constant, "b": TABLE}, 1), ({"a": constant}, 0)):
        drawn = ET.fromstring(unveil.trade_off(TABLE, releases, KEY, needs=NEED).svg())  # noqa: S314
        assert len(drawn.findall(f"{SVG}circle")) == number
        assert all(math.isfinite(float(circle.get("cx", "nan"))) for circle in drawn.findall(f"{SVG}circle"))


@pytest.mark.parametrize("nulls", ["category", "drop"])
def test_another_null_policy_of_the_original_is_said(nulls: str) -> None:
    data = pl.DataFrame({"town": ["a", "a", None, "b", "b", None], "ill": ["x", "y", "x", "y", "x", "y"]})
    study = unveil.Study(data, "town", "ill", nulls=nulls)
    compared = unveil.compare({"original": study, "same": data}, same_order=True)
    for found in (unveil.trade_off(study, {"same": data}, losses="suppressed", same_order=True), compared):
        notes = found.view().notes
        assert any("null policy of the original is 'drop'" in note for note in notes) == (nulls == "drop")
        assert found.to_dict().get("notes", []) == [note for note in notes if "null policy" in note]
        assert found.to_dict()["made"]["nulls"] == "category"
