"""Releases of a stream with a bounded delay: every record leaves in time, generalised among k persons, or is suppressed.

Records leave in publications. In each, every combination of labels is shared by at least k different persons of this
publication alone, and the records are shuffled. So someone who knows when a person's record arrived learns in which
publications it may be, but finds k persons there. This requires a publication at least every half delay: a record that could
not wait for the next one leaves with the present one.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from unveil.arguments import checked_arguments, checked_count
from unveil.attributes import Names, names_of, require_columns, sides_of
from unveil.errors import ArgumentError, shown
from unveil.formats import counted, number
from unveil.partitions import Hierarchy
from unveil.randomness import NOT_FOR_PUBLICATION, Chance, chance_of, fresh_key
from unveil.results import Figure, Result, View
from unveil.run import active_run
from unveil.sources import Data, encode, open_source
from unveil.stream.coordinates import Coordinates
from unveil.stream.monitor import Monitor
from unveil.stream.publishing import Clustering, Published, PublishingMethod, Tumbling, Waiters, rows_of
from unveil.stream.schedule import Schedule
from unveil.stream.times import NO_TIME, Duration, as_text, moments_of
from unveil.study import require_nulls_as_values, require_values

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Publication", "StreamRelease", "StreamReleased"]

_CLOCK = "\x00clock"


@dataclass(frozen=True, slots=True, eq=False)
class Publication:
    """Records that leave together, shuffled.

    Attributes
    ----------
    number, frame
        Its number, from 1, and the records: labels of the key attributes, the sensitive attributes, and the columns to keep.
    suppressed
        The number of records that left without being released, because there were fewer than k persons within their delay.
    smallest, classes
        The number of persons in its smallest class, and the number of classes.
    loss, waited
        The mean loss of its records, and the longest time that one of them waited, in records or microseconds.
    """

    number: int
    frame: pl.DataFrame
    suppressed: int
    smallest: int
    classes: int
    loss: float
    waited: int


class StreamRelease:
    """A release of a stream, one publication at a time.

    Parameters
    ----------
    key, sensitive
        The attributes that are generalised, and those released unchanged.
    k, diverse
        The least numbers of persons, and of values of each sensitive attribute, of every class of a publication.
    delay
        The longest that a record may wait, as a number of records or a duration.
    person
        The column that identifies persons; without one, every record stands for a different person.
    time
        The column of the records' own times, for a delay that is a duration; without one, the time of arrival counts.
    method
        "clusters": after CASTLE; "windows": whole windows by the optimal search, with the levels of the previous window if they
        suffice.
    hierarchies
        Hierarchies of key attributes.
    keep
        Further columns to release unchanged; all other columns are left out.
    reuse
        Whether a single record may leave with the label of an earlier class. Someone who knows when it arrived may then single it
        out, so the guarantee holds over the stream, not within a publication.
    seed, key_file
        The source of the random order of records, as in every release; by default the operating system.

    Examples
    --------
    >>> stream = StreamRelease(["age"], "disease", k=2, delay=4)
    >>> people = pl.DataFrame({"age": [30, 31, 60, 64, 33], "disease": ["flu", "flu", "hiv", "flu", "hiv"]})
    >>> [sorted(one.frame["age"].to_list()) for one in [*stream.feed(people), *stream.finish()]]
    [['[30, 31]', '[30, 31]'], ['[33, 64]', '[33, 64]', '[33, 64]']]
    """

    @checked_arguments
    def __init__(  # noqa: PLR0913 - a public door
        self,
        key: Names,
        sensitive: Names | None = None,
        *,
        k: int,
        diverse: int = 1,
        delay: int | Duration,
        person: str | None = None,
        time: str | None = None,
        method: Literal["clusters", "windows"] = "clusters",
        hierarchies: Mapping[str, Hierarchy] | None = None,
        keep: Names = (),
        reuse: bool = False,
        seed: int | None = None,
        key_file: str | None = None,
    ) -> None:
        self.key, self.sensitive = sides_of(key, sensitive)
        self._keep = names_of(keep)
        self.k, self._diverse = checked_count("k", k, least=2), checked_count("diverse", diverse, least=1)
        if self._diverse > 1 and not self.sensitive:
            raise ArgumentError("diversity concerns sensitive attributes; name one.")
        self._person, self._time, self.method = person, time, method
        if person is not None and person in (*self.key, *self.sensitive, *self._keep):
            raise ArgumentError(f"column {shown(person)} names persons, so it cannot be released.")
        if reuse and method == "windows":
            raise ArgumentError("labels can be reused only with clusters.")
        self._method: PublishingMethod = (
            Clustering(Coordinates(self.key, hierarchies or {}), self.k, self._diverse, reuse=reuse)
            if method == "clusters"
            else Tumbling(self.key, dict(hierarchies or {}), self.k, self._diverse)
        )
        self.reuse = reuse
        self._schedule = Schedule(delay, 2 * self.k, timed=time is not None, whole=self._method.whole)
        chance = chance_of(seed, key_file)
        self.repeatable = chance.repeatable
        self._secret = fresh_key()
        self._chance = chance
        self._monitor = Monitor(self.k, self._diverse)
        self._buffer: pl.DataFrame | None = None
        self.publications = self.released = self.suppressed = self.timeless = self.malformed = 0
        self.smallest: int | None = None
        self._loss, self.longest = 0.0, 0

    @property
    def columns(self) -> list[str]:
        """The columns that records must have."""
        own = [*self.key, *self.sensitive, *self._keep]
        return list(dict.fromkeys([*own, *(name for name in (self._person, self._time) if name is not None)]))

    @property
    def waiting(self) -> int:
        """The number of waiting records."""
        return 0 if self._buffer is None else self._buffer.height

    def feed(self, batch: Data, now: int | None = None) -> Iterator[Publication]:
        """Add records, and yield the publications that are due.

        Parameters
        ----------
        batch
            Records in the order of arrival.
        now
            The time of arrival in microseconds, for a delay that is a duration; not needed if records have times of their own.
        """
        active_run().check()
        frame = batch if isinstance(batch, pl.DataFrame) else open_source(batch).collect(self.columns)
        require_columns(self.columns, frame.columns)
        require_values(batch, self.columns)
        require_nulls_as_values(batch, self.columns)
        frame = frame.select([pl.col(name) for name in self.columns])
        times = None if self._time is None else moments_of(frame[self._time])
        if times is not None and (none := times == NO_TIME).any():
            self.timeless += int(np.count_nonzero(none))
            frame, times = frame.filter(~none), times[~none]
        clock, before = self._schedule.clock(times, frame.height, now), self.waiting
        self._add(frame, clock)
        yield from self._publish([(moment, before + come) for moment, come in self._schedule.come(clock, now)])

    def tick(self, now: int) -> Iterator[Publication]:
        """Yield the publications that are due at a time although nothing has arrived; for delays that are durations."""
        active_run().check()
        yield from self._publish([(moment, self.waiting) for moment in self._schedule.passed(now)])

    def finish(self) -> Iterator[Publication]:
        """Yield the publications of all waiting records, because the stream has ended."""
        active_run().check()
        if self.waiting:
            yield from self._publish([(self._schedule.now, self.waiting)], everything=True)

    def _add(self, frame: pl.DataFrame, clock: NDArray[np.int64]) -> None:
        if not frame.height:
            return
        clocked = frame.hstack([pl.Series(_CLOCK, clock)])
        if self._buffer is None:
            self._buffer = clocked
        elif self._buffer.schema == clocked.schema:
            self._buffer = self._buffer.vstack(clocked)
        else:
            self._buffer = pl.concat([self._buffer, clocked], how="vertical_relaxed")

    def _publish(self, moments: Sequence[tuple[int, int]], *, everything: bool = False) -> list[Publication]:
        """Publish, at each moment, the records that cannot wait for the next publication."""
        if self._buffer is None or not self._buffer.height or not moments:
            return []
        clock = self._buffer[_CLOCK].to_numpy()
        times, come = (np.array(part, dtype=np.int64) for part in zip(*moments, strict=True))
        due = come if everything or self._method.whole else np.minimum(self._schedule.must_leave(times, clock), come)
        codes = self._codes(self._buffer)
        leaving = self._method.publish(Waiters(self._buffer, codes, np.column_stack([come, due])))
        published = self._publications(leaving, self._proven(leaving, codes), times, clock)
        waits = np.full(len(clock), fill_value=True)
        waits[leaving.rows] = waits[leaving.suppressed] = False
        self._buffer = rows_of(self._buffer, np.flatnonzero(waits))
        return published

    def _publications(
        self, leaving: Published, proven: Mapping[int, tuple[int, int]], times: NDArray[np.int64], clock: NDArray[np.int64]
    ) -> list[Publication]:
        """Assemble the proven publications, shuffle each, and update the totals."""
        assert self._buffer is not None  # noqa: S101 - something leaves
        order, ends = [], np.searchsorted(leaving.moment, np.arange(len(times) + 1))
        waited = times[leaving.moment] - clock[leaving.rows]
        gone = np.bincount(leaving.without, minlength=len(times))
        parts = []
        for moment, (smallest, classes) in proven.items():
            some = slice(int(ends[moment]), int(ends[moment + 1]))
            self.publications += 1
            order.append(some.start + self._draws().permutation(some.stop - some.start))
            if classes:
                self.smallest = smallest if self.smallest is None else min(self.smallest, smallest)
            loss = float(leaving.loss[some].mean()) if some.stop > some.start else 0.0
            longest = int(waited[some].max(initial=0))
            parts.append((some, (int(gone[moment]), smallest, classes, loss, longest), self.publications))
        self.released += len(leaving.rows)
        self.suppressed += len(leaving.suppressed)
        self._loss += float(leaving.loss.sum())
        self.longest = max(self.longest, int(waited.max(initial=0)))
        rest = [*self.sensitive, *self._keep]
        frame = leaving.labels.hstack([self._buffer[name][leaving.rows] for name in rest])
        if order:
            frame = rows_of(frame, np.concatenate(order))
        return [Publication(number, frame[some], *figures) for some, figures, number in parts]

    def _proven(self, leaving: Published, of_all: NDArray[np.int64]) -> dict[int, tuple[int, int]]:
        """Let the monitor prove all publications; return each moment's persons in the smallest class, and number of classes."""
        codes = of_all[:, leaving.rows].tolist()
        rows, alone = leaving.labels.rows(), leaving.alone.tolist()
        moments = sorted({*leaving.moment.tolist(), *leaving.without.tolist()})
        proven = {}
        for moment in moments:
            some = slice(*np.searchsorted(leaving.moment, [moment, moment + 1]).tolist())
            proven[moment] = self._monitor.check(rows[some], codes[0][some], [one[some] for one in codes[1:]], alone[some])
            if self.reuse:
                self._monitor.remember(rows[some])
        return proven

    def _draws(self) -> np.random.Generator:
        """Return the random generator of one publication.

        Its secret is at once replaced by a hash: a run that is continued produces the same order again, but someone who obtains
        the state of a run cannot reconstruct the order of earlier publications.
        """
        if self.repeatable:
            return self._chance.draws("order of a publication", {"number": self.publications})
        chance = Chance(_key=self._secret)
        self._secret = hashlib.sha256(b"next publication" + self._secret).digest()
        return chance.draws("order of a publication")

    def _codes(self, frame: pl.DataFrame) -> NDArray[np.int64]:
        """Return the persons of the records, followed by their sensitive values."""
        persons = np.arange(frame.height) if self._person is None else encode(frame[self._person]).codes.astype(np.int64)
        return np.stack([persons, *(encode(frame[name]).codes.astype(np.int64) for name in self.sensitive)])

    def summary(self) -> StreamReleased:
        """Return the summary of the release so far."""
        unit = (lambda amount: counted(amount, "record")) if self._schedule.by_number else as_text
        return StreamReleased(
            self.method, self.k, self._diverse, self.released, self.suppressed, self.publications, self.smallest,
            self._loss / self.released if self.released else None, unit(self._schedule.delay), unit(self.longest), self.reuse,
            self.repeatable, self.timeless, self.malformed,
        )  # fmt: skip

    # State --------------------------------------------------------------------------------------------------------------

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the state needed to continue, including the waiting records and the secret of the order."""
        buffer = io.BytesIO()
        if self._buffer is not None:
            self._buffer.rename({_CLOCK: "clock of the release"}).write_parquet(buffer)
        figures = {name: getattr(self, name) for name in _KEPT} | {"proven": self._monitor.state()}
        place = {**self._schedule.state(), "loss": self._loss}
        document = {**figures, **place, "secret": self._secret.hex(), "method": self._method.state()}
        return document, {"buffer": np.frombuffer(buffer.getvalue(), dtype=np.uint8)}

    def restore(self, document: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore what `state` returned."""
        for name in _KEPT:
            setattr(self, name, document[name])
        self._schedule.restore(document)
        self._loss = float(document["loss"])
        self._secret = bytes.fromhex(document["secret"])
        self._method.restore(document["method"])
        self._monitor.restore(document["proven"])
        if len(arrays["buffer"]):
            kept = pl.read_parquet(io.BytesIO(arrays["buffer"].tobytes()))
            self._buffer = kept.rename({"clock of the release": _CLOCK})


