"""The command line as a process: whatever goes wrong ends in one line, in the exit code that says so, and with nothing left over."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import unveil
from helpers import started
from unveil.cli import run
from unveil.errors import UnsupportedDataError

UNVEIL = str(Path(sys.executable).with_name("unveil"))
RUN = "from unveil.cli import main\nmain()\n"


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text("zip,age\n01000,22\n01000,35\n02000,22\n02000,61\n", encoding="utf-8")
    return path


def call(*arguments: str, before: str = "", **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Run the command line in a process of its own, after some lines of Python."""
    command = [sys.executable, "-c", before + RUN, *arguments]
    return subprocess.run(command, capture_output=True, timeout=120, check=False, **options)


def names_in(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def line_of(done: subprocess.CompletedProcess[bytes]) -> str:
    """Return the one line that a failed run says, and nothing else."""
    assert done.stdout in (b"", None)
    said = done.stderr.decode()
    assert said.startswith("unveil: ")
    assert said.count("\n") == 1
    return said


FAILING = """
import unveil.cli.options as options, unveil.sources as sources
def fail(*_, **__):
    hunter2 = "hunter2"
    {}
sources.open_source = fail
"""


def failed_in_turn(people: Path, failures: dict[str, int]) -> list[str]:
    """Fail in these ways, one after the other in one process, each with its exit code, and return what is said of each."""
    code = (
        "import sys\nfrom unveil.cli import _ended\nfrom unveil.cli.process import own_streams\n"
        "with own_streams(native=False):\n"
        f"    for failure, code in {failures!r}.items():\n"
        f"        exec({FAILING!r}.format(failure))\n"
        "        assert _ended(sys.argv[1:], debug=False) == code, failure\n"
    )
    command = [sys.executable, "-c", code, "dr", str(people), "--key", "zip"]
    done = subprocess.run(command, capture_output=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, b""), done.stderr
    lines = done.stderr.decode().splitlines()
    assert len(lines) == len(failures)
    assert all(said.startswith("unveil: ") for said in lines)
    return lines


def test_an_unexpected_failure_is_one_line_without_values_and_no_verdict(people: Path) -> None:
    failures = [
        "raise KeyError(hunter2)",
        "raise SystemExit(1)",
        "raise EOFError(hunter2)",
        "raise BrokenPipeError(32, hunter2)",
        "raise BaseException(hunter2)",
        "import polars; raise polars.exceptions.PanicException(hunter2)",
        "fail()",
    ]
    for said in failed_in_turn(people, dict.fromkeys(failures, 3)):
        assert "unexpected failure of 'unveil dr'" in said
        assert "cli/study_options.py, line" in said
        assert "nothing was written" in said
        assert "hunter2" not in said


@pytest.mark.parametrize("words", ["--debug dr paper-4 --key ZIP", "dr paper-4 --key ZIP --debug"])
def test_debug_shows_the_traceback(words: str) -> None:
    done = call(*words.split(), before=FAILING.format("raise KeyError(hunter2)"))
    assert done.returncode == 3
    assert b"Traceback (most recent call last)" in done.stderr
    assert b"KeyError: 'hunter2'" in done.stderr


def test_a_failure_to_explain_a_failure_is_no_verdict_either(people: Path) -> None:
    before = FAILING.format("raise KeyError") + "import unveil.cli.failures as failures\nfailures.explained = fail\n"
    done = call("dr", str(people), "--key", "zip", before=before)
    assert (done.returncode, line_of(done)) == (3, "unveil: unexpected failure: KeyError, then KeyError.\n")


def test_debug_is_no_option_behind_two_dashes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["datasets", "--", "--debug"]) == 2
    assert "'--debug' is unknown" in capsys.readouterr().err


def test_what_the_system_lacks_is_bad_input_and_of_what_causes_another_error_only_memory(people: Path) -> None:
    lacking = {
        "raise MemoryError": "not enough memory",
        "raise OSError(28, 'No space left on device', 'somewhere')": "the disk is full (somewhere)",
        "raise OSError(24, 'x')": "too many files",
        "raise RuntimeError from MemoryError": "not enough memory",
    }
    other = {"raise RuntimeError from OSError(24, 'x')": 3}
    *said, unexpected = failed_in_turn(people, dict.fromkeys(lacking, 2) | other)
    assert all(words in line for words, line in zip(lacking.values(), said, strict=True))
    assert "unexpected failure" in unexpected


