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
