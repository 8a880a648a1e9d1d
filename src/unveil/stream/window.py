"""The window over a stream, with measures of the latest records at every moment, exact up to a limit.

The split of the stream into batches never matters: the figures of a window are those of its records, counted in integers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from unveil.arguments import checked_arguments, checked_count
from unveil.attributes import Names, checked_nulls
from unveil.counts import LARGEST_TABLE, ByTime, Counts, MovingCounts, hold_to_limit
from unveil.errors import ArgumentError
from unveil.measures import IdentifierKind
from unveil.project import Need
from unveil.sources import Data
from unveil.stream.derived_columns import Derived
from unveil.stream.fields import Fields
from unveil.stream.figures import KeyFigures, NeedFigure, RiskyClass, WindowFigures
from unveil.stream.measuring import Measures
from unveil.stream.pieces import PIECE, telling
from unveil.stream.reading import Reader, Reading, codes_for
from unveil.stream.settings import check_extent, checked_step, expiry_of, key_sets, need_sets, sampling
from unveil.stream.times import Duration, as_text, duration_of, shown_moment
from unveil.stream.waiting import Part, Waiting

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Window"]

_BEGINNING = np.iinfo(np.int64).min // 4
_MOST_RECORDS = 10**9


class Window:
    """A window over a stream of records, which measures what they disclose and what they are good for.

    Parameters
    ----------
    key
        The columns that an intruder may know; a list of lists stands for several keys, measured at once.
    sensitive
        The column to protect; by default the identity of the record, or of the person.
    size, duration
        The last N records, or those of the last N seconds ("1h", a `timedelta`); with neither, all records since the start.
    time
        The column of the records' own times, required for a duration.
    lateness
        The most by which a record may be earlier than the latest one and still be counted; the window ends this much before the
        latest record.
    late
        The treatment of a record that is even later: "drop" leaves it out, "add" counts it from then on; `late` counts both.
    every
        The number of records, or the duration, after which `feed` yields figures.
    person
        A column that identifies persons, who may occur several times; figures then count persons, not records.
    partitions, derived
        Semantic partitions by column, and columns derived from others (`GridCell`, `Hours`, ...).
    needs
        Needs that the records should serve, measured besides the rate.
    nulls
        "category", "drop" or "error". If it is "category", a batch that is a study has its own policy.
    limit
        The most combinations of values to hold. Beyond it, figures are estimates from a sample of the classes, marked as such.

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
    def __init__(  # noqa: PLR0913 - a public door
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
        self._late_rule, self._timed = late, time is not None
        self._size = None if size is None else checked_count("size", size, least=1, most=_MOST_RECORDS)
        self._duration = None if duration is None else duration_of("duration", duration)
        self._lateness = duration_of("lateness", lateness)
        self._every = checked_step(every, timed=self._timed)
        check_extent(self._size, self._duration, self._lateness, timed=self._timed)
        fields = Fields()
        self._sets = key_sets(fields, key, sensitive, person, partitions)
        served = need_sets(fields, needs)
        self._reader = Reader(fields.all, time, dict(derived or {}), checked_nulls(nulls), strict)
        ranks = {one.label: one.rank for one in fields.all if one.partition is not None}
        counts = MovingCounts(
            [one.label for one in fields.all], limit=checked_count("limit", limit, least=1), ranks=ranks, **sampling(self._sets)
        )
        self._expiry = expiry_of(counts, self._size, self._duration)
        self._measures = Measures(counts, self._sets, served)
        self._waiting = Waiting()
        self._latest = self._end = self._began = _BEGINNING
        self._untidy = self._shown = self.seen = 0
        self._silent = True
        self.counters = {"dropped": 0, "outside": 0, "timeless": 0, "late": 0}

    # Content ------------------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        """Return one line."""
        key = "; ".join(" + ".join(one.names) for one in self._sets)
        first = self._sets[0]
        target = " + ".join(first.sensitive).replace("\x00", "") or ("persons" if first.person else "record identity")
        return f"Window({key} -> {target}, {self.extent}: {self.records:,} records)"

    @property
    def extent(self) -> str:
        """The records that it holds, in words."""
        if self._size is not None:
            return f"last {self._size:,} records"
        return "all since the start" if self._duration is None else f"last {as_text(self._duration)}"

    @property
    def records(self) -> int:
        """The number of records that it holds."""
        return self._expiry.records

    @property
    def full(self) -> bool:
        """Whether it has once reached its extent; before that, its figures are those of fewer records."""
        if self._size is not None:
            return self.seen >= self._size
        return self._duration is None or self._end - self._began >= self._duration

    @property
    def late(self) -> int:
        """The number of records that came too late."""
        return self.counters["late"]

    @property
    def time(self) -> str | None:
        """The column of the records' own times."""
        return self._reader.time

    @property
    def step(self) -> int | None:
        """The number of records, or of microseconds, after which figures are due."""
        return self._every

    @property
    def length(self) -> int | None:
        """The duration in microseconds; None if it has none."""
        return self._duration

    @property
    def columns(self) -> list[str]:
        """The columns that records must have."""
        return self._reader.columns

    @property
    def share(self) -> float:
        """The share of the classes that figures are estimated from; 1 if they are exact."""
        return self._measures.share

    def counts(self) -> Counts:
        """Return the joint count table of its records; names may differ if a column has two partitions."""
        return self._measures.table()

    @property
    def rate(self) -> float:
        """The Discrimination Rate of the (first) key; an error if it is undefined because nothing can be disclosed."""
        return self._measures.rate()

    @property
    def kind(self) -> IdentifierKind:
        """The kind of identifier of the (first) key."""
        return self._measures.kind()

    @property
    def k(self) -> int:
        """The number of records, or persons, in the smallest class of the (first) key."""
        return self._measures.first().k

    @property
    def uniques(self) -> int:
        """The number of classes of one record, or person, of the (first) key."""
        return self._measures.first().uniques

    @property
    def needs(self) -> dict[str, NeedFigure]:
        """The degree to which the records serve each need."""
        return self._measures.needs()

    @property
    def keys(self) -> tuple[KeyFigures, ...]:
        """The disclosure by each key."""
        return self._measures.keys()

    def riskiest(self, most: int = 5) -> list[RiskyClass]:
        """Return the classes of the first key that disclose most, masked as in reports."""
        return self._measures.riskiest(most) if self.records else []

    def frame(self) -> pl.DataFrame:
        """Return its records as a table of the measured columns, in no particular order."""
        return self._measures.frame()

    def figures(self) -> WindowFigures:
        """Return all current figures."""
        counters = {name: number for name, number in self.counters.items() if number}
        if not self.records:
            return WindowFigures(self._shown, *self._reach(), 0, (), {}, counters)
        return WindowFigures(self._shown, *self._reach(), self.records, self.keys, self.needs, counters)

    def _reach(self) -> tuple[Any, Any]:
        if not self._timed:
            return max(self.seen - self.records + 1, 1) if self._size is not None else min(self.seen, 1), self.seen
        if self._end == _BEGINNING:
            return None, None
        return None if self._duration is None else shown_moment(self._end - self._duration), shown_moment(self._end)

    # Movement -----------------------------------------------------------------------------------------------------------

    @checked_arguments
    def update(self, batch: Data, counted: str | None = None) -> Window:
        """Add the records of a batch, remove those that are then too old, and return the window.

        If the run is cancelled meanwhile, the window holds only the first records of the batch (`seen` counts all so far).

        Parameters
        ----------
        batch
            A data frame of any library, or any other data; a batch that cannot be counted is refused as a whole.
        counted
            A column with the number of records that each row stands for, if records were already counted; by default one each.
        """
        self._enter(self._reader.read(batch, counted))
        if self._timed and self._latest > _BEGINNING:
            self._advance(max(self._latest - self._lateness + 1, self._end))
        self._fit()
        self._tidy()
        return self

    def feed(self, batch: Data, counted: str | None = None) -> Iterator[WindowFigures]:
        """Add the records of a batch step by step, and yield the figures whenever they are due."""
        if self._every is None:
            raise ArgumentError("it is not stated when figures are due; give every=, as a number of records or a duration.")
        reading = self._reader.read(batch, counted)
        if self._timed:
            yield from self._feed_by_time(reading)
            self._tidy()
        else:
            yield from self._feed_by_number(reading, self._every)

    def finish(self) -> WindowFigures | None:
        """Add all waiting records, as if the stream had ended, and return the last figures; None if nothing is new."""
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
        """Remove the records of a batch again (of equal records, the latest), and return the window.

        All must be in the window. Records that left it when the batch was added do not come back.
        """
        places = self._expiry.counts.places_of(self._reader.read(batch).columns)
        self._expiry.take_out(places)
        self.seen -= len(places)
        self._measures.changed()
        return self

    def _enter(self, reading: Reading) -> None:
        """Add records piece by piece or, if times matter, keep them until the window reaches them."""
        codes = self._coded(reading)
        if reading.times is not None:
            self._keep(Part(reading.times, codes, reading.amounts))
            return
        told, amounts = telling(len(codes)), reading.amounts
        for start in range(0, len(codes), PIECE):
            told(start)
            piece = slice(start, start + PIECE)
            self._let_in(codes[piece], None, None if amounts is None else amounts[piece])
            self.seen += len(codes[piece]) if amounts is None else int(amounts[piece].sum())
            self._fit([codes])
            self._tidy([codes])
        told(len(codes))

    def _coded(self, reading: Reading) -> NDArray[np.uint32]:
        """Add the records left out to the counters, and return the codes of the rest."""
        for name, number in (("dropped", reading.dropped), ("outside", reading.outside), ("timeless", reading.timeless)):
            self.counters[name] += number
        return codes_for(self._expiry, reading.columns, self._waiting.codes)

    def _keep(self, part: Part) -> None:
        """Separate late records, judging each by the records before it, and keep the rest until the window reaches them."""
        times = part.times
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
            self.counters["late"] += part.where(late).records
            if self._late_rule == "add":
                late &= times < (self._end - (self._duration or -2 * _BEGINNING))
            part = part.where(~late)
        self.seen += part.records
        self._waiting.add(part)

    def _closed(self, watermark: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the time before which no more records are added: the last time at which figures were due, or the watermark."""
        return watermark if self._every is None else watermark // self._every * self._every

    def _advance(self, end: int, waiting: Sequence[NDArray[np.uint32]] = ()) -> None:
        """Move the end of the window to just before a time."""
        for part in self._waiting.before(end):
            self._let_in(part.codes, part.times, part.amounts)
        self._end = end
        self._measures.changed()
        if isinstance(self._expiry, ByTime):
            self._expiry.reach(end)
        self._fit(waiting)

    def _let_in(
        self, codes: NDArray[np.uint32], times: NDArray[np.int64] | None = None, amounts: NDArray[np.int64] | None = None
    ) -> None:
        self._measures.changed()
        self._untidy += len(codes)
        self._expiry.add(self._expiry.counts.in_sample(codes), times, amounts)

    def _feed_by_number(self, reading: Reading, every: int) -> Iterator[WindowFigures]:
        if reading.amounts is not None:
            raise ArgumentError(
                "records that were already counted have no order, so figures are due by time; name its column with time=."
            )
        codes, at = self._coded(reading), 0
        told = telling(len(codes))
        while at < len(codes):
            told(at)
            step = min(every - self.seen % every, PIECE - self.seen % PIECE, len(codes) - at)
            self._let_in(codes[at : at + step])
            self.seen += step
            at += step
            if self.seen % every == 0 or self.seen % PIECE == 0:  # not at the ends of batches, which differ between runs
                self._fit([codes])
            if self.seen % every == 0:
                self._shown += 1
                yield self.figures()
            self._tidy([codes])
        told(len(codes))

    def _feed_by_time(self, reading: Reading) -> Iterator[WindowFigures]:
        """Keep records up to the one that makes figures due, yield these, and continue, as if records arrived one by one."""
        codes, times = self._coded(reading), reading.times
        if times is None or not len(times):
            return
        closed = self._closed(np.maximum.accumulate(np.concatenate([[self._latest], times])) - self._lateness)
        starts = [0, *(np.flatnonzero(np.diff(closed)) + 1).tolist(), len(times)]
        told = telling(len(codes))
        for start, stop in pairwise(starts):
            told(start)
            self._keep(Part(times, codes, reading.amounts).where(slice(start, stop)))
            while (end := self._end + (self._every or 1)) <= self._latest - self._lateness:
                self._advance(end, [codes[stop:]])
                if self.records or not self._silent:
                    self._shown += 1
                    yield self.figures()
                self._silent = not self.records
                self._skip_silence()
        told(len(codes))

    def _skip_silence(self) -> None:
        """Skip steps at which the window is empty: a stream may rest for a year."""
        if self.records or not self._waiting:
            return
        every = self._every or 1
        self._end = max(self._end, min(self._waiting.first, self._latest - self._lateness) // every * every)

    def _tidy(self, waiting: Sequence[NDArray[np.uint32]] = ()) -> None:
        if self._untidy >= PIECE:
            self._untidy = 0
            if self._expiry.counts.is_full_of_old():
                self._expiry.renumber(self._expiry.counts.forget([*waiting, *self._waiting.codes]))

    def _fit(self, waiting: Sequence[NDArray[np.uint32]] = ()) -> None:
        hold_to_limit(self._expiry, [*waiting, *self._waiting.codes])

    # State --------------------------------------------------------------------------------------------------------------

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the state needed to continue, as a document and arrays."""
        values, arrays = self._expiry.counts.state()
        arrays |= self._expiry.state() | self._waiting.state(len(values))
        examples = [[[label, value] for label, value in one.example.items()] for one in self._reader.fields]
        position = {
            "latest": self._latest,
            "end": self._end,
            "began": self._began,
            "seen": self.seen,
            "shown": self._shown,
            "silent": self._silent,
            "halvings": self._expiry.counts.halvings,
        }
        return {"values": values, "examples": examples, "counters": self.counters, **position}, arrays

    def restore(self, document: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore what `state` returned."""
        self._expiry.counts.restore(document["values"], arrays)
        self._expiry.counts.halvings = int(document["halvings"])
        self._expiry.restore(arrays)
        for one, examples in zip(self._reader.fields, document["examples"], strict=True):
            one.example.update((label, value) for label, value in examples)
        self._waiting.restore(arrays)
        self._latest, self._end, self._began = (int(document[name]) for name in ("latest", "end", "began"))
        self.seen, self._shown, self.counters = int(document["seen"]), int(document["shown"]), dict(document["counters"])
        self._silent = bool(document["silent"])
        self._measures.changed()
