"""The command line: one verb per task, each a thin wrapper of one public function.

Results are written to standard output, progress and problems to standard error. Exit codes: 0 done, 1 a policy or model is not
met (and nothing else), 2 bad usage, bad input or no room (one line, no traceback), 3 an unexpected failure (one line; the
traceback with `--debug`), 130 interrupted, 143 terminated.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from unveil.run import Run

__all__ = ["main"]

_COMPLETION = {"--install-completion", "--show-completion"}
"""Options that end the program themselves."""
_COMPLETING = "_UNVEIL_COMPLETE"
"""The variable that a shell sets when it requests completions of the words typed so far."""

_runs: list[Run] = []
"""The runs that a signal cancels if the main thread does not receive it."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    if os.environ.get(_COMPLETING):
        _complete()
    from unveil.cli.process import flushed, leave, listening, own_streams, supervised

    words, debug = _words(arguments)

    def work() -> int:
        with own_streams(native=debug), listening(_runs, debug=debug):
            return flushed(_ended(words, debug=debug))

    leave(supervised(work))


def _complete() -> NoReturn:
    """Print the completions of the words typed so far, and exit; a failure, including an interrupt, completes nothing."""
    try:
        _program(None).main(args=[], prog_name="unveil")
    except BaseException as error:  # noqa: BLE001 - a shell would show it amid the words that somebody types
        sys.exit(error.code if isinstance(error, SystemExit) else 1)
    sys.exit(0)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line within a program and return its exit code; the program keeps its signals and streams."""
    words, debug = _words(arguments)
    return _ended(words, debug=debug)


def _words(arguments: Sequence[str] | None) -> tuple[list[str], bool]:
    """Return the words of the command line without `--debug`, which may be anywhere before `--`, and whether it was there."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    end = words.index("--") if "--" in words else len(words)
    rest = [word for word in words[:end] if word != "--debug"]
    return [*rest, *words[end:]] or ["--help"], len(rest) < end


def _ended(words: Sequence[str], *, debug: bool) -> int:
    """Run the command; every outcome ends in an exit code, and a failure also in one line of text."""
    from unveil.output import placed

    placed.clear()
    try:
        return _done(words)
    except BaseException as error:  # noqa: BLE001 - a panic of a compiled library is no Exception
        if debug:
            import traceback

            traceback.print_exception(error)
        return _reported(error, words)


def _reported(error: BaseException, words: Sequence[str]) -> int:
    """Report an error in one line, and return the exit code."""
    from unveil.cli.process import say

    try:
        from unveil.cli.failures import explained

        message, code = explained(error, words)
    except BaseException as another:  # noqa: BLE001 - not even the libraries that explain it could be loaded
        message, code = f"unexpected failure: {type(error).__name__}, then {type(another).__name__}.", 3
    if message:
        from unveil.credentials import hidden_in_message

        say(hidden_in_message(message, words))
    return code


def _done(words: Sequence[str]) -> int:
    import typer

    program = _program(_verb(words))
    try:
        with _running(words), program.make_context("unveil", list(words), obj=tuple(words)) as context:
            program.invoke(context)
    except typer.Exit as done:
        return done.exit_code
    except SystemExit as done:
        if not _COMPLETION & set(words):
            raise
        return int(done.code or 0)
    return 0


@contextmanager
def _running(words: Sequence[str]) -> Iterator[None]:
    """Let a signal cancel the work; help and the version involve none, so nothing is loaded for them."""
    if not words or {"--help", "-h", "--version"} & set(words):
        yield
        return
    from unveil.cli.process import say
    from unveil.run import Run, active_run

    around = active_run()
    own = Run(notice=say, limits=around.limits, flag=around.flag)
    with own:
        _runs.append(own)
        yield
        _runs.remove(own)


def _verb(words: Sequence[str]) -> str | None:
    """Return the verb if the words begin with one; None if all verbs are needed for a list."""
    from unveil.cli.verbs import VERBS

    return words[0] if words and words[0] in VERBS else None


@cache
def _program(verb: str | None) -> Any:
    """Return the program, with one verb or with all, and with options that are read from signatures once."""
    import typer

    from unveil.cli.verbs import with_verb

    return typer.main.get_command(with_verb(verb))
