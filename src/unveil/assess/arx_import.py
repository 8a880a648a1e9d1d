"""The import of a project of ARX, with its data and hierarchies, as a project file."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unveil import __version__
from unveil.arguments import checked_arguments
from unveil.assess.init import file_names, new_folders, require_new
from unveil.assess.init_text import commented
from unveil.attributes import Kind, Role
from unveil.errors import ProjectError, shown
from unveil.formats import counted
from unveil.output import atomic_write, check_replaceable, together
from unveil.partitions import write_whole
from unveil.project import ArxArchive, ArxColumn, Attribute, DataSection, Project, Step, read_archive, translated
from unveil.results import Figure, Result, Table, View
from unveil.run import looks

__all__ = ["ArxImport", "import_arx"]

_FOLDER = "hierarchies"
_MISSING = "NULL"
"""The text that represents a null in ARX's own files."""
_ROLES: dict[str, Role] = {
    "IDENTIFYING_ATTRIBUTE": "identifier",
    "QUASI_IDENTIFYING_ATTRIBUTE": "key",
    "SENSITIVE_ATTRIBUTE": "sensitive",
    "INSENSITIVE_ATTRIBUTE": "other",
}
_KINDS: dict[str, Kind] = {"Integer": "continuous", "Decimal": "continuous", "String": "nominal", "Ordinal": "ordinal"}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ArxImport(Result):
    """A project of ARX, ready to be written as a project of this library.

    Attributes
    ----------
    project
        The project; `write` stores it in files, with its data and its hierarchies.
    archive
        The content of the ARX file.
    records
        The number of records that it releases.
    notes
        Parts that could not be imported, or have a different meaning here.
    """

    project: Project
    archive: ArxArchive
    records: int
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        """Return one line: the numbers of columns and requirements."""
        requirements = sum(len(value) if isinstance(value, list) else 1 for value in self.project.models.values())
        columns = counted(len(self.archive.columns), "column")
        return f"ArxImport({columns}, {counted(requirements, 'requirement')}, {len(self.notes)} notes)"

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer as plain Python values."""
        return {
            "project": str(self.project.path),
            "arx": self.archive.version,
            "records": self.records,
            "columns": [{"column": one.name, "role": one.role, "kind": one.kind} for one in self.project.attributes.values()],
            "models": dict(self.project.models),
            "protection": {name: dict(step.options) for name, step in self.project.protect.items()},
            "notes": list(self.notes),
            "version": __version__,
        }

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return one row per column."""
        attributes = list(self.project.attributes.values())
        return {
            "column": [one.name for one in attributes],
            "role": [one.role for one in attributes],
            "kind": [one.kind for one in attributes],
        }

    def view(self) -> View:
        """Return the displayed view: the columns, the requirements, and the parts that are not imported."""
        figures = (
            Figure("records", self.records),
            Figure("project", str(self.project.path)),
            Figure("ARX", self.archive.version),
        )
        rows = tuple(
            (
                one.name,
                one.role,
                one.kind,
                None if (hierarchy := self.archive.hierarchies.get(one.name)) is None else hierarchy.height,
            )
            for one in self.project.attributes.values()
        )
        words = [
            (word, one)
            for word, settings in self.project.models.items()
            for one in (settings if isinstance(settings, list) else [settings])
        ]
        requirements = tuple((word, str(one)) for word, one in words)
        tables = (Table(("column", "role", "kind", "levels"), rows), Table(("model", "figure"), requirements, title="Required"))
        return View(f"Project of ARX: {self.archive.path}", figures, tables, self.notes)

    def to_toml(self) -> str:
        """Return the text of the project file, with comments on the parts that could not be imported."""
        opening = f"Imported by unveil {__version__} from {self.archive.path.name}, which ARX {self.archive.version} wrote."
        return "\n".join([*commented(opening, *self.notes), "", self.project.to_toml()])

    def files(self) -> tuple[Path, ...]:
        """Return the files that `write` would write, the project last."""
        hierarchies = [one.hierarchy for one in self.project.attributes.values() if one.hierarchy is not None]
        return (*hierarchies, *self._tables(), self.project.path)

    def _tables(self) -> dict[Path, bool]:
        """Return the files of records, each with whether it holds only the selected records, or all of them."""
        data, step = Path(str(self.project.data.path)), self.project.protect.get("arx")
        everybody = {data.parent / str(step.options["population"]): False} if step and "population" in step.options else {}
        return {data: True, **everybody}

    def write(self, *, force: bool = False) -> None:
        """Write the data, the hierarchies and the project file, all of them or none.

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
        hierarchies = [(one.name, one.hierarchy) for one in self.project.attributes.values() if one.hierarchy is not None]
        with new_folders([path.parent for _, path in hierarchies]), together():
            for name, path in hierarchies:
                self.archive.hierarchies[name].write(path)
            for table, selected in self._tables().items():
                with atomic_write(table) as file:
                    text = io.TextIOWrapper(file, "utf-8", newline="", write_through=True)
                    rows = self.archive.records(selected=selected)
                    csv.writer(text, delimiter=self.archive.separator, lineterminator="\n").writerows(rows)
                    text.detach()
            write_whole(self.project.path, self.to_toml())


@looks
@checked_arguments
def import_arx(file: str | os.PathLike[str], path: str | os.PathLike[str] = "unveil.toml") -> ArxImport:
    """Import a project of ARX: its data, roles, hierarchies, requirements, quality model and limit of suppression.

    Parameters
    ----------
    file
        The project of ARX, a .deid file. Never changed.
    path
        The project file; nothing is written before `ArxImport.write`.

    Returns
    -------
    ArxImport
        The project, and notes on settings without a counterpart. If records were selected in ARX, the data has only these.

    Raises
    ------
    ProjectError
        If the file is not a project of ARX, or is damaged.
    """
    archive, place = read_archive(Path(file)), Path(path)
    records = sum(1 for _ in _checked_records(archive)) - 1
    translation = translated(archive, records)
    taken = file_names([one.name for one in archive.columns if one.name in archive.hierarchies])
    orders = _orders(archive, translation.ordered)
    attributes = {one.name: _attribute(one, place.parent / _FOLDER, taken, orders.get(one.name)) for one in archive.columns}
    data = DataSection(place.parent / f"{archive.path.stem}.csv", archive.separator, missing=(_MISSING,))
    keys = tuple(name for name, one in attributes.items() if one.role == "key")
    required = {**translation.models, **translation.of_population}
    people = {"population": _population_name(archive)} if translation.needs_population else {}
    step = Step("generalize", keys, {**required, **translation.options, **people})
    project = Project(place, data, attributes, models=translation.models, protect={"arx": step} if required and keys else {})
    return ArxImport(project, archive, records, (*_said(archive, records, orders), *translation.notes))


def _population_name(archive: ArxArchive) -> str:
    """Return the name of the file of all records, which is written beside that of the selected ones."""
    return f"{archive.path.stem}-population.csv"


def _orders(archive: ArxArchive, ordered: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the orders of values: those that ARX saved, and the alphabetical order of texts if a requirement needs one."""
    orders = {one.name: one.order for one in archive.columns if one.order}
    texts = [
        (at, one.name)
        for at, one in enumerate(archive.columns)
        if one.name in ordered and one.kind in ("String", "Ordinal") and one.name not in orders
    ]
    if texts:
        rows = list(_checked_records(archive))[1:]
        orders |= {name: tuple(sorted({row[at] for row in rows} - {_MISSING})) for at, name in texts}
    return orders


