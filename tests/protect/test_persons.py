"""Releases that hold k persons in every class, not just k records."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unveil
from unveil.cli import run
from unveil.errors import ArgumentError, ModelNotMetError, NullsError
from unveil.models import AlphaK, AverageRisk, KAnonymity, NoAttack, PSensitiveKAnonymity, SampleUniques

KEY = ["age", "town"]
ROW = st.tuples(st.integers(20, 29), st.sampled_from("abc"), st.integers(0, 6), st.sampled_from("fgh"))
ROWS = st.lists(ROW, min_size=4, max_size=30)
SEARCHES: dict[str, Callable[..., Any]] = {
    "anonymize": lambda study, models: unveil.anonymize(study, KEY, models, suppression=0.1, keep_order=True),
    "mondrian": lambda study, models: unveil.mondrian(study, KEY, models, keep_order=True),
    "subtrees": lambda study, models: unveil.generalize_subtrees(study, KEY, models, keep_order=True),
    "local recoding": lambda study, models: unveil.recode_locally(study, KEY, models, keep_order=True),
}


def visits(rows: list[tuple[Any, ...]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["age", "town", "who", "disease"], orient="row")


def persons_in(release: Any, frame: pl.DataFrame) -> list[int]:
    """Count the persons of each class of a release, by the rows that its records were made from; what is suppressed is none."""
    held: dict[Any, set[Any]] = defaultdict(set)
    for key, row in zip(release.data.select(KEY).iter_rows(), release.origin.tolist(), strict=True):
        if not all(cell is None or cell == "*" for cell in key):
            held[key].add(frame["who"][row])
    return [len(members) for members in held.values()]


@pytest.mark.parametrize("search", SEARCHES)
@settings(max_examples=20)
@given(rows=ROWS)
def test_every_class_has_k_persons(search: str, rows: list[tuple[Any, ...]]) -> None:
    frame = visits(rows)
    study = unveil.Study(frame, KEY, person="who")
    try:
        release = SEARCHES[search](study, [KAnonymity(3)])
    except ModelNotMetError:
        assert frame["who"].n_unique() < 3
        return
    assert min(persons_in(release, frame), default=3) >= 3
    assert "who" not in release.data.columns
    assert release.settings["models"] == ["k_anonymity >= 3", "k_anonymity >= 3 persons"]
    assert release.settings["sensitive"] == []


@pytest.mark.parametrize("search", [name for name in SEARCHES if name != "local recoding"])  # which draws among equal records
@settings(max_examples=15)
@given(rows=ROWS)
def test_with_one_record_each_nothing_changes(search: str, rows: list[tuple[Any, ...]]) -> None:
    frame = visits([(age, town, at, disease) for at, (age, town, _, disease) in enumerate(rows)])
    by_person = SEARCHES[search](unveil.Study(frame, KEY, person="who"), [KAnonymity(2)])
    by_record = SEARCHES[search](unveil.Study(frame, KEY, identifiers="who"), [KAnonymity(2)])
    assert by_person.data.select(KEY).equals(by_record.data.select(KEY))
    assert by_person.score == by_record.score


@pytest.mark.parametrize("model", [PSensitiveKAnonymity("disease", 2, 3), AlphaK("disease", 0.9, 3), NoAttack(2, 1)])
def test_the_k_of_other_models_is_one_of_persons_too(model: Any) -> None:
    frame = visits([(20 + at % 5, "ab"[at % 2], at // 3, "fgh"[at % 3]) for at in range(30)])
    release = unveil.anonymize(unveil.Study(frame, KEY, "disease", person="who"), KEY, [model], keep_order=True)
    assert min(persons_in(release, frame)) >= 3
    assert "disease" in release.data.columns or model.sensitive is None


def test_the_record_says_k_in_persons_and_persons_may_be_kept() -> None:
    frame = visits([(20 + at % 5, "ab"[at % 2], at // 3, "fgh"[at % 3]) for at in range(30)])
    release = unveil.anonymize(unveil.Study(frame, KEY, person="who", keep="who"), KEY, [KAnonymity(3)])
    said = {one["model"]: (one["requirement"], one["met"]) for one in release.record["models"]}
    assert said["k_anonymity_in_persons"] == ("k_anonymity >= 3 persons", True)
    assert "who" in release.data.columns


def test_a_front_meets_k_in_persons() -> None:
    frame = visits([(20 + at % 5, "ab"[at % 2], at // 4, "fgh"[at % 3]) for at in range(40)])
    need = unveil.Need("planning", target="disease", given=["age"])
    study = unveil.Study(frame, KEY, "disease", person="who")
    front = unveil.anonymize_front(study, KEY, need, sensitive="disease", models=[KAnonymity(3)], keep_order=True)
    assert min(persons_in(front.chosen, frame), default=3) >= 3
    assert "who" not in front.chosen.data.columns
    with pytest.raises(ModelNotMetError, match="k_anonymity >= 11 persons"):
        unveil.anonymize_front(study, KEY, need, sensitive="disease", models=[KAnonymity(11)])


def test_what_cannot_be_met_in_persons_is_refused() -> None:
    frame = visits([(20, "a", 0, "f")] * 5 + [(21, "b", 1, "g")] * 5)
    study = unveil.Study(frame, KEY, person="who")
    with pytest.raises(ModelNotMetError, match="k_anonymity >= 3 persons"):
        unveil.anonymize(study, KEY, [KAnonymity(3)])
    for model in (AverageRisk(0.5), SampleUniques(0.1)):
        with pytest.raises(ArgumentError, match=f"{model.name} counts records"):
            unveil.anonymize(study, KEY, [model])
    with pytest.raises(ArgumentError, match="local suppression counts records"):
        unveil.suppress_locally(study, KEY, k=2)
    with pytest.raises(ArgumentError, match="as identifier and as person"):
        unveil.anonymize(study, KEY, [KAnonymity(2)], identifiers="who")
    lost = frame.with_columns(who=pl.when(pl.int_range(pl.len()) > 0).then(pl.col("who")))
    with pytest.raises(NullsError, match="1 of 10 records have a null"):
        unveil.anonymize(unveil.Study(lost, KEY, person="who"), KEY, [KAnonymity(1)])


def test_a_table_in_an_engine_comes_here(tmp_path: Path) -> None:
    import duckdb

    frame = visits([(20 + at % 5, "ab"[at % 2], at // 3, "fgh"[at % 3]) for at in range(30)])
    place = tmp_path / "visits.duckdb"
    with duckdb.connect(str(place)) as connection:
        connection.register("frame", frame.to_arrow())
        connection.execute("CREATE TABLE visits AS SELECT * FROM frame")
    study = unveil.Study(f"duckdb://{place}?table=visits", KEY, person="who")
    release = unveil.anonymize(study, KEY, [KAnonymity(3)], out=tmp_path / "release.csv", keep_order=True)
    assert min(persons_in(release, frame)) >= 3
    with pytest.raises(ArgumentError, match="as persons, pseudonyms"):
        unveil.anonymize(study, KEY, [KAnonymity(3)], out=f"duckdb://{place}?table=release")


def test_the_command_makes_a_release_of_k_persons(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    visits([(20 + at % 5, "ab"[at % 2], at // 3, "fgh"[at % 3]) for at in range(30)]).write_csv(tmp_path / "visits.csv")
    words = ["anonymize", str(tmp_path / "visits.csv"), "--key", "age", "--key", "town", "--k", "3", "--person", "who"]
    assert run([*words, "--out", str(tmp_path / "release.csv")]) == 0
    assert "k_anonymity >= 3 persons" in " ".join(capsys.readouterr().out.split())
    assert "who" not in pl.read_csv(tmp_path / "release.csv").columns
    record = json.loads((tmp_path / "release.csv.unveil.json").read_text())
    assert "k_anonymity >= 3 persons" in json.dumps(record)
