"""One table of the project file, whose fields are read by name and type; an error names the line and the key."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from unveil.errors import ArgumentError, ProjectError, listed, near_miss, shown
from unveil.partitions import DocumentError, PathLike, parse_toml, read_text
from unveil.project.toml_text import KeyPath, dotted, lines_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

__all__ = ["TomlTable", "read_table"]

_Word = TypeVar("_Word", bound=str)

_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "true or false"),
    (str, "a text"),
    (int, "a whole number"),
    (float, "a number"),
    ((date, datetime, time), "a date or time"),
    (list, "a list"),
    (dict, "a table"),
)


@dataclass(frozen=True, slots=True)
class TomlTable:
    """A table with its location in the file.

    Parameters
    ----------
    file
        The project file; paths in it are relative to its folder.
    lines
        The line of each key of the file.
    path
        The keys that lead to this table.
    fields
        Its contents.
    """

    file: Path
    lines: Mapping[KeyPath, int]
    path: KeyPath
    fields: Mapping[str, Any]

    def wrong(self, problem: str, *keys: str | int) -> ProjectError:
        """Return the error about a problem of this table, or of a field in it."""
        path = (*self.path, *keys)
        known = (path[:length] for length in range(len(path), 0, -1))
        line = next((self.lines[prefix] for prefix in known if prefix in self.lines), None)
        return ProjectError.at(self.file, line, dotted(path), problem)

    def only(self, names: Iterable[str], noun: str = "key") -> None:
        """Refuse a field that is not among the names."""
        known = list(names)
        for field in self.fields:
            if field not in known:
                raise self.wrong(
                    f"the {noun} {shown(field)} is unknown; {noun}s are: {listed(known)}.{near_miss(field, known)}",
                    field,
                )

    def text(self, name: str) -> str | None:
        """Return a text, or None if the field is absent."""
        value: str | None = self._of_type(name, str, "a text")
        return value

    def number(self, name: str) -> float | None:
        """Return a number, or None if the field is absent."""
        value = self.fields.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.wrong(f"expected a number, found {_kind_of(value)}.", name)
        return float(value)

    def flag(self, name: str) -> bool:
        """Return a truth value; false if the field is absent."""
        value: bool | None = self._of_type(name, bool, "true or false")
        return bool(value)

    def word(self, name: str, known: Sequence[_Word]) -> _Word | None:
        """Return a word from a list of known ones, or None if the field is absent."""
        value = self.text(name)
        for word in known:
            if value == word:
                return word
        if value is None:
            return None
        raise self.wrong(str(ArgumentError.not_one_of(name, value, known)), name)

    def elements(self, name: str, allowed: tuple[type, ...], expected: str) -> tuple[Any, ...] | None:
        """Return a list of values of the allowed types, or None if the field is absent."""
        values = self._of_type(name, list, f"a list of {expected}")
        for number, value in enumerate(values or ()):
            if not isinstance(value, allowed):
                raise self.wrong(f"expected {expected}, found {_kind_of(value)}.", name, number)
        return None if values is None else tuple(values)

    def location(self, name: str) -> Path | None:
        """Return a path, relative to the project file's folder, or None if the field is absent."""
        value = self.text(name)
        if value is None:
            return None
        if not value.strip() or "\0" in value:
            raise self.wrong("expected the path of a file, found an empty text.", name)
        return self.file.parent / value

    def table(self, name: str) -> TomlTable:
        """Return the table in a field, which is empty if the field is absent."""
        fields = self._of_type(name, dict, "a table")
        return TomlTable(self.file, self.lines, (*self.path, name), fields or {})

    def checked(self, name: str, check: Callable[[str], bool], problem: str) -> str | None:
        """Return a text that passes a check, or None if the field is absent."""
        value = self.text(name)
        if value is not None and not check(value):
            raise self.wrong(problem, name)
        return value

    def _of_type(self, name: str, kind: type, expected: str) -> Any:
        value = self.fields.get(name)
        if value is not None and not isinstance(value, kind):
            raise self.wrong(f"expected {expected}, found {_kind_of(value)}.", name)
        return value


def _kind_of(value: Any) -> str:
    return next((words for kind, words in _KINDS if isinstance(value, kind)), "something else")


def read_table(path: PathLike) -> TomlTable:
    """Read a TOML file; refuse one that is missing, and one that is not valid TOML, with the line of the error."""
    place = Path(path)
    text = read_text(place, ProjectError)
    try:
        fields = parse_toml(text)
    except DocumentError as problem:
        raise ProjectError.at(place, problem.line, "TOML", problem.problem) from None
    return TomlTable(place, lines_of(text), (), fields)
