"""`unveil measure` and `unveil identifiers` as their users meet them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import unveil
from unveil.cli import run

COMMON = ("measure", "adult", "--key", "sex", "--key", "race", "--sensitive", "occupation")


def answer(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> Any:
    assert run([*arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_json_is_the_calls_dictionary(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, *COMMON)
    assert found == unveil.measure("adult", ["sex", "race"], "occupation").to_dict()
    assert {"records", "classes", "models", "risk", "uniqueness", "vulnerability"} <= found.keys()
    assert found["models"]["k_anonymity"]["worst_class"]["size"] == 87
    assert set(found["models"]["recursive_l_diversity"]["occupation"]) == {str(length) for length in range(2, 11)}
    assert found["models"]["delta_disclosure"]["occupation"]["value"] == "inf"


@pytest.mark.parametrize(
    ("requirement", "met"),
    [
        (("--k", "87"), True),
        (("--k", "88"), False),
        (("--p", "10"), True),
        (("--l", "distinct:10:occupation"), True),
        (("--l", "distinct:11:occupation"), False),
        (("--l", "entropy:7.5:occupation"), True),
        (("--l", "entropy:7.6"), False),
        (("--l", "recursive:1:4:occupation"), True),
        (("--l", "recursive:1:5:occupation"), False),
        (("--t", "0.33:equal:occupation"), True),
        (("--t", "0.3:occupation"), False),
        (("--t", "0.14:js"), True),
        (("--alpha", "0.28"), True),
        (("--beta", "18"), True),
        (("--beta", "enhanced:18:occupation"), False),
        (("--delta", "5"), False),
        (("--average-risk", "0.001"), True),
        (("--k", "5", "--t", "0.1"), False),
    ],
)
def test_requirements_decide_the_exit_code(requirement: tuple[str, ...], met: bool, capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, *COMMON, *requirement, code=0 if met else 1)
    assert found["met"] is met


def test_hierarchy_order_population_and_reference_come_from_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "data.csv").write_text("a,x\np,low\np,mid\nq,high\nq,high\n", encoding="utf-8")
    (tmp_path / "population.csv").write_text("a,x\np,low\np,mid\np,mid\nq,high\nq,high\n", encoding="utf-8")
    (tmp_path / "x.csv").write_text("low;little\nmid;little\nhigh;much\n", encoding="utf-8")
    found = answer(
        capsys, "measure", str(tmp_path / "data.csv"), "--key", "a", "--sensitive", "x", "--hierarchy", f"x={tmp_path / 'x.csv'}",
        "--order", "x=low,mid,high", "--population", str(tmp_path / "population.csv"),
        "--reference", str(tmp_path / "population.csv"),
        "--t", "0.9:hierarchical:x", "--t", "0.9:rank:x", "--k-map", "2", "--presence", "0.1:1",
    )  # fmt: skip
    assert found["met"] is True
    assert set(found["models"]["t_closeness"]["x"]) == {"equal", "rank", "hierarchical", "variational", "kl", "js"}
    assert found["models"]["k_map"]["value"] == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--l", "entropi:3"), "distinct:L, entropy:L, grassberger:L or recursive:C:L"),
        (("--l", "distinct:2.5"), "must be whole"),
        (("--t", "1.5"), "between 0 and 1"),
        (("--t", "0.2:hierarchical"), "needs a hierarchy"),
        (("--t", "0.2:rank"), "have no order"),
        (("--t", "x"), "is not a number"),
        (("--t", "0.2:equal:occupatoin"), "did you mean 'occupation'"),
        (("--l", "recursive:3:1"), "at least 2"),
        (("--k-map", "3"), "population"),
        (("--presence", "0.9:0.1"), "0.9 is above 0.1"),
        (("--hierarchy", "occupation=nowhere.csv"), "nowhere.csv"),
        (("--hierarchy", "occupation"), "COLUMN=FILE"),
        (("--sampling-fraction", "2"), "sampling fraction"),
        (("--population", "nowhere.csv"), "nowhere.csv"),
        (("--nulls", "maybe"), "'maybe' is unknown"),
    ],
)
def test_bad_input_gets_one_clear_line(arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*COMMON, *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert words in captured.err


def test_a_project_names_roles_orders_and_hierarchies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "data.csv").write_text("a,x,y\np,low,1\np,mid,2\nq,high,1\nq,high,2\n", encoding="utf-8")
    (tmp_path / "x.csv").write_text("low;little\nmid;little\nhigh;much\n", encoding="utf-8")
    (tmp_path / "unveil.toml").write_text(
        '[data]\npath = "data.csv"\n[attributes.a]\nrole = "key"\n'
        '[attributes.x]\nrole = "sensitive"\norder = ["low", "mid", "high"]\nhierarchy = "x.csv"\n'
        '[attributes.y]\nrole = "sensitive"\n',
        encoding="utf-8",
    )
    found = answer(capsys, "measure", "--project", str(tmp_path / "unveil.toml"))
    assert {"rank", "hierarchical"} <= found["models"]["t_closeness"]["x"].keys()
    assert set(found["models"]["distinct_l_diversity"]) == {"x", "y", "x + y"}


def test_identifiers_are_listed_with_their_evidence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = "".join(f"{at},person{at}@example.com,{20 + at % 40}\n" for at in range(60))
    (tmp_path / "people.csv").write_text(f"number,mail,age\n{rows}", encoding="utf-8")
    found = answer(capsys, "identifiers", str(tmp_path / "people.csv"))
    by_column = {finding["column"]: finding for finding in found["findings"]}
    assert by_column["mail"]["category"] == "email"
    assert "age" not in by_column
    assert "person1@" not in json.dumps(found)
    assert run(["identifiers", str(tmp_path / "people.csv")]) == 0
    assert "email" in capsys.readouterr().out


def test_the_models_of_a_project_are_required(tmp_path: Path) -> None:
    unveil.datasets.adult().head(200).write_csv(tmp_path / "people.csv")
    project = tmp_path / "unveil.toml"
    roles = '[data]\npath = "people.csv"\n[attributes.age]\nrole = "key"\n[attributes.sex]\nrole = "key"\n'
    project.write_text(roles + "[models]\nk = 1\n")
    assert run(["measure", "--project", str(project)]) == 0
    project.write_text(roles + "[models]\nk = 5\n")
    assert run(["measure", "--project", str(project)]) == 1