def _checked_records(archive: ArxArchive) -> Any:
    """Yield the records, or refuse a table that does not have the described columns."""
    rows = archive.records()
    header = next(rows)
    if header != [one.name for one in archive.columns]:
        raise ProjectError(f"{archive.path}: the columns of its data are not those that it describes; save it in ARX once more.")
    yield header
    yield from rows


def _attribute(one: ArxColumn, folder: Path, files: dict[str, str], order: tuple[str, ...] | None) -> Attribute:
    if one.role not in _ROLES:
        raise ProjectError(f"column {shown(one.name)} has a role that ARX does not have.")
    kind: Kind | None = "ordinal" if order else _KINDS.get(one.kind)
    hierarchy = folder / files[one.name] if one.name in files else None
    return Attribute(one.name, _ROLES[one.role], kind if order or kind != "ordinal" else None, order, hierarchy=hierarchy)


def _said(archive: ArxArchive, records: int, orders: Mapping[str, Sequence[str]]) -> list[str]:
    notes = []
    if archive.selected is not None:
        notes.append(f"ARX releases the {counted(records, 'record')} selected there; the data has these, and no others.")
    if archive.unread is not None:
        notes.append(f"The selection of records could not be read ({archive.unread}); all records are used.")
    ordered = [one.name for one in archive.columns if one.kind == "Ordinal" and one.name not in orders]
    if ordered:
        notes.append(f"State the order of {', '.join(ordered)} in the project file, lowest first: order = [...].")
    return notes
