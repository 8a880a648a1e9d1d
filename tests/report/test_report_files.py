from __future__ import annotations

import contextlib
import csv
import errno
import io
import json
import math
import os
import signal
import stat
import subprocess
import sys
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import unveil
from helpers import started
from unveil.errors import ArgumentError, DataNotFoundError, OutputError, UnsupportedDataError, UnveilError
from unveil.formats import jsonable
from unveil.models import KAnonymity
from unveil.output import atomic_write, together
from unveil.report import FORMATS, checked_path, page, write
from unveil.results import Figure, Result, Table, View

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
from contextlib import contextmanager

posix_only = pytest.mark.skipif(os.name != "posix", reason="file rights, links and signals of POSIX")


@dataclass(frozen=True, slots=True)
class Rates(Result):
    """An answer as the measures give it."""

    names: tuple[str, ...] = ("=1+1", "@home", 'été, "日本"', "a\nb")
    rates: tuple[float | None, ...] = (0.25, 1.0, None, math.inf)

    def to_dict(self) -> dict[str, Any]:
        return {"names": list(self.names), "rates": jsonable(self.rates)}

    def columns(self) -> dict[str, Sequence[Any]]:
        return {"name": self.names, "rate": self.rates}

    def view(self) -> View:
        rows = tuple(zip(self.names, self.rates, strict=True))
        return View("Rates", (Figure("records", 30162),), (Table(("name", "rate"), rows, bars=frozenset({"rate"})),))


@dataclass(frozen=True, slots=True)
class Subsets(Rates):
    """An answer with lists in its table."""

    def columns(self) -> dict[str, Sequence[Any]]:
        return {"key": [["age", "sex"], ["a,b"], [], None], "rate": self.rates}


class Broken(Rates):
    """An answer that holds what JSON cannot."""

    def to_dict(self) -> dict[str, Any]:
        return {"rate": math.nan}


@pytest.fixture
def umask() -> Iterator[None]:
    old = os.umask(0o027)
    yield
    os.umask(old)


