"""A release of a stream on its way: records in, publications out, and a state from which a run goes on after any end."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl

from unveil.sources.streams import RecordStream
from unveil.stream.checkpoint import Checkpoint
from unveil.stream.release import Publication, StreamRelease
from unveil.stream.sinks import Sink

__all__ = ["ReleaseRun"]

_INTERVAL = 5.0
"""Seconds between two states kept."""


class ReleaseRun:
    """A release on its way: what was published, and the state that it goes on from.

    What leaves is part of a state that is kept before it leaves. So a run that goes on after any end gives the very same lines
    again; grouped or shuffled again, records would be released twice, and what both have in common would give people away.
    """

    def __init__(self, release: StreamRelease, sink: Sink, checkpoint: Checkpoint | None) -> None:
        self._release, self._sink, self._checkpoint = release, sink, checkpoint
        self._records: RecordStream | None = None
        self._position: Any = None
        self._stopped = False
        self._written = 0

    def stop(self) -> None:
        """End at the next batch."""
        self._stopped = True

    def through(self, records: RecordStream) -> None:
        """Release all that comes, from where the run before ended."""
        self._records = records
        self._resume()
        saved = time.monotonic()
        for batch in records.batches(self._release.columns, self._position):
            now = int(time.time() * 1_000_000)
            leaving = self._release.tick(now) if batch is None else self._release.feed(batch.frame, now)
            lines = _lines(leaving)
            if batch is not None:
                self._position = batch.position
                self._release.malformed += len(batch.malformed)
            if lines or time.monotonic() - saved >= _INTERVAL:
                self._let_out(lines)
                saved = time.monotonic()
            if self._stopped:
                break
        if not self._stopped or self._checkpoint is None:  # else what waits is kept for the run that goes on
            self._let_out(_lines(self._release.finish()))
        self._save(())

    def _let_out(self, lines: Sequence[bytes]) -> None:
        """Keep what leaves, then let it."""
        self._save(lines)
        if lines:
            self._sink.write_all(self._written + 1, lines)
            self._written += len(lines)

    def _save(self, leaving: Sequence[bytes]) -> None:
        """Keep the state, with the lines that leave next, and what is written already in its place."""
        if self._checkpoint is None:
            if not leaving:
                self._sink.position()
            return
        document, arrays = self._release.state()
        place = {"sink": self._sink.position(), "position": self._position, "written": self._written}
        self._checkpoint.write({**document, **place, "leaving": [line.decode() for line in leaving]}, arrays)
        if self._records is not None and self._position is not None:
            self._records.committed(self._position)

    def _resume(self) -> None:
        kept = None if self._checkpoint is None else self._checkpoint.read()
        if kept is None:
            self._sink.go_to(None)
            return
        document, arrays = kept
        self._release.restore(document, arrays)
        self._position, self._written = document["position"], int(document["written"])
        self._sink.go_to(document["sink"])
        self._let_out([line.encode() for line in document["leaving"]])


def _lines(publications: Iterable[Publication]) -> list[bytes]:
    """Return the records of publications as lines of JSON."""
    frames = [one.frame for one in publications if one.frame.height]
    return pl.concat(frames).write_ndjson().encode().splitlines() if frames else []
