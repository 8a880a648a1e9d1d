"""The built-in data sets: the documents' tables, as they are printed."""

from __future__ import annotations

import re

import polars as pl
import pytest

import unveil
from helpers import shared
from unveil import datasets

THESIS = {"2.1", "2.2", "2.3", "2.4", "2.5", "2.6", "1.1", "1.2", "3.1", "3.2", "3.3", "3.4", "3.5", "4.2", "5.1", "5.2", "5.3",
          "6.2", "6.3", "6.5", "6.6", "6.7"}  # fmt: skip
SLIDES = {"1", "2", "3", "4", "5"}


def cell(text: str) -> str:
    """Return a printed cell in the spelling of the built-in tables."""
    return text.replace("≥ ", ">=").replace("≤ ", "<=").replace("> ", ">").replace("< ", "<").strip()


def same(name: str, printed: list[list[str]]) -> bool:
    """Whether a built-in table holds the printed cells, a column of row numbers left out."""
    frame = datasets.load(name)
    rows = [tuple(f"{value:g}" if isinstance(value, float) else str(value) for value in row) for row in frame.rows()]
    return rows == [tuple(map(cell, row[-frame.width :])) for row in printed]


@pytest.mark.parametrize("number", sorted(THESIS))
def test_a_table_of_the_thesis_holds_what_is_printed(number: str) -> None:
    text = shared("seeds/thesis-privacy-and-utility.txt").read_text(encoding="utf-8")
    body = text.split(f"\nTABLE {number}: ", 1)[1].split("\n\n", 2)[1]
    assert same(f"thesis-{number}", [line.split("\t") for line in body.splitlines()[1:]])


@pytest.mark.parametrize("number", sorted(SLIDES))
def test_a_table_of_the_talk_on_t_closeness_holds_what_is_printed(number: str) -> None:
    text = shared("seeds/slides-t-closeness.txt").read_text(encoding="utf-8")
    body = text.split(f"\nTable {number}. ", 1)[0].rstrip().rsplit("\n\n", 1)[1]
    assert same(f"t-closeness-{number}", [line.split("\t") for line in body.splitlines()[1:]])


def test_table_2_1_of_the_thesis_has_ages_as_numbers() -> None:
    patients = datasets.load("thesis-2.1")
    assert patients.columns == ["ZIP", "Age", "Salary", "Disease"]
    assert patients.filter((pl.col("Age") >= 35) & (pl.col("Disease") == "aids")).height == 2


def test_the_virus_is_as_rare_as_the_talk_says() -> None:
    virus = datasets.load("t-closeness-virus")
    assert virus.height == 10_000
    assert (virus["Disease"] == "positive").sum() == 100
    printed = virus.head(13).rows()
    assert printed[5] == ("4790*", ">=40", "8k", "positive")
    assert printed[12] == ("4770*", "4*", "15k", "negative")
    assert virus.row(-1) == ("488**", ">=60", "16k", "negative")


def test_one_request_identifies_alice_and_four_equal_ones_do_not() -> None:
    given = unveil.discrimination_rate("thesis-location", ["location", "period", "request"], "user").by_value
    posterior = {row["period"]: (row["count"], row["posterior"]) for row in given}
    assert posterior["09:00"] == (1, 1.0)
    at_five = datasets.load("thesis-location").filter(period="17:00").drop("period")
    assert unveil.discrimination_rate(at_five, ["location", "request"], "user").value == 0.0


def test_tables_that_are_printed_twice_are_the_same() -> None:
    assert datasets.load("thesis-3.3").equals(datasets.load("paper-3"))
    assert datasets.load("thesis-5.1").equals(datasets.load("paper-9"))


def test_every_data_set_has_an_origin_and_partitions_fit_their_tables() -> None:
    assert all(entry["origin"] and entry["records"] for entry in datasets.describe())
    salaries = datasets.load("paper-4")["Salary"].to_list()
    assert [len(datasets.partition(name).to_dict()["blocks"]) for name in ("SP1", "SP2", "SP3", "SP4")] == [9, 3, 3, 2]
    plain = unveil.discrimination_rate("paper-3", "Age*", "Salary").value
    assert (
        unveil.discrimination_rate("paper-3", "Age*", "Salary", partitions={"Salary": datasets.partition("SP1")}).value == plain
    )
    assert len(set(salaries)) == 9


def test_the_tree_of_diseases_has_the_distances_of_the_talk() -> None:
    tree = datasets.hierarchy("disease", column="Disease")
    rows = {row[0]: row for row in tree.labels}
    level = {other: next(at for at in range(4) if rows[other][at] == rows["gastric ulcer"][at]) for other in rows}
    assert (level["gastritis"], level["colitis"], level["flu"]) == (1, 2, 3)


@pytest.mark.parametrize("call", [datasets.partition, datasets.hierarchy, datasets.load])
def test_an_unknown_name_is_refused_with_those_there_are(call: object) -> None:
    with pytest.raises(unveil.UnveilError, match=re.compile("one of|did you mean", re.IGNORECASE)):
        call("SP9")  # type: ignore[operator]


def test_the_messy_table_has_what_raw_files_have() -> None:
    frame = datasets.load("clinic-raw")
    assert frame.equals(datasets.load("clinic-raw"))
    assert frame.height > frame["patient no"].n_unique() == 620
    forms = (r"^\d{4}-\d\d-\d\d$", r"^\d\d/\d\d/\d\d$", r"^\d\d\.\d\d\.\d{4}$")
    shares = [frame["date of birth"].str.contains(form).mean() for form in forms]
    assert sum(shares) == pytest.approx(1)
    assert min(shares) > 0.25
    assert {len(str(code)) for code in frame["zip"]} == {4, 5}
    assert (frame["income"] == -9).any()
    assert (frame["children"] == 99).any()
    assert (frame["diagnosis"] == "unknown").any()
    assert frame.select("sex", "GenderID").unique().height == 2
    steady = frame.group_by("patient no").agg(pl.col("name", "date of birth", "sex", "town").n_unique())
    assert steady.drop("patient no").max().row(0) == (1, 1, 1, 1)
    assert frame.select("town", "county", "state").unique().height == frame["town"].n_unique()
