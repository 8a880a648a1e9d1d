"""The only entry point for data: turns a data frame of any library, a path, or any other data of a caller into a `Source`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from glob import has_magic
from pathlib import Path
from typing import Any, TypeGuard

import narwhals as nw
import polars as pl

from unveil.credentials import without_credentials
from unveil.errors import (
    ArgumentError,
    DataNotFoundError,
    DuplicateColumnError,
    ProjectError,
    UnsupportedDataError,
    near_miss,
    shown,
)
from unveil.project import Project
from unveil.run import active_run, watched
from unveil.sources import datasets
from unveil.sources.base import Data, Source, source_of, text_names
from unveil.sources.columns import read_as
from unveil.sources.engines.address import open_address
from unveil.sources.files import TYPED_SUFFIXES, FileSource, GlobSource, column_names, format_of, is_pattern
from unveil.sources.files.inputs import locate, named_part
from unveil.sources.objects import column_of_objects
from unveil.sources.options import AS_FOUND, ReadOptions

__all__ = [
    "FrameSource",
    "files_named",
    "is_project",
    "open_beside",
    "open_data",
    "open_frame",
    "open_project",
    "open_source",
    "project_beside",
    "read_options",
]

_ADDRESS = re.compile(r":|=|\.(?:duckdb|ddb)(?:\?|$)", re.IGNORECASE)
"""A part of every engine's address: a scheme, a setting, or the suffix of a DuckDB file; any other text is a path."""
_PARQUET = (".parquet", ".pq")
_PACKED = 8


def open_source(data: Data, options: ReadOptions | None = None, *, held: ExitStack | None = None) -> Source:
    """Open a path, an engine's address, a built-in data set or a data frame; only its column names are read yet.

    Parameters
    ----------
    data
        Any data.
    options
        Settings for reading a file that cannot be detected from it.
    held
        A stack that keeps the connection to an engine until it is closed; None: each query has a connection of its own.
    """
    opened = source_of(data)
    if opened is not None:
        if held is not None and opened.connected:
            held.enter_context(opened.held())
        return opened
    if isinstance(data, Project) or is_project(data):
        return open_project(data if isinstance(data, Project) else Project.read(data), options, held=held)
    if (engine := _open_engine(data, held)) is not None:
        if options is not None and (options.missing or options.text or options.missing_in):
            raise ArgumentError(
                f"{engine.place}: `missing` and `text` are for files and frames; an engine's table has its own nulls and types, "
                "so make a view of it, with NULLIF or CAST, and name that."
            )
        return engine
    if isinstance(data, str | os.PathLike):
        return _open_path(os.fspath(data), options or AS_FOUND)
    return open_frame(data) if options is None else _with_codes(open_frame(data), options)


def is_project(data: object) -> TypeGuard[str | os.PathLike[str]]:
    """Whether data is the file of a project, according to its suffix."""
    return isinstance(data, str | os.PathLike) and os.fspath(data).endswith(".toml")


def files_named(data: Iterable[Any]) -> list[str]:
    """Return the files of sources, of projects (with the data and the hierarchies of each), and those named by a path."""
    files: list[str] = []
    for one in data:
        plan = Project.read(one) if is_project(one) else one
        if isinstance(plan, Project):
            files += map(str, plan.files())
        elif isinstance(plan, Source | str | os.PathLike):
            files.append(named_part(plan.place if isinstance(plan, Source) else os.fsdecode(plan))[0])
    return files


def is_text_file(data: Data) -> bool:
    """Whether data is a file of delimited text, or may be one: also true for a pattern, or a file that does not exist."""
    if not isinstance(data, str | os.PathLike) or is_project(data) or _ADDRESS.search(text := os.fsdecode(data)):
        return False
    if os.path.isfile(named_part(text)[0]):  # noqa: PTH113 - not every name can be a Path
        return format_of(locate(text)) == "delimited"
    return text not in datasets.names() and not os.path.isdir(text)  # noqa: PTH112


def open_data(
    data: Data,
    project: Project | str | os.PathLike[str] | None,
    options: ReadOptions | None = None,
    held: ExitStack | None = None,
    *,
    release: bool = False,
) -> tuple[Source, Project | None]:
    """Open data and read its project; the data may be the project, or its file.

    Data given with a project is read as the project specifies; a release has a form of its own (see `read_options`).
    """
    plan = Project.read(project) if isinstance(project, str | os.PathLike) else project
    if is_project(data):
        data = Project.read(data)
    if isinstance(data, Project):
        if plan is not None:
            raise ArgumentError("two projects are given; give one, and the data.")
        return open_project(data, options, held=held), data
    if plan is not None:
        options = read_options(plan, options or AS_FOUND, release=data if release else None)
    return open_source(data, options, held=held), plan


