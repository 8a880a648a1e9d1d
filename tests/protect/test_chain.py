"""Protections in steps, from Python, a project file and the command line."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import unveil
from unveil import Step
from unveil.cli import run
from unveil.errors import ArgumentError
from unveil.fitting import fits, hints_of
from unveil.protect.steps import check_step, mechanism_names, run_step, step_function

ADULT = unveil.datasets.adult().head(400)


def test_a_chain_is_its_steps_one_after_the_other() -> None:
    steps = [
        Step("sample", (), {"size": 300, "seed": 4}),
        Step("microaggregate", ["age", "hours-per-week"], {"k": 4}),
        Step("pram", "race", {"retention": 0.7, "seed": 2}),
    ]
    made = unveil.protect(ADULT, steps, keep_order=True)
    drawn = unveil.mechanisms.sample(ADULT, size=300, seed=4, keep_order=True)
    grouped = unveil.mechanisms.microaggregate(drawn.data, ["age", "hours-per-week"], k=4, keep_order=True)
    last = unveil.mechanisms.pram(grouped.data, "race", retention=0.7, seed=2, keep_order=True)
    assert made.data.equals(last.data)
    assert made.origin.tolist() == drawn.origin.tolist()
    assert [step["mechanism"] for step in made.to_dict()["steps"]] == ["sampling", "microaggregation", "pram"]


def test_the_origin_goes_through_every_step() -> None:
    numbered = ADULT.with_columns(row=pl.int_range(400))
    steps = [Step("sample", (), {"share": 0.5, "seed": 1}), Step("generalize", ["age", "sex"], {"k": 3, "seed": 9})]
    made = unveil.protect(unveil.Study(numbered, keep="row"), steps)
    assert made.data["row"].to_list() == made.origin.tolist()
    assert unveil.measure(made.data, ["age", "sex"]).models["k_anonymity",].value >= 3  # type: ignore[operator]


def test_a_chain_of_a_project_runs_and_its_result_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ADULT.write_csv(tmp_path / "people.csv")
    (tmp_path / "unveil.toml").write_text(
        """
