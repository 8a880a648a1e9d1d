"""The opening of a stream by its address; a built-in data set is a stream of its records in order, for experiments."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from unveil.attributes import require_columns
from unveil.errors import ArgumentError, DataNotFoundError, shown
from unveil.sources import datasets
from unveil.sources.streams.base import RecordStream, StreamBatch, StreamOptions

__all__ = ["Replay", "open_records"]


def open_records(address: str | os.PathLike[str], options: StreamOptions | None = None) -> RecordStream:
    """Open a stream of records: "-", a file of lines, a folder of Parquet files, a topic, a Redis stream, a built-in data set."""
    chosen, name = options or StreamOptions(), os.fspath(address)
    if name == "-":
        from unveil.sources.streams.lines import StandardInput

        return StandardInput(chosen)
    if name.startswith("kafka://"):
        from unveil.sources.streams.kafka import KafkaTopic

        return KafkaTopic(name, chosen)
    if name.startswith(("redis://", "rediss://")):
        from unveil.sources.streams.redis import RedisStream

        return RedisStream(name, chosen)
    return _open_path(Path(name), chosen)


def _open_path(path: Path, options: StreamOptions) -> RecordStream:
    if path.is_dir():
        from unveil.sources.streams.folder import ParquetFolder

        return ParquetFolder(path, options)
    if not path.exists() and str(path) in datasets.names():
        return Replay(str(path))
    if not path.exists():
        raise DataNotFoundError(f"{shown(path)} is not a file, a folder or the address of a stream (kafka://, redis://).")
    if path.suffix.lower() in (".parquet", ".arrow", ".xlsx", ".sav"):
        raise ArgumentError(
            f"{shown(path)} is not a file of lines; name the folder in which such files arrive, or measure the file."
        )
    from unveil.sources.streams.lines import LineFile

    return LineFile(path, options)


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
