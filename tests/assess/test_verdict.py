"""A verdict as evidence: what it names, its hashes, its waivers, and its two pages."""

from __future__ import annotations

import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import unveil
from unveil.cli import run
from unveil.errors import ArgumentError
from unveil.report import page

PEOPLE = pl.DataFrame({"sex": ["f"] * 6 + ["m"] * 6, "town": ["a"] * 12, "note": list("abcdefghijkl"), "ill": ["yes", "no"] * 6})
WAIVER = {
    "rule": "k_anonymity",
    "approver": "the officer",
    "approved": "2026-01-01",
    "expires": "2026-01-31",
    "reason": "a contract",
}


@pytest.fixture
def release(tmp_path: Path) -> Path:
    place = tmp_path / "hr-release.csv"
    PEOPLE.write_csv(place)
    return place


def files(verdict: unveil.Verdict) -> dict[str, Any]:
    return {one.role: one for one in verdict.evidence.files}


def test_the_title_asks_and_answers(release: Path, tmp_path: Path) -> None:
    sides: dict[str, Any] = {"key": ["sex", "town"]}
    assert unveil.check(release, "cell-size-5", **sides).view().title == "May hr-release.csv be released? Yes, under cell-size-5"
    assert (
        unveil.check(release, "cell-size-11", **sides).view().title
        == "May hr-release.csv be released? No, not under cell-size-11"
    )
    assert (
        unveil.check(PEOPLE, {"k_anonymity": "report"}, **sides).view().title
        == "May this table be released? Not decided under the rules given"
    )
    project = tmp_path / "unveil.toml"
    project.write_text('[attributes.sex]\nrole = "key"\n[policy]\nk_anonymity = 2\n', encoding="utf-8")
    assert unveil.check(release, project).view().title.endswith("Yes, under the policy of unveil.toml")


def test_every_file_stands_there_with_its_plain_hash_but_the_original(release: Path, tmp_path: Path) -> None:
    policy, original = tmp_path / "ours.toml", tmp_path / "original.csv"
    policy.write_text("k_anonymity = 5\n", encoding="utf-8")
    PEOPLE.write_csv(original)
    found = files(unveil.check(release, policy, key="sex", original=original, same_order=True))
    assert set(found) == {"release", "policy", "original"}
    for role, place in (("release", release), ("policy", policy)):
        assert found[role].sha256 == hashlib.sha256(place.read_bytes()).hexdigest()
        assert found[role].size == place.stat().st_size
    assert found["original"].sha256 is None
    assert found["original"].hmac_sha256 is None


