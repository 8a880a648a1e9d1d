"""Files that are written whole or not at all: a reader finds the old file or the new one, never a part of either."""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from glob import glob
from pathlib import Path
from typing import BinaryIO

from unveil.credentials import without_credentials
from unveil.errors import ArgumentError, OutputError, UnveilError, reason_of, shown

__all__ = [
    "atomic_write",
    "cannot_write",
    "check_replaceable",
    "failures_reported",
    "file_in_hand",
    "hidden_folder",
    "placed",
    "private_file",
    "remove_hidden",
    "require_not_read",
    "taking_place",
    "together",
]  # fmt: skip

_LONGEST_PREFIX = 40
_SYSTEM_ERROR = re.compile(r"\(os error ([0-9]+)\)")
"""The form in which an external writing library reports an error of the operating system."""
_waiting: ContextVar[list[tuple[Path, Path]] | None] = ContextVar("waiting", default=None)
"""The hidden files that are complete and wait for others, each with its final place; None: outside a block of files."""
_hidden: set[Path] = set()
"""Files and folders that exist only during the work."""
placed: list[Path] = []
"""The files that have taken their places, in this order."""
_taking_place: set[object] = set()
"""One mark for every block whose files are currently taking their places."""


@contextlib.contextmanager
def together() -> Iterator[None]:
    """Let all files written in the block appear together when it succeeds; after an error, none of them appears.

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
    if _waiting.get() is not None:  # within another such block, which determines the outcome
        yield
        return
    written: list[tuple[Path, Path]] = []
    before = _waiting.set(written)
    try:
        yield
        _take_places(written)
    finally:
        _waiting.reset(before)
        for hidden, _ in written:
            _remove(hidden)


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str], *, private: bool = False) -> Iterator[BinaryIO]:
    """Open a binary file that appears at `path` when the block succeeds; after an error, it does not appear at all.

    The content is written to a hidden file in the same folder, which then takes the place of an older file in one step. After
    an error or an interrupt the hidden file is removed and the older file is unchanged. If `path` is a link, the file to which
    it leads is replaced. A new file has the permissions that a plain `open` would give it, and a replaced one keeps its own; a
    `private` one can be read only by its owner. A library that writes to a path, not to an open file, may write to the file's
    `name`.

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
    _hidden.add(hidden)
    try:
        with failures_reported(path, hidden), hidden.open("xb") as file:
            if private or mode is not None:
                hidden.chmod(0o600 if private else mode or 0o600)  # before it has any content
            yield file
            _to_disk(file, hidden)
        if others is None:
            _take_places([(hidden, real)])
        else:
            others.append((hidden, real))
            waits = True
    finally:
        if not waits:
            _remove(hidden)


@contextlib.contextmanager
def failures_reported(path: str | os.PathLike[str], written: Path | None = None) -> Iterator[None]:
    """Turn an error in writing a file, of the system or of an external library, into one line about `path`.

    An error that names a file other than `written` passes through, because it belongs to the block.
    """
    try:
        yield
    except UnveilError:
        raise
    except OSError as error:
        if written is not None and str(error.filename or written) != str(written):
            raise
        raise cannot_write(path, error) from error
    except Exception as error:
        said = _SYSTEM_ERROR.search(str(error))
        if said is None:
            raise
        raise cannot_write(path, OSError(int(said[1]), os.strerror(int(said[1])))) from error


@contextlib.contextmanager
def hidden_folder(beside: str | os.PathLike[str]) -> Iterator[Path]:
    """Create a hidden folder beside a file; it exists only until the block ends."""
    folder = Path(os.path.realpath(beside)).parent / f".unveil-{secrets.token_hex(8)}"
    _hidden.add(folder)
    try:
        with failures_reported(beside):
            folder.mkdir(mode=0o700)
        yield folder
    finally:
        _remove(folder)


def private_file() -> tuple[Path, BinaryIO]:
    """Open a new temporary file that only its owner may read, and that is removed when the process ends."""
    path = Path(tempfile.gettempdir(), f"unveil-{secrets.token_hex(16)}")
    _hidden.add(path)
    atexit.register(_remove, path)
    return path, os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "w+b")


def remove_hidden() -> None:
    """Remove the files and folders that exist only during the work, at any stage of the work."""
    for path in tuple(_hidden):
        _remove(path)


def taking_place() -> bool:
    """Whether files are currently taking their places, when an interrupt could leave one of two, and would save nothing."""
    return bool(_taking_place)


