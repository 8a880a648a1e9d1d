"""Lookup of the values of rows that are read again among the values that were counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from unveil.errors import DataChangedError
from unveil.sources.coding import as_counted, time_texts

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["KnownValues"]


class KnownValues:
    """The counted values of a column, by which later rows are coded.

    Parameters
    ----------
    name
        The column.
    values
        Its values in order, with a null last.
    """

    def __init__(self, name: str, values: Sequence[Any]) -> None:
        self._name = name
        self._known = pl.Series("values", [value for value in values if value is not None])
        self._null = len(self._known) < len(values)

    def codes(self, column: pl.Series) -> NDArray[np.int64]:
        """Return the code of every row; texts are read in the same way as the counted values.

        Raises
        ------
        DataChangedError
            If a row holds a value that was not counted.
        """
        read = column.alias("values")
        if not len(self._known):
            self._refuse(read.null_count() < len(read))
            return np.zeros(len(read), dtype=np.int64)
        if read.dtype == pl.String and self._known.dtype.is_numeric():
            read = read.set(read == "NaN", None)
        if read.dtype.is_temporal() and self._known.dtype == pl.String:
            read = time_texts(read)
        if read.dtype != self._known.dtype:
            before, read = read.null_count(), read.cast(self._known.dtype, strict=False)
            self._refuse(read.null_count() > before)
        if read.dtype.is_float():
            read = read.fill_nan(None)
        places = pl.Series(range(len(self._known)), dtype=pl.Int64)
        codes = read.replace_strict(self._known, places, default=None, return_dtype=pl.Int64)
        self._refuse(codes.null_count() > (read.null_count() if self._null else 0))
        return codes.fill_null(len(self._known)).to_numpy()

    def in_one_form(self, column: pl.Series) -> pl.Series:
        """Return the column with one form per counted value; texts of numbers stay texts."""
        if column.dtype == pl.String and self._known.dtype.is_float():
            plain = column.alias("values")  # some names are patterns to Polars
            plain = plain.set(plain == "NaN", None)
            return plain.set(plain == "-0.0", "0.0").alias(column.name)
        return as_counted(column)

    def _refuse(self, unknown: bool) -> None:  # noqa: FBT001
        if unknown:
            raise DataChangedError.of_column(self._name)
