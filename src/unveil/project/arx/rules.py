"""The rules by which ARX builds hierarchies, saved as .ahs files, applied to the values of a column.

A file holds one builder of ARX, as Java wrote it: intervals, groups of ordered values, masked characters, periods of dates, or
values that are suppressed one after the other by priority. Nothing in it is executed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Literal, Protocol, TypeAlias

from unveil.errors import HierarchyError
from unveil.partitions import Builder, Hierarchy, column_said, read_all, text_of
from unveil.project.arx.rule_intervals import LevelGroup, numbered_twins
from unveil.project.arx.rule_types import ArxType, DateType, TextType, date_text

__all__ = ["ArxRule", "DateRule", "OrderRule", "PriorityRule", "RedactionRule", "RuleKind"]

RuleKind: TypeAlias = Literal["interval", "order", "redaction", "date", "priority"]
_ROOT = "*"


class _Levels(Protocol):
    @property
    def kind(self) -> ArxType:
        """The type of the values."""

    def labels(self, values: Sequence[Any], texts: Sequence[str]) -> list[list[str]]:
        """Return the labels of values, given as they are read and as they are written, level by level."""


@dataclass(frozen=True)
class ArxRule(Builder):
    """A rule of ARX; `unveil.arx_rule` reads one from its file.

    Attributes
    ----------
    kind
        "interval", "order", "redaction", "date" or "priority".
    """

    kind: RuleKind
    levels: _Levels = field(repr=False)
    name: ClassVar[str] = "arx"

    def build(self, values: Sequence[Any], counts: Sequence[int] | None = None, *, column: str | None = None) -> Hierarchy:  # noqa: ARG002
        """Return the hierarchy that ARX would build from these values; a null gets no leaf."""
        read = read_all(values, self.levels.kind.read, self.levels.kind.noun, column)
        texts = [text_of(value) for value in read]
        try:
            labels = self.levels.labels(list(read.values()), texts)
        except HierarchyError as problem:
            raise HierarchyError(f"{column_said(column)}{problem}") from None
        except (TypeError, ValueError, OverflowError, ZeroDivisionError, IndexError):
            raise HierarchyError(f"{column_said(column)}the rule does not fit the values; its file may be damaged.") from None
        return Hierarchy.from_levels(list(read), *labels, column=column).with_root()

    def to_dict(self) -> dict[str, Any]:
        """Return that it is a rule of ARX, and its kind."""
        return {"rule": self.name, "kind": self.kind}


@dataclass(frozen=True)
class OrderRule:
    """Groups of neighbours in an order: the sizes repeat until all values, or all groups of the level below, are in a group."""

    kind: ArxType
    order: ArxType
    levels: tuple[tuple[LevelGroup, ...], ...]

    def labels(self, values: Sequence[Any], texts: Sequence[str]) -> list[list[str]]:  # noqa: ARG002 - of the texts
        """Return the labels of the values."""
        groups: list[tuple[str, ...]] = [(text,) for text in self.order.ordered(texts)]
        levels: list[list[str]] = []
        for level in self.levels:
            if not level or (levels and len(groups) == 1):
                break
            groups, names = _gathered(groups, level, self.kind)
            name_of = {text: name for group, name in zip(groups, numbered_twins(names, groups), strict=True) for text in group}
            levels.append([name_of[text] for text in texts])
        return [*levels, [_ROOT] * len(texts)] if len(groups) > 1 else levels


def _gathered(
    items: Sequence[tuple[str, ...]], level: Sequence[LevelGroup], kind: ArxType
) -> tuple[list[tuple[str, ...]], list[str]]:
    """Return items joined according to the sizes of a level, and the labels of the groups."""
    groups: list[tuple[str, ...]] = []
    names: list[str] = []
    at = 0
    while at < len(items):
        for one in level:
            if at >= len(items):
                break
            groups.append(tuple(text for item in items[at : at + one.size] for text in item))
            names.append(one.label.of(groups[-1], kind))
            at += one.size
    return groups, names


@dataclass(frozen=True)
class RedactionRule:
    """Characters masked one by one; shorter values are padded to the length of the longest."""

    fill: str = "*"
    mask: str = "*"
    aligned_right: bool = False
    from_right: bool = True
    kind: ArxType = field(default_factory=TextType)

    def labels(self, values: Sequence[Any], texts: Sequence[str]) -> list[list[str]]:  # noqa: ARG002 - of the texts
        """Return the labels of the values."""
        length = max(map(len, texts))
        filled = [text.rjust(length, self.fill) if self.aligned_right else text.ljust(length, self.fill) for text in texts]
        if self.from_right:
            return [[text[: length - gone] + self.mask * gone for text in filled] for gone in range(1, length + 1)]
        return [[self.mask * gone + text[gone:] for text in filled] for gone in range(1, length + 1)]


@dataclass(frozen=True)
class DateRule:
    """Periods of dates, in Java's date formats; all dates before a moment, or from one on, are one group.

    Attributes
    ----------
    kind
        The type of the dates, with their format.
    periods
        For each level, the format of a period and, if it is an interval of years, the number of years.
    bottom, top
        The first moment that is not in the lowest group, and the first that is in the highest.
    """

    kind: DateType
    periods: tuple[tuple[str, int | None], ...]
    bottom: datetime | None = None
    top: datetime | None = None

    def labels(self, values: Sequence[Any], texts: Sequence[str]) -> list[list[str]]:  # noqa: ARG002 - of the moments
        """Return the labels of the values."""
        return [[self._label(value, form, years) for value in values] for form, years in self.periods]

    def _label(self, at: datetime, form: str, years: int | None) -> str:
        if self.bottom is not None and at < self.bottom:
            return f"<{self.kind.written(self.bottom)}"
        if self.top is not None and at >= self.top:
            return f">={self.kind.written(self.top)}"
        if years is None:
            return date_text(at, form, self.kind.calendar)
        low = at.year // years * years
        return f"[{low}, {low + years}["


@dataclass(frozen=True)
class PriorityRule:
    """Values are suppressed one after the other, those of the lowest priority first, in a number of steps.

    Attributes
    ----------
    kind
        The type of the values, if their own order is the priority.
    priorities
        The priority of each value, if it is given.
    highest_first
        Whether values that are high, or of high priority, are kept longest.
    most
        The largest number of levels.
    """

    kind: ArxType
    priorities: Mapping[str, int] | None = None
    highest_first: bool = True
    most: int = 10

    def labels(self, values: Sequence[Any], texts: Sequence[str]) -> list[list[str]]:  # noqa: ARG002 - of the texts
        """Return the labels of the values."""
        known = self.priorities
        if known is not None:
            ordered = sorted(texts, key=lambda text: known.get(text, 0), reverse=self.highest_first)
        else:
            ordered = self.kind.ordered(texts)[:: -1 if self.highest_first else 1]
        levels = min(len(ordered), self.most)
        step = len(ordered) / levels
        gone_at = {text: levels - int(place / step) for place, text in enumerate(ordered)}
        return [[_ROOT if gone_at[text] <= level else text for text in texts] for level in range(1, levels + 1)]
