"""The process of the command line: its signals, its streams, and its supervision if memory is limited.

A signal that requests the end of the process raises `KeyboardInterrupt` in the main thread, so that everything is cleaned up as
on Ctrl-C. If the main thread is busy in compiled code and does not receive it, another thread cancels the run and, if that does
not help, removes the hidden files and ends the process.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from unveil.errors import reason_of
from unveil.output import placed, remove_hidden, taking_place

if TYPE_CHECKING:
    from unveil.run import Run

__all__ = ["StoppedError",
    "ending", "flushed", "leave", "leaving_with", "listening", "own_streams", "say", "supervised", "turned_away",
    "was_heard",
]  # fmt: skip

_ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
_WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
_PATIENCE = 5.0
"""Seconds after which a main thread that has not received a signal is given up."""
_AGAIN = 1.0
"""Seconds within which the same signal, sent to the process and to its group, is counted once."""
_BUSY = 0.2
"""Seconds after which a main thread that has not received a signal is assumed to be in compiled code, which checks its run."""
_MOMENT = 0.02
"""Seconds that files need, approximately, to take their places."""
_LEAST_MEMORY = 3 << 29
"""Bytes of memory that loading the libraries requires."""
_MEMORY_OF_THREAD = 128 << 20
"""Bytes that every further thread of the libraries reserves."""

_heard: list[tuple[int, float]] = []
"""The received signals that request the end of the process, each with its time."""
_hears = threading.Event()
_kept: list[Callable[[], str]] = []
"""Functions that state what is kept if the process ends; an empty text: nothing is kept."""


class StoppedError(Exception):
    """An interrupt after which a file is kept; its text states which, and how to continue with it."""


def say(message: str) -> None:
    """Write a message in one line to standard error."""
    with contextlib.suppress(OSError, ValueError):  # standard error is closed
        print("unveil:", " ".join(message.split()), file=sys.stderr, flush=True)  # noqa: T201 - the command line speaks here


# Signals --------------------------------------------------------------------------------------------------------------


def ending() -> tuple[str, int]:
    """Return in a word why the process ends, and its exit code: that of the received signal, else that of Ctrl-C."""
    number = _heard[0][0] if _heard else signal.SIGINT
    return _WORDS.get(signal.Signals(number), "the terminal was closed"), 128 + number


@contextlib.contextmanager
def listening(runs: Sequence[Run] = (), *, debug: bool) -> Iterator[None]:
    """Handle the signals that request the end of the process, except those that its parent makes it ignore.

    If the main thread does not receive a signal, the runs that are in the sequence at that time are cancelled.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    threading.Thread(target=_watch, args=(reader, runs), name="unveil-signals", daemon=True).start()
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    sys.unraisablehook = _uncaught(sys.unraisablehook, debug=debug)
    threading.excepthook = _uncaught(threading.excepthook, debug=debug)
    for number in _ENDING:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _hear)
    yield


@contextlib.contextmanager
def leaving_with(kept: Callable[[], str]) -> Iterator[None]:
    """Report what is kept if the process must end at once; `kept` returns the words, an empty text if nothing is kept."""
    _kept.append(kept)
    try:
        yield
    finally:
        _kept.remove(kept)


def was_heard() -> bool:
    """Whether a signal requested the end of the process."""
    return bool(_heard)


