"""Original and release side by side, as numbers and as codes.

Attributes are paired by a map and by name, records by their alignment. A record of the original that the release lacks is null
in every attribute; a record of the release without an original is left out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from unveil.counts import Codes
from unveil.errors import ArgumentError, ColumnNotFoundError
from unveil.partitions import is_suppressed, number_of
from unveil.sources import Alignment, Microdata, encode, require_countable
from unveil.utility.categorical import CodedPair
from unveil.utility.granularity import says_nothing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers: TypeAlias = NDArray[np.float64]
    Marks: TypeAlias = NDArray[np.bool_]

__all__ = ["SideBySide", "paired_names", "side_by_side"]


@dataclass(frozen=True, slots=True, eq=False)
class SideBySide:
    """The attributes of two aligned tables, the original's first; each pair has the original's name and order.

    Attributes
    ----------
    columns
        All attributes, as Polars columns.
    numbers
        Those that are numbers in both tables, NaN for a null or `*`.
    coded
        The others, and those that have an order or a hierarchy.
    hidden
        Which cells of each attribute carry no information: nulls and `*`.
    failed
        The reasons why attributes requested as numbers are not numbers.
    """

    columns: Mapping[str, tuple[Any, Any]]
    numbers: Mapping[str, tuple[Numbers, Numbers]]
    coded: Mapping[str, CodedPair]
    hidden: Mapping[str, tuple[Marks, Marks]]
    failed: Mapping[str, str]

    @property
    def records(self) -> int:
        """The number of records compared, which is that of the original."""
        return len(next(iter(self.columns.values()))[0])

    def codes(self, name: str, side: int, rows: NDArray[np.int64]) -> tuple[Codes, int]:
        """Return the codes of some records in one table (0: the original), and the number of possible codes."""
        if name in self.coded:
            column = self.coded[name]
            return (column.original, column.release)[side][rows], len(column.values)
        coded = encode(self.columns[name][side].gather(rows))
        return coded.codes, len(coded.values)


def paired_names(
    original: Sequence[str],
    release: Sequence[str],
    mapping: Mapping[str, str] | Sequence[tuple[str, str]],
    identity: str | None,
    apart: Collection[str] = (),
) -> dict[str, str]:
    """Return the protected column of each original one, by the map, else by name; neither the id column nor those apart."""
    pairs = dict(mapping.items() if isinstance(mapping, Mapping) else mapping)
    for before, after in pairs.items():
        for what, name, names in (("an original", before, original), ("a protected", after, release)):
            if name not in names:
                raise ColumnNotFoundError(f"the map names {what} column: {ColumnNotFoundError.among(name, names)}")
    taken, held = {*pairs, *pairs.values(), identity, *apart}, set(release)
    pairs |= {name: name for name in original if name in held and name not in taken}
    if not pairs:
        raise ArgumentError("original and release have no column in common; map the original's columns to the release's.")
    return pairs


def side_by_side(
    original: Microdata,
    release: Microdata,
    pairs: Mapping[str, str],
    alignment: Alignment,
    *,
    continuous: Sequence[str],
    categorical: Sequence[str],
    measured: Sequence[str] = (),
) -> SideBySide:
    """Put the attributes of two tables side by side.

    Parameters
    ----------
    original, release, pairs, alignment
        The tables, the protected column of each original one, and the correspondence of the records.
    continuous, categorical
        Attributes to be read as numbers, and as categories; those in neither are read as numbers if both tables hold numbers.
    measured
        Attributes that are read as numbers, and not as categories, if both tables hold numbers.
    """
    columns = _aligned(original, release, pairs, alignment)
    numbers: dict[str, tuple[Numbers, Numbers]] = {}
    failed = {}
    for name, (before, after) in columns.items():
        if name in continuous or ((name in measured or name not in categorical) and before.dtype.is_numeric()):
            one, other = _as_numbers(before), _as_numbers(after)
            if one is not None and other is not None:
                numbers[name] = one, other
            elif name in continuous:
                side = "original" if one is None else "release"
                failed[name] = f"the {side} does not hold numbers, so it has no continuous loss"
    words = {name for name in categorical if name not in measured}
    coded = {name: _coded(name, *columns[name]) for name in columns if name not in numbers or name in words}
    return SideBySide(columns, numbers, coded, {name: _hidden(name, numbers, coded) for name in columns}, failed)


def _aligned(
    original: Microdata, release: Microdata, pairs: Mapping[str, str], alignment: Alignment
) -> dict[str, tuple[Any, Any]]:
    """Return both columns of each pair, record by record of the original; null where the release lacks a record."""
    first, second = (dict(zip(table.names, table.frame.get_columns(), strict=True)) for table in (original, release))
    columns = {name: (_plain(name, first[name]), _plain(after, second[after])) for name, after in pairs.items()}
    if np.array_equal(alignment.truth, np.arange(original.records)):
        return columns
    at = np.flatnonzero(alignment.truth >= 0)
    rows = np.full(original.records, -1, dtype=np.int64)
    rows[alignment.truth[at]] = at
    place: Any = rows if (rows >= 0).all() else [None if row < 0 else row for row in rows.tolist()]
    return {name: (before, after.gather(place)) for name, (before, after) in columns.items()}


def _plain(name: str, column: Any) -> Any:
    """Return a column that can be counted: without its name, NaN as a null, and mixed Python objects as their texts."""
    require_countable(name, column)
    column = column.alias("")
    if column.dtype.is_float():
        return column.fill_nan(None)
    if str(column.dtype) == "Object":
        coded = encode(column)
        texts = type(column)("", [None if value is None else str(value) for value in coded.values], dtype=str)
        return texts.gather(coded.codes)
    return column


def _as_numbers(column: Any) -> Numbers | None:
    """Return a column as numbers, NaN for a null or `*`; None if it holds anything else, or no number at all."""
    if column.dtype.is_numeric():
        numbers = np.asarray(column.cast(float).to_numpy())
        return None if column.null_count() == len(column) else numbers
    coded = encode(column)
    read = [None if value is None else number_of(value) for value in coded.values]
    words = any(number is None and not is_suppressed(value) for number, value in zip(read, coded.values, strict=True))
    if words or all(number is None for number in read):
        return None
    numbers = np.array([np.nan if number is None else float(number) for number in read])
    return np.asarray(numbers[coded.codes])


def _coded(name: str, before: Any, after: Any) -> CodedPair:
    """Code both columns over one dictionary; columns of different types by their texts."""
    if before.dtype != after.dtype:
        before, after = before.cast(str), after.cast(str)
    both = encode(before.clone().append(after))
    return CodedPair(name, both.values, both.codes[: len(before)], both.codes[len(before) :])


def _hidden(name: str, numbers: Mapping[str, tuple[Numbers, Numbers]], coded: Mapping[str, CodedPair]) -> tuple[Marks, Marks]:
    if name not in coded:
        return np.isnan(numbers[name][0]), np.isnan(numbers[name][1])
    nothing = says_nothing(coded[name].values)
    return nothing[coded[name].original], nothing[coded[name].release]
