"""Streams: how many records a second are counted, watched, read from brokers and released, and at what loss.

Processor time, the best of several; brokers in wall time, because most of the work is done by other processes.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import unveil
from benchmarks.castle import Castle
from benchmarks.rows import Row, not_measured, slower
from benchmarks.timing import best_of
from unveil.counts.window import MovingCounts
from unveil.sources.streams import StreamOptions, open_records
from unveil.stream.release import StreamRelease
from unveil.stream.unicity import unicity
from unveil.stream.watch import Watch
from unveil.stream.window import Window

KEY = ["age", "zip", "sex", "education"]
ADULT = ["age", "fnlwgt", "education-num", "hours-per-week"]
_RECORDS = 2_000_000
_MESSAGES = 50_000
_REPLAYED = 5_000
ONCE = StreamOptions(follow=False)


def run() -> list[Row]:
    """Measure all of it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "stream.ndjson")
        people(_RECORDS).write_ndjson(path)
        watched = best_of(3, lambda: watch(path, 10**9)).processor
        figures = best_of(3, lambda: watch(path, _RECORDS // 2)).processor
        command_row = command(path)
    return [
        updates(),
        rate("watch NDJSON with 4 key columns, a window of 100,000", watched, _RECORDS, 1_000_000),
        command_row,
        figure_cost(watched, figures),
        redis(),
        kafka(),
        trajectories(),
        *releases(),
    ]


def people(records: int) -> pl.DataFrame:
    """Draw records of people."""
    draw = np.random.default_rng(1)
    return pl.DataFrame(
        {
            "age": draw.integers(18, 90, records),
            "zip": draw.integers(75001, 75021, records).astype(str),
            "sex": draw.choice(["f", "m"], records),
            "education": draw.integers(0, 16, records),
            "disease": draw.choice(["flu", "cold", "hiv", "none"], records),
        }
    )


def rate(what: str, taken: float, records: int, least: float) -> Row:
    """Say how many records a second."""
    value = records / taken
    return Row(what, f"{value:,.0f} records a second", value, f"at least {least:,.0f}", value >= least, "higher", "records/s")


def updates() -> Row:
    """Measure a window of coded records: 5,000 keys by 14 values."""
    draw = np.random.default_rng(2)
    codes = np.stack([draw.integers(0, 5_000, 4_000_000), draw.integers(0, 14, 4_000_000)], axis=1).astype(np.uint32)
    counts, ring = MovingCounts(["key", "value"]), np.zeros(100_000, dtype=np.int64)
    place = counts.slide(codes[:100_000], ring, 0, 0)
    return rate(
        "window updates of coded records", best_of(5, lambda: counts.slide(codes, ring, *place)).processor, 4_000_000, 20e6
    )


def watch(path: Path, every: int) -> int:
    """Watch a file to its end."""
    window = Window(KEY, "disease", size=100_000, every=every, strict=False)
    return sum(one is not None for one in Watch(open_records(path, ONCE), window).run())


def command(path: Path) -> Row:
    """Measure the command itself: how long it takes to start, and how many records a second it reads from then on."""
    short = path.with_name("short.ndjson")
    people(1_000).write_ndjson(short)
    start, whole = (min(_spent(place) for _ in range(3)) for place in (short, path))
    row = rate("unveil watch as a command, the same file, behind its start", whole - start, _RECORDS, 1_000_000)
    return replace(row, measured=f"{row.measured}, {start:.1f} s to start")


def _spent(path: Path) -> float:
    """Return the processor time of a command."""
    words = [word for name in KEY for word in ("--key", name)]
    words += ["--sensitive", "disease", "--window", "100000", "--every", "1000000", "--no-follow", "--json"]
    before = os.times()
    subprocess.run(  # noqa: S603
        [sys.executable, "-c", "from unveil.cli import main; main()", "watch", str(path), *words], check=True, capture_output=True
    )
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def figure_cost(without: float, with_two: float) -> Row:
    """Report the cost of one figure every second, as a share of the time for a million records."""
    share = max(with_two - without, 0.0) / 2 / (without / (_RECORDS / 1_000_000))
    return Row(
        "a figure every second, of the time of a million records",
        f"{share:.1%}",
        share,
        "at most 5 %",
        share <= 0.05,
        unit="share",
    )


def trajectories() -> Row:
    """Measure unicity for one to four points."""
    draw = np.random.default_rng(3)
    n = 1_000_000
    frame = pl.DataFrame({"who": draw.integers(0, 20_000, n), "cell": draw.zipf(1.2, n) % 5_000, "hour": draw.integers(0, 24, n)})
    taken = best_of(2, lambda: unicity(frame, "who", ["cell", "hour"])).processor
    return Row("unicity of a million points, for 1 to 4", f"{taken:.1f} s", taken, "at most 60 s", taken <= 60, unit="s")


# Brokers --------------------------------------------------------------------------------------------------------------


def redis() -> Row:
    """Compare watching a Redis stream with a bare consumer that reads all entries."""
    what = "watch a Redis stream, beside a bare consumer"
    if shutil.which("redis-server") is None:
        return not_measured(what, "there is no redis-server here", "at most 2 times")
    from benchmarks.local_brokers import RedisServer

    with tempfile.TemporaryDirectory() as folder, _ending(RedisServer(Path(folder))) as server:
        pipe = server.client().pipeline()
        for message in messages():
            pipe.xadd("people", {"json": message})
        pipe.execute()

        def bare() -> None:
            client, last = server.client(), "0-0"
            while answer := client.xread({"people": last}, count=20_000):
                last = answer[0][1][-1][0]

        ours, theirs = interleaved(lambda: watched(server.address("people")), bare)
    return slower(what, ours, theirs, most=2)


def kafka() -> Row:
    """Compare watching a topic of librdkafka's own cluster with a bare consumer that reads all messages."""
    from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

    from benchmarks.local_brokers import KafkaCluster

    cluster = KafkaCluster()
    address = cluster.make("people")
    cluster.send("people", list(messages()))

    def bare() -> None:
        consumer = Consumer({"bootstrap.servers": cluster.brokers, "group.id": "bare", "log_level": 0})
        consumer.assign([TopicPartition("people", 0, OFFSET_BEGINNING)])
        left = _MESSAGES
        while left:
            left -= sum(message.error() is None for message in consumer.consume(_MESSAGES, timeout=0.2))
        consumer.close()

    ours, theirs = interleaved(lambda: watched(address), bare)
    return slower("watch a Kafka topic, beside a bare consumer", ours, theirs, most=2)


def messages() -> Iterator[bytes]:
    """Yield small messages, no more than librdkafka's cluster can keep."""
    for row in people(_MESSAGES).select(*KEY[:2], "disease").iter_rows(named=True):
        yield json.dumps(row).encode()


def watched(address: str) -> None:
    """Read a broker to its end."""
    window = Window(KEY[:2], "disease", size=10_000, every=25_000, strict=False)
    for _ in Watch(open_records(address, ONCE), window).run():
        pass


def interleaved(one: Callable[[], Any], other: Callable[[], Any]) -> tuple[float, float]:
    """Measure the wall time of two jobs in turns, and keep the best of each."""
    best = [float("inf"), float("inf")]
    for _ in range(4):
        for at, work in enumerate((one, other)):
            began = time.perf_counter()
            work()
            best[at] = min(best[at], time.perf_counter() - began)
    return best[0], best[1]


@contextmanager
def _ending(server: Any) -> Iterator[Any]:
    try:
        yield server
    finally:
        server.end()


# Releases -------------------------------------------------------------------------------------------------------------


def releases() -> Iterator[Row]:
    """Measure how fast clusters are released, and the loss beside that of CASTLE as published."""
    adult = unveil.datasets.load("adult").select(ADULT)
    many = pl.concat([adult] * 4)
    for delay in (20, 100, 1_000):
        taken = best_of(3, partial(released, many, 10, delay)).processor
        yield rate(f"release clusters of four numbers, k = 10, a delay of {delay:,} records", taken, many.height, 100_000)
    for delay in (20, 100, 1_000):
        yield beside_castle(adult.head(_REPLAYED), 10, delay)
    yield by_windows(adult.head(_REPLAYED), 10, 1_000)


def released(frame: pl.DataFrame, k: int, delay: int, method: Any = "clusters") -> tuple[StreamRelease, pl.DataFrame]:
    """Release a table as a stream."""
    release = StreamRelease(ADULT, k=k, delay=delay, method=method)
    parts = []
    for start in range(0, frame.height, 20_000):
        parts += [one.frame for one in release.feed(frame[start : start + 20_000])]
    return release, pl.concat([*parts, *(one.frame for one in release.finish())])


def loss_of(labels: pl.DataFrame, frame: pl.DataFrame) -> float:
    """Return the mean width of released intervals, relative to the range of all records; a missing one counts as 1."""
    total = 0.0
    for name in ADULT:
        span = float(frame[name].max() - frame[name].min())  # type: ignore[operator, arg-type]
        ends = [label.strip("[]").split(", ") if label != "*" else None for label in labels[name]]
        total += sum(1.0 if end is None else (float(end[-1]) - float(end[0])) / span for end in ends)
    return (total / len(ADULT) + frame.height - labels.height) / frame.height


def beside_castle(frame: pl.DataFrame, k: int, delay: int) -> Row:
    """Compare the loss of clusters with that of CASTLE as published."""
    ranges = [(float(frame[name].min()), float(frame[name].max())) for name in ADULT]  # type: ignore[arg-type]
    castle = Castle(ranges, k, delay)
    began = time.process_time()
    for at, row in enumerate(frame.rows()):
        castle.push(at, tuple(map(float, row)))
    castle.finish()
    theirs, speed = sum(castle.losses) / len(castle.losses), frame.height / (time.process_time() - began)
    ours = loss_of(released(frame, k, delay)[1], frame)
    words = f"{ours:.3f} against {theirs:.3f} ({castle.suppressed} suppressed, {speed:,.0f} records a second in Python)"
    return Row(
        f"loss of clusters beside CASTLE, k = {k}, a delay of {delay:,}", words, ours / theirs, "at most 1 times", ours <= theirs
    )


def by_windows(frame: pl.DataFrame, k: int, delay: int) -> Row:
    """Report the loss of whole windows by the optimal search, as the release states it."""
    release, _ = released(frame, k, delay, "windows")
    loss = release.summary().loss
    words = f"{loss:.3f} by levels, {release.suppressed:,} of {frame.height:,} suppressed"
    return Row(f"loss of windows by the optimal search, k = {k}, {delay:,} records", words, loss, unit="loss")
