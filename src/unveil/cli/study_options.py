"""The options that verbs share, in groups: the data, its reading and its meaning, its release, and the output of the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unveil.attributes import require_columns
from unveil.cli.application import check_read, closed_at_end
from unveil.cli.options import (
    SMALL,
    Data,
    Encoding,
    Identity,
    Json,
    Key,
    KeyFile,
    Missing,
    NullPolicy,
    Out,
    PartitionFile,
    ProjectFile,
    Sensitive,
    Separator,
    Small,
    SpreadsheetSafe,
    TextColumns,
    Unmasked,
    Weights,
    give,
    note_read,
    pair_of,
    read_here,
)
from unveil.errors import ArgumentError, ColumnNotFoundError, ProjectError, listed, near_miss, shown

if TYPE_CHECKING:
    from unveil.models import Model
    from unveil.partitions import Hierarchy, Partition
    from unveil.project import Need, Project
    from unveil.results import Result
    from unveil.sources import ReadOptions, Source
    from unveil.study import Study

__all__ = [
    "AnswerOptions",
    "EvidenceOptions",
    "FormOptions",
    "Inputs",
    "NamedRoles",
    "ReadingOptions",
    "SourceOptions",
    "StudyOptions",
    "attackers",
    "gather",
    "gather_two",
    "hierarchies",
    "named_hierarchies",
    "named_project",
    "one_sensitive",
    "orders",
]


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """The project, the way in which a table is read, and the columns of codes."""

    project: ProjectFile = None
    separator: Separator = None
    encoding: Encoding = None
    missing: Missing = None
    text: TextColumns = None

    def options(self) -> ReadOptions:
        """Return the settings for reading a table."""
        from unveil.sources import AS_FOUND, ReadOptions

        if self.separator is None and self.encoding is None and not self.missing and not self.text:
            return AS_FOUND
        return ReadOptions(
            separator=self.separator, encoding=self.encoding, missing=tuple(self.missing or ()), text=tuple(self.text or ())
        )

    def source(self, place: str, role: str, project: Project | None = None) -> Source:
        """Open another table of the same columns, in its own format, with the missing texts and codes of the project."""
        from unveil.sources import open_source, read_options

        own, noted = self.options(), note_read(role, place)
        return open_source(noted, read_options(project, own, release=place), held=closed_at_end.get())

    def source_if_named(self, place: str | None, role: str, project: Project | None = None) -> Source | None:
        """Open another table, if one is named."""
        return None if place is None else self.source(place, role, project)


@dataclass(frozen=True, slots=True)
class NamedRoles:
    """The statements of a command line about the columns of its table."""

    key: Sequence[str] | None = None
    sensitive: Sequence[str] | None = None
    partition: Sequence[str] | None = None
    nulls: str | None = None
    weights: str | None = None
    person: str | None = None
    household: str | None = None
    keep: Sequence[str] | None = None
    only_roles: bool = False


@dataclass(frozen=True, slots=True)
class Inputs:
    """The study that a command line describes; anything that it does not name is None."""

    study: Study

    @property
    def source(self) -> Source:
        """The source of the data."""
        return self.study.source

    @property
    def key(self) -> tuple[str, ...] | None:
        """The key attributes."""
        return self.study.key or None

    @property
    def sensitive(self) -> tuple[str, ...] | None:
        """The sensitive attributes."""
        return self.study.sensitive or None

    @property
    def nulls(self) -> str:
        """The meaning of a null."""
        return self.study.nulls

    @property
    def project(self) -> Project | None:
        """The project."""
        return self.study.project

    def required_key(self) -> tuple[str, ...]:
        """Return the key attributes; there must be at least one."""
        if not self.study.key:
            raise ArgumentError.no_key()
        return self.study.key

    def required_sensitive(self) -> tuple[str, ...]:
        """Return the sensitive attributes; there must be at least one."""
        if not self.study.sensitive:
            raise ArgumentError("no sensitive column is named; use --sensitive to name those to protect.")
        return self.study.sensitive

    def planned_models(self) -> list[Model]:
        """Return the models that the project requires."""
        from unveil.models import planned_models

        return planned_models(self.study)

    def planned_needs(self) -> list[Need]:
        """Return the needs that the project names."""
        from unveil.study import planned_needs

        return list(planned_needs(self.study))


def gather(
    data: str | None,
    reading: ReadingOptions,
    roles: NamedRoles | None = None,
    *,
    partial: bool = False,
    release: bool = False,
    role: str = "data",
) -> Inputs:
    """Open the study of a command line, completed by the project. One connection serves the whole command.

    `partial`: the data may lack columns of the project; `release`: it is a release of the project's data, in its own format.
    """
    from unveil.sources import open_source, read_options
    from unveil.study import Study

    named = roles or NamedRoles()
    plan, data = named_project(reading.project, data)
    own = reading.options()
    place = _place(data, plan)
    source = open_source(place, read_options(plan, own, release=place if release else None), held=closed_at_end.get())
    require_columns(own.text, source.names)
    read_here.set(((role, source.place), *(() if plan is None else (("project", str(plan.path)),))))
    study = Study(
        source,
        named.key or None,
        named.sensitive or None,
        partitions=dict(_partition(text, plan, source.names) for text in named.partition) if named.partition else {},
        nulls=named.nulls,
        weights=named.weights,
        person=named.person,
        household=named.household,
        keep=named.keep or None,
        only_roles=named.only_roles or None,
        project=plan,
        partial=partial,
    )
    for name in (*study.key, *study.sensitive):
        attribute = None if plan is None else plan.attributes.get(name)
        if attribute is not None and attribute.hierarchy is not None:
            note_read(f"hierarchy of {name}", str(attribute.hierarchy))
    return Inputs(study)


def _place(data: str | None, plan: Project | None) -> str:
    """Return the place of the data, as stated by the command line or else the project."""
    section = plan.data if plan is not None else None
    place = data or (str(section.path) if section is not None and section.path is not None else None)
    if place is None:
        raise ArgumentError(
            "no data is named; give a file, '-' for standard input, or a built-in data set (see: unveil datasets)."
        )
    check_read(place)
    return place


def gather_two(original: str, release: str, reading: ReadingOptions) -> tuple[Study, Study]:
    """Open the studies of an original and its release.

    The project's settings for reading apply to the original; its missing texts, codes and roles apply to both.
    """
    from unveil.study import Study

    inputs = gather(original, reading, partial=True, role="original")
    after = reading.source(release, "release", inputs.project)
    return inputs.study, Study(after, project=inputs.project, partial=True)


def named_project(path: Path | None, data: str | None) -> tuple[Project | None, str | None]:
    """Read the project that is named, as such or as the data, or else that of this folder; return it and the named data."""
    from unveil.project import Project

    if path is None and data is not None and data.endswith(".toml") and Path(data).is_file():
        path, data = Path(data), None
    if path is None and data is None and Path("unveil.toml").exists():
        path = Path("unveil.toml")
    if path is None:
        return None, data
    plan = Project.read(path)
    for place in plan.files():
        check_read(str(place))
    return plan, data


def _partition(text: str, plan: Project | None, columns: Sequence[str]) -> tuple[str, Partition]:
    """Read COLUMN=FILE, or COLUMN=NAME if the project has a partition of that name."""
    from unveil.partitions import Partition

    column, file = pair_of(text, columns, "--partition", "COLUMN=FILE")
    if plan is not None and column in plan.attributes and file in plan.attributes[column].partitions:
        return column, plan.partition(column, file)
    if plan is not None and not Path(file).exists() and column in plan.attributes and plan.attributes[column].partitions:
        raise ArgumentError.not_one_of(f"partition of {shown(column)}", file, tuple(plan.attributes[column].partitions))
    return column, Partition.read(note_read(f"partition of {column}", file), column=column)


def attackers(texts: Sequence[str] | None, columns: Sequence[str]) -> dict[str, dict[str, Partition]]:
    """Return the attacker's models, named as NAME:COLUMN=FILE; FILE may be the name of a published partition."""
    from unveil.partitions import Partition
    from unveil.sources import datasets

    models: dict[str, dict[str, Partition]] = {}
    for text in texts or ():
        name, colon, rest = text.partition(":")
        if not colon or not name or "=" not in rest:
            raise ArgumentError(f"--partition takes NAME:COLUMN=FILE, not {shown(text)}.")
        column, file = pair_of(rest, columns, "--partition", "NAME:COLUMN=FILE")
        if column in models.get(name, {}):
            raise ArgumentError(
                f"--partition {shown(name)} names column {shown(column)} twice; a model has one partition of a column."
            )
        built_in = file in datasets.partitions() and not Path(file).exists()
        models.setdefault(name, {})[column] = (
            datasets.partition(file)
            if built_in
            else Partition.read(note_read(f"partition {name} of {column}", file), column=column)
        )
    return models


