"""The alignment of release records with original records: by an id, by a correspondence file, or by the row order.

The correspondence is the data steward's secret; without it, attacks that need it are refused, and it is never guessed. A
correspondence file is a CSV file with the columns `original` and `release`: row numbers, counted from 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from unveil.errors import ArgumentError, ColumnNotFoundError, DataFileError, EmptyDataError, listed, shown
from unveil.formats import counted
from unveil.partitions import ReadValue, read_values
from unveil.sources.base import Data, Source
from unveil.sources.coding import encode
from unveil.sources.microdata import Microdata
from unveil.sources.opening import open_source

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Alignment", "align", "common_codes", "require_order", "side_by_side", "way_of"]

Reader: TypeAlias = Callable[[Sequence[str]], pl.DataFrame]
"""A function that reads columns of a table."""

_EXACT = 2.0**53
"""From this number on, floats cannot represent all whole numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class Alignment:
    """The correspondence of two tables.

    Attributes
    ----------
    by
        How it was found: "id", "link" or "same order".
    truth
        For every released record, the row of its original record; -1 if it has none.
    original_records, release_records
        The numbers of records of both tables.
    """

    by: str
    truth: NDArray[np.int64]
    original_records: int
    release_records: int

    @property
    def pairs(self) -> int:
        """The number of released records that have an original."""
        return int(np.count_nonzero(self.truth >= 0))

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {
            "by": self.by,
            "original_records": self.original_records,
            "release_records": self.release_records,
            "aligned": self.pairs,
            "dropped": self.original_records - len(np.unique(self.truth[self.truth >= 0])),
            "added": self.release_records - self.pairs,
        }


def align(
    original: Data, release: Data, *, identity: str | None = None, link: Data | None = None, same_order: bool = False
) -> Alignment | None:
    """Find the correspondence in the way that is specified; None if none is.

    Parameters
    ----------
    original, release
        The two tables.
    identity
        A column of both that names each record once.
    link
        A correspondence file.
    same_order
        Whether the rows of both are in the same order.
    """
    way = way_of(identity, link, same_order=same_order)
    if way is None:
        return None
    one, other = open_source(original), open_source(release)
    if identity is None:
        require_order(one, other)
    records = [_records(one), _records(other)]
    if identity is not None:
        truth = _by_id(one, other, identity)
    elif link is not None:
        truth = _by_link(open_source(link), *records)
    else:
        if records[0] != records[1]:
            raise ArgumentError(
                f"the original has {records[0]:,} records and the release {records[1]:,}, so they are not in the same order; "
                "name an id column or a correspondence file."
            )
        truth = np.arange(records[0])
    if not np.any(truth >= 0):
        raise EmptyDataError("no record of the release belongs to a record of the original; look at the correspondence.")
    return Alignment(way, truth, *records)


def way_of(identity: str | None, link: Data | None, *, same_order: bool) -> str | None:
    """Return how the correspondence of records is given; None if it is not given. Refuse more than one way."""
    ways = [name for name, value in (("id", identity), ("link", link), ("same order", same_order or None)) if value is not None]
    if len(ways) > 1:
        raise ArgumentError(f"the correspondence is given in {len(ways)} ways ({listed(ways)}); give one.")
    return ways[0] if ways else None


def side_by_side(
    original: Reader, release: Reader, pairs: Sequence[tuple[str, str]], alignment: Alignment, labels: Sequence[tuple[str, str]]
) -> pl.DataFrame:
    """Return the aligned records, with the original and the protected column of every pair under the given labels."""
    kept = alignment.truth >= 0
    one = original(list(dict.fromkeys(pair[0] for pair in pairs)))
    other = release(list(dict.fromkeys(pair[1] for pair in pairs)))
    rows, shown_rows = alignment.truth[kept], np.flatnonzero(kept)
    columns: dict[str, pl.Series] = {}
    for (before, after), (before_label, after_label) in zip(pairs, labels, strict=True):
        # renamed, because Polars takes a name such as "^a$" for a pattern
        columns[before_label] = one[before].alias("values").gather(rows)
        columns[after_label] = other[after].alias("values").gather(shown_rows)
    return pl.DataFrame(columns)


