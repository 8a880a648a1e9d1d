"""The walk over every subset of the keys: classes refined depth first, each subset's figures from its parent's classes."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from unveil.counts import Counts, subsets_up_to
from unveil.measures.entropy import IdentifierKind, entropy_bits
from unveil.measures.scan_checkpoint import ScanCheckpoint
from unveil.run import active_run

if TYPE_CHECKING:
    from unveil.counts import Refinement, Refiner

_Figures: TypeAlias = list[Any]
"""The figures kept for a subset: rate, kind, rate against record identity, number of classes."""


_THREADS_PAY = 20_000_000
"""If cells times subsets is below this, a second thread costs more than it saves."""


@dataclass(frozen=True, slots=True)
class Savings:
    """The limits from which it pays to prepare the cells for the subsets below.

    Attributes
    ----------
    few
        With up to this many attributes, those no longer needed are summed out; with more, subsets are small and it does not pay
        off.
    left, cells, worth
        With this many attributes left it pays to sum one out, if there are this many cells and at most this share of them would
        remain.
    shared
        With this many attributes left it pays to let another thread continue, or to put classes side by side.
    """

    few: int = 24
    left: int = 2
    cells: int = 1 << 10
    worth: float = 0.9
    shared: int = 5


_SAVINGS = Savings()


@dataclass(frozen=True, slots=True)
class Subset:
    """One subset of the key attributes and its rates.

    Attributes
    ----------
    key
        The attributes, in the order they were named.
    dr, kind
        The rate and the kind of identifier, against the sensitive attribute or, if none is named, the records.
    identity_dr
        The rate against record identity.
    classes
        The number of equivalence classes.
    """

    key: tuple[str, ...]
    dr: float
    kind: IdentifierKind
    identity_dr: float
    classes: int

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {
            "key": list(self.key),
            "size": len(self.key),
            "dr": self.dr,
            "kind": self.kind,
            "identity_dr": self.identity_dr,
            "classes": self.classes,
        }


class Rates:
    """A converter from the sums of a refinement to rates and kinds."""

    def __init__(self, counts: Counts, sensitive: Sequence[str], within: float) -> None:
        self.mass = float(counts.mass.sum())
        self.within = within  # the sum of w log2 w over the records
        self.identity_uncertainty = self.mass * math.log2(self.mass) - self.within
        self.sensitive_names = tuple(sensitive)
        self.sensitive_entropy = entropy_bits(counts.classes(sensitive).mass) if sensitive else None
        self.all_single = _all_single(counts.records, self.within)

    def of(self, refinement: Refinement) -> tuple[float, IdentifierKind, float]:
        """Return rate and kind against the target, and the rate against record identity."""
        identity_kind = self._identity_kind(refinement)
        identity = self._rate((refinement.class_sum - self.within) / self.identity_uncertainty, identity_kind)
        if self.sensitive_entropy is None:
            return identity, identity_kind, identity
        kind = self._sensitive_kind(refinement)
        return self._rate(refinement.uncertainty / self.mass / self.sensitive_entropy, kind), kind, identity

    @staticmethod
    def _rate(uncertain: float, kind: IdentifierKind) -> float:
        if kind == "identifier":
            return 1.0
        return 0.0 if kind == "zero-identifier" else min(1.0, max(0.0, 1.0 - uncertain))

    @staticmethod
    def _identity_kind(refinement: Refinement) -> IdentifierKind:
        if refinement.classes == refinement.settled_single:
            return "identifier"
        if refinement.classes == 1:
            return "zero-identifier"
        return "partial-identifier" if refinement.settled_single else "sketchy-identifier"

    @staticmethod
    def _sensitive_kind(refinement: Refinement) -> IdentifierKind:
        if refinement.mixed == 0:
            return "identifier"
        if refinement.independent:
            return "zero-identifier"
        return (
            "partial-identifier"
            if refinement.pure or refinement.settled_single or refinement.settled_multiple
            else "sketchy-identifier"
        )


def _all_single(records: int, within: float) -> Refinement:
    """Return the classes of an identifier of records: one record each."""
    from unveil.counts import Refinement

    nothing = np.empty(0, dtype=np.uint32)
    start = np.zeros(1, dtype=np.uint32)
    return Refinement(nothing, start, 0, 0, records, within, within, 0.0, 0, 0, independent=False)


class Walk:
    """The walk over the subsets, in the order of their binary numbers."""

    def __init__(
        self,
        counts: Counts,
        keys: Sequence[str],
        rates: Rates,
        largest: int,
        kept: ScanCheckpoint | None = None,
        savings: Savings = _SAVINGS,
    ) -> None:
        self._order, self._savings = _by_cost(counts, keys), savings
        self._place = [keys.index(name) for name in self._order]
        self._counts, self._rates, self._largest, self._kept = counts, rates, largest, kept
        self._run, self._thread = active_run(), threading.current_thread()
        self._total = subsets_up_to(len(keys), largest)
        self._by_mask: dict[int, _Figures] = {} if kept is None else kept.load(counts)
        self._identified = {mask for mask, figures in self._by_mask.items() if figures[-1] == counts.records}
        self._known_below = _below_each(self._by_mask)
        self._stop, self._idle = threading.Event(), threading.Semaphore(0)
        self._waiting: set[Future[None]] = set()

    def run(self, threads: int | None) -> list[Subset]:
        """Visit all subsets, with the requested threads, or two if they help."""
        if threads is None:
            cost = len(self._counts) * self._total
            threads = 2 if cost > _THREADS_PAY and (self._run.limits.threads or os.cpu_count() or 1) > 1 else 1
        try:
            self._visit(threads)
        except BaseException:
            if self._kept is not None:
                self._kept.keep(self._by_mask, now=True)
            raise
        self._report()
        return [self._subset(mask, *figures) for mask, figures in self._by_mask.items()]

    def _visit(self, threads: int) -> None:
        if threads == 1:
            self._below(self._start(), len(self._order))
            return
        with ThreadPoolExecutor(threads - 1) as pool:
            self._pool, self._idle = pool, threading.Semaphore(threads - 1)
            try:
                self._below(self._start(), len(self._order))
                while self._waiting:
                    done, _ = wait(self._waiting, timeout=0.1, return_when=FIRST_EXCEPTION)
                    self._report()
                    self._settle(done)
            except BaseException:
                self._stop.set()
                raise

    def _start(self) -> _Node:
        """Return the empty subset; nothing else refers to its cells, so that they are freed as the walk proceeds."""
        whole = _cells_of(self._counts, self._order, self._rates, in_order=len(self._order) <= self._savings.few)
        return _Node(whole, whole.whole(), 0, 0)

    def _below(self, parent: _Node, lowest: int) -> None:
        """Visit every subset that adds attributes numbered below `lowest` to the parent's."""
        if parent.size == self._largest:
            return
        mask, size, beginnings = parent.mask, parent.size + 1, self._summed(parent, lowest)
        del parent
        for at in range(lowest):
            if self._stop.is_set():
                return
            if self._done(mask | 1 << at, at, size):
                continue
            if at >= self._savings.shared and self._idle.acquire(blocking=False):
                self._settle(future for future in list(self._waiting) if future.done())
                self._waiting.add(self._pool.submit(self._apart, self._child(beginnings.pop(at), at), at))
            else:
                self._below(self._child(beginnings.pop(at), at), at)

    def _apart(self, node: _Node, lowest: int) -> None:
        """Visit the subsets below a node in an idle thread."""
        try:
            self._below(node, lowest)
        finally:
            self._idle.release()

    def _settle(self, done: Iterable[Future[None]]) -> None:
        """Raise any exception of another thread."""
        for future in done:
            self._waiting.discard(future)
            future.result()

    def _summed(self, parent: _Node, lowest: int) -> dict[int, _Node]:
        """Return, for every attribute below `lowest`, the parent with the attributes in between summed out.

        No subset below needs them, and without them there are fewer cells to refine.
        """
        nodes, when = {}, self._savings
        for at in reversed(range(lowest)):
            nodes[at] = parent
            if at < when.left or len(self._order) > when.few:
                continue
            if (fewer := parent.cells.without(parent.split, at, least=when.cells, worth=when.worth)) is not None:
                parent = replace(parent, cells=fewer[0], split=fewer[1])
        return nodes

    def _child(self, parent: _Node, at: int) -> _Node:
        """Return the parent's subset with one more attribute; a subset known to identify every record is not computed.

        Once the first attribute is known, the cells of each class are made adjacent if many subsets lie below.
        """
        self._run.check()
        mask = parent.mask | 1 << at
        if self._contains_identifier(mask):
            self._identified.add(mask)
            split = self._rates.all_single
        else:
            split = parent.cells.split(parent.split, at)
            if split.classes == split.settled_single:
                self._identified.add(mask)
        self._by_mask[mask] = [*self._rates.of(split), split.classes]
        if not len(self._by_mask) % 32:
            self._report()
        node = _Node(parent.cells, split, mask, parent.size + 1)
        return node.gathered() if node.size == 1 < self._largest and at >= self._savings.shared else node

    def _done(self, mask: int, lowest: int, size: int) -> bool:
        """Whether a checkpoint holds a subset and all those below it."""
        return mask in self._known_below and self._known_below[mask] == 1 + subsets_up_to(
            lowest, min(lowest, self._largest - size)
        )

    def _contains_identifier(self, mask: int) -> bool:
        """Whether one of the subsets with one attribute fewer identifies every record."""
        rest = mask
        while rest:
            lowest = rest & -rest
            if mask ^ lowest in self._identified:
                return True
            rest ^= lowest
        return False

    def _subset(self, mask: int, dr: float, kind: IdentifierKind, identity: float, classes: int) -> Subset:
        key = sorted((self._place[at], self._order[at]) for at in _bits(mask))
        return Subset(tuple(name for _, name in key), dr, kind, identity, classes)

    def _report(self) -> None:
        """Report the progress of the walk, and save the subsets done; in the calling thread, which may be interrupted."""
        if threading.current_thread() is not self._thread:
            return
        if self._kept is not None:
            self._kept.keep(self._by_mask)
        self._run.at("subsets", len(self._by_mask), self._total)


