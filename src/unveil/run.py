"""`Run`: the progress reports of a call, its cancellation, and its limits.

A caller who waits for an answer makes a `Run` and activates it, for one call or for several::

    run = unveil.Run(lambda stage, done, total: print(stage, done, total), limits=unveil.Limits(time=60))
    unveil.scan(data, key=[...], progress=run)     # for one call, or
    with run:                                      # for everything in the block, including calls without `progress`
        unveil.measure(data, key=[...])
    run.cancel()                                   # from any thread: the work of the run ends in a `CancelledError`

The author of a long loop gets the active run, and checks it now and then::

    run = active_run()
    for column in run.each("attributes", columns):   # reports the steps of a stage, and stops when the run is cancelled
        ...
    with run.stage("linkage") as steps:              # where steps are reported explicitly: steps(done, total)
        ...
    for text in run.through("texts", texts):         # the same for many small steps, reported about a hundred times
        ...
    run.check()                                      # where there are no steps to report
    kernel(codes, run.flag)                          # compiled code checks flag[0] now and then, and returns early
    run.check()                                      # so an incomplete answer is never used
    model = run.watching(lambda: fit(records))       # a library call that cannot check: once cancelled, nobody waits for it

`active_run()` returns the run of the calling thread: a loop with threads of its own calls it before it starts them. A public
function with a `progress` argument is decorated with `in_run`, any other with `looks` if nothing in it checks the run at its
end. `run.limits` states how much memory and time and how many
threads the work may use. `unveil.run_in_process` runs a call in a process of its own, under a run of this process.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from functools import wraps
from types import TracebackType
from typing import Any, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from unveil.arguments import checked_arguments, checked_count, checked_number
from unveil.errors import ArgumentError, CancelledError
from unveil.fitting import kind_of

__all__ = [
    "Clock", "Limits", "Progress", "Run", "Stages", "Steps", "active_run", "in_blocks", "in_run", "is_left_behind", "looks",
    "stepped", "to_the_end", "watched",
]  # fmt: skip

Steps: TypeAlias = Callable[[int, int], None]
"""A function called with the number of completed steps, and the total number of steps."""
Stages: TypeAlias = Callable[[str, int, int], object]
"""A function called with the name of a stage, the number of completed steps, and the total number of steps."""
Notices: TypeAlias = Callable[[str], object]
"""A function called with a line for the user."""

_Item = TypeVar("_Item")
_Door = TypeVar("_Door", bound=Callable[..., Any])

_GOING, _CANCELLED, _LATE = 0, 1, 2
"""The possible values of the flag of a run."""
_MEMORY, _UNSET = 2 << 30, -1
_SHARES = {"stream_from": 3, "rows": 13, "text": 7, "block": 11, "lines": 8, "combinations": 8, "bucket": 12}
"""The share of the memory that is the default of a limit: one part in two to this power."""
_LEAST = {"stream_from": 0, "block": 4}
"""The least values of two limits, in bytes: a block must hold the mark at the start of a text. All others are at least 1."""
_TOLD = 100
"""The number of progress reports of a stage with many small steps."""
_WATCHED = "unveil-watched"
"""The name of a thread for which nobody waits once its run is cancelled."""
MOMENT = 0.05
"""Seconds between two checks whether a run is cancelled, during work that cannot check itself."""


@checked_arguments
@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a run.

    Attributes
    ----------
    memory
        The approximate number of bytes that the records in memory may take; the limits below follow from it unless they are
        set. The libraries, the distinct values of the columns and the count table are not limited.
    time
        Seconds after which the run ends in a `CancelledError`, counted from its first activation; None: without a limit.
    threads
        The number of threads that work at a time; None: one for each processor.
    stream_from
        The size, in bytes of text, from which a file is streamed; a compressed file, such as Parquet, counts eightfold.
    rows, text
        The size of a batch of a streamed file: rows of Parquet, bytes of delimited text.
    block, lines
        The number of bytes of a file, and of a stream of lines, that are read at a time.
    combinations
        The number of distinct combinations held in memory; further ones are spilled to the temporary folder.
    bucket
        The number of records of a stream that are held at a time during shuffling.
    checkpoint_every
        The least number of seconds between two writes of the checkpoint of a scan, or of a stream; 0: it is written at every
        step.
    watched_from
        The number of rows from which a single operation may take long; it is then run so that a cancellation is noticed.

    Examples
    --------
    >>> Limits(memory=1 << 30).stream_from >> 20
    128
    """

    memory: int = _MEMORY
    time: float | None = None
    threads: int | None = None
    stream_from: int = _UNSET
    rows: int = _UNSET
    text: int = _UNSET
    block: int = _UNSET
    lines: int = _UNSET
    combinations: int = _UNSET
    bucket: int = _UNSET
    checkpoint_every: float = 10.0
    watched_from: int = 1 << 18

    def __post_init__(self) -> None:
        """Check the limits, and derive the unset ones from the memory."""
        checked_count("memory", self.memory, least=1 << 20)
        if self.time is not None:
            checked_number("time", self.time, above=0)
        if self.threads is not None:
            checked_count("threads", self.threads, least=1)
        checked_number("checkpoint_every", self.checkpoint_every, least=0)
        checked_count("watched_from", self.watched_from, least=1)
        for name, share in _SHARES.items():
            if (value := getattr(self, name)) == _UNSET:
                object.__setattr__(self, name, self.memory >> share)
            else:
                checked_count(name, value, least=_LEAST.get(name, 1))


