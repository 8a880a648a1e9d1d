"""Released cells as ranges on the line of an attribute's original values."""

from __future__ import annotations

import datetime as dt
import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from unveil.arguments import checked_arguments
from unveil.attributes import KINDS, Kind
from unveil.errors import ArgumentError, UnsupportedDataError, shown
from unveil.partitions import Generalised, Hierarchy, ReadValue, generalised_each, is_null, point_of, read_each, read_values

if TYPE_CHECKING:
    from numpy.typing import NDArray

Range: TypeAlias = tuple[float, float]


_EVERYTHING: tuple[Range, ...] = ((-math.inf, math.inf),)


_FARTHEST = float(np.finfo(np.float64).max)
"""The end of a one-sided interval: less than infinity, which is the position of the original's nulls."""


_MOST_SQUARED = 1e140
"""Sums of squares of larger numbers may be infinite."""


_PLAIN = {str, int, bool, dt.date, dt.datetime, dt.time, dt.timedelta}
"""Types whose values are distinguished by themselves, and none of which stands for a missing value."""


@checked_arguments
@dataclass(frozen=True, slots=True)
class LinkedAttribute:
    """An attribute that the intruder compares.

    Attributes
    ----------
    name, released
        The column in the original and in the release; the same if only one is given.
    kind
        "continuous", "ordinal" or "nominal". None: ordinal if an order is given, continuous if the original holds numbers or
        dates and the release nothing else (including generalised ones, nulls and labels of the hierarchy), otherwise nominal.
    order
        The categories of an ordinal attribute from low to high; numbers need none.
    hierarchy
        The hierarchy of the labels in the release.
    """

    name: str
    released: str = ""
    kind: Kind | None = None
    order: tuple[Any, ...] = ()
    hierarchy: Hierarchy | None = None

    def __post_init__(self) -> None:
        """Check the kind, and use one name for both columns if only one is given."""
        if self.kind is not None and self.kind not in KINDS:
            raise ArgumentError.not_one_of("kind", self.kind, KINDS)
        object.__setattr__(self, "released", self.released or self.name)
        object.__setattr__(self, "order", tuple(self.order))


@dataclass(frozen=True, slots=True, eq=False)
class ColumnValues:
    """A column to be placed on a line: an array of numbers, or the distinct values and the number of each record's value."""

    column: Any
    read: tuple[NDArray[np.int64], list[ReadValue]] | None

    @property
    def numbers(self) -> NDArray[np.float64] | None:
        """The numbers of an array; None if it is not an array of numbers."""
        return None if self.read is not None or not _is_numbers(self.column) else self.column.astype(np.float64)

    def by_value(self) -> tuple[NDArray[np.int64], list[ReadValue]]:
        """Return the number of each record's distinct value, and the distinct values, read."""
        if self.read is not None:
            return self.read
        codes, distinct = coded(self.column)
        return codes, read_values(distinct)

    def kind(self) -> Kind:
        """Return "continuous" if the values are only numbers or dates, else "nominal"."""
        if isinstance(self.column, np.ndarray) and self.column.dtype.kind in "iufM":
            return "continuous"
        present = [one for one in self.by_value()[1] if one.value is not None]
        return "continuous" if present and all(_is_point(one) for one in present) else "nominal"


def read_columns(columns: Sequence[Any]) -> list[ColumnValues]:
    """Read the distinct values of several columns; those of arrays of numbers are read only if they are needed."""
    known = {at: coded(column) for at, column in enumerate(columns) if not _is_numbers(column)}
    read = read_each([distinct for _, distinct in known.values()])
    by_value = {at: (codes, values) for (at, (codes, _)), values in zip(known.items(), read, strict=True)}
    return [ColumnValues(column, by_value.get(at)) for at, column in enumerate(columns)]


def _is_numbers(column: Any) -> bool:
    return isinstance(column, np.ndarray) and column.dtype.kind in "iuf"


def _is_point(read: ReadValue) -> bool:
    return read.point is not None and not isinstance(read.value, str)


def coded(values: Any) -> tuple[NDArray[np.int64], list[Any]]:
    """Return the number of each record's distinct value, and these values; lists and tables are distinguished by their text."""
    if isinstance(values, np.ndarray) and values.dtype.kind == "M":
        values = values.astype("datetime64[us]")  # finer ones would come out as integers
    items = values.tolist() if isinstance(values, np.ndarray) else list(values)
    if len(kinds := set(map(type, items)) - {type(None)}) == 1 and kinds <= _PLAIN:
        known = {value: code for code, value in enumerate(dict.fromkeys(items))}
        return np.fromiter(map(known.__getitem__, items), dtype=np.int64, count=len(items)), list(known)
    place: dict[Any, int] = {}
    distinct: list[Any] = []
    codes = np.empty(len(items), dtype=np.int64)
    for row, value in enumerate(items):
        key = (
            None
            if is_null(value)
            else (repr(value), type(value))
            if isinstance(value, list | set | dict)
            else (value, type(value))
        )
        code = place.setdefault(key, len(distinct))
        if code == len(distinct):
            distinct.append(None if key is None else value)
        codes[row] = code
    return codes, distinct


