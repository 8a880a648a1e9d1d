"""Time limits for the search of a pattern and its attack, which every loop and every linear program below them checks.

Whoever sets a limit decides what happens when it has passed::

    with limited(seconds) as clock:
        ...                # `check()` in every long loop raises `OutOfTime` once the time is up
    clock.expired          # whether anything was cut short

The limit belongs to the run of the block (`Run.until`), so `check()` also ends the work of a cancelled run. A limit within
another one ends no later than the outer one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

from unveil.run import Clock, active_run

__all__ = ["OutOfTime", "check", "expire", "left", "limited"]


class OutOfTime(Exception):  # noqa: N818 - it is caught, and the best result so far is used
    """The time is up."""


@contextmanager
def limited(seconds: float | None) -> Iterator[Clock]:
    """Limit the time of the block, in seconds; None for no limit of its own."""
    run = active_run().until(math.inf if seconds is None else time.monotonic() + seconds)
    with run:
        yield run.clock or Clock(math.inf, None)


def left() -> float:
    """Return the seconds that are left; infinity if there is no limit."""
    clock = active_run().clock
    return math.inf if clock is None or clock.end == math.inf else clock.end - time.monotonic()


def check() -> None:
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
