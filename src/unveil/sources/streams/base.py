"""The common parts of all streams of records: batches, with a position after each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import polars as pl

__all__ = ["RecordStream", "StreamBatch", "StreamOptions", "named_types", "text_of_value", "types_of"]

_EXACT = 1 << 53
_TYPES: dict[str, Any] = {"Int64": pl.Int64, "Float64": pl.Float64, "Boolean": pl.Boolean, "String": pl.String}


def text_of_value(value: Any) -> str | None:
    """Return the text for a value in a column of texts: for a number or a truth value, that of JSON.

    Examples
    --------
    >>> [text_of_value(value) for value in ("flu", 1, 2.5, 3.0, True, [1], None)]
    ['flu', '1', '2.5', '3', 'true', '[1]', None]
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return str(int(value))
    plain = isinstance(value, bool | int | float | list | dict)
    return json.dumps(value, ensure_ascii=False, sort_keys=True) if plain else str(value)


def named_types(types: Mapping[str, Any]) -> dict[str, str]:
    """Return the types of columns as names that a position can hold."""
    return {column: next(name for name, known in _TYPES.items() if known == kind) for column, kind in types.items()}


def types_of(names: Mapping[str, str]) -> dict[str, Any]:
    """Return the types of columns from the names in a position."""
    return {column: _TYPES[name] for column, name in names.items()}


@dataclass(frozen=True, slots=True, eq=False)
class StreamBatch:
    """Records that arrived together.

    Attributes
    ----------
    frame
        The requested columns.
    position
        The position of the source after them, as a value that JSON can hold.
    malformed
        The records that could not be read, unchanged.
    """

    frame: pl.DataFrame
    position: Any
    malformed: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """Settings for reading a stream.

    Attributes
    ----------
    follow
        Whether to wait for more at the end of a file, folder, topic or stream.
    missing
        Texts that stand for a null.
    settings
        The settings of the client library: the properties of a Kafka consumer, such as those of TLS and SASL.
    avro
        The schema of messages in Avro; None: they are JSON.
    from_start
        Whether a topic or a stream without a position is read from its start; otherwise only new records are read.
    """

    follow: bool = True
    missing: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    avro: Path | None = None
    from_start: bool = True


class RecordStream(Protocol):
    """A source of records."""

    place: str

    def batches(self, columns: Sequence[str], position: Any = None) -> Iterator[StreamBatch | None]:
        """Yield the records after a position as they arrive; None now and then while there are none."""

    def committed(self, position: Any) -> None:
        """Acknowledge that everything up to a position has been processed."""

    def close(self) -> None:
        """Close the connection or file, if one is open."""
