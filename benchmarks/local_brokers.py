"""Brokers on this machine, for tests and benchmarks: a real Redis server, and the cluster that librdkafka brings along."""

from __future__ import annotations

import socket
import subprocess
import time
from pathlib import Path
from typing import Any

__all__ = ["KafkaCluster", "RedisServer"]


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class RedisServer:
    """A server that can be ended and begun again with what it held."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._port = folder, _free_port()
        self.process: subprocess.Popen[bytes] | None = None
        self.begin()

    def begin(self) -> None:
        """Begin, and wait until it answers."""
        import redis

        words = ["redis-server", "--port", str(self._port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "yes"]
        self.process = subprocess.Popen(  # noqa: S603
            [*words, "--dir", str(self._folder)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        client = self.client()
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                client.ping()
            except redis.RedisError:
                time.sleep(0.05)
            else:
                return
        raise RuntimeError("the Redis server does not answer")

    def end(self) -> None:
        """End, with what it holds on the disk."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait(30)

    def client(self) -> Any:
        """Return a client of its own."""
        import redis

        return redis.Redis(port=self._port, protocol=2)

    def address(self, stream: str) -> str:
        """Return the address of a stream."""
        return f"redis://127.0.0.1:{self._port}/{stream}"


class KafkaCluster:
    """A cluster within librdkafka: real protocol, memory only, at most 100,000 messages or 5 MiB a partition."""

    def __init__(self) -> None:
        from confluent_kafka import Producer

        self._home = Producer({"test.mock.num.brokers": 1, "log_level": 0})
        broker = next(iter(self._home.list_topics(timeout=20).brokers.values()))
        self.brokers = f"{broker.host}:{broker.port}"

    def make(self, topic: str) -> str:
        """Make a topic, which is there, with four partitions, once somebody asks for it."""
        self._home.list_topics(topic, timeout=20)
        return f"kafka://{self.brokers}/{topic}"

    def send(self, topic: str, messages: list[bytes], partition: int = 0) -> None:
        """Send messages, and wait until they are there."""
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": self.brokers, "log_level": 0, "linger.ms": 5})
        for message in messages:
            producer.produce(topic, message, partition=partition)
            producer.poll(0)
        assert producer.flush(30) == 0

    def received(self, topic: str) -> list[tuple[bytes, bytes]]:
        """Return all messages of a topic, with their keys, in the order of keys."""
        from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

        consumer = Consumer({"bootstrap.servers": self.brokers, "group.id": "test", "enable.partition.eof": True, "log_level": 0})
        partitions = consumer.list_topics(topic, timeout=20).topics[topic].partitions
        consumer.assign([TopicPartition(topic, at, OFFSET_BEGINNING) for at in partitions])
        received: list[tuple[bytes, bytes]] = []
        left = len(partitions)
        while left and (message := consumer.poll(10)) is not None:
            if message.error() is None:
                received.append((message.key() or b"", message.value() or b""))
            elif message.error().code() == KafkaError._PARTITION_EOF:  # type: ignore[union-attr]  # noqa: SLF001
                left -= 1
        consumer.close()
        return sorted(received)
