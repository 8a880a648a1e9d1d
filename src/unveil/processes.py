"""`run_in_process`: a call in a process of its own, which reports its steps to this process and can be cancelled from it.

The child starts afresh (nothing of this process is copied into it), so the function and its arguments must be objects that
`pickle` can hold: a function of a module, plain values, frames. They are sent through a pipe while the child is loading; its
reports return as events through another. Cancellation is one byte in memory that both processes share, so compiled code sees it
at once. A child that has not begun its call, or has ended it and removed its files, is killed at once; one whose call does not
notice the cancellation removes its files from another thread and ends, and is killed if even that fails.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import RawArray
from typing import Any, TypeVar

import numpy as np

from unveil.arguments import checked_arguments
from unveil.errors import ArgumentError, CancelledError, LostProcessError, UnveilError
from unveil.output import remove_hidden, taking_place
from unveil.run import Limits, Run, active_run

__all__ = ["Advance", "Notice", "run_in_process"]

_Answer = TypeVar("_Answer")
_MOMENT = 0.05
"""Seconds between two reports of one stage."""
_LOOK = 0.02
"""Seconds between two checks whether the run is cancelled."""
_PATIENCE = 0.5
"""Seconds within which the call of a cancelled child must end; then its files are removed, and the process ends."""
_GRACE = 0.8
"""Seconds after which a child that still runs is killed."""


@dataclass(frozen=True, slots=True)
class Advance:
    """The progress of a stage."""

    stage: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Notice:
    """A line for the user."""

    line: str


@dataclass(frozen=True, slots=True)
class _Begun:
    """The call begins, so from now on there may be files to remove."""


@dataclass(frozen=True, slots=True)
class _Ended:
    """The call ended and its files are removed; its outcome follows."""


@dataclass(frozen=True, slots=True)
class _Answered:
    """The call returned: its answer."""

    answer: Any


@dataclass(frozen=True, slots=True)
class _Failed:
    """The call raised: its error."""

    error: BaseException


@checked_arguments
def run_in_process(function: Callable[..., _Answer], *args: Any, run: Run | None = None, **options: Any) -> _Answer:
    """Call a function in a process of its own, and return its result.

    Parameters
    ----------
    function
        The function to call, such as `unveil.assess`; it must belong to a module, so that the other process finds it.
    args, options
        Its arguments, without `progress`: the run is active in the other process.
    run
        The run that receives the steps of the call; cancelling it cancels the call. None: the active run.

    Returns
    -------
    The answer of the function.

    Raises
    ------
    ArgumentError, UnsupportedDataError
        If an argument, such as an open connection, cannot be sent to another process.
    CancelledError
        If the run was cancelled. The other process has then ended; it is killed if it does not end by itself.
    LostProcessError
        If the other process ended without an answer, for example because the system killed it for lack of memory.

    Notes
    -----
    A script that calls this function needs the usual ``if __name__ == "__main__":`` around its statements.

    Examples
    --------
    >>> import math
    >>> run_in_process(math.factorial, 5)
    120
    """
    run = active_run() if run is None else run
    run.check()
    call = run.watching(lambda: _sendable(function, args, options))
    spawning = multiprocessing.get_context("spawn")
    here, there = spawning.Pipe(duplex=False)
    received, sent = spawning.Pipe(duplex=False)
    flag = RawArray("B", 1)
    child = spawning.Process(target=_work, args=(there, received, flag, run.limits), daemon=True)
    with there, received:
        child.start()
    # the child receives the call when it is loaded; if it is killed before, the pipe is broken
    sending = threading.Thread(target=_send, args=(sent, call), daemon=True)
    sending.start()
    reports = _Reports(here)
    try:
        with run:
            answer: _Answer = _waited_for(reports, run)
    except EOFError:
        child.join(_GRACE)
        raise LostProcessError.ended(child.exitcode) from None
    except BaseException:
        flag[0] = 1
        reports.wait_for_the_end()
        raise
    else:
        child.join(_GRACE)
        return answer
    finally:
        child.kill()
        child.join()
        sending.join()
        here.close()


def _sendable(function: Callable[..., Any], args: Any, options: Any) -> bytes:
    """Pickle a call, or refuse it."""
    try:
        return pickle.dumps((function, args, options))
    except UnveilError:
        raise
    except Exception:  # noqa: BLE001 - the code of an argument may raise anything
        raise ArgumentError(
            "the function or an argument cannot be sent to another process; use a function defined at the top of a module, "
            "and give data as a frame, a path or an address."
        ) from None


def _send(sent: Connection, call: bytes) -> None:
    with contextlib.suppress(OSError), sent:  # the child was killed
        sent.send_bytes(call)


class _Reports:
    """The reports of the child, and whether it may have files that are still to be removed."""

    def __init__(self, here: Connection) -> None:
        self._here = here
        self._begun = self._ended = False

    def next(self, seconds: float) -> Any:
        """Return the next event, or None if there is none in this time."""
        if not self._here.poll(seconds):
            return None
        event = self._here.recv()
        self._begun |= isinstance(event, _Begun)
        self._ended |= isinstance(event, _Ended)
        return event

    def wait_for_the_end(self) -> None:
        """Give a cancelled child time to remove its files, if its call has begun."""
        end = time.monotonic() + _GRACE
        with contextlib.suppress(EOFError, OSError):
            while not self._ended and (left := end - time.monotonic()) > 0:
                if self.next(left if self._begun else 0.0) is None:
                    return


def _waited_for(reports: _Reports, run: Run) -> Any:
    """Pass on the reports of the child, until it answers or the run is cancelled."""
    while True:
        run.check()
        match reports.next(_LOOK):
            case Advance(stage, done, total):
                run.at(stage, done, total)
            case Notice(line):
                run.notify(line)
            case _Answered(answer):
                return answer
            case _Failed(error):
                raise error


def _work(there: Connection, received: Connection, flag: Any, limits: Limits) -> None:
    """Do the work of the child: call the function under a run that reports its events to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C also reaches the parent, which cancels the run
    threading.Thread(target=_leave_if_deaf, args=(flag,), daemon=True).start()
    with received:
        function, args, options = pickle.loads(received.recv_bytes())  # noqa: S301 - our own
    outcome: _Answered | _Failed
    with contextlib.suppress(BrokenPipeError):  # the parent has ended
        there.send(_Begun())
        try:
            run = Run(
                _Sender(there), notice=lambda line: there.send(Notice(line)), limits=limits, flag=np.frombuffer(flag, np.uint8)
            )
            with run:
                outcome = _Answered(function(*args, **options))
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is raised in the parent
            outcome = _Failed(error)
        pickled = _pickled(outcome)
        remove_hidden()
        there.send(_Ended())
        there.send_bytes(pickled)


