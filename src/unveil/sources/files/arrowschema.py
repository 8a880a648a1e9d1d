"""The column names in the schema of an Arrow stream.

If two columns have the same name, Polars keeps one in its schema and then panics over the data. So the names are read here,
from the stream's first message, a table in the FlatBuffers format, in which fields are found through a table of offsets.
"""

from __future__ import annotations

import struct

__all__ = ["names_in_schema"]

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
