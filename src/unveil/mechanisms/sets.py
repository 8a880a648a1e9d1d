"""How can a few known items of a set be kept from singling anyone out? k^m-anonymity, by coarser items or fewer of them."""

from __future__ import annotations

import heapq
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_arguments, checked_count
from unveil.errors import ArgumentError
from unveil.measures import MOST_KNOWN, Items, checked_separator, is_collection, items_of, least_supports, supports
from unveil.mechanisms.columns import CellNulls, choose
from unveil.mechanisms.door import heeds_study
from unveil.mechanisms.treatment import Treatment, treated
from unveil.partitions import Hierarchy
from unveil.randomness import chance_of
from unveil.releases import Release
from unveil.run import active_run
from unveil.sources import column_of_sets

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

    First single items are checked, then pairs, up to sets of m: as long as some are held by fewer than k records, an item among
    them is generalised to its parent, with all that have the same parent, or left out if it has none. The item chosen is the
    one that fixes most sets for its cost. An item is recoded in the same way in all records.

    Parameters
    ----------
    data
        A path, a built-in data set or a data frame. Never changed.
    attribute
        The column of sets: lists, or texts with separators between items.
    k, m
        The number of records that must hold what an intruder knows, and the largest number of items of a record that an
        intruder knows.
    hierarchy
        The hierarchy of items: a `Hierarchy` or its file. Without one, or if an item would become the root, items are left out.
    separator
        The separator between the items of a text.
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
        With the figures `k`, that of the release; `loss`, from 0 (every item unchanged) to 1 (all left out), averaged over the
        items that records hold; `left_out` and `generalised`, the numbers of such items; and `singled_out_before` and
        `singled_out`, the shares of records with some m items that no other record has.

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
    run = active_run()
    sets = [items_of(value, between) for value in run.through("sets", values)]
    recoding = _Recoding(sets, _paths_of(hierarchy, attribute))
    for size in run.each("known items", range(1, most + 1)):
        recoding.mend(fewest, size)
    recoded = [recoding.of(items) for items in run.through("sets", sets)]
    written = [None if value is None else _written(value, items, between) for value, items in zip(values, recoded, strict=True)]
    settings = {"k": fewest, "m": most, "hierarchy": hierarchy is not None, "separator": between, "nulls": nulls}
    figures = {**recoding.figures(), **_standing(sets, recoded, most), "skipped": chosen.skipped}
    return treated(
        "generalisation of sets", chosen, {attribute: column_of_sets(column, written)}, settings, figures,
        chance, keep_order=keep_order,
    )  # fmt: skip


