"""Workbooks, archives and patterns: what is read is what was written, and what is wrong is said."""

from __future__ import annotations

import datetime as dt
import gzip
import zipfile
from pathlib import Path
from typing import Any

import fastexcel
import openpyxl
import polars as pl
import pyreadstat
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unveil
from unveil.cli import run
from unveil.errors import ArgumentError, DataFileError, DataNotFoundError, DuplicateColumnError, EmptyDataError
from unveil.sources.files.workbook import workbook

ROWS: list[list[Any]] = [
    ["id", "code", "height", "born", "mixed", "yes"],
    [1, "007", 1.5, dt.datetime(2001, 5, 17), 7, True],  # noqa: DTZ001 - a workbook knows no zone
    [2, "7", 2, dt.datetime(1999, 1, 2), "x", False],  # noqa: DTZ001
    [3, None, None, None, None, True],
]
FRAME = pl.DataFrame({"a": [1, 2], "b": ["x", "y"]})


def written(place: Path, sheets: dict[str, list[list[Any]]]) -> Path:
    """Write a workbook as another library does."""
    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(place)
    return place


def read(place: object) -> pl.DataFrame:
    opened = unveil.source(str(place))
    return opened.collect(opened.names)


def test_a_sheet_is_read_by_what_its_cells_hold(tmp_path: Path) -> None:
    frame = read(written(tmp_path / "people.xlsx", {"People": ROWS}))
    assert frame.to_dict(as_series=False) == {
        "id": [1, 2, 3],
        "code": ["007", "7", None],
        "height": [1.5, 2.0, None],
        "born": [dt.date(2001, 5, 17), dt.date(1999, 1, 2), None],
        "mixed": ["7", "x", None],
        "yes": [True, False, True],
    }
    assert frame.schema["id"] == pl.Int64


def test_a_sheet_is_named(tmp_path: Path) -> None:
    place = written(tmp_path / "book.xlsx", {"One": [["a"], [1]], "Two & more": [["b"], [2], [3]], "Nothing": []})
    assert read(f"{place}?sheet=Two & more")["b"].to_list() == [2, 3]
    with pytest.raises(ArgumentError, match=r"has 3 sheets; name one, as .*sheet=One"):
        read(place)
    with pytest.raises(ArgumentError, match="no sheet 'Three'; sheets are: One, Two & more, Nothing"):
        read(f"{place}?sheet=Three")
    with pytest.raises(EmptyDataError, match="sheet is empty"):
        read(f"{place}?sheet=Nothing")


@pytest.mark.parametrize(
    ("rows", "error", "said"),
    [
        ([["a", "a"], [1, 2]], DuplicateColumnError, "a"),
        ([["a", None, "b"], [1, 2, 3]], DataFileError, "column 2 of the sheet has no name"),
        ([["a", "b"]], EmptyDataError, "no records"),
    ],
)
def test_a_sheet_that_is_no_table_is_refused(rows: list[list[Any]], error: type[Exception], said: str, tmp_path: Path) -> None:
    with pytest.raises(error, match=said):
        read(written(tmp_path / "bad.xlsx", {"s": rows}))


def test_what_is_no_workbook_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "people.xlsx"
    place.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(DataFileError, match="cannot be read as a workbook"):
        read(place)
    text = tmp_path / "people.csv"
    FRAME.write_csv(text)
    with pytest.raises(ArgumentError, match="only a workbook has sheets"):
        read(f"{text}?sheet=a")


