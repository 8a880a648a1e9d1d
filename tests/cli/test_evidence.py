"""Every answer names the files it was made from with their hash under a key, if one is given, and with no other hash of theirs."""

from __future__ import annotations

import hashlib
import hmac
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

import unveil
from unveil.cli import run

KEY = b"0123456789abcdef0123456789abcdef"
STUDY = ["--key", "town", "--sensitive", "illness"]
COMMANDS: dict[str, tuple[list[str], dict[str, str]]] = {
    "dr": (["dr", "people.csv", *STUDY], {"data": "people.csv"}),
    "dr-partition": (
        ["dr", "people.csv", *STUDY, "--partition", "illness=kinds.json"],
        {"data": "people.csv", "partition of illness": "kinds.json"},
    ),
    "dr-project": (
        ["dr", "unveil.toml"],
        {"data": "people.csv", "project": "unveil.toml", "hierarchy of illness": "illness.csv"},
    ),
    "scan": (["scan", "people.csv", *STUDY], {"data": "people.csv"}),
    "identifiers": (["identifiers", "people.csv"], {"data": "people.csv"}),
    "unicity": (["unicity", "people.csv", "--person", "name", "--key", "town"], {"data": "people.csv"}),
    "measure": (
        ["measure", "people.csv", *STUDY, "--population", "others.csv", "--reference", "release.csv"],
        {"data": "people.csv", "population": "others.csv", "reference": "release.csv"},
    ),
    "utility": (["utility", "people.csv", "--need", "care: illness given town"], {"data": "people.csv"}),
    "attack": (
        ["attack", "people.csv", "release.csv", "--id", "name", *STUDY, "--partition", "kinds:illness=kinds.json",
         "--external", "others.csv"],
        {"original": "people.csv", "release": "release.csv", "partition kinds of illness": "kinds.json",
         "external data": "others.csv"},
    ),
    "attack-control": (
        ["attack", "people.csv", "release.csv", *STUDY, "--control", "others.csv"],
        {"original": "people.csv", "release": "release.csv", "control": "others.csv"},
    ),
    "attack-earlier": (
        ["attack", "people.csv", "release.csv", *STUDY, "--earlier", "others.csv"],
        {"original": "people.csv", "release": "release.csv", "earlier release": "others.csv"},
    ),
    "loss": (
        ["loss", "people.csv", "release.csv", "--id", "name", "--hierarchy", "illness=illness.csv"],
        {"original": "people.csv", "release": "release.csv", "hierarchy of illness": "illness.csv"},
    ),
    "compare-tables": (
        ["compare", "people.csv", "one=counts.csv", "--by", "town"], {"original": "people.csv", "one": "counts.csv"}
    ),
}  # fmt: skip
"""Verbs whose answers hold no files of their own, and the files that each reads."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go to a folder with everything that the commands read."""
    monkeypatch.chdir(tmp_path)
    rows = [f"{at},{('Lille', 'Lyon')[at % 2]},{('flu', 'cold', 'gout')[at % 3]}" for at in range(36)]
    for name, letter, records in (("people", "p", 24), ("release", "p", 20), ("others", "o", 36)):
        lines = [f"{letter}{row}\n" for row in rows[:records]]
        Path(f"{name}.csv").write_text("".join(["name,town,illness\n", *lines]), "utf-8")
    Path("illness.csv").write_text("flu;lung;*\ncold;lung;*\ngout;foot;*\n", "utf-8")
    Path("kinds.json").write_text('[["flu", "cold"], ["gout"]]', "utf-8")
    Path("counts.csv").write_text("town,n\nLille,12\nLyon,12\nTotal,24\n", "utf-8")
    Path("unveil.toml").write_text(
        '[data]\npath = "people.csv"\n[attributes.town]\nrole = "key"\n'
        '[attributes.illness]\nrole = "sensitive"\nhierarchy = "illness.csv"\n',
        "utf-8",
    )
    Path("secret.key").write_bytes(KEY + b"\n")
    return tmp_path


def keyed(file: str) -> str:
    """Return the HMAC of a file."""
    return hmac.new(KEY, Path(file).read_bytes(), "sha256").hexdigest()


