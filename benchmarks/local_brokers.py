"""Brokers on this machine, for tests and benchmarks: a real Redis server, and the mock cluster that librdkafka contains."""

from __future__ import annotations

import ctypes
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["KafkaCluster", "PassingKafkaCluster", "RedisServer"]


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class RedisServer:
    """A server that can be stopped and started again with the data it held.

    Parameters
    ----------
    folder
        The folder of its data.
    tls
        The certificates and the key of a server that speaks only TLS: its own, and that of the authority that signed it; it
        requires a certificate of the client.
    """

    def __init__(self, folder: Path, tls: Mapping[str, Path] | None = None) -> None:
        self._folder, self._port, self._tls = folder, _free_port(), tls
        self.process: subprocess.Popen[bytes] | None = None
        self.begin()

    def begin(self) -> None:
        """Start the server, and wait until it answers."""
        import redis

        ports = ["--port", str(self._port)]
        if self._tls is not None:
            ports = ["--port", "0", "--tls-port", str(self._port)]
            ports += [word for name, file in self._tls.items() for word in (f"--tls-{name}-file", str(file))]
        words = ["redis-server", *ports, "--bind", "127.0.0.1", "--save", "", "--appendonly", "yes"]
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
        """Stop the server; its data stays on the disk."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait(30)

    def client(self) -> Any:
        """Return a new client."""
        import redis

        if self._tls is None:
            return redis.Redis(port=self._port, protocol=2)
        names = {"ssl_ca_certs": "ca-cert", "ssl_certfile": "cert", "ssl_keyfile": "key"}
        certificates: dict[str, Any] = {name: str(self._tls[file]) for name, file in names.items()}
        return redis.Redis(host="127.0.0.1", port=self._port, protocol=2, ssl=True, **certificates)

    def address(self, stream: str) -> str:
        """Return the address of a stream."""
        return f"redis{'s' if self._tls else ''}://127.0.0.1:{self._port}/{stream}"


class KafkaCluster:
    """A cluster within librdkafka: real protocol, memory only, at most 100,000 messages or 5 MiB per partition."""

    def __init__(self) -> None:
        from confluent_kafka import Producer

        self._home = Producer({"test.mock.num.brokers": 1, "log_level": 0})
        broker = next(iter(self._home.list_topics(timeout=20).brokers.values()))
        self.brokers = f"{broker.host}:{broker.port}"

    def make(self, topic: str) -> str:
        """Make a topic with four partitions, by asking for it."""
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

    def count(self, topic: str) -> int:
        """Return how many messages a topic has."""
        from confluent_kafka import Consumer, TopicPartition

        consumer = Consumer({"bootstrap.servers": self.brokers, "group.id": "count", "log_level": 0})
        partitions = consumer.list_topics(topic, timeout=20).topics[topic].partitions
        ends = [consumer.get_watermark_offsets(TopicPartition(topic, at), timeout=20)[1] for at in partitions]
        consumer.close()
        return sum(ends)

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


class PassingKafkaCluster(KafkaCluster):
    """A cluster whose broker can be taken down and brought up again with the messages it holds.

    The Python client does not offer this, so the library inside it is called directly.
    """

    def __init__(self) -> None:
        import confluent_kafka
        from confluent_kafka import Producer

        libraries = sorted(Path(confluent_kafka.__file__).parent.parent.glob("confluent_kafka.libs/librdkafka*"))
        if not libraries:
            raise FileNotFoundError("the Kafka client has no library of its own here")
        self._library = ctypes.CDLL(str(libraries[0]))
        for name in ("rd_kafka_conf_new", "rd_kafka_new", "rd_kafka_mock_cluster_new"):
            getattr(self._library, name).restype = ctypes.c_void_p
        self._library.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
        owner = self._library.rd_kafka_new(0, ctypes.c_void_p(self._library.rd_kafka_conf_new()), None, ctypes.c_size_t(0))
        self._cluster = ctypes.c_void_p(self._library.rd_kafka_mock_cluster_new(ctypes.c_void_p(owner), 1))
        self.brokers = self._library.rd_kafka_mock_cluster_bootstraps(self._cluster).decode()
        self._home = Producer({"bootstrap.servers": self.brokers, "log_level": 0})

    def down(self) -> None:
        """Take the broker down: its connections end, and it accepts no new ones."""
        assert self._library.rd_kafka_mock_broker_set_down(self._cluster, ctypes.c_int32(1)) == 0

    def up(self) -> None:
        """Bring the broker up again."""
        assert self._library.rd_kafka_mock_broker_set_up(self._cluster, ctypes.c_int32(1)) == 0
