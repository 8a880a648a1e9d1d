"""Which attributes, alone or together, single people out? The Discrimination Rate of every subset of the key attributes.

Subsets are visited so that every subset comes before its supersets: attributes are numbered, a subset is a binary number,
and the walk goes up through the numbers, each subset refining the classes of the one without its lowest attribute. So a
superset of a known identifier is never computed, and at most one refinement a level is held in memory. The attribute that
splits the cells furthest gets the highest number: half of all subsets then begin with classes that are nearly split up.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from unveil import __version__
from unveil.arguments import checked_arguments, checked_count, shown_number
from unveil.attributes import Names, in_line, names_of, sides_of
from unveil.counts import Counts, count_table
from unveil.errors import ArgumentError, UndefinedMeasureError
from unveil.measures.discrimination import checked_partitions, undefined_reason
from unveil.measures.entropy import entropy_bits
from unveil.measures.kinds import IdentifierKind
from unveil.measures.scan_checkpoint import Checkpoint, default_place
from unveil.partitions import Partition
from unveil.results import Figure, Made, Result, Table, View, jsonable
from unveil.results.numbers import counted
from unveil.sources import Data, Source, open_source, tallied

if TYPE_CHECKING:
    from unveil.counts.refine import Refinement, Refiner

__all__ = ["Progress", "Scan", "Subset", "scan"]

Progress: TypeAlias = Callable[[int, int], None]
"""Called with the number of subsets done and the number of all."""

_Figures: TypeAlias = list[Any]
"""What is kept of a subset: rate, kind, rate against record identity, classes."""

_MOST_SUBSETS = 1 << 20
_SHOWN_ROWS = 20
_FEW = 24
"""Up to this many attributes the table is summed anew for every top attribute; above, subsets are small and it does not pay."""
_MOST_THREADS = 1024
_THREADS_PAY = 20_000_000
"""Cells times subsets below which a second thread costs more than it brings."""


@dataclass(frozen=True, slots=True)
class Subset:
    """One subset of the key attributes and its rates.

    Attributes
    ----------
    key
        The attributes, in the order they were named.
    dr, kind
        The rate and the kind of identifier, against the sensitive attribute or, where none is named, the records.
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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Scan(Result):
    """The Discrimination Rate of every subset of the key attributes, riskiest first.

    Attributes
    ----------
    subsets
        One entry a subset, by falling rate, then by size.
    minimal_identifiers
        The identifiers of which no smaller subset identifies.
    max_size
        The largest subsets looked at, or None for all.
    made
        How the result was made.
    """

    subsets: tuple[Subset, ...]
    minimal_identifiers: tuple[tuple[str, ...], ...]
    max_size: int | None
    made: Made

    def __repr__(self) -> str:
        """Return one line: how many subsets, how many minimal identifiers."""
        minimal = counted(len(self.minimal_identifiers), "minimal identifier")
        return f"Scan({counted(len(self.subsets), 'subset')} -> {self._target()}: {minimal})"

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer as plain Python values."""
        return {
            "subsets": [subset.to_dict() for subset in self.subsets],
            "minimal_identifiers": [list(key) for key in self.minimal_identifiers],
            "records": self.made.records,
            "max_size": self.max_size,
            "made": self.made.to_dict(),
        }

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return one row per subset."""
        return {
            "key": [" + ".join(subset.key) for subset in self.subsets],
            "size": [len(subset.key) for subset in self.subsets],
            "dr": [subset.dr for subset in self.subsets],
            "kind": [subset.kind for subset in self.subsets],
            "identity_dr": [subset.identity_dr for subset in self.subsets],
            "classes": [subset.classes for subset in self.subsets],
        }

    def view(self) -> View:
        """Return what a person should see: single attributes, the riskiest combinations, the minimal identifiers."""
        singles = [subset for subset in self.subsets if len(subset.key) == 1]
        several = [subset for subset in self.subsets if len(subset.key) > 1]
        more = len(singles) - _SHOWN_ROWS
        note = f"and {more:,} more (--json: all)" if more > 0 else ""
        tables = [self._table("Attributes, riskiest first", singles[:_SHOWN_ROWS], note)]
        if several:
            shown = _smallest_first(several)
            note = f"of {len(several):,}; one that scores no higher than a smaller one within it is left out (--json: all)"
            tables.append(self._table("Riskiest combinations", shown, note if len(several) > len(shown) else ""))
        figures = (
            Figure("subsets", len(self.subsets), f"of {counted(len(self.made.key), 'key attribute')}"),
            Figure("minimal identifiers", len(self.minimal_identifiers), "no smaller subset identifies"),
            Figure("records", self.made.records),
        )
        return View(
            f"Discrimination Rate of {len(self.subsets):,} subsets -> {self._target()}",
            figures,
            tuple(tables),
            self._notes(),
        )

    def _table(self, title: str, subsets: Sequence[Subset], note: str) -> Table:
        columns: tuple[str, ...] = ("key", "DR", "kind", "classes")
        rows: tuple[tuple[Any, ...], ...] = tuple((" + ".join(s.key), s.dr, s.kind, s.classes) for s in subsets)
        if self.made.sensitive:
            columns = ("key", "DR", "DR of identity", "kind", "classes")
            rows = tuple((" + ".join(s.key), s.dr, s.identity_dr, s.kind, s.classes) for s in subsets)
        return Table(columns, rows, title=title, note=note, bars=frozenset({"DR"}))

    def _notes(self) -> tuple[str, ...]:
        notes = []
        if self.minimal_identifiers:
            found = "; ".join(" + ".join(key) for key in self.minimal_identifiers[:5])
            more = len(self.minimal_identifiers) - 5
            notes.append(f"Minimal identifiers: {found}{f'; and {more:,} more' if more > 0 else ''}.")
        else:
            notes.append(
                f"No subset{f' of up to {self.max_size} attributes' if self.max_size else ''} determines {self._target()}."
            )
        if self.made.sensitive:
            notes.append("The rate rises with the number of classes even by chance: `unveil dr` gives it adjusted for chance.")
        if self.made.dropped:
            notes.append(f"{counted(self.made.dropped, 'record')} with a null in a named column left out (nulls='drop').")
        return tuple(notes)

    def _target(self) -> str:
        return in_line(self.made.sensitive, " + ") or "record identity"