def common_codes(original: pl.Series, release: pl.Series) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the values of two columns as codes over one dictionary; -1 for a null.

    Columns of different types are compared by the meaning of their values: a number is equal to itself in any type, even as text.
    """
    coded = encode(pl.concat(_of_one_type(original.alias("values"), release.alias("values"))))
    codes = coded.codes.astype(np.int64)
    if len(coded.values) and coded.values[len(coded.values) - 1] is None:
        codes[codes == len(coded.values) - 1] = -1
    return codes[: len(original)], codes[len(original) :]


def _of_one_type(one: pl.Series, other: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return two columns in one type, so that values with the same meaning are equal."""
    types = (one.dtype, other.dtype)
    if one.dtype == other.dtype and one.dtype != pl.Object:
        return one, other
    if all(dtype.is_integer() for dtype in types):
        return one.cast(pl.String), other.cast(pl.String)  # exact, whatever their sizes
    if all(dtype.is_numeric() for dtype in types):
        kind = pl.Float32 if all(dtype.is_float() for dtype in types) else pl.Float64
        return one.cast(kind), other.cast(kind)
    return _as_texts(one), _as_texts(other)


def _as_texts(column: pl.Series) -> pl.Series:
    """Return the texts by which values are matched."""
    coded = encode(column)
    texts = pl.Series("values", [_text(value) for value in read_values(coded.values)], dtype=pl.String)
    return texts.gather(coded.codes)


def _text(read: ReadValue) -> str | None:
    """Return a text that all forms of the same number or moment share; a number too large for floats is written out."""
    if read.value is None:
        return None
    return read.text if read.point is None or abs(read.point) >= _EXACT else repr(read.point)


def require_order(*tables: Data) -> None:
    """Refuse to number the rows of a table in an engine, which has no order."""
    for table in tables:
        if not isinstance(table, Microdata) and not (source := open_source(table)).ordered:
            raise ArgumentError(f"{source.place}: rows of a table in an engine have no order; name an id column of both tables.")


def _records(source: Source) -> int:
    return source.collect(source.names[:1]).height


def _by_id(original: Source, release: Source, identity: str) -> NDArray[np.int64]:
    for what, source in (("original", original), ("release", release)):
        if identity not in source.names:
            raise ColumnNotFoundError(f"the {what} has no id column {shown(identity)}; its columns are: {listed(source.names)}.")
    before, after = common_codes(*(source.collect([identity])[identity] for source in (original, release)))
    for what, codes in (("original", before), ("release", after)):
        missing, repeated = int(np.count_nonzero(codes < 0)), len(codes) - len(np.unique(codes))
        if missing:
            verb = "is" if missing == 1 else "are"
            raise ArgumentError(f"{counted(missing, 'id')} of the {what} {verb} null (column {shown(identity)}).")
        if repeated:
            verb = "is" if repeated == 1 else "are"
            raise ArgumentError(
                f"{counted(repeated, 'id')} of the {what} {verb} repeated (column {shown(identity)}); an id names one record."
            )
    row = np.full(max(before.max(initial=-1), after.max(initial=-1)) + 1, -1, dtype=np.int64)
    row[before] = np.arange(len(before))
    return np.asarray(row[after])


def _by_link(link: Source, originals: int, releases: int) -> NDArray[np.int64]:
    for name in ("original", "release"):
        if name not in link.names:
            raise DataFileError(
                f"{link.place}: a correspondence file has the columns original and release, not: {listed(link.names)}."
            )
    frame = link.collect(["original", "release"])
    if not all(frame[name].dtype.is_integer() and not frame[name].null_count() for name in frame.columns):
        raise DataFileError(f"{link.place}: a correspondence file holds row numbers, counted from 1.")
    before, after = frame["original"].to_numpy(), frame["release"].to_numpy()
    for what, rows, most in (("original", before, originals), ("release", after, releases)):
        outside = int(np.count_nonzero((rows < 1) | (rows > most)))
        if outside:
            verb = "lies" if outside == 1 else "lie"
            raise DataFileError(
                f"{link.place}: {counted(outside, 'row number')} of the {what} {verb} outside its {counted(most, 'record')}."
            )
        if len(np.unique(rows)) < len(rows):
            raise DataFileError(f"{link.place}: row numbers of the {what} occur more than once.")
    truth = np.full(releases, -1, dtype=np.int64)
    truth[after - 1] = before - 1
    return truth
