"""No form of an answer names anyone: values of few people, and of classes that give a secret away, are masked everywhere."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import unveil
from unveil.cli import options, run
from unveil.errors import ArgumentError
from unveil.report import FORMATS, page, write
from unveil.results import Result
from unveil.results.masking import MASK, SMALL, UNMASKED

SECRETS = ("Soloville", "Tinyville", "zq-plague", "zq-rabies", "987654", "Zqolomon")
"""A town of one person, a town whose six people all have one illness, that illness, another that one person has, one person's pay,
and one person's name."""

COLUMNS = ("name", "town", "sex", "illness", "pay", "age")
STUDY = ["--key", "town", "--key", "sex", "--sensitive", "illness"]
NAMED = ["--key", "name", "--sensitive", "pay"]
COMMANDS: dict[str, list[str]] = {
    "dr": ["dr", "people.csv", *STUDY],
    "dr-name": ["dr", "people.csv", *NAMED],
    "dr-identity": ["dr", "people.csv", "--key", "town", "--small", "7"],
    "scan": ["scan", "people.csv", *STUDY],
    "measure": ["measure", "people.csv", *STUDY, "--suda", "--k", "5", "--l", "distinct:2:illness"],
    "measure-name": ["measure", "people.csv", *NAMED, "--sensitive", "illness", "--suda"],
    "assess": ["assess", "people.csv", *STUDY],
    "identifiers": ["identifiers", "people.csv"],
    "attack": ["attack", "people.csv", "release.csv", "--id", "name", *STUDY, "--sensitive", "pay"],
    "attack-name": ["attack", "people.csv", "release.csv", "--same-order", *NAMED],
    "attack-by-meaning": ["attack", "people.csv", "release.csv", "--same-order", *STUDY, "--partition", "kinds:sex=sexes.json"],
    "attack-synthetic": ["attack", "people.csv", "release.csv", "--control", "others.csv", *STUDY],
    "utility": ["utility", "people.csv", "--need", "care: illness given town, sex", "--need", "wages: pay given name"],
    "loss": ["loss", "people.csv", "release.csv", "--id", "name"],
    "compare": ["compare", "people.csv", "one=release.csv", *STUDY, "--same-order", "--privacy", "k", "--privacy", "attack"],
}
"""Every verb that answers with figures about people."""
SILENT = {"scan", "identifiers", "loss", "compare"}
"""Verbs whose answers hold no value of the data, masked or not."""


