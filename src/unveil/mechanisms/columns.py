"""Checks of a mechanism's attributes: they exist, hold numbers or have an order, and their nulls are handled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from unveil.arguments import checked_word
from unveil.attributes import Names, names_of, require_columns
from unveil.errors import ArgumentError, EmptyDataError, NullsError, UnsupportedDataError, shown
from unveil.randomness import Chance
from unveil.run import active_run
from unveil.sources import Microdata, encode, open_microdata

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.sources import Data

__all__ = [
    "CellNulls",
    "Chosen",
    "by_attribute",
    "choose",
    "numbers",
    "ranks",
]

CellNulls: TypeAlias = Literal["error", "keep", "drop"]
"""error: refuse; keep: a null stays a null, other values are protected; drop: records with a null are left out, and counted."""

_NULLS: tuple[CellNulls, ...] = ("error", "keep", "drop")
_LARGEST = 1e100
"""Numbers beyond this cannot be squared and summed in floating point."""


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """The records and attributes that a mechanism works on, after nulls are handled.

    Attributes
    ----------
    records
        The records, without those that were left out because of a null.
    names
        The attributes.
    rows
        The original row of each record.
    skipped
        The number of records left out.
    """

    records: Microdata
    names: tuple[str, ...]
    rows: NDArray[np.int64]
    skipped: int

    def column(self, name: str) -> Any:
        """Return an attribute's values."""
        return self.records.column(name)

    def present(self, name: str) -> NDArray[np.bool_]:
        """Return which records have a value of an attribute."""
        return ~_missing(self.records.column(name))

    def each(self, names: Sequence[str] | None = None) -> Iterator[str]:
        """Yield the attributes, or some of them, one by one; each is a step of the active run."""
        return active_run().each("attributes", self.names if names is None else names)

    @property
    def others(self) -> tuple[str, ...]:
        """The columns that are not among the attributes."""
        return tuple(name for name in self.records.names if name not in self.names)

    def draws(self, chance: Chance, mechanism: str, settings: Mapping[str, Any]) -> np.random.Generator:
        """Return the random generator of a mechanism for these records and attributes, whose order matters.

        The settings are all arguments of the mechanism: two releases under one key file that differ in anything must not share
        draws, or one of them would reveal what was drawn for the other.
        """
        request = {"attributes": list(self.names), "settings": dict(settings)}
        return chance.draws(mechanism, request, self.records.fingerprint() if chance.keyed else b"")


def choose(data: Data, attributes: Names, nulls: str | None = "error") -> Chosen:
    """Open the records and handle the nulls of the named attributes; None if the mechanism has no policy for nulls."""
    records, names = open_microdata(data), names_of(attributes)
    if nulls is not None:
        checked_word("nulls", nulls, _NULLS)
    if not names:
        raise ArgumentError("no attribute is named; name the columns to protect.")
    if (twice := next((name for name in names if names.count(name) > 1), None)) is not None:
        raise ArgumentError(f"column {shown(twice)} is named twice; name it once.")
    require_columns(names, records.names)
    missing = {name: _missing(records.column(name)) for name in names}
    nulls_in = {name: int(cells.sum()) for name, cells in missing.items() if cells.any()}
    rows = np.arange(records.records)
    if not nulls_in or nulls == "keep":
        return Chosen(records, names, rows, 0)
    if nulls is None or nulls == "error":
        raise NullsError.present(nulls_in, ("keep", "drop") if nulls else ())
    rows = np.flatnonzero(~np.logical_or.reduce(list(missing.values())))
    if not len(rows):
        raise EmptyDataError(
            f"all {records.records:,} records have a null in an attribute named, and nulls='drop' leaves them out."
        )
    return Chosen(records.taken(rows), names, rows, records.records - len(rows))


def _missing(column: Any) -> NDArray[np.bool_]:
    """Return which cells are null; a NaN counts as one."""
    if not column.null_count() and not column.dtype.is_float():
        return np.zeros(len(column), dtype=bool)
    missing = column.is_null()
    return np.asarray((missing | column.is_nan().fill_null(value=True)) if column.dtype.is_float() else missing, dtype=bool)


def numbers(column: Any, purpose: str) -> NDArray[np.float64]:
    """Return a column of numbers in floating point, NaN for a null; refuse other columns, naming the purpose."""
    if not column.dtype.is_numeric():
        raise ArgumentError(f"{purpose} needs numbers, and attribute {shown(column.name)} holds {_kind(column)}; leave it out.")
    values = np.array(column.cast(float).to_numpy(), dtype=np.float64)
    if np.any(np.abs(values) > _LARGEST):
        raise UnsupportedDataError(
            f"attribute {shown(column.name)} holds infinite values, or some beyond 1e100; correct them first."
        )
    return values


def ranks(column: Any, order: Sequence[Any] | None, purpose: str) -> NDArray[np.int64]:
    """Return the rank of every value, -1 for a null, in the order of numbers, dates and times, or in a given one."""
    dtype = column.dtype
    if order is None and not (dtype.is_numeric() or dtype.is_temporal()):
        raise ArgumentError(
            f"{purpose} needs an order, and attribute {shown(column.name)} holds {_kind(column)}; give one, lowest value first."
        )
    coded = encode(column)
    codes, values = coded.codes.astype(np.int64), coded.values
    known = len(values) - (1 if values and values[-1] is None else 0)
    place = np.arange(len(values)) if order is None else _places(values[:known], order, column.name)
    return np.append(place[:known], -1)[np.minimum(codes, known)]


def _places(values: Sequence[Any], order: Sequence[Any], name: str) -> NDArray[np.int64]:
    place = {str(value): at for at, value in enumerate(order)}
    if len(place) < len(order):
        raise ArgumentError(f"the order of {shown(name)} names a value twice; name each once.")
    missing = sum(str(value) not in place for value in values)
    if missing:
        raise ArgumentError(f"{missing:,} of the {len(values):,} values of {shown(name)} are not in the order given.")
    return np.array([place[str(value)] for value in values], dtype=np.int64)


def _kind(column: Any) -> str:
    """Return a column's kind of values, in plain words."""
    dtype = str(column.dtype.base_type()).lower()
    return {"string": "text", "categorical": "text", "enum": "text", "boolean": "yes or no", "object": "mixed values"}.get(
        dtype, f"{dtype} values"
    )


def by_attribute(option: Any, names: Sequence[str], what: str) -> dict[str, Any]:
    """Return an option for each attribute: one for all, or a mapping by name, which may omit some."""
    if not isinstance(option, Mapping):
        return dict.fromkeys(names, option)
    for name in option:
        if name not in names:
            raise ArgumentError(f"{what} is given for {shown(name)}, which is not among the attributes named.")
    return dict(option)
