"""A table of records to rewrite: columns are replaced, records selected, and the result returned in the caller's library.

Mechanisms work on it, so that none of them depends on an engine. The input data is never changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import polars as pl

from unveil.attributes import Standing, require_columns
from unveil.errors import ColumnNotFoundError, EmptyDataError, UnsupportedDataError
from unveil.output import atomic_write
from unveil.project import Project
from unveil.run import watched
from unveil.sources.base import Data, Source, Tally
from unveil.sources.coding import CodedTable, as_counted, counted_column, encode, labelled
from unveil.sources.files.spreadsheets import harmless, require_delimited
from unveil.sources.files.workbook import workbook
from unveil.sources.fingerprint import fingerprint_of_frame
from unveil.sources.opening import FrameSource, is_project, open_source

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

__all__ = [
    "CountedFrame",
    "Microdata",
    "RecordsSource",
    "complete",
    "open_microdata",
    "require_text",
    "standing_among",
    "standing_of",
    "without_lists_of_names",
    "write_link",
]


@dataclass(frozen=True, slots=True, eq=False)
class Microdata:
    """Complete records, as Polars columns.

    Attributes
    ----------
    place
        The origin of the records, for messages.
    frame
        The records.
    standing
        The declarations on the columns to which no mechanism applies.
    names, records
        The columns, in order, and the number of records.
    """

    place: str
    frame: pl.DataFrame
    _back: Callable[[pl.DataFrame], Any]
    standing: Standing = field(default_factory=Standing)
    names: tuple[str, ...] = field(init=False)
    records: int = field(init=False)

    def __post_init__(self) -> None:
        """Set the names of the columns and the number of records."""
        object.__setattr__(self, "names", tuple(self.frame.columns))
        object.__setattr__(self, "records", self.frame.height)

    def column(self, name: str) -> pl.Series:
        """Return one column; refuse a name that no column has.

        Polars takes a name such as "^a$" for a pattern wherever it occurs; a column with such a name gets a leading blank.
        """
        try:
            column = self.frame.get_column(name)
        except (pl.exceptions.ColumnNotFoundError, UnicodeEncodeError):
            raise ColumnNotFoundError.among(name, self.names) from None
        return column.alias(f" {name}") if name == "*" or name.startswith("^") else column

    def replaced(self, columns: Mapping[str, Any]) -> Microdata:
        """Return the records with columns replaced, or added at the end; values are arrays, lists or Polars columns."""
        data = {name: self.frame.get_column(name) for name in self.names}
        for name, values in columns.items():
            known = name.removeprefix(" ") if name not in data and name.removeprefix(" ") in data else name
            data[known] = _series(known, values)
        return replace(self, frame=pl.DataFrame(data))

    def labelled(self, name: str, labels: Sequence[str | None], codes: NDArray[np.int64]) -> pl.Series:
        """Return a column of texts: for every record, the label of its code."""
        return labelled(name, labels, codes)

    def relabelled(
        self, labels: Mapping[str, Sequence[str | None]], codes: Mapping[str, NDArray[Any]], without: Sequence[str] = ()
    ) -> Microdata:
        """Return the records with the labels of codes in some columns, and without the columns in `without`."""
        require_columns(without, self.names)
        texts = {name: labelled(name, of_code, codes[name]) for name, of_code in labels.items()}
        kept = [name for name in self.names if name not in without]
        data = {name: texts[name] if name in texts else self.frame.get_column(name) for name in kept}
        return replace(self, frame=pl.DataFrame(data))

    def distinct(self, name: str, of: NDArray[np.bool_] | None = None) -> int:
        """Return the number of distinct values of a column, including a null, in all records or in some."""
        column = self.column(name) if of is None else self.column(name).filter(of)
        return len(encode(column).values) if column.dtype == pl.Object else column.n_unique()

    def nulled(self, name: str, cells: NDArray[np.bool_]) -> pl.Series:
        """Return a column of the same type with some cells replaced by nulls."""
        column = self.column(name)
        if column.dtype == pl.Object:
            kept = [None if gone else cell for cell, gone in zip(column.to_list(), cells.tolist(), strict=True)]
            return pl.Series(column.name, kept, dtype=pl.Object)
        plain = column.alias("column")  # some names are patterns to Polars
        return plain.zip_with(pl.Series(~cells), plain.clear(1)).alias(column.name)

    def complete(self, names: Sequence[str]) -> NDArray[np.bool_]:
        """Return which records have no null in the named columns; a NaN is a null."""
        require_columns(names, self.names)
        return complete(self.frame, names)

    def without(self, names: Sequence[str]) -> Microdata:
        """Return the records without some columns."""
        require_columns(names, self.names)
        if not names:
            return self
        return replace(self, frame=pl.DataFrame({name: self.frame.get_column(name) for name in self.names if name not in names}))

    def taken(self, rows: NDArray[np.int64]) -> Microdata:
        """Return the records of the given rows, in the given order."""
        frame = watched(self.records, lambda: self.frame.rechunk()[rows])  # three times as fast in one piece
        return replace(self, frame=frame)

    def naming(self, *names: str) -> Microdata:
        """Return the records with some columns marked as having a role, so that they stay in a release."""
        return replace(self, standing=replace(self.standing, named=self.standing.named | {*names}))

    def deferred(self) -> Microdata:
        """Return the records with all columns for now; the columns that a release keeps are determined later."""
        return replace(self, standing=replace(self.standing, deferred=True))

    def counted(self) -> CountedFrame:
        """Return the records as data whose columns can be counted without coding every record."""
        return CountedFrame(self.frame, self.place)

    def fingerprint(self) -> bytes:
        """Return the SHA-256 of the column names, types and values, in order; changed records have a different one."""
        return fingerprint_of_frame(self.frame)

    def native(self) -> Any:
        """Return the records as a data frame of the caller's library; Polars for a file."""
        return self._back(self.frame)

    def write(self, path: str | os.PathLike[str], *, spreadsheet_safe: bool = False) -> None:
        """Write the records to a file, completely or not at all; `spreadsheet_safe`: no text can be taken for a formula."""
        write_frame(self.frame, path, spreadsheet_safe=spreadsheet_safe)


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


