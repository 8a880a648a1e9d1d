"""The fields of a record of delimited text.

The grammar is that of RFC 4180, with one exception: a quote inside a field that does not begin with one is
an ordinary character. A field that begins with a quote ends with the next single quote; inside, a quote is written
twice, and separators and line breaks are ordinary. A record ends at a line feed, with or without a carriage return
before it. Blank lines are not records. Spaces are part of the field.
"""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

from unveil.errors import DataFileError
from unveil.sources.files.lines import LONGEST_LINE

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Record", "records"]

Record = tuple[int, list[str]]
"""The line on which a record starts, and its fields."""

_QUOTED = re.compile(r'"([^"]*+(?:""[^"]*+)*+)"')
_TEXT_AFTER_QUOTE = "text follows a closing quote; inside quotes a quote is written twice."
_NEVER_CLOSED = "the quote that opens here is never closed; close it, or write a quote inside quotes twice."


def records(lines: Iterator[tuple[int, str]], separator: str, place: str) -> Iterator[Record]:
    """Join numbered lines into records, and split these into fields."""
    for start, line in lines:
        if line in ("", "\r"):
            continue
        text = line
        fields, position = _split(text.removesuffix("\r"), separator)
        while position >= 0:
            at = start + text.count("\n", 0, position)
            if fields is None:
                raise DataFileError.at_line(place, at, _TEXT_AFTER_QUOTE)
            more = _up_to_quote(lines, LONGEST_LINE - len(text))
            if more is None:
                raise DataFileError.at_line(place, at, _NEVER_CLOSED)
            text = f"{text}\n{more}"
            fields, position = _split(text.removesuffix("\r"), separator)
        yield start, fields or []


def _up_to_quote(lines: Iterator[tuple[int, str]], longest: int) -> str | None:
    """Take lines up to one with a quote, as only that can close a quote; none if there is none, or only far away."""
    taken = io.StringIO(newline="")
    for _, line in lines:
        taken.write(line)
        if '"' in line:
            return taken.getvalue()
        taken.write("\n")
        if taken.tell() > longest:
            return None
    return None


def _split(text: str, separator: str) -> tuple[list[str] | None, int]:
    """Split a record into fields, and say where a quote opens that is not closed (-1: all are).

    No fields at all mean that text follows the closing quote of the field at the position.
    """
    if '"' not in text:
        return text.split(separator), -1
    fields: list[str] = []
    position = 0
    while True:
        if text.startswith('"', position):
            quoted = _QUOTED.match(text, position)
            if quoted is None:
                return fields, position
            end = quoted.end()
            if end < len(text) and text[end] != separator:
                return None, position
            fields.append(quoted[1].replace('""', '"'))
        else:
            end = text.find(separator, position)
            end = len(text) if end < 0 else end
            fields.append(text[position:end])
        if end == len(text):
            return fields, -1
        position = end + 1
