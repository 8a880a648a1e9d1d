"""A folder in which Parquet files arrive; each is read once, in the order of names.

A file is read as soon as it is readable; one that is still being written is tried again later. Files whose names begin with a
dot or an underscore are ignored. The position consists of the names of the finished files and the rows read of the current one.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from unveil.attributes import require_columns
from unveil.sources.streams.base import StreamBatch, StreamOptions

__all__ = ["ParquetFolder"]

_ROWS = 1 << 20
"""The number of rows read at once."""
_PAUSE = 0.5
_PATIENCE = 10.0
"""The number of seconds after which an unreadable file that does not change is treated as malformed."""


class ParquetFolder:
    """A folder of arriving Parquet files."""

    def __init__(self, path: Path, options: StreamOptions) -> None:
        self.place = str(path)
        self._path = path
        self._options = options

    def batches(self, columns: Sequence[str], position: Any = None) -> Iterator[StreamBatch | None]:
        """Yield the rows of all files, and of those that arrive later."""
        done = dict.fromkeys((position or {}).get("done", ()))
        rows = (position or {}).get("rows", 0)
        while True:
            waiting = [
                path for path in sorted(self._path.glob("*.parquet")) if path.name not in done and path.name[0] not in "._"
            ]
            progress = False
            for path in waiting:
                for batch in self._file(path, columns, done, rows):
                    progress = True
                    yield batch
                rows = 0
            if not progress:
                if not self._options.follow:
                    return
                yield None
                time.sleep(_PAUSE)

    def committed(self, position: Any) -> None:
        """Do nothing, because files can be read again."""

    def close(self) -> None:
        """Do nothing, because open files are closed when the batches end."""

    def _file(self, path: Path, columns: Sequence[str], done: dict[str, None], rows: int) -> Iterator[StreamBatch]:
        try:
            names = pl.read_parquet_schema(path)
            total = int(pl.scan_parquet(path).select(pl.len()).collect().item())
        except (pl.exceptions.PolarsError, OSError):
            if not self._options.follow or time.time() - path.stat().st_mtime > _PATIENCE:
                done[path.name] = None
                yield StreamBatch(_none(columns), self._position(done, 0), (path.name.encode(),))
            return
        require_columns(columns, list(names))
        for start in range(rows, max(total, 1), _ROWS):
            picked = pl.scan_parquet(path).slice(start, _ROWS).select([pl.col(name) for name in columns]).collect()
            stop = start + _ROWS
            if stop >= total:
                done[path.name] = None
                stop = 0
            yield StreamBatch(self._without_missing(picked), self._position(done, stop))

    def _position(self, done: dict[str, None], rows: int) -> dict[str, Any]:
        return {"done": list(done), "rows": rows}

    def _without_missing(self, frame: pl.DataFrame) -> pl.DataFrame:
        if not self._options.missing:
            return frame
        texts = [name for name, dtype in frame.schema.items() if dtype == pl.String]
        return frame.with_columns(*(frame[name].set(frame[name].is_in(list(self._options.missing)), None) for name in texts))


def _none(columns: Sequence[str]) -> pl.DataFrame:
    return pl.DataFrame(schema=dict.fromkeys(columns, pl.String))
