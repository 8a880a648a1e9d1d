"""A file that a call or a command reads is never overwritten by it; any other file that it names as output is replaced."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import unveil
from unveil import Hierarchy, Project, Study
from unveil.cli import run
from unveil.errors import ArgumentError
from unveil.models import KAnonymity, KMap

KEYS, K2 = ["age", "sex"], [KAnonymity(2)]
PLAN = """
[data]
path = "people.csv"
[attributes.age]
role = "key"
hierarchy = "trees/age.csv"
[attributes.sex]
role = "key"
[models]
k = 2
"""


@pytest.fixture(autouse=True)
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    people = pl.DataFrame({"age": [1, 2, 3, 4] * 3, "sex": ["f", "m"] * 6, "ill": ["a", "b", "c"] * 4})
    for name in ("people.csv", "other.csv", "population.csv"):
        people.write_csv(name)
    Path("parts").mkdir()
    people.write_parquet("parts/one.parquet")
    Path("trees").mkdir()
    Hierarchy.from_levels([1, 2, 3, 4], ["l", "l", "h", "h"], ["*"] * 4).write("trees/age.csv")
    Hierarchy.from_levels(["f", "m"], ["*"] * 2).write("trees/sex.csv")
    Path("plan.toml").write_text(PLAN, "utf-8")
    Path("link.csv").write_text("original,release\n" + "".join(f"{at},{at}\n" for at in range(1, 13)), "utf-8")
    Path("secret.csv").write_bytes(b"k" * 40)
    Path("symbolic.csv").symlink_to("people.csv")
    return tmp_path


def content(room: Path) -> dict[Path, bytes]:
    return {place: place.read_bytes() for place in room.rglob("*") if place.is_file()}


CALLS: dict[str, Callable[[], Any]] = {
    "data": lambda: unveil.anonymize("people.csv", KEYS, K2, out="people.csv"),
    "data, by the correspondence": lambda: unveil.anonymize("people.csv", KEYS, K2, out="x.csv", link="people.csv"),
    "data, by a link": lambda: unveil.anonymize("people.csv", KEYS, K2, out="symbolic.csv"),
    "data, by another name": lambda: unveil.anonymize("people.csv", KEYS, K2, out="trees/../people.csv"),
    "data, in a dry run": lambda: unveil.anonymize("people.csv", KEYS, K2, out="people.csv", dry_run=True),
    "a pattern": lambda: unveil.anonymize("p*le.csv", KEYS, K2, out="people.csv"),
    "a folder": lambda: unveil.anonymize("parts", KEYS, K2, out="parts/two.parquet"),
    "a study": lambda: unveil.anonymize(Study("people.csv"), KEYS, K2, out="people.csv"),
    "a source": lambda: unveil.anonymize(unveil.source("people.csv"), KEYS, K2, out="people.csv"),
    "a project's data": lambda: unveil.anonymize("plan.toml", out="people.csv"),
    "a project": lambda: unveil.anonymize(Project.read("plan.toml"), out="x.csv", link="plan.toml"),
    "a project's hierarchy": lambda: unveil.anonymize(Study("plan.toml"), out="trees/age.csv"),
    "a hierarchy": lambda: unveil.anonymize("people.csv", KEYS, K2, hierarchies={"age": "trees/age.csv"}, out="trees/age.csv"),
    "an attribute's hierarchy": lambda: unveil.anonymize("people.csv", {"age": "trees/age.csv"}, K2, out="trees/age.csv"),
    "the population": lambda: unveil.anonymize("people.csv", KEYS, [KMap(2)], population="population.csv", out="population.csv"),
    "a study's population": lambda: unveil.anonymize(
        Study("people.csv", population="population.csv"), KEYS, [KMap(2)], out="population.csv"
    ),
    "the key file": lambda: unveil.anonymize("people.csv", KEYS, K2, key_file="secret.csv", out="secret.csv"),
    "the release itself": lambda: unveil.anonymize("people.csv", KEYS, K2, out="x.csv", link="x.csv"),
    "a checkpoint": lambda: unveil.scan("people.csv", KEYS, checkpoint="people.csv"),
}


@pytest.mark.parametrize("name", CALLS)
def test_no_call_overwrites_what_it_reads(name: str, room: Path) -> None:
    before = content(room)
    with pytest.raises(ArgumentError, match=r"is read by this call|must be different files|exists already"):
        CALLS[name]()
    assert content(room) == before


@pytest.mark.parametrize(
    "words",
    [
        "anonymize people.csv --key age --key sex --k 2 --out people.csv",
        "anonymize people.csv --key age --key sex --k 2 --out symbolic.csv",
        "anonymize people.csv --key age --key sex --k 2 --out x.csv --link people.csv",
        "anonymize people.csv --key age --key sex --k 2 --hierarchy age=trees/age.csv --out trees/age.csv",
        "anonymize people.csv --key age --key sex --k 2 --hierarchy-dir trees --out trees/sex.csv",
        "anonymize people.csv --key age --key sex --k-map 2 --population population.csv --out population.csv",
        "anonymize people.csv --key age --key sex --k 2 --key-file secret.csv --out secret.csv",
        "anonymize people.csv --mechanism swap --attribute ill --out people.csv",
        "anonymize --project plan.toml --out people.csv",
        "anonymize --project plan.toml --out trees/age.csv",
        "anonymize --project plan.toml --out x.csv --link plan.toml",
        "assess --project plan.toml --sensitive ill --out people.csv",
        "attack people.csv other.csv --same-order --key age --sensitive ill --out other.csv",
        "check other.csv --policy cell-size-3 --key age --original people.csv --same-order --out people.csv",
        "check other.csv --policy cell-size-3 --key age --junit other.csv",
        "compare people.csv a=other.csv --key age --out other.csv",
        "dr --project plan.toml --out trees/age.csv",
        "dr people.csv --key age --out people.csv",
        "front people.csv --key age --sensitive ill --out people.csv",
        "hierarchy build people.csv --column age --out people.csv",
        "hierarchy partitions people.csv other.csv --column age --same-order --out other.csv",
        "identifiers people.csv --out people.csv",
        "init people.csv --out people.csv --force",
        "loss people.csv other.csv --link link.csv --key age --out link.csv",
        "measure people.csv --key age --out people.csv",
        "scan people.csv --key age --out people.csv",
        "scan people.csv --key age --checkpoint people.csv",
        "table people.csv --by age --out people.csv",
        "unicity people.csv --person ill --key age --out people.csv",
        "utility people.csv --need x:ill:age --out people.csv",
        "watch people.csv --key age --window 4 --out people.csv",
    ],
)
def test_no_command_overwrites_what_it_reads(words: str, room: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = content(room)
    assert run(words.split()) == 2
    assert "so it is not overwritten; name another file" in capsys.readouterr().err
    assert content(room) == before


def test_a_file_that_is_not_read_is_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        unveil.anonymize("people.csv", KEYS, K2, out="other.csv", link="link.csv", seed=1)
        assert run(["dr", "people.csv", "--key", "age", "--out", "population.csv"]) == 0
    assert "original,release" in Path("link.csv").read_text("utf-8")
    assert Path("population.csv").read_text("utf-8") != Path("people.csv").read_text("utf-8")
    assert "written" in capsys.readouterr().err
