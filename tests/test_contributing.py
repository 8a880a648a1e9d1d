"""The worked examples of CONTRIBUTING.md: a model, a mechanism, a table rule and an engine of one's own work through the public calls."""

from __future__ import annotations

import json
import re
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import pytest

import unveil
from helpers import ROOT
from unveil import mechanisms
from unveil.cli import run
from unveil.models.registry import MODELS
from unveil.models.requirements import parse_models
from unveil.project import model_words
from unveil.project import rules as policy_rules
from unveil.sources.engines.address import OPENERS
from unveil.tables.rules import RULES, ThresholdRule, register

PEOPLE = pl.DataFrame(
    {
        "age": [21, 24, 27, 33, 35, 38, 41, 44, 47, 52, 55, 58],
        "sex": ["f", "m"] * 6,
        "ill": ["flu", "flu", "gout", "flu", "gout", "flu", "flu", "flu", "flu", "gout", "flu", "gout"],
    }
)


@pytest.fixture(scope="module", autouse=True)
def added() -> Iterator[dict[str, Any]]:
    """Run the examples as a module, and take what they register away again."""
    tables: list[Any] = [MODELS, policy_rules.RULES, model_words.MODEL_WORDS, mechanisms._OWN, RULES, OPENERS]  # noqa: SLF001 - to leave no trace
    before = [one.copy() for one in tables]
    module = ModuleType("contributed")
    sys.modules["contributed"] = module
    for block in re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.DOTALL):
        exec(compile(block, "CONTRIBUTING.md", "exec"), module.__dict__)  # noqa: S102 - our own
    yield module.__dict__
    del sys.modules["contributed"]
    for now, then in zip(tables, before, strict=True):
        now.clear()
        now.extend(then) if isinstance(now, list) else now.update(then)


def collision(values: list[Any]) -> float:
    """The definition: the sum of the squared shares."""
    return sum((n / len(values)) ** 2 for n in Counter(values).values())


def by_definition(frame: pl.DataFrame, key: list[str]) -> float:
    return max(collision(part["ill"].to_list()) for _, part in frame.group_by(key))


def test_a_model_is_measured_and_shown() -> None:
    found = unveil.measure(PEOPLE, "sex", "ill")
    assert found["collision_probability", "ill"].value == pytest.approx(by_definition(PEOPLE, ["sex"]))
    assert "collision probability" in found._repr_html_()
    assert found.to_dict()["models"]["collision_probability"]["ill"]["worst_class"]["size"] == 6


@pytest.mark.parametrize("search", [unveil.anonymize, unveil.mondrian, unveil.generalize_subtrees])
def test_a_model_is_enforced_by_every_search(search: Any, added: dict[str, Any]) -> None:
    assert by_definition(PEOPLE, ["age", "sex"]) == 1.0
    release = search(PEOPLE, ["age", "sex"], [added["CollisionProbability"]("ill", 0.6)])
    assert by_definition(release.data, ["age", "sex"]) <= 0.6 + 1e-9


def test_a_threshold_outside_the_range_is_refused(added: dict[str, Any]) -> None:
    with pytest.raises(unveil.UnveilError, match="from 0 to 1"):
        added["CollisionProbability"]("ill", 2.0)


def test_a_model_is_a_rule_of_a_policy(tmp_path: Path) -> None:
    figure = by_definition(PEOPLE, ["sex"])
    assert unveil.check(PEOPLE, {"collision_probability": figure}, key="sex", sensitive="ill").passes
    verdict = unveil.check(PEOPLE, {"collision_probability": figure - 0.01}, key="sex", sensitive="ill")
    (short,) = verdict.shortfalls
    assert (short.of, short.status) == ("ill", "NOT met")
    assert short.value == pytest.approx(figure)
    (tmp_path / "policy.toml").write_text('collision_probability = { at_most = 0.9, attribute = "ill" }\n')
    assert unveil.check(PEOPLE, tmp_path / "policy.toml", key="sex", sensitive="ill").passes
    with pytest.raises(unveil.UnveilError, match="from 0 to 1, and 2 is not"):
        unveil.check(PEOPLE, {"collision_probability": 2}, key="sex", sensitive="ill")


