"""A budget that releases and answers share: written before anything is drawn, and never exceeded."""

from __future__ import annotations

import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import unveil
from unveil import mechanisms
from unveil.cli import run
from unveil.errors import ArgumentError
from unveil.ledger import LedgerError
from unveil.mechanisms import BudgetSpentError, PrivacyLedger, PrivacyLoss
from unveil.mechanisms.differential_privacy.accounting import composed_epsilon, concentration

FRAME = pl.DataFrame({"who": range(40), "x": [1.0, 2.0] * 20, "c": ["a", "b"] * 20})


@pytest.fixture
def ledger(tmp_path: Path) -> PrivacyLedger:
    return PrivacyLedger(tmp_path / "people.db", "4:1e-6")


def test_every_mechanism_writes_what_it_spends(ledger: PrivacyLedger) -> None:
    gaussian = {"mechanism": "gaussian", "delta": 1e-8}
    mechanisms.dp_count(FRAME, epsilon=0.25, ledger=ledger)
    mechanisms.dp_sum(FRAME, "x", bounds=(0, 2), epsilon=0.25, ledger=ledger)
    mechanisms.dp_mean(FRAME, "x", bounds=(0, 2), epsilon=0.25, ledger=ledger)
    mechanisms.dp_histogram(FRAME, "c", values=["a", "b"], epsilon=0.25, ledger=ledger, **gaussian)
    mechanisms.dp_marginals(FRAME, ["c"], domains={"c": ["a", "b"]}, epsilon=0.25, ledger=ledger)
    made = mechanisms.dp_synthesize(FRAME, ["c"], domains={"c": ["a", "b"]}, epsilon=0.25, ledger=ledger)
    account = ledger.account()
    assert [entry["what"] for entry in account.entries] == [
        "count", "sum of x", "mean of x", "histogram of c", "marginals", "dp_synthesize",
    ]  # fmt: skip
    losses = [PrivacyLoss(**loss) for entry in account.entries for loss in entry["losses"]]
    assert [loss.kind for loss in losses] == ["pure"] * 4 + ["gaussian", "pure", "concentrated"]
    assert losses[-1].amount == concentration(0.25, 1e-9)
    assert account.entries[3]["epsilon_alone"] < 0.25, "at a delta of 1e-6 it is less than at 1e-8"
    assert account.spent == composed_epsilon(losses, 1e-6) <= 1.5
    assert any("In the ledger: epsilon" in note for note in made.notes)
    assert account.to_dict()["protects"] == "record"
    assert len(account.to_frame()) == 6


def test_overspending_is_refused_before_anything_is_drawn(ledger: PrivacyLedger) -> None:
    mechanisms.dp_count(FRAME, epsilon=3.0, ledger=ledger)
    with pytest.raises(BudgetSpentError, match=r"epsilon 1.5, and 3 of 4 is spent .* together epsilon 4.5. Nothing was drawn"):
        mechanisms.dp_mean(FRAME, "x", bounds=(0, 2), epsilon=1.5, ledger=ledger)
    assert len(ledger.account().entries) == 1
    mechanisms.dp_count(FRAME, epsilon=1.0, ledger=ledger)
    assert ledger.account().spent == pytest.approx(4.0, rel=1e-3)
    with pytest.raises(BudgetSpentError):
        mechanisms.dp_count(FRAME, epsilon=1e-3, ledger=ledger)


def test_what_fails_before_drawing_spends_nothing(ledger: PrivacyLedger) -> None:
    asked: list[tuple[str, dict[str, Any]]] = [
        ("dp_count", {"person": "nobody"}),
        ("dp_sum", {"attribute": "c", "bounds": (0, 1)}),
        ("dp_synthesize", {"attributes": ["c"], "domains": {"c": ["a"]}, "records": 0}),
        ("dp_marginals", {"tables": [["c", "x"]], "domains": {"c": range(2000), "x": range(2000)}}),
    ]
    for name, options in asked:
        with pytest.raises(unveil.errors.UnveilError):
            getattr(mechanisms, name)(FRAME, epsilon=1.0, ledger=ledger, **options)
    assert ledger.account().entries == ()
    assert ledger.account().spent == 0.0


def test_many_answers_cost_less_than_their_sum(tmp_path: Path) -> None:
    ledger = PrivacyLedger(tmp_path / "p.db", "3:1e-6")
    for _ in range(36):  # by adding up, thirty
        mechanisms.dp_count(FRAME, epsilon=0.1, ledger=ledger)
    assert ledger.account().spent <= 3.0
    with pytest.raises(BudgetSpentError):
        mechanisms.dp_count(FRAME, epsilon=2.0, ledger=ledger)


def test_safepub_needs_a_delta_in_the_budget(tmp_path: Path) -> None:
    adult = unveil.datasets.adult()
    pure, both = PrivacyLedger(tmp_path / "pure.db", 2.0), PrivacyLedger(tmp_path / "both.db", "2:1e-5")
    with pytest.raises(BudgetSpentError, match="more than this delta"):
        mechanisms.safepub(adult, ["sex"], epsilon=1.0, delta=1e-6, ledger=pure)
    mechanisms.safepub(adult, ["sex"], epsilon=1.0, delta=1e-6, ledger=both)
    assert both.account().spent == pytest.approx(1.0, rel=1e-3)


