"""Differentially private answers: the noisy figures, and the account of the budget they spent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unveil.attributes import in_line
from unveil.formats import jsonable, number
from unveil.mechanisms.differential_privacy.budget import Spent
from unveil.mechanisms.differential_privacy.protected_unit import Unit
from unveil.results import Figure, Result, Table, View

__all__ = ["UNSEEDED", "Private", "answer_notes"]

UNSEEDED = "The noise cannot be repeated: it has no seed, on purpose. Each further answer spends a further budget."


def answer_notes(unit: Unit) -> tuple[str, ...]:
    """Return what a reader of an answer must know: whom it protects, and that it cannot be repeated."""
    return (unit.note, UNSEEDED)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Private(Result):
    """A differentially private answer: noise is added to everything in it that depends on the data.

    Attributes
    ----------
    query
        The question, in words.
    value
        The noisy answer: a number, or noisy numbers by bin.
    spent
        The account: each use of the budget with its noise, sensitivity and scale.
    settings
        The declared settings: bounds, values, whom the guarantee protects and with how many records.
    notes
        Notes for the user.
    """

    query: str
    value: Any
    spent: tuple[Spent, ...]
    settings: Mapping[str, Any]
    notes: tuple[str, ...]

    @property
    def epsilon(self) -> float:
        """The loss of privacy over all uses of the budget."""
        return sum(part.epsilon for part in self.spent)

    @property
    def delta(self) -> float:
        """The probability that the loss is larger."""
        return sum(part.delta for part in self.spent)

    @property
    def error(self) -> float | None:
        """The expected absolute noise in the number, or in each of several; None if the answer has several parts."""
        return self.spent[0].error if len(self.spent) == 1 else None

    def __repr__(self) -> str:
        """Return one line: the query, the answer and its price."""
        answer = f"{len(self.value):,} figures" if isinstance(self.value, Mapping) else number(self.value)
        price = f"epsilon = {self.epsilon:g}" + (f", delta = {self.delta:g}" if self.delta else "")
        return f"Private({in_line([self.query])}: {answer}; {price})"

    def to_dict(self) -> dict[str, Any]:
        """Return the answer and its account."""
        from unveil import __version__

        return {
            "query": self.query,
            "value": jsonable(self.value),
            "epsilon": self.epsilon,
            "delta": self.delta,
            "error": self.error,
            "spent": [part.to_dict() for part in self.spent],
            "settings": jsonable(self.settings),
            "repeatable": False,
            "notes": list(self.notes),
            "version": __version__,
        }

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return the answer as a table of bins and values; a bin of several tables is named by its table and its values."""
        bins = self._bins()
        return {"bin": [name for name, _ in bins], "value": [value for _, value in bins]}

    def _bins(self) -> list[tuple[str, Any]]:
        if not isinstance(self.value, Mapping):
            return [(self.query, self.value)]
        return [one for name, answer in self.value.items() for one in _named_bins(str(name), answer)]

    def view(self) -> View:
        """Return the displayed answer, with its account."""
        price = (
            Figure("epsilon", self.epsilon), *((Figure("delta", self.delta),) if self.delta else ()),
            *(() if self.error is None else (Figure("expected error", self.error),)),
        )  # fmt: skip
        account = Table(
            ("spent on", "noise", "sensitivity", "scale", "epsilon"),
            tuple((part.what, part.mechanism, part.sensitivity, part.scale, part.epsilon) for part in self.spent),
        )
        if isinstance(self.value, Mapping):
            bins = Table(("bin", "noisy count"), tuple(self._bins()))
            return View(self.query, price, (bins, account), self.notes)
        return View(self.query, (Figure("noisy answer", self.value), *price), (account,), self.notes)


def _named_bins(name: str, answer: Any) -> list[tuple[str, Any]]:
    """Return a bin with its figure, or the cells of a table, each by its values, with the count last."""
    if not isinstance(answer, list):
        return [(name, answer)]
    cells = [list(cell.values()) for cell in answer]
    return [(f"{name}: {', '.join(map(str, values))}", n) for *values, n in cells]