def test_a_model_is_a_figure_that_releases_are_compared_by(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    release = PEOPLE.with_columns(sex=pl.lit("f or m"))
    options: dict[str, Any] = {"privacy": "collision_probability", "losses": "suppressed", "same_order": True}
    compared = unveil.trade_off(PEOPLE, {"one": release}, "sex", "ill", policy={"collision_probability": 0.7}, **options)
    assert compared["one"].figures["collision_probability of ill"] == pytest.approx(by_definition(release, ["sex"]))
    axis = compared.axes[0]
    assert (axis.higher_is_better, axis.required) == (False, 0.7)
    PEOPLE.write_csv(tmp_path / "a.csv")
    release.write_csv(tmp_path / "b.csv")
    command = ["compare", str(tmp_path / "a.csv"), f"one={tmp_path / 'b.csv'}", "--key", "sex", "--sensitive", "ill"]
    assert run([*command, "--privacy", "collision_probability", "--need", "illness: ill given age"]) == 0
    assert "collision probability" in capsys.readouterr().out


def test_a_model_has_a_word_in_a_project_file(added: dict[str, Any], tmp_path: Path) -> None:
    PEOPLE.write_csv(tmp_path / "people.csv")
    roles = '[attributes.age]\nrole = "key"\n[attributes.sex]\nrole = "key"\n[attributes.ill]\nrole = "sensitive"\n'
    file = tmp_path / "unveil.toml"
    head = f'[data]\npath = "people.csv"\n{roles}'
    file.write_text(f'{head}[models]\ncollision = ["0.6:ill"]\n')
    assert run(["measure", str(file)]) == 1
    assert run(["anonymize", str(file), "--out", str(tmp_path / "release.csv")]) == 0
    assert by_definition(pl.read_csv(tmp_path / "release.csv"), ["age", "sex"]) <= 0.6 + 1e-9
    step = unveil.Step("mondrian", ["age", "sex"], {"collision": "0.6:ill"})
    assert by_definition(unveil.protect(PEOPLE, [step]).data, ["age", "sex"]) <= 0.6 + 1e-9
    assert parse_models({"collision": 0.6}, ["ill"]) == [added["CollisionProbability"]("ill", 0.6)]
    for text, problem in (("x", "is not a number"), ("2", "from 0 to 1"), ("0.5:cold", "cold")):
        with pytest.raises(unveil.UnveilError, match=problem):
            parse_models({"collision": text}, ["ill"])


def test_a_word_that_is_taken_is_refused(added: dict[str, Any]) -> None:
    kind = added["CollisionProbability"]
    for word in ("collision", "k"):
        with pytest.raises(unveil.UnveilError, match="already names a requirement"):
            unveil.models.register(type("Other", (kind,), {"name": "other", "word": word}))


def test_a_name_that_is_taken_is_refused(added: dict[str, Any]) -> None:
    kind = added["CollisionProbability"]
    for name in ("k_anonymity", "linkage"):
        with pytest.raises(unveil.UnveilError, match="is taken by another model or rule"):
            unveil.models.register(type("Other", (kind,), {"name": name}))


def test_a_mechanism_is_a_step_like_any_other() -> None:
    made = unveil.protect(PEOPLE, [unveil.Step("round_down", ["age"], {"step": 20})], keep_order=True)
    assert made.data["age"].to_list() == [age // 20 * 20 for age in PEOPLE["age"]]
    assert unveil.mechanisms.round_down(PEOPLE, "age", keep_order=True).data["age"][0] == 20.0


def test_a_mechanism_is_listed_like_any_other(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(mechanisms._HOMES, "shifted", "noise")  # noqa: SLF001 - the one line
    monkeypatch.setattr("unveil.mechanisms.noise.shifted", lambda data: data, raising=False)
    assert run(["mechanisms", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["mechanisms"]
    assert [*listed][-2:] == ["shifted", "round_down"]
    assert listed["round_down"]["about"] == "Replace numbers by the multiple of a step below them"
    assert (listed["shifted"]["about"], listed["shifted"]["perturbative"], listed["shifted"]["section"]) == (
        "not stated",
        None,
        "-",
    )
    assert run(["mechanisms"]) == 0
    assert "round_down" in capsys.readouterr().out


FIRMS = pl.DataFrame(
    {
        "sector": ["food"] * 5 + ["wood"] * 4 + ["glass"] * 4,
        "region": ["east", "east", "east", "west", "west"] + ["east", "east", "west", "west"] * 2,
        "profit": [90, 5, 5, 20, 25, 30, 35, 40, 45, 20, 25, 30, 35],
    }
)


def test_a_table_rule_marks_and_protects_cells(added: dict[str, Any]) -> None:
    made = unveil.table(FIRMS, ["sector", "region"], value="profit").suppress([added["TaxRule"](2, 85)])
    assert made.primary == 1
    assert made.columns()["suppressed"][4]  # food in the east, where one of three holds 90 of 100
    assert made.safe


def test_a_table_rule_is_written_like_any_other(
    added: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = unveil.table(FIRMS, ["sector", "region"], value="profit")
    assert table.suppress("tax=2:85").to_dict() == table.suppress([added["TaxRule"](2, 85)]).to_dict()
    FIRMS.write_csv(tmp_path / "firms.csv")
    command = ["table", str(tmp_path / "firms.csv"), "--by", "sector", "--by", "region", "--value", "profit"]
    assert run([*command, "--rule", "tax=2:85", "--protect", "suppress"]) == 0
    assert "tax=2:85" in capsys.readouterr().out
    assert run([*command, "--rule", "tax=2"]) == 2
    assert "tax=K:P" in capsys.readouterr().err
    rule = {"exposed_cells": {"by": ["sector", "region"], "value": "profit", "rule": "tax=2:85", "at_most": 0}}
    published = pl.DataFrame(dict(table.columns()))
    assert not unveil.check(published, rule, original=FIRMS).passes


def test_what_is_no_table_rule_is_refused() -> None:
    with pytest.raises(unveil.UnveilError, match="lacks: on, attack, read, primary"):
        register(type("Odd", (), {"word": "odd"}))
    parts = {name: getattr(ThresholdRule, name) for name in ("word", "on", "attack", "read", "primary", "level", "words")}
    with pytest.raises(unveil.UnveilError, match="two table rules have the word 'threshold'"):
        register(type("Other", (), parts))


def test_an_engine_counts_where_its_data_is(tmp_path: Path) -> None:
    file = tmp_path / "people.sqlite"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE people (age INTEGER, sex TEXT, ill TEXT)")
        connection.executemany("INSERT INTO people VALUES (?, ?, ?)", PEOPLE.rows())
    connection.close()
    place = f"sqlite://{file}?table=people"
    assert unveil.discrimination_rate(place, ["sex"], "ill").value == pytest.approx(
        unveil.discrimination_rate(PEOPLE, ["sex"], "ill").value
    )
    assert unveil.measure(place, ["age"], "ill").to_dict()["models"] == unveil.measure(PEOPLE, ["age"], "ill").to_dict()["models"]


def test_what_goes_wrong_in_an_engine_is_an_error_of_the_library(tmp_path: Path) -> None:
    file, nowhere = tmp_path / "people.sqlite", tmp_path / "nowhere.sqlite"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE people (age INTEGER, sex TEXT, ill TEXT)")
    connection.close()
    with pytest.raises(unveil.errors.EngineError, match=r"SQLite could not run the query \(SQLITE_ERROR\)"):
        unveil.measure(f"sqlite://{file}?table=nobody", ["age"])
    with pytest.raises(unveil.errors.DataNotFoundError):
        unveil.measure(f"sqlite://{nowhere}?table=people", ["age"])
    assert not nowhere.exists()
