"""When a record leaves a window: after a number of records, after a time, or never.

Each keeps the places of the records that its window holds (`MovingCounts`), oldest first, and lets `MovingCounts` count them.
Times are microseconds since 1970.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from unveil.counts.window import MovingCounts
from unveil.errors import CountsError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ByNumber", "ByTime", "Expiry", "Never"]

_MOST_RUNS = 256
"""Runs of records that are kept apart, each in the order of time, before they are put together."""


class Expiry(Protocol):
    """What a window keeps of its records, so that it can let them go."""

    counts: MovingCounts

    @property
    def records(self) -> int:
        """The records that the window holds."""

    def add(self, codes: NDArray[np.uint32]) -> None:
        """Let records in, and the oldest out."""

    def take_out(self, places: NDArray[np.int64]) -> None:
        """Take records out whose places are given, the latest of those that look alike."""

    def renumber(self, new: NDArray[np.int64]) -> None:
        """Take note of the new place of each old place."""

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what a checkpoint keeps."""

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Put back what `state` gave."""


class Never:
    """A landmark window: everything since the start."""

    def __init__(self, counts: MovingCounts) -> None:
        self.counts = counts

    @property
    def records(self) -> int:
        """The records that the window holds."""
        return self.counts.records

    def add(self, codes: NDArray[np.uint32]) -> None:
        """Let records in."""
        self.counts.add(codes)

    def take_out(self, places: NDArray[np.int64]) -> None:
        """Take records out."""
        _require_held(self.counts, places)
        self.counts.remove(places)

    def renumber(self, new: NDArray[np.int64]) -> None:
        """Take note of the new place of each old place: none is kept."""

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what a checkpoint keeps: nothing but the counts."""
        return {}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Put back what `state` gave."""


class ByNumber:
    """The last `size` records, in the order in which they came."""

    def __init__(self, counts: MovingCounts, size: int) -> None:
        self.counts = counts
        self._ring = np.zeros(size, dtype=np.int64)
        self._oldest = self._held = 0

    @property
    def records(self) -> int:
        """The records that the window holds."""
        return self._held

    def add(self, codes: NDArray[np.uint32]) -> None:
        """Let records in, and the oldest out."""
        self._oldest, self._held = self.counts.slide(codes, self._ring, self._oldest, self._held)

    def take_out(self, places: NDArray[np.int64]) -> None:
        """Take out the latest records that stand at these places."""
        _require_held(self.counts, places)
        ring = self._in_order()
        kept = ring[~_latest(ring, places)]
        self.counts.remove(places)
        self._ring[: len(kept)] = kept
        self._oldest, self._held = 0, len(kept)

    def renumber(self, new: NDArray[np.int64]) -> None:
        """Take note of the new place of each old place."""
        ring = self._in_order()
        self._ring[: len(ring)] = new[ring]
        self._oldest = 0

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what a checkpoint keeps: the records in order."""
        return {"ring": self._in_order()}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Put back what `state` gave."""
        self._oldest, self._held = 0, len(arrays["ring"])
        self._ring[: self._held] = arrays["ring"]

    def _in_order(self) -> NDArray[np.int64]:
        return np.roll(self._ring, -self._oldest)[: self._held] if self._oldest else self._ring[: self._held].copy()


class ByTime:
    """The records of the last `duration` microseconds, by their own times; they may come in any order.

    `add` lets in records with their times (`times`), which the window has reached; `reach` lets go those that are too old.
    """

    def __init__(self, counts: MovingCounts, duration: int) -> None:
        self.counts = counts
        self._duration = duration
        self._runs: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []  # times in order, and their places

    @property
    def records(self) -> int:
        """The records that the window holds."""
        return sum(len(times) for times, _ in self._runs)

    def add(self, codes: NDArray[np.uint32], times: NDArray[np.int64] | None = None) -> None:
        """Let records in."""
        if times is None:
            raise CountsError("records of a window by time need their times.")
        if len(codes):
            order = np.argsort(times, kind="stable")
            self._runs.append((times[order], self.counts.add(np.ascontiguousarray(codes[order]))))
        if len(self._runs) > _MOST_RUNS:
            self._runs = [self._in_order()]

    def reach(self, end: int) -> None:
        """Let go what is older than the duration when the window ends, which is just before `end`."""
        kept = []
        for times, places in self._runs:
            gone = int(np.searchsorted(times, end - self._duration, side="left"))
            self.counts.remove(places[:gone])
            if gone < len(times):
                kept.append((times[gone:], places[gone:]))
        self._runs = kept

    def take_out(self, places: NDArray[np.int64]) -> None:
        """Take out the latest records that stand at these places."""
        _require_held(self.counts, places)
        times, held = self._in_order()
        kept = ~_latest(held, places)
        self.counts.remove(places)
        self._runs = [(times[kept], held[kept])]

    def renumber(self, new: NDArray[np.int64]) -> None:
        """Take note of the new place of each old place."""
        self._runs = [(times, new[places]) for times, places in self._runs]

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what a checkpoint keeps: times and places."""
        times, places = self._in_order()
        return {"times": times, "ring": places}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Put back what `state` gave."""
        self._runs = [(arrays["times"], arrays["ring"])] if len(arrays["ring"]) else []

    def _in_order(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        if not self._runs:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        times = np.concatenate([times for times, _ in self._runs])
        places = np.concatenate([places for _, places in self._runs])
        order = np.argsort(times, kind="stable")
        return times[order], places[order]


def _require_held(counts: MovingCounts, places: NDArray[np.int64]) -> None:
    """Refuse to take out records that the window does not hold."""
    distinct, wanted = np.unique(places, return_counts=True)
    missing = int(np.maximum(wanted - counts.held_at(distinct), 0).sum())
    if missing:
        raise CountsError(f"cannot revert: the window does not hold {missing:,} of the {len(places):,} records of this batch.")


def _latest(held: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Mark, for each place as often as it is named, the latest records that stand there."""
    wanted = dict(zip(*(array.tolist() for array in np.unique(places, return_counts=True)), strict=True))
    marked = np.zeros(len(held), dtype=bool)
    for at in np.flatnonzero(np.isin(held, places))[::-1].tolist():
        place = int(held[at])
        if wanted[place]:
            wanted[place] -= 1
            marked[at] = True
    return marked
