"""A Kafka topic: the messages of all its partitions, by offsets that are stored together with the results.

Partitions are assigned, not subscribed to, so nothing is read twice however often a run is restarted; the offsets are also
committed to a consumer group, if one is named, so that its lag can be monitored. If a broker becomes unavailable, the client
waits and reconnects by itself. Kafka orders messages only within a partition; `position` holds the offset of each partition.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from unveil.credentials import without_credentials
from unveil.errors import ArgumentError, DataNotFoundError, EngineError, MissingExtraError, shown
from unveil.sources.streams.base import StreamBatch, StreamOptions
from unveil.sources.streams.messages import messages_of

__all__ = ["KafkaTopic", "kafka_address", "kafka_client", "kafka_settings"]

_MESSAGES = 50_000
"""The most messages consumed at once."""
_WAIT = 0.2
_PATIENCE = 20.0
"""The number of seconds to wait for a broker's metadata on a topic."""
_QUIET: dict[str, Any] = {"log_level": 0, "error_cb": lambda _: None}


class KafkaTopic:
    """A topic of a Kafka cluster: ``kafka://host:port/topic``."""

    def __init__(self, address: str, options: StreamOptions) -> None:
        try:
            import confluent_kafka
        except ImportError:
            raise MissingExtraError.needed("a Kafka topic", extra="kafka") from None
        self.place = without_credentials(address)
        self._brokers, self._topic = kafka_address(address)
        self._options = options
        self._kafka: Any = confluent_kafka
        self._grouped = "group.id" in options.settings
        settings = {
            "fetch.queue.backoff.ms": 10,
            "queued.max.messages.kbytes": 65536,
            "auto.offset.reset": "error",
            **kafka_settings(self._brokers, options.settings),
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
        self._consumer: Any = kafka_client(confluent_kafka.Consumer, {"group.id": "unveil-watch", **settings})

    def batches(self, columns: Sequence[str], position: Any = None) -> Iterator[StreamBatch | None]:
        """Yield the messages after a position, and those that arrive later."""
        reader = messages_of(self.place, columns, self._options)
        offsets: dict[str, int] = dict((position or {}).get("offsets", {}))
        if position is not None:
            reader.restore(position["types"])
        ended: set[int] = set()
        partitions = self._assign(offsets)
        while self._options.follow or len(ended) < partitions:
            values = self._consume(offsets, ended)
            if not values:
                yield None
                continue
            frame, malformed = reader.frame(values)
            yield StreamBatch(frame, {"offsets": dict(offsets), "types": reader.types}, tuple(malformed))

    def committed(self, position: Any) -> None:
        """Commit the offsets to the consumer group, if one is named."""
        if not self._grouped:
            return
        kept = [self._kafka.TopicPartition(self._topic, int(at), offset) for at, offset in position["offsets"].items()]
        if kept:
            self._consumer.commit(offsets=kept, asynchronous=True)

    def close(self) -> None:
        """Leave the cluster after the commits have arrived."""
        self._consumer.close()

    def _assign(self, offsets: Mapping[str, int]) -> int:
        """Assign all partitions of the topic, each from where reading stopped; return their number."""
        numbers = self._partitions()
        first = self._kafka.OFFSET_BEGINNING if self._options.from_start else self._kafka.OFFSET_END
        self._consumer.assign([self._kafka.TopicPartition(self._topic, at, offsets.get(str(at), first)) for at in numbers])
        return len(numbers)

    def _partitions(self) -> list[int]:
        """Return the numbers of the topic's partitions; refuse a topic that does not exist."""
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                known = self._consumer.list_topics(self._topic, timeout=_PATIENCE).topics.get(self._topic)
            except self._kafka.KafkaException as error:
                raise EngineError(f"{self.place}: no broker answers ({error.args[0].name()}).") from None
            if known is not None and known.error is None and known.partitions:
                return sorted(known.partitions)
            missing = known is None or known.error is None or known.error.code() == self._kafka.KafkaError.UNKNOWN_TOPIC_OR_PART
            if missing or time.monotonic() > end:
                raise DataNotFoundError(f"{self.place}: there is no topic {shown(self._topic)}; make it first.")
            time.sleep(_WAIT)

    def _consume(self, offsets: dict[str, int], ended: set[int]) -> list[bytes]:
        """Return the messages that have arrived, and note their offsets; the client recovers from transient errors."""
        values: list[bytes] = []
        for message in self._consumer.consume(_MESSAGES, timeout=_WAIT):
            problem = message.error()
            if problem is None:
                offsets[str(message.partition())] = message.offset() + 1
                if (value := message.value()) is not None:  # a tombstone has no value
                    values.append(value)
            elif problem.code() == self._kafka.KafkaError._PARTITION_EOF:  # noqa: SLF001 - the client's own name
                ended.add(message.partition())
            elif problem.code() in (self._kafka.KafkaError._AUTO_OFFSET_RESET, self._kafka.KafkaError.OFFSET_OUT_OF_RANGE):  # noqa: SLF001
                raise EngineError(
                    f"{self.place}: the messages behind the checkpoint are no longer there, the topic keeps too few; start again "
                    "without the checkpoint."
                )
            elif problem.fatal():
                raise EngineError(f"{self.place}: the topic cannot be read ({problem.name()}).")
        return values


def kafka_address(address: str) -> tuple[str, str]:
    """Return the brokers and the topic of an address."""
    parts = urlsplit(address)
    topic = parts.path.strip("/")
    if not parts.netloc or not topic or "/" in topic:
        raise ArgumentError("a Kafka topic is named as kafka://broker/topic; several brokers are separated by commas.")
    return parts.netloc, topic


def kafka_client(kind: Any, settings: Mapping[str, Any]) -> Any:
    """Return a client; refuse settings that it does not accept, without repeating their values."""
    from confluent_kafka import KafkaException

    try:
        return kind(dict(settings))
    except (KafkaException, TypeError, ValueError) as error:
        name = error.args[0].name() if isinstance(error, KafkaException) else type(error).__name__
        raise ArgumentError(f"the Kafka client refuses its settings ({name}); look at their names and values.") from None


def kafka_settings(brokers: str, settings: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings of a client: the addresses of the brokers, and the properties that the user gives."""
    return {"bootstrap.servers": brokers, **_QUIET, **settings}
