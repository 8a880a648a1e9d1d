"""The screens over one table: what they show is what the verbs give, and nothing in the data becomes markup."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest

import unveil
from browsing import SITE, TOKEN, Browser, until
from desks import HOSTILE, hostile, opened
from unveil.app.application import application
from unveil.app.guard import Guard, Key
from unveil.app.screens import SCREENS
from unveil.app.state import Desk
from unveil.project import Project


class Page(HTMLParser):
    """The elements of a page with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture
def adult(tmp_path: Path) -> tuple[Desk, Browser]:
    return opened(tmp_path, "adult")


@pytest.fixture
def attacked(tmp_path: Path) -> tuple[Desk, Browser]:
    hostile().write_csv(tmp_path / "people.csv")
    return opened(tmp_path, str(tmp_path / "people.csv"))


def addresses(desk: Desk) -> list[str]:
    parts = [f"/{screen.name}/{word}" for screen in SCREENS for word in screen.parts]
    known = "&".join(f"c=c{at}" for at in range(len(HOSTILE) - 1))
    return [
        *(f"/{screen.name}" for screen in SCREENS if not screen.missing(desk)),
        *parts,
        f"/exposure?asked=1&{known}&about=c9&example=1",
        "/columns?q=<script>&show=names",
    ]


def test_no_name_and_no_cell_becomes_markup_on_any_screen(attacked: tuple[Desk, Browser]) -> None:
    desk, browser = attacked
    for address in addresses(desk):
        answer = browser.get(address)
        assert answer.status_code in ((200, 400) if address.count("/") > 1 else (200,)), address  # a part may ask for a column
        if not answer.headers["content-type"].startswith("text/html"):
            assert answer.headers["content-disposition"].startswith("attachment"), address
            continue
        page = Page(answer.text)
        assert [one.get("src") for one in page.all("script")] == [next(one["src"] for one in page.all("script"))], address
        assert page.all("style") == []
        for tag, attributes in page.elements:
            assert not {name for name in attributes if name.startswith("on") or name == "style"}, (address, tag)
            assert not (tag == "img" and attributes.get("src") == "x")
            for name in ("href", "src", "action"):
                assert not (attributes.get(name) or "").startswith("javascript:")
            for name in ("id", "name", "class", "for", "data-swap"):
                value = attributes.get(name) or ""
                assert re.fullmatch(r"[\w \-]*", value), (address, tag, name, value)
        assert not address.startswith(("/columns", "/exposure?")) or "q=" in address or "{{7*7}}" in html.unescape(answer.text)


def test_every_page_says_what_does_the_same(adult: tuple[Desk, Browser]) -> None:
    desk, browser = adult
    for screen in SCREENS:
        if not screen.missing(desk):
            text = browser.get(f"/{screen.name}").text
            assert "The same as a command and in Python" in text
            assert "unveil " in text.partition('id="same"')[2]


# Columns --------------------------------------------------------------------------------------------------------------


def people(folder: Path) -> str:
    rows = 40
    frame = pl.DataFrame(
        {
            "email": [f"person{row}@example.org" for row in range(rows)],
            "age": [20 + row % 30 for row in range(rows)],
            "town": ["XY"[row % 2] for row in range(rows)],
            "region": ["NS"[row % 2] for row in range(rows)],
            "income": [1000 * (row % 11) if row % 5 else None for row in range(rows)],
        }
    )
    frame.write_csv(folder / "people.csv")
    return str(folder / "people.csv")


@pytest.fixture
def staff(tmp_path: Path) -> tuple[Desk, Browser]:
    return opened(tmp_path, people(tmp_path))


def test_a_role_is_a_plain_choice_and_stands_in_the_project(staff: tuple[Desk, Browser]) -> None:
    desk, browser = staff
    for code, role in (("c0", "identifier"), ("c1", "key"), ("c4", "sensitive")):
        assert browser.post("/columns/role", {"column": code, "role": role}).status_code == 303
    project = Project.read(desk.project.path)
    assert {name: one.role for name, one in project.attributes.items()} == {
        "email": "identifier",
        "age": "key",
        "income": "sensitive",
    }
    assert 'value="key" checked' in browser.get("/columns").text