_KEPT = ("publications", "released", "suppressed", "timeless", "malformed", "smallest", "longest")


@dataclass(frozen=True, slots=True, repr=False)
class StreamReleased(Result):
    """The summary of a release of a stream.

    Attributes
    ----------
    method, k, diverse
        The method, and the least numbers of persons and of sensitive values of every class.
    released, suppressed, publications
        The numbers of records released and suppressed, and of publications.
    smallest, loss
        The number of persons in the smallest class, as counted by the monitor, and the mean loss of a record.
    delay, longest
        The longest wait allowed, and the longest that occurred.
    reuse, repeatable
        Whether single records could leave with an earlier label, and whether a seed or a key repeats the order.
    timeless, malformed
        The numbers of records that were left out because they had no time or could not be read.
    """

    method: str
    k: int
    diverse: int
    released: int
    suppressed: int
    publications: int
    smallest: int | None
    loss: float | None
    delay: str
    longest: str
    reuse: bool
    repeatable: Any
    timeless: int = 0
    malformed: int = 0

    @property
    def guarantee(self) -> str:
        """The guarantee, and against whom it holds."""
        each = f"every class has at least {self.k:,} persons"
        diverse = f" and {self.diverse:,} values of each sensitive attribute" if self.diverse > 1 else ""
        if self.reuse:
            return f"Over the stream, {each}{diverse}; someone who knows when a record arrived may find fewer."
        return f"In every publication, {each}{diverse}, even for someone who knows when a record arrived."

    def __repr__(self) -> str:
        """Return one line."""
        loss = "-" if self.loss is None else number(self.loss)
        kept = f"{counted(self.released, 'record')} in {counted(self.publications, 'publication')}"
        least = "-" if self.smallest is None else self.smallest
        return f"StreamReleased({self.method}: {kept}, {self.suppressed:,} suppressed, loss {loss}, smallest {least})"

    def to_dict(self) -> dict[str, Any]:
        """Return the complete result as plain Python values."""
        return {name: getattr(self, name) for name in self.__slots__} | {"guarantee": self.guarantee}

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return one row."""
        return {name: [value] for name, value in self.to_dict().items()}

    def view(self) -> View:
        """Return the displayed figures, with the guarantee."""
        figures = (
            Figure("released", self.released, f"in {counted(self.publications, 'publication')}"),
            Figure("suppressed", self.suppressed, "fewer than k persons within their delay"),
            Figure("smallest class", "-" if self.smallest is None else self.smallest, "persons, as counted by the monitor"),
            Figure("loss", "-" if self.loss is None else self.loss, "mean over records, from 0 to 1"),
            Figure("longest wait", self.longest, f"at most {self.delay} allowed"),
        )
        left_out = (
            Figure("without a time", self.timeless, "left out"),
            Figure("malformed", self.malformed, "unreadable, left out"),
        )
        seeded = (NOT_FOR_PUBLICATION,) if self.repeatable == "seed" else ()
        return View("Release of a stream", (*figures, *(one for one in left_out if one.value)), notes=(self.guarantee, *seeded))