def test_opendocument_is_read(tmp_path: Path) -> None:
    kinds = {str: 'office:value-type="string"', int: 'office:value-type="float" office:value="{}"'}
    rows: list[list[Any]] = [["a", "b"], [1, "x"], [2, "y"]]
    cells = ""
    for row in rows:
        one = [f"<table:table-cell {kinds[type(cell)].format(cell)}><text:p>{cell}</text:p></table:table-cell>" for cell in row]
        cells += f"<table:table-row>{''.join(one)}</table:table-row>"
    urn = "urn:oasis:names:tc:opendocument:xmlns"
    content = (
        f'<?xml version="1.0"?><office:document-content xmlns:office="{urn}:office:1.0" xmlns:table="{urn}:table:1.0" '
        f'xmlns:text="{urn}:text:1.0" office:version="1.3"><office:body><office:spreadsheet><table:table table:name="One">'
        f"{cells}</table:table></office:spreadsheet></office:body></office:document-content>"
    )
    place = tmp_path / "people.ods"
    with zipfile.ZipFile(place, "w") as book:
        book.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        manifest = f'<manifest:manifest xmlns:manifest="{urn}:manifest:1.0"/>'
        book.writestr("META-INF/manifest.xml", manifest)
        book.writestr("content.xml", content)
    assert read(place).equals(FRAME)


texts = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cf", "Co", "Cn", "Zl", "Zp"]), min_size=1).filter(
    lambda text: text == text.strip()
)


@given(
    st.lists(st.tuples(texts, st.integers(-(2**53) + 1, 2**53 - 1), st.floats(allow_nan=False, allow_infinity=False)), min_size=1)
)
def test_what_we_write_other_libraries_read(rows: list[tuple[str, int, float]]) -> None:
    content = workbook({"s": [["t", "n", "x"], *map(list, rows)]})
    back = fastexcel.read_excel(content).load_sheet("s", dtypes={"t": "string"}, schema_sample_rows=None).to_polars()
    assert back["t"].to_list() == [text for text, _, _ in rows]
    assert back["n"].cast(pl.Float64).to_list() == [float(number) for _, number, _ in rows]
    assert back["x"].cast(pl.Float64).to_list() == pytest.approx([number for _, _, number in rows], rel=1e-15)


def test_nothing_in_a_workbook_is_computed(tmp_path: Path) -> None:
    place = tmp_path / "out.xlsx"
    place.write_bytes(workbook({"a/b": [["=1+1", "@x"], [True, 2**60]], "A b": [["y"]]}))
    book = openpyxl.load_workbook(place)
    assert book.sheetnames == ["a b", "A b 2"]
    cells = [cell for row in book["a b"].iter_rows() for cell in row]
    assert [cell.data_type for cell in cells] == ["s", "s", "b", "s"] or [cell.value for cell in cells][:2] == ["=1+1", "@x"]
    assert [cell.data_type for cell in cells][:2] != ["f", "f"]
    with pytest.raises(ArgumentError, match="32,767"):
        workbook({"s": [["x" * 40_000]]})


def test_a_release_and_an_answer_are_workbooks(tmp_path: Path) -> None:
    release, answer = tmp_path / "release.xlsx", tmp_path / "answer.xlsx"
    words = ["anonymize", "adult", "--key", "sex", "--key", "race", "--k", "5", "--out", str(release), "--json"]
    assert run(words) == 0
    assert read(release)["sex"].value_counts().sum()["count"].item() == 30_162
    assert run(["measure", str(release), "--key", "sex", "--key", "race", "--out", str(answer)]) == 0
    sheets = fastexcel.read_excel(answer)
    assert sheets.sheet_names[0] == "answer"
    assert len(sheets.sheet_names) > 2


def test_a_zip_archive_gives_its_file(tmp_path: Path) -> None:
    place = tmp_path / "people.zip"
    with zipfile.ZipFile(place, "w") as archive:
        archive.writestr("__MACOSX/._people.csv", "rubbish")
        archive.writestr("in/people.csv", FRAME.write_csv())
    assert read(place).equals(FRAME)
    with zipfile.ZipFile(place, "a") as archive:
        archive.writestr("more.csv.gz", gzip.compress(FRAME.head(1).write_csv().encode()))
    assert read(f"{place}?member=more.csv.gz").equals(FRAME.head(1))
    with pytest.raises(ArgumentError, match=r"has 2 files; name one, as .*member=in/people.csv"):
        read(place)
    with pytest.raises(ArgumentError, match=r"no member 'x.csv'"):
        read(f"{place}?member=x.csv")
    place.write_bytes(place.read_bytes()[:60])
    with pytest.raises(DataFileError, match="not a zip archive"):
        read(place)


