"""Opening: files of the start folder and no others, files that are dropped, how a file is read, and what is warned of."""

from __future__ import annotations

import stat
from pathlib import Path

import httpx
import polars as pl
import pytest
from starlette.applications import Starlette

from browsing import SITE, TOKEN, Browser
from desks import Done
from unveil.app.application import application
from unveil.app.guard import Guard, Key
from unveil.app.overview import describe_columns
from unveil.app.state import Desk, reading
from unveil.project import Project
from unveil.sources.files.workbook import workbook


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    (folder / "inner").mkdir(parents=True)
    (tmp_path / "private").mkdir()
    (tmp_path / "secret.csv").write_text("a,b\n1,2\n")
    (folder / "people.csv").write_bytes("name;zip;note\nÅsa;2139;?\nBob;10115;x\n".encode("cp1252"))
    (folder / "inner" / "more.csv").write_text("a,b\n1,2\n")
    return folder


@pytest.fixture
def desk(home: Path) -> Desk:
    return Desk(home, private=home.parent / "private")


@pytest.fixture
def browser(desk: Desk) -> Browser:
    return visited(application(desk))


def visited(app: Starlette) -> Browser:
    made = Browser(Guard(app, SITE, Key(TOKEN)))
    made.get(f"/?token={TOKEN}")
    return made


def drop(browser: Browser, name: str, content: bytes) -> httpx.Response:
    headers = {"origin": browser.address}
    return browser.request("POST", "/open/dropped", headers=headers, files={"file": (name, content, "text/csv")})


def said(browser: Browser, answer: httpx.Response) -> str:
    return browser.get(answer.headers["location"]).text


# Files of the start folder --------------------------------------------------------------------------------------------


def test_the_picker_shows_folders_and_tables(browser: Browser) -> None:
    assert 'value="people.csv"' in browser.get("/open").text
    assert 'value="inner/more.csv"' in browser.get("/open?in=inner").text


@pytest.mark.parametrize("path", ["../secret.csv", "/etc/passwd", "inner/../../secret.csv", "\0", "x" * 5000])
def test_nothing_outside_the_start_folder_is_opened(desk: Desk, browser: Browser, path: str) -> None:
    answer = browser.post("/open/file", {"path": path})
    assert answer.status_code == 303
    assert not desk.is_open
    assert browser.request("GET", "/open", params={"in": path}).status_code == 400


def test_a_link_that_leads_outside_is_not_followed(desk: Desk, browser: Browser, home: Path) -> None:
    (home / "link.csv").symlink_to(home.parent / "secret.csv")
    browser.post("/open/file", {"path": "link.csv"})
    assert not desk.is_open


def test_a_file_that_cannot_be_read_is_said_and_what_was_open_stays(desk: Desk, browser: Browser, home: Path) -> None:
    browser.post("/open/file", {"path": "inner/more.csv"})
    (home / "broken.parquet").write_bytes(b"PAR1 nothing")
    (home / "empty.csv").write_bytes(b"")
    for name in ("broken.parquet", "empty.csv", "none.csv", "inner"):
        assert "error" in said(browser, browser.post("/open/file", {"path": name}))
        assert desk.opened.columns == ("a", "b")


# Files that are dropped -----------------------------------------------------------------------------------------------


def test_a_dropped_file_is_private_and_kept_where_the_user_says(desk: Desk, browser: Browser, home: Path) -> None:
    answer = drop(browser, "../../x/staff.csv", b"name,age\nAnn,30\nBob,40\n")
    assert answer.status_code == 303
    path = Path(desk.opened.data)
    assert path.is_relative_to(home.parent / "private")
    assert (stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode)) == (0o600, 0o700)
    assert "Where should the file be kept?" in said(browser, answer)
    assert (desk.opened.name, desk.opened.kept, desk.project.data.path) == ("staff.csv", False, None)
    desk.change_attributes({"age": {"role": "key"}}, "first")
    assert "data not kept" in browser.get("/open").text
    for wrong in ("../staff.csv", "people.csv", "nowhere/staff.csv", ""):
        browser.post("/open/keep", {"name": wrong})
        assert not desk.opened.kept
    browser.post("/open/keep", {"name": "inner/staff.csv"})
    assert desk.opened.kept
    assert (home / "inner" / "staff.csv").read_bytes() == b"name,age\nAnn,30\nBob,40\n"
    assert not path.exists()
    again = Desk(home)
    again.open(str(home / "staff.toml"))
    assert (again.study.key, again.opened.columns) == (("age",), ("name", "age"))


def test_data_that_was_not_kept_must_be_opened_again(desk: Desk, browser: Browser, home: Path) -> None:
    drop(browser, "staff.csv", b"name,age\nAnn,30\n")
    desk.change_attributes({"age": {"role": "key"}}, "first")
    answer = browser.post("/open/file", {"path": "staff.toml"})
    assert "was not kept" in said(browser, answer)
    assert str(home.parent) not in (home / "staff.toml").read_text()


def test_a_file_that_is_too_large_leaves_nothing(desk: Desk, home: Path) -> None:
    browser = visited(application(desk, largest=1000))
    answer = drop(browser, "large.csv", b"a,b\n" + b"1,2\n" * 1000)
    assert "too large" in said(browser, answer)
    assert list((home.parent / "private").iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"\x00\x01", b"name\n"])
def test_a_dropped_file_that_is_no_table_leaves_nothing_open(desk: Desk, browser: Browser, content: bytes) -> None:
    assert drop(browser, "odd.parquet", content).status_code == 303
    assert not desk.is_open


