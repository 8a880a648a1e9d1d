"""`run_in_process`: a call in a process of its own, which reports its steps here and can be cancelled from here.

The child starts afresh (nothing of this process is copied into it), so the function and its arguments must be what `pickle` can
hold: a function of a module, plain values, frames. What the child reports comes back as events through a pipe. Whether the run is
cancelled is one byte in memory that both processes share, so compiled code sees it at once. A child that does not end soon after
the run was cancelled is killed.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import pickle
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import RawArray
from typing import Any, TypeVar

import numpy as np

from unveil.arguments import checked_arguments
from unveil.errors import ArgumentError, CancelledError, LostProcessError, UnveilError
from unveil.run import Limits, Run, active_run

__all__ = ["Advance", "Notice", "run_in_process"]

_Answer = TypeVar("_Answer")
_MOMENT = 0.05
"""Seconds between two looks at whether the run is cancelled, and between two reports of one stage."""
_GRACE = 0.8
"""Seconds that a cancelled child has to end by itself."""


@dataclass(frozen=True, slots=True)
class Advance:
    """How far a stage has got."""

    stage: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Notice:
    """A line for a person to read."""

    line: str


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
    """Call a function in a process of its own, and return what it returns.

    Parameters
    ----------
    function
        What to call, such as `unveil.assess`; a function of a module, so that the other process finds it.
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
        If an argument cannot be sent to another process, as an open connection cannot.
    CancelledError
        If the run was cancelled. The other process has ended then; it is killed if it does not end by itself.
    LostProcessError
        If the other process ended without an answer, as when the system kills it for lack of memory.

    Notes
    -----
    A script that calls this needs the usual ``if __name__ == "__main__":`` around what it does.

    Examples
    --------
    >>> import math
    >>> run_in_process(math.factorial, 5)
    120
    """
    run = active_run() if run is None else run
    run.check()
    spawning = multiprocessing.get_context("spawn")
    here, there = spawning.Pipe(duplex=False)
    flag = RawArray("B", 1)
    child = spawning.Process(target=_work, args=(there, flag, run.limits, function, args, options), daemon=True)
    try:
        child.start()
    except UnveilError:
        raise
    except (TypeError, AttributeError, pickle.PicklingError):
        raise ArgumentError(
            "the function or an argument cannot be sent to another process; use a function defined at the top of a module, "
            "and give data as a frame, a path or an address."
        ) from None
    finally:
        there.close()
    try:
        with run:
            return _waited_for(here, run)  # type: ignore[no-any-return]
    except BaseException as error:
        flag[0] = 1
        if isinstance(error, EOFError):
            child.join(_GRACE)
            raise LostProcessError.ended(child.exitcode) from None
        raise
    finally:
        child.join(_GRACE)
        child.kill()
        child.join()
        here.close()


def _waited_for(here: Connection, run: Run) -> Any:
    """Pass on what the child reports, until it answers or the run is cancelled."""
    while True:
        run.check()
        if not here.poll(_MOMENT):
            continue
        match here.recv():
            case Advance(stage, done, total):
                run.at(stage, done, total)
            case Notice(line):
                run.notify(line)
            case _Answered(answer):
                return answer
            case _Failed(error):
                raise error


def _work(there: Connection, flag: Any, limits: Limits, function: Callable[..., Any], args: Any, options: Any) -> None:
    """Do the work of the child: call the function under a run that reports its events to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent too, which cancels the run
    outcome: _Answered | _Failed
    try:
        with Run(_Sender(there), notice=lambda line: there.send(Notice(line)), limits=limits, flag=np.frombuffer(flag, np.uint8)):
            outcome = _Answered(function(*args, **options))
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is raised in the parent
        outcome = _Failed(error)
    with contextlib.suppress(BrokenPipeError):  # the parent has gone
        there.send_bytes(_pickled(outcome))


def _pickled(outcome: _Answered | _Failed) -> bytes:
    """Pickle an outcome; if it cannot be pickled, keep only its type."""
    try:
        plain = pickle.dumps(outcome)
        pickle.loads(plain)  # noqa: S301 - our own; some exceptions can be pickled but not unpickled
    except Exception:  # noqa: BLE001 - pickle raises whatever the object's own code raises
        held = outcome.answer if isinstance(outcome, _Answered) else outcome.error
        return pickle.dumps(_Failed(LostProcessError.unsendable(type(held).__name__)))
    return plain


class _Sender:
    """Reports to the parent how far a stage has got, but not too often."""

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
