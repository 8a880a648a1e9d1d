"""Parquet and Arrow files (Feather is one).

Such a file contains its types, and only the requested columns are read from it. If two columns of an Arrow stream have the same
name, Polars keeps one in its schema and then panics over the data. So the names are read here, from the stream's first message,
a table in the FlatBuffers format, in which fields are found through a table of offsets.
"""

from __future__ import annotations

import re
import struct
from contextlib import contextmanager
from typing import TYPE_CHECKING

import polars as pl

from unveil.attributes import require_columns
from unveil.errors import DataFileError, DuplicateColumnError, EmptyDataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from unveil.sources.files.inputs import Input

__all__ = ["arrow_column_names", "names_in_schema", "parquet_column_names", "read_arrow", "read_parquet"]

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


_PREFIX = 8  # a continuation mark and the message's length
_MESSAGE_HEADER = 2  # the fields' numbers in the Arrow format's Message, Schema and Field tables
_SCHEMA_FIELDS = 1
_FIELD_NAME = 0


def names_in_schema(stream: bytes) -> list[str]:
    """Return the names in the order of the columns; none if the message is cut off or cannot be interpreted."""
    message = stream[_PREFIX:]
    try:
        schema = _target(message, _field(message, _offset(message, 0), _MESSAGE_HEADER))
        fields = _target(message, _field(message, schema, _SCHEMA_FIELDS))
        entries = range(fields + 4, fields + 4 + 4 * _offset(message, fields), 4)
        return [_name(message, _target(message, entry)) for entry in entries]
    except (struct.error, ValueError):
        return []


def _offset(message: bytes, position: int) -> int:
    value: int = struct.unpack_from("<I", message, position)[0]
    return value


def _target(message: bytes, position: int) -> int:
    """Return the position that the offset at a position refers to."""
    return position + _offset(message, position)


def _field(message: bytes, table: int, number: int) -> int:
    """Return the position of a field of a table."""
    vtable = table - struct.unpack_from("<i", message, table)[0]
    size, slot = struct.unpack_from("<H", message, vtable)[0], 4 + 2 * number
    relative = struct.unpack_from("<H", message, vtable + slot)[0] if slot < size else 0
    if not relative:
        raise ValueError
    return int(table + relative)


def _name(message: bytes, field: int) -> str:
    text = _target(message, _field(message, field, _FIELD_NAME))
    start = text + 4
    return message[start : start + _offset(message, text)].decode()
