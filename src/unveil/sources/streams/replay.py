"""A built-in data set as a stream of its records in order, for experiments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from unveil.attributes import require_columns
from unveil.sources import datasets
from unveil.sources.streams.base import StreamBatch

__all__ = ["Replay"]

_ROWS = 1 << 16


class Replay:
    """The records of a built-in data set, in their order."""

    def __init__(self, name: str) -> None:
        self.place = name
        self._frame = datasets.load(name)

    def batches(self, columns: Sequence[str], position: Any = None) -> Iterator[StreamBatch | None]:
        """Yield the records after a position, until there are no more."""
        require_columns(columns, self._frame.columns)
        for start in range((position or {}).get("row", 0), self._frame.height, _ROWS):
            part = self._frame[start : start + _ROWS]
            yield StreamBatch(part.select([part[name] for name in columns]), {"row": start + part.height})

    def committed(self, position: Any) -> None:
        """Do nothing, because the records can be read again."""

    def close(self) -> None:
        """Do nothing, because nothing is open."""
