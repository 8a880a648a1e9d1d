"""The expiry of records from a window: after a number of records, after a time, or never.

Each class keeps the places of the records in its window, oldest first, and lets `MovingCounts` count them.
Times are microseconds since 1970.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from unveil.counts.window import MovingCounts
from unveil.errors import CountsError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ByNumber", "ByTime", "Expiry", "Never", "hold_to_limit"]

_MOST_RUNS = 256
"""The most runs of records, each in the order of time, that are kept before they are merged."""


class Expiry(Protocol):
    """The records that a window remembers so that it can drop the old ones."""

    counts: MovingCounts

    @property
    def records(self) -> int:
        """The records that the window holds."""

    def add(
        self, codes: NDArray[np.uint32], times: NDArray[np.int64] | None = None, amounts: NDArray[np.int64] | None = None
    ) -> None:
        """Add records, each with its time and as often as `amounts` says, and drop the oldest."""

    def take_out(self, places: NDArray[np.int64]) -> None:
        """Remove the records at the given places; of equal records, the latest."""

    def renumber(self, new: NDArray[np.int64]) -> None:
        """Take note of the new place of each old place."""

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what a checkpoint keeps."""

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Put back what `state` gave."""


class Never:
    """A landmark window, which keeps all records since the start."""

    def __init__(self, counts: MovingCounts) -> None:
        self.counts = counts

    @property
    def records(self) -> int:
        """The records that the window holds."""
        return self.counts.records

    def add(
        self,
        codes: NDArray[np.uint32],
        times: NDArray[np.int64] | None = None,  # noqa: ARG002 - nobody leaves
        amounts: NDArray[np.int64] | None = None,
    ) -> None:
        """Let records in."""
        if amounts is None:
            self.counts.add(codes)
        else:
            self.counts.add_counted(codes, amounts)

    def take_out(self, places: NDArray[np.int64]) -> None:
        """Take records out."""
        _require_held(self.counts, places)
        self.counts.remove(places)

    def renumber(self, new: NDArray[np.int64]) -> None:
        """Do nothing: no places are kept."""

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

    def add(
        self,
        codes: NDArray[np.uint32],
        times: NDArray[np.int64] | None = None,  # noqa: ARG002 - only the order matters
        amounts: NDArray[np.int64] | None = None,
    ) -> None:
        """Add records, and drop the oldest."""
        if amounts is not None:
            raise CountsError(
                "records that were counted have no order, so a window by number cannot hold them; use a window by time."
            )
        self._oldest, self._held = self.counts.slide(codes, self._ring, self._oldest, self._held)

    def take_out(self, places: NDArray[np.int64]) -> None:
        """Take out the latest records at these places."""
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


class _Run(NamedTuple):
    """Records in the order of time: their times, their places, and how many stand for each."""

    times: NDArray[np.int64]
    places: NDArray[np.int64]
    amounts: NDArray[np.int64]


class ByTime:
    """The records of the last `duration` microseconds, by their own times; they may come in any order.

    `add` adds records that the window has reached; `reach` drops those that are too old.
    """

    def __init__(self, counts: MovingCounts, duration: int) -> None:
        self.counts = counts
        self._duration = duration
        self._runs: list[_Run] = []

    @property
    def records(self) -> int:
        """The records that the window holds."""
        return sum(int(run.amounts.sum()) for run in self._runs)

    def add(
        self, codes: NDArray[np.uint32], times: NDArray[np.int64] | None = None, amounts: NDArray[np.int64] | None = None
    ) -> None:
        """Let records in."""
        if times is None:
            raise CountsError("records of a window by time need their times.")
        if len(codes):
            order = np.argsort(times, kind="stable")
            rows = np.ascontiguousarray(codes[order])
            if amounts is None:
                self._runs.append(_Run(times[order], self.counts.add(rows), np.ones(len(rows), dtype=np.int64)))
            else:
                self._runs.append(_Run(times[order], self.counts.add_counted(rows, amounts[order]), amounts[order]))
        if len(self._runs) > _MOST_RUNS:
            self._runs = [self._in_order()]

    def reach(self, end: int) -> None:
        """Drop the records that are too old for a window that ends just before `end`."""
        kept = []
        for run in self._runs:
            gone = int(np.searchsorted(run.times, end - self._duration, side="left"))
            self.counts.remove(run.places[:gone], run.amounts[:gone])
            if gone < len(run.times):
                kept.append(_Run(run.times[gone:], run.places[gone:], run.amounts[gone:]))
        self._runs = kept

    def take_out(self, places: NDArray[np.int64]) -> None:
        """Take out the latest records at these places."""
        _require_held(self.counts, places)
        run = self._in_order()
        ones = np.ones(int(run.amounts.sum()), dtype=np.int64)
        run = _Run(np.repeat(run.times, run.amounts), np.repeat(run.places, run.amounts), ones)
        kept = ~_latest(run.places, places)
        self.counts.remove(places)
        self._runs = [_Run(*(part[kept] for part in run))]

    def renumber(self, new: NDArray[np.int64]) -> None:
        """Take note of the new place of each old place."""
        self._runs = [run._replace(places=new[run.places]) for run in self._runs]

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what a checkpoint keeps: times, places and amounts."""
        run = self._in_order()
        return {"times": run.times, "ring": run.places, "amounts": run.amounts}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Put back what `state` gave."""
        self._runs = [_Run(arrays["times"], arrays["ring"], arrays["amounts"])] if len(arrays["ring"]) else []

    def _in_order(self) -> _Run:
        if not self._runs:
            return _Run(*(np.empty(0, dtype=np.int64) for _ in range(3)))
        parts = [np.concatenate(part) for part in zip(*self._runs, strict=True)]
        order = np.argsort(parts[0], kind="stable")
        return _Run(*(part[order] for part in parts))


def hold_to_limit(expiry: Expiry, waiting: Sequence[NDArray[np.uint32]]) -> None:
    """If the count table exceeds its limit, drop combinations that no record holds; if that is not enough, keep a sample."""
    counts = expiry.counts
    if counts.crowded:
        expiry.renumber(counts.forget(waiting))
        while counts.crowded:
            expiry.renumber(counts.thin())


def _require_held(counts: MovingCounts, places: NDArray[np.int64]) -> None:
    """Refuse to take out records that the window does not hold."""
    distinct, wanted = np.unique(places, return_counts=True)
    missing = int(np.maximum(wanted - counts.held_at(distinct), 0).sum())
    if missing:
        raise CountsError(f"cannot revert: the window does not hold {missing:,} of the {len(places):,} records of this batch.")


def _latest(held: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Mark the latest records at each place, as many as the number of times the place is named."""
    wanted = dict(zip(*(array.tolist() for array in np.unique(places, return_counts=True)), strict=True))
    marked = np.zeros(len(held), dtype=bool)
    for at in np.flatnonzero(np.isin(held, places))[::-1].tolist():
        place = int(held[at])
        if wanted[place]:
            wanted[place] -= 1
            marked[at] = True
    return marked
