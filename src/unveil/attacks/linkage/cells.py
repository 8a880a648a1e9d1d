r"""Distances of original values from released ones, which may be intervals, sets or nothing.

Each attribute's original values are placed on a line, and each released value becomes the ranges of that line that it covers:

- *continuous*: the line of numbers; a number is a point, ``[20, 30)`` a range, a null the whole line;
- *ordinal*: the ranks of the categories;
- *nominal*: the distinct values, numbered so that those of one prefix or of one label of a hierarchy are side by side.

The **gap** between an original and a released value is the distance to the nearest covered point, so 0 for every covered value:
an interval means that each value in it is possible, not that its middle is more likely, and the resulting tie is shared fairly.
With ``intervals="midpoint"``, the middle of the covered range represents it (a one-sided interval ends where the original's
values end; suppressed values stay suppressed). Otherwise an open end is moved inwards by half a millionth of the original's
range, or by half the distance to the next original value inside if that is less, so that a value on the end is outside. On
nominal attributes the gap is 0 or 1.

A null in the release is suppressed: it covers everything. A null in the original is a value of its own, covered only by
suppressed values, and a whole unit away from everything else.

A released text that occurs as a value in the original is that value, whatever it looks like; otherwise it is looked up as a
label of the hierarchy, if there is one; only then is it read as a generalised value (see `partitions.generalised`). A masked
number also covers fractions: ``2*`` is [20, 30) on the line of numbers. A masked text covers the texts of its length that begin
in the same way, or, if there are none, all texts that do. A nominal value that is none of these covers nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from unveil.attacks.linkage.lines import ColumnValues, LinkedAttribute, line_of, middles, ranges_of, read_columns, within_reach
from unveil.attributes import require_columns
from unveil.errors import ArgumentError, EmptyDataError
from unveil.fitting import fits, kind_of
from unveil.sources import open_source
from unveil.study import Study, require_as_they_are

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "AttributeCells",
    "AttributeSpec",
    "Intervals",
    "LinkedAttribute",
    "Records",
    "attributes_of",
    "cells_of",
    "cells_of_each",
    "column_names",
    "column_of",
    "opened",
    "rows_in",
    "stacked",
]

Records: TypeAlias = Any
"""A mapping from column name to values, a two-dimensional array (its columns are named "0", "1", ...), or any form
of data that every call accepts: a data frame, eager or lazy, or a path."""


Intervals: TypeAlias = Literal["nearest", "midpoint"]
"""The representative of an interval: its nearest point, or its middle."""


_DRAWN_IN = 5e-7


AttributeSpec: TypeAlias = str | tuple[str, str] | LinkedAttribute
"""A column of both tables, the pair of its names in the original and in the release, or a `LinkedAttribute`."""


@dataclass(frozen=True, slots=True, eq=False)
class AttributeCells:
    """One attribute's values in both tables, on one line.

    Attributes
    ----------
    attribute
        The attribute, with its kind known.
    position
        The position of each original record; infinity for a null.
    value
        For each released record, the number of its distinct value.
    starts, low, high
        The ranges covered by a distinct released value v: entries ``starts[v]`` to ``starts[v + 1]`` of `low` and `high`.
    spread, span
        The standard deviation (population) of the original's positions, and their range; nulls left out.
    """

    attribute: LinkedAttribute
    position: NDArray[np.float64]
    value: NDArray[np.int64]
    starts: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    spread: float
    span: float

    @property
    def nominal(self) -> bool:
        """Whether it only matters if a value is covered or not."""
        return self.attribute.kind == "nominal"

    @property
    def nulls(self) -> int:
        """The number of original records with a null."""
        return int(np.count_nonzero(np.isinf(self.position)))

    @property
    def generalised(self) -> bool:
        """Whether some released value is not a single point of the line."""
        return bool(np.any(np.diff(self.starts) != 1) or not np.array_equal(self.low, self.high))

    def points(self) -> NDArray[np.float64]:
        """Return the only point that each released record covers; NaN if it covers more, or nothing."""
        single = np.diff(self.starts) == 1
        first = np.minimum(self.starts[:-1], max(len(self.low) - 1, 0))
        points = np.where(single & (self.low[first] == self.high[first]), self.low[first], np.nan)
        return np.asarray(points[self.value], dtype=np.float64)

    def factor(self, scale: str) -> float:
        """Return the factor by which a gap is multiplied; 0 if the original is constant.

        Parameters
        ----------
        scale
            "unit": one over the standard deviation. "deviation": one over four standard deviations. "range": one over the
            range. In the latter two, an ordinal attribute is divided by its number of categories minus one.
        """
        ranks = len(self.attribute.order) - 1
        if scale != "unit" and self.attribute.kind == "ordinal":
            size = float(ranks) if self.attribute.order else self.span
        else:
            size = {"unit": self.spread, "deviation": 4.0 * self.spread, "range": self.span}[scale]
        return 1.0 / size if size > 0 and self.span > 0 else 0.0


def cells_of(attribute: LinkedAttribute, original: Any, released: Any, *, intervals: Intervals = "nearest") -> AttributeCells:
    """Place one attribute's values in both tables on one line.

    Parameters
    ----------
    attribute
        The attribute; if its kind is not given, it is inferred.
    original, released
        Its values in the original and in the release.
    intervals
        "nearest": the distance of an interval is that of its nearest point. "midpoint": that of its middle.

    Raises
    ------
    UnsupportedDataError
        If a value of an attribute declared as continuous is not a finite number, interval or null.
    ArgumentError
        If an ordinal attribute of texts has no order, or one that lacks values.

    Examples
    --------
    >>> ages = cells_of(LinkedAttribute("age"), [22, 25, 38], ["[20, 30)", "38", None])
    >>> ages.position.tolist(), ages.starts.tolist()
    ([22.0, 25.0, 38.0], [0, 1, 2, 3])
    >>> ages.low.tolist(), ages.high.round(3).tolist()
    ([20.0, 38.0, -inf], [30.0, 38.0, inf])
    """
    return cells_of_each([(attribute, original, released)], intervals=intervals)[0]


def cells_of_each(
    columns: Sequence[tuple[LinkedAttribute, Any, Any]], *, intervals: Intervals = "nearest"
) -> list[AttributeCells]:
    """Place the values of several attributes on lines, as `cells_of` does, given each with its values in both tables."""
    if intervals not in {"nearest", "midpoint"}:
        raise ArgumentError.not_one_of("intervals", intervals, ("nearest", "midpoint"))
    read = read_columns([values for _, original, released in columns for values in (original, released)])
    attributes = [attribute for attribute, _, _ in columns]
    pairs = zip(attributes, read[::2], read[1::2], strict=True)
    return [_cells_of(attribute, original, released, intervals) for attribute, original, released in pairs]


def _cells_of(attribute: LinkedAttribute, original: ColumnValues, released: ColumnValues, intervals: Intervals) -> AttributeCells:
    known = replace(attribute, kind=attribute.kind or ("ordinal" if attribute.order else original.kind()))
    line, position = line_of(known, original, drawn_in=_DRAWN_IN if intervals == "nearest" else 0.0)
    ranges = ranges_of(line, released, words=attribute.kind is None)
    if ranges is None:
        return _cells_of(replace(attribute, kind="nominal"), original, released, intervals)
    value, starts, low, high = ranges
    position, low, high = within_reach(position, low, high)
    inside = position[np.isfinite(position)]
    span = float(np.ptp(inside)) if len(inside) else 0.0
    spread = float(inside.std()) if span > 0 else 0.0
    if intervals == "midpoint" and known.kind != "nominal" and len(inside):
        starts, low, high = middles(starts, low, high, float(inside.min()), float(inside.max()))
    return AttributeCells(known, position, value, starts, low, high, spread, span)


def attributes_of(
    specs: Iterable[AttributeSpec] | None, original: Records, release: Records
) -> list[tuple[LinkedAttribute, Any, Any]]:
    """Return the attributes to compare, each with its values in the original and in the release.

    Parameters
    ----------
    specs
        Column names, pairs of names or attributes; None: every column that both tables have.
    original, release
        The tables.
    """
    mine, theirs = column_names(original), column_names(release)
    if specs is None:
        specs = [name for name in mine if name in set(theirs)]
    attributes = [_attribute_of(spec) for spec in specs]
    if not attributes:
        raise ArgumentError("there is no attribute to compare: name some, or give tables with columns of the same names.")
    require_columns([attribute.name for attribute in attributes], mine)
    require_columns([attribute.released for attribute in attributes], theirs)
    for table, place in ((original, "the original"), (release, "the release")):
        if not rows_in(table):
            raise EmptyDataError.no_records(place)
    return [(attribute, column_of(original, attribute.name), column_of(release, attribute.released)) for attribute in attributes]


def _attribute_of(spec: AttributeSpec) -> LinkedAttribute:
    if isinstance(spec, LinkedAttribute):
        return spec
    if isinstance(spec, str):
        return LinkedAttribute(spec)
    if not fits(spec, tuple[str, str]):
        raise ArgumentError(f"an attribute is a column's name, a pair of names or a LinkedAttribute, not {kind_of(spec)}.")
    return LinkedAttribute(*spec)


def opened(table: Records) -> Records:
    """Return a table whose columns can be accessed: a mapping, an array, or an eager frame."""
    if isinstance(table, Mapping):
        if not fits(table, Mapping[str, Sequence[Any]]):
            raise ArgumentError("a table of records maps column names to lists of values.")
        return table
    if isinstance(table, np.ndarray):
        if table.ndim != 2:  # noqa: PLR2004 - records by attributes
            raise ArgumentError(f"an array of records has two dimensions, one row per record; found: {table.ndim}.")
        return table
    source = open_source(table)
    return source.collect(source.names)


def opened_both(
    original: Records, release: Records, specs: Iterable[AttributeSpec] | None
) -> tuple[Records, Records, list[tuple[LinkedAttribute, Any, Any]]]:
    """Open two tables, and return them with the attributes to compare, read as their studies state if they are studies."""
    one, other = opened(original), opened(release)
    columns = attributes_of(specs, one, other)
    require_as_they_are(original, [attribute.name for attribute, _, _ in columns])
    require_as_they_are(release, [attribute.released for attribute, _, _ in columns])
    return one, other, [(_completed(attribute, original), *values) for attribute, *values in columns]


def _completed(attribute: LinkedAttribute, original: Records) -> LinkedAttribute:
    """Return an attribute with the kind, order and hierarchy that the original's study has for it, unless it has its own."""
    if not isinstance(original, Study):
        return attribute
    name = attribute.name
    return replace(
        attribute,
        kind=attribute.kind or (None if attribute.order else original.kinds.get(name)),
        order=attribute.order or original.orders.get(name, ()),
        hierarchy=attribute.hierarchy or original.hierarchy(name),
    )


