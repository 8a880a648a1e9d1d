"""A run: what it tells, how it is cancelled from any thread, what it may use."""

from __future__ import annotations

import threading
import time
from contextlib import nullcontext

import pytest

import unveil
from unveil.arguments import checked_arguments
from unveil.errors import ArgumentError, CancelledError, UnveilError
from unveil.run import Limits, Progress, Run, active_run, in_run, is_left_behind, stepped, watched
from unveil.time_limit import OutOfTime, check_time, limited, time_left

LONG = 60.0


@checked_arguments
@in_run
def waited(seconds: float, *, progress: Progress | None = None) -> str:  # noqa: ARG001 - `in_run` takes it
    """Wait in small steps, as a loop that lasts does."""
    run, end = active_run(), time.monotonic() + seconds
    while time.monotonic() < end:
        run.at("waiting", 0, 1)
        time.sleep(0.01)
    return "waited"


def test_every_stage_is_told_from_its_beginning_to_its_end() -> None:
    told: list[tuple[str, int, int]] = []
    run = Run(lambda *step: told.append(step))
    assert list(run.each("each", "ab")) == ["a", "b"]
    assert list(run.each("nothing", [])) == []
    with run.stage("stage") as steps:
        steps(2, 5)
    step = run.counting("counting", 1)
    step()
    assert told == [
        ("each", 0, 2), ("each", 1, 2), ("each", 2, 2),
        ("stage", 0, 1), ("stage", 2, 5), ("stage", 5, 5),
        ("counting", 0, 1), ("counting", 1, 1),
    ]  # fmt: skip


def test_a_run_that_nobody_hears_says_nothing_and_goes_on() -> None:
    run = active_run()
    run.at("stage", 0, 1)
    run.notify("a line")
    assert not run.cancelled


def test_the_active_run_is_that_of_the_innermost_block() -> None:
    outer, inner = Run(), Run()
    with outer:
        with inner:
            assert active_run() is inner
        assert active_run() is outer
    assert active_run() not in (outer, inner)


def test_a_thread_has_no_part_in_the_run_of_another() -> None:
    seen: list[Run] = []
    with Run() as run:
        thread = threading.Thread(target=lambda: seen.append(active_run()))
        thread.start()
        thread.join()
    assert seen[0] is not run


def test_one_run_is_active_in_two_threads_at_once() -> None:
    run, both = Run(), threading.Barrier(2)
    failed: list[BaseException] = []

    def work() -> None:
        try:
            with run:
                both.wait(LONG)
                assert active_run() is run
                both.wait(LONG)
            assert active_run() is not run
        except BaseException as error:  # noqa: BLE001 - shown by the assertion below
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


@pytest.mark.parametrize("as_argument", [True, False], ids=["argument", "block"])
def test_a_run_is_cancelled_from_another_thread(*, as_argument: bool) -> None:
    run, began = Run(), threading.Event()
    told = Run(lambda *_: began.set(), flag=run.flag)

    def cancel() -> None:
        began.wait(LONG)
        run.cancel()

    threading.Thread(target=cancel).start()
    with nullcontext() if as_argument else told, pytest.raises(CancelledError, match="the run was cancelled"):
        waited(LONG, progress=told if as_argument else None)
    with pytest.raises(UnveilError):  # it stays cancelled
        waited(LONG, progress=run)


def test_a_function_in_the_place_of_a_run_is_told_and_cancelled_with_the_run_around() -> None:
    told: list[str] = []
    with Run(limits=Limits(threads=3)) as run:

        def tell(stage: str, _done: int, _total: int) -> None:
            assert active_run().limits.threads == 3
            told.append(stage)
            run.cancel()

        with pytest.raises(CancelledError):
            waited(LONG, progress=tell)
    assert told == ["waiting"]


def test_a_run_past_its_time_is_stopped() -> None:
    with pytest.raises(CancelledError, match=r"time limit of 0\.05 s"):
        waited(LONG, progress=Run(limits=Limits(time=0.05)))


def test_a_run_within_its_time_is_not() -> None:
    run = Run(limits=Limits(time=0.2))
    assert waited(0.01, progress=run) == "waited"
    time.sleep(0.3)
    assert not run.cancelled


