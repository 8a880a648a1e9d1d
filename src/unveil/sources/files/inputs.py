"""Bytes of a file, a pipe or standard input, compressed or not, and their lines of text as UTF-8.

Bytes that can be read only once (standard input, a pipe) are kept for the life of the process, so that the names of
columns can be read first and the values afterwards. Up to 256 MiB are kept in memory, more in a private temporary file.
"""

from __future__ import annotations

import codecs
import gzip
import io
import os
import re
import stat
import sys
import threading
import zipfile
import zlib
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, cast

from unveil.credentials import without_credentials
from unveil.errors import (
    ArgumentError,
    DataFileError,
    DataNotFoundError,
    EmptyDataError,
    OutputError,
    is_unicode,
    listed,
    near_miss,
    reason_of,
    shown,
)
from unveil.output import private_file
from unveil.run import active_run

if TYPE_CHECKING:
    from collections.abc import Iterator


__all__ = ["LONGEST_LINE", "Block", "Input", "encoding_of", "line_blocks", "locate", "named_part", "text_lines"]

_GZIP_MAGIC = b"\x1f\x8b"
_HEAD = 4096
_LONGEST_PLACE = 200
_MOST_SIBLINGS = 10_000
_PART = re.compile(r"(?P<path>.+)\?(?:sheet|member)=(?P<name>.+)", re.DOTALL)
_WITH_SHEETS = frozenset({".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"})
_PATTERN_CHARACTERS = frozenset("*?[]{}")
_MOST_HELD = 256 << 20
"""The most bytes that are kept in memory; if there are more, all are kept in a temporary file."""
_PATIENCE = 1.0
"""Seconds after which a message says what a read is waiting for."""

_held: dict[tuple[object, ...], bytes | str] = {}
"""Input that could be read only once, as its bytes or as the path of the temporary file that keeps them."""
_places: dict[str, str] = {}
"""The origin of the bytes of every temporary file."""


@dataclass(frozen=True, slots=True)
class Input:
    """Bytes with a name: a file that engines may open by its path, or content held in memory."""

    place: str
    suffix: str
    path: str | None = None
    content: bytes = b""
    gzipped: bool = False
    part: str | None = None

    def chunks(self, size: int | None = None) -> Iterator[bytes]:
        """Yield the decompressed bytes piece by piece; pieces have the given size, or are as large as the run allows."""
        block = size or active_run().limits.block
        try:
            with self._stream() as stream:
                while chunk := stream.read(block):
                    yield chunk
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise DataFileError(f"{self.place}: the gzip data is damaged or cut short; fetch the file again.") from None
        except OSError as error:
            raise _unreadable(self.place, error) from None

    def head(self) -> bytes:
        """Return the first bytes, decompressed; no bytes if the input is empty."""
        return next(self.chunks(_HEAD), b"")

    def for_engine(self) -> str | io.BytesIO:
        """Return what a data frame engine can open: the path if it can read the file itself, else the bytes."""
        if self.path is not None and not self.gzipped and _is_literal(path := str(Path(self.path).absolute())):
            return path
        return io.BytesIO(b"".join(self.chunks()))

    def plain_path(self) -> str:
        """Return the path of a file with the decompressed bytes; a private temporary file if they are packed or in memory."""
        if self.path is not None and not self.gzipped:
            return self.path
        key = ("plain", self.place, self.path and Path(self.path).stat().st_mtime_ns, hash(self.content))
        if key not in _held:
            path, file = private_file()
            with file:
                for chunk in self.chunks():
                    file.write(chunk)
            _held[key], _places[str(path)] = str(path), self.place
        return str(_held[key])

    def _stream(self) -> BinaryIO:
        if self.gzipped:
            return cast("BinaryIO", gzip.open(self.path or io.BytesIO(self.content)))
        return Path(self.path).open("rb") if self.path is not None else io.BytesIO(self.content)


def locate(path: str | os.PathLike[str]) -> Input:
    """Return the input that `path` names ("-": standard input); refuse one that is missing, empty or not a file."""
    text = os.fsdecode(path)
    if text == "-":
        return _not_empty(_once("standard input", "", _standard_input()))
    text, part = named_part(text)
    place = _places.get(text) or _place(text)
    status = _stat(text, place)
    if stat.S_ISDIR(status.st_mode):
        raise DataFileError(f"{place}: this is a folder; name a file in it.")
    suffix = _suffix(text)
    if stat.S_ISFIFO(status.st_mode):
        return _not_empty(_once(place, suffix, _piped(text, place, status)))
    if not stat.S_ISREG(status.st_mode):
        raise DataFileError(f"{place}: this is a device, not a file; name a file, or '-' for standard input.")
    if suffix == ".zip":
        return _not_empty(_member(text, place, part, status))
    if part is not None and suffix not in _WITH_SHEETS:
        raise ArgumentError(f"{place}: only a workbook has sheets and only a zip archive members; name the file alone.")
    return _not_empty(Input(place, suffix, path=text, part=part))