def column_names(table: Records) -> list[str]:
    """Return the names of a table's columns."""
    if isinstance(table, Mapping):
        return list(table)
    return [str(at) for at in range(table.shape[1])] if isinstance(table, np.ndarray) else list(table.columns)


def rows_in(table: Records) -> int:
    """Return the number of records of a table."""
    if isinstance(table, Mapping):
        sizes = {len(values) for values in table.values()}
        if len(sizes) > 1:
            raise ArgumentError("the columns of a table differ in length; each holds one value per record.")
        return sizes.pop() if sizes else 0
    return len(table)


def column_of(table: Records, name: str) -> Any:
    """Return a column's values, as an array if they are numbers, otherwise as a list."""
    if isinstance(table, Mapping):
        return table[name]
    if isinstance(table, np.ndarray):
        return table[:, int(name)]
    import narwhals as nw

    series = nw.from_native(table, eager_only=True)[name]
    unknown_to_numpy = series.dtype.is_decimal() or series.dtype in {nw.Int128, nw.UInt128}
    return series.to_numpy() if series.dtype.is_numeric() and not unknown_to_numpy else series.to_list()


def stacked(one: Any, other: Any) -> Any:
    """Return the values of one column below those of another."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray) and {one.dtype.kind, other.dtype.kind} <= set("iuf"):
        return np.concatenate([one, other])
    return [*one, *other]
