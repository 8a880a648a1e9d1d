"""Questions: aggregates over the records that meet a condition, possibly in groups, and the single numbers they request."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from unveil.arguments import checked_arguments, checked_word
from unveil.attributes import Names, names_of
from unveil.queries.predicates import All, Compared, Missing, Predicate, predicate_of
from unveil.queries.problems import QuestionError

__all__ = ["AGGREGATES", "Aggregate", "Inquiry", "Statistic", "average", "count", "total"]

Function: TypeAlias = Literal["count", "sum", "avg", "var", "min", "max"]
AGGREGATES: tuple[Function, ...] = ("count", "sum", "avg", "var", "min", "max")
_MOST_NUMBERS = 20
"""The most aggregates of one question."""


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A function of a column's values; a count without a column counts records."""

    function: Function
    column: str | None = None

    def __post_init__(self) -> None:
        """Refuse an unknown aggregate."""
        checked_word("aggregate", self.function, AGGREGATES)
        if self.column is None and self.function != "count":
            raise QuestionError(f"{self.function.upper()} needs a column.")

    def __str__(self) -> str:
        """Return the aggregate in SQL."""
        return f"{self.function.upper()}({'*' if self.column is None else self.column})"


@dataclass(frozen=True, slots=True)
class Statistic:
    """One number: an aggregate over the records that meet a condition, with the values of its group."""

    aggregate: Aggregate
    where: Predicate
    group: tuple[tuple[str, Any], ...] = ()

    @property
    def condition(self) -> Predicate:
        """The condition on the records, including that of the group."""
        within = [Missing(name) if value is None else Compared(name, "=", value) for name, value in self.group]
        return All((self.where, *within)) if within else self.where

    def written(self) -> str:
        """Return the statistic as a text from which `read` restores it; equal questions have equal texts."""
        return json.dumps([self.aggregate.function, self.aggregate.column, self.condition.to_list()], ensure_ascii=False)

    @classmethod
    def read(cls, text: str) -> Statistic:
        """Return the statistic of a text."""
        function, column, where = json.loads(text)
        return cls(Aggregate(function, column), predicate_of(where))


@dataclass(frozen=True, slots=True)
class Inquiry:
    """A question: one or more aggregates, a condition, and the columns to group by.

    Attributes
    ----------
    aggregates
        The aggregates to compute.
    where
        The condition on the records; the empty `All` means every record.
    by
        Columns to group by.
    """

    aggregates: tuple[Aggregate, ...]
    where: Predicate = field(default_factory=lambda: All(()))
    by: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a question without aggregates, or with too many."""
        if not 1 <= len(self.aggregates) <= _MOST_NUMBERS:
            raise QuestionError(f"a question must ask for 1 to {_MOST_NUMBERS} aggregates.")

    def statistics(self, groups: list[tuple[tuple[str, Any], ...]]) -> list[Statistic]:
        """Return the requested numbers, group by group."""
        return [Statistic(aggregate, self.where, group) for group in groups for aggregate in self.aggregates]


@checked_arguments
def count(where: Predicate | None = None, *, by: Names | None = None) -> Inquiry:
    """Ask for the number of records that meet a condition.

    Examples
    --------
    >>> from unveil import queries
    >>> queries.count(queries.col("Age") >= 35).aggregates[0]
    Aggregate(function='count', column=None)
    """
    return _inquiry(Aggregate("count"), where, by)


@checked_arguments
def total(column: str, where: Predicate | None = None, *, by: Names | None = None) -> Inquiry:
    """Ask for the sum of a column over the records that meet a condition."""
    return _inquiry(Aggregate("sum", column), where, by)


@checked_arguments
def average(column: str, where: Predicate | None = None, *, by: Names | None = None) -> Inquiry:
    """Ask for the average of a column over the records that meet a condition."""
    return _inquiry(Aggregate("avg", column), where, by)


def _inquiry(aggregate: Aggregate, where: Predicate | None, by: Names | None) -> Inquiry:
    return Inquiry((aggregate,), All(()) if where is None else where, names_of(by))
