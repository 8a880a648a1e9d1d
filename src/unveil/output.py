"""How is a file written? Whole or not at all: a reader finds the old file or the new one, never half of either."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import BinaryIO

from unveil.credentials import without_credentials
from unveil.errors import OutputError, UnveilError

__all__ = ["atomic_write", "cannot_write", "check_replaceable", "file_in_hand", "together"]

_LONGEST_PREFIX = 40
_SYSTEM_ERROR = re.compile(r"\(os error ([0-9]+)\)")
"""How a library that writes for us says what the system said."""
_waiting: ContextVar[list[tuple[Path, Path]] | None] = ContextVar("waiting", default=None)
"""The hidden files that are written and wait for others, each with the place it will take; None: none waits."""


@contextlib.contextmanager
def together() -> Iterator[None]:
    """Let all files that are written in the block appear when it ends well, and none of them when it does not.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with contextlib.suppress(KeyboardInterrupt), together():
    ...         with atomic_write(Path(folder, "one.csv")) as file:
    ...             _ = file.write(b"key,rate")
    ...         raise KeyboardInterrupt
    ...     list(Path(folder).iterdir())
    []
    """
    if _waiting.get() is not None:  # within another such block, which decides
        yield
        return
    written: list[tuple[Path, Path]] = []
    before = _waiting.set(written)
    try:
        yield
        for hidden, real in written:
            _take_place(hidden, real)
    finally:
        _waiting.reset(before)
        for hidden, _ in written:
            with contextlib.suppress(OSError):
                hidden.unlink(missing_ok=True)


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str], *, private: bool = False) -> Iterator[BinaryIO]:
    """Open a binary file that appears at `path` when the block ends well, and not at all when it does not.

    What is written goes to a hidden file in the same folder, which then takes the place of an older file in one step.
    After an error or an interrupt the hidden file is gone and the older file is as it was. Where `path` is a link, the
    file it leads to is replaced. A new file has the rights that a plain `open` would give it, a replaced one keeps
    its own; one that is `private` may be read by its owner alone. A library that writes to a path, not to an open file,
    may write to the file's `name`.

    Raises
    ------
    OutputError
        If the file cannot be written. Any other error of the block passes through.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = Path(folder, "rates.csv")
    ...     with atomic_write(target) as file:
    ...         _ = file.write(b"key,rate")
    ...     target.read_bytes()
    b'key,rate'
    """
    mode = check_replaceable(path)
    real = Path(os.path.realpath(path))
    hidden = real.with_name(f".{real.name[:_LONGEST_PREFIX]}.{secrets.token_hex(8)}.tmp")
    others, waits = _waiting.get(), False
    try:
        with hidden.open("xb") as file:
            if private or mode is not None:
                hidden.chmod(0o600 if private else mode or 0o600)  # before there is anything to read
            yield file
            _to_disk(file, hidden)
        if others is None:
            _take_place(hidden, real)
        else:
            others.append((hidden, real))
            waits = True
    except OSError as error:
        if isinstance(error, UnveilError) or str(error.filename or hidden) != str(hidden):
            raise  # the block's own trouble, with another file
        raise cannot_write(path, error) from error
    finally:
        if not waits:
            with contextlib.suppress(OSError):
                hidden.unlink(missing_ok=True)


def file_in_hand(path: str | os.PathLike[str]) -> Path:
    """Return the file that holds what will be at `path`: within `together`, the one that waits to take its place."""
    real = Path(os.path.realpath(path))
    waiting = [hidden for hidden, place in _waiting.get() or () if place == real]
    return waiting[-1] if waiting else real


def check_replaceable(path: str | os.PathLike[str]) -> int | None:
    """Refuse a place where no file can be put; return the rights of the file that is there, if there is one."""
    real = Path(os.path.realpath(path))
    try:
        found = real.stat()
    except FileNotFoundError as error:
        if not real.parent.is_dir():
            raise cannot_write(path, error) from error
        return None
    except OSError as error:
        raise cannot_write(path, error) from error
    if stat.S_ISDIR(found.st_mode):
        raise cannot_write(path, IsADirectoryError(errno.EISDIR, ""))
    if not stat.S_ISREG(found.st_mode):
        raise OutputError(f"cannot write {without_credentials(path)!r}: it is a device or a pipe, where no file can be put.")
    if not os.access(real, os.W_OK):
        raise cannot_write(path, PermissionError(errno.EACCES, ""))
    return stat.S_IMODE(found.st_mode)


def cannot_write(path: str | os.PathLike[str], error: OSError) -> OutputError:
    """Say in one line why a file cannot be written."""
    folder = repr(without_credentials(Path(path).parent))
    reasons = {
        errno.ENOENT: f"the folder {folder} does not exist.",
        errno.ENOTDIR: f"{folder} is not a folder.",
        errno.EISDIR: "it is a folder; name a file in it.",
        errno.EACCES: "permission denied; choose another place, or close the program that holds the file.",
        errno.EPERM: "permission denied; choose another place.",
        errno.EROFS: "the disk is read-only; choose another place.",
        errno.ENOSPC: "the disk is full.",
        errno.EDQUOT: "the disk quota is used up.",
        errno.ENAMETOOLONG: "the file name is too long.",
    }
    said = _SYSTEM_ERROR.search(str(error))
    number = error.errno or (int(said[1]) if said else 0)
    reason = reasons.get(number) or f"{error.strerror or error}."
    return OutputError(f"cannot write {without_credentials(path)!r}: {reason}")


def _to_disk(file: BinaryIO, hidden: Path) -> None:
    """Have the content on the disk before it gets its name (the block may have closed the file)."""
    if file.closed:
        with hidden.open("r+b") as again:
            os.fsync(again.fileno())
        return
    file.flush()
    os.fsync(file.fileno())


def _take_place(hidden: Path, real: Path) -> None:
    """Let a file that is on the disk take its place in one step."""
    try:
        hidden.replace(real)
    except OSError as error:
        raise cannot_write(real, error) from error
    _folder_to_disk(real.parent)


def _folder_to_disk(folder: Path) -> None:
    """Have the new name on the disk too, where the system allows it."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
