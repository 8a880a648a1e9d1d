"""The taxonomy of mechanisms: every mechanism has its facts, and they are those of the documentation and the thesis."""

from __future__ import annotations

import inspect
import json
import re

import pytest

import unveil
from helpers import ROOT, shared
from unveil import mechanisms
from unveil.assess.taxonomy import taxonomy
from unveil.cli import run

FOUND = taxonomy()
INTRUDERS = ROOT.joinpath("docs/mechanisms/intruders.md").read_text("utf-8")


def test_every_mechanism_and_recoding_has_its_facts() -> None:
    public = {name for name in mechanisms.__all__ if inspect.isfunction(getattr(mechanisms, name))} - {"safepub_delta"}
    recodings = {"mondrian", "recode_locally", "generalize_subtrees", "suppress_locally"}
    assert set(FOUND.mechanisms) == public | recodings | {"generalize"}
    assert all(hasattr(unveil, name) for name in recodings)


@pytest.mark.parametrize("name", FOUND.mechanisms)
def test_facts_are_complete_and_lead_to_a_page(name: str) -> None:
    facts = FOUND[name]
    assert all(isinstance(value, bool) or value for value in facts.to_dict().values())
    assert ROOT.joinpath("docs", facts.page).is_file()
    assert re.fullmatch(r"-|\d\.\d\.\d", facts.section)


@pytest.mark.parametrize("name", [name for name, facts in FOUND.mechanisms.items() if facts.intruder.startswith("links ")])
def test_what_an_intruder_links_is_what_the_page_has(name: str) -> None:
    figure = FOUND[name].intruder.split()[1]
    assert re.search(rf"\| {re.escape(figure)} \|$", INTRUDERS, re.MULTILINE), figure


@pytest.mark.parametrize("name", [name for name, facts in FOUND.mechanisms.items() if facts.drawn])
def test_what_is_drawn_takes_a_seed_or_refuses_one(name: str) -> None:
    known = inspect.signature(getattr(mechanisms, name)).parameters
    assert "seed" in known or name.startswith("dp_") or name == "safepub"


def test_kinds_are_those_of_the_thesis() -> None:
    text = shared("seeds/thesis-privacy-and-utility.txt").read_text(encoding="utf-8")
    assert "*noise addition*, *microaggregation*, *data/rank swapping*, *microdata rounding*, *resampling*" in text
    perturbative = {"add_noise", "microaggregate", "swap", "rank_swap", "round_values", "resample", "pram"}
    not_perturbative = {"sample", "generalize", "top_bottom_code", "suppress_locally"}
    assert all(FOUND[name].perturbative for name in perturbative)
    assert not any(FOUND[name].perturbative for name in not_perturbative)
    for name, facts in FOUND.mechanisms.items():
        if facts.section.startswith("2.") and name not in {"round_values", "anatomize"}:  # by default, and by its shuffle
            assert facts.drawn == facts.section.startswith("2.6"), name


def test_the_page_holds_the_facts() -> None:
    text = ROOT.joinpath("docs/mechanisms/taxonomy.md").read_text("utf-8")
    for name, facts in FOUND.mechanisms.items():
        page = facts.page.removeprefix("mechanisms/") if facts.page.startswith("mechanisms/") else f"../{facts.page}"
        yes = {True: "yes", False: "no"}
        cells = (f"[`{name}`]({page})", facts.about, facts.family, yes[bool(facts.perturbative)], yes[not facts.drawn], facts.data,
                 facts.counters, facts.guarantee, facts.intruder, facts.section)  # fmt: skip
        assert f"| {' | '.join(cells)} |" in text


def test_the_verb_shows_and_writes_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["mechanisms", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["mechanisms"]["pram"]["data"] == "names"
    assert run(["mechanisms"]) == 0
    assert "groups of k records" in capsys.readouterr().out
    assert FOUND.to_frame().height == len(FOUND.mechanisms)
    assert repr(FOUND) == f"Taxonomy({len(FOUND.mechanisms)} mechanisms)"
