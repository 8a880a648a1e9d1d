"""Desks of the app with data open, and a table that would like to be markup."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from browsing import SITE, TOKEN, Browser
from unveil.app.application import application
from unveil.app.guard import Guard, Key
from unveil.app.look import look_at
from unveil.app.state import Desk
from unveil.sources import ReadOptions

__all__ = ["CELLS", "HOSTILE", "hostile", "opened", "settle"]

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
