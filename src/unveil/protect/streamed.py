"""Generalisation of records that are never in memory as a whole: rewritten batch by batch, or by the engine that holds them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.counts import Counts
from unveil.errors import CountsError, DataChangedError
from unveil.measures import SUPPRESSED
from unveil.randomness import Chance
from unveil.releases import ReleaseRecords, Unwritten, WrittenFile, WrittenTable
from unveil.run import active_run
from unveil.search import Choice, recoded
from unveil.sources import (
    BatchedRecords,
    Changed,
    EngineRecoding,
    KnownValues,
    TallySource,
    as_counted,
    complete,
    hashed,
    labelled,
    rewrite,
)
from unveil.study import count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.protect.anonymize import Options
    from unveil.protect.destination import Destination
    from unveil.sources import Tally, Write

__all__ = ["rewritten"]

_WORD = 1 << 64


def rewritten(choice: Choice, to: Destination, write: Write | None, options: Options, chance: Chance) -> ReleaseRecords:
    """Generalise records where they are, to a file or, if the engine's writer is passed, to a table; return what was written.

    If the records are no longer the counted ones, they are refused, and nothing is written.
    """
    stream = choice.request.table
    if not isinstance(stream, BatchedRecords):
        raise TypeError("records that stream are required")
    records = replace(stream.without(list(options.screen.left_out)), records=choice.lattice.space.records)
    if to.out is None:
        return Unwritten(records.names, records.records)
    if write is not None:
        with active_run().stage("rewriting by the engine"):
            return WrittenTable(*write(_recoding(choice, records.names, options)))
    place = str(to.out)
    number = rewrite(
        records,
        _Change(choice, drop=options.nulls == "drop"),
        place,
        link=None if to.link is None else str(to.link),
        order=None if options.keep_order else _order(records, choice, options, chance),
        spreadsheet_safe=to.spreadsheet_safe,
    )
    return WrittenFile(place, records.names, number)


def _order(records: BatchedRecords, choice: Choice, options: Options, chance: Chance) -> np.random.Generator:
    """Return the generator of the shuffling; with a key file, it depends on the settings, the data and the entire treatment.

    Two releases of the same data that differ only in labels must not have the same order: it would link their records.
    """
    if not chance.keyed:
        return chance.draws("row order")
    attributes = choice.lattice.space.attributes
    levels = [(one.name, one.levels.labels, one.lowest) for one in attributes]
    groups = [group.tolist() for one in attributes for group in one.levels.groups]
    recoding = repr((levels, groups, choice.node, choice.gone.tolist())).encode(errors="surrogatepass")
    return chance.draws("row order", options.settings(), records.fingerprint() + hashlib.sha256(recoding).digest())


class _Change:
    """The treatment: it generalises keys, suppresses classes, drops nulls on request, and checks records against the counts."""

    def __init__(self, choice: Choice, *, drop: bool) -> None:
        self._choice, self._request, self._drop = choice, choice.request, drop
        self._changed = choice.changed()
        self._known = {column.name: KnownValues(column.name, column.values) for column in self._request.cells.columns}
        self._sum = 0

    def begin(self) -> None:
        self._sum = 0

    def batch(self, frame: Any) -> tuple[Any, NDArray[np.int64]]:
        rows = np.arange(frame.height)
        if self._drop:
            rows = np.flatnonzero(complete(frame, list(self._known)))
            frame = frame[rows]
        codes = {name: known.codes(frame[name]) for name, known in self._known.items()}
        self._sum = (self._sum + _mixed(list(codes.values()))) % _WORD
        what = self._choice.applied([codes[name] for name in self._request.keys])
        columns = {name: as_counted(frame[name]) for name in frame.columns}
        columns |= {name: known.in_one_form(frame[name]) for name, known in self._known.items() if name in columns}
        for name in self._changed:
            columns[name] = labelled(name, what.labels[name], what.codes[name])
        return type(frame)(columns), rows

    def end(self) -> None:
        counts = self._request.cells
        if self._sum != _mixed(counts.codes, counts.n):
            raise DataChangedError.of_counts(self._request.table.place)


def _mixed(codes: Sequence[NDArray[Any]], n: NDArray[np.int64] | None = None) -> int:
    """Return a sum of hashes of coded records, which does not depend on their order or on their batches."""
    hashes = hashed(codes)
    return int((hashes if n is None else hashes * n.astype(np.uint64)).sum(dtype=np.uint64))


def _recoding(choice: Choice, names: tuple[str, ...], options: Options) -> EngineRecoding:
    """Return the recoding by which an engine rewrites the records itself, and by which the result is checked."""
    request, space = choice.request, choice.lattice.space
    counts, place = request.cells, request.table.place
    wanted = set(choice.changed())
    changed = tuple(
        Changed(one.name, request.values(one.name), one.levels.groups[level], one.levels.labels[level])
        for one, level in zip(space.attributes, choice.levels, strict=True)
        if one.name in wanted
    )
    lost = np.flatnonzero(choice.gone)
    gone = np.column_stack([choice.classes.codes(field, lost) for field in space.fields])
    what = choice.applied([request.codes(name) for name in request.keys])
    written = replace(counts, nulls="category", dropped=0)  # a release holds what was counted, so nothing is left out of it
    expected = recoded(written, replace(what, labels={column.name: what.labels[column.name] for column in changed}))

    def check(tally: Tally) -> int:
        if tally.frame.is_empty() or not _same(count(TallySource(place, tally), counts.names), expected):
            raise DataChangedError.of_counts(place)
        return expected.records

    complete = counts.names if options.nulls == "drop" else ()
    return EngineRecoding(names, changed, gone, SUPPRESSED, complete, not options.keep_order, counts.names, check)


def _same(counts: Counts, expected: Counts) -> bool:
    """Whether two count tables are equal, regardless of the order of their values."""
    try:
        return counts.records == expected.records and not len(expected - counts)
    except CountsError:
        return False