class _Recoding:
    """The labels that replace the items: the item itself, an ancestor, or nothing."""

    def __init__(self, sets: Sequence[Items], parents: Mapping[str, Sequence[str]] | None) -> None:
        self._held = Counter(items for items in sets if items)
        self._often = Counter(item for items, n in self._held.items() for item in items for _ in range(n))
        chains = {item: (item, *_ancestors(item, parents)) for item in self._often}
        self._leaves = Counter(label for chain in chains.values() for label in chain)
        self._chain = {item: self._telling(chain) for item, chain in chains.items()}
        self._under: dict[str, list[str]] = {}
        for item, chain in self._chain.items():
            for label in chain:
                self._under.setdefault(label, []).append(item)
        self._at: dict[str, int | None] = dict.fromkeys(self._often, 0)

    def of(self, items: Items) -> Items:
        """Return a set in its recoded form."""
        return tuple(sorted({label for item in items if (label := self._label(item)) is not None}))

    def mend(self, k: int, size: int) -> None:
        """Recode until all sets of this many items that occur are held by k records."""
        while wrong := self._rare(k, size):
            choice = _Choice(self, wrong)
            with active_run().stage("rare sets") as steps:
                while (label := choice.best()) is not None:
                    changed = self.changed(label, self.coarser(label))
                    gone = self.labels(changed)
                    self._at |= changed
                    choice.drop(gone, self.above(changed))
                    steps(len(wrong) - choice.left, len(wrong))

    def coarser(self, label: str) -> str | None:
        """Return the coarser label that replaces a label: its parent, or None if it is left out."""
        item = next(item for item in self._under[label] if self._label(item) == label)
        chain, above = self._chain[item], (self._at[item] or 0) + 1
        parent = chain[above] if above < len(chain) else None
        return None if parent is None or self._leaves[parent] == len(self._at) else parent

    def changed(self, label: str, parent: str | None) -> dict[str, int | None]:
        """Return the items that change when a label is made coarser, with the new level of each; None if it is left out."""
        if parent is None:
            return dict.fromkeys(item for item in self._under[label] if self._label(item) == label)
        return {item: self._chain[item].index(parent) for item in self._under[parent] if self._at[item] is not None}

    def labels(self, items: Iterable[str]) -> set[str]:
        """Return the labels that replace some items."""
        return {str(self._label(item)) for item in items}

    def above(self, items: Iterable[str]) -> set[str]:
        """Return all labels that some items have or may get."""
        return {label for item in items for label in self._chain[item]}

    def cost(self, changed: Mapping[str, int | None]) -> float:
        """Return the cost of a change over all records."""
        return sum(self._often[item] * (self._cost(item, at) - self._cost(item, self._at[item])) for item, at in changed.items())

    def figures(self) -> dict[str, float]:
        """Return the cost of the recoding."""
        total = sum(self._often.values())
        lost = sum(n * self._cost(item, self._at[item]) for item, n in self._often.items())
        return {
            "loss": lost / total if total else 0.0,
            "generalised": sum(bool(at) for at in self._at.values()),
            "left_out": sum(at is None for at in self._at.values()),
        }

    def _telling(self, chain: Sequence[str]) -> tuple[str, ...]:
        """Return the labels of a chain that cover more items than the one before: a new name for the same hides nothing."""
        return tuple(label for at, label in enumerate(chain) if not at or self._leaves[label] > self._leaves[chain[at - 1]])

    def _rare(self, k: int, size: int) -> list[Items]:
        written: Counter[Items] = Counter()
        for items, n in active_run().through("sets", self._held.items()):
            written[self.of(items)] += n
        support = supports(list(written), list(written.values()), size)
        return [known for known, n in support.items() if n < k and len(known) == size]

    def _label(self, item: str) -> str | None:
        at = self._at[item]
        return None if at is None else self._chain[item][at]

    def _cost(self, item: str, at: int | None) -> float:
        """Return the loss of one item: the share of the other items from which it can no longer be distinguished."""
        if at is None:
            return 1.0
        return (self._leaves[self._chain[item][at]] - 1) / max(len(self._at) - 1, 1)


@dataclass(slots=True, eq=False)
class _Change:
    """Items that become coarser, or are left out, together.

    Attributes
    ----------
    labels
        The labels that call for the change, with the first in the alphabet last.
    cost, fixes
        The cost of the change, and the number of rare sets that it fixes.
    rank
        Its last known place among the changes: the more sets it fixes for its cost, the lower.
    """

    labels: list[str]
    cost: float
    fixes: int = 0
    rank: tuple[float, str] = (0.0, "")


