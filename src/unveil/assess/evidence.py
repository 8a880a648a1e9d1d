"""Evidence of a result, for later checks: when it was made, and from which files, each with its size and a hash.

Anyone who has the SHA-256 of a small table of people can try tables until one fits: a plain hash of personal data discloses it.
So only a release, which everyone may read, has a plain hash; anything else is hashed under a key, as an HMAC, by which
anyone who keeps the key file can tell whether they hold the same file. With a key, a verdict gives the HMAC of its release too.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from unveil import __version__
from unveil.clock import moment
from unveil.credentials import without_credentials
from unveil.formats import jsonable
from unveil.project import Policy, Project
from unveil.randomness import read_key
from unveil.results import Displayed, Table, View
from unveil.sources import Data, Source, open_source
from unveil.sources.files import files_at
from unveil.sources.files.inputs import locate

__all__ = [
    "Evidence",
    "Evidenced",
    "InputFile",
    "file_table",
    "has_password",
    "input_files",
    "read_files",
    "table_files",
    "verdict_files",
]


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
        The hash under the steward's key; None if no key file is given, and for a release.
    is_file
        Whether it is a file; a policy need not be in one.
    """

    role: str
    place: str
    size: int
    sha256: str | None = None
    hmac_sha256: str | None = None
    is_file: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        hashes = {"sha256": self.sha256, "hmac_sha256": self.hmac_sha256}
        return {"role": self.role, "place": self.place, "bytes": self.size, **hashes}


