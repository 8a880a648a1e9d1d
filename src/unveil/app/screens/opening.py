"""Open: which file, and how is it read? A picker within the start folder, the first rows, and what to be warned of."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unveil.app.state import Desk
from unveil.app.visit import Answer, Go, Page, Same, Screen, Visit
from unveil.errors import ArgumentError
from unveil.sources.datasets import names as built_in

__all__ = ["SCREEN"]

_READABLE = (
    ".csv", ".tsv", ".tab", ".txt", ".gz", ".jsonl", ".ndjson", ".parquet", ".pq", ".arrow", ".ipc", ".feather",
    ".dta", ".sav", ".zsav", ".por", ".sas7bdat", ".xpt", ".toml",
)  # fmt: skip
_MOST_ENTRIES = 500
_FIRST_ROWS = 8


@dataclass(frozen=True, slots=True)
class _Entry:
    """A file or folder of the picker."""

    name: str
    path: str
    folder: bool
    size: int


def _page(visit: Visit) -> Answer:
    desk = visit.desk
    where = _within(desk.folder, visit.query.get("in", ""))
    values: dict[str, Any] = {
        "entries": _entries(desk.folder, where),
        "trail": _trail(desk.folder, where),
        "built_in": built_in(),
    }
    if not desk.is_open:
        return Page("open.html", {**values, "preview": None}, Same("unveil app people.csv", "import unveil"))
    data = desk.opened.place
    same = Same(f"unveil app {shlex.quote(data)}", f"import unveil\n\nstudy = unveil.Study({data!r})")
    return Page("open.html", {**values, "preview": _preview(desk)}, same)


def _preview(desk: Desk) -> dict[str, Any]:
    """Return the first rows as text."""
    opened = desk.opened
    frame = opened.whole.collected(opened.columns).head(_FIRST_ROWS)
    rows: Sequence[Sequence[Any]] = frame.rows()
    return {"columns": opened.columns, "rows": rows, "records": opened.whole.records}


def _opened(visit: Visit) -> Answer:
    """Open a file of the start folder, or a built-in data set."""
    given = visit.form.get("path", "")
    if given in built_in():
        visit.desk.open(given)
    else:
        visit.desk.open(str(_within(visit.desk.folder, given)))
    return Go("/open", "Opened.")


# The picker -----------------------------------------------------------------------------------------------------------


def _within(folder: Path, given: str) -> Path:
    """Return a path below the start folder; no other can be named."""
    path = (folder / given).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise ArgumentError("only files below the folder in which the app was started can be opened here.")
    return path


def _entries(home: Path, folder: Path) -> list[_Entry]:
    """Return the folders, and the files that can be read, of a folder."""
    found = []
    for path in sorted(folder.iterdir(), key=lambda path: (not path.is_dir(), path.name.casefold()))[:_MOST_ENTRIES]:
        if path.name.startswith(".") or not (path.is_dir() or path.name.lower().endswith(_READABLE)):
            continue
        size = path.stat().st_size if path.is_file() else 0
        found.append(_Entry(path.name, str(path.relative_to(home.resolve())), path.is_dir(), size))
    return found


def _trail(home: Path, folder: Path) -> list[tuple[str, str]]:
    """Return the way from the start folder to a folder: names, and what the picker calls them."""
    way, at = [], folder
    while at != home.resolve():
        way.append((at.name, str(at.relative_to(home.resolve()))))
        at = at.parent
    return [(home.resolve().name or "/", ""), *reversed(way)]


SCREEN = Screen(
    name="open",
    title="Open",
    question="Which file?",
    page=_page,
    actions={"file": _opened},
    missing=lambda desk: "",  # noqa: ARG005 - it can always be used
)
