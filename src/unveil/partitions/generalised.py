r"""What does a generalised value cover? Intervals, masked codes, sets and the suppressed value, as protections write them.

===========================================  =====================================================================
Text                                         Covers
===========================================  =====================================================================
``[20, 30)`` ``(20, 30]`` ``]20; 30]``       an interval; a round bracket, or one turned outwards, leaves the end out
``20-29`` ``20..29`` ``20 to 29``            an interval with both ends
``>= 40`` ``> 40`` ``40+``                   everything from there on
``< 40`` ``<= 40``                           everything up to there
``2*`` ``355**``                             a code with its last characters masked: those of the same length that begin so;
                                             one of digits is an interval of whole numbers too: 20 to 29, 35500 to 35599
``{a, b}`` ``a|b``                           one of these values (a value with a comma or a bar cannot be in one)
``*`` ``***``                                anything: the value is suppressed
``{a, b, +7}``                               anything: a list that was cut says that values are missing from it, not which
any other                                    itself: it is not a generalised value
===========================================  =====================================================================

The ends of intervals are numbers, ``inf`` and ``-inf``, or dates in ISO 8601. Dates are counted in days since 1970.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from unveil.errors import PartitionError
from unveil.partitions.matching import moment_of, plain, text_of
from unveil.partitions.partition import Partition
from unveil.partitions.rules import Blocks, IntervalBlocks, PartitionRule
from unveil.run import active_run

if TYPE_CHECKING:
    from unveil.partitions.hierarchy import Hierarchy

__all__ = [
    "ComparedColumn",
    "Generalised",
    "ReadValue",
    "compared",
    "fitted",
    "generalised_each",
    "is_null",
    "is_suppressed",
    "novel",
    "parse_generalised",
    "point_of",
    "read_each",
    "read_values",
    "text_form",
]

_FLOAT = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_DATE = r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?"
_POINT = rf"{_DATE}|{_FLOAT}"
_END = rf"{_POINT}|[+-]?(?:inf(?:inity)?|\u221e)"
_NUMBER = re.compile(_FLOAT, re.ASCII)
_MOMENT = re.compile(_DATE, re.ASCII)
_INFINITE = re.compile(r"([+-]?)(?:inf(?:inity)?|\u221e)", re.IGNORECASE)
_BRACKETS = re.compile(rf"([\[(\]])\s*({_END})\s*[,;]\s*({_END})\s*([\])\[])", re.ASCII | re.IGNORECASE)
_RANGE = re.compile(rf"({_POINT})\s*(?:-|\u2013|\.\.|to)\s*({_POINT})", re.ASCII)
_BEYOND = re.compile(rf"(<=|>=|<|>|\u2264|\u2265)\s*({_POINT})", re.ASCII)
_AND_MORE = re.compile(rf"({_POINT})\s*\+", re.ASCII)
_MASKED = re.compile(r"([^*]+)\*+", re.DOTALL)
_DIGITS = re.compile(r"([+-]?)(\d+)", re.ASCII)
_REST = re.compile(r"\+\d+", re.ASCII)
_MOST_DIGITS = 300
"""A masked code longer than this is not read as a number."""
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - by the wall clock
_DAY = 86400.0


@dataclass(frozen=True, slots=True)
class Generalised:
    """The coverage of a generalised value: an interval, a masked code, a set of values, or, if it is none of these, anything.

    Attributes
    ----------
    low, high, with_low, with_high
        The ends of an interval, and whether they belong to it.
    prefix, length
        The visible part of a masked code, and its whole length.
    values
        The texts of a set.
    """

    low: float | None = None
    high: float | None = None
    with_low: bool = True
    with_high: bool = True
    prefix: str | None = None
    length: int | None = None
    values: frozenset[str] | None = None

    @property
    def is_interval(self) -> bool:
        """Whether it is an interval of numbers; a masked number is one too."""
        return self.low is not None

    @property
    def is_anything(self) -> bool:
        """Whether it covers anything, and so carries no information."""
        return self.low is None and self.prefix is None and self.values is None

    def covers(self, value: Any) -> bool:
        """Whether it covers a plain value."""
        return self._holds(text_form(value), point_of(value))

    def _holds(self, text: str, point: float | None) -> bool:
        """Whether it covers a value with this text and number."""
        if self.values is not None:
            return text in self.values
        if self.prefix is not None:
            return len(text) == self.length and text.startswith(self.prefix)
        if self.low is None or self.high is None:
            return True
        if point is None:
            return False
        above = point >= self.low if self.with_low else point > self.low
        return above and (point <= self.high if self.with_high else point < self.high)

    def covering(self, values: Sequence[ReadValue]) -> list[bool]:
        """Return which of some values it covers; it never covers a null."""
        return [one.value is not None and self._holds(one.text, one.point) for one in values]


def parse_generalised(value: Any) -> Generalised | None:
    """Read a text in one of the forms above, or a list, tuple or set of values; None if the value is a plain one.

    Examples
    --------
    >>> parse_generalised("[20, 30)").covers(29), parse_generalised("2*").covers("31"), parse_generalised("flu")
    (True, False, None)
    """
    if isinstance(value, (list, tuple, set, frozenset)):
        return Generalised(values=frozenset(map(text_form, value)))
    if not isinstance(value, str):
        return None
    if is_suppressed(value):
        return Generalised()
    text = value.strip()
    return _interval(text) or _masked(text) or _listed(text)


@dataclass(frozen=True, slots=True)
class ReadValue:
    """A value that was read once: the forms by which it is matched, and its coverage.

    Attributes
    ----------
    value
        The original value.
    text, point
        The text by which it is matched, and the number or day that the text represents.
    suppressed
        Whether it is missing, or a text of stars only.
    """

    value: Any
    text: str
    point: float | None
    suppressed: bool

    @property
    def generalised(self) -> Generalised | None:
        """Its coverage; None if it is a plain value."""
        return parse_generalised(self.value)

    @property
    def forms(self) -> set[str | float]:
        """The forms by which the value is matched: its text, and its number if it has one."""
        return {self.text} if self.point is None else {self.text, self.point}


def read_values(values: Iterable[Any]) -> list[ReadValue]:
    """Read the distinct values of a column, all at once."""
    return [ReadValue(one, text_form(one), point_of(one), is_suppressed(one)) for one in values]


def read_each(columns: Sequence[Sequence[Any]]) -> list[list[ReadValue]]:
    """Read the distinct values of several columns."""
    return [read_values(values) for values in columns]


def generalised_each(values: Sequence[ReadValue]) -> list[Generalised | None]:
    """Return the coverage of each of several values; None for a plain one."""
    return [one.generalised for one in values]


def is_null(value: Any) -> bool:
    """Whether a value is missing: None, NaN, or another library's missing value."""
    if value is None or isinstance(value, str):
        return value is None
    if isinstance(value, (float, np.floating)):
        return math.isnan(value)
    return type(value).__name__ in {"NAType", "NaTType"}


