"""The state of the app: the open data, its project, its changes, and its jobs. It is kept here and in the project file only.

A change is a new project: it is written to its file at once, and the previous one is kept for undo. Every change has a number, so
that a page can tell whether it shows the current state.
"""

from __future__ import annotations

import hashlib
import itertools
import re
import shutil
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from unveil.app.decisions import decided, note
from unveil.app.jobs import Jobs
from unveil.credentials import without_credentials
from unveil.errors import ArgumentError, ProjectError, UnveilError, shown
from unveil.project import Attribute, DataSection, Project
from unveil.sources import ReadOptions, named_part, open_source, read_options
from unveil.sources import names as built_in
from unveil.study import Study

__all__ = ["ChangedOnDiskError", "Desk", "Opened", "reading", "without_password"]

_MOST_UNDONE = 200
_SECRET = re.compile("pass|pwd|secret|token", re.IGNORECASE)
_MOST_MESSAGES = 100


class ChangedOnDiskError(UnveilError, RuntimeError):
    """The project file was written by someone else since it was read, and the user has to choose one of the two."""


@dataclass(frozen=True, slots=True)
class Opened:
    """Open data, with its project.

    Attributes
    ----------
    data
        The text that opens it again: a path, the name of a built-in data set, or an address. An address may contain a password
        and is never shown; `place` is shown.
    project
        Its project, as last saved.
    whole
        The study of all columns, without roles; its counts stay valid when the project changes.
    kept
        Whether the data stays where it is; False if it was dropped here, and it is not yet decided where to keep it.
    """

    data: str
    project: Project
    whole: Study
    kept: bool = True

    @property
    def place(self) -> str:
        """The location of the data, as a command run in the start folder would name it."""
        if "://" in self.data:
            return without_password(self.data)
        if not self.kept or self.data in built_in():
            return Path(self.data).name
        path = Path(self.data).resolve()
        return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)

    @property
    def name(self) -> str:
        """Its name on a page."""
        return self.place if "://" in self.place else Path(self.place).name

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the data."""
        return self.whole.names


@dataclass(frozen=True, slots=True)
class _Change:
    project: Project
    summary: str


@dataclass(slots=True, eq=False)
class Desk:
    """Everything that one server has open.

    Attributes
    ----------
    folder
        The start folder: files are opened from here and below.
    private
        A folder that only its owner may read, for files that are dropped; None if none can be dropped.
    jobs
        The jobs that are running or have ended.
    version
        The number of changes; a page that shows an older version displays a note.
    memory
        The state that screens keep about the open data (answers, ticked columns), under keys of their own; emptied for another
        file.
    """

    folder: Path
    private: Path | None = None
    jobs: Jobs = field(default_factory=Jobs)
    version: int = 0
    memory: dict[str, Any] = field(default_factory=dict)
    _opened: Opened | None = None
    _changes: list[_Change] = field(default_factory=list)
    _at: int = 0
    _mark: bytes | None = None
    _messages: dict[int, tuple[str, str]] = field(default_factory=dict)
    _numbers: Any = field(default_factory=lambda: itertools.count(1))
    _lock: Any = field(default_factory=threading.RLock)

    # The open data ----------------------------------------------------------------------------------------------------

    @property
    def opened(self) -> Opened:
        """The open data; an error if there is none."""
        if self._opened is None:
            raise ArgumentError("no data is open; open a file first.")
        return self._opened

    @property
    def is_open(self) -> bool:
        """Whether data is open."""
        return self._opened is not None

    @property
    def project(self) -> Project:
        """The open project."""
        return self.opened.project

    @property
    def study(self) -> Study:
        """The data with the roles and meanings of the project."""
        opened = self.opened
        known = self.memory.get("study")
        if known is None or known[0] is not opened.project:
            known = (opened.project, Study(opened.whole.held(), project=opened.project, partial=True))
            self.memory["study"] = known
        study: Study = known[1]
        return study

    def code(self, column: str) -> str:
        """Return the word that stands for a column in pages and forms."""
        return f"c{self.opened.columns.index(column)}"

    def column(self, code: str) -> str:
        """Return the column of such a word."""
        number = code.removeprefix("c")
        if code.startswith("c") and number.isascii() and number.isdigit() and int(number) < len(self.opened.columns):
            return self.opened.columns[int(number)]
        raise ArgumentError("the data does not have this column; reload the page.")

    # Opening ----------------------------------------------------------------------------------------------------------

    def open(self, data: str, *, options: ReadOptions | None = None, kept: bool = True, read: bool = False) -> None:
        """Open data by its path, address or name, with its existing project or a new one.

        Parameters
        ----------
        data
            The path, address or name; a project file names its own data.
        options
            The options for reading it, if the project does not state them.
        kept
            Whether it stays where it is.
        read
            Whether to read it once first, so that a file that cannot be read is reported at once.
        """
        if data.endswith(".toml"):
            self.open_project(Path(data))
            return
        home = self.folder if data in built_in() or "://" in data or not kept else Path(data).parent
        path = _project_path(data, home, kept=kept)
        if path.is_file():
            project = Project.read(path)
        else:
            named = "://" in data or not kept or data in built_in()
            project = Project(path, DataSection(path=without_password(data) if "://" in data else None if named else Path(data)))
        if options is not None:
            section = replace(project.data, separator=options.separator, encoding=options.encoding, missing=options.missing)
            project = replace(project, data=section)
        self._take(data, project, kept=kept, read=read)

    def open_project(self, path: Path) -> None:
        """Open a project file and the data that it names."""
        project = Project.read(path)
        place = project.data.path
        if place is None:
            known = path.stem
            if known not in built_in():
                raise ProjectError(f"{shown(path.name)}: its data was not kept, or is not named; open the data itself.")
            place = known
        self._take(str(place), project)

    def _take(self, data: str, project: Project, *, kept: bool = True, read: bool = False) -> None:
        opened = _opened(data, project, kept=kept)
        if read:
            _ = opened.whole.records
        with self._lock:
            self._opened = opened
            self._changes, self._at = [_Change(project, "opened")], 0
            self._mark = _mark(project.path)
            self.memory = {}
            self.version += 1

    # Changing ---------------------------------------------------------------------------------------------------------

    def change(self, project: Project, summary: str) -> None:
        """Accept a changed project, write it to its file, and keep the previous one.

        Parameters
        ----------
        project
            The changed project.
        summary
            A summary of the change, in a few words, for undo and the log of decisions.
        """
        with self._lock:
            if project == self.project:
                return
            self._save(project)
            self._changes = [*self._changes[: self._at + 1], _Change(project, summary)][-_MOST_UNDONE:]
            self._at = len(self._changes) - 1
            self.log(summary)

    def change_attributes(self, changes: Mapping[str, Mapping[str, Any]], summary: str) -> None:
        """Change the project's description of some columns: the changed fields of their `Attribute`, by column."""
        known = self.project.attributes
        changed = {name: replace(known.get(name) or Attribute(name), **dict(fields)) for name, fields in changes.items()}
        together = {**known, **changed}
        ordered = {name: together[name] for name in (*self.opened.columns, *together) if name in together}
        self.change(replace(self.project, attributes=ordered), summary)

    def undo(self) -> str:
        """Undo the last change, and return its summary."""
        return self._moved(-1)

    def redo(self) -> str:
        """Redo the change that was undone last, and return its summary."""
        return self._moved(1)

    @property
    def undoable(self) -> str:
        """The summary of the change that can be undone; empty if there is none."""
        return self._changes[self._at].summary if self._at > 0 else ""

    @property
    def redoable(self) -> str:
        """The summary of the change that can be redone; empty if there is none."""
        return self._changes[self._at + 1].summary if self._at + 1 < len(self._changes) else ""

    def _moved(self, by: int) -> str:
        with self._lock:
            at = self._at + by
            if not 0 <= at < len(self._changes):
                raise ArgumentError("there is nothing to undo." if by < 0 else "there is nothing to redo.")
            self._save(self._changes[at].project)
            summary = self._changes[max(at, self._at)].summary
            self._at = at
            self.log(f"{'undone' if by < 0 else 'done again'}: {summary}")
            return summary

    def _save(self, project: Project) -> None:
        if self.changed_on_disk:
            raise ChangedOnDiskError("the project file was changed elsewhere; read it again, or keep the version of the app.")
        opened = self._with(project)
        project.write()
        self._mark = _mark(project.path)
        self._opened = opened
        self.version += 1

    def _with(self, project: Project) -> Opened:
        """Return the open data with another project; the data is read again if the project changes how it is read."""
        if reading(project) == reading(self.project):
            return replace(self.opened, project=project)
        opened = _opened(self.opened.data, project, kept=self.opened.kept)
        _ = opened.whole.records  # data that cannot be read in this way is reported before the change is made
        self.memory = {}
        return opened

    def take_reading(self, proposed: Project) -> None:
        """Adopt the detected codes of nulls and lost leading zeros, as long as nothing has been decided."""
        with self._lock:
            untouched = len(self._changes) == 1 and self._mark is None
            project = _read_as(self.project, proposed)
            if not untouched or reading(project) == reading(self.project):
                return
            remembered = {name: value for name, value in self.memory.items() if name == "overview"}
            self._opened = self._with(project)
            self._changes, self.memory = [_Change(project, "opened")], remembered

    # The file ---------------------------------------------------------------------------------------------------------

    @property
    def changed_on_disk(self) -> bool:
        """Whether someone else has written the project file since it was last read or written here."""
        return self._opened is not None and _mark(self._opened.project.path) != self._mark

    def read_again(self) -> None:
        """Adopt the current content of the project file; undo restores the state here."""
        with self._lock:
            project = Project.read(self.project.path)
            self._opened = self._with(project)
            self._mark = _mark(project.path)
            self._changes = [*self._changes[: self._at + 1], _Change(project, "read from the file")]
            self._at = len(self._changes) - 1
            self.version += 1

    def keep_mine(self) -> None:
        """Overwrite the project file with the state here."""
        with self._lock:
            self._mark = _mark(self.project.path)
            self._save(self.project)

    def keep(self, path: Path) -> None:
        """Move data that was dropped to where it will stay, and name it in the project."""
        opened = self.opened
        if opened.kept:
            raise ArgumentError("the data is already kept.")
        with self._lock:
            if path.exists():
                raise ArgumentError(f"{shown(path.name)} already exists; choose another name.")
            if not path.parent.is_dir():
                raise ArgumentError("there is no such folder; choose one that exists.")
            held, sheet = named_part(opened.data)
            shutil.move(held, path)
            kept = path if sheet is None else path.with_name(f"{path.name}?sheet={sheet}")
            project = replace(opened.project, data=replace(opened.project.data, path=kept))
            self._opened = replace(_opened(str(kept), project, kept=True), project=opened.project)
            self.change(project, "the data is kept")

    # Decisions --------------------------------------------------------------------------------------------------------

    def log(self, what: str) -> None:
        """Record a decision, with its time, in the log beside the project; the log can be handed over."""
        note(self.project.path, what)

    @property
    def decisions(self) -> list[dict[str, str]]:
        """All decisions about the open data, in order, including those from before the server was started."""
        return decided(self.project.path)

    # Messages ---------------------------------------------------------------------------------------------------------

    def say(self, line: str, kind: str = "note") -> int:
        """Keep a message for the next page, and return its number."""
        number: int = next(self._numbers)
        self._messages[number] = (kind, line)
        while len(self._messages) > _MOST_MESSAGES:
            del self._messages[next(iter(self._messages))]
        return number

    def message(self, number: str) -> tuple[str, str] | None:
        """Return a message that was kept, with its kind."""
        return self._messages.get(int(number)) if number.isascii() and number.isdigit() else None


