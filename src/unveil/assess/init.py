"""What are the columns of this file? A project proposed from the data alone, with the evidence for every proposal.

Direct identifiers are recognised by name and content, and so are columns that are usually sensitive and the column that
identifies the person of a record. Every other column that differs between records is proposed as a key attribute, because an
intruder may know it: the figures show how far it singles people out. Whatever the data leaves open becomes a question; the
decision stays with the reader.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from unveil import __version__
from unveil.arguments import checked_arguments
from unveil.assess.absent import MissingCode, missing_codes
from unveil.assess.alike import AlikeColumns, alike_columns
from unveil.assess.init_text import project_text
from unveil.assess.persons import household_column, person_column
from unveil.assess.proposals import ColumnProposal, InitQuestion, TableFacts, proposed_column
from unveil.attributes import in_line, require_columns
from unveil.errors import ArgumentError, OutputError, UnsupportedDataError, reason_of, shown
from unveil.formats import counted
from unveil.identifiers import DirectIdentifiers, direct_identifiers, found_in
from unveil.naming import hints_of
from unveil.output import check_replaceable, together
from unveil.partitions import Hierarchy, write_whole
from unveil.project import Attribute, DataSection, Project
from unveil.results import Figure, Result, Table, View
from unveil.run import active_run, looks
from unveil.search import nested_places
from unveil.sources import Coded, Data, ReadOptions, Source, load, open_source, read_as
from unveil.study import CodedColumns, Columns, Study, counted_columns

__all__ = ["ColumnProposal", "InitQuestion", "Start", "file_names", "new_folders", "require_new", "start_project"]

_WIDE = 60
"""With more columns, the file has one line for each, and no hierarchies are written."""
_FOLDER = "hierarchies"
_TEXT_FILES = (".csv", ".tsv", ".tab", ".txt", ".csv.gz", ".tsv.gz")
_MARKERS = ("?", "NA", "N/A", "n/a", "#N/A", "NULL", "null", "NaN", "nan")
"""Texts that often represent a null."""
_SHOWN = 8
_POSTAL_DIGITS = range(4, 7)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Start(Result):
    """A project proposed for a table.

    Attributes
    ----------
    project
        The project; `write` stores it in files, with its hierarchies, and with the evidence as comments.
    proposals
        The proposal for each column.
    place, records
        The location of the data, and the number of its records.
    notes
        Further remarks.
    alike
        Columns that hold the same information.
    """

    project: Project
    proposals: tuple[ColumnProposal, ...]
    place: str
    records: int
    notes: tuple[str, ...]
    alike: tuple[AlikeColumns, ...] = ()

    @property
    def questions(self) -> tuple[InitQuestion, ...]:
        """The questions that the data leaves open, in the order of the columns."""
        return tuple(question for one in self.proposals for question in one.questions)

    @property
    def is_wide(self) -> bool:
        """Whether the table has so many columns that the file has one line for each."""
        return len(self.proposals) > _WIDE

    def answered(self, answers: Mapping[InitQuestion, str]) -> Start:
        """Return the project with questions answered.

        Parameters
        ----------
        answers
            Some of the `questions`, each with one of its answers.
        """
        known = {one.column: one for one in self.proposals}
        for question, answer in answers.items():
            if question not in known[question.column].questions or answer not in question.answers:
                raise ArgumentError.not_one_of(f"the answer to {shown(question.text)}", answer, question.answers)
            known[question.column] = known[question.column].answered(question, answer)
        proposals = tuple(known.values())
        attributes = _attributes(proposals, self.project.path.parent / _FOLDER)
        return replace(self, project=replace(self.project, attributes=attributes), proposals=proposals)

    def __repr__(self) -> str:
        """Return one line: the number of columns of each role."""
        roles = [proposal.role for proposal in self.proposals]
        counts = ", ".join(f"{roles.count(role)} {role}" for role in dict.fromkeys(roles))
        return f"Start({counted(len(roles), 'column')}: {counts})"

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer as plain Python values."""
        return {
            "project": str(self.project.path),
            "data": self.place,
            "records": self.records,
            "columns": [proposal.to_dict() for proposal in self.proposals],
            "say_the_same": [one.to_dict() for one in self.alike],
            "notes": list(self.notes),
            "version": __version__,
        }

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return one row per column."""
        rows = [
            {**one.to_dict(), "reasons": " ".join(one.reasons), "sensitive": one.sensitive and one.sensitive.about}
            for one in self.proposals
        ]
        names = [name for name in rows[0] if name not in ("missing", "says_the_same_as", "questions")]
        return {name: [row[name] for row in rows] for name in names}

    def view(self) -> View:
        """Return the displayed view: the columns by role with their figures, those that single out most first."""
        rows = [
            (one.column, one.role, one.kind, None if one.alone is None else one.alone.rate,
             None if one.alone is None else one.alone.uniques, _suggested(one))
            for one in sorted(self.proposals, key=lambda one: -_rate(one))
        ]  # fmt: skip
        names = ("column", "role", "kind", "rate", "uniques", "remark")
        note = "rate: Discrimination Rate against record identity, alone; uniques: records that the column alone singles out"
        figures = (Figure("records", self.records), Figure("project", str(self.project.path)))
        table = Table(names, tuple(rows), note=note, bars=frozenset({"rate"}))
        return View(f"Proposed roles: {self.place}", figures, (table,), self.notes)

    def to_toml(self) -> str:
        """Return the text of the project file, with the evidence as comments."""
        return project_text(
            self.project, self.proposals, f"{self.place}: {counted(self.records, 'record')}", self.notes, wide=self.is_wide
        )

    def files(self) -> tuple[Path, ...]:
        """Return the files that `write` would write, the project last."""
        return (*(path for _, path in self._hierarchies()), self.project.path)

    def write(self, *, force: bool = False) -> None:
        """Write the hierarchies and the project file, all of them or none.

        Parameters
        ----------
        force
            Whether to replace existing files.

        Raises
        ------
        OutputError
            If a file already exists, or cannot be written; then no file of the project is written.
        """
        require_new(self.files(), force=force)
        check_replaceable(self.project.path)
        with new_folders([path.parent for _, path in self._hierarchies()]), together():
            for hierarchy, path in self._hierarchies():
                active_run().check()
                hierarchy.write(path)
            write_whole(self.project.path, self.to_toml())

    def _hierarchies(self) -> list[tuple[Hierarchy, Path]]:
        attributes = self.project.attributes
        hierarchies = [(one.hierarchy, attributes[one.column].hierarchy) for one in self.proposals]
        return [(hierarchy, path) for hierarchy, path in hierarchies if hierarchy is not None and path is not None]


@looks
@checked_arguments
def start_project(
    data: Data,
    path: str | os.PathLike[str] = "unveil.toml",
    *,
    separator: str | None = None,
    encoding: str | None = None,
    missing: Sequence[str] = (),
    text: Sequence[str] = (),
) -> Start:
    """Examine a table and propose a project for it: roles, kinds and hierarchies, each with its evidence.

    Parameters
    ----------
    data
        A path, the name of a built-in data set, any data frame narwhals knows, a table in an engine or counts. Never changed.
    path
        The project file; nothing is written before `Start.write`.
    separator, encoding, missing
        The settings for reading a text file; none: they are detected, including those texts that often represent a null.
    text
        Columns of codes, read as text; postal codes that lost leading zeros are read as text even if they are not named.

    Returns
    -------
    Start
        The proposals, the questions that the data leaves open, and the project.

    Examples
    --------
    >>> import unveil
    >>> start = unveil.start_project("adult")
    >>> start
    Start(15 columns: 14 key, 1 sensitive)
    >>> [(one.column, one.sensitive.about) for one in start.proposals if one.sensitive]
    [('race', 'ethnic origin'), ('income-per-year', 'money')]
    """
    reading = ReadOptions(separator=separator, encoding=encoding, missing=tuple(missing), text=tuple(text))
    place = Path(path)
    home = _data_path(data, place.parent)
    with ExitStack() as held:
        source, marks = _opened(data, reading, held)
        require_columns(reading.text, source.names)
        read = _read(source, reading.text, is_file=home is not None) if source.in_hand else _counted(source)
        facts = _facts(read)
    columns = read.columns
    judged = {name: proposed_column(name, columns.values(name), columns.counts(name), facts) for name in columns.names}
    proposals = tuple(judged[name] if name in judged else _not_counted(name) for name in source.names)
    section = DataSection(home, separator, encoding, tuple(marks) or tuple(missing), text=read.text)
    project = Project(place, section, _attributes(proposals, place.parent / _FOLDER))
    notes = (*_notes(section, marks), *_remarks(proposals, facts))
    return Start(project, proposals, source.place, facts.records, notes, facts.alike)


# The data -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Read:
    """The columns, read or, if the records are elsewhere, counted; the direct identifiers, and how the columns are read."""

    columns: Columns
    identifiers: DirectIdentifiers
    text: tuple[str, ...] = ()
    missing: Mapping[str, tuple[MissingCode, ...]] = field(default_factory=dict)


def _opened(data: Data, options: ReadOptions, held: ExitStack) -> tuple[Source, dict[str, int]]:
    """Open the data; of a text file, texts that often represent a null are read as nulls."""
    plain = replace(options, text=())
    source = open_source(data, plain, held=held)
    if not source.in_hand:
        if options.text:  # an engine has types of its own, and refuses the option
            source = open_source(data, options, held=held)
        return source, {}
    if options.missing or not isinstance(data, str | os.PathLike) or not os.fspath(data).lower().endswith(_TEXT_FILES):
        return source, {}
    frame = source.collect(source.names)
    texts = [frame[name] for name in source.names if str(frame[name].dtype) == "String"]
    marks = {mark: sum(int((column == mark).sum() or 0) for column in texts) for mark in _MARKERS}
    marked = {mark: n for mark, n in marks.items() if n}
    return (open_source(data, replace(plain, missing=tuple(marked))), marked) if marked else (source, {})


def _counted(source: Source) -> _Read:
    """Count the columns where the data is, one by one."""
    study = Study(source)
    identifiers = found_in(study, study.names)
    return _Read(counted_columns(study), identifiers)


def _read(source: Source, text: tuple[str, ...], *, is_file: bool) -> _Read:
    """Read all columns; those of a file as a project will, with codes as text and missing codes as nulls."""
    held = open_source(source.collect(source.names))
    coded, codes = _coded(held), dict[str, tuple[MissingCode, ...]]()
    if is_file:
        plain = CodedColumns(coded)
        text = (*text, *_lost_zeros(coded.values(), text))
        codes = {name: some for name in coded if (some := missing_codes(plain.values(name), plain.counts(name).tolist()))}
        sure = {name: tuple(code.text for code in some if code.sure) for name, some in codes.items()}
        held = read_as(held, text, sure)
        coded = _coded(held, known=coded, again={*text, *sure})
    return _Read(CodedColumns(coded), direct_identifiers(held), text, codes)


def _coded(held: Source, *, known: Mapping[str, Coded] | None = None, again: Collection[str] = ()) -> dict[str, Coded]:
    """Code every column whose values can be counted; known columns are kept unless they must be read again."""
    coded: dict[str, Coded] = {}
    for name in held.names:
        if known is not None and name in known and name not in again:
            coded[name] = known[name]
            continue
        with suppress(UnsupportedDataError):
            coded[name] = load(held, [name]).columns[0]
    return coded


def _lost_zeros(columns: Iterable[Coded], known: Sequence[str]) -> list[str]:
    """Return columns of postal codes that lost leading zeros: whole numbers, some with fewer digits than the longest."""
    names = []
    for one in columns:
        if one.name in known or "postcode" not in hints_of(one.name):
            continue
        numbers = [value for value in one.values if value is not None]
        lengths = {len(str(value)) for value in numbers if isinstance(value, int)}
        if numbers and all(isinstance(value, int) for value in numbers) and len(lengths) > 1 and max(lengths) in _POSTAL_DIGITS:
            names.append(one.name)
    return names


def _facts(read: _Read) -> TableFacts:
    """Examine the whole table: direct identifiers, persons and households, and columns that are alike or contain others."""
    columns, identifiers = read.columns, read.identifiers
    narrow = len(columns.names) <= _WIDE
    person = person_column(columns)
    persons = None if person is None else len(columns.values(person[0]))
    places = nested_places(columns) if narrow else {}
    hierarchies = {
        name: (rule.build(columns.values(name), column=name), f"Hierarchy: {reason}.") for name, (rule, reason) in places.items()
    }
    return TableFacts(
        identifiers.records,
        identifiers.records if persons is None else persons,
        {finding.column: finding for finding in reversed(identifiers.findings)},
        person,
        household_column(columns, person[0] if person else None),
        alike_columns(columns, persons),
        read.missing,
        hierarchies,
        hierarchies=narrow,
    )


def _not_counted(name: str) -> ColumnProposal:
    return ColumnProposal(
        name, "other", None, None, ("Its values (lists, records or bytes) cannot be counted; look at them yourself.",)
    )


def _data_path(data: Data, home: Path) -> Path | None:
    """Return the path of the data relative to the project's folder; None if it is not a file."""
    if not isinstance(data, str | os.PathLike) or not Path(data).is_file():
        return None
    path = Path(data)
    if path.is_absolute() and not path.is_relative_to(home.resolve()):
        return path
    return home / os.path.relpath(path, home)


