r"""Distances of original values from released ones, which may be intervals, sets or nothing.

Each attribute's original values are put on a line, and each released value becomes the ranges of that line that it covers:

- *continuous*: the line of numbers; a number is a point, ``[20, 30)`` a range, a null the whole line;
- *ordinal*: the ranks of the categories;
- *nominal*: the distinct values, numbered so that those of one prefix or of one label of a hierarchy are side by side.

The **gap** between an original and a released value is the distance to the nearest point covered, so 0 for every value that is
covered: an interval says that each value in it is possible, not that its middle is likelier, and the resulting tie is
shared fairly. With ``intervals="midpoint"``, the middle of what is covered stands for the whole (a one-sided interval ends
where the original's values end; what is suppressed stays suppressed). Otherwise an open end is drawn in by half a millionth
of the original's range, or half the way to the next original value inside if that is less, so that a value on it is outside.
On nominal attributes the gap is 0 or 1.

A null in the release is suppressed: it covers everything. A null in the original is a value of its own, covered only by
what is suppressed, and a whole unit away from everything else.

A released text that occurs as a value in the original is that value, whatever it looks like; then it is looked up as a label
of the hierarchy, if there is one; only then is it read as a generalised value (see `partitions.generalised`). A masked number
stands for its fractions too: ``2*`` is [20, 30) on the line of numbers. A masked text stands for the texts of its length that
begin in the same way, or, if there are none, for all texts that do. A nominal value that is none of these covers nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from unveil.attacks.linkage.column_values import Records, column_names, column_of, rows_in
from unveil.attacks.linkage.lines import LinkedAttribute, line_of, middles, ranges_of, within_reach
from unveil.attributes import Kind, require_columns
from unveil.errors import ArgumentError, EmptyDataError
from unveil.fitting import fits, kind_of
from unveil.partitions.generalised import is_null, point_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["AttributeCells", "AttributeSpec", "Intervals", "LinkedAttribute", "attributes_of", "cells_of"]

Intervals: TypeAlias = Literal["nearest", "midpoint"]
"""What stands for an interval: the point of it that is nearest, or its middle."""


_DRAWN_IN = 5e-7


AttributeSpec: TypeAlias = str | tuple[str, str] | LinkedAttribute
"""A column of both tables, the pair of its names in the original and in the release, or a `LinkedAttribute`."""


@dataclass(frozen=True, slots=True, eq=False)
class AttributeCells:
    """One attribute's values in both tables, on one line.

    Attributes
    ----------
    attribute
        The attribute, its kind known.
    position
        Where each original record is; infinity for a null.
    value
        For each release record the number of its distinct value.
    starts, low, high
        The ranges that a distinct release value covers: entries ``starts[v]`` to ``starts[v + 1]`` of `low` and `high`.
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
        """Whether only covered or not covered counts."""
        return self.attribute.kind == "nominal"

    @property
    def nulls(self) -> int:
        """How many original records have a null."""
        return int(np.count_nonzero(np.isinf(self.position)))

    @property
    def generalised(self) -> bool:
        """Whether some release value is not one point of the line."""
        return bool(np.any(np.diff(self.starts) != 1) or not np.array_equal(self.low, self.high))

    def points(self) -> NDArray[np.float64]:
        """Return the one point that each release record stands for; NaN if it covers more, or nothing."""
        single = np.diff(self.starts) == 1
        first = np.minimum(self.starts[:-1], max(len(self.low) - 1, 0))
        points = np.where(single & (self.low[first] == self.high[first]), self.low[first], np.nan)
        return np.asarray(points[self.value], dtype=np.float64)

    def factor(self, scale: str) -> float:
        """Return what a gap is multiplied by; 0 if the original is constant.

        Parameters
        ----------
        scale
            "unit": by the standard deviation. "deviation": by four standard deviations. "range": by the range. An ordinal
            attribute is divided by its number of categories less one in the latter two.
        """
        ranks = len(self.attribute.order) - 1
        if scale != "unit" and self.attribute.kind == "ordinal":
            size = float(ranks) if self.attribute.order else self.span
        else:
            size = {"unit": self.spread, "deviation": 4.0 * self.spread, "range": self.span}[scale]
        return 1.0 / size if size > 0 and self.span > 0 else 0.0


def cells_of(attribute: LinkedAttribute, original: Any, released: Any, *, intervals: Intervals = "nearest") -> AttributeCells:
    """Put one attribute's values in both tables on one line.

    Parameters
    ----------
    attribute
        What is compared; a kind that is not given is inferred.
    original, released
        Its values in the original and in the release.
    intervals
        "nearest": an interval is as far as its nearest point. "midpoint": its middle stands for it.

    Raises
    ------
    UnsupportedDataError
        If a value of an attribute that is said to be continuous is not a finite number, interval or null.
    ArgumentError
        If an ordinal attribute of texts comes without an order, or with one that misses values.

    Examples
    --------
    >>> ages = cells_of(LinkedAttribute("age"), [22, 25, 38], ["[20, 30)", "38", None])
    >>> ages.position.tolist(), ages.starts.tolist()
    ([22.0, 25.0, 38.0], [0, 1, 2, 3])
    >>> ages.low.tolist(), ages.high.round(3).tolist()
    ([20.0, 38.0, -inf], [30.0, 38.0, inf])
    """
    if intervals not in {"nearest", "midpoint"}:
        raise ArgumentError.not_one_of("intervals", intervals, ("nearest", "midpoint"))
    known = replace(attribute, kind=attribute.kind or _kind_of(attribute, original))
    line, position = line_of(known, original, drawn_in=_DRAWN_IN if intervals == "nearest" else 0.0)
    ranges = ranges_of(line, released, words=attribute.kind is None)
    if ranges is None:
        return cells_of(replace(attribute, kind="nominal"), original, released, intervals=intervals)
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


def _kind_of(attribute: LinkedAttribute, original: Any) -> Kind:
    if attribute.order:
        return "ordinal"
    if isinstance(original, np.ndarray) and original.dtype.kind in "iufM":
        return "continuous"
    if set(map(type, original)) <= {str, type(None)}:
        return "nominal"
    present = [value for value in original if not is_null(value)]
    numeric = all(not isinstance(value, str) and point_of(value) is not None for value in present)
    return "continuous" if present and numeric else "nominal"
