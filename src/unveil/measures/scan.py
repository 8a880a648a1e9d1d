"""Which attributes, alone or together, single people out? The Discrimination Rate of every subset of the key attributes.

Subsets are visited so that every subset comes before its supersets: attributes are numbered, a subset is a binary number,
and the walk goes up through the numbers, each subset refining the classes of the one without its lowest attribute. So a
superset of a known identifier is never computed, and at most one refinement per level is held in memory. The attribute that
splits the cells furthest gets the highest number, so that half of all subsets begin with classes that are already small. Subsets
below another on the walk only add lower numbers; attributes in between that it lacks are summed out, so there are fewer cells on
the way down.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unveil import __version__
from unveil.arguments import checked_arguments, checked_count
from unveil.attributes import Names, in_line, names_of, sides_of
from unveil.counts import Counts, count_table, largest_subsets
from unveil.errors import UndefinedMeasureError
from unveil.formats import RATE_OF_RECORDS, counted, jsonable
from unveil.measures.entropy import undefined_reason
from unveil.measures.scan_checkpoint import ScanCheckpoint, default_place
from unveil.measures.subset_walk import Rates, Subset, Walk
from unveil.results import Figure, Provenance, Result, Table, View
from unveil.run import Progress, in_run
from unveil.sources import Data
from unveil.study import Study, checked_partitions, studied

__all__ = ["Scan", "Subset", "scan", "scan_study"]


_SHOWN_ROWS = 20
_MOST_THREADS = 1024


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Scan(Result):
    """The Discrimination Rate of every subset of the key attributes, riskiest first.

    Attributes
    ----------
    subsets
        One entry per subset, by falling rate, then by size.
    minimal_identifiers
        The identifiers of which no smaller subset is an identifier.
    max_size
        The size of the largest subsets measured; None for all.
    made
        How the result was made.
    """

    subsets: tuple[Subset, ...]
    minimal_identifiers: tuple[tuple[str, ...], ...]
    max_size: int | None
    made: Provenance

    def __repr__(self) -> str:
        """Return one line: the number of subsets and of minimal identifiers."""
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
        """Return the displayed tables: single attributes, the riskiest combinations, the minimal identifiers."""
        singles = [subset for subset in self.subsets if len(subset.key) == 1]
        several = [subset for subset in self.subsets if len(subset.key) > 1]
        more = len(singles) - _SHOWN_ROWS
        note = f"and {more:,} more (the whole answer has all)" if more > 0 else ""
        tables = [self._table("Attributes, riskiest first", singles[:_SHOWN_ROWS], note)]
        if several:
            shown = _smallest_first(several)
            note = f"of {len(several):,}, without those that a smaller one within equals; the whole answer has all"
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
            minimal = "; ".join(" + ".join(key) for key in self.minimal_identifiers[:5])
            more = len(self.minimal_identifiers) - 5
            notes.append(f"Minimal identifiers: {minimal}{f'; and {more:,} more' if more > 0 else ''}.")
        else:
            notes.append(
                f"No subset{f' of up to {self.max_size} attributes' if self.max_size else ''} determines {self._target()}."
            )
        if self.made.person is not None:
            notes.append(RATE_OF_RECORDS)
        if self.made.sensitive:
            notes.append(
                "The rate rises with the number of classes even by chance; a single rate, unlike a scan, is adjusted for it."
            )
        if self.made.dropped:
            notes.append(f"{counted(self.made.dropped, 'record')} with a null in a named column left out (nulls='drop').")
        return tuple(notes)

    def _target(self) -> str:
        return in_line(self.made.sensitive, " + ") or "record identity"


@checked_arguments
@in_run
def scan(  # noqa: PLR0913 - what to measure, and how to go about it
    data: Data,
    key: Names | None = None,
    sensitive: Names | None = None,
    *,
    max_size: int | None = None,
    partitions: Mapping[str, Any] | None = None,
    nulls: str | None = None,
    weights: str | None = None,
    threads: int | None = None,
    progress: Progress | None = None,  # noqa: ARG001 - `in_run` takes it
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
) -> Scan:
    """Measure the Discrimination Rate of every subset of the key attributes.

    Parameters
    ----------
    data
        A path, the name of a built-in data set, any data frame narwhals knows, a table in an engine, counts, a `Study` or a
        project file. Never changed.
    key
        The key attributes; none: those of the study or project, else every column that is not sensitive and that
        no study names as identifier, weight, person or household.
    sensitive
        The attribute whose disclosure is measured; none: that of the study or project, else the identity of the record.
        Against a named attribute the rate against record identity is given as well.
    max_size
        The size of the largest subsets to measure; none: all, up to about a million subsets.
    partitions, nulls, weights
        As in `discrimination_rate`. With nulls="drop" a record with a null in any of the columns is left out of all subsets,
        so that they stay comparable.
    threads
        How many threads to use; none: two if they help.
    progress
        A run, or a function called with the name of a stage ("subsets"), the steps done and their total number.
    checkpoint
        A file that keeps the subsets done, every few seconds, so that a scan that was stopped can be continued; removed at the
        end.
    resume
        Whether to continue from the checkpoint, if it exists; if none is named, from the one beside the data's file. A
        checkpoint that was made for other data, or another question, is refused.

    Returns
    -------
    Scan
        The subsets, riskiest first, and the minimal identifiers.

    Examples
    --------
    >>> import unveil
    >>> scan = unveil.scan("paper-4", key=["ZIP", "Age", "Salary"], sensitive="Disease")
    >>> scan
    Scan(7 subsets -> Disease: 2 minimal identifiers)
    >>> scan.minimal_identifiers
    (('Salary',), ('ZIP', 'Age'))
    """
    with studied(data, key=key, sensitive=sensitive, partitions=partitions, nulls=nulls, weights=weights) as study:
        hidden = sensitive if sensitive is not None else study.roles.one_sensitive() or None
        left_out = {*names_of(hidden), *study.roles.apart}
        keys, sensitive_names = sides_of(study.key or [name for name in study.names if name not in left_out], hidden)
        checked_partitions(partitions, (*keys, *sensitive_names))
        subject = study.changed(key=keys, sensitive=sensitive_names)
        largest = largest_subsets(len(keys), max_size)
        if threads is not None:
            checked_count("threads", threads, least=1, most=_MOST_THREADS)
        kept = _checkpoint(subject, max_size, checkpoint, resume=resume)
        return scanned(subject, max_size, _Way(largest, threads, kept))


@dataclass(frozen=True, slots=True)
class _Way:
    """The settings of a scan: the largest subsets, the threads, and the checkpoint."""

    largest: int
    threads: int | None = None
    kept: ScanCheckpoint | None = None


def scan_study(study: Study, max_size: int | None) -> Scan:
    """Scan the key attributes of a study against its sensitive attribute, or record identity."""
    return scanned(study, max_size, _Way(largest_subsets(len(study.key), max_size)))


def scanned(study: Study, max_size: int | None, way: _Way) -> Scan:
    """Measure every subset of a study's key attributes, up to the size stated."""
    keys, sensitive = study.key, study.sensitive
    counts, dropped, within = _counted(study)
    if reason := undefined_reason(counts, sensitive) or undefined_reason(counts, ()):
        raise UndefinedMeasureError(f"the Discrimination Rate is undefined: {reason}.")
    made = Provenance(
        records=counts.records,
        nulls=study.policy,
        dropped=dropped,
        key=keys,
        sensitive=sensitive,
        partitions={name: block.to_dict() for name, block in study.blocks((*keys, *sensitive)).items()},
        weights=study.weights,
        person=study.person,
        version=__version__,
    )
    place = {name: at for at, name in enumerate(keys)}
    subsets = Walk(counts, keys, Rates(counts, sensitive, within), way.largest, way.kept).run(way.threads)
    if way.kept is not None:
        way.kept.remove()
    subsets.sort(key=lambda subset: (-subset.dr, len(subset.key), [place[name] for name in subset.key]))
    return Scan(tuple(subsets), _minimal(subsets, place), max_size, made)


