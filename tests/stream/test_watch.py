"""A stream watched: sources, alarms, and a state from which a run goes on as if nothing had happened."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import unveil
from unveil.cli import run
from unveil.errors import ArgumentError, ColumnNotFoundError, DataChangedError, DataFileError, DataNotFoundError, OutputError
from unveil.sources.streams import StreamOptions, open_records
from unveil.sources.streams.messages import AvroMessages
from unveil.stream.alarms import Alarm, Fact
from unveil.stream.checkpoint import Checkpoint
from unveil.stream.series import Series
from unveil.stream.sinks import FileSink
from unveil.stream.watch import Watch
from unveil.stream.window import Window

ONCE = StreamOptions(follow=False)


def records(number: int, seed: int = 1) -> list[dict[str, Any]]:
    draw = random.Random(seed)  # noqa: S311 - a test's data
    return [
        {"t": at + draw.randint(0, 3), "age": draw.randint(1, 9), "zip": draw.choice("abc"), "ill": draw.choice(["flu", "hiv"])}
        for at in range(number)
    ]


def as_lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def figures_of(source: Any, options: StreamOptions = ONCE, **settings: Any) -> list[dict[str, Any]]:
    window = Window(**{"key": ["age", "zip"], "sensitive": "ill", "size": 50, "every": 20, "strict": False, **settings})
    watch = Watch(open_records(source, options), window)
    return [one.to_dict() for one in watch.run() if one is not None]


@pytest.fixture
def small_pieces() -> Iterator[None]:
    """Have files read in small pieces, so that there are many batches."""
    with unveil.Run(limits=unveil.Limits(lines=700)):
        yield


# Sources --------------------------------------------------------------------------------------------------------------


def expected(rows: list[dict[str, Any]], size: int, every: int) -> list[float]:
    frame = pl.DataFrame(rows)
    ends = range(every, len(rows) + 1, every)
    return [unveil.discrimination_rate(frame[max(0, end - size) : end], ["age", "zip"], "ill").value for end in ends]


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("form", ["ndjson", "csv", "parquet"])
def test_every_source_gives_the_figures_of_the_table(tmp_path: Path, form: str) -> None:
    rows = records(200)
    path = tmp_path / f"stream.{form}"
    if form == "ndjson":
        path.write_text(as_lines(rows), "utf-8")
    elif form == "csv":
        pl.DataFrame(rows).write_csv(path)
    else:
        path = tmp_path / "parts"
        path.mkdir()
        for at in range(4):
            pl.DataFrame(rows[50 * at : 50 * at + 50]).write_parquet(path / f"part-{at}.parquet")
        (path / "_temporary.parquet").write_bytes(b"half")
    assert [one["dr"] for one in figures_of(path)] == expected(rows, 50, 20)


def test_lines_that_cannot_be_read_are_counted_and_kept_apart(tmp_path: Path) -> None:
    rows = records(40)
    lines = as_lines(rows[:10]) + "{half\n[1]\n\n" + as_lines(rows[10:]) + '"text"'
    path, apart = tmp_path / "stream.ndjson", tmp_path / "apart"
    path.write_text(lines, "utf-8")
    window = Window(["age", "zip"], "ill", size=50, every=20, strict=False)
    watch = Watch(open_records(path, ONCE), window, malformed=FileSink(apart))
    figures = [one.to_dict() for one in watch.run() if one is not None]
    assert [one["dr"] for one in figures][:2] == expected(rows, 50, 20)
    assert figures[1]["left_out"] == {"malformed": 2}
    assert apart.read_text("utf-8") == '{half\n[1]\n"text"\n'


def test_csv_lines_with_other_fields_are_malformed_and_quotes_hold_line_breaks(tmp_path: Path) -> None:
    path = tmp_path / "stream.csv"
    path.write_text('zip,ill\n007,flu\n008,"a, b\nc"\n009\n010,hiv,more\n007,flu\n', "utf-8")
    watch = Watch(open_records(path, ONCE), Window("zip", "ill", every=1, strict=False))
    list(watch.run())
    assert watch.malformed == 2
    assert watch.window.counts().to_dict()["cells"] == [
        {"zip": "007", "ill": "flu", "n": 2},
        {"zip": "008", "ill": "a, b\nc", "n": 1},
    ]


def test_types_may_change_on_the_way_and_a_missing_key_is_a_null(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"a": 1},
        {"a": 2},
        {"a": 2.5},
        {"a": "2"},
        {"b": 1},
        {"a": None},
        {"a": [1]},
        {"a": "1"},
        {"a": True},
    ]
    path = tmp_path / "stream.ndjson"
    path.write_text(as_lines(rows), "utf-8")
    table = unveil.count(path, ["a"])
    for piece in (9, 30, 10_000):
        watch = Watch(open_records(path, ONCE), Window("a", every=1, strict=False))
        with unveil.Run(limits=unveil.Limits(lines=piece)):
            list(watch.run())
        assert watch.window.counts().n.tolist() == table.n.tolist(), piece


def test_a_file_that_grows_is_followed_and_half_a_line_waits(tmp_path: Path) -> None:
    path = tmp_path / "stream.ndjson"
    path.write_text('{"age": 1}\n{"ag', "utf-8")
    batches = open_records(path).batches(["age"])
    first = next(batches)
    assert first is not None
    assert first.frame["age"].to_list() == [1]
    assert next(batches) is None
    with path.open("a", encoding="utf-8") as file:
        file.write('e": 2}\n')
    second = next(batches)
    assert second is not None
    assert second.frame["age"].to_list() == [2]
    path.write_text("", "utf-8")
    assert next(batches) is None
    with pytest.raises(DataChangedError, match="became shorter"):
        next(batches)


def test_a_folder_gives_files_as_they_arrive(tmp_path: Path) -> None:
    pl.DataFrame({"age": [1]}).write_parquet(tmp_path / "1.parquet")
    batches = open_records(tmp_path).batches(["age"])
    first = next(batches)
    assert first is not None
    (tmp_path / "2.parquet").write_bytes(b"being written")
    assert next(batches) is None
    pl.DataFrame({"age": [2]}).write_parquet(tmp_path / "2.parquet")
    second = next(batches)
    assert second is not None
    assert second.frame["age"].to_list() == [2]
    again = next(open_records(tmp_path, ONCE).batches(["age"], first.position))
    assert again is not None
    assert again.frame["age"].to_list() == [2]


def test_a_built_in_data_set_is_replayed() -> None:
    adult = unveil.datasets.load("adult")
    window = Window(["age", "sex"], "race", size=10_000, every=10_000, strict=False)
    figures = [one for one in Watch(open_records("adult"), window).run() if one is not None]
    assert figures[2].dr == unveil.discrimination_rate(adult[20_000:30_000], ["age", "sex"], "race").value


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataNotFoundError, match="not a file, a folder"):
        open_records(tmp_path / "none")
    path = tmp_path / "stream.ndjson"
    path.write_text(as_lines(records(5)), "utf-8")
    with pytest.raises(ColumnNotFoundError, match="did you mean 'age'"):
        list(open_records(path, ONCE).batches(["ages"]))
    (tmp_path / "x.parquet").touch()
    with pytest.raises(ArgumentError, match="not a file of lines"):
        open_records(tmp_path / "x.parquet")


def test_avro_messages_are_read_with_and_without_the_mark_of_a_registry(tmp_path: Path) -> None:
    schema = tmp_path / "schema.json"
    fields = [{"name": "age", "type": "long"}, {"name": "ill", "type": "string"}]
    schema.write_text(json.dumps({"type": "record", "name": "r", "fields": fields}), "utf-8")
    reader = AvroMessages(["ill", "age"], schema)
    plain, marked = b"\x54\x06flu", b"\x00\x00\x00\x00\x07\x02\x06hiv"
    frame, malformed = reader.frame([plain, marked])
    assert frame.rows() == [("flu", 42), ("hiv", 1)]
    assert malformed == []
    frame, malformed = reader.frame([plain, b"\xff"])
    assert frame.rows() == [("flu", 42)]
    assert malformed == [b"\xff"]


# Alarms ---------------------------------------------------------------------------------------------------------------


def test_an_alarm_does_not_flap() -> None:
    alarm = Alarm.parse("k < 5 until 7")
    assert [alarm.update(k) for k in (9, 4, 6, 5, 6.9, 7, 6, 4)] == [False, True, True, True, True, False, False, True]
    plain = Alarm.parse("dr > 0.8")
    assert [plain.update(rate) for rate in (0.9, 0.8, 0.7, 0.9, 0.8, 0.8, 0.8)] == [True, True, True, True, True, True, False]
    fact = Fact("rule")
    assert [fact.update(broken) for broken in (True, False, False, None, False)] == [True, True, True, True, False]


@pytest.mark.parametrize("text", ["dr", "dr > much", "risk > 1", "dr > 0.8 until 0.9", ""])
def test_what_is_no_alarm_is_refused(text: str) -> None:
    with pytest.raises(ArgumentError, match="alarm"):
        Alarm.parse(text)


def test_alarms_wait_until_the_window_is_full_or_the_stream_ends(tmp_path: Path) -> None:
    path = tmp_path / "stream.ndjson"
    path.write_text(as_lines(records(90)), "utf-8")
    for size, first in ((50, 3), (1000, None)):
        window = Window(["age", "zip"], size=size, every=20, strict=False)
        watch = Watch(open_records(path, ONCE), window, alarms=[Alarm.parse("records > 0")])
        figures = [one for one in watch.run() if one is not None]
        raised = [one.number for one in figures if one.alarms]
        assert raised == ([first, 4, 5] if first else [5])
        assert figures[-1].partial


# State ----------------------------------------------------------------------------------------------------------------

SETTINGS: dict[str, dict[str, Any]] = {
    "number": {"size": 50, "every": 7},
    "time": {"duration": 40, "every": 7, "time": "t", "lateness": 3},
    "landmark": {"every": 7},
    "partitioned": {"size": 30, "every": 7, "partitions": {"age": [0, 3, 6, 10]}},
}


def plain(lines: bytes) -> list[dict[str, Any]]:
    """Return lines without what was left out so far, which depends on how far the source is read ahead."""
    return [{name: value for name, value in json.loads(line).items() if name != "left_out"} for line in lines.splitlines()]


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("kind", SETTINGS)
def test_a_run_that_is_broken_off_anywhere_goes_on_as_if_it_were_not(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "stream.ndjson"
    path.write_text(as_lines(records(300)) + "{bad\n", "utf-8")
    out, apart, state = tmp_path / "out.ndjson", tmp_path / "apart", tmp_path / "state"

    def watch(*, kept: bool) -> Watch:
        window = Window(["age", "zip"], "ill", strict=False, **SETTINGS[kind])
        return Watch(
            open_records(path, ONCE),
            window,
            alarms=[Alarm.parse("k < 2 until 4")],
            checkpoint=Checkpoint(state, {"kind": kind}) if kept else None,
            interval=0.0,
            malformed=FileSink(apart),
            lines=FileSink(out),
        )

    list(watch(kept=False).run())
    whole, set_apart = out.read_bytes(), apart.read_bytes()
    draw = random.Random(kind)  # noqa: S311
    for _ in range(12):
        running = watch(kept=True).run()
        for _ in range(draw.randint(1, 9)):  # broken off wherever it is: nothing is closed, nothing saved
            if next(running, "end") == "end":
                break
        else:
            running.close()
            continue
        break
    else:
        list(watch(kept=True).run())
    assert plain(out.read_bytes()) == plain(whole)
    assert apart.read_bytes() == set_apart


def test_a_checkpoint_of_another_command_or_file_is_refused(tmp_path: Path) -> None:
    path, state = tmp_path / "stream.ndjson", tmp_path / "state"
    path.write_text(as_lines(records(30)), "utf-8")
    command = [
        "watch",
        str(path),
        "--key",
        "age",
        "--window",
        "10",
        "--every",
        "5",
        "--no-follow",
        "--json",
        "--checkpoint",
        str(state),
    ]
    assert run(command) == 0
    assert (state.stat().st_mode & 0o777) == 0o600
    with pytest.raises(ArgumentError, match="differs in size"):
        Checkpoint(state, {**json.loads(_settings(state)), "size": 20}).read()
    path.write_text(as_lines(records(30, seed=2)), "utf-8")
    assert run(command) == 2
    state.write_bytes(state.read_bytes()[:-1])
    with pytest.raises(DataFileError, match="damaged"):
        Checkpoint(state, {}).read()


def _settings(state: Path) -> str:
    import io

    import numpy as np

    body = state.read_bytes().split(b"\n", 2)[2]
    with np.load(io.BytesIO(body)) as file:
        return json.dumps(json.loads(file["document"].tobytes())["settings"])


def test_a_full_disk_is_said() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    sink = FileSink.__new__(FileSink)
    sink._path, sink._file, sink._anew = Path("/dev/full"), None, False  # noqa: SLF001 - a device is no place for a file, but is always full
    with pytest.raises(OutputError, match="disk is full"):
        sink.write(1, b"line")
    sink.close()


def test_an_older_file_of_lines_stays_until_there_is_something_to_write(tmp_path: Path) -> None:
    path, out = tmp_path / "stream.ndjson", tmp_path / "out.ndjson"
    out.write_text("older", "utf-8")
    path.write_text(as_lines(records(30)), "utf-8")
    words = ["watch", str(path), "--window", "10", "--every", "5", "--no-follow", "--json", "--lines", str(out)]
    assert run([*words, "--key", "none"]) == 2
    assert out.read_text("utf-8") == "older"
    assert run([*words, "--key", "age"]) == 0
    assert len(out.read_text("utf-8").splitlines()) == 6


# The command ----------------------------------------------------------------------------------------------------------


def started(*words: str, **options: Any) -> subprocess.Popen[bytes]:
    code = "import sys; from unveil.cli import main; main(sys.argv[1:])"
    return subprocess.Popen(
        [sys.executable, "-c", code, "watch", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options
    )


@pytest.mark.parametrize("form", ["ndjson", "parquet"])
def test_killed_at_any_moment_the_same_command_goes_on(tmp_path: Path, form: str) -> None:
    rows = records(4000)
    path, out = tmp_path / ("parts" if form == "parquet" else "stream.ndjson"), tmp_path / "out.ndjson"
    if form == "parquet":
        path.mkdir()

    def arrive(start: int, stop: int) -> None:
        if form == "parquet":
            pl.DataFrame(rows[start:stop]).write_parquet(path / f".{start:06}")
            (path / f".{start:06}").rename(path / f"{start:06}.parquet")
            return
        with path.open("a", encoding="utf-8") as file:
            file.write(as_lines(rows[start:stop]))

    arrive(0, 50)
    command = [
        "--key",
        "age",
        "--key",
        "zip",
        "--sensitive",
        "ill",
        "--window",
        "500",
        "--every",
        "100",
        "--checkpoint-every",
        "0s",
    ]
    words = [str(path), *command, "--checkpoint", str(tmp_path / "state"), "--lines", str(out), "--json"]
    draw = random.Random(7)  # noqa: S311
    at = 50
    for last in (False, False, True):
        process = started(*words)
        end = len(rows) if last else at + 1500
        while at < end:
            step = draw.randint(1, 300)
            arrive(at, min(at + step, end))
            at = min(at + step, end)
            time.sleep(draw.random() / 5)
        if last:
            waited = time.monotonic() + 60
            while (not out.exists() or out.read_bytes().count(b"\n") < 40) and time.monotonic() < waited:
                time.sleep(0.1)
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)
            assert process.returncode == 143
        else:
            deadline = time.monotonic() + 30
            while not out.exists() and time.monotonic() < deadline:
                time.sleep(0.05)
            process.kill()
            process.communicate()
    lines = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    frame = pl.DataFrame(rows)
    assert [line["window"]["to"] for line in lines] == list(range(100, 4001, 100))
    for line in lines[::8]:
        end = line["window"]["to"]
        assert line["dr"] == unveil.discrimination_rate(frame[max(0, end - 500) : end], ["age", "zip"], "ill").value


def test_an_interrupt_writes_the_last_window_and_keeps_the_state(tmp_path: Path) -> None:
    path, state = tmp_path / "stream.ndjson", tmp_path / "state"
    path.write_text(as_lines(records(130)), "utf-8")
    words = [str(path), "--key", "age", "--window", "50", "--every", "50", "--json", "--checkpoint", str(state)]
    process = started(*words)
    assert process.stdout is not None
    lines = [json.loads(process.stdout.readline()) for _ in range(2)]
    process.send_signal(signal.SIGINT)
    rest = process.communicate(timeout=60)[0].decode().splitlines()
    assert process.returncode == 130
    lines += [json.loads(line) for line in rest]
    assert [line["window"]["to"] for line in lines] == [50, 100, 130]
    assert lines[-1]["window"]["partial"] is True
    assert state.exists()


def test_the_last_line_of_standard_input_is_that_of_the_last_records() -> None:
    rows = records(700)
    done = subprocess.run(
        [sys.executable, "-c", "from unveil.cli import main; main()", "watch", "-", "--key", "age", "--key", "zip", "--sensitive",
         "ill", "--window", "300", "--every", "100", "--json", "--need", "cure: ill given zip"],
        input=as_lines(rows).encode(), capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) == 7
    last = pl.DataFrame(rows[-300:])
    assert lines[-1]["dr"] == unveil.discrimination_rate(last, ["age", "zip"], "ill").value
    assert lines[-1]["needs"]["cure"]["degree"] == unveil.discrimination_rate(last, "zip", "ill").value
    assert {"window", "dr", "kind", "k", "uniques", "needs", "alarms"} <= set(lines[-1])


def test_the_report_and_the_command_of_an_alarm(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, page, heard = tmp_path / "stream.ndjson", tmp_path / "run.html", tmp_path / "heard"
    path.write_text(as_lines(records(200)), "utf-8")
    script = f"import sys, pathlib; pathlib.Path({str(heard)!r}).write_text(sys.stdin.read())"
    command = f'{sys.executable} -c "{script}"'
    words = ["watch", str(path), "--key", "age", "--window", "50", "--every", "10", "--no-follow", "--alarm", "k < 100"]
    assert run([*words, "--alarm-command", command, "--out", str(page), "--policy", "cell-size-5"]) == 1
    out = capsys.readouterr().out
    assert "ALARM: k < 100; k_anonymity at least 5 (the key)" in out
    deadline = time.monotonic() + 30
    while not (heard.exists() and heard.read_text("utf-8")) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert json.loads(heard.read_text("utf-8"))["alarms"]
    text = page.read_text("utf-8")
    assert "Privacy and utility over time" in text
    assert "<svg" in text


def test_stop_on_alarm_ends_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "stream.ndjson"
    path.write_text(as_lines(records(200)), "utf-8")
    words = [
        "watch",
        str(path),
        "--key",
        "age",
        "--window",
        "50",
        "--every",
        "10",
        "--alarm",
        "k < 100",
        "--stop-on-alarm",
        "--json",
    ]
    assert run(words) == 1
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["alarms"] == ["k < 100"]


def test_figures_are_gauges_of_a_page_on_the_loopback_address(tmp_path: Path) -> None:
    path = tmp_path / "stream.ndjson"
    path.write_text(as_lines(records(60)), "utf-8")
    process = started(str(path), "--key", "age", "--window", "50", "--every", "50", "--metrics", "0", "--json")
    assert process.stdout is not None
    assert process.stderr is not None
    address = process.stderr.readline().decode().split()[1]
    line = json.loads(process.stdout.readline())
    assert address.startswith("http://127.0.0.1:")
    deadline, text = time.monotonic() + 30, ""
    while "unveil_windows 1.0" not in text and time.monotonic() < deadline:
        with urllib.request.urlopen(address, timeout=10) as page:  # noqa: S310 - our own page
            text = page.read().decode()
    process.terminate()
    process.communicate()
    assert f"unveil_discrimination_rate {line['dr']!r}" in text
    assert "unveil_k " in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-", "--key", "a", "--checkpoint", "c"], "cannot be read again"),
        (["x.ndjson"], "no key attribute is named"),
        (["x.ndjson", "--key", "a", "--window", "1h"], "needs the records. own times"),
        (["x.ndjson", "--key", "a", "--window", "10", "--every", "1m"], "--every"),
        (["x.ndjson", "--key", "a", "--lines", "x.ndjson"], "same file"),
        (["x.ndjson", "--key", "a", "--derive", "b=cube(c)"], "derived column"),
        (["x.ndjson", "--key", "a"], "not a file, a folder"),
        (["kafka://host", "--key", "a"], "kafka://broker/topic"),
        (["redis://host", "--key", "a"], "redis://host/stream"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import re

    monkeypatch.chdir(tmp_path)
    assert run(["watch", *words]) == 2
    assert re.search(said, capsys.readouterr().err)


def test_a_long_run_keeps_the_riskiest_of_each_stretch() -> None:
    from unveil.stream.figures import KeyFigures, WindowFigures

    series = Series()
    for number in range(1, 10_001):
        dr = 0.9 if number == 7777 else 0.1
        series.add(WindowFigures(number, 1, number, 10, (KeyFigures(("a",), dr, None, "identifier", 1, 1, 1),)))
    assert len(series.points) <= 2000
    assert series.total == 10_000
    assert [point["number"] for point in series.points if point["dr"] == 0.9] == [7777]
    assert Series.of(json.loads(json.dumps(series.state()))).points == series.points
