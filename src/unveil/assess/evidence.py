"""The evidence of a result, for later checks: when it was made, and from which files, each with its size and a hash.

Anyone who has the SHA-256 of a small table of people can try tables until one fits: a plain hash of personal data discloses it.
So only a release, which everyone may read, has a plain hash; any other data is hashed under a key, as an HMAC, by which anyone
who has the key file can verify that they hold the same file. With a key, a verdict also states the HMAC of its release.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from unveil import __version__
from unveil.clock import moment
from unveil.credentials import without_credentials
from unveil.formats import jsonable
from unveil.project import Policy, Project, Rule
from unveil.randomness import read_key
from unveil.results import Displayed, Table, View
from unveil.sources import Data, Source, files_at, locate, open_source

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
    """An input file of a result.

    Attributes
    ----------
    role, place
        Its purpose, and its location.
    size
        Its size in bytes.
    sha256
        The plain hash, such as that of a release; None for files that are not public.
    hmac_sha256
        The hash under the data steward's key; None without a key file, and for a release with a plain hash.
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
    """The date and the files from which an answer was made.

    Attributes
    ----------
    files
        The files that were read: for a verdict the release, its record, the original, the project, the policy and the
        earlier result. A policy that is not in a file is included with the hash of its rules.
    date
        The time in UTC, in ISO format.
    version
        The version of this package.
    """

    files: tuple[InputFile, ...] = ()
    date: str = field(default_factory=lambda: moment().isoformat().replace("+00:00", "Z"))
    version: str = __version__

    def file(self, role: str) -> InputFile | None:
        """Return the file with a role; None if there is none."""
        return next((one for one in self.files if one.role == role), None)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {"date": self.date, "version": self.version, "files": [one.to_dict() for one in self.files]}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Evidenced(Displayed):
    """An answer in the form for a reader, with its evidence: the field `evidence` in JSON, a table on a page."""

    evidence: Evidence = field(default_factory=Evidence)

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer as plain Python values, and its evidence."""
        return {**Displayed.to_dict(self), "evidence": self.evidence.to_dict()}

    def view(self) -> View:
        """Return the displayed view, with the files last."""
        return self._with_files(Displayed.view(self))

    def terminal_view(self) -> View:
        """Return the view displayed in a terminal, with the files last."""
        return self._with_files(Displayed.terminal_view(self))

    def _with_files(self, view: View) -> View:
        files = self.evidence.files
        return replace(view, tables=(*view.tables, file_table(files))) if files else view


def file_table(files: Iterable[InputFile], title: str = "Files") -> Table:
    """Return files as rows; a kind of hash that no file has is omitted."""
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
    rules: Sequence[Rule],
    key_file: str | os.PathLike[str] | None,
) -> tuple[InputFile, ...]:
    """Return the files behind a verdict.

    Parameters
    ----------
    places
        The places by role ("release", "record", "original", "earlier result"); a place that is not a file is left out.
    project, policy, rules
        The project, the policy applied to the release, and its rules. A project that names a database with a password has no
        plain hash.
    key_file
        The file with the secret key of the hashes; none: hashes are plain, and the original has none.
    """
    key = None if key_file is None else read_key(key_file)
    plain = key is None
    named = [_Place(role, os.fspath(one), plain and role != "original") for role, one in places.items() if one is not None]
    written, in_hand = _rules(project, policy, rules, plain=plain)
    return (*_files([*named, *written], key), *in_hand)


def _rules(
    project: Project | None, policy: Policy | None, rules: Sequence[Rule], *, plain: bool
) -> tuple[list[_Place], list[InputFile]]:
    """Return the places of a project and a policy, and a policy that is not in a file; `plain`: with hashes without a key."""
    places: list[_Place] = []
    if project is not None:
        places.append(_Place("project", str(project.path), plain and not has_password(project)))
    if policy is None:
        return places, []
    place = policy.path or (project.path if project is not None and policy is project.policy else None)
    if place is None:
        return places, [_rules_in_hand(policy, rules)]
    open_to_all = plain and not (project is not None and place == project.path and has_password(project))
    return [*places, _Place("policy", str(place), open_to_all)], []


def has_password(project: Project) -> bool:
    """Whether a project names a database with a password, in which case its file has no plain hash."""
    return project.data.path is not None and without_credentials(project.data.path) != str(project.data.path)


def _rules_in_hand(policy: Policy, rules: Sequence[Rule]) -> InputFile:
    """Return the rules of a preset, or of a policy that is not in a file, with the hash of their text."""
    documents = [{"rule": one.name, "threshold": one.threshold, "parameters": dict(one.parameters)} for one in rules]
    text = json.dumps(jsonable(documents), sort_keys=True, ensure_ascii=True).encode()
    place = f"preset {policy.name}" if policy.presets and not policy.rules else "rules given in the call"
    return InputFile("policy", place, len(text), sha256=hashlib.sha256(text).hexdigest(), is_file=False)


def input_files(
    source: Source, project: Project | None, sensitive: Iterable[str], key_file: str | os.PathLike[str] | None = None
) -> tuple[InputFile, ...]:
    """Return the files behind a source and a project: the data, the project file, and hierarchies of sensitive attributes.

    Parameters
    ----------
    source, project
        The source of the data, and its project.
    sensitive
        The sensitive attributes.
    key_file
        The file with the secret key of the hashes; none: there are no hashes. A project file may hold a password, and a
        hierarchy the values of a column, so they are no more public than the data.
    """
    key = None if key_file is None else read_key(key_file)
    places = [_Place("data", source.place)]
    if project is not None:
        places.append(_Place("project", str(project.path)))
        known = [project.attributes[name] for name in sensitive if name in project.attributes]
        places += [_Place(f"hierarchy of {one.name}", str(one.hierarchy)) for one in known if one.hierarchy is not None]
    return tuple(_files(places, key))


def read_files(read: Iterable[tuple[str, str]], key_file: str | os.PathLike[str]) -> tuple[InputFile, ...]:
    """Return the files among the places that were read, each with its role, and with its hash under a key.

    Parameters
    ----------
    read
        Roles and places; a place that is not a file, such as a built-in data set, is left out.
    key_file
        The file with the secret key of the hashes.
    """
    return tuple(_files([_Place(role, place) for role, place in dict.fromkeys(read)], read_key(key_file)))


def table_files(
    tables: Mapping[str, Data],
    original: str,
    project: Project | None,
    policy: Policy | None,
    key_file: str | os.PathLike[str] | None = None,
) -> tuple[InputFile, ...]:
    """Return the files of an original and its releases by table name and, if there is a key, of project and policy."""
    key = None if key_file is None else read_key(key_file)
    places = [_Place(name, open_source(data).place, name != original) for name, data in tables.items()]
    if key is None:
        return tuple(_files(places, key))
    written, in_hand = _rules(project, policy, () if policy is None else policy.in_force(), plain=False)
    return (*_files([*places, *written], key), *in_hand)


class _Place(NamedTuple):
    """A place that was read: its role, and whether its hash is plain, or under the key, if there is a key."""

    role: str
    place: str
    plain: bool = False


def _files(places: Sequence[_Place], key: bytes | None) -> list[InputFile]:
    """Return the files as stored on disk, compressed or not; none for a built-in data set, a data frame or a database."""
    files: list[InputFile] = []
    for one, found in zip(places, files_at(*(one.place for one in places)), strict=True):
        if one.place == "-":
            files.append(_standard_input(one, key))
            continue
        with suppress(OSError):  # a file that disappeared after it was read
            files += [_hashed(one, without_credentials(name), path, key) for name, path in found]
    return files


def _hashed(place: _Place, shown: str, path: Path, key: bytes | None) -> InputFile:
    file = InputFile(place.role, shown, path.stat().st_size)
    if place.plain:
        return replace(file, sha256=_digest(path, hashlib.sha256()))
    return replace(file, hmac_sha256=None if key is None else _digest(path, hmac.new(key, digestmod="sha256")))


def _digest(path: Path, state: Any) -> str:
    """Return the hash of a file in hexadecimal digits, computed with a fresh hash object."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: state).hexdigest()


def _standard_input(place: _Place, key: bytes | None) -> InputFile:
    kept = locate("-")
    if kept.path is not None:
        return _hashed(place, kept.place, Path(kept.path), key)
    file = InputFile(place.role, kept.place, len(kept.content))
    if place.plain:
        return replace(file, sha256=hashlib.sha256(kept.content).hexdigest())
    return replace(file, hmac_sha256=None if key is None else hmac.digest(key, kept.content, "sha256").hex())
