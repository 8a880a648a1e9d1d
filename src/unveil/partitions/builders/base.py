"""The common interface of all builders of hierarchies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, ClassVar, TypeVar

from unveil.errors import ArgumentError, HierarchyError
from unveil.partitions.hierarchy import Hierarchy
from unveil.partitions.levels import ROOT
from unveil.partitions.matching import number_of, text_of
from unveil.partitions.rules import at

__all__ = ["Builder", "RootOnly", "growing", "read_all"]

_Read = TypeVar("_Read")


@dataclass(frozen=True)
class Builder:
    """A rule from the distinct values of a column to a hierarchy with a common root.

    A null gets no leaf, unless it is the only value of `RootOnly`. A rule that cannot place some values raises an error that
    counts them.
    """

    name: ClassVar[str] = ""

    def build(self, values: Sequence[Any], counts: Sequence[int] | None = None, *, column: str | None = None) -> Hierarchy:
        """Return the hierarchy of the values.

        Parameters
        ----------
        values
            The distinct values of the column, None for the null.
        counts
            The number of records of each; only a rule about frequency needs it.
        column
            The column's name, for the hierarchy and for messages.
        """
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return the rule's name and settings, in a form that JSON can represent."""
        settings = {field.name: getattr(self, field.name) for field in fields(self)}
        plain = {name: [*map(_json, value)] if isinstance(value, tuple) else _json(value) for name, value in settings.items()}
        return {"rule": self.name} | {name: value for name, value in plain.items() if value is not None}


@dataclass(frozen=True)
class RootOnly(Builder):
    """Keep every value, or none: one level, ``*``, above the values.

    A single value has no level above it, and neither has a null alone, whose leaf is the empty text.

    Examples
    --------
    >>> RootOnly().build(["f", "m"], column="sex").labels
    (('f', '*'), ('m', '*'))
    """

    name: ClassVar[str] = "root"

    def build(self, values: Sequence[Any], counts: Sequence[int] | None = None, *, column: str | None = None) -> Hierarchy:  # noqa: ARG002
        """Return the values with a root above."""
        if len(values) == 1:
            return Hierarchy(column, [("" if values[0] is None else values[0],)])
        return Hierarchy.from_levels(values, [ROOT] * len(values), column=column)


def growing(name: str, steps: Sequence[Any], *, nested: bool = False) -> None:
    """Refuse steps that are not positive and increasing or, if they must nest, not multiples of the step before."""
    numbers = [number_of(step) for step in steps]
    if not numbers or any(step is None or not step.is_finite() or step <= 0 for step in numbers):
        raise ArgumentError(f"{name} takes one or more positive numbers.")
    known = [step for step in numbers if step is not None]
    for low, high in pairwise(known):
        if high <= low:
            raise ArgumentError(f"{name} must grow, and {text_of(high)} comes after {text_of(low)}.")
        if nested and high % low:
            raise ArgumentError(
                f"{name}: {text_of(high)} is not a multiple of {text_of(low)}, so its groups would cut through those below."
            )


def read_all(values: Sequence[Any], read: Callable[[Any], _Read | None], noun: str, column: str | None) -> dict[Any, _Read]:
    """Return the reading of each value except the null; count and refuse values that cannot be read."""
    present = [value for value in values if value is not None]
    points = {value: point for value in present if (point := read(value)) is not None}
    if missing := len(present) - len(points):
        verb = "is" if missing == 1 else "are"
        raise HierarchyError(f"{at(column)}{missing:,} of {len(present):,} values present {verb} no {noun}.")
    if not points:
        raise HierarchyError(f"{at(column)}there are no values to build a hierarchy of.")
    return points


def _json(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float | str) else text_of(value)
