"""Redis streams and Kafka topics: read once, however often a run begins again, and waited for where the server goes away."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import unveil
from unveil.errors import ArgumentError, DataNotFoundError, EngineError
from unveil.sources.streams import StreamOptions, open_records
from unveil.stream.checkpoint import Checkpoint
from unveil.stream.sinks import open_sink
from unveil.stream.watch import Watch
from unveil.stream.window import Window

if TYPE_CHECKING:
    from benchmarks.local_brokers import KafkaCluster, RedisServer

ONCE = StreamOptions(follow=False)


def records(number: int) -> list[dict[str, Any]]:
    draw = random.Random(number)  # noqa: S311
    return [{"t": at, "age": draw.randint(1, 9), "ill": draw.choice(["flu", "hiv"])} for at in range(number)]


def expected(rows: list[dict[str, Any]], size: int, every: int) -> list[float]:
    frame = pl.DataFrame(rows)
    ends = range(every, len(rows) + 1, every)
    return [unveil.discrimination_rate(frame[max(0, end - size) : end], "age", "ill").value for end in ends]


def watched(address: str, options: StreamOptions = ONCE, **settings: Any) -> Watch:
    extent = settings.pop("extent", {"size": 100, "every": 50})
    return Watch(open_records(address, options), Window("age", "ill", strict=False, **extent), **settings)


def rates(watch: Watch) -> list[float | None]:
    return [one.dr for one in watch.run() if one is not None]


# Redis ----------------------------------------------------------------------------------------------------------------


def add(server: RedisServer, stream: str, rows: list[dict[str, Any]], *, flat: bool = False) -> None:
    pipe = server.client().pipeline()
    for row in rows:
        pipe.xadd(stream, {name: str(value) for name, value in row.items()} if flat else {"json": json.dumps(row)})
    pipe.execute()


@pytest.mark.parametrize("flat", [False, True])
def test_a_redis_stream_gives_the_figures_of_the_table(redis_server: RedisServer, flat: bool) -> None:
    rows = records(300)
    add(redis_server, f"people-{flat}", rows, flat=flat)
    assert rates(watched(redis_server.address(f"people-{flat}"))) == pytest.approx(expected(rows, 100, 50), abs=1e-15)


def test_a_redis_stream_that_is_not_there_is_refused(redis_server: RedisServer) -> None:
    with pytest.raises(DataNotFoundError, match="no such stream"):
        rates(watched(redis_server.address("nothing")))
    redis_server.client().set("text", "x")
    with pytest.raises(DataNotFoundError, match="holds no stream"):
        rates(watched(redis_server.address("text")))
    with pytest.raises(EngineError, match="cannot be asked"):
        rates(watched("redis://127.0.0.1:1/people"))


def test_a_redis_server_that_goes_away_is_waited_for(redis_server: RedisServer) -> None:
    rows = records(200)
    add(redis_server, "coming", rows[:100])
    watch = watched(redis_server.address("coming"), StreamOptions())
    figures = watch.run()
    seen = [one.dr for one in (next(figures), next(figures)) if one is not None]
    redis_server.end()
    assert next(figures) is None
    redis_server.begin()
    add(redis_server, "coming", rows[100:])
    deadline = time.monotonic() + 60
    while len(seen) < 4 and time.monotonic() < deadline:
        one = next(figures)
        if one is not None:
            seen.append(one.dr)
    assert seen == expected(rows, 100, 50)
    figures.close()


def test_lines_into_a_redis_stream_stand_there_once(redis_server: RedisServer, tmp_path: Path) -> None:
    path = tmp_path / "people.ndjson"
    rows = records(300)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    for _ in range(2):  # the second run writes the same lines again
        rates(watched(str(path), lines=open_sink(redis_server.address("figures"))))
    entries: Any = redis_server.client().xrange("figures")
    assert [json.loads(fields[b"json"])["dr"] for _, fields in entries] == expected(rows, 100, 50)


# Kafka ----------------------------------------------------------------------------------------------------------------


def as_messages(rows: list[dict[str, Any]]) -> list[bytes]:
    return [json.dumps(row).encode() for row in rows]


def test_a_kafka_topic_gives_the_figures_of_the_table(kafka_cluster: KafkaCluster) -> None:
    rows = records(300)
    address = kafka_cluster.make("people")
    kafka_cluster.send("people", [*as_messages(rows[:100]), b"{bad", json.dumps(rows[100], indent=1).encode()])
    kafka_cluster.send("people", as_messages(rows[101:]))
    watch = watched(address)
    assert rates(watch) == expected(rows, 100, 50)
    assert watch.malformed == 1


def test_windows_by_time_do_not_depend_on_how_partitions_interleave(kafka_cluster: KafkaCluster) -> None:
    rows = records(400)
    address = kafka_cluster.make("spread")
    for partition in range(3):
        kafka_cluster.send("spread", as_messages(rows[partition::3]), partition)
    extent = {"duration": 60, "every": 20, "time": "t", "lateness": 500}
    watch = watched(address, extent=extent)
    assert [one for one in watch.run() if one is not None][-1].records == 60
    assert watch.window.seen == 400
    assert watch.window.late == 0


def test_a_topic_that_is_not_there_is_refused(kafka_cluster: KafkaCluster) -> None:
    with pytest.raises(DataNotFoundError, match="no topic 'nothing'"):
        rates(watched(f"kafka://{kafka_cluster.brokers}/nothing"))


def test_lines_and_malformed_records_go_into_topics(kafka_cluster: KafkaCluster, tmp_path: Path) -> None:
    for topic in ("figures", "dead-letters"):
        kafka_cluster.make(topic)
    rows = records(100)
    path = tmp_path / "people.ndjson"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + "{bad\n", "utf-8")
    base = f"kafka://{kafka_cluster.brokers}"
    watch = watched(str(path), lines=open_sink(f"{base}/figures"), malformed=open_sink(f"{base}/dead-letters"))
    seen = rates(watch)
    assert [(key, json.loads(value)["dr"]) for key, value in kafka_cluster.received("figures")] == [
        (str(at).encode(), rate) for at, rate in enumerate(seen, start=1)
    ]
    assert kafka_cluster.received("dead-letters") == [(b"1", b"{bad")]


def test_offsets_are_committed_to_the_group_that_is_named(kafka_cluster: KafkaCluster, tmp_path: Path) -> None:
    from confluent_kafka import Consumer, TopicPartition

    address = kafka_cluster.make("committed")
    kafka_cluster.send("committed", as_messages(records(50)))
    options = StreamOptions(follow=False, settings={"group.id": "audit"})
    rates(watched(address, options, checkpoint=Checkpoint(tmp_path / "state", {})))
    consumer = Consumer({"bootstrap.servers": kafka_cluster.brokers, "group.id": "audit", "log_level": 0})
    (kept,) = consumer.committed([TopicPartition("committed", 0)], timeout=20)
    consumer.close()
    assert kept.offset == 50


def test_settings_that_the_client_does_not_take_are_refused() -> None:
    pytest.importorskip("confluent_kafka")
    with pytest.raises(ArgumentError, match="refuses its settings"):
        open_records("kafka://127.0.0.1:1/people", StreamOptions(settings={"sasl.secret": "x"}))


# Killed ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("broker", ["redis", "kafka"])
def test_killed_at_any_moment_the_same_command_goes_on(
    broker: str, redis_server: RedisServer, kafka_cluster: KafkaCluster, tmp_path: Path
) -> None:
    rows = records(3000)
    address = redis_server.address("killed") if broker == "redis" else kafka_cluster.make("killed")

    def send(part: list[dict[str, Any]]) -> None:
        if broker == "redis":
            add(redis_server, "killed", part)
        else:
            kafka_cluster.send("killed", as_messages(part))

    out = tmp_path / "out.ndjson"
    words = [
        "watch",
        address,
        "--key",
        "age",
        "--sensitive",
        "ill",
        "--window",
        "500",
        "--every",
        "100",
        "--checkpoint-every",
        "0s",
    ]
    words += ["--checkpoint", str(tmp_path / "state"), "--lines", str(out), "--json"]
    draw = random.Random(broker)  # noqa: S311
    send(rows[:50])
    at = 50
    for end in (1000, 2000, 3000):
        process = subprocess.Popen(
            [sys.executable, "-c", "from unveil.cli import main; main()", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        while at < end:
            step = min(draw.randint(1, 300), end - at)
            send(rows[at : at + step])
            at += step
            time.sleep(draw.random() / 4)
        wanted = 30 if end == 3000 else draw.randint(1, end // 100 - 2)
        deadline = time.monotonic() + 60
        while (not out.exists() or out.read_bytes().count(b"\n") < wanted) and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM if end == 3000 else signal.SIGKILL)
        process.communicate(timeout=60)
    lines = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert [line["window"]["to"] for line in lines] == list(range(100, 3001, 100))
    assert [line["dr"] for line in lines] == expected(rows, 500, 100)
