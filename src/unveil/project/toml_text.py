"""Two services for TOML that the standard library lacks: finding the line of a key, and writing values.

`tomllib` reads a file but does not report line numbers. `lines_of` walks over a text that `tomllib` has accepted, so it only
needs to skip everything that is not a key.
"""

from __future__ import annotations

import json
import re
import tomllib
from bisect import bisect_left
from collections.abc import Mapping
from datetime import date, datetime, time
from typing import Any, TypeAlias

__all__ = ["KeyPath", "dotted", "lines_of", "written", "written_key"]

KeyPath: TypeAlias = tuple[str | int, ...]
"""The keys that lead to a value, outermost first; a number is the position of an array's element."""

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_BLANK = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_TEXT = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}(?!")'
    r"|'''.*?'{3,5}(?!')"
    r'|"(?:[^"\\]|\\.)*"'
    r"|'[^']*'",
    re.DOTALL,
)
_SCALAR = re.compile(r"[^,\]}#\n]*")


def lines_of(text: str) -> dict[KeyPath, int]:
    r"""Return the line on which each key and each array element of a valid TOML text first occurs.

    Examples
    --------
    >>> lines_of('[data]\npath = "a.csv"')
    {('data',): 1, ('data', 'path'): 2}
    """
    walker = _Walker(text)
    walker.document()
    return walker.implied | walker.lines


def dotted(path: KeyPath) -> str:
    """Return the keys as TOML would write them, with the number of an array's element in brackets, counted from 1."""
    text = ""
    for key in path:
        text += f"[{key + 1}]" if isinstance(key, int) else f".{written_key(key)}" if text else written_key(key)
    return text


def written_key(key: str) -> str:
    """Return a key as TOML writes it: bare, or quoted if it must be."""
    return key if _BARE.fullmatch(key) else _quoted(key)


def written(value: Any) -> str:
    """Return a value as TOML writes it, on one line.

    Examples
    --------
    >>> written({"edges": [0, 0.5, float("inf")], "open": True})
    '{ edges = [0, 0.5, inf], open = true }'
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, (date, datetime, time)):
        return value.isoformat()
    if isinstance(value, Mapping):
        inside = ", ".join(f"{written_key(key)} = {written(item)}" for key, item in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(written(item) for item in value)}]"
    raise TypeError(f"TOML cannot hold a {type(value).__name__}")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


class _Walker:
    """A walk over a TOML text from key to key."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[KeyPath, int] = {}
        self.implied: dict[KeyPath, int] = {}
        self.counts: dict[KeyPath, int] = {}
        self.line_ends = [i for i, character in enumerate(text) if character == "\n"]

    def document(self) -> None:
        """Go through headers and assignments to the end."""
        table: KeyPath = ()
        while self.skip(_BLANK) < len(self.text):
            if self.text.startswith("[", self.at):
                table = self.header()
            else:
                self.assignment(table)

    def header(self) -> KeyPath:
        """Pass `[a.b]` or `[[a.b]]` and return the table it opens."""
        start = self.at
        many = self.text.startswith("[[", self.at)
        self.at += 2 if many else 1
        path = self.within(self.key())
        self.at += 2 if many else 1
        for length in range(1, len(path)):
            self.implied.setdefault(path[:length], self.line(start))
        self.note(path, start)
        if many:
            number = self.counts.get(path, 0)
            self.counts[path] = number + 1
            path = (*path, number)
            self.note(path, start)
        return path

    def within(self, key: KeyPath) -> KeyPath:
        """Return the full path of a header's key: below an array of tables, it refers to the last of them."""
        path: KeyPath = ()
        for position, name in enumerate(key):
            path = (*path, name)
            if path in self.counts and position < len(key) - 1:
                path = (*path, self.counts[path] - 1)
        return path

    def assignment(self, table: KeyPath) -> None:
        """Pass `key = value`."""
        start = self.at
        path = (*table, *self.key())
        for length in range(len(table) + 1, len(path) + 1):
            self.note(path[:length], start)
        self.at += 1  # the equals sign
        self.value(path)

    def key(self) -> KeyPath:
        """Pass a dotted key with the blanks around it."""
        names: list[str] = []
        while True:
            self.skip(_SPACE)
            names.append(self.name())
            self.skip(_SPACE)
            if not self.text.startswith(".", self.at):
                return tuple(names)
            self.at += 1

    def name(self) -> str:
        """Pass one part of a key."""
        start = self.at
        if self.text[start] in "\"'":
            self.skip(_TEXT)
            return str(tomllib.loads(f"key = {self.text[start : self.at]}")["key"])
        self.skip(_BARE)
        return self.text[start : self.at]

    def value(self, path: KeyPath) -> None:
        """Pass a value, noting the keys and elements inside it."""
        self.skip(_BLANK)
        opening = self.text[self.at]
        if opening == "[":
            self.array(path)
        elif opening == "{":
            self.inline_table(path)
        else:
            self.skip(_TEXT if opening in "\"'" else _SCALAR)

    def array(self, path: KeyPath) -> None:
        """Pass `[a, b]`."""
        self.at += 1
        number = 0
        while self.text[self.skip(_BLANK)] != "]":
            self.note((*path, number), self.at)
            self.value((*path, number))
            self.comma()
            number += 1
        self.at += 1

    def inline_table(self, path: KeyPath) -> None:
        """Pass `{ a = 1, b = 2 }`."""
        self.at += 1
        while self.text[self.skip(_BLANK)] != "}":
            self.assignment(path)
            self.comma()
        self.at += 1

    def comma(self) -> None:
        """Pass the comma between two elements, if there is one."""
        if self.text[self.skip(_BLANK)] == ",":
            self.at += 1

    def skip(self, pattern: re.Pattern[str]) -> int:
        """Skip the text that the pattern matches here, and return where it ends."""
        if match := pattern.match(self.text, self.at):
            self.at = match.end()
        return self.at

    def note(self, path: KeyPath, at: int) -> None:
        """Store the line of a path when it is first seen."""
        self.lines.setdefault(path, self.line(at))

    def line(self, at: int) -> int:
        """Return the line of a position in the text."""
        return bisect_left(self.line_ends, at) + 1