class RecordsSource(FrameSource):
    """Records as a source, so that a study can refer to them; opened as records, they are returned unchanged."""

    def __init__(self, records: Microdata) -> None:
        super().__init__(nw.from_native(records.frame), records.place)
        self.records = records


def complete(frame: pl.DataFrame, names: Sequence[str]) -> NDArray[np.bool_]:
    """Return which records have no null in the named columns; a NaN is a null."""
    whole = np.ones(frame.height, dtype=bool)
    for name in names:
        column = frame.get_column(name).alias("column")  # some names are patterns to Polars
        whole &= (column.fill_nan(None) if column.dtype.is_float() else column).is_not_null().to_numpy()
    return whole


def write_frame(frame: pl.DataFrame, path: str | os.PathLike[str], *, spreadsheet_safe: bool = False) -> None:
    """Write records to a file, completely or not at all; its suffix selects Parquet, Arrow, a workbook or tabs, else CSV."""
    ending = str(path).rpartition(".")[2].lower()
    if spreadsheet_safe:
        require_delimited(path)
        frame = harmless(frame)
    if ending not in {"parquet", "pq", "arrow", "feather", "ipc"}:
        require_text(frame)
    if (mixed := next((name for name, dtype in frame.schema.items() if dtype == pl.Object), None)) is not None:
        raise UnsupportedDataError.no_file(mixed)
    frame = without_lists_of_names(frame)
    with atomic_write(path) as file:
        if ending in {"parquet", "pq"}:
            frame.write_parquet(file)
        elif ending in {"arrow", "feather", "ipc"}:
            frame.write_ipc(file)
        elif ending == "xlsx":
            file.write(workbook({"release": [frame.columns, *frame.iter_rows()]}))
        else:
            frame.write_csv(file, separator="\t" if ending in {"tsv", "tab"} else ",")


def write_link(path: str, truth: NDArray[np.int64]) -> None:
    """Write a correspondence file: the row of every released record and of its original, counted from 1."""
    kept = truth >= 0
    frame = pl.DataFrame({"original": truth[kept] + 1, "release": np.flatnonzero(kept) + 1})
    with atomic_write(path, private=True) as file:
        file.write(frame.write_csv().encode())


