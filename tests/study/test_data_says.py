"""What a study or project says about its data holds in every call that takes it as data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import unveil
from unveil import mechanisms
from unveil.errors import ArgumentError, ColumnNotFoundError, NullsError, ProjectError, UnveilError
from unveil.models import DistinctLDiversity, KAnonymity, KMap

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
    assert unveil.loss(unveil.Study(PEOPLE, key=keys), release, same_order=True).classes.to_dict() == expected
    assert unveil.loss(unveil.Pair(PEOPLE, release, key=keys, same_order=True)).classes.to_dict() == expected
    kept, tree = PEOPLE["age"].is_not_null(), unveil.Hierarchy.read(str(project.with_name("age.csv")), column="age")
    whole = PEOPLE.filter(kept).drop("name")
    plain = unveil.loss(whole, release.filter(kept), key=keys, hierarchies={"age": tree}, same_order=True)
    found = unveil.loss(project, release, same_order=True)
    assert (found.classes.to_dict(), found.suppressed) == (plain.classes.to_dict(), plain.suppressed)
    assert (found.made.nulls, found.made.records, found.made.dropped) == ("drop", 56, 4)


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


# One project, through every door ---------------------------------------------------------------------------------------

CODED = pl.DataFrame(
    {
        "zip": [f"0{at % 4}" if at % 10 else "-9" for at in range(120)],
        "grade": [("low", "mid", "high", "?")[at % 4] for at in range(120)],
        "ill": [("a", "b", "c")[at % 3] for at in range(120)],
        "n": [at % 2 + 1 for at in range(120)],
    }
)
SAYS = """
[data]
path = "coded.csv"
missing = ["?"]
text = ["zip"]
[attributes]
zip = { role = "key", missing = ["-9"] }
grade = { role = "key", order = ["low", "mid", "high"] }
ill = { role = "sensitive", partitions.kinds = [["a", "b"], ["c"]] }
n.role = "weight"
[models]
k = 3
[needs.study]
target = "ill"
given = ["grade"]
[policy]
k_anonymity = 4
"""


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with codes, an order, a partition, models, needs and a policy; its data, and a release in another form."""
    monkeypatch.chdir(tmp_path)
    CODED.write_csv("coded.csv")
    CODED.write_csv("release.csv", separator=";")
    Path("unveil.toml").write_text(SAYS, encoding="utf-8")
    return Path("unveil.toml")


def doors(said: Path) -> list[Any]:
    """The same data, as a project is given with it."""
    return [said, unveil.Study.of(said), unveil.Study("coded.csv", project=said), unveil.Study("release.csv", project=said),
            unveil.Study(CODED, project=said)]  # fmt: skip


def test_data_beside_a_project_is_read_as_the_project_says(said: Path) -> None:
    for study in map(unveil.Study, doors(said)):
        assert set(study.collected(["zip"])["zip"]) == {None, "00", "01", "02", "03"}
        assert None in set(study.collected(["grade"])["grade"])
    expected = unveil.check(said).outcomes[0].value
    for release in ("coded.csv", "release.csv", CODED, unveil.source("coded.csv", missing=["?", "-9"], text=["zip"])):
        assert unveil.check(release, project=said).outcomes[0].value == expected


def test_a_study_takes_a_project_later(said: Path) -> None:
    study = unveil.Study(CODED, key="grade").changed(project=str(said))
    assert (study.key, study.sensitive, study.weights) == (("grade",), ("ill",), "n")
    assert study.project == unveil.Project.read(said)