def hierarchies(texts: Sequence[str] | None, project: Project | None, sensitive: Sequence[str]) -> dict[str, Hierarchy]:
    """Return the hierarchies of the sensitive columns: those of the project, and those named as COLUMN=FILE."""
    by_column: dict[str, Hierarchy] = {}
    for name in sensitive:
        hierarchy = project.hierarchy(name) if project is not None and name in project.attributes else None
        if hierarchy is not None:
            by_column[name] = hierarchy
    return by_column | named_hierarchies(texts, sensitive)


def orders(texts: Sequence[str] | None, project: Project | None, sensitive: Sequence[str]) -> dict[str, Sequence[Any]]:
    """Return the orders of the sensitive columns: those of the project, and those named as COLUMN=V1,V2,..."""
    by_column: dict[str, Sequence[Any]] = {}
    for name in sensitive:
        attribute = project.attributes.get(name) if project is not None else None
        if attribute is not None and attribute.order:
            by_column[name] = attribute.order
    for column, values in (pair_of(text, sensitive, "--order", "COLUMN=V1,V2,...") for text in texts or ()):
        _require_column("--order", column, sensitive)
        by_column[column] = [value.strip() for value in values.split(",")]
    return by_column


def _require_column(option: str, column: str, columns: Sequence[str]) -> None:
    """Refuse a column that an option cannot name."""
    if column not in columns:
        place = f"one of: {listed(columns)}.{near_miss(column, columns)}" if columns else "none here."
        raise ColumnNotFoundError(f"{option} names column {shown(column)}; it takes {place}")