class Clock:
    """The time at which work is cut short, and whether any was, by this limit or by one within it."""

    __slots__ = ("around", "end", "expired")

    def __init__(self, end: float, around: Clock | None) -> None:
        self.end: float = end if around is None else min(end, around.end)
        self.around = around
        self.expired = False

    def expire(self) -> None:
        """Note that work was cut short."""
        clock: Clock | None = self
        while clock is not None:
            clock.expired = True
            clock = clock.around


class Run:
    """The progress reports of a call, its cancellation, and its limits.

    Parameters
    ----------
    progress
        A function called with the name of a stage, the number of completed steps, and the total number of steps, in the
        working thread.
    notice
        A function called with a line for the user, such as the reason of a wait.
    limits
        The limits of the run.
    flag
        An array of one byte, which is not 0 once the run is cancelled. If one is given, the run shares it with another run,
        perhaps in another process, and that run enforces the time limit.

    Examples
    --------
    >>> import unveil
    >>> stages = []
    >>> run = Run(lambda stage, done, total: stages.append(stage))
    >>> scanned = unveil.scan(unveil.datasets.load("paper-4"), key=["ZIP", "Age"], progress=run)
    >>> sorted(set(stages))
    ['subsets']
    >>> run.cancel()
    >>> unveil.scan(unveil.datasets.load("paper-4"), key=["ZIP", "Age"], progress=run)
    Traceback (most recent call last):
    unveil.errors.CancelledError: the run was cancelled.
    """

    def __init__(
        self,
        progress: Stages | None = None,
        *,
        notice: Notices | None = None,
        limits: Limits | None = None,
        flag: NDArray[np.uint8] | None = None,
    ) -> None:
        byte: Any = flag
        for name, function in (("progress", progress), ("notice", notice)):
            if function is not None and not callable(function):
                raise ArgumentError(f"{name} must be a function, not {kind_of(function)}.")
        if byte is not None and not (isinstance(byte, np.ndarray) and byte.dtype == np.uint8 and byte.shape == (1,)):
            raise ArgumentError(f"flag must be an array of one byte, not {kind_of(flag)}.")
        if limits is not None and not isinstance(limits, Limits):
            raise ArgumentError(f"limits must be Limits, not {kind_of(limits)}.")
        self.limits = limits or Limits()
        self.flag = np.zeros(1, np.uint8) if flag is None else flag
        self.clock: Clock | None = None
        self._progress, self._notice = progress, notice
        self._entered, self._keeps_time = 0, flag is None
        self._clock: threading.Timer | None = None
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        """Return one line: whether the run is cancelled."""
        return f"Run({'cancelled' if self.cancelled else 'not cancelled'}, {self.limits})"

    # Cancellation -----------------------------------------------------------------------------------------------------

    def cancel(self) -> None:
        """Make all work of the run end in a `CancelledError` soon; this may be called from any thread, and is final."""
        if self.flag[0] == _GOING:
            self.flag[0] = _CANCELLED

    @property
    def cancelled(self) -> bool:
        """Whether the run was cancelled or is past its time limit."""
        return bool(self.flag[0])

    def check(self) -> None:
        """Raise `CancelledError` if the run is cancelled or past its time limit."""
        if self.flag[0]:
            raise CancelledError.late(self.limits.time) if self.flag[0] == _LATE else CancelledError.on_request()

    def watching(self, work: Callable[[], _Item]) -> _Item:
        """Return the result of work; once the run is cancelled, nobody waits for it any longer.

        This is for a long call into a library that cannot check the run. The call is made in a thread of its own, which
        continues until the call is complete and then ends, so it must change nothing that others see. A process that ends waits
        for it.
        """
        context, answer = copy_context(), Future[_Item]()

        def working() -> None:
            try:
                answer.set_result(context.run(work))
            except BaseException as error:  # noqa: BLE001 - it is raised in the thread that waits
                answer.set_exception(error)

        threading.Thread(target=working, name=_WATCHED).start()
        while wait([answer], timeout=MOMENT).not_done:
            self.check()
        return answer.result()

    # Progress ---------------------------------------------------------------------------------------------------------

    def at(self, stage: str, done: int, total: int) -> None:
        """Report the progress of a stage, and stop if the run is cancelled."""
        self.check()
        if self._progress is not None:
            self._progress(stage, done, total)

    @contextmanager
    def stage(self, stage: str) -> Iterator[Steps]:
        """Report the beginning of a stage and, at the end of the block, its completion; steps may be reported in between."""
        last = 1

        def steps(done: int, total: int) -> None:
            nonlocal last
            last = total
            self.at(stage, done, total)

        self.at(stage, 0, 1)
        yield steps
        self.at(stage, last, last)

    def counting(self, stage: str, total: int) -> Callable[[], None]:
        """Return a function to be called after each step of a stage, which reports it."""
        done = 0

        def step() -> None:
            nonlocal done
            done += 1
            self.at(stage, done, total)

        self.at(stage, 0, total)
        return step

    def each(self, stage: str, items: Collection[_Item]) -> Iterator[_Item]:
        """Yield items one by one; each is a step of a stage, done when the next is requested."""
        if not items:
            return
        step = self.counting(stage, len(items))
        for item in items:
            yield item
            step()

    def through(self, stage: str, items: Collection[_Item]) -> Iterator[_Item]:
        """Yield many small items one by one; the run is checked for each, and progress is reported about a hundred times."""
        if not items:
            return
        every = -(-len(items) // _TOLD)
        self.at(stage, 0, len(items))
        for done, item in enumerate(items, 1):
            self.check()
            yield item
            if done % every == 0 or done == len(items):
                self.at(stage, done, len(items))

    def notify(self, line: str) -> None:
        """Send the user a notice of one line."""
        if self._notice is not None:
            self._notice(line)

    # The run of a block -----------------------------------------------------------------------------------------------

    def under(self, stage: str) -> Stages:
        """Return a function that reports the steps of all stages of another call as steps of one stage of this run."""
        return lambda _, done, total: self.at(stage, done, total)

    def telling(self, progress: Stages | None) -> Run:
        """Return a run with this one's limits and cancellation, which reports its steps to another function, or nowhere."""
        told = Run(progress, notice=self.notify, limits=self.limits, flag=self.flag)
        told.clock = self.clock
        return told

    def __enter__(self) -> Self:
        """Activate this run."""
        self.check()
        with self._lock:
            self._entered += 1
            if self._clock is None and self._keeps_time and self.limits.time is not None:
                self._clock = threading.Timer(self.limits.time, self._be_late)
                self._clock.daemon = True
                self._clock.start()
        _ACTIVE.set((*_ACTIVE.get(), (self, False)))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Activate the enclosing run again."""
        _ACTIVE.set(_ACTIVE.get()[:-1])
        with self._lock:
            self._entered -= 1
            if self._clock is not None and not self._entered:
                self._clock.cancel()

    def _be_late(self) -> None:
        if self.flag[0] == _GOING:
            self.flag[0] = _LATE


Progress: TypeAlias = Run | Stages
"""The type of the argument `progress` of public calls: a run, or a function that receives the steps of its stages."""

_ACTIVE: ContextVar[tuple[tuple[Run, bool], ...]] = ContextVar("active runs", default=())
"""The runs of the enclosing blocks, the innermost last, and whether each is that of a public call."""


def active_run() -> Run:
    """Return the run that is active in this thread; if there is none, one without reports and without cancellation."""
    runs = _ACTIVE.get()
    return runs[-1][0] if runs else Run()


def watched(rows: int, work: Callable[[], _Item]) -> _Item:
    """Return the result of work on this many rows; if they are many, by `Run.watching`."""
    run = active_run()
    return run.watching(work) if rows >= run.limits.watched_from else work()


def stepped(rows: int, stage: str, items: Collection[_Item]) -> Iterator[_Item]:
    """Yield items one by one; if each is about many rows, each is a step of a stage of the active run."""
    run = active_run()
    return run.each(stage, items) if rows >= run.limits.watched_from else iter(items)


def in_blocks(items: _Item, size: int = 1 << 14) -> Iterator[_Item]:
    """Yield a long list, array or column in blocks; the active run is checked before each."""
    whole: Any = items
    for start in range(0, len(whole), size):
        active_run().check()
        yield whole[start : start + size]


@contextmanager
def to_the_end() -> Iterator[None]:
    """Complete a block even if the run is cancelled meanwhile: what it has charged is also answered."""
    with Run(limits=active_run().limits, flag=np.zeros(1, np.uint8)):
        yield


def is_left_behind() -> bool:
    """Whether a library call for which nobody waits any longer still runs."""
    return any(thread.name == _WATCHED for thread in threading.enumerate())


def looks(door: _Door) -> _Door:
    """Check the active run before and after a public call whose steps are those of its caller."""

    @wraps(door)
    def looking(*values: Any, **named: Any) -> Any:
        active_run().check()
        answer = door(*values, **named)
        active_run().check()
        return answer

    return looking  # type: ignore[return-value]


def in_run(door: _Door) -> _Door:
    """Make the argument `progress` of a public function the active run during the call.

    A public call inside another one reports its steps only if the outer call passes it a `progress`; otherwise only the outer
    call reports its progress.

    Examples
    --------
    >>> @in_run
    ... def doubled(numbers: list[int], *, progress: Progress | None = None) -> list[int]:
    ...     return [2 * number for number in active_run().each("numbers", numbers)]
    >>> doubled([1, 2], progress=lambda stage, done, total: print(stage, done, total))
    numbers 0 2
    numbers 1 2
    numbers 2 2
    [2, 4]
    """

    @wraps(door)
    def within(*values: Any, **named: Any) -> Any:
        with _run_of(named.get("progress")) as run:
            _ACTIVE.set((*_ACTIVE.get()[:-1], (run, True)))
            answer = door(*values, **named)
            run.check()  # otherwise the answer may list a cancelled part as one that failed, with a reason
            return answer

    return within  # type: ignore[return-value]


def _run_of(progress: Progress | None) -> Run:
    """Return the run of a public call."""
    if isinstance(progress, Run):
        return progress
    if progress is not None:
        return active_run().telling(progress)
    runs = _ACTIVE.get()
    inside = bool(runs) and runs[-1][1]
    return active_run().telling(None) if inside else active_run()
