"""Small text files that people keep beside their data: reading and writing them.

Errors state in one line what is wrong with a file; a file is written whole or not at all.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import tomllib
from pathlib import Path
from typing import Any, TypeAlias

from unveil.errors import DataNotFoundError, HierarchyError, OutputError, UnveilError, listed, near_miss, reason_of, shown
from unveil.output import atomic_write
from unveil.run import active_run

__all__ = ["DocumentError", "PathLike", "hierarchy_file", "not_there", "parse_json", "parse_toml", "read_text", "write_whole"]

PathLike: TypeAlias = str | os.PathLike[str]
"""A file's name, as text or as a path."""

_PLACE = re.compile(r" \(at (?:line (?P<line>\d+), column \d+|end of document)\)$")
_NAMES_A_KEY = re.compile(r"^(Duplicate inline table key) .*$", re.DOTALL)


class DocumentError(ValueError):
    """Text that is not valid JSON or TOML, with the line of the problem if known. The caller adds the file."""

    def __init__(self, problem: str, line: int | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.line = line


def not_there(path: Path) -> str:
    """Return the message that a file is missing, with any file in its folder that has a similar name."""
    names: list[str] = []
    with contextlib.suppress(OSError, ValueError):
        names = [entry.name for entry in path.parent.iterdir()]
    return f"the file {shown(path)} is not there.{near_miss(path.name, names)}"


def hierarchy_file(folder: PathLike, column: str) -> Path:
    """Return the file of a column's hierarchy, `<column>.csv` or `<anything>_hierarchy_<column>.csv`; there may be only one."""
    place = Path(folder)
    try:
        files = sorted(entry for entry in place.iterdir() if entry.suffix.casefold() == ".csv")
    except FileNotFoundError:
        raise DataNotFoundError(f"the folder '{place}' is not there.") from None
    except (OSError, ValueError) as problem:  # a name with a null byte cannot be a folder's name
        raise DataNotFoundError(f"{shown(place)} cannot be read as a folder: {reason_of(problem)}.") from None
    matching = [file for file in files if file.stem == column or file.stem.endswith(f"_hierarchy_{column}")]
    if len(matching) > 1:
        names = listed(file.name for file in matching)
        raise HierarchyError(
            f"{place}: {len(matching)} files could be the hierarchy of column {shown(column)}: {names}; leave one."
        )
    if not matching:
        known = {file.stem.rpartition("_hierarchy_")[2] for file in files}
        raise DataNotFoundError(
            f"{place}: no hierarchy of column {shown(column)}; it would be '{column}.csv' or '..._hierarchy_{column}.csv'."
            f"{near_miss(column, sorted(known))}"
        )
    return matching[0]


def read_text(path: PathLike, error: type[UnveilError]) -> str:
    """Return a file's text, read as UTF-8 with its line endings kept; problems are raised as `error`."""
    place = Path(path)
    try:
        return place.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise DataNotFoundError(not_there(place)) from None
    except UnicodeDecodeError as problem:
        line = problem.object.count(b"\n", 0, problem.start) + 1
        raise error(f"{place}, line {line:,}: the text is not UTF-8; save the file as UTF-8.") from None
    except OSError as problem:
        raise error(f"{place}: the file cannot be read: {reason_of(problem)}.") from None
    except ValueError:  # no system takes a name with a null character in it
        raise DataNotFoundError(not_there(place)) from None


def write_whole(path: PathLike, text: str) -> None:
    """Write a file's text as UTF-8, whole or not at all, unless the active run is cancelled."""
    try:
        content = text.encode()
    except UnicodeEncodeError:
        raise OutputError(f"{path}: the text holds characters that UTF-8 cannot write.") from None
    run = active_run()
    run.check()
    with atomic_write(path) as file:
        file.write(content)
        run.check()


def parse_json(text: str) -> Any:
    """Return the content of a JSON text; refuse an object that repeats a key, because the second would silently win."""
    try:
        return json.loads(text, object_pairs_hook=_without_twins)
    except json.JSONDecodeError as problem:
        raise DocumentError(f"this is not JSON: {problem.msg}.", problem.lineno) from None
    except RecursionError:
        raise DocumentError("this JSON is nested too deeply.") from None


def parse_toml(text: str) -> dict[str, Any]:
    """Return the content of a TOML text."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise DocumentError("this TOML is nested too deeply.") from None
    except ValueError as problem:  # TOMLDecodeError, or a number that Python will not read
        message = str(problem)
        place = _PLACE.search(message)
        line = int(place["line"]) if place and place["line"] else text.rstrip().count("\n") + 1
        cause = _NAMES_A_KEY.sub(r"\1", _PLACE.sub("", message))  # the key may be a value of the data
        raise DocumentError(f"this is not TOML: {cause}.", line) from None


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        twins = len(pairs) - len(members)
        raise DocumentError(f"{twins:,} {'key stands' if twins == 1 else 'keys stand'} more than once in an object.")
    return members