def project_beside(data: Data, project: Project | None) -> Project | None:
    """Return the project by which to read another table; None if the table is given by a project of its own."""
    return None if isinstance(data, Project) or is_project(data) else project


def open_beside(data: Data, project: Project | None) -> Source:
    """Open another table with columns of a project, such as a population; the table has a form of its own."""
    return open_data(data, project_beside(data, project), release=True)[0]


def open_project(project: Project, options: ReadOptions | None = None, *, held: ExitStack | None = None) -> Source:
    """Open the data of a project, read as the project specifies; the options take precedence."""
    section, own = project.data, options or AS_FOUND
    if section.path is None:
        raise ArgumentError(f"{project.path} names no data; add data.path, or give the data and the project.")
    if is_project(section.path):
        raise ProjectError(f"{project.path}: data.path names a project; name the data itself.")
    return open_source(str(section.path), read_options(project, own), held=held)


def read_options(project: Project | None, own: ReadOptions, *, release: Data | None = None) -> ReadOptions:
    """Return the options for reading data: those given, else those of the project.

    Parameters
    ----------
    project
        The project; None: there are only the options.
    own
        The options given by a call or a command line.
    release
        Another table than the project's data: the texts for nulls and the columns of codes apply to it, but it has a
        separator and an encoding of its own, unless it is the project's own file.
    """
    if project is None:
        return own
    section = project.data
    formed = release is None or _is_own(release, project)
    codes = tuple((name, one.missing) for name, one in project.attributes.items() if one.missing)
    return ReadOptions(
        separator=own.separator or (section.separator if formed else None),
        encoding=own.encoding or (section.encoding if formed else None),
        missing=own.missing or section.missing,
        text=own.text or section.text,
        missing_in=own.missing_in or codes,
    )


def _is_own(data: Data, project: Project) -> bool:
    """Whether data is the file that a project names."""
    place = project.data.path
    if not isinstance(data, str | os.PathLike) or not isinstance(place, Path):
        return False
    return os.path.abspath(data) == os.path.abspath(place)  # noqa: PTH100 - not every name can be a Path


def _open_engine(data: Data, held: ExitStack | None) -> Source | None:
    """Open an address of an engine, a DuckDB relation or a PySpark data frame; None if it is none of these."""
    if isinstance(data, str | os.PathLike):
        text = os.fsdecode(data)
        return open_address(text, held) if _ADDRESS.search(text) else None
    native = nw.to_native(data, pass_through=True)
    kind = type(native)
    if kind.__name__ == "DuckDBPyRelation":
        from unveil.sources.engines.duckdb import RelationSource

        return RelationSource(native)
    if kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql."):
        from unveil.sources.engines.spark import SparkSource

        return SparkSource(native)
    return None


def _open_path(name: str, options: ReadOptions) -> Source:
    typed = bool(options.missing) and Path(named_part(name)[0]).suffix.lower() in TYPED_SUFFIXES
    if options.text or options.missing_in or typed:
        whole = _open_whole(name, replace(options, text=(), missing_in=()))
        return _with_codes(whole, options if typed else replace(options, missing=()))
    if (stream := _open_stream(name, options)) is not None:
        return stream
    return _open_whole(name, options)


def _open_stream(name: str, options: ReadOptions) -> Source | None:
    """Open a folder of Parquet files, or a file that is large enough to be counted in batches and of a format that allows it."""
    file = locate(name).path or name if name == "-" or _is_pipe(name) else name  # a pipe's content is kept
    folder = os.path.isdir(file)  # noqa: PTH112 - to Path, the empty path is the current folder
    if not folder and not _is_long(file):
        return None
    from unveil.sources.batches.counting import Stream, StreamSource
    from unveil.sources.batches.reading import ParquetFiles

    names = tuple(ParquetFiles.at(file).schema) if folder else tuple(column_names(file, options))
    return StreamSource(without_credentials(name), names, Stream(file, options))


def _is_long(file: str) -> bool:
    """Whether a file is large enough to be counted in batches, and of a format that allows it."""
    if file.lower().endswith(".zip") or not os.path.isfile(file):  # noqa: PTH113
        return False
    return _unpacked(file) >= active_run().limits.stream_from and format_of(locate(file)) in ("parquet", "delimited")


def _is_pipe(path: str) -> bool:
    try:
        return Path(path).is_fifo()
    except (OSError, ValueError):  # a name that no file can have
        return False


def _unpacked(path: str) -> int:
    """Return the approximate size of a file's text in bytes; for compressed files and Parquet, a multiple of their size."""
    size = Path(path).stat().st_size
    return size * _PACKED if path.lower().endswith((".gz", *_PARQUET)) else size


