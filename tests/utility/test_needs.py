"""What a table is good for: degrees against the publications, generalised values, thresholds, and what cannot be evaluated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from sklearn.metrics import adjusted_mutual_info_score

import unveil
from helpers import rate, shared, together, varied
from unveil.cli import run
from unveil.errors import ArgumentError, ProjectError
from unveil.partitions.generalised import parse_generalised
from unveil.project import Project
from unveil.testing import tables

PARTITIONS = unveil.datasets.published()["partitions"]


def need_of(row: dict[str, Any]) -> unveil.Need:
    blocks = {}
    if row["sensitive_partition"]:
        blocks[row["sensitive"]] = PARTITIONS[row["sensitive_partition"]]
    if row["key_partition"]:
        blocks |= dict.fromkeys(row["key"], PARTITIONS[row["key_partition"]])
    return unveil.Need("study", row["sensitive"], row["key"], blocks)


@pytest.mark.parametrize("source", ["thesis Table 6.4", "thesis Table 6.8", "thesis Table 6.9"])
def test_tables_of_the_publications_come_out(source: str) -> None:
    golden = json.loads(shared("golden/seed_figures.json").read_text(encoding="utf-8"))
    rows = [row for row in golden["discrimination_rates"] if row["source"] == source]
    assert rows
    for row in rows:
        served = unveil.utility(row["table"], need_of(row)).to_dict()["needs"]["study"]
        if row["value"] is None:
            assert served["degree"] == pytest.approx(row["reference"], abs=1e-9)
            continue
        labels = PARTITIONS["age-35"]["labels"]
        wanted = [labels[value] if isinstance(value, int) else value for value in row["value"]]
        degree = next(cell["dr"] for cell in served["by_value"] if [cell[name] for name in row["key"]] == wanted)
        assert degree == pytest.approx(row["reference"], abs=1e-9)


@given(tables())
def test_a_degree_is_the_rate_of_the_target(frame: pl.DataFrame) -> None:
    assume(varied(frame, "c"))
    served = unveil.utility(frame, unveil.Need("n", "c", ["a", "b"])).needs["n"]
    assert served.degree == pytest.approx(rate(frame["c"].to_list(), together(frame, ["a", "b"])), abs=1e-12)
    for name in ("a", "b"):
        assert served.by_attribute[name] == pytest.approx(rate(frame["c"].to_list(), frame[name].to_list()), abs=1e-12)


def test_generalised_values_go_to_the_block_that_holds_them_and_straddling_ones_are_counted() -> None:
    frame = pl.DataFrame({"age": ["2*", "[20, 30)", "25", ">= 60", "30-59", "[25, 40)", "*"], "x": [1, 1, 2, 1, 2, 1, 2]})
    need = unveil.Need("n", "x", "age", {"age": {"edges": [0, 30, 60, "inf"]}})
    served = unveil.utility(frame, need).needs["n"]
    assert {row["age"]: row["count"] for row in served.by_value} == {
        "[0, 30)": 3,
        "[30, 60)": 1,
        ">= 60": 1,
        "[25, 40)": 1,
        "*": 1,
    }
    assert served.straddling == {"age": 2}


def test_masked_codes_and_sets_go_to_their_block() -> None:
    frame = pl.DataFrame({"zip": ["355**", "3581*", "35510", "35***", "{35812, 35810}"], "x": [1, 2, 1, 2, 2]})
    blocks = {"zip": {"blocks": [["35510", "35512"], ["35812", "35810"]], "labels": ["north", "south"]}}
    served = unveil.utility(frame, unveil.Need("n", "x", "zip", blocks)).needs["n"]
    assert {row["zip"]: row["count"] for row in served.by_value} == {"north": 2, "south": 2, "35***": 1}
    assert served.straddling == {"zip": 1}


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("[20, 30)", [20, "29.9"], [30, 19, "x"]),
        ("(20, 30]", [30, 21], [20]),
        ("20-29", [20, 29], [29.5]),
        (">= 40", [40, 99], [39]),
        ("<40", [39], [40]),
        ("2*", ["22", 29], ["2", "31"]),
        ("ab*", ["abc"], ["ab", "abcd"]),
        ("{a, b}", ["a", "b"], ["c"]),
        ("*", ["anything", 3], []),
    ],
)
def test_generalised_values_are_read(text: str, inside: list[Any], outside: list[Any]) -> None:
    covered = parse_generalised(text)
    assert covered is not None
    assert all(covered.covers(value) for value in inside)
    assert not any(covered.covers(value) for value in outside)


@pytest.mark.parametrize("plain", ["flu", "35510", "-5", "A-B", "2020-01-01", "", 7, None])
def test_plain_values_are_not_taken_for_generalised_ones(plain: Any) -> None:
    assert parse_generalised(plain) is None


def test_thresholds_and_what_cannot_be_evaluated() -> None:
    frame = pl.DataFrame({"a": [1, 1, 2, 2], "x": [1, 1, 2, 2], "same": [0, 0, 0, 0]})
    needs = [
        unveil.Need("good", "x", "a", at_least=0.9),
        unveil.Need("unknown", "y", "a"),
        unveil.Need("constant", "same", "a", at_least=0.1),
    ]
    found = unveil.utility(frame, needs)
    assert found.needs["good"].met is True
    assert found.needs["unknown"].degree is None
    assert "attribute 'y' not found" in found.failed[0]
    assert found.needs["constant"].met is False
    assert found.needs["constant"].reason == "the degree is undefined: 'same' holds only one value, so there is nothing to infer."
    assert found.met is False


def test_a_need_is_not_met_by_chance() -> None:
    rng = np.random.default_rng(5)
    frame = pl.DataFrame({"id": rng.integers(0, 500, 1500), "noise": rng.integers(0, 3, 1500)})
    frame = frame.with_columns(told=pl.col("id") % 3, own=pl.int_range(pl.len()))
    needs = [
        unveil.Need("chance", "noise", "id", at_least=0.1),
        unveil.Need("nothing asked", "noise", "id", at_least=0.0),
        unveil.Need("told", "told", "id", at_least=1.0),
        unveil.Need("alone", "noise", "own", at_least=0.1),
    ]
    found = unveil.utility(frame, needs)
    chance, nothing, told, alone = found.needs.values()
    assert chance.degree is not None
    assert chance.degree > 0.3
    ami = adjusted_mutual_info_score(frame["noise"], frame["id"], average_method="min")
    assert chance.adjusted == pytest.approx(ami, abs=1e-9)
    assert (chance.met, nothing.met, told.met, alone.met) == (False, True, True, False)
    assert (alone.degree, alone.adjusted) == (1.0, None)
    assert "no more than chance" in str(alone.reason)
    assert found.to_dict()["needs"]["chance"]["adjusted"] == chance.adjusted
    assert found.to_frame()["adjusted"].to_list() == [one.adjusted for one in found.needs.values()]


def test_a_column_that_cannot_be_counted_fails_its_own_need_only() -> None:
    frame = pl.DataFrame({"a": [1, 2], "x": ["u", "v"], "many": [[1], [2]]})
    found = unveil.utility(frame, [unveil.Need("lists", "x", "many"), unveil.Need("plain", "x", "a")])
    assert "'many' holds List values" in found.failed[0]
    assert found.needs["plain"].degree == 1.0


@pytest.mark.parametrize(
    ("needs", "words"),
    [
        ([], "no need is named"),
        ("n: x given a", "needs must be a Need or a list, not a text"),
        (None, "no need is named"),
        ([unveil.Need("n", "x", "a"), unveil.Need("n", "a", "x")], "several needs are called 'n'"),
    ],
)
def test_needs_that_cannot_be_told_apart_or_read_are_refused(needs: Any, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        unveil.utility(pl.DataFrame({"a": [1, 2], "x": [1, 2]}), needs)


def test_the_answer_says_under_which_partitions_and_without_which_records() -> None:
    frame = pl.DataFrame({"a": [1, 2, None, 9], "x": [1, 2, 1, 2]})
    found = unveil.utility(frame, unveil.Need("n", "x", "a", {"a": [0, 5, 10]}), nulls="drop")
    assert found.to_dict()["needs"]["n"]["partitions"] == {"a": {"edges": [0, 5, 10]}}
    view = found.view()
    assert "1 record with a null" in view.notes[0]
    assert [row[:2] for row in view.tables[2].rows] == [("[5, 10)", 1), ("[0, 5)", 2)]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("n", "x", []), "infers 'x' from nothing"),
        (("n", "x", ["x"]), "from itself"),
        (("n", "x", "a", {"z": [[1]]}), "which it does not use"),
        (("n", "x", "a", None, 2.0), "must be from 0 to 1"),
        (("n", "x", "a", None, "0.5"), "at_least must be a number, not a text"),
        (("n", "x", "a", None, True), "at_least must be a number, not true or false"),
        (("n", "x", "a", None, float("nan")), "must be a number from 0 to 1"),
        (("n", "x", ["a", "b", "a"]), "is given 'a' twice"),
        (("", "x", "a"), "a need has no name"),
        (("  ", "x", "a"), "a need has no name"),
        (("n", "", "a"), "an attribute without a name"),
        (("n", "x", ["a", ""]), "an attribute without a name"),
        (("n", "x", ["a", 3]), "given: entry 2 must be a text"),
        (("n", "x", None), "given must be a text or a list of texts"),
        (("n", "x", "a", [["secret"]]), "partitions must be a table"),
    ],
)
def test_a_need_that_makes_no_sense_is_refused(arguments: tuple[Any, ...], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        unveil.Need(*arguments)


def test_needs_are_written_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["utility", "adult", "--need", "income: income-per-year given age, education at least 0.1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["needs"]["income"]
    assert found["degree"] == pytest.approx(unveil.discrimination_rate("adult", ["age", "education"], "income-per-year").value)
    assert found["met"] is True
    assert run(["utility", "adult", "--need", "income: income-per-year given race at least 0.5"]) == 1
    capsys.readouterr()
    assert (
        run(["utility", "adult", "--need", "a: income-per-year given rase", "--need", "b: income-per-year given race", "--json"])
        == 2
    )
    captured = capsys.readouterr()
    assert "need 'a'" in captured.err
    assert "did you mean 'race'" in captured.err
    assert json.loads(captured.out)["needs"]["b"]["degree"] > 0
    assert run(["utility", "adult", "--need", "income"]) == 2
    assert run(["utility", "adult"]) == 2


def test_a_need_that_failed_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["utility", "paper-4", "--need", "a: Disease given Agee", "--need", "b: Disease given Age"]
    assert run(command) == 2
    shown = capsys.readouterr()
    assert shown.out.count("'Agee' not found") == 1
    assert shown.err == "unveil: 1 need could not be evaluated.\n"
    assert run([*command, "--json"]) == 2
    assert capsys.readouterr().err.count("'Agee' not found") == 1


def test_needs_are_written_in_the_project(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "data.csv").write_text("age,x\n22,1\n35,2\n41,2\n", encoding="utf-8")
    path = tmp_path / "unveil.toml"
    path.write_text(
        '[data]\npath = "data.csv"\n[needs.study]\ntarget = "x"\ngiven = ["age"]\nat_least = 0.5\n[needs.study.partitions]\nage = { edges = [0, 30, 60] }\n',
        encoding="utf-8",
    )
    assert run(["utility", "--project", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["needs"]["study"]["degree"] == 1.0
    project = Project.read(path)
    project.write(tmp_path / "again.toml")
    assert Project.read(tmp_path / "again.toml").needs == project.needs
    path.write_text('[needs.study]\ntarget = "x"\ngiven = []\n', encoding="utf-8")
    with pytest.raises(ProjectError, match=r"line 3: needs\.study\.given"):
        Project.read(path)
    path.write_text('[needs.study]\ntarget = "x"\ngiven = ["a"]\nat_least = "much"\n', encoding="utf-8")
    with pytest.raises(ProjectError, match=r"line 4: needs\.study\.at_least: expected a number"):
        Project.read(path)
