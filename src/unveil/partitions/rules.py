"""The rules by which a partition finds the block of a value: a list of blocks, intervals, or a function.

A rule places values: it returns the number of each value's block, and the labels of all blocks. A null that no block names gets
the number after the last block. Values that cannot be placed are counted and refused; the message never shows a value.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from unveil.errors import PartitionError, shown
from unveil.partitions.matching import (
    edge_json,
    edge_text,
    forms_of,
    keys_of,
    moment_of,
    number_of,
    plain,
    reading_for,
    text_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

__all__ = ["Blocks", "Function", "IntervalBlocks", "PartitionRule", "column_said", "joined"]

_LONGEST_LABEL = 40
_NOWHERE = -1

Placed: TypeAlias = tuple[list[int], list[str]]
"""The number of each value's block, and the label of each block."""

_Point = TypeVar("_Point", Decimal, datetime)


class PartitionRule(Protocol):
    """The interface of every rule."""

    def place(self, values: Sequence[Any], column: str | None) -> Placed:
        """Return the number of each value's block, and the labels of the blocks."""

    def to_dict(self) -> dict[str, Any]:
        """Return the rule in a form that JSON can represent."""

    def __str__(self) -> str:
        """Return the rule in a few words."""


def column_said(column: str | None) -> str:
    """Return the beginning of a message, which names the column if it is known."""
    return f"column {shown(column)}: " if column is not None else ""


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """Blocks that list their members, each with a label."""

    members: tuple[tuple[Any, ...], ...]
    labels: tuple[str, ...]
    labelled: bool = False
    mapping: bool = False

    @classmethod
    def checked(
        cls,
        blocks: Sequence[Sequence[Any]],
        labels: Sequence[Any] | None,
        *,
        column: str | None,
        mapping: bool = False,
    ) -> Blocks:
        """Build the rule, refusing blocks that are not a partition of any data."""
        members = tuple(tuple({forms_of(m) if m is not None else None: m for m in block}.values()) for block in blocks)
        if not members:
            raise PartitionError(f"{column_said(column)}the partition has no blocks.")
        for number, block in enumerate(members, start=1):
            if not block:
                raise PartitionError(
                    f"{column_said(column)}block {number} of {len(members)} is empty; a block holds at least one value."
                )
        _refuse_overlap(members, column)
        names = _own_labels(members) if labels is None else _checked_labels(labels, len(members), column)
        return cls(members, names, labelled=labels is not None, mapping=mapping)

    def place(self, values: Sequence[Any], column: str | None) -> Placed:
        """Look each value up among the members, read in the same way as the column's values."""
        read = reading_for(values)
        block_of: dict[Hashable, int] = {}
        clashing: set[Hashable] = set()
        null = len(self.members)
        for number, block in enumerate(self.members):
            for member in block:
                if member is None:
                    null = number
                    continue
                for key in keys_of(member, read):
                    if block_of.setdefault(key, number) != number:
                        clashing.add(key)
        keys = [None if value is None else read(value) for value in values]
        if overlapping := sum(key in clashing for key in keys):
            raise PartitionError(f"{column_said(column)}{_overlap(overlapping)}")
        codes = [null if value is None else block_of.get(key, _NOWHERE) for value, key in zip(values, keys, strict=True)]
        _refuse_uncovered(codes, column)
        return codes, list(self.labels)

    def to_dict(self) -> dict[str, Any]:
        """Return the mapping or the blocks, with the given labels."""
        odd = any(member is None or isinstance(plain(member), bool) for block in self.members for member in block)
        if self.mapping and not odd:  # a JSON key is always text, from which neither a null nor a boolean can be read back
            pairs = zip(self.members, self.labels, strict=True)
            return {"mapping": {text_of(member): label for block, label in pairs for member in block}}
        blocks = [[_json(member) for member in block] for block in self.members]
        return {"blocks": blocks, "labels": list(self.labels)} if self.labelled else {"blocks": blocks}

    def __eq__(self, other: object) -> bool:
        """Blocks are equal if their labels are equal and they match the same values."""
        if not isinstance(other, Blocks):
            return NotImplemented
        return self._essence() == other._essence()

    def __hash__(self) -> int:
        """Equal blocks have equal hashes."""
        return hash(self._essence())

    def __str__(self) -> str:
        """Return the number of blocks, in words."""
        return f"{len(self.members)} {'block' if len(self.members) == 1 else 'blocks'}"

    def _essence(self) -> tuple[Any, ...]:
        sets = tuple(frozenset(None if m is None else forms_of(m) for m in block) for block in self.members)
        return self.labels, sets


