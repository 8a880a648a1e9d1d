"""Releases of a stream: k persons in every class of every publication, in time, and nothing that tells who came when."""

from __future__ import annotations

import hashlib
import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unveil
from unveil.cli import run
from unveil.errors import ArgumentError
from unveil.partitions import Hierarchy
from unveil.stream.coordinates import Coordinates
from unveil.stream.monitor import Monitor, UnsafePublicationError
from unveil.stream.release import Publication, StreamRelease

CITIES = Hierarchy("city", [("Paris", "France"), ("Lyon", "France"), ("Lima", "Peru"), ("Cusco", "Peru")])
ROWS = st.lists(
    st.tuples(
        st.one_of(st.none(), st.integers(0, 99)),
        st.sampled_from(["Paris", "Lyon", "Lima", "Cusco", None, "Rome"]),
        st.sampled_from(["flu", "cold", "hiv"]),
        st.integers(0, 12),
    ),
    min_size=1,
    max_size=80,
)


def table(rows: list[Any]) -> pl.DataFrame:
    return pl.DataFrame(
        rows, schema={"age": pl.Int64, "city": pl.String, "ill": pl.String, "who": pl.Int64}, orient="row"
    ).with_row_index("row")


def covers(label: str | None, value: Any) -> bool:
    """Whether a released label is true of a value."""
    if label == "*" or label == (None if value is None else str(value)):
        return True
    if label is None or value is None:
        return False
    if label.startswith("["):
        low, high = label[1:-1].split(", ")
        return bool(float(low) <= value <= float(high))
    return label in next((row for row in CITIES.labels if row[0] == value), ())


def fed(release: StreamRelease, frame: pl.DataFrame, cuts: int) -> list[Publication]:
    published: list[Publication] = []
    for start in range(0, frame.height, cuts):
        published += release.feed(frame[start : start + cuts])
    return [*published, *release.finish()]


@given(
    ROWS, st.integers(1, 30), st.integers(2, 4), st.integers(1, 2), st.sampled_from(["clusters", "windows"]), st.integers(0, 10)
)
def test_every_class_of_a_publication_holds_k_persons_and_every_record_leaves_in_time(
    rows: list[Any], cuts: int, k: int, diverse: int, method: Any, more: int
) -> None:
    frame = table(rows)
    delay = 2 * k + more
    release = StreamRelease(
        ["age", "city"],
        "ill",
        k=k,
        diverse=diverse,
        delay=delay,
        person="who",
        method=method,
        hierarchies={"city": CITIES},
        keep="row",
    )
    published = fed(release, frame, cuts)
    gone = pl.concat([one.frame for one in published]) if published else pl.DataFrame({"row": []})
    assert gone["row"].n_unique() == gone.height  # nobody twice
    assert release.released + release.suppressed == frame.height
    assert release.longest <= delay
    for one in published:
        truth = one.frame.join(frame, on="row", suffix="_true")
        assert all(covers(*pair) for pair in zip(truth["age"], truth["age_true"], strict=True))
        assert all(covers(*pair) for pair in zip(truth["city"], truth["city_true"], strict=True))
        classes = truth.group_by("age", "city").agg(pl.col("who").n_unique(), pl.col("ill").n_unique())
        assert all(persons >= k for persons in classes["who"])
        assert all(values >= diverse for values in classes["ill"])
        if one.frame.height:
            assert one.smallest == classes["who"].min()


def test_with_enough_persons_clusters_suppress_nobody() -> None:
    draw = np.random.default_rng(2)
    frame = pl.DataFrame({"age": draw.integers(0, 90, 5000), "zip": draw.integers(0, 100, 5000), "who": np.arange(5000)})
    release = StreamRelease(["age", "zip"], k=5, delay=200, person="who")
    fed(release, frame, 333)
    assert (release.released, release.suppressed) == (5000, 0)
    assert release.longest <= 200


def test_fewer_than_k_persons_are_suppressed_and_counted() -> None:
    frame = pl.DataFrame({"age": [1, 2, 3] * 20, "who": [1, 2, 1] * 20})
    release = StreamRelease("age", k=3, delay=10, person="who")
    assert [one.frame.height for one in fed(release, frame, 7)] == [0] * release.publications
    assert release.suppressed == 60
    assert release.summary().smallest is None


