"""From wherever the data is to coded columns that can be counted. The only room that knows an engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from unveil.attributes import Nulls, checked_nulls
from unveil.errors import ArgumentError, EmptyDataError, NullsError, UnsupportedDataError, shown
from unveil.sources.coding import Coded, encode, require_countable, without_nan
from unveil.sources.files import ReadOptions
from unveil.sources.frames import Data, Source, open_source

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Coded", "CodedTable", "Data", "ReadOptions", "Source", "load", "open_source", "source"]


@dataclass(frozen=True, slots=True, eq=False)
class CodedTable:
    """Coded columns of the records that the null policy keeps."""

    columns: tuple[Coded, ...]
    records: int
    dropped: int = 0
    weights: NDArray[np.float64] | None = None


def source(data: Data, *, separator: str | None = None, encoding: str | None = None, missing: str | Sequence[str] = ()) -> Source:
    """Open a file with what cannot be found out from it; every call that takes data takes the result.

    Parameters
    ----------
    data
        A path, or "-" for standard input.
    separator, encoding
        What separates fields, and the encoding, of a text file; none: found.
    missing
        Texts that stand for a null, besides the empty field.

    Examples
    --------
    >>> import unveil
    >>> unveil.source("paper-2").names
    ('Age*', 'Disease')
    """
    texts = (missing,) if isinstance(missing, str) else tuple(missing)
    return open_source(data, ReadOptions(separator=separator, encoding=encoding, missing=texts))


def load(data: Data, columns: Sequence[str], *, nulls: str = "category", weights: str | None = None) -> CodedTable:
    """Read the columns named, apply the null policy, and code them.

    Parameters
    ----------
    data
        A path, a built-in data set's name, a data frame, or an opened `Source`.
    columns
        The columns to code, each named once.
    nulls
        "category": a null is a value. "drop": a record with a null in any column named is left out, and counted. "error": refuse.
    weights
        A column of positive sampling weights.
    """
    policy = checked_nulls(nulls)
    if weights in columns:
        raise ArgumentError(f"column {shown(weights)} is named as weights and as an attribute; it can be one of them.")
    opened = open_source(data)
    wanted = list(columns) if weights is None else [*columns, weights]
    frame = opened.collect(wanted)
    for name in columns:
        require_countable(name, frame[name])
    # numbered, because Polars takes a name such as "^a$" for a pattern
    numbered = without_nan(pl.DataFrame({str(at): frame[name] for at, name in enumerate(wanted)}))
    if not numbered.height:
        raise EmptyDataError.no_records(opened.place)
    kept = _apply_policy(numbered, columns, policy)
    dropped = numbered.height - kept.height
    if not kept.height:
        raise EmptyDataError.no_records(opened.place, dropped=dropped)
    shares = None if weights is None else _checked_weights(kept[str(wanted.index(weights))], weights)
    coded = tuple(replace(encode(kept[str(at)]), name=name) for at, name in enumerate(columns))
    return CodedTable(coded, kept.height, dropped, shares)


def _apply_policy(frame: pl.DataFrame, columns: Sequence[str], nulls: Nulls) -> pl.DataFrame:
    """Apply the null policy to a frame whose columns are numbered as those named."""
    if nulls == "category":
        return frame
    found = {column: frame[str(at)].null_count() for at, column in enumerate(columns)}
    if not any(found.values()):
        return frame
    if nulls == "error":
        raise NullsError.present({column: n for column, n in found.items() if n})
    return frame.filter(np.logical_and.reduce([frame[str(at)].is_not_null().to_numpy() for at in range(len(columns))]))


def _checked_weights(series: pl.Series, name: str) -> NDArray[np.float64]:
    if not series.dtype.is_numeric():
        raise UnsupportedDataError(f"the weights in column {shown(name)} are not numbers.")
    weights = series.cast(pl.Float64).fill_null(np.nan).to_numpy().astype(np.float64)
    bad = int(np.count_nonzero(~(np.isfinite(weights) & (weights > 0))))
    if bad:
        raise ArgumentError(f"{bad:,} of the weights in column {shown(name)} are not positive numbers.")
    return weights
