"""A project proposed from the data alone: what each column is, and a file that reads back as it was meant."""

from __future__ import annotations

import tomllib
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unveil
from helpers import rate, shared
from unveil.assess.init import Start
from unveil.errors import OutputError
from unveil.measures.unnamed import column_exposure
from unveil.testing import tables


def people(number: int = 60) -> pl.DataFrame:
    rows = range(number)
    return pl.DataFrame(
        {
            "mail": [f"p{i}@example.com" for i in rows],
            "born": [f"{1940 + i % 60}-0{1 + i % 9}-{10 + i % 18}" for i in rows],
            "zip": [f"{1000 + i % 12:05d}" for i in rows],
            "weight (kg)": [50.5 + (i * 7919 % 4001) / 100 for i in rows],
            "sex": ["f", "m"] * (number // 2),
            "diagnosis": ["flu", "asthma", "none"] * (number // 3),
            "country": ["FR"] * number,
            "tags": [[i] for i in rows],
        }
    )


def by_column(start: Start) -> dict[str, tuple[str, str | None]]:
    return {one.column: (one.role, one.kind) for one in start.proposals}


def test_roles_and_kinds_follow_from_the_data() -> None:
    start = unveil.start_project(people())
    assert by_column(start) == {
        "mail": ("identifier", "nominal"),
        "born": ("key", "nominal"),
        "zip": ("key", "nominal"),
        "weight (kg)": ("key", "continuous"),
        "sex": ("key", "nominal"),
        "diagnosis": ("sensitive", "nominal"),
        "country": ("other", "nominal"),
        "tags": ("other", None),
    }
    marks = {one.column: (one.sensitive.about, one.sensitive.law) for one in start.proposals if one.sensitive}
    assert marks == {"diagnosis": ("health", "GDPR article 9")}
    assert start.project.names("sensitive") == ("diagnosis",)


def test_evidence_has_figures_and_no_values() -> None:
    start = unveil.start_project(people())
    said = {one.column: " ".join(one.reasons) for one in start.proposals}
    assert "email" in said["mail"]
    assert "100 % of 60 distinct values" in said["mail"]
    assert "2 values; Discrimination Rate 0.1693 against record identity; alone it singles out 0 of 60 records." in said["sex"]
    assert "Sensitive (GDPR article 9: health): the column's name says health" in said["diagnosis"]
    assert "Nearly every record" in said["weight (kg)"]
    assert "One value only" in said["country"]
    assert not any(value in start.to_toml() for value in ("p1@example", "asthma", "01003"))


@given(tables(columns=1, max_rows=30))
def test_the_rate_alone_is_the_discrimination_rate(frame: pl.DataFrame) -> None:
    values = frame["a"].to_list()
    found = column_exposure(unveil.count(frame, "a").n)
    assert found.rate == pytest.approx(rate(list(range(len(values))), values), abs=1e-12)
    assert found.uniques == sum(values.count(value) == 1 for value in values)
    assert found.distinct == len(set(values))


def test_the_file_reads_back_as_it_was_meant(tmp_path: Path) -> None:
    data = tmp_path / "people.csv"
    people().drop("tags").write_csv(data)
    start = unveil.start_project(data, tmp_path / "unveil.toml")
    start.write()
    assert unveil.Project.read(tmp_path / "unveil.toml") == start.project
    project = unveil.Project.read(tmp_path / "unveil.toml")
    assert project.data.path == data
    assert project.hierarchy("zip") == next(one.hierarchy for one in start.proposals if one.column == "zip")
    assert project.hierarchy("sex") is None
    assert "hierarchies/weight-kg.csv" in (tmp_path / "unveil.toml").read_text("utf-8")


NAMES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=12)


@given(st.lists(NAMES, min_size=1, max_size=4, unique=True))
def test_any_column_names_make_a_file_that_reads_back(names: list[str]) -> None:
    start = unveil.start_project(pl.DataFrame({name: [1, 2, 2] for name in names}))
    try:
        text = start.to_toml()
        text.encode()
    except UnicodeEncodeError:
        return
    assert set(tomllib.loads(text)["attributes"]) == set(names)


def test_paths_are_written_from_the_projects_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sub").mkdir()
    people().select("zip", "sex").write_csv("people.csv")
    start = unveil.start_project("people.csv", "sub/unveil.toml")
    start.write()
    assert 'path = "../people.csv"' in Path("sub/unveil.toml").read_text("utf-8")
    project = unveil.Project.read("sub/unveil.toml")
    assert project == start.project
    assert project.data.path is not None
    assert Path(project.data.path).is_file()


def test_texts_that_stand_for_a_null_are_found(tmp_path: Path) -> None:
    place = tmp_path / "a.csv"
    place.write_text("n,t\n1,x\n?,y\n3,NA\n", encoding="utf-8")
    start = unveil.start_project(place)
    assert start.project.data.missing == ("?", "NA")
    assert by_column(start)["n"] == ("key", "continuous")
    assert any("Read as null: ? (1 time), NA (1 time)" in note for note in start.notes)
    assert unveil.start_project(place, missing=["x"]).project.data.missing == ("x",)


def test_files_that_are_there_are_kept(tmp_path: Path) -> None:
    place, tree = tmp_path / "unveil.toml", tmp_path / "hierarchies" / "zip.csv"
    start = unveil.start_project(people(), place)
    tree.parent.mkdir()
    tree.write_text("mine", encoding="utf-8")
    with pytest.raises(OutputError, match=r"zip\.csv' would be replaced"):
        start.write()
    assert tree.read_text("utf-8") == "mine"
    assert not place.exists()
    start.write(force=True)
    assert place.exists()
    assert tree.read_text("utf-8") != "mine"
    with pytest.raises(OutputError, match="`force`"):
        start.write()


def test_a_folder_that_cannot_be_made_leaves_no_project(tmp_path: Path) -> None:
    (tmp_path / "hierarchies").write_text("", encoding="utf-8")
    with pytest.raises(OutputError, match="hierarchies"):
        unveil.start_project(people(), tmp_path / "unveil.toml").write(force=True)
    assert not (tmp_path / "unveil.toml").exists()


def test_two_columns_never_share_a_file() -> None:
    frame = pl.DataFrame({"a b": list(range(40)), "a-b": list(range(40)), "A?B": list(range(40))})
    start = unveil.start_project(frame.with_columns(pl.all() % 23))
    files = [attribute.hierarchy for attribute in start.project.attributes.values()]
    assert [path and path.name for path in files] == ["a-b.csv", "a-b-2.csv", "A-B-3.csv"]


def test_adult_is_proposed_with_its_figures(tmp_path: Path) -> None:
    start = unveil.start_project(shared("data/adult/adult-train.csv"), tmp_path / "unveil.toml")
    assert (start.records, len(start.proposals)) == (32_561, 15)
    assert start.project.data.missing == ("?",)
    start.write()
    project = unveil.Project.read(tmp_path / "unveil.toml")
    assert project == start.project
    assert project.names("sensitive") == ("income-per-year",)
    columns = [one.column for one in start.proposals]
    found = unveil.scan(unveil.source(project.data.path, missing=["?"]), columns, max_size=1)
    rates = {entry["key"][0]: entry["dr"] for entry in found.to_dict()["subsets"]}
    for one in start.proposals:
        assert one.alone is not None
        assert one.alone.rate == pytest.approx(rates[one.column], abs=1e-12)
    hierarchy = project.hierarchy("age")
    assert hierarchy is not None
    assert unveil.check_hierarchy(hierarchy, "adult-raw", "age").hierarchy.height == 5