def answer(words: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Return what a command prints as JSON."""
    assert run([*words, "--json"]) == 0, capsys.readouterr().err
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", COMMANDS)
def test_an_answer_names_what_it_read_under_a_key_and_is_otherwise_the_same(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words, read = COMMANDS[name]
    plain = answer(words, capsys)
    assert "evidence" not in plain
    found = answer([*words, "--key-file", "secret.key"], capsys)
    evidence = found.pop("evidence")
    assert found == plain
    files = {Path(one["place"]).name: one for one in evidence["files"]}
    assert {one["role"]: Path(one["place"]).name for one in evidence["files"]} == read
    assert {file: one["hmac_sha256"] for file, one in files.items()} == {file: keyed(file) for file in read.values()}
    assert all(one["sha256"] is None for one in files.values())
    assert evidence["version"] == plain.get("version", evidence["version"])


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", COMMANDS)
def test_pages_show_the_same_hashes_and_neither_the_key_nor_a_plain_hash(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    words, read = COMMANDS[name]
    assert run([*words, "--out", "plain.html"]) == 0
    assert run([*words, "--key-file", "secret.key", "--out", "page.html"]) == 0
    capsys.readouterr()
    before, after = Path("plain.html").read_text("utf-8"), Path("page.html").read_text("utf-8")
    for file in read.values():
        assert keyed(file) in after
        assert keyed(file) not in before
        assert hashlib.sha256(Path(file).read_bytes()).hexdigest() not in after
        assert file in before.split("<footer>")[1] or name == "dr-project"
    assert KEY.decode() not in after


@pytest.mark.usefixtures("folder")
def test_every_other_form_is_written_too_and_keeps_the_mark(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["dr", "people.csv", *STUDY, "--key-file", "secret.key"]
    for ending in ("json", "txt", "csv", "parquet", "xlsx"):
        assert run([*words, "--out", f"page.{ending}"]) == 0
    assert keyed("people.csv") in Path("page.json").read_text("utf-8")
    assert keyed("people.csv")[:40] in Path("page.txt").read_text("utf-8")
    assert keyed("people.csv") not in Path("page.csv").read_text("utf-8")
    capsys.readouterr()
    found = answer([*words, "--unmasked"], capsys)
    assert found["unmasked"] is True
    assert found["evidence"]["files"][0]["hmac_sha256"] == keyed("people.csv")


@pytest.mark.usefixtures("folder")
def test_standard_input_and_a_key_from_a_pipe_are_read_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(Path("people.csv").read_bytes())))
    end, start = os.pipe()
    os.write(start, KEY)
    os.close(start)
    found = answer(["dr", "-", *STUDY, "--key-file", f"/dev/fd/{end}"], capsys)
    os.close(end)
    assert [(one["role"], one["hmac_sha256"]) for one in found["evidence"]["files"]] == [("data", keyed("people.csv"))]


@pytest.mark.usefixtures("folder")
def test_a_compared_release_from_standard_input_has_a_plain_hash_as_one_in_a_file_has(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = Path("release.csv").read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    words = ["compare", "people.csv", "file=release.csv", "pipe=-", *STUDY]
    found = answer([*words, "--privacy", "k", "--loss", "suppressed", "--key-file", "secret.key"], capsys)
    hashes = {one["role"]: (one["sha256"], one["hmac_sha256"]) for one in found["files"]}
    public = hashlib.sha256(text).hexdigest(), None
    assert hashes == {"original": (None, keyed("people.csv")), "file": public, "pipe": public}


@pytest.mark.usefixtures("folder")
def test_a_built_in_set_is_no_file(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(["dr", "paper-4", "--key", "Age", "--key-file", "secret.key"], capsys)
    assert found["evidence"]["files"] == []


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("key", "words"), [("nowhere.key", "cannot be read"), ("é" * 300, "cannot be read"), ("short.key", "a key has at least")]
)
def test_a_key_that_cannot_be_used_is_refused_before_the_data_is_read(
    key: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("short.key").write_text("short", "utf-8")
    assert run(["dr", "no-such-data.csv", *STUDY, "--key-file", key, "--out", "page.html"]) == 2
    assert words in capsys.readouterr().err
    assert not Path("page.html").exists()


@pytest.mark.usefixtures("folder")
def test_the_key_is_not_written_over(capsys: pytest.CaptureFixture[str]) -> None:
    Path("key.json").write_bytes(KEY)
    assert run(["dr", "people.csv", *STUDY, "--key-file", "key.json", "--out", "key.json"]) == 2
    assert "is read by this command" in capsys.readouterr().err
    assert Path("key.json").read_bytes() == KEY


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("rules", ["k_anonymity = 2\n", "[policy]\nk_anonymity = 2\n"], ids=["a policy", "another project"])
def test_a_comparison_names_its_project_and_policy_under_a_key(rules: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("policy.toml").write_text(rules, "utf-8")
    words = ["compare", "people.csv", "one=release.csv", "--project", "unveil.toml", "--id", "name", "--policy", "policy.toml"]
    plain = answer(words, capsys)
    assert [one["role"] for one in plain["files"]] == ["original", "one"]
    found = answer([*words, "--key-file", "secret.key"], capsys)
    hashes = {one["role"]: one["hmac_sha256"] for one in found["files"]}
    assert hashes == {
        "original": keyed("people.csv"), "one": None, "project": keyed("unveil.toml"), "policy": keyed("policy.toml")
    }  # fmt: skip
    assert "evidence" not in found
    assert {**found, "files": []} == {**plain, "files": []}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("named", [["--policy", "base.toml"], ["--policy", "base.toml", "--project", "unveil.toml"]], ids=len)
def test_a_file_with_a_password_has_no_plain_hash_as_a_policy_either(
    named: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("base.toml").write_text(
        '[data]\npath = "postgresql://me:zq-secret@localhost/db?table=t"\n[attributes.town]\nrole = "key"\n'
        "[policy]\nk_anonymity = 2\n",
        "utf-8",
    )
    run(["check", "release.csv", *named, "--json"])
    printed = capsys.readouterr().out
    assert "policy" in {one["role"] for one in json.loads(printed)["evidence"]["files"]}
    in_python = json.dumps(unveil.check("release.csv", unveil.Project.read("base.toml")).to_dict())
    assert hashlib.sha256(Path("base.toml").read_bytes()).hexdigest() not in printed + in_python
