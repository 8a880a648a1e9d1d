"""One file that describes the columns of a table, read by every verb and kept under version control."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unveil.arguments import checked_arguments
from unveil.attributes import ROLES, Role, Standing
from unveil.errors import ArgumentError, ProjectError, listed, near_miss, shown
from unveil.partitions import Hierarchy, Partition, PathLike, read_text, write_whole
from unveil.project._table import TomlTable, read_table
from unveil.project.gates import GateSection
from unveil.project.needs import Need
from unveil.project.policy import Policy
from unveil.project.protection import Step
from unveil.project.sections import SECTIONS, Attribute, DataSection, relative_to
from unveil.project.toml_text import dotted, lines_of

__all__ = ["Project"]


@dataclass(frozen=True, slots=True)
class Project:
    """A project: its data, and the role, kind, order, hierarchy and partitions of each attribute.

    Parameters
    ----------
    path
        The project file. Other paths are stored as resolved from its folder.
    data
        The location of the data, and how to read it.
    attributes
        The attributes by name, in the order of the file.
    needs
        The needs that a release should serve, by name.
    models
        The models that a release should meet, as they are written: ``{"k": 5, "t": ["0.2:equal:disease"]}``.
    protect
        The steps of the protection by name, in order.
    policy
        The rules that a release must meet.
    query
        The query gate: its policies, bounds and declared values.

    Examples
    --------
    >>> age = Attribute("age", role="key", kind="continuous", partitions={"adult": Partition.of([0, 18, 130])})
    >>> project = Project(Path("unveil.toml"), DataSection(path=Path("people.csv")), {"age": age})
    >>> print(project.to_toml())
    [data]
    path = "people.csv"
    <BLANKLINE>
    [attributes.age]
    role = "key"
    kind = "continuous"
    <BLANKLINE>
    [attributes.age.partitions]
    adult = { edges = [0, 18, 130] }
    <BLANKLINE>
    >>> project.names("key")
    ('age',)
    """

    path: Path
    data: DataSection = field(default_factory=DataSection)
    attributes: dict[str, Attribute] = field(default_factory=dict)
    needs: dict[str, Need] = field(default_factory=dict)
    models: dict[str, Any] = field(default_factory=dict)
    protect: dict[str, Step] = field(default_factory=dict)
    policy: Policy = field(default_factory=Policy)
    query: GateSection = field(default_factory=GateSection)

    @classmethod
    @checked_arguments
    def read(cls, path: PathLike) -> Project:
        """Read and check a project file.

        Parameters
        ----------
        path
            The file, usually `unveil.toml`.

        Returns
        -------
        Project
            With its partitions built; for hierarchies, only the existence of the files is checked, `hierarchy` reads them.

        Raises
        ------
        DataNotFoundError
            If the file does not exist.
        ProjectError
            If it is not TOML, or a key is unknown or has an invalid value; with line and key.
        """
        root = read_table(path)
        place = root.file
        root.only(SECTIONS, "section")
        return cls(place, **{name: section.read(root.table(name)) for name, section in SECTIONS.items()})

    @checked_arguments
    def names(self, role: Role) -> tuple[str, ...]:
        """Return the attributes of a role, in the order of the file.

        Parameters
        ----------
        role
            identifier, key, sensitive, person, household, weight, keep or other.

        Returns
        -------
        tuple of str
            Their names; empty if there are none.

        Raises
        ------
        ArgumentError
            If there is no such role.
        """
        if role not in ROLES:
            raise ArgumentError.not_one_of("role", role, ROLES)
        return tuple(name for name, attribute in self.attributes.items() if attribute.role == role)

    @property
    def standing(self) -> Standing:
        """The columns that a release may keep among those to which no mechanism applies."""
        named = frozenset(name for role in ("key", "sensitive", "household", "weight") for name in self.names(role))
        person = next(iter(self.names("person")), None)
        return Standing(named, self.names("identifier"), person, self.names("keep"), self.data.only_roles)

    @checked_arguments
    def attribute(self, column: str) -> Attribute:
        """Return the project's description of a column.

        Parameters
        ----------
        column
            The column's name.

        Returns
        -------
        Attribute
            Its role, kind, order, hierarchy file and partitions.

        Raises
        ------
        ProjectError
            If the project does not name the column.
        """
        if column not in self.attributes:
            raise self._unknown("attribute", column, ("attributes",), self.attributes)
        return self.attributes[column]

    @checked_arguments
    def partition(self, column: str, name: str) -> Partition:
        """Return a column's semantic partition by its name.

        Parameters
        ----------
        column, name
            The column, and the name of its partition in the project.

        Returns
        -------
        Partition
            Not yet checked against data.

        Raises
        ------
        ProjectError
            If the project does not name the column or the partition.
        """
        partitions = self.attribute(column).partitions
        if name not in partitions:
            raise self._unknown("partition", name, ("attributes", column, "partitions"), partitions)
        return partitions[name]

    @checked_arguments
    def hierarchy(self, column: str) -> Hierarchy | None:
        """Read a column's hierarchy.

        Parameters
        ----------
        column
            The column's name.

        Returns
        -------
        Hierarchy or None
            None if the project names no file for it.

        Raises
        ------
        ProjectError
            If the project does not name the column.
        HierarchyError
            If the file is not a hierarchy.
        """
        place = self.attribute(column).hierarchy
        return None if place is None else Hierarchy.read(place, column=column)

    def files(self) -> tuple[Path, ...]:
        """Return the project file, and the files that it names: its data and its hierarchies."""
        named = (self.data.path, *(one.hierarchy for one in self.attributes.values()))
        return (self.path, *(Path(place) for place in named if place is not None))

    @checked_arguments
    def to_toml(self, folder: PathLike | None = None) -> str:
        """Return the text of the project file; reading it back yields an equal project.

        Parameters
        ----------
        folder
            The folder in which it will be, by default that of `path`; relative paths are written from there.

        Returns
        -------
        str
            TOML. Comments of a file that was read are not kept.

        Raises
        ------
        ProjectError
            If a partition is a function or names the null, neither of which a file can represent.
        """
        home = self.path.parent
        relative = relative_to(home, home if folder is None else Path(folder))
        lines = [line for name, section in SECTIONS.items() for line in section.write(getattr(self, name), relative)]
        return "\n".join(lines[:-1]) + "\n" if lines else ""

    @checked_arguments
    def write(self, path: PathLike | None = None) -> None:
        """Write the project file, whole or not at all.

        Parameters
        ----------
        path
            The file, by default the project's own.

        Raises
        ------
        ProjectError
            If a partition cannot be written.
        OutputError
            If the file cannot be written.
        """
        place = self.path if path is None else Path(path)
        write_whole(place, self.to_toml(place.parent))

    def wrong(self, problem: str, *keys: str) -> ProjectError:
        """Return the error about a part of the file, with line and key.

        Parameters
        ----------
        problem
            The description of the problem.
        keys
            The keys that lead to the part.

        Returns
        -------
        ProjectError
            The error, for the caller to raise.
        """
        known = lines_of(read_text(self.path, ProjectError)) if self.path.is_file() else {}
        return TomlTable(self.path, known, (), {}).wrong(problem, *keys)

    def _unknown(
        self, noun: str, name: str, keys: tuple[str, ...], known: dict[str, Attribute] | dict[str, Partition]
    ) -> ProjectError:
        there = f"{noun}s are: {listed(known)}" if known else f"there are no {noun}s"
        return ProjectError.at(
            self.path, None, dotted(keys), f"there is no {noun} {shown(name)}; {there}.{near_miss(name, known)}"
        )
