"""A source for repeated queries: every column is read and coded once, and the records that the null policy keeps are counted.

Memory is bounded: a column that does not fit into the remaining memory is read again when needed.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from unveil.attributes import Nulls, checked_nulls
from unveil.errors import ArgumentError, EmptyDataError, NullsError, UnsupportedDataError, shown
from unveil.run import active_run, stepped
from unveil.sources.base import Source, Tally
from unveil.sources.coding import Coded, CodedTable, encode, encode_listed, require_countable
from unveil.sources.listed import Listed, ListedTally

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["HeldSource", "coded_table", "wanted_columns"]


def wanted_columns(columns: Sequence[str], weights: str | None) -> list[str]:
    """Return the named columns and that of the weights; refuse a column that is both."""
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
    """Return the named columns and that of the weights, with every NaN as a null."""
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
    if len(weights) and not (weights.min() >= _LIGHTEST and weights.max() <= _HEAVIEST):
        raise ArgumentError(
            f"some weights in column {shown(name)} are not between {_LIGHTEST:g} and {_HEAVIEST:g}, so their sums would be lost; "
            "a weight says how many people a record stands for."
        )
    return weights


_LIGHTEST, _HEAVIEST = 1e-100, 1e100
_SHARE = 3 / 16
"""The largest share of the memory of the run that the columns held may take."""


class HeldSource(Source):
    """A source that keeps its columns once they are read, around a source that would read them again.

    Parameters
    ----------
    source
        The source that would read them again.
    memory
        The number of bytes that the run may use; None: the limit of the active run.
    """

    def __init__(self, source: Source, memory: int | None = None) -> None:
        super().__init__(source.place, source.names)
        self.ordered = source.ordered
        self._source = source
        self._lock = threading.RLock()
        self._left = int((active_run().limits.memory if memory is None else memory) * _SHARE)
        self._columns: dict[str, pl.Series] = {}
        self._coded: dict[str, Coded] = {}

    def __reduce__(self) -> tuple[type[HeldSource], tuple[Source]]:
        """Pickle only the underlying source; another process reads the columns again."""
        return HeldSource, (self._source,)

    def _read(self, columns: Sequence[str]) -> pl.DataFrame:
        with self._lock:
            known, missing = self._columns, [name for name in columns if name not in self._columns]
            if missing:
                records = self._source.collect(missing)
                known = {**known, **{name: records.get_column(name) for name in missing}}
                for name in missing:
                    if (size := int(known[name].estimated_size())) <= self._left:
                        self._left, self._columns[name] = self._left - size, known[name]
            return pl.DataFrame({name: known[name] for name in columns})

    def coded(self, columns: Sequence[str]) -> tuple[Coded, ...]:
        """Return coded columns of the records; a null is a value."""
        coded = self._each_coded(columns, strict=True)
        return tuple(coded[name] for name in columns)

    def _each_coded(self, columns: Sequence[str], *, strict: bool) -> dict[str, Coded]:
        """Return coded columns by name; columns of lists, bytes and the like are left out, or, if `strict`, refused."""
        with self._lock:
            coded = {name: self._coded[name] for name in columns if name in self._coded}
            missing = [name for name in dict.fromkeys(columns) if name not in coded]
            frame = self.collect(missing) if missing else pl.DataFrame()
            for name in stepped(frame.height, "columns", missing):
                try:
                    coded[name] = encode(frame.get_column(name))
                except UnsupportedDataError:
                    if strict:
                        raise
                    continue
                if (size := coded[name].codes.nbytes) <= self._left:
                    self._left, self._coded[name] = self._left - size, coded[name]
        return coded

    def table(self, columns: Sequence[str], nulls: str, weights: str | None, owners: Collection[str] = ()) -> CodedTable:
        """Return some columns coded, with counts if the source can count; values of `owners` are then replaced by numbers."""
        if not self._source.can_count and nulls == "category" and weights is None:
            return self._whole(columns)
        wanted = wanted_columns(columns, weights)
        return coded_table(self.place, self._tally(wanted, owners), columns, nulls, weights)

    def _tally(self, columns: Sequence[str], owners: Collection[str]) -> Tally:
        if not self._source.can_count:
            return Tally(self.collect(columns))
        return self._source.count_numbered(columns, owners) if owners else self._source.count(columns)

    def _whole(self, columns: Sequence[str]) -> CodedTable:
        """Return some coded columns of all records."""
        coded = self.coded(columns)
        if not len(coded[0].codes):
            raise EmptyDataError.no_records(self.place)
        return CodedTable(coded, len(coded[0].codes))

    def tables(
        self, sets: Mapping[str, Sequence[str]], owners: Collection[str] = (), *, strict: bool = False
    ) -> dict[str, CodedTable]:
        """Return several sets of columns by name, each as `table` returns it; a null is a value.

        A set with a column that does not hold single values (but lists or bytes) is left out, or, if `strict`, refused.
        """
        if self._source.can_count:
            tables = {name: self._counted(columns, owners, strict=strict) for name, columns in sets.items()}
            return {name: table for name, table in tables.items() if table is not None}
        coded = self._each_coded([name for columns in sets.values() for name in columns], strict=strict)
        if any(not len(one.codes) for one in coded.values()):
            raise EmptyDataError.no_records(self.place)
        whole = {name: columns for name, columns in sets.items() if all(one in coded for one in columns)}
        known = {name: tuple(coded[one] for one in columns) for name, columns in whole.items()}
        return {name: CodedTable(some, len(some[0].codes)) for name, some in known.items()}

    def _counted(self, columns: Sequence[str], owners: Collection[str], *, strict: bool) -> CodedTable | None:
        try:
            alone = self._source.count_alone(columns[0]) if len(columns) == 1 and not owners else None
            return self.table(columns, "category", None, owners) if alone is None else alone
        except UnsupportedDataError:
            if strict:
                raise
            return None
