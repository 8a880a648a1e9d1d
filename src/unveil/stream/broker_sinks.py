"""Sinks of lines in a broker (a Kafka topic or a Redis stream): each line is written once, however often a run is restarted."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from unveil.credentials import without_credentials
from unveil.errors import DataChangedError, DataNotFoundError, EngineError, MissingExtraError, shown
from unveil.sources import kafka_address, kafka_client, kafka_settings, redis_client

__all__ = ["KafkaSink", "RedisSink"]

_PATIENCE = 30.0
"""The number of seconds that a broker has to accept lines, or to become available again."""
_AGAIN = 0.5
"""The number of seconds before an unreachable server is tried again."""
_AT_ONCE = 10_000
"""The most lines sent to a Redis server, or messages read from a topic, at once."""
_TRANSACTION = 5.0
"""The number of seconds after which a transaction is committed."""
_RUN = "unveil-run"
"""The header that identifies the run of a message."""


class KafkaSink:
    """A Kafka topic: the key of a message is the number of its line, and a header identifies its run.

    A run that is continued reads the messages written since the checkpoint, and sends nothing twice. With a
    ``transactional.id`` among the settings, lines are sent in transactions, so that the unfinished lines of a killed run are
    never visible.
    """

    def __init__(self, address: str, settings: Mapping[str, str]) -> None:
        try:
            import confluent_kafka
        except ImportError:
            raise MissingExtraError.needed("a Kafka topic", extra="kafka") from None
        brokers, self._topic = kafka_address(address)
        self._kafka: Any = confluent_kafka
        self._place = without_credentials(address)
        plain = {name: value for name, value in settings.items() if name not in ("group.id", "transactional.id")}
        self._settings = kafka_settings(brokers, plain)
        self._named = settings.get("transactional.id")
        own = {} if self._named is None else {"transactional.id": f"{self._named}-{self._topic}"}
        self._producer: Any = kafka_client(confluent_kafka.Producer, {**self._settings, "enable.idempotence": True, **own})
        self._run = secrets.token_hex(8)
        self._ends: dict[str, int] = {}
        self._there: set[int] = set()
        self._failed = 0
        self._open: float | None = None

    def write(self, number: int, line: bytes) -> None:
        """Send a line, unless it has already been written."""
        if number in self._there:
            self._there.discard(number)
            return
        self._begin()
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                self._producer.produce(
                    self._topic, value=line, key=str(number).encode(), headers={_RUN: self._run}, on_delivery=self._delivered
                )
                break
            except BufferError:  # the client's queue is full
                self._producer.poll(_AGAIN)
                if time.monotonic() > deadline:
                    raise self._undelivered() from None
        self._producer.poll(0)

    def write_all(self, number: int, lines: Sequence[bytes]) -> None:
        """Send lines."""
        for at, line in enumerate(lines, start=number):
            self.write(at, line)

    def position(self) -> Any:
        """Wait until all lines are delivered, and return the ends of the partitions after the last line of this run."""
        if self._producer.flush(_PATIENCE) or self._failed:
            raise self._undelivered()
        if self._open is not None:
            with self._transacting():
                self._producer.commit_transaction(_PATIENCE)
            self._open = None
        return {"run": self._run, "ends": dict(self._ends)}

    def go_to(self, position: Any) -> None:
        """Determine which lines after a position are already written; None starts a new run after the present messages."""
        partitions = self._partitions()
        if self._named is not None:
            with self._transacting():
                self._producer.init_transactions(_PATIENCE)
        reader = kafka_client(
            self._kafka.Consumer,
            {**self._settings, "group.id": f"unveil-{self._run}", "enable.partition.eof": True, "enable.auto.commit": False,
             "auto.offset.reset": "earliest", "isolation.level": "read_committed"},
        )  # fmt: skip
        try:
            if position is None:
                for at in partitions:
                    _, end = reader.get_watermark_offsets(self._kafka.TopicPartition(self._topic, at), timeout=_PATIENCE)
                    self._ends[str(at)] = end
            else:
                self._run, self._ends = position["run"], dict(position["ends"])
                self._there = set(self._read(reader, partitions))
        except self._kafka.KafkaException as error:
            raise EngineError(f"{self._place}: no broker answers ({error.args[0].name()}).") from None
        finally:
            reader.close()

    def close(self) -> None:
        """Do nothing, because the client ends by itself."""

    def _partitions(self) -> list[int]:
        try:
            known = self._producer.list_topics(self._topic, timeout=_PATIENCE).topics.get(self._topic)
        except self._kafka.KafkaException as error:
            raise EngineError(f"{self._place}: no broker answers ({error.args[0].name()}).") from None
        if known is None or not known.partitions:
            raise DataNotFoundError(f"{self._place}: there is no topic {shown(self._topic)}; create it first.")
        return sorted(known.partitions)

    def _read(self, reader: Any, partitions: Sequence[int]) -> Iterator[int]:
        """Yield the numbers of the lines of this run that were written after the checkpoint."""
        first = self._kafka.OFFSET_BEGINNING
        reader.assign([self._kafka.TopicPartition(self._topic, at, self._ends.get(str(at), first)) for at in partitions])
        ended: set[int] = set()
        quiet = time.monotonic() + _PATIENCE
        while len(ended) < len(partitions):
            for message in reader.consume(_AT_ONCE, timeout=_AGAIN):
                quiet = time.monotonic() + _PATIENCE
                if message.error() is None:
                    self._ends[str(message.partition())] = message.offset() + 1
                    if (_RUN, self._run.encode()) in (message.headers() or ()):
                        yield int(message.key())
                elif message.error().code() == self._kafka.KafkaError._PARTITION_EOF:  # noqa: SLF001 - the client's own name
                    ended.add(message.partition())
            if time.monotonic() > quiet:
                raise EngineError(f"{self._place}: the lines that are already there cannot be read, so nothing was written.")

    def _begin(self) -> None:
        """Begin a transaction if lines are sent in transactions; first commit one that has been open for long."""
        if self._named is None:
            return
        if self._open is not None and time.monotonic() - self._open > _TRANSACTION:
            self.position()
        if self._open is None:
            with self._transacting():
                self._producer.begin_transaction()
            self._open = time.monotonic()

    @contextlib.contextmanager
    def _transacting(self) -> Iterator[None]:
        try:
            yield
        except self._kafka.KafkaException as error:
            raise EngineError(f"{self._place}: lines cannot be sent in a transaction ({error.args[0].name()}).") from None

    def _undelivered(self) -> EngineError:
        return EngineError(
            f"{self._place}: lines could not be delivered; with a `checkpoint`, the same command continues with them."
        )

    def _delivered(self, error: Any, message: Any) -> None:
        self._failed += error is not None
        if error is None:
            at = str(message.partition())
            self._ends[at] = max(self._ends.get(at, 0), message.offset() + 1)


class RedisSink:
    """A Redis stream: ids follow from the numbers of lines, after the ids already present, and Redis accepts each id once.

    If the server becomes unavailable, the sink waits for it.
    """

    def __init__(self, address: str) -> None:
        self._client, self._stream = redis_client(address)
        self._place = without_credentials(address)
        self._base = 0

    def write(self, number: int, line: bytes) -> None:
        """Add a line, unless it has already been written."""
        self.write_all(number, [line])

    def write_all(self, number: int, lines: Sequence[bytes]) -> None:
        """Add lines, unless they have already been written."""
        for start in range(0, len(lines), _AT_ONCE):
            self._patiently(partial(self._add, number + start, lines[start : start + _AT_ONCE]))

    def position(self) -> Any:
        """Return the id after which the lines of this run are written; lines that were added are already stored."""
        return {"base": self._base}

    def go_to(self, position: Any) -> None:
        """Continue with the ids of a run; None starts after the present entries."""
        self._base = self._patiently(self._last) if position is None else int(position["base"])

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _last(self) -> int:
        newest = self._client.xrevrange(self._stream, count=1)
        return int(newest[0][0].split(b"-")[0]) if newest else 0

    def _add(self, number: int, lines: Sequence[bytes]) -> None:
        """Add lines at once; for those that the stream refuses, check that they are already present."""
        import redis

        ids = [f"{self._base + number + at}-0" for at in range(len(lines))]
        pipe = self._client.pipeline(transaction=False)
        for name, line in zip(ids, lines, strict=True):
            pipe.xadd(self._stream, {"json": line}, id=name)
        for name, line, answer in zip(ids, lines, pipe.execute(raise_on_error=False), strict=True):
            if isinstance(answer, redis.ResponseError) and "equal or smaller" in str(answer):
                if self._client.xrange(self._stream, name, name) != [(name.encode(), {b"json": line})]:
                    raise DataChangedError(
                        f"{self._place}: someone else adds to this stream, or it was trimmed; use a stream for these lines alone."
                    )
            elif isinstance(answer, Exception):
                raise answer

    def _patiently(self, act: Any) -> Any:
        """Repeat an action that is safe to repeat until the server is available again or the time is up."""
        import redis

        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                return act()
            except (redis.ConnectionError, redis.TimeoutError) as error:
                if time.monotonic() > deadline:
                    raise EngineError(f"{self._place}: the server cannot be reached ({type(error).__name__}).") from None
                time.sleep(_AGAIN)
            except redis.RedisError as error:
                raise EngineError(f"{self._place}: the stream cannot be written ({type(error).__name__}).") from None