@pytest.mark.parametrize("release", ["release.csv", "frame"])
def test_a_release_is_read_as_the_project_of_its_original_says(release: str, said: Path) -> None:
    other: Any = CODED if release == "frame" else release
    plain: dict[str, Any] = {"same_order": True}
    assert unveil.Pair(said, other, **plain).release.collected(["zip"])["zip"].null_count() == 12
    attacks = [unveil.attack(one, other, **plain) for one in (said, unveil.Study.of(said))]
    attacks += [unveil.attack(said, said, **plain), unveil.attack(unveil.Pair(said, other, **plain))]
    assert len({str(one.linkage.to_dict()) for one in attacks}) == 1
    assert len({one.overall["overall_information_loss"] for one in attacks}) == 1
    lost = unveil.loss(said, other, **plain)
    assert lost.categorical.to_dict() == unveil.loss(said, said, **plain).categorical.to_dict()
    assert unveil.tasks(said, other, unveil.Task("ill", "ill", "zip"), **plain).failed == []
    compared = unveil.compare({"original": said, "release": other}, losses="suppressed", **plain)
    assert compared.trade_off["release"].figures["suppressed"] == 0.0
    assert compared.attributes["release"]["zip"].suppressed == 0.0
    assert compared.attributes["release"]["zip"].values_after == compared.attributes["release"]["zip"].values_before == 4


def test_a_separator_is_that_of_the_projects_own_file(said: Path) -> None:
    said.write_text(SAYS.replace('missing = ["?"]', 'missing = ["?"]\nseparator = ","'), encoding="utf-8")
    for data in ("coded.csv", "release.csv"):
        assert unveil.check(data, project=said).made.records == 120
        assert unveil.Pair(said, data, same_order=True).release.names == unveil.Study.of(said).names


def test_every_function_with_a_project_takes_its_file(said: Path) -> None:
    for project in (said, str(said), unveil.Project.read(said)):
        assert unveil.assess("coded.csv", project=project).measurement.met is True
        assert unveil.check("coded.csv", project=project).passes is not None
        assert unveil.Study("coded.csv", project=project).key == ("zip", "grade")


def test_a_comparison_has_the_needs_and_the_policy_of_its_project(said: Path) -> None:
    named = {"needs": unveil.Need("study", "ill", "grade"), "policy": {"k_anonymity": 4}}
    for original in doors(said):
        for options in ({}, named):
            made = unveil.compare({"original": original, "release": "release.csv"}, **options).trade_off  # type: ignore[call-overload]
            assert {axis.name: axis.required for axis in made.axes if axis.name in ("k", "study")} == {"k": 4.0, "study": None}
        drawn = unveil.trade_off(original, {"release": "release.csv"}, privacy="k")
        assert [(axis.name, axis.required) for axis in drawn.axes] == [("k", 4.0), ("study", None)]
    own = unveil.trade_off(
        said, {"release": "release.csv"}, privacy="k", needs=unveil.Need("own", "ill", "zip"), policy={"k_anonymity": 9}
    )
    assert [(axis.name, axis.required) for axis in own.axes] == [("k", 9.0), ("own", None)]


def test_two_projects_are_an_original_and_its_release(said: Path) -> None:
    other = said.with_name("other.toml")
    other.write_text(SAYS.replace("coded.csv", "release.csv"), encoding="utf-8")
    expected = unveil.attack(unveil.Pair(said, other)).overall["risk"]
    assert unveil.attack(said, other).overall["risk"] == expected
    assert unveil.attack(said, unveil.Study.of(other)).overall["risk"] == expected
    assert unveil.loss(said, other, same_order=True).made.records == 120
    assert unveil.compare({"original": said, "release": other}).front == ("release",)
    assert unveil.check(said, {"k_anonymity": 2}, project=None, original=other, same_order=True).made.records == 120
    rules = {"linkage": 1.0}
    assert unveil.check("release.csv", rules, project=said, original=said, same_order=True).outcomes[0].value is not None


def test_measures_and_fronts_hold_the_models_and_needs_of_a_project(said: Path) -> None:
    tree = unveil.Hierarchy.from_levels(["low", "mid", "high", None], ["*"] * 4)
    for data in doors(said):
        assert unveil.measure(data).met is True
        front = unveil.anonymize_front(data, {"grade": tree}, (), sensitive="ill", keep_order=True)
        assert front.settings["needs"] == ["Need('study': ill given grade)"]
        assert front.settings["models"] == ["k_anonymity >= 3"]
    assert unveil.measure(CODED, ["zip", "grade"], "ill").met is None


