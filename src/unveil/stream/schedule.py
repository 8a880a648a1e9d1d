"""The schedule of publications: at least every half delay, by the number of records, their own times, or the clock.

A record that could not wait for the next publication must leave with the present one. By the clock, publications come a little
late, so a tenth of the delay is held in reserve. By the records' own times, the clock of the stream stands still while nothing
arrives, so it is then assumed to advance with the clock of the machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_count
from unveil.errors import ArgumentError
from unveil.stream.times import Duration, duration_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["Schedule"]

_HELD_BACK = 10
"""The part of a delay by the clock, one over this number, that is held in reserve."""


class Schedule:
    """The moments of a stream at which publications may be due.

    Parameters
    ----------
    delay, timed
        The longest wait of a record, as a number of records or a duration, and whether records have times of their own.
    least
        The shortest sensible delay by number.
    whole
        Whether all waiting records leave at each moment, so that there is one moment per delay.
    """

    def __init__(self, delay: int | Duration, least: int, *, timed: bool, whole: bool) -> None:
        self.by_number = isinstance(delay, int) and not timed
        self.delay = checked_count("delay", delay, least=least) if self.by_number else duration_of("delay", delay)
        if self.delay <= 0:
            raise ArgumentError("a delay must be above 0.")
        self.by_clock = not self.by_number and not timed
        held_back = self.delay // _HELD_BACK if self.by_clock else 0
        self._step = max((self.delay - held_back) // (1 if whole else 2), 1)
        self._horizon = self._step + held_back
        self.now = 0
        self._next: int | None = None
        self._arrived: int | None = None

    def clock(self, times: NDArray[np.int64] | None, records: int, now: int | None) -> NDArray[np.int64]:
        """Return the clock times of arriving records; the clock never goes back."""
        if self.by_number:
            return self.now + np.arange(records, dtype=np.int64)
        if times is not None:
            return np.maximum.accumulate(np.concatenate([[self.now], times]))[1:]
        if now is None:
            raise ArgumentError("a delay by the clock needs the time of arrival; give now=, or name a column with time=.")
        return np.full(records, max(now, self.now), dtype=np.int64)

    def come(self, clock: NDArray[np.int64], now: int | None) -> list[tuple[int, int]]:
        """Record arrivals; return the moments at which publications may be due, and the number of records arrived by then."""
        if not len(clock):
            return []
        before, self._arrived = self.now, now
        self.now = int(clock[-1]) + (1 if self.by_number else 0)
        if self._next is None:
            self._next = self._grid(int(clock[0])) + self._step
        return [(moment, 0) for moment in self.passed(self.now)] if self.by_clock else list(self._reached(clock, before))

    def passed(self, now: int) -> list[int]:
        """Return the moments that have passed by the clock of the machine while nothing arrived."""
        if self._next is None or self.by_number:
            return []
        if self.by_clock:
            if now < self._next:
                return []
            self._next = self._grid(now) + self._step
            return [now]
        self._arrived = now if self._arrived is None else self._arrived
        moments = []
        while self._next <= self.now + min(now - self._arrived, self.delay):
            moments.append(self._next)
            self._next += self._step
        return moments

    def must_leave(self, moments: NDArray[np.int64], clock: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of records that must leave at each moment: the earliest ones, because the clock never goes back."""
        return np.searchsorted(clock, moments + self._horizon - self.delay)

    def state(self) -> dict[str, Any]:
        """Return the state for a checkpoint."""
        return {"next": self._next, "now": self.now}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what `state` returned."""
        self._next, self.now = state["next"], int(state["now"])

    def _grid(self, moment: int) -> int:
        return moment // self._step * self._step

    def _reached(self, clock: NDArray[np.int64], last: int) -> Iterator[tuple[int, int]]:
        """Yield the moments that the records' own clock reaches; if it leaps, only those at which records are still waiting."""
        assert self._next is not None  # noqa: S101 - the clock has started
        at, come = 0, len(clock)
        while at < come:
            at += int(np.searchsorted(clock[at:], self._next))
            if at == come and not (self.by_number and self.now == self._next):
                return
            yield self._next, at
            self._next += self._step
            last = int(clock[at - 1]) if at else last
            if at < come and self._next > last + self.delay:
                self._next = max(self._next, self._grid(int(clock[at])))