def test_a_form_without_a_file_is_refused(browser: Browser) -> None:
    assert "no file was received" in said(browser, browser.post("/open/dropped", {"file": "x"}))
    torn = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\na,b'
    headers = {"origin": browser.address, "content-type": "multipart/form-data; boundary=x"}
    answer = browser.request("POST", "/open/dropped", headers=headers, content=torn)
    assert answer.status_code == 303


def test_nobody_else_drops_a_file(desk: Desk, browser: Browser) -> None:
    answer = browser.request(
        "POST", "/open/dropped", headers={"origin": "http://evil.example"}, files={"file": ("a.csv", b"a\n1\n")}
    )
    assert answer.status_code == 403
    assert not desk.is_open


# How it is read -------------------------------------------------------------------------------------------------------


def test_encoding_and_missing_texts_are_saved_and_the_preview_follows(desk: Desk, browser: Browser) -> None:
    assert "not UTF-8" in said(browser, browser.post("/open/file", {"path": "people.csv"}))
    assert desk.project.data.encoding == "cp1252"
    browser.post("/open/reading", {"encoding": "latin-1", "separator": ";", "missing": "? -9"})
    text = browser.get("/open").text
    assert "Åsa" in text
    assert desk.project.data.missing == ("?", "-9")
    assert Project.read(desk.project.path).data == desk.project.data
    assert '<span class="missing">missing</span>' in text
    browser.post("/undo")
    assert desk.project.data.encoding == "cp1252"


def test_a_reading_that_fails_changes_nothing(desk: Desk, browser: Browser) -> None:
    browser.post("/open/file", {"path": "people.csv"})
    before = desk.project
    answer = browser.post("/open/reading", {"encoding": "cp1252", "separator": ",,"})
    assert "error" in said(browser, answer)
    assert desk.project == before


def test_the_first_rows_are_masked_on_request(browser: Browser) -> None:
    browser.post("/open/file", {"path": "people.csv"})
    browser.post("/open/reading", {"encoding": "cp1252"})
    masked = browser.get("/open?masked=1").text
    assert "Bob" not in masked
    assert "<td>xxx</td>" in masked
    assert "<td>99999</td>" in masked


def test_a_workbook_is_opened_by_its_sheets(desk: Desk, browser: Browser, home: Path) -> None:
    content = workbook({"Staff": [["name", "age"], ["Ann", 30]], "Pay": [["id", "pay", "x"], [1, 2, -9]]})
    answer = drop(browser, "book.xlsx", content)
    assert "the first of 2 sheets" in said(browser, answer)

    def columns(desk: Desk) -> tuple[str, ...]:
        return desk.opened.columns

    assert columns(desk) == ("name", "age")
    browser.post("/open/sheet", {"sheet": "Pay"})
    assert columns(desk) == ("id", "pay", "x")
    browser.post("/open/sheet", {"sheet": "None"})
    assert columns(desk) == ("id", "pay", "x")
    browser.post("/open/keep", {"name": "book.xlsx"})
    again = Desk(home)
    again.open(str(desk.project.path))
    assert columns(again) == ("id", "pay", "x")


# Warnings -------------------------------------------------------------------------------------------------------------


def overview_of(desk: Desk) -> None:
    desk.memory["overview"] = Done(describe_columns(desk.opened.data, desk.project.path, reading(desk.project)))


def test_lost_zeros_and_several_records_a_person_are_told_and_mended(desk: Desk, browser: Browser, home: Path) -> None:
    frame = pl.DataFrame(
        {"patient_id": [f"P{row // 3}" for row in range(60)], "zip": [1011 + 991 * (row % 25) for row in range(60)]}
    )
    frame.write_csv(home / "visits.csv")
    browser.post("/open/file", {"path": "visits.csv"})
    overview_of(desk)
    text = browser.get("/open").text
    assert "leading zeros that a spreadsheet dropped are put back" in text
    assert desk.opened.whole.collected(["zip"])["zip"].min() == "01011"
    assert "patient_id has 20 values" in text
    browser.post("/open/person", {"column": "c0"})
    assert desk.project.names("person") == ("patient_id",)
    browser.post("/open/zeros", {"column": "c1"})
    overview_of(desk)
    assert desk.opened.whole.collected(["zip"])["zip"].min() == 1011
    assert "have several records" not in browser.get("/open").text


# Data bases -----------------------------------------------------------------------------------------------------------


def test_a_password_goes_nowhere(desk: Desk, browser: Browser, home: Path) -> None:
    form = {"address": "postgresql://ann@127.0.0.1:1/people?table=t", "password": "hunter2 %"}
    text = said(browser, browser.post("/open/table", form))
    assert "hunter2" not in text
    assert "error" in text
    assert not desk.is_open
    assert "hunter2" not in "".join(path.read_text(errors="replace") for path in home.rglob("*") if path.is_file())
    assert "not the address" in said(browser, browser.post("/open/table", {"address": "people.csv"}))


def test_a_table_of_a_data_base_is_opened_and_saved_without_a_password(desk: Desk, browser: Browser, home: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(home / "people.db")) as connection:
        connection.execute("CREATE TABLE people AS SELECT i % 7 AS age, i AS id FROM range(50) t(i)")
    browser.post("/open/table", {"address": f"duckdb://{home}/people.db?table=people"})
    assert desk.opened.columns == ("age", "id")
    assert "2 columns, 50 records" in browser.get("/open").text
    desk.change_attributes({"age": {"role": "key"}}, "first")
    again = Desk(home)
    again.open(str(desk.project.path))
    assert again.study.key == ("age",)
