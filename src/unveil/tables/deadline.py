"""Time limits for the search of a pattern and its attack, which every loop and every linear program below them checks.

Whoever sets a limit decides what happens when it has passed::

    with limited(seconds) as clock:
        ...                # `check()` in every long loop raises `OutOfTime` once the time is up
    clock.expired          # whether anything was cut short

A limit within another one ends no later than the outer one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["Clock", "OutOfTime", "check", "expire", "left", "limited"]


class OutOfTime(Exception):  # noqa: N818 - it is caught, and the best result so far is used
    """The time is up."""


class Clock:
    """The end of a time limit, and whether anything was cut short by it or by a limit within it."""

    __slots__ = ("around", "end", "expired")

    def __init__(self, end: float, around: Clock | None) -> None:
        self.end: float = end if around is None else min(end, around.end)
        self.around = around
        self.expired = False

    def expire(self) -> None:
        """Note that work was cut short."""
        clock: Clock | None = self
        while clock is not None:
            clock.expired = True
            clock = clock.around


_CLOCK: ContextVar[Clock | None] = ContextVar("time limit of tables", default=None)


@contextmanager
def limited(seconds: float | None) -> Iterator[Clock]:
    """Limit the time of the block, in seconds; None for no limit of its own."""
    clock = Clock(math.inf if seconds is None else time.monotonic() + seconds, _CLOCK.get())
    token = _CLOCK.set(clock)
    try:
        yield clock
    finally:
        _CLOCK.reset(token)


def left() -> float:
    """Return the seconds that are left; infinity if there is no limit."""
    clock = _CLOCK.get()
    return math.inf if clock is None or clock.end == math.inf else clock.end - time.monotonic()


def check() -> None:
    """Raise `OutOfTime` if the time is up."""
    clock = _CLOCK.get()
    if clock is not None and clock.end != math.inf and time.monotonic() > clock.end:
        expire()


def expire() -> None:
    """Note that the time is up, and raise `OutOfTime`."""
    clock = _CLOCK.get()
    if clock is not None:
        clock.expire()
    raise OutOfTime
