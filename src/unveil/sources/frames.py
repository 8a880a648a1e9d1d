"""Data frames as sources, eager or lazy, of every library that narwhals knows, and count tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

import narwhals as nw
import polars as pl

from unveil.errors import DuplicateColumnError, UnsupportedDataError
from unveil.run import active_run, watched
from unveil.sources.base import Data, Source, Tally, text_names
from unveil.sources.coding import CodedTable, counted_column
from unveil.sources.objects import column_of_objects

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["CountedFrame", "FilledSource", "FrameSource", "TallySource", "counted_source", "open_frame"]


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


class CountedFrame(Source):
    """Records in memory that are counted as an engine would do it: for queries of single columns, without coding records."""

    can_count = True

    def __init__(self, frame: pl.DataFrame, place: str) -> None:
        super().__init__(place, frame.columns)
        self._frame = frame

    def _read(self, columns: Sequence[str]) -> pl.DataFrame:
        return pl.DataFrame({name: self._frame.get_column(name) for name in columns})

    def count_alone(self, column: str) -> CodedTable | None:
        """Count one column without coding its records."""
        series = self._frame.get_column(column)
        return None if series.is_empty() or series.dtype == pl.Object else counted_column(column, series)

    def _count(self, columns: Sequence[str]) -> Tally:
        series = [self._frame.get_column(name) for name in dict.fromkeys(columns)]
        if not self._frame.height or any(one.dtype == pl.Object or one.dtype.is_nested() for one in series):
            return Tally(self._read(columns))
        numbered = [one.alias(str(at)) for at, one in enumerate(series)]  # some names are patterns to Polars
        together = watched(self._frame.height, lambda: pl.DataFrame(numbered).group_by(pl.all()).len("n"))
        values = {one.name: together.get_column(str(at)) for at, one in enumerate(series)}
        return Tally(pl.DataFrame(values), together.get_column("n").cast(pl.Int64).to_numpy())


class TallySource(Source):
    """Counted combinations without records; any use that needs records is refused."""

    can_count = True
    of_counts = True
    in_hand = False

    def __init__(self, place: str, tally: Tally) -> None:
        super().__init__(place, tally.frame.columns)
        self._tally = tally

    def require_records(self) -> NoReturn:
        """Refuse, because there are none."""
        raise UnsupportedDataError("a count table has no records, and this needs them; give the data itself.")

    def _read(self, columns: Sequence[str]) -> pl.DataFrame:  # noqa: ARG002
        self.require_records()

    def _count(self, columns: Sequence[str]) -> Tally:
        frame = self._tally.frame
        return Tally(pl.DataFrame({name: frame.get_column(name) for name in columns}), self._tally.n)


class FilledSource(Source):
    """A source with additional columns that hold only nulls, with types taken from other columns."""

    def __init__(self, source: Source, lacking: Sequence[str], like: Callable[[Sequence[str]], pl.DataFrame]) -> None:
        super().__init__(source.place, (*source.names, *lacking))
        self._source, self._lacking, self._like = source, set(lacking), like
        self.can_count, self.of_counts = source.can_count, source.of_counts
        self.in_hand, self.ordered = source.in_hand, source.ordered
        self.connected = source.connected

    def held(self, given: Any = None) -> AbstractContextManager[Any]:
        """Keep the connection of the underlying source."""
        return self._source.held(given)

    def _read(self, columns: Sequence[str]) -> pl.DataFrame:
        frame = self._source.collect(self._present(columns))
        return self._filled(frame, columns, {name: self._like([name])[name] for name in columns if name in self._lacking})

    def _count(self, columns: Sequence[str]) -> Tally:
        return self._with_nulls(self._source.count(self._present(columns)), columns)

    def _count_numbered(self, columns: Sequence[str], owners: Collection[str]) -> Tally:
        return self._with_nulls(self._source.count_numbered(self._present(columns), owners), columns)

    def _with_nulls(self, tally: Tally, columns: Sequence[str]) -> Tally:
        empty = pl.Series("values", [], dtype=pl.String)
        return Tally(self._filled(tally.frame, columns, dict.fromkeys(self._lacking, empty)), tally.n)

    def _present(self, columns: Sequence[str]) -> list[str]:
        return [name for name in columns if name not in self._lacking] or list(self._source.names[:1])

    def _filled(self, frame: pl.DataFrame, columns: Sequence[str], like: Mapping[str, pl.Series]) -> pl.DataFrame:
        rows = frame.height
        return pl.DataFrame({name: like[name].clear(rows) if name in like else frame[name] for name in columns})


def counted_source(columns: Mapping[str, tuple[Sequence[Any], NDArray[Any]]], n: NDArray[np.int64]) -> TallySource:
    """Return counted combinations, given by the values and codes of each column, as data that can be counted again."""
    frame = pl.DataFrame({name: column_of_objects("values", values).gather(codes) for name, (values, codes) in columns.items()})
    return TallySource("the count table", Tally(frame, n))


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
