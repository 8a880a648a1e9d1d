"""Files that a result was made from: each with its size, and with a hash where that gives nothing away.

Whoever has the SHA-256 of a small table of people can try tables until one fits: a plain hash of personal data discloses it. So
that of a release is given, which everyone may read, and that of anything else only under a key: an HMAC, by which
whoever keeps the key file can tell whether they hold the same file.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from unveil.credentials import without_credentials
from unveil.project import Project
from unveil.randomness import read_key
from unveil.sources import Data, Source, open_source
from unveil.sources.files.inputs import locate

__all__ = ["InputFile", "input_files", "table_files"]


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file that went into a result.

    Attributes
    ----------
    role, place
        What it is for, and where it was.
    size
        Its bytes.
    sha256
        The hash of a release; None for what is not public.
    hmac_sha256
        The hash under the steward's key; None where no key file is given, and for a release.
    """

    role: str
    place: str
    size: int
    sha256: str | None = None
    hmac_sha256: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        hashes = {"sha256": self.sha256, "hmac_sha256": self.hmac_sha256}
        return {"role": self.role, "place": self.place, "bytes": self.size, **hashes}


def input_files(
    source: Source, project: Project | None, secrets: Iterable[str], key_file: str | os.PathLike[str] | None = None
) -> tuple[InputFile, ...]:
    """Return the files behind a source and a project: the data, the project file, and the hierarchies of the secrets.

    Parameters
    ----------
    source, project
        Where the data is, and what is known of it.
    secrets
        The sensitive attributes.
    key_file
        The secret key of the hashes; none: there are none. A project file may hold a password, and a hierarchy the values of a
        column, so they are no more public than the data.
    """
    key = None if key_file is None else read_key(key_file)
    found = [_standard_input(key)] if source.place == "-" else _file("data", source.place, key)
    if project is not None:
        found += _file("project", str(project.path), key)
        known = (project.attributes.get(name) for name in secrets)
        for attribute in known:
            if attribute is not None and attribute.hierarchy is not None:
                found += _file(f"hierarchy of {attribute.name}", str(attribute.hierarchy), key)
    return tuple(found)


def table_files(
    tables: Mapping[str, Data], original: str, key_file: str | os.PathLike[str] | None = None
) -> tuple[InputFile, ...]:
    """Return the files behind an original and its releases, by the tables' names."""
    key = None if key_file is None else read_key(key_file)
    places = {name: open_source(data).place for name, data in tables.items()}
    return tuple(file for name, place in places.items() for file in _file(name, place, key, public=name != original))


def _file(role: str, place: str, key: bytes | None, *, public: bool = False) -> list[InputFile]:
    """Return the file as it is on the disk, compressed or not; nothing for a built-in set, a frame or a database."""
    path, place = Path(place), without_credentials(place)
    try:
        if not path.is_file():
            return []
        size = path.stat().st_size
        if public:
            return [InputFile(role, place, size, sha256=_digest(path, hashlib.sha256()))]
        keyed = None if key is None else _digest(path, hmac.new(key, digestmod="sha256"))
        return [InputFile(role, place, size, hmac_sha256=keyed)]
    except (OSError, ValueError):  # a place that is no path, or that went away after it was read
        return []


def _digest(path: Path, state: Any) -> str:
    """Return the hash of a file in hexadecimal digits, from the state of a hash that has seen nothing yet."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: state).hexdigest()


def _standard_input(key: bytes | None) -> InputFile:
    kept = locate("-")
    if kept.path is not None:
        return replace(_file("data", kept.path, key)[0], place=kept.place)
    keyed = None if key is None else hmac.digest(key, kept.content, "sha256").hex()
    return InputFile("data", kept.place, len(kept.content), None, keyed)
