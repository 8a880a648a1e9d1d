"""Redis streams and Kafka topics: read once, however often a run begins again, and waited for where the server goes away."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from benchmarks.local_brokers import RedisServer

import unveil
from unveil.cli import run
from unveil.errors import ArgumentError, DataChangedError, DataNotFoundError, EngineError
from unveil.sources.streams import StreamOptions, open_records
from unveil.stream.checkpoint import Checkpoint
from unveil.stream.sinks import open_sink
from unveil.stream.watch import Watch
from unveil.stream.window import Window

if TYPE_CHECKING:
    from benchmarks.local_brokers import KafkaCluster, PassingKafkaCluster

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
    with pytest.raises(EngineError, match="does not answer"):
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


@pytest.mark.parametrize("broker", ["redis", "kafka", "kafka in transactions"])
def test_lines_that_a_run_writes_again_stand_there_once(
    broker: str, redis_server: RedisServer, kafka_cluster: KafkaCluster, tmp_path: Path
) -> None:
    """A run that goes on from its first state writes all lines again; another run writes its own behind them."""
    path, state = tmp_path / "people.ndjson", tmp_path / "state"
    rows = records(300)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    topic = f"figures-{broker.replace(' ', '-')}"
    place = redis_server.address(topic) if broker == "redis" else kafka_cluster.make(topic)
    settings = {"transactional.id": "watch"} if broker.endswith("transactions") else {}

    def go(checkpoint: Path) -> None:
        rates(watched(str(path), lines=open_sink(place, settings), checkpoint=Checkpoint(checkpoint, {})))

    def there() -> list[float]:
        if broker == "redis":
            entries: Any = redis_server.client().xrange(topic)
            return [json.loads(fields[b"json"])["dr"] for _, fields in entries]
        return [json.loads(value)["dr"] for key, value in sorted(kafka_cluster.received(topic), key=lambda row: int(row[0]))]

    first = watched(str(path), lines=open_sink(place, settings), checkpoint=Checkpoint(state, {})).run()
    next(first)  # the first state is kept before the first line is written
    begun = state.read_bytes()
    first.close()
    go(state)
    assert there() == expected(rows, 100, 50)
    state.write_bytes(begun)
    go(state)
    assert there() == expected(rows, 100, 50)
    go(tmp_path / "another")
    assert sorted(there()) == sorted(2 * expected(rows, 100, 50))


def test_lines_wait_for_a_redis_server_that_comes_back(redis_server: RedisServer) -> None:
    sink = open_sink(redis_server.address("patient"))
    sink.go_to(None)
    sink.write(1, b"{}")
    redis_server.end()
    back = threading.Timer(1.0, redis_server.begin)
    back.start()
    sink.write_all(2, [b"{}"] * 3)
    back.join()
    assert redis_server.client().xlen("patient") == 4


def test_a_redis_stream_to_which_others_add_is_refused(redis_server: RedisServer) -> None:
    sink = open_sink(redis_server.address("shared"))
    sink.go_to(None)
    sink.write(1, b"{}")
    redis_server.client().xadd("shared", {"json": "{}"})
    with pytest.raises(DataChangedError, match="someone else adds"):
        sink.write(2, b"{}")


def certificates(folder: Path) -> dict[str, Path]:
    """Have a certificate made that signs itself, for 127.0.0.1."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl here")
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    words += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    subprocess.run(words, check=True, capture_output=True)
    return {"cert": folder / "cert.pem", "key": folder / "key.pem", "ca-cert": folder / "cert.pem"}


def test_a_redis_server_with_tls_is_read_and_written(tmp_path: Path) -> None:
    pytest.importorskip("redis")
    if shutil.which("redis-server") is None:
        pytest.skip("there is no redis-server here (Debian: apt-get install redis-server)")
    files = certificates(tmp_path)
    try:
        server = RedisServer(tmp_path, files)
    except RuntimeError:
        pytest.skip("this redis-server does not know TLS")
    try:
        rows = records(100)
        add(server, "people", rows)
        query = f"?ssl_ca_certs={files['ca-cert']}&ssl_certfile={files['cert']}&ssl_keyfile={files['key']}"
        lines = open_sink(server.address("figures") + query)
        assert rates(watched(server.address("people") + query, lines=lines)) == expected(rows, 100, 50)
        assert server.client().xlen("figures") == 2
        with pytest.raises(EngineError, match="does not answer"):  # nobody vouches for its certificate
            rates(watched(server.address("people")))
    finally:
        server.end()


@pytest.mark.parametrize(
    "query", ["?db=x", "?ssl_ca_certs=cert.pem", "?password=x", "s?ssl_ca_certs=/no/such/file", "s?ssl_keyfile="]
)
def test_a_redis_address_that_cannot_be_read_is_refused(query: str) -> None:
    pytest.importorskip("redis")
    scheme, query = ("rediss", query[1:]) if query.startswith("s") else ("redis", query)
    with pytest.raises(ArgumentError, match="Redis address"):
        open_records(f"{scheme}://127.0.0.1:1/people{query}")


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


def test_a_kafka_broker_that_goes_away_is_waited_for(passing_cluster: PassingKafkaCluster) -> None:
    rows = records(200)
    address = passing_cluster.make("coming")
    passing_cluster.send("coming", as_messages(rows[:100]))
    figures = watched(address, StreamOptions()).run()
    seen: list[float | None] = []
    gone, deadline = False, time.monotonic() + 120
    while len(seen) < 4 and time.monotonic() < deadline:
        one = next(figures)
        if one is not None:
            seen.append(one.dr)
        if len(seen) == 2 and not gone:
            passing_cluster.down()
            assert [next(figures) for _ in range(5)] == [None] * 5
            passing_cluster.up()
            passing_cluster.send("coming", as_messages(rows[100:]))
            gone = True
    assert seen == expected(rows, 100, 50)
    figures.close()


