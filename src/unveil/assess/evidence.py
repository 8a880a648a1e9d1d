"""Which files was a result made from? Each with its size and its SHA-256, so that anyone can tell whether they hold the same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from unveil.project import Project
from unveil.sources import Data, Source, open_source
from unveil.sources.inputs import locate

__all__ = ["InputFile", "input_files", "table_files"]


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file that went into a result: what it is for, where it was, its bytes and their SHA-256."""

    role: str
    place: str
    size: int
    sha256: str

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {"role": self.role, "place": self.place, "bytes": self.size, "sha256": self.sha256}


def input_files(source: Source, project: Project | None, secrets: Iterable[str]) -> tuple[InputFile, ...]:
    """Return the files behind a source and a project: the data, the project file, and the hierarchies of the secrets."""
    found = [_standard_input()] if source.place == "-" else _hashed("data", source.place)
    if project is not None:
        found += _hashed("project", str(project.path))
        known = (project.attributes.get(name) for name in secrets)
        for attribute in known:
            if attribute is not None and attribute.hierarchy is not None:
                found += _hashed(f"hierarchy of {attribute.name}", str(attribute.hierarchy))
    return tuple(found)


def table_files(tables: Mapping[str, Data]) -> tuple[InputFile, ...]:
    """Return the files behind some tables, by the tables' names."""
    return tuple(file for name, data in tables.items() for file in _hashed(name, open_source(data).place))


def _hashed(role: str, place: str) -> list[InputFile]:
    """Return the file as it is on the disk, compressed or not; nothing for a built-in set, a frame or a database."""
    path = Path(place)
    try:
        if not path.is_file():
            return []
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return [InputFile(role, place, path.stat().st_size, digest)]
    except (OSError, ValueError):  # a place that is no path, or that went away after it was read
        return []


def _standard_input() -> InputFile:
    kept = locate("-")
    if kept.path is not None:
        return replace(_hashed("data", kept.path)[0], place=kept.place)
    return InputFile("data", kept.place, len(kept.content), hashlib.sha256(kept.content).hexdigest())
