"""`unveil init` as its users meet it: a file to read, and one that every verb reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import unveil
from unveil.cli import run


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")


def data() -> Path:
    place = Path("people.csv")
    rows = [f"p{i}@example.com,{20 + i % 50},{'fm'[i % 2]},{1000 + i % 3}" for i in range(60)]
    place.write_text("\n".join(["mail,age,sex,income", *rows]) + "\n", encoding="utf-8")
    return place


def test_init_writes_a_project_that_other_verbs_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", str(data())]) == 0
    printed = capsys.readouterr()
    assert "written: unveil.toml" in printed.err
    assert "money (outside the GDPR's lists)" in " ".join(printed.out.split())
    project = unveil.Project.read("unveil.toml")
    assert project.names("identifier") == ("mail",)
    assert project.names("key") == ("age", "sex")
    assert run(["scan", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["subsets"]) == 3
    assert run(["check", "--policy", "cell-size-3"]) == 1


def test_json_is_the_calls_dictionary(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", str(data()), "--out", "mine.toml", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == unveil.start_project("people.csv", "mine.toml").to_dict()


def test_a_file_that_is_there_is_kept_unless_forced(capsys: pytest.CaptureFixture[str]) -> None:
    Path("unveil.toml").write_text("# mine\n", encoding="utf-8")
    assert run(["init", str(data())]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert "--force" in printed.err
    assert Path("unveil.toml").read_text("utf-8") == "# mine\n"
    assert run(["init", str(data()), "--force"]) == 0
    assert "Proposed by" in Path("unveil.toml").read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(("nowhere.csv",), "nowhere.csv"), (("people.csv", "--out", "no/unveil.toml"), "does not exist"), ((), "DATA")],
)
def test_bad_input_is_one_line_and_exit_2(arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    data()
    assert run(["init", *arguments]) == 2
    printed = capsys.readouterr()
    assert words in printed.err
    assert printed.err.count("\n") == 1


def test_a_file_that_cannot_be_written_leaves_nothing_behind(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", str(data()), "--out", "whole.toml"]) == 0
    last = Path(capsys.readouterr().err.splitlines()[-2].removeprefix("written: "))
    folder = last.parent
    for path in folder.iterdir():
        path.unlink()
    last.mkdir()
    assert run(["init", "people.csv", "--out", "again.toml", "--force"]) == 2
    assert "it is a folder" in capsys.readouterr().err
    assert list(folder.iterdir()) == [last]
    assert not Path("again.toml").exists()
    last.rmdir()
    folder.rmdir()
    Path("gone.toml").mkdir()
    assert run(["init", "people.csv", "--out", "gone.toml"]) == 2
    assert not folder.exists()
