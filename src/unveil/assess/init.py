"""What are the columns of this file? A project proposed from the data alone, with the evidence for every proposal.

Direct identifiers are recognised by name and content. Every other column that differs from record to record is proposed as a key
attribute, because an intruder may know it: the figures say how far it singles people out. What is sensitive cannot be seen in the
data, so it is only suggested, by name; the decision stays with the reader of the file.
"""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unveil import __version__
from unveil.arguments import checked_arguments
from unveil.attributes import Kind, Role
from unveil.errors import OutputError, UnsupportedDataError, shown
from unveil.measures.column_exposure import ColumnExposure, column_exposure
from unveil.measures.direct_identifiers import Finding, direct_identifiers
from unveil.naming import hints_of, words_of
from unveil.output import check_replaceable, together
from unveil.partitions import Hierarchy
from unveil.partitions.builders import propose
from unveil.partitions.builders.base import RootOnly
from unveil.partitions.files import write_whole
from unveil.project import Attribute, DataSection, Project
from unveil.project._toml import written_key
from unveil.results import Figure, Result, Table, View
from unveil.results.numbers import counted, number
from unveil.sources import Coded, Data, ReadOptions, Source, load, open_source
from unveil.sources.datasets import names as built_in

__all__ = ["ColumnProposal", "Start", "start_project"]

_MOST_LEAVES = 5_000
"""Columns with more values get no hierarchy here: its file would be as long as the data."""
_NEARLY_ALL = 0.9
_WIDTH = 116
_FOLDER = "hierarchies"
_TEXT_FILES = (".csv", ".tsv", ".tab", ".txt", ".csv.gz", ".tsv.gz")
_MARKERS = ("?", "NA", "N/A", "n/a", "#N/A", "NULL", "null", "NaN", "nan")
"""Texts that often stand for a null."""

_SENSITIVE = {
    "health": (
        "health, disease, diagnosis, diagnose, diagnostic, icd, illness, sickness, condition, treatment, therapy, medication, "
        "drug, symptom, hiv, disability, handicap, pregnancy, surgery, mental, depression, allergy, blood, genetic, maladie, "
        "sante, krankheit, gesundheit, enfermedad, salud, malattia, salute, doenca, saude, ziekte, gezondheid"
    ),
    "money": (
        "income, salary, wage, earning, debt, loan, credit, balance, wealth, asset, tax, revenu, salaire, einkommen, gehalt, "
        "ingreso, salario, reddito, stipendio, renda, inkomen"
    ),
    "belief": "religion, religious, belief, faith, church, politic, political, party, vote, union, syndicat, gewerkschaft",
    "origin": "race, racial, ethnic, ethnicity, ethnie, raza, razza",
    "sex life": "sexual, orientation, gender identity",
    "crime": "crime, criminal, offence, offense, conviction, arrest, sentence, prison",
}
"""Words of column names by the reason to keep the column secret: after Articles 9 and 10 of the GDPR, and money."""


