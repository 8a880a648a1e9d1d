"""Requests and answers of a screen: a handler takes a `Visit` and returns a page, a redirect, or a file.

A handler is a plain function that runs beside the server's loop, so it may count and read. It always answers with whole pages;
the script takes from them the parts that a form names. So everything works without a script too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from unveil.app.state import Desk
from unveil.errors import ArgumentError

__all__ = ["Answer", "Download", "Go", "Handler", "Page", "Same", "Screen", "Visit"]


@dataclass(frozen=True, slots=True)
class Same:
    """What does the same without the app: a command, and lines of Python."""

    command: str
    python: str


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its template, what it is filled with, and what does the same without it."""

    template: str
    values: Mapping[str, Any] = field(default_factory=dict)
    same: Same | None = None
    status: int = 200


@dataclass(frozen=True, slots=True)
class Go:
    """Where to go on, with a line that is shown there once."""

    to: str
    note: str = ""
    kind: str = "note"


@dataclass(frozen=True, slots=True)
class Download:
    """A file to keep."""

    name: str
    content: bytes
    type: str = "application/octet-stream"


Answer: TypeAlias = Page | Go | Download


@dataclass(frozen=True, slots=True)
class Visit:
    """A request to a screen: what is open, what the address asks, what a form holds, and the file that was dropped with it."""

    desk: Desk
    query: Mapping[str, str] = field(default_factory=dict)
    form: Mapping[str, str] = field(default_factory=dict)
    file: Path | None = None
    lists: Callable[[str], list[str]] = lambda _: []

    def word(self, name: str, known: tuple[str, ...]) -> str:
        """Return a word of the form that must be one of those known."""
        value = self.form.get(name, "")
        if value not in known:
            raise ArgumentError.not_one_of(name, value, known)
        return value

    def column(self, name: str) -> str:
        """Return the column that a field of the form names as c0, c1, ..."""
        return self.desk.column(self.form.get(name, ""))

    def columns(self, name: str) -> list[str]:
        """Return the columns that the fields of one name of a form, or of the address, name as c0, c1, ..."""
        return [self.desk.column(code) for code in dict.fromkeys(self.lists(name))]


Handler: TypeAlias = Callable[[Visit], Answer]


@dataclass(frozen=True, slots=True)
class Screen:
    """One screen of the app.

    Attributes
    ----------
    name
        The word of its address: ``/name``.
    title
        What it is called.
    question
        What it answers, in a few words.
    page
        Gives its page.
    actions
        What its forms do, by the word behind its address (POST); each answers with where to go on.
    uploads
        As `actions`, of forms with a file, which is in the private folder when they are called.
    parts
        Further addresses below its own that are only read (GET).
    step
        Whether it is a step of the way, or is beside it.
    missing
        Says what must be done before it can be used; nothing: it can.
    """

    name: str
    title: str
    question: str
    page: Handler
    actions: Mapping[str, Handler] = field(default_factory=dict)
    uploads: Mapping[str, Handler] = field(default_factory=dict)
    parts: Mapping[str, Handler] = field(default_factory=dict)
    step: bool = True
    missing: Callable[[Desk], str] = lambda desk: "" if desk.is_open else "Open a file first."