def shell(script: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["bash", "-c", script, UNVEIL], capture_output=True, timeout=120, check=False, **options)


@pytest.mark.parametrize(
    ("words", "code"),
    [("--help", 0), ("measure adult --key age --k 999", 1), ("datasets adult --json", 0)],
)
def test_a_reader_who_leaves_changes_no_verdict(words: str, code: int) -> None:
    done = shell(f'"$0" {words} | head -c 1; exit ${{PIPESTATUS[0]}}')
    assert (done.returncode, done.stderr) == (code, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")
@pytest.mark.parametrize("words", ["--help", "--version", "dr paper-4 --key ZIP --json"])
def test_an_output_that_takes_nothing_is_one_line(words: str) -> None:
    for place in (">/dev/full", ">&-"):
        done = shell(f'"$0" {words} {place}')
        assert (done.returncode, done.stderr.count(b"\n")) == (2, 1), done.stderr


@pytest.mark.parametrize("place", ["2>/dev/full", "2>&-"])
def test_a_complaint_that_nobody_hears_keeps_its_exit_code(place: str) -> None:
    assert shell(f'"$0" datasets nowhere {place}').returncode == 2


def test_an_answer_that_the_encoding_lacks_is_still_json(tmp_path: Path) -> None:
    (tmp_path / "é.csv").write_text("é\nà\nb\n", encoding="utf-8")
    done = call(
        "dr", "é.csv", "--key", "é", "--json", "--unmasked", cwd=tmp_path, env={**os.environ, "PYTHONIOENCODING": "ascii"}
    )
    assert {row["é"] for row in json.loads(done.stdout)["by_value"]} == {"à", "b"}
    shown = call("dr", "é.csv", "--key", "é", cwd=tmp_path, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert (shown.returncode, shown.stderr) == (0, b"")


# Damaged files --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["parquet", "ipc"])
def test_a_damaged_file_is_one_line_without_the_panic_of_a_library(tmp_path: Path, form: str) -> None:
    """Twelve damaged files in one process, whose standard error must hold a line for each that is refused."""
    table = pl.DataFrame({"z": np.arange(3000) % 7, "s": [f"hunter{at % 13}" for at in range(3000)]})
    getattr(table, f"write_{form}")(tmp_path / "good")
    good, chance = (tmp_path / "good").read_bytes(), np.random.default_rng(1)
    damaged = [good[: len(good) // 2], good[len(good) // 2 :], good[:8] + good[-8:]]
    for _ in range(9):
        content = bytearray(good)
        for _ in range(6):
            content[chance.integers(len(content))] ^= 1 << int(chance.integers(8))
        damaged.append(bytes(content))
    for at, bad in enumerate(damaged):
        (tmp_path / f"{at}.{'arrow' if form == 'ipc' else form}").write_bytes(bad)
    names = sorted(file.name for file in tmp_path.iterdir() if file.name != "good")
    code = (
        "import sys\nfrom unveil.cli import _ended\nfrom unveil.cli.process import own_streams\n"
        "with own_streams(native=False):\n"
        "    codes = [_ended(['dr', name, '--key', 'z', '--sensitive', 's', '--json'], debug=False) for name in sys.argv[1:]]\n"
        "assert set(codes) <= {0, 2} and codes.count(2) >= 3\n"
        "sys.exit(codes.count(2))\n"
    )
    done = subprocess.run([sys.executable, "-c", code, *names], cwd=tmp_path, capture_output=True, timeout=120, check=False)
    said = done.stderr.decode().splitlines()
    assert len(said) == done.returncode
    assert all(line.startswith("unveil: ") and "hunter" not in line for line in said)


# Memory ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [100_000, 900_000])
def test_a_memory_limit_that_is_too_low_is_one_line(limit: int) -> None:
    done = shell(f'ulimit -v {limit}; exec "$0" scan adult')
    assert done.returncode == 2
    assert "ulimit -v" in line_of(done)


def test_a_process_that_memory_runs_out_for_is_explained_by_another(people: Path) -> None:
    """An abort is what the compiler and the engine do without memory."""
    before = FAILING.format("import os; os.abort()")
    limited = f'ulimit -v 4000000; ulimit -c 0; exec "{sys.executable}" -c "$0" dr people.csv --key zip'
    done = subprocess.run(["bash", "-c", limited, before + RUN], capture_output=True, cwd=people.parent, timeout=120, check=False)
    assert done.returncode == 2
    assert "not enough memory for this (it ended in SIGABRT): the limit is 3,906 MiB" in line_of(done)
    fine = shell('ulimit -v 4000000; exec "$0" dr people.csv --key zip --json', cwd=people.parent)
    assert (fine.returncode, json.loads(fine.stdout)["records"]) == (0, 4)


# Full disks -----------------------------------------------------------------------------------------------------------


def little_room() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))


STREAMED = """
import unveil
unveil.Run(limits=unveil.Limits(stream_from=1000)).__enter__()
"""


@pytest.fixture
def crowd(tmp_path: Path) -> Path:
    """A table whose release does not fit into a small file."""
    draw = np.random.default_rng(1)
    path = tmp_path / "crowd.parquet"
    table = {"age": draw.integers(0, 9, 5000), "town": draw.integers(0, 3, 5000), "story": draw.random(5000)}
    pl.DataFrame(table).write_parquet(path)
    return path


@pytest.mark.parametrize(("ending", "streamed"), [("csv", False), ("csv", True), ("parquet", True)])
def test_a_full_disk_is_one_line_and_keeps_nothing(crowd: Path, ending: str, streamed: bool) -> None:
    words = ("anonymize", str(crowd), "--key", "age", "--key", "town", "--k", "2", "--out", str(crowd.with_name(f"r.{ending}")))
    done = call(*words, before=STREAMED if streamed else "", preexec_fn=little_room)
    assert done.returncode == 2, done.stderr
    assert f"r.{ending}': a file may not grow that large here." in line_of(done)
    assert names_in(crowd.parent) == ["crowd.parquet"]


def test_a_place_for_compiled_loops_that_is_full_or_absent_only_costs_time(tmp_path: Path) -> None:
    (tmp_path / "loops.py").write_text("from unveil.compilation import compiled\n\n@compiled\ndef twice(x):\n    return 2 * x\n")
    tiny = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)); import loops; print(loops.twice(21))"
    for place in (str(tmp_path / "compiled"), "/dev/null/nowhere"):
        environment = {**os.environ, "NUMBA_CACHE_DIR": place, "PYTHONDONTWRITEBYTECODE": "1"}  # bytecode would be cut short
        command = [sys.executable, "-c", tiny]
        done = subprocess.run(command, capture_output=True, cwd=tmp_path, timeout=120, check=False, env=environment)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"42\n", b"")


