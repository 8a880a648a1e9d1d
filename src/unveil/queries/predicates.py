"""Conditions on columns, evaluated on the values of a count table in SQL's three-valued logic, or compiled to SQL.

A comparison with a null is neither true nor false, and neither is its negation. Texts are compared by code points, whatever the
language; numbers as numbers, dates as dates. A constant must have the type of the column's values: apart from texts of dates,
nothing is converted.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from unveil.errors import shown
from unveil.queries.problems import QuestionError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["All", "AnyOf", "ColumnRef", "Compared", "Known", "Missing", "Negated", "Predicate", "Truth", "col", "predicate_of"]

Truth: TypeAlias = "tuple[NDArray[np.bool_], NDArray[np.bool_]]"
"""The cells where a condition is true, and those where it is false; elsewhere a null leaves it open."""
Known: TypeAlias = "Callable[[str], tuple[Sequence[Any], NDArray[Any]]]"
"""A function that returns a column's distinct values, and for each cell the position of its value among them."""
Written: TypeAlias = Callable[[str], str]

_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_NAMES = ((bool, "true or false"), (str, "texts"), ((int, float, Decimal), "numbers"), (datetime, "times"), (date, "dates"))


class Predicate:
    """A condition; `&`, `|` and `~` combine conditions."""

    __slots__ = ()

    @property
    def columns(self) -> frozenset[str]:
        """The columns of the condition."""
        raise NotImplementedError

    def truth(self, known: Known) -> Truth:
        """Return for every cell whether the condition is true, and whether it is false."""
        raise NotImplementedError

    def sql(self, column: Written, text: Written) -> str:
        """Return the condition in SQL; `column` writes a column's name, `text` a text constant."""
        raise NotImplementedError

    def to_list(self) -> list[Any]:
        """Return the condition as plain values, from which `predicate_of` restores it."""
        raise NotImplementedError

    def __and__(self, other: Predicate) -> Predicate:
        """Return the condition that both hold."""
        return All((self, other))

    def __or__(self, other: Predicate) -> Predicate:
        """Return the condition that at least one of them holds."""
        return AnyOf((self, other))

    def __invert__(self) -> Predicate:
        """Return the condition that this one does not hold."""
        return Negated(self)

    def __bool__(self) -> bool:
        """Refuse `and`, `or` and chained comparisons, which Python would evaluate separately."""
        raise QuestionError("combine conditions with &, | and ~, each in brackets; `and`, `or` and `not` do not work on them.")


@dataclass(frozen=True, slots=True)
class Compared(Predicate):
    """A column compared with a constant."""

    column: str
    sign: str
    constant: Any

    def __post_init__(self) -> None:
        """Refuse an unknown comparison, and constants that cannot be compared."""
        if self.sign not in _OPERATORS:
            raise QuestionError("a comparison must be one of =, <>, <, <=, >, >=.")
        if not isinstance(self.constant, str | int | float | Decimal | date):
            raise QuestionError(f"column {shown(self.column)} is compared with something that is not a text, number or date.")
        if isinstance(self.constant, float) and not math.isfinite(self.constant):
            raise QuestionError(f"column {shown(self.column)} is compared with a number that is not finite.")

    @property
    def columns(self) -> frozenset[str]:
        """The column."""
        return frozenset((self.column,))

    def truth(self, known: Known) -> Truth:
        """Compare every distinct value once."""
        values, codes = known(self.column)
        constant, compare = _fitting(self.column, self.constant, values), _OPERATORS[self.sign]
        held = np.array([value is not None and bool(compare(value, constant)) for value in values], dtype=bool)
        null = np.array([value is None for value in values], dtype=bool)
        return held[codes], (~held & ~null)[codes]

    def sql(self, column: Written, text: Written) -> str:
        """Return the comparison."""
        return f"{column(self.column)} {self.sign} {_literal(self.constant, text)}"

    def to_list(self) -> list[Any]:
        """Return column, sign and constant."""
        return ["compare", self.column, self.sign, *_plain(self.constant)]


@dataclass(frozen=True, slots=True)
class Missing(Predicate):
    """The condition that a column is null, which is always true or false."""

    column: str

    @property
    def columns(self) -> frozenset[str]:
        """The column."""
        return frozenset((self.column,))

    def truth(self, known: Known) -> Truth:
        """Return where the column is null."""
        values, codes = known(self.column)
        null = np.array([value is None for value in values], dtype=bool)[codes]
        return null, ~null

    def sql(self, column: Written, text: Written) -> str:  # noqa: ARG002 - it has no constant
        """Return the condition."""
        return f"{column(self.column)} IS NULL"

    def to_list(self) -> list[Any]:
        """Return the column."""
        return ["null", self.column]


@dataclass(frozen=True, slots=True)
class _Several(Predicate):
    parts: tuple[Predicate, ...]

    @property
    def columns(self) -> frozenset[str]:
        return frozenset().union(*(part.columns for part in self.parts))


@dataclass(frozen=True, slots=True)
class All(_Several):
    """The condition that all of several hold; without any, it always holds."""

    def truth(self, known: Known) -> Truth:
        """Return true where all are true, false where one is false."""
        held, not_held = zip(*(part.truth(known) for part in self.parts), strict=True) if self.parts else ((), ())
        return reduce(np.logical_and, held, np.array([True])), reduce(np.logical_or, not_held, np.array([False]))

    def sql(self, column: Written, text: Written) -> str:
        """Return the conditions joined by AND."""
        return "(" + " AND ".join(part.sql(column, text) for part in self.parts) + ")"

    def to_list(self) -> list[Any]:
        """Return the parts."""
        return ["all", *(part.to_list() for part in self.parts)]