def _hear(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - as signals are handed over
    """Interrupt the main thread; if it is already interrupted, end the process at once."""
    _hears.set()
    if taking_place():  # all files or none: the signal is sent again when they are in place
        threading.Timer(_MOMENT, os.kill, [os.getpid(), number]).start()
        return
    now = time.monotonic()
    if any(number == other and now - then < _AGAIN for other, then in _heard):
        return
    _heard.append((number, now))
    if len(_heard) > 1:
        _leave()
    raise KeyboardInterrupt


def _watch(reader: int, runs: Sequence[Run]) -> None:
    """Wait for a signal, which the system reports here at once; end the process if the main thread does not receive it."""
    while said := os.read(reader, 1):
        if said[0] not in _ENDING or signal.getsignal(said[0]) is not _hear or _hears.wait(_BUSY):
            continue
        for run in runs:
            run.cancel()
        if not _hears.wait(_PATIENCE):
            _heard.append((said[0], time.monotonic()))
            _leave()


def _leave() -> None:
    """End the process at once, without hidden files left behind."""
    remove_hidden()
    word, code = ending()
    kept = next(filter(None, (one() for one in _kept)), "")
    say(f"{word}; {kept}" if kept else f"{word}." if placed else f"{word}; nothing was written.")
    os._exit(code)


def _uncaught(otherwise: Callable[[Any], Any], *, debug: bool) -> Callable[[Any], Any]:
    """Return the handler of uncaught exceptions: an interrupt ends the process, others are shown with `--debug`."""

    def tell(uncaught: Any) -> None:
        if isinstance(uncaught.exc_value, KeyboardInterrupt) and _heard:
            _leave()
        if debug:
            otherwise(uncaught)

    return tell


# Streams --------------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def own_streams(*, native: bool) -> Iterator[None]:
    """Reserve standard error for this program, unless compiled libraries (`native`) may also write to it.

    These report failures themselves, sometimes with data values in the message.
    """
    _open_closed()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # half a surrogate pair, or a character that the encoding lacks
    if native:
        yield
        return
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
    before, kept, nowhere = sys.stderr, os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    os.close(nowhere)
    sys.stderr = os.fdopen(kept, "w", encoding=before.encoding, errors="backslashreplace", buffering=1)
    yield


def _open_closed() -> None:
    """Open closed standard streams, so that no file takes their numbers; printing to them fails."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_WRONLY if number == 2 else os.O_RDONLY)  # noqa: PLR2004 - takes the lowest number free
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)


def flushed(code: int) -> int:
    """Return the exit code after everything is printed, or that of output that cannot be written."""
    try:
        sys.stderr.flush()
    except (OSError, ValueError):  # otherwise Python would end with a code of its own
        sys.stderr = io.StringIO()
    try:
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has closed the pipe, as `head` does
        turned_away()
    except OSError as error:
        turned_away()
        if not code:
            say(f"cannot write to standard output: {reason_of(error)}.")
        return code or 2
    return code


def leave(code: int) -> NoReturn:
    """End the process with an exit code, at once if there is work for which nobody waits any longer."""
    if "unveil.run" in sys.modules:  # otherwise there is no work, and loading the module takes time
        from unveil.run import is_left_behind

        if is_left_behind():
            remove_hidden()
            os._exit(code)
    sys.exit(code)


def turned_away() -> None:
    """Discard the remaining output."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


# Memory ---------------------------------------------------------------------------------------------------------------


def supervised(work: Callable[[], int]) -> int:
    """Return the exit code of the work, which runs in a child if memory is limited, because it may end without a reason."""
    limit = _memory_limit()
    if limit is None:
        return work()
    if limit < _LEAST_MEMORY:
        say(f"the memory limit of {limit >> 20:,} MiB (ulimit -v) is too low; allow at least {_LEAST_MEMORY >> 20:,} MiB.")
        return 2
    for setting in ("POLARS_MAX_THREADS", "OPENBLAS_NUM_THREADS"):  # a thread without memory may wait forever
        os.environ.setdefault(setting, str(max(1, min(os.cpu_count() or 1, (limit - _LEAST_MEMORY) // _MEMORY_OF_THREAD))))
    child = os.fork()
    return _waited_for(child, limit) if child else work()


def _waited_for(child: int, limit: int) -> int:
    """Pass signals on to the child, and return its exit code, or that for lack of memory."""
    for number in _ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda sent, _: os.kill(child, sent))
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code >= 0:
        return code
    name = signal.Signals(-code).name
    say(f"there is not enough memory for this (it ended in {name}): the limit is {limit >> 20:,} MiB (ulimit -v); allow more.")
    return 2


def _memory_limit() -> int | None:
    """Return the number of bytes that this process may take, if it is limited."""
    try:
        import resource
    except ImportError:  # a system without such limits
        return None
    limits = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    return min((limit for limit in limits if limit != resource.RLIM_INFINITY), default=None)
