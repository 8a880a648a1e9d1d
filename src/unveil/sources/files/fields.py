"""The fields of a record of delimited text, and the character that separates them.

The grammar is that of RFC 4180, with one exception: a quote inside a field that does not begin with one is
an ordinary character. A field that begins with a quote ends with the next single quote; inside, a quote is written
twice, and separators and line breaks are ordinary. A record ends at a line feed, with or without a carriage return
before it. Blank lines are not records. Spaces are part of the field.
"""

from __future__ import annotations

import io
import re
from itertools import islice
from typing import TYPE_CHECKING

from unveil.errors import DataFileError
from unveil.sources.files.lines import LONGEST_LINE

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Record", "records", "separator_in"]

Record = tuple[int, list[str]]
"""The line on which a record starts, and its fields."""

_CANDIDATES = (",", ";", "\t", "|")
_RECORDS = 21  # the header and a few more
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


def separator_in(lines: list[tuple[int, str]]) -> str:
    """Find the separator in the first lines of a text.

    It must split the header; of several that do, one that splits the next records into equally many fields wins, then the one
    with the most fields. If none splits the header, the text has one column, and the separator is one that the next records lack.
    """
    shapes = {separator: _shape(lines, separator) for separator in _CANDIDATES}
    splitting = {separator: shape for separator, shape in shapes.items() if shape and shape[0] > 1}
    if not splitting:
        return next((separator for separator, shape in shapes.items() if set(shape) <= {1}), _CANDIDATES[0])
    return max(splitting, key=lambda separator: (len(set(shapes[separator])) == 1, shapes[separator][0]))


def _shape(lines: list[tuple[int, str]], separator: str) -> list[int]:
    """Count the fields of the first records, up to one that cannot be read."""
    counts: list[int] = []
    try:
        for _, fields in islice(records(iter(lines), separator, ""), _RECORDS):
            counts.append(len(fields))  # one by one, so that what was counted before an error is kept
    except DataFileError:
        pass
    return counts
