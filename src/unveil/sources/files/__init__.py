"""Files of every format, and patterns such as ``data/part-*.csv``, whose files are read in order as one table.

The suffix determines the format; if it is unknown, and for standard input, the first bytes do. Delimited text, JSON lines,
Parquet, Arrow and Feather are read without extras; workbooks of Excel and OpenDocument need the extra `excel`, Stata, SPSS and
SAS files the extra `stats-files`. Each may be in a gzip or zip archive.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Literal, TypeAlias

import polars as pl

from unveil.credentials import without_credentials
from unveil.errors import ArgumentError, DataFileError, DataNotFoundError, listed, shown
from unveil.run import active_run
from unveil.sources.base import Source
from unveil.sources.files import columnar, delimited, jsonlines, statistical, workbook
from unveil.sources.files.inputs import Input, locate, named_part
from unveil.sources.files.lossless import typed
from unveil.sources.options import AS_FOUND, ReadOptions

__all__ = [
    "FileSource",
    "Format",
    "GlobSource",
    "ReadOptions",
    "column_names",
    "files_at",
    "files_of",
    "format_of",
    "is_pattern",
    "read",
]

Format: TypeAlias = Literal["delimited", "json", "parquet", "arrow", "statistical", "workbook"]

_FORMATS: dict[str, Format] = {
    **dict.fromkeys((".csv", ".tsv", ".txt", ".tab"), "delimited"),
    **dict.fromkeys((".jsonl", ".ndjson"), "json"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".arrow", ".ipc", ".feather"), "arrow"),
    **dict.fromkeys(statistical.SUFFIXES, "statistical"),
    **dict.fromkeys(workbook.SUFFIXES, "workbook"),
}
TYPED_SUFFIXES = frozenset(suffix for suffix, kind in _FORMATS.items() if kind in ("parquet", "arrow", "statistical"))
"""The suffixes of files whose columns have types and nulls of their own."""
_BEFORE_TEXT = b"\xef\xbb\xbf\xff\xfe\0 \t\r\n"  # byte order marks, the NULs of UTF-16, white space


class FileSource(Source):
    """A file that is read whole, or standard input."""

    def __init__(self, path: str, options: ReadOptions = AS_FOUND) -> None:
        super().__init__(without_credentials(path), column_names(path, options))
        self._path, self._options = path, options

    def _read(self, columns: Sequence[str]) -> pl.DataFrame:
        return read(self._path, columns, self._options)


def column_names(path: str | os.PathLike[str], options: ReadOptions = AS_FOUND) -> list[str]:
    """Read the names of a file's columns, and as little else as the format allows.

    Parameters
    ----------
    path
        A file, or "-" for standard input, which is kept for the life of the process and so can be read again.
    options
        Settings that cannot be detected from the file.

    Returns
    -------
    list of str
        The names in the order of the file; for JSON lines, the keys of all objects, for which every line is read.

    Raises
    ------
    DataNotFoundError
        If there is no such file.
    DataFileError
        If it cannot be read; the message names the line if there are lines.
    EmptyDataError, DuplicateColumnError
        If it is empty, or a name occurs twice.
    """
    source = locate(path)
    match format_of(source):
        case "delimited":
            return delimited.column_names(source, options)
        case "json":
            return jsonlines.column_names(source, options)
        case "parquet":
            return columnar.parquet_column_names(source)
        case "arrow":
            return columnar.arrow_column_names(source)
        case "statistical":
            return statistical.column_names(source, options)
        case "workbook":
            return workbook.column_names(source, options)


def read(path: str | os.PathLike[str], columns: Sequence[str] | None = None, options: ReadOptions = AS_FOUND) -> pl.DataFrame:
    """Read a file, or some columns of it.

    Parameters
    ----------
    path
        A file, or "-" for standard input, which is kept for the life of the process and so can be read again.
    columns
        The columns to read, in the desired order; None: all. Others are not typed, and not read if the format allows that.
    options
        Settings that cannot be detected from the file.

    Returns
    -------
    polars.DataFrame
        At least one record. A column of delimited text holds integers or decimal numbers if every value is one and no
        two distinct texts become the same number; otherwise the exact texts, with nulls for empty fields.

    Raises
    ------
    DataNotFoundError
        If there is no such file.
    DataFileError
        If it cannot be read; the message names the line if there are lines.
    EmptyDataError, DuplicateColumnError
        If it has no records, or a name occurs twice.
    ColumnNotFoundError
        If the file lacks a requested column.

    Notes
    -----
    Delimited text is checked once before it is read, so that a record with too few or too many fields, or a stray
    quote, cannot shift values silently.
    """
    if columns is not None:
        columns = list(dict.fromkeys(columns))
        if not columns:
            raise ArgumentError("the list of columns to read is empty; name at least one, or give None to read all.")
    return active_run().watching(partial(_read, locate(path), columns, options))


def _read(source: Input, columns: Sequence[str] | None, options: ReadOptions) -> pl.DataFrame:
    match format_of(source):
        case "delimited":
            return delimited.read(source, columns, options)
        case "json":
            return jsonlines.read(source, columns, options)
        case "parquet":
            return columnar.read_parquet(source, columns)
        case "arrow":
            return columnar.read_arrow(source, columns)
        case "statistical":
            return statistical.read(source, columns, options)
        case "workbook":
            return workbook.read(source, columns, options)


def format_of(source: Input) -> Format:
    """Return the format, from the suffix or else from the first bytes."""
    known = _FORMATS.get(source.suffix)
    if known is not None:
        return known
    head = source.head()
    if head.startswith(b"PAR1") and b"\0" in head:  # a text may begin with these letters, but does not hold a NUL
        return "parquet"
    if head.startswith(b"ARROW1\0"):
        return "arrow"
    start = head.lstrip(_BEFORE_TEXT)
    if source.suffix == ".json" and start.startswith(b"["):
        raise DataFileError(f"{source.place}: this is one JSON list; write one object on every line (JSON lines) instead.")
    return "json" if start.startswith(b"{") else "delimited"


def is_pattern(path: str) -> bool:
    """Whether a path is a pattern of paths, and not a file that happens to have such a name.

    Examples
    --------
    >>> is_pattern("part-*.csv"), is_pattern("part-1.csv")
    (True, False)
    """
    return glob.has_magic(path) and not os.path.exists(path)  # noqa: PTH110 - Path raises for a name that no file can have


def files_of(pattern: str) -> list[str]:
    """Return the files that a pattern matches, sorted by name; there must be at least one."""
    files = sorted(place for place in glob.glob(pattern, recursive=True) if os.path.isfile(place))  # noqa: PTH113, PTH207
    if not files:
        raise DataNotFoundError(f"{shown(without_credentials(pattern))}: no file matches this pattern.")
    return files


def files_at(*places: str) -> list[list[tuple[str, Path]]]:
    """Return the names and paths of the files at each place: one file, those of a pattern, or none."""
    return [_files_at(place) for place in places]


def _files_at(place: str) -> list[tuple[str, Path]]:
    try:
        path = Path(named_part(place)[0])
        if not path.is_file() and is_pattern(place):
            return [file for one in files_of(place) for file in _files_at(one)]
        return [(place, path)] if path.is_file() else []
    except (OSError, ValueError):  # a place that is not a path
        return []


class GlobSource(Source):
    """Files with the same columns, read one after the other as one table."""

    def __init__(self, pattern: str, options: ReadOptions) -> None:
        self._files, self._options = files_of(pattern), options
        names = column_names(self._files[0], options)
        super().__init__(without_credentials(pattern), names)
        for file in self._files[1:]:
            _require_same(self._files[0], names, file, column_names(file, options))

    def _read(self, columns: Sequence[str]) -> pl.DataFrame:
        located = [locate(file) for file in self._files]
        if all(format_of(one) == "delimited" for one in located):  # typed together: 007 in one file keeps the others as text
            texts = [delimited.read_texts(one, columns, self._options) for one in located]
            return typed(pl.concat(texts), self._options.missing)
        frames = [read(file, columns, self._options) for file in self._files]
        return pl.DataFrame({name: self._whole([frame.get_column(name) for frame in frames]) for name in columns})

    def _whole(self, parts: Sequence[pl.Series]) -> pl.Series:
        """Return the parts of a column from the files as one column; if some hold texts, all become texts."""
        texts = any(part.dtype == pl.String for part in parts)
        moments = {part.dtype.is_temporal() for part in parts if part.dtype != pl.Null}
        if len(moments) > 1 and not texts:  # Polars would treat dates as numbers
            raise self._unlike(parts)
        try:
            named = [(part.cast(pl.String) if texts else part).alias("").to_frame() for part in parts]
            return pl.concat(named, how="vertical_relaxed").to_series()
        except pl.exceptions.PolarsError:
            raise self._unlike(parts) from None

    def _unlike(self, parts: Sequence[pl.Series]) -> DataFileError:
        """Return the error for a column that holds values of two kinds that cannot be combined."""
        other = next(at for at, part in enumerate(parts) if part.dtype != parts[0].dtype)
        return DataFileError(
            f"column {shown(parts[0].name)} holds {parts[0].dtype.base_type()} values in {self._files[0]} and "
            f"{parts[other].dtype.base_type()} values in {self._files[other]}; write one kind in every file."
        )


def _require_same(one: str, names: Sequence[str], other: str, others: Sequence[str]) -> None:
    """Refuse a file that lacks a column of the first file, or has an extra one."""
    if set(names) == set(others):
        return
    lacks, more = [name for name in names if name not in others], [name for name in others if name not in names]
    difference = f"lacks {listed(lacks)}" if lacks else f"also has {listed(more)}"
    raise DataFileError(f"{shown(other)} {difference}, unlike {shown(one)}; the files of a pattern have the same columns.")
