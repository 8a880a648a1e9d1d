"""The profile of a release, beside its risk: its columns, their types and categories, its records.

It is stored with a verdict, so that the next one can report changes. A category is stored by name only if at least five records
have it, its column has few categories, it reveals no sensitive value, and it is not itself a sensitive value that the key
reveals for nearly everyone who has it. Other categories are only counted. So a profile names nobody.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.assess.policy.case import Case
from unveil.counts import count_table
from unveil.errors import UnveilError, listed
from unveil.formats import jsonable
from unveil.measures.by_value import telling_values
from unveil.results.masking import SMALL

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.counts.grouping import Codes

__all__ = ["ColumnProfile", "Profile", "ReleaseChange", "changes", "profile_of"]

_MOST_CATEGORIES = 50
_KINDS = {bool: "yes or no", int: "number", float: "number", Decimal: "number", str: "text", dt.datetime: "time", dt.date: "date"}
_CATEGORIES = ("text", "yes or no")
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """The type of a column, the number of its values, its frequent categories by name, and the number of rarer ones."""

    kind: str
    distinct: int | None = None
    categories: tuple[str, ...] | None = None
    rare: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {
            "type": self.kind,
            "distinct": self.distinct,
            "categories": None if self.categories is None else list(self.categories),
            "rare": self.rare,
        }


@dataclass(frozen=True, slots=True)
class Profile:
    """The records and columns of a release."""

    records: int
    columns: Mapping[str, ColumnProfile]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {"records": self.records, "columns": {name: one.to_dict() for name, one in self.columns.items()}}

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Profile:
        """Return the profile that was stored with a verdict."""
        columns = {
            str(name): ColumnProfile(
                str(one["type"]), one["distinct"], None if one["categories"] is None else tuple(one["categories"]), one["rare"]
            )
            for name, one in document["columns"].items()
        }
        return cls(int(document["records"]), columns)


@dataclass(frozen=True, slots=True)
class ReleaseChange:
    """A change: its kind, its column, and the values before and now; a new column keeps a release from passing."""

    what: str
    of: str
    before: Any
    now: Any
    met: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {
            "what": self.what,
            "of": self.of,
            "before": jsonable(self.before),
            "now": jsonable(self.now),
            "met": self.met,
        }


def profile_of(case: Case, records: int) -> Profile:
    """Return the profile of a release, examining every column once."""
    study, telling = case.study, _telling(case)
    owners = [name for name in (study.person, study.household) if name is not None]
    profiles = {
        name: _column(table.columns[0].values, table.columns[0].codes, table.n, telling.get(name, set()))
        for name, table in case.counted.columns.items()
        if name not in owners
    }
    for name in owners:
        with suppress(UnveilError):
            counts = count_table(study.owned([], [name], nulls="category"))
            profiles[name] = _column(counts.columns[0].values, counts.codes[0], counts.n, telling.get(name, set()))
    uncounted = ColumnProfile("other")  # lists and similar types
    return Profile(records, {name: profiles.get(name, uncounted) for name in study.names})


def _telling(case: Case) -> dict[str, set[Any]]:
    """Return the values that must not be named, by column (see `telling_values`)."""
    if not case.keys or not case.sensitive:
        return {}
    partial = case.study.nulls in ("drop", "error")
    columns = [*case.keys, *case.sensitive]
    whole = case.study.counts(columns, nulls="category", partitions={}) if partial else case.counts
    return telling_values(whole, case.keys, case.sensitive)


def _column(values: Sequence[Any], codes: Codes, n: NDArray[np.int64] | None, telling: Collection[Any]) -> ColumnProfile:
    """Return the profile of a column, given its values, with a null last, and the number of records of each."""
    distinct = len(values) - (len(values) > 0 and values[-1] is None)
    kinds = {type(kind().item()) if issubclass(kind, np.generic) else kind for kind in set(map(type, values[:distinct]))}
    kind = " and ".join(sorted({_KINDS.get(one, "other") for one in kinds})) or "empty"
    if kind not in _CATEGORIES or distinct > _MOST_CATEGORIES:
        return ColumnProfile(kind, distinct)
    sizes = np.bincount(codes, weights=n, minlength=len(values)).tolist()
    present = [(value, size) for value, size in zip(values, sizes, strict=True) if value is not None]
    named = tuple(sorted(str(value) for value, size in present if size >= SMALL and value not in telling))
    return ColumnProfile(kind, distinct, named, distinct - len(named))


def changes(before: Profile, now: Profile) -> tuple[ReleaseChange, ...]:
    """Return the changes of records, columns, their types and their categories."""
    differences = [] if before.records == now.records else [ReleaseChange("number of records", "", before.records, now.records)]
    differences += [
        ReleaseChange("new column", name, None, one.kind, met=False)
        for name, one in now.columns.items()
        if name not in before.columns
    ]
    differences += [
        ReleaseChange("lost column", name, one.kind, None) for name, one in before.columns.items() if name not in now.columns
    ]
    for name, one in now.columns.items():
        if name in before.columns:
            differences += _of_column(name, before.columns[name], one)
    return tuple(differences)


def _of_column(name: str, before: ColumnProfile, now: ColumnProfile) -> Iterator[ReleaseChange]:
    if before.kind != now.kind:
        yield ReleaseChange("type", name, before.kind, now.kind)
        return
    if before.categories is None or now.categories is None:
        if before.distinct != now.distinct and now.kind in _CATEGORIES:  # numbers and dates change from day to day
            yield ReleaseChange("number of values", name, before.distinct, now.distinct)
        return
    new = [one for one in now.categories if one not in before.categories]
    gone = [one for one in before.categories if one not in now.categories]
    if new:
        yield ReleaseChange("new categories", name, None, _few(new))
    if gone:
        yield ReleaseChange("lost categories", name, _few(gone), None)
    if before.rare != now.rare:
        yield ReleaseChange(f"categories of fewer than {SMALL} records, or that disclose", name, before.rare, now.rare)


def _few(names: list[str]) -> str:
    return listed(names[:_SHOWN]) + (f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else "")
