"""`unveil hierarchy`: files that come back, errors that count, a tree that stays small."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rich.console import Console

import unveil
from helpers import shared
from unveil.cli import run
from unveil.partitions.builders import Intervals


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert run(["hierarchy", *words, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def complaint(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Return the one line that bad input gets."""
    assert run(["hierarchy", *words]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    return printed.err.removeprefix("unveil: ").strip()


def test_built_checked_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["hierarchy", "build", "adult", "--column", "age", "--interval", "5,10,20", "--out", "age.csv"]) == 0
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "written: age.csv\n")
    assert unveil.Hierarchy.read("age.csv").labels[0] == ("17", "[15, 20)", "[10, 20)", "[0, 20)", "*")
    checked = answer(capsys, "check", "age.csv", "--data", "adult", "--column", "age")
    assert (checked["column"], checked["leaves"], checked["height"], checked["records"]) == ("age", 72, 4, 30162)
    assert [level["groups"] for level in checked["levels"]] == [72, 16, 9, 5, 1]
    assert checked["levels"][3] == {
        "level": 3,
        "groups": 5,
        "smallest": 3,
        "largest": 20,
        "fewest_records": 91,
        "median_records": 1991,
        "most_records": 15626,
    }
    shown = answer(capsys, "show", "age.csv")
    assert shown["labels"] == checked["labels"]
    assert shown["records"] is None


def test_proposed_with_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "build", "adult", "--column", "age")
    assert found["rule"] == {"rule": "intervals", "widths": [5, 10, 20, 40], "origin": 0, "top": 75}
    assert "round width" in found["reason"]
    assert found == unveil.propose_hierarchy("adult", "age").to_dict()


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        ("--column age --interval 2.5,5 --origin -1 --bottom 20 --top 70", {"rule": "intervals", "widths": [2.5, 5]}),
        ("--column education --groups 2,4", {"rule": "groups", "sizes": [2, 4]}),
        ("--column sex --groups 2 --order Male,Female", {"rule": "groups", "order": ["Male", "Female"]}),
        ("--column age --redact left --characters 1 --mask x --pad 0 --pad-side left", {"rule": "redaction", "mask": "x"}),
        ("--column native-country --rare 100,1000 --other rest", {"rule": "rare", "thresholds": [100, 1000], "other": "rest"}),
    ],
)
def test_every_rule(capsys: pytest.CaptureFixture[str], words: str, rule: dict[str, Any]) -> None:
    found = answer(capsys, "build", "adult", *words.split())
    assert rule.items() <= found["rule"].items()
    assert found["levels"][-1]["groups"] == 1


def test_dates_of_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    Path("visits.csv").write_text("day,n\n2024-01-31,1\n2024-02-01,2\n2025-07-09,3\n,4\n", encoding="utf-8")
    found = answer(capsys, "build", "visits.csv", "--column", "day", "--dates", "month,year")
    assert found["labels"][0] == ["2024-01-31", "2024-01", "2024", "*"]
    assert (found["nulls"], found["records"]) == (1, 4)