def named_part(path: str) -> tuple[str, str | None]:
    """Return a path and the sheet or member named after it; a file with that whole name takes precedence.

    Examples
    --------
    >>> named_part("book.xlsx?sheet=Staff 2026"), named_part("people.csv")
    (('book.xlsx', 'Staff 2026'), ('people.csv', None))
    """
    match = _PART.fullmatch(path)
    if match is None or os.path.exists(path):  # noqa: PTH110 - Path raises for a name that no file can have
        return path, None
    return match["path"], match["name"]


def _member(path: str, place: str, part: str | None, status: os.stat_result) -> Input:
    """Unpack a file of a zip archive: the named one, or the only one."""
    try:
        with zipfile.ZipFile(path) as archive:
            known = [one.filename for one in archive.infolist() if not one.is_dir() and not one.filename.startswith("__MACOSX/")]
            name = _chosen(place, known, part)
            key = ("zip", status.st_dev, status.st_ino, status.st_mtime_ns, name)
            if key not in _held:
                with archive.open(name) as stream:
                    _held[key] = _kept(cast("BinaryIO", stream), place)
    except RuntimeError:  # the library raises this for a member that needs a password
        raise DataFileError(f"{place}: the archive is encrypted; unpack it first.") from None
    except (zipfile.BadZipFile, EOFError, zlib.error, NotImplementedError):
        raise DataFileError(f"{place}: this is not a zip archive, or it is damaged; fetch the file again.") from None
    return _once(f"{place}?member={name}" if len(known) > 1 else place, _suffix(name), _held[key])


def _chosen(place: str, known: list[str], part: str | None) -> str:
    if part is not None and part not in known:
        raise ArgumentError(f"{place}: there is no member {shown(part)} in the archive; members are: {listed(known)}.")
    if not known:
        raise EmptyDataError(f"{place}: there is no file in the archive.")
    if part is None and len(known) > 1:
        raise ArgumentError(
            f"{place}: the archive has {len(known):,} files; name one, as '{place}?member={known[0]}'. They are: {listed(known)}."
        )
    return part or known[0]


def _once(place: str, suffix: str, kept: bytes | str) -> Input:
    """Return input that can be read only once, from where it is kept."""
    return Input(place, suffix, path=kept) if isinstance(kept, str) else Input(place, suffix, content=kept)


def _not_empty(source: Input) -> Input:
    """Return the input with its compression detected; refuse empty input."""
    head = source.head()
    if not head:
        raise EmptyDataError(f"{source.place}: the file is empty; there is nothing to read.")
    gzipped = head.startswith(_GZIP_MAGIC)
    return replace(source, gzipped=gzipped)


def _stat(path: str, place: str) -> os.stat_result:
    try:
        return os.stat(path)  # noqa: PTH116 - to Path, the empty path is the current folder
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise DataNotFoundError(f"{place}: there is no such file.{_sibling(path)}") from None
    except OSError as error:
        raise _unreadable(place, error) from None


def _sibling(path: str) -> str:
    """Return a hint at the file in the same folder with the closest name, if any is close."""
    folder, name = os.path.split(path)
    try:
        names = [entry.name for entry in islice(Path(folder or ".").iterdir(), _MOST_SIBLINGS)]
    except (OSError, ValueError):
        return ""
    return near_miss(name, names)


def _unreadable(place: str, error: OSError) -> DataFileError:
    return DataFileError(f"{place}: the file cannot be read: {reason_of(error)}.")


def _place(path: str) -> str:
    """Return a path for a message: without credentials, and shortened or escaped only if very long or unprintable."""
    named = without_credentials(path)
    return named if named.isprintable() and 0 < len(named) <= _LONGEST_PLACE else shown(named)


def _suffix(path: str) -> str:
    """Return the last suffix in lower case, ignoring a suffix of compression."""
    return Path(Path(path).name.lower().removesuffix(".gz")).suffix


def _is_literal(path: str) -> bool:
    """Whether an engine takes a path literally, not as a pattern of paths."""
    return is_unicode(path) and not _PATTERN_CHARACTERS.intersection(path)


def _standard_input() -> bytes | str:
    try:
        stream = sys.stdin.buffer
        key = (stream,)
        if key not in _held:
            with _announced_after(0.0 if sys.stdin.isatty() else None, "standard input is read; end it with Ctrl-D"):
                _held[key] = _kept(stream, "standard input")
    except (AttributeError, ValueError, OSError) as error:
        if isinstance(error, OutputError):
            raise
        raise DataFileError("standard input: it is closed; name a file instead.") from None
    return _held[key]


def _piped(path: str, place: str, status: os.stat_result) -> bytes | str:
    key = ("pipe", status.st_dev, status.st_ino)
    if key not in _held:
        try:
            with ExitStack() as opened:
                with _announced_after(_PATIENCE, f"waiting for a writer of the pipe {place}"):
                    stream = opened.enter_context(Path(path).open("rb", buffering=0))
                _held[key] = _kept(stream, place)
        except OSError as error:
            if isinstance(error, OutputError):
                raise
            raise _unreadable(place, error) from None
    return _held[key]


