"""The meaning of an attribute in a question: its role, its kind, and the meaning of its nulls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from unveil.errors import ArgumentError, ColumnNotFoundError, one_line, shown

__all__ = [
    "CLASS_NULLS",
    "KINDS",
    "NULLS",
    "ROLES",
    "ClassNulls",
    "Kind",
    "Names",
    "Nulls",
    "Role",
    "Standing",
    "checked_nulls",
    "in_line",
    "names_of",
    "require_columns",
    "require_some",
    "sides_of",
]

Role: TypeAlias = Literal["identifier", "key", "sensitive", "person", "household", "weight", "keep", "other"]
"""identifier: it names a person outright; key: an intruder may know it; sensitive: it must not be disclosed; person: it
identifies the person of a record; household: it identifies the household; weight: the sampling weight; keep: it is released
unchanged, because the user vouches for it; other: none of these."""

Kind: TypeAlias = Literal["nominal", "ordinal", "continuous"]
"""nominal: names without order; ordinal: names with an order; continuous: numbers."""

Nulls: TypeAlias = Literal["category", "drop", "error"]
"""category: a null is a value; drop: the record is left out, which is reported; error: nulls are refused."""

ClassNulls: TypeAlias = Literal["category", "drop", "error", "wildcard"]
"""As `Nulls`; wildcard: after local suppression, a null matches any value."""

Names: TypeAlias = str | Sequence[str]
"""One column name, or several taken together."""

ROLES: tuple[Role, ...] = get_args(Role)
KINDS: tuple[Kind, ...] = get_args(Kind)
NULLS: tuple[Nulls, ...] = get_args(Nulls)
CLASS_NULLS: tuple[ClassNulls, ...] = get_args(ClassNulls)


@dataclass(frozen=True, slots=True)
class Standing:
    """The facts that decide whether a release may have the columns that no mechanism changes.

    Attributes
    ----------
    named
        Columns with a role of their own (key, sensitive, household, weight), which stay.
    identifiers, person
        Columns that name people, and the one that identifies the person of a record; they are removed, unless they are kept.
    keep
        Columns that the user vouches for.
    only_roles
        Whether every column without a role is removed.
    deferred
        Whether the decision is made later, as for the steps of a chain, or the candidates of a search.
    """

    named: frozenset[str] = frozenset()
    identifiers: tuple[str, ...] = ()
    person: str | None = None
    keep: tuple[str, ...] = ()
    only_roles: bool = False
    deferred: bool = False


def names_of(names: Names | None) -> tuple[str, ...]:
    """Return one name or several as a tuple; None as the empty tuple."""
    if names is None:
        return ()
    return (names,) if isinstance(names, str) else tuple(names)


def require_some(sensitive: Names | None) -> None:
    """Refuse an empty list of sensitive attributes; None stands for record identity."""
    if sensitive is not None and not names_of(sensitive):
        raise ArgumentError(
            "the list of sensitive attributes is empty; name one, or leave the argument out to measure record identity."
        )


def in_line(names: Iterable[str], between: str = ", ") -> str:
    """Return names in one line; a line break in a name becomes an escape.

    Examples
    --------
    >>> in_line(["age", f"zip{chr(9)}code"], " + ") == "age + zip" + chr(92) + "tcode"
    True
    """
    return one_line(between.join(names))


def checked_nulls(nulls: str) -> Nulls:
    """Return the null policy, or refuse an unknown one."""
    for known in NULLS:
        if nulls == known:
            return known
    raise ArgumentError.not_one_of("nulls", nulls, NULLS)


def sides_of(key: Names, sensitive: Names | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the key and the sensitive columns, refusing a column that is named twice or on both sides."""
    keys, sensitive_names = names_of(key), names_of(sensitive)
    if not keys:
        raise ArgumentError.no_key()
    if sensitive is not None:
        require_some(sensitive_names)
    for side, names in (("key", keys), ("sensitive", sensitive_names)):
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ArgumentError(f"column {shown(twice)} is named twice as {side}; name it once.")
    known = set(keys)
    for name in sensitive_names:
        if name in known:
            raise ArgumentError.key_is_sensitive(name)
    return keys, sensitive_names


def require_columns(columns: Sequence[str], available: Sequence[str]) -> None:
    """Refuse a column that the data does not have."""
    present = set(available)
    for column in columns:
        if column not in present:
            raise ColumnNotFoundError.among(column, available)
