"""A study: data and its meaning, opened once and counted once for every set of columns."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from unveil.arguments import checked_arguments
from unveil.attributes import CLASS_NULLS, Kind, Names, Standing, checked_nulls, in_line, names_of, require_columns, require_some
from unveil.counts import Counts, Split
from unveil.errors import ArgumentError, listed, near_miss, shown
from unveil.partitions import Hierarchy, Partition
from unveil.project import Project
from unveil.sources import Coded, CodedTable, Data, FilledSource, ReadOptions, Source, open_data
from unveil.study.counted_tables import Tables
from unveil.study.roles import ROLE_ARGUMENTS, Meaning, Roles

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Study", "studied"]

_OWN = (*ROLE_ARGUMENTS, "kinds", "partitions", "hierarchies", "orders", "nulls", "population")
"""The arguments that a study itself states, which a project does not change."""

_READ = ("kinds", "partitions", "hierarchies", "orders")
"""The arguments that state how the values of a column are read."""
_STATED = (
    "source", "roles", "kinds", "partitions", "hierarchies", "orders", "nulls", "population", "views", "project", "_tables",
)  # fmt: skip
"""The fields from which the others follow."""

Views = Mapping[str, Mapping[str, Partition]]
"""Semantic partitions by name, and under each name by column."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Study:
    """Data and its meaning: the roles of its columns, the reading of their values, and the meaning of a null.

    Every public call accepts a study as data; the arguments of the call take precedence over the study. The data is opened
    once, and counted once for every set of columns, so that a second question costs next to nothing.

    Parameters
    ----------
    data
        A path, the name of a built-in data set, a data frame, a table in an engine, a count table, or a project. Never
        changed.
    key, sensitive, identifiers
        The key attributes, the sensitive attributes, and the columns that name people outright; none: those of the project.
    kinds
        By column: "nominal", "ordinal" or "continuous".
    partitions
        Semantic partitions by column: measures count blocks instead of values. Calls that depend on the values refuse them.
    hierarchies, orders
        Generalisation hierarchies by column (or their files), and the values of columns from lowest to highest.
    nulls
        "category" (the default), "drop", "error" or, for figures of classes, "wildcard".
    weights
        A column of sampling weights.
    person, household
        A column that identifies the person of a record, and one that identifies the household.
    keep
        Columns that a release keeps although they may name people: the user vouches for them, and its record states it.
    only_roles
        Whether a release leaves out every column that has no role.
    population
        The table from which the data was drawn.
    project
        A project, or its file, which supplies everything that is not stated here.
    partial
        Whether the data may lack columns that the project names, as a release does.

    Attributes
    ----------
    source
        The source of the data.
    place, names
        The place of the data, as named in messages; and its columns.
    roles
        The roles of the columns; also each by its name: `key`, `sensitive`, `identifiers`, `weights`, `person`, `household`,
        `keep`, `only_roles`.
    standing
        The standing of the columns to which no mechanism applies: whether a release may keep them.
    policy
        The null policy for calls in which a null cannot be a wildcard.
    missing_is_sensitive
        The columns in which a missing value is sensitive, according to the project.
    views
        The semantic partitions of the project by name: readings of the same table.

    Examples
    --------
    >>> import unveil
    >>> study = unveil.Study("paper-4", key=["ZIP", "Age"], sensitive="Disease")
    >>> study
    Study(paper-4: 9 records; key ZIP, Age; sensitive Disease)
    >>> unveil.discrimination_rate(study)
    DiscriminationRate(ZIP + Age -> Disease: 1.0000, identifier)
    >>> unveil.measure(study, key="Age")
    Measurement(k = 1, 6 classes, 9 records)
    """

    source: Source
    roles: Roles
    kinds: Mapping[str, Kind]
    partitions: Mapping[str, Partition]
    hierarchies: Mapping[str, Hierarchy]
    orders: Mapping[str, tuple[Any, ...]]
    nulls: str
    population: Data | None
    views: Views
    project: Project | None
    _tables: Tables = field(repr=False)
    place: str = field(init=False)
    names: tuple[str, ...] = field(init=False)
    key: tuple[str, ...] = field(init=False)
    sensitive: tuple[str, ...] = field(init=False)
    identifiers: tuple[str, ...] = field(init=False)
    weights: str | None = field(init=False)
    person: str | None = field(init=False)
    household: str | None = field(init=False)
    keep: tuple[str, ...] = field(init=False)
    only_roles: bool = field(init=False)
    standing: Standing = field(init=False)
    policy: str = field(init=False)
    missing_is_sensitive: tuple[str, ...] = field(init=False)

    @checked_arguments
    def __init__(  # noqa: PLR0913 - all that can be meant by data
        self,
        data: Data,
        key: Names | None = None,
        sensitive: Names | None = None,
        *,
        identifiers: Names | None = None,
        kinds: Mapping[str, Kind] | None = None,
        partitions: Mapping[str, Any] | None = None,
        hierarchies: Mapping[str, Any] | None = None,
        orders: Mapping[str, Sequence[Any]] | None = None,
        nulls: str | None = None,
        weights: str | None = None,
        person: str | None = None,
        household: str | None = None,
        keep: Names | None = None,
        only_roles: bool | None = None,
        population: Data | None = None,
        project: Project | str | os.PathLike[str] | None = None,
        partial: bool = False,
    ) -> None:
        said: dict[str, Any] = {
            "key": key, "sensitive": sensitive, "identifiers": identifiers, "weights": weights, "person": person,
            "household": household, "keep": keep, "only_roles": only_roles,
        }  # fmt: skip
        meant: dict[str, Any] = {
            "kinds": kinds, "partitions": partitions, "hierarchies": hierarchies, "orders": orders, "nulls": nulls,
            "population": population,
        }  # fmt: skip
        if isinstance(data, Study) and project is None:
            made = data.changed(**said, **meant)
            self._hold({name: getattr(made, name) for name in _STATED})
            return
        if isinstance(data, Study):
            before, data = data.own(), data.source
            said, meant = ({name: before[name] if one is None else one for name, one in some.items()} for some in (said, meant))
        self._fill(_opened(data, project, release=partial), said, meant, partial=partial)

    @classmethod
    @checked_arguments
    def of(cls, project: Project | str | os.PathLike[str], **arguments: Any) -> Study:
        """Return the study that a project file describes; arguments of `Study` take precedence over it.

        Examples
        --------
        >>> import pathlib, tempfile, unveil
        >>> place = pathlib.Path(tempfile.mkdtemp(), "unveil.toml")
        >>> unveil.datasets.load("paper-4").write_csv(place.with_name("people.csv"))
        >>> _ = place.write_text('data.path = "people.csv"; attributes.Age.role = "key"'.replace("; ", chr(10)))
        >>> unveil.Study.of(place).key
        ('Age',)
        """
        return cls(project, **arguments)

    def _fill(
        self, opened: tuple[Source, Project | None], said: Mapping[str, Any], meant: Mapping[str, Any], *, partial: bool
    ) -> None:
        """Set the fields: as stated in the call, else in the project."""
        source, project = opened
        roles = Roles.of(source.names, project, said, partial=partial)
        attributes = {} if project is None else {name: one for name, one in project.attributes.items() if name in source.names}
        views: dict[str, dict[str, Partition]] = {}
        for column, one in attributes.items():
            for name, block in one.partitions.items():
                views.setdefault(name, {})[column] = block
        nulls = meant.get("nulls") or (source.nulls if project is None else project.data.nulls)
        checked = Meaning.of(source.names, meant)
        if not partial:
            for what in (checked.partitions, checked.hierarchies, checked.orders):
                require_columns(tuple(what), source.names)
            require_columns([*names_of(said.get("identifiers")), *names_of(said.get("keep"))], source.names)
        kinds = {name: one.kind for name, one in attributes.items() if one.kind is not None}
        orders = {name: tuple(one.order) for name, one in attributes.items() if one.order}
        values = {
            "source": source,
            "roles": roles,
            "kinds": kinds | checked.kinds,
            "partitions": checked.partitions,
            "hierarchies": checked.hierarchies,
            "orders": orders | checked.orders,
            "nulls": _checked_nulls(nulls),
            "population": meant.get("population"),
            "views": views,
            "project": project,
            "_tables": Tables(source),
        }
        self._hold(values)

    def _hold(self, values: Mapping[str, Any]) -> None:
        """Set the fields, and the attributes that follow from them."""
        source, roles = values["source"], values["roles"]
        nulls = "drop" if source.nulls == "drop" else values["nulls"]
        known = {} if values["project"] is None else values["project"].attributes
        facts = {name: getattr(roles, name) for name in ROLE_ARGUMENTS} | {
            "place": source.place,
            "names": source.names,
            "standing": roles.standing,
            "policy": "category" if nulls == "wildcard" else nulls,
            "missing_is_sensitive": tuple(name for name, one in known.items() if one.missing_is_sensitive),
        }
        for name, value in (*values.items(), *facts.items(), ("nulls", nulls)):
            object.__setattr__(self, name, value)

    @property
    def records(self) -> int:
        """The number of records."""
        return self.table(self.key or self.names[:1], nulls="category").records

    def __repr__(self) -> str:
        """Return one line: where the data is, and the roles of its columns."""
        roles = {"key": self.key, "sensitive": self.sensitive, "identifiers": self.identifiers}
        described = [f"{role} {in_line(names)}" for role, names in roles.items() if names]
        return f"Study({in_line([self.place])}: {'; '.join([f'{self.records:,} records', *described])})"

    def changed(self, **said: Any) -> Study:
        """Return the study with other roles, partitions, hierarchies, orders or null policy; the counts are shared.

        It accepts the arguments of `Study`.

        Examples
        --------
        >>> import unveil
        >>> unveil.Study("paper-4", key=["ZIP", "Age"]).changed(sensitive="Age").key
        ('ZIP',)
        """
        for name in said:
            if name not in (*_OWN, "project"):
                known = (*_OWN, "project")
                raise ArgumentError(f"a study has no {shown(name)}; it has: {listed(known)}.{near_miss(name, known)}")
        if (plan := said.pop("project", None)) is not None:
            mine = self.own() | {name: value for name, value in said.items() if value is not None}
            return Study(self.source, **mine, project=plan)._copied({"_tables": self._tables})  # noqa: SLF001 - our own
        said = {name: value for name, value in said.items() if value is not None}
        if not said:
            return self
        meant = {name: value for name, value in said.items() if name not in ROLE_ARGUMENTS}
        roles = self.roles.changed({name: value for name, value in said.items() if name in ROLE_ARGUMENTS})
        roles.require(self.names)
        checked = Meaning.of(self.names, meant)
        changes: dict[str, Any] = {name: getattr(checked, name) for name in _READ if name in meant}
        changes |= {name: meant[name] for name in ("nulls", "population") if name in meant}
        _checked_nulls(changes.get("nulls", self.nulls))
        return self._copied({"roles": roles, **changes})

    def with_person(self, person: str | None) -> Study:
        """Return the study with a column of persons, if it has that column, which a release may lack."""
        return self.changed(person=person, keep=self.keep or None) if person is not None and person in self.names else self

    def own(self) -> dict[str, Any]:
        """Return the statements of the study, as arguments of `Study`; None where it states nothing, and a project may."""
        own = {name: getattr(self, name) or None for name in _OWN}
        if self.project is None and self.nulls == "category":
            own["nulls"] = None
        return own

    def _copied(self, changes: Mapping[str, Any]) -> Study:
        made = object.__new__(Study)
        made._hold({name: changes.get(name, getattr(self, name)) for name in _STATED})
        return made

    def as_source(self) -> Source:
        """Return the source of the data, for calls that know no roles."""
        return self.source

    def table(
        self, columns: Sequence[str], *, nulls: str | None = None, weights: str | None = None, owners: Sequence[str] = ()
    ) -> CodedTable:
        """Return the combinations of some columns with their counts, by the study's null policy; `owners` as in `owned`."""
        return self._tables.table(columns, self._policy(nulls), weights, owners=owners)

    def counts(
        self, columns: Sequence[str], *, nulls: str | None = None, partitions: Mapping[str, Partition] | None = None
    ) -> Counts:
        """Return the count table over some columns, by their blocks if they have a partition; by default, the study's own."""
        counts = self._tables.counts(columns, self._policy(nulls))
        for name, block in (self.partitions if partitions is None else partitions).items():
            counts = counts.recode(name, block) if name in columns else counts
        return counts

    def split(self, known: Sequence[str], hidden: Sequence[str], *, partitions: Mapping[str, Partition] | None = None) -> Split:
        """Return the count table over known and hidden columns, with the classes by each."""
        return self.counts([*known, *hidden], partitions=partitions).split(known, hidden)

    def owned(
        self, columns: Sequence[str], owners: Sequence[str], *, nulls: str | None = None, weights: str | None = None
    ) -> CodedTable:
        """Return the combinations of some columns and, last, of the owners: the columns that identify persons or households.

        For the values of the latter an engine sends numbers, never the values themselves. A record without an owner is refused,
        unless the null policy drops it.
        """
        return self._tables.owned(columns, owners, self._policy(nulls), weights)

    def each(
        self, columns: Sequence[str], *, owners: Sequence[str] = (), together: Sequence[str] = (), strict: bool = False
    ) -> dict[str, CodedTable]:
        """Return the values of every column with their counts, one row each; a null is a value.

        The owners come last (see `owned`). A column that holds no single values, such as one of lists, is left out, or refused
        if the call is strict. Columns that will be counted `together` are counted in the same pass.
        """
        return self._tables.each(columns, owners, together, strict=strict)

    def counted(self, columns: Sequence[str]) -> dict[str, Counts]:
        """Return the count table of every column by itself, by its blocks if it has a partition; a null is a value."""
        tables = self._tables.each_counted(columns)
        return {name: one.recode(name, self.partitions[name]) if name in self.partitions else one for name, one in tables.items()}

    def collected(self, columns: Sequence[str]) -> pl.DataFrame:
        """Return columns of the records themselves; each is read once."""
        return self._tables.records.collect(columns)

    def coded(self, columns: Sequence[str]) -> tuple[Coded, ...]:
        """Return columns of the records; each is coded once, and a null is a value."""
        return self._tables.records.coded(columns)

    def complete(self, columns: Sequence[str]) -> Study:
        """Return the study of the records that the null policy keeps for all these columns, so that subsets stay comparable."""
        if self.nulls != "drop":
            return self
        table = self.table(columns, weights=self.weights)
        return self._copied({"_tables": self._tables.only(table, self.nulls, self.weights)})

    def filled(self, like: Study, without: Sequence[str] = ()) -> Study:
        """Return the study with the columns that only another one has, except some, as nulls: they count as suppressed."""
        lacking = [name for name in like.names if name not in self.names and name not in without]
        if not lacking:
            return self
        source = FilledSource(self.source, lacking, like.collected)
        return self._copied({"source": source, "_tables": Tables(source)})

    def held(self) -> Source:
        """Return the records as a source whose columns are read once."""
        return self._tables.records

    def hierarchy(self, column: str) -> Hierarchy | None:
        """Return the hierarchy of a column, from the study or its project."""
        if column in self.hierarchies or self.project is None or column not in self.project.attributes:
            return self.hierarchies.get(column)
        return self.project.hierarchy(column)

    def blocks(self, columns: Sequence[str]) -> dict[str, Partition]:
        """Return the partitions of the study for some columns."""
        return {name: block for name, block in self.partitions.items() if name in columns}

    def _policy(self, nulls: str | None) -> str:
        """Return the null policy for calls in which a null cannot be a wildcard, as stated by the call or else the study."""
        return self.policy if nulls is None else "category" if nulls == "wildcard" else nulls


