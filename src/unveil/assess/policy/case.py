"""What is known of the release on trial? Its classes, its direct identifiers and the attacks on it, each looked at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from unveil.attacks.attack import Attack, attack
from unveil.attacks.identity import known_records
from unveil.attacks.pairs import setting_of
from unveil.counts import count_table
from unveil.errors import ArgumentError
from unveil.measures.direct_identifiers import DirectIdentifiers, direct_identifiers
from unveil.measures.equivalence import Equivalence, equivalence
from unveil.models.orders import Scale
from unveil.partitions import Hierarchy
from unveil.releases import Record
from unveil.run import active_run
from unveil.sources import CodedTable, Data, Source, load
from unveil.sources.alignment import align

__all__ = ["Case", "Original"]


@dataclass(frozen=True)
class Original:
    """The original table, how its records are known in the release, and which columns stand for which."""

    data: Data
    aligned: Mapping[str, Any]
    mapping: Mapping[str, str] | Sequence[tuple[str, str]]
    key: tuple[str, ...] | None
    seed: int


@dataclass(frozen=True)
class Case:
    """A release, and what the rules ask about it.

    Attributes
    ----------
    release
        The release.
    keys, secrets
        Its key attributes, and its sensitive attributes.
    nulls
        What a null means; "wildcard": it matches anything.
    orders, hierarchies
        How values of sensitive attributes lie to one another.
    original
        The original, for attacks.
    linked
        Whether records are to be linked.
    record
        The record of the release, or why there is none.
    """

    release: Source
    keys: tuple[str, ...]
    secrets: tuple[str, ...]
    nulls: str
    orders: Mapping[str, Sequence[Any]]
    hierarchies: Mapping[str, Hierarchy]
    original: Original | None
    linked: bool
    record: Record | str

    @property
    def policy_of_nulls(self) -> str:
        """What a null means where it cannot match anything."""
        return "category" if self.nulls == "wildcard" else self.nulls

    @cached_property
    def table(self) -> CodedTable:
        """The columns named, coded."""
        return load(self.release, [*self.keys, *self.secrets], nulls=self.policy_of_nulls)

    @cached_property
    def classes(self) -> Equivalence:
        """The classes of the key."""
        wildcard = 1.0 if self.nulls == "wildcard" else None
        return equivalence(count_table(self.table), self.keys, self.secrets, wildcard=wildcard)

    @property
    def wild(self) -> bool:
        """Whether nulls of the key match anything."""
        return self.nulls == "wildcard" and any(None in column.values for column in self.classes.classes.columns)

    @cached_property
    def known(self) -> Mapping[str, Any]:
        """How many release records cover the original ones."""
        if self.original is None:
            return {"k_known": None}
        aligned = self.original.aligned
        alignment = align(
            self.original.data, self.release, identity=aligned["id"], link=aligned["link"], same_order=aligned["same_order"]
        )
        setting = setting_of(
            self.original.data, self.release, key=self.original.key, sensitive=self.secrets or None,
            mapping=self.original.mapping, identity=aligned["id"], alignment=alignment, nulls="category",
        )  # fmt: skip
        return known_records(setting)

    @cached_property
    def identifiers(self) -> DirectIdentifiers:
        """The columns that name people outright."""
        return direct_identifiers(self.release)

    @cached_property
    def attack(self) -> Attack:
        """What an intruder gains."""
        if self.original is None:
            raise ArgumentError("it compares the release with its original, and none is given")
        return attack(
            self.original.data,
            self.release,
            self.original.key,
            self.secrets or None,
            mapping=self.original.mapping,
            **self.original.aligned,
            nulls=self.policy_of_nulls,
            link_records=self.linked,
            seed=self.original.seed,
            progress=active_run(),
        )

    def scale(self, name: str) -> Scale:
        """Return how the values of a sensitive attribute lie to one another."""
        order = self.orders.get(name)
        return Scale(name, None if order is None else tuple(order), self.hierarchies.get(name))