def test_lines_wait_for_a_kafka_broker_that_comes_back(passing_cluster: PassingKafkaCluster) -> None:
    passing_cluster.make("patient")
    sink = open_sink(f"kafka://{passing_cluster.brokers}/patient")
    sink.go_to(None)
    sink.write(1, b"{}")
    passing_cluster.down()
    sink.write_all(2, [b"{}"] * 3)
    passing_cluster.up()
    sink.position()
    assert [int(key) for key, _ in passing_cluster.received("patient")] == [1, 2, 3, 4]


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


@pytest.mark.parametrize(
    ("settings", "taken"),
    [
        ({"sasl.secret": "x"}, False),
        ({"security.protocol": "sasl_ssl", "sasl.mechanism": "PLAIN", "sasl.username": "ann", "sasl.password": "x"}, True),
        ({"security.protocol": "sasl_ssl", "sasl.mechanism": "GUESSING", "sasl.username": "ann", "sasl.password": "x"}, False),
        ({"security.protocol": "ssl", "ssl.endpoint.identification.algorithm": "none"}, True),
        ({"security.protocol": "ssl", "ssl.ca.location": "/no/such/file.pem"}, False),
    ],
)
def test_settings_of_tls_and_sasl_reach_the_client(
    settings: dict[str, str], taken: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the client does not take is refused, by those that read and those that write, also from a file of settings."""
    pytest.importorskip("confluent_kafka")
    place, file = "kafka://127.0.0.1:1/people", tmp_path / "client.properties"
    with nullcontext() if taken else pytest.raises(ArgumentError, match="refuses its settings"):
        open_records(place, StreamOptions(settings=settings)).close()
    with nullcontext() if taken else pytest.raises(ArgumentError, match="refuses its settings"):
        open_sink(place, settings).close()
    if not taken:
        file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()), "utf-8")
        told = ["--settings-file", str(file)]
        assert run(["watch", place, "--key", "age", *told]) == 2
        assert "refuses its settings" in capsys.readouterr().err
        words = ["anonymize", place, "--stream", "--key", "age", "--k", "2", "--delay", "9", "--out", str(tmp_path / "x.ndjson")]
        assert run([*words, *told]) == 2
        assert "refuses its settings" in capsys.readouterr().err


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


def lines_in(broker: str, redis_server: RedisServer, kafka_cluster: KafkaCluster, place: str) -> dict[int, bytes]:
    """Return the lines that stand in a stream or a topic by their numbers; none may stand there twice."""
    if broker == "redis":
        entries: Any = redis_server.client().xrange(place)
        return {int(name.split(b"-")[0]): fields[b"json"] for name, fields in entries}
    rows = kafka_cluster.received(place)
    assert len(rows) == len({key for key, _ in rows})
    return {int(key): value for key, value in rows}


@pytest.mark.parametrize("broker", ["redis", "kafka", "kafka in transactions"])
def test_a_release_killed_at_any_moment_goes_on_and_nothing_is_lost_or_twice(
    broker: str, redis_server: RedisServer, kafka_cluster: KafkaCluster, tmp_path: Path
) -> None:
    draw = random.Random(f"release into {broker}")  # noqa: S311
    people = pl.DataFrame({"age": [draw.randint(20, 80) for _ in range(4000)], "row": range(4000)})
    source, place = tmp_path / "in.ndjson", f"released-{broker.replace(' ', '-')}"
    address = redis_server.address(place) if broker == "redis" else kafka_cluster.make(place)
    words = ["anonymize", str(source), "--stream", "--key", "age", "--k", "4", "--delay", "60", "--keep", "row", "--out", address]
    words += ["--checkpoint", str(tmp_path / "state")]
    words += ["--setting", "transactional.id=release"] if broker.endswith("transactions") else []
    at, seen = 0, 0

    def arrive(number: int) -> None:
        nonlocal at
        with source.open("ab") as file:
            file.write(people[at : at + number].write_ndjson().encode())
        at += number

    def count() -> int:
        return int(redis_server.client().xlen(place)) if broker == "redis" else kafka_cluster.count(place)

    arrive(300)
    before: dict[int, bytes] = {}
    for round_ in range(2):
        process = subprocess.Popen(
            [sys.executable, "-c", "from unveil.cli import main; main()", *words, "--follow"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip
        wanted, deadline = seen + draw.randint(1, 700), time.monotonic() + 90
        while count() < wanted and time.monotonic() < deadline:
            if at < 1200 * (round_ + 1):
                arrive(draw.randint(1, 120))
            time.sleep(draw.random() / 20)
        process.kill()
        process.communicate()
        last = -1
        while last != (last := count()):  # what was on its way arrives
            time.sleep(0.2)
        now = lines_in(broker, redis_server, kafka_cluster, place)
        assert before.items() <= now.items()
        before, seen = now, len(now)
    assert seen
    arrive(4000 - at)
    assert run(words) == 0
    lines = lines_in(broker, redis_server, kafka_cluster, place)
    assert before.items() <= lines.items()
    assert sorted(lines) == list(range(1, len(lines) + 1))
    rows = [json.loads(line)["row"] for line in lines.values()]
    assert len(rows) == len(set(rows))
    assert len(rows) > 4000 - 4  # fewer than k may be left at the end