def test_neighbours_and_persons_do_not_mix(tmp_path: Path, ledger: PrivacyLedger) -> None:
    options: dict[str, Any] = {"bounds": {"x": (0, 2)}, "k": 5, "epsilon": 0.5}
    with pytest.raises(ArgumentError, match="change one"):
        mechanisms.dp_microaggregate(FRAME, "x", ledger=ledger, **options)
    changing = PrivacyLedger(tmp_path / "changing.db", "4:1e-6", neighbours="change one")
    mechanisms.dp_microaggregate(FRAME, "x", ledger=changing, **options)
    mechanisms.dp_count(FRAME, epsilon=1.0, ledger=changing)
    assert changing.account().spent == pytest.approx(2.5, rel=1e-3), "a count costs twice where a person changes"
    mechanisms.dp_count(FRAME, epsilon=0.5, person="who", ledger=ledger)
    with pytest.raises(ArgumentError, match="per record"):
        mechanisms.dp_count(FRAME, epsilon=0.5, ledger=ledger)


def test_a_ledger_keeps_its_budget_and_knows_its_kind(tmp_path: Path) -> None:
    path = tmp_path / "people.db"
    with pytest.raises(ArgumentError, match="state its budget"):
        PrivacyLedger(path)
    assert not path.exists()
    PrivacyLedger(path, "1:1e-6").close()
    assert PrivacyLedger(path).epsilon == 1.0
    for other in ({"budget": 2.0}, {"budget": "1:1e-5"}, {"neighbours": "change one"}):
        with pytest.raises(LedgerError, match="opened for epsilon 1"):
            PrivacyLedger(path, **other)
    for wrong in ("much", "0", "1:1", "1:-1", "-1:0.1", "nan"):
        with pytest.raises(ArgumentError):
            PrivacyLedger(tmp_path / "other.db", wrong)
    gate = unveil.Gate("adult", ledger=tmp_path / "gate.db")
    gate.ask("SELECT COUNT(*) FROM adult")
    gate.close()
    with pytest.raises(LedgerError, match="ledger of a gate"):
        PrivacyLedger(tmp_path / "gate.db", 1.0)
    with pytest.raises(LedgerError):
        unveil.Gate("adult", ledger=path)


def test_a_changed_ledger_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "people.db"
    ledger = PrivacyLedger(path, 1.0)
    mechanisms.dp_count(FRAME, epsilon=0.9, ledger=ledger)
    ledger.close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE entries SET answer = replace(answer, '0.9', '0.1')")
    connection.close()
    with pytest.raises(LedgerError, match="chain is broken"):
        mechanisms.dp_count(FRAME, epsilon=0.5, ledger=path)


def test_of_many_at_once_no_more_pass_than_the_budget_holds(tmp_path: Path) -> None:
    path = tmp_path / "people.db"
    PrivacyLedger(path, 1.0).close()

    def asked(_: int) -> bool:
        try:
            mechanisms.dp_count(FRAME, epsilon=0.25, ledger=path)
        except BudgetSpentError:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(asked, range(8))) == 4


def test_a_gate_and_releases_share_a_budget(tmp_path: Path) -> None:
    ledger = PrivacyLedger(tmp_path / "people.db", 1.0)
    gate = unveil.Gate(
        "adult", ledger=tmp_path / "gate.db", policy=unveil.queries.Differential(epsilon=0.3, rho=10.0), shared=ledger
    )
    women = "SELECT COUNT(*) FROM adult WHERE sex = 'Female'"
    assert gate.ask(women).answered
    assert gate.ask(women).answered, "a repeated answer costs nothing"
    assert ledger.account().spent == pytest.approx(0.3)
    mechanisms.dp_count("adult", epsilon=0.5, ledger=ledger)
    refused = gate.ask("SELECT COUNT(*) FROM adult WHERE sex = 'Male'")
    assert (refused.answered, refused.reason) == (False, "budget")
    assert ledger.account().spent == pytest.approx(0.8)
    gate.close()
    with pytest.raises(ArgumentError, match="only differential privacy"):
        unveil.Gate("adult", ledger=tmp_path / "other.db", shared=ledger)


def test_the_command_line_opens_spends_and_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "people.db")
    count = ["anonymize", "adult", "--mechanism", "dp_count", "--ledger", path, "--set"]
    assert run([*count, "epsilon=0.5"]) == 2
    assert run([*count, "epsilon=0.5", "--budget", "1:1e-6"]) == 0
    assert run([*count, "epsilon=0.75"]) == 1
    assert "Nothing was drawn" in capsys.readouterr().err
    ask = ["query", "adult", "SELECT COUNT(*) FROM adult", "--policy", "differential", "--epsilon", "0.5"]
    assert run([*ask, "--ledger", str(tmp_path / "gate.db"), "--shared-ledger", path]) == 0
    capsys.readouterr()
    assert run(["query", "--spent", "--shared-ledger", path, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["spent"] == pytest.approx(1.0, rel=1e-3)
    assert run(["anonymize", "adult", "--mechanism", "swap", "--attribute", "age", "--ledger", path]) == 2
    assert "swap has no loss" in capsys.readouterr().err
    assert run(["anonymize", "adult", "--mechanism", "dp_count", "--set", "epsilon=1.0", "--budget", "1"]) == 2