def _notes(section: DataSection, marks: dict[str, int]) -> Iterator[str]:
    if marks:
        texts = ", ".join(f"{mark} ({counted(n, 'time')})" for mark, n in marks.items())
        yield f"Read as null: {texts}; if it is a value, change 'missing'."
    if section.path is None:
        yield "The data is not a file, so the project does not name it; name the data in every call, beside the project."
    if section.text:
        yield f"Read as text, with lost leading zeros restored: {in_line(section.text)}; if that is wrong, change 'text'."


def _remarks(proposals: Sequence[ColumnProposal], facts: TableFacts) -> Iterator[str]:
    """Yield remarks about the table as a whole."""
    if facts.person is not None:
        yield f"Whose record it is: {facts.person[0]} ({facts.person[1]})."
    yield from (one.in_words() for one in facts.alike)
    nulls = [f"{in_line(one.read_as_null())} in {in_line([one.column])}" for one in proposals if one.read_as_null()]
    if nulls:
        yield f"Read as null: {_first(nulls)}; if it is a value, change 'missing' of the attribute."
    questions = sum(len(one.questions) for one in proposals)
    if questions:
        yield f"{counted(questions, 'question')} left open; what is proposed stands until they are answered."
    yield "What is sensitive is for you to decide: marks rest on names and values alone."


