"""The log of decisions: one line per decision, in a file beside the project that outlives the server."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

from unveil.errors import OutputError, reason_of, shown

__all__ = ["decided", "note"]


def _place(project: Path) -> Path:
    return project.with_name(f"{project.stem}-decisions.log")


def note(project: Path, what: str) -> None:
    """Add a decision to the log of a project, with its time.

    Parameters
    ----------
    project
        The project file.
    what
        The decision, in a few words, without any value of the data.
    """
    when = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    place = _place(project)
    try:
        with place.open("a", encoding="utf-8") as log:
            log.write(json.dumps({"when": when, "what": what}, ensure_ascii=False) + "\n")
    except OSError as error:
        raise OutputError(f"{shown(place.name)}: the log of decisions cannot be written: {reason_of(error)}.") from None


def decided(project: Path) -> list[dict[str, str]]:
    """Return the decisions about a project, in order; a line that cannot be read is reported as such."""
    try:
        lines = _place(project).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    return [_read(line) for line in lines if line.strip()]


def _read(line: str) -> dict[str, str]:
    try:
        entry = json.loads(line)
        return {"when": str(entry["when"]), "what": str(entry["what"])}
    except (ValueError, TypeError, KeyError):
        return {"when": "", "what": "a line that cannot be read"}
