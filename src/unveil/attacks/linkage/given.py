"""The two tables of a linkage that is made on its own: arrays of numbers and codes, or data of any kind, such as studies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_array
from unveil.errors import ArgumentError, EmptyDataError, shown
from unveil.fitting import fits
from unveil.partitions import point_of
from unveil.sources import Coded, Data, common_codes
from unveil.study import Study, beside, require_as_they_are, require_nulls_as_values, studied

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.counts import Codes

__all__ = ["codes_of_both", "columns_of", "placed"]


def columns_of(table: Data, name: str) -> list[NDArray[Any]]:
    """Return the attributes of a table one by one: floating point is a number, anything else a code of a category."""
    if not _is_arrays(table):
        with studied(table) as study:
            names = _attributes(study, ())
            require_as_they_are(study, names)
            require_nulls_as_values(study, names)
            return [placed(column, study.place) for column in study.coded(names)]
    if isinstance(table, np.ndarray):
        if table.ndim != 2 or table.dtype.kind not in "fiub":  # noqa: PLR2004 - records by attributes
            raise ArgumentError(f"the {name} table: one array holds numbers, a row per record and a column per attribute.")
        columns = list(table.astype(np.float64).T)
    else:
        columns = [checked_array(f"an attribute of the {name} table", column) for column in table]
    _check(columns, name)
    return columns


def codes_of_both(original: Any, release: Any) -> tuple[Sequence[Codes], Sequence[Codes]]:
    """Return the attributes that two tables share, as codes over common values; arrays are such codes already."""
    if _is_arrays(original) and _is_arrays(release):
        return original, release
    if _is_arrays(original) or _is_arrays(release):
        raise ArgumentError("one table is given as arrays of codes and the other as data; give both in the same form.")
    with studied(original) as one, studied(release, project=beside(release, one), partial=True) as other:
        names = _attributes(one, other.key, other)
        require_as_they_are(one, names)
        require_nulls_as_values(one, names)
        require_as_they_are(other, names)
        mine, theirs = one.collected(names), other.collected(names)
        for study, frame in ((one, mine), (other, theirs)):
            if not frame.height:
                raise EmptyDataError.no_records(study.place)
        codes = [common_codes(mine.get_column(name), theirs.get_column(name)) for name in names]
    return [before for before, _ in codes], [after for _, after in codes]


def placed(column: Coded, place: str) -> NDArray[Any]:
    """Return numbers and dates as numbers, NaN for a null, and other values as codes, -1 for a null."""
    points = [math.nan if value is None else None if isinstance(value, str) else point_of(value) for value in column.values]
    if any(point is not None and math.isinf(point) for point in points):
        raise ArgumentError(f"{place}: column {shown(column.name)} holds an infinite number, which has no place among others.")
    if None not in points:
        return np.asarray(np.array(points, dtype=np.float64)[column.codes])
    null = len(column.values) - 1 if column.values[len(column.values) - 1] is None else -1
    return np.asarray(np.where(column.codes == null, -1, column.codes.astype(np.int64)))


def _is_arrays(table: Any) -> bool:
    return isinstance(table, np.ndarray) or fits(table, Sequence[Any])


def _attributes(study: Study, key: Sequence[str], other: Study | None = None) -> tuple[str, ...]:
    """Return the attributes to compare: the key of the studies, else every column with no other role, that both tables hold."""
    apart = {*study.roles.apart, *(() if other is None else other.roles.apart)}
    wanted = tuple(dict.fromkeys([*key, *study.key])) or study.names
    held = [name for name in wanted if name in study.names and (other is None or name in other.names)]
    if names := tuple(name for name in held if name not in apart):
        return names
    raise ArgumentError("there is no attribute to compare; give tables with columns that are neither identifiers nor weights.")


def _check(columns: Sequence[NDArray[Any]], name: str) -> None:
    """Refuse arrays that are not the attributes of one table."""
    if not columns:
        raise ArgumentError(f"the {name} table: there are no attributes.")
    if any(column.ndim != 1 or column.dtype.kind not in "fiub" for column in columns):
        raise ArgumentError(f"the {name} table: an attribute is one array, of numbers or of whole-number codes.")
    if len({len(column) for column in columns}) > 1:
        raise ArgumentError(f"the {name} table: its attributes have different numbers of records.")
    if not len(columns[0]):
        raise EmptyDataError.no_records(f"the {name} table")
    if any(column.dtype.kind == "f" and np.isinf(column).any() for column in columns):
        raise ArgumentError(f"the {name} table: an infinite number has no place among the others.")