@dataclass(frozen=True, slots=True)
class IntervalBlocks:
    """Half-open intervals [a, b) between edges, of numbers or of moments; open-ended if `below` or `above` is set."""

    edges: tuple[Decimal, ...] | tuple[datetime, ...]
    below: bool
    above: bool

    @classmethod
    def checked(cls, edges: Sequence[Any], *, column: str | None) -> IntervalBlocks:
        """Build the rule from edges that strictly increase; -inf may be the first, inf the last."""
        if len(edges) < 2:  # noqa: PLR2004
            raise PartitionError(f"{column_said(column)}edges need at least two numbers or dates; {len(edges)} given.")
        below = number_of(edges[0]) == Decimal("-inf")
        above = number_of(edges[-1]) == Decimal("inf")
        inner = list(edges[below : len(edges) - above])
        numbers = [n for edge in inner if (n := number_of(edge)) is not None and n.is_finite()]
        if len(numbers) == len(inner):
            return cls(_increasing(numbers, column, first=1 + below), below, above)
        moments = [m for edge in inner if (m := moment_of(edge)) is not None]
        if len(moments) == len(inner):
            return cls(_increasing(moments, column, first=1 + below), below, above)
        raise PartitionError(
            f"{column_said(column)}edges are all numbers or all dates (ISO 8601); -inf may only be the first edge, inf the last."
        )

    def place(self, values: Sequence[Any], column: str | None) -> Placed:
        """Find the interval of each value by bisection."""
        dated = any(isinstance(edge, datetime) for edge in self.edges)
        points = [None if v is None else moment_of(v) if dated else number_of(v) for v in values]
        lost = sum(point is None and value is not None for point, value in zip(points, values, strict=True))
        if lost:
            noun = "date" if dated else "number"
            raise PartitionError(
                f"{column_said(column)}{_of_present(lost, len(values))} no {noun}; edges of {noun}s place {noun}s only."
            )
        null = len(self.labels)
        codes = [null if point is None else self._interval(point) for point in points]
        hints = [] if self.below or 0 not in self._sides(points) else ["begin the edges with -inf"]
        hints += [] if self.above or len(self.edges) not in self._sides(points) else ["end the edges with inf"]
        _refuse_uncovered(codes, column, hint=" and ".join(hints))
        return codes, self.labels

    @property
    def labels(self) -> list[str]:
        """The intervals in words."""
        texts = [edge_text(edge) for edge in self.edges]
        if not texts:
            return ["all"]
        inner = [f"[{a}, {b})" for a, b in pairwise(texts)]
        return [f"< {texts[0]}"] * self.below + inner + [f">= {texts[-1]}"] * self.above

    def to_dict(self) -> dict[str, Any]:
        """Return the edges, infinite ones as text, because JSON has no infinity."""
        inner = [edge_json(edge) for edge in self.edges]
        return {"edges": ["-inf"] * self.below + inner + ["inf"] * self.above}

    def __str__(self) -> str:
        """Return the number of intervals, in words."""
        return f"{len(self.labels)} {'interval' if len(self.labels) == 1 else 'intervals'}"

    def _position(self, point: Decimal | datetime) -> int:
        return bisect_right(self.edges, point)

    def _interval(self, point: Decimal | datetime) -> int:
        position = self._position(point)
        outside = (position == 0 and not self.below) or (position == len(self.edges) and not self.above)
        return _NOWHERE if outside else position - (not self.below)

    def _sides(self, points: Sequence[Decimal | datetime | None]) -> set[int]:
        return {self._position(point) for point in points if point is not None}