@dataclass(frozen=True, slots=True)
class ColumnProposal:
    """What a column is proposed to be, and why.

    Attributes
    ----------
    column, role, kind
        The column, its role, and its kind; no kind: found out when it is needed.
    alone
        What it gives away by itself; None where its values cannot be counted.
    reasons
        The evidence, in sentences that repeat no value.
    sensitive
        What the name says that speaks for keeping it secret; None: nothing.
    hierarchy
        The hierarchy proposed.
    """

    column: str
    role: Role
    kind: Kind | None
    alone: ColumnExposure | None
    reasons: tuple[str, ...]
    sensitive: str | None = None
    hierarchy: Hierarchy | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {
            "column": self.column,
            "role": self.role,
            "kind": self.kind,
            "distinct": None if self.alone is None else self.alone.distinct,
            "uniques": None if self.alone is None else self.alone.uniques,
            "discrimination_rate": None if self.alone is None else self.alone.rate,
            "sensitive": self.sensitive,
            "hierarchy_levels": None if self.hierarchy is None else self.hierarchy.height,
            "reasons": list(self.reasons),
        }


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Start(Result):
    """A project proposed for a table.

    Attributes
    ----------
    project
        The project; `write` puts it, with its hierarchies and the evidence as comments, into files.
    proposals
        What each column is proposed to be.
    place, records
        Where the data is, and how many records it holds.
    notes
        What else should be known.
    """

    project: Project
    proposals: tuple[ColumnProposal, ...]
    place: str
    records: int
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        """Return one line: how many columns of which role."""
        roles = [proposal.role for proposal in self.proposals]
        found = ", ".join(f"{roles.count(role)} {role}" for role in dict.fromkeys(roles))
        return f"Start({counted(len(roles), 'column')}: {found})"

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer as plain Python values."""
        return {
            "project": str(self.project.path),
            "data": self.place,
            "records": self.records,
            "columns": [proposal.to_dict() for proposal in self.proposals],
            "notes": list(self.notes),
            "version": __version__,
        }

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return one row per column."""
        rows = [{**proposal.to_dict(), "reasons": " ".join(proposal.reasons)} for proposal in self.proposals]
        return {name: [row[name] for row in rows] for name in rows[0]}

    def view(self) -> View:
        """Return what a person should see: the roles with their figures, those that single out most first."""
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
        comments = {f"[attributes.{written_key(one.column)}]": one for one in self.proposals}
        lines = [*_opening(self)]
        for line in self.project.to_toml().removesuffix("\n").split("\n"):
            if line in comments:
                lines += _commented(*comments[line].reasons)
            lines.append(line)
        return "\n".join([*lines, *_CLOSING]) + "\n"

    def files(self) -> tuple[Path, ...]:
        """Return the files that `write` would write, the project last."""
        return (*(path for _, path in self._hierarchies()), self.project.path)

    def write(self, *, force: bool = False) -> None:
        """Write the hierarchies and the project file, all of them or none.

        Parameters
        ----------
        force
            Replace files that are there already.

        Raises
        ------
        OutputError
            If a file is there already, or cannot be written; then no file of the project is written.
        """
        there = [path for path in self.files() if path.exists()]
        if there and not force:
            more = f" and {counted(len(there) - 1, 'other')}" if len(there) > 1 else ""
            raise OutputError(f"nothing was written: '{there[0]}'{more} would be replaced; choose another place, or --force.")
        check_replaceable(self.project.path)
        with _new_folders([path.parent for _, path in self._hierarchies()]), together():
            for tree, path in self._hierarchies():
                tree.write(path)
            write_whole(self.project.path, self.to_toml())

    def _hierarchies(self) -> list[tuple[Hierarchy, Path]]:
        attributes = self.project.attributes
        found = [(one.hierarchy, attributes[one.column].hierarchy) for one in self.proposals]
        return [(tree, path) for tree, path in found if tree is not None and path is not None]


@checked_arguments
def start_project(
    data: Data,
    path: str | os.PathLike[str] = "unveil.toml",
    *,
    separator: str | None = None,
    encoding: str | None = None,
    missing: Sequence[str] = (),
) -> Start:
    """Look at a table and propose a project for it: roles, kinds and hierarchies, each with its evidence.

    Parameters
    ----------
    data
        A path, the name of a built-in data set, or any data frame narwhals knows. Never changed.
    path
        The project file; nothing is written before `Start.write`.
    separator, encoding, missing
        How to read a text file; none: found, and of texts that often stand for a null those are taken that occur.

    Returns
    -------
    Start
        The proposals, and the project.

    Examples
    --------
    >>> import unveil
    >>> start = unveil.start_project("adult")
    >>> start
    Start(15 columns: 15 key)
    >>> [one.column for one in start.proposals if one.sensitive]
    ['race', 'income-per-year']
    """
    given = ReadOptions(separator=separator, encoding=encoding, missing=tuple(missing))
    source, marks = _opened(data, given)
    held = open_source(source.collect(source.names))
    findings = direct_identifiers(held)
    best = {finding.column: finding for finding in reversed(findings.findings)}
    proposals = tuple(_proposal(held, name, best.get(name), findings.records) for name in source.names)
    place = Path(path)
    section = DataSection(_data_path(data, place.parent), separator, encoding, tuple(marks) or tuple(missing))
    project = Project(place, section, _attributes(proposals, place.parent / _FOLDER))
    return Start(project, proposals, source.place, findings.records, tuple(_notes(data, section, marks)))