def people() -> list[tuple[object, ...]]:
    """Return two towns of which every class is mixed, and the people who must not be named."""
    rows: list[tuple[object, ...]] = []
    for at in range(48):
        town, illness = ("Lille", "Paris")[at // 24], ("flu", "cold", "gout")[at % 3]
        rows.append((f"N{at:02}", town, "fm"[at // 3 % 2], illness, 1000 + 500 * (at // 2 % 4), 20 + at % 4))
    rows += [(f"T{at:02}", "Tinyville", "fm"[at % 2], "zq-plague", 1000 + 500 * (at % 4), 20 + at % 4) for at in range(6)]
    return [*rows, ("Zqolomon", "Soloville", "f", "zq-rabies", 987654, 91)]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    with (tmp_path / "people.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([COLUMNS, *people()])
    with (tmp_path / "release.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([COLUMNS, *((*row[:5], "*") for row in people())])
    with (tmp_path / "others.csv").open("w", newline="", encoding="utf-8") as file:
        others = [(f"O{at:02}", "Metz", "fm"[at % 2], ("flu", "cold", "gout")[at % 3], 1200 + at, 30 + at) for at in range(40)]
        csv.writer(file).writerows([COLUMNS, *others])
    (tmp_path / "sexes.json").write_text('[["f"], ["m"]]', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def forms(words: Sequence[str], here: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """Return every form of an answer as text; a workbook and a Parquet file as all their cells."""
    import polars as pl

    assert run([*words]) in {0, 1}
    found = {"terminal": capsys.readouterr().out}
    assert run([*words, "--json"]) in {0, 1}
    found["--json"] = capsys.readouterr().out
    for ending in FORMATS:
        out = here / f"answer{ending}"
        assert run([*words, "--out", str(out)]) in {0, 1}
        if ending == ".parquet":
            frame = pl.read_parquet(out)
            found[ending] = f"{frame.columns} {frame.write_json()}"
        elif ending == ".xlsx":
            sheets = pl.read_excel(out, sheet_id=0, has_header=False)
            found[ending] = "".join(sheet.cast(pl.String).write_json() for sheet in sheets.values())
        else:
            found[ending] = out.read_text("utf-8")
    return found


def leaks(text: str) -> list[str]:
    return [secret for secret in SECRETS if secret in text or (secret.isdigit() and f"{int(secret):,}" in text)]


@pytest.mark.parametrize("name", COMMANDS)
def test_no_form_of_an_answer_names_anyone(name: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = forms(COMMANDS[name], here, capsys)
    assert {form: leaks(text) for form, text in found.items() if leaks(text)} == {}
    assert "unmasked" not in json.loads(found["--json"])


CHECKS = {
    "people": ["check", "people.csv", "--policy", "cell-size-5", *STUDY],
    "release": ["check", "release.csv", "--policy", "cell-size-5", *STUDY, "--original", "people.csv", "--same-order"],
}


@pytest.mark.parametrize("name", CHECKS)
def test_no_form_of_a_verdict_names_anyone(name: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [*CHECKS[name], "--junit", "verdict.xml", "--sheet", "sheet.html", "--history", "runs.jsonl"]
    found = forms(words, here, capsys)
    found |= {file: (here / file).read_text("utf-8") for file in ("verdict.xml", "sheet.html", "runs.jsonl")}
    assert {form: leaks(text) for form, text in found.items() if leaks(text)} == {}
    assert json.loads(found["--json"])["profile"]["columns"]["town"]["categories"] == ["Lille", "Paris"]
    assert run([*CHECKS[name], "--unmasked"]) == 2  # it names no class, so there is nothing to unmask


@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_not_masked_is_marked_in_every_form(name: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = forms([*COMMANDS[name], "--unmasked"], here, capsys)
    marked = {form: UNMASKED in " ".join(text.split()) for form, text in found.items() if form in {"terminal", ".txt"}}
    assert marked == {"terminal": True, ".txt": True}
    assert '<p class="unveil-banner">UNMASKED: ' in found[".html"]
    assert json.loads(found["--json"])["unmasked"] is True
    assert json.loads(found[".json"])["unmasked"] is True
    assert all("unmasked" in found[form] for form in (".csv", ".parquet", ".xlsx"))
    assert bool(leaks(found["--json"])) is (name not in SILENT)


def test_masking_leaves_no_class_to_be_found_by_elimination(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["dr", "people.csv", "--key", "town", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["by_value"]
    assert sorted(row["town"] for row in rows).count(MASK) == 2
    assert [row["count"] for row in rows if row["town"] == MASK] == [1, None]  # another one is masked with it, uncounted
    assert all(row["dr"] is None for row in rows if row["count"] is None)


def test_small_is_as_many_records_as_asked(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["dr", "people.csv", "--key", "town", "--json", "--small"]
    assert run([*words, "25"]) == 0
    assert {row["town"] for row in json.loads(capsys.readouterr().out)["by_value"]} == {MASK}
    assert run([*words, "1"]) == 0
    assert MASK not in capsys.readouterr().out
    assert run(["measure", "people.csv", "--key", "town", "--json", "--small", "1"]) == 0
    assert json.loads(capsys.readouterr().out)["models"]["k_anonymity"]["worst_class"]["key"] == {"town": "Soloville"}
    assert options.SMALL == SMALL


def test_a_notebook_shows_what_may_be_shown_and_code_sees_all() -> None:
    found = unveil.discrimination_rate("people.csv", ["town"], "illness")
    assert leaks(found._repr_html_()) == []
    assert "Tinyville" in json.dumps(found.to_dict())
    assert "Tinyville" in found.displayed(unmasked=True)._repr_html_()
    masked = found.displayed(small=30)
    assert masked.displayed().to_dict() == masked.to_dict()  # masking takes nothing back


RESULTS: dict[str, Callable[[], Result]] = {
    "dr": lambda: unveil.discrimination_rate("people.csv", ["town", "sex"], "illness"),
    "measure": lambda: unveil.measure("people.csv", ["town", "sex"], ["illness", "pay"], special=True),
    "attack": lambda: unveil.attack("people.csv", "release.csv", ["town", "sex"], ["illness", "pay"], same_order=True),
    "utility": lambda: unveil.utility("people.csv", unveil.Need("care", target="illness", given=["town", "sex"])),
}
"""Answers of the library that hold values of the data."""


@pytest.mark.parametrize("name", RESULTS)
def test_what_the_library_shows_names_nobody(name: str, here: Path) -> None:
    from rich.console import Console

    found = RESULTS[name]()
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(found)
    write(found, here / "answer.html")
    forms = [found._repr_html_(), console.export_text(), (here / "answer.html").read_text("utf-8"), page(found), repr(found)]
    assert [leaks(text) for text in forms] == [[]] * len(forms)
    write(found, here / "answer.json", unmasked=True)
    assert json.loads((here / "answer.json").read_text("utf-8"))["unmasked"] is True
    assert "UNMASKED" in page(found.displayed(unmasked=True))


def test_an_assessment_is_masked_or_marked_as_it_was_measured() -> None:
    masked = unveil.assess("people.csv", ["town", "sex"], "illness")
    assert leaks(masked._repr_html_()) == []
    with pytest.raises(ArgumentError, match="redact=False"):
        masked.displayed(unmasked=True)
    whole = unveil.assess("people.csv", ["town", "sex"], "illness", redact=False)
    assert "unveil-banner" in whole._repr_html_()
    assert whole.displayed().to_dict()["unmasked"] is True