@dataclass(frozen=True, slots=True)
class Evidence:
    """When and from what an answer was made.

    Attributes
    ----------
    files
        The files that were read: for a verdict the release, its record, the original, the project, the policy and the
        earlier result. A policy that is not in a file is here with the hash of its rules.
    date
        The moment in UTC, as ISO writes it.
    version
        The version of this package.
    """

    files: tuple[InputFile, ...] = ()
    date: str = field(default_factory=lambda: moment().isoformat().replace("+00:00", "Z"))
    version: str = __version__

    def file(self, role: str) -> InputFile | None:
        """Return the file of a role; None if there is none."""
        return next((one for one in self.files if one.role == role), None)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {"date": self.date, "version": self.version, "files": [one.to_dict() for one in self.files]}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Evidenced(Displayed):
    """An answer as a reader sees it, with its evidence: the field `evidence` in JSON, a table on a page."""

    evidence: Evidence = field(default_factory=Evidence)

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer as plain Python values, and its evidence."""
        return {**Displayed.to_dict(self), "evidence": self.evidence.to_dict()}

    def view(self) -> View:
        """Return what a person should see, the files last."""
        return self._with_files(Displayed.view(self))

    def terminal_view(self) -> View:
        """Return what a person should see in a terminal, the files last."""
        return self._with_files(Displayed.terminal_view(self))

    def _with_files(self, view: View) -> View:
        files = self.evidence.files
        return replace(view, tables=(*view.tables, file_table(files))) if files else view


def file_table(files: Iterable[InputFile], title: str = "Files") -> Table:
    """Return files as rows; a kind of hash that no file has is left out."""
    columns: dict[str, list[Any]] = {
        "file": [one.role for one in files],
        "place": [one.place for one in files],
        "bytes": [one.size for one in files],
        "SHA-256": [one.sha256 for one in files],
        "HMAC-SHA-256": [one.hmac_sha256 for one in files],
    }
    kept = {name: values for name, values in columns.items() if any(value is not None for value in values)}
    return Table(tuple(kept), tuple(zip(*kept.values(), strict=True)), title=title)


def verdict_files(
    places: Mapping[str, str | os.PathLike[str] | None],
    project: Project | None,
    policy: Policy | None,
    key_file: str | os.PathLike[str] | None,
) -> tuple[InputFile, ...]:
    """Return the files behind a verdict.

    Parameters
    ----------
    places
        By role ("release", "record", "original", "earlier result"); one that is not a file is left out.
    project, policy
        The project, and the rules applied to the release. A project that names a database with a password has no plain hash.
    key_file
        The secret key of the hashes; none: hashes are plain, and the original has none.
    """
    key = None if key_file is None else read_key(key_file)
    files: list[InputFile] = []
    for role, place in places.items():
        if place == "-":
            files.append(replace(_standard_input(key, public=role != "original"), role=role))
        elif place is not None:
            files += _file(role, os.fspath(place), key, public=key is None and role != "original")
    return (*files, *_rules(project, policy, key))


def _rules(project: Project | None, policy: Policy | None, key: bytes | None) -> list[InputFile]:
    """Return the files of a project and of a policy, with plain hashes if there is no key."""
    files: list[InputFile] = []
    if project is not None:
        files += _file("project", str(project.path), key, public=key is None and not has_password(project))
    if policy is not None:
        place = policy.path or (project.path if project is not None and policy is project.policy else None)
        open_to_all = key is None and not (project is not None and place == project.path and has_password(project))
        files += [_rules_in_hand(policy)] if place is None else _file("policy", str(place), key, public=open_to_all)
    return files


def has_password(project: Project) -> bool:
    """Whether a project names a database with a password, in which case its file has no plain hash."""
    return project.data.path is not None and without_credentials(project.data.path) != str(project.data.path)


def _rules_in_hand(policy: Policy) -> InputFile:
    """Return the rules of a preset, or of a policy that is not in a file, with the hash of their text."""
    text = json.dumps(jsonable(policy.documents), sort_keys=True, ensure_ascii=True).encode()
    place = f"preset {policy.name}" if policy.presets and not policy.rules else "rules given in the call"
    return InputFile("policy", place, len(text), sha256=hashlib.sha256(text).hexdigest(), is_file=False)


def input_files(
    source: Source, project: Project | None, sensitive: Iterable[str], key_file: str | os.PathLike[str] | None = None
) -> tuple[InputFile, ...]:
    """Return the files behind a source and a project: the data, the project file, and hierarchies of sensitive attributes.

    Parameters
    ----------
    source, project
        Where the data is, and what is known about it.
    sensitive
        The sensitive attributes.
    key_file
        The secret key of the hashes; none: there are no hashes. A project file may hold a password, and a hierarchy the values of
        a column, so they are no more public than the data.
    """
    key = None if key_file is None else read_key(key_file)
    files = [_standard_input(key)] if source.place == "-" else _file("data", source.place, key)
    if project is not None:
        files += _file("project", str(project.path), key)
        known = (project.attributes.get(name) for name in sensitive)
        for attribute in known:
            if attribute is not None and attribute.hierarchy is not None:
                files += _file(f"hierarchy of {attribute.name}", str(attribute.hierarchy), key)
    return tuple(files)


def read_files(read: Iterable[tuple[str, str]], key_file: str | os.PathLike[str]) -> tuple[InputFile, ...]:
    """Return the files among places that were read, each with its role, and with its hash under a key.

    Parameters
    ----------
    read
        Roles and places; a place that is not a file, such as a built-in data set, is left out.
    key_file
        The secret key of the hashes.
    """
    key, files = read_key(key_file), list[InputFile]()
    for role, place in dict.fromkeys(read):
        files += [replace(_standard_input(key), role=role)] if place == "-" else _file(role, place, key)
    return tuple(files)


def table_files(
    tables: Mapping[str, Data],
    original: str,
    project: Project | None,
    policy: Policy | None,
    key_file: str | os.PathLike[str] | None = None,
) -> tuple[InputFile, ...]:
    """Return the files of an original and its releases by the tables' names and, if there is a key, of project and policy."""
    key = None if key_file is None else read_key(key_file)
    places = {name: open_source(data).place for name, data in tables.items()}
    files = [file for name, place in places.items() for file in _file(name, place, key, public=name != original)]
    return tuple(files if key is None else [*files, *_rules(project, policy, key)])


def _file(role: str, place: str, key: bytes | None, *, public: bool = False) -> list[InputFile]:
    """Return the file as it is on the disk, compressed or not; nothing for a built-in set, a frame or a database."""
    try:
        files = [(InputFile(role, without_credentials(one), path.stat().st_size), path) for one, path in files_at(place)]
        return [_hashed(file, path, key, public=public) for file, path in files]
    except (OSError, ValueError):  # a place that is not a path, or that went away after it was read
        return []


def _hashed(file: InputFile, path: Path, key: bytes | None, *, public: bool) -> InputFile:
    if public:
        return replace(file, sha256=_digest(path, hashlib.sha256()))
    return replace(file, hmac_sha256=None if key is None else _digest(path, hmac.new(key, digestmod="sha256")))


def _digest(path: Path, state: Any) -> str:
    """Return the hash of a file in hexadecimal digits, computed by a fresh hash object."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: state).hexdigest()


def _standard_input(key: bytes | None, *, public: bool = False) -> InputFile:
    kept, plain = locate("-"), public and key is None
    if kept.path is not None:
        return replace(_file("data", kept.path, key, public=plain)[0], place=kept.place)
    keyed = None if key is None else hmac.digest(key, kept.content, "sha256").hex()
    return InputFile("data", kept.place, len(kept.content), hashlib.sha256(kept.content).hexdigest() if plain else None, keyed)
