"""`unveil front` as its users meet it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import unveil
from unveil.cli import run

NEED = "income: income-per-year given age, sex"
COMMON = ["front", "adult", "--key", "age", "--key", "sex", "--sensitive", "occupation", "--need"]


def test_the_chosen_release_is_written_and_serves_the_need(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, link = tmp_path / "release.csv", tmp_path / "link.csv"
    assert run([*COMMON, f"{NEED} at least 0.1", "--k", "20", "--out", str(out), "--link", str(link), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    called = unveil.anonymize_front(
        "adult", ["age", "sex"], unveil.Need("income", "income-per-year", ["age", "sex"], at_least=0.1),
        sensitive="occupation", models=[unveil.models.KAnonymity(20)],
    ).to_dict()  # fmt: skip
    assert found.keys() == called.keys()
    measured = unveil.measure(str(out), ["age", "sex"])
    assert (measured["k_anonymity"].value or 0) >= 20
    assert run(["utility", str(out), "--need", f"{NEED} at least 0.1"]) == 0
    assert run(["attack", "adult", str(out), "--key", "age", "--key", "sex", "--link", str(link), "--no-linkage"]) == 0


def test_what_cannot_be_had_exits_with_1_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "release.csv"
    assert run([*COMMON, f"{NEED} at least 0.9", "--out", str(out)]) == 1
    assert capsys.readouterr().err.startswith("unveil: ")
    assert not out.exists()


@pytest.mark.parametrize(
    "words",
    [
        ["front", "adult", "--key", "age", "--need", NEED],
        ["front", "adult", "--sensitive", "occupation", "--need", NEED],
        [*COMMON, "income: wage given age"],
        [*COMMON, NEED, "--prefer", "beauty"],
        [*COMMON, NEED, "--max-identity", "2"],
    ],
)
def test_bad_input_exits_with_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_mechanisms_with_bounds_try_differential_privacy(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["front", "adult", "--key", "age", "--sensitive", "occupation", "--need", "study: income-per-year given age"]
    assert run([*words, "--mechanisms", "--bounds", "age=17:90", "--time-limit", "20", "--json"]) == 0
    assert "epsilon=" in capsys.readouterr().out
    assert run([*words, "--bounds", "age=17:90"]) == 2
    assert "--bounds goes with --mechanisms" in capsys.readouterr().err


def test_synthesis_measures_what_the_needs_ask_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "synthetic.csv"
    domains = 'domains={sex=["Female","Male"], race=["White","Black"], income-per-year=["<=50K",">50K"]}'
    words = ["anonymize", "adult", "--mechanism", "dp_synthesize", "--need", "pay: income-per-year given sex", "--set", domains]
    columns = ["--attribute", "sex", "--attribute", "race", "--attribute", "income-per-year"]
    assert run([*words, *columns, "--set", "epsilon=3.0", "--out", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["figures"]["pairs"] == [["sex", "income-per-year"]]
    assert run(["anonymize", "adult", "--mechanism", "swap", "--need", "pay: sex given age", "--out", str(out)]) == 2
    assert "swap serves none" in capsys.readouterr().err
