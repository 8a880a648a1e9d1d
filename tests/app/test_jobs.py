"""Work in processes of its own: steps, cancelling, crashes, and what a page is told."""

from __future__ import annotations

import asyncio
import math
import os
import time

import pytest

from browsing import until
from unveil.app.jobs import Job, Jobs
from unveil.errors import ArgumentError
from unveil.run import active_run


def counted_up(steps: int) -> int:
    for _ in active_run().each("steps", range(steps)):
        time.sleep(0.01)
    return steps


def deaf() -> None:
    active_run().notify("at work")
    time.sleep(600)


def refused() -> None:
    raise ArgumentError("this cannot be done; do something else.")


def crashed() -> None:
    os._exit(9)


def surprised() -> None:
    raise KeyError("Ann Smith")  # a value of the data, perhaps


def ended(job: Job) -> Job:
    until(lambda: not job.running)
    return job


def test_a_job_tells_its_steps_and_answers() -> None:
    job = Jobs().start("count", "Counting up", counted_up, 30)
    told: list[tuple[str, int, int]] = []

    async def listen() -> None:
        told.extend([(job.stage, job.done, job.total) async for _ in job.changes()])

    asyncio.run(listen())
    assert (job.outcome, job.answer, job.line) == ("done", 30, "")
    assert told[-1] == ("steps", 30, 30)
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)


def test_a_job_that_hears_nothing_is_killed() -> None:
    jobs = Jobs()
    job = jobs.start("wait", "Waiting", deaf)
    until(lambda: job.line == "at work")
    job.cancel()
    assert ended(job).outcome == "cancelled"
    assert jobs.running == []


@pytest.mark.parametrize(
    ("function", "line"),
    [
        (refused, "this cannot be done; do something else."),
        (surprised, "unexpected failure: KeyError"),
        (crashed, "ended"),
    ],
)
def test_what_goes_wrong_is_one_line_without_data(function: object, line: str) -> None:
    job = ended(Jobs().start("fail", "Failing", function))  # type: ignore[arg-type]
    assert job.outcome == "failed"
    assert line in job.line
    assert len(job.line.splitlines()) == 1
    assert "Ann" not in job.line


def test_jobs_are_found_by_their_kind_and_number() -> None:
    jobs = Jobs()
    first, second = (ended(jobs.start("sum", "Adding", math.fsum, [1.0, 2.0])) for _ in range(2))
    assert jobs.of("sum") == [second, first]
    assert jobs.last("sum") is second
    assert jobs.last("other") is None
    assert jobs[first.number].answer == 3.0
    with pytest.raises(ArgumentError):
        jobs[99]


def test_all_jobs_end_with_the_server() -> None:
    jobs = Jobs()
    started = [jobs.start("wait", "Waiting", deaf) for _ in range(2)]
    until(lambda: all(job.line == "at work" for job in started))
    jobs.stop(120)
    assert {job.outcome for job in started} == {"cancelled"}
