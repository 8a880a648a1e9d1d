"""How can a few known items of a set be kept from singling anyone out? k^m-anonymity, by coarser items or by fewer."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_arguments, checked_count
from unveil.errors import ArgumentError
from unveil.measures.itemsets import MOST_KNOWN, Items, checked_separator, is_collection, items_of, least_supports, supports
from unveil.mechanisms.columns import CellNulls, choose
from unveil.mechanisms.door import heeds_study
from unveil.mechanisms.treatment import Treatment, treated
from unveil.partitions import Hierarchy
from unveil.randomness import chance_of
from unveil.releases import Release
from unveil.sources.objects import column_of_sets

if TYPE_CHECKING:
    from unveil.sources import Data

__all__ = ["generalize_sets"]


@heeds_study
@checked_arguments
def generalize_sets(
    data: Data,
    attribute: str,
    *,
    k: int,
    m: int = 2,
    hierarchy: Hierarchy | str | os.PathLike[str] | None = None,
    separator: str = ";",
    nulls: CellNulls = "error",
    keep_order: bool = False,
    seed: int | None = None,
    key_file: str | os.PathLike[str] | None = None,
) -> Release[Treatment]:
    """Make items coarser, or leave them out, until any m items of a record are held by at least k records.

    First single items are looked at, then pairs, up to sets of m: as long as some are held by fewer than k records, an item
    among them is generalised to its parent, with all that have the same parent, or left out if it has none. The item chosen is
    the one that fixes most sets for what it costs. An item is recoded in the same way in all records.

    Parameters
    ----------
    data
        A path, a built-in data set or a data frame. Never changed.
    attribute
        The column of sets: lists, or texts with separators between items.
    k, m
        How many records must hold what an intruder knows, and the most items of a record that an intruder knows.
    hierarchy
        The hierarchy of items: a `Hierarchy` or its file. Without one, or if an item would become the root, items are left out.
    separator
        What separates the items of a text.
    nulls
        ``"error"``: refuse. ``"keep"``: a null is an empty set and stays a null. ``"drop"``: leave out the records that have one.
    keep_order
        Whether records stay in their order; else they are shuffled, so that their places say nothing.
    seed, key_file
        A seed for tests, a key file for those who must be able to repeat the order (see `unveil.randomness`); without either
        nobody can.

    Returns
    -------
    Release
        With the figures `k`, what the release has; `loss`, from 0 (every item as it was) to 1 (all left out), averaged over the
        items that records hold; `left_out` and `generalised`, how many items were; and `singled_out_before` and `singled_out`,
        the shares of records with some m items that nobody else has.

    References
    ----------
    .. [1] Terrovitis, Mamoulis, Kalnis (2008), Privacy-preserving anonymization of set-valued data, Proceedings of the VLDB
       Endowment 1(1), 115-125. doi:10.14778/1453856.1453874

    Examples
    --------
    >>> import polars as pl
    >>> from unveil import mechanisms
    >>> carts = pl.DataFrame({"cart": ["beer;milk", "beer;milk", "beer;tea", "beer"]})
    >>> made = mechanisms.generalize_sets(carts, "cart", k=2, keep_order=True)
    >>> made.data["cart"].to_list(), made.figures["k"]
    (['beer;milk', 'beer;milk', 'beer', 'beer'], 2)
    """
    fewest, most = checked_count("k", k, least=1), checked_count("m", m, least=1, most=MOST_KNOWN)
    chance, chosen = chance_of(seed, key_file), choose(data, attribute, nulls)
    between, column = checked_separator(separator), chosen.column(attribute)
    values = column.to_list()
    sets = [items_of(value, between) for value in values]
    recoding = _Recoding(sets, _paths_of(hierarchy, attribute))
    for size in range(1, most + 1):
        recoding.mend(fewest, size)
    recoded = [recoding.of(items) for items in sets]
    written = [None if value is None else _written(value, items, between) for value, items in zip(values, recoded, strict=True)]
    settings = {"k": fewest, "m": most, "hierarchy": hierarchy is not None, "separator": between, "nulls": nulls}
    figures = {**recoding.figures(), **_standing(sets, recoded, most), "skipped": chosen.skipped}
    return treated(
        "generalisation of sets", chosen, {attribute: column_of_sets(column, written)}, settings, figures,
        chance, keep_order=keep_order,
    )  # fmt: skip


class _Recoding:
    """What every item is written as: itself, an ancestor, or nothing."""

    def __init__(self, sets: Sequence[Items], parents: Mapping[str, Sequence[str]] | None) -> None:
        self._held = Counter(items for items in sets if items)
        self._often = Counter(item for items, n in self._held.items() for item in items for _ in range(n))
        chains = {item: (item, *_ancestors(item, parents)) for item in self._often}
        self._leaves = Counter(label for chain in chains.values() for label in chain)
        self._chain = {item: self._telling(chain) for item, chain in chains.items()}
        self._at: dict[str, int | None] = dict.fromkeys(self._often, 0)

    def of(self, items: Items) -> Items:
        """Return a set as it is written."""
        return tuple(sorted({label for item in items if (label := self._label(item)) is not None}))

    def mend(self, k: int, size: int) -> None:
        """Recode until all sets of this many items that occur are held by k records."""
        while wrong := self._rare(k, size):
            while wrong:
                label = max(sorted({label for known in wrong for label in known}), key=lambda one: self._worth(one, wrong))
                changed = self._raise(label)
                wrong = [known for known in wrong if changed.isdisjoint(known)]

    def figures(self) -> dict[str, float]:
        """Return what the recoding cost."""
        total = sum(self._often.values())
        lost = sum(n * self._cost(item, self._at[item]) for item, n in self._often.items())
        return {
            "loss": lost / total if total else 0.0,
            "generalised": sum(bool(at) for at in self._at.values()),
            "left_out": sum(at is None for at in self._at.values()),
        }

    def _telling(self, chain: Sequence[str]) -> tuple[str, ...]:
        """Return the labels of a chain that cover more items than the one before: another name for the same hides nothing."""
        return tuple(label for at, label in enumerate(chain) if not at or self._leaves[label] > self._leaves[chain[at - 1]])

    def _rare(self, k: int, size: int) -> list[Items]:
        written: Counter[Items] = Counter()
        for items, n in self._held.items():
            written[self.of(items)] += n
        support = supports(list(written), list(written.values()), size)
        return [known for known, n in support.items() if n < k and len(known) == size]

    def _label(self, item: str) -> str | None:
        at = self._at[item]
        return None if at is None else self._chain[item][at]

    def _next(self, label: str) -> dict[str, int | None]:
        """Return the items that change when a label is made coarser, and to what: its parent's, or nothing."""
        below = [item for item in self._at if self._label(item) == label]
        chain, at = self._chain[below[0]], self._at[below[0]] or 0
        parent = chain[at + 1] if at + 1 < len(chain) else None
        if parent is None or self._leaves[parent] == len(self._at):
            return dict.fromkeys(below)
        family = (item for item in self._at if self._at[item] is not None and parent in self._chain[item])
        return {item: self._chain[item].index(parent) for item in family}

    def _raise(self, label: str) -> set[str]:
        """Make a label coarser; return the labels that are gone."""
        raised = self._next(label)
        gone = {str(self._label(item)) for item in raised}
        self._at |= raised
        return gone

    def _worth(self, label: str, wrong: Sequence[Items]) -> float:
        """Return how many sets a change fixes for what it costs."""
        raised = self._next(label)
        gone = {str(self._label(item)) for item in raised}
        cost = sum(self._often[item] * (self._cost(item, at) - self._cost(item, self._at[item])) for item, at in raised.items())
        return sum(not gone.isdisjoint(known) for known in wrong) / max(cost, 1e-9)

    def _cost(self, item: str, at: int | None) -> float:
        """Return what is lost of one item: the share of others it can no longer be distinguished from."""
        if at is None:
            return 1.0
        return (self._leaves[self._chain[item][at]] - 1) / max(len(self._at) - 1, 1)


