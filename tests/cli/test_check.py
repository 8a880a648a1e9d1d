"""`unveil check` as its users meet it: one screen, an exit code, files for pipelines."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import polars as pl
import pytest

import unveil
from unveil.cli import run

SIDES = ("--key", "sex", "--key", "race", "--sensitive", "occupation")


def test_raw_adult_fails_and_says_why_in_one_screen(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert run(["check", "adult-raw", "--policy", "cell-size-5"]) == 1
    shown = capsys.readouterr().out
    assert len(shown.splitlines()) < 40
    assert max(map(len, shown.splitlines())) <= 100
    for words in (
        "be released? No",
        "Not met",
        "k_anonymity",
        "at least 5",
        "fall short",
        "fnlwgt",
        "El Emam",
        "does not say",
    ):
        assert words in shown


@pytest.mark.parametrize("preset", ["cell-size-3", "cell-size-11", "cell-size-20", "max-risk-0.09", "wp216", "hipaa-safe-harbor"])
def test_every_preset_answers_in_one_screen(
    preset: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert (
        run(["check", "adult", "--policy", preset, "--key", "age", "--key", "native-country", "--sensitive", "occupation"]) == 1
    )
    assert len(capsys.readouterr().out.splitlines()) < 40


@pytest.mark.parametrize(
    ("rules", "code"), [("k_anonymity = 87", 0), ("k_anonymity = 88", 1), ("linkage = 0.1", 1), ('alpha = "report"', 1)]
)
def test_exit_codes(rules: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "policy.toml"
    place.write_text(rules, encoding="utf-8")
    assert run(["check", "adult", "--policy", str(place), *SIDES, "--json"]) == code
    found = json.loads(capsys.readouterr().out)
    assert found == json.loads(json.dumps(unveil.check("adult", place, key=["sex", "race"], sensitive="occupation").to_dict()))
    assert found["passes"] is (code == 0)


def test_a_policy_in_the_project_is_the_default(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"id": [1, 2, 3], "a": ["x", "x", "y"], "gone": [1, 2, 3]}).write_csv("data.csv")
    pl.DataFrame({"a": ["*", "*", "*"]}).with_columns(b=pl.lit("z")).write_csv("release.csv")
    Path("unveil.toml").write_text(
        '[data]\npath = "data.csv"\n[attributes.a]\nrole = "key"\n[attributes.gone]\nrole = "key"\n[policy]\nk_anonymity = 2\n',
        encoding="utf-8",
    )
    assert run(["check"]) == 1
    assert run(["check", "release.csv", "--policy", "unveil.toml", "--key", "b"]) == 0
    capsys.readouterr()
    pl.DataFrame({"a": ["x", "x"]}).write_csv("release.csv")
    assert run(["check", "release.csv", "--project", "unveil.toml", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["made"]["key"] == ["a"]


def test_junit_json_and_a_baseline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    xml, earlier = tmp_path / "check.xml", tmp_path / "earlier.json"
    assert run(["check", "adult", "--policy", "cell-size-11", *SIDES, "--junit", str(xml), "--out", str(earlier)]) == 0
    assert ET.parse(xml).getroot().get("failures") == "0"  # noqa: S314 - our own file
    assert run(["check", "adult", *SIDES, "--baseline", str(earlier)]) == 0
    pl.DataFrame(unveil.datasets.adult()).head(3000).write_csv(tmp_path / "new.csv")
    new = ["check", str(tmp_path / "new.csv"), *SIDES, "--baseline", str(earlier)]
    capsys.readouterr()
    assert run([*new, "--allow", "0.01", "--json"]) == 1
    moved = json.loads(capsys.readouterr().out)["drift"][0]
    assert moved["growth"] == pytest.approx(1 / moved["now"] - 1 / moved["before"])
    assert run([*new, "--allow", "1"]) == 0


def test_attacks_through_the_original(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    place = tmp_path / "policy.toml"
    place.write_text("identity_attack = 0.5\n", encoding="utf-8")
    words = [
        "check",
        "thesis-4.3",
        "--policy",
        str(place),
        "--key",
        "Age*",
        "--original",
        "thesis-4.2",
        "--map",
        "Age=Age*",
        "--same-order",
    ]
    assert run([*words, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)["rules"][0]
    expected = unveil.attack("thesis-4.2", "thesis-4.3", "Age*", mapping={"Age": "Age*"}, same_order=True)
    assert found["value"] == expected.overall["risk"]["identity"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("adult",), "no policy is named"),
        (("adult", "--policy", "cell-size-6"), "did you mean 'cell-size-"),
        (("nowhere.csv", "--policy", "cell-size-5"), "nowhere.csv"),
        (("adult", "--policy", "cell-size-5", "--key", "agee"), "did you mean 'age'"),
        (("adult", "--policy", "cell-size-5", "--nulls", "dropp"), "did you mean 'drop'"),
        (("adult", "--policy", "cell-size-5", "--key", "sex", "--junit", "nowhere/x.xml"), "does not exist"),
        (("adult", "--baseline", "nowhere.json"), "nowhere.json"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert words in printed.err
    assert printed.err.count("\n") == 1
