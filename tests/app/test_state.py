"""What is open: the project is saved at every change, undone, and held against its file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from unveil.app.state import ChangedOnDiskError, Desk
from unveil.errors import ArgumentError, UnveilError
from unveil.project import Project

PEOPLE = pl.DataFrame({"name": ["Ann", "Bob", "Cid"], "age": [30, 41, 30], "town": ["X", "Y", "X"]})


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    PEOPLE.write_csv(tmp_path / "people.csv")
    made = Desk(tmp_path)
    made.open(str(tmp_path / "people.csv"))
    return made


def roles(desk: Desk) -> dict[str, str]:
    return {name: one.role for name, one in desk.project.attributes.items()}


def test_a_log_that_cannot_be_written_is_said_and_loses_no_change(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.open("paper-4")
    (tmp_path / "paper-4-decisions.log").mkdir()
    with pytest.raises(UnveilError, match="log of decisions cannot be written"):
        desk.change_attributes({"Age": {"role": "key"}}, "roles")
    assert desk.undoable == "roles"
    (tmp_path / "paper-4-decisions.log").rmdir()
    desk.undo()
    with (tmp_path / "paper-4-decisions.log").open("a") as log:
        log.write("not a line of ours\n")
    assert [one["what"] for one in desk.decisions] == ["undone: roles", "a line that cannot be read"]


def test_opening_writes_nothing_and_a_change_is_saved(desk: Desk, tmp_path: Path) -> None:
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]
    desk.change_attributes({"age": {"role": "key"}}, "age is known to others")
    assert Project.read(tmp_path / "unveil.toml").names("key") == ("age",)
    assert desk.study.key == ("age",)


def test_a_project_is_as_it_was_after_the_server_was_killed(desk: Desk, tmp_path: Path) -> None:
    desk.change_attributes({"town": {"role": "key"}, "name": {"role": "identifier"}}, "roles")
    again = Desk(tmp_path)
    again.open(str(tmp_path / "people.csv"))
    assert again.project == desk.project
    by_file = Desk(tmp_path)
    by_file.open(str(tmp_path / "unveil.toml"))
    assert (by_file.project, by_file.opened.columns) == (desk.project, ("name", "age", "town"))


def test_undo_and_redo_go_through_all_changes(desk: Desk) -> None:
    states = [roles(desk)]
    for column, role in (("age", "key"), ("name", "identifier"), ("age", "sensitive")):
        desk.change_attributes({column: {"role": role}}, f"{column} is {role}")
        states.append(roles(desk))
    for state in reversed(states[:-1]):
        desk.undo()
        assert roles(desk) == state
        assert {name: one.role for name, one in Project.read(desk.project.path).attributes.items()} == state
    with pytest.raises(ArgumentError):
        desk.undo()
    for state in states[1:]:
        desk.redo()
        assert roles(desk) == state
    assert desk.undoable == "age is sensitive"


def test_a_change_after_undo_takes_its_place(desk: Desk) -> None:
    desk.change_attributes({"age": {"role": "key"}}, "first")
    desk.undo()
    desk.change_attributes({"town": {"role": "key"}}, "second")
    assert (desk.undoable, desk.redoable) == ("second", "")


def test_every_change_counts_and_the_same_again_is_none(desk: Desk) -> None:
    before = desk.version
    desk.change_attributes({"age": {"role": "key"}}, "first")
    desk.change_attributes({"age": {"role": "key"}}, "the same")
    assert desk.version == before + 1


def test_a_file_that_was_changed_elsewhere_is_not_written_over(desk: Desk) -> None:
    desk.change_attributes({"age": {"role": "key"}}, "first")
    elsewhere = replace(desk.project, models={"k": 7})
    elsewhere.write()
    with pytest.raises(ChangedOnDiskError):
        desk.change_attributes({"town": {"role": "key"}}, "second")
    assert Project.read(desk.project.path) == elsewhere
    desk.read_again()
    assert desk.project == elsewhere
    desk.change_attributes({"town": {"role": "key"}}, "second")
    assert Project.read(desk.project.path).models == {"k": 7}


def test_what_is_here_can_be_kept(desk: Desk) -> None:
    desk.change_attributes({"age": {"role": "key"}}, "first")
    desk.project.path.write_text("")
    assert desk.changed_on_disk
    desk.keep_mine()
    assert Project.read(desk.project.path).names("key") == ("age",)
    assert not desk.changed_on_disk


def test_another_file_of_the_folder_gets_a_project_of_its_own(desk: Desk, tmp_path: Path) -> None:
    desk.change_attributes({"age": {"role": "key"}}, "first")
    PEOPLE.write_csv(tmp_path / "others.csv")
    desk.open(str(tmp_path / "others.csv"))
    assert desk.project.path.name == "others.toml"
    assert desk.project.names("key") == ()


def test_a_built_in_table_keeps_its_project_in_the_folder(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.open("paper-4")
    desk.change_attributes({"Age": {"role": "key"}}, "first")
    again = Desk(tmp_path)
    again.open(str(tmp_path / "paper-4.toml"))
    assert again.study.key == ("Age",)


def test_columns_travel_by_number(desk: Desk) -> None:
    assert [desk.code(name) for name in desk.opened.columns] == ["c0", "c1", "c2"]
    assert desk.column("c2") == "town"
    for wrong in ("c3", "c-1", "town", "c", "c1 ", "c²", ""):
        with pytest.raises(ArgumentError):
            desk.column(wrong)


def test_a_password_stands_in_no_project(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    with pytest.raises(UnveilError) as problem:
        desk.open("postgresql://ann:hunter2@127.0.0.1:1/people?table=t")
    assert "hunter2" not in str(problem.value)
    assert list(tmp_path.iterdir()) == []
