"""Parquet and Arrow files (Feather is one).

Such a file contains its types, and only the requested columns are read from it.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

import polars as pl

from unveil.attributes import require_columns
from unveil.errors import DataFileError, DuplicateColumnError, EmptyDataError
from unveil.sources.files.arrowschema import names_in_schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from unveil.sources.files.inputs import Input

__all__ = ["arrow_column_names", "parquet_column_names", "read_arrow", "read_parquet"]

_FILE_MAGIC = b"ARROW1\0\0"
_STREAM_MAGIC = b"\xff\xff\xff\xff"


def parquet_column_names(source: Input) -> list[str]:
    """Read the names in a Parquet file's schema."""
    with _damage_reported(source, "Parquet"):
        return list(pl.read_parquet_schema(source.for_engine()))


def read_parquet(source: Input, columns: Sequence[str] | None) -> pl.DataFrame:
    """Read columns of a Parquet file."""
    names = parquet_column_names(source)
    positions = _positions(columns, names)
    with _damage_reported(source, "Parquet"):
        frame = pl.read_parquet(source.for_engine(), columns=positions, glob=False, hive_partitioning=False)
    return _in_order(source, frame, columns)


def arrow_column_names(source: Input) -> list[str]:
    """Read the names in the schema of an Arrow file or stream."""
    start = next(source.chunks())
    names = names_in_schema(start.removeprefix(_FILE_MAGIC))
    if len(set(names)) < len(names):  # Polars would panic over it
        raise DuplicateColumnError.named(next(name for name in names if names.count(name) > 1), source.place)
    with _damage_reported(source, "Arrow"):
        if start.startswith(_STREAM_MAGIC):
            return pl.read_ipc_stream(source.for_engine(), n_rows=0).columns
        return list(pl.read_ipc_schema(source.for_engine()))


def read_arrow(source: Input, columns: Sequence[str] | None) -> pl.DataFrame:
    """Read columns of an Arrow file or stream."""
    positions = _positions(columns, arrow_column_names(source))
    with _damage_reported(source, "Arrow"):
        if source.head().startswith(_STREAM_MAGIC):
            frame = pl.read_ipc_stream(source.for_engine(), columns=positions)
        else:
            frame = pl.read_ipc(source.for_engine(), columns=positions)
    return _in_order(source, frame, columns)


def _positions(columns: Sequence[str] | None, names: list[str]) -> list[int] | None:
    """Return the positions of the requested columns, because Polars takes some names for patterns."""
    if columns is None:
        return None
    require_columns(columns, names)
    position = {name: index for index, name in enumerate(names)}
    return sorted(position[name] for name in columns)


@contextmanager
def _damage_reported(source: Input, kind: str) -> Iterator[None]:
    """Turn the engine's message, which may quote values, into one line that does not."""
    try:
        yield
    except pl.exceptions.DuplicateError as error:
        name = re.search(r"'(.*)'", str(error), re.DOTALL)
        raise DuplicateColumnError.named(name[1] if name else "?", source.place) from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        raise DataFileError(
            f"{source.place}: the file is damaged, cut short or not {kind}; write it again, or correct its suffix."
        ) from None


def _in_order(source: Input, frame: pl.DataFrame, columns: Sequence[str] | None) -> pl.DataFrame:
    """Return the columns in the requested order, refusing a frame without records."""
    if frame.is_empty():
        raise EmptyDataError.no_records(source.place)
    return frame if columns is None else pl.DataFrame({name: frame.get_column(name) for name in columns})