def test_with_a_key_every_hash_is_keyed(release: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.key"
    secret.write_bytes(b"0123456789abcdef")
    verdict = unveil.check(release, "cell-size-5", key="sex", original=release, same_order=True, key_file=secret)
    expected = hmac.digest(b"0123456789abcdef", release.read_bytes(), "sha256").hex()
    for role in ("release", "original"):
        assert (files(verdict)[role].sha256, files(verdict)[role].hmac_sha256) == (None, expected)
    assert expected in page(verdict.sheet())


def test_a_password_in_the_project_keeps_its_hash_out(release: Path, tmp_path: Path) -> None:
    project = tmp_path / "unveil.toml"
    rules = '[attributes.sex]\nrole = "key"\n[policy]\nk_anonymity = 2\n'
    project.write_text(f'[data]\npath = "postgresql://ann:hunter2@host/db?table=t"\n{rules}', encoding="utf-8")
    verdict = unveil.check(release, "cell-size-5", project=unveil.Project.read(project))
    assert files(verdict)["project"].sha256 is None
    project.write_text(rules, encoding="utf-8")
    verdict = unveil.check(release, "cell-size-5", project=unveil.Project.read(project))
    assert files(verdict)["project"].sha256 == hashlib.sha256(project.read_bytes()).hexdigest()


def test_the_rules_of_a_preset_have_a_hash_that_tells_them_apart(release: Path) -> None:
    five, eleven = (files(unveil.check(release, name, key="sex"))["policy"] for name in ("cell-size-5", "cell-size-11"))
    assert five.sha256 != eleven.sha256
    assert five.place == "preset cell-size-5"


def test_what_is_vouched_for_and_what_nobody_measured_is_named(release: Path) -> None:
    rules = {"k_anonymity": 5, "direct_identifiers": {"at_most": 0, "except": ["note"]}}
    verdict = unveil.check(release, rules, key=["sex", "town"], sensitive="ill")
    assert verdict.vouched == ("note",)
    assert [one.column for one in verdict.unmeasured] == ["note"]
    for shown in (page(verdict), page(verdict.sheet()), json.dumps(verdict.to_dict())):
        assert "note" in shown


def test_a_page_can_be_held_to_what_json_says(release: Path) -> None:
    verdict = unveil.check(release, "cell-size-5", key="sex")
    whole, said = page(verdict), verdict.to_dict()["evidence"]
    assert said["date"] == "2026-01-01T00:00:00Z"
    for text in (said["date"], said["version"], *(one["sha256"] for one in said["files"])):
        assert text in whole


@pytest.mark.parametrize(
    ("change", "passes"),
    [({}, True), ({"expires": "2026-01-01"}, True), ({"approved": "2026-01-02"}, False), ({"rule": "alpha"}, False),
     ({"approved": "2025-01-01", "expires": "2025-12-31"}, False), ({"of": "the key"}, True), ({"of": "ill"}, False)],
)  # fmt: skip
def test_a_waiver_covers_its_rule_on_its_days_alone(release: Path, change: dict[str, str], passes: bool) -> None:
    verdict = unveil.check(release, {"k_anonymity": 7}, key="sex", waivers=[WAIVER | change])
    assert verdict.passes is passes
    assert bool(verdict.waived) is passes
    assert [outcome.met for outcome in verdict.shortfalls] == [False]
    assert verdict.to_dict()["waivers"][0]["approver"] == "the officer"
    assert "the officer" in page(verdict)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"rule": "k"}, "rule"),
        ({"reason": " "}, "no reason"),
        ({"expires": "soon"}, "a day such as"),
        ({"expires": "2025-01-01"}, "before it is approved"),
        ({"why": "x"}, "has 'why'"),
    ],
)
def test_a_waiver_that_says_too_little_is_refused(change: dict[str, str], said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        unveil.check(PEOPLE, {"k_anonymity": 7}, key="sex", waivers=[WAIVER | change])


def test_waivers_of_a_file_are_those_of_a_call(release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules, by_hand, log, earlier = (tmp_path / name for name in ("r.toml", "w.toml", "log.json", "verdict.json"))
    rules.write_text("k_anonymity = 7\n", encoding="utf-8")
    days = ("approved", "expires")
    lines = [f"{name} = {text}" if name in days else f'{name} = "{text}"' for name, text in WAIVER.items()]
    by_hand.write_text("\n".join(["[[waivers]]", *lines]), encoding="utf-8")
    log.write_text(json.dumps({"decisions": [], "exceptions": [WAIVER | {"of": None}]}), encoding="utf-8")
    words = ["check", str(release), "--policy", str(rules), "--key", "sex"]
    assert run([*words, "--json"]) == 1
    assert run([*words, "--waivers", str(by_hand), "--out", str(earlier)]) == 0
    for file in (log, earlier):
        capsys.readouterr()
        assert run([*words, "--waivers", str(file), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["waivers"] == json.loads(earlier.read_text("utf-8"))["waivers"]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [("w.json", '{"a": 1}', "no list of waivers"), ("w.json", "[1]", "no list of waivers"), ("w.json", "[", "not JSON"),
     ("w.toml", "[[waivers]]", "lacks rule"), ("w.toml", "[[waivers", "line 1"), ("w.toml", "waivers = 3", "no list of waivers")],
)  # fmt: skip
def test_a_file_without_waivers_is_refused_in_one_line(
    name: str, text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert run(["check", "adult", "--policy", "cell-size-5", "--key", "sex", "--waivers", str(tmp_path / name)]) == 2
    err = capsys.readouterr().err
    assert name in err
    assert said in err
    assert err.count("\n") == 1


def test_a_waiver_lacks_nothing() -> None:
    with pytest.raises(ArgumentError, match="lacks approver"):
        unveil.check(
            PEOPLE, {"k_anonymity": 7}, key="sex", waivers=[{name: text for name, text in WAIVER.items() if name != "approver"}]
        )


def test_the_sheet_is_short_however_much_there_is() -> None:
    names = [f"a column with quite a long name that somebody thought of, number {at}" for at in range(40)]
    wide = pl.DataFrame({name: [1, 1, 2, 2] for name in names})
    rules = {"discrimination_rate": [{"key": [name], "at_most": 1} for name in names]}
    shown = unveil.check(wide, rules, key=names[:20]).sheet()
    assert len(shown.tables[0].rows) == 8
    assert "33 further rules" in shown.tables[0].note
    assert sum(map(len, (shown.lead, *shown.notes))) < 1000


def test_the_sheet_is_a_page_or_a_text(release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["check", str(release), "--policy", "cell-size-5", "--key", "sex", "--sheet"]
    for name in ("sheet.html", "sheet.txt"):
        assert run([*words, str(tmp_path / name), "--json"]) == 0
        assert "May hr-release.csv be released? Yes, under cell-size-5" in (tmp_path / name).read_text("utf-8")
    assert run([*words, str(tmp_path / "sheet.pdf")]) == 2
    assert ".html or .txt" in capsys.readouterr().err


def test_the_foot_of_a_page_names_the_data_and_the_day(release: Path, tmp_path: Path) -> None:
    out = tmp_path / "risk.html"
    assert run(["measure", str(release), "--key", "sex", "--out", str(out)]) == 0
    assert " on 2026-01-01 from hr-release.csv</footer>" in out.read_text("utf-8")
