"""What values mean, edited in the app: groups, hierarchies by rule, by hand and by file; all of it in the project file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import unveil
from browsing import Browser
from desks import alien_markup, hostile, opened, posted
from unveil.app.meanings import groups_of, hierarchy_of, lines_of, rows_text
from unveil.app.state import Desk
from unveil.partitions.builders import Dates, Intervals, PostalCodes


@pytest.fixture
def way(tmp_path: Path) -> tuple[Desk, Browser]:
    rows = range(120)
    pl.DataFrame(
        {
            "age": [20 + (7 * at) % 60 for at in rows],
            "born": [f"19{60 + at % 40}-{1 + at % 12:02}-11" for at in rows],
            "zip": [f"{89000 + 7 * (at % 30)}" for at in rows],
            "town": [("Ulm", "Bonn", "Kiel", None)[at % 4] for at in rows],
        }
    ).write_csv(tmp_path / "people.csv")
    desk, browser = opened(tmp_path, str(tmp_path / "people.csv"))
    desk.change_attributes({name: {"role": "key"} for name in ("age", "born", "zip", "town")}, "roles")
    return desk, browser


def test_groups_stand_in_the_project_and_are_counted(way: tuple[Desk, Browser]) -> None:
    desk, browser = way
    page = posted(browser, "/meaning/groups", column=desk.code("town"), name="region", lines="south; Ulm ; Bonn\r\nnorth;Kiel")
    kept = unveil.Project.read(desk.project.path).attributes["town"].partitions["region"]
    assert kept == unveil.Partition.from_blocks([["Ulm", "Bonn"], ["Kiel"]], ["south", "north"])
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", page)
    assert ["2", "60"] in [cells[at : at + 2] for at in range(len(cells))], cells
    posted(browser, "/meaning/groups", column=desk.code("town"), name="two", lines="south; Ulm", rest="elsewhere")
    rest = unveil.Project.read(desk.project.path).attributes["town"].partitions["two"]
    assert rest.apply(["Kiel", "Ulm", "Bonn"])[0].tolist() == [1, 0, 1]
    posted(browser, "/meaning/groups", column=desk.code("age"), name="grown", edges="18, 65")
    assert unveil.Project.read(desk.project.path).attributes["age"].partitions["grown"].to_dict() == {
        "edges": ["-inf", 18, 65, "inf"]
    }
    posted(browser, "/meaning/leave", column=desk.code("town"), number="0")
    assert list(unveil.Project.read(desk.project.path).attributes["town"].partitions) == ["two"]


@pytest.mark.parametrize(
    ("column", "rule", "steps", "builder"),
    [
        ("born", "dates", "month, year", Dates(("month", "year"))),
        ("zip", "postal", "1 3", PostalCodes((1, 3))),
        ("age", "intervals", "5;20", Intervals((5, 20))),
        ("age", "proposed", "", None),
    ],
)
def test_a_rule_builds_what_the_library_builds(
    way: tuple[Desk, Browser], column: str, rule: str, steps: str, builder: Any
) -> None:
    desk, browser = way
    data = desk.opened.whole
    own = unveil.propose_hierarchy(data, column) if builder is None else unveil.build_hierarchy(data, column, builder)
    page = browser.get(f"/meaning?column={desk.code(column)}&rule={rule}&steps={steps}").text
    assert own.hierarchy.labels[0][1].replace("<", "&lt;").replace(">", "&gt;") in page
    assert not desk.project.attributes[column].hierarchy
    posted(browser, "/meaning/build", column=desk.code(column), rule=rule, steps=steps)
    kept = unveil.Project.read(desk.project.path).hierarchy(column)
    assert kept is not None
    assert kept.labels == own.hierarchy.labels
    file = browser.get(f"/meaning/file?column={desk.code(column)}")
    (desk.folder / "again.csv").write_bytes(file.content)
    assert unveil.Hierarchy.read(desk.folder / "again.csv", column=column) == kept


def test_rows_by_hand_and_by_file_can_be_undone(way: tuple[Desk, Browser]) -> None:
    desk, browser = way
    town = desk.code("town")
    posted(browser, "/meaning/rows", column=town, rows="Ulm; South; *\nBonn; West; *\nKiel; North; *\n")
    first = desk.project.hierarchy("town")
    content = b"Ulm;Land;*\nBonn;Land;*\nKiel;Sea;*\n"
    files = {"file": ("towns.csv", content, "text/csv")}
    headers = {"origin": browser.address}
    answer = browser.request("POST", f"/meaning/dropped?column={town}", headers=headers, files=files)
    assert answer.status_code == 303
    second = desk.project.hierarchy("town")
    assert second is not None
    assert second.labels == (("Ulm", "Land", "*"), ("Bonn", "Land", "*"), ("Kiel", "Sea", "*"))
    browser.post("/undo", {"back": "/meaning"})
    assert desk.project.hierarchy("town") == first
    posted(browser, "/meaning/drop", column=town)
    assert desk.project.attributes["town"].hierarchy is None


@pytest.mark.parametrize(
    ("action", "form"),
    [
        ("groups", {"name": "", "lines": "a; Ulm"}),
        ("groups", {"name": "region", "lines": "south; Ulm"}),
        ("groups", {"name": "region", "lines": "south"}),
        ("groups", {"name": "region", "lines": 'south; "Ulm'}),
        ("groups", {"name": "region", "edges": "old"}),
        ("build", {"rule": "nothing"}),
        ("build", {"rule": "dates", "steps": "eon"}),
        ("build", {"rule": "postal", "steps": "x"}),
        ("rows", {"rows": "Ulm; South; *"}),
        ("rows", {"rows": "Ulm"}),
        ("rows", {"rows": ""}),
    ],
)
def test_what_does_not_hold_changes_nothing(way: tuple[Desk, Browser], action: str, form: dict[str, str]) -> None:
    desk, browser = way
    before = desk.project
    assert 'class="message error"' in posted(browser, f"/meaning/{action}", column=desk.code("town"), **form)
    assert desk.project is before


def test_lines_come_back_as_they_were() -> None:
    odd = [["a;b", 'say "x"', " blank ", "two\nlines", "=1", "Ünï"], ["plain", "other", "x", "y", "z", "*"]]
    assert [list(row) for row in hierarchy_of("c", rows_text([*zip(*odd, strict=True)])).labels] == [
        list(row) for row in zip(*odd, strict=True)
    ]
    partition = groups_of(rows_text([["one; two", *odd[0]], ["rest", "q"]]), [])
    assert groups_of(lines_of(partition), []) == partition


def test_hostile_names_and_values_are_text(tmp_path: Path) -> None:
    table = hostile()
    table.write_csv(tmp_path / "hostile.csv")
    desk, browser = opened(tmp_path, str(tmp_path / "hostile.csv"))
    names = desk.opened.columns
    desk.change_attributes({name: {"role": "key"} for name in names}, "roles")
    for name in names[:6]:
        column = desk.code(name)
        text = rows_text([f"<b>{at}</b>", value] for at, value in enumerate(table[name].unique()))
        posted(browser, "/meaning/groups", column=column, name="<script>alert(9)</script>", lines=text)
        posted(browser, "/meaning/build", column=column, rule="rare", steps="3")
        assert desk.project.attributes[name].partitions
        assert desk.project.attributes[name].hierarchy
        page = browser.get(f"/meaning?column={column}&rule=rare&steps=<script>alert(8)</script>").text
        assert alien_markup(page) == []
        assert "<b>0" not in page
    assert len({file.parent for file in tmp_path.rglob("*.csv")}) == 2  # the data, and one folder of hierarchies
