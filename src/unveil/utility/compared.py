"""Original and release as a loss compares them: their records, the pairing of columns and records, and the reading of values.

The arguments of the call take precedence over what a study or project states about the original, and that over what one states
about the release.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.attributes import Names, names_of, require_columns
from unveil.errors import ArgumentError, EmptyDataError, NullsError, listed
from unveil.partitions import Hierarchy
from unveil.sources import Alignment, Data, Microdata, align, open_microdata, require_order
from unveil.study import Study, beside, common_policy, studied
from unveil.utility.side_by_side import SideBySide, paired_names, side_by_side

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ComparedTables", "Named", "compared"]


@dataclass(frozen=True, slots=True)
class Named:
    """The attributes that a call names, as named in the original, and the arguments that identify corresponding records."""

    mapping: Mapping[str, str] | Sequence[tuple[str, str]] = ()
    id: str | None = None
    link: Data | None = None
    same_order: bool = False
    key: Names | None = None
    continuous: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    orders: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    targets: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """The attributes that are read as categories."""
        return (*self.categorical, *self.hierarchies, *self.orders)

    @property
    def attributes(self) -> tuple[str, ...]:
        """All named attributes, for any purpose."""
        return (*names_of(self.key), *self.continuous, *self.words)


@dataclass(frozen=True, slots=True, eq=False)
class ComparedTables:
    """Two tables as they are compared.

    Attributes
    ----------
    original, release
        The records.
    pairs
        The protected column of each original one.
    alignment, correspondence
        The correspondence of the records, and the arguments that state it.
    key
        The attributes that form the classes.
    continuous, measured, categorical
        The attributes to be read as numbers, as numbers if both tables hold them, and as categories.
    orders, hierarchies
        By attribute.
    nulls, dropped
        The policy for nulls of the original, and the number of its records that were left out because of one.
    """

    original: Microdata
    release: Microdata
    pairs: Mapping[str, str]
    alignment: Alignment
    correspondence: Mapping[str, Any]
    key: tuple[str, ...]
    continuous: tuple[str, ...]
    measured: tuple[str, ...]
    categorical: tuple[str, ...]
    orders: Mapping[str, Sequence[Any]]
    hierarchies: Mapping[str, Hierarchy]
    nulls: str
    dropped: int = 0

    @property
    def words(self) -> tuple[str, ...]:
        """The attributes that are read as categories even if both tables hold numbers."""
        return tuple(name for name in self.categorical if name not in self.measured)

    def side_by_side(self) -> SideBySide:
        """Put the attributes of both tables side by side."""
        return side_by_side(
            self.original, self.release, self.pairs, self.alignment,
            continuous=self.continuous, categorical=self.categorical, measured=self.measured,
        )  # fmt: skip

    def complete(self) -> ComparedTables:
        """Return the comparison of the original's records without nulls, if that is the null policy.

        A null of the release is a suppressed cell, and thus a loss: no record is left out because of it.
        """
        whole = self.original.complete(list(self.pairs))
        missing = int(np.count_nonzero(~whole))
        if self.nulls == "category" or not missing:
            return self
        columns = listed(self.pairs)
        if self.nulls == "error":
            raise NullsError.present({name: int(np.count_nonzero(~self.original.complete([name]))) for name in self.pairs})
        if missing == len(whole):
            raise EmptyDataError(f"all {missing:,} original records have a null in {columns}; none is left.")
        truth = self.alignment.truth
        kept = (truth < 0) | whole[np.maximum(truth, 0)]
        truth = np.where(truth < 0, -1, (np.cumsum(whole) - 1)[truth])[kept]
        if not (truth >= 0).any():
            raise EmptyDataError(f"every record that both tables hold has a null in {columns} in the original; none is left.")
        one, other = self.original.taken(np.flatnonzero(whole)), self.release.taken(np.flatnonzero(kept))
        alignment = replace(self.alignment, truth=truth, original_records=one.records, release_records=other.records)
        link = None if self.correspondence["link"] is None else _link(one, truth)
        correspondence = {**self.correspondence, "link": link}
        return replace(self, original=one, release=other, alignment=alignment, correspondence=correspondence, dropped=missing)


def compared(original: Data, release: Data, named: Named) -> ComparedTables:
    """Read both tables, and determine everything that a comparison needs to know about them."""
    with studied(original) as before, studied(release, project=beside(release, before), partial=True) as after:
        if named.id is None:
            require_order(before.source, after.source)
        pairs = _pairs(before, after, named)
        require_columns(named.attributes, list(pairs))
        sides = []
        for study, columns in ((before, pairs), (after, pairs.values())):
            wanted = dict.fromkeys([*columns, *([named.id] if named.id in study.names else [])])
            sides.append(open_microdata(study.collected([name for name in wanted if name is not None])))
    one, other = sides
    hierarchies = {name: known for name in pairs if (known := _said(before.hierarchy, after.hierarchy, pairs, name)) is not None}
    orders = {name: order for name in pairs if (order := _said(before.orders.get, after.orders.get, pairs, name)) is not None}
    kinds = {name: _said(before.kinds.get, after.kinds.get, pairs, name) for name in pairs if name not in named.words}
    words = [name for name, kind in kinds.items() if name not in named.continuous and _is_word(name, kind, hierarchies, orders)]
    return ComparedTables(
        one, other, pairs, _aligned(one, other, named),
        {"id": named.id, "link": named.link, "same_order": named.same_order},
        names_of(named.key) or _planned(before, after, pairs) or tuple(pairs),
        continuous=named.continuous,
        measured=tuple(name for name, kind in kinds.items() if kind == "continuous"),
        categorical=(*named.words, *words),
        orders=orders | dict(named.orders),
        hierarchies=hierarchies | dict(named.hierarchies),
        nulls="category" if (nulls := common_policy(before, after)) == "wildcard" else nulls,
    ).complete()  # fmt: skip


def _pairs(before: Study, after: Study, named: Named) -> dict[str, str]:
    """Return the protected column of each original one that is compared: no identifier and no weight, unless it is named."""
    wanted = {*named.attributes, *named.targets}
    apart = {name for name in (*before.roles.apart, *after.roles.apart) if name not in wanted}
    return paired_names(before.names, after.names, named.mapping, named.id, apart)


def _said(of_original: Any, of_release: Any, pairs: Mapping[str, str], name: str) -> Any:
    """Return the statement about an attribute under its original name, else under its protected one."""
    return one if (one := of_original(name)) is not None else of_release(pairs[name])


def _is_word(name: str, kind: str | None, *of_words: Mapping[str, Any]) -> bool:
    """Whether an attribute holds categories by its kind in a study, or because it has an order or a hierarchy."""
    return kind in ("nominal", "ordinal") or any(name in one for one in of_words)


def _planned(before: Study, after: Study, pairs: Mapping[str, str]) -> tuple[str, ...]:
    """Return the key that a study or project states, as far as both tables have it."""
    return tuple(name for name in pairs if name in before.key) or tuple(name for name in pairs if pairs[name] in after.key)


def _aligned(one: Microdata, other: Microdata, named: Named) -> Alignment:
    alignment = align(one.frame, other.frame, identity=named.id, link=named.link, same_order=named.same_order)
    if alignment is None:
        raise ArgumentError.no_correspondence()
    return alignment


def _link(one: Microdata, truth: NDArray[np.int64]) -> Any:
    """Return the correspondence of records as a table of row numbers, counted from 1."""
    known = np.flatnonzero(truth >= 0)
    return type(one.frame)({"original": truth[known] + 1, "release": known + 1})