def _first(said: Sequence[str]) -> str:
    more = f" and {len(said) - _SHOWN:,} more" if len(said) > _SHOWN else ""
    return ", ".join(said[:_SHOWN]) + more


def _attributes(proposals: Sequence[ColumnProposal], folder: Path) -> dict[str, Attribute]:
    """Return the attributes of a project; every hierarchy has a file of its own in the folder."""
    files = file_names([one.column for one in proposals if one.hierarchy is not None])
    attributes = {}
    for one in proposals:
        file = None if one.hierarchy is None else folder / files[one.column]
        attributes[one.column] = Attribute(one.column, one.role, one.kind, hierarchy=file, missing=one.read_as_null())
    return attributes


def file_names(columns: Iterable[str]) -> dict[str, str]:
    """Return a file name for each column, which every system accepts and no other column has."""
    taken: set[str] = set()
    return {column: _file_name(column, taken) for column in columns}


def require_new(files: Iterable[Path], *, force: bool) -> None:
    """Refuse to overwrite an existing file, unless it is to be replaced."""
    there = [path for path in files if path.exists()]
    if there and not force:
        more = f" and {counted(len(there) - 1, 'other')}" if len(there) > 1 else ""
        raise OutputError(f"nothing was written: '{there[0]}'{more} would be replaced; choose another place, or use `force`.")