class _Choice:
    """Which change fixes most of some rare sets for its cost? Updated while sets are fixed, so that none is counted twice.

    When a set is fixed, the changes that would have fixed it too are worth less; only those that move further items to the same
    parent get another cost. So the best change is found in a heap: one whose worth has fallen goes back into it.
    """

    def __init__(self, recoding: _Recoding, rare: Sequence[Items]) -> None:
        self.left = len(rare)
        self._recoding, self._rare = recoding, rare
        self._fixed = bytearray(len(rare))
        self._holding: dict[str, list[int]] = {}
        for at, known in enumerate(rare):
            for label in known:
                self._holding.setdefault(label, []).append(at)
        self._often = {label: len(places) for label, places in self._holding.items()}
        self._asked: dict[str, _Change] = {}
        self._moving: dict[str, _Change] = {}
        self._fixing: dict[str, list[_Change]] = {label: [] for label in self._holding}
        for label in active_run().through("labels", sorted(self._holding, reverse=True)):
            self._ask(label)
        for known in rare:
            for change in self._fixed_by(known):
                change.fixes += 1
        self._heap: list[tuple[float, str]] = []
        for change in {id(change): change for change in self._asked.values()}.values():
            self._rank(change)

    def best(self) -> str | None:
        """Return the label whose change fixes most sets for its cost, the first in the alphabet; None if all are fixed."""
        while self._heap:
            rank = heapq.heappop(self._heap)
            change = self._asked[rank[1]]
            if rank != change.rank:  # it is in the heap again
                continue
            if rank == self._ranked(change):
                return rank[1]
            self._rank(change)
        return None

    def drop(self, gone: Iterable[str], above: Iterable[str]) -> None:
        """Note that no record has some labels any more, and that the cost of changes to some others is different."""
        for at in [at for label in gone for at in self._holding.get(label, ())]:
            if self._fixed[at]:
                continue
            self._fixed[at] = True
            self.left -= 1
            for label in self._rare[at]:
                self._often[label] -= 1
            for change in self._fixed_by(self._rare[at]):
                change.fixes -= 1
        for parent in above:
            moving = self._moving.get(parent)
            if moving is not None and self._ranked(moving) is not None:
                moving.cost = self._recoding.cost(self._recoding.changed(moving.labels[-1], parent))
                self._rank(moving)

    def _ask(self, label: str) -> None:
        """Note which change a label calls for."""
        parent = self._recoding.coarser(label)
        change = None if parent is None else self._moving.get(parent)
        if change is None:
            changed = self._recoding.changed(label, parent)
            change = _Change([], self._recoding.cost(changed))
            for one in self._recoding.labels(changed) & self._fixing.keys():
                self._fixing[one].append(change)
            if parent is not None:
                self._moving[parent] = change
        change.labels.append(label)
        self._asked[label] = change

    def _fixed_by(self, known: Items) -> Iterable[_Change]:
        """Return the changes that fix a set, each once."""
        return {id(change): change for label in known for change in self._fixing[label]}.values()

    def _ranked(self, change: _Change) -> tuple[float, str] | None:
        """Return the place of a change; None if no set calls for it any more."""
        while change.labels and not self._often[change.labels[-1]]:
            change.labels.pop()
        return (-change.fixes / max(change.cost, 1e-9), change.labels[-1]) if change.labels else None

    def _rank(self, change: _Change) -> None:
        """Put a change into the heap, unless no set calls for it any more."""
        if (rank := self._ranked(change)) is not None:
            change.rank = rank
            heapq.heappush(self._heap, rank)


def _paths_of(hierarchy: Any, attribute: str) -> dict[str, Sequence[str]] | None:
    """Return the ancestors of each item, the nearest first."""
    if hierarchy is None:
        return None
    known = hierarchy if isinstance(hierarchy, Hierarchy) else Hierarchy.read(hierarchy, attribute)
    return {row[0]: row[1:] for row in known.labels}


def _ancestors(item: str, parents: Mapping[str, Sequence[str]] | None) -> list[str]:
    """Return the ancestors of an item, each once: a label that is repeated at the next level adds nothing."""
    if parents is None:
        return []
    if item not in parents:
        raise ArgumentError("an item of the sets is not among the leaves of the hierarchy; add it, or leave the hierarchy out.")
    return [label for label in dict.fromkeys(parents[item]) if label != item]


def _written(value: Any, items: Items, separator: str) -> Any:
    return list(items) if is_collection(value) else separator.join(items)


def _standing(before: Sequence[Items], after: Sequence[Items], most: int) -> dict[str, float]:
    """Return the k of the release, and the shares of records that a few items single out, before and after."""
    ones = [1] * len(before)
    was, now = (least_supports(sets, ones, most) for sets in (before, after))
    return {"k": int(now.min()), "singled_out_before": float(np.mean(was == 1)), "singled_out": float(np.mean(now == 1))}