@checked_arguments
def scan(  # noqa: PLR0913 - what to measure, and how to go about it
    data: Data,
    key: Names | None = None,
    sensitive: Names | None = None,
    *,
    max_size: int | None = None,
    partitions: Mapping[str, Any] | None = None,
    nulls: str = "category",
    weights: str | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
) -> Scan:
    """Measure the Discrimination Rate of every subset of the key attributes.

    Parameters
    ----------
    data
        A path, the name of a built-in data set, or any data frame narwhals knows. Never changed.
    key
        The key attributes; none: every column that is not sensitive and not the weights.
    sensitive
        The attribute whose disclosure is measured; none: the identity of the record. Against a named attribute the rate
        against record identity is given as well.
    max_size
        The largest subsets to look at; none: all, up to about a million.
    partitions, nulls, weights
        As in `discrimination_rate`. With nulls="drop" a record with a null in any of the columns is left out of all subsets,
        so that they stay comparable.
    threads
        How many threads to use; none: two where they help.
    progress
        Called with the number of subsets done and the number of all.
    checkpoint
        A file that keeps the subsets done, every few seconds, so that a scan that was stopped can go on; removed at the end.
    resume
        Whether to go on with the checkpoint, if it is there; where none is named, with the one beside the data's file. One that
        was made for other data, or another question, is refused.

    Returns
    -------
    Scan
        The subsets, riskiest first, and the minimal identifiers.

    Examples
    --------
    >>> import unveil
    >>> found = unveil.scan("paper-4", key=["ZIP", "Age", "Salary"], sensitive="Disease")
    >>> found
    Scan(7 subsets -> Disease: 2 minimal identifiers)
    >>> found.minimal_identifiers
    (('Salary',), ('ZIP', 'Age'))
    """
    source = open_source(data)
    if key is None:
        left_out = {*names_of(sensitive), weights}
        key = [name for name in source.names if name not in left_out]
    keys, secrets = sides_of(key, sensitive)
    blocks = checked_partitions(partitions, (*keys, *secrets))
    largest = _checked_size(len(keys), max_size)
    if threads is not None:
        checked_count("threads", threads, least=1, most=_MOST_THREADS)
    question = {"key": list(keys), "sensitive": list(secrets), "max_size": max_size, "nulls": nulls, "weights": weights}
    question |= {"partitions": jsonable({name: block.to_dict() for name, block in blocks.items()}), "version": __version__}
    kept = _checkpoint(source, question, checkpoint, resume=resume)
    counts, dropped, within = _counted(source, keys, secrets, blocks, nulls, weights)
    if reason := undefined_reason(counts, secrets) or undefined_reason(counts, ()):
        raise UndefinedMeasureError(f"the Discrimination Rate is undefined: {reason}.")
    made = Made(
        records=counts.records,
        nulls=nulls,
        dropped=dropped,
        key=keys,
        sensitive=secrets,
        partitions={name: block.to_dict() for name, block in blocks.items()},
        weights=weights,
        version=__version__,
    )
    rates = _Rates(counts, secrets, within)
    place = {name: at for at, name in enumerate(keys)}
    subsets = _Walk(counts, keys, rates, largest, progress, kept).run(threads)
    if kept is not None:
        kept.remove()
    subsets.sort(key=lambda subset: (-subset.dr, len(subset.key), [place[name] for name in subset.key]))
    return Scan(tuple(subsets), _minimal(subsets, place), max_size, made)


