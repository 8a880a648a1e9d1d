"""The roles of the columns: what a call names and what the project says of them, put together in one place.

What is named wins. A column that is named in one role loses the one that the project gives it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from unveil.attributes import Names, Role, names_of, require_columns
from unveil.errors import ArgumentError
from unveil.project import Project

__all__ = ["Roles"]


@dataclass(frozen=True, slots=True)
class Roles:
    """What the columns are to the questions asked.

    Attributes
    ----------
    key, sensitive, identifiers
        The key attributes, the sensitive attributes, and the columns that name people outright.
    weights
        The column of sampling weights.
    """

    key: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()
    weights: str | None = None

    @classmethod
    def of(
        cls,
        columns: Sequence[str],
        project: Project | None,
        *,
        key: Names | None = None,
        sensitive: Names | None = None,
        identifiers: Names | None = None,
        weights: str | None = None,
        partial: bool = False,
    ) -> Roles:
        """Put together what is named and what the project says.

        Parameters
        ----------
        columns
            The columns of the data.
        project
            The project; none: there is only what is named.
        key, sensitive, identifiers, weights
            What is named; none: what the project says.
        partial
            Whether the data may lack columns of the project, as a release does; otherwise a column that lacks is refused.
        """
        _require_apart(key, sensitive)
        named = {"key": names_of(key), "sensitive": names_of(sensitive), "identifier": names_of(identifiers)}
        taken = {name for names in named.values() for name in names}

        def role(which: Role, given: Names | None) -> tuple[str, ...]:
            if given is not None or project is None:
                return named[which]
            return tuple(one for one in project.names(which) if one not in taken and not (partial and one not in columns))

        shares = weights if weights is not None or project is None else project.data.weights
        if partial and weights is None and shares not in columns:
            shares = None
        roles = cls(role("key", key), role("sensitive", sensitive), role("identifier", identifiers), shares)
        require_columns([*roles.key, *roles.sensitive, *([shares] if shares is not None else [])], columns)
        return roles

    def changed(self, *, key: Names | None, sensitive: Names | None, identifiers: Names | None, weights: str | None) -> Roles:
        """Return the roles with those named exchanged; a column that is named in one role loses its other one."""
        _require_apart(key, sensitive)
        named = {name for names in (key, sensitive, identifiers) for name in names_of(names)}

        def role(given: Names | None, own: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(name for name in own if name not in named) if given is None else names_of(given)

        return Roles(
            role(key, self.key),
            role(sensitive, self.sensitive),
            role(identifiers, self.identifiers),
            self.weights if weights is None else weights,
        )

    def one_sensitive(self) -> tuple[str, ...]:
        """Return the sensitive attribute of a question that is about one; refuse to choose among several."""
        if len(self.sensitive) > 1:
            raise ArgumentError.several_sensitive(self.sensitive)
        return self.sensitive


def _require_apart(key: Names | None, sensitive: Names | None) -> None:
    """Refuse a column that is named on both sides of the question."""
    for name in names_of(sensitive):
        if name in names_of(key):
            raise ArgumentError.key_is_sensitive(name)
