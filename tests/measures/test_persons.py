"""Figures that count persons, against slow versions written from the definitions, and the laws that tie them to records."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import unveil
from unveil.errors import ArgumentError, NullsError
from unveil.measures.unnamed import unique_by

ROW = st.tuples(
    st.sampled_from("abc"), st.sampled_from([1, 2, None]), st.sampled_from("fgh"), st.integers(0, 5), st.integers(0, 2)
)
ROWS = st.lists(ROW, min_size=1, max_size=24)
KEY = ["town", "age"]


def table(rows: list[tuple[Any, ...]]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "town": [row[0] for row in rows],
            "age": pl.Series([row[1] for row in rows], dtype=pl.Int64),
            "disease": [row[2] for row in rows],
            "who": [f"p{row[3]}" for row in rows],
            "home": [row[4] for row in rows],
        }
    )


def classes_of(frame: pl.DataFrame, owner: str) -> dict[tuple[Any, ...], set[Any]]:
    """Return who is in each class."""
    found: dict[tuple[Any, ...], set[Any]] = defaultdict(set)
    for row in frame.select(*KEY, owner).iter_rows():
        found[row[:-1]].add(row[-1])
    return found


def risk_of(frame: pl.DataFrame) -> dict[Any, float]:
    """Return the risk of every person: one over the persons in the smallest of their classes."""
    risk: dict[Any, float] = defaultdict(float)
    for members in classes_of(frame, "who").values():
        for who in members:
            risk[who] = max(risk[who], 1 / len(members))
    return risk


@given(ROWS)
def test_k_uniques_and_risks_are_those_of_the_definition(rows: list[tuple[Any, ...]]) -> None:
    frame = table(rows)
    found = unveil.measure(frame, KEY, "disease", person="who")
    classes, risk = classes_of(frame, "who"), risk_of(frame)
    alone = {who for members in classes.values() if len(members) == 1 for who in members}
    assert found["k_anonymity"].value == min(map(len, classes.values()))
    assert found.persons == len(risk)
    sample = found.uniqueness["sample"]
    assert (sample["uniques"], sample["share"]) == (len(alone), len(alone) / len(risk))
    prosecutor = found.risk["prosecutor"]
    assert prosecutor["highest"] == max(risk.values())
    assert prosecutor["average"] == pytest.approx(sum(risk.values()) / len(risk))
    assert prosecutor["records_above_threshold"] == sum(one > 0.2 + 1e-12 for one in risk.values()) / len(risk)
    assert found["average_risk"].value == pytest.approx(prosecutor["average"])


@given(ROWS)
def test_with_one_record_each_persons_are_records(rows: list[tuple[Any, ...]]) -> None:
    frame = table(rows).with_columns(who=pl.int_range(pl.len()))
    by_person = unveil.measure(frame, KEY, "disease", person="who", special=True).to_dict()
    by_record = unveil.measure(frame, KEY, "disease", special=True).to_dict()
    for part in ("classes", "suppressed", "models", "risk", "uniqueness", "vulnerability", "records"):
        assert by_person[part] == by_record[part], part


@given(ROWS)
def test_a_class_has_no_more_persons_than_records(rows: list[tuple[Any, ...]]) -> None:
    frame = table(rows)
    by_person, by_record = unveil.measure(frame, KEY, person="who"), unveil.measure(frame, KEY)
    assert (by_person["k_anonymity"].value or 0) <= (by_record["k_anonymity"].value or 0)
    assert by_person.risk["prosecutor"]["highest"] >= by_record.risk["prosecutor"]["highest"]


@given(ROWS)
def test_a_null_that_matches_anything_brings_everyone_who_fits(rows: list[tuple[Any, ...]]) -> None:
    frame = table(rows)
    found = unveil.measure(frame, KEY, person="who", nulls="wildcard")
    held = classes_of(frame, "who")

    def fits(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
        return all(a is None or b is None or a == b for a, b in zip(one, other, strict=True))

    sizes = {key: len(set().union(*(members for other, members in held.items() if fits(key, other)))) for key in held}
    alone = {who for key, members in held.items() if sizes[key] == 1 for who in members}
    assert found["k_anonymity"].value == min(sizes.values())
    assert found.uniqueness["sample"]["uniques"] == len(alone)


@given(ROWS, ROWS)
def test_the_journalist_counts_the_persons_of_the_population(sample: list[tuple[Any, ...]], rest: list[tuple[Any, ...]]) -> None:
    part, whole = table(sample), table([*sample, *rest])
    found = unveil.measure(part, KEY, person="who", population=whole).to_dict()
    mine, everyone = classes_of(part, "who"), classes_of(whole, "who")
    risk: dict[Any, float] = defaultdict(float)
    for key, members in mine.items():
        for who in members:
            risk[who] = max(risk[who], 1 / len(everyone[key]))
    assert found["risk"]["journalist"]["average"] == pytest.approx(sum(risk.values()) / len(risk))
    assert found["models"]["k_map"]["value"] == min(len(everyone[key]) for key in mine)


@given(ROWS)
def test_household_risk_and_k_for_households(rows: list[tuple[Any, ...]]) -> None:
    frame = table(rows)
    found = unveil.measure(frame, KEY, person="who", household="home").risk["household"]
    risk = risk_of(frame)
    homes: dict[Any, set[Any]] = defaultdict(set)
    signature: dict[Any, set[Any]] = defaultdict(set)
    for *key, who, home in frame.select(*KEY, "who", "home").iter_rows():
        homes[home].add(who)
        signature[home].add((*key, who))
    alike: dict[Any, int] = defaultdict(int)
    kinds = {home: tuple(sorted(repr(one[:-1]) for one in held)) for home, held in signature.items()}
    for kind in kinds.values():
        alike[kind] += 1
    chances = {}
    for home, members in homes.items():
        safe = 1.0
        for who in members:
            safe *= 1 - risk[who]
        chances[home] = 1 - safe
    assert found["households"] == len(homes)
    assert found["highest"] == pytest.approx(max(chances.values()))
    assert found["expected"] == pytest.approx(sum(chances[home] * len(members) for home, members in homes.items()))
    assert found["k"] == min(map(len, classes_of(frame, "home").values()))
    assert found["k_whole"] == min(alike.values()) <= found["k"]
    assert found["unique_households"] == sum(alike[kind] == 1 for kind in kinds.values())


@given(ROWS)
@example([("a", 1, "f", 0, 0), ("a", 1, "f", 1, 1), ("a", 1, "f", 2, 1)])
def test_households_of_records_are_alike_by_how_many_hold_what(rows: list[tuple[Any, ...]]) -> None:
    frame = table(rows)
    held: dict[Any, list[str]] = defaultdict(list)
    for *key, home in frame.select(*KEY, "home").iter_rows():
        held[home].append(repr(key))
    kinds = Counter(tuple(sorted(keys)) for keys in held.values())
    found = unveil.measure(frame, KEY, household="home").risk["household"]
    assert (found["k_whole"], found["unique_households"]) == (min(kinds.values()), sum(n == 1 for n in kinds.values()))


def test_a_person_counts_as_the_best_of_their_records_that_match() -> None:
    frame = pl.DataFrame({"a": ["x", "x", None, None], "b": ["u", "u", "u", "u"], "who": [1, 2, 2, 3]})
    found = unveil.measure(frame, ["a", "b"], person="who", nulls="wildcard", alpha=0.25)
    assert found["k_anonymity"].value == 2.25  # of x: 1 and 2 by their own records, 3 by a null; 2 counts once


@given(ROWS)
def test_who_a_combination_belongs_to_alone(rows: list[tuple[Any, ...]]) -> None:
    frame = table(rows)
    alone = {who for members in classes_of(frame, "who").values() if len(members) == 1 for who in members}
    assert unique_by(unveil.Study(frame), KEY, "who") == (len(alone), frame["who"].n_unique())


def test_records_without_any_key_value_form_no_class() -> None:
    frame = pl.DataFrame({"a": ["x", "x", "*", "*"], "who": [1, 2, 1, 3]})
    found = unveil.measure(frame, "a", person="who")
    assert (found["k_anonymity"].value, found.persons, found.suppressed) == (2, 2, 2)


def test_a_person_with_several_records_in_a_class_is_alone_there() -> None:
    frame = pl.DataFrame({"a": ["x"] * 5 + ["y", "y"], "who": [1] * 5 + [2, 3]})
    found = unveil.measure(frame, "a", person="who", models=[unveil.models.KAnonymity(2)])
    assert (found["k_anonymity"].value, found.uniqueness["sample"]["uniques"], found.met) == (1, 1, False)
    assert found["k_anonymity"].violating_records == 5


def test_partitions_are_applied_before_persons_are_counted() -> None:
    frame = pl.DataFrame({"a": ["x", "y", "z"], "who": [1, 1, 2]})
    found = unveil.measure(frame, "a", person="who", partitions={"a": [["x", "y"], ["z"]]})
    assert (found.classes, found["k_anonymity"].value) == (2, 1)
    assert unveil.measure(frame, "a", person="who", partitions={"a": [["x", "y", "z"]]})["k_anonymity"].value == 2


@pytest.mark.parametrize("role", ["person", "household"])
def test_a_record_of_nobody_is_refused_or_dropped(role: str) -> None:
    frame = pl.DataFrame({"a": ["x", "x", "y"], "who": [1, None, 2]})
    said: dict[str, Any] = {role: "who"}
    with pytest.raises(NullsError, match="1 of 3 records have a null there"):
        unveil.measure(frame, "a", **said)
    found = unveil.measure(frame, "a", nulls="drop", **said)
    assert (found.made.records, found.made.dropped) == (2, 1)


def test_a_column_has_one_role() -> None:
    frame = pl.DataFrame({"a": ["x", "y"], "b": [1, 2]})
    with pytest.raises(ArgumentError, match="as key and as person"):
        unveil.measure(frame, ["a", "b"], person="b")
    with pytest.raises(ArgumentError, match="as person and as household"):
        unveil.measure(frame, "a", person="b", household="b")


@given(ROWS)
def test_the_gate_counts_persons_as_measure_does(rows: list[tuple[Any, ...]]) -> None:
    frame = table(rows)
    rules = {"k_anonymity": 2, "sample_uniqueness": 0.1, "prosecutor_average": 0.5, "certain_disclosure": 0.5}
    verdict = unveil.check(frame, rules, key=KEY, sensitive="disease", person="who", keep=["who", "home"])
    figures = {outcome.rule.name: outcome.value for outcome in verdict.outcomes}
    found = unveil.measure(frame, KEY, "disease", person="who")
    assert figures["k_anonymity"] == found["k_anonymity"].value
    assert figures["sample_uniqueness"] == found.uniqueness["sample"]["share"]
    assert figures["prosecutor_average"] == found.risk["prosecutor"]["average"]
    certain = set()
    for key in classes_of(frame, "who"):
        held = frame.filter(pl.all_horizontal(pl.col(name).eq_missing(value) for name, value in zip(KEY, key, strict=True)))
        certain |= set(held["who"]) if held["disease"].n_unique() == 1 else set()
    assert figures["certain_disclosure"] == len(certain) / frame["who"].n_unique()


def test_an_assessment_counts_persons_throughout() -> None:
    rows = [
        ("a", 1, "f", 0, 0),
        ("a", 1, "f", 0, 0),
        ("a", 1, "g", 1, 0),
        ("b", 2, "g", 2, 1),
        ("b", 2, "f", 2, 1),
        ("b", 1, "h", 3, 1),
    ]
    found = unveil.assess(table(rows), KEY, "disease", person="who")
    assert repr(found).startswith("Assessment(the data frame: k = 1, 2 of 4 people unique")
    assert sum(found.class_sizes.records) == 4
    assert {one.name: (one.uniques, one.k) for one in found.without} == {"town": (1, 1), "age": (0, 2)}
    assert "2 of the 4 people (50.0%)" in found.view().lead
    told = {step.run.split()[1]: (step.run, step.python) for step in found.advice}
    assert "--person who" in told["anonymize"][0]
    assert "unveil.Study(data, person='who')" in told["anonymize"][1]


def test_sentences_say_records_where_nobody_is_told_apart() -> None:
    frame = table([("a", 1, "f", 0, 0), ("b", 2, "g", 1, 1)])
    told = unveil.assess(frame, KEY, "disease").view().lead
    assert "2 of the 2 records" in told
    assert "people" not in told


def test_the_rate_says_that_it_is_of_records() -> None:
    frame = table([("a", 1, "f", 0, 0), ("a", 1, "g", 0, 0), ("b", 2, "g", 1, 1)])
    for ask in (unveil.discrimination_rate, unveil.scan):
        told = ask(unveil.Study(frame, KEY, person="who"))
        assert any("entropy of records" in note for note in told.view().notes)
        assert told.made.person == "who"
        plain = ask(unveil.Study(frame, KEY))
        assert not any("persons" in note for note in plain.view().notes)


def test_an_engine_sends_no_ids(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    import duckdb

    rows = [("a", 1, "f", 0, 0), ("a", 1, "f", 0, 0), ("a", 1, "g", 1, 0), ("b", 2, "g", 2, 1), ("b", None, "h", 3, 1)]
    frame, place = table(rows), tmp_path / "people.duckdb"
    with duckdb.connect(str(place)) as connection:
        connection.register("frame", frame.to_arrow())
        connection.execute("CREATE TABLE people AS SELECT * FROM frame")
    address = f"duckdb://{place}?table=people"
    said: dict[str, Any] = {"person": "who", "household": "home"}
    with caplog.at_level(logging.DEBUG, "unveil.engines"):
        found = unveil.measure(address, KEY, "disease", **said)
        unveil.check(address, {"k_anonymity": 2}, key=KEY, person="who", keep=["who"])
    asked = [record.getMessage() for record in caplog.records if "who" in record.getMessage()]
    assert asked
    assert all("dense_rank" in statement for statement in asked)
    assert found.to_dict()["risk"] == unveil.measure(frame, KEY, "disease", **said).to_dict()["risk"]