def _leave_if_deaf(flag: Any) -> None:
    """Wait until the run is cancelled; if the call then does not end, remove its files and end the process."""
    while not flag[0]:
        time.sleep(_MOMENT)
    time.sleep(_PATIENCE)
    while taking_place():  # all files or none
        time.sleep(_LOOK)
    remove_hidden()
    os._exit(1)


def _pickled(outcome: _Answered | _Failed) -> bytes:
    """Pickle an outcome; if that is impossible, an error that names its type."""
    try:
        plain = pickle.dumps(outcome)
        pickle.loads(plain)  # noqa: S301 - our own; some exceptions can be pickled but not unpickled
    except Exception:  # noqa: BLE001 - pickle raises whatever the object's own code raises
        held = outcome.answer if isinstance(outcome, _Answered) else outcome.error
        return pickle.dumps(_Failed(LostProcessError.unsendable(type(held).__name__)))
    return plain


class _Sender:
    """A sender of the progress of a stage to the parent, at limited frequency."""

    def __init__(self, there: Connection) -> None:
        self._there = there
        self._told: dict[str, float] = {}

    def __call__(self, stage: str, done: int, total: int) -> None:
        now = time.monotonic()
        if done < total and now - self._told.get(stage, -_MOMENT) < _MOMENT:
            return
        self._told[stage] = now
        try:
            self._there.send(Advance(stage, done, total))
        except BrokenPipeError:
            raise CancelledError.on_request() from None
