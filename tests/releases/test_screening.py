"""Names do not pass: whoever makes a release, columns that name people stay out of it unless they are kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import unveil
from helpers import limited
from staff import staff
from unveil import mechanisms
from unveil.cli import run
from unveil.errors import ColumnNotFoundError
from unveil.measures.unnamed import unique_by
from unveil.models import KAnonymity
from unveil.releases import record_place

PEOPLE = staff()
NAMING = {"Employee_Name", "EmpID", "DOB"}
MOSTLY_UNIQUE = {"Salary"}
KEY = ["Age", "Sex"]
K = [KAnonymity(3)]
NEED = unveil.Need("use", target="Department", given="Age")

MAKERS: dict[str, Callable[[Any], Any]] = {
    "anonymize": lambda data: unveil.anonymize(data, KEY, K),
    "mondrian": lambda data: unveil.mondrian(data, KEY, K),
    "recode_locally": lambda data: unveil.recode_locally(data, KEY, K),
    "generalize_subtrees": lambda data: unveil.generalize_subtrees(data, KEY, K),
    "suppress_locally": lambda data: unveil.suppress_locally(data, KEY, 3),
    "front": lambda data: unveil.anonymize_front(data, KEY, NEED, sensitive="Race", models=K).chosen,
    "protect": lambda data: unveil.protect(data, [unveil.Step("sample", (), {"share": 0.9}), unveil.Step("swap", ["Age"])]),
    "swap": lambda data: mechanisms.swap(data, ["Age"]),
    "rank_swap": lambda data: mechanisms.rank_swap(data, ["Age"], window=10),
    "swap_households": lambda data: mechanisms.swap_households(data, "Age", risk="Sex"),
    "pram": lambda data: mechanisms.pram(data, "Race", retention=0.9),
    "add_noise": lambda data: mechanisms.add_noise(data, "Age"),
    "microaggregate": lambda data: mechanisms.microaggregate(data, "Age", k=3),
    "round_values": lambda data: mechanisms.round_values(data, "Age", base=5),
    "resample": lambda data: mechanisms.resample(data, "Age"),
    "sample": lambda data: mechanisms.sample(data, share=0.9),
    "top_bottom_code": lambda data: mechanisms.top_bottom_code(data, "Age", top=60),
    "massc": lambda data: mechanisms.massc(data, ["Age", "Sex"], risk=0.05),
    "pseudonymize": lambda data: mechanisms.pseudonymize(data, "Department", method="counter"),
}


@pytest.mark.parametrize("name", MAKERS)
def test_no_release_has_columns_that_name_people(name: str) -> None:
    release = MAKERS[name](PEOPLE)
    assert not (NAMING | MOSTLY_UNIQUE) & set(release.data.columns)
    assert set(release.left_out) >= NAMING | MOSTLY_UNIQUE
    told = {one["column"]: one["why"] for one in release.record["columns"]["left_out"]}
    assert told["DOB"] == "recognised as birth date"
    assert told["Salary"] == "unique for more than half of the records"
    assert any("Employee_Name" in note and "`keep`" in note for note in release.notes)


@pytest.mark.parametrize("name", MAKERS)
def test_a_column_that_is_kept_stays_and_is_recorded(name: str) -> None:
    release = MAKERS[name](unveil.Study(PEOPLE, keep=["Salary", "EmpID"]))
    assert {"Salary", "EmpID"} <= set(release.data.columns)
    columns = release.record["columns"]
    assert set(columns["vouched_for"]) == {"Salary", "EmpID"}
    (salary,) = [one for one in columns["never_measured"] if one["column"] == "Salary"]
    values = release.data["Salary"]
    assert (salary["unique"], salary["of"], salary["unit"]) == (values.is_unique().sum(), len(values), "records")


@pytest.mark.parametrize("name", MAKERS)
def test_only_roles_leaves_out_the_rest(name: str) -> None:
    release = MAKERS[name](unveil.Study(PEOPLE, key=KEY, sensitive="Race", only_roles=True))
    assert set(release.data.columns) - {"weight"} <= {"Age", "Sex", "Race", "Department"}
    assert release.left_out["State"] == "has no role"


def test_an_attribute_of_a_mechanism_has_a_role() -> None:
    assert "Salary" in mechanisms.microaggregate(PEOPLE, "Salary", k=5).data.columns
    pseudonyms = mechanisms.pseudonymize(PEOPLE, "EmpID", method="counter").data
    assert "EmpID" in pseudonyms.columns
    assert "DOB" not in pseudonyms.columns


def test_a_chain_may_treat_a_column_that_an_earlier_step_does_not_name() -> None:
    steps = [unveil.Step("swap", ["Age"]), unveil.Step("microaggregate", ["Salary"], {"k": 5})]
    assert "Salary" in unveil.protect(PEOPLE, steps).data.columns


def test_persons_count_not_their_records() -> None:
    """Every person has two records, so that no record has a salary of its own, and every person has."""
    twice = pl.concat([PEOPLE, PEOPLE])
    assert "Salary" in mechanisms.swap(twice, "Age").data.columns
    made = mechanisms.swap(unveil.Study(twice, person="EmpID"), "Age")
    assert made.left_out["Salary"] == "unique for more than half of the people"
    assert made.left_out["EmpID"] == "says whose record it is"
    kept = mechanisms.swap(unveil.Study(twice, person="EmpID", keep="Salary"), "Age")
    (salary,) = [one for one in kept.unmeasured if one.column == "Salary"]
    alone = PEOPLE["Salary"].is_unique().sum()
    assert str(salary) == f"Salary, unique for {alone} of 311 people"


@pytest.mark.parametrize("person", [None, "EmpID"])
def test_unique_by_against_brute_force(person: str | None) -> None:
    frame = staff(60, repeated=25).with_columns(Termination=pl.col("Termination"))
    for columns in (["State"], ["Termination"], ["Age", "Sex"], ["Absences", "Race"]):
        owners: dict[Any, set[Any]] = {}
        who = list(range(frame.height)) if person is None else frame[person].to_list()
        for row, owner in zip(frame.select(columns).rows(), who, strict=True):
            owners.setdefault(row, set()).add(owner)
        alone = {next(iter(held)) for held in owners.values() if len(held) == 1}
        assert unique_by(unveil.Study(frame), columns, person) == (len(alone), len(set(who)))


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_streams_leave_out_what_memory_does(form: str, tmp_path: Path) -> None:
    place = tmp_path / f"people.{form}"
    PEOPLE.write_csv(place) if form == "csv" else PEOPLE.write_parquet(place)
    with limited(stream_from=1, rows=70, text=500, bucket=90):
        streamed = unveil.anonymize(str(place), KEY, K, out=tmp_path / "r.csv", keep="Salary")
    whole = unveil.anonymize(PEOPLE, KEY, K, keep="Salary")
    assert streamed.data.collect().columns == whole.data.columns
    assert streamed.record["columns"] == whole.record["columns"]
    written = json.loads(record_place(tmp_path / "r.csv").read_text())
    assert written["columns"]["vouched_for"] == ["Salary"]


def test_the_command_line_says_what_it_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place, out = tmp_path / "hr.csv", tmp_path / "r.csv"
    PEOPLE.write_csv(place)
    assert run(["anonymize", str(place), "--key", "Age", "--key", "Sex", "--k", "5", "--out", str(out)]) == 0
    told = capsys.readouterr().out
    assert "Employee_Name" in told
    assert "recognised as" in told
    assert not NAMING & set(pl.read_csv(out).columns)
    assert not [name for name in PEOPLE["Employee_Name"] if name in out.read_text()]
    assert run(["anonymize", str(place), "--key", "Age", "--k", "5", "--keep", "Slary"]) == 2
    assert "did you mean 'Salary'" in capsys.readouterr().err


def test_what_cannot_be_looked_at_does_not_leave() -> None:
    frame = PEOPLE.head(40).with_columns(photo=pl.Series([b"\x01", b"\x02"] * 20), tags=pl.Series([["a"], ["b"]] * 20))
    made = mechanisms.swap(frame, "Age")
    assert made.left_out["photo"] == made.left_out["tags"] == "its values cannot be read"
    assert {"photo", "tags"} <= set(mechanisms.swap(unveil.Study(frame, keep=["photo", "tags"]), "Age").data.columns)


def test_a_column_to_keep_has_to_be_there() -> None:
    with pytest.raises(ColumnNotFoundError):
        mechanisms.swap(unveil.Study(PEOPLE, keep="Slary"), "Age")
    with pytest.raises(ColumnNotFoundError):
        unveil.anonymize(PEOPLE, KEY, K, keep="Slary")


class TestGate:
    """A file of names passes no policy unless somebody vouches for the columns by name."""

    @pytest.mark.parametrize("preset", ["cell-size-3", "cell-size-5", "cell-size-11", "cell-size-20", "max-risk-0.09", "wp216",
                                        "hipaa-safe-harbor"])  # fmt: skip
    def test_names_pass_no_preset(self, preset: str, tmp_path: Path) -> None:
        place = tmp_path / "hr.csv"
        PEOPLE.write_csv(place)
        assert run(["check", str(place), "--policy", preset, "--key", "Sex", "--json"]) == 1
        verdict = unveil.check(place, preset, key="Sex")
        (found,) = [one for one in verdict.outcomes if one.rule.name == "direct_identifiers"]
        assert (found.value, found.met) == (3, False)

    def test_a_policy_or_the_caller_may_vouch(self) -> None:
        assert not unveil.check(PEOPLE, {"k_anonymity": 5}, key="Sex").passes
        kept = unveil.check(PEOPLE, {"k_anonymity": 5}, key="Sex", keep=sorted(NAMING))
        assert kept.passes
        assert set(kept.to_dict()["vouched_for"]) == NAMING
        policy = {"k_anonymity": 5, "direct_identifiers": {"at_most": 0, "except": sorted(NAMING)}}
        assert unveil.check(PEOPLE, policy, key="Sex").passes

    def test_an_earlier_result_does_not_excuse_names(self) -> None:
        earlier = unveil.check(PEOPLE, {"k_anonymity": 5}, key="Sex").to_dict()
        verdict = unveil.check(PEOPLE, baseline=earlier, key="Sex")
        assert all(one.met for one in verdict.drift)
        assert not verdict.passes

    def test_what_nobody_measured_is_listed_with_what_it_adds_to_the_key(self) -> None:
        found = {one["column"]: one for one in unveil.check(PEOPLE, {"k_anonymity": 2}, key=KEY).to_dict()["never_measured"]}
        assert set(found) == set(PEOPLE.columns) - set(KEY)
        for name, one in found.items():
            assert one["unique"] == PEOPLE[name].drop_nulls().is_unique().sum()
            assert one["with_key"] == PEOPLE.select(*KEY, name).is_unique().sum()
            assert one["by_key"] == PEOPLE.select(KEY).is_unique().sum()

    def test_the_verdict_says_who_was_vouched_for_when_the_release_was_made(self, tmp_path: Path) -> None:
        unveil.anonymize(PEOPLE, KEY, K, keep="DOB").write(tmp_path / "r.csv")
        verdict = unveil.check(tmp_path / "r.csv", {"k_anonymity": 3}, key=KEY)
        assert not verdict.passes, "a release cannot vouch for itself"
        assert "The maker of the release vouched for: DOB." in verdict.notes