def test_a_workbook_or_a_sas_file_may_be_packed(tmp_path: Path) -> None:
    book = written(tmp_path / "people.xlsx", {"s": [["a", "b"], [1, "x"], [2, "y"]]})
    pyreadstat.write_xport(FRAME.to_pandas(), tmp_path / "people.xpt")
    for file in (book, tmp_path / "people.xpt"):
        with zipfile.ZipFile(tmp_path / "packed.zip", "w") as archive:
            archive.write(file, file.name)
        packed = tmp_path / f"{file.name}.gz"
        packed.write_bytes(gzip.compress(file.read_bytes()))
        for place in (file, tmp_path / "packed.zip", packed):
            assert read(place).equals(FRAME), place


def test_the_files_of_a_pattern_are_one_table(tmp_path: Path) -> None:
    (tmp_path / "part-1.csv").write_text("a,b\n7,1.5\n", encoding="utf-8")
    (tmp_path / "part-2.csv").write_text("b;a\n1.50;007\n", encoding="utf-8")
    frame = read(tmp_path / "part-*.csv")
    assert frame.to_dict(as_series=False) == {"a": ["7", "007"], "b": ["1.5", "1.50"]}
    assert unveil.discrimination_rate(str(tmp_path / "part-?.csv"), key="a").value == 1.0
    FRAME.write_parquet(tmp_path / "x1.parquet")
    FRAME.with_columns(a=pl.Series(["1", "p"])).write_parquet(tmp_path / "x2.parquet")
    assert read(tmp_path / "x*.parquet")["a"].to_list() == ["1", "2", "1", "p"]


def test_a_pattern_that_names_no_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataNotFoundError, match="no file matches this pattern"):
        read(tmp_path / "part-*.csv")
    (tmp_path / "part-1.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    (tmp_path / "part-2.csv").write_text("a\n1\n", encoding="utf-8")
    with pytest.raises(DataFileError, match="lacks b, unlike"):
        read(tmp_path / "part-*.csv")
    (tmp_path / "odd[1].csv").write_text("a\n1\n", encoding="utf-8")
    assert read(tmp_path / "odd[1].csv")["a"].to_list() == [1]


def test_the_evidence_of_a_verdict_names_the_files_behind_a_sheet_or_a_pattern(tmp_path: Path) -> None:
    book = written(tmp_path / "people.xlsx", {"s": [["a"], *([["x"]] * 6)], "t": [["a"], ["y"]]})
    found = unveil.check(f"{book}?sheet=s", {"k_anonymity": 5}, key="a")
    assert found.passes
    assert [one.size for one in found.evidence.files if one.role == "release"] == [book.stat().st_size]
    for at in (1, 2):
        (tmp_path / f"p{at}.csv").write_text("a\nx\nx\nx\n", encoding="utf-8")
    found = unveil.check(str(tmp_path / "p*.csv"), {"k_anonymity": 5}, key="a")
    assert [Path(one.place).name for one in found.evidence.files if one.role == "release"] == ["p1.csv", "p2.csv"]


def test_a_wrong_option_points_at_the_help_of_its_verb(capsys: pytest.CaptureFixture[str]) -> None:
    for words, verb in (
        (["measure", "adult", "--kk"], "unveil measure"),
        (["hierarchy", "build", "adult", "--x"], "unveil hierarchy build"),
        (["mesure"], "unveil"),
    ):
        assert run(words) == 2
        assert f"(try: {verb} --help)" in capsys.readouterr().err