def is_suppressed(value: Any) -> bool:
    """Whether a value is missing, or a text of stars only."""
    if isinstance(value, str):
        text = value.strip()
        return bool(text) and not text.strip("*")
    return is_null(value)


def text_form(value: Any) -> str:
    """Return the text by which values are matched; a float without a fraction is written as an integer."""
    value = plain(value)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return text_of(value)


def point_of(value: Any) -> float | None:
    """Return the number that a value or its text represents; for a date, the days since 1970. None if there is none."""
    value = plain(value)
    if isinstance(value, str):
        text = value.strip()
        if _NUMBER.fullmatch(text):
            return float(text)
        if not _MOMENT.fullmatch(text):
            return None
    elif isinstance(value, bool):
        return None
    elif isinstance(value, (int, float, Decimal)):
        return float(value)
    elif not isinstance(value, date):
        return None
    moment = moment_of(value)
    return None if moment is None else (moment - _EPOCH).total_seconds() / _DAY


def _interval(text: str) -> Generalised | None:  # noqa: PLR0911 - one return per form
    if match := _BRACKETS.fullmatch(text):
        return _ordered(_end(match[2]), _end(match[3]), with_low=match[1] == "[", with_high=match[4] == "]")
    if _MOMENT.fullmatch(text) or _NUMBER.fullmatch(text):
        return None
    if match := _RANGE.fullmatch(text):
        return _ordered(_end(match[1]), _end(match[2]))
    if match := _AND_MORE.fullmatch(text):
        return _ordered(_end(match[1]), math.inf)
    if match := _BEYOND.fullmatch(text):
        end, closed = _end(match[2]), match[1] not in {"<", ">"}
        if match[1] in {"<", "<=", "\u2264"}:
            return _ordered(-math.inf, end, with_high=closed)
        return _ordered(end, math.inf, with_low=closed)
    return None


