"""The whole call: alignment, pairing, kinds, suppression, classes, what cannot be evaluated, the verb, and ARX's hierarchies."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unveil
from helpers import shared
from unveil.cli import run
from unveil.errors import ArgumentError, ColumnNotFoundError
from unveil.testing import tables

PEOPLE = pl.DataFrame(
    {
        "id": [1, 2, 3, 4],
        "age": [21, 34, 38, 59],
        "income": [10.0, 25.5, 30.0, 0.0],
        "sex": ["f", "m", "m", "f"],
        "grade": ["low", "high", "mid", "low"],
    }
)
LOSSES = ("nominal", "ordinal", "conditional_entropy", "entropy_loss", "granularity", "precision", "ncp", "nonuniform_entropy")


def losses(found: unveil.Loss) -> set[float | None]:
    """Every figure of a result that is a loss."""
    continuous, categorical = found.continuous, found.categorical
    structures = ("data", "covariance", "correlation", "principal_components", "communalities", "factor_scores", "eigenvalues")
    figures = [continuous[name][figure] for name in structures for figure in ("mse", "mae", "variation")]
    figures += [continuous["il1s"], *(categorical[name] for name in LOSSES)]
    figures += [one[name] for one in categorical["attributes"].values() for name in LOSSES]
    figures += [one[name] for one in continuous["attributes"].values() for name in ("mse", "mae", "variation", "il1s", "ks")]
    figures += [one["difference"] for one in categorical["contingency"].values()]
    figures += [found.classes[name]["loss"] for name in ("discernibility", "average_class_size", "ambiguity")]
    return {*figures, found.suppressed["cells"], found.suppressed["records"]}


def test_a_release_that_equals_the_original_loses_nothing() -> None:
    found = unveil.loss(PEOPLE, PEOPLE, id="id", orders={"grade": ["low", "mid", "high"]})
    assert losses(found) <= {0.0, None}
    assert found.classes["discernibility"] == {"original": 4, "release": 4, "loss": 0.0}
    assert list(found.continuous["attributes"]) == ["age", "income"]
    assert list(found.categorical["attributes"]) == ["sex", "grade"]
    assert found.pmse is found.tasks is None


@given(tables())
def test_any_table_against_itself_loses_nothing(frame: pl.DataFrame) -> None:
    assert losses(unveil.loss(frame, frame, same_order=True)) <= {0, None}


@given(tables(columns=2), st.data())
def test_classes_and_suppression_are_counted_as_defined(original: pl.DataFrame, data: st.DataObject) -> None:
    release = data.draw(tables(columns=2, max_rows=original.height).filter(lambda frame: frame.height == original.height))
    release = release.with_columns(pl.col("b").fill_null("*"))
    found = unveil.loss(original, release, same_order=True, ways=1)
    n = original.height
    for side, frame in (("original", original), ("release", release)):
        gone = [row for row in frame.rows() if all(value in (None, "*") for value in row)]
        sizes = Counter(row for row in frame.rows() if row not in gone)
        expected = sum(size**2 for size in sizes.values()) + len(gone) * n
        assert found.classes["discernibility"][side] == expected
        assert found.classes["classes"][side] == len(sizes)
        if sizes:
            assert found.classes["average_class_size"][side] == pytest.approx((n - len(gone)) / len(sizes))
    cells = sum(
        before is not None and after in (None, "*")
        for row, other in zip(original.rows(), release.rows(), strict=True)
        for before, after in zip(row, other, strict=True)
    )
    assert found.suppressed["cells"] == cells
    hidden = [[all(value in (None, "*") for value in row) for row in frame.rows()] for frame in (original, release)]
    assert found.suppressed["records"] == sum(now and not before for before, now in zip(*hidden, strict=True))


@pytest.mark.parametrize("way", ["id", "link", "same order"])
def test_records_are_aligned_in_each_way(way: str, tmp_path: Path) -> None:
    moved = PEOPLE.with_columns(pl.col("age") + 1)
    order = [2, 0, 3, 1]
    link = tmp_path / "link.csv"
    pl.DataFrame({"original": np.array(order) + 1, "release": [1, 2, 3, 4]}).write_csv(link)
    ways: dict[str, dict[str, Any]] = {"id": {"id": "id"}, "link": {"link": link}, "same order": {"same_order": True}}
    found = unveil.loss(PEOPLE, moved if way == "same order" else moved[order], **ways[way])
    assert found.alignment.by == way
    assert found.continuous["attributes"]["age"]["mae"] == 1.0
    assert found.continuous["attributes"]["income"]["mae"] == 0.0
    assert found.categorical["nominal"] == 0.0


def test_dropped_records_count_as_suppressed_and_added_ones_are_left_out() -> None:
    stranger = pl.DataFrame({"id": [9], "age": [99], "income": [1.0], "sex": ["f"], "grade": ["mid"]})
    found = unveil.loss(PEOPLE, pl.concat([PEOPLE[[3, 0, 1]], stranger]), id="id")
    assert found.suppressed == {
        "cells": 4,
        "share_of_cells": 0.25,
        "records": 1,
        "share_of_records": 0.25,
        "by_attribute": dict.fromkeys(("age", "income", "sex", "grade"), 1),
    }
    assert {**found.continuous.attributes["age"], "left_out": 1, "records": 3, "mae": 0.0} == found.continuous.attributes["age"]
    assert found.categorical["granularity"] == pytest.approx(0.25)
    assert found.classes["discernibility"]["release"] == 3 + 4
    assert "1 record of the original not in the release" in " ".join(found.view().notes)


def test_numbers_with_stars_stay_numbers_and_ranges_become_categories() -> None:
    release = PEOPLE.with_columns(
        age=pl.Series(["21", "*", "40", "59"]), income=pl.Series(["[0, 20)", "[20, 40)", "[20, 40)", "*"])
    )
    found = unveil.loss(PEOPLE, release, id="id")
    age = found.continuous["attributes"]["age"]
    assert (age["records"], age["left_out"], age["mae"]) == (3, 1, pytest.approx(2 / 3))
    income = found.categorical["attributes"]["income"]
    assert income["granularity"] == pytest.approx((1 + 1 + 1 + 3) / 3 / 4)
    assert income["nominal"] == 1.0
    assert found.classes["ambiguity"]["release"] == pytest.approx((2 + 2 + 2 + 4) / 4)
    assert found.suppressed["by_attribute"] == {"age": 1, "income": 1, "sex": 0, "grade": 0}


def test_ambiguity_lies_between_one_and_all_suppressed_with_nothing_to_lose_left_out() -> None:
    original = pl.DataFrame({"x": ["a", "b", None, "c"], "y": ["p", "q", "q", "p"]})
    release = pl.DataFrame({"x": ["{a, b}", "{a, b}", None, "*"], "y": ["p", "q", "q", "*"]})
    ambiguity = unveil.loss(original, release, same_order=True).classes["ambiguity"]
    assert ambiguity["release"] == (2 + 2 + 1 + 3 * 2) / 4
    assert ambiguity["loss"] == pytest.approx((11 / 4 - 1) / ((6 + 6 + 2 + 6) / 4 - 1))


def test_orders_hierarchies_keys_and_kinds_are_said_by_name() -> None:
    release = PEOPLE.with_columns(grade=pl.Series(["mid", "high", "low", "*"]), sex=pl.Series(["any", "m", "any", "f"]))
    tree = unveil.Hierarchy("sex", [["f", "any"], ["m", "any"]])
    found = unveil.loss(
        PEOPLE,
        release,
        id="id",
        orders={"grade": ["low", "mid", "high"]},
        hierarchies={"sex": tree},
        key="sex",
        categorical="age",
    )
    assert found.categorical["attributes"]["grade"]["ordinal"] == pytest.approx((1 / 3 + 0 + 1 / 3 + 1) / 4)
    assert found.categorical["attributes"]["sex"]["granularity"] == 0.5
    assert found.categorical["attributes"]["sex"]["precision"] == 0.5
    assert found.classes["classes"] == {"original": 2, "release": 3}
    assert list(found.continuous["attributes"]) == ["income"]
    assert found.made.key == ("sex",)


def test_columns_are_mapped_or_paired_by_name() -> None:
    release = PEOPLE.select("id", pl.col("age").alias("age*"), "sex")
    assert list(unveil.loss(PEOPLE, release, id="id", mapping={"age": "age*"}).suppressed["by_attribute"]) == ["age", "sex"]
    assert list(unveil.loss(PEOPLE, release, id="id").suppressed["by_attribute"]) == ["sex"]
    with pytest.raises(ColumnNotFoundError, match="the map names a protected column"):
        unveil.loss(PEOPLE, release, id="id", mapping={"age": "aged"})


@pytest.mark.parametrize("backend", ["polars", "lazy", "pandas", "pyarrow", "csv"])
def test_every_library_gives_the_same_answer(backend: str, tmp_path: Path) -> None:
    release = PEOPLE.with_columns(age=pl.Series([21.5, None, 38.0, 59.0]), sex=pl.Series(["f", None, "m", "f"]))
    made: Any = {
        "polars": lambda frame: frame,
        "lazy": lambda frame: frame.lazy(),
        "pandas": lambda frame: pd.DataFrame(frame.to_dict(as_series=False)),
        "pyarrow": lambda frame: frame.to_arrow(),
        "csv": lambda frame: _written(frame, tmp_path / f"{id(frame)}.csv"),
    }[backend]
    expected = unveil.loss(PEOPLE, release, id="id").to_dict()
    assert unveil.loss(made(PEOPLE), made(release), id="id").to_dict() == expected


def _written(frame: pl.DataFrame, path: Path) -> Path:
    frame.write_csv(path)
    return path


def test_mixed_objects_are_compared_by_their_texts() -> None:
    mixed = pd.DataFrame({"x": ["a", 1, None], "y": [1, 2, 3]})
    assert unveil.loss(mixed, mixed, same_order=True).categorical["nominal"] == 0.0


def test_what_cannot_be_evaluated_has_a_reason_and_the_others_answer() -> None:
    wrong = unveil.Hierarchy("sex", [["f", "any"], ["d", "any"]])
    found = unveil.loss(PEOPLE, PEOPLE, id="id", continuous=["age", "grade"], hierarchies={"sex": wrong})
    assert found.continuous["attributes"]["age"]["mae"] == 0.0
    assert found.continuous["attributes"]["grade"]["mae"] is None
    assert "does not hold numbers" in found.continuous["attributes"]["grade"]["reason"]
    assert found.categorical["attributes"]["sex"]["granularity"] is None
    assert found.categorical["attributes"]["sex"]["nominal"] == 0.0
    assert found.categorical["left_out"]["granularity"] == ["sex"]
    assert found.classes["ambiguity"]["reason"] == "labels cover nothing known in: sex"
    assert [line.split(":")[0] for line in found.failed] == ["attribute 'grade'", "attribute 'sex'"]
    assert "'d'" not in " ".join(found.failed)


def test_bad_arguments_are_refused() -> None:
    for problem, error, options in (
        ("not known which release record came from", ArgumentError, {}),
        ("given in 2 ways", ArgumentError, {"id": "id", "same_order": True}),
        ("ways is 4; it must be from 0 to 3", ArgumentError, {"id": "id", "ways": 4}),
        ("column 'agee' not found", ColumnNotFoundError, {"id": "id", "orders": {"agee": []}}),
        ("column 'x' not found", ColumnNotFoundError, {"id": "id", "tasks": "x"}),
    ):
        with pytest.raises(error, match=problem):
            unveil.loss(PEOPLE, PEOPLE, **options)
    with pytest.raises(ArgumentError, match="no column in common"):
        unveil.loss(PEOPLE.select("age"), PEOPLE.select("sex"), same_order=True)


def test_pmse_and_tasks_come_on_request() -> None:
    adult = unveil.datasets.adult().head(120).select("age", "sex", "hours-per-week", "income-per-year")
    coarse = adult.with_columns(age=pl.col("age") // 10 * 10 + 5)
    clusters = unveil.Task("groups", kind="clustering", clusters=3)
    found = unveil.loss(adult, coarse, same_order=True, pmse=True, tasks=["income-per-year", "hours-per-week", clusters])
    assert found.pmse is not None
    assert 0.0 <= found.pmse["pmse"] <= found.pmse["highest"]
    assert found.tasks is not None
    assert {name: task["kind"] for name, task in found.tasks.items()} == {
        "income-per-year": "classification",
        "hours-per-week": "regression",
        "groups": "clustering",
    }
    again = unveil.loss(adult, adult, same_order=True, pmse=True, tasks="income-per-year")
    assert again.pmse is not None
    assert again.pmse["pmse"] == pytest.approx(0.0, abs=1e-9)
    assert again.tasks is not None
    assert {score["difference"]["mean"] for score in again.tasks["income-per-year"]["scores"]} == {0.0}
    assert "Tasks" in [table.title for table in found.view().tables]


def test_arx_hierarchies_give_the_loss_that_arx_reports() -> None:
    """Marital status at level 1 of its file and race suppressed: shares of all leaves in the file, worked by hand."""
    names = ["marital-status", "race"]
    trees = {name: unveil.Hierarchy.read(shared(f"data/arx-adult/adult_hierarchy_{name}.csv"), name) for name in names}
    adult = pl.read_csv(shared("data/arx-adult/adult.csv"), separator=";").select(names)
    first = {row[0]: row[1] for row in trees["marital-status"].labels}
    release = pl.DataFrame({"marital-status": adult["marital-status"].replace_strict(first), "race": ["*"] * adult.height})
    found = unveil.loss(adult, release, same_order=True, hierarchies=trees).categorical["attributes"]
    leaves = Counter(first.values())
    shares = sum(leaves[label] / len(first) for label in release["marital-status"])
    n, least = adult.height, adult.height / len(first)
    assert found["marital-status"]["granularity"] == pytest.approx((shares - least) / (n - least))
    assert found["marital-status"]["precision"] == pytest.approx(1 / trees["marital-status"].height)
    assert found["race"]["granularity"] == found["race"]["precision"] == found["race"]["ncp"] == 1.0


def test_the_verb_prints_the_call_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _written(PEOPLE, tmp_path / "one.csv")
    _written(PEOPLE.with_columns(pl.col("age") + 2, sex=pl.lit("*")), tmp_path / "two.csv")
    tmp_path.joinpath("sex.csv").write_text("f;*\nm;*\n", encoding="utf-8")
    words = ["loss", str(tmp_path / "one.csv"), str(tmp_path / "two.csv"), "--id", "id"]
    code = run([*words, "--hierarchy", f"sex={tmp_path / 'sex.csv'}", "--order", "grade=low,mid,high", "--json"])
    answer = json.loads(capsys.readouterr().out)
    assert code == 0
    assert {"continuous", "categorical", "classes", "suppressed", "tasks"} <= set(answer)
    assert answer["tasks"] is None
    assert answer["continuous"]["attributes"]["age"]["mae"] == 2.0
    assert answer["categorical"]["attributes"]["sex"]["granularity"] == 1.0
    assert answer["categorical"]["attributes"]["grade"]["ordinal"] == 0.0
    assert run([*words, "--continuous", "grade", "--json"]) == 2
    found = capsys.readouterr()
    assert json.loads(found.out)["continuous"]["attributes"]["age"]["mae"] == 2.0
    assert "unveil: attribute 'grade': the original does not hold numbers" in found.err
    assert run(words[:3]) == 2
    assert "which release record came from which" in capsys.readouterr().err
    assert run(words) == 0
    assert "What the release has lost" in capsys.readouterr().out


def test_a_table_of_thousands_of_columns_is_answered_with_what_was_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All pairs of 640 attributes would be 204,480 tables, all triples 44 million."""
    words = {f"w{at}": ["a", "b", "a"] for at in range(640)}
    numbers = {f"n{at}": [1.0, 2.0, at] for at in range(2001)}
    files = [str(tmp_path / name) for name in ("original.parquet", "release.parquet")]
    pl.DataFrame(words | numbers).write_parquet(files[0])
    pl.DataFrame(words | numbers | {"w7": ["a", "b", "b"], "n8": [1.0, 2.0, 9.5]}).write_parquet(files[1])
    assert run(["loss", *files, "--same-order", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    tables = answer["categorical"]["contingency"]
    assert (tables["1"]["tables"], tables["1"]["difference"]) == (640, 2)
    assert tables["2"]["reason"] == "204,480 tables of 2 attributes, more than 200,000: not compared"
    assert answer["continuous"]["covariance"]["reason"] == "2,001 attributes, more than 2,000: not compared"
    assert answer["continuous"]["attributes"]["n8"]["mae"] == 0.5
    assert (len(answer["continuous"]["attributes"]), len(answer["categorical"]["attributes"])) == (2001, 640)
    assert (
        sum("not compared" in str(part.get("reason")) for part in (tables["2"], tables["3"], answer["continuous"]["covariance"]))
        == 3
    )


def test_the_frame_has_a_row_for_every_attribute() -> None:
    frame = unveil.loss(PEOPLE, PEOPLE, id="id").to_frame()
    assert frame["attribute"].to_list() == ["age", "income", "sex", "grade"]
    assert frame["kind"].to_list() == ["continuous"] * 2 + ["categorical"] * 2
    assert frame.filter(pl.col("attribute") == "sex")["granularity"].item() == 0.0