def test_an_intruder_reads_values_by_the_partitions_of_a_project(said: Path) -> None:
    for original in doors(said):
        made = unveil.attack(original, "release.csv", same_order=True)
        assert list(made.similarity) == ["kinds"]
    assert not unveil.attack(said, "release.csv", same_order=True, partitions={}).similarity


def test_a_loss_heeds_the_orders_of_a_project(said: Path) -> None:
    moved = CODED.with_columns(grade=CODED["grade"].reverse())
    orders = {"grade": ["low", "mid", "high"]}
    named = unveil.loss(unveil.Study.of(said), moved, same_order=True, orders=orders).categorical["attributes"]["grade"][
        "ordinal"
    ]
    assert named is not None
    for original in doors(said):
        assert unveil.loss(original, moved, same_order=True).categorical["attributes"]["grade"]["ordinal"] == named
    assert unveil.loss(unveil.Study(CODED, orders=orders), CODED, same_order=True).categorical is not None


def test_a_table_has_the_weights_of_a_project(said: Path) -> None:
    assert {unveil.table(data, "ill").made.weights for data in doors(said)} == {"n"}
    assert {unveil.table(data, "ill", value="n").made.weights for data in doors(said)} == {None}  # named as the value


def test_populations_and_controls_are_read_as_the_project_says(said: Path) -> None:
    said.write_text(SAYS.replace('n.role = "weight"', ""), encoding="utf-8")
    risks = [unveil.measure(data, population="release.csv").risk["journalist"].to_dict() for data in doors(said)]
    assert all(one == risks[0] for one in risks)
    attacked = unveil.attack(said, "release.csv", external="release.csv", same_order=True)
    assert attacked.identity.to_dict()["grey_box"]["common"] == ["zip", "grade"]


def test_calls_that_go_by_values_refuse_a_study_of_blocks() -> None:
    table = pl.DataFrame({"sex": ["F"] * 8 + ["M"] * 8, "ill": ["flu", "cold", "hiv", "aids"] * 4})
    study = unveil.Study(table, key="sex", sensitive="ill", partitions={"ill": [["flu", "cold"], ["hiv", "aids"]]})
    calls: list[Callable[[], Any]] = [
        lambda: unveil.anonymize(study, "sex", [DistinctLDiversity("ill", 3)]),
        lambda: unveil.check(study, {"distinct_l_diversity": 3}),
        lambda: unveil.utility(study, unveil.Need("n", target="ill", given="sex")),
        lambda: unveil.table(study, ["sex", "ill"]),
    ]
    for call in calls:
        with pytest.raises(ArgumentError, match="reads ill by semantic partitions"):
            call()
    assert unveil.measure(study, models=[DistinctLDiversity("ill", 3)]).met is False
    assert unveil.check(study.changed(partitions={}), {"distinct_l_diversity": 3}).outcomes[0].value == 4


def test_a_rate_says_how_it_treated_nulls() -> None:
    table = pl.DataFrame({"sex": ["F", None, "M", "M"], "ill": ["a", "b", "a", "b"]})
    study = unveil.Study(table, key="sex", sensitive="ill", nulls="wildcard")
    assert unveil.discrimination_rate(study).made.nulls == "category"
    assert unveil.scan(study).made.nulls == "category"


@pytest.mark.parametrize(
    "call",
    [
        unveil.discrimination_rate,
        unveil.scan,
        unveil.assess,
        lambda data, **said: unveil.attack(data, data, same_order=True, **said),
    ],
    ids=["discrimination_rate", "scan", "assess", "attack"],
)
def test_a_null_matches_anything_only_in_calls_that_can_compare_it_so(call: Callable[..., Any]) -> None:
    with pytest.raises(ArgumentError, match="nulls 'wildcard' is unknown"):
        call(PEOPLE, key=["age", "sex"], sensitive="ill", nulls="wildcard")


def test_a_project_whose_data_is_a_project_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "unveil.toml"
    place.write_text('[data]\npath = "unveil.toml"\n', encoding="utf-8")
    with pytest.raises(ProjectError, match=r"data\.path names a project"):
        unveil.measure(place, key="age")
