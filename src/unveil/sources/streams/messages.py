"""Messages of a broker as columns; each is a JSON object, or a record in Avro.

Messages in Avro all follow one schema, with or without the five leading bytes by which a schema registry marks them. They are
put unchanged into a container file, which is read at once.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from unveil.attributes import require_columns
from unveil.errors import DataFileError, DataNotFoundError, shown
from unveil.sources.streams.base import StreamOptions, named_types, types_of
from unveil.sources.streams.decoding import JsonRecords

__all__ = ["Messages", "messages_of"]

_MARK = 5
"""The number of bytes before a message that a schema registry has marked: a zero, and the number of its schema."""
_SYNC = b"unveil-container"


class Messages:
    """A reader of messages that are JSON objects."""

    def __init__(self, place: str, columns: Sequence[str], missing: Sequence[str]) -> None:
        self._records = JsonRecords(place, columns, missing)

    @property
    def types(self) -> dict[str, str]:
        """The types of the columns so far."""
        return named_types(self._records.types)

    def restore(self, types: Mapping[str, str]) -> None:
        """Continue with the types of an earlier run."""
        self._records.types = types_of(types)

    def frame(self, messages: Sequence[bytes]) -> tuple[pl.DataFrame, list[bytes]]:
        """Return the columns of the messages that can be read, and the other messages."""
        lines = b"\n".join(messages)
        if lines.count(b"\n") >= len(messages):
            lines = b"\n".join(map(_in_one_line, messages))
        return self._records.frame(lines)


class AvroMessages:
    """A reader of messages that are records in Avro."""

    types: dict[str, str] = {}  # noqa: RUF012 - the schema determines them

    def __init__(self, columns: Sequence[str], schema: Path) -> None:
        self._columns = list(columns)
        try:
            self._schema = json.dumps(json.loads(schema.read_text("utf-8"))).encode()
        except OSError:
            raise DataNotFoundError(f"the Avro schema {shown(schema)} cannot be read.") from None
        except ValueError:
            raise DataFileError(f"the Avro schema {shown(schema)} is no JSON.") from None

    def restore(self, types: Mapping[str, str]) -> None:
        """Do nothing, because the schema determines the types."""

    def frame(self, messages: Sequence[bytes]) -> tuple[pl.DataFrame, list[bytes]]:
        """Return the columns of the messages that can be read, and the other messages."""
        bodies = [message[_MARK:] if message[:1] == b"\0" and len(message) > _MARK else message for message in messages]
        frame = self._read(bodies)
        if frame is not None:
            return frame, []
        parts, malformed = [], []
        for message, body in zip(messages, bodies, strict=True):
            one = self._read([body])
            malformed.append(message) if one is None else parts.append(one)
        return pl.concat(parts) if parts else pl.DataFrame(schema=dict.fromkeys(self._columns, pl.String)), malformed

    def _read(self, bodies: Sequence[bytes]) -> pl.DataFrame | None:
        block = b"".join(bodies)
        header = b"Obj\x01" + _long(1) + _bytes(b"avro.schema") + _bytes(self._schema) + _long(0) + _SYNC
        try:
            frame = pl.read_avro(io.BytesIO(header + _long(len(bodies)) + _long(len(block)) + block + _SYNC))
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError, OverflowError):
            return None
        if frame.height != len(bodies):
            return None
        require_columns(self._columns, frame.columns)
        return pl.DataFrame({name: frame[name] for name in self._columns})


def messages_of(place: str, columns: Sequence[str], options: StreamOptions) -> Messages | AvroMessages:
    """Return the reader for the messages of a broker."""
    if options.avro is not None:
        return AvroMessages(columns, options.avro)
    return Messages(place, columns, options.missing)


def _in_one_line(message: bytes) -> bytes:
    """Return a message without line breaks, which have no meaning between the parts of a JSON object."""
    return message.replace(b"\r", b" ").replace(b"\n", b" ")


def _long(value: int) -> bytes:
    """Return an integer as Avro encodes it: zigzag, with seven bits per byte."""
    left = value << 1
    parts = bytearray()
    while left > 0x7F:  # noqa: PLR2004 - seven bits
        parts.append((left & 0x7F) | 0x80)
        left >>= 7
    parts.append(left)
    return bytes(parts)


def _bytes(content: bytes) -> bytes:
    return _long(len(content)) + content