def studied(
    data: Data, *, options: ReadOptions | None = None, partial: bool = False, wildcards: bool = False, **arguments: Any
) -> AbstractContextManager[Study]:
    """Return the study of a public call, for the duration of the call: one connection serves all its questions.

    Parameters
    ----------
    data
        The data of the call: a study, a project or its file, counts, or data.
    options
        The settings for reading a file, if they cannot be detected from it.
    partial
        Whether the data may lack columns that a project names, as a release does.
    wildcards
        Whether the call may state that a null matches anything; a study may state it for every call that supports it.
    arguments
        The arguments of the call itself; they take precedence over the study and the project.
    """
    require_some(arguments.get("sensitive"))
    if arguments.get("nulls") is not None and not wildcards:
        checked_nulls(arguments["nulls"])
    if not isinstance(data, Study):
        return _opened_for_call(data, options, arguments, partial=partial)
    study = _said_in_call(data, arguments, partial=partial)
    return study.source.held(study) if study.source.connected else nullcontext(study)


@contextmanager
def _opened_for_call(data: Data, options: ReadOptions | None, arguments: Mapping[str, Any], *, partial: bool) -> Iterator[Study]:
    """Yield the study of data that is not yet open; its connection, if it has one, is closed at the end of the block."""
    with ExitStack() as held:
        opened = _opened(data, arguments.get("project"), options, held, release=partial)
        yield _study(opened, arguments, partial=partial)


