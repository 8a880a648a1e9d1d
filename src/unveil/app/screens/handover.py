"""The screen of handing over: the release with its record, the verdict in brief and in full, and the project.

The private correspondence is kept apart.
"""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from unveil.app.candidates import TriedRelease
from unveil.app.judging import written
from unveil.app.same import command, python_study
from unveil.app.screens.protect import chosen
from unveil.app.screens.verdict import blocked, judged, waivers
from unveil.app.state import Desk
from unveil.app.visit import Answer, Download, Go, Page, Same, Screen, Visit
from unveil.errors import ArgumentError, OutputError
from unveil.output import check_replaceable
from unveil.releases import record_place

__all__ = ["SCREEN"]


def _lacking(desk: Desk) -> str:
    if not desk.is_open:
        return "Open a file first."
    return blocked(desk)


def _page(visit: Visit) -> Answer:
    desk = visit.desk
    candidate = _candidate(desk)
    values: dict[str, Any] = {
        "candidate": candidate,
        "name": f"{_stem(desk)}-release.csv",
        "folder": desk.folder.resolve().name or str(desk.folder),
        "linked": bool(candidate.link),
        "pipeline": _pipeline(desk, candidate),
        "decisions": desk.decisions,
        "exceptions": waivers(desk),
    }
    return Page("handover.html", values, Same(_pipeline(desk, candidate), _python(desk)))


def _candidate(desk: Desk) -> TriedRelease:
    candidate = chosen(desk)
    if candidate is None:
        raise ArgumentError("choose a protection first.")
    return candidate


def _stem(desk: Desk) -> str:
    return Path(desk.opened.place).stem or "data"


def _pipeline(desk: Desk, candidate: TriedRelease) -> str:
    """Return the commands of a pipeline that repeats the release every month."""
    name = f"{_stem(desk)}-release.csv"
    link = ["--link", "private-link.csv"] if candidate.link else []
    protect = command("anonymize", desk, "--out", name, *link)
    words = ["--policy", desk.project.path.name, "--original", desk.opened.place, *link]
    return f"{protect}\n{shlex.join(['unveil', 'check', name, *words])}"


def _python(desk: Desk) -> str:
    """Return the lines of Python that do the same."""
    name, project = f"{_stem(desk)}-release.csv", desk.project.path.name
    return (
        f"import unveil\n\n{python_study(desk)}\nrelease = unveil.protect(study, list(study.project.protect.values()))\n"
        f"release.write({name!r})\nunveil.check({name!r}, {project!r}, original=study)"
    )


# Files ----------------------------------------------------------------------------------------------------------------


def _file(name: str | Callable[[Desk], str], content: Callable[[Desk], bytes], kind: str) -> Callable[[Visit], Answer]:
    def give(visit: Visit) -> Answer:
        file_name = name if isinstance(name, str) else name(visit.desk)
        download = Download(file_name, content(visit.desk), kind)
        visit.desk.log(f"handed over: {file_name}")
        return download

    return give


def _release(desk: Desk) -> bytes:
    return Path(_candidate(desk).file).read_bytes()


def _record(desk: Desk) -> bytes:
    return Path(record_place(_candidate(desk).file)).read_bytes()


def _link(desk: Desk) -> bytes:
    candidate = _candidate(desk)
    if not candidate.link:
        raise ArgumentError("none of the records of this release is made from one of yours, so there is no correspondence.")
    return Path(candidate.link).read_bytes()


def _pages(desk: Desk) -> tuple[Path, Path]:
    ruling = judged(desk)
    if ruling is None:
        raise ArgumentError("the release has not been judged yet.")
    return written(ruling, Path(_candidate(desk).file).parent)


def _decisions(desk: Desk) -> bytes:
    """Return the log of all decisions, and the exceptions with those who signed them."""
    log = {"decisions": desk.decisions, "exceptions": [one.to_dict() for one in waivers(desk)]}
    return json.dumps(log, indent=2, ensure_ascii=False).encode()


def _save(visit: Visit) -> Answer:
    """Write the release and its record into the start folder; existing files are never replaced."""
    desk = visit.desk
    candidate, place = _candidate(desk), desk.folder / f"{_stem(desk)}-release.csv"
    record = Path(record_place(place))
    for one in (place, record):
        if one.exists():
            raise OutputError(f"{one.name} already exists; move it away first.")
        check_replaceable(one)
    shutil.copyfile(candidate.file, place)
    shutil.copyfile(record_place(candidate.file), record)
    desk.log(f"wrote {place.name} and its record")
    return Go("/handover", f"Written: {place.name} and {record.name}.")


_CSV, _HTML, _JSON = "text/csv", "text/html", "application/json"

SCREEN = Screen(
    name="handover",
    title="Hand over",
    question="What goes to whom?",
    page=_page,
    actions={
        "save": _save,
        "release": _file(lambda desk: f"{_stem(desk)}-release.csv", _release, _CSV),
        "record": _file(lambda desk: f"{_stem(desk)}-release.csv.unveil.json", _record, _JSON),
        "verdict": _file("verdict.html", lambda desk: _pages(desk)[0].read_bytes(), _HTML),
        "auditor": _file("auditor.html", lambda desk: _pages(desk)[1].read_bytes(), _HTML),
        "project": _file(lambda desk: desk.project.path.name, lambda desk: desk.project.to_toml().encode(), "application/toml"),
        "link": _file("private-link.csv", _link, _CSV),
        "log": _file("decisions.json", _decisions, _JSON),
    },
    missing=_lacking,
)
