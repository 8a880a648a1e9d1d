"""Delimited text (CSV, TSV and similar formats).

The first record is the header. Blank lines are ignored, even in a file with one column, where an empty value is
written `""`. A record spans several lines if a quoted field does, and has as many fields as the header. An empty
field, quoted or not, is a null. Nothing is trimmed, and types are determined from all values, never from a sample.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from unveil.attributes import require_columns
from unveil.errors import DataFileError, DuplicateColumnError, EmptyDataError
from unveil.run import active_run
from unveil.sources.files.inputs import LONGEST_LINE, Block, Input, encoding_of, line_blocks, text_lines
from unveil.sources.files.lossless import typed
from unveil.sources.files.survey import Survey, ragged, survey

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from unveil.sources.options import ReadOptions

__all__ = ["Record", "column_names", "read", "read_texts", "records", "separator_in"]

Record = tuple[int, list[str]]
"""The line on which a record starts, and its fields."""

_CANDIDATES = (",", ";", "\t", "|")
_RECORDS = 21  # the header and a few more
_QUOTED = re.compile(r'"([^"]*+(?:""[^"]*+)*+)"')
_TEXT_AFTER_QUOTE = "text follows a closing quote; inside quotes a quote is written twice."
_NEVER_CLOSED = "the quote that opens here is never closed; close it, or write a quote inside quotes twice."


def records(lines: Iterator[tuple[int, str]], separator: str, place: str) -> Iterator[Record]:
    """Join numbered lines into records, and yield these split into fields."""
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
    """Return the lines up to one with a quote, which may close the open one; None if there is none within `longest`."""
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
    """Split a record into fields, and return the position of a quote that is never closed (-1: all are closed).

    None in place of fields means that text follows the closing quote of the field at the position.
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

    It must split the header; if several do, one that splits the next records into equally many fields wins, then the one with
    the most fields. If none splits the header, the text has one column, and the separator is one that the next records lack.
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
            counts.append(len(fields))  # one by one, so that counts from before an error are kept
    except DataFileError:
        pass
    return counts


_BATCH = 50_000
_NO_TEXT = {b"PAR1": "a Parquet file", b"ARROW1": "an Arrow file", b"PK\x03\x04": "a workbook or a zip archive"}
_TAB_SUFFIXES = frozenset({".tsv", ".tab"})


@dataclass(frozen=True, slots=True)
class _Table:
    """Delimited text whose header is known."""

    source: Input
    encoding: str
    separator: str
    names: list[str]

    def blocks(self) -> Iterator[Block]:
        return line_blocks(self.source, self.encoding)

    def records(self) -> Iterator[Record]:
        return records(text_lines(self.blocks()), self.separator, self.source.place)


def column_names(source: Input, options: ReadOptions) -> list[str]:
    """Read only the header."""
    return _opened(source, options).names


def read(source: Input, columns: Sequence[str] | None, options: ReadOptions) -> pl.DataFrame:
    """Read the columns, as text and then typed if nothing is lost."""
    texts = read_texts(source, columns, options)
    active_run().check()
    return typed(texts, options.missing)


def read_texts(source: Input, columns: Sequence[str] | None, options: ReadOptions) -> pl.DataFrame:
    """Read the columns as text."""
    table = _opened(source, options)
    wanted = table.names if columns is None else list(columns)
    require_columns(wanted, table.names)
    table = _in_memory(table)
    surveyed = survey(table.blocks(), table.separator, len(table.names), source.place)
    texts = _by_engine(table, wanted, surveyed) if surveyed.regular else None
    if texts is None:
        texts = _by_hand(table, wanted)
    if texts.is_empty():
        raise EmptyDataError.no_records(source.place)
    return texts