@dataclass(frozen=True, eq=False)
class _Line:
    """The original's distinct values in their order on the line, with the means of finding them.

    Attributes
    ----------
    attribute
        The attribute, with its kind known.
    at
        The position of each, increasing.
    place
        A mapping from text to entry; empty if the line is that of numbers.
    labels
        A mapping from a hierarchy's label to the entries it covers.
    texts, entry_of_text
        The texts in their own order, and the entry of each.
    drawn_in
        The largest share of the range by which an open end is moved inwards.
    """

    attribute: LinkedAttribute
    at: NDArray[np.float64]
    place: Mapping[str, int]
    labels: Mapping[str, NDArray[np.int64]]
    texts: Sequence[str]
    entry_of_text: NDArray[np.int64]
    drawn_in: float

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """The number that each text reads as; NaN if it is not a number."""
        return np.array([math.nan if one.point is None else one.point for one in read_values(list(self.place))], dtype=np.float64)

    def covered(self, values: Sequence[ReadValue]) -> list[Sequence[Range] | None]:
        """Return the ranges that each released value covers; None if the value cannot occur in such a column."""
        covered = [_EVERYTHING if value.suppressed else self._plain(value) for value in values]
        left = [at for at, ranges in enumerate(covered) if ranges is None]
        for at, cell in zip(left, generalised_each([values[at] for at in left]), strict=True):
            covered[at] = self._generalised(cell)
        return covered

    def _plain(self, value: ReadValue) -> Sequence[Range] | None:
        """Return the coverage of a value that is on the line, or is a label of the hierarchy."""
        if isinstance(value.value, list | tuple | set | frozenset):
            return None
        text = value.text
        label = self._runs(self.labels[text]) if text in self.labels else None
        if self.attribute.kind != "continuous":
            entry = self.place.get(text)
            return label if entry is None else [(self.at[entry], self.at[entry])]
        point = value.point
        if point is None or (label is not None and point not in self.at):
            return label
        return [(point, point)] if math.isfinite(point) else None

    def _generalised(self, cell: Generalised | None) -> Sequence[Range] | None:
        """Return the ranges that a generalised value covers."""
        if cell is None:
            return [] if self.attribute.kind == "nominal" else None
        return self._on_numbers(cell) if self.attribute.kind == "continuous" else self._on_entries(cell)

    def _on_numbers(self, cell: Generalised) -> Sequence[Range] | None:
        if cell.values is not None:
            points = sorted(point for member in cell.values if (point := point_of(member)) is not None and math.isfinite(point))
            return [(point, point) for point in points] if points and len(points) == len(cell.values) else None
        if cell.low is None or cell.high is None:
            return _EVERYTHING if cell.prefix is None else None
        if cell.prefix is None:
            return [self._closed(cell.low, cell.high, with_low=cell.with_low, with_high=cell.with_high)]
        if cell.prefix.startswith("-"):
            return [self._closed(cell.low - 1.0, cell.high, with_low=False)]
        return [self._closed(cell.low, cell.high + 1.0, with_high=False)]

    def _on_entries(self, cell: Generalised) -> Sequence[Range] | None:
        """Return the coverage of a set, a masked text or an interval; an unknown category has no place in an order."""
        strict = self.attribute.kind == "ordinal"
        if cell.values is not None:
            places = {self.place[member] for member in cell.values if member in self.place}
            if strict and len(places) < len(cell.values):
                return None
            entries = np.array(sorted(places), dtype=np.int64)
        elif cell.prefix is not None:
            entries = self._beginning(cell.prefix, cell.length)
        elif cell.low is None:
            return _EVERYTHING
        else:
            low, high = np.float64(cell.low), np.float64(cell.high)
            above = self.numbers >= low if cell.with_low else self.numbers > low
            below = self.numbers <= high if cell.with_high else self.numbers < high
            entries = np.flatnonzero(above & below)
        return None if strict and not len(entries) else self._runs(entries)

    def _beginning(self, prefix: str, length: int | None) -> NDArray[np.int64]:
        """Return the texts that begin with a prefix: those of the given length, or, if there are none, all of them."""
        begin, end = bisect_left(self.texts, prefix), bisect_left(self.texts, prefix + chr(0x10FFFF))
        alike = [at for at in range(begin, end) if len(self.texts[at]) == length]
        return np.sort(self.entry_of_text[alike or list(range(begin, end))])

    def _runs(self, entries: NDArray[np.int64]) -> Sequence[Range]:
        """Return entries as ranges of the line, with neighbours in one range."""
        if not len(entries):
            return []
        cuts = np.flatnonzero(np.diff(entries) > 1)
        first = entries[np.concatenate([[0], cuts + 1])]
        last = entries[np.concatenate([cuts, [len(entries) - 1]])]
        return list(zip(self.at[first].tolist(), self.at[last].tolist(), strict=True))

    def _closed(self, low: float, high: float, *, with_low: bool = True, with_high: bool = True) -> Range:
        """Return an interval with its ends included, where an open end is moved inwards."""
        reach = self.drawn_in * (float(np.ptp(self.at)) if len(self.at) > 1 else 1.0)
        low, high = max(low, -_FARTHEST), min(high, _FARTHEST)
        if not with_low and low > -_FARTHEST:
            after = int(np.searchsorted(self.at, low, side="right"))
            low += min(reach, (self.at[after] - low) / 2.0) if after < len(self.at) else reach
        if not with_high and high < _FARTHEST:
            before = int(np.searchsorted(self.at, high, side="left")) - 1
            high -= min(reach, (high - self.at[before]) / 2.0) if before >= 0 else reach
        return float(min(low, high)), float(max(low, high))


