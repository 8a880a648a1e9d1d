"""Equivalents of the app's actions: commands and lines of Python to copy, which never contain a password."""

from __future__ import annotations

import shlex

from unveil.app.state import Desk

__all__ = ["command", "python_study"]


def command(verb: str, desk: Desk, *words: str) -> str:
    """Return a command for the open data: for the project once it is saved, otherwise for the data itself.

    Parameters
    ----------
    verb
        The verb.
    desk
        The open data and its project.
    words
        Further words; those that contain blanks are quoted.
    """
    if verb == "init":
        return shlex.join(["unveil", "init", desk.opened.place, "--out", desk.project.path.name])
    return shlex.join(["unveil", verb, *_named(desk), *words])


def _named(desk: Desk) -> list[str]:
    """Return the words that name the open project or data."""
    saved = desk.project.path.is_file()
    if saved and desk.project.data.path is not None:
        return [desk.project.path.name]
    return [desk.opened.place, *(["--project", desk.project.path.name] if saved else [])]


def python_study(desk: Desk) -> str:
    """Return the line of Python that opens the same study."""
    named = _named(desk)
    if len(named) == 1:
        return f"study = unveil.Study({named[0]!r})"
    return f"study = unveil.Study({named[0]!r}, project={named[2]!r})"