def reading(project: Project) -> ReadOptions:
    """Return the read options of a project."""
    return read_options(project, ReadOptions())


def _read_as(project: Project, reading: Project) -> Project:
    """Return a project that reads its data as another one does."""
    codes = {name: one.missing for name, one in reading.attributes.items() if one.missing}
    attributes = {**project.attributes, **{name: Attribute(name, missing=texts) for name, texts in codes.items()}}
    section = replace(project.data, missing=reading.data.missing or project.data.missing, text=reading.data.text)
    return replace(project, data=section, attributes=attributes)


def _opened(data: str, project: Project, *, kept: bool) -> Opened:
    """Open data as its project states; refuse a project that does not match the data."""
    whole = Study(open_source(data, reading(project)))
    Study(whole.held(), project=project, partial=True)
    return Opened(data, project, whole, kept)


def without_password(address: str) -> str:
    """Return the address of a database as a project may contain it: with the user, without a password or another secret.

    Examples
    --------
    >>> without_password("postgresql://ann:hunter2@host/people?table=t&password=x")
    'postgresql://ann@host/people?table=t'
    """
    scheme, mark, rest = address.partition("://")
    place, question, query = rest.partition("?")
    host, slash, name = place.partition("/")
    user, at, machine = host.rpartition("@")
    kept = "&".join(one for one in query.split("&") if not _SECRET.search(one.partition("=")[0]))
    return f"{scheme}{mark}{user.partition(':')[0]}{at}{machine}{slash}{name}{question if kept else ''}{kept}"


def _project_path(data: str, home: Path, *, kept: bool) -> Path:
    """Return the path of the project of some data: `unveil.toml` beside it, unless that is about other data."""
    usual = home / "unveil.toml"
    named = Path(named_part(without_credentials(data))[0].rpartition("/")[2] or "data")
    own = home / f"{named.stem or 'data'}.toml"
    if data in built_in() or not kept or "://" in data or own.is_file():
        return own
    if not usual.is_file():
        return usual
    try:
        about = Project.read(usual).data.path
    except UnveilError:
        return own
    return usual if about is not None and Path(about).resolve() == Path(data).resolve() else own


def _mark(path: Path) -> bytes | None:
    """Return a mark that distinguishes the states of a file; None if there is no file."""
    try:
        return hashlib.sha256(path.read_bytes()).digest()
    except OSError:
        return None
