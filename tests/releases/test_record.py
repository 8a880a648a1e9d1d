"""The record beside a release: what it says and does not say, whom it belongs to, and what the gate makes of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import unveil
from unveil import mechanisms
from unveil.cli import run
from unveil.errors import DataNotFoundError
from unveil.models import KAnonymity
from unveil.releases import RecordMismatchError, read_record, record_place

PEOPLE = unveil.datasets.load("adult").head(300).with_row_index("id")
POLICY = {"repeatable": False}


def content(release: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(record_place(release).read_text("utf-8"))
    return found


def test_a_release_is_written_with_its_record(tmp_path: Path) -> None:
    out = tmp_path / "release.csv"
    mechanisms.swap(PEOPLE, ["age"], share=0.3).write(out)
    found = content(out)
    assert found["sha256"] == hashlib.sha256(out.read_bytes()).hexdigest()
    assert found["file"] == "release.csv"
    assert found["made_by"] == "swapping"
    assert found["repeatable"] is False
    assert found["records"] == 300
    columns = found["columns"]
    assert columns["kept"] == [name for name in PEOPLE.columns if name not in ("id", "fnlwgt")]
    assert [one["column"] for one in columns["never_measured"]] == [name for name in columns["kept"] if name != "age"]
    assert columns["left_out"] == [
        {"column": "id", "why": "recognised as row number"},
        {"column": "fnlwgt", "why": "unique for more than half of the records"},
    ]


def test_models_are_stated_with_whom_they_hold_against(tmp_path: Path) -> None:
    out = tmp_path / "release.parquet"
    asked = {"identifiers": "id", "suppression": 0.1}
    unveil.anonymize(PEOPLE, ["age", "sex"], [KAnonymity(3)], **asked).write(out)  # type: ignore[arg-type]
    found = content(out)
    (model,) = found["models"]
    assert model["requirement"] == "k_anonymity >= 3"
    assert model["met"] is True
    assert model["value"] >= 3
    assert "age, sex" in model["against"]
    assert {"column": "id", "why": "named as identifier"} in found["columns"]["left_out"]
    unmeasured = [one["column"] for one in found["columns"]["never_measured"]]
    assert "age" not in unmeasured
    assert "race" in unmeasured


@pytest.mark.parametrize("words", [["--mechanism", "swap", "--attribute", "age"], ["--key", "age", "--k", "3"]])
def test_no_seed_no_key_and_no_hash_of_the_data_is_in_it(words: list[str], tmp_path: Path) -> None:
    data, out, key = tmp_path / "people.csv", tmp_path / "out.csv", tmp_path / "file.key"
    PEOPLE.write_csv(data)
    key.write_text("a key that nobody may see")
    raw = hashlib.sha256(data.read_bytes()).hexdigest()
    for option, mark in ((["--seed", "918273"], "seed"), (["--key-file", str(key)], "key"), ([], False)):
        assert run(["anonymize", str(data), *words, *option, "--out", str(out)]) == 0
        text = record_place(out).read_text("utf-8")
        assert json.loads(text)["repeatable"] == mark
        assert not [secret for secret in ("918273", "nobody may see", "file.key", raw) if secret in text]


def test_the_gate_reads_the_record(tmp_path: Path) -> None:
    safe, study = tmp_path / "safe.csv", tmp_path / "study.csv"
    mechanisms.swap(PEOPLE, "age").write(safe)
    mechanisms.swap(PEOPLE, "age", seed=3).write(study)
    assert unveil.check(safe, POLICY).passes
    verdict = unveil.check(study, POLICY)
    assert verdict.outcomes[0].met is False
    assert any("not for publication" in note for note in verdict.notes)


def test_without_a_record_of_this_very_file_the_rule_is_not_decided(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, other, policy = tmp_path / "out.csv", tmp_path / "other.csv", tmp_path / "policy.toml"
    policy.write_text("repeatable = false\n")
    mechanisms.swap(PEOPLE, "age").write(out)
    PEOPLE.write_csv(other)
    assert unveil.check(other, POLICY).outcomes[0].met is None
    assert unveil.check(PEOPLE, POLICY).outcomes[0].met is None
    assert run(["check", str(other), "--policy", str(policy), "--record", str(record_place(out)), "--json"]) == 1
    assert "'out.csv.unveil.json' does not belong to 'other.csv': the checksums differ" in capsys.readouterr().out
    with out.open("a", encoding="utf-8") as file:
        file.write("\n")
    assert unveil.check(out, POLICY).outcomes[0].met is None
    assert run(["check", str(out), "--policy", str(policy)]) == 1


def test_a_record_may_lie_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, moved = tmp_path / "out.csv", tmp_path / "records" / "one.json"
    mechanisms.swap(PEOPLE, "age").write(out)
    moved.parent.mkdir()
    record_place(out).rename(moved)
    assert unveil.check(out, POLICY).outcomes[0].met is None
    assert unveil.check(out, POLICY, record=moved).passes
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataNotFoundError, match=r"nowhere.json"):
        unveil.check(out, POLICY, record="nowhere.json")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"repeatable": "perhaps"}', "[" * 100_000])
def test_what_is_no_record_is_refused(text: str, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    PEOPLE.write_csv(out)
    record_place(out).write_text(text)
    with pytest.raises(RecordMismatchError):
        read_record(record_place(out), out)


@pytest.mark.parametrize("vouched", [None, 5, "note", {"note": 1}, [5, "note"]])
def test_only_a_list_names_columns_that_are_vouched_for(vouched: Any, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    mechanisms.sample(PEOPLE, share=0.5).write(out)
    record_place(out).write_text(json.dumps(content(out) | {"columns": {"vouched_for": vouched}}))
    assert read_record(record_place(out), out).vouched == (("note",) if isinstance(vouched, list) else ())
    assert mechanisms.sample(out, share=0.5).records
    assert unveil.check(out, POLICY).outcomes[0].met


def test_a_rule_that_is_not_false_is_refused() -> None:
    with pytest.raises(unveil.UnveilError, match="can only be false"):
        unveil.check(PEOPLE, {"repeatable": True})


def test_anatomy_writes_a_record_for_each_table(tmp_path: Path) -> None:
    mechanisms.anatomize(PEOPLE, ["age"], "race", l=1).write(tmp_path)
    for name in ("quasi.csv", "sensitive.csv"):
        found = content(tmp_path / name)
        assert found["made_by"] == "anatomy"
        assert "id" in [one["column"] for one in found["columns"]["left_out"]]
        read_record(record_place(tmp_path / name), tmp_path / name)


def test_a_chain_says_what_each_step_did(tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    steps = [unveil.Step("top_bottom_code", "age", {"top": 70}), unveil.Step("swap", ["race"], {"seed": 5})]
    unveil.protect(PEOPLE, steps).write(out)
    found = content(out)
    assert [step["made_by"] for step in found["made_by"]] == ["top and bottom coding", "swapping"]
    assert found["repeatable"] == "seed"
    assert pl.read_csv(out).height == 300


def test_few_suppressed_records_are_warned_of() -> None:
    ages = unveil.Hierarchy("age", [[str(age), f"{age // 10}0s", "*"] for age in (*range(20, 30), 91)])
    people = pl.DataFrame({"age": [*range(20, 30), 91], "job": ["a", "b"] * 5 + ["c"]})
    release = unveil.anonymize(people, {"age": ages}, [KAnonymity(5)], suppression=0.1)
    assert release.suppressed == 1
    assert any(note.startswith("Only 1 record suppressed") for note in release.notes)
    whole = unveil.anonymize(people[:10], {"age": ages}, [KAnonymity(5)], suppression=0.1)
    assert not any("suppressed:" in note for note in whole.notes)


@pytest.mark.parametrize("mark", [0, 0.0, True, None, [], {}])
def test_a_mark_that_only_equals_false_is_refused(tmp_path: Path, mark: Any) -> None:
    release = tmp_path / "release.csv"
    mechanisms.swap(PEOPLE, "age", seed=1).write(release)
    record_place(release).write_text(json.dumps({**content(release), "repeatable": mark}))
    with pytest.raises(RecordMismatchError, match="not a record of a release"):
        read_record(record_place(release), release)


@pytest.mark.parametrize(
    "step",
    [
        lambda data: mechanisms.sample(data, share=1.0),
        lambda data: mechanisms.anatomize(data, "age", "occupation", l=2),
        lambda data: unveil.anonymize(data, ["age", "sex"], [KAnonymity(2)]),
        lambda data: unveil.mondrian(data, ["age", "education-num"], [KAnonymity(2)]),
        lambda data: unveil.protect(data, [unveil.Step("swap", "age"), unveil.Step("sample", (), {"share": 1.0})]),
    ],
)
def test_a_second_step_does_not_wash_off_the_seed_of_the_first(tmp_path: Path, step: Callable[[Path], Any]) -> None:
    first = tmp_path / "first.csv"
    mechanisms.swap(PEOPLE, "age", seed=7).write(first)
    assert step(first).repeatable == "seed"
    record_place(first).unlink()
    assert step(first).repeatable is False


def test_a_second_step_from_a_file_that_has_changed_since_inherits_nothing(tmp_path: Path) -> None:
    first = tmp_path / "first.csv"
    mechanisms.swap(PEOPLE, "age", seed=7).write(first)
    first.write_text(first.read_text() + "\n")
    assert mechanisms.sample(first, share=1.0).repeatable is False
