"""One answer to one question: every figure that two verbs share is the same, with the same project, release and link."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import unveil
from staff import staff
from unveil.cli import run
from unveil.models import KAnonymity
from unveil.stream import intersect_releases

POLICY = """
identity_attack = 1
homogeneity_attack = 1
linkage = 1
k_anonymity = 1
sample_uniqueness = 1
prosecutor_highest = 1
prosecutor_average = 1
records_at_risk = 1
distinct_l_diversity = 1
entropy_l_diversity = 1
t_closeness = 1
alpha = 1
certain_disclosure = 1
discrimination_rate = [{ at_most = 1 }, { sensitive = true, at_most = 1 }]
"""
PROJECT = """
[data]
path = "hr.csv"
{data}
[attributes.EmpID]
role = "identifier"
[attributes.Age]
role = "key"
kind = "continuous"
hierarchy = "age.csv"
[attributes.Sex]
role = "key"
hierarchy = "sex.csv"
[attributes.State]
role = "key"
hierarchy = "state.csv"
[attributes.Race]
role = "sensitive"
order = ["A", "B", "C", "D"]
[attributes.Race.partitions]
two = [["A", "B"], ["C", "D"]]
[attributes.Termination]
role = "sensitive"
{attributes}
[needs.use]
target = "Department"
given = ["Age", "Sex"]
[models]
k = 3
[policy]
k_anonymity = 1
"""
PROJECTS = {
    "hierarchies": {"data": "", "attributes": ""},
    "missing texts": {"data": 'missing = ["pay"]', "attributes": ""},
    "other roles": {
        "data": "",
        "attributes": '[attributes.Household]\nrole = "household"\n[attributes.Department]\nrole = "keep"',
    },
}


def grouped(values: list[str], *levels: Any) -> unveil.Hierarchy:
    return unveil.Hierarchy.from_levels(values, *([level(value) for value in values] for level in levels), ["*"] * len(values))


@pytest.fixture(params=PROJECTS)
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with everything in it, its data, a release of it and the release's correspondence."""
    monkeypatch.chdir(tmp_path)
    people = staff(220)
    people.write_csv("hr.csv")
    trees = {
        "Age": grouped([str(age) for age in sorted(set(people["Age"]))], lambda age: f"{int(age) // 10 * 10}s"),
        "Sex": grouped(["F", "M"]),
        "State": grouped(sorted(set(people["State"])), lambda state: "north" if state in ("MA", "CT", "VT") else "south"),
    }
    for name, tree in trees.items():
        tree.write(f"{name.lower()}.csv")
    Path("unveil.toml").write_text(PROJECT.format(**PROJECTS[request.param]))
    Path("policy.toml").write_text(POLICY)
    levels = {"Age": (1, 1), "Sex": (0, 0), "State": (1, 1)}
    options: dict[str, Any] = {"levels": levels, "suppression": 0.2, "seed": 1, "out": "r.csv", "link": "link.csv"}
    unveil.anonymize("hr.csv", trees, [KAnonymity(2)], **options)
    return tmp_path


@pytest.fixture
def asked(capsys: pytest.CaptureFixture[str]) -> Any:
    def answer(*words: str) -> dict[str, Any]:
        capsys.readouterr()
        assert run([*words, "--project", "unveil.toml", "--json"]) in (0, 1)
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    return answer


def rules(verdict: dict[str, Any]) -> dict[tuple[str, str], Any]:
    assert not [one for one in verdict["rules"] if one["reason"]]
    return {(one["rule"], one["of"]): one["value"] for one in verdict["rules"]}


