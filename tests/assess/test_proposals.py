"""Roles are proposed from names and values: whose record it is, what is secret, what says the same, what stands for nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unveil
from unveil.assess.absent import missing_codes
from unveil.assess.alike import _both_ways, _may_agree, alike_columns
from unveil.assess.marks import sensitive_mark
from unveil.assess.persons import household_column, person_column
from unveil.counts.guessing import best_guess
from unveil.errors import ArgumentError
from unveil.sources import load
from unveil.study import CodedColumns


def coded(frame: pl.DataFrame) -> CodedColumns:
    return CodedColumns({column.name: column for column in load(frame, frame.columns).columns})


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(1, 5)), min_size=1))
def test_the_best_guess_is_the_most_frequent_value(cells: list[tuple[int, int, int]]) -> None:
    by, of, n = (np.array(column) for column in zip(*cells, strict=True))
    guess, right = best_guess(by, of, 4, n)
    held = {(a, b): sum(m for x, y, m in cells if (x, y) == (a, b)) for a in range(5) for b in range(4)}
    assert right == sum(max(held[a, b] for b in range(4)) for a in range(5))
    assert all(held[a, int(guess[a])] == max(held[a, b] for b in range(4)) for a in {*by.tolist()})


@pytest.mark.parametrize(
    ("name", "about", "law"),
    [
        ("RaceDesc", "ethnic origin", "GDPR article 9"),
        ("origine_ethnique", "ethnic origin", "GDPR article 9"),
        ("Partei", "political opinions", "GDPR article 9"),
        ("intención de voto", "political opinions", "GDPR article 9"),
        ("Konfession", "religion or belief", "GDPR article 9"),
        ("trade_union", "union membership", "GDPR article 9"),
        ("Gewerkschaft", "union membership", "GDPR article 9"),
        ("genotype", "genetic data", "GDPR article 9"),
        ("empreinte digitale", "biometric data", "GDPR article 9"),
        ("Diagnosis", "health", "GDPR article 9"),
        ("enfermedad", "health", "GDPR article 9"),
        ("état de santé", "health", "GDPR article 9"),
        ("sexual_orientation", "sex life or sexual orientation", "GDPR article 9"),
        ("casier judiciaire", "criminal convictions", "GDPR article 10"),
        ("Vorstrafen", "criminal convictions", "GDPR article 10"),
        ("Salary", "money", "outside the GDPR's lists"),
        ("Gehalt", "money", "outside the GDPR's lists"),
        ("TermReason", "end of employment", "outside the GDPR's lists"),
        ("motivo de baja", "end of employment", "outside the GDPR's lists"),
        ("PerformanceScore", "results and appraisals", "outside the GDPR's lists"),
    ],
)
def test_names_mark_what_is_sensitive(name: str, about: str, law: str) -> None:
    mark = sensitive_mark(name, [])
    assert mark is not None
    assert (mark.about, mark.law) == (about, law)
    assert mark.sure is (about != "ethnic origin")


@pytest.mark.parametrize("name", ["age", "State", "zip", "reunion", "tracer", "postcode", "EmpID", "sexe", "weather"])
def test_other_names_mark_nothing(name: str) -> None:
    assert sensitive_mark(name, list(range(9))) is None


@pytest.mark.parametrize(
    ("values", "about"),
    [
        (["Catholic", "Muslim", "Hindu", "other"], "religion or belief"),
        (["E11.9", "I10", "J45.0", "C50"], "health"),
        (["katholisch", "evangelisch", "keine"], "religion or belief"),
        (["gay", "straight"], "sex life or sexual orientation"),
        (["SPD", "CDU", "AfD", "nobody"], "political opinions"),
        (["theft", "Burglary", "none"], "criminal convictions"),
        (["White", "Black", "Asian"], "ethnic origin"),
    ],
)
def test_values_mark_what_is_sensitive(values: list[str], about: str) -> None:
    mark = sensitive_mark("q17", values)
    assert mark is not None
    assert mark.about == about
    assert not any(value in mark.in_words() for value in values)
    assert sensitive_mark("q17", [*values, *(f"word {n}" for n in range(20))]) is None


def test_twins_say_the_same_and_noise_does_not() -> None:
    rng = np.random.default_rng(3)
    sex = rng.integers(0, 2, 400)
    born = rng.integers(1940, 2000, 400)
    frame = pl.DataFrame(
        {
            "GenderID": sex,
            "Sex": ["F" if one else "M" for one in sex],
            "slip": ["x" if at == 7 else "F" if one else "M" for at, one in enumerate(sex)],
            "rare": [1 if at == 5 else 0 for at in range(400)],
            "rarer": [1 if at == 9 else 0 for at in range(400)],
            "noise": rng.integers(0, 2, 400),
            "DOB": [f"{1 + at % 12:02}/{1 + at % 28:02}/{year % 100:02}" for at, year in enumerate(born)],
            "Age": 2024 - born,
            "row": range(400),
        }
    )
    found = {one.columns for one in alike_columns(coded(frame))}
    assert found == {("GenderID", "Sex", "slip"), ("DOB", "Age")}


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from([1, 2, 30, 400])), min_size=2, max_size=12))
def test_counts_alone_rule_out_only_pairs_that_do_not_agree(cells: list[tuple[int, int, int]]) -> None:
    rows = [(one, other) for one, other, n in cells for _ in range(n)]
    columns = coded(pl.DataFrame(rows, schema=["a", "b"], orient="row"))
    few, many = sorted((len(columns.values("a")), len(columns.values("b"))))
    agree = few > 1 and few >= 0.95 * many - 1 and _both_ways(columns, "a", "b")
    assert not agree or _may_agree(columns.counts("a"), columns.counts("b"))


def test_the_age_of_outliers_is_compared_too() -> None:
    born = [f"{1940 + at}-05-17" for at in range(40)]
    frame = pl.DataFrame({"born": born, "age": [1e300 - at * 1e298 for at in range(40)]})
    assert [one.columns for one in alike_columns(coded(frame))] == [("born", "age")]


def test_twins_are_found_among_many_columns() -> None:
    rng = np.random.default_rng(4)
    frame = pl.DataFrame({f"q{at}": rng.integers(0, 3, 200) for at in range(120)})
    frame = frame.with_columns(
        (2 - pl.col("q7")).alias("r7"), pl.col("q8").alias("region code"), (pl.col("q8") * 5).alias("region")
    )
    assert {frozenset(one.columns) for one in alike_columns(coded(frame))} == {
        frozenset(("q7", "r7")),
        frozenset(("q8", "region code", "region")),
    }


def visits(number: int = 60) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    people = rng.integers(0, number, number * 3)
    return pl.DataFrame(
        {
            "patient_id": people + 1000,
            "DoctorID": rng.integers(1, 30, number * 3),
            "hh_id": people // 2,
            "sex": ["fm"[one % 2] for one in people],
            "born": [f"{1930 + one}-05-17" for one in people],
            "visit": [f"2024-{month:02}-11" for month in rng.integers(1, 13, number * 3)],
        }
    )


def test_numbers_that_repeat_with_what_is_steady_are_persons() -> None:
    columns = coded(visits())
    found = person_column(columns)
    assert found is not None
    assert found[0] == "patient_id"
    assert "sex and born stay the same within each" in found[1]
    assert household_column(columns, "patient_id") == ("hh_id", "the name says a household, and 30 numbers repeat")
    assert person_column(coded(visits().drop("patient_id"))) is None
    alone = person_column(coded(visits().select("patient_id", "visit")))
    assert alone is not None
    assert "the name says a person" in alone[1]


def test_persons_and_households_become_roles() -> None:
    start = unveil.start_project(visits())
    assert start.project.names("person") == ("patient_id",)
    assert start.project.names("household") == ("hh_id",)
    assert any(note.startswith("Whose record it is: patient_id") for note in start.notes)


@pytest.mark.parametrize(
    ("values", "counts", "codes"),
    [
        ([-9, 18, 40, 64], [3, 1, 1, 1], {"-9": True}),
        ([-99, -98, 0, 1, 2], [3, 1, 1, 1, 5], {"-99": True, "-98": True}),
        ([-9, -3, 18, 40], [3, 1, 1, 1], {}),
        ([-1, 0, 1, 2], [3, 1, 1, 1], {}),
        ([float("-inf"), 0.5, 1.0, 2.0], [3, 1, 1, 1], {}),
        ([-9.5, 0.5, 1.0, 2.0], [3, 1, 1, 1], {}),
        ([1, 2, 3, 99], [3, 1, 1, 9], {"99": False}),
        ([1, 2, 3, 97, 98, 99], [3, 1, 1, 9, 2, 4], {"97": False, "98": False, "99": False}),
        ([70, 80, 90, 99], [3, 1, 1, 9], {}),
        ([1, 2, 3, 99], [3, 1, 1, 1], {}),
        (["Lyon", "Metz", "unknown", "?"], [3, 1, 4, 1], {"unknown": True, "?": True}),
        (["Lyon", "keine Angabe", None], [3, 1, 4], {"keine Angabe": True}),
        (["12", "15", "30", "999", "n/a"], [1, 1, 1, 5, 2], {"n/a": True, "999": False}),
        ([None], [4], {}),
    ],
)
def test_codes_for_nothing(values: list[object], counts: list[int], codes: dict[str, bool]) -> None:
    assert {code.text: code.sure for code in missing_codes(values, counts)} == codes


def messy(folder: Path) -> Path:
    rng = np.random.default_rng(6)
    n = 200
    frame = pl.DataFrame(
        {
            "zip": [int(code) for code in rng.choice([1002, 2139, 10001, 94110, 60601], n)],
            "income": [-9 if at % 20 == 0 else 1000 + at * 7 for at in range(n)],
            "children": [99 if at % 25 == 0 else at % 4 for at in range(n)],
            "town": rng.choice(["unknown", "Lyon", "Metz"], n),
            "race": rng.choice(["White", "Black"], n),
        }
    )
    frame.write_csv(folder / "messy.csv")
    return folder / "messy.csv"


def test_a_messy_file_is_read_as_it_was_meant(tmp_path: Path) -> None:
    start = unveil.start_project(messy(tmp_path), tmp_path / "unveil.toml")
    start.write()
    project = unveil.Project.read(tmp_path / "unveil.toml")
    assert project == start.project
    assert project.data.text == ("zip",)
    assert project.attributes["income"].missing == ("-9",)
    assert project.attributes["town"].missing == ("unknown",)
    assert project.attributes["children"].missing == ()
    study = unveil.Study.of(tmp_path / "unveil.toml")
    frame = study.source.collect(["zip", "income", "town"])
    assert {*frame["zip"]} <= {"01002", "02139", "10001", "94110", "60601"}
    assert frame["income"].null_count() == 10
    assert frame["income"].min() == 1007


def test_questions_are_answered(tmp_path: Path) -> None:
    start = unveil.start_project(messy(tmp_path), tmp_path / "unveil.toml")
    questions = {question.column: question for question in start.questions}
    assert questions["race"].answers == ("key", "sensitive")
    assert questions["children"].text == "Does 99 in children stand for a missing value?"
    done = start.answered({questions["race"]: "sensitive", questions["children"]: "yes"})
    assert done.project.attributes["race"].role == "sensitive"
    assert done.project.attributes["children"].missing == ("99",)
    assert not {"race", "children"} & {question.column for question in done.questions}
    assert start.project.attributes["race"].role == "key"
    with pytest.raises(ArgumentError, match="is one of: key, sensitive"):
        start.answered({questions["race"]: "perhaps"})


def test_a_wide_table_has_one_line_for_each_column(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    frame = pl.DataFrame({f"q{at}": rng.integers(-1, 9, 50) for at in range(300)}).with_columns(
        diagnosis=pl.Series(["a", "b"] * 25)
    )
    start = unveil.start_project(frame, tmp_path / "unveil.toml")
    start.write()
    text = (tmp_path / "unveil.toml").read_text("utf-8")
    assert len(text.splitlines()) < 330
    assert "# sensitive: 1 column" in text
    assert unveil.Project.read(tmp_path / "unveil.toml") == start.project
    assert [path.name for path in tmp_path.iterdir()] == ["unveil.toml"]
