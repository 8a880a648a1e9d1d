"""The meaning of columns: their roles, and the reading of their values, as stated by a call and the project.

The call takes precedence: a column that it names in one role loses its role in the project. Only `keep` can be combined with
another role: the user may also release a column of persons or households.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from unveil.attributes import KINDS, Kind, Role, Standing, names_of, require_columns
from unveil.errors import ArgumentError, listed, shown
from unveil.partitions import Hierarchy, Partition
from unveil.project import Project

__all__ = ["ROLE_ARGUMENTS", "Meaning", "Roles", "checked_partitions"]

_ROLE_OF: Mapping[str, Role] = {
    "key": "key",
    "sensitive": "sensitive",
    "identifiers": "identifier",
    "weights": "weight",
    "person": "person",
    "household": "household",
    "keep": "keep",
}
"""The fields of `Roles`, each with its word in a project file."""
_SINGLE = frozenset({"weights", "person", "household"})
"""Roles that only a single column can have."""
ROLE_ARGUMENTS = (*_ROLE_OF, "only_roles")
"""The arguments of a study that state the roles of columns."""


@dataclass(frozen=True, slots=True)
class Roles:
    """The roles of the columns in the questions of a study.

    Attributes
    ----------
    key, sensitive, identifiers
        The key attributes, the sensitive attributes, and the columns that name people outright.
    weights
        The column of sampling weights.
    person, household
        The columns that identify the person and the household of a record.
    keep
        Columns that the user vouches for: a release keeps them although they may name people.
    only_roles
        Whether a release leaves out every column without a role.
    """

    key: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()
    weights: str | None = None
    person: str | None = None
    household: str | None = None
    keep: tuple[str, ...] = ()
    only_roles: bool = False

    @classmethod
    def of(cls, columns: Sequence[str], project: Project | None, said: Mapping[str, Any], *, partial: bool = False) -> Roles:
        """Combine the named roles with those of the project.

        Parameters
        ----------
        columns
            The columns of the data.
        project
            The project; None: there are only the named roles.
        said
            The named columns, by field; None: those of the project.
        partial
            Whether the data may lack columns of the project, as a release does; otherwise a missing column is refused.
        """
        _require_apart(said)
        taken = _named(said)

        def planned(which: Role) -> tuple[str, ...]:
            names = () if project is None else project.names(which)
            return tuple(one for one in names if one not in taken and not (partial and one not in columns))

        fields = {field: said.get(field) if said.get(field) is not None else planned(role) for field, role in _ROLE_OF.items()}
        only = said.get("only_roles")
        roles = _filled(fields, only_roles=bool(project is not None and project.data.only_roles if only is None else only))
        roles.require(columns)
        return roles

    def changed(self, said: Mapping[str, Any]) -> Roles:
        """Return the roles with the named ones replaced; a column that is named in one role loses any other one."""
        _require_apart(said)
        taken, only = _named(said), said.get("only_roles")

        def own(field: str) -> tuple[str, ...]:
            held = getattr(self, field)
            return tuple(name for name in names_of(held) if name not in taken)

        fields = {field: said.get(field) if said.get(field) is not None else own(field) for field in _ROLE_OF}
        return _filled(fields, only_roles=self.only_roles if only is None else only)

    def within(self, columns: Sequence[str]) -> Roles:
        """Return the roles of only these columns."""
        held = {field: tuple(name for name in names_of(getattr(self, field)) if name in columns) for field in _ROLE_OF}
        return _filled(held, only_roles=self.only_roles)

    def require(self, columns: Sequence[str]) -> None:
        """Refuse a named column that does not exist; columns that name people, or are kept, may already be absent."""
        single = [name for name in (self.weights, self.person, self.household) if name is not None]
        require_columns([*self.key, *self.sensitive, *single], columns)

    @property
    def named(self) -> frozenset[str]:
        """The columns that have a role."""
        return frozenset(name for one in fields(self) if one.name in _ROLE_OF for name in names_of(getattr(self, one.name)))

    @property
    def apart(self) -> tuple[str, ...]:
        """The columns that are not key attributes unless named: identifiers, persons, households and weights."""
        single = (self.weights, self.person, self.household)
        return (*self.identifiers, *(name for name in single if name is not None))

    @property
    def standing(self) -> Standing:
        """The standing of the columns to which no mechanism applies: whether a release may keep them."""
        single = [name for name in (self.household, self.weights) if name is not None]
        named = frozenset((*self.key, *self.sensitive, *single))
        return Standing(named, self.identifiers, self.person, self.keep, self.only_roles)

    def one_sensitive(self) -> tuple[str, ...]:
        """Return the sensitive attribute of a question about a single one; refuse to choose among several."""
        if len(self.sensitive) > 1:
            raise ArgumentError.several_sensitive(self.sensitive)
        return self.sensitive


def _filled(fields: Mapping[str, Any], *, only_roles: bool) -> Roles:
    """Return roles from names by field."""
    values: dict[str, Any] = {}
    for field, names in fields.items():
        columns = names_of(names)
        if field not in _SINGLE:
            values[field] = columns
            continue
        if len(columns) > 1:
            raise ArgumentError(f"several columns are named as {_ROLE_OF[field]} ({', '.join(map(shown, columns))}); name one.")
        values[field] = columns[0] if columns else None
    return Roles(**values, only_roles=only_roles)


def _named(said: Mapping[str, Any]) -> set[str]:
    """Return the columns that a call names in a role that excludes others."""
    return {name for field in _ROLE_OF if field != "keep" for name in names_of(said.get(field))}


def _require_apart(said: Mapping[str, Any]) -> None:
    """Refuse a column that is named on both sides of the question, or as the person and as something else."""
    keys, sensitive = names_of(said.get("key")), names_of(said.get("sensitive"))
    for name in sensitive:
        if name in keys:
            raise ArgumentError.key_is_sensitive(name)
    for field in ("person", "household"):
        for name in names_of(said.get(field)):
            if name in (*keys, *sensitive):
                side = "key" if name in keys else "sensitive"
                raise ArgumentError(f"column {shown(name)} is named as {side} and as {field}; it can be one of them.")
    for field in ("identifiers", "weights"):
        for name in names_of(said.get(field)):
            if name in (*keys, *sensitive):
                side = "key" if name in keys else "sensitive"
                raise ArgumentError(f"column {shown(name)} is named as {side} and as {_ROLE_OF[field]}; it can be one of them.")
    if said.get("person") is not None and said.get("person") == said.get("household"):
        raise ArgumentError(f"column {shown(said['person'])} is named as person and as household; it can be one of them.")


@dataclass(frozen=True, slots=True)
class Meaning:
    """The reading of the values of columns, after checks."""

    kinds: dict[str, Kind]
    partitions: dict[str, Partition]
    hierarchies: dict[str, Hierarchy]
    orders: dict[str, tuple[Any, ...]]

    @classmethod
    def of(cls, columns: Sequence[str], meant: Mapping[str, Any]) -> Meaning:
        """Read the statements about columns, and refuse a column that does not exist."""
        arguments = {name: dict(meant.get(name) or {}) for name in ("kinds", "partitions", "hierarchies", "orders")}
        for name, kind in arguments["kinds"].items():
            require_columns([name], columns)
            if kind not in KINDS:
                raise ArgumentError.not_one_of(f"the kind of {shown(name)}", kind, KINDS)
        return cls(
            arguments["kinds"],
            {name: Partition.of(spec, column=name) for name, spec in arguments["partitions"].items()},
            {
                name: hierarchy if isinstance(hierarchy, Hierarchy) else Hierarchy.read(hierarchy, column=name)
                for name, hierarchy in arguments["hierarchies"].items()
            },
            {name: tuple(order) for name, order in arguments["orders"].items()},
        )


def checked_partitions(partitions: Mapping[str, Any] | None, columns: Sequence[str]) -> dict[str, Partition]:
    """Return the partitions by column, refusing one for a column that is not measured."""
    checked = {}
    for name, spec in (partitions or {}).items():
        if name not in columns:
            raise ArgumentError(
                f"a partition is given for column {shown(name)}, which is not among those measured: {listed(columns)}."
            )
        checked[name] = Partition.of(spec, column=name)
    return checked