@dataclass(frozen=True, slots=True)
class Function:
    """A function from a value to the label of its block; it is not called for nulls."""

    function: Callable[[Any], Any]

    def place(self, values: Sequence[Any], column: str | None) -> Placed:
        """Call the function for every value; blocks are ordered by their label's text."""
        blocks: list[str | None] = []
        failed: list[Exception] = []
        for value in values:
            try:
                label = None if value is None else self.function(value)
            except Exception as problem:  # noqa: BLE001  (a stranger's function may raise anything)
                failed.append(problem)
                continue
            blocks.append(None if label is None else text_of(label))
        if failed:
            kind = type(failed[0]).__name__
            raise PartitionError(
                f"{column_said(column)}the partition's function fails on {len(failed):,} of {len(values):,} values present "
                f"({kind})."
            ) from failed[0]
        labels = sorted({label for label in blocks if label is not None})
        number = {label: i for i, label in enumerate(labels)}
        codes = [
            len(labels) if value is None else _NOWHERE if label is None else number[label]
            for value, label in zip(values, blocks, strict=True)
        ]
        _refuse_uncovered(codes, column)
        return codes, labels

    def to_dict(self) -> dict[str, Any]:
        """Return the function's name, which shows the origin of a figure but cannot be read back."""
        return {"function": self._name()}

    def __str__(self) -> str:
        """Return the function's name."""
        return f"function {self._name()}"

    def _name(self) -> str:
        return str(getattr(self.function, "__qualname__", type(self.function).__qualname__))


def joined(members: Sequence[Any]) -> str:
    """Return a block's label made of its members, truncated if there are many.

    >>> joined(["flu", "cold"])
    '{flu, cold}'
    >>> joined(range(100, 200))
    '{100, 101, 102, 103, 104, 105, 106, 107, +92}'
    """
    texts = ["null" if member is None else text_of(member) for member in members]
    kept: list[str] = []
    room = _LONGEST_LABEL
    for text in texts:
        room -= len(text) + 2 * bool(kept)
        if kept and room < 0:
            break
        kept.append(text if len(text) <= _LONGEST_LABEL else f"{text[:_LONGEST_LABEL]}...")
    rest = [f"+{len(texts) - len(kept)}"] if len(kept) < len(texts) else []
    return f"{{{', '.join(kept + rest)}}}"


def _own_labels(members: Sequence[Sequence[Any]]) -> tuple[str, ...]:
    labels: dict[str, None] = {}
    for block in members:
        label = unique = joined(block)
        twin = 1
        while unique in labels:
            twin += 1
            unique = f"{label} ({twin})"
        labels[unique] = None
    return tuple(labels)


def _checked_labels(labels: Sequence[Any], blocks: int, column: str | None) -> tuple[str, ...]:
    if len(labels) != blocks:
        raise PartitionError(f"{column_said(column)}each block has one label; labels given: {len(labels)}, blocks: {blocks}.")
    nameless = sum(not _is_label(label) for label in labels)
    if nameless:
        raise PartitionError(f"{column_said(column)}a label is a text or a number; labels that are neither: {nameless}.")
    texts = tuple(text_of(label) for label in labels)
    if twins := blocks - len(set(texts)):
        raise PartitionError(f"{column_said(column)}labels must differ; labels that repeat another: {twins}.")
    return texts


def _is_label(label: Any) -> bool:
    return isinstance(plain(label), (str, bool, int, float, Decimal, date, time))


def _refuse_overlap(members: Sequence[Sequence[Any]], column: str | None) -> None:
    blocks_of: dict[str | None, set[int]] = {}
    for number, block in enumerate(members):
        for member in block:
            blocks_of.setdefault(None if member is None else text_of(member), set()).add(number)
    if overlapping := sum(len(blocks) > 1 for blocks in blocks_of.values()):
        raise PartitionError(f"{column_said(column)}{_overlap(overlapping)}")


def _refuse_uncovered(codes: Sequence[int], column: str | None, hint: str = "") -> None:
    if missing := codes.count(_NOWHERE):
        advice = f" Hint: {hint}." if hint else ""
        raise PartitionError(f"{column_said(column)}{_of_present(missing, len(codes))} in no block of the partition.{advice}")


def _of_present(n: int, present: int) -> str:
    return f"{n:,} of {present:,} values present {'is' if n == 1 else 'are'}"


def _overlap(n: int) -> str:
    verb = "value is" if n == 1 else "values are"
    return f"{n:,} {verb} in more than one block; a partition's blocks are disjoint."


def _increasing(edges: Sequence[_Point], column: str | None, *, first: int) -> tuple[_Point, ...]:
    for number, (low, high) in enumerate(pairwise(edges), start=first):
        if not low < high:
            raise PartitionError(f"{column_said(column)}edges must increase, and edge {number + 1} is not above edge {number}.")
    return tuple(edges)


def _json(member: Any) -> Any:
    member = plain(member)
    exact = member is None or isinstance(member, (str, bool, int))
    return member if exact or (isinstance(member, float) and Decimal(str(member)).is_finite()) else text_of(member)
