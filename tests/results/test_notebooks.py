"""What a notebook shows: a card that no style of the notebook breaks, in the words of Python, with charts that fetch nothing."""

from __future__ import annotations

import re

import polars as pl
import pytest

import unveil
from unveil.results import Figure, Table, View
from unveil.results.html_view import to_html
from unveil.results.result import in_python

PEOPLE = pl.DataFrame(
    {"zip": ["75001", "75001", "75002", "75003"], "a{g}e": [21, 34, 34, 52], 'il"l': ["flu", "flu", "flu", "flu"]}
)


@pytest.fixture(scope="module")
def found() -> unveil.Assessment:
    return unveil.assess(PEOPLE, key=["zip", "a{g}e"], sensitive='il"l')


def test_every_rule_of_the_card_outweighs_a_rule_of_the_notebook(found: unveil.Assessment) -> None:
    sheet = re.search(r"<style>(.*?)</style>", found._repr_html_(), re.DOTALL)
    assert sheet is not None
    selectors = re.findall(r"(?:^|\}|\{|;)\s*([^@{};]+)\{", re.sub(r"@media[^{]*", "", sheet[1]))
    parts = [part.strip() for one in selectors for part in re.split(r",(?![^(]*\))", one)]
    assert len(parts) > 50
    assert not [part for part in parts if part and not part.startswith(".unveil-view.unveil-view.unveil-view")]


def test_a_notebook_speaks_python(found: unveil.Assessment) -> None:
    card = re.sub(r"<style>.*?</style>", "", found._repr_html_(), flags=re.DOTALL)
    text = re.sub(r"<[^>]+>", "", card)
    assert "unveil.anonymize(data," in text
    assert not re.search(r"(?<!\w)--[a-z]", text)
    assert "--key" in "".join(one.run for one in found.advice)


def test_the_calls_that_are_advised_can_be_made(found: unveil.Assessment) -> None:
    chosen = {"unveil": unveil, "data": PEOPLE, "K": 2, "L": 1, "BLOCKS": [["flu"]]}
    calls = [one.python.replace('"POLICY"', '"cell-size-3"') for one in found.advice]
    assert len(calls) >= 4
    for call in calls:
        if "DistinctLDiversity" in call or "KAnonymity" in call:
            call = call.replace("])", "], suppression=1.0)") if call.endswith("])") else call  # noqa: PLW2901 - few records
        assert eval(call, chosen) is not None  # noqa: S307 - our own words


def test_only_what_we_say_is_translated() -> None:
    view = View(
        "a --title", (Figure("f", "--value", "the whole answer has all"),), (Table(("--c",), (("--cell",),), note="see --same-order"),),
        ("Run: `unveil check x --policy p`",),
    )  # fmt: skip
    said = in_python(view, {"unveil check x --policy p": "unveil.check('x', 'p')"})
    assert said.title == "a --title"
    assert said.figures[0].value == "--value"
    assert said.figures[0].meaning == "`to_dict()` has all"
    assert said.tables[0].rows == (("--cell",),)
    assert said.tables[0].note == "see `same_order`"
    assert said.notes == ("In Python: `unveil.check('x', 'p')`",)
    assert "--cell" in to_html(said)


def test_a_chart_in_a_notebook_is_a_picture_drawn_here(found: unveil.Assessment) -> None:
    name = next(iter(found.view().every_chart()))
    changed = found.chart(name).properties(width=321)
    bundle = changed._repr_mimebundle_()
    assert list(bundle) == ["image/svg+xml"]
    assert not re.search(r"<script|cdn|jsdelivr", bundle["image/svg+xml"])
    assert changed.to_dict()["width"] == 321