def test_the_order_of_the_project(capsys: pytest.CaptureFixture[str]) -> None:
    Path("grades.csv").write_text("grade\nlow\nhigh\nmid\n", encoding="utf-8")
    text = '[data]\npath = "grades.csv"\n[attributes.grade]\nkind = "ordinal"\norder = ["low", "mid", "high"]\n'
    Path("unveil.toml").write_text(text, encoding="utf-8")
    found = answer(capsys, "build", "--column", "grade", "--groups", "2")
    assert [row[1] for row in found["labels"]] == ["low to mid", "low to mid", "high"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("build adult", "no column is named"),
        ("build adult --column agee", "column 'agee' not found"),
        ("build adult --column age --interval 5,12", "12 is not a multiple of 5"),
        ("build adult --column age --interval five", "--interval takes numbers, not 'five'."),
        ("build adult --column age --groups 2,x", "--groups takes whole numbers"),
        ("build adult --column age --interval 5 --rare 9", "--interval and --rare are two"),
        ("build adult --column age --top 9", "--top goes with --interval."),
        ("build adult --column sex --interval 5", "column 'sex': 2 of 2 values present are no finite number."),
        ("build adult --column sex --dates fortnight", "entry 1 'fortnight' is unknown"),
        ("build adult --column sex --out no/where.csv", "cannot write 'no/where.csv'"),
        (
            "check few.csv --data adult --column age",
            "hierarchy of column 'age': 70 of 72 values present are not in it (level 0).",
        ),
        ("check split.csv", "at level 1, 1 label leads to more than one label of level 2 (2 of 3 values)"),
        ("show nowhere.csv", "the file 'nowhere.csv' is not there."),
        ("show", "Missing argument"),
    ],
)
def test_bad_input_gets_one_line(capsys: pytest.CaptureFixture[str], words: str, problem: str) -> None:
    Path("few.csv").write_text("17;*\n18;*\n", encoding="utf-8")
    Path("split.csv").write_text("a;x;1\nb;x;2\nc;y;2\n", encoding="utf-8")
    assert problem in complaint(capsys, *words.split())
    assert sorted(file.name for file in Path.cwd().iterdir()) == ["few.csv", "split.csv"]


def test_the_tree_of_a_big_hierarchy_stays_small(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["hierarchy", "build", "adult", "--column", "fnlwgt", "--interval", "100,1000,10000,100000"]) == 0
    lines = capsys.readouterr().out.splitlines()
    tree = lines[lines.index("fnlwgt") :]
    assert len(tree) <= 41
    assert any("... " in line and " more: " in line for line in tree)
    assert "*  20,263 values, 30,162 records" in tree[1]


def test_a_group_that_stays_the_same_takes_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    Path("x.csv").write_text("a;low;low;*\nb;low;low;*\nc;high;high;*\n", encoding="utf-8")
    assert run(["hierarchy", "show", "x.csv"]) == 0
    shown = capsys.readouterr().out
    assert "low  2 values: a, b" in shown
    assert shown.split("\nx\n")[1].count("low") == 1
    assert "level 2 merges nothing that level 1 does not" in shown


def test_what_steers_a_terminal_is_written_out() -> None:
    tree = unveil.check_hierarchy(unveil.Hierarchy("c", [["\x1b[31m", "[bold]x[/bold]é", "*"], ["b", "y", "*"]]))
    for encoding in ("utf-8", "ascii"):
        printed = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        Console(file=printed, width=40).print(tree)
        printed.seek(0)
        shown = printed.read()
        assert "\x1b" not in shown
        assert "[bold]x[/bold]" in shown


def test_a_report_in_python() -> None:
    frame = pl.DataFrame({"n": [1, 1, 2, 7, None]})
    found = unveil.build_hierarchy(frame, "n", Intervals((5,)))
    assert repr(found) == "HierarchyReport(Hierarchy('n', 3 leaves, height 2), intervals)"
    assert found.records == (2, 1, 1)
    assert found.nulls == 1
    assert found.to_frame().rows() == [("1", "[0, 5)", "*"), ("2", "[0, 5)", "*"), ("7", "[5, 10)", "*")]
    assert "Levels" in found._repr_html_()
    renamed = unveil.check_hierarchy(found.hierarchy, pl.DataFrame({"m": [7, 2]}), "m")
    assert renamed.hierarchy.column == "m"
    assert renamed.records == (0, 1, 1)
    assert [level["fewest_records"] for level in renamed.to_dict()["levels"]] == [1, 1, 2]


@pytest.mark.parametrize("column", ["sex", "age", "native-country", "education"])
def test_the_reference_hierarchies_cover_the_reference_data(capsys: pytest.CaptureFixture[str], column: str) -> None:
    folder = shared("data/arx-adult")
    file = folder / f"adult_hierarchy_{column}.csv"
    checked = answer(capsys, "check", str(file), "--data", str(folder / "adult.csv"))
    assert checked["records"] == 30162
    assert checked["column"] == column
