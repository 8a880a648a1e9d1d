"""Standard input and growing files: one record per line, as a JSON object or as delimited fields.

A line is read as soon as it is complete, so one that is still being written is read once its end has arrived. The position is
the byte after the last line read. A file that became shorter, or was replaced, is refused during reading and when a run
continues.

The header of a delimited file names its columns, and the first lines give them types. A column has the type of whole numbers, or
of numbers, as long as every text in it is one in the usual form; otherwise it is text. A line with more or fewer fields than the
header is malformed. An empty field is a null.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
import select
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

from unveil.attributes import require_columns
from unveil.errors import (
    DataChangedError,
    DataFileError,
    DataNotFoundError,
    DuplicateColumnError,
    EmptyDataError,
    reason_of,
    shown,
)
from unveil.run import active_run
from unveil.sources.streams.base import StreamBatch, StreamOptions, named_types, types_of
from unveil.sources.streams.decoding import JsonRecords

__all__ = ["DelimitedRecords", "LineFile", "StandardInput", "whole_lines"]

_SEPARATORS = ",;\t|"


class DelimitedRecords:
    """A reader of the lines of a delimited file, of which the first is the header."""

    def __init__(self, place: str, columns: Sequence[str], missing: Sequence[str] = ()) -> None:
        self._place = place
        self._columns = list(columns)
        self._missing = frozenset({"", *missing})
        self.types: dict[str, Any] = {}
        self._names: list[str] = []
        self._separator = ","

    def header(self, line: bytes) -> None:
        """Determine the columns from the first line."""
        text = _decoded(line, self._place).removeprefix("\ufeff").rstrip("\r\n")
        self._separator = max(_SEPARATORS, key=text.count)
        self._names = next(csv.reader([text], delimiter=self._separator), [])
        if len(set(self._names)) < len(self._names):
            twice = next(name for name in self._names if self._names.count(name) > 1)
            raise DuplicateColumnError.named(twice, self._place)
        require_columns(self._columns, self._names)

    def frame(self, lines: bytes) -> tuple[pl.DataFrame, list[bytes]]:
        """Return the columns of all lines with as many fields as the header, and the other lines."""
        malformed: list[bytes] = []
        texts = self._at_once(lines)
        if texts is None:
            texts, malformed = self._one_by_one(lines)
        return pl.DataFrame({name: self._typed(texts[name]) for name in self._columns}), malformed

    def _at_once(self, lines: bytes) -> pl.DataFrame | None:
        """Read lines all at once if they have no quotes and the right number of fields; otherwise return None."""
        number = lines.count(b"\n") + (not lines.endswith(b"\n"))
        fields = lines.count(self._separator.encode())
        if b'"' in lines or fields != number * (len(self._names) - 1) or b"\n\n" in lines or lines.isspace():
            return None
        try:
            frame = pl.read_csv(
                lines, has_header=False, separator=self._separator, infer_schema=False, quote_char=None, new_columns=self._names
            )
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            return None
        return frame if frame.height == number and frame.width == len(self._names) else None

    def _one_by_one(self, lines: bytes) -> tuple[pl.DataFrame, list[bytes]]:
        rows: list[list[str]] = []
        malformed: list[bytes] = []
        for line in whole_lines(lines):
            if not line.strip():
                continue
            try:
                fields = next(
                    csv.reader(io.StringIO(line.decode().rstrip("\r\n"), newline=""), delimiter=self._separator, strict=True)
                )
            except (UnicodeDecodeError, csv.Error, StopIteration):
                malformed.append(line)
                continue
            rows.append(fields) if len(fields) == len(self._names) else malformed.append(line)
        return pl.DataFrame(rows, schema=dict.fromkeys(self._names, pl.String), orient="row"), malformed

    def _typed(self, texts: pl.Series) -> pl.Series:
        """Return a column in the type that its texts, and all earlier ones, allow."""
        texts = texts.set(texts.is_in(list(self._missing)), None)
        if texts.null_count() == len(texts):
            return texts
        known = self.types.get(texts.name, pl.Int64)
        for kind in [pl.Int64, pl.Float64][[pl.Int64, pl.Float64, pl.String].index(known) :]:
            read = texts.cast(kind, strict=False)
            plain = kind == pl.Float64 or bool((read.cast(pl.String) == texts).all())
            if read.null_count() == texts.null_count() and plain and not _padded(texts):
                self.types[texts.name] = kind
                return read
        self.types[texts.name] = pl.String
        return texts


def _padded(texts: pl.Series) -> bool:
    """Whether some texts are codes, not numbers, because they begin with a superfluous zero."""
    return bool(texts.str.contains(r"^[+-]?0\d").any())


def whole_lines(lines: bytes) -> list[bytes]:
    """Return lines cut at the line breaks outside quotes."""
    if b'"' not in lines:
        return lines.split(b"\n")
    whole: list[bytes] = []
    open_line = b""
    for line in lines.split(b"\n"):
        open_line = open_line + b"\n" + line if open_line else line
        if open_line.count(b'"') % 2 == 0:
            whole.append(open_line)
            open_line = b""
    return [*whole, open_line] if open_line else whole


def _decoded(line: bytes, place: str) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        raise DataFileError(f"{place}: the header is not UTF-8; convert the file first.") from None


_PAUSE = 0.2
"""The number of seconds between checks of a file that does not grow."""
_HEAD = 1 << 10
"""The number of bytes at the start by which a file is recognised."""


class _Lines:
    """Cuts input into whole lines, and turns them into columns."""

    def __init__(self, place: str, columns: Sequence[str], options: StreamOptions) -> None:
        self._place = place
        self._settings = (place, columns, options.missing)
        self._records: JsonRecords | DelimitedRecords | None = None
        self._rest = b""
        self.done = 0

    def batch(self, piece: bytes, *, last: bool = False) -> tuple[Any, list[bytes]] | None:
        """Return the columns of the lines that are complete now, and the malformed lines; None if there are no lines."""
        whole = self._rest + piece
        end = len(whole) if last else _end_of_lines(whole, quoted=isinstance(self._records, DelimitedRecords))
        lines, self._rest = whole[:end], whole[end:]
        start = self.done
        self.done += end
        if self._records is None:
            lines = self._begun(lines, at_start=start == 0)
        if self._records is None or not lines or lines.isspace():
            return None
        return self._records.frame(lines)

    @property
    def types(self) -> dict[str, str]:
        """The types of the columns so far."""
        return {} if self._records is None else named_types(self._records.types)

    def begin(self, head: bytes, done: int, types: Mapping[str, str]) -> None:
        """Start after `done` bytes, with the format detected at the start of the file and the types known by then."""
        self._begun(head, at_start=True)
        self.done = done
        if self._records is not None:
            self._records.types = types_of(types)

    def _begun(self, lines: bytes, *, at_start: bool) -> bytes:
        """Detect from the first line whether lines are JSON or delimited; return the lines after a header."""
        text = lines.lstrip(b"\xef\xbb\xbf \t\r\n")
        if not text:
            return b""
        if text.startswith(b"{"):
            self._records = JsonRecords(*self._settings)
            return text
        records = DelimitedRecords(*self._settings)
        header, _, rest = lines.partition(b"\n")
        records.header(header)
        self._records = records
        return rest if at_start else lines


def _end_of_lines(whole: bytes, *, quoted: bool) -> int:
    """Return the end of the last whole line; a line break inside quotes ends no line."""
    end = whole.rfind(b"\n") + 1
    while quoted and end and whole.count(b'"', 0, end) % 2:
        end = whole.rfind(b"\n", 0, end - 1) + 1
    return end


class StandardInput:
    """Standard input, read once."""

    place = "standard input"

    def __init__(self, options: StreamOptions) -> None:
        self._options = options

    def batches(self, columns: Sequence[str], position: Any = None) -> Iterator[StreamBatch | None]:  # noqa: ARG002 - it has no position to start from
        """Yield the lines as they arrive, until the input ends."""
        lines = _Lines(self.place, columns, self._options)
        stream = sys.stdin.buffer
        while piece := _whatever_is_there(stream):
            if piece is _NOTHING:
                yield None
                continue
            if (read := lines.batch(piece)) is not None:
                yield StreamBatch(read[0], lines.done, tuple(read[1]))
        if (read := lines.batch(b"", last=True)) is not None:
            yield StreamBatch(read[0], lines.done, tuple(read[1]))
        if not lines.done:
            raise EmptyDataError("standard input: there was nothing to read.")

    def committed(self, position: Any) -> None:
        """Do nothing, because input cannot be read again."""

    def close(self) -> None:
        """Do nothing: standard input stays open."""


_NOTHING = b"\x00nothing"


def _whatever_is_there(stream: BinaryIO) -> bytes:
    """Return the input that has arrived, up to a useful size; `_NOTHING` after a pause without input, b"" at the end."""
    descriptor = stream.fileno()
    parts: list[bytes] = []
    size, most = 0, active_run().limits.lines
    while size < most:
        ready, _, _ = select.select([descriptor], [], [], 0.02 if parts else _PAUSE)
        if not ready:
            break
        part = os.read(descriptor, most - size)
        if not part:
            break
        parts.append(part)
        size += len(part)
    else:
        return b"".join(parts)
    return b"".join(parts) if parts or ready else _NOTHING


class LineFile:
    """A file of lines that may grow."""

    def __init__(self, path: Path, options: StreamOptions) -> None:
        self.place = str(path)
        self._path = path
        self._options = options

    def batches(self, columns: Sequence[str], position: Any = None) -> Iterator[StreamBatch | None]:
        """Yield the lines after a position, and those that are appended later."""
        lines = _Lines(self.place, columns, self._options)
        with self._opened() as file:
            self._go_to(file, lines, position)
            while True:
                piece = file.read(active_run().limits.lines)
                if piece:
                    if (read := lines.batch(piece)) is not None:
                        yield self._batch(file, lines, read)
                elif not self._options.follow:
                    break
                else:
                    yield None
                    self._require_grown(file)
                    time.sleep(_PAUSE)
            if (read := lines.batch(b"", last=True)) is not None:
                yield self._batch(file, lines, read)

    def committed(self, position: Any) -> None:
        """Do nothing, because a file can be read again."""

    def close(self) -> None:
        """Do nothing, because the file is closed when the batches end."""

    def _opened(self) -> BinaryIO:
        try:
            return self._path.open("rb")
        except (OSError, ValueError) as error:
            raise DataNotFoundError(f"{shown(self.place)} cannot be read: {reason_of(error)}.") from None

    def _batch(self, file: BinaryIO, lines: _Lines, read: tuple[Any, list[bytes]]) -> StreamBatch:
        position = {"offset": lines.done, "head": _head(file, lines.done), "types": lines.types}
        return StreamBatch(read[0], position, tuple(read[1]))

    def _go_to(self, file: BinaryIO, lines: _Lines, position: Any) -> None:
        """Go to where a run ended; refuse a file that no longer begins as it did then."""
        if position is None:
            return
        offset = int(position["offset"])
        if os.fstat(file.fileno()).st_size < offset or _head(file, offset) != position["head"]:
            raise DataChangedError(
                f"{self.place}: the checkpoint was made of another file, or of one that has changed since; name the same file, "
                "or start again without the checkpoint."
            )
        lines.begin(file.read(active_run().limits.lines), offset, position["types"])
        file.seek(offset)

    def _require_grown(self, file: BinaryIO) -> None:
        """Refuse a file that became shorter, or whose name now belongs to another file."""
        try:
            same = os.path.samestat(os.fstat(file.fileno()), self._path.stat())
        except OSError:
            same = False
        if not same or os.fstat(file.fileno()).st_size < file.tell():
            raise DataChangedError(
                f"{self.place}: the file was replaced, or became shorter, while it was read; all of it up to then is counted. "
                "Start again for the new file."
            )


def _head(file: BinaryIO, offset: int) -> str:
    """Return a fingerprint of the start of a file, at most up to an offset."""
    at = file.tell()
    file.seek(0)
    start = file.read(min(_HEAD, offset))
    file.seek(at)
    return hashlib.blake2b(start, digest_size=16).hexdigest()
