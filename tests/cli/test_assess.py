"""`unveil assess` as its users meet it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import unveil
from unveil.cli import run

COMMON = ("assess", "adult", "--key", "sex", "--key", "race", "--sensitive", "occupation")


def test_json_is_the_calls_dictionary(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*COMMON, "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out) == unveil.assess("adult", ["sex", "race"], "occupation").to_dict()
    assert printed.err == ""


def test_the_terminal_shows_the_sections(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*COMMON]) == 0
    lines = capsys.readouterr().out.splitlines()
    for title in ("What adult gives away", "What to do next", "What identifies", "What discloses", "Models and risks"):
        assert title in lines


def test_a_report_and_the_json_beside_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("report.html", "report.json"):
        assert run([*COMMON, "--out", str(tmp_path / name)]) == 0
    capsys.readouterr()
    assert "<svg " in (tmp_path / "report.html").read_text("utf-8")
    assert json.loads((tmp_path / "report.json").read_text("utf-8"))["records"] == 30162


def test_the_same_input_gives_the_same_report(tmp_path: Path) -> None:
    for name in ("one.html", "other.html"):
        assert run([*COMMON, "--out", str(tmp_path / name)]) == 0
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "other.html").read_bytes()


def test_redaction_can_be_turned_off(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("a,s\n" + "x,1\nx,2\n" * 4 + "rare,1\n", "utf-8")
    texts = {}
    for option in ((), ("--unmasked",)):
        words = ["assess", str(tmp_path / "d.csv"), "--key", "a", "--sensitive", "s", *option, "--out", str(tmp_path / "r.html")]
        assert run(words) == 0
        texts[option] = (tmp_path / "r.html").read_text("utf-8")
    assert ">rare<" not in texts[()]
    assert "= rare" not in texts[()]
    assert "UNMASKED" not in texts[()]
    assert "a = rare" in texts["--unmasked",]
    assert "UNMASKED" in texts["--unmasked",]


def test_a_partition_and_a_project(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "d.csv").write_text("a,s\nx,1\nx,2\ny,3\ny,3\n", "utf-8")
    (tmp_path / "p.json").write_text('{"blocks": [[1, 2], [3]]}', "utf-8")
    (tmp_path / "unveil.toml").write_text(
        '[data]\npath = "d.csv"\n[attributes.a]\nrole = "key"\n[attributes.s]\nrole = "sensitive"\n', "utf-8"
    )
    given = ["--project", str(tmp_path / "unveil.toml"), "--partition", f"low:s={tmp_path / 'p.json'}"]
    assert run(["assess", *given, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(one["partition"], one["dr"] == 1.0) for one in found["disclosure"]] == [(None, False), ("low", True)]
    assert [one["role"] for one in found["files"]] == ["data", "project"]


@pytest.mark.parametrize(
    "words",
    [
        ("assess", "nowhere.csv"),
        ("assess", "adult", "--key", "agge"),
        ("assess", "adult", "--key", "sex", "--sensitive", "sex"),
        ("assess", "adult", "--key", "sex", "--out", "report.doc"),
        ("assess", "adult", "--key", "sex", "--out", "no/such/folder/report.html"),
        ("assess", "adult", "--key", "sex", "--partition", "occupation"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(list(words)) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert len(printed.err.splitlines()) == 1


def test_an_older_report_stays_when_the_new_one_cannot_be_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "report.html"
    target.write_text("old", "utf-8")
    (tmp_path / "one.csv").write_text("a,s\nx,1\n", "utf-8")
    assert run(["assess", str(tmp_path / "one.csv"), "--key", "a", "--out", str(target)]) == 2
    assert "undefined" in capsys.readouterr().err
    assert target.read_text("utf-8") == "old"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["one.csv", "report.html"]