def _kept(stream: BinaryIO | io.RawIOBase, place: str) -> bytes | str:
    """Read to the end, and return the bytes, or the path of the temporary file that keeps them."""
    first, block = bytearray(), active_run().limits.block
    while len(first) <= _MOST_HELD:
        chunk = stream.read(block)
        if not chunk:
            return bytes(first)
        first += chunk
    try:
        path, file = private_file()
        with file:
            file.write(first)
            first.clear()
            while chunk := stream.read(block):
                file.write(chunk)
    except OSError as error:
        raise OutputError(
            f"{place}: input longer than {_MOST_HELD >> 20:,} MiB is kept in a temporary file, and that cannot be written: "
            f"{reason_of(error)}; set TMPDIR to a folder with room, or name a file."
        ) from None
    _places[str(path)] = place
    return str(path)


@contextmanager
def _announced_after(seconds: float | None, what: str) -> Iterator[None]:
    """Notify the user of what the block waits for if it lasts longer than `seconds`; None: never."""
    if seconds is None:
        yield
        return
    timer = threading.Timer(seconds, active_run().notify, [f"{what}."])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


LONGEST_LINE = 64 << 20
"""The greatest length of a line of text, in bytes."""

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


class Block(NamedTuple):
    """Whole lines of UTF-8, each with its line end, and the number of the first."""

    line: int
    data: bytes


def encoding_of(source: Input, encoding: str | None) -> str:
    """Return the codec's normal name: of the given encoding, or of that of a byte order mark, or of UTF-8."""
    if encoding is None:
        head = source.head()
        encoding = next((name for mark, name in _MARKS if head.startswith(mark)), "utf-8")
    return codecs.lookup(encoding).name.removesuffix("-sig")


def line_blocks(source: Input, encoding: str) -> Iterator[Block]:
    """Cut the text into blocks of whole lines; refuse input that is not text."""
    chunks = _plain(source) if encoding == "utf-8" else _recoded(source, encoding)
    line, pending = 1, bytearray()
    for chunk in chunks:
        _refuse_nul(source.place, line, pending, chunk)
        cut = chunk.rfind(b"\n") + 1
        pending += chunk[:cut] if cut else chunk
        if cut:
            yield _checked(source.place, Block(line, bytes(pending)))
            line += pending.count(b"\n")
            pending = bytearray(chunk[cut:])
        if len(pending) > LONGEST_LINE:
            size = LONGEST_LINE >> 20
            raise DataFileError.at_line(source.place, line, f"the line is longer than {size} MiB; this is not a table of text.")
    if pending:
        yield _checked(source.place, Block(line, bytes(pending) + b"\n"))


def text_lines(blocks: Iterator[Block]) -> Iterator[tuple[int, str]]:
    """Yield every line with its number, without the line feed at its end."""
    for block in blocks:
        yield from enumerate(block.data.decode().split("\n")[:-1], block.line)


def _plain(source: Input) -> Iterator[bytes]:
    """Yield UTF-8 as it is, without its byte order mark."""
    chunks = source.chunks()
    yield next(chunks, b"").removeprefix(codecs.BOM_UTF8)
    yield from chunks


def _recoded(source: Input, encoding: str) -> Iterator[bytes]:
    """Decode the bytes, and yield them encoded as UTF-8."""
    decoder = codecs.getincrementaldecoder(encoding)()
    line, first = 1, True
    for chunk in _ended(source.chunks()):
        state = decoder.getstate()
        try:
            text = decoder.decode(chunk, final=not chunk)
            data = (text.removeprefix("\ufeff") if first else text).encode()
        except UnicodeError as error:
            decoder.setstate(state)
            line += _lines_before(decoder, chunk, error, len(state[0]))
            raise DataFileError.at_line(
                source.place, line, f"the bytes are no valid {encoding}; give the encoding the file was written in."
            ) from None
        yield data
        line += text.count("\n")
        first = first and not text


def _ended(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the chunks, and an empty one to mark the end."""
    yield from chunks
    yield b""


def _lines_before(decoder: codecs.IncrementalDecoder, chunk: bytes, error: UnicodeError, buffered: int) -> int:
    """Count the line feeds of the chunk before the byte that could not be decoded."""
    if not isinstance(error, UnicodeDecodeError):
        return 0
    return decoder.decode(chunk[: max(error.start - buffered, 0)]).count("\n")


def _refuse_nul(place: str, line: int, pending: bytearray, chunk: bytes) -> None:
    position = chunk.find(b"\0")
    if position >= 0:
        line += pending.count(b"\n") + chunk.count(b"\n", 0, position)
        raise DataFileError.at_line(
            place, line, "here is a NUL byte, so this is not plain text; if it is UTF-16 text, give the encoding."
        )


def _checked(place: str, block: Block) -> Block:
    """Return the block; refuse bytes that are not UTF-8."""
    try:
        if not block.data.isascii():
            block.data.decode()
    except UnicodeDecodeError as error:
        line = block.line + block.data.count(b"\n", 0, error.start)
        raise DataFileError.at_line(
            place, line, "the bytes are no valid UTF-8; give the encoding of the file, such as cp1252 or latin-1."
        ) from None
    return block
