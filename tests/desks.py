"""Desks of the app with data open, and a table that would like to be markup."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl

from browsing import SITE, TOKEN, Browser
from unveil.app.application import application
from unveil.app.candidates import try_ways
from unveil.app.guard import Guard, Key
from unveil.app.judging import judge
from unveil.app.overview import describe_columns
from unveil.app.screens import protect
from unveil.app.side_jobs import against_baseline, build_table, watch_file
from unveil.app.state import Desk, reading
from unveil.sources import ReadOptions

__all__ = [
    "CELLS",
    "HOSTILE",
    "Done",
    "alien_markup",
    "finish",
    "hostile",
    "judged_here",
    "opened",
    "posted",
    "protected",
    "settle",
]

HOSTILE = (
    ":x",
    "{{7*7}}",
    "<script>alert(1)</script>",
    "__proto__",
    '" onload="alert(1)',
    "constructor",
    "a'b",
    "c0",
    "%00",
    "x\u202ey",
)
CELLS = (
    "<script>alert(2)</script>",
    "{{7*7}}",
    '"><img src=x onerror=alert(3)>',
    "javascript:alert(4)",
    "' onmouseover='x",
    "__proto__",
)


def hostile(records: int = 60) -> pl.DataFrame:
    return pl.DataFrame(
        {
            name: [CELLS[(row + at) % len(CELLS)] if row % 3 else f"v{row % 7}" for row in range(records)]
            for at, name in enumerate(HOSTILE)
        }
    )


def opened(folder: Path, data: str) -> tuple[Desk, Browser]:
    """Open data, with its columns looked at here."""
    desk = Desk(folder, private=folder)
    desk.open(data)
    browser = Browser(Guard(application(desk), SITE, Key(TOKEN)))
    assert browser.get(f"/?token={TOKEN}").status_code == 200
    settle(desk)
    return desk, browser


def settle(desk: Desk) -> None:
    """Let the first look be done, in this process: the way through another one has tests of its own."""
    options = ReadOptions(missing=desk.project.data.missing)
    desk.memory["overview"] = Done(describe_columns(desk.opened.data, desk.project.path, options))


class Done:
    """A job that has ended; the way through another process has tests of its own."""

    running, outcome, line, title, number, stage, done, total, share, seconds = False, "done", "", "", 1, "", 0, 0, None, 0.1

    def __init__(self, answer: Any) -> None:
        self.answer = answer


def protected(desk: Desk, ways: list[str], k: int = 5) -> None:
    """Try some ways to protect what is open."""
    settings = {"k": k, "suppression": 0.1}
    found = try_ways(desk.opened.data, reading(desk.project), desk.project, ways, settings, desk.folder / "candidates")
    desk.memory |= {"protect": Done(found), "ways": ways, "settings": settings}


def judged_here(desk: Desk) -> None:
    """Attack and judge the release that is chosen."""
    one = protect.chosen(desk)
    assert one is not None
    found = judge(desk.opened.data, reading(desk.project), desk.project, one.file, one.link, desk.memory.get("waivers", []))
    desk.memory["judged"] = Done(found)


def finish(desk: Desk, browser: Browser, *, by: list[str], question: str, target: str, ways: list[str]) -> None:
    """Go the whole way with what is open and has its roles, so that every screen has something to show.

    Parameters
    ----------
    desk, browser
        What is open, and who clicks.
    by
        The columns of a table.
    question
        What is asked of the gate.
    target
        The column that a need tells from the first of the table.
    ways
        The protections to try.
    """
    posted(browser, "/rules/preset", preset="cell-size-5")
    posted(browser, "/rules/rule", rule="prosecutor_risk", threshold="0.2")
    posted(browser, "/rules/need", name=f"{target} study", target=desk.code(target), given=desk.code(by[0]), least="0.01")
    protected(desk, ways)
    posted(browser, "/protect/choose", way=ways[0])
    judged_here(desk)
    seen = [str(at) for at in range(len(desk.memory["judged"].answer.verdict.unmeasured))]
    posted(browser, "/verdict/tick", column=seen)
    data, options, project = desk.opened.data, reading(desk.project), desk.project
    asked = {"by": by, "value": None, "rules": ["threshold=5"], "method": "lp"}
    keys = list(project.names("key"))
    window = {"key": keys, "sensitive": target, "size": 100, "every": 10}
    kept = str(desk.folder / "figures.json")
    desk.memory |= {
        "table asked": asked,
        "table": Done(build_table(data, options, project, asked)),
        "watch asked": {"size": 100, "every": 10, "follow": False, "kept": kept},
        "watch": Done(watch_file(data, window, kept, missing=project.data.missing)),
    }
    posted(browser, "/questions/ask", question=question, analyst="Eve")
    assert desk.memory["answer"] is not None
    whole = pl.read_csv(data, infer_schema=False)
    pl.concat([whole, whole.tail(whole.height // 8).with_columns(pl.lit("elsewhere").alias(by[0]))]).write_csv(
        desk.folder / "next-month.csv"
    )
    desk.memory |= {
        "drift asked": {"path": "next-month.csv", "allow": 0.0},
        "drift": Done(against_baseline(data, options, project, str(desk.folder / "next-month.csv"), 0.0)),
    }


def posted(browser: Browser, path: str, /, **form: Any) -> str:
    """Post a form, and return the page that follows."""
    answer = browser.post(path, form)
    assert answer.status_code == 303, answer.text
    return browser.get(answer.headers["location"]).text


def alien_markup(page: str) -> list[str]:
    """Return what no template of ours has: scripts in the page, handlers in its attributes, images from elsewhere, sums done."""
    found: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            given = dict(attrs)
            if tag in ("script", "img") and not (given.get("src") or "").startswith("/static/"):
                found.append(tag)
            found.extend(name for name in given if name.startswith("on") or name == "style")
            found.extend(value for name, value in attrs if name in ("href", "src") and value and value.startswith("javascript"))

    Reader().feed(page)
    return found + (["49"] if ">49<" in page else [])
