"""Cells: the combinations of some columns with their numbers of records, and the sums of numeric columns in each.

Records in memory are cells of one record. An engine groups and sums itself, and only cells leave it.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import polars as pl

from unveil.errors import DataChangedError, EmptyDataError, UnsupportedDataError, shown
from unveil.sources.base import Data, Source
from unveil.sources.coding import Coded, encode, require_countable
from unveil.sources.engines.table import EngineSource, Written
from unveil.sources.fingerprint import fingerprint_of_frame
from unveil.sources.opening import open_source

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CellAmounts", "Condition", "Tabulated", "frame_of", "grid_of", "tabulate"]

_PRIME = 1_000_003
_STEPS = 1 << 20
"""The larger bound is about this many steps of the grid on which bounded values are summed."""


class Condition(Protocol):
    """A condition that can be written in SQL."""

    def sql(self, column: Written, text: Written) -> str:
        """Return the condition."""


@dataclass(frozen=True, slots=True, eq=False)
class CellAmounts:
    """The amounts of a numeric column in each cell.

    Attributes
    ----------
    present
        The number of records with a value.
    total, squares
        The sum of the values, and the sum of their squares; the sum is whole if the values are.
    least, greatest
        The smallest and the largest value; NaN if there is no value.
    bounded
        The sum of the values clipped to declared bounds, in steps of the grid; None: no bounds are declared.
    """

    present: NDArray[np.int64]
    total: NDArray[Any]
    squares: NDArray[np.float64]
    least: NDArray[np.float64]
    greatest: NDArray[np.float64]
    bounded: NDArray[np.int64] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Tabulated:
    """The cells of a table.

    Attributes
    ----------
    place
        The location of the data, for messages.
    columns
        The coded columns, by name.
    n
        The number of records of each cell.
    amounts
        The amounts of numeric columns, by name.
    distinct
        The numbers of distinct values of numeric columns, by name.
    fingerprint
        The fingerprint of all of the above; changed data has a different one.
    in_hand
        Whether the cells are records, in their order.
    """

    place: str
    columns: Mapping[str, Coded]
    n: NDArray[np.int64]
    amounts: Mapping[str, CellAmounts]
    distinct: Mapping[str, int]
    fingerprint: bytes = field(repr=False)
    in_hand: bool
    _holding: Callable[[Condition], NDArray[np.int64]] | None = None

    @property
    def records(self) -> int:
        """The number of records."""
        return int(self.n.sum())

    def holding(self, condition: Condition) -> NDArray[np.int64]:
        """Return the number of records of each cell that meet a condition on columns that the engine did not group by."""
        if self._holding is None:
            raise UnsupportedDataError(f"{self.place}: this source cannot compute conditions.")
        return self._holding(condition)


def frame_of(columns: Mapping[str, Sequence[Any]]) -> pl.DataFrame:
    """Return columns as a frame that every call accepts as data."""
    return pl.DataFrame(columns)


def grid_of(bounds: tuple[float, float]) -> float:
    """Return the step of the grid on which values between bounds are summed: a power of two, so that sums are not rounded."""
    largest = max(abs(bounds[0]), abs(bounds[1])) or 1.0
    return float(2.0 ** math.floor(math.log2(largest / _STEPS)))


def tabulate(
    data: Data, coded: Sequence[str], measured: Sequence[str], bounds: Mapping[str, tuple[float, float]] | None = None
) -> Tabulated:
    """Tabulate data over some columns, with the amounts of others.

    Parameters
    ----------
    data
        A path, a built-in data set's name, a data frame, a table in an engine, or an opened source.
    coded
        The columns to which conditions apply.
    measured
        Columns to sum if they hold numbers; they are also coded if they hold none, or if the records are in memory.
    bounds
        Declared bounds of numeric columns.

    Examples
    --------
    >>> cells = tabulate("paper-2", ["Age*"], ["Disease"])
    >>> cells.records, sorted(cells.columns), dict(cells.amounts)
    (9, ['Age*', 'Disease'], {})
    """
    opened, limits = open_source(data), bounds or {}
    if isinstance(opened, EngineSource):
        return _in_engine(opened, coded, measured, limits)
    return _in_hand(opened, coded, measured, limits)


def _in_hand(
    opened: Source, coded: Sequence[str], measured: Sequence[str], bounds: Mapping[str, tuple[float, float]]
) -> Tabulated:
    names = list(dict.fromkeys([*coded, *measured]))
    frame = opened.collect(names)
    if not frame.height:
        raise EmptyDataError.no_records(opened.place)
    columns = {}
    for name in names:
        require_countable(name, frame[name])
        columns[name] = replace(encode(frame[name].alias("column")), name=name)
    amounts = {
        name: _amounts(frame[name].alias("column"), bounds.get(name)) for name in measured if frame[name].dtype.is_numeric()
    }
    n = np.ones(frame.height, dtype=np.int64)
    distinct = {name: sum(value is not None for value in columns[name].values) for name in amounts}
    return Tabulated(opened.place, columns, n, amounts, distinct, fingerprint_of_frame(frame), in_hand=True)


def _amounts(column: pl.Series, bounds: tuple[float, float] | None) -> CellAmounts:
    floats = column.cast(pl.Float64).fill_null(np.nan).to_numpy().astype(np.float64)
    present = ~np.isnan(floats)
    numbers = np.where(present, floats, 0.0)
    whole = column.dtype.is_integer() and float(np.abs(numbers).sum()) < float(1 << 62)
    total = column.fill_null(0).cast(pl.Int64).to_numpy().astype(np.int64) if whole else numbers
    bounded = None if bounds is None else np.where(present, np.rint(np.clip(numbers, *bounds) / grid_of(bounds)), 0.0)
    steps = None if bounded is None else bounded.astype(np.int64)
    with np.errstate(over="ignore"):  # infinite, like those of an engine
        squares = numbers * numbers
    return CellAmounts(present.astype(np.int64), total, squares, floats, floats, steps)


def _in_engine(
    opened: EngineSource, coded: Sequence[str], measured: Sequence[str], bounds: Mapping[str, tuple[float, float]]
) -> Tabulated:
    """Let the engine group by the coded columns and the non-numeric measured ones, and sum the others."""
    ask, kinds = opened.aggregated, opened.numbers
    numbers = [name for name in measured if name in kinds]
    names = list(dict.fromkeys([*coded, *(name for name in measured if name not in kinds)]))
    tally, sums = ask(
        names, lambda column, _: [one for name in numbers for one in _sums(column(name), opened, name, bounds.get(name))]
    )
    n = tally.n
    if n is None or not int(n.sum()):
        raise EmptyDataError.no_records(opened.place)
    order, cells = _ordered(tally.frame)
    codes = {name: replace(encode(cells[name].alias("column")), name=name) for name in names}
    amounts, at, rounded = {}, 0, set[int]()
    for name in numbers:
        width = len(_sums("", opened, name, bounds.get(name)))
        rounded |= {at + 2} if kinds[name] else {at + 1, at + 2}  # floating-point sums depend on the order of addition
        amounts[name] = _summed(name, [sums.to_series(at + one)[order] for one in range(width)], whole=kinds[name])
        at += width
    exact = {f"s{at}": sums.to_series(at)[order] for at in range(sums.width) if at not in rounded}
    whole_frame = pl.DataFrame({**{f"c{at}": cells[name] for at, name in enumerate(names)}, "n": n[order], **exact})
    mark = hashlib.sha256("\0".join([*names, "", *numbers]).encode() + fingerprint_of_frame(whole_frame)).digest()

    def holding(condition: Condition) -> NDArray[np.int64]:
        now, numbers = ask(names, lambda column, text: [f"sum(CASE WHEN {condition.sql(column, text)} THEN 1 ELSE 0 END)"])
        later, later_cells = _ordered(now.frame)
        if now.n is None or not later_cells.equals(cells) or not np.array_equal(now.n[later], n[order]):
            raise DataChangedError.of_counts(opened.place)
        return numbers.to_series(0).cast(pl.Int64).to_numpy().astype(np.int64)[later]

    _, values = ask([], lambda column, _: [f"count(DISTINCT {column(name)})" for name in numbers])
    distinct = {name: int(values.to_series(at)[0]) for at, name in enumerate(numbers)}
    return Tabulated(opened.place, codes, n[order], amounts, distinct, mark, in_hand=False, _holding=holding)


def _ordered(frame: pl.DataFrame) -> tuple[NDArray[np.int64], pl.DataFrame]:
    """Return an order of combinations that does not depend on the engine, and the combinations in that order."""
    if not frame.width:
        return np.zeros(1, dtype=np.int64), frame
    plain = pl.DataFrame({str(at): frame.to_series(at) for at in range(frame.width)})
    order = plain.with_row_index("row").sort(plain.columns, nulls_last=True)["row"].to_numpy().astype(np.int64)
    return order, frame[order]


def _sums(column: str, engine: EngineSource, name: str, bounds: tuple[float, float] | None) -> list[str]:
    """Return the aggregates of a numeric column, given the column in the engine's SQL."""
    kind = "BIGINT" if engine.numbers[name] else engine.real
    real = f"CAST({column} AS {engine.real})"
    columns = [
        f"count({column})",
        f"CAST(coalesce(sum({column}), 0) AS {kind})",
        f"coalesce(sum({real} * {real}), 0)",
        f"CAST(min({column}) AS {engine.real})",
        f"CAST(max({column}) AS {engine.real})",
        f"CAST(coalesce(sum(CAST({_checked(real)} AS BIGINT)), 0) AS BIGINT)",
    ]
    if bounds is not None:
        low, high = bounds
        cut = f"CASE WHEN {real} < {low!r} THEN {low!r} WHEN {real} > {high!r} THEN {high!r} ELSE {real} END"
        columns.append(f"CAST(coalesce(sum(CAST(round(({cut}) / {grid_of(bounds)!r}) AS BIGINT)), 0) AS BIGINT)")
    return columns


def _checked(real: str) -> str:
    """Return an expression for a check number: a value's thousandths modulo a prime; its sums do not depend on the order."""
    thousandths = f"floor(abs({real}) * 1000.0)"
    return f"({thousandths} - {_PRIME}.0 * floor({thousandths} / {_PRIME}.0))"


def _summed(name: str, parts: Sequence[pl.Series], *, whole: bool) -> CellAmounts:
    def floats(series: pl.Series) -> NDArray[np.float64]:
        return series.cast(pl.Float64).fill_null(np.nan).to_numpy().astype(np.float64)

    present, total, squares, least, greatest, _, *rest = parts
    sums = total.cast(pl.Int64).to_numpy().astype(np.int64) if whole else floats(total)
    if not np.isfinite(sums).all():
        raise UnsupportedDataError(f"column {shown(name)} holds infinite numbers; turn them into nulls.")
    bounded = rest[0].cast(pl.Int64).to_numpy().astype(np.int64) if rest else None
    count = present.cast(pl.Int64).to_numpy().astype(np.int64)
    return CellAmounts(count, sums, floats(squares), floats(least), floats(greatest), bounded)
