"""What a study or project says about its data holds in every call that takes it as data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import unveil
from unveil import mechanisms
from unveil.errors import ArgumentError, ColumnNotFoundError, NullsError, UnveilError
from unveil.models import KAnonymity, KMap

PEOPLE = pl.DataFrame(
    {
        "name": [f"Person {at}" for at in range(60)],
        "who": [at // 3 for at in range(60)],
        "age": [20 + at % 6 if at % 15 else None for at in range(60)],
        "sex": ["f" if at % 2 else "m" for at in range(60)],
        "ill": ["flu" if at % 3 else "cold" for at in range(60)],
        "note": [f"note {at % 20}" for at in range(60)],
    }
)
LEVELS = "\n".join([*(f"{age};{'low' if age < 23 else 'high'};*" for age in range(20, 26)), ";*;*"])


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project beside its data: roles, a hierarchy, a null policy and a policy."""
    PEOPLE.write_csv(tmp_path / "people.csv")
    (tmp_path / "age.csv").write_text(LEVELS, encoding="utf-8")
    (tmp_path / "unveil.toml").write_text(
        """
        [data]
        path = "people.csv"
        nulls = "drop"
        only_roles = true
        [attributes]
        name.role = "identifier"
        age = { role = "key", hierarchy = "age.csv" }
        sex.role = "key"
        ill.role = "sensitive"
        [policy]
        k_anonymity = 2
        """,
        encoding="utf-8",
    )
    return tmp_path / "unveil.toml"


PROTECTIONS: dict[str, Callable[[Any], Any]] = {
    "anonymize": lambda data: unveil.anonymize(data, ["age", "sex"], [KAnonymity(2)]),
    "mondrian": lambda data: unveil.mondrian(data, ["age", "sex"], [KAnonymity(2)]),
    "recode_locally": lambda data: unveil.recode_locally(data, ["age", "sex"], [KAnonymity(2)]),
    "suppress_locally": lambda data: unveil.suppress_locally(data, ["age", "sex"], k=2),
    "pram": lambda data: mechanisms.pram(data, ["sex"], retention=0.8),
    "sample": lambda data: mechanisms.sample(data, share=0.5),
    "protect": lambda data: unveil.protect(data, [unveil.Step("pram", ["sex"], {"retention": 0.8})]),
}


@pytest.mark.parametrize("name", PROTECTIONS)
def test_a_project_given_as_data_keeps_its_roles(name: str, project: Path) -> None:
    by_file, by_study = (PROTECTIONS[name](data).data.columns for data in (str(project), unveil.Study.of(project)))
    assert by_file == by_study == ["age", "sex", "ill"]


def test_a_study_says_how_nulls_are_treated_which_hierarchy_holds_and_what_the_population_is(project: Path) -> None:
    for data in (project, unveil.Study.of(project)):
        release = unveil.anonymize(data, ["age"], [KAnonymity(15)])
        assert release.data.height == 56
        assert set(release.data["age"]) == {"low", "high"}
        assert unveil.anonymize(data, ["age", "sex"], [KAnonymity(2)], nulls="category").data.height == 60
        assert unveil.mondrian(data, ["age", "sex"], [KAnonymity(2)]).data.height == 56
        assert unveil.count(data, ["age"]).records == unveil.table(data, ["age"]).made.records == 56
        with pytest.raises(ArgumentError, match="nulls='drop'"):
            unveil.approximate_rate(data, "age", max_distinct=5)
    with pytest.raises(NullsError):
        unveil.anonymize(unveil.Study(PEOPLE, nulls="error"), ["age", "sex"], [KAnonymity(2)])
    known = unveil.Study(PEOPLE.drop_nulls(), population=PEOPLE)
    assert unveil.anonymize(known, ["sex"], [KMap(3)]).data.height == 56


def test_a_study_says_what_is_counted_together() -> None:
    study = unveil.Study(PEOPLE, partitions={"ill": [["flu", "cold"]]})
    assert len(unveil.count(study, ["ill"])) == 1
    assert len(unveil.count(study, ["ill"], partitions={})) == 2


def test_differential_privacy_protects_the_persons_of_a_study(project: Path) -> None:
    project.write_text(
        project.read_text(encoding="utf-8").replace("sex.role", 'who.role = "person"\n        sex.role'), encoding="utf-8"
    )
    for data in (unveil.Study(PEOPLE, person="who"), project):
        answer = mechanisms.dp_count(data, epsilon=20.0).to_dict()
        assert (answer["settings"]["protects"], answer["settings"]["person"]) == ("person", "who")
        assert 15 < answer["value"] < 25  # 20 people of three records each
    assert mechanisms.dp_count(PEOPLE, epsilon=1.0).to_dict()["settings"]["protects"] == "record"


def test_a_gate_has_the_roles_of_a_study(tmp_path: Path) -> None:
    people = unveil.Study(PEOPLE.drop_nulls(), key=["age", "sex"], sensitive="ill")
    gate = unveil.Gate(people, ledger=tmp_path / "gate.db")
    assert (gate.key, gate.sensitive) == (("age", "sex"), ("ill",))
    gate.close()
    named = unveil.Study(PEOPLE.drop_nulls(), sensitive="ill", identifiers="name", person="who")
    gate = unveil.Gate(named, ledger=tmp_path / "other.db")
    assert gate.key == ("age", "sex", "note")
    gate.close()