def _counted(
    source: Source, keys: Sequence[str], secrets: Sequence[str], blocks: Mapping[str, Partition], nulls: str, weights: str | None
) -> tuple[Counts, int, float]:
    """Return the count table, the records dropped, and the sum of w log2 w over the records; the rows are let go."""
    table = tallied(source, [*keys, *secrets], nulls=nulls, weights=weights)
    within = 0.0 if table.mass is None or table.weights is None else float((table.mass * np.log2(table.weights)).sum())
    return count_table(table, blocks), table.dropped, within


def _checkpoint(
    source: Source, question: dict[str, Any], place: str | os.PathLike[str] | None, *, resume: bool
) -> Checkpoint | None:
    """Return the file that keeps what is done, if one is asked for; it fits the data as its file is now."""
    if place is None and not resume:
        return None
    data = Path(source.place)
    if data.is_file():
        found = data.stat()
        question = {**question, "file size": found.st_size, "file time": found.st_mtime_ns}
    return Checkpoint(Path(place) if place is not None else default_place(source.place), question, resume)


def _checked_size(attributes: int, max_size: int | None) -> int:
    if max_size is not None and max_size < 1:
        raise ArgumentError(f"max_size is the largest number of attributes taken together, so not {shown_number(max_size)}.")
    largest = attributes if max_size is None else min(max_size, attributes)
    number = _subsets_up_to(attributes, largest)
    if number > _MOST_SUBSETS:
        raise ArgumentError(
            f"{attributes} key attributes have {number:,} subsets of up to {largest}, more than {_MOST_SUBSETS:,}; "
            "name fewer, or give a smaller max_size."
        )
    return largest


def _subsets_up_to(attributes: int, largest: int) -> int:
    return sum(math.comb(attributes, size) for size in range(1, largest + 1))


def _minimal(subsets: Sequence[Subset], place: Mapping[str, int]) -> tuple[tuple[str, ...], ...]:
    """Return the identifiers of which no smaller subset identifies; those with one attribute less are enough to tell."""
    identifying = {frozenset(subset.key) for subset in subsets if subset.kind == "identifier"}
    minimal = [found for found in identifying if not any(found - {name} in identifying for name in found)]
    in_order = [tuple(sorted(found, key=place.__getitem__)) for found in minimal]
    return tuple(sorted(in_order, key=lambda key: (len(key), [place[name] for name in key])))


def _smallest_first(subsets: Sequence[Subset]) -> list[Subset]:
    """Leave out a combination that scores no higher than one within it: it adds nothing a person needs to see."""
    kept: list[Subset] = []
    for subset in subsets:
        if len(kept) == _SHOWN_ROWS:
            break
        names = set(subset.key)
        if not any(set(other.key) < names and other.dr >= subset.dr for other in kept):
            kept.append(subset)
    return kept


