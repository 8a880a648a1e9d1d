"""Requests to a screen and its answers: a handler takes a `Visit` and returns a page, a redirect, or a file.

A handler is a plain function that runs in a thread beside the server's loop, so it may read and count data. It always answers
with whole pages, from which the script takes the parts that a form names; so everything also works without the script.
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
    """Equivalents of a page without the app: a command, and lines of Python."""

    command: str
    python: str


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its template, the values it is filled with, and its equivalents without the app."""

    template: str
    values: Mapping[str, Any] = field(default_factory=dict)
    same: Same | None = None
    status: int = 200


@dataclass(frozen=True, slots=True)
class Go:
    """A redirect, with a message that is shown there once."""

    to: str
    note: str = ""
    kind: str = "note"


@dataclass(frozen=True, slots=True)
class Download:
    """A file to download."""

    name: str
    content: bytes
    type: str = "application/octet-stream"


Answer: TypeAlias = Page | Go | Download


@dataclass(frozen=True, slots=True)
class Visit:
    """A request to a screen: the desk, the query of the address, the fields of a form, and a file that was dropped."""

    desk: Desk
    query: Mapping[str, str] = field(default_factory=dict)
    form: Mapping[str, str] = field(default_factory=dict)
    file: Path | None = None
    lists: Callable[[str], list[str]] = lambda _: []

    def word(self, name: str, known: tuple[str, ...]) -> str:
        """Return a word of the form, which must be one of the known words."""
        value = self.form.get(name, "")
        if value not in known:
            raise ArgumentError.not_one_of(name, value, known)
        return value

    def column(self, name: str) -> str:
        """Return the column that a field of the form names, as c0, c1, ..."""
        return self.desk.column(self.form.get(name, ""))

    def columns(self, name: str) -> list[str]:
        """Return the columns that all fields of one name, in the form or the address, name as c0, c1, ..."""
        return [self.desk.column(code) for code in dict.fromkeys(self.lists(name))]


Handler: TypeAlias = Callable[[Visit], Answer]


@dataclass(frozen=True, slots=True)
class Screen:
    """One screen of the app.

    Attributes
    ----------
    name
        Its address: ``/name``.
    title
        Its title.
    question
        The question it answers, in a few words.
    page
        The function that returns its page.
    actions
        The actions of its forms, by the word after its address (POST); each answers with a redirect.
    uploads
        Like `actions`, for forms with a file, which is in the private folder when they are called.
    parts
        Further addresses below its own that only read (GET).
    step
        Whether it is a step of the main path; otherwise it is a side screen.
    missing
        The function that returns what must be done before it can be used; empty if it can be used.
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