def _file_name(column: str, taken: set[str]) -> str:
    """Return a file name for a column, which every system accepts and no other column has."""
    plain = re.sub(r"[^\w.-]+", "-", column).strip(".-")[:80] or "column"
    name = next(name for name in (plain, *(f"{plain}-{n}" for n in range(2, len(taken) + 3))) if name.casefold() not in taken)
    taken.add(name.casefold())
    return f"{name}.csv"


@contextmanager
def new_folders(folders: Iterable[Path]) -> Iterator[None]:
    """Create the missing folders; if the block fails, they are removed again."""
    made: list[Path] = []
    try:
        for folder in dict.fromkeys(folders):
            if not folder.is_dir():
                _make_folder(folder)
                made.append(folder)
        yield
    except BaseException:
        for folder in made:
            with suppress(OSError):
                folder.rmdir()
        raise


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir()
    except OSError as problem:
        raise OutputError(f"the folder {shown(folder)} for the hierarchies cannot be created: {reason_of(problem)}.") from None


def _suggested(one: ColumnProposal) -> str | None:
    remarks = [] if one.sensitive is None else [f"{one.sensitive.about} ({one.sensitive.law})"]
    remarks += [f"says the same as {in_line(one.alike)}"] if one.alike else []
    return "; ".join(remarks) or None


def _rate(one: ColumnProposal) -> float:
    return -1.0 if one.alone is None else one.alone.rate