def _open_whole(name: str, options: ReadOptions) -> Source:
    """Open a file to be read whole, several files, or a built-in data set."""
    if has_magic(name) and is_pattern(named_part(name)[0]):
        return GlobSource(name, options)
    if not os.path.exists(name) and name in datasets.names():  # noqa: PTH110
        return _with_codes(FrameSource(nw.from_native(datasets.load(name)), place=name), options)
    if name.lower().endswith(_PARQUET) and os.path.isfile(name):  # noqa: PTH113
        from unveil.sources.batches.counting import PackedSource

        return PackedSource(name, options)
    try:
        return FileSource(name, options)
    except DataNotFoundError:
        if hint := near_miss(name, datasets.names()):
            raise DataNotFoundError(f"{shown(name)} is neither a file nor a built-in data set.{hint}") from None
        raise


def _with_codes(table: Source, options: ReadOptions) -> Source:
    """Return a table that has types of its own, with codes for nulls read as nulls, and columns of codes read as text."""
    if not (options.missing or options.missing_in or options.text):
        return table
    everywhere = dict.fromkeys(table.names, options.missing)
    for name, codes in options.missing_in:
        everywhere[name] = (*everywhere.get(name, ()), *codes)
    return read_as(table, options.text, everywhere)


class FrameSource(Source):
    """A data frame of the caller."""

    def __init__(self, frame: nw.DataFrame[Any] | nw.LazyFrame[Any], place: str = "the data frame") -> None:
        super().__init__(place, text_names(frame.collect_schema().names(), place))
        self.frame = frame

    def _read(self, columns: Sequence[str]) -> pl.DataFrame:
        if isinstance(self.frame, nw.LazyFrame):
            reading = partial(_collected, self.frame, columns)
            watching = isinstance(self.frame.to_native(), pl.LazyFrame)  # others may belong to the thread that made them
            return active_run().watching(reading) if watching else reading()
        native = self.frame.to_native()
        if isinstance(native, pl.DataFrame):
            if list(columns) == native.columns and pl.Object not in native.dtypes:
                return native
            return pl.DataFrame({column: _typed(native.get_column(column)) for column in columns})
        return watched(len(self.frame), partial(_in_polars, self.frame, columns))


def open_frame(data: Data) -> FrameSource:
    """Open a data frame; refuse an object of no known library."""
    try:
        frame = nw.from_native(data)
        names = frame.collect_schema().names()
    except TypeError:
        raise UnsupportedDataError(
            f"data of type {type(data).__name__} is not known; give a path or a data frame "
            "(Polars, pandas, pyarrow or another that narwhals knows)."
        ) from None
    except nw.exceptions.DuplicateError:
        raise DuplicateColumnError("the data frame has two columns of one name; rename one of them.") from None
    text_names(names, "the data frame")
    return FrameSource(frame)


def _collected(frame: nw.LazyFrame[Any], columns: Sequence[str]) -> pl.DataFrame:
    """Collect only the requested columns of a lazy frame, even those with names that Polars would read as patterns."""
    native = frame.to_native()
    if isinstance(native, pl.LazyFrame):
        eager = native.select(pl.selectors.by_name(columns)).collect()
        return pl.DataFrame({column: _typed(eager[column]) for column in columns})
    pattern = any(column == "*" or column.startswith("^") for column in columns)
    eager = (frame if pattern else frame.select(list(columns))).collect("polars").to_native()
    return pl.DataFrame({column: _typed(eager[column]) for column in columns})


def _in_polars(frame: nw.DataFrame[Any], columns: Sequence[str]) -> pl.DataFrame:
    return pl.DataFrame({column: _to_polars(frame[column]) for column in columns})


def _typed(column: pl.Series) -> pl.Series:
    """Return a column of Python objects as a column of their common type, if they have one."""
    return column_of_objects(column.name, column.to_list()) if column.dtype == pl.Object else column


def _to_polars(series: nw.Series[Any]) -> pl.Series:
    """Return a column of any library as a Polars column; mixed Python objects stay objects."""
    native = series.to_native()
    if isinstance(native, pl.Series):
        return _typed(native)
    if series.dtype == nw.Object:
        return column_of_objects(series.name, series.to_list())
    if (series.dtype.is_integer() or series.dtype.is_float()) and not series.null_count():
        return pl.Series(series.name, series.to_numpy())
    try:
        return series.to_polars()
    except UnicodeEncodeError:
        raise UnsupportedDataError.no_characters(series.name) from None
    except (TypeError, ValueError, ImportError, pl.exceptions.PolarsError) as reason:
        if type(reason).__module__.startswith("pyarrow") or not isinstance(reason, ImportError):
            return column_of_objects(series.name, series.to_list())
        return pl.Series(series.name, series.to_list(), strict=False)
