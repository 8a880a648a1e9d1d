"""Access to the values of a column, whatever table holds them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from unveil.errors import ArgumentError
from unveil.fitting import fits
from unveil.partitions.generalised import is_null
from unveil.sources import open_source

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Records", "coded", "column_names", "column_of", "opened", "rows_in", "stacked"]

Records: TypeAlias = Any
"""A mapping from column name to values, a two-dimensional array (its columns are named "0", "1", ...), or what any call takes as
data: a data frame, eager or lazy, or a path."""


_PLAIN = {str, int, bool, dt.date, dt.datetime, dt.time, dt.timedelta}
"""Types whose values are distinguished by themselves, and of which none marks a missing value."""


def opened(table: Records) -> Records:
    """Return a table whose columns can be reached: a mapping, an array, or an eager frame."""
    if isinstance(table, Mapping):
        if not fits(table, Mapping[str, Sequence[Any]]):
            raise ArgumentError("a table of records maps column names to lists of values.")
        return table
    if isinstance(table, np.ndarray):
        if table.ndim != 2:  # noqa: PLR2004 - records by attributes
            raise ArgumentError(f"an array of records has two dimensions, one row per record; found: {table.ndim}.")
        return table
    source = open_source(table)
    return source.collect(source.names)


def column_names(table: Records) -> list[str]:
    """Return the names of a table's columns."""
    if isinstance(table, Mapping):
        return list(table)
    return [str(at) for at in range(table.shape[1])] if isinstance(table, np.ndarray) else list(table.columns)


def rows_in(table: Records) -> int:
    """Return the number of records of a table."""
    if isinstance(table, Mapping):
        sizes = {len(values) for values in table.values()}
        if len(sizes) > 1:
            raise ArgumentError("the columns of a table differ in length; each holds one value per record.")
        return sizes.pop() if sizes else 0
    return len(table)


def column_of(table: Records, name: str) -> Any:
    """Return a column's values, as an array if they are numbers, otherwise as a list."""
    if isinstance(table, Mapping):
        return table[name]
    if isinstance(table, np.ndarray):
        return table[:, int(name)]
    import narwhals as nw

    series = nw.from_native(table, eager_only=True)[name]
    unknown_to_numpy = series.dtype.is_decimal() or series.dtype in {nw.Int128, nw.UInt128}
    return series.to_numpy() if series.dtype.is_numeric() and not unknown_to_numpy else series.to_list()


def stacked(one: Any, other: Any) -> Any:
    """Return the values of one column below those of another."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray) and {one.dtype.kind, other.dtype.kind} <= set("iuf"):
        return np.concatenate([one, other])
    return [*one, *other]


def coded(values: Any) -> tuple[NDArray[np.int64], list[Any]]:
    """Return the number of each value among the distinct ones, and these; lists and tables are distinguished by their text."""
    if isinstance(values, np.ndarray) and values.dtype.kind == "M":
        values = values.astype("datetime64[us]")  # finer ones would come out as integers
    items = values.tolist() if isinstance(values, np.ndarray) else list(values)
    if len(kinds := set(map(type, items)) - {type(None)}) == 1 and kinds <= _PLAIN:
        known = {value: code for code, value in enumerate(dict.fromkeys(items))}
        return np.fromiter(map(known.__getitem__, items), dtype=np.int64, count=len(items)), list(known)
    place: dict[Any, int] = {}
    distinct: list[Any] = []
    codes = np.empty(len(items), dtype=np.int64)
    for row, value in enumerate(items):
        key = (
            None
            if is_null(value)
            else (repr(value), type(value))
            if isinstance(value, list | set | dict)
            else (value, type(value))
        )
        code = place.setdefault(key, len(distinct))
        if code == len(distinct):
            distinct.append(None if key is None else value)
        codes[row] = code
    return codes, distinct
