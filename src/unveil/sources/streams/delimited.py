"""Lines of a growing delimited file as columns: the header names them, and the first lines give them types.

A column has the type of whole numbers, or of numbers, as long as every text in it is one in the usual form; otherwise it is
text. A line with more or fewer fields than the header is malformed. An empty field is a null.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

import polars as pl

from unveil.attributes import require_columns
from unveil.errors import DataFileError, DuplicateColumnError

__all__ = ["DelimitedRecords", "whole_lines"]

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
