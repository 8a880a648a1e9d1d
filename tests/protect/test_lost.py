"""A release of which nothing is left says so, and what Mondrian would keep is what Mondrian keeps."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import unveil
from unveil.cli import run
from unveil.models import DistinctLDiversity, KAnonymity, KMap
from unveil.testing import tables

KEYS = ["age", "state", "sex"]


def staff(records: int = 240) -> pl.DataFrame:
    """Ages and states of which each combination is rare, so that one level for all costs them whole."""
    draw = np.random.default_rng(3)
    return pl.DataFrame(
        {
            "age": draw.integers(20, 66, records),
            "state": draw.choice(["MA", "CT", "TX", "VT", "NY"], records, p=[0.8, 0.05, 0.05, 0.05, 0.05]),
            "sex": draw.choice(["f", "m"], records),
            "pay": draw.choice(["low", "middle", "high"], records),
        }
    )


def gone_from(before: pl.DataFrame, release: Any, keys: list[str]) -> set[str]:
    """Return the attributes of which the records that are not suppressed have one value, though the data has several."""
    starred = pl.all_horizontal(pl.col(keys).cast(pl.String) == "*")
    left = release.data.filter(~starred) if release.suppressed else release.data
    return {name for name in keys if left[name].n_unique() == 1 and before[name].n_unique() > 1}


@pytest.mark.parametrize("models", [[KAnonymity(12)], [KAnonymity(6), DistinctLDiversity("pay", 3)]], ids=["k", "k and l"])
def test_what_mondrian_would_keep_is_what_it_keeps(models: list[Any]) -> None:
    people = staff()
    release = unveil.anonymize(people, KEYS, models)
    finer = unveil.mondrian(people, KEYS, models)
    assert set(release.lost) == gone_from(people, release, KEYS) != set()
    assert dict(release.lost) == {name: finer.data[name].n_unique() for name in release.lost}
    assert max(release.lost.values()) > 1
    (note,) = [note for note in release.notes if "gone" in note]
    for name, groups in release.lost.items():
        assert groups == 1 or f"{groups} groups of {name}" in note
    assert "--" not in note


@given(tables(columns=2, nulls=False), st.integers(2, 4), st.sampled_from([0.0, 0.5]))
def test_lost_is_what_the_records_show(frame: pl.DataFrame, k: int, share: float) -> None:
    assume(frame.height >= k)
    release = unveil.anonymize(frame, ["a", "b"], [KAnonymity(k)], suppression=share)
    assert set(release.lost) == gone_from(frame, release, ["a", "b"])


def test_a_release_that_keeps_something_of_each_says_nothing() -> None:
    release = unveil.anonymize(staff(), ["sex", "pay"], [KAnonymity(5)])
    assert release.lost == {}
    assert not any("gone" in note for note in release.notes)
    assert release.to_dict()["lost"] == {}


def test_where_mondrian_keeps_no_more_it_is_said() -> None:
    people = staff()
    release = unveil.anonymize(people, "sex", [KAnonymity(people.height)])
    assert release.lost == {"sex": 1}
    assert any("Mondrian would keep no more of it" in note for note in release.notes)


def test_a_population_is_nothing_for_mondrian() -> None:
    people = staff()
    release = unveil.anonymize(people, "sex", [KMap(people.height)], population=people)
    assert release.lost == {"sex": 1}


def test_a_large_table_is_not_tried() -> None:
    people = staff(200_001)
    release = unveil.anonymize(people, ["sex", "state"], [KAnonymity(people.height)], keep_order=True)
    assert release.lost == {"sex": None, "state": None}
    assert any("may keep more" in note for note in release.notes)


def test_the_command_that_is_named_does_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    staff().write_csv("staff file.csv")
    asked = ["anonymize", "staff file.csv", *(word for name in KEYS for word in ("--key", name)), "--k", "12", "--out", "r.csv"]
    assert run([*asked, "--json"]) == 0
    shown = capsys.readouterr()
    lost = json.loads(shown.out)["lost"]
    (hint,) = [line for line in shown.err.splitlines() if line.startswith("To keep more of ")]
    program, *words = shlex.split(hint.partition(": ")[2])
    assert program == "unveil"
    assert run(words) == 0
    made = pl.read_csv("r.csv", infer_schema=False)
    assert {name: made[name].n_unique() for name in lost} == lost
