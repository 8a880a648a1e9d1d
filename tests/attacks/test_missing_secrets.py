"""A sensitive value that is missing is no secret disclosed, unless the user says that it is one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unveil
from helpers import together
from unveil.cli import run
from unveil.errors import EmptyDataError, ProjectError
from unveil.testing import tables

PEOPLE = pl.DataFrame(
    {
        "ward": ["a", "a", "a", "b", "b", "c", "c", "c", "c"],
        "test": [None, None, None, "positive", "positive", "negative", "positive", None, "negative"],
    }
)
"""Nobody of ward a has a result, everybody of b the same one, and c is mixed."""


def certain(**options: Any) -> tuple[int, int]:
    """Return the records that are disclosed for certain, and those in classes without any value."""
    found = unveil.attack(PEOPLE, PEOPLE, "ward", "test", link_records=False, **options).homogeneity["by_sensitive"]["test"]
    return found["certain"]["records"], found["without_value"]["records"]


def told(policy: Any, **options: Any) -> Any:
    verdict = unveil.check(PEOPLE, policy, key="ward", sensitive="test", **options)
    return next(one for one in verdict.outcomes if one.rule.name == "certain_disclosure")


def project(folder: Path, flag: str) -> Path:
    PEOPLE.write_csv(folder / "people.csv")
    place = folder / "unveil.toml"
    lines = [
        'data.path = "people.csv"',
        '[attributes.ward]\nrole = "key"',
        f'[attributes.test]\nrole = "sensitive"\nmissing_is_sensitive = {flag}',
        "[policy]\ncertain_disclosure = 0.3",
    ]
    place.write_text("\n".join(lines))
    return place


def test_a_class_without_values_is_counted_apart() -> None:
    assert certain() == certain(missing_is_sensitive=False) == (2, 3)
    assert certain(missing_is_sensitive=True) == (5, 3)


@given(tables(columns=2), st.booleans())
def test_against_brute_force(frame: pl.DataFrame, secret: bool) -> None:
    rows = [row for row in together(frame, ["a", "b"]) if row[0] is not None]
    if not rows:
        with pytest.raises(EmptyDataError):
            unveil.attack(frame, frame, "a", "b", missing_is_sensitive=secret, link_records=False)
        return
    found = unveil.attack(frame, frame, "a", "b", missing_is_sensitive=secret, link_records=False)
    entry = found.homogeneity["by_sensitive"]["b"]
    held: dict[Any, list[Any]] = {}
    for key, value in rows:
        held.setdefault(key, []).append(value)
    empty = [values for values in held.values() if set(values) == {None}]
    alone = [values for values in held.values() if len(set(values)) == 1 and (secret or values[0] is not None)]
    assert entry["without_value"]["classes"] == len(empty)
    assert entry["without_value"]["records"] == sum(map(len, empty))
    assert entry["certain"]["classes"] == len(alone)
    assert entry["certain"]["records"] == sum(map(len, alone))
    assert entry["certain"]["share"] == pytest.approx(sum(map(len, alone)) / frame.height)


def test_the_rate_does_not_depend_on_it() -> None:
    one, other = (
        unveil.attack(PEOPLE, PEOPLE, "ward", "test", missing_is_sensitive=secret, link_records=False) for secret in (True, False)
    )
    assert one.overall == other.overall
    assert one.skewness == other.skewness


def test_the_rule_says_what_it_did_not_count() -> None:
    plain = told({"certain_disclosure": 0.3})
    assert plain.met is True
    assert plain.value == pytest.approx(2 / 9)
    assert plain.detail == "the key determines it for 2 records; 3 more have no value, which is not treated as sensitive"
    strict = told({"certain_disclosure": {"at_most": 0.3, "missing_is_sensitive": True}})
    assert strict.met is False
    assert strict.value == pytest.approx(5 / 9)
    assert strict.detail == "the key determines it for 5 records, 3 of which have no value"


def test_a_rule_of_ones_own_replaces_that_of_a_preset() -> None:
    policy = {"preset": "wp216", "certain_disclosure": {"at_most": 0.3, "missing_is_sensitive": True}}
    verdict = unveil.check(PEOPLE, policy, key="ward", sensitive="test")
    rules = [one for one in verdict.outcomes if one.rule.name == "certain_disclosure"]
    assert [one.value for one in rules] == [pytest.approx(5 / 9)]


def test_a_project_says_it_for_one_attribute(tmp_path: Path) -> None:
    place = project(tmp_path, "true")
    read = unveil.Project.read(place)
    read.write(tmp_path / "again.toml")
    assert unveil.Project.read(tmp_path / "again.toml").attributes["test"].missing_is_sensitive
    (outcome,) = [one for one in unveil.check(place, read.policy).outcomes if one.rule.name == "certain_disclosure"]
    assert outcome.value == pytest.approx(5 / 9)
    study = unveil.Study.of(place)
    found = unveil.attack(study, study, link_records=False).homogeneity["by_sensitive"]["test"]
    assert found["certain"]["records"] == 5
    lenient = unveil.attack(study, study, missing_is_sensitive=False, link_records=False).homogeneity["by_sensitive"]["test"]
    assert lenient["certain"]["records"] == 2


def test_a_project_that_says_it_wrongly_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProjectError, match="true or false"):
        unveil.Project.read(project(tmp_path, '"yes"'))


def test_the_command_line_says_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = str(tmp_path / "people.csv")
    PEOPLE.write_csv(place)
    asked = ["attack", place, place, "--key", "ward", "--sensitive", "test", "--no-linkage"]
    assert run(asked) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "2 records disclosed for certain; 3 more have no value, like all of their class, which is not treated" in shown
    assert run([*asked, "--missing-is-sensitive", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["homogeneity"]["by_sensitive"]["test"]["certain"]["records"] == 5
