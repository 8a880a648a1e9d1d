"""Desks of the app with data open, and a table that would like to be markup."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl

from browsing import SITE, TOKEN, Browser
from unveil.app.application import application
from unveil.app.guard import Guard, Key
from unveil.app.look import look_at
from unveil.app.state import Desk
from unveil.sources import ReadOptions

__all__ = ["CELLS", "HOSTILE", "alien_markup", "hostile", "opened", "posted", "settle"]

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
    answer = look_at(desk.opened.data, desk.project.path, ReadOptions(missing=desk.project.data.missing))

    class Done:
        running, line = False, ""

    done: Any = Done()
    done.answer = answer
    desk.memory["look"] = done


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