def test_losses_are_those_of_the_key_of_a_pair_a_study_or_a_project(project: Path) -> None:
    release = PEOPLE.with_columns(sex=pl.lit("*"))
    keys = ["age", "sex"]
    expected = unveil.loss(PEOPLE, release, key=keys, same_order=True).classes.to_dict()
    for original in (unveil.Study(PEOPLE, key=keys), project):
        assert unveil.loss(original, release, same_order=True).classes.to_dict() == expected
    assert unveil.loss(unveil.Pair(PEOPLE, release, key=keys, same_order=True)).classes.to_dict() == expected


def test_a_project_given_as_a_release_has_its_policy(project: Path) -> None:
    expected = unveil.check(project.with_name("people.csv"), project)
    for verdict in (unveil.check(project), unveil.check(unveil.Study.of(project)), unveil.check(PEOPLE, project=project)):
        assert [outcome.rule.name for outcome in verdict.outcomes] == [outcome.rule.name for outcome in expected.outcomes]
        assert verdict.made.records == expected.made.records == 56
    assert unveil.check(unveil.Study(PEOPLE), project=project).made.records == 56
    with pytest.raises(ArgumentError, match="no policy is named"):
        unveil.check(unveil.Study(PEOPLE, key="age"))


def test_a_column_that_a_study_names_as_an_identifier_keeps_a_release_from_passing() -> None:
    people = pl.DataFrame({"label": ["a", "b"] * 10, "age": [1, 2] * 10})  # nothing in the values says that labels name people
    rules = {"k_anonymity": 2}
    assert unveil.check(people, rules, key="age").passes
    verdict = unveil.check(unveil.Study(people, key="age", identifiers="label"), rules)
    assert not verdict.passes
    assert verdict.outcomes[-1].detail == "label (named as an identifier)"
    assert unveil.check(unveil.Study(people, key="age", identifiers="label"), rules, keep="label").passes


@pytest.mark.parametrize(
    "arguments",
    [
        {"partitions": {"nobody": [["a"]]}},
        {"orders": {"nobody": [1]}},
        {"identifiers": "nobody"},
        {"keep": "nobody"},
        {"key": "age", "identifiers": "age"},
        {"key": "age", "weights": "age"},
    ],
)
def test_what_a_study_cannot_mean_is_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises((ArgumentError, ColumnNotFoundError)):
        unveil.Study(PEOPLE, **arguments)


def test_only_what_a_study_has_can_be_changed() -> None:
    with pytest.raises(ArgumentError, match=r"senstive.*did you mean 'sensitive'"):
        unveil.Study(PEOPLE).changed(senstive="ill")


def test_a_study_of_a_study_keeps_what_it_says(project: Path) -> None:
    first = unveil.Study(PEOPLE, key="age", sensitive="ill", nulls="drop")
    again = unveil.Study(first, sensitive="sex")
    assert (again.key, again.sensitive, again.nulls) == (("age",), ("sex",), "drop")
    planned = unveil.Study(unveil.Study(PEOPLE, key="sex"), project=project)
    assert (planned.key, planned.sensitive, planned.nulls) == (("sex",), ("ill",), "drop")


def test_a_release_is_data() -> None:
    release = unveil.anonymize(PEOPLE, ["age", "sex"], [KAnonymity(2)], keep_order=True)
    assert unveil.measure(release, ["age", "sex"])["k_anonymity"].value != 1
    assert unveil.check(release, {"k_anonymity": 2}, key=["age", "sex"], sensitive="ill").outcomes[0].met
    assert unveil.loss(PEOPLE, release, same_order=True).made.records == 60
    with pytest.raises(UnveilError):
        unveil.measure(release, "name")


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"weights": "who"}, "without weights"),
        ({"partitions": {"ill": [["flu", "cold"]]}}, "without partitions, but 'ill' has one"),
    ],
)
def test_a_rate_is_not_estimated_from_a_study_that_means_more(said: dict[str, Any], message: str) -> None:
    study = unveil.Study(PEOPLE.drop_nulls(), ["age"], "ill", **said)
    with pytest.raises(ArgumentError, match=message):
        unveil.approximate_rate(study, "age", "ill", max_distinct=5)
    assert unveil.approximate_rate(unveil.Study(PEOPLE), "age", "sex", max_distinct=5).value < 1


def test_loss_heeds_the_orders_of_a_study() -> None:
    study = unveil.Study(PEOPLE, orders={"sex": ["m", "f"], "ill": ["cold", "flu"]})
    release = PEOPLE.drop("ill").with_columns(sex=pl.lit("f"))
    by_study = unveil.loss(study, release, same_order=True)
    assert by_study.categorical == unveil.loss(PEOPLE, release, same_order=True, orders={"sex": ["m", "f"]}).categorical
    assert by_study.categorical != unveil.loss(PEOPLE, release, same_order=True).categorical
