"""Best of several runs, in processor time and in wall time."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Timed:
    """The best processor and wall seconds of several runs."""

    processor: float
    wall: float


def best_of(runs: int, work: Callable[[], Any]) -> Timed:
    """Run the work several times and keep the best of each clock."""
    processor = wall = float("inf")
    for _ in range(runs):
        wall_start, start = time.perf_counter(), time.process_time()
        work()
        processor = min(processor, time.process_time() - start)
        wall = min(wall, time.perf_counter() - wall_start)
    return Timed(processor, wall)


def steady(runs: int, work: Callable[[], Any], *, least: float = 0.1) -> float:
    """Return the processor seconds of a short call: it is repeated for `least` seconds, and the best of several means is kept.

    The clocks of other languages, whose steps are longer than such a call, need the same.
    """
    best = float("inf")
    for _ in range(runs):
        start, calls, spent = time.process_time(), 0, 0.0
        while spent < least:
            work()
            calls, spent = calls + 1, time.process_time() - start
        best = min(best, spent / calls)
    return best
