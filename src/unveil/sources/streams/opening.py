"""Addresses of streams."""

from __future__ import annotations

import os
from pathlib import Path

from unveil.errors import ArgumentError, DataNotFoundError, shown
from unveil.sources import datasets
from unveil.sources.streams.base import RecordStream, StreamOptions

__all__ = ["open_records"]


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
        from unveil.sources.streams.replay import Replay

        return Replay(str(path))
    if not path.exists():
        raise DataNotFoundError(f"{shown(path)} is not a file, a folder or the address of a stream (kafka://, redis://).")
    if path.suffix.lower() in (".parquet", ".arrow", ".xlsx", ".sav"):
        raise ArgumentError(
            f"{shown(path)} is not a file of lines; name the folder in which such files arrive, or measure the file."
        )
    from unveil.sources.streams.lines import LineFile

    return LineFile(path, options)
