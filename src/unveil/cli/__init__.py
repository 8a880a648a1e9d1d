"""The command line: one verb per job, each a thin door onto one public function.

Results go to standard output, progress and complaints to standard error. Exit codes: 0 done, 1 a policy or model is not
met, 2 bad usage or bad input (one line, no traceback), 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["StoppedError", "main"]

INTERRUPTED = 130
NOT_MET = 1
BAD_INPUT = 2


class StoppedError(Exception):
    """An interrupt after which a file is kept: which, and how to go on with it."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code."""
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return _code(words)
    except KeyboardInterrupt:
        return _complain("interrupted; nothing was written.", INTERRUPTED, words)
    except StoppedError as stop:
        return _complain(f"interrupted; {stop}", INTERRUPTED, words)


def _code(words: list[str]) -> int:
    import typer
    from typer.exceptions import TyperException

    from unveil.cli.verbs import app
    from unveil.errors import ModelNotMetError, UnveilError

    try:
        code = typer.main.get_command(app).main(args=words or ["--help"], prog_name="unveil", standalone_mode=False)
    except typer.Abort:
        raise KeyboardInterrupt from None
    except ModelNotMetError as error:
        return _complain(str(error), NOT_MET, words)
    except UnveilError as error:
        return _complain(str(error), BAD_INPUT, words)
    except TyperException as error:
        return _complain(f"{error.format_message()} (try: unveil --help)", BAD_INPUT, words)
    except MemoryError:
        return _complain("there is not enough memory for this; name fewer columns.", BAD_INPUT, words)
    if code == INTERRUPTED:
        raise KeyboardInterrupt
    return code if isinstance(code, int) else 0


def _complain(message: str, code: int, words: Sequence[str]) -> int:
    """Say what is wrong in one line, without the credentials of an address among the words of the command line."""
    from unveil.credentials import hidden_in_message

    print("unveil:", " ".join(hidden_in_message(message, words).split()), file=sys.stderr)  # noqa: T201 - the command line speaks here
    return code