def _ordered(low: float, high: float, *, with_low: bool = True, with_high: bool = True) -> Generalised | None:
    """Return the interval, unless it would be empty: such a text has another meaning."""
    empty = not low <= high or (low == high and not (with_low and with_high)) or low == math.inf or high == -math.inf
    return None if empty else Generalised(low, high, with_low=with_low, with_high=with_high)


def _end(text: str) -> float:
    if match := _INFINITE.fullmatch(text):
        return -math.inf if match[1] == "-" else math.inf
    point = point_of(text)
    return math.nan if point is None else point


def _masked(text: str) -> Generalised | None:
    """Read a masked code; one of digits is also the interval of the integers that begin with them."""
    match = _MASKED.fullmatch(text)
    if not match:
        return None
    prefix, length = match[1], len(text)
    digits = _DIGITS.fullmatch(prefix)
    if not digits or length > _MOST_DIGITS:
        return Generalised(prefix=prefix, length=length)
    step = 10 ** (length - len(prefix))
    least = int(digits[2]) * step
    most = least + step - 1
    low, high = (-most, -least) if digits[1] == "-" else (least, most)
    return Generalised(float(low), float(high), prefix=prefix, length=length)


def _listed(text: str) -> Generalised | None:
    """Read a set; a list that was truncated may contain anything."""
    if text.startswith("{") and text.endswith("}"):
        members = [member.strip() for member in text[1:-1].split(",")]
    elif "|" in text:
        members = [member.strip() for member in text.split("|")]
    else:
        return None
    if not all(members):
        return None
    cut = len(members) > 1 and _REST.fullmatch(members[-1])
    return Generalised() if cut else Generalised(values=frozenset(members))


def fitted(partition: Partition, values: Sequence[Any], column: str) -> tuple[Partition, int]:
    """Fit a partition to values, some of which are generalised.

    A generalised value belongs to the block that holds everything it covers. One that straddles two blocks gets a block of its
    own, under its own name.

    Returns
    -------
    tuple
        A partition that covers the values, and the number of values that straddle two blocks.
    """
    known = [value for value in values if value is not None]
    read = {value: parse_generalised(value) for value in known}
    if not any(read.values()):
        return partition, 0
    labels: dict[Any, str | None] = {}
    straddling = 0
    for value in known:
        label = _label(partition, value, column)
        if label is None and (covered := read[value]) is not None:
            label = _block_of(partition.rule, covered)
            straddling += label is None
            label = str(value) if label is None else label
        if label is None:
            partition.apply(values, column)  # raises the error
        labels[value] = label
    return Partition.from_mapping({value: label for value, label in labels.items() if label is not None}), straddling


def _label(partition: Partition, value: Any, column: str) -> str | None:
    """Return the block that names the value itself, if one does."""
    try:
        _, labels = partition.apply([value], column)
    except PartitionError:
        return None
    return labels[0]