def test_one_column_is_the_person(staff: tuple[Desk, Browser]) -> None:
    desk, browser = staff
    for code in ("c0", "c2"):
        browser.post("/columns/role", {"column": code, "role": "person"})
    assert desk.project.names("person") == ("town",)


def test_nobody_goes_on_while_a_likely_name_is_kept_without_a_reason(staff: tuple[Desk, Browser]) -> None:
    desk, browser = staff
    assert browser.get("/exposure").headers["location"].startswith("/columns?note=")
    browser.post("/columns/role", {"column": "c0", "role": "keep", "reason": "  "})
    assert browser.get("/exposure").status_code == 303
    browser.post("/columns/role", {"column": "c0", "role": "keep", "reason": "made up for this test"})
    assert browser.get("/exposure").status_code == 200
    assert Project.read(desk.project.path).attributes["email"].reason == "made up for this test"
    browser.post("/columns/role", {"column": "c0", "role": "identifier"})
    assert browser.get("/exposure").status_code == 200


def test_proposals_are_accepted_at_once_and_undone_at_once(staff: tuple[Desk, Browser]) -> None:
    desk, browser = staff
    browser.post("/columns/accept")
    assert desk.project.names("identifier") == ("email",)
    assert set(desk.project.names("key")) == {"age", "town", "region"}
    assert desk.project.names("sensitive") == ("income",)
    browser.post("/undo", {"back": "/columns"})
    assert desk.project.attributes == {}


def test_ticked_columns_get_one_role(staff: tuple[Desk, Browser]) -> None:
    desk, browser = staff
    answer = browser.request(
        "POST", "/columns/many", headers={"origin": browser.address}, content="role=key&ticked=c1&ticked=c2&show=undecided"
    )
    assert answer.status_code in (303, 413)
    answer = browser.request(
        "POST",
        "/columns/many",
        headers={"origin": browser.address, "content-type": "application/x-www-form-urlencoded"},
        content="role=key&ticked=c1&ticked=c2&show=undecided",
    )
    assert answer.headers["location"].startswith("/columns?show=undecided")
    assert desk.project.names("key") == ("age", "town")


def test_columns_that_say_the_same_are_told(staff: tuple[Desk, Browser]) -> None:
    assert "says the same as region" in staff[1].get("/columns").text


def test_the_filter_shows_some(staff: tuple[Desk, Browser]) -> None:
    text = staff[1].get("/columns?q=IN&show=all").text
    assert re.findall(r'id="card-(c\d+)"', text) == ["c4"]
    assert re.findall(r'id="card-(c\d+)"', staff[1].get("/columns?show=names").text) == ["c0"]


@pytest.mark.parametrize(
    "form", [{"column": "c9", "role": "key"}, {"column": "c1", "role": "boss"}, {"role": "key"}, {"column": "age", "role": "key"}]
)
def test_a_form_that_makes_no_sense_changes_nothing(staff: tuple[Desk, Browser], form: dict[str, str]) -> None:
    desk, browser = staff
    answer = browser.post("/columns/role", form)
    assert answer.status_code == 303
    assert desk.project.attributes == {}
    assert "error" in browser.get(answer.headers["location"]).text


def test_an_older_tab_is_told_that_it_was_late(staff: tuple[Desk, Browser]) -> None:
    desk, browser = staff
    version = str(desk.version)
    browser.post("/columns/role", {"column": "c1", "role": "key", "version": version})
    late = browser.post("/columns/role", {"column": "c2", "role": "key", "version": version})
    assert "another tab" in browser.get(late.headers["location"]).text
    assert set(desk.project.names("key")) == {"age", "town"}, "the last change wins, and the first is not lost"


# What it gives away ---------------------------------------------------------------------------------------------------


