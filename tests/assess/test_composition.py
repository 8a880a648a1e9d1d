"""Mechanisms and their parameters, composed: figures from their definitions, the front from brute force."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import mutual_info_score
from sklearn.metrics.cluster import contingency_matrix, expected_mutual_information

import unveil
from unveil import mechanisms
from unveil.assess.composition import Composition
from unveil.cli import run
from unveil.errors import ArgumentError, CancelledError, DataNotFoundError, ModelNotMetError
from unveil.run import active_run

PEOPLE = unveil.datasets.adult().select("age", "education", "occupation", "income-per-year").head(600)
NEED = unveil.Need("income", target="income-per-year", given=["age", "education"])
KEYS = ["age", "education"]


@pytest.fixture(scope="module")
def found() -> Composition:
    return unveil.compose(PEOPLE, KEYS, NEED, sensitive="occupation", seed=1, time_limit=600)


def vector(one: object) -> tuple[float, ...]:
    figures = one.figures  # type: ignore[attr-defined]
    return (-figures.identity, -figures.homogeneity["occupation"], figures.degrees["income"])


def test_singles_and_chains_are_tried_over_their_parameters(found: Composition) -> None:
    names = [one.candidate.name for one in found.tried]
    assert {"microaggregate k=3", "rank_swap window=5", "add_noise amount=0.2", "pram retention=0.7", "generalize k=10"} <= set(
        names
    )
    chains = [one for one in found.tried if len(one.candidate.steps) == 2]
    assert chains
    assert all(one.candidate.steps[0].mechanism != one.candidate.steps[1].mechanism for one in chains)
    assert all(one.candidate.steps[0].mechanism != "generalize" for one in chains)
    assert found.complete


def test_the_undominated_are_those_of_brute_force(found: Composition) -> None:
    judged = [one for one in found.tried if one.figures is not None]
    for one in judged:
        beaten = any(
            all(a >= b - 1e-9 for a, b in zip(vector(other), vector(one), strict=True))
            and any(a > b + 1e-9 for a, b in zip(vector(other), vector(one), strict=True))
            for other in judged
        )
        if beaten:
            assert not one.undominated
        elif not one.undominated:
            twins = [other for other in judged if np.allclose(vector(other), vector(one), atol=2e-9) and other.undominated]
            assert twins
            assert len(twins[0].candidate.steps) <= len(one.candidate.steps)


def test_figures_follow_from_the_release_that_is_given(found: Composition) -> None:
    chosen = found.tried[found.choice]
    release, order = found.chosen, found.chosen.origin
    assert chosen.figures is not None
    original = PEOPLE[order.tolist()]
    edges = np.unique([np.sort(PEOPLE["age"].to_numpy())[600 * at // 10] for at in range(1, 10)])
    block = np.searchsorted(edges, original["age"].to_numpy(), side="right")
    shown = release.data["age"].to_list()
    if release.data["age"].dtype.is_numeric():
        shown = np.searchsorted(edges, release.data["age"].to_numpy(), side="right").tolist()
    rates = [
        max(0.0, _adjusted(block.tolist(), shown)),
        max(0.0, _adjusted(original["education"].to_list(), release.data["education"].to_list())),
    ]
    assert chosen.figures.identity == pytest.approx(np.mean(rates), abs=1e-9)


def _adjusted(hidden: list[object], key: list[object]) -> float:
    """The adjusted rate, from scikit-learn: (I - E) / (H(X) - E)."""
    matrix = contingency_matrix(np.array(hidden, dtype=str), np.array(key, dtype=str), sparse=True)
    expected = expected_mutual_information(matrix, len(hidden))
    entropy = mutual_info_score(np.array(hidden, dtype=str), np.array(hidden, dtype=str))
    return float((mutual_info_score(np.array(hidden, dtype=str), np.array(key, dtype=str)) - expected) / (entropy - expected))


def test_stronger_protection_tells_less(found: Composition) -> None:
    figures = {one.candidate.name: one.figures for one in found.tried if one.figures is not None}
    weak, strong = figures["pram retention=0.9"], figures["pram retention=0.3"]
    assert strong.identity < weak.identity
    assert strong.degrees["income"] <= weak.degrees["income"] + 0.02
    assert found.original.identity == pytest.approx(1.0)


def test_the_choice_keeps_to_what_is_asked() -> None:
    useful = unveil.compose(PEOPLE, KEYS, NEED, sensitive="occupation", seed=1, chains=False, prefer="utility", max_identity=0.7)
    chosen = useful.tried[useful.choice].figures
    assert chosen is not None
    assert chosen.identity <= 0.7
    assert all(one.figures.service <= chosen.service for one in useful.front if one.figures and one.figures.identity <= 0.7)
    asked = unveil.Need("income", target="income-per-year", given=KEYS, at_least=0.99)
    with pytest.raises(ModelNotMetError, match="the nearest misses"):
        unveil.compose(PEOPLE, KEYS, asked, sensitive="occupation", chains=False, seed=1)


def test_candidates_may_be_given_and_failures_are_said() -> None:
    steps: list[unveil.Step | list[unveil.Step]] = [
        unveil.Step("microaggregate", "age", {"k": 5}),
        [unveil.Step("add_noise", "age"), unveil.Step("rank_swap", "age")],
    ]
    made = unveil.compose(PEOPLE, KEYS, NEED, sensitive="occupation", candidates=[*steps, unveil.Step("add_noise", "education")])
    assert len(made.tried) >= 3
    assert "needs numbers" in str(made.tried[-1].reason)
    assert made.tried[-1].figures is None
    with pytest.raises(ArgumentError, match="no candidate"):
        unveil.compose(PEOPLE, KEYS, NEED, sensitive="occupation", candidates=[])
    with pytest.raises(ArgumentError, match="no candidate could be made: noise needs numbers"):
        unveil.compose(
            PEOPLE, KEYS, NEED, sensitive="occupation", candidates=[unveil.Step("add_noise", "education")], chains=False
        )


def test_a_key_file_that_is_none_is_refused_before_anything_is_tried() -> None:
    with pytest.raises(DataNotFoundError, match="the key file 'nowhere' cannot be read"):
        unveil.compose(PEOPLE, KEYS, NEED, sensitive="occupation", key_file="nowhere")
    with pytest.raises(ArgumentError, match="a seed and a key file are both given"):
        unveil.compose(PEOPLE, KEYS, NEED, sensitive="occupation", key_file="nowhere", seed=1)


def test_identifiers_are_left_out_of_every_release() -> None:
    named = PEOPLE.with_columns(name=pl.format("person {}", pl.int_range(pl.len())))
    made = unveil.compose(named, KEYS, NEED, sensitive="occupation", chains=False, seed=1, identifiers="name")
    assert all("name" not in one.release.data.columns for one in made.front)


def test_nulls_of_the_key_stay() -> None:
    holes = PEOPLE.with_columns(age=pl.when(pl.int_range(pl.len()) % 7 > 0).then("age"))
    made = unveil.compose(holes, KEYS, NEED, sensitive="occupation", chains=False, seed=1)
    assert not [one.reason for one in made.tried if one.reason]
    assert made.original.identity == pytest.approx(1.0)


def test_differential_privacy_is_tried_where_bounds_are_given() -> None:
    ages = PEOPLE.select("age", "income-per-year", "occupation")
    need = unveil.Need("income", target="income-per-year", given="age")
    made = unveil.compose(ages, "age", need, sensitive="occupation", bounds={"age": (17.0, 90.0)}, chains=False)
    private = [one for one in made.tried if one.candidate.steps[0].mechanism == "dp_microaggregate"]
    assert [one.candidate.steps[0].options["epsilon"] for one in sorted(private, key=lambda one: one.candidate.name)] == [
        0.1,
        1.0,
        10.0,
    ]


def test_time_ends_the_search_and_the_result_says_so() -> None:
    seen: list[tuple[int, int]] = []
    made = unveil.compose(
        PEOPLE, KEYS, NEED, sensitive="occupation", time_limit=1e-6, progress=lambda _, done, total: seen.append((done, total))
    )
    assert not made.complete
    assert len(made.tried) == 1
    assert "not complete" in repr(made)
    assert all(done <= total for done, total in seen)


def test_time_ends_a_protection_that_takes_long_and_cancelling_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = threading.Event()

    def waits(data: Any, attributes: list[str], *, keep_order: bool = False) -> Any:  # noqa: ARG001 - as mechanisms take them
        begun.set()
        while True:
            active_run().check()
            time.sleep(0.01)

    monkeypatch.setattr(mechanisms, "_OWN", mechanisms._OWN.copy())  # noqa: SLF001 - to leave no trace
    mechanisms.register(waits)
    steps = [unveil.Step(name, ["age"]) for name in ("rank_swap", "waits", "add_noise")]
    options: dict[str, Any] = {"sensitive": "occupation", "candidates": steps, "chains": False}
    made = unveil.compose(PEOPLE, KEYS, NEED, time_limit=2.0, **options)
    assert (len(made.tried), made.complete) == (1, False)
    run = unveil.Run()
    begun.clear()

    def cancelled_once_begun() -> None:
        begun.wait(60)
        run.cancel()

    threading.Thread(target=cancelled_once_begun).start()
    with pytest.raises(CancelledError):
        unveil.compose(PEOPLE, KEYS, NEED, time_limit=600, progress=run, **options)


def test_the_first_protection_is_made_whatever_the_time_and_a_search_gives_the_best_so_far() -> None:
    steps = [unveil.Step("generalize", KEYS, {"k": 10, "suppression": 0.05, "objective": "loss"})]
    options: dict[str, Any] = {"sensitive": "occupation", "candidates": steps, "chains": False, "keep_order": True}
    hurried, whole = (unveil.compose(PEOPLE, KEYS, NEED, time_limit=seconds, **options) for seconds in (1e-9, 600))
    assert (hurried.complete, whole.complete) == (False, True)
    assert len(hurried.tried) == len(whole.tried) == 1
    words = [repr(made.chosen) for made in (hurried, whole)]
    assert "at least" in words[0]
    assert "optimal" in words[1]


def test_json_frame_and_view_tell_the_same(found: Composition) -> None:
    content = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert [row["name"] for row in content["tried"]] == found.to_frame()["protection"].to_list()
    assert content["tried"][content["chosen"]]["undominated"]
    assert content["blocks"] == {"age": 10}
    assert found.steps == found.tried[found.choice].candidate.steps
    assert "Protections, least risk first" in found._repr_html_()


def test_the_command_line_tries_mechanisms_and_writes_the_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    PEOPLE.head(200).write_csv(tmp_path / "people.csv")
    out = tmp_path / "release.csv"
    words = ["front", str(tmp_path / "people.csv"), "--mechanisms", "--key", "age", "--sensitive", "occupation"]
    needs = ["--need", "income: income-per-year given age"]
    assert run([*words, *needs, "--out", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tried"]
    assert pl.read_csv(out).height == 200


def test_anonymize_takes_any_mechanism_that_serves_a_need(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    PEOPLE.head(200).write_csv(tmp_path / "people.csv")
    words = ["anonymize", str(tmp_path / "people.csv"), "--key", "age", "--sensitive", "occupation"]
    needs = ["--need", "income: income-per-year given age"]
    assert run([*words, *needs, "--mechanism", "any", "--out", str(tmp_path / "any.csv")]) == 0
    assert pl.read_csv(tmp_path / "any.csv").height == 200
    assert run([*words, *needs, "--k", "2"]) == 2
    assert run([*words, *needs, "--mechanism", "any", "--k", "2"]) == 2
    front = ["front", *words[1:], *needs, "--mechanisms"]
    assert run([*front, "--suppression", "0.1"]) == 2
    assert "has no meaning" in capsys.readouterr().err


def test_a_column_whose_name_is_a_pattern_is_read_by_its_name() -> None:
    people = pl.DataFrame({"^a.*$": [value % 4 for value in range(40)], "b": [value % 3 for value in range(40)]})
    plain, odd = (
        unveil.compose(
            people.rename({"^a.*$": name}),
            [name],
            unveil.Need("b", target="b", given=[name]),
            sensitive="b",
            seed=1,
            time_limit=60,
        )
        for name in ("a", "^a.*$")
    )
    assert [one.figures and one.figures.identity for one in odd.tried] == [
        one.figures and one.figures.identity for one in plain.tried
    ]
