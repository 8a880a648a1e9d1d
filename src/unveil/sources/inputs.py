"""Where the bytes come from: a file, a pipe or standard input, compressed or not.

Bytes that can be read only once (standard input, a pipe) are kept for the life of the process, so that the names of the
columns can be asked first and the values afterwards.
"""

from __future__ import annotations

import gzip
import io
import os
import stat
import sys
import zlib
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from unveil.credentials import without_credentials
from unveil.errors import DataFileError, DataNotFoundError, EmptyDataError, near_miss, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Input", "locate"]

_CHUNK = 1 << 20
_GZIP_MAGIC = b"\x1f\x8b"
_HEAD = 4096
_LONGEST_PLACE = 200
_MOST_SIBLINGS = 10_000
_PATTERN_CHARACTERS = frozenset("*?[]{}")

_held: dict[tuple[object, ...], bytes] = {}


@dataclass(frozen=True, slots=True)
class Input:
    """Bytes with a name: a file that engines may open by its path, or content held in memory."""

    place: str
    suffix: str
    path: str | None = None
    content: bytes = b""
    gzipped: bool = False

    def chunks(self) -> Iterator[bytes]:
        """Give the bytes piece by piece, decompressed."""
        try:
            with self._stream() as stream:
                while chunk := stream.read(_CHUNK):
                    yield chunk
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise DataFileError(f"{self.place}: the gzip data is damaged or cut short; fetch the file anew.") from None
        except OSError as error:
            raise _unreadable(self.place, error) from None

    def head(self) -> bytes:
        """Give the first bytes, decompressed; none if there is nothing."""
        return next(self.chunks(), b"")[:_HEAD]

    def for_engine(self) -> str | io.BytesIO:
        """Give what a data frame engine opens: the path if it can read that itself, else the bytes."""
        if self.path is not None and not self.gzipped and _is_literal(path := str(Path(self.path).absolute())):
            return path
        return io.BytesIO(b"".join(self.chunks()))

    def _stream(self) -> BinaryIO:
        if self.gzipped:
            return cast("BinaryIO", gzip.open(self.path or io.BytesIO(self.content)))
        return Path(self.path).open("rb") if self.path is not None else io.BytesIO(self.content)


def locate(path: str | os.PathLike[str]) -> Input:
    """Find what `path` names ("-": standard input), refusing what is missing, empty or no file."""
    text = os.fsdecode(path)
    if text == "-":
        return _not_empty(Input("standard input", "", content=_standard_input()))
    place = _place(text)
    found = _stat(text, place)
    if stat.S_ISDIR(found.st_mode):
        raise DataFileError(f"{place}: this is a folder; name a file in it.")
    suffix = _suffix(text)
    if stat.S_ISFIFO(found.st_mode):
        return _not_empty(Input(place, suffix, content=_piped(text, place, found)))
    if not stat.S_ISREG(found.st_mode):
        raise DataFileError(f"{place}: this is a device, not a file; name a file, or '-' for standard input.")
    return _not_empty(Input(place, suffix, path=text))


def _not_empty(source: Input) -> Input:
    """Return the input with its compression found, or refuse one of zero bytes."""
    head = source.head()
    if not head:
        raise EmptyDataError(f"{source.place}: the file is empty; there is nothing to read.")
    gzipped = head.startswith(_GZIP_MAGIC)
    return Input(source.place, source.suffix, source.path, source.content, gzipped)


def _stat(path: str, place: str) -> os.stat_result:
    try:
        return os.stat(path)  # noqa: PTH116 - to Path the empty path is the present folder
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise DataNotFoundError(f"{place}: there is no such file.{_sibling(path)}") from None
    except OSError as error:
        raise _unreadable(place, error) from None


def _sibling(path: str) -> str:
    """Hint at the file of the same folder whose name is closest, if any is close."""
    folder, name = os.path.split(path)
    try:
        names = [entry.name for entry in islice(Path(folder or ".").iterdir(), _MOST_SIBLINGS)]
    except (OSError, ValueError):
        return ""
    return near_miss(name, names)


def _unreadable(place: str, error: OSError) -> DataFileError:
    reason = (error.strerror or "the system gives no reason").lower()
    return DataFileError(f"{place}: the file cannot be read: {reason}.")


def _place(path: str) -> str:
    """Write a path for a message: without credentials, else as it is, unless it is very long or would break the line."""
    named = without_credentials(path)
    return named if named.isprintable() and 0 < len(named) <= _LONGEST_PLACE else shown(named)


def _suffix(path: str) -> str:
    """Return the last suffix in lower case, that of compression left out."""
    return Path(Path(path).name.lower().removesuffix(".gz")).suffix


def _is_literal(path: str) -> bool:
    """Tell whether an engine takes a path as it stands, and for no pattern of paths."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return not _PATTERN_CHARACTERS.intersection(path)


def _standard_input() -> bytes:
    try:
        stream = sys.stdin.buffer
        key = (stream,)
        if key not in _held:
            _held[key] = stream.read()
    except (AttributeError, OSError, ValueError):
        raise DataFileError("standard input: it is closed; name a file instead.") from None
    return _held[key]


def _piped(path: str, place: str, found: os.stat_result) -> bytes:
    key = ("pipe", found.st_dev, found.st_ino)
    if key not in _held:
        try:
            _held[key] = Path(path).read_bytes()
        except OSError as error:
            raise _unreadable(place, error) from None
    return _held[key]
