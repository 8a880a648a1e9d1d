"""One broker of each kind for all tests of streams."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from benchmarks.local_brokers import KafkaCluster, PassingKafkaCluster, RedisServer


@pytest.fixture(scope="module")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    pytest.importorskip("redis")
    if shutil.which("redis-server") is None:
        pytest.skip("there is no redis-server here (Debian: apt-get install redis-server)")
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    yield server
    server.end()


@pytest.fixture(scope="module")
def kafka_cluster() -> KafkaCluster:
    pytest.importorskip("confluent_kafka")
    return KafkaCluster()


@pytest.fixture(scope="module")
def passing_cluster() -> PassingKafkaCluster:
    pytest.importorskip("confluent_kafka")
    try:
        return PassingKafkaCluster()
    except (OSError, AttributeError):
        pytest.skip("the Kafka client brings no library along whose brokers can be taken down")