# The data -------------------------------------------------------------------------------------------------------------


def _opened(data: Data, given: ReadOptions) -> tuple[Source, dict[str, int]]:
    """Open the data; where a text file holds texts that often stand for a null, read them so."""
    source = open_source(data, given)
    if given.missing or not isinstance(data, str | os.PathLike) or not os.fspath(data).lower().endswith(_TEXT_FILES):
        return source, {}
    frame = source.collect(source.names)
    texts = [frame[name] for name in source.names if str(frame[name].dtype) == "String"]
    marks = {mark: sum(int((column == mark).sum() or 0) for column in texts) for mark in _MARKERS}
    found = {mark: n for mark, n in marks.items() if n}
    options = ReadOptions(separator=given.separator, encoding=given.encoding, missing=tuple(found))
    return (open_source(data, options), found) if found else (source, {})


def _data_path(data: Data, home: Path) -> Path | None:
    """Return the path of the data as it follows from the project's folder; None where it is no file."""
    if not isinstance(data, str | os.PathLike) or not Path(data).is_file():
        return None
    path = Path(data)
    if path.is_absolute() and not path.is_relative_to(home.resolve()):
        return path
    return home / os.path.relpath(path, home)


def _notes(data: Data, section: DataSection, marks: dict[str, int]) -> Iterator[str]:
    if marks:
        said = ", ".join(f"{mark} ({counted(n, 'time')})" for mark, n in marks.items())
        yield f"Read as null: {said}; if it is a value, change 'missing'."
    if section.path is None:
        named = data if isinstance(data, str) and data in built_in() else "DATA"
        yield f"The data is no file, so the project does not name it; name it with every verb: unveil scan {named} --project FILE"
    yield "No column is proposed as sensitive: that is yours to say. Names that speak for it are marked."


# The columns ----------------------------------------------------------------------------------------------------------


def _proposal(held: Source, name: str, finding: Finding | None, records: int) -> ColumnProposal:
    try:
        coded = load(held, [name]).columns[0]
    except UnsupportedDataError:
        return ColumnProposal(
            name, "other", None, None, ("Its values (lists, records or bytes) cannot be counted; look at them.",)
        )
    sizes = np.unique(coded.codes, return_counts=True)[1]
    figures, kind, secret = column_exposure(sizes), _kind(coded), _secret(name)
    reasons = [_figures_in_words(figures, records)]
    role = _role(figures, finding)
    if finding is not None:
        reasons.append(f"{finding.confidence.capitalize()}: {finding.category} ({'; '.join(finding.evidence)}).")
    if role == "other":
        return ColumnProposal(name, role, kind, figures, (*reasons, "One value only: it tells nobody apart."), secret)
    if role == "identifier":
        reasons.append("Take it out, or replace it, before anything is released.")
        return ColumnProposal(name, role, kind, figures, tuple(reasons), secret)
    if figures.uniques >= _NEARLY_ALL * records:
        reasons.append("Nearly every record has its own value: who knows it knows the person. Only if nobody can: 'other'.")
    if secret is not None:
        reasons.append(f"Sensitive? The name says {secret}. If it is to be kept secret, make the role 'sensitive'.")
    tree, reason = _hierarchy(coded)
    return ColumnProposal(name, role, kind, figures, (*reasons, reason), secret, tree)


def _role(figures: ColumnExposure, finding: Finding | None) -> Role:
    """Propose a role; a date of birth can be made coarser, so it is a key attribute."""
    if finding is not None and finding.confidence != "possible" and finding.category != "birth-date":
        return "identifier"
    return "key" if figures.distinct > 1 else "other"


