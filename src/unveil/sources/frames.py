"""Where is the data, and how do its columns get here? One door for files, built-in sets and every data frame.

A `Source` knows its column names and hands over the columns asked for as Polars columns, or, where what holds the data can
count, only their combinations with counts; nothing else in the package knows which library held them. The data is never
changed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

import narwhals as nw
import polars as pl

from unveil.attributes import require_columns
from unveil.credentials import without_credentials
from unveil.errors import DataNotFoundError, DuplicateColumnError, UnsupportedDataError, is_unicode, near_miss, shown
from unveil.sources import datasets, files
from unveil.sources.objects import column_of_objects

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Countable", "Data", "Source", "Tally", "counted_source", "open_source", "tally_source", "text_names"]

Data: TypeAlias = Any
"""A path ("-" is standard input), the name of a built-in data set, a data frame narwhals knows, eager or lazy, or what an engine
holds: an address, a DuckDB relation, a PySpark data frame; or counts that somebody made."""


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Combinations of some columns' values, in any order, with the number of records that hold each.

    Attributes
    ----------
    frame
        One row a combination; one that stands twice counts as the sum of both.
    n
        The records of each row; None: one each, as the rows are the records themselves.
    """

    frame: pl.DataFrame
    n: NDArray[np.int64] | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """Data that can be asked for its columns, or for the counts of their combinations.

    Attributes
    ----------
    place
        Where the data is, as messages name it; no credentials in it.
    names
        The columns.
    _collect, _tally
        How columns are read, and how their combinations are counted where the data is; no `_tally`: from the columns read.
    """

    place: str
    names: tuple[str, ...]
    _collect: Callable[[Sequence[str]], pl.DataFrame]
    _tally: Callable[[Sequence[str]], Tally] | None = None

    def __post_init__(self) -> None:
        """Refuse a column name with the character NUL, at which libraries end a name, or the whole process."""
        for name in self.names:
            if "\0" in name:
                raise UnsupportedDataError.nul_in_name(name)

    @property
    def counts(self) -> bool:
        """Whether combinations are counted where the data is, without its records coming here."""
        return self._tally is not None

    def collect(self, columns: Sequence[str]) -> pl.DataFrame:
        """Return the columns asked for, each named once, in their order."""
        require_columns(columns, self.names)
        return self._collect(columns)

    def tally(self, columns: Sequence[str]) -> Tally:
        """Return the combinations of the columns asked for with their counts; from a source that cannot count, its records."""
        require_columns(columns, self.names)
        return Tally(self._collect(columns)) if self._tally is None else self._tally(columns)


@runtime_checkable
class Countable(Protocol):
    """What somebody counted already, and can be counted over fewer columns."""

    def as_source(self) -> Source:
        """Return it as data that can be counted."""


def counted_source(columns: Mapping[str, tuple[Sequence[Any], NDArray[Any]]], n: NDArray[np.int64]) -> Source:
    """Return combinations that were counted, each column by its values and codes, as data that can be counted again.

    There are no records behind it, so whatever needs them is refused.
    """
    frame = pl.DataFrame(
        [column_of_objects("values", values).gather(codes).alias(name) for name, (values, codes) in columns.items()]
    )

    def refuse(_: Sequence[str]) -> pl.DataFrame:
        raise UnsupportedDataError("a count table has no records, and this needs them; give the data itself.")

    return Source("the count table", tuple(columns), refuse, lambda _: Tally(frame, n))


def open_source(data: Data, options: files.ReadOptions | None = None) -> Source:
    """Open a path, an engine's address, a built-in data set or a data frame; nothing but its column names is read yet."""
    from unveil.sources.engines import open_engine  # here, as engines build sources

    if isinstance(data, Source):
        return data
    if isinstance(data, Countable):
        return data.as_source()
    if (engine := open_engine(nw.to_native(data, pass_through=True))) is not None:
        return engine
    if isinstance(data, str | os.PathLike):
        return _open_path(data, options or files.ReadOptions())
    try:
        frame = nw.from_native(data)
    except TypeError:
        raise UnsupportedDataError(
            f"data of type {type(data).__name__} is not known; give a path or a data frame "
            "(Polars, pandas, pyarrow or another that narwhals knows)."
        ) from None
    except nw.exceptions.DuplicateError:
        raise DuplicateColumnError("the data frame has two columns of one name; rename one of them.") from None
    return _open_frame(frame)


def tally_source(place: str, tally: Tally) -> Source:
    """Return combinations that were counted as data that can be counted over the same columns."""
    return Source(place, tuple(tally.frame.columns), tally.frame.select, lambda _: tally)


def _open_path(path: str | os.PathLike[str], options: files.ReadOptions) -> Source:
    from unveil.sources.streaming import open_stream  # here, as streams are sources

    name = os.fspath(path)
    if (stream := open_stream(name, options)) is not None:
        return stream
    try:
        names = files.column_names(name, options)
    except DataNotFoundError:
        if name not in datasets.names():
            if hint := near_miss(name, datasets.names()):
                raise DataNotFoundError(f"{shown(name)} is no file and no built-in data set.{hint}") from None
            raise
        return _open_frame(nw.from_native(datasets.load(name)), place=name)
    return Source(without_credentials(name), tuple(names), lambda columns: files.read(name, columns, options))


def _open_frame(frame: nw.DataFrame[Any] | nw.LazyFrame[Any], place: str = "the data frame") -> Source:
    names = text_names(frame.collect_schema().names(), place)
    if isinstance(frame, nw.LazyFrame):
        return Source(place, names, lambda columns: _collected(frame, columns))
    return Source(place, names, lambda columns: pl.DataFrame({column: _to_polars(frame[column]) for column in columns}))


def _collected(frame: nw.LazyFrame[Any], columns: Sequence[str]) -> pl.DataFrame:
    """Run a lazy frame for the columns asked for; a name that its engine could read as a pattern is picked afterwards."""
    pattern = any(column == "*" or column.startswith("^") for column in columns)
    eager: pl.DataFrame = (frame if pattern else frame.select(list(columns))).collect("polars").to_native()
    return pl.DataFrame({column: _typed(eager[column]) for column in columns})


def _typed(column: pl.Series) -> pl.Series:
    """Return a column of Python objects as one of their type, where they have one."""
    return column_of_objects(column.name, column.to_list()) if column.dtype == pl.Object else column


def text_names(names: Sequence[object], place: str) -> tuple[str, ...]:
    """Return column names, refusing those that are no text or stand twice."""
    if strange := [name for name in names if not isinstance(name, str)]:
        raise UnsupportedDataError(f"{place}: {len(strange)} column names are not text; rename the columns.")
    if strange := [name for name in names if not is_unicode(name)]:
        raise UnsupportedDataError.no_characters(str(strange[0]))
    if len(set(names)) < len(names):
        raise DuplicateColumnError.named(str(next(name for name in names if names.count(name) > 1)), place)
    return tuple(str(name) for name in names)


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