def named_hierarchies(texts: Sequence[str] | None, columns: Sequence[str]) -> dict[str, Hierarchy]:
    """Return hierarchies named as COLUMN=FILE; FILE may be the name of a published hierarchy."""
    from unveil.partitions import Hierarchy
    from unveil.sources import datasets

    pairs = [pair_of(text, columns, "--hierarchy", "COLUMN=FILE") for text in texts or ()]
    named = [column for column, _ in pairs]
    for column in named:
        _require_column("--hierarchy", column, columns)
        if named.count(column) > 1:
            raise ArgumentError(f"--hierarchy names column {shown(column)} twice; a column has one hierarchy.")
    return {
        column: datasets.hierarchy(file, column=column)
        if file in datasets.hierarchies() and not Path(file).exists()
        else Hierarchy.read(note_read(f"hierarchy of {column}", file), column=column)
        for column, file in pairs
    }


def one_sensitive(inputs: Inputs, named: Sequence[str] | None, *, identity: bool) -> Study:
    """Return the study with its sensitive side; several attributes of a project are taken together only if named."""
    if identity:
        if named:
            raise ArgumentError("--identity measures against record identity, so no --sensitive column goes with it.")
        return inputs.study.changed(sensitive=())
    if not named and inputs.sensitive is not None and len(inputs.sensitive) > 1:
        raise ProjectError(f"the project has several sensitive attributes ({listed(inputs.sensitive)}); choose with --sensitive.")
    return inputs.study


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """Data without roles, and the way in which it is read."""

    data: Data = None
    nulls: NullPolicy = None
    weights: Weights = None
    reading: ReadingOptions = field(default_factory=ReadingOptions)

    def gathered(self) -> Inputs:
        """Open the data as stated by the command line and the project file."""
        return gather(self.data, self.reading, NamedRoles(nulls=self.nulls, weights=self.weights))


@dataclass(frozen=True, slots=True)
class StudyOptions:
    """Data with its key and at most one sensitive side, and the way in which it is read."""

    data: Data = None
    key: Key = None
    sensitive: Sensitive = None
    identity: Identity = False
    partition: PartitionFile = None
    nulls: NullPolicy = None
    weights: Weights = None
    reading: ReadingOptions = field(default_factory=ReadingOptions)

    def study(self, *, keyed: bool = False) -> Study:
        """Open the study; `keyed` refuses one without a key."""
        roles = NamedRoles(self.key, self.sensitive, self.partition, self.nulls, self.weights)
        inputs = gather(self.data, self.reading, roles)
        if keyed:
            inputs.required_key()
        return one_sensitive(inputs, self.sensitive, identity=self.identity)


@dataclass(frozen=True, slots=True)
class FormOptions:
    """The output of the answer, and its form."""

    as_json: Json = False
    out: Out = None
    spreadsheet_safe: SpreadsheetSafe = True

    def masking(self) -> dict[str, Any]:
        """Return the arguments of masking; empty: the default of every answer."""
        return {}

    def give(self, result: Result) -> None:
        """Write the answer to a file, print it as JSON, or show it."""
        give(result, as_json=self.as_json, out=self.out, spreadsheet_safe=self.spreadsheet_safe, **self.masking())


@dataclass(frozen=True, slots=True)
class EvidenceOptions(FormOptions):
    """The output of the answer, its form, and its evidence."""

    key_file: KeyFile = None

    def give(self, result: Result) -> None:
        """Write the answer to a file, print it as JSON, or show it; with a key, it has the hashes of its inputs."""
        FormOptions.give(self, self.evidenced(result))

    def evidenced(self, result: Result) -> Result:
        """Return a displayed answer with the hashes of its inputs if there is a key; otherwise return it unchanged."""
        if self.key_file is None:
            return result
        from unveil.assess import Evidence, Evidenced, read_files

        files = read_files(read_here.get(), self.key_file)
        return Evidenced(result.displayed(**self.masking()), evidence=Evidence(files))


@dataclass(frozen=True, slots=True)
class AnswerOptions(EvidenceOptions):
    """The output of an answer about people, its form, the classes that it names, and its evidence."""

    unmasked: Unmasked = False
    small: Small = SMALL

    def masking(self) -> dict[str, Any]:
        """Return whether the answer is masked, and the class size up to which it is."""
        return {"unmasked": self.unmasked, "small": self.small}

    def give(self, result: Result, *, holds_files: bool = False) -> None:
        """Write the answer to a file, print it as JSON, or show it, masked or marked; some answers already hold their files."""
        FormOptions.give(self, result if holds_files else self.evidenced(result))