def _kind(coded: Coded) -> Kind | None:
    """Propose a kind: numbers are continuous, but for codes of places; dates are left to what needs them."""
    present = [value for value in (coded.values[0], coded.values[len(coded.values) // 2]) if value is not None]
    if not present or hasattr(present[0], "isoformat"):
        return None
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in present)
    return "continuous" if numbers and "postcode" not in hints_of(coded.name) else "nominal"


def _secret(name: str) -> str | None:
    """Return the reason for which a column's name speaks for secrecy."""
    said = " ".join(words_of(name))
    for reason, words in _SENSITIVE.items():
        if re.search(rf"\b(?:{'|'.join(words.split(', '))})s?\b", said):
            return reason
    return None


def _hierarchy(coded: Coded) -> tuple[Hierarchy | None, str]:
    """Propose a hierarchy, and say why it is this one, or none."""
    import numpy as np

    if len(coded.values) > _MOST_LEAVES:
        return None, f"Hierarchy: none; {len(coded.values):,} values are too many for a file. See: unveil hierarchy build."
    found = propose(list(coded.values), np.bincount(coded.codes, minlength=len(coded.values)).tolist(), column=coded.name)
    if isinstance(found.rule, RootOnly):
        return None, f"Hierarchy: none; {found.reason}."
    return found.hierarchy, f"Hierarchy: {found.reason}."


def _attributes(proposals: Sequence[ColumnProposal], folder: Path) -> dict[str, Attribute]:
    """Return the attributes of a project; every hierarchy gets a file of its own in the folder."""
    taken: set[str] = set()
    found = {}
    for one in proposals:
        file = None if one.hierarchy is None else folder / _file_name(one.column, taken)
        found[one.column] = Attribute(one.column, one.role, one.kind, hierarchy=file)
    return found


def _file_name(column: str, taken: set[str]) -> str:
    """Return a file name for a column that every system takes and no other column has."""
    plain = re.sub(r"[^\w.-]+", "-", column).strip(".-")[:80] or "column"
    name = next(name for name in (plain, *(f"{plain}-{n}" for n in range(2, len(taken) + 3))) if name.casefold() not in taken)
    taken.add(name.casefold())
    return f"{name}.csv"


@contextmanager
def _new_folders(folders: Iterable[Path]) -> Iterator[None]:
    """Make the folders that are not there; where the block does not end well they are gone again."""
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
        raise OutputError(f"the folder {shown(folder)} for the hierarchies cannot be made: {problem.strerror}.") from None


# The words ------------------------------------------------------------------------------------------------------------


def _figures_in_words(figures: ColumnExposure, records: int) -> str:
    return (
        f"{counted(figures.distinct, 'value')}; Discrimination Rate {number(figures.rate)} against record identity; "
        f"alone it singles out {figures.uniques:,} of {counted(records, 'record')}."
    )


def _suggested(one: ColumnProposal) -> str | None:
    return None if one.sensitive is None else f"sensitive? ({one.sensitive})"


def _rate(one: ColumnProposal) -> float:
    return -1.0 if one.alone is None else one.alone.rate


def _commented(*sentences: str) -> list[str]:
    """Return sentences as comment lines; what TOML forbids in a comment is left out."""
    plain = ("".join(sign if sign.isprintable() else "\ufffd" for sign in sentence) for sentence in sentences)
    return [f"# {line}" for sentence in plain for line in textwrap.wrap(sentence, _WIDTH)]


def _opening(start: Start) -> list[str]:
    size = f"{counted(start.records, 'record')}, {counted(len(start.proposals), 'column')}"
    said = f"Proposed by unveil {__version__} from {start.place}: {size}."
    how = (
        "Read every role and change what is wrong. identifier: names a person outright; key: an intruder may know it; "
        "sensitive: to be kept secret; other: neither, measured nowhere."
    )
    return [*_commented(said, how, *start.notes), ""]


_CLOSING = (
    "",
    "# The rules that a release must meet, for unveil check; remove the signs in front, or name a preset of your own choice.",
    "# [policy]",
    '# preset = "cell-size-5"',
)