def line_of(attribute: LinkedAttribute, original: ColumnValues, drawn_in: float) -> tuple[_Line, NDArray[np.float64]]:
    """Return the line of an attribute, and the position of each original record on it."""
    if attribute.kind == "continuous":
        return _line_of_numbers(attribute, original, drawn_in)
    codes, read = original.by_value()
    null = np.array([value.suppressed for value in read], dtype=bool)
    texts = [value.text for value in read]
    names = _ordered_texts(attribute, [text for text, missing in zip(texts, null, strict=True) if not missing])
    place = {text: entry for entry, text in enumerate(names)}
    unplaced = sum(text not in place for text, missing in zip(texts, null, strict=True) if not missing)
    if unplaced:
        raise ArgumentError(
            f"column {shown(attribute.name)}: {unplaced:,} of its {len(texts):,} distinct values are missing from its order."
        )
    at = np.array([math.inf if missing else place[text] for text, missing in zip(texts, null, strict=True)], dtype=np.float64)
    in_order = sorted(names)
    line = _Line(
        attribute,
        np.arange(len(names), dtype=np.float64),
        place,
        _labels_of(attribute.hierarchy, names),
        in_order,
        np.array([place[text] for text in in_order], dtype=np.int64),
        drawn_in,
    )
    return line, at[codes] if len(at) else np.empty(0)


def _line_of_numbers(attribute: LinkedAttribute, original: ColumnValues, drawn_in: float) -> tuple[_Line, NDArray[np.float64]]:
    numbers = _numbers(attribute.name, original)
    at = np.unique(numbers[~np.isnan(numbers)])
    labels: Mapping[str, NDArray[np.int64]] = {}
    if attribute.hierarchy is not None:
        value_at = {one.point: one.value for one in original.by_value()[1]}
        labels = _labels_of(attribute.hierarchy, [value_at[x] for x in at.tolist()])
    nothing = np.empty(0, dtype=np.int64)
    line = _Line(attribute, at, {}, labels, [], nothing, drawn_in)
    return line, np.where(np.isnan(numbers), np.inf, numbers)


