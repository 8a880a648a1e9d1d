"""A release of a stream with a bounded delay: every record leaves in time, generalised with k persons, or not at all.

Records leave in publications. Each holds, for every combination of labels, at least k different persons of this publication
alone, and its records are shuffled; so whoever knows when a person's record came learns in which publications it may be, and
there finds k persons. That needs a publication every half delay at most: a record that could not wait for the next one leaves
with this one.
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
from unveil.errors import ArgumentError, UnveilError, shown
from unveil.partitions import Hierarchy
from unveil.randomness import NOT_FOR_PUBLICATION, Chance, chance_of, fresh_key
from unveil.results import Figure, Result, View
from unveil.results.numbers import counted, number
from unveil.sources import Data, open_source
from unveil.sources.coding import encode
from unveil.stream.coordinates import Coordinates
from unveil.stream.publishing import Clustering, Published, PublishingMethod, Tumbling, Waiters, taken
from unveil.stream.times import NO_TIME, Duration, as_text, duration_of, moments_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Monitor", "Publication", "StreamRelease", "StreamReleased", "UnsafePublicationError"]

_CLOCK = "\x00clock"


class UnsafePublicationError(UnveilError, RuntimeError):
    """A publication that would hold fewer persons than it must; it is never written."""


@dataclass(frozen=True, slots=True, eq=False)
class Publication:
    """Records that leave together, shuffled.

    Attributes
    ----------
    number, frame
        Its number from 1, and the records: labels of the key attributes, sensitive attributes, and columns kept.
    suppressed
        Records that left without being released: fewer than k persons lay within their delay.
    smallest, classes
        The persons of its smallest class, and how many classes it has.
    loss, waited
        The mean loss of its records, and the longest that one of them waited, in records or microseconds.
    """

    number: int
    frame: pl.DataFrame
    suppressed: int
    smallest: int
    classes: int
    loss: float
    waited: int


class Monitor:
    """Proves of every publication, from its labels alone, that each class holds k persons and enough sensitive values.

    It shares nothing with what made the publication but the records themselves.
    """

    def __init__(self, k: int, diverse: int) -> None:
        self._k, self._diverse = k, diverse
        self._proven: set[tuple[Any, ...]] = set()

    def check(
        self, labels: pl.DataFrame, persons: NDArray[Any], secrets: NDArray[Any], alone: NDArray[np.bool_]
    ) -> tuple[int, int]:
        """Return the persons of the smallest class, and the classes; refuse a publication with one that is too small.

        A record that leaves alone must have the label of a class that was proven in an earlier publication.
        """
        rows, lonely = labels.rows(), alone.tolist()
        smallest, classes = _fewest(rows, persons.tolist(), lonely)
        if classes and (smallest < self._k or any(_fewest(rows, one.tolist(), lonely)[0] < self._diverse for one in secrets)):
            raise UnsafePublicationError("a publication would hold a class of too few persons; it is not written.")
        if any(row not in self._proven for row, one in zip(rows, lonely, strict=True) if one):
            raise UnsafePublicationError("a record would leave alone with a label that no earlier class had; it is not written.")
        return smallest, classes

    def state(self) -> list[list[Any]]:
        """Return the classes that were proven, for records that will leave alone."""
        return [list(row) for row in sorted(self._proven, key=str)]

    def restore(self, state: Sequence[Sequence[Any]]) -> None:
        """Put back what `state` gave."""
        self._proven = {tuple(row) for row in state}

    def remember(self, labels: pl.DataFrame) -> None:
        """Take note of classes that were proven, for records that will leave alone."""
        self._proven |= set(labels.unique().rows())


def _fewest(rows: Sequence[Any], things: Sequence[Any], alone: Sequence[bool]) -> tuple[int, int]:
    """Return the fewest different things of a class, 0 without classes, and the classes; records alone are in none."""
    held: dict[Any, set[Any]] = {}
    for row, thing, one in zip(rows, things, alone, strict=True):
        if not one:
            held.setdefault(row, set()).add(thing)
    return min(map(len, held.values()), default=0), len(held)


class StreamRelease:
    """Releases a stream, a publication at a time.

    Parameters
    ----------
    key, sensitive
        The attributes that are generalised, and those released as they are.
    k, diverse
        How many persons every class of a publication must hold, and how many values of each sensitive attribute.
    delay
        The longest that a record may wait: a number of records, or a duration.
    person
        The column that names persons; none: every record is of a person of its own.
    time
        The records' own times, for a delay that is a duration; none: when they arrive here.
    method
        "clusters": after CASTLE; "windows": whole windows by the optimal search, with the levels of the one before if these do.
    hierarchies
        Hierarchies of key attributes.
    keep
        Further columns to release as they are; none: all columns that are not named are left out.
    reuse
        Whether a record alone may leave with the label of an earlier class. Whoever knows when it came may then single it out, so
        the guarantee is over the stream, not over a publication.
    seed, key_file
        Where the order of records comes from, as in every release; neither: from the operating system.

    Examples
    --------
    >>> stream = StreamRelease(["age"], "disease", k=2, delay=4)
    >>> people = pl.DataFrame({"age": [30, 31, 60, 64, 33], "disease": ["flu", "flu", "hiv", "flu", "hiv"]})
    >>> [sorted(one.frame["age"].to_list()) for one in [*stream.feed(people), *stream.finish()]]
    [['[30, 31]', '[30, 31]'], ['[33, 64]', '[33, 64]', '[33, 64]']]
    """

    @checked_arguments
    def __init__(  # noqa: PLR0913 - what a release is
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
            raise ArgumentError("diversity is about sensitive attributes; name one.")
        self._person, self._time, self.method = person, time, method
        if person is not None and person in (*self.key, *self.sensitive, *self._keep):
            raise ArgumentError(f"column {shown(person)} names persons, so it is not released.")
        self.by_number = isinstance(delay, int) and time is None
        self.delay = checked_count("delay", delay, least=2 * self.k) if self.by_number else duration_of("delay", delay)
        if self.delay <= 0 or (reuse and method == "windows"):
            raise ArgumentError("a delay is above 0, and labels are reused with clusters only.")
        self._method: PublishingMethod = (
            Clustering(Coordinates(self.key, hierarchies or {}), self.k, self._diverse, reuse=reuse)
            if method == "clusters"
            else Tumbling(self.key, dict(hierarchies or {}), self.k, self._diverse)
        )
        self.reuse = reuse
        self._step = self.delay if self._method.whole else max(self.delay // 2, 1)
        chance = chance_of(seed, key_file)
        self.repeatable = chance.repeatable
        self._secret = fresh_key()
        self._chance = chance
        self._monitor = Monitor(self.k, self._diverse)
        self._buffer: pl.DataFrame | None = None
        self._next: int | None = None
        self._now = 0
        self.publications = self.released = self.suppressed = self.timeless = 0
        self.smallest: int | None = None
        self._loss, self.longest = 0.0, 0

    @property
    def columns(self) -> list[str]:
        """The columns that records must have."""
        own = [*self.key, *self.sensitive, *self._keep]
        return list(dict.fromkeys([*own, *(name for name in (self._person, self._time) if name is not None)]))

    @property
    def waiting(self) -> int:
        """The records that wait."""
        return 0 if self._buffer is None else self._buffer.height

    def feed(self, batch: Data, now: int | None = None) -> Iterator[Publication]:
        """Let records in, and give the publications that are due.

        Parameters
        ----------
        batch
            Records in the order in which they came.
        now
            The time of their arrival, in microseconds, where the delay is a duration and they have no times of their own.
        """
        frame = batch if isinstance(batch, pl.DataFrame) else open_source(batch).collect(self.columns)
        require_columns(self.columns, frame.columns)
        frame, clock = self._clocked(frame.select([pl.col(name) for name in self.columns]), now)
        at = 0
        while at < frame.height:
            if self._next is None:
                self._next = (int(clock[at]) // self._step + 1) * self._step
            stop = at + int(np.searchsorted(clock[at:], self._next))
            self._add(frame[at:stop], clock[at:stop])
            at = stop
            if at < frame.height or (self.by_number and self._now == self._next):
                yield from self._publish(self._next)
                self._next = max(
                    self._next + self._step, self._next if at >= frame.height else int(clock[at]) // self._step * self._step
                )

    def tick(self, now: int) -> Iterator[Publication]:
        """Give what is due at a time, though nothing came; for delays by the clock."""
        if self._time is None and not self.by_number and self._next is not None and now >= self._next:
            yield from self._publish(self._next)
            self._next = max(self._next + self._step, now // self._step * self._step)

    def finish(self) -> Iterator[Publication]:
        """Give what still waits, as the stream has ended."""
        if self.waiting:
            yield from self._publish(self._now, everything=True)

    def _clocked(self, frame: pl.DataFrame, now: int | None) -> tuple[pl.DataFrame, NDArray[np.int64]]:
        """Return the records that have a place in time, and what the clock says of each: it never goes back."""
        if self.by_number:
            return frame, self._now + np.arange(frame.height, dtype=np.int64)
        if self._time is None:
            if now is None:
                raise ArgumentError("a delay by the clock needs the time of arrival; give now=, or name a column with time=.")
            return frame, np.full(frame.height, max(now, self._now), dtype=np.int64)
        times = moments_of(frame[self._time])
        none = times == NO_TIME
        if none.any():
            self.timeless += int(np.count_nonzero(none))
            frame, times = frame.filter(~none), times[~none]
        return frame, np.maximum.accumulate(np.concatenate([[self._now], times]))[1:]

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
        self._now = int(clock[-1]) + (1 if self.by_number else 0)

    def _publish(self, now: int, *, everything: bool = False) -> Iterator[Publication]:
        """Let leave what could not wait for the next publication."""
        if self._buffer is None or not self._buffer.height:
            return
        clock = self._buffer[_CLOCK].to_numpy()
        due = np.full(len(clock), fill_value=True) if everything or self._method.whole else now + self._step - clock > self.delay
        if not due.any():
            return
        waiters = self._waiters(self._buffer, due)
        leaving = self._method.publish(waiters)
        smallest, classes = self._monitor.check(
            leaving.labels, waiters.persons[leaving.rows], waiters.secrets[:, leaving.rows], leaving.alone
        )
        if self.reuse:
            self._monitor.remember(leaving.labels)
        gone = np.zeros(len(clock), dtype=bool)
        gone[leaving.rows] = True
        gone[leaving.suppressed] = True
        publication = self._publication(leaving, now - clock, smallest, classes)
        self._buffer = taken(self._buffer, np.flatnonzero(~gone))
        yield publication

    def _publication(self, leaving: Published, waited: NDArray[np.int64], smallest: int, classes: int) -> Publication:
        """Put a publication together, shuffled, and take note of it."""
        assert self._buffer is not None  # noqa: S101 - something leaves
        self.publications += 1
        order = self._draws().permutation(len(leaving.rows))
        rest = [*self.sensitive, *self._keep]
        frame = taken(leaving.labels.hstack([self._buffer[name][leaving.rows] for name in rest]), order)
        self.released += len(leaving.rows)
        self.suppressed += len(leaving.suppressed)
        self._loss += float(leaving.loss.sum())
        longest = int(waited[leaving.rows].max(initial=0))
        self.longest = max(self.longest, longest)
        if classes:
            self.smallest = smallest if self.smallest is None else min(self.smallest, smallest)
        loss = float(leaving.loss.mean()) if len(leaving.loss) else 0.0
        return Publication(self.publications, frame, len(leaving.suppressed), smallest, classes, loss, longest)

    def _draws(self) -> np.random.Generator:
        """Return the chance of one publication.

        The secret it comes from is replaced by its hash at once: a run that goes on makes the same order again, but whoever finds
        the state of a run cannot tell the order of what was published before it.
        """
        if self.repeatable:
            return self._chance.draws("order of a publication", {"number": self.publications})
        chance = Chance(_key=self._secret)
        self._secret = hashlib.sha256(b"next publication" + self._secret).digest()
        return chance.draws("order of a publication")

    def _waiters(self, frame: pl.DataFrame, due: NDArray[np.bool_]) -> Waiters:
        persons = np.arange(frame.height) if self._person is None else encode(frame[self._person]).codes.astype(np.int64)
        secrets = [encode(frame[name]).codes.astype(np.int64) for name in self.sensitive]
        codes = np.stack(secrets) if secrets else np.zeros((0, frame.height), dtype=np.int64)
        return Waiters(frame, persons, codes, due)

    def summary(self) -> StreamReleased:
        """Return what was released so far."""
        unit = (lambda amount: counted(amount, "record")) if self.by_number else as_text
        return StreamReleased(
            self.method, self.k, self._diverse, self.released, self.suppressed, self.publications, self.smallest,
            self._loss / self.released if self.released else None, unit(self.delay), unit(self.longest), self.reuse,
            self.repeatable,
        )  # fmt: skip

    # What a checkpoint keeps --------------------------------------------------------------------------------------------

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return all that is needed to go on: the records that wait, and the secret of the order among it."""
        buffer = io.BytesIO()
        if self._buffer is not None:
            self._buffer.rename({_CLOCK: "clock of the release"}).write_parquet(buffer)
        figures = {name: getattr(self, name) for name in _KEPT} | {"proven": self._monitor.state()}
        place = {"next": self._next, "now": self._now, "loss": self._loss}
        document = {**figures, **place, "secret": self._secret.hex(), "method": self._method.state()}
        return document, {"buffer": np.frombuffer(buffer.getvalue(), dtype=np.uint8)}

    def restore(self, document: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Put back what `state` gave."""
        for name in _KEPT:
            setattr(self, name, document[name])
        self._next, self._now, self._loss = document["next"], int(document["now"]), float(document["loss"])
        self._secret = bytes.fromhex(document["secret"])
        self._method.restore(document["method"])
        self._monitor.restore(document["proven"])
        if len(arrays["buffer"]):
            kept = pl.read_parquet(io.BytesIO(arrays["buffer"].tobytes()))
            self._buffer = kept.rename({"clock of the release": _CLOCK})


_KEPT = ("publications", "released", "suppressed", "timeless", "smallest", "longest")


@dataclass(frozen=True, slots=True, repr=False)
class StreamReleased(Result):
    """What a release of a stream came to.

    Attributes
    ----------
    method, k, diverse
        How, and what every class of a publication had to hold.
    released, suppressed, publications
        The records released, those suppressed, and in how many publications.
    smallest, loss
        The persons of the smallest class of all, as the monitor counted them, and the mean loss of a record.
    delay, longest
        The longest that a record might wait, and the longest that one did.
    reuse, repeatable
        Whether records could leave alone with an earlier label, and who can repeat the order.
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

    @property
    def guarantee(self) -> str:
        """What is promised, and against whom."""
        each = f"every class holds at least {self.k:,} persons"
        diverse = f" and {self.diverse:,} values of each sensitive attribute" if self.diverse > 1 else ""
        if self.reuse:
            return f"Over the stream, {each}{diverse}; whoever knows when a record came may find fewer."
        return f"In every publication, {each}{diverse}: also against whoever knows when a record came."

    def __repr__(self) -> str:
        """Return one line."""
        loss = "-" if self.loss is None else number(self.loss)
        kept = f"{counted(self.released, 'record')} in {counted(self.publications, 'publication')}"
        least = "-" if self.smallest is None else self.smallest
        return f"StreamReleased({self.method}: {kept}, {self.suppressed:,} suppressed, loss {loss}, smallest {least})"

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer as plain Python values."""
        return {name: getattr(self, name) for name in self.__slots__} | {"guarantee": self.guarantee}

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return one row."""
        return {name: [value] for name, value in self.to_dict().items()}

    def view(self) -> View:
        """Return what a person should see."""
        figures = (
            Figure("released", self.released, f"in {counted(self.publications, 'publication')}"),
            Figure("suppressed", self.suppressed, "fewer than k persons within their delay"),
            Figure("smallest class", "-" if self.smallest is None else self.smallest, "persons, as the monitor counted them"),
            Figure("loss", "-" if self.loss is None else self.loss, "mean over records, from 0 to 1"),
            Figure("longest wait", self.longest, f"of {self.delay} at most"),
        )
        seeded = (NOT_FOR_PUBLICATION,) if self.repeatable == "seed" else ()
        return View("Release of a stream", figures, notes=(self.guarantee, *seeded))
