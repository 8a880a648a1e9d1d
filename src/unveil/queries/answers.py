"""Answers of a gate, and estimates of their cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from unveil.formats import jsonable, number
from unveil.queries.inquiry import Statistic
from unveil.queries.policies.base import REASONS, Decision
from unveil.results import Figure, Figures, Result, Table, View

__all__ = ["Answer", "BudgetUse", "Explanation", "Number"]


@dataclass(frozen=True, slots=True)
class Number:
    """One number of an answer: the statistic, and the decision about it."""

    statistic: Statistic
    decision: Decision
    repeated: bool = False

    @property
    def answered(self) -> bool:
        """Whether it was answered."""
        return not self.decision.reason

    @property
    def label(self) -> str:
        """The label of the number in a table."""
        group = ", ".join(f"{name} = {value}" for name, value in self.statistic.group)
        return f"{self.statistic.aggregate} | {group}" if group else str(self.statistic.aggregate)

    def to_dict(self) -> dict[str, Any]:
        """Return the number as plain values."""
        group = {"group": jsonable(dict(self.statistic.group))} if self.statistic.group else {}
        document = {"answered": self.answered, **self.decision.answer(), "reason": self.decision.reason or None}
        return {"aggregate": str(self.statistic.aggregate), **group, **document}


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Answer(Result):
    """The answer of a gate.

    Attributes
    ----------
    numbers
        The requested numbers; refused groups are left out, because their existence may itself be protected.
    cost, spent, unit
        The cost of the question, the analyst's spending so far, and the unit of both.
    analyst, policy
        The analyst, and the policies that decided.
    head
        The head of the ledger's chain after this answer.
    """

    numbers: tuple[Number, ...]
    cost: float
    spent: float
    unit: str
    analyst: str
    policy: str
    head: str = field(default="", repr=False)

    @property
    def answered(self) -> bool:
        """Whether any number was answered."""
        return any(number.answered for number in self.numbers)

    @property
    def reason(self) -> str | None:
        """The reason why nothing was answered; None if any number was answered."""
        return None if self.answered else self.numbers[0].decision.reason

    @property
    def _only(self) -> Number | None:
        return self.numbers[0] if len(self.numbers) == 1 and not self.numbers[0].statistic.group else None

    @property
    def value(self) -> float | int | None:
        """The number, if a single one was requested and it is not an interval."""
        return None if self._only is None else self._only.decision.value

    @property
    def low(self) -> float | None:
        """The lower end of the answered interval."""
        return None if self._only is None else self._only.decision.low

    @property
    def high(self) -> float | None:
        """The upper end of the answered interval."""
        return None if self._only is None else self._only.decision.high

    @property
    def error(self) -> float | None:
        """The standard error, if there is noise."""
        return None if self._only is None else self._only.decision.error

    def __repr__(self) -> str:
        """Return one line: the answer, or the reason why there is none, and the cost."""
        if not self.answered:
            return f"Answer(refused: {self.reason}; spent {self.spent:g} {self.unit})"
        shown = _shown(self._only.decision) if self._only is not None else f"{len(self.numbers):,} numbers"
        return f"Answer({shown}; cost {self.cost:g}, spent {self.spent:g} {self.unit})"

    def to_dict(self) -> dict[str, Any]:
        """Return the answer: one number as `value`, or `low` and `high`; several under `numbers`."""
        from unveil import __version__

        document = self._only.decision.answer() if self._only is not None else {"value": None}
        several = {} if self._only is not None else {"numbers": [one.to_dict() for one in self.numbers]}
        reason = {"reason": self.reason, "message": REASONS.get(self.reason) if self.reason else None}
        price = {"cost": self.cost, "spent": self.spent, "unit": self.unit}
        origin = {"analyst": self.analyst, "policy": self.policy, "version": __version__}
        return {"answered": self.answered, **document, **several, **reason, **price, **origin}

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return the numbers as a table."""
        kept = [one for one in self.numbers if one.answered]
        columns: dict[str, Sequence[Any]] = {"number": [one.label for one in kept]}
        for name in ("value", "low", "high", "error"):
            values = [getattr(one.decision, name) for one in kept]
            if any(value is not None for value in values):
                columns[name] = values
        return columns

    def view(self) -> View:
        """Return the displayed figures."""
        price = Figure(f"cost ({self.unit})", self.cost, f"{number(self.spent)} spent so far")
        if not self.answered:
            return View(f"refused: {self.reason}", (price,), notes=(f"Refused: {REASONS[str(self.reason)]}.",))
        if self._only is not None:
            return View(self._only.label, (Figure("answer", _shown(self._only.decision)), price))
        rows = tuple((one.label, _shown(one.decision)) for one in self.numbers)
        return View("answers", (price,), (Table(("number", "answer"), rows),))


def _shown(decision: Decision) -> str:
    if decision.reason:
        return f"refused: {decision.reason}"
    if decision.low is not None and decision.high is not None:
        return f"between {number(decision.low)} and {number(decision.high)}"
    if decision.value is None:
        return "no value"
    error = "" if decision.error is None else f" (standard error {number(decision.error)})"
    return f"{number(decision.value)}{error}"


@dataclass(frozen=True, slots=True, eq=False)
class BudgetUse(Figures):
    """The spending of an analyst and of all together under one policy, the limits, and the guarantee in its own terms."""

    flat: ClassVar[tuple[str, ...]] = ("guarantee",)
    unit: str
    spent: float
    limit: float | None
    all_spent: float
    all_limit: float | None
    guarantee: Mapping[str, Any]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Explanation(Result):
    """The cost of a question before anything is spent. It reveals nothing about the data.

    Attributes
    ----------
    rows
        For each number its policy, its cost, its unit, and the largest error of the answer in 95 of 100 cases.
    budget
        For each policy, the spending of the analyst and of all together, and the limits.
    notes
        Notes on what is protected, against whom, and what is not.
    """

    rows: tuple[Mapping[str, Any], ...]
    budget: Mapping[str, BudgetUse]
    notes: tuple[str, ...] = ()

    @property
    def cost(self) -> float:
        """The cost of the whole question, if all its numbers are new."""
        return float(sum(row["cost"] for row in self.rows))

    def __repr__(self) -> str:
        """Return one line."""
        return f"Explanation({len(self.rows):,} numbers; cost {self.cost:g})"

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers, the budget and the notes as plain values."""
        rows = [jsonable(row) for row in self.rows]
        return {"cost": self.cost, "numbers": rows, "budget": jsonable(self.budget), "notes": list(self.notes)}

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return the numbers as a table."""
        return {name: [row[name] for row in self.rows] for name in self.rows[0]}

    def view(self) -> View:
        """Return the displayed figures."""
        table = Table(tuple(self.rows[0]), tuple(tuple(row.values()) for row in self.rows))
        return View("what it would cost", (Figure("cost", self.cost),), (table,), self.notes)
