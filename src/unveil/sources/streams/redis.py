"""A Redis stream: entries by their ids, each with a JSON object in one field, or with one field for each column.

The position is the id of the last entry read, so an entry is read once however often a run is restarted. If the server becomes
unavailable, the reader waits for it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit, urlunsplit

from unveil.credentials import without_credentials
from unveil.errors import ArgumentError, DataNotFoundError, EngineError, MissingExtraError, shown
from unveil.sources.streams.base import StreamBatch, StreamOptions
from unveil.sources.streams.messages import messages_of

__all__ = ["RedisStream", "redis_client"]

_ENTRIES = 20_000
"""The most entries read at once."""
_BLOCK = 200
"""The number of milliseconds to wait for an entry."""
_AGAIN = 1.0
"""The number of seconds before an unavailable server is tried again."""
_FILES = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")
"""Files that an address with TLS may name: the authority for the server's certificate, the client's certificate, its key."""
_FIELDS = (b"json", b"data", b"value", b"payload")
"""The names of a field that holds a whole record as JSON if an entry has no other field."""


class RedisStream:
    """A stream on a Redis server: ``redis://host:port/stream``, or ``rediss://`` with TLS."""

    def __init__(self, address: str, options: StreamOptions) -> None:
        self.place = without_credentials(address)
        self._client, self._stream = redis_client(address)
        self._options = options

    def batches(self, columns: Sequence[str], position: Any = None) -> Iterator[StreamBatch | None]:
        """Yield the entries after a position, and those that arrive later."""
        reader = messages_of(self.place, columns, self._options)
        last = self._begin() if position is None else position["id"]
        if position is not None:
            reader.restore(position["types"])
        while True:
            entries = self._read(last)
            if not entries:
                if not self._options.follow:
                    return
                yield None
                continue
            last = entries[-1][0].decode()
            frame, malformed = reader.frame([_message(fields) for _, fields in entries])
            yield StreamBatch(frame, {"id": last, "types": reader.types}, tuple(malformed))

    def committed(self, position: Any) -> None:
        """Do nothing, because the reader keeps the position."""

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _begin(self) -> str:
        """Return the id after which reading begins; refuse a stream that does not exist."""
        import redis

        try:
            if not self._client.exists(self._stream):
                raise DataNotFoundError(f"{self.place}: there is no such stream; add an entry to it first (XADD).")
            if self._client.type(self._stream) != b"stream":
                raise DataNotFoundError(f"{self.place}: this key holds no stream.")
            newest = self._client.xrevrange(self._stream, count=1)
        except redis.RedisError as error:
            raise EngineError(f"{self.place}: the server does not answer ({type(error).__name__}).") from None
        return "0-0" if self._options.from_start or not newest else newest[0][0].decode()

    def _read(self, last: str) -> list[tuple[bytes, dict[bytes, bytes]]]:
        """Return the entries after an id; none if none arrived or the server is unavailable."""
        import redis

        try:
            block = _BLOCK if self._options.follow else None
            answer = self._client.xread({self._stream: last}, count=_ENTRIES, block=block)
        except (redis.ConnectionError, redis.TimeoutError):
            if not self._options.follow:
                raise EngineError(f"{self.place}: the server has gone away.") from None
            time.sleep(_AGAIN)
            return []
        except redis.RedisError as error:
            raise EngineError(f"{self.place}: the stream cannot be read ({type(error).__name__}).") from None
        return answer[0][1] if answer else []


def redis_client(address: str) -> tuple[Any, str]:
    """Return a client, and the name of the stream at the end of an address.

    After a question mark, ``db=1`` selects a database; for ``rediss://``, ``ssl_ca_certs=``, ``ssl_certfile=`` and
    ``ssl_keyfile=`` name files with certificates and the key.
    """
    try:
        import redis
    except ImportError:
        raise MissingExtraError.needed("a Redis stream", extra="redis") from None
    parts = urlsplit(address)
    stream = parts.path.strip("/")
    if not stream:
        raise ArgumentError("a Redis stream is named as redis://host/stream.")
    options = {name: values[-1] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
    db = options.pop("db", "0")
    if not db.isdigit() or not set(options) <= set(_FILES) or (options and parts.scheme != "rediss"):
        raise ArgumentError(
            "behind the question mark of a Redis address stand db=NUMBER and, of rediss://, "
            + ", ".join(f"{f}=FILE" for f in _FILES)
        )
    for name, file in options.items():
        if not Path(file).is_file():
            raise ArgumentError(f"the file that {name} names in the Redis address, {shown(file)}, is not there.")
    server = urlunsplit((parts.scheme, parts.netloc, f"/{db}", "", ""))
    try:
        return redis.Redis.from_url(server, protocol=2, socket_connect_timeout=5, retry_on_timeout=True, **options), stream
    except ValueError:
        raise ArgumentError("the Redis address cannot be read; it reads redis://user:password@host:port/stream.") from None


def _message(fields: dict[bytes, bytes]) -> bytes:
    """Return an entry as one JSON object: its only field, or its fields as texts."""
    if len(fields) == 1:
        name, content = next(iter(fields.items()))
        if name in _FIELDS:
            return content
    return json.dumps({_text(name): _text(content) for name, content in fields.items()}).encode()


def _text(content: bytes) -> str:
    return content.decode(errors="replace")