class _Rates:
    """Turns the sums of a refinement into rates and kinds."""

    def __init__(self, counts: Counts, secrets: Sequence[str], within: float) -> None:
        self.mass = float(counts.mass.sum())
        self.within = within  # the sum of w log2 w over the records
        self.identity_uncertainty = self.mass * math.log2(self.mass) - self.within
        self.secret_names = tuple(secrets)
        self.secret_entropy = entropy_bits(counts.classes(secrets).mass) if secrets else None
        self.all_single = _all_single(counts.records, self.within)

    def of(self, found: Refinement) -> tuple[float, IdentifierKind, float]:
        """Return rate and kind against the target, and the rate against record identity."""
        identity_kind = self._identity_kind(found)
        identity = self._rate((found.class_sum - self.within) / self.identity_uncertainty, identity_kind)
        if self.secret_entropy is None:
            return identity, identity_kind, identity
        kind = self._secret_kind(found)
        return self._rate(found.uncertainty / self.mass / self.secret_entropy, kind), kind, identity

    @staticmethod
    def _rate(uncertain: float, kind: IdentifierKind) -> float:
        if kind == "identifier":
            return 1.0
        return 0.0 if kind == "zero-identifier" else min(1.0, max(0.0, 1.0 - uncertain))

    @staticmethod
    def _identity_kind(found: Refinement) -> IdentifierKind:
        if found.classes == found.settled_single:
            return "identifier"
        if found.classes == 1:
            return "zero-identifier"
        return "partial-identifier" if found.settled_single else "sketchy-identifier"

    @staticmethod
    def _secret_kind(found: Refinement) -> IdentifierKind:
        if found.mixed == 0:
            return "identifier"
        if found.independent:
            return "zero-identifier"
        return "partial-identifier" if found.pure or found.settled_single or found.settled_multiple else "sketchy-identifier"


def _all_single(records: int, within: float) -> Refinement:
    """Return the classes of an identifier of records: one record each."""
    from unveil.counts.refine import Refinement

    nothing = np.empty(0, dtype=np.uint32)
    start = np.zeros(1, dtype=np.uint32)
    return Refinement(nothing, start, 0, records, within, within, 0.0, 0, 0, independent=False)


class _Walk:
    """Visits the subsets, in the order of their binary numbers."""

    def __init__(
        self,
        counts: Counts,
        keys: Sequence[str],
        rates: _Rates,
        largest: int,
        progress: Progress | None,
        kept: Checkpoint | None = None,
    ) -> None:
        self._order = _by_cost(counts, keys)
        self._place = [keys.index(name) for name in self._order]
        self._counts, self._rates, self._largest, self._progress, self._kept = counts, rates, largest, progress, kept
        self._total = _subsets_up_to(len(keys), largest)
        self._found: dict[int, _Figures] = {} if kept is None else kept.load(counts)
        self._identified = {mask for mask, figures in self._found.items() if figures[-1] == counts.records}
        self._known_below = _below_each(self._found)
        self._stop = threading.Event()

    def run(self, threads: int | None) -> list[Subset]:
        """Visit all subsets, with the threads asked for, or two where they help."""
        if threads is None:
            cost = len(self._counts) * self._total
            threads = 2 if cost > _THREADS_PAY and (os.cpu_count() or 1) > 1 else 1
        try:
            self._visit(threads)
        except BaseException:
            if self._kept is not None:
                self._kept.keep(self._found, now=True)
            raise
        self._report()
        return [self._subset(mask, *figures) for mask, figures in self._found.items()]

    def _visit(self, threads: int) -> None:
        cells = None
        with ThreadPoolExecutor(threads) as pool:
            for top in range(len(self._order)):
                if self._done(1 << top, top, 1):
                    continue
                if cells is None or len(self._order) <= _FEW:
                    cells = None  # let the last ones go before the next are made
                    cells = self._cells(top)
                if threads > 1:
                    self._share(top, cells, pool)
                    continue
                node = self._child(cells.whole(), top, cells)
                self._below(node, top, cells)

    def _cells(self, top: int) -> _Cells:
        """Return the cells that the subsets below a top attribute need; those of all where there are many attributes."""
        needed = self._order[: top + 1] if len(self._order) <= _FEW else self._order
        return _Cells.over(self._counts, needed, self._rates)

    def _share(self, top: int, cells: _Cells, pool: ThreadPoolExecutor) -> None:
        """Let the pool visit a top attribute and what lies below it, by the two attributes that follow."""
        node = pool.submit(self._child, cells.whole(), top, cells).result()
        if self._largest == 1:
            return
        waiting = {
            pool.submit(self._branch, node, second, third, cells)
            for second in range(top)
            for third in range(-1, second)
            if third < 0 or not self._done(node.mask | 1 << second | 1 << third, third, 3)
        }
        try:
            while waiting:
                done, waiting = wait(waiting, timeout=0.1, return_when=FIRST_EXCEPTION)
                for future in done:
                    future.result()
                self._report()
        except BaseException:
            self._stop.set()
            pool.shutdown(cancel_futures=True)
            raise

    def _branch(self, node: _Node, second: int, third: int, cells: _Cells) -> None:
        """Visit the node's subset with a second attribute, or (third >= 0) with two more and all that lies below them."""
        if third < 0 and node.mask | 1 << second in self._found:
            return
        node = self._child(node, second, cells)
        if third >= 0 and node.size < self._largest:
            node = self._child(node, third, cells)
            self._below(node, third, cells)

    def _below(self, parent: _Node, lowest: int, cells: _Cells) -> None:
        """Visit every subset that adds attributes numbered below `lowest` to the parent's."""
        if parent.size == self._largest:
            return
        for at in range(lowest):
            if self._stop.is_set():
                return
            if self._done(parent.mask | 1 << at, at, parent.size + 1):
                continue
            node = self._child(parent, at, cells)
            self._below(node, at, cells)

    def _child(self, parent: _Node, at: int, cells: _Cells) -> _Node:
        """Return the parent's subset with one attribute more; what is known to identify every record is not computed."""
        mask = parent.mask | 1 << at
        if self._contains_identifier(mask):
            self._identified.add(mask)
            split = self._rates.all_single
        else:
            split = cells.split(parent.split, at)
            if split.classes == split.settled_single:
                self._identified.add(mask)
        self._found[mask] = [*self._rates.of(split), split.classes]
        if not len(self._found) % 32:
            self._report()
        return _Node(split, mask, parent.size + 1)

    def _done(self, mask: int, lowest: int, size: int) -> bool:
        """Whether a checkpoint held a subset and all that lie below it."""
        return mask in self._known_below and self._known_below[mask] == 1 + _subsets_up_to(
            lowest, min(lowest, self._largest - size)
        )

    def _contains_identifier(self, mask: int) -> bool:
        """Whether one of the subsets with one attribute less identifies every record."""
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
        """Tell how far the walk is, and keep what is done, where a person may interrupt it: in the main thread."""
        if threading.current_thread() is not threading.main_thread():
            return
        if self._kept is not None:
            self._kept.keep(self._found)
        if self._progress is not None:
            self._progress(len(self._found), self._total)


