"""The screen of watching: how risky is a file as it grows? The figures of its moving window, streamed while a job reads it."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unveil.app.jobs import Job
from unveil.app.screens.columns import settled
from unveil.app.side_jobs import course, watch_file
from unveil.app.state import Desk
from unveil.app.visit import Answer, Go, Page, Same, Screen, Visit
from unveil.errors import ArgumentError
from unveil.sources import names as built_in

__all__ = ["SCREEN"]

_JOB = "watch"
_FIRST: dict[str, Any] = {"size": 1000, "every": 100, "follow": False, "key": None, "about": None, "alarms": ()}
"""The first watch: unless columns are named, those that others may know, measured against the first sensitive column."""
_WATCHABLE = (".csv", ".tsv", ".ndjson", ".jsonl")


def _lacking(desk: Desk) -> str:
    """Return a sentence on what must be done before anything can be watched; empty if nothing must."""
    if lacking := settled(desk):
        return lacking
    if desk.opened.data not in built_in() and not desk.opened.data.lower().endswith(_WATCHABLE):
        return "Only a file of lines (CSV, NDJSON) can be watched as it grows."
    return "" if desk.project.names("key") else "Mark at least one column as known to others."


def _page(visit: Visit) -> Answer:
    desk = visit.desk
    job: Job | None = desk.memory.get(_JOB)
    request: dict[str, Any] = _FIRST | desk.memory.get("watch request", {})
    window = _window(desk, request)
    values: dict[str, Any] = {
        "job": job,
        "request": request,
        "key": window["key"],
        "about": window["sensitive"],
        "columns": _offered(desk),
        "course": _course(desk, job, request),
    }
    return Page("watch.html", values, _same(desk, request))


def _course(desk: Desk, job: Job | None, request: dict[str, Any]) -> Any:
    """Return the figures so far: those of the run if it has ended, else those it has kept."""
    if job is None:
        return None
    return job.answer or course(Path(request["kept"]), _window(desk, request))


def _window(desk: Desk, request: dict[str, Any]) -> dict[str, Any]:
    """Return the requested window."""
    names = desk.opened.columns
    sensitive = [name for name in desk.project.names("sensitive") if name in names]
    about = sensitive[0] if sensitive and request["about"] is None else request["about"] or None
    keys = request["key"] or [name for name in desk.project.names("key") if name in names]
    return {"key": keys, "sensitive": about, "size": request["size"], "every": request["every"]}


def _offered(desk: Desk) -> list[str]:
    """Return the columns that can be watched: all that do not name people outright."""
    who = {name for role in ("identifier", "person", "household") for name in desk.project.names(role)}
    return [name for name in desk.opened.columns if name not in who]


def _start(visit: Visit) -> Answer:
    """Watch the file, in a job."""
    desk = visit.desk
    running = desk.memory.get(_JOB)
    if running is not None and running.running:
        raise ArgumentError("the file is already being watched; cancel that first.")
    keys, about = visit.columns("key"), visit.column("about") if visit.form.get("about") else ""
    if about in keys:
        raise ArgumentError("what an intruder wants to learn cannot also be known to them; untick it.")
    alarms = tuple(line.strip() for line in visit.form.get("alarms", "").split(",") if line.strip())
    _check(alarms)
    folder = Path(tempfile.mkdtemp(dir=desk.private))
    request = {
        "key": keys or None,
        "about": about,
        "alarms": alarms,
        "size": _whole(visit.form.get("size", "")),
        "every": _whole(visit.form.get("every", "")),
        "follow": bool(visit.form.get("follow")),
        "kept": str(folder / "figures.json"),
    }
    desk.memory["watch request"] = request
    desk.memory[_JOB] = desk.jobs.start(
        _JOB, "Watching the file", watch_file, desk.opened.data, _window(desk, request), request["kept"],
        alarms=alarms, missing=desk.project.data.missing, follow=request["follow"],
    )  # fmt: skip
    return Go("/watch")


def _check(alarms: Sequence[str]) -> None:
    from unveil.stream import Alarm

    for text in alarms:
        Alarm.parse(text)


def _whole(text: str) -> int:
    text = text.strip()
    if text.isascii() and text.isdigit() and 1 <= int(text) <= 10**9:
        return int(text)
    raise ArgumentError("the window and the step must be whole numbers of records, of at least 1.")


def _same(desk: Desk, request: dict[str, Any]) -> Same:
    window, place = _window(desk, request), desk.opened.place
    about = [] if window["sensitive"] is None else ["--sensitive", window["sensitive"]]
    keys = [word for name in window["key"] for word in ("--key", name)]
    steps = ["--window", str(request["size"]), "--every", str(request["every"]), *([] if request["follow"] else ["--no-follow"])]
    steps += [word for text in request["alarms"] for word in ("--alarm", text)]
    named = f"{window['key']!r}, {window['sensitive']!r}, size={request['size']}, every={request['every']}"
    lines = f"window = unveil.Window({named})\nfor figures in window.feed({place!r}):\n    print(figures)"
    return Same(shlex.join(["unveil", "watch", place, *keys, *about, *steps]), f"import unveil\n\n{lines}")


SCREEN = Screen(
    name="watch",
    title="Watch",
    question="How risky is it as it grows?",
    page=_page,
    actions={"start": _start},
    step=False,
    missing=_lacking,
)