def test_how_the_stream_is_cut_does_not_matter() -> None:
    draw = np.random.default_rng(4)
    frame = pl.DataFrame({"age": draw.integers(0, 90, 400), "who": draw.integers(0, 200, 400), "t": np.arange(400) // 3})
    for settings_ in ({"delay": 50}, {"delay": "20s", "time": "t"}):
        whole, pieces = (fed(StreamRelease("age", k=4, person="who", seed=1, **settings_), frame, cuts) for cuts in (400, 13))
        assert [one.frame.rows() for one in whole] == [one.frame.rows() for one in pieces]


def test_a_delay_by_the_clock_publishes_though_nothing_comes() -> None:
    release = StreamRelease("age", k=2, delay="10s")
    second = 1_000_000
    assert list(release.feed(pl.DataFrame({"age": [1, 2, 3]}), now=100 * second)) == []
    assert list(release.tick(104 * second)) == []  # all can wait for the next publication
    (one,) = release.tick(109 * second)  # late, but not later than what is held back for that
    assert one.frame.height == release.released == 3
    assert release.longest == 9 * second
    with pytest.raises(ArgumentError, match="time of arrival"):
        list(release.feed(pl.DataFrame({"age": [1]})))


@given(st.lists(st.integers(0, 40), min_size=1, max_size=60), st.integers(2, 30), st.integers(1, 60))
def test_by_the_clock_records_leave_in_time_if_it_is_looked_at_often_enough(gaps: list[int], delay: int, cuts: int) -> None:
    """Steps of a tenth of a second; `gaps` says how many pass between records."""
    release = StreamRelease("age", k=2, delay=f"{delay}s")
    tenth, now = 100_000, 7_000_000
    for gap in gaps:
        for _ in range(gap):
            now += tenth
            list(release.tick(now))
        list(release.feed(pl.DataFrame({"age": [gap] * (1 + cuts % 3)}), now=now))
    for _ in range(10 * delay):
        now += tenth
        list(release.tick(now))
    assert release.waiting == 0
    assert release.longest <= delay * 1_000_000


def test_times_that_leap_hold_nobody_up() -> None:
    times = [*range(10), *range(500, 510), *range(2000, 2003)]
    frame = pl.DataFrame({"age": range(23), "t": times})
    release = StreamRelease("age", k=2, delay="8s", time="t", keep="t")
    published = fed(release, frame, 5)
    assert release.longest <= 8_000_000
    assert all(max(one.frame["t"]) - min(one.frame["t"]) < 10 for one in published)


def test_records_with_times_leave_though_nothing_comes_after_them() -> None:
    second = 1_000_000
    release = StreamRelease("age", k=2, delay="10s", time="t")
    assert list(release.feed(pl.DataFrame({"age": [1, 2, 3], "t": [101, 102, 103]}), now=5000 * second)) == []
    assert list(release.tick(5001 * second)) == []
    assert sum(one.frame.height for one in release.tick(5010 * second)) == 3
    assert release.longest <= 10 * second


def test_what_is_left_out_is_counted() -> None:
    release = StreamRelease("age", k=2, delay="10s", time="t")
    fed(release, pl.DataFrame({"age": [1, 2, 3], "t": [1, None, 2]}), 3)
    assert release.summary().timeless == 1
    assert "without a time" in str(release.summary().view())


def test_the_order_says_nothing_and_nobody_can_repeat_it() -> None:
    frame = pl.DataFrame({"age": [30] * 600, "row": range(600)})
    orders = []
    for _ in range(2):
        release = StreamRelease("age", k=2, delay=1200, keep="row")
        (one,) = fed(release, frame, 600)
        orders.append(one.frame["row"].to_list())
    assert orders[0] != orders[1]
    assert abs(np.corrcoef(orders[0], np.arange(600))[0, 1]) < 0.2


def test_only_what_is_named_is_released() -> None:
    frame = pl.DataFrame({"age": [1, 2, 3, 4], "who": [1, 2, 3, 4], "ill": list("abab"), "note": ["x"] * 4})
    (one,) = fed(StreamRelease("age", "ill", k=2, delay=4, person="who", method="windows"), frame, 4)
    assert one.frame.columns == ["age", "ill"]


def test_reuse_lets_records_leave_alone_with_labels_that_were_proven() -> None:
    draw = np.random.default_rng(5)
    ages = np.concatenate([draw.integers(20, 30, 300), [25], draw.integers(60, 90, 300)])
    frame = pl.DataFrame({"age": ages, "who": np.arange(601)})
    release = StreamRelease("age", k=5, delay=40, person="who", reuse=True)
    published = fed(release, frame, 50)
    labels = [row for one in published for row in one.frame.rows()]
    assert min(labels.count(row) for row in labels) >= 5
    assert "Over the stream" in release.summary().guarantee


def test_the_monitor_refuses_what_is_unsafe() -> None:
    monitor = Monitor(2, 2)
    labels = [("[1, 2]",), ("[1, 2]",)]
    together = [False, False]
    with pytest.raises(UnsafePublicationError, match="too few persons"):
        monitor.check(labels, [7, 7], [[0, 1]], together)
    with pytest.raises(UnsafePublicationError, match="too few persons"):
        monitor.check(labels, [7, 8], [[0, 0]], together)
    assert monitor.check(labels, [7, 8], [[0, 1]], together) == (2, 1)
    with pytest.raises(UnsafePublicationError, match="alone"):
        monitor.check(labels, [7, 8], [[0, 1]], [True, True])


def test_levels_of_a_window_are_kept_for_the_next() -> None:
    draw = np.random.default_rng(6)
    frame = pl.DataFrame({"age": draw.integers(20, 80, 900), "city": draw.choice(["Paris", "Lyon", "Lima", "Cusco"], 900)})
    release = StreamRelease(["age", "city"], k=5, delay=300, method="windows", hierarchies={"city": CITIES})
    published = fed(release, frame, 300)
    labels = [set(one.frame["age"].to_list()) for one in published]
    assert len(published) == 3
    assert len(labels[0] & labels[1] & labels[2]) >= 0.5 * len(labels[0])


@pytest.mark.parametrize("settings_", [{}, {"reuse": True}, {"method": "windows"}, {"seed": 3}])
def test_a_state_that_is_put_back_goes_on_alike(settings_: dict[str, Any]) -> None:
    """Records that were grouped in one way before a run was killed must not be grouped in another way after."""
    draw = np.random.default_rng(7)
    ages = draw.integers(0, 90, 300) + np.arange(300) // 10
    frame = pl.DataFrame({"age": ages, "city": draw.choice(["Paris", "Lyon", "Rome"], 300), "who": draw.integers(0, 99, 300)})

    def made() -> StreamRelease:
        return StreamRelease(["age", "city"], k=3, delay=40, person="who", **settings_)

    first, second = made(), made()
    list(first.feed(frame[:150]))
    document, arrays = first.state()
    second.restore(json.loads(json.dumps(document)), arrays)
    one = [*first.feed(frame[150:]), *first.finish()]
    other = [*second.feed(frame[150:]), *second.finish()]
    assert len(one) > 2
    assert [(part.number, part.frame.rows()) for part in one] == [(part.number, part.frame.rows()) for part in other]
    assert second.summary().to_dict() == first.summary().to_dict()


def test_the_state_of_a_run_does_not_tell_the_order_of_what_was_published_before() -> None:
    frame = pl.DataFrame({"age": [30] * 60, "row": range(60)})
    release = StreamRelease("age", k=2, delay=20, keep="row")
    before, _ = release.state()
    published = list(release.feed(frame[:45]))
    after, _ = release.state()
    secret = bytes.fromhex(before["secret"])
    for _ in published:
        secret = hashlib.sha256(b"next publication" + secret).digest()
    assert after["secret"] == secret.hex()
    assert len(published) > 1


def test_coordinates_label_what_they_span() -> None:
    frame = pl.DataFrame({"age": [20, 30, None], "city": ["Paris", "Lyon", "Lima"]})
    coordinates = Coordinates(["age", "city"], {"city": CITIES})
    x, spans = coordinates.places(frame, np.array([1, 2, 3]))
    assert spans.tolist() == [[0, 3], [10, 3], [10, 3]]
    labels, loss = coordinates.labels(
        np.array([x[[0, 1]].min(axis=0), x.min(axis=0)]), np.array([x[[0, 1]].max(axis=0), x.max(axis=0)]), spans[1:]
    )
    assert labels.rows() == [("[20, 30]", "France"), ("*", "*")]
    assert loss.tolist() == pytest.approx([(1 + 1 / 3) / 2, 1.0])


@pytest.mark.parametrize(
    ("settings_", "said"),
    [
        ({"k": 1, "delay": 10}, "k is 1"),
        ({"k": 5, "delay": 9}, "at least 10"),
        ({"k": 2, "delay": 10, "diverse": 2}, "name one"),
        ({"k": 2, "delay": 10, "person": "age"}, "cannot be released"),
        ({"k": 2, "delay": 10, "method": "windows", "reuse": True}, "only with clusters"),
    ],
)
def test_what_makes_no_sense_is_refused(settings_: dict[str, Any], said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        StreamRelease("age", **settings_)


def test_a_release_of_adult_is_k_anonymous_as_a_table() -> None:
    adult = unveil.datasets.load("adult").head(3000).select("age", "hours-per-week", "sex", "occupation")
    release = StreamRelease(["age", "hours-per-week", "sex"], "occupation", k=5, delay=500)
    published = fed(release, adult, 777)
    for one in (part for part in published if part.frame.height):
        assert unveil.check(one.frame, {"k_anonymity": 5}, key=["age", "hours-per-week", "sex"]).passes


# The command ----------------------------------------------------------------------------------------------------------


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("method", ["clusters", "windows"])
def test_the_command_releases_a_file_as_it_is_read(tmp_path: Path, method: str, capsys: pytest.CaptureFixture[str]) -> None:
    draw = np.random.default_rng(8)
    frame = pl.DataFrame(
        {"age": draw.integers(20, 80, 900), "ill": draw.choice(["flu", "hiv"], 900), "who": draw.integers(0, 400, 900)}
    )
    source, out = tmp_path / "in.ndjson", tmp_path / "out.ndjson"
    frame.write_ndjson(source)
    words = ["anonymize", str(source), "--stream", "--key", "age", "--sensitive", "ill", "--k", "5", "--l", "distinct:2"]
    words += ["--delay", "200", "--person", "who", "--method", method, "--out", str(out), "--json"]
    assert run(words) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["released"] == len(lines_of(out))
    assert answer["released"] + answer["suppressed"] == 900
    assert answer["smallest"] >= 5
    assert set(lines_of(out)[0]) == {"age", "ill"}


def test_a_release_that_was_stopped_goes_on_and_releases_everyone_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(9)
    frame = pl.DataFrame({"age": draw.integers(20, 80, 500), "row": range(500)})
    source, out, state = tmp_path / "in.ndjson", tmp_path / "out.ndjson", tmp_path / "state"
    frame.write_ndjson(source)
    words = [
        "anonymize",
        str(source),
        "--stream",
        "--key",
        "age",
        "--k",
        "4",
        "--delay",
        "60",
        "--keep",
        "row",
        "--out",
        str(out),
    ]
    words += ["--checkpoint", str(state)]
    taken = StreamRelease.feed
    left = [3, 11, 2, 10**9]

    def breaking(self: StreamRelease, batch: Any, now: int | None = None) -> Iterator[Publication]:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return taken(self, batch, now)

    monkeypatch.setattr(StreamRelease, "feed", breaking)
    codes = []
    with unveil.Run(limits=unveil.Limits(lines=600, checkpoint_every=0.0)):
        while left:
            codes.append(run(words))
            left.pop(0)
    assert codes == [130, 130, 130, 0]
    assert (state.stat().st_mode & 0o777) == 0o600
    released = lines_of(out)
    assert sorted(row["row"] for row in released) == list(range(500))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["in.ndjson", "--stream", "--key", "age", "--k", "2"], "--delay"),
        (["in.ndjson", "--stream", "--key", "age", "--k", "2", "--delay", "9"], "--out"),
        (
            ["-", "--stream", "--key", "age", "--k", "2", "--delay", "9", "--out", "x.ndjson", "--checkpoint", "c"],
            "cannot be read again",
        ),
        (["in.ndjson", "--key", "age", "--k", "2", "--out", "x.ndjson"], "--stream"),
        (
            [
                "in.ndjson",
                "--stream",
                "--key",
                "age",
                "--k",
                "2",
                "--delay",
                "9",
                "--out",
                "x.ndjson",
                "--sensitive",
                "ill",
                "--l",
                "entropy:2",
            ],
            "distinct:L",
        ),
    ],
)
def test_a_command_that_makes_no_sense_is_refused(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.ndjson").write_text('{"age": 1}\n', "utf-8")
    assert run(["anonymize", *words]) == 2
    assert said in capsys.readouterr().err


# The intruder ---------------------------------------------------------------------------------------------------------


def found_by(frame: pl.DataFrame, published: list[tuple[int, Publication]], delay: int) -> list[int]:
    """Return for each record the fewest persons that somebody finds who knows its true values and when it came.

    He looks at each publication in which it may be, by itself, and there at each class that covers it.
    """
    fewest = []
    for row in frame.iter_rows(named=True):
        sizes = []
        for now, one in published:
            if not 0 <= now - row["row"] <= delay:
                continue
            classes = one.frame.join(frame, on="row", suffix="_true").group_by("age").agg(pl.col("who").n_unique(), pl.col("row"))
            sizes += [size for label, size, _ in classes.iter_rows() if covers(label, row["age"])]
        fewest.append(min(sizes, default=0))
    return fewest


@pytest.mark.parametrize("reuse", [False, True])
def test_who_knows_when_a_record_came_finds_k_persons_unless_labels_are_reused(reuse: bool) -> None:
    draw = np.random.default_rng(11)
    crowd, quiet = draw.integers(20, 40, 60), np.full(30, 30)
    frame = pl.DataFrame({"age": np.concatenate([crowd, quiet]), "who": [*range(60), *[99] * 30], "row": range(90)})
    release = StreamRelease("age", k=3, delay=10, person="who", keep="row", reuse=reuse)
    published: list[tuple[int, Publication]] = []
    for at in range(90):  # one by one, so that we know when each publication appeared
        published += [(at + 1, one) for one in release.feed(frame[at : at + 1]) if one.frame.height]
    published += [(90, one) for one in release.finish() if one.frame.height]
    fewest = [size for size in found_by(frame, published, 10) if size]
    assert (min(fewest) >= 3) is not reuse
    assert (release.suppressed > 0) is not reuse


@pytest.mark.parametrize(("form", "delay"), [("ndjson", "200"), ("parquet", "400ms")])
def test_killed_at_any_moment_a_release_goes_on_and_nothing_leaves_twice(tmp_path: Path, form: str, delay: str) -> None:
    """What was there when the run was killed stands there still at the end, byte by byte; and everybody is released once."""
    draw = random.Random(f"{form} {delay}")  # noqa: S311
    people = pl.DataFrame({"age": [draw.randint(20, 80) for _ in range(6000)], "row": range(6000)})
    source, out = tmp_path / ("in" if form == "parquet" else "in.ndjson"), tmp_path / "out.ndjson"
    if form == "parquet":
        source.mkdir()
    place = ["--out", str(out), "--checkpoint", str(tmp_path / "state")]
    words = ["anonymize", str(source), "--stream", "--key", "age", "--k", "4", "--delay", delay, "--keep", "row", *place]
    at, seen = 0, b""

    def arrive(number: int) -> None:
        nonlocal at
        part, at = people[at : at + number], at + number
        if form == "parquet":
            part.write_parquet(source / f".{at:06}.tmp")
            (source / f".{at:06}.tmp").rename(source / f"{at:06}.parquet")
        else:
            with source.open("ab") as file:
                file.write(part.write_ndjson().encode())

    arrive(500)
    for round_ in range(2):
        process = subprocess.Popen(
            [sys.executable, "-c", "from unveil.cli import main; main()", *words, "--follow"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip
        wanted, deadline = len(seen) + draw.randint(1, 20_000), time.monotonic() + 60
        while (not out.exists() or out.stat().st_size < wanted) and time.monotonic() < deadline:
            if at < 1800 * (round_ + 1):
                arrive(draw.randint(1, 150))
            time.sleep(draw.random() / 20)
        process.kill()
        process.communicate()
        now = out.read_bytes() if out.exists() else b""
        assert now.startswith(seen[: len(now)])
        seen = max(seen, now, key=len)
    arrive(6000 - at)
    assert run(words) == 0
    content = out.read_bytes()
    assert seen
    assert content.startswith(seen)
    rows = [row["row"] for row in lines_of(out)]
    assert len(rows) == len(set(rows))
    suppressed = 6000 - len(rows)
    assert suppressed < 4 if delay == "200" else suppressed < 600


PLAN = """
[data]
path = "in.ndjson"
missing = ["?"]
[models]
k = 5
l = "distinct:2"
[attributes.age]
role = "key"
[attributes.place]
role = "key"
hierarchy = "place.csv"
[attributes.ill]
role = "sensitive"
[attributes.who]
role = "person"
[attributes.row]
role = "keep"
"""
"""A project that says all that the release of a stream heeds."""


@pytest.fixture
def planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(11)
    people = {
        "age": draw.integers(20, 80, 600), "place": draw.choice(["n1", "n2", "s1", "s2"], 600), "row": range(600),
        "ill": draw.choice(["flu", "hiv", "?"], 600), "who": draw.integers(0, 300, 600), "name": [f"P{row}" for row in range(600)],
    }  # fmt: skip
    pl.DataFrame(people).write_ndjson("in.ndjson")
    Path("place.csv").write_text("n1;north;*\nn2;north;*\ns1;south;*\ns2;south;*\n", encoding="utf-8")
    Path("unveil.toml").write_text(PLAN, encoding="utf-8")
    return Path("unveil.toml")


TYPED = (
    "in.ndjson --key age --key place --sensitive ill --person who --keep row --k 5 --l distinct:2 --missing ? "
    "--hierarchy place=place.csv"
)


@pytest.mark.parametrize("named", ["", "unveil.toml", "--project unveil.toml", "in.ndjson --project unveil.toml"])
def test_the_command_releases_a_stream_as_the_project_says(planned: Path, named: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert planned.exists()
    answers, released = [], []
    for at, words in enumerate((named, TYPED)):
        out = f"out{at}.ndjson"
        assert run(["anonymize", *words.split(), "--stream", "--delay", "150", "--out", out, "--json"]) == 0
        answers.append(json.loads(capsys.readouterr().out))
        released.append(sorted(lines_of(Path(out)), key=lambda one: one["row"]))
    assert answers[0] == answers[1]
    assert released[0] == released[1]
    assert set(released[0][0]) == {"age", "place", "ill", "row"}
    assert {one["ill"] for one in released[0]} == {"flu", "hiv", None}


def test_what_is_named_for_a_stream_takes_precedence_over_the_project(planned: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["anonymize", str(planned), "--stream", "--delay", "150", "--out", "out.ndjson", "--json", "--key", "age"]
    assert run([*words, "--k", "20"]) == 0
    assert json.loads(capsys.readouterr().out)["smallest"] >= 20
    assert set(lines_of(Path("out.ndjson"))[0]) == {"age", "ill", "row"}


REFUSED = {
    "--t 0.1:equal": "--k and --l distinct:L only, not to t-closeness",
    "--l entropy:2": "--k and --l distinct:L only, not to entropy l-diversity",
    "--l distinct:2 --l distinct:3": "--l distinct:L only, for all sensitive attributes",
    "--presence 0:0.5": "not to delta-presence",
    "--population adult": "--population does not go with --stream",
    "--mechanism swap --attribute age": "--mechanism does not go with --stream",
    "--suppression 0.1": "--suppression does not go with --stream",
    "--level age=1:2": "--level does not go with --stream",
    "--link link.csv": "--link does not go with --stream",
    "--separator ;": "--separator does not go with --stream",
    "--keep-order": "--keep-order does not go with --stream",
    "--nulls drop": "--nulls does not go with --stream",
    "--household who": "--household does not go with --stream",
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_a_stream_is_not_held_to_is_refused(planned: Path, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["anonymize", "in.ndjson", "--stream", "--key", "age", "--sensitive", "ill", "--k", "5", "--delay", "150"]
    assert run([*call, "--out", "out.ndjson", *words.split()]) == 2
    assert REFUSED[words] in capsys.readouterr().err
    assert not planned.with_name("out.ndjson").exists()


@pytest.mark.parametrize(
    ("says", "why"),
    [
        ('l = "distinct:2"', 't = "0.2:equal"'),
        ("[models]", '[protect.ages]\nmechanism = "add_noise"\nattributes = ["age"]\n[models]'),
        ('missing = ["?"]', 'nulls = "drop"'),
    ],
)
def test_a_project_that_asks_for_more_than_a_stream_is_held_to_is_refused(
    planned: Path, says: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    planned.write_text(PLAN.replace(says, why), encoding="utf-8")
    assert run(["anonymize", "unveil.toml", "--stream", "--delay", "150", "--out", "out.ndjson"]) == 2
    reason = capsys.readouterr().err
    assert any(one in reason for one in ("not to t-closeness", "plans steps", "nulls = drop"))
    assert not Path("out.ndjson").exists()
