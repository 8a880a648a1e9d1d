"""From wherever the data is to coded columns that can be counted. The only room that knows an engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from unveil.arguments import checked_arguments
from unveil.attributes import Nulls, checked_nulls, require_columns
from unveil.errors import ArgumentError, EmptyDataError, NullsError, UnsupportedDataError, shown
from unveil.sources.base import Data, Source, Tally
from unveil.sources.coding import Coded, encode, require_countable, without_nan
from unveil.sources.opening import open_source
from unveil.sources.options import ReadOptions

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "Coded",
    "CodedTable",
    "Data",
    "ReadOptions",
    "Source",
    "coded_table",
    "load",
    "open_source",
    "source",
    "tallied",
    "wanted_columns",
]

OPEN_MODULES = (
    "alignment",
    "amounts",
    "base",
    "batches.combinations",
    "batches.counting",
    "batches.rewriting",
    "coding",
    "columns",
    "datasets",
    "engines.address",
    "engines.recoding",
    "engines.table",
    "files.globs",
    "files.inputs",
    "files.spreadsheets",
    "files.workbook",
    "frames",
    "held",
    "microdata",
    "objects",
    "opening",
    "sampling",
    "streams",
    "streams.base",
    "streams.kafka",
    "streams.redis",
    "streams.spark",
    "tabulated",
)
"""Modules of this room that others may import from; the rest is its own."""


@dataclass(frozen=True, slots=True, eq=False)
class CodedTable:
    """Coded columns of the records that the null policy keeps, or of their combinations with counts.

    Attributes
    ----------
    columns
        The columns, all with one code a row.
    records, dropped
        The records kept, and those that the null policy left out.
    weights
        The sampling weight of one record of each row; None: all weigh the same.
    n
        The records that each row stands for; None: one each.
    """

    columns: tuple[Coded, ...]
    records: int
    dropped: int = 0
    weights: NDArray[np.float64] | None = None
    n: NDArray[np.int64] | None = None

    @property
    def mass(self) -> NDArray[np.float64] | None:
        """The weight of all records of each row; None where there are no weights."""
        return self.weights if self.weights is None or self.n is None else self.weights * self.n


@checked_arguments
def source(
    data: Data,
    *,
    separator: str | None = None,
    encoding: str | None = None,
    missing: str | Sequence[str] = (),
    text: str | Sequence[str] = (),
) -> Source:
    """Open a file with what cannot be found out from it; every call that takes data takes the result.

    Parameters
    ----------
    data
        A path, or "-" for standard input.
    separator, encoding
        What separates fields, and the encoding, of a text file; none: found.
    missing
        Texts that stand for a null, besides the empty field.
    text
        Columns of codes, read as text; zeros in front that a spreadsheet lost are put back.

    Examples
    --------
    >>> import unveil
    >>> unveil.source("paper-2").names
    ('Age*', 'Disease')
    """
    texts = (missing,) if isinstance(missing, str) else tuple(missing)
    codes = (text,) if isinstance(text, str) else tuple(text)
    opened = open_source(data, ReadOptions(separator=separator, encoding=encoding, missing=texts, text=codes))
    require_columns(codes, opened.names)
    return opened


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
    policy, wanted = checked_nulls(nulls), wanted_columns(columns, weights)
    opened = open_source(data)
    return coded_table(opened.place, Tally(opened.collect(wanted)), columns, policy, weights)


def tallied(data: Data, columns: Sequence[str], *, nulls: str = "category", weights: str | None = None) -> CodedTable:
    """Code the combinations of the columns named with their counts; a source that can count does, and no record comes here.

    The parameters are those of `load`. Where every record has its own weight there are as many combinations as records: weights
    are grouped by, not summed, so that the answer does not depend on the order of a sum.
    """
    policy, wanted = checked_nulls(nulls), wanted_columns(columns, weights)
    opened = open_source(data)
    return coded_table(opened.place, opened.count(wanted), columns, policy, weights)


def wanted_columns(columns: Sequence[str], weights: str | None) -> list[str]:
    """Return the columns named and that of the weights, refusing one that is both."""
    if weights in columns:
        raise ArgumentError(f"column {shown(weights)} is named as weights and as an attribute; it can be one of them.")
    return list(columns) if weights is None else [*columns, weights]


def coded_table(place: str, tally: Tally, columns: Sequence[str], nulls: str, weights: str | None) -> CodedTable:
    """Apply the null policy to rows, those of the columns named and of the weights, and code them."""
    frame = tally.frame
    for name in columns:
        require_countable(name, frame[name])
    # numbered, because Polars takes a name such as "^a$" for a pattern
    numbered = without_nan(pl.DataFrame({str(at): frame[name] for at, name in enumerate(wanted_columns(columns, weights))}))
    records = _records(tally.n, numbered.height)
    if not records:
        raise EmptyDataError.no_records(place)
    kept = _kept(numbered, tally.n, columns, checked_nulls(nulls))
    n = tally.n
    if kept is not None:
        numbered, n = numbered.filter(kept), None if n is None else n[kept]
    left = _records(n, numbered.height)
    if not left:
        raise EmptyDataError.no_records(place, dropped=records)
    shares = None if weights is None else _checked_weights(numbered[str(len(columns))], n, weights)
    coded = tuple(replace(encode(numbered[str(at)]), name=name) for at, name in enumerate(columns))
    return CodedTable(coded, left, records - left, shares, n)


def _records(n: NDArray[np.int64] | None, rows: int) -> int:
    return rows if n is None else int(n.sum())


def _kept(frame: pl.DataFrame, n: NDArray[np.int64] | None, columns: Sequence[str], nulls: Nulls) -> NDArray[np.bool_] | None:
    """Return the rows that the null policy keeps, of a frame whose columns are numbered as those named; None: all."""
    if nulls == "category":
        return None
    null = {column: frame[str(at)].is_null().to_numpy() for at, column in enumerate(columns) if frame[str(at)].null_count()}
    if not null:
        return None
    if nulls == "error":
        raise NullsError.present(
            {column: int(np.count_nonzero(rows) if n is None else n[rows].sum()) for column, rows in null.items()}
        )
    return np.asarray(~np.logical_or.reduce(list(null.values())))


def _checked_weights(series: pl.Series, n: NDArray[np.int64] | None, name: str) -> NDArray[np.float64]:
    if not series.dtype.is_numeric():
        raise UnsupportedDataError(f"the weights in column {shown(name)} are not numbers.")
    weights = series.cast(pl.Float64).fill_null(np.nan).to_numpy().astype(np.float64)
    wrong = ~(np.isfinite(weights) & (weights > 0))
    if wrong.any():
        bad = int(np.count_nonzero(wrong) if n is None else n[wrong].sum())
        raise ArgumentError.no_weights(name, bad)
    return weights