def _paths_of(hierarchy: Any, attribute: str) -> dict[str, Sequence[str]] | None:
    """Return the ancestors of each item, the nearest first."""
    if hierarchy is None:
        return None
    known = hierarchy if isinstance(hierarchy, Hierarchy) else Hierarchy.read(hierarchy, attribute)
    return {row[0]: row[1:] for row in known.labels}


def _ancestors(item: str, parents: Mapping[str, Sequence[str]] | None) -> list[str]:
    """Return the ancestors of an item, each once: a label that repeats at the next level says nothing new."""
    if parents is None:
        return []
    if item not in parents:
        raise ArgumentError("an item of the sets is not among the leaves of the hierarchy; add it, or leave the hierarchy out.")
    return [label for label in dict.fromkeys(parents[item]) if label != item]


def _written(value: Any, items: Items, separator: str) -> Any:
    return list(items) if is_collection(value) else separator.join(items)


def _standing(before: Sequence[Items], after: Sequence[Items], most: int) -> dict[str, float]:
    """Return the k of the release, and how many records a few items single out, before and after."""
    ones = [1] * len(before)
    was, now = (least_supports(sets, ones, most) for sets in (before, after))
    return {"k": int(now.min()), "singled_out_before": float(np.mean(was == 1)), "singled_out": float(np.mean(now == 1))}