def _opened(source: Input, options: ReadOptions) -> _Table:
    """Determine encoding, separator and header."""
    _refuse_no_text(source)
    encoding = encoding_of(source, options.encoding)
    first = next(line_blocks(source, encoding), None)
    if first is None:
        raise _empty(source)
    separator = options.separator or ("\t" if source.suffix in _TAB_SUFFIXES else separator_in(list(text_lines(iter([first])))))
    table = _Table(source, encoding, separator, [])
    line, names = next(table.records(), (1, []))
    if not "".join(names).strip() and all(block.data.isspace() for block in table.blocks()):
        raise _empty(source)
    _check_names(source.place, line, names)
    return _Table(source, encoding, separator, names)


def _refuse_no_text(source: Input) -> None:
    head = source.head()
    for magic, what in _NO_TEXT.items():
        if head.startswith(magic) and b"\0" in head:
            raise DataFileError(f"{source.place}: this is {what}, not text; save it as CSV or Parquet.")


def _empty(source: Input) -> EmptyDataError:
    return EmptyDataError(f"{source.place}: the file is empty; there is nothing to read.")


def _check_names(place: str, line: int, names: list[str]) -> None:
    """Refuse a repeated name, and a header that never ends because lines end in bare carriage returns."""
    if any("\r" in name and "\n" not in name for name in names):
        raise DataFileError.at_line(
            place, line, "a bare carriage return is in the header; save the file with line feeds as line ends."
        )
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise DuplicateColumnError.named(name, place)
        seen.add(name)


def _in_memory(table: _Table) -> _Table:
    """Hold the text as UTF-8, unless an engine can open the file as it is."""
    source = table.source
    if table.encoding == "utf-8" and not source.gzipped:
        return table
    content = b"".join(block.data for block in table.blocks())
    return _Table(Input(source.place, source.suffix, content=content), "utf-8", table.separator, table.names)


def _by_engine(table: _Table, wanted: Sequence[str], surveyed: Survey) -> pl.DataFrame | None:
    """Read the text with Polars, with the header as a record like any other; None if Polars does not find every record."""
    ahead = int((surveyed.blanks == np.arange(len(surveyed.blanks))).sum())
    position = {name: str(index) for index, name in enumerate(table.names)}
    try:
        frame = pl.read_csv(
            table.source.for_engine(),
            has_header=False,
            schema=dict.fromkeys(position.values(), pl.String),
            columns=sorted(int(position[name]) for name in wanted),
            separator=table.separator,
            skip_lines=ahead,
            glob=False,
        )
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        return None
    kept = _kept(frame.height, surveyed, ahead)
    if kept is None:
        return None
    return frame.filter(kept).select(pl.col(position[name]).alias(name) for name in wanted)


def _kept(height: int, surveyed: Survey, ahead: int) -> pl.Series | None:
    """Mark the rows that are records and not the header; None if the number of rows is not as expected."""
    kept = np.ones(height, np.bool_)
    if height != surveyed.records:
        blanks = surveyed.blanks[ahead:] - ahead
        if height != surveyed.records + len(blanks):
            return None
        kept[blanks] = False
    kept[:1] = False
    return pl.Series(kept)


def _by_hand(table: _Table, wanted: Sequence[str]) -> pl.DataFrame:
    """Read record by record: slowly, but correctly even if quotes are inside unquoted fields."""
    schema = dict.fromkeys(wanted, pl.String)
    position = {name: index for index, name in enumerate(table.names)}
    positions = [position[name] for name in wanted]
    body = islice(_even(table), 1, None)
    frames = [pl.DataFrame(schema=schema)]
    while batch := list(islice(body, _BATCH)):
        values = [[fields[at] for fields in batch] for at in positions]
        frames.append(pl.DataFrame(dict(zip(wanted, values, strict=True)), schema=schema))
    return pl.concat(frames)


def _even(table: _Table) -> Iterator[list[str]]:
    """Yield the fields of every record, refusing one with more or fewer than the header."""
    for line, fields in table.records():
        if len(fields) != len(table.names):
            raise ragged(table.source.place, line, len(fields), len(table.names))
        yield fields