[data]
path = "people.csv"
[attributes.age]
role = "key"
[attributes.sex]
role = "key"
[attributes.occupation]
role = "sensitive"
[attributes.fnlwgt]
role = "identifier"
[protect.coding]
mechanism = "top_bottom_code"
attributes = ["age"]
top = 60
[protect.generalising]
mechanism = "generalize"
attributes = ["age", "sex"]
k = 5
suppression = 0.05
[protect.swapping]
mechanism = "rank_swap"
attributes = ["hours-per-week"]
window = 5.0
"""
    )
    release, link = str(tmp_path / "release.csv"), str(tmp_path / "link.csv")
    assert run(["anonymize", "--project", str(tmp_path / "unveil.toml"), "--out", release, "--link", link, "--json"]) == 0
    steps = json.loads(capsys.readouterr().out)["steps"]
    assert len(steps) == 3
    assert "fnlwgt" not in pl.read_csv(release).columns
    assert steps[1]["models"]["k_anonymity"]["met"]
    keys = ["--key", "age", "--key", "sex"]
    assert run(["measure", release, *keys, "--sensitive", "occupation", "--k", "5"]) == 0
    assert run(["attack", str(tmp_path / "people.csv"), release, *keys, "--link", link, "--no-linkage", "--json"]) == 0
    assert run(["loss", str(tmp_path / "people.csv"), release, "--link", link, "--json"]) == 0
    read = unveil.Project.read(tmp_path / "unveil.toml")
    (tmp_path / "again.toml").write_text(read.to_toml())
    assert unveil.Project.read(tmp_path / "again.toml").protect == read.protect


def test_a_project_names_the_models_that_anonymize_enforces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ADULT.write_csv(tmp_path / "people.csv")
    project = tmp_path / "unveil.toml"
    project.write_text(
        '[data]\npath = "people.csv"\n[attributes.age]\nrole = "key"\n[attributes.sex]\nrole = "key"\n'
        '[attributes.occupation]\nrole = "sensitive"\n[models]\nk = 4\nl = ["distinct:3:occupation"]\n'
    )
    assert run(["anonymize", "--project", str(project), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["models"]["k_anonymity"]["value"] >= 4
    assert found["models"]["distinct_l_diversity"]["occupation"]["value"] >= 3


@pytest.mark.parametrize(
    ("words", "columns"),
    [
        (["--mechanism", "microaggregate", "--attribute", "age", "--set", "k=5"], {"age"}),
        (["--mechanism", "add_noise", "--attribute", "age", "--set", "method=correlated", "--set", "amount=0.2"], {"age"}),
        (["--mechanism", "swap", "--attribute", "race", "--set", "share=0.5"], {"race"}),
        (["--mechanism", "round_values", "--attribute", "hours-per-week", "--set", "base=10"], {"hours-per-week"}),
        (["--mechanism", "top_bottom_code", "--attribute", "age", "--set", "top=40"], {"age"}),
    ],
)
def test_a_mechanism_from_the_command_line(tmp_path: Path, words: list[str], columns: set[str]) -> None:
    ADULT.write_parquet(tmp_path / "people.parquet")
    out = tmp_path / "release.parquet"
    place, link = str(tmp_path / "people.parquet"), tmp_path / "link.csv"
    assert run(["anonymize", place, *words, "--keep", "fnlwgt", "--keep-order", "--seed", "1", "--out", str(out)]) == 0
    release = pl.read_parquet(out)
    assert release.height == 400
    assert {name for name in ADULT.columns if not release[name].equals(ADULT[name])} == columns
    assert run(["anonymize", place, *words, "--keep", "fnlwgt", "--seed", "1", "--out", str(out), "--link", str(link)]) == 0
    shuffled, rows = pl.read_parquet(out), pl.read_csv(link).sort("release")["original"] - 1
    assert shuffled.equals(release[rows.to_list()])
    assert not shuffled.equals(release)


def test_anatomy_writes_two_files(tmp_path: Path) -> None:
    out = tmp_path / "people.csv"
    words = ["--mechanism", "anatomize", "--key", "age", "--key", "sex", "--sensitive", "occupation", "--set", "l=3"]
    assert run(["anonymize", "adult", *words, "--out", str(out)]) == 0
    quasi, sensitive = pl.read_csv(tmp_path / "people-quasi.csv"), pl.read_csv(tmp_path / "people-sensitive.csv")
    assert "occupation" not in quasi.columns
    assert sensitive.group_by("group").agg(pl.col("occupation").n_unique())["occupation"].min() >= 3  # type: ignore[operator]
    assert not out.exists()


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (Step("blur", "age"), "is unknown"),
        (Step("microaggregat", "age"), "did you mean 'microaggregate'"),
        (Step("microaggregate", "age", {"kk": 3}), "takes no 'kk'"),
        (Step("microaggregate"), "needs attributes"),
        (Step("sample", "age", {"size": 3}), "whole records"),
        (Step("microaggregate", "race", {"data": 3}), "takes no 'data'"),
        (Step("microaggregate", "age", {"attributes": ["age"]}), "given twice"),
        (Step("generalize", "age", {}), "no model is required"),
    ],
)
def test_a_step_that_cannot_be_is_refused(step: Step, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        unveil.protect(ADULT, [step])


def test_the_step_that_failed_is_named() -> None:
    with pytest.raises(ArgumentError, match=r"step 2 \(add_noise\)"):
        unveil.protect(ADULT, [Step("sample", (), {"size": 9}), Step("add_noise", "race")])
    with pytest.raises(ArgumentError, match="no step"):
        unveil.protect(ADULT, [])
    with pytest.raises(ArgumentError, match="no single table"):
        unveil.protect(ADULT, [Step("anatomize", "age", {"sensitive": "occupation"}), Step("sample", (), {"size": 3})])


def test_strange_column_names_go_through_every_mechanism() -> None:
    random = np.random.default_rng(0)
    names = ["^a$", "*", 'say "x"', "größe"]
    frame = pl.DataFrame({name: random.integers(0, 9, 60) for name in names})
    text = frame.with_columns(pl.Series("^t$", random.choice(["u", "v", "w"], 60)))
    steps: list[tuple[str, Any, dict[str, Any]]] = [
        ("microaggregate", names, {"k": 3}),
        ("add_noise", names, {}),
        ("swap", names, {}),
        ("rank_swap", names, {}),
        ("round_values", names, {"base": 5}),
        ("top_bottom_code", names, {"top": 5}),
        ("resample", names, {}),
        ("sample", (), {"size": 20}),
        ("pram", "^t$", {"retention": 0.5}),
        ("synthesize", ["^a$", "^t$"], {}),
        ("generalize", ["^a$", "*"], {"k": 2, "suppression": 0.5}),
    ]
    for mechanism, attributes, options in steps:
        made = run_step(text, Step(mechanism, attributes, options), seed=1)
        assert set(made.data.columns) <= {*names, "^t$"}
    assert {"microaggregate", "generalize", "pram"} <= set(mechanism_names())


WRONG = [
    ("add_noise", "amount", "much", "amount of add_noise must be a number, not a text."),
    ("microaggregate", "k", [3], "k of microaggregate must be a whole number, not a list of 1."),
    ("microaggregate", "k", True, "k of microaggregate must be a whole number, not true or false."),
    ("rank_swap", "orders", {"age": 3}, "in orders of rank_swap, what is under 'age' must be a list, not a whole number."),
    (
        "mondrian",
        "hierarchies",
        {"age": 3},
        "in hierarchies of mondrian, what is under 'age' must be a Hierarchy or a text or a path, not a whole number.",
    ),
    ("dp_sum", "bounds", [1], "bounds of dp_sum must be a list of 2, not a list of 1."),
    ("generalize", "suppression", {}, "suppression of generalize must be a number, not an empty table."),
    ("generalize", "identifiers", 7, "identifiers of generalize must be a text or a list of texts, not a whole number."),
    (
        "suppress_locally",
        "seed",
        -1,
        "the seed of suppress_locally is -1; it must be a whole number from 0 to 9,223,372,036,854,775,807.",
    ),
]


@pytest.mark.parametrize(("mechanism", "option", "value", "words"), WRONG)
def test_an_option_of_the_wrong_kind_is_refused_before_any_step_runs(mechanism: str, option: str, value: Any, words: str) -> None:
    with pytest.raises(ArgumentError) as refused:
        check_step(Step(mechanism, "age", {option: value}))
    assert str(refused.value) == words
    with pytest.raises(ArgumentError, match=r"step 2 \("):
        unveil.protect("no such file", [Step("sample", (), {"size": 9}), Step(mechanism, "age", {option: value})])


def test_every_annotation_of_a_mechanism_is_understood() -> None:
    for name in mechanism_names():
        hints = hints_of(step_function(name))
        for parameter in inspect.signature(step_function(name)).parameters.values():
            if parameter.default is not parameter.empty:
                assert fits(parameter.default, hints[parameter.name]), (name, parameter.name)


def test_a_step_of_a_project_is_refused_with_line_and_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = tmp_path / "unveil.toml"
    project.write_text(
        '[protect.coding]\nmechanism = "top_bottom_code"\nattributes = ["age"]\ntop = 80\n'
        '[protect.noise]\nmechanism = "add_noise"\nattributes = ["age"]\namount = "much"\n',
        encoding="utf-8",
    )
    assert run(["anonymize", "adult", "--project", str(project)]) == 2
    said = capsys.readouterr().err
    assert said == f"unveil: {project}, line 8: protect.noise.amount: amount of add_noise must be a number, not a text.\n"
    project.write_text('[protect.noise]\nmechanism = "noise"\n', encoding="utf-8")
    assert run(["anonymize", "adult", "--project", str(project)]) == 2
    assert f"{project}, line 2: protect.noise.mechanism: mechanism 'noise' is unknown" in capsys.readouterr().err


def test_a_mechanism_of_one_attribute_takes_one_from_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["anonymize", "adult", "--set", "epsilon=1.0", "--json", "--attribute", "age"]
    bounds = ["--set", "bounds=[17, 90]"]
    for mechanism, more in (("dp_sum", bounds), ("dp_mean", bounds), ("dp_histogram", ["--set", "edges=[17, 40, 60, 91]"])):
        assert run([*words, "--mechanism", mechanism, *more]) == 0
        assert json.loads(capsys.readouterr().out)["epsilon"] == 1.0
        assert run([*words, "--mechanism", mechanism, *more, "--attribute", "sex"]) == 2
        assert "works on one attribute, not on 2: age, sex." in capsys.readouterr().err
    assert run([*words, "--mechanism", "dp_count"]) == 2
    assert "dp_count works on whole records and takes no attributes." in capsys.readouterr().err
    assert run([*words[:4], "--json", "--mechanism", "dp_count", "--set", "where={sex='Female'}"]) == 0
