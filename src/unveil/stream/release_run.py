"""Runs that release a stream: records in, publications out, and a state from which to continue however a run ended."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl

from unveil.run import active_run
from unveil.sources import RecordStream
from unveil.stream.checkpoint import Checkpoint
from unveil.stream.release import Publication, StreamRelease
from unveil.stream.sinks import Sink

__all__ = ["ReleaseRun"]


class ReleaseRun:
    """A run that releases a stream, and keeps a state from which it can be continued.

    Lines are stored as part of a state before they are written. So a run that is continued, however it ended, writes exactly
    the same lines again; if records were grouped or shuffled anew, they would be released twice, and the two versions together
    would disclose people's values.
    """

    def __init__(self, release: StreamRelease, sink: Sink, checkpoint: Checkpoint | None) -> None:
        self._release, self._sink, self._checkpoint = release, sink, checkpoint
        self._records: RecordStream | None = None
        self._position: Any = None
        self._stopped = False
        self._written = 0

    def stop(self) -> None:
        """Stop at the next batch."""
        self._stopped = True

    def through(self, records: RecordStream) -> None:
        """Release all records that arrive, from where the previous run ended."""
        self._records = records
        self._resume()
        saved, every = time.monotonic(), active_run().limits.checkpoint_every
        for batch in records.batches(self._release.columns, self._position):
            now = int(time.time() * 1_000_000)
            leaving = self._release.tick(now) if batch is None else self._release.feed(batch.frame, now)
            lines = _lines(leaving)
            if batch is not None:
                self._position = batch.position
                self._release.malformed += len(batch.malformed)
            if lines or time.monotonic() - saved >= every:
                self._let_out(lines)
                saved = time.monotonic()
            if self._stopped:
                break
        if not self._stopped or self._checkpoint is None:  # otherwise the waiting records are kept for the next run
            self._let_out(_lines(self._release.finish()))
        self._save(())

    def _let_out(self, lines: Sequence[bytes]) -> None:
        """Save the lines that leave, then write them."""
        self._save(lines)
        if lines:
            self._sink.write_all(self._written + 1, lines)
            self._written += len(lines)

    def _save(self, leaving: Sequence[bytes]) -> None:
        """Store the state, with the lines that leave next and the positions of the source and the sink."""
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