def _by_cost(counts: Counts, keys: Sequence[str]) -> list[str]:
    """Return the attributes by how far each splits the cells, least first, so that most subsets begin with small classes."""
    spread = {}
    for column, codes in zip(counts.columns, counts.codes, strict=True):
        spread[column.name] = entropy_bits(np.bincount(codes, minlength=len(column.values)).astype(np.float64))
    return sorted(keys, key=spread.__getitem__)


def _below_each(found: Iterable[int]) -> dict[int, int]:
    """Count for every subset those found that lie below it on the walk, itself included."""
    below: dict[int, int] = {}
    for mask in found:
        above = mask
        while above:
            below[above] = below.get(above, 0) + 1
            above &= above - 1
    return below


class _Cells:
    """The cells that a part of the walk refines, by the attributes it can add."""

    def __init__(self, codes: Sequence[Any], sizes: Sequence[int], refiner: Refiner) -> None:
        self._codes, self._sizes, self._refiner = codes, sizes, refiner
        self._own = threading.local()

    @classmethod
    def over(cls, counts: Counts, attributes: Sequence[str], rates: _Rates) -> _Cells:
        """Sum all other attributes out, so that the walk meets as few cells as there can be."""
        from unveil.counts.refine import Refiner

        wanted = [*attributes, *rates.secret_names]
        part = counts if len(wanted) == len(counts.columns) else counts.over(wanted)
        hidden = part.classes(rates.secret_names) if rates.secret_names else None
        refiner = Refiner(
            part.n,
            part.weight,
            np.zeros(len(part), dtype=np.int64) if hidden is None else hidden.of_cell,
            np.array([part.records]) if hidden is None else hidden.n,
            max(len(column.values) for column in part.columns),
        )
        places = [part.names.index(name) for name in attributes]
        return cls([part.codes[at] for at in places], [len(part.columns[at].values) for at in places], refiner)

    def whole(self) -> _Node:
        """Return the empty subset: one class of all records."""
        return _Node(self._refiner.whole(), 0, 0)

    def split(self, classes: Refinement, at: int) -> Refinement:
        """Split classes by one attribute."""
        if not hasattr(self._own, "workspace"):
            self._own.workspace = self._refiner.workspace()
        return self._refiner.split(classes, self._codes[at], self._sizes[at], self._own.workspace)


@dataclass(frozen=True, slots=True)
class _Node:
    """A subset on the walk: its classes, its binary number and its size."""

    split: Refinement
    mask: int
    size: int


def _bits(mask: int) -> list[int]:
    """Return the positions of the ones of a binary number."""
    found = []
    while mask:
        found.append((mask & -mask).bit_length() - 1)
        mask &= mask - 1
    return found
