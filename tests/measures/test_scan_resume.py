from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import unveil
from helpers import limited, started
from unveil.cli import run
from unveil.counts.refine import Refiner
from unveil.errors import ArgumentError, DataFileError, OutputError
from unveil.measures.approximate import ApproximateRate, approximate_rate
from unveil.measures.discrimination import DiscriminationRate

KEYS = ["a", "b", "c", "d", "e", "f"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    random = np.random.default_rng(0)
    columns = {name: random.integers(0, size, 3000) for name, size in zip(KEYS, (2, 3, 4, 9, 20, 40), strict=True)}
    path = tmp_path / "people.csv"
    pl.DataFrame({**columns, "secret": random.integers(0, 5, 3000), "w": random.integers(1, 9, 3000) / 4}).write_csv(path)
    return path


@pytest.fixture(autouse=True)
def at_once() -> Iterator[None]:
    with limited(checkpoint_every=0.0):
        yield


def stopped(table: Path, after: int, **arguments: Any) -> None:
    """Scan until so many subsets are done."""

    def stop(_stage: str, done: int, _total: int) -> None:
        if done >= after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        unveil.scan(table, KEYS, "secret", progress=stop, **arguments)


KILLED = """
import os, signal, sys, unveil
unveil.Run(limits=unveil.Limits(checkpoint_every=0.0)).__enter__()
def kill(stage, done, total):
    if done >= 16:
        os.kill(os.getpid(), signal.SIGKILL)
unveil.scan(sys.argv[1], "abcdef", "secret", threads=int(sys.argv[2]), checkpoint=sys.argv[3], progress=kill)
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_a_killed_scan_goes_on_and_ends_as_an_undisturbed_one(
    table: Path, tmp_path: Path, threads: int, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "kept"
    code = KILLED.replace('"abcdef"', repr(KEYS))
    killed = subprocess.run([sys.executable, "-c", code, str(table), str(threads), str(kept)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert 0 < len(json.loads(kept.read_bytes())["subsets"]) < 63
    options = [word for key in KEYS for word in ("--key", key)]
    assert run(["scan", str(table), *options, "--sensitive", "secret", "--checkpoint", str(kept), "--resume", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == unveil.scan(table, KEYS, "secret").to_dict()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["people.csv"]


@pytest.mark.parametrize("after", [1, 20, 40, 62])
@pytest.mark.parametrize("arguments", [{}, {"max_size": 3}, {"weights": "w", "threads": 2}], ids=str)
def test_wherever_it_was_stopped_the_answer_is_the_same(
    table: Path, tmp_path: Path, after: int, arguments: dict[str, Any]
) -> None:
    kept, whole = tmp_path / "kept", unveil.scan(table, KEYS, "secret", **arguments)
    stopped(table, min(after, 30), checkpoint=kept, **arguments)
    assert unveil.scan(table, KEYS, "secret", checkpoint=kept, resume=True, **arguments).to_dict() == whole.to_dict()
    assert not kept.exists()


INTERRUPTED = """
import sys, unveil
from unveil.cli import main
unveil.Run(limits=unveil.Limits(checkpoint_every=0.0)).__enter__()
main(sys.argv[1:])
"""


@pytest.mark.parametrize("named", [True, False], ids=["checkpoint", "resume"])
def test_an_interrupt_says_that_the_checkpoint_is_kept_and_how_to_go_on(
    tmp_path: Path, named: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """The signal comes once the checkpoint is there; most of 2,047 subsets are left to do."""
    data, keys = tmp_path / "wide.parquet", [f"c{at}" for at in range(11)]
    pl.DataFrame({name: np.random.default_rng(at).integers(0, 2 + at, 2000) for at, name in enumerate(keys)}).write_parquet(data)
    kept = tmp_path / "kept" if named else Path(f"{data}.unveil-scan")
    command = ["scan", str(data), *(["--checkpoint", str(kept)] if named else ["--resume"])]
    with started([sys.executable, "-c", INTERRUPTED, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while not kept.exists() and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        printed, said = process.communicate(timeout=120)
    assert (process.returncode, printed) == (130, b"")
    words = (
        f"unveil: interrupted; the checkpoint {str(kept)!r} keeps what is done; the same command with --resume continues it.\n"
    )
    assert said.decode() == words
    held = json.loads(kept.read_bytes())["subsets"]
    assert 0 < len(held) < 2047
    assert run([*command, "--resume", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == unveil.scan(data).to_dict()
    assert not kept.exists()


ELSEWHERE = """
import os, signal
from unveil.cli.process import leaving_with, listening

class Last:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        [None for _ in range(1000)]

signal.signal(signal.SIGINT, signal.default_int_handler)
with listening(debug=False), leaving_with(lambda: "the checkpoint keeps what is done."):
    Last()
print("still here")
"""


def test_an_interrupt_where_nothing_can_catch_it_says_what_is_kept_too() -> None:
    ended = subprocess.run([sys.executable, "-c", ELSEWHERE], capture_output=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout) == (130, b"")
    assert ended.stderr.decode() == "unveil: interrupted; the checkpoint keeps what is done.\n"


def test_what_is_done_is_not_done_again(table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done, original = [], Refiner.split

    def counted(self: Refiner, *arguments: Any) -> Any:
        done.append(1)
        return original(self, *arguments)

    monkeypatch.setattr(Refiner, "split", counted)
    unveil.scan(table, KEYS, "secret", threads=1)
    assert len(done) == 63
    stopped(table, 32, checkpoint=tmp_path / "kept", threads=1)
    done.clear()
    unveil.scan(table, KEYS, "secret", threads=1, checkpoint=tmp_path / "kept", resume=True)
    assert 31 <= len(done) <= 31 + len(KEYS)


def test_resume_alone_keeps_its_file_beside_the_data(table: Path) -> None:
    stopped(table, 20, resume=True)
    beside = Path(f"{table}.unveil-scan")
    assert beside.exists()
    assert unveil.scan(table, KEYS, "secret", resume=True).to_dict() == unveil.scan(table, KEYS, "secret").to_dict()
    assert not beside.exists()
    with pytest.raises(ArgumentError, match="is not a file"):
        unveil.scan("adult", ["age", "sex"], resume=True)


def test_other_data_or_another_question_is_refused(table: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    stopped(table, 20, checkpoint=kept)
    for arguments, what in (({"max_size": 3}, "max_size"), ({"nulls": "drop"}, "nulls"), ({"weights": "w"}, "weights")):
        with pytest.raises(ArgumentError, match=f"made for another scan: .*{what} changed since"):
            unveil.scan(table, KEYS, "secret", checkpoint=kept, resume=True, **arguments)
    with pytest.raises(ArgumentError, match="key changed"):
        unveil.scan(table, KEYS[:5], "secret", checkpoint=kept, resume=True)
    os.utime(table, ns=(1, 1))
    with pytest.raises(ArgumentError, match="another scan: file time changed"):
        unveil.scan(table, KEYS, "secret", checkpoint=kept, resume=True)
    frame = pl.read_csv(table)
    other = tmp_path / "frame"
    stopped(frame, 20, checkpoint=other)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="another scan: counts changed"):
        unveil.scan(frame.head(2999), KEYS, "secret", checkpoint=other, resume=True)


def test_a_file_that_may_be_wanted_is_not_overwritten(table: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    stopped(table, 20, checkpoint=kept)
    with pytest.raises(ArgumentError, match="exists already"):
        unveil.scan(table, KEYS, "secret", checkpoint=kept)
    kept.write_bytes(kept.read_bytes()[:-20])
    with pytest.raises(DataFileError, match="not a checkpoint of a scan, or it is damaged"):
        unveil.scan(table, KEYS, "secret", checkpoint=kept, resume=True)
    with pytest.raises(OutputError, match="does not exist"):
        unveil.scan(table, KEYS, "secret", checkpoint=tmp_path / "gone" / "kept")


def large(path: Path, random: np.random.Generator) -> Path:
    """Write 20,000 records of about 6,000 classes, a few of them large, in random order."""
    key = np.minimum(random.zipf(1.4, 20_000), 200_000)
    frame = pl.DataFrame({"key": key, "part": key % 3, "secret": (key + (random.random(20_000) < 0.4)) % 4})
    frame.sample(fraction=1.0, shuffle=True, seed=int(random.integers(1 << 30))).write_parquet(path)
    return path


@pytest.mark.parametrize("sensitive", [None, "secret"])
def test_estimates_are_as_far_off_as_they_say(tmp_path: Path, sensitive: str | None) -> None:
    """In twenty files the errors, in standard errors, have a mean near 0 and a spread near 1."""
    random, off, classes_off = np.random.default_rng(7), [], []
    for at in range(20):
        path = large(tmp_path / f"{at}.parquet", random)
        exact = unveil.discrimination_rate(path, ["key", "part"], sensitive)
        with limited(stream_from=0):
            found = approximate_rate(path, ["key", "part"], sensitive, max_distinct=900, seed=at)
        assert isinstance(found, ApproximateRate)
        assert found.share < 1
        assert found.entropy == pytest.approx(exact.entropy, abs=1e-12)
        assert found.rate.low <= found.value <= found.rate.high
        off.append((found.value - exact.value) / found.rate.error)
        classes_off.append((found.classes.value - len(exact.by_value)) / found.classes.error)
    for errors in (off, classes_off):
        assert abs(np.mean(errors)) < 3 / np.sqrt(20)
    assert 0.5 < np.std(classes_off) < 1.6
    assert np.mean(np.abs(off) < 4) >= 0.8


def test_below_the_limit_the_answer_is_exact(tmp_path: Path) -> None:
    path = large(tmp_path / "t.parquet", np.random.default_rng(0))
    exact = unveil.discrimination_rate(path, "key", "secret")
    assert isinstance(approximate_rate(path, "key", "secret", max_distinct=10), DiscriminationRate)  # small: held anyway
    with limited(stream_from=0):
        found = approximate_rate(path, "key", "secret", max_distinct=100_000)
    assert found.to_dict() == exact.to_dict()


def test_an_estimate_says_so_wherever_it_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = large(tmp_path / "t.parquet", np.random.default_rng(0))
    with limited(stream_from=0):
        assert run(["dr", str(path), "--key", "key", "--max-distinct", "900", "--json"]) == 0
        answer = json.loads(capsys.readouterr().out)
        assert answer["approximate"] is True
        assert answer["error"] > 0
        assert run(["dr", str(path), "--key", "key", "--max-distinct", "900"]) == 0
        assert "Approximate: there are more than 900 combinations" in " ".join(capsys.readouterr().out.split())
        assert run(["dr", str(path), "--key", "key", "--max-distinct", "900", "--interval"]) == 2
        found = approximate_rate(path, "key", max_distinct=900)
        assert "standard error" in repr(found)
        assert found.to_frame().height == 3
        with pytest.raises(ArgumentError, match="too few for an estimate; raise it"):
            approximate_rate(path, "key", max_distinct=20)
    with pytest.raises(ArgumentError, match="max_distinct is 0; it must be at least 1"):
        approximate_rate(path, "key", max_distinct=0)


@pytest.mark.parametrize("name", ["\ud800", "a\0b"])
def test_a_checkpoint_under_a_name_that_no_file_can_have_is_refused(name: str) -> None:
    with pytest.raises(OutputError, match="no file can have this name"):
        unveil.scan("paper-2", checkpoint=name)
