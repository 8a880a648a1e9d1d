"""The measures of the records that came last: a window over a stream, exact at every moment.

How the stream is cut into batches never matters: the figures of a window are those of its records, counted in integers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from unveil.arguments import checked_arguments, checked_count, checked_word
from unveil.attributes import Names, checked_nulls, names_of, sides_of
from unveil.counts import Counts
from unveil.counts.expiry import ByNumber, ByTime, Expiry, Never
from unveil.counts.window import LARGEST_TABLE, MovingCounts
from unveil.errors import ArgumentError, UndefinedMeasureError, shown
from unveil.measures.discrimination import checked_partitions
from unveil.measures.kinds import IdentifierKind
from unveil.partitions import Partition
from unveil.project import Need
from unveil.sources import Data
from unveil.sources.objects import column_of_objects
from unveil.sources.streams.base import text_of_value
from unveil.stream.derived import Derived
from unveil.stream.fields import Fields
from unveil.stream.figures import KeyFigures, KeySet, NeedFigure, NeedSet, WindowFigures, key_figures, need_figure, riskiest
from unveil.stream.reading import Reader, Reading
from unveil.stream.times import Duration, as_text, duration_of, shown_moment

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Window"]

_BEGINNING = np.iinfo(np.int64).min // 4
_MOST_RECORDS = 10**9
_TIDY_EVERY = 1 << 16
"""Records after which a window looks whether there is much to forget."""


class Window:
    """A window over a stream of records: what the records in it disclose, and what they are good for, at every moment.

    Parameters
    ----------
    key
        The columns that an intruder may know; a list of lists is several keys, measured at once.
    sensitive
        The column to protect; none: the identity of the record, or of the person.
    size, duration
        The last so many records, or the records of the last so many seconds ("1h", a `timedelta`); neither: all since the start.
    time
        The column of the records' own times, which a duration needs.
    lateness
        How much earlier than the latest record another may be and still be counted: the window ends this much before the latest.
    late
        What becomes of a record that is later still: "drop" leaves it out, "add" counts it from then on; `late` counts both.
    every
        After how many records, or how much time, `feed` gives figures.
    person
        A column that names persons, who may occur often: figures then count persons, not records.
    partitions, derived
        Semantic partitions by column, and columns made from others (`GridCell`, `Hours`, ...).
    needs
        Uses that the records are to serve, measured beside the rate.
    nulls
        "category", "drop" or "error".
    limit
        The most combinations of values to hold.

    Examples
    --------
    >>> import polars as pl
    >>> window = Window("zip", "disease", size=3)
    >>> batch = pl.DataFrame({"zip": [1, 1, 2, 2], "disease": ["flu", "cold", "flu", "cold"]})
    >>> window.update(batch)
    Window(zip -> disease, last 3 records: 3 records)
    >>> round(window.rate, 4), window.kind, window.k, window.uniques
    (0.274, 'partial-identifier', 1, 1)
    """

    @checked_arguments
    def __init__(  # noqa: PLR0913 - what a window is
        self,
        key: Names | Sequence[Sequence[str]],
        sensitive: Names | None = None,
        *,
        size: int | None = None,
        duration: Duration | None = None,
        time: str | None = None,
        lateness: Duration = 0,
        late: Literal["drop", "add"] = "drop",
        every: int | Duration | None = None,
        person: str | None = None,
        partitions: Mapping[str, Any] | None = None,
        derived: Mapping[str, Derived] | None = None,
        needs: Need | Sequence[Need] = (),
        nulls: str = "category",
        limit: int = LARGEST_TABLE,
        strict: bool = True,
    ) -> None:
        checked_word("late", late, ("drop", "add"))
        self._late_rule, self._timed = late, time is not None
        self._size = None if size is None else checked_count("size", size, least=1, most=_MOST_RECORDS)
        self._duration = None if duration is None else duration_of("duration", duration)
        self._lateness = duration_of("lateness", lateness)
        self._every = self._checked_every(every)
        self._check_extent(time)
        fields = Fields()
        self._sets = self._key_sets(fields, key, sensitive, person, partitions)
        self._needs = [_need_set(fields, need) for need in ([needs] if isinstance(needs, Need) else needs)]
        self._reader = Reader(fields.all, time, dict(derived or {}), checked_nulls(nulls), strict)
        ranks = {one.label: one.rank for one in fields.all if one.partition is not None}
        counts = MovingCounts([one.label for one in fields.all], limit=checked_count("limit", limit, least=1), ranks=ranks)
        self._expiry: Expiry = self._expiring(counts)
        self._waiting: list[tuple[NDArray[np.int64], NDArray[np.uint32]]] = []
        self._latest = self._end = self._began = _BEGINNING
        self._untidy = self._shown = self.seen = 0
        self._silent = True
        self.counters = {"dropped": 0, "outside": 0, "timeless": 0, "late": 0}
        self._table: Counts | None = None

    # What it holds ------------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        """Return one line."""
        key = "; ".join(" + ".join(one.names) for one in self._sets)
        first = self._sets[0]
        target = " + ".join(first.sensitive).replace("\x00", "") or ("persons" if first.person else "record identity")
        return f"Window({key} -> {target}, {self.extent}: {self.records:,} records)"

    @property
    def extent(self) -> str:
        """Which records it holds, in words."""
        if self._size is not None:
            return f"last {self._size:,} records"
        return "all since the start" if self._duration is None else f"last {as_text(self._duration)}"

    @property
    def records(self) -> int:
        """The records that it holds."""
        return self._expiry.records

    @property
    def full(self) -> bool:
        """Whether it has reached its extent once; figures before that are those of fewer records."""
        if self._size is not None:
            return self.seen >= self._size
        return self._duration is None or self._end - self._began >= self._duration

    @property
    def late(self) -> int:
        """The records that came too late."""
        return self.counters["late"]

    @property
    def columns(self) -> list[str]:
        """The columns that records must have."""
        return self._reader.columns

    def counts(self) -> Counts:
        """Return the joint count table of the records that it holds; names may differ where a column has two partitions."""
        if self._table is None:
            self._table = self._expiry.counts.table()
        return self._table

    @property
    def rate(self) -> float:
        """The Discrimination Rate of the (first) key; undefined where there is nothing to disclose."""
        first = self._first()
        if first.dr is None:
            raise UndefinedMeasureError(first.reason)
        return first.dr

    @property
    def kind(self) -> IdentifierKind:
        """The kind of identifier that the (first) key is."""
        first = self._first()
        if first.kind is None:
            raise UndefinedMeasureError(first.reason)
        return first.kind

    @property
    def k(self) -> int:
        """The records, or persons, of the smallest class of the (first) key."""
        return self._first().k

    @property
    def uniques(self) -> int:
        """The classes of one record, or person, of the (first) key."""
        return self._first().uniques

    @property
    def needs(self) -> dict[str, NeedFigure]:
        """How far the records serve each need."""
        counts = self.counts()
        return {one.need.name: need_figure(counts, one) for one in self._needs}

    @property
    def keys(self) -> tuple[KeyFigures, ...]:
        """What each key discloses."""
        counts = self.counts()
        return tuple(key_figures(counts, one) for one in self._sets)

    def riskiest(self, most: int = 5) -> list[dict[str, Any]]:
        """Return the classes of the first key that disclose most, masked as reports are."""
        return riskiest(self.counts(), self._sets[0], most) if self.records else []

    def frame(self) -> pl.DataFrame:
        """Return the records that it holds as a table of the columns measured, in no particular order."""
        counts = self.counts()
        kept = {column.name: column.values for column in counts.columns if "\x00" not in column.name}
        codes = dict(zip(counts.names, counts.codes, strict=True))
        return pl.DataFrame(
            {name: column_of_objects(name, values).gather(np.repeat(codes[name], counts.n)) for name, values in kept.items()}
        )

    def figures(self) -> WindowFigures:
        """Return all figures of this moment."""
        counters = {name: number for name, number in self.counters.items() if number}
        if not self.records:
            return WindowFigures(self._shown, *self._reach(), 0, (), {}, counters)
        return WindowFigures(self._shown, *self._reach(), self.records, self.keys, self.needs, counters)

    def _first(self) -> KeyFigures:
        return key_figures(self.counts(), self._sets[0])

    def _reach(self) -> tuple[Any, Any]:
        if not self._timed:
            return max(self.seen - self.records + 1, 1) if self._size is not None else min(self.seen, 1), self.seen
        if self._end == _BEGINNING:
            return None, None
        return None if self._duration is None else shown_moment(self._end - self._duration), shown_moment(self._end)

    # How it moves -------------------------------------------------------------------------------------------------------

    @checked_arguments
    def update(self, batch: Data) -> Window:
        """Let the records of a batch in, and those out that are too old then; return the window.

        Parameters
        ----------
        batch
            A data frame of any library, or anything else that is data; one that cannot be counted is refused whole.
        """
        self._enter(self._reader.read(batch))
        if self._timed and self._latest > _BEGINNING:
            self._advance(max(self._latest - self._lateness + 1, self._end))
        self._tidy()
        return self

    def feed(self, batch: Data) -> Iterator[WindowFigures]:
        """Let the records of a batch in step by step, and give the figures whenever `every` says so."""
        if self._every is None:
            raise ArgumentError("when are figures due? Say so with every=, in records or as a duration.")
        reading = self._reader.read(batch)
        if not self._timed:
            yield from self._feed_by_number(reading, self._every)
            return
        yield from self._feed_by_time(reading)
        self._tidy()

    def finish(self) -> WindowFigures | None:
        """Let in what still waits, as if the stream had ended, and return the last figures; None where nothing is new."""
        if self._timed and self._latest > _BEGINNING:
            if self._end > self._latest:
                return None
            self._advance(self._latest + 1)
        elif not self._timed and self._every is not None and self.seen % self._every == 0 and self.full:
            return None
        if not self.seen:
            return None
        self._shown += 1
        return replace(self.figures(), partial=True)

    @checked_arguments
    def revert(self, batch: Data) -> Window:
        """Take the records of a batch out again, the latest of those that look alike; return the window.

        All must be in the window. Records that had left it when the batch came do not come back.
        """
        places = self._expiry.counts.places_of(self._reader.read(batch).columns)
        self._expiry.take_out(places)
        self.seen -= len(places)
        self._table = None
        return self

    def _enter(self, reading: Reading) -> None:
        """Let records in, a piece at a time, or, where the time matters, keep them until the window reaches them."""
        codes = self._coded(reading)
        if reading.times is not None:
            self._keep(reading.times, codes)
            return
        for start in range(0, len(codes), _TIDY_EVERY):
            self._let_in(codes[start : start + _TIDY_EVERY])
            self._tidy([codes])
        self.seen += len(codes)

    def _coded(self, reading: Reading) -> NDArray[np.uint32]:
        """Count what was left out, and return the codes of the rest."""
        for name, number in (("dropped", reading.dropped), ("outside", reading.outside), ("timeless", reading.timeless)):
            self.counters[name] += number
        counts = self._expiry.counts
        columns = reading.columns
        for name in counts.in_other_type(columns):
            at = counts.names.index(name)
            if not isinstance(next(value for value in columns[at].values if value is not None), str):
                texts = [text_of_value(value) for value in columns[at].values]
                columns[at] = replace(columns[at], values=tuple(texts))
            else:
                self._expiry.renumber(counts.as_text(name, [codes for _, codes in self._waiting]))
        return counts.coded(columns)

    def _keep(self, times: NDArray[np.int64], codes: NDArray[np.uint32]) -> None:
        """Sort out what is late, each record by those before it, and keep the rest until it is reached."""
        if not len(times):
            return
        self._untidy += len(times)
        before = np.maximum.accumulate(np.concatenate([[self._latest], times]))[:-1]
        late = times < self._closed(before - self._lateness)
        if self._end == _BEGINNING and self._every is not None:  # the clock starts with the first record
            self._end = int(self._closed(times[:1] - self._lateness)[0])
        if self._began == _BEGINNING:
            self._began = int(times[0])
        self._latest = max(self._latest, int(times.max()))
        if late.any():
            self.counters["late"] += int(np.count_nonzero(late))
            if self._late_rule == "add":
                late &= times < (self._end - (self._duration or -2 * _BEGINNING))
            times, codes = times[~late], np.ascontiguousarray(codes[~late])
        self.seen += len(times)
        if len(times):
            self._waiting.append((times, codes))

    def _closed(self, watermark: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return up to when no more records are let in: the last time at which figures were due, or the watermark itself."""
        return watermark if self._every is None else watermark // self._every * self._every

    def _advance(self, end: int) -> None:
        """Let the window end just before a time."""
        rest = []
        for times, codes in self._waiting:
            due = times < end
            if due.any():
                self._let_in(np.ascontiguousarray(codes[due]), times[due])
            if not due.all():
                rest.append((times[~due], np.ascontiguousarray(codes[~due])))
        self._waiting, self._end, self._table = rest, end, None
        if isinstance(self._expiry, ByTime):
            self._expiry.reach(end)

    def _let_in(self, codes: NDArray[np.uint32], times: NDArray[np.int64] | None = None) -> None:
        self._table = None
        self._untidy += len(codes)
        if isinstance(self._expiry, ByTime):
            self._expiry.add(codes, times)
        else:
            self._expiry.add(codes)

    def _feed_by_number(self, reading: Reading, every: int) -> Iterator[WindowFigures]:
        codes = self._coded(reading)
        at = 0
        while at < len(codes):
            step = min(every - self.seen % every, len(codes) - at)
            self._let_in(codes[at : at + step])
            self.seen += step
            at += step
            if self.seen % every == 0:
                self._shown += 1
                yield self.figures()
            self._tidy([codes])

    def _feed_by_time(self, reading: Reading) -> Iterator[WindowFigures]:
        """Keep records up to the one that makes figures due, give these, and go on: as if records came one by one."""
        codes, times = self._coded(reading), reading.times
        if times is None or not len(times):
            return
        closed = self._closed(np.maximum.accumulate(np.concatenate([[self._latest], times])) - self._lateness)
        starts = [0, *(np.flatnonzero(np.diff(closed)) + 1).tolist(), len(times)]
        for start, stop in pairwise(starts):
            self._keep(times[start:stop], codes[start:stop])
            while (end := self._end + (self._every or 1)) <= self._latest - self._lateness:
                self._advance(end)
                if self.records or not self._silent:
                    self._shown += 1
                    yield self.figures()
                self._silent = not self.records
                self._skip_silence()

    def _skip_silence(self) -> None:
        """Pass over steps at which the window is empty: a stream may rest for a year."""
        if self.records or not self._waiting:
            return
        every = self._every or 1
        first = min(int(times.min()) for times, _ in self._waiting)
        self._end = max(self._end, min(first, self._latest - self._lateness) // every * every)

    def _tidy(self, waiting: Sequence[NDArray[np.uint32]] = ()) -> None:
        if self._untidy >= _TIDY_EVERY:
            self._untidy = 0
            if self._expiry.counts.is_full_of_old():
                kept = [*waiting, *(codes for _, codes in self._waiting)]
                self._expiry.renumber(self._expiry.counts.forget(kept))

    # What a checkpoint keeps --------------------------------------------------------------------------------------------

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return all that is needed to go on: a document, and arrays."""
        values, arrays = self._expiry.counts.state()
        times = [times for times, _ in self._waiting] or [np.empty(0, dtype=np.int64)]
        codes = [codes for _, codes in self._waiting] or [np.empty((0, len(values)), dtype=np.uint32)]
        arrays |= self._expiry.state() | {"waiting_times": np.concatenate(times), "waiting_codes": np.concatenate(codes)}
        examples = [[[label, value] for label, value in one.example.items()] for one in self._reader.fields]
        position = {
            "latest": self._latest,
            "end": self._end,
            "began": self._began,
            "seen": self.seen,
            "shown": self._shown,
            "silent": self._silent,
        }
        return {"values": values, "examples": examples, "counters": self.counters, **position}, arrays

    def restore(self, document: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Put back what `state` gave."""
        self._expiry.counts.restore(document["values"], arrays)
        self._expiry.restore(arrays)
        for one, examples in zip(self._reader.fields, document["examples"], strict=True):
            one.example.update((label, value) for label, value in examples)
        self._waiting = [(arrays["waiting_times"], arrays["waiting_codes"])] if len(arrays["waiting_times"]) else []
        self._latest, self._end, self._began = (int(document[name]) for name in ("latest", "end", "began"))
        self.seen, self._shown, self.counters = int(document["seen"]), int(document["shown"]), dict(document["counters"])
        self._silent, self._table = bool(document["silent"]), None

    # How it is made -----------------------------------------------------------------------------------------------------

    def _checked_every(self, every: int | Duration | None) -> int | None:
        if every is None:
            return None
        if self._timed:
            step = duration_of("every", every)
            if step <= 0:
                raise ArgumentError("every must be a duration above 0.")
            return step
        if not isinstance(every, int):
            raise ArgumentError("every is a duration, which needs the records' own times; name their column with time=.")
        return checked_count("every", every, least=1)

    def _check_extent(self, time: str | None) -> None:
        if self._size is not None and (self._duration is not None or time is not None):
            raise ArgumentError("a window has a size in records, or a duration and a column of times; give one of them.")
        if self._duration is not None and (self._duration <= 0 or time is None):
            raise ArgumentError("a duration is above 0 and needs the records' own times; name their column with time=.")
        if self._lateness and time is None:
            raise ArgumentError("lateness is about the records' own times; name their column with time=.")

    def _key_sets(
        self, fields: Fields, key: Any, sensitive: Names | None, person: str | None, partitions: Mapping[str, Any] | None
    ) -> list[KeySet]:
        several = not isinstance(key, str) and any(not isinstance(one, str) for one in key)
        sides = [sides_of(names_of(one), sensitive) for one in (key if several else [key])]
        everything = [name for keys, secrets in sides for name in (*keys, *secrets)]
        blocks: dict[str, Partition] = checked_partitions(partitions, everything)
        if person is not None and person in everything:
            raise ArgumentError(f"column {shown(person)} names persons, so it is neither key nor sensitive.")
        sets = []
        for keys, secrets in sides:
            of_person = None if person is None else fields.label(person, None)
            sets.append(KeySet(keys, fields.labels(keys, blocks), fields.labels(secrets, blocks), of_person))
        return sets

    def _expiring(self, counts: MovingCounts) -> Expiry:
        if self._size is not None:
            return ByNumber(counts, self._size)
        return Never(counts) if self._duration is None else ByTime(counts, self._duration)


def _need_set(fields: Fields, need: Need) -> NeedSet:
    given = fields.labels(need.given, need.partitions)
    return NeedSet(need, given, fields.label(need.target, need.partitions.get(need.target)))