def test_work_that_does_not_look_at_the_time_ends_only_where_it_is_to_be_stopped() -> None:
    with limited(0.01) as clock:
        assert waited(0.1) == "waited"
        before = clock.expired
        with pytest.raises(OutOfTime):
            check_time()
        assert (before, clock.expired) == (False, True)
    with limited(LONG) as outer:
        with pytest.raises(OutOfTime), limited(0.01, stop=True) as inner:
            waited(LONG)
        assert inner.expired
        assert outer.expired
        active_run().check()
        check_time()
        assert waited(0.01) == "waited"
    with limited(None, stop=True):
        assert waited(0.01) == "waited"
    with limited(0.01), pytest.raises(OutOfTime), limited(None, stop=True):
        waited(LONG)


def test_a_block_that_is_stopped_raises_even_if_a_part_took_that_for_a_failure() -> None:
    with pytest.raises(OutOfTime), limited(0.01, stop=True), pytest.raises(CancelledError):
        waited(LONG)


def test_a_block_that_may_be_stopped_is_cancelled_with_the_run_around_it() -> None:
    told: list[str] = []
    run = Run(lambda stage, _, __: told.append(stage))
    threading.Timer(0.1, run.cancel).start()
    with pytest.raises(CancelledError, match="was cancelled"), run, limited(LONG, stop=True):
        waited(LONG, progress=active_run())
    assert set(told) == {"waiting"}
    late = Run(limits=Limits(time=0.1))
    with pytest.raises(CancelledError, match=r"time limit of 0\.1 s"), late, limited(LONG, stop=True):
        waited(LONG)
    other = Run()
    other.cancel()
    with limited(LONG, stop=True), pytest.raises(CancelledError):  # not this block's time
        waited(LONG, progress=other)
    with pytest.raises(CancelledError), limited(LONG, stop=True):
        waited(LONG, progress=other)


def test_there_is_no_end_of_time_unless_someone_sets_it() -> None:
    assert time_left() == float("inf")
    check_time()


def test_what_a_run_holds_in_hand_follows_from_its_memory() -> None:
    limits = Limits(memory=1 << 30, rows=7)
    assert (limits.stream_from, limits.rows, limits.text, limits.combinations) == (1 << 27, 7, 1 << 23, 1 << 22)
    assert Limits().stream_from == 256 << 20


@pytest.mark.parametrize(
    "wrong",
    [
        {"memory": 5},
        {"time": 0.0},
        {"threads": 0},
        {"time": "long"},
        {"block": 3},
        {"rows": 0},
        {"bucket": -2},
        {"combinations": 0},
        {"stream_from": -5},
        {"checkpoint_every": -1.0},
        {"watched_from": 0},
    ],
)
def test_limits_that_are_none_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ArgumentError, match=next(iter(wrong))):
        Limits(**wrong)


def test_progress_that_is_no_function_is_refused() -> None:
    with pytest.raises(ArgumentError, match="progress must be"):
        waited(1.0, progress="loudly")  # type: ignore[arg-type]


def test_a_run_shows_whether_it_is_cancelled() -> None:
    run = unveil.Run()
    assert repr(run).startswith("Run(not cancelled, ")
    run.cancel()
    assert repr(run).startswith("Run(cancelled, ")


def test_work_that_is_watched_gives_its_answer_or_its_error_under_the_same_run() -> None:
    with Run() as run:
        assert run.watching(lambda: active_run() is run)
        with pytest.raises(ZeroDivisionError):
            run.watching(lambda: 1 // 0)
    assert not is_left_behind()


def test_nobody_waits_for_work_whose_run_is_cancelled() -> None:
    run, go_on, ended = Run(), threading.Event(), threading.Event()

    def work() -> None:
        run.cancel()
        go_on.wait(LONG)
        ended.set()

    with pytest.raises(CancelledError), run:
        run.watching(work)
    assert not ended.is_set()
    assert is_left_behind()
    go_on.set()
    assert ended.wait(LONG)


def test_work_on_few_rows_is_done_at_once_and_tells_no_steps() -> None:
    told: list[str] = []
    with Run(lambda stage, *_: told.append(stage)):
        assert watched(5, threading.current_thread) is threading.current_thread()
        assert list(stepped(5, "items", "ab")) == ["a", "b"]
    assert told == []
    with Run(lambda stage, *_: told.append(stage), limits=Limits(watched_from=5)):
        assert watched(5, threading.current_thread) is not threading.current_thread()
        assert list(stepped(5, "items", "ab")) == ["a", "b"]
    assert told == ["items"] * 3
