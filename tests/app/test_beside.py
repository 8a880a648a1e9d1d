"""The screens beside the way: next month's file, tables, questions and the watch give what the library gives."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import unveil
from browsing import Browser
from desks import HOSTILE, Done, alien_markup, hostile, opened, posted
from unveil.app.side_jobs import against_baseline, build_table, course, watch_file
from unveil.app.state import Desk, reading


def people(more: int = 0) -> pl.DataFrame:
    rows = range(240 + more)
    return pl.DataFrame(
        {
            "age": [20 + (7 * at) % 12 for at in rows],
            "town": [("Ulm", "Bonn", "Kiel", "Jena")[(at // 3) % 4] if at < 240 else f"new {at}" for at in rows],
            "illness": [("flu", "gout", "none", "none")[(at // 5) % 4] for at in rows],
            "wage": [1000 + 10 * (at % 50) for at in rows],
        }
    )


@pytest.fixture
def way(tmp_path: Path) -> tuple[Desk, Browser]:
    people().write_csv(tmp_path / "people.csv")
    desk, browser = opened(tmp_path, str(tmp_path / "people.csv"))
    roles = {"age": "key", "town": "key", "illness": "keep", "wage": "sensitive"}
    desk.change_attributes({name: {"role": role} for name, role in roles.items()}, "roles")
    return desk, browser


def refused(browser: Browser, path: str, /, **form: Any) -> bool:
    return 'class="message error"' in posted(browser, path, **form)


# Next month -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ruled", [False, True])
def test_a_riskier_file_is_told_apart_from_the_same_one(way: tuple[Desk, Browser], ruled: bool) -> None:
    desk, browser = way
    people(5).write_csv(desk.folder / "next.csv")
    if ruled:
        posted(browser, "/rules/rule", rule="k_anonymity", threshold="2")
    asked = (desk.opened.data, reading(desk.project), desk.project)
    same = against_baseline(*asked, str(desk.folder / "people.csv"), 0.0)
    grown = against_baseline(*asked, str(desk.folder / "next.csv"), 0.0)
    assert all(one.met for one in same.drift)
    assert not all(one.met for one in grown.drift)
    desk.memory["drift"] = Done(grown)
    page = browser.get("/drift").text
    assert "look before you publish" in page
    assert "next.csv" in page
    assert alien_markup(page) == []


@pytest.mark.parametrize(
    "form", [{"path": ""}, {"path": "nowhere.csv"}, {"path": "../../etc/passwd"}, {"path": "people.csv", "allow": "-1"}]
)
def test_a_comparison_that_cannot_be_is_refused(way: tuple[Desk, Browser], form: dict[str, str]) -> None:
    desk, browser = way
    assert refused(browser, "/drift/compare", **form)
    assert "drift" not in desk.memory


# Tables ---------------------------------------------------------------------------------------------------------------


def test_a_table_is_the_one_of_the_library(way: tuple[Desk, Browser]) -> None:
    desk, browser = way
    asked = {"by": ["age", "illness"], "value": None, "rules": ["threshold=8"], "method": "lp"}
    made = build_table(desk.opened.data, reading(desk.project), desk.project, asked)
    own = unveil.table(str(desk.opened.data), ["age", "illness"]).suppress("threshold=8")
    assert made.to_dict() == own.to_dict()
    desk.memory |= {"table": Done(made), "table request": asked}
    page = browser.get("/tables").text
    assert "--rule threshold=8 --protect suppress" in page
    rows = pl.read_csv(browser.get("/tables/file").content, infer_schema=False)
    hidden = {
        (cell["by"]["age"], cell["by"]["illness"])
        for cell in own.to_dict()["cells"]
        if cell["status"] not in ("published", "zero")
    }
    assert hidden
    numbered = rows.filter(pl.col("n").str.contains(r"^\d+$")).select("age", "illness").rows()
    assert not hidden & set(numbered)
    assert len(numbered) + len(hidden) == len(rows)
    assert alien_markup(page) == []


def test_a_contributor_of_a_table_may_have_several_records(way: tuple[Desk, Browser]) -> None:
    desk, browser = way
    asked = {"by": ["age"], "value": None, "rules": ["threshold=5"], "method": "lp", "holding": "town", "margins": False}
    made = build_table(desk.opened.data, reading(desk.project), desk.project, asked)
    own = unveil.table(str(desk.opened.data), ["age"], holding="town", margins=False).suppress("threshold=5")
    assert made.to_dict() == own.to_dict()
    desk.memory |= {"table": Done(made), "table request": asked}
    assert "--holding town --no-margins" in browser.get("/tables").text


def test_a_table_that_cannot_be_is_refused(way: tuple[Desk, Browser]) -> None:
    desk, browser = way
    age = desk.code("age")
    for form in (
        {"rules": "threshold=5"},
        {"by": age, "rules": "nonsense"},
        {"by": age, "value": age},
        {"by": age, "holding": age},
        {"by": age, "method": "magic"},
        {"by": "c99"},
    ):
        assert refused(browser, "/tables/make", **({"method": "lp"} | form)), form
    assert "table" not in desk.memory


# Questions ------------------------------------------------------------------------------------------------------------


def test_questions_are_answered_refused_and_remembered(way: tuple[Desk, Browser]) -> None:
    desk, browser = way
    assert not list(desk.folder.glob("*gate.db"))
    page = posted(browser, "/questions/ask", question="SELECT COUNT(*) FROM data WHERE town = 'Ulm'", analyst="eve")
    assert "answered" in page
    assert ">60<" in page
    page = posted(browser, "/questions/ask", question="SELECT AVG(wage) FROM data WHERE town = 'Ulm' AND age = 21")
    assert 'class="tag watch">refused' in page
    assert page.count("eve") >= 2
    assert "COUNT(*) where town = &#x27;Ulm&#x27;" in page or "COUNT(*) where town = &#39;Ulm&#39;" in page
    posted(browser, "/questions/policy", policy="restriction", settings="k=5", **{f"bounds-{desk.code('wage')}": "0:5000"})
    kept = unveil.Project.read(desk.project.path).query
    assert (kept.policy, dict(kept.settings), kept.columns["wage"].bounds) == ("restriction", {"k": 5}, (0, 5000))
    for question in ("", "DROP TABLE data", "SELECT * FROM data", "SELECT COUNT(*) FROM data WHERE nothing = 1"):
        assert refused(browser, "/questions/ask", question=question), question
    for form in ({"policy": "none"}, {"settings": "k"}, {"settings": "nothing=3"}, {f"bounds-{desk.code('wage')}": "9:1"}):
        assert refused(browser, "/questions/policy", **({"policy": "restriction"} | form)), form


# Watch ----------------------------------------------------------------------------------------------------------------


def test_a_watch_gives_the_figures_of_windows(way: tuple[Desk, Browser]) -> None:
    desk, browser = way
    window = {"key": ["age", "town"], "sensitive": "wage", "size": 60, "every": 60}
    kept = desk.folder / "figures.json"
    run = watch_file(desk.opened.data, window, str(kept))
    rates = []
    for at in range(0, 240, 60):
        part = people().slice(at, 60)
        rates.append(unveil.discrimination_rate(part, ["age", "town"], "wage").value)
    assert [point["dr"] for point in run.points[:4]] == pytest.approx(rates)
    so_far = course(kept, window)
    assert so_far is not None
    assert so_far.points[0] == run.points[0]
    desk.memory |= {"watch": Done(run), "watch request": {"size": 60, "every": 60, "follow": False, "kept": str(kept)}}
    page = browser.get("/watch").text
    assert "highest rate" in page
    assert alien_markup(page) == []
    told = watch_file(desk.opened.data, window, str(kept), alarms=["dr > 0.001", "k > 1000"])
    assert tuple(told.alarms) == ("dr > 0.001",)
    whole = {"size": "60", "every": "60"}
    for form in ({"alarms": "dr is high"}, {"key": desk.code("wage"), "about": desk.code("wage")}):
        assert refused(browser, "/watch/start", **whole, **form), form
    for form in ({"size": "0", "every": "1"}, {"size": "x", "every": "1"}, {"size": "5", "every": "-3"}):
        assert refused(browser, "/watch/start", **form), form


@pytest.mark.parametrize("path", ["/meaning?column=c0&rule=intervals&steps=5,10", "/drift", "/tables", "/questions", "/watch"])
def test_the_lines_of_python_run(way: tuple[Desk, Browser], path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    desk, browser = way
    monkeypatch.chdir(desk.folder)
    people().write_csv(desk.folder / "next-month.csv")
    posted(browser, "/questions/policy", policy="restriction", settings="k=4", **{f"bounds-{desk.code('wage')}": "0:9000"})
    posted(browser, "/questions/ask", question="SELECT COUNT(*) FROM data WHERE town = 'Ulm'")
    page = browser.get(path).text
    command, python = [unescape(found) for found in re.findall(r'<pre tabindex="0"><code>(.*?)</code>', page, flags=re.DOTALL)]
    assert command.startswith("unveil ")
    exec(python, {})  # noqa: S102 - the line that the page offers to copy


def test_hostile_names_and_values_are_text_beside_the_way(tmp_path: Path) -> None:
    hostile(120).write_csv(tmp_path / "hostile.csv")
    hostile(90).write_csv(tmp_path / "<img src=x onerror=alert(7)>.csv")
    desk, browser = opened(tmp_path, str(tmp_path / "hostile.csv"))
    names = desk.opened.columns
    roles = dict.fromkeys(names, "keep") | dict.fromkeys(names[:4], "key") | {names[4]: "sensitive"}
    desk.change_attributes({name: {"role": role, "reason": "a test"} for name, role in roles.items()}, "roles")
    data, options = desk.opened.data, reading(desk.project)
    asked = {"by": list(HOSTILE[:2]), "value": None, "rules": ["threshold=9"], "method": "lp"}
    window = {"key": list(names[:4]), "sensitive": names[4], "size": 40, "every": 40}
    desk.memory |= {
        "drift": Done(against_baseline(data, options, desk.project, str(tmp_path / "<img src=x onerror=alert(7)>.csv"), 0.0)),
        "table": Done(build_table(data, options, desk.project, asked)),
        "table request": asked,
        "watch": Done(watch_file(data, window, str(tmp_path / "figures.json"))),
        "watch request": {"size": 40, "every": 40, "follow": False, "kept": str(tmp_path / "figures.json")},
    }
    posted(
        browser,
        "/questions/ask",
        question="SELECT COUNT(*) FROM data WHERE __proto__ = '<script>alert(2)</script>'",
        analyst="<b>eve</b>",
    )
    assert desk.memory["answer"] is not None
    for path in ("/drift", "/tables", "/questions", "/watch"):
        page = browser.get(path)
        assert page.status_code == 200, path
        assert alien_markup(page.text) == [], path
        assert "<b>eve" not in page.text