# Signals --------------------------------------------------------------------------------------------------------------

SLOW = """
import time
import unveil.output as output
def slowly(file, hidden, before=output._to_disk):
    before(file, hidden)
    print("writing", flush=True)
    time.sleep(30)
output._to_disk = slowly
"""
"""Every file that is written waits before it takes its place."""


@pytest.mark.parametrize(
    ("number", "ending", "streamed"),
    [
        (signal.SIGTERM, "parquet", False),
        (signal.SIGHUP, "csv", True),
        (signal.SIGINT, "csv", True),
    ],
)
def test_a_signal_while_a_release_is_written_leaves_nothing(
    crowd: Path, number: signal.Signals, ending: str, streamed: bool
) -> None:
    words = ["anonymize", str(crowd), "--key", "age", "--k", "2", "--out", f"r.{ending}", "--link", "link.csv"]
    code = (STREAMED if streamed else "") + SLOW + RUN
    with started(
        [sys.executable, "-c", code, *words], cwd=crowd.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == b"writing\n"
        assert any(name.startswith(".") for name in names_in(crowd.parent))
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    word = {signal.SIGTERM: "terminated", signal.SIGINT: "interrupted"}.get(number, "the terminal was closed")
    assert (process.returncode, said.decode()) == (128 + number, f"unveil: {word}; nothing was written.\n")
    assert names_in(crowd.parent) == ["crowd.parquet"]


@pytest.mark.parametrize(
    ("waiting", "again"),
    [
        ("import numba; loop = numba.njit(nogil=True)(forever); print(loop(1))", False),
        ("while True:\n        try: time.sleep(60)\n        except KeyboardInterrupt: pass", True),
    ],
    ids=["compiled", "again"],
)
def test_a_main_thread_that_does_not_hear_is_not_waited_for(crowd: Path, waiting: str, again: bool) -> None:
    code = (
        "import sys, time\nimport unveil.cli.process as process, unveil.output as output\nfrom unveil.cli import verbs\n"
        "process._PATIENCE, process._AGAIN = 0.5, 0.1\n"
        "def forever(n):\n    x = 0.5\n    for i in range(n * 10**13): x = (x * 1.1 + i) % 7.0\n    return x\n"
        "def work(words):\n  with output.atomic_write(words[0]) as file:\n    file.write(b'half')\n    print('writing', flush=True)\n"
        f"    {waiting}\n"
        "import unveil.cli as cli\ncli._done = work\ncli.main()\n"
    )
    with started(
        [sys.executable, "-c", code, "r.csv"], cwd=crowd.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == b"writing\n"
        time.sleep(3 if not again else 0.1)  # until it is compiled, and runs
        process.send_signal(signal.SIGTERM)
        if again:
            time.sleep(0.5)
            process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (143, b"unveil: terminated; nothing was written.\n")
    assert names_in(crowd.parent) == ["crowd.parquet"]


def test_a_signal_that_comes_while_files_take_their_places_waits_for_all_of_them(crowd: Path) -> None:
    before = (
        "import os, signal\nfrom pathlib import Path\nreplace = Path.replace\n"
        "def interrupted(self, target):\n    os.kill(os.getpid(), signal.SIGTERM)\n    return replace(self, target)\n"
        "Path.replace = interrupted\n"
        "import time, unveil.cli.releases as releases\nreleases.announce_written = lambda *_: time.sleep(20)\n"
    )
    words = ("anonymize", str(crowd), "--key", "age", "--k", "2", "--out", "r.csv", "--link", "link.csv")
    done = call(*words, before=before, cwd=crowd.parent)
    assert done.returncode == 143
    assert b"terminated; written before that: " in done.stderr
    assert names_in(crowd.parent) == ["crowd.parquet", "link.csv", "r.csv", "r.csv.unveil.json"]


def test_a_signal_that_the_caller_ignores_stays_ignored(people: Path) -> None:
    before = "import os, signal\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\n" + FAILING.format("os.kill(os.getpid(), 1); 1/0")
    assert call("dr", str(people), "--key", "zip", before=before).returncode == 3


# Standard input and pipes ---------------------------------------------------------------------------------------------

FEW = "from unveil.sources.files import inputs\ninputs._MOST_HELD = 10\n"
"""More than ten bytes are too many to be held."""


def test_a_long_standard_input_is_kept_in_a_private_file_and_gives_the_same(people: Path) -> None:
    room = people.parent / "room"
    room.mkdir()
    words = ("assess", "-", "--key", "zip", "--key", "age", "--json")
    plain = json.loads(call(*words, input=people.read_bytes()).stdout)
    for before in (FEW, FEW + STREAMED):
        done = call(*words, before=before, input=people.read_bytes(), env={**os.environ, "TMPDIR": str(room)})
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == plain
        assert names_in(room) == []


def test_the_kept_input_is_private_and_gone_after_a_signal(people: Path) -> None:
    room = people.parent / "room"
    room.mkdir()
    waiting = FEW + "import time\nfrom unveil.sources import files\n"
    waiting += "def wait(*_):\n    print('kept', flush=True)\n    time.sleep(60)\nfiles.format_of = wait\n"
    with people.open("rb") as standard_input, started(
        [sys.executable, "-c", waiting + RUN, "dr", "-", "--key", "zip"],
        stdin=standard_input, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "TMPDIR": str(room)},
    ) as process:  # fmt: skip
        assert process.stdout
        assert process.stdout.readline() == b"kept\n"
        (kept,) = room.iterdir()
        assert kept.stat().st_mode & 0o777 == 0o600
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert process.returncode == 143
    assert names_in(room) == []


def test_a_full_temporary_folder_is_said(people: Path) -> None:
    room = people.parent / "room"
    room.mkdir()
    tiny = FEW + "import resource, tempfile\ntempfile.gettempdir()\nresource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))\n"
    done = call("dr", "-", "--key", "zip", before=tiny, input=people.read_bytes(), env={**os.environ, "TMPDIR": str(room)})
    assert done.returncode == 2
    assert "standard input: input longer than" in (said := line_of(done))
    assert "file too large; set TMPDIR" in said
    assert names_in(room) == []


def test_a_pipe_without_a_writer_says_what_it_waits_for(people: Path) -> None:
    pipe = people.with_name("pipe.csv")
    os.mkfifo(pipe)
    command = [UNVEIL, "dr", str(pipe), "--key", "zip", "--json"]
    with started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stderr
        assert process.stderr.readline().decode() == f"unveil: waiting for a writer of the pipe {pipe}.\n"
        pipe.write_bytes(people.read_bytes())
        answer, said = process.communicate(timeout=60)
    assert (process.returncode, json.loads(answer)["records"], said) == (0, 4, b"")
    with started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stderr
        process.stderr.readline()
        process.send_signal(signal.SIGINT)
        answer, said = process.communicate(timeout=60)
    assert (process.returncode, answer, said) == (130, b"", b"unveil: interrupted; nothing was written.\n")


# Names that are no text -----------------------------------------------------------------------------------------------

NO_TEXT = b"x\xff".decode("utf-8", "surrogateescape")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("dr people.csv --key {}", 2),
        ("dr {}.csv --key zip --json", 0),
        ("dr no{}.csv --key zip", 2),
        ("{}", 2),
        ("dr people.csv --key zip --missing {}", 2),
        ("dr people.csv --key zip --separator {}", 2),
        ("dr people.csv --key zip --encoding {}", 2),
        ("assess {}.csv --key zip --json --out {}.html", 0),
        ("anonymize {}.csv --key zip --k 2 --out {}.parquet --link {}.link.csv", 0),
        ("compare people.csv {}=people.csv --key zip --same-order --json", 0),
        ("check people.csv --policy {} --key zip", 2),
    ],
)
def test_names_that_are_no_text_are_taken_as_they_are_or_refused(
    people: Path, words: str, code: int, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    people.with_name(f"{NO_TEXT}.csv").write_bytes(people.read_bytes())
    monkeypatch.chdir(people.parent)
    assert run(words.replace("{}", NO_TEXT).split()) == code
    if code:
        assert capfd.readouterr().err.count("\n") == 1


def test_an_answer_with_half_a_character_is_printed(people: Path) -> None:
    people.with_name(f"{NO_TEXT}.csv").write_bytes(people.read_bytes())
    done = call("assess", f"{NO_TEXT}.csv", "--key", "zip", "--json", cwd=people.parent)
    assert (done.returncode, json.loads(done.stdout)["data"]) == (0, f"{NO_TEXT}.csv")


@pytest.mark.parametrize("place", ["name", "text", "mixed"])
def test_a_frame_with_half_a_character_is_refused_by_the_column(place: str) -> None:
    pandas = pytest.importorskip("pandas")
    half = "\udcff"
    name = half if place == "name" else "a"
    columns: dict[str, list[Any]] = {"name": ["x", "y"], "text": ["x", half], "mixed": [1, half]}
    frame = pandas.DataFrame(
        list(zip(columns[place], [1, 2], strict=True)), columns=pandas.Index([name, "b"], dtype=object), dtype=object
    )
    for call_of in (lambda: unveil.discrimination_rate(frame, name, "b"), lambda: unveil.loss(frame, frame, same_order=True)):
        with pytest.raises(UnsupportedDataError, match="half a surrogate pair") as refused:
            call_of()
        assert half not in str(refused.value)
