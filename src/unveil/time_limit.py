"""Limits of work: it ends at a set time, or after a set number of steps, with the best answer so far, or is stopped then.

The code that sets a limit decides which::

    with limited(seconds) as clock:
        ...                  # `check_time()` in every long loop raises `OutOfTime` once the time is up
    clock.expired            # whether anything was cut short
    with limited(seconds, stop=True):
        ...                  # here work that does not look at the time is stopped too, as if its run were cancelled
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace

from unveil.arguments import checked_count, checked_time_limit
from unveil.errors import CancelledError
from unveil.run import MOMENT, Clock, Run, active_run

__all__ = ["OutOfTime", "SearchBudget", "budget_of", "check_time", "expire", "limited", "time_left"]


class OutOfTime(Exception):  # noqa: N818 - it is caught, and the best result so far is used
    """The time is up."""


@contextmanager
def limited(seconds: float | None, *, stop: bool = False) -> Iterator[Clock]:
    """Limit the time of the block, in seconds; None: no limit of its own. A limit within another ends no later than that.

    Work that checks the time (`check_time`) ends with the best result so far. With `stop`, all other work also ends, and the
    block raises `OutOfTime`.
    """
    around = active_run()
    clock = Clock(math.inf if seconds is None else time.monotonic() + seconds, around.clock)
    stop = stop and clock.end < math.inf
    run = _stopped_by(clock, around) if stop else around.telling(around.at)
    run.clock = clock
    try:
        with _followed(around, run) if stop else nullcontext(), run:
            yield clock
            run.check()  # a stopped part may have been treated as one that failed
    except CancelledError:
        if not stop or not run.cancelled:
            raise
        around.check()
        clock.expire()
        raise OutOfTime from None


def _stopped_by(clock: Clock, around: Run) -> Run:
    """Return a run with a flag of its own, which ends at the time of a clock."""
    seconds = max(clock.end - time.monotonic(), MOMENT)
    return Run(around.at, notice=around.notify, limits=replace(around.limits, time=seconds))


@contextmanager
def _followed(around: Run, run: Run) -> Iterator[None]:
    """Cancel a run together with the enclosing one, which may be cancelled from any thread or process."""
    over = threading.Event()

    def follow() -> None:
        while not over.wait(MOMENT):
            run.flag[0] = run.flag[0] or around.flag[0]

    threading.Thread(target=follow, daemon=True).start()
    try:
        yield
    finally:
        over.set()


def time_left() -> float:
    """Return the remaining seconds; infinity if there is no limit."""
    clock = active_run().clock
    return math.inf if clock is None or clock.end == math.inf else clock.end - time.monotonic()


def check_time() -> None:
    """Stop if the run is cancelled; raise `OutOfTime` if the time is up."""
    run = active_run()
    run.check()
    clock = run.clock
    if clock is not None and clock.end != math.inf and time.monotonic() > clock.end:
        expire()


def expire() -> None:
    """Note that the time is up, and raise `OutOfTime`."""
    clock = active_run().clock
    if clock is not None:
        clock.expire()
    raise OutOfTime


@dataclass(frozen=True, slots=True)
class SearchBudget:
    """The limits of a search, in seconds and in nodes examined; None: no limit."""

    seconds: float | None = None
    nodes: int | None = None

    def __post_init__(self) -> None:
        """Refuse a time limit that is not a number of seconds."""
        checked_time_limit(self.seconds)


def budget_of(seconds: float | None, nodes: int | None) -> SearchBudget:
    """Return the limits of a search, or refuse invalid values."""
    return SearchBudget(seconds, None if nodes is None else checked_count("node_limit", nodes, least=1))
