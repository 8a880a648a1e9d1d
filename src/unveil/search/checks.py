"""Checks of a caller's arguments: key attributes, hierarchies, sensitive attributes, records and limits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_count, checked_share, checked_time_limit
from unveil.attributes import Names, names_of, require_columns
from unveil.errors import ArgumentError, EmptyDataError, NullsError, listed, shown
from unveil.models.base import TOLERANCE
from unveil.partitions import Hierarchy
from unveil.sources.microdata import Microdata

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "SearchBudget",
    "budget_of",
    "given_hierarchies",
    "hierarchies_of",
    "keys_of",
    "limit_of",
    "records_of",
    "require_apart",
    "require_person_apart",
]


def keys_of(attributes: Names | Mapping[str, Any]) -> tuple[str, ...]:
    """Return the key attributes, whether named alone or with their hierarchies."""
    return tuple(attributes) if isinstance(attributes, Mapping) else names_of(attributes)


def given_hierarchies(attributes: Names | Mapping[str, Any] | None, hierarchies: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return all hierarchies given in a call, whether beside the key attributes or together with them."""
    return {**(hierarchies or {}), **(attributes if isinstance(attributes, Mapping) else {})}


def hierarchies_of(keys: Sequence[str], hierarchies: Mapping[str, Any]) -> dict[str, Hierarchy]:
    """Return all given hierarchies, reading any that are paths from their files; the key attributes must be distinct."""
    if not keys:
        raise ArgumentError.no_key("attributes")
    if len(set(keys)) < len(keys):
        raise ArgumentError(f"column {shown(next(name for name in keys if keys.count(name) > 1))} is named twice as key.")
    return {
        name: hierarchy if isinstance(hierarchy, Hierarchy) else Hierarchy.read(hierarchy, column=name)
        for name, hierarchy in hierarchies.items()
    }


def require_apart(identifiers: Sequence[str], keys: Sequence[str], sensitive: Sequence[str]) -> None:
    """Refuse an identifier that is also a key or sensitive attribute, because identifiers are left out of the release."""
    if both := [name for name in identifiers if name in (*keys, *sensitive)]:
        raise ArgumentError(f"column {shown(both[0])} is named as identifier and as key or sensitive; it can be one of them.")


def require_person_apart(person: str, identifiers: Sequence[str]) -> None:
    """Refuse the column of persons as an identifier: it is needed until the release is made, and is left out of it anyway."""
    if person in identifiers:
        raise ArgumentError(f"column {shown(person)} is named as identifier and as person, which is also left out; name it once.")


def records_of(
    records: Microdata, keys: Sequence[str], sensitive: Sequence[str], identifiers: Sequence[str], nulls: str
) -> tuple[Microdata, NDArray[np.int64]]:
    """Return the records to protect, without identifiers, and their rows in the data."""
    require_columns([*keys, *sensitive, *identifiers], records.names)
    require_apart(identifiers, keys, sensitive)
    if identifiers:
        records = records.without(identifiers)
    rows = np.arange(records.records)
    if nulls == "category":
        return records, rows
    columns = list(dict.fromkeys([*keys, *sensitive]))
    complete = records.complete(columns)
    missing = int(np.count_nonzero(~complete))
    if missing and nulls == "error":
        raise NullsError.present({name: int(np.count_nonzero(~records.complete([name]))) for name in columns})
    if missing == len(rows):
        raise EmptyDataError(f"all {len(rows):,} records have a null in {listed(columns)}; none is left.")
    return records.taken(rows[complete]), rows[complete]


def limit_of(suppression: float, records: int) -> int:
    """Return how many records may be suppressed."""
    share = checked_share("the share of records that may be suppressed", suppression)
    return math.floor(share * records + TOLERANCE)  # 0.29 of 100 records are 29, though the product is slightly less


@dataclass(frozen=True, slots=True)
class SearchBudget:
    """The limits of a search, in seconds and in nodes examined; None: no limit."""

    seconds: float | None = None
    nodes: int | None = None

    def __post_init__(self) -> None:
        """Refuse a time limit that is not a number of seconds."""
        checked_time_limit(self.seconds)


def budget_of(seconds: float | None, nodes: int | None) -> SearchBudget:
    """Return the limits of a search, or refuse invalid values."""
    return SearchBudget(seconds, None if nodes is None else checked_count("node_limit", nodes, least=1))
