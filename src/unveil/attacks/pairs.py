"""Which protected attribute stands for which original one, and what is known of both tables?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unveil.attributes import Names, names_of
from unveil.errors import ArgumentError, ColumnNotFoundError
from unveil.partitions import Hierarchy
from unveil.partitions.generalised import parse_generalised, point_of, text_form
from unveil.sources import Data, Source, load, open_source
from unveil.sources.alignment import Alignment

__all__ = ["Pair", "Setting", "new_values", "setting_of"]


@dataclass(frozen=True, slots=True)
class Pair:
    """An original attribute and the protected one that stands for it."""

    original: str
    release: str


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """The two tables, what is paired, and what is to be protected.

    Attributes
    ----------
    original, release
        The tables, opened.
    pairs
        Key attributes, original and protected.
    keys
        The protected key attributes that the release holds.
    sensitive
        The sensitive attributes, by their name in the release.
    alignment
        Which record belongs to which, where that is known.
    nulls
        The null policy.
    hierarchies
        What labels of the release cover, by original attribute.
    """

    original: Source
    release: Source
    pairs: tuple[Pair, ...]
    keys: tuple[str, ...]
    sensitive: tuple[str, ...]
    alignment: Alignment | None
    nulls: str
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)

    def original_of(self, released: str) -> str | None:
        """Return the original attribute that a released one stands for, where the original holds it."""
        for pair in self.pairs:
            if pair.release == released and pair.original in self.original.names:
                return pair.original
        return released if released in self.original.names else None


def setting_of(
    original: Data,
    release: Data,
    *,
    key: Names | None,
    sensitive: Names | None,
    mapping: Sequence[tuple[str, str]] | Mapping[str, str],
    identity: str | None,
    alignment: Alignment | None,
    nulls: str,
) -> Setting:
    """Pair the attributes by the map and by name; a protected column may also stand in the original itself."""
    one, other = open_source(original), open_source(release)
    explicit = _explicit(mapping)
    secrets = names_of(sensitive)
    _require(secrets, other, "the release has no sensitive column")
    for pair in explicit:
        _require([pair.original], one, "the map names an original column that does not exist")
        if pair.release not in other.names and pair.release not in one.names:
            raise ColumnNotFoundError(
                f"the map names a protected column that neither table has: {ColumnNotFoundError.among(pair.release, other.names)}"
            )
    by_name = _by_name(names_of(key), one, other, explicit, {*secrets, identity})
    pairs = list(dict.fromkeys([*explicit, *by_name]))
    keys = tuple(dict.fromkeys(pair.release for pair in pairs if pair.release in other.names))
    if not pairs or not keys:
        raise ArgumentError("original and release have no key attribute in common; map the original's columns to the release's.")
    if doubled := [name for name in secrets if name in keys]:
        raise ArgumentError.key_is_sensitive(doubled[0])
    return Setting(one, other, tuple(pairs), keys, secrets, alignment, nulls)


def new_values(setting: Setting, original: str | None, released: str) -> dict[str, int] | None:
    """Count the released values that the original lacks and that generalise none, and their records; None without the columns."""
    if original not in setting.original.names or released not in setting.release.names:
        return None
    (known,), (shown,) = load(setting.original, [original]).columns, load(setting.release, [released]).columns
    old: set[Any] = {form(value) for value in known.values for form in (text_form, point_of)} - {None}
    if original in setting.hierarchies:
        old |= {label for path in setting.hierarchies[original].labels for label in path}
    new = [
        value is not None and not {text_form(value), point_of(value)} & old and parse_generalised(value) is None
        for value in shown.values
    ]
    return {"values": sum(new), "records": int(np.bincount(shown.codes, minlength=len(new))[new].sum())}


def _explicit(mapping: Sequence[tuple[str, str]] | Mapping[str, str]) -> list[Pair]:
    """Return the pairs that the map says."""
    return [Pair(*pair) for pair in (mapping.items() if isinstance(mapping, Mapping) else mapping)]


def _by_name(
    wanted: Sequence[str], original: Source, release: Source, explicit: Sequence[Pair], left_out: set[str | None]
) -> list[Pair]:
    """Pair the keys named, or (nothing named or mapped) all columns in common, with their namesakes."""
    mapped = {pair.original for pair in explicit} | {pair.release for pair in explicit}
    if not wanted and explicit:
        return []
    names = wanted or [name for name in release.names if name in original.names and name not in left_out]
    found = []
    for name in names:
        if name in mapped:
            continue
        if name not in release.names:
            raise ColumnNotFoundError(f"a key attribute is not in the release: {ColumnNotFoundError.among(name, release.names)}")
        found.append(Pair(name, name))
    return found


def _require(names: Sequence[str], source: Source, problem: str) -> None:
    for name in names:
        if name not in source.names:
            raise ColumnNotFoundError(f"{problem}: {ColumnNotFoundError.among(name, source.names)}")