@pytest.mark.usefixtures("folder")
def test_every_figure_that_two_verbs_share(asked: Any) -> None:
    pair = ("--original", "hr.csv", "--link", "link.csv")
    gate = rules(asked("check", "r.csv", "--policy", "policy.toml", *pair))
    attack = asked("attack", "hr.csv", "r.csv", "--link", "link.csv")
    privacy = [word for name in ("k", "prosecutor", "l", "t", "attack") for word in ("--privacy", name)]
    compared = asked("compare", "hr.csv", "r=r.csv", "--link", "r=link.csv", *privacy)["releases"]["r"]["figures"]
    measured = asked("measure", "r.csv")
    key = [word for name in ("Age", "Sex", "State") for word in ("--key", name)]

    ways = [way["linked"] for way in attack["linkage"].values() if isinstance(way, dict)]
    assert gate["linkage", "the key"] == max(ways) > 0
    assert gate["identity_attack", "the key"] == attack["global"]["risk"]["identity"]
    assert gate["homogeneity_attack", "the key"] == attack["global"]["risk"]["homogeneity"]
    assert compared["attack"] == pytest.approx(1 - attack["global"]["overall_information_loss"])

    assert gate["k_anonymity", "the key"] == measured["models"]["k_anonymity"]["value"] == compared["k"]
    prosecutor = measured["risk"]["prosecutor"]
    assert gate["prosecutor_highest", "the key"] == prosecutor["highest"]
    assert gate["prosecutor_average", "the key"] == prosecutor["average"] == compared["prosecutor"]
    assert gate["records_at_risk", "the key"] == prosecutor["records_above_threshold"]
    assert gate["sample_uniqueness", "the key"] == measured["uniqueness"]["sample"]["share"]
    assert gate["discrimination_rate", "the key -> record identity"] == asked("dr", "r.csv", *key, "--identity")["value"]
    for secret in ("Race", "Termination"):
        models = measured["models"]
        assert (
            gate["distinct_l_diversity", secret] == models["distinct_l_diversity"][secret]["value"] == compared[f"l of {secret}"]
        )
        assert gate["entropy_l_diversity", secret] == models["entropy_l_diversity"][secret]["value"]
        assert gate["t_closeness", secret] == models["t_closeness"][secret]["equal"]["value"] == compared[f"t of {secret}"]
        assert gate["alpha", secret] == models["alpha"][secret]["value"]
        rate = asked("dr", "r.csv", *key, "--sensitive", secret)["value"]
        assert gate["discrimination_rate", f"the key -> {secret}"] == rate
    assert compared["use"] == asked("utility", "r.csv")["needs"]["use"]["degree"]


@pytest.mark.usefixtures("folder")
def test_the_assessment_measures_what_measure_does(asked: Any) -> None:
    whole, alone = asked("assess", "hr.csv"), asked("measure", "hr.csv")
    for name in ("models", "risk", "uniqueness", "vulnerability"):
        assert figures(whole["measurement"][name]) == figures(alone[name])
    key = [word for name in ("Age", "Sex", "State") for word in ("--key", name)]
    assert whole["identity"]["dr"] == asked("dr", "hr.csv", *key, "--identity")["value"]


def figures(answer: Any) -> Any:
    """Return an answer without the classes that decide: reports mask them."""
    if isinstance(answer, dict):
        return {name: figures(value) for name, value in answer.items() if name not in ("worst_class", "class")}
    return answer


@pytest.mark.usefixtures("folder")
def test_the_library_gives_the_command_lines_figures(asked: Any) -> None:
    gate = rules(asked("check", "r.csv", "--policy", "policy.toml", "--original", "hr.csv", "--link", "link.csv"))
    project = unveil.Project.read("unveil.toml")
    original = unveil.Study(project)
    verdict = unveil.check("r.csv", "policy.toml", project=project, original=original, link="link.csv")
    assert {(one.rule.name, one.of): one.value for one in verdict.outcomes} == gate


DOORS = """
[data]
path = "p.csv"
separator = ","
missing = ["?"]
text = ["zip"]
[attributes]
zip = { role = "key", missing = ["-9"] }
grade = { role = "key", order = ["low", "mid", "high"] }
ill = { role = "sensitive", partitions.kinds = [["a", "b"], ["c"]] }
[models]
k = 3
[needs.study]
target = "ill"
given = ["grade"]
[policy]
k_anonymity = 4
linkage = 1.0
"""


