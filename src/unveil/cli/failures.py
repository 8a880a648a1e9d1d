"""Failures of the command line, each with one line and an exit code.

The message of an unexpected exception may hold data values, so only its type and place are reported.
"""

from __future__ import annotations

import errno
import os
import re
import select
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import unveil
from unveil.arguments import shown_number
from unveil.cli.process import StoppedError, ending, turned_away, was_heard
from unveil.errors import CancelledError, ModelNotMetError, UnveilError
from unveil.fitting import kind_of
from unveil.output import placed

__all__ = ["explained"]

_NOT_MET, _BAD_INPUT, _UNEXPECTED, _CANCELLED = 1, 2, 3, 130
_WRONG_VALUE = re.compile(r"Invalid value for '([^']+)': (?:Value error, )?(.*)", re.DOTALL)
_KINDS = {"int_parsing": "a whole number", "float_parsing": "a number"}
"""The refusals of a value that is not a number, and what the option accepts."""
_SCARCE = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "a file may not grow that large",
    errno.EROFS: "the disk is read-only",
    errno.EIO: "the disk cannot be read or written",
    errno.EMFILE: "too many files are open",
    errno.ENFILE: "too many files are open",
}
"""Resources that the system may lack during any work."""
_NO_MEMORY = (
    "can't allocate",
    "can't start new thread",
    "cannot allocate",
    "failed to map segment",
    "memory allocation",
    "out of memory",
    "unable to allocate",
)
"""The messages by which libraries report a lack of memory."""


def explained(error: BaseException, words: Sequence[str]) -> tuple[str, int]:
    """Return the message about a failure, which may be empty, and the exit code."""
    unexpected = (
        f"unexpected failure of {_verb(words)!r}: {type(error).__name__}{_place(error)}; {_written()}. "
        "The same command with --debug shows the traceback."
    )
    return _foreseen(error) or _scarce(error) or (unexpected, _UNEXPECTED)


def _foreseen(error: BaseException) -> tuple[str, int] | None:
    """Return the message about an interrupt, a refusal by this package, or a closed pipe."""
    if isinstance(error, KeyboardInterrupt | StoppedError) or (isinstance(error, CancelledError) and was_heard()):
        word, code = ending()
        return f"{word}; {error if isinstance(error, StoppedError) else f'{_written()}.'}", code
    if isinstance(error, CancelledError):
        return f"{str(error).removesuffix('.')}; {_written()}.", _CANCELLED
    from typer.exceptions import TyperException  # here, because the program may have been interrupted while it was loaded

    from unveil.cli.application import said_in_options

    if isinstance(error, UnveilError):
        return said_in_options(str(error)), _NOT_MET if isinstance(error, ModelNotMetError) else _BAD_INPUT
    if isinstance(error, TyperException):
        if refusal := _wrong_number(error.format_message(), error.__cause__):
            return refusal, _BAD_INPUT
        context = getattr(error, "ctx", None)  # of the verb whose options were being read
        return (
            f"{_plain(error.format_message()).removesuffix('.')} (try: {context.command_path if context else 'unveil'} --help)",
            _BAD_INPUT,
        )
    return ("", 0) if _reader_has_gone(error) else None


def _plain(message: str) -> str:
    """Return the problem of a value without the words of the parser around it."""
    named = _WRONG_VALUE.fullmatch(message)
    return message if named is None else named[2]


def _wrong_number(message: str, cause: Any) -> str | None:
    """Return the refusal of a value that is no number, or out of range, as the library words it; None for any other problem."""
    named = _WRONG_VALUE.fullmatch(message)
    if named is None or not hasattr(cause, "errors"):
        return None
    problem = cause.errors()[0]
    if kind := _KINDS.get(problem["type"]):
        return f"{named[1]} must be {kind}, not {_kind_of_text(problem['input'])}."
    for word, bound in (("at least", "ge"), ("at most", "le")):
        if bound in problem.get("ctx", {}):
            return f"{named[1]} is {shown_number(_number(problem['input']))}; it must be {word} {problem['ctx'][bound]:,}."
    return None


def _number(text: str) -> float:
    """Return the number that a text holds, whole if it is written like that."""
    return int(text) if text.strip().lstrip("+-").replace("_", "").isdigit() else float(text)


def _kind_of_text(text: str) -> str:
    """Return the kind of what a text holds: a number, or any other text."""
    try:
        return kind_of(_number(text))
    except ValueError:
        return kind_of(text)


def _scarce(error: BaseException) -> tuple[str, int] | None:
    """Return the message if the system is out of memory or disk space, or has no output."""
    if any(map(_tells_of_memory, _chain(error))):
        return f"there is not enough memory for this; {_written()}. Name fewer columns, or allow more memory.", _BAD_INPUT
    if not isinstance(error, OSError):
        return None
    if error.errno == errno.EBADF and _output_is_closed():
        return "standard output is closed; open it, or name a file with --out.", _BAD_INPUT
    if error.errno not in _SCARCE:
        return None
    place = f" ({error.filename})" if error.filename else ""
    return f"{_SCARCE[error.errno]}{place}; {_written()}.", _BAD_INPUT


def _written() -> str:
    return f"written before that: {', '.join(map(str, placed))}" if placed else "nothing was written"


def _verb(words: Sequence[str]) -> str:
    """Return the part of the command line that names the current task."""
    verbs = [word for word in words[: 2 if words[0] == "hierarchy" else 1] if not word.startswith("-")]
    return " ".join(["unveil", *verbs])


def _place(error: BaseException) -> str:
    """Return the line of this package that failed, or that made the failing call."""
    package = Path(unveil.__file__).parent
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if Path(frame.filename).is_relative_to(package):
            return f" at {Path(frame.filename).relative_to(package).as_posix()}, line {frame.lineno}"
    return ""


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and its causes."""
    seen: list[BaseException] = []
    while error is not None and error not in seen:
        seen.append(error)
        error = error.__cause__ or error.__context__
    return iter(seen)


def _tells_of_memory(error: BaseException) -> bool:
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        return True
    return any(words in str(error).lower() for words in _NO_MEMORY)


def _reader_has_gone(error: BaseException) -> bool:
    """Whether the only problem is that nobody reads standard output any more, as after `| head`."""
    if not any(isinstance(one, BrokenPipeError) for one in _chain(error)):
        return False
    if isinstance(error, SystemExit):  # raised by rich
        return True
    if hasattr(select, "poll"):
        polling = select.poll()
        polling.register(1, 0)
        if not any(event & select.POLLERR for _, event in polling.poll(0)):
            return False  # it was another pipe
    turned_away()
    return True


def _output_is_closed() -> bool:
    try:
        os.write(1, b"")
    except OSError:
        return True
    return False