def _by_cost(counts: Counts, keys: Sequence[str]) -> list[str]:
    """Return the attributes sorted by how far each splits the cells, so that most subsets begin with small classes."""
    spread = {}
    for column, codes in zip(counts.columns, counts.codes, strict=True):
        spread[column.name] = entropy_bits(np.bincount(codes, minlength=len(column.values)).astype(np.float64))
    return sorted(keys, key=spread.__getitem__)


def _below_each(masks: Iterable[int]) -> dict[int, int]:
    """Count, for every subset, the given subsets that lie below it on the walk, itself included."""
    below: dict[int, int] = {}
    for mask in masks:
        above = mask
        while above:
            below[above] = below.get(above, 0) + 1
            above &= above - 1
    return below


def _cells_of(counts: Counts, attributes: Sequence[str], rates: Rates, *, in_order: bool) -> Refiner:
    """Return the cells over the attributes and the sensitive ones, in the order of the attributes or as they were counted."""
    from unveil.counts import Refiner

    wanted = [*attributes, *rates.sensitive_names]
    part = counts if not in_order and len(wanted) == len(counts.columns) else counts.over(wanted)
    hidden = part.classes(rates.sensitive_names) if rates.sensitive_names else None
    places = [part.names.index(name) for name in attributes]
    return Refiner(
        [part.codes[at] for at in places],
        [len(part.columns[at].values) for at in places],
        part.n,
        part.weight,
        np.zeros(len(part), dtype=np.int64) if hidden is None else hidden.of_cell,
        np.array([part.records]) if hidden is None else hidden.n,
    )


@dataclass(frozen=True, slots=True)
class _Node:
    """A subset on the walk: the cells that the subsets below it need, its classes, its binary number and its size."""

    cells: Refiner
    split: Refinement
    mask: int
    size: int

    def gathered(self) -> _Node:
        """Return the node with the cells of each class side by side."""
        cells, split = self.cells.gathered(self.split)
        return replace(self, cells=cells, split=split)


def _bits(mask: int) -> list[int]:
    """Return the positions of the ones of a binary number."""
    bits = []
    while mask:
        bits.append((mask & -mask).bit_length() - 1)
        mask &= mask - 1
    return bits
