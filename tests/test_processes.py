"""A call in a process of its own: it tells its steps here, is cancelled from here, and never stays behind."""

from __future__ import annotations

import math
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import polars as pl
import pytest

import unveil
from unveil.errors import ArgumentError, CancelledError, LostProcessError, UnsupportedDataError
from unveil.output import atomic_write, hidden_folder
from unveil.processes import _GRACE, _LOOK, _MOMENT, _PATIENCE, Advance, Notice, run_in_process
from unveil.run import Limits, Run, active_run

LONG = 60.0


def told(steps: int) -> int:
    """Tell some steps and a line, and return the threads allowed."""
    run = active_run()
    for _ in run.each("steps", range(steps)):
        pass
    run.notify("a line")
    return run.limits.threads or 0


def refused() -> NoReturn:
    raise ArgumentError("this is refused.")


def listening(pid: Path) -> None:
    """Work in steps for ever."""
    pid.write_text(str(os.getpid()))
    while True:
        active_run().at("working", 0, 1)
        time.sleep(0.01)


def deaf(pid: Path) -> None:
    """Work for ever without a look at the run."""
    active_run().at("working", 0, 1)
    pid.write_text(str(os.getpid()))
    while True:
        time.sleep(0.01)


def deaf_writer(path: Path) -> None:
    """Work for ever without a look at the run, while a file and a folder are there that must not stay."""
    with atomic_write(path), hidden_folder(path):
        active_run().at("writing", 0, 1)
        while True:
            time.sleep(0.01)


def tidy(path: Path) -> None:
    """Take a while to tidy up, and longer to end."""
    threading.Thread(target=time.sleep, args=(LONG,)).start()
    try:
        while True:
            active_run().at("working", 0, 1)
            time.sleep(0.01)
    finally:
        time.sleep(0.2)
        path.write_text("tidy")


class Slow:
    """What the other process needs a minute to unpack."""

    def __reduce__(self) -> tuple[Callable[[float], None], tuple[float]]:
        return time.sleep, (LONG,)


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Unsendable:
    """What cannot be packed, and says so with an error of its own."""

    def __reduce__(self) -> tuple[()]:
        raise ZeroDivisionError


def unsendable() -> threading.Lock:
    return threading.Lock()


def test_the_answer_and_the_events_come_back() -> None:
    stages: list[tuple[str, int, int]] = []
    lines: list[str] = []
    run = Run(lambda *step: stages.append(step), notice=lines.append, limits=Limits(threads=5))
    assert run_in_process(told, 3, run=run) == 5
    assert stages[0] == ("steps", 0, 3)
    assert stages[-1] == ("steps", 3, 3)
    assert lines == ["a line"]


def test_what_is_refused_there_is_refused_here() -> None:
    with pytest.raises(ArgumentError, match=r"this is refused\."):
        run_in_process(refused)


@pytest.mark.parametrize("data", [Unsendable(), pl.DataFrame({"x": [object()]})])
def test_an_argument_that_cannot_be_sent_is_refused_whatever_it_raises(data: object) -> None:
    with pytest.raises(ArgumentError, match="cannot be sent to another process"):
        run_in_process(told, data)


@pytest.mark.parametrize("work", [listening, deaf])
def test_a_cancelled_process_is_gone(work: object, tmp_path: Path) -> None:
    pid, run = tmp_path / "pid", Run()

    def cancel() -> None:
        end = time.monotonic() + LONG
        while not (pid.exists() and pid.read_text()) and time.monotonic() < end:
            time.sleep(0.01)
        run.cancel()

    threading.Thread(target=cancel).start()
    with pytest.raises(CancelledError), run:
        run_in_process(work, pid)  # type: ignore[arg-type]
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def cancelled_at_the_first_step(work: Callable[[Path], None], path: Path) -> float:
    """Cancel a call when it tells its first step, and return how many seconds it took to end."""
    at: list[float] = []

    def cancel(*_: Any) -> None:
        at.append(time.monotonic())
        run.cancel()

    run = Run(cancel)
    with pytest.raises(CancelledError):
        run_in_process(work, path, run=run)
    return time.monotonic() - at[0]


def test_a_call_that_does_not_listen_leaves_no_file_behind(tmp_path: Path) -> None:
    cancelled_at_the_first_step(deaf_writer, tmp_path / "out.csv")
    assert not list(tmp_path.iterdir())


def test_a_call_that_listens_has_time_to_tidy_up_and_nobody_waits_for_more(tmp_path: Path) -> None:
    assert cancelled_at_the_first_step(tidy, tmp_path / "out.csv") < LONG / 2
    assert (tmp_path / "out.csv").read_text() == "tidy"


def test_the_parts_of_a_second() -> None:
    assert _LOOK + _MOMENT + _PATIENCE < _GRACE < 0.9


def test_a_process_that_is_still_loading_is_not_waited_for() -> None:
    run = Run()
    threading.Timer(0.2, run.cancel).start()
    began = time.monotonic()
    with pytest.raises(CancelledError):
        run_in_process(len, [Slow(), bytes(1 << 22)], run=run)
    assert time.monotonic() - began < LONG / 2


def test_a_run_past_its_time_ends_the_process(tmp_path: Path) -> None:
    with pytest.raises(CancelledError, match="time limit"), Run(limits=Limits(time=1.0)):
        run_in_process(deaf, tmp_path / "pid")


def test_a_cancelled_run_starts_no_process() -> None:
    run = Run()
    run.cancel()
    with pytest.raises(CancelledError):
        run_in_process(math.factorial, 5, run=run)


def test_a_process_that_is_killed_is_reported() -> None:
    with pytest.raises(LostProcessError, match="exit code -9"):
        run_in_process(killed)


def test_an_answer_that_cannot_be_sent_is_reported() -> None:
    with pytest.raises(LostProcessError, match="ended with a lock"):
        run_in_process(unsendable)


def test_a_study_and_a_pair_travel_without_what_was_counted() -> None:
    study = unveil.Study("paper-4", key=["ZIP"])
    assert repr(unveil.measure(study)) == repr(run_in_process(unveil.measure, study))
    pair = unveil.Pair("paper-4", "paper-3", sensitive="Disease", mapping={"Age": "Age*"}, same_order=True)
    attacked = run_in_process(unveil.attack, pair, link_records=False)
    assert attacked.to_dict() == unveil.attack(pair, link_records=False).to_dict()


def test_a_table_of_a_file_is_opened_again(tmp_path: Path) -> None:
    import duckdb

    with duckdb.connect(str(tmp_path / "held.duckdb")) as connection:
        connection.execute("CREATE TABLE held AS SELECT range % 3 AS a FROM range(9)")
    study = unveil.Study(f"{tmp_path / 'held.duckdb'}?table=held", key=["a"])
    assert "k = 3" in repr(unveil.measure(pickle.loads(pickle.dumps(study))))  # noqa: S301 - our own


def test_what_only_this_process_can_reach_is_refused() -> None:
    import duckdb

    with duckdb.connect() as connection:
        relation = connection.sql("SELECT range AS a FROM range(9)")
        with pytest.raises(UnsupportedDataError, match="belongs to this process"):
            run_in_process(unveil.measure, unveil.Study(relation, key=["a"]))
        with pytest.raises(ArgumentError, match="cannot be sent to another process"):
            run_in_process(unveil.measure, relation)


def test_events_pickle() -> None:
    for event in (Advance("stage", 1, 2), Notice("a line")):
        assert pickle.loads(pickle.dumps(event)) == event  # noqa: S301 - our own
