"""Coded columns: a dictionary of values, and a small integer for each record.

The dictionary is sorted, with a null last, so the same data gets the same codes whatever the order of its rows and whichever
library held it. A NaN is a null: pandas does not distinguish them, so no other library may. Values that are counted as one are
released as one, and different values are counted separately.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from unveil.errors import UnsupportedDataError
from unveil.ordering import in_short_range, order_of_values, smallest_unsigned
from unveil.run import watched
from unveil.sources.listed import Listed
from unveil.sources.objects import column_of_objects, require_plain
from unveil.sources.texts import PACE, coded_alike, counted_texts, numbered_texts, recode

if TYPE_CHECKING:
    from numpy.typing import NDArray

    _Array: TypeAlias = array[int]
else:
    _Array = array

__all__ = [
    "Coded",
    "CodedTable",
    "Integers",
    "OneType",
    "as_counted",
    "counted_column",
    "encode",
    "encode_listed",
    "encode_values",
    "labelled",
    "require_countable",
    "smallest_unsigned",
    "time_texts",
]

_Dictionary: TypeAlias = "tuple[pl.Series, NDArray[Any]]"
"""Distinct values in order, and the position of each record's value among them."""
_PIECE = 1 << 17
"""The number of rows processed at once."""
_SAMPLE = 1 << 10
"""In a longer column, the texts of a sample of this many rows are searched for first."""
_FEW = 256
"""The largest number of texts that are coded without Polars."""
_WIDE = (pl.Int128, pl.UInt128)
_INTEGERS = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)
_FEW_INTEGERS = 1 << 12
"""Dictionaries of more integers than this stay integers of the machine."""
_AS_TUPLE = 1 << 16
"""Dictionaries up to this size are stored as plain tuples; larger ones stay in the engine's memory."""


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """One column: its name, its distinct values in order, and the position of each record's value among them."""

    name: str
    values: Sequence[Any]
    codes: NDArray[np.unsignedinteger[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class CodedTable:
    """Coded columns of the records that the null policy keeps, or of their combinations with counts.

    Attributes
    ----------
    columns
        The columns, each with one code per row.
    records, dropped
        The numbers of records kept, and of those that the null policy dropped.
    nulls
        The null policy.
    weights
        The sampling weight of one record of each row; None: all have the same weight.
    n
        The number of records that each row stands for; None: one each.
    """

    columns: tuple[Coded, ...]
    records: int
    dropped: int = 0
    weights: NDArray[np.float64] | None = None
    n: NDArray[np.int64] | None = None
    nulls: str = "category"

    @property
    def mass(self) -> NDArray[np.float64] | None:
        """The weight of all records of each row; None if there are no weights."""
        return self.weights if self.weights is None or self.n is None else self.weights * self.n


class OneType(tuple[Any, ...]):
    """Values that are all of one Python type, except for a null at the end."""

    __slots__ = ()


class Integers(_Array):
    """Integers as the machine holds them; each is turned into a Python object when it is read."""

    __slots__ = ()


class _SeriesValues(Sequence[Any]):
    """The values of a large dictionary, turned into Python objects only when needed."""

    __slots__ = ("_series",)

    def __init__(self, series: pl.Series) -> None:
        self._series = series

    def __len__(self) -> int:
        return len(self._series)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return _SeriesValues(self._series[index])
        return self._series[int(index)]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._series)


def encode(series: pl.Series) -> Coded:
    """Code a column; `codes` have the smallest unsigned type that holds them."""
    kind = type(series.dtype)
    if kind is pl.String or kind in _INTEGERS:  # most columns, which need fewer questions
        known = watched(len(series), lambda: _few_texts(series) if kind is pl.String else _integers(series))
        if known is not None:
            return Coded(series.name, OneType(known[0]), known[1])
    require_countable(series.name, series)
    if series.dtype == pl.Object:
        return _encode_objects(series)
    column = _countable(series.alias(""))  # some names are patterns to Polars
    present, codes = watched(len(column), lambda: _coded(column))
    return Coded(series.name, _values(present), codes)


def _few_texts(column: pl.Series) -> tuple[list[str | None], NDArray[Any]] | None:
    """Code a column of few texts without compiled loops; None if it is coded otherwise."""
    return None if len(column) <= _FEW or _at_once(column) else coded_alike(column)


def _integers(column: pl.Series) -> tuple[list[int], NDArray[Any]] | None:
    """Code a column of integers of a short range, none of them a null; None if it is coded otherwise."""
    if not _FEW < len(column) <= _PIECE or column.null_count():
        return None
    coded = in_short_range(column.to_numpy())
    return None if coded is None else (coded[0].tolist(), coded[1])


def counted_column(name: str, series: pl.Series) -> CodedTable:
    """Count the values of a column without Python objects: one row per value, in order; a null is a value."""
    require_countable(name, series)
    return watched(len(series), lambda: _counted_column(name, _countable(series.alias(""))))  # some names are patterns to Polars


def _counted_column(name: str, column: pl.Series) -> CodedTable:
    if column.dtype == pl.String and _at_once(column) and not column.null_count():
        first, rows_of = counted_texts(column)
        if len(first) <= _FEW:
            texts = [column.item(row) for row in first.tolist()]
            order = sorted(range(len(texts)), key=texts.__getitem__)
            return _counted_values(name, [texts[at] for at in order], rows_of[order])
        present, codes = _coded_distinct(column[first])
    else:
        counts = column.value_counts(name="n")
        values, rows_of = counts.get_column(""), counts.get_column("n").to_numpy()
        present, codes = _coded_distinct(values) if values.dtype == pl.String and not values.null_count() else _coded(values)
    n = np.empty(len(present), dtype=np.int64)
    n[codes] = rows_of
    return _counted_values(name, present, n)


def _counted_values(name: str, present: pl.Series | list[str], n: NDArray[np.int64]) -> CodedTable:
    """Return the table of a column, with one row per value, from its values in order and the number of records of each."""
    rows = np.arange(len(present), dtype=smallest_unsigned(len(present)))
    return CodedTable((Coded(name, _values(present), rows),), int(n.sum()), n=n)


def encode_values(values: Sequence[Any], *, as_objects: bool = False) -> Coded:
    """Code Python values as a column of their common type, or of objects, in which 1, True and 1.0 stay distinct."""
    return encode(pl.Series("values", values, dtype=pl.Object) if as_objects else column_of_objects("values", values))


def encode_listed(name: str, column: Listed) -> Coded:
    """Code a column through its list of values, with the same result as `encode`; values that do not occur are left out."""
    column = column.occurring()
    values = _countable(column.values.alias(""))
    present, places = _coded_distinct(values) if values.dtype == pl.String else _coded(values)
    null = column.null_count() > 0
    codes = np.zeros(len(values) + 1, dtype=smallest_unsigned(len(present) + null))
    codes[1:] = places
    if null:
        codes[0] = len(present)
        present = present.extend(pl.Series([None], dtype=present.dtype))
    return Coded(name, _values(present), codes[column.places])


def labelled(name: str, labels: Sequence[str | None], codes: NDArray[np.int64]) -> pl.Series:
    """Return a column of texts: for every record, the label of its code."""
    return pl.Series("labels", list(labels), dtype=pl.String)[codes].alias(name)  # `gather` goes through the engine's planner


def as_counted(column: pl.Series) -> pl.Series:
    """Return a column of numbers with one form per counted value: a NaN is a null, and -0.0 is 0.0.

    Released records must have this form; otherwise records that were counted together could be distinguished.
    """
    if not column.dtype.is_float():
        return column
    plain = column.alias("values")  # some names are patterns to Polars
    several = plain.is_nan().any() or bool(np.signbit(plain.filter(plain == 0.0).to_numpy()).any())
    return plain.fill_nan(None).set(plain == 0.0, 0.0).alias(column.name) if several else column


def time_texts(series: pl.Series) -> pl.Series:
    """Return times as texts that are different for different times."""
    return series.alias("values").dt.to_string("iso").alias(series.name)  # some names are patterns to Polars


def finer_than_python(series: pl.Series) -> bool:
    """Whether Python's times would merge some: by dropping nanoseconds, or the repeated hour when summer time ends."""
    plain, dtype = series.alias("values"), series.dtype  # some names are patterns to Polars
    by_nanoseconds = dtype == pl.Time or (isinstance(dtype, pl.Datetime | pl.Duration) and dtype.time_unit == "ns")
    if by_nanoseconds and (plain.to_physical() % 1000 != 0).any():
        return True
    if not isinstance(dtype, pl.Datetime) or dtype.time_zone in (None, "UTC"):
        return False
    return plain.dt.replace_time_zone(None).n_unique() < plain.n_unique()


def require_countable(name: str, series: pl.Series) -> None:
    """Refuse a column of lists, structures or bytes, or of objects without a distinguishing text."""
    dtype = series.dtype
    if dtype == pl.Object:
        require_plain(name, series.to_list())
    if dtype.is_nested() or dtype == pl.Binary:
        raise UnsupportedDataError.uncountable(name, dtype.base_type())


def _countable(series: pl.Series) -> pl.Series:
    dtype = series.dtype
    if dtype.is_float():
        return series.fill_nan(None)
    if dtype == pl.Null:
        return series.cast(pl.String)
    return time_texts(series) if dtype.is_temporal() and finer_than_python(series) else series


def _coded(column: pl.Series) -> _Dictionary:
    """Return the values of a column in order, with a null last, and the position of each record's value among them."""
    dtype = column.dtype
    if dtype in (pl.Categorical, pl.Enum):
        return _coded_categories(column)
    if dtype.is_temporal():
        present, codes = _coded(column.to_physical())
        return present.cast(dtype), codes
    nulls = column.null_count()
    present, places = _coded_present(column) if nulls < len(column) else (column.clear(), np.zeros(len(column), np.uint8))
    codes = places.astype(smallest_unsigned(len(present) + (nulls > 0)), copy=False)
    if nulls:
        codes[column.is_null().to_numpy()] = len(present)
        present = present.extend(pl.Series([None], dtype=present.dtype))
    return present, codes


def _coded_categories(column: pl.Series) -> _Dictionary:
    """Code texts that the engine has numbered: only the distinct numbers are converted to texts and coded."""
    used, of_rows = _coded(column.to_physical())
    present, of_used = _coded(used.cat.to(column.dtype).cast(pl.String))
    return present, of_used[of_rows]


def _coded_present(column: pl.Series) -> _Dictionary:
    """Return the values in order, and the position of each record's value; a null's position is arbitrary."""
    if column.dtype == pl.String:
        return _coded_texts(column)
    if len(column) <= _FEW and column.dtype.is_integer() and column.dtype not in _WIDE and not column.null_count():
        present, codes = np.unique(column.to_numpy(), return_inverse=True)  # Polars would take longer to start
        return pl.Series(present), codes
    return _coded_short_range(column) or _coded_by_sorting(column) or _coded_by_search(column)


def _coded_texts(column: pl.Series) -> _Dictionary:
    """Code texts: find the texts of a sample in all rows, then the other texts in the remaining rows.

    In this way most rows are read only once; collecting all texts first would read them twice.
    """
    if len(column) <= _FEW:
        return _coded_few_texts(column.to_list())
    if _at_once(column):
        first, numbers = numbered_texts(column)
        present, places = _coded_distinct(column[first])  # a `gather` would go through the engine's planner
        codes = np.empty(len(column), dtype=smallest_unsigned(len(present)))
        recode(numbers, places, codes)
        return present, codes
    known = _texts_of_sample(column)
    positions = _positions(column, known)
    places = _filled(positions, 0).to_numpy(writable=True)
    if positions.null_count() == column.null_count():
        return known, places
    left = positions.is_null() & column.is_not_null() if column.null_count() else positions.is_null()
    rest = column.filter(left)
    present = _sorted(pl.concat([known, rest.unique()]))
    places = _positions(known, present).to_numpy()[places]
    places[left.to_numpy()] = _positions(rest, present).to_numpy()
    return present, places


def _coded_distinct(texts: pl.Series) -> _Dictionary:
    """Code texts that are all different."""
    if len(texts) <= _FEW:
        return _coded_few_texts(texts.to_list())
    order = texts.arg_sort().to_numpy()
    places = np.empty(len(texts), dtype=np.uint32)
    places[order] = np.arange(len(texts), dtype=np.uint32)
    return texts.gather(order), places


def _at_once(column: pl.Series) -> bool:
    """Whether to number all texts of a column in one pass: it is not short, and the loops are compiled or worth compiling."""
    return len(column) > _FEW and PACE.pays(len(column))


def _coded_few_texts(texts: list[str | None]) -> _Dictionary:
    """Code a short list of texts, for which starting Polars would take longer than coding; a null's code is arbitrary."""
    present = sorted({text for text in texts if text is not None})
    place: dict[str | None, int] = {text: at for at, text in enumerate(present)}
    return pl.Series(present, dtype=pl.String), np.array([place.get(text, 0) for text in texts], dtype=np.uint32)


def _texts_of_sample(column: pl.Series) -> pl.Series:
    """Return the sorted texts of a sample of rows; of all rows if the column is short, or the sample has many texts or none."""
    if len(column) > 4 * _SAMPLE:
        texts = set(column[np.linspace(0, len(column) - 1, _SAMPLE, dtype=np.int64)].to_list()) - {None}
        if 0 < 4 * len(texts) <= _SAMPLE:
            return pl.Series(sorted(texts), dtype=pl.String)
    return _sorted(_distinct(column))


def _positions(texts: pl.Series, present: pl.Series) -> pl.Series:
    """Return the position of each text in `present`; null if it does not occur there."""
    return texts.cast(pl.Enum(present), strict=False).to_physical()


def _distinct(column: pl.Series) -> pl.Series:
    return (column.drop_nulls() if column.null_count() else column).unique()


def _filled(column: pl.Series, value: Any) -> pl.Series:
    return column.fill_null(value) if column.null_count() else column


def _sorted(values: pl.Series) -> pl.Series:
    return values.sort(multithreaded=len(values) > _PIECE)  # threads cost more than they save on a short column


def _coded_by_sorting(column: pl.Series) -> _Dictionary | None:
    """Code numbers of a type that numpy sorts natively; return None for other types. A null's code is arbitrary."""
    kind = column.dtype
    if not (kind.is_integer() or kind.is_float() or kind == pl.Boolean) or kind in _WIDE:
        return None
    values = _without_nulls(column)
    order = order_of_values(values)
    in_order = values.take(order)
    begins = np.ones(len(values), dtype=bool)
    np.not_equal(in_order[1:], in_order[:-1], out=begins[1:])
    codes = np.empty(len(values), dtype=np.uint32)
    codes[order] = np.cumsum(begins, dtype=np.uint32) - 1
    present = in_order[begins]
    return pl.Series(present + 0.0 if kind.is_float() else present, dtype=kind), codes  # -0.0 becomes 0.0


def _without_nulls(column: pl.Series) -> NDArray[Any]:
    """Return numbers, with the smallest in the place of every null."""
    return (column.fill_null(column.min()) if column.null_count() else column).to_numpy()


def _coded_by_search(column: pl.Series) -> _Dictionary:
    """Code a column by binary search among its values; a null's code is arbitrary."""
    present = _sorted(_distinct(column))
    return present, present.search_sorted(_filled(column, present[0])).to_numpy(writable=True)


def _coded_short_range(column: pl.Series) -> _Dictionary | None:
    """Code integers of a short range; None for others, and for integers of more than 64 bits. A null's code is arbitrary."""
    if not column.dtype.is_integer() or column.dtype in _WIDE:
        return None
    coded = in_short_range(_without_nulls(column))
    return None if coded is None else (pl.Series(coded[0], dtype=column.dtype), coded[1])


def _values(present: pl.Series | list[str]) -> Sequence[Any]:
    """Return the dictionary as Python values, converted at once if it is small."""
    if isinstance(present, list):
        return OneType(present)
    if len(present) > _FEW_INTEGERS and type(present.dtype) in _INTEGERS and not present.null_count():
        wide = present.dtype == pl.UInt64
        return Integers("Q" if wide else "q", present.to_numpy().astype(np.uint64 if wide else np.int64, copy=False).tobytes())
    return OneType(present.to_list()) if len(present) <= _AS_TUPLE else _SeriesValues(present)


def _encode_objects(series: pl.Series) -> Coded:
    """Code a column of mixed Python objects: values are distinguished by their type and text."""
    cells = series.to_list()
    keys = [None if cell is None else (type(cell).__name__, str(cell)) for cell in cells]
    first = {key: cell for key, cell in zip(keys, cells, strict=True) if key is not None}
    place: dict[tuple[str, str] | None, int] = {key: code for code, key in enumerate(sorted(first))}
    values = [first[key] for key in place if key is not None]
    if None in keys:
        place[None] = len(values)
        values.append(None)
    codes = np.fromiter((place[key] for key in keys), dtype=smallest_unsigned(len(values)), count=len(keys))
    return Coded(series.name, tuple(values), codes)
