"""A guard against overwriting: an answer never takes the place of the data that a verb reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from unveil.errors import ArgumentError, shown

__all__ = ["check_parameters", "check_read"]

_WRITTEN = ("out", "link", "junit", "checkpoint", "sheet")
"""Options that name a file to write, if their value is a path; a correspondence to read comes as text."""
_UPDATED = ("baseline",)
"""Options whose file may be read and then written again."""
_TEXTS = ("separator", "missing", "settings")
"""Options that name no file, and whose value may be a dash."""
_outputs: ContextVar[tuple[Path, ...]] = ContextVar("outputs", default=())


def check_parameters(parameters: Mapping[str, Any]) -> None:
    """Refuse a verb that would write two outputs to one file, read a file that it writes, or read standard input twice."""
    outputs = {name: place for name in _WRITTEN if isinstance(place := parameters.get(name), Path)}
    if len({place.resolve() for place in outputs.values()}) < len(outputs):
        raise ArgumentError(f"{' and '.join(f'--{name}' for name in outputs)} name the same file; name two different ones.")
    _outputs.set(tuple(outputs.values()))
    read = [text for name, value in parameters.items() if name not in {*outputs, *_UPDATED, *_TEXTS} for text in _texts(value)]
    if sum(text == "-" or text.endswith("=-") for text in read) > 1:
        raise ArgumentError("standard input (-) is named twice but can be read only once; write one of the tables to a file.")
    for text in read:
        check_read(text)


def check_read(named: str) -> None:
    """Refuse to read a file, named alone or after an equals sign, that this run will write."""
    places = [named, *(named[at + 1 :] for at, sign in enumerate(named) if sign == "=")]
    for output in _outputs.get():
        if any(_same(Path(place), output) for place in places if place):
            raise ArgumentError(f"{shown(output)} is read by this command, so it is not overwritten; name another file.")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str | Path):
        yield str(value)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _texts(one)


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except (OSError, ValueError):
        return False