def figures(text: str) -> tuple[int, int]:
    found = re.search(r'class="headline"><strong class="risk">([\d,]+)</strong> of ([\d,]+) ', text)
    assert found is not None
    return int(found[1].replace(",", "")), int(found[2].replace(",", ""))


@pytest.mark.parametrize(
    "known",
    [["age"], ["age", "sex", "race"], ["age", "workclass", "education", "marital-status", "race", "sex", "native-country"]],
)
def test_the_sentence_is_what_counting_gives(adult: tuple[Desk, Browser], known: list[str]) -> None:
    desk, browser = adult
    asked = "&".join(f"c={desk.code(name)}" for name in known)
    text = browser.get(f"/exposure?asked=1&{asked}").text
    frame = unveil.datasets.load("adult")
    sizes = frame.group_by(known).len()["len"]
    assert figures(text) == (int((sizes == 1).sum()), frame.height)
    assert f"<dd>{unveil.discrimination_rate('adult', key=known).value:.4f}</dd>" in text
    assert f"<dd>{int(sizes.min()):,}</dd>" in text


def test_people_stand_alone_where_persons_are_told_apart(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {"visit": range(60), "patient": [f"p{row // 3}" for row in range(60)], "age": [row // 6 for row in range(60)]}
    )
    frame = frame.with_columns(age=pl.when(pl.col("patient") == "p7").then(99).otherwise("age"))
    frame.write_csv(tmp_path / "visits.csv")
    desk, browser = opened(tmp_path, str(tmp_path / "visits.csv"))
    asked = f"/exposure?asked=1&c={desk.code('age')}&example=1"
    browser.post("/columns/role", {"column": desk.code("visit"), "role": "identifier"})
    browser.post("/columns/role", {"column": desk.code("patient"), "role": "other"})
    assert "None</strong> of 60 records is unique" in browser.get(asked).text
    browser.post("/columns/role", {"column": desk.code("patient"), "role": "person"})
    assert figures(browser.get(asked).text) == (2, 20)  # p7, and p6 who is left of a pair
    assert "of 20 people are unique" in browser.get(asked).text
    assert "Nobody else has this combination" in browser.get(asked).text


def test_what_is_learnt_about_a_secret_is_the_rate_of_the_verb(adult: tuple[Desk, Browser]) -> None:
    desk, browser = adult
    text = browser.get(f"/exposure?asked=1&c={desk.code('age')}&about={desk.code('occupation')}").text
    rate = unveil.discrimination_rate("adult", key="age", sensitive="occupation").value
    assert f"<strong>{100 * rate:.1f} %</strong> of what there is to learn about occupation" in text


def test_an_example_is_masked_and_shown_when_asked_for(staff: tuple[Desk, Browser]) -> None:
    desk, browser = staff
    browser.post("/columns/accept")
    assert desk.project.names("identifier") == ("email",)
    shown = browser.get("/exposure?asked=1&c=c1&c=c4&example=1").text
    assert "<code>99</code>" in shown
    assert "Nobody else has this combination" in shown
    assert "Nobody else has this combination" not in browser.get("/exposure?asked=1&c=c1&c=c4").text


def test_who_knows_nothing_finds_nobody(adult: tuple[Desk, Browser]) -> None:
    assert "can find nobody" in adult[1].get("/exposure?asked=1").text


# The way through another process --------------------------------------------------------------------------------------


def test_the_first_look_is_a_job(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.open("paper-4")
    browser = Browser(Guard(application(desk), SITE, Key(TOKEN)))
    browser.get(f"/?token={TOKEN}")
    assert browser.get("/columns").status_code == 200
    job = desk.memory["overview"]
    until(lambda: not job.running)
    assert job.outcome == "done", job.line
    assert 'id="card-c0"' in browser.get("/columns").text
    stream = browser.get(f"/jobs/{job.number}/stream")
    assert stream.text.startswith("event: part")
    assert stream.text.rstrip().endswith("data: done")