@contextmanager
def small_files() -> Iterator[None]:
    """Let no file grow beyond 4 kB: what a full disk does, on any disk; only within the test, as its report goes to a file too."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# The forms


def test_json_is_the_whole_answer(tmp_path: Path) -> None:
    target = write(Rates(), tmp_path / "rates.json")
    text = target.read_bytes().decode()
    assert target == tmp_path / "rates.json"
    assert json.loads(text) == Rates().to_dict()
    assert text == json.dumps(Rates().to_dict(), indent=2, ensure_ascii=False) + "\n"
    assert "日本" in text
    assert '"inf"' in text


def test_json_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        write(Broken(), tmp_path / "rates.json")
    assert names_in(tmp_path) == []


def test_json_survives_half_a_surrogate_pair(tmp_path: Path) -> None:
    target = write(Rates(("\ud800",), (0.5,)), tmp_path / "rates.json")
    assert json.loads(target.read_bytes().decode())["names"] == ["\ud800"]


def test_csv_is_the_table_as_it_is_if_spreadsheets_do_not_matter(tmp_path: Path) -> None:
    target = write(Rates(), tmp_path / "rates.csv", spreadsheet_safe=False)
    with target.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["name", "rate"]
    assert [row[0] for row in rows[1:]] == list(Rates().names)
    assert [row[1] for row in rows[1:]] == ["0.25", "1.0", "", "inf"]


def test_csv_holds_lists_as_json(tmp_path: Path) -> None:
    frame = pl.read_csv(write(Subsets(), tmp_path / "subsets.csv"))
    assert frame["key"].to_list() == ['["age", "sex"]', '["a,b"]', "[]", None]
    assert frame.columns == ["key", "rate"]


def test_what_no_file_of_this_form_can_hold_is_refused(tmp_path: Path) -> None:
    counts = unveil.count(pl.DataFrame({"a": [1, 1]}), "a")
    with pytest.raises(ArgumentError, match="an answer of this package, and an object of type Counts is none"):
        write(counts, tmp_path / "c.html")  # type: ignore[arg-type]
    frame = pl.DataFrame({"a": [1] * 4, "lasted": [timedelta(1)] * 4})
    release = unveil.anonymize(frame, "a", [KAnonymity(2)])
    with pytest.raises(UnsupportedDataError, match="'lasted'"):
        write(release, tmp_path / "w.csv")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("result", [Rates(), Subsets()])
def test_parquet_is_the_table(tmp_path: Path, result: Rates) -> None:
    frame = pl.read_parquet(write(result, tmp_path / "rates.parquet"))
    assert frame.equals(result.to_frame())


def test_html_is_the_page(tmp_path: Path) -> None:
    assert write(Rates(), tmp_path / "rates.html").read_bytes().decode() == page(Rates(), made_on="2026-01-01")


def test_txt_is_the_terminal_form_without_colour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"FORCE_COLOR": "1", "COLUMNS": "20", "TERM": "xterm-256color"}.items():
        monkeypatch.setenv(name, value)
    text = write(Rates(), tmp_path / "rates.txt").read_bytes().decode()
    assert "\x1b" not in text
    assert text.startswith("Rates\n\nrecords  30,162\n")
    assert r"a\nb" in text
    assert "██████████" in text
    assert all(line == line.rstrip() for line in text.split("\n"))


@pytest.mark.parametrize("name", ["RATES.JSON", "rates.Csv", ".rates.txt", "été 日本.html", "n" * 240 + ".csv"])
def test_any_name_with_a_known_ending_will_do(tmp_path: Path, name: str) -> None:
    assert write(Rates(), tmp_path / name).stat().st_size > 0
    assert names_in(tmp_path) == [name]


def test_a_path_may_be_text_and_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert write(Rates(), "rates.csv") == Path("rates.csv")
    assert names_in(tmp_path) == ["rates.csv"]


@pytest.mark.parametrize("name", ["rates.docx", "rates", "-", "rates.csv.gz", ".csv", ""])
def test_an_unknown_ending_is_refused_with_those_known(tmp_path: Path, name: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        write(Rates(), tmp_path / "sub" / name)
    assert all(ending in str(caught.value) for ending in FORMATS)
    assert "\n" not in str(caught.value)
    assert names_in(tmp_path) == []


def test_a_near_miss_gets_a_hint(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"did you mean '\.json'"):
        write(Rates(), tmp_path / "rates.jsn")


# Whole


def test_an_older_file_is_replaced(tmp_path: Path) -> None:
    target = tmp_path / "rates.json"
    target.write_text("old" * 1000)
    write(Rates(), target)
    assert json.loads(target.read_text(encoding="utf-8")) == Rates().to_dict()
    assert names_in(tmp_path) == ["rates.json"]


def test_the_file_appears_at_the_end_only(tmp_path: Path) -> None:
    target = tmp_path / "rates.csv"
    with atomic_write(target) as file:
        file.write(b"new")
        file.flush()
        assert not target.exists()
        (hidden,) = names_in(tmp_path)
        assert hidden.startswith(".rates.csv.")
        assert file.name == str(tmp_path / hidden)
    assert target.read_bytes() == b"new"
    assert names_in(tmp_path) == ["rates.csv"]


def test_the_block_may_close_the_file_or_write_to_its_name(tmp_path: Path) -> None:
    with atomic_write(tmp_path / "a.txt") as file, io.TextIOWrapper(file, encoding="utf-8") as text:
        text.write("été")
    with atomic_write(tmp_path / "b.parquet") as file:
        pl.DataFrame({"x": [1]}).write_parquet(file.name)
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "été"
    assert pl.read_parquet(tmp_path / "b.parquet")["x"].to_list() == [1]
    assert names_in(tmp_path) == ["a.txt", "b.parquet"]


@posix_only
@pytest.mark.usefixtures("umask")
def test_a_new_file_has_the_rights_of_a_plain_open(tmp_path: Path) -> None:
    plain = tmp_path / "plain.json"
    plain.write_text("")
    target = write(Rates(), tmp_path / "rates.json")
    assert stat.S_IMODE(target.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode) == 0o640


@posix_only
def test_a_replaced_file_keeps_its_rights(tmp_path: Path) -> None:
    target = tmp_path / "rates.json"
    target.write_text("old")
    target.chmod(0o600)
    with atomic_write(target) as file:
        assert stat.S_IMODE(Path(file.name).stat().st_mode) == 0o600
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


@posix_only
def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    real, link = tmp_path / "real" / "rates.json", tmp_path / "link.json"
    real.write_text("old")
    link.symlink_to(real)
    assert write(Rates(), link) == link
    assert link.is_symlink()
    assert json.loads(real.read_text(encoding="utf-8")) == Rates().to_dict()
    assert names_in(tmp_path / "real") == ["rates.json"]


# Or not at all


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, RuntimeError, GeneratorExit])
def test_after_a_failure_half_way_all_is_as_before(tmp_path: Path, error: type[BaseException]) -> None:
    target = tmp_path / "rates.csv"
    target.write_text("old")

    def fail() -> None:
        with atomic_write(target) as file:
            file.write(b"half" * 10_000)
            file.flush()
            raise error

    with pytest.raises(error):
        fail()
    assert target.read_text() == "old"
    assert names_in(tmp_path) == ["rates.csv"]


@posix_only
def test_a_disk_that_takes_no_more_is_reported(tmp_path: Path) -> None:
    target = tmp_path / "rates.csv"
    target.write_text("old")
    with small_files(), pytest.raises(OutputError) as caught:
        write(Rates(("n" * 100,) * 1000, (0.5,) * 1000), target)
    assert str(caught.value) == f"cannot write {str(target)!r}: a file may not grow that large here."
    assert target.read_text() == "old"
    assert names_in(tmp_path) == ["rates.csv"]


def test_a_full_disk_is_reported(tmp_path: Path) -> None:
    def fill() -> None:
        with atomic_write(tmp_path / "rates.csv"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(OutputError, match=r"rates\.csv': the disk is full\.$"):
        fill()
    assert names_in(tmp_path) == []


def test_trouble_with_another_file_is_not_called_trouble_with_this_one(tmp_path: Path) -> None:
    def read_within() -> None:
        with atomic_write(tmp_path / "rates.csv") as file:
            file.write((tmp_path / "missing").read_bytes())

    def refuse_within() -> None:
        with atomic_write(tmp_path / "rates.csv"):
            raise DataNotFoundError("there is no such data")

    with pytest.raises(FileNotFoundError, match="missing") as caught:
        read_within()
    assert not isinstance(caught.value, UnveilError)
    with pytest.raises(DataNotFoundError):
        refuse_within()
    assert names_in(tmp_path) == []


def test_a_missing_folder_is_reported_before_any_work(tmp_path: Path) -> None:
    target = tmp_path / "no" / "rates.csv"
    for attempt in (checked_path, lambda path: write(Rates(), path)):
        with pytest.raises(OutputError, match="does not exist") as caught:
            attempt(target)
        assert str(tmp_path / "no") in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "rates.csv").mkdir()
    with pytest.raises(OutputError, match="it is a folder"):
        write(Rates(), tmp_path / "rates.csv")
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="is not a folder"):
        write(Rates(), tmp_path / "file" / "rates.csv")
    assert names_in(tmp_path / "rates.csv") == []


@posix_only
def test_a_name_too_long_is_reported(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="name is too long"):
        write(Rates(), tmp_path / ("n" * 300 + ".csv"))


@posix_only
def test_a_device_or_a_pipe_is_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    with pytest.raises(OutputError, match="a device or a pipe"):
        write(Rates(), pipe)
    with pytest.raises(OutputError, match="a device or a pipe"), atomic_write("/dev/null"):
        pass
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


@posix_only
@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root may write anywhere")
def test_no_permission_is_reported(tmp_path: Path) -> None:
    target = tmp_path / "rates.csv"
    target.write_text("old")
    target.chmod(0o444)
    with pytest.raises(OutputError, match="permission denied"):
        write(Rates(), target)
    tmp_path.chmod(0o555)
    with pytest.raises(OutputError, match="permission denied"):
        write(Rates(), tmp_path / "other.csv")
    tmp_path.chmod(0o755)
    assert names_in(tmp_path) == ["rates.csv"]


@posix_only
@pytest.mark.skipif(not Path("/sys/kernel").is_dir(), reason="a folder where even root may not write")
def test_a_forbidden_folder_is_reported() -> None:
    with pytest.raises(OutputError, match=r"permission denied|read-only"):
        write(Rates(), "/sys/kernel/rates.csv")


@posix_only
def test_a_real_interrupt_leaves_nothing_behind(tmp_path: Path) -> None:
    target = tmp_path / "rates.csv"
    target.write_text("old")
    program = (
        "import sys, time\n"
        "from unveil.output import atomic_write\n"
        "with atomic_write(sys.argv[1]) as file:\n"
        "    file.write(b'half')\n"
        "    file.flush()\n"
        "    print('writing', flush=True)\n"
        "    time.sleep(60)\n"
    )
    with started([sys.executable, "-c", program, str(target)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout
        assert process.stdout.readline() == b"writing\n"
        assert len(names_in(tmp_path)) == 2
        process.send_signal(signal.SIGINT)
        process.wait(timeout=30)
    assert process.returncode not in {0, None}
    assert target.read_text() == "old"
    assert names_in(tmp_path) == ["rates.csv"]


def test_two_writers_do_not_disturb_each_other(tmp_path: Path) -> None:
    target = tmp_path / "rates.csv"
    with atomic_write(target) as first, atomic_write(target) as second:
        first.write(b"first" * 100)
        second.write(b"second")
    assert target.read_bytes() == b"first" * 100
    with contextlib.suppress(RuntimeError), atomic_write(target) as third:
        third.write(b"third")
        raise RuntimeError
    assert target.read_bytes() == b"first" * 100
    assert names_in(tmp_path) == ["rates.csv"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, None])
def test_files_written_together_appear_together_or_not_at_all(tmp_path: Path, error: type[BaseException] | None) -> None:
    old, new = tmp_path / "old.csv", tmp_path / "new.csv"
    old.write_bytes(b"old")
    with contextlib.suppress(KeyboardInterrupt, OSError), together():
        for place in (old, new):
            with atomic_write(place) as file:
                file.write(b"written")
        assert (old.read_bytes(), new.exists()) == (b"old", False)
        if error is not None:
            raise error
    if error is None:
        assert (old.read_bytes(), new.read_bytes()) == (b"written", b"written")
    else:
        assert old.read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == (["old.csv"] if error else ["new.csv", "old.csv"])


def test_a_file_that_fails_takes_the_others_with_it(tmp_path: Path) -> None:
    def written(place: Path) -> None:
        with together(), atomic_write(place) as file:
            file.write(b"one")

    with pytest.raises(OutputError, match="does not exist"), together():  # noqa: PT012 - one block, two files
        written(tmp_path / "one.csv")
        written(tmp_path / "nowhere" / "two.csv")
    assert list(tmp_path.iterdir()) == []
