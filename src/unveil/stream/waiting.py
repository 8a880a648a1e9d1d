"""The records that a window by time has not reached yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Part", "Waiting"]


class Part(NamedTuple):
    """Records with their times, and the number of records that each row stands for; None: one each."""

    times: NDArray[np.int64]
    codes: NDArray[np.uint32]
    amounts: NDArray[np.int64] | None = None

    @property
    def records(self) -> int:
        """The number of records."""
        return len(self.times) if self.amounts is None else int(self.amounts.sum())

    def where(self, kept: Any) -> Part:
        """Return some of the rows."""
        amounts = None if self.amounts is None else self.amounts[kept]
        return Part(self.times[kept], np.ascontiguousarray(self.codes[kept]), amounts)


class Waiting:
    """Records that wait until the window reaches them."""

    def __init__(self) -> None:
        self._parts: list[Part] = []

    def __bool__(self) -> bool:
        """Whether any records wait."""
        return bool(self._parts)

    @property
    def first(self) -> int:
        """Their earliest time."""
        return min(int(part.times.min()) for part in self._parts)

    @property
    def codes(self) -> list[NDArray[np.uint32]]:
        """The codes of all waiting records, which may be changed in place."""
        return [part.codes for part in self._parts]

    def add(self, part: Part) -> None:
        """Add records that wait."""
        if len(part.times):
            self._parts.append(part)

    def before(self, end: int) -> Iterator[Part]:
        """Yield the records whose time is before `end`, and remove them."""
        rest = []
        for part in self._parts:
            due = part.times < end
            if due.any():
                yield part.where(due)
            if not due.all():
                rest.append(part.where(~due))
        self._parts = rest

    def state(self, columns: int) -> dict[str, NDArray[Any]]:
        """Return the state for a checkpoint."""
        parts = self._parts or [Part(np.empty(0, dtype=np.int64), np.empty((0, columns), dtype=np.uint32))]
        amounts = [np.ones(len(part.times), dtype=np.int64) if part.amounts is None else part.amounts for part in parts]
        return {
            "waiting_times": np.concatenate([part.times for part in parts]),
            "waiting_codes": np.concatenate([part.codes for part in parts]),
            "waiting_amounts": np.concatenate(amounts),
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore what `state` returned."""
        kept = Part(arrays["waiting_times"], arrays["waiting_codes"], arrays["waiting_amounts"])
        self._parts = [kept] if len(kept.times) else []