@pytest.fixture
def coded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose data has codes, and a release of it in a form of its own."""
    monkeypatch.chdir(tmp_path)
    people = pl.DataFrame(
        {
            "zip": [f"0{at % 4}" if at % 10 else "-9" for at in range(120)],
            "grade": [("low", "mid", "high", "?")[at % 4] for at in range(120)],
            "ill": [("a", "b", "c")[at % 3] for at in range(120)],
        }
    )
    people.write_csv("p.csv")
    people.with_columns(grade=people["grade"].reverse()).write_csv("r.csv", separator=";")
    Path("t.toml").write_text(DOORS, encoding="utf-8")
    return Path("t.toml")


_OF_THE_DOOR = ("data", "files", "evidence", "date", "release", "small", "unmasked")


def plain(answer: Any) -> Any:
    """Return an answer without what says when and from which files it was made."""
    if isinstance(answer, dict):
        return {name: plain(one) for name, one in answer.items() if name not in _OF_THE_DOOR}
    return [plain(one) for one in answer] if isinstance(answer, list) else answer


CALLS: dict[str, tuple[list[str], Any]] = {
    "measure": (["measure"], unveil.measure),
    "measure, population": (["measure", "--population", "p.csv"], lambda data: unveil.measure(data, population="p.csv")),
    "utility": (["utility"], unveil.utility),
    "assess": (["assess"], lambda data: unveil.assess(data, redact=False)),
    "scan": (["scan"], unveil.scan),
    "dr": (["dr"], unveil.discrimination_rate),
    "table": (["table", "--by", "grade"], lambda data: unveil.table(data, "grade")),
    "identifiers": (["identifiers"], unveil.direct_identifiers),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_project_says_the_same_to_the_library_and_the_command_line(
    name: str, coded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words, call = CALLS[name]
    unmasked = [] if name == "table" else ["--unmasked"]
    assert run([words[0], "p.csv", *words[1:], "--project", str(coded), *unmasked, "--json"]) in {0, 1}
    expected = plain(json.loads(capsys.readouterr().out))
    beside = unveil.Study("p.csv", project=coded), unveil.Study(pl.read_csv("p.csv", infer_schema=False), project=coded)
    for data in (coded, unveil.Study.of(coded), *beside):
        assert plain(json.loads(json.dumps(call(data).to_dict()))) == expected


PAIRED: dict[str, tuple[list[str], Any]] = {
    "attack": (["attack", "p.csv", "r.csv"], lambda data, release: unveil.attack(data, release, same_order=True)),
    "attack, control": (
        ["attack", "p.csv", "r.csv", "--control", "r.csv", "--external", "r.csv"],
        lambda data, release: unveil.attack(data, release, same_order=True, control="r.csv", external="r.csv"),
    ),
    "attack, earlier": (
        ["attack", "p.csv", "r.csv", "--earlier", "r.csv"],
        lambda data, release: intersect_releases(data, "r.csv", release, ["zip", "grade"], "ill"),
    ),
    "loss": (["loss", "p.csv", "r.csv"], lambda data, release: unveil.loss(data, release, same_order=True)),
    "compare": (
        ["compare", "p.csv", "r=r.csv"],
        lambda data, release: unveil.compare({"original": data, "r": release}, same_order=True),
    ),
    "check": (
        ["check", "r.csv", "--original", "p.csv"],
        lambda data, release: unveil.check(release, project=getattr(data, "project", data), original=data, same_order=True),
    ),
}


@pytest.mark.parametrize("name", PAIRED)
def test_a_project_says_the_same_about_a_release(name: str, coded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words, call = PAIRED[name]
    shown = [] if name in ("check", "loss") else ["--unmasked"]
    assert run([*words, "--project", str(coded), "--same-order", *shown, "--json"]) in {0, 1}
    expected = plain(json.loads(capsys.readouterr().out))
    for data in (coded, unveil.Study.of(coded), unveil.Study("p.csv", project=coded)):
        for release in ("r.csv", unveil.Study("r.csv", project=coded, partial=True)):
            assert plain(json.loads(json.dumps(call(data, release).to_dict()))) == expected


def test_a_watch_reads_a_stream_as_the_project_says(coded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    says = DOORS.replace("linkage = 1.0", "").replace('missing = ["?"]', 'missing = ["?"]\nnulls = "drop"')
    coded.write_text(says.replace("[models]", '[attributes.who]\nrole = "person"\n[models]'), encoding="utf-8")
    rows = "".join(f"{at // 4},{'low' if at else '?'},a,{at % 2}\n" for at in range(20))
    Path("s.csv").write_text(f"who,grade,ill,zip\n{rows}", encoding="utf-8")
    words = ["watch", "s.csv", "--key", "grade", "--window", "all", "--no-follow", "--json"]
    k = []
    for more in (["--project", str(coded)], ["--person", "who", "--missing", "?", "--nulls", "drop"], []):
        run([*words, *more])
        k.append(json.loads(capsys.readouterr().out.splitlines()[-1])["k"])
    assert k == [5, 5, 1]  # five people; without the project, the text for a null is a value that is unique