def file_in_hand(path: str | os.PathLike[str]) -> Path:
    """Return the file with the future content of `path`: within `together`, the hidden one that waits to take its place."""
    real = Path(os.path.realpath(path))
    waiting = [hidden for hidden, place in _waiting.get() or () if place == real]
    return waiting[-1] if waiting else real


def check_replaceable(path: str | os.PathLike[str]) -> int | None:
    """Refuse a path at which no file can be written; return the permissions of the existing file, if there is one."""
    try:
        real = Path(os.path.realpath(path))
        status = real.stat()
    except ValueError:
        raise OutputError(f"cannot write {without_credentials(path)!r}: no file can have this name.") from None
    except FileNotFoundError as error:
        if not real.parent.is_dir():
            raise cannot_write(path, error) from error
        return None
    except OSError as error:
        raise cannot_write(path, error) from error
    if stat.S_ISDIR(status.st_mode):
        raise cannot_write(path, IsADirectoryError(errno.EISDIR, ""))
    if not stat.S_ISREG(status.st_mode):
        raise OutputError(f"cannot write {without_credentials(path)!r}: it is a device or a pipe, where no file can be put.")
    if not os.access(real, os.W_OK):
        raise cannot_write(path, PermissionError(errno.EACCES, ""))
    return stat.S_IMODE(status.st_mode)


def require_not_read(written: Iterable[Path], read: Iterable[str]) -> None:
    """Refuse to overwrite a file that is read: one of those named, of a pattern, or one of the Parquet files of a folder."""
    written = list(written)
    try:
        places = [os.path.realpath(path) for path in written]
        inputs = [os.path.realpath(one) for path in read for one in (path, *glob(path))] if written else []  # noqa: PTH207
    except ValueError:  # half a surrogate pair, or a null character
        raise ArgumentError("the name of a file to be written or read holds characters that no file name may have.") from None
    for path, place in zip(written, places, strict=True):
        if any(_same(place, one) for one in inputs):
            raise ArgumentError(f"{shown(path)} is read by this call, so it is not overwritten; name another file.")


def cannot_write(path: str | os.PathLike[str], error: OSError) -> OutputError:
    """Return a one-line error on why a file cannot be written."""
    folder = repr(without_credentials(Path(path).parent))
    reasons = {
        errno.ENOENT: f"the folder {folder} {'takes no files' if Path(path).parent.is_dir() else 'does not exist'}.",
        errno.ENOTDIR: f"{folder} is not a folder.",
        errno.EISDIR: "it is a folder; name a file in it.",
        errno.EACCES: "permission denied; choose another place, or close the program that holds the file.",
        errno.EPERM: "permission denied; choose another place.",
        errno.EROFS: "the disk is read-only; choose another place.",
        errno.ENOSPC: "the disk is full.",
        errno.EDQUOT: "the disk quota is used up.",
        errno.EFBIG: "a file may not grow that large here.",
        errno.ENAMETOOLONG: "the file name is too long.",
    }
    said = _SYSTEM_ERROR.search(str(error))
    number = error.errno or (int(said[1]) if said else 0)
    reason = reasons.get(number) or f"{reason_of(error)}."
    return OutputError(f"cannot write {without_credentials(path)!r}: {reason}")


def _same(place: str, read: str) -> bool:
    """Whether a file to be written is one that is read, or would be one of the Parquet files of a folder that is read."""
    within = place.startswith(os.path.join(read, "")) and place.lower().endswith((".parquet", ".pq"))  # noqa: PTH118
    try:
        return place == read or within or os.path.samefile(place, read)  # noqa: PTH121
    except OSError:
        return False


def _to_disk(file: BinaryIO, hidden: Path) -> None:
    """Ensure that the content is on the disk before the file receives its name (the block may have closed the file)."""
    if file.closed:
        with hidden.open("r+b") as again:
            os.fsync(again.fileno())
        return
    file.flush()
    os.fsync(file.fileno())


def _take_places(written: list[tuple[Path, Path]]) -> None:
    """Move files that are on the disk to their places, each in one step."""
    mark = object()
    _taking_place.add(mark)
    try:
        for hidden, real in written:
            with failures_reported(real):
                hidden.replace(real)
            placed.append(real)
        for folder in {real.parent for _, real in written}:
            _folder_to_disk(folder)
    finally:
        _taking_place.discard(mark)


def _remove(path: Path) -> None:
    """Remove a hidden file or folder, which may already be absent."""
    with contextlib.suppress(OSError):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    _hidden.discard(path)


def _folder_to_disk(folder: Path) -> None:
    """Ensure that the new name is also on the disk, if the system allows it."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
