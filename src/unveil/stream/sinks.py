"""Sinks for the lines that a run writes: a file, a Kafka topic, a Redis stream.

A run that restarts at a checkpoint writes the lines after it again. So that each line occurs only once, a file is truncated to
its length at the checkpoint, the id of an entry in a Redis stream follows from the number of its line, and a Kafka topic is
read from its end at the checkpoint to determine which lines are already present.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from unveil.errors import DataChangedError, shown
from unveil.output import cannot_write, check_replaceable

__all__ = ["FileSink", "Sink", "open_sink"]


class Sink(Protocol):
    """A place to which lines are written."""

    def write(self, number: int, line: bytes) -> None:
        """Write a line with its number."""

    def write_all(self, number: int, lines: Sequence[bytes]) -> None:
        """Write lines, which are numbered consecutively from `number`."""

    def position(self) -> Any:
        """Wait until all lines are written, and return the position of the next one."""

    def go_to(self, position: Any) -> None:
        """Go back to the position of a checkpoint; None starts afresh."""

    def close(self) -> None:
        """Close the sink, whether or not every line has arrived."""


class FileSink:
    """A file of lines, which is truncated to the checkpoint when a run is continued."""

    def __init__(self, path: Path) -> None:
        check_replaceable(path)
        self._path = path
        self._file: io.FileIO | None = None
        self._anew = False

    def write(self, number: int, line: bytes) -> None:  # noqa: ARG002 - its place is its number
        """Append a line."""
        self._guarded(lambda file: _whole(file, line + b"\n"))

    def write_all(self, number: int, lines: Sequence[bytes]) -> None:  # noqa: ARG002 - their places are their numbers
        """Append lines."""
        self._guarded(lambda file: _whole(file, b"".join(line + b"\n" for line in lines)))

    def position(self) -> Any:
        """Flush all lines to the disk, and return the size of the file; None if nothing has been written yet."""
        return None if self._anew and self._file is None else self._guarded(_on_disk)

    def go_to(self, position: Any) -> None:
        """Truncate the file to its size at the checkpoint; None starts a new file when the first line is written."""
        if position is None:
            self._anew = True
            return
        if not self._path.exists() or self._path.stat().st_size < position:
            raise DataChangedError(f"{shown(self._path)} is shorter than at the checkpoint; restore it, or start again.")
        self._guarded(lambda file: (file.seek(position), file.truncate()))

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def _guarded(self, act: Any) -> Any:
        try:
            if self._file is None:
                self._path.touch()
                self._file = self._path.open("r+b", buffering=0)
                self._file.seek(0, os.SEEK_END)
                if self._anew:
                    self._file.seek(0)
                    self._file.truncate()
            return act(self._file)
        except OSError as error:
            raise cannot_write(self._path, error) from error


def _on_disk(file: io.FileIO) -> int:
    os.fsync(file.fileno())
    return file.tell()


def _whole(file: io.FileIO, content: bytes) -> None:
    """Write all of the content, even if the system accepts it only piece by piece."""
    while content:
        content = content[file.write(content) :]


def open_sink(address: str, settings: Mapping[str, str] | None = None) -> Sink:
    """Open a sink: a file, ``kafka://broker/topic`` or ``redis://host/stream``."""
    if address.startswith("kafka://"):
        from unveil.stream.broker_sinks import KafkaSink

        return KafkaSink(address, settings or {})
    if address.startswith(("redis://", "rediss://")):
        from unveil.stream.broker_sinks import RedisSink

        return RedisSink(address)
    return FileSink(Path(address))