@dataclass(frozen=True, slots=True)
class AnyOf(_Several):
    """The condition that at least one of several holds."""

    def truth(self, known: Known) -> Truth:
        """Return true where one is true, false where all are false."""
        held, not_held = zip(*(part.truth(known) for part in self.parts), strict=True) if self.parts else ((), ())
        return reduce(np.logical_or, held, np.array([False])), reduce(np.logical_and, not_held, np.array([True]))

    def sql(self, column: Written, text: Written) -> str:
        """Return the conditions joined by OR."""
        return "(" + " OR ".join(part.sql(column, text) for part in self.parts) + ")"

    def to_list(self) -> list[Any]:
        """Return the parts."""
        return ["any", *(part.to_list() for part in self.parts)]


@dataclass(frozen=True, slots=True)
class Negated(Predicate):
    """The condition that another is false; if a null leaves that open, so is this."""

    part: Predicate

    @property
    def columns(self) -> frozenset[str]:
        """The columns of the other condition."""
        return self.part.columns

    def truth(self, known: Known) -> Truth:
        """Exchange true and false."""
        held, not_held = self.part.truth(known)
        return not_held, held

    def sql(self, column: Written, text: Written) -> str:
        """Return the condition after NOT."""
        return f"(NOT {self.part.sql(column, text)})"

    def to_list(self) -> list[Any]:
        """Return the other condition."""
        return ["not", self.part.to_list()]


@dataclass(frozen=True, slots=True, eq=False)
class ColumnRef:
    """A column by name, to compare: see `col`."""

    name: str

    def __eq__(self, constant: object) -> Predicate:  # type: ignore[override]
        """Return the condition that the column equals a constant, or for None that it is null."""
        return Missing(self.name) if constant is None else Compared(self.name, "=", constant)

    def __ne__(self, constant: object) -> Predicate:  # type: ignore[override]
        """Return the condition that the column differs from a constant, or for None that it is not null."""
        return Negated(Missing(self.name)) if constant is None else Compared(self.name, "<>", constant)

    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, constant: Any) -> Predicate:
        """Return the condition that the column is below a constant."""
        return Compared(self.name, "<", constant)

    def __le__(self, constant: Any) -> Predicate:
        """Return the condition that the column is at most a constant."""
        return Compared(self.name, "<=", constant)

    def __gt__(self, constant: Any) -> Predicate:
        """Return the condition that the column is above a constant."""
        return Compared(self.name, ">", constant)

    def __ge__(self, constant: Any) -> Predicate:
        """Return the condition that the column is at least a constant."""
        return Compared(self.name, ">=", constant)

    def between(self, low: Any, high: Any) -> Predicate:
        """Return the condition that the column lies between two constants, both included."""
        return All((Compared(self.name, ">=", low), Compared(self.name, "<=", high)))

    def is_in(self, constants: Iterable[Any]) -> Predicate:
        """Return the condition that the column equals one of several constants."""
        several = tuple(Compared(self.name, "=", constant) for constant in constants)
        if not several:
            raise QuestionError(f"the list of values for column {shown(self.name)} is empty.")
        return several[0] if len(several) == 1 else AnyOf(several)


def col(name: str) -> ColumnRef:
    """Name a column in a condition.

    Examples
    --------
    >>> from unveil.queries import col
    >>> (col("age") >= 35) & (col("town") == "Rennes")
    All(parts=(Compared(column='age', sign='>=', constant=35), Compared(column='town', sign='=', constant='Rennes')))
    """
    return ColumnRef(name)


def predicate_of(content: Sequence[Any]) -> Predicate:
    """Return the condition that `to_list` wrote."""
    word, *rest = content
    match word:
        case "compare":
            return Compared(rest[0], rest[1], _CONSTANTS[rest[2]](rest[3]))
        case "null":
            return Missing(rest[0])
        case "not":
            return Negated(predicate_of(rest[0]))
        case "all":
            return All(tuple(map(predicate_of, rest)))
        case "any":
            return AnyOf(tuple(map(predicate_of, rest)))
    raise QuestionError("this is not a condition.")


_CONSTANTS: Mapping[str, Callable[[Any], Any]] = {
    "value": lambda value: value,
    "decimal": Decimal,
    "date": date.fromisoformat,
    "time": datetime.fromisoformat,
}


def _plain(constant: Any) -> tuple[str, Any]:
    """Return a constant as a JSON value, with its type."""
    if isinstance(constant, Decimal):
        return "decimal", str(constant)
    if isinstance(constant, date):
        return "time" if isinstance(constant, datetime) else "date", constant.isoformat()
    return "value", constant


def _literal(constant: Any, text: Written) -> str:
    if isinstance(constant, bool):
        return "TRUE" if constant else "FALSE"
    if isinstance(constant, str):
        return text(constant)
    if isinstance(constant, date):
        return f"{'TIMESTAMP' if isinstance(constant, datetime) else 'DATE'} '{constant.isoformat()}'"
    return str(constant) if isinstance(constant, Decimal) else repr(constant)


def _kind(value: Any) -> str:
    return next((name for kind, name in _NAMES if isinstance(value, kind)), "values of another type")


def _fitting(column: str, constant: Any, values: Sequence[Any]) -> Any:
    """Return a constant in the type of a column's values, or refuse it; a text may stand for a date in a column of dates."""
    kinds = {_kind(value) for value in values if value is not None}
    if not kinds or kinds == {_kind(constant)}:
        if any(isinstance(value, Decimal) for value in values) and isinstance(constant, float):
            return Decimal(repr(constant))
        return constant
    if isinstance(constant, str) and kinds <= {"dates", "times"}:
        try:
            return (datetime if kinds == {"times"} else date).fromisoformat(constant)
        except ValueError:
            pass
    raise QuestionError.wrong_kind(column, " and ".join(sorted(kinds)), f"constants that are {_kind(constant)}")
