"""`unveil query`: its JSON, its exit codes, and what it says of bad input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import unveil
import unveil.queries
from unveil.cli import run

ROWS = [("F", "X", 30 + at, 1000 + 137 * at) for at in range(12)] + [
    ("M", "X" if at % 2 else "Y", 40 + at, 2000 + 91 * at) for at in range(12)
]
AVERAGE = "SELECT AVG(salary) FROM people WHERE sex = 'F' AND town = 'X'"
GIVEN = ["--sensitive", "salary", "--policy", "restriction", "--k", "5", "--ledger", "g.db", "--as", "eve"]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = "".join(f"{','.join(map(str, row))}\n" for row in [("sex", "town", "age", "salary"), *ROWS])
    Path("people.csv").write_text(text)


def asked(question: str, *words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    code = run(["query", "people.csv", question, *(words or GIVEN), "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_an_answer_is_one_object_and_exit_code_0(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = asked(AVERAGE, capsys=capsys)
    assert code == 0
    assert found["value"] == pytest.approx(sum(row[3] for row in ROWS[:12]) / 12)
    assert (found["answered"], found["reason"], found["cost"], found["spent"]) == (True, None, 1, 1)


def test_a_refusal_is_exit_code_1_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    asked(AVERAGE, capsys=capsys)
    for question, reason in (
        (f"{AVERAGE} AND age = 30", "size"),
        (f"{AVERAGE} AND age > 30", "audit"),
        ("SELECT COUNT(*) FROM people WHERE salary > 1500", "indicator"),
        ("SELECT MAX(salary) FROM people", "aggregate"),
    ):
        code, found = asked(question, capsys=capsys)
        assert (code, found["answered"], found["value"], found["reason"]) == (1, False, None, reason)


def test_an_interval_has_two_ends(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = asked(AVERAGE, "--sensitive", "salary", "--policy", "camouflage", capsys=capsys)
    assert code == 0
    assert "value" not in found
    assert found["low"] <= sum(row[3] for row in ROWS[:12]) / 12 <= found["high"]


def test_noise_has_an_error_and_a_cost(capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "--sensitive",
        "salary",
        "--policy",
        "differential",
        "--epsilon",
        "0.5",
        "--bounds",
        "salary=0:5000",
        "--set",
        "rho=0.3",
    ]
    code, found = asked(
        "SELECT COUNT(*), SUM(salary) FROM people WHERE age > 20", *words, "--set", "analyst_rho=0.3", capsys=capsys
    )
    assert (code, found["cost"], found["unit"]) == (0, 0.25, "rho")
    assert found["numbers"][1]["error"] == pytest.approx(2**0.5 * 10_000, rel=1e-3)
    code, found = asked("SELECT COUNT(*) FROM people", *words, "--set", "analyst_rho=0.3", capsys=capsys)
    assert (code, found["reason"]) == (1, "budget")


def test_the_question_of_the_documents(capsys: pytest.CaptureFixture[str]) -> None:
    question = "SELECT COUNT(*) FROM t WHERE age >= 35 AND disease = 'aids'"
    for policy, code in (("open", 0), ("restriction", 1), ("camouflage", 0), ("sticky", 0), ("differential", 0)):
        words = [
            "query",
            "thesis-2.1",
            question,
            "--sensitive",
            "Disease",
            "--policy",
            policy,
            "--ledger",
            f"{policy}.db",
            "--json",
        ]
        assert run(words) == code
        found = json.loads(capsys.readouterr().out)
        if policy == "open":
            assert found["value"] == 2
        if policy == "restriction":
            assert found["reason"] == "indicator"
        if policy == "camouflage":
            assert found["low"] <= 2 <= found["high"]


BAD = [
    (["SELECT salary FROM people"], "a column outside of an aggregate"),
    (["SELECT AVG(salary) FROM people WHERE salary > 3"], "'salary' is not allowed"),
    (["SELECT AVG(salry) FROM people"], "'salry' is not allowed"),
    (["DROP TABLE people"], "the gate does not accept"),
    ([], "no question"),
    ([AVERAGE, "--policy", "none"], "policy"),
    ([AVERAGE, "--k", "1"], "k is 1"),
    ([AVERAGE, "--set", "width=3"], "no setting 'width'"),
    ([AVERAGE, "--set", "width"], "NAME=VALUE"),
    ([AVERAGE, "--bounds", "salary"], "COLUMN=LOW:HIGH"),
    ([AVERAGE, "--policy", "records"], "release"),
    ([AVERAGE, "--key", "salary"], "'salary' is named as key and as sensitive"),
    ([AVERAGE, "--dialect", "klingon"], "dialect"),
    ([AVERAGE, "--ledger", "nowhere/g.db"], "cannot be created"),
    ([AVERAGE, "--ledger", "people.csv"], "key of the ledger"),
]


@pytest.mark.parametrize(("words", "part"), BAD, ids=[part for _, part in BAD])
def test_bad_input_is_one_line_and_exit_code_2(words: list[str], part: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["query", "people.csv", "--sensitive", "salary", *words]) == 2
    error = capsys.readouterr().err
    assert part in error
    assert error.count("\n") == 1


def test_changed_data_and_another_policy_close_the_ledger(capsys: pytest.CaptureFixture[str]) -> None:
    asked(AVERAGE, capsys=capsys)
    assert run(["query", "people.csv", AVERAGE, *GIVEN[:2], "--k", "6", "--ledger", "g.db"]) == 2
    assert "another policy" in capsys.readouterr().err
    with Path("people.csv").open("a") as file:
        file.write("F,X,99,99999\n")
    assert run(["query", "people.csv", AVERAGE, *GIVEN]) == 2
    assert "other data" in capsys.readouterr().err


def test_the_ledger_is_verified_with_its_head(capsys: pytest.CaptureFixture[str]) -> None:
    asked(AVERAGE, capsys=capsys)
    assert run(["query", "--verify-ledger", "--ledger", "g.db", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["intact"], found["rows"]) == (True, 1)
    assert run(["query", "--verify-ledger", "--ledger", "g.db", "--head", found["head"]]) == 0
    assert run(["query", "--verify-ledger", "--ledger", "g.db", "--head", "00"]) == 2
    assert run(["query", "--verify-ledger", "--ledger", "none.db"]) == 2
    assert not Path("none.db").exists()


def test_the_steward_sees_what_was_spent_asked_and_disclosed(capsys: pytest.CaptureFixture[str]) -> None:
    asked(AVERAGE, capsys=capsys)
    assert run(["query", "people.csv", *GIVEN, "--spent"]) == 0
    assert json.loads(capsys.readouterr().out)["eve"] == {"restriction": 1.0}
    assert run(["query", "people.csv", *GIVEN, "--history"]) == 0
    assert json.loads(capsys.readouterr().out)["decision"] == "answered"
    assert run(["query", "people.csv", *GIVEN, "--attack", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["determined"] == 0
    assert run(["query", "people.csv", AVERAGE, *GIVEN, "--explain", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cost"] == 1.0


def test_a_project_says_the_roles_and_the_policy(capsys: pytest.CaptureFixture[str]) -> None:
    Path("unveil.toml").write_text(
        '[data]\npath = "people.csv"\n[attributes.sex]\nrole = "key"\n[attributes.age]\nrole = "key"\n[attributes.salary]\nrole = "sensitive"\n'
        '[query]\npolicy = "restriction"\nk = 9\n'
    )
    assert run(["query", "--project", "unveil.toml", "--explain", "--json", "unveil.toml"]) == 2
    capsys.readouterr()
    words = ["query", "people.csv", "SELECT AVG(salary) FROM people WHERE age < 38", "--project", "unveil.toml", "--json"]
    assert run(words) == 1  # eight people
    assert json.loads(capsys.readouterr().out)["reason"] == "size"
    assert run([*words[:2], AVERAGE, *words[3:]]) == 2
    assert "'town' is not allowed" in capsys.readouterr().err


PROJECT = """
[attributes]
age.role = "identifier"
town.role = "person"
salary.role = "sensitive"
[query]
k = 12
"""


def test_a_gate_of_a_project_is_that_of_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    Path("unveil.toml").write_text(PROJECT)
    words = ["--project", "unveil.toml", "--ledger", "p.db"]
    for name in ("age", "town"):
        question = f"SELECT COUNT(*) FROM people WHERE {name} = 40"  # noqa: S608 - no query of a data base
        assert run(["query", "people.csv", question, *words]) == 2
        assert f"'{name}' is not allowed in WHERE" in capsys.readouterr().err
        with pytest.raises(unveil.queries.QuestionError, match=f"'{name}' is not allowed in WHERE"):
            unveil.Gate(unveil.Study("people.csv", project="unveil.toml"), ledger="p.db").ask(question)
    code, found = asked("SELECT COUNT(*) FROM people WHERE sex = 'F'", *words, capsys=capsys)
    assert (code, found["answered"]) == (0, True)
    code, found = asked("SELECT COUNT(*) FROM people WHERE sex = 'F'", *words[:2], "--k", "13", "--ledger", "q.db", capsys=capsys)
    assert (code, found["reason"]) == (1, "size")
    named = ["--key", "age", *words[:2], "--ledger", "r.db"]  # what the command line names is its own decision
    assert run(["query", "people.csv", "SELECT COUNT(*) FROM people WHERE age < 42", *named, "--k", "3"]) == 0
