"""Long-running jobs, each in a process of its own: their progress, their cancellation, their results.

The server only waits for them, so it answers just as quickly while a job runs. A cancelled job is killed if it has not ended
within a second, and one that crashes leaves a one-line message.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from unveil.errors import ArgumentError, CancelledError, UnveilError
from unveil.processes import run_in_process
from unveil.run import Run

__all__ = ["Job", "Jobs"]

Outcome: TypeAlias = Literal["running", "done", "failed", "cancelled"]

_MOST_KEPT = 50
"""The number of ended jobs that are remembered."""


@dataclass(slots=True, eq=False)
class Job:
    """A piece of work, as a page shows it.

    Attributes
    ----------
    number
        Its number, which is also its address.
    kind
        Its purpose, so that a screen can find its own jobs: "columns", "protect".
    title
        Its task, in a few words.
    outcome
        Whether it is running, and how it ended.
    stage, done, total
        Its progress.
    line
        Its message: what it is waiting for, or why it failed.
    answer
        Its return value.
    """

    number: int
    kind: str
    title: str
    outcome: Outcome = "running"
    stage: str = ""
    done: int = 0
    total: int = 0
    line: str = ""
    answer: Any = None
    started: float = field(default_factory=time.monotonic)
    ended: float | None = None
    run: Run = field(default_factory=Run)
    _listeners: list[Callable[[], None]] = field(default_factory=list)

    @property
    def running(self) -> bool:
        """Whether it is still running."""
        return self.outcome == "running"

    @property
    def share(self) -> float | None:
        """The share of its stage that is done, from 0 to 1; None if that is unknown."""
        return self.done / self.total if self.total > 1 else None

    @property
    def seconds(self) -> float:
        """The number of seconds that it has been running, or ran."""
        return (self.ended or time.monotonic()) - self.started

    def cancel(self) -> None:
        """Request that it end soon."""
        self.run.cancel()
        self._update(line="stopping ...")

    async def changes(self) -> AsyncIterator[None]:
        """Yield at once, and then whenever the job has changed, until it has ended."""
        loop, changed = asyncio.get_running_loop(), asyncio.Event()

        def notify() -> None:
            loop.call_soon_threadsafe(changed.set)

        self._listeners.append(notify)
        try:
            while self.running:
                yield
                await changed.wait()
                changed.clear()
            yield
        finally:
            self._listeners.remove(notify)

    def _update(self, **changes: Any) -> None:
        for name, value in changes.items():
            setattr(self, name, value)
        for listener in list(self._listeners):
            try:
                listener()
            except RuntimeError:  # its loop has ended, and the page with it
                continue

    def _work(self, function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> None:
        """Wait for the process that does the work."""
        try:
            answer = run_in_process(function, *args, run=self.run, **options)
        except CancelledError:
            self._end("cancelled", "stopped; nothing was changed")
        except UnveilError as problem:
            self._end("failed", str(problem))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is reported in one line, without data that it may contain
            self._end("failed", f"unexpected failure: {type(error).__name__}")
        else:
            self.answer = answer
            self._end("done", "")

    def _end(self, outcome: Outcome, line: str) -> None:
        self.ended = time.monotonic()
        self._update(outcome=outcome, line=line)


class Jobs:
    """The jobs of a server: those that are running, and the latest that have ended."""

    def __init__(self) -> None:
        self._jobs: dict[int, Job] = {}
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def start(self, kind: str, title: str, function: Callable[..., Any], *args: Any, **options: Any) -> Job:
        """Call a function of a module in a process of its own, and return the job at once.

        Parameters
        ----------
        kind, title
            Its purpose, and its task in a few words.
        function, args, options
            The function to call and its arguments; these and the answer must be picklable.
        """
        job = Job(next(self._numbers), kind, title)
        job.run = Run(
            lambda stage, done, total: job._update(stage=stage, done=done, total=total),  # noqa: SLF001 - its own module
            notice=lambda line: job._update(line=line),  # noqa: SLF001
        )
        with self._lock:
            self._jobs[job.number] = job
            ended = [number for number, one in self._jobs.items() if not one.running]
            for number in ended[: max(len(ended) - _MOST_KEPT, 0)]:
                del self._jobs[number]
        name = f"unveil-job-{job.number}"
        threading.Thread(target=job._work, args=(function, args, options), name=name, daemon=True).start()  # noqa: SLF001
        return job

    def __getitem__(self, number: int) -> Job:
        """Return a job by its number."""
        try:
            return self._jobs[number]
        except KeyError:
            raise ArgumentError("this job no longer exists.") from None

    def of(self, kind: str) -> list[Job]:
        """Return the jobs of a kind, the newest first."""
        return [job for job in reversed(self._jobs.values()) if job.kind == kind]

    def last(self, kind: str) -> Job | None:
        """Return the newest job of a kind."""
        return next(iter(self.of(kind)), None)

    @property
    def running(self) -> list[Job]:
        """The running jobs, the newest first."""
        return [job for job in reversed(self._jobs.values()) if job.running]

    def stop(self, seconds: float = 2.5) -> None:
        """Cancel all jobs, and wait until their processes have ended."""
        for job in self.running:
            job.cancel()
        until = time.monotonic() + seconds
        while self.running and time.monotonic() < until:
            time.sleep(0.02)