def within_reach(position: NDArray[np.float64], *others: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Return the line in a larger unit, a power of two, if the squares of its positions would overflow."""
    largest = float(np.max(np.abs(position), where=np.isfinite(position), initial=0.0))
    unit = 2.0 ** -math.frexp(largest)[1] if largest > _MOST_SQUARED else 1.0
    return tuple(line * unit for line in (position, *others))


def _ordered_texts(attribute: LinkedAttribute, texts: Sequence[str]) -> list[str]:
    """Return the distinct values as texts in the order of the line."""
    if attribute.kind == "ordinal":
        if attribute.order:
            return list(dict.fromkeys(value.text for value in read_values(attribute.order)))
        points = {value.text: value.point for value in read_values(texts)}
        if any(point is None for point in points.values()):
            raise ArgumentError(f"column {shown(attribute.name)} is ordinal and holds texts; give its order, from low to high.")
        return sorted(points, key=lambda text: (points[text] or 0.0, text))
    if attribute.hierarchy is None or not texts:
        return sorted(set(texts))
    distinct = sorted(set(texts))
    levels = range(1, attribute.hierarchy.height + 1)
    paths = [attribute.hierarchy.level(level).apply(distinct, attribute.name)[0] for level in levels]
    order = np.lexsort(paths) if paths else np.arange(len(distinct))
    return [distinct[entry] for entry in order.tolist()]


def _labels_of(hierarchy: Hierarchy | None, values: Sequence[Any]) -> dict[str, NDArray[np.int64]]:
    """Return the entries of the line that each label covers; a label on several levels covers what any of them covers."""
    by_attribute: dict[str, NDArray[np.int64]] = {}
    if hierarchy is None or not values:
        return by_attribute
    for level in range(1, hierarchy.height + 1):
        codes, labels = hierarchy.level(level).apply(values, hierarchy.column)
        order = np.argsort(codes, kind="stable")
        ends = np.searchsorted(codes[order], np.arange(len(labels) + 1))
        for at, label in enumerate(labels):
            entries = order[ends[at] : ends[at + 1]]
            if label is not None:
                by_attribute[label] = np.union1d(by_attribute[label], entries) if label in by_attribute else entries
    return by_attribute


def ranges_of(
    line: _Line, released: ColumnValues, *, words: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]] | None:
    """Return each released record's distinct value, and the ranges covered; None if words, where allowed, are not numbers."""
    if line.attribute.kind == "continuous" and (numbers := released.numbers) is not None:
        distinct, value = np.unique(numbers, return_inverse=True)
        if np.any(np.isinf(distinct)):
            raise _not_numbers(line.attribute.released, int(np.count_nonzero(np.isinf(distinct))), len(distinct))
        null = np.isnan(distinct)
        low, high = np.where(null, -np.inf, distinct), np.where(null, np.inf, distinct)
        return value.reshape(-1).astype(np.int64), np.arange(len(distinct) + 1), low, high
    value, cells = released.by_value()
    covered = line.covered(cells)
    strange = [cell for cell, ranges in zip(cells, covered, strict=True) if ranges is None]
    unread = len(strange)
    if unread and line.attribute.kind == "continuous":
        if words and all(cell.point is None for cell in strange):
            return None
        raise _not_numbers(line.attribute.released, unread, len(covered))
    if unread:
        raise ArgumentError(
            f"column {shown(line.attribute.released)} of the release: {unread:,} of its {len(covered):,} values are not a "
            "category of the original, nor made of them; give the order of all categories, or a hierarchy."
        )
    starts = np.concatenate([[0], np.cumsum([len(ranges or ()) for ranges in covered])]).astype(np.int64)
    flat = np.array([end for ranges in covered for end in (ranges or ())], dtype=np.float64).reshape(-1, 2)
    return value, starts, np.ascontiguousarray(flat[:, 0]), np.ascontiguousarray(flat[:, 1])


def middles(
    starts: NDArray[np.int64], low: NDArray[np.float64], high: NDArray[np.float64], least: float, most: float
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the middle of what each released value covers, in place of its ranges."""
    first, last = starts[:-1], starts[1:] - 1
    whole = np.isinf(high[first])
    low, high = np.where(whole, least, low[first]), np.where(whole, most, high[last])
    begin = np.where(low == -_FARTHEST, np.minimum(least, high), low)
    end = np.where(high == _FARTHEST, np.maximum(most, low), high)
    middle = begin + (end - begin) / 2.0
    number = np.arange(len(starts), dtype=np.int64)
    return number, np.where(whole, -np.inf, middle), np.where(whole, np.inf, middle)


def _numbers(name: str, values: ColumnValues) -> NDArray[np.float64]:
    """Return values as numbers, NaN for a null."""
    numbers = values.numbers
    if numbers is None:
        codes, read = values.by_value()
        points = [math.nan if one.suppressed else one.point for one in read]
        unread = sum(point is None for point in points)
        if unread:
            raise _not_numbers(name, unread, len(points))
        numbers = np.array(points, dtype=np.float64)[codes] if points else np.empty(0)
    infinite = int(np.count_nonzero(np.isinf(numbers)))
    if infinite:
        raise _not_numbers(name, infinite, len(numbers))
    return numbers


def _not_numbers(name: str, bad: int, all_values: int) -> UnsupportedDataError:
    verb = "is" if bad == 1 else "are"
    return UnsupportedDataError(
        f"column {shown(name)} is continuous, but {bad:,} of its {all_values:,} distinct values {verb} no finite number, "
        "interval or null. Hint: name the attribute as nominal or ordinal, or give its hierarchy."
    )