def _block_of(rule: PartitionRule, covered: Generalised) -> str | None:
    """Return the only block that holds everything covered; None if there are several, or none."""
    if isinstance(rule, IntervalBlocks):
        return _between_edges(rule, covered)
    if not isinstance(rule, Blocks):
        return None
    blocks = [[member for member in block if member is not None] for block in rule.members]
    holding = [at for at, block in enumerate(blocks) if any(map(covered.covers, block))]
    if len(holding) != 1:
        return None
    elsewhere = (covered.values or frozenset()) - set(map(text_form, blocks[holding[0]]))
    return None if elsewhere else rule.labels[holding[0]]


def _between_edges(rule: IntervalBlocks, covered: Generalised) -> str | None:
    """Return the interval [a, b) that holds a whole interval, or all numbers of a set."""
    low, high, with_high = covered.low, covered.high, covered.with_high
    if covered.values is not None:
        points = [point for member in covered.values if (point := point_of(member)) is not None]
        if points and len(points) == len(covered.values):
            low, high = min(points), max(points)
    if low is None or high is None:
        return None
    edges = [-math.inf] * rule.below + [_end(text_of(edge)) for edge in rule.edges] + [math.inf] * rule.above
    for label, (first, last) in zip(rule.labels, pairwise(edges), strict=True):
        if first <= low and (high < last or (high == last and (not with_high or last == math.inf))):
            return label
    return None


Comparison: TypeAlias = "tuple[Sequence[Any], Sequence[Any], Hierarchy | None]"
"""The distinct plain values of a column, the released ones that stand for them, and the hierarchy of their labels."""


@dataclass(frozen=True, slots=True, eq=False)
class ComparedColumn:
    """The plain and the released values of a column, each read once.

    Attributes
    ----------
    values, cells
        The plain values, and the released ones.
    covered
        For each released value that covers more than itself, by its position, which of the plain values it covers.
    """

    values: Sequence[ReadValue]
    cells: Sequence[ReadValue]
    covered: Mapping[int, Sequence[bool]]


def compared(columns: Sequence[Comparison]) -> list[ComparedColumn]:
    """Return which plain values the released values of several columns cover."""
    return [_compared(*column) for column in columns]


def _compared(plain_values: Sequence[Any], released: Sequence[Any], hierarchy: Hierarchy | None) -> ComparedColumn:
    run = active_run()
    values, cells, labels = read_values(plain_values), read_values(released), _labels_of(hierarchy)
    covered = {}
    for place, cell in enumerate(cells):
        run.check()
        within = _covered(cell, values, labels)
        if within is not None:
            covered[place] = within
    return ComparedColumn(values, cells, covered)


def novel(columns: Sequence[Comparison]) -> list[list[bool]]:
    """Return, for several columns, which released values are neither plain values nor labels, and generalise none."""
    return [_novel(*column) for column in columns]


def _novel(plain_values: Sequence[Any], released: Sequence[Any], hierarchy: Hierarchy | None) -> list[bool]:
    known = {form for value in read_values(plain_values) for form in value.forms}
    if hierarchy is not None:
        known |= {label for path in hierarchy.labels for label in path}
    return [one.value is not None and known.isdisjoint(one.forms) and one.generalised is None for one in read_values(released)]


def _labels_of(hierarchy: Hierarchy | None) -> dict[str, set[Any]]:
    """Return the coverage of each label above the values: texts, and the numbers that they represent."""
    covered: dict[str, set[Any]] = {}
    paths = () if hierarchy is None else hierarchy.labels
    for leaf, labels in zip(read_values(path[0] for path in paths), (path[1:] for path in paths), strict=True):
        for label in labels:
            covered.setdefault(label, set()).update(leaf.forms)
    return covered


def _covered(cell: ReadValue, values: Sequence[ReadValue], labels: Mapping[str, set[Any]]) -> list[bool] | None:
    """Return which values a released one covers; None if it is a plain value itself."""
    if cell.value is None:
        return [value.value is not None for value in values]
    named = None if cell.suppressed else labels.get(cell.text)
    if named is not None:
        return [value.value is not None and not value.forms.isdisjoint(named) for value in values]
    generalised = cell.generalised
    return None if generalised is None else generalised.covering(values)
