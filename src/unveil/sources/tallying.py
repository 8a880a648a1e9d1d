"""Coded tables of combinations: what the null policy keeps of them, their weights, and the codes of their columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from unveil.attributes import Nulls, checked_nulls
from unveil.errors import ArgumentError, EmptyDataError, NullsError, UnsupportedDataError, shown
from unveil.run import active_run
from unveil.sources.base import Tally
from unveil.sources.coding import Coded, CodedTable, encode, encode_listed, require_countable
from unveil.sources.listed import Listed, ListedTally

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["coded_table", "wanted_columns"]


def wanted_columns(columns: Sequence[str], weights: str | None) -> list[str]:
    """Return the named columns and that of the weights, refusing a column that is both."""
    if weights in columns:
        raise ArgumentError(f"column {shown(weights)} is named as weights and as an attribute; it can be one of them.")
    return list(columns) if weights is None else [*columns, weights]


def coded_table(place: str, tally: Tally, columns: Sequence[str], nulls: str, weights: str | None) -> CodedTable:
    """Apply the null policy to the rows of the named columns and of the weights, and code them."""
    run, n, held = active_run(), tally.n, _columns_of(tally, columns, weights)
    del tally
    records = _records(n, held)
    if not records:
        raise EmptyDataError.no_records(place)
    kept = _kept({name: held[name] for name in columns}, n, checked_nulls(nulls))
    if kept is not None:
        mask = pl.Series(kept)
        held, n = {name: column.filter(mask) for name, column in held.items()}, None if n is None else n[kept]
    left = _records(n, held)
    if not left:
        raise EmptyDataError.no_records(place, dropped=records)
    shares = None if weights is None else _checked_weights(held[weights], n, weights)
    coded = {}
    for name in dict.fromkeys(columns):
        run.check()
        coded[name] = _coded(name, held.pop(name))  # one form of a column at a time
    return CodedTable(tuple(coded[name] for name in columns), left, records - left, shares, n)


def _columns_of(tally: Tally, columns: Sequence[str], weights: str | None) -> dict[str, pl.Series | Listed]:
    """Return the named columns and that of the weights, every NaN as a null."""
    wanted = wanted_columns(columns, weights)
    if isinstance(tally, ListedTally):
        return {name: tally.columns[name] for name in wanted}
    for name in columns:
        require_countable(name, tally.frame[name])
    series = {name: tally.frame[name].alias("values") for name in wanted}  # some names are patterns to Polars
    return {name: column.fill_nan(None) if column.dtype.is_float() else column for name, column in series.items()}


def _coded(name: str, column: pl.Series | Listed) -> Coded:
    return encode_listed(name, column) if isinstance(column, Listed) else replace(encode(column), name=name)


def _records(n: NDArray[np.int64] | None, columns: Mapping[str, pl.Series | Listed]) -> int:
    return len(next(iter(columns.values()))) if n is None else int(n.sum())


def _kept(columns: Mapping[str, pl.Series | Listed], n: NDArray[np.int64] | None, nulls: Nulls) -> NDArray[np.bool_] | None:
    """Return the rows that the null policy keeps; None: all."""
    if nulls == "category":
        return None
    null = {name: column.is_null().to_numpy() for name, column in columns.items() if column.null_count()}
    if not null:
        return None
    if nulls == "error":
        raise NullsError.present(
            {name: int(np.count_nonzero(rows) if n is None else n[rows].sum()) for name, rows in null.items()}
        )
    return np.asarray(~np.logical_or.reduce(list(null.values())))


def _checked_weights(column: pl.Series | Listed, n: NDArray[np.int64] | None, name: str) -> NDArray[np.float64]:
    series = column.series() if isinstance(column, Listed) else column
    if not series.dtype.is_numeric():
        raise UnsupportedDataError(f"the weights in column {shown(name)} are not numbers.")
    weights = series.cast(pl.Float64).fill_null(np.nan).to_numpy().astype(np.float64)
    wrong = ~(np.isfinite(weights) & (weights > 0))
    if wrong.any():
        bad = int(np.count_nonzero(wrong) if n is None else n[wrong].sum())
        raise ArgumentError.no_weights(name, bad)
    return weights