def _counted(study: Study) -> tuple[Counts, int, float]:
    """Return the count table, the records dropped, and the sum of w log2 w over the records."""
    columns = [*study.key, *study.sensitive]
    blocks = study.blocks(columns)
    table = study.table(columns, weights=study.weights)
    if table.weights is None or table.mass is None:
        return study.counts(columns, partitions=blocks), table.dropped, 0.0
    return count_table(table, blocks), table.dropped, float((table.mass * np.log2(table.weights)).sum())


def _checkpoint(
    study: Study, max_size: int | None, place: str | os.PathLike[str] | None, *, resume: bool
) -> ScanCheckpoint | None:
    """Return the checkpoint file, if one is requested, tied to the question and to the current state of the data's file."""
    if place is None and not resume:
        return None
    question: dict[str, Any] = {"key": list(study.key), "sensitive": list(study.sensitive), "max_size": max_size}
    blocks = study.blocks((*study.key, *study.sensitive))
    question |= {"nulls": study.policy, "weights": study.weights}
    question |= {"partitions": jsonable({name: block.to_dict() for name, block in blocks.items()}), "version": __version__}
    data = Path(study.place)
    if data.is_file():
        status = data.stat()
        question |= {"file size": status.st_size, "file time": status.st_mtime_ns}
    return ScanCheckpoint(Path(place) if place is not None else default_place(study.place), question, resume)


def _minimal(subsets: Sequence[Subset], place: Mapping[str, int]) -> tuple[tuple[str, ...], ...]:
    """Return the identifiers of which no smaller subset is one; it is enough to check the subsets with one attribute fewer."""
    identifying = {frozenset(subset.key) for subset in subsets if subset.kind == "identifier"}
    minimal = [members for members in identifying if not any(members - {name} in identifying for name in members)]
    in_order = [tuple(sorted(members, key=place.__getitem__)) for members in minimal]
    return tuple(sorted(in_order, key=lambda key: (len(key), [place[name] for name in key])))


def _smallest_first(subsets: Sequence[Subset]) -> list[Subset]:
    """Leave out combinations that score no higher than one of their subsets, because they add no information for the reader."""
    kept: list[Subset] = []
    for subset in subsets:
        if len(kept) == _SHOWN_ROWS:
            break
        names = set(subset.key)
        if not any(set(other.key) < names and other.dr >= subset.dr for other in kept):
            kept.append(subset)
    return kept
