"""Attacks that count persons, against slow versions written from the definitions."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unveil
from unveil.attacks.linkage.distance import distance_linkage
from unveil.attacks.linkage.probabilistic import probabilistic_linkage
from unveil.cli import run
from unveil.errors import ColumnNotFoundError

ROW = st.tuples(st.integers(0, 3), st.integers(0, 2), st.sampled_from("fg"), st.integers(0, 4))
ROWS = st.lists(ROW, min_size=2, max_size=16)


def tables(rows: list[tuple[Any, ...]]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return visits and a release of them, in the same order, in which the first attribute is coarser."""
    frame = pl.DataFrame(rows, schema=["a", "b", "d", "who"], orient="row")
    return frame, frame.drop("who").with_columns(a=pl.col("a") // 2 * 2)


def attacked(rows: list[tuple[Any, ...]], **said: Any) -> dict[str, Any]:
    original, release = tables(rows)
    return unveil.attack(original, release, ["a", "b"], "d", same_order=True, **said).to_dict()


def chance_of_person(original: np.ndarray, release: np.ndarray, whose: list[int], truth: list[int]) -> float:
    """Return the mean over persons of the best chance that a record of theirs is among the nearest to a release record."""
    best: dict[Any, float] = defaultdict(float)
    for row, true in enumerate(truth):
        label = ("nobody", row) if true < 0 else whose[true]
        distance = ((original - release[row]) ** 2).sum(axis=1) ** 0.5
        nearest = [at for at in range(len(original)) if distance[at] <= distance.min() + 1e-9 * distance.min() + 1e-12]
        mine = [at for at in nearest if true >= 0 and whose[at] == whose[true]]
        best[label] = max(best[label], len(mine) / len(nearest))
    return sum(best.values()) / len(best)


@given(ROWS, st.data())
def test_a_person_is_linked_by_the_best_linked_of_their_records(rows: list[tuple[Any, ...]], data: st.DataObject) -> None:
    original = np.array([[row[0], 2 * row[1]] for row in rows], dtype=float)
    if (original == original[0]).all(axis=0).any():
        return  # a constant attribute has no unit
    whose = [row[3] for row in rows]
    truth = data.draw(st.lists(st.integers(-1, len(rows) - 1), min_size=1, max_size=8))
    release = np.array([original[max(true, 0)] + data.draw(st.sampled_from([0.0, 1.0])) for true in truth])
    found = distance_linkage(original, release, truth, persons=whose).by_person
    scaled = [(table - original.mean(axis=0)) / original.std(axis=0) for table in (original, release)]
    assert found is not None
    assert found.value == pytest.approx(chance_of_person(scaled[0], scaled[1], whose, truth))
    held = {whose[true] for true in truth if true >= 0}
    guesses = sum(whose.count(one) for one in held) / len(rows)
    assert found.persons == len(held) + truth.count(-1)
    assert found.baseline == pytest.approx(guesses / found.persons)


@settings(max_examples=20)
@given(ROWS)
def test_with_one_record_each_persons_are_records(rows: list[tuple[Any, ...]]) -> None:
    alone = [(*row[:3], at) for at, row in enumerate(rows)]
    by_person, by_record = attacked(alone, person="who"), attacked(alone)
    for name in ("homogeneity", "background", "skewness", "identity", "linkage", "global"):
        assert without_persons(by_person[name]) == by_record[name], name


def without_persons(answer: Any) -> Any:
    """Return an answer without what is said of persons besides."""
    if isinstance(answer, dict):
        return {name: without_persons(value) for name, value in answer.items() if name not in ("persons", "of_records")}
    return [without_persons(one) for one in answer] if isinstance(answer, list) else answer


@given(ROWS)
def test_who_is_unique_disclosed_and_covered(rows: list[tuple[Any, ...]]) -> None:
    found = attacked(rows, person="who", link_records=False)
    held: dict[Any, set[int]] = defaultdict(set)
    secrets: dict[Any, set[str]] = defaultdict(set)
    for a, b, d, who in rows:
        held[a // 2, b].add(who)
        secrets[a // 2, b].add(d)
    everyone = {row[3] for row in rows}
    alone = {who for members in held.values() if len(members) == 1 for who in members}
    certain = {who for key, members in held.items() if len(secrets[key]) == 1 for who in members}
    risk = {who: max(1 / len(members) for members in held.values() if who in members) for who in everyone}
    black, told = found["identity"]["black_box"], found["homogeneity"]["by_sensitive"]["d"]["certain"]
    assert (black["uniques"], black["share_unique"]) == (len(alone), len(alone) / len(everyone))
    assert black["expected_matches"] == pytest.approx(sum(risk.values()) / len(everyone))
    assert (told["persons"], told["share"]) == (len(certain), len(certain) / len(everyone))
    assert told["records"] == sum(len(secrets[row[0] // 2, row[1]]) == 1 for row in rows)
    exact = {key: {who for a, b, _, who in rows if (a // 2 * 2, b) == key} for key in {(row[0], row[1]) for row in rows}}
    covers = [len(members) for members in exact.values() if members]
    assert found["identity"]["known"]["k_known"] == (min(covers) if covers else None)


def test_intervals_cover_persons() -> None:
    original = pl.DataFrame({"age": [21, 22, 23, 34, 35], "who": [1, 1, 2, 3, 3]})
    release = pl.DataFrame({"age": ["20-29", "20-29", "*", "30-39", "30-39"]})
    known = unveil.attack(original, release, "age", same_order=True, person="who", link_records=False).identity["known"]
    assert known["k_known"] == 2  # 21 fits the records of 1 and the suppressed one of 2; 34 fits those of 3 and of 2
    by_record = unveil.attack(original, release, "age", same_order=True, link_records=False).identity["known"]
    assert by_record["k_known"] == 3


@given(ROWS)
def test_agreement_links_persons(rows: list[tuple[Any, ...]]) -> None:
    codes = [np.array([row[at] for row in rows]) for at in (0, 1)]
    truth, whose = np.arange(len(rows)), [row[3] for row in rows]
    found = probabilistic_linkage(codes, codes, truth, persons=whose)
    alone = probabilistic_linkage(codes, codes, truth, persons=truth)
    assert found.by_person is not None
    assert alone.by_person is not None
    assert alone.by_person.value == found.linked
    same = [{other for other in range(len(rows)) if rows[other][:2] == rows[row][:2]} for row in range(len(rows))]
    if found.linked == pytest.approx(sum(1 / len(one) for one in same) / len(rows)):  # equal records are the best matches
        best: dict[int, float] = defaultdict(float)
        for row, alike in enumerate(same):
            best[whose[row]] = max(best[whose[row]], sum(whose[one] == whose[row] for one in alike) / len(alike))
        assert found.by_person.value == pytest.approx(sum(best.values()) / len(best))


def test_the_command_tells_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [(0, 0, "f", 0), (0, 0, "f", 0), (1, 0, "g", 1), (2, 1, "f", 2), (3, 1, "g", 3)]
    original, release = tables(rows)
    original.write_csv(tmp_path / "visits.csv")
    release.write_csv(tmp_path / "release.csv")
    words = [
        "attack",
        str(tmp_path / "visits.csv"),
        str(tmp_path / "release.csv"),
        "--key",
        "a",
        "--key",
        "b",
        "--sensitive",
        "d",
    ]
    assert run([*words, "--same-order", "--person", "who"]) == 0
    told = capsys.readouterr().out
    assert "0.00% of all people" in told
    assert "people whose release records fit it" in " ".join(told.split())
    assert run([*words, "--same-order"]) == 0
    assert "people" not in capsys.readouterr().out
    assert run([*words, "--same-order", "--person", "who", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["made"]["person"] == "who"
    assert answer["linkage"]["euclidean"]["persons"] == 4
    assert answer["linkage"]["euclidean"]["of_records"]["linked"] == answer["linkage"]["euclidean"]["value"]


def test_the_gate_counts_persons_through_the_original(tmp_path: Path) -> None:
    rows = [(0, 0, "f", 0), (0, 0, "f", 0), (1, 0, "g", 0), (2, 1, "f", 2), (3, 1, "g", 3)]
    original, release = tables(rows)
    original.write_csv(tmp_path / "visits.csv")
    roles = {"a": "key", "b": "key", "d": "sensitive", "who": "person"}
    text = 'data.path = "visits.csv"\n' + "".join(f'attributes.{name}.role = "{role}"\n' for name, role in roles.items())
    (tmp_path / "unveil.toml").write_text(text)
    said: dict[str, Any] = {"project": unveil.Project.read(tmp_path / "unveil.toml")}
    alone = unveil.check(release, {"k_anonymity": 2}, **said)
    assert alone.outcomes[0].value == 2
    assert any("does not have who" in note for note in alone.notes)
    beside = unveil.check(release, {"k_anonymity": 2}, original=tmp_path / "visits.csv", same_order=True, **said)
    assert beside.outcomes[0].value == 1
    assert not any("does not have who" in note for note in beside.notes)
    named: dict[str, Any] = {"key": ["a", "b"], "sensitive": "d", "person": "who"}
    asked = unveil.check(release, {"k_anonymity": 2}, original=original, same_order=True, **named)
    assert asked.outcomes[0].value == 1
    with pytest.raises(ColumnNotFoundError, match="also give the original"):
        unveil.check(release, {"k_anonymity": 2}, **named)


def test_the_command_checks_a_release_in_persons(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [(0, 0, "f", 0), (0, 0, "f", 0), (1, 0, "g", 0), (2, 1, "f", 2), (3, 1, "g", 3)]
    original, release = tables(rows)
    original.write_csv(tmp_path / "visits.csv")
    release.write_csv(tmp_path / "release.csv")
    (tmp_path / "policy.toml").write_text("k_anonymity = 2\n")
    words = ["check", str(tmp_path / "release.csv"), "--policy", str(tmp_path / "policy.toml"), "--key", "a", "--key", "b"]
    assert run(words) == 0
    capsys.readouterr()
    assert run([*words, "--person", "who"]) == 2
    assert "also give the original" in capsys.readouterr().err
    assert run([*words, "--person", "who", "--original", str(tmp_path / "visits.csv"), "--same-order"]) == 1
