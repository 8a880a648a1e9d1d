"""One release for every mechanism and search: what all of them have, and what only one of them tells."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import unveil
from unveil import mechanisms
from unveil.errors import ArgumentError
from unveil.models import KAnonymity
from unveil.releases import ReleaseRecords, Unwritten, in_hand, read_record, record_place

PEOPLE = pl.DataFrame({"age": [22, 25, 38, 39, 41, 47], "sex": list("fmfmfm"), "ill": ["flu", "gout"] * 3})
K = [KAnonymity(2)]

MAKERS: dict[str, Callable[[], unveil.Release[Any]]] = {
    "anonymize": lambda: unveil.anonymize(PEOPLE, ["age", "sex"], K),
    "mondrian": lambda: unveil.mondrian(PEOPLE, ["age", "sex"], K),
    "recode_locally": lambda: unveil.recode_locally(PEOPLE, ["age", "sex"], K),
    "suppress_locally": lambda: unveil.suppress_locally(PEOPLE, ["age", "sex"], 2),
    "microaggregate": lambda: mechanisms.microaggregate(PEOPLE, ["age"], k=2),
    "swap": lambda: mechanisms.swap(PEOPLE, ["ill"], share=0.5),
    "sample": lambda: mechanisms.sample(PEOPLE, size=3),
    "anatomize": lambda: mechanisms.anatomize(PEOPLE, ["age", "sex"], "ill", l=2),
    "protect": lambda: unveil.protect(PEOPLE, [unveil.Step("swap", "ill"), unveil.Step("generalize", ["age"], {"k": 2})]),
}
COMMON = {"records", "columns", "settings", "notes", "repeatable", "version"}


@pytest.mark.parametrize("name", MAKERS)
def test_every_maker_gives_one_release(name: str, tmp_path: Path) -> None:
    release = MAKERS[name]()
    assert type(release) is unveil.Release
    assert isinstance(release.protection, unveil.Protection)
    assert all(isinstance(table, ReleaseRecords) for table in release.tables.values())
    assert repr(release).startswith("Release(")
    answer = release.to_dict()
    assert set(answer) >= COMMON
    assert json.dumps(answer, allow_nan=False)
    assert release.to_frame().height == len(release.origin) == answer["records"]
    release.write(tmp_path / "out.csv")
    for place in release.places(tmp_path / "out.csv"):
        assert read_record(record_place(place), place).content["records"] == answer["records"]


@pytest.mark.parametrize("name", MAKERS)
def test_the_record_names_each_column_of_the_data_once(name: str) -> None:
    columns = MAKERS[name]().record["columns"]
    assert sorted([*columns["kept"], *(one["column"] for one in columns["left_out"])]) == sorted(PEOPLE.columns)
    assert {one["column"] for one in columns["never_measured"]} <= set(columns["kept"])


def test_figures_of_the_protection_are_read_from_the_release() -> None:
    release = MAKERS["anonymize"]()
    assert release.score == release.protection.score
    assert "score" in dir(release)
    assert copy.copy(release).score == pickle.loads(pickle.dumps(release.protection)).score  # noqa: S301 - our own
    with pytest.raises(AttributeError, match=r"'figures'.*Generalisation"):
        _ = release.figures


def test_what_is_not_in_hand_goes_no_further() -> None:
    with pytest.raises(ArgumentError, match="no single table"):
        in_hand(MAKERS["anatomize"]())
    release = MAKERS["anonymize"]()
    absent = unveil.Release(Unwritten(("age",), 6), release.protection, release.origin[:0], release.settings)
    for refused in (lambda: absent.data, absent.columns, lambda: in_hand(absent), lambda: absent.write_link("link.csv")):
        with pytest.raises(ArgumentError):
            refused()


@pytest.mark.parametrize("name", MAKERS)
def test_a_file_that_is_no_form_of_a_release_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="does not end in a release's form"):
        MAKERS[name]().write(tmp_path / "out.docx")
