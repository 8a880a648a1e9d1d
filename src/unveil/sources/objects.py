"""Columns of Python objects: objects of one type become a column of that type, and others stay as they are.

A column of integers keeps every digit, in 64 bits if they suffice, then in 128, then as objects. Integers mixed with floats
become floats only if each is represented exactly. The marks of missing values in any library are nulls. Values of several types
are distinguished by their type and text: 1, True, 1.0 and "1" are four values.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl

from unveil.errors import UnsupportedDataError, is_unicode

__all__ = ["column_of_objects", "column_of_sets", "require_plain"]

_EXACT = 1 << 53
_DIGITS = 38
"""The most digits of a column of decimals."""
_WIDTHS = ((pl.Int64, -(1 << 63), (1 << 63) - 1), (pl.UInt64, 0, (1 << 64) - 1), (pl.Int128, -(1 << 127), (1 << 127) - 1))
_MARKS = frozenset({"NaTType", "NAType"})
"""The types by which pandas marks a missing value, besides NaN and None."""


def column_of_objects(name: str, cells: Sequence[Any]) -> pl.Series:
    """Return cells as a column of their common type, or of objects if they have none."""
    plain = [_plain(cell) for cell in cells]
    if not all(is_unicode(cell) for cell in plain if isinstance(cell, str)):
        raise UnsupportedDataError.no_characters(name)
    kinds = {type(cell) for cell in plain if cell is not None}
    dtype = _dtype(kinds, plain)
    try:
        return pl.Series("objects", plain, dtype=dtype, strict=True).alias(name)  # some names are patterns to Polars
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        return pl.Series(name, plain, dtype=pl.Object)


def column_of_sets(column: pl.Series, sets: Sequence[Any]) -> pl.Series:
    """Return a column of sets: lists as lists of text, objects as they are, anything else as text."""
    nested = pl.List(pl.String) if column.dtype in (pl.List, pl.Array) else pl.String
    return pl.Series("sets", sets, dtype=pl.Object if column.dtype == pl.Object else nested).alias(column.name)


def require_plain(name: str, cells: Sequence[Any]) -> None:
    """Refuse objects without a distinguishing text: lists, tables, bytes, and objects shown by their address."""
    for kind in {type(cell) for cell in cells}:
        own = {name for base in kind.__mro__[:-1] for name in vars(base)}
        several = {"__iter__", "__call__"} & own and not issubclass(kind, str)
        if several or not {"__str__", "__repr__"} & own:
            raise UnsupportedDataError.uncountable(name, kind.__name__)


def _plain(cell: Any) -> Any:
    """Return a cell as a plain Python value; None if it marks a missing value."""
    if isinstance(cell, np.generic):
        cell = cell.item()
    if type(cell).__name__ in _MARKS or (isinstance(cell, float) and cell != cell):  # noqa: PLR0124 - a NaN differs from itself
        return None
    return None if isinstance(cell, Decimal) and cell.is_nan() else cell


def _dtype(kinds: set[type], cells: Sequence[Any]) -> Any:
    """Return the type that holds all cells exactly; None if all cells have one type, which Polars determines itself."""
    if kinds == {int}:
        low, high = (bound(cell for cell in cells if cell is not None) for bound in (min, max))
        return next((dtype for dtype, least, most in _WIDTHS if least <= low and high <= most), pl.Object)
    if kinds == {int, float}:
        exact = all(abs(cell) <= _EXACT for cell in cells if isinstance(cell, int))
        return pl.Float64 if exact else pl.Object
    if kinds == {Decimal}:
        return _decimal([cell for cell in cells if cell is not None])
    return None if len(kinds) == 1 else pl.String if not kinds else pl.Object


def _decimal(cells: Sequence[Decimal]) -> Any:
    """Return the decimal type that holds all digits of all cells; the type of objects if none does."""
    if not all(cell.is_finite() for cell in cells):
        return pl.Object
    after = max(max(-int(cell.as_tuple().exponent), 0) for cell in cells)
    before = max(max(cell.adjusted() + 1, 0) for cell in cells)
    return pl.Decimal(_DIGITS, after) if before + after <= _DIGITS else pl.Object