def without_lists_of_names(frame: pl.DataFrame) -> pl.DataFrame:
    """Return categorical columns as text, because a file would list all categories in order, even those of no record."""
    columns = ((name, frame.get_column(name)) for name in frame.columns)
    return pl.DataFrame({name: one.cast(pl.String) if isinstance(one.dtype, pl.Enum) else one for name, one in columns})


def require_text(frame: pl.DataFrame) -> None:
    """Refuse columns that delimited text cannot hold: lists, structures, bytes, objects and durations."""
    for name, dtype in frame.schema.items():
        if dtype.is_nested() or dtype in (pl.Binary, pl.Object, pl.Duration):
            raise UnsupportedDataError.no_text(name, dtype.base_type())


def open_microdata(data: Data, standing: Standing | None = None) -> Microdata:
    """Read complete records from a path, a built-in data set, an opened source or a data frame.

    The declarations on the columns to which no mechanism applies are taken from the data, unless `standing` is given.
    """
    if isinstance(data, Microdata):
        return data
    opened = open_source(data)
    if isinstance(opened, RecordsSource):
        return opened.records
    frame = _as_counted(opened.collect(opened.names))
    if not frame.height:
        raise EmptyDataError(f"{opened.place} holds no records.")
    return Microdata(
        opened.place, frame, _returner(opened), standing_among(standing_of(data) if standing is None else standing, opened.names)
    )


def _as_counted(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the records with one form per value, so that a release does not distinguish records that were counted together."""
    if not any(dtype.is_float() for dtype in frame.dtypes):
        return frame
    return pl.DataFrame({name: as_counted(frame.get_column(name)) for name in frame.columns})


def standing_of(data: Data) -> Standing:
    """Return the declarations of a study or project on the columns to which no mechanism applies; none for other data."""
    declared = getattr(Project.read(data) if is_project(data) else data, "standing", None)
    return declared if isinstance(declared, Standing) else Standing()


def standing_among(standing: Standing, columns: Sequence[str]) -> Standing:
    """Return `standing`; refuse it if the data lacks a column that it requires."""
    single = () if standing.person is None else (standing.person,)
    require_columns([*sorted(standing.named), *single, *standing.keep], columns)
    return standing


def _series(name: str, values: Any) -> pl.Series:
    return values.alias(name) if isinstance(values, pl.Series) else pl.Series(name, values, nan_to_null=True)


def _returner(opened: Source) -> Callable[[pl.DataFrame], Any]:
    """Return a module-level function, so that a release can be pickled, from a Polars frame to one of the caller's library."""
    if not isinstance(opened, FrameSource):
        return _to_polars
    frame: nw.DataFrame[Any] | nw.LazyFrame[Any] = opened.frame
    library: nw.Implementation = frame.implementation
    if library.is_pandas():
        return _to_pandas
    if library.is_pyarrow():
        return _to_arrow
    return pl.DataFrame.lazy if isinstance(frame, nw.LazyFrame) and library.is_polars() else _to_polars


def _to_polars(out: pl.DataFrame) -> pl.DataFrame:
    """Return the frame as it is."""
    return out


def _to_arrow(out: pl.DataFrame) -> Any:
    """Return an Arrow table; refuse Python objects, because Polars would pass on their addresses."""
    for name, dtype in out.schema.items():
        if dtype in (pl.Object, pl.Int128, pl.UInt128):
            raise UnsupportedDataError.no_arrow(name)
    return out.to_arrow()


def _to_pandas(out: pl.DataFrame) -> Any:
    """Return a pandas frame, with text as text objects and nulls as pandas marks them; pyarrow is not needed."""
    import pandas as pd

    return pd.DataFrame({name: _pandas_column(out.get_column(name)) for name in out.columns})


def _pandas_column(column: pl.Series) -> Any:
    import pandas as pd

    if column.dtype.is_numeric() and column.dtype not in (pl.Int128, pl.UInt128) and not column.null_count():
        return pd.Series(column.to_numpy())
    return pd.Series(column.to_list(), dtype=object) if column.dtype == pl.Object else pd.Series(column.to_list())
