"""The three tables of an audit, column by column in one coding: the original, the synthetic release, and the hold-out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.counts import group
from unveil.errors import ArgumentError, ColumnNotFoundError, EmptyDataError, shown
from unveil.formats import counted
from unveil.sources import Source

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from unveil.study import Pair

__all__ = ["Side", "Trio", "trio_of"]

_NULL_PLACE = 2.0
"""The place of a null beside numbers between 0 and 1: at the largest possible gap from all of them, and at none from a null."""
_SURPRISE = 1e-6
"""A hold-out that chance would make equal the original as often less than once in a million times holds its people."""
_KINDS = {"number": "numbers", "moment": "dates or times", "category": "texts or truth values"}


@dataclass(frozen=True, slots=True)
class Side:
    """The records of one table, one per row.

    Attributes
    ----------
    codes
        The rank of each value among those of all three tables, -1 for a null.
    values
        Numbers and moments as they are, NaN for a null; for categories the codes.
    points
        Numbers and moments between 0 and 1 over all three tables, a null at 2; for categories the codes.
    """

    codes: NDArray[np.int32]
    values: NDArray[np.float64]
    points: NDArray[np.float64]

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self.codes)

    def rows(self, chosen: NDArray[np.int64]) -> Side:
        """Return some of the records."""
        return Side(self.codes[chosen], self.values[chosen], self.points[chosen])


@dataclass(frozen=True, slots=True)
class Trio:
    """The original, the release and the hold-out in one coding.

    Attributes
    ----------
    names, ordered, numeric
        The columns by their name in the original, which of them have an order (numbers and moments), and which are numbers.
    known, sensitive
        The positions of the columns that an intruder may know, and of those that an intruder wants to know.
    equal, expected
        The number of hold-out records that equal an original record in every column both have, and the number expected by
        chance.
    """

    names: tuple[str, ...]
    ordered: NDArray[np.bool_]
    numeric: NDArray[np.bool_]
    original: Side
    release: Side
    control: Side
    known: tuple[int, ...]
    sensitive: tuple[int, ...]
    equal: int
    expected: float


def trio_of(pair: Pair, control: Source) -> Trio:
    """Read and code the columns that original and release have in common, in all three tables.

    Raises
    ------
    ColumnNotFoundError, EmptyDataError, ArgumentError
        If the hold-out lacks a column or records, if a column holds values of another kind in one of the tables, or if the
        hold-out holds records of the original.
    """
    known = {one.original: one.release for one in pair.whole}
    sensitive = {before: name for name in pair.sensitive if (before := pair.originals.get(name)) is not None}
    columns = {**known, **sensitive}
    for name in columns:
        if name not in control.names:
            raise ColumnNotFoundError(f"the control: {ColumnNotFoundError.among(name, control.names)}")
    tables = (
        pair.original.collected(list(columns)),
        pair.release.collected(list(dict.fromkeys(columns.values()))),
        control.collect(list(columns)),
    )
    if not tables[2].height:
        raise EmptyDataError.no_records("the control")
    equal, expected = _overlap(pair, control, tables[0].height)
    coded = [_coded(name, tables, released) for name, released in columns.items()]
    first, second, third = (
        Side(*(np.column_stack([column[part][at] for column in coded]) for part in range(3))) for at in range(3)
    )
    names, numeric = tuple(columns), np.array([tables[0][name].dtype.is_numeric() for name in columns])
    ordered = np.array([_kind(tables[0][name]) != "category" for name in columns])
    places = [tuple(names.index(name) for name in some) for some in (known, sensitive)]
    return Trio(names, ordered, numeric, first, second, third, places[0], places[1], equal, expected)


def _kind(column: pl.Series) -> str:
    return "number" if column.dtype.is_numeric() else "moment" if column.dtype.is_temporal() else "category"


def _coded(name: str, tables: Sequence[pl.DataFrame], released: str) -> tuple[list[NDArray[Any]], ...]:
    """Return the codes, values and points of a column, for each of the three tables."""
    columns = [table[label] for table, label in zip(tables, (name, released, name), strict=True)]
    kind, texts = _kind(columns[0]), {"the release": columns[1], "the control": columns[2]}
    for what, column in texts.items():
        if column.null_count() < len(column) and _kind(column) != kind:
            raise ArgumentError(
                f"column {shown(name)} holds {_KINDS[kind]} in the original and {_KINDS[_kind(column)]} in {what}; "
                "attacks on synthetic data compare like with like."
            )
    whole = _together(columns, kind)
    ranks = whole.rank("dense").cast(int).fill_null(0).to_numpy() - 1
    values = ranks.astype(np.float64) if kind == "category" else whole.cast(float).fill_null(np.nan).to_numpy()
    ends = np.cumsum([len(column) for column in columns])[:-1]
    points = ranks if kind == "category" else _scaled(values)
    return tuple(
        np.split(np.asarray(arrays, dtype=kind_), ends)
        for arrays, kind_ in ((ranks, np.int32), (values, np.float64), (points, np.float64))
    )


def _together(columns: Sequence[pl.Series], kind: str) -> pl.Series:
    """Return three columns as one: numbers in floating point, moments as their numbers, all others as texts."""
    target: Any = str if kind == "category" else float
    columns = [column.alias("values") for column in columns]  # some names are patterns to Polars
    if kind == "moment":
        columns = [column.cast(columns[0].dtype).to_physical() for column in columns]
    whole = columns[0].cast(target)
    for column in columns[1:]:
        whole = whole.append(column.cast(target)) if len(whole) else column.cast(target)
    return whole if kind == "category" else whole.fill_nan(None)


def _scaled(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return numbers between 0 and 1, and a null far from all of them."""
    known = ~np.isnan(values)
    if not known.any():
        return np.full(len(values), _NULL_PLACE)
    low, high = values[known].min(), values[known].max()
    if not np.isfinite(high - low):
        raise ArgumentError("a column holds numbers that are infinite or too large to be compared.")
    width = high - low or 1.0
    return np.where(known, (values - low) / width, _NULL_PLACE)


def _overlap(pair: Pair, control: Source, originals: int) -> tuple[int, float]:
    """Count hold-out records that equal an original one, and those expected by chance; refuse a hold-out of the same people.

    Chance: how often an original record equals another one, in every column that both tables have.
    """
    from scipy.stats import binom

    names = [name for name in control.names if name in pair.original.names]
    one, other = pair.original.collected(names), control.collect(names)
    codes = [_together([one[name], other[name]], _common_kind(one[name], other[name])).rank("dense") for name in names]
    places = [code.fill_null(0).cast(int).to_numpy() for code in codes]
    of_row, _ = group(places, [int(code.max()) + 1 for code in places])
    held = np.bincount(of_row[:originals], minlength=int(of_row.max()) + 1)
    equal, doubled = int(np.count_nonzero(held[of_row[originals:]])), int(held[held > 1].sum())
    chance, controls = (doubled + 1) / (originals + 1), other.height
    if binom.sf(equal - 1, controls, chance) < _SURPRISE:
        raise ArgumentError(
            f"{counted(equal, 'record')} of the control's {controls:,} {'is' if equal == 1 else 'are'} in the original too, "
            f"where chance gives about {chance * controls:,.0f}: the control must be people who were not used; choose others."
        )
    return equal, chance * controls


def _common_kind(one: pl.Series, other: pl.Series) -> str:
    kind = _kind(one)
    return kind if kind == _kind(other) else "category"
