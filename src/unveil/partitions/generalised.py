r"""What does a generalised value cover? Intervals, masked codes, sets and the suppressed value, as mechanisms write them.

``[20, 30)``, ``(20, 30]``, ``20-29``, ``>= 40``, ``< 20``
    an interval of numbers;
``2*``, ``355**``
    a code with its last characters masked: the codes of the same length that begin so;
``{a, b}``
    a set of values;
``*``
    anything.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from unveil.errors import PartitionError
from unveil.partitions.partition import Partition

__all__ = ["Generalised", "fitted", "parse_generalised"]

_NUMBER = r"([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|[+-]?inf)"
_BRACKETS = re.compile(rf"^([\[(])\s*{_NUMBER}\s*[,;]\s*{_NUMBER}\s*([\])])$")
_RANGE = re.compile(rf"^{_NUMBER}\s*(?:-|\.\.|to)\s*{_NUMBER}$")
_BOUND = re.compile(rf"^(>=|<=|>|<|\u2265|\u2264)\s*{_NUMBER}$")
_MASKED = re.compile(r"^([^*]+)(\*+)$")


@dataclass(frozen=True, slots=True)
class Generalised:
    """What a generalised value covers: an interval, a masked code, a set of values, or (none of them) anything.

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

    def covers(self, value: Any) -> bool:
        """Whether a plain value lies in what is covered."""
        if self.values is not None:
            return str(value) in self.values
        if self.prefix is not None:
            text = str(value)
            return len(text) == self.length and text.startswith(self.prefix)
        if self.low is None or self.high is None:
            return True
        try:
            number = float(value)
        except (TypeError, ValueError):
            return False
        above = number >= self.low if self.with_low else number > self.low
        return above and (number <= self.high if self.with_high else number < self.high)


def parse_generalised(value: Any) -> Generalised | None:
    """Read a generalised value; None where it is a plain one.

    Examples
    --------
    >>> parse_generalised("[20, 30)").covers(29), parse_generalised("2*").covers("31"), parse_generalised("flu")
    (True, False, None)
    """
    if not isinstance(value, str):
        return None
    text = value.strip()
    if text == "*":
        return Generalised()
    if text.startswith("{") and text.endswith("}"):
        return Generalised(values=frozenset(part.strip() for part in text[1:-1].split(",")))
    if found := _MASKED.match(text):
        return _masked(found.group(1), len(text))
    return _interval(text)


def _interval(text: str) -> Generalised | None:
    if found := _BRACKETS.match(text):
        left, low, high, right = found.groups()
        return Generalised(float(low), float(high), with_low=left == "[", with_high=right == "]")
    if found := _BOUND.match(text):
        return _bound(found.group(1), float(found.group(2)))
    found = _RANGE.match(text)
    if found and float(found.group(1)) <= float(found.group(2)):
        return Generalised(float(found.group(1)), float(found.group(2)))
    return None


def _bound(sign: str, number: float) -> Generalised:
    closed = sign in (">=", "<=", "\u2265", "\u2264")
    if sign in (">=", ">", "\u2265"):
        return Generalised(number, math.inf, with_low=closed)
    return Generalised(-math.inf, number, with_high=closed)


def _masked(prefix: str, length: int) -> Generalised:
    """Read a masked code; one of digits is the interval of the numbers that begin so, too."""
    if not prefix.isdigit():
        return Generalised(prefix=prefix, length=length)
    width = 10 ** (length - len(prefix))
    low = int(prefix) * width
    return Generalised(float(low), float(low + width - 1), prefix=prefix, length=length)


def fitted(partition: Partition, values: Sequence[Any], column: str) -> tuple[Partition, int]:
    """Fit a partition to values of which some are generalised.

    A generalised value goes to the block that holds all it covers. One that straddles two blocks keeps a block of its own, under
    its own name.

    Returns
    -------
    tuple
        A partition that covers the values, and how many of them straddle.
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
            label = _block_of(partition.to_dict(), covered)
            straddling += label is None
            label = str(value) if label is None else label
        if label is None:
            partition.apply(values, column)  # says what is wrong
        labels[value] = label
    return Partition.from_mapping({value: label for value, label in labels.items() if label is not None}), straddling


def _label(partition: Partition, value: Any, column: str) -> str | None:
    """Return the block that names the value itself, if one does."""
    try:
        _, labels = partition.apply([value], column)
    except PartitionError:
        return None
    return labels[0]


def _block_of(document: Mapping[str, Any], covered: Generalised) -> str | None:
    """Return the one block that holds everything covered; None where there are several, or none."""
    if "edges" in document:
        return _interval_of([float(edge) for edge in document["edges"]], covered)
    if "mapping" in document:
        held = {label for value, label in document["mapping"].items() if covered.covers(value)}
        return str(held.pop()) if len(held) == 1 else None
    blocks = document.get("blocks", [])
    holding = [at for at, block in enumerate(blocks) if any(covered.covers(value) for value in block)]
    if len(holding) != 1:
        return None
    return Partition.from_blocks(blocks, labels=document.get("labels")).apply([blocks[holding[0]][0]], "")[1][0]


def _interval_of(edges: Sequence[float], covered: Generalised) -> str | None:
    """Return the interval [a, b) that holds a whole interval."""
    if covered.low is None or covered.high is None:
        return None
    for low, high in pairwise(edges):
        below = covered.high < high or (covered.high == high and (not covered.with_high or high == math.inf))
        if low <= covered.low and below:
            inside = covered.low if math.isfinite(covered.low) else covered.high - 1.0
            return Partition.from_edges(list(edges)).apply([inside], "")[1][0]
    return None
