"""Where lines go that a run writes as it goes: a file, a Kafka topic, a Redis stream.

A run that begins again at a checkpoint writes the lines behind it again. So that each is there once, a file is cut back to where
it was at the checkpoint, an entry of a Redis stream has the number of its line as its id, and a Kafka message has it as its key,
under which the same message may stand twice.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from unveil.credentials import without_credentials
from unveil.errors import DataChangedError, EngineError, MissingExtraError, shown
from unveil.output import cannot_write, check_replaceable
from unveil.sources.streams.kafka import kafka_address, kafka_client, kafka_settings
from unveil.sources.streams.redis import redis_client

__all__ = ["FileSink", "Sink", "open_sink"]

_PATIENCE = 30.0


class Sink(Protocol):
    """Where lines go."""

    def write(self, number: int, line: bytes) -> None:
        """Write a line, which has a number of its own."""

    def write_all(self, number: int, lines: Sequence[bytes]) -> None:
        """Write lines, the first of which has a number, the others the next ones."""

    def position(self) -> Any:
        """Have all lines in their place, and return where the next goes."""

    def go_to(self, position: Any) -> None:
        """Go back to where a checkpoint was made; None: start anew."""

    def close(self) -> None:
        """End, whatever is in its place by then."""


class FileSink:
    """A file of lines, which is cut back to the checkpoint when a run goes on."""

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
        """Have all lines on the disk, and return the size of the file."""
        return self._guarded(_on_disk)

    def go_to(self, position: Any) -> None:
        """Cut the file back to where it was; None: begin a new one once there is something to write."""
        if position is None:
            self._anew = True
            return
        if not self._path.exists() or self._path.stat().st_size < position:
            raise DataChangedError(f"{shown(self._path)} is shorter than at the checkpoint; put it back, or start anew.")
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
    """Write all of a content, of which the system may take a part at a time."""
    while content:
        content = content[file.write(content) :]


class KafkaSink:
    """A topic: the key of a message is the number of its line."""

    def __init__(self, address: str, settings: Mapping[str, str]) -> None:
        try:
            import confluent_kafka
        except ImportError:
            raise MissingExtraError.needed("a Kafka topic", extra="kafka") from None
        brokers, self._topic = kafka_address(address)
        self._place = without_credentials(address)
        self._failed = 0
        asked = {name: value for name, value in settings.items() if name != "group.id"}
        self._producer: Any = kafka_client(
            confluent_kafka.Producer, {**kafka_settings(brokers, asked), "enable.idempotence": True}
        )

    def write(self, number: int, line: bytes) -> None:
        """Send a line."""
        self._producer.produce(self._topic, value=line, key=str(number).encode(), on_delivery=self._delivered)
        self._producer.poll(0)

    def write_all(self, number: int, lines: Sequence[bytes]) -> None:
        """Send lines."""
        for at, line in enumerate(lines, start=number):
            self.write(at, line)

    def position(self) -> Any:
        """Have all lines delivered."""
        if self._producer.flush(_PATIENCE) or self._failed:
            raise EngineError(f"{self._place}: lines could not be delivered; nothing behind the last checkpoint counts.")
        return None

    def go_to(self, position: Any) -> None:
        """Do nothing: lines sent again have the same keys."""

    def close(self) -> None:
        """Do nothing: the client ends by itself."""

    def _delivered(self, error: Any, _: Any) -> None:
        self._failed += error is not None


class RedisSink:
    """A Redis stream: the id of an entry is the number of its line, and Redis takes each id once."""

    def __init__(self, address: str) -> None:
        self._client, self._stream = redis_client(address)
        self._place = without_credentials(address)

    def write(self, number: int, line: bytes) -> None:
        """Add a line, unless it is there."""
        import redis

        try:
            self._client.xadd(self._stream, {"json": line}, id=f"{number}-0")
        except redis.ResponseError as error:
            if "equal or smaller" not in str(error):
                raise EngineError(f"{self._place}: the stream cannot be written ({type(error).__name__}).") from None
        except redis.RedisError as error:
            raise EngineError(f"{self._place}: the server cannot be reached ({type(error).__name__}).") from None

    def write_all(self, number: int, lines: Sequence[bytes]) -> None:
        """Add lines, unless they are there."""
        for at, line in enumerate(lines, start=number):
            self.write(at, line)

    def position(self) -> Any:
        """Do nothing: what is added is there."""
        return None

    def go_to(self, position: Any) -> None:
        """Do nothing: an id that is there is not added again."""

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


def open_sink(address: str, settings: Mapping[str, str] | None = None) -> Sink:
    """Open where lines go: a file, ``kafka://broker/topic`` or ``redis://host/stream``."""
    if address.startswith("kafka://"):
        return KafkaSink(address, settings or {})
    if address.startswith(("redis://", "rediss://")):
        return RedisSink(address)
    return FileSink(Path(address))