def _said_in_call(study: Study, arguments: Mapping[str, Any], *, partial: bool) -> Study:
    """Return a study with the statements of a call about it."""
    said = {name: value for name, value in arguments.items() if value is not None and name != "project"}
    plan = arguments.get("project")
    if plan is None:
        return study.changed(**said)
    return _study(_opened(study.source, plan, release=partial), study.own() | said, partial=partial)


def _study(opened: tuple[Source, Project | None], arguments: Mapping[str, Any], *, partial: bool) -> Study:
    made = object.__new__(Study)
    said = {name: arguments.get(name) for name in ROLE_ARGUMENTS}
    made._fill(opened, said, arguments, partial=partial)
    return made


def _opened(
    data: Data, project: Any, options: ReadOptions | None = None, held: ExitStack | None = None, *, release: bool
) -> tuple[Source, Project | None]:
    """Open data and read its project; a source is already open."""
    if isinstance(data, Source) and (project is None or isinstance(project, Project)):
        if held is not None and data.connected:
            held.enter_context(data.held())
        return data, project
    return open_data(data, project, options, held, release=release)


def _checked_nulls(nulls: str) -> str:
    if nulls not in CLASS_NULLS:
        raise ArgumentError.not_one_of("nulls", nulls, CLASS_NULLS)
    return nulls
