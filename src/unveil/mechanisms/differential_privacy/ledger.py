"""How much of a budget do releases and answers spend together? A ledger of privacy losses, which refuses to exceed it.

The file is a ledger like that of a gate: every row is chained to the one before under a key beside it. A loss is written before
anything is drawn, so a call that fails may have spent budget in vain, but no call draws without spending.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from unveil.arguments import checked_arguments, checked_number, checked_word
from unveil.errors import ArgumentError, ModelNotMetError, shown
from unveil.formats import counted
from unveil.ledger import Book, Entry, Ledger, LedgerError
from unveil.mechanisms.differential_privacy.accounting import (
    ADD_REMOVE,
    NEIGHBOURS,
    PrivacyLoss,
    composed_epsilon,
)
from unveil.mechanisms.differential_privacy.protected_unit import Unit
from unveil.results import Figure, Result, Table, View
from unveil.run import active_run

__all__ = ["Account", "BudgetSpentError", "PrivacyAccount", "PrivacyLedger", "charged", "read_budget"]

_ACCOUNT = "privacy"
_OPENED = "opened"
_SLACK = 1.0 + 1e-9
"""Losses that equal the budget up to a rounding error keep to it."""


class BudgetSpentError(ModelNotMetError):
    """The request would spend more than the remaining budget: nothing was drawn."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class PrivacyAccount(Result):
    """The contents of a ledger.

    Attributes
    ----------
    epsilon, delta
        The budget.
    spent
        The epsilon that all losses together do not exceed, except with a probability of delta.
    neighbours, protects
        To whom the figures apply: tables that differ by a person added or removed, or by one changed; "record" or "person",
        None as long as nothing was spent.
    entries
        For each loss, its time, its purpose, and its parts.
    """

    epsilon: float
    delta: float
    spent: float
    neighbours: str
    protects: str | None
    entries: tuple[dict[str, Any], ...]

    def __repr__(self) -> str:
        """Return one line: the spent and the total budget."""
        return f"PrivacyAccount({self.line})"

    @property
    def line(self) -> str:
        """The spent and the total budget, in words."""
        times = counted(len(self.entries), "entry", "entries")
        return (
            f"epsilon {self.spent:.4g} of {self.epsilon:g} spent at delta {self.delta:g}, {times}, neighbours {self.neighbours}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the account."""
        from unveil import __version__

        return {
            "epsilon": self.epsilon, "delta": self.delta, "spent": self.spent, "neighbours": self.neighbours,
            "protects": self.protects, "entries": list(self.entries), "version": __version__,
        }  # fmt: skip

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return the entries as a table."""
        return {name: [entry[name] for entry in self.entries] for name in ("at", "what", "epsilon_alone")}

    def view(self) -> View:
        """Return the displayed account."""
        figures = (
            Figure("epsilon spent", self.spent), Figure("budget, epsilon", self.epsilon), Figure("at delta", f"{self.delta:g}"),
        )  # fmt: skip
        rows = tuple((entry["at"], entry["what"], entry["epsilon_alone"]) for entry in self.entries)
        table = Table(("written at", "what for", "epsilon alone"), rows)
        notes = (f"Neighbouring tables: {self.neighbours}; the guarantee is per {self.protects or 'record or person'}.",)
        return View("Ledger of differential privacy", figures, (table,) if rows else (), notes)


@checked_arguments
class PrivacyLedger:
    """A budget of differential privacy for everything that is ever published about the same people.

    Parameters
    ----------
    path
        The file; created if it does not exist, with its secret key beside it.
    budget
        Epsilon, or "EPSILON:DELTA": the limit for all losses together. Needed when the file is created; later, it must be the
        same.
    neighbours
        "add or remove": a person is in the data or not. "change one": the number of records is known, and one person's records
        differ.
    key_file
        The file of the secret key, if it is not beside the ledger.

    Examples
    --------
    >>> import tempfile
    >>> from unveil import mechanisms
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = mechanisms.PrivacyLedger(f"{folder.name}/people.db", "1:1e-6")
    >>> answer = mechanisms.dp_count("adult", epsilon=0.4, ledger=ledger)
    >>> ledger.account()
    PrivacyAccount(epsilon 0.4 of 1 spent at delta 1e-06, 1 entry, neighbours add or remove)
    >>> mechanisms.dp_count("adult", epsilon=0.7, ledger=ledger)
    Traceback (most recent call last):
    ...
    unveil.mechanisms.differential_privacy.ledger.BudgetSpentError: ...
    >>> ledger.close(); folder.cleanup()
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        budget: float | str | None = None,
        *,
        neighbours: str | None = None,
        key_file: str | os.PathLike[str] | None = None,
    ) -> None:
        if neighbours is not None:
            checked_word("neighbours", neighbours, NEIGHBOURS)
        limit = None if budget is None else read_budget(budget)
        if limit is None and not os.path.exists(path):  # noqa: PTH110 - a path of any kind
            raise ArgumentError(f"there is no ledger {shown(path)}; to open one, state its budget: EPSILON, or EPSILON:DELTA.")
        self._ledger = Ledger(path, key_file)
        with self._ledger.book() as book:
            first = next(iter(book.news()), None)
            if first is None:
                first = _opened(book, limit, neighbours or ADD_REMOVE, path)
        facts = _facts(first, path)
        self.epsilon, self.delta = float(facts["epsilon"]), float(facts["delta"])
        self.neighbours = str(facts["neighbours"])
        if limit not in (None, (self.epsilon, self.delta)) or neighbours not in (None, self.neighbours):
            self.close()
            raise LedgerError(
                f"the ledger {shown(path)} was opened for epsilon {self.epsilon:g} and delta {self.delta:g}, neighbours "
                f"{self.neighbours}; leave the budget out, or state the same. A new budget for the same people adds to it."
            )

    def spend(self, what: str, losses: Sequence[PrivacyLoss], protects: str = "record") -> PrivacyAccount:
        """Record either all losses or, if they would exceed the budget together with those recorded, none.

        Parameters
        ----------
        what
            The purpose of the losses.
        losses
            The losses.
        protects
            Whom they protect: "record" or "person"; the same for all losses of a ledger.

        Raises
        ------
        BudgetSpentError
            If the losses would exceed the budget.
        """
        checked_word("protects", protects, ("record", "person"))
        active_run().check()  # a loss that is written is spent, whatever becomes of its answer
        new = [loss.among(self.neighbours) for loss in losses]
        with self._ledger.book() as book:
            book.news()
            there = [_facts(entry, self._ledger.path) for entry in self._rows()]
            if any(entry["protects"] != protects for entry in there):
                raise ArgumentError(
                    f"this guarantee is per {protects}, but the ledger {shown(self._ledger.path)} has others, which do not add "
                    "up with it. Name the column of persons for all, or for none."
                )
            before = [loss for entry in there for loss in _losses(entry)]
            spent = composed_epsilon([*before, *new], self.delta)
            if spent > self.epsilon * _SLACK:
                raise BudgetSpentError(self._short(what, new, composed_epsilon(before, self.delta), spent))
            content = {"protects": protects, "losses": [loss.to_dict() for loss in new]}
            book.write(_row(what, "spent", content))
        return self.account()

    def account(self) -> PrivacyAccount:
        """Return what was spent, and on what; refuse a ledger that was tampered with."""
        rows = self._rows()
        facts = [_facts(entry, self._ledger.path) for entry in rows]
        losses = [_losses(entry) for entry in facts]
        spent = composed_epsilon([loss for some in losses for loss in some], self.delta)
        entries = tuple(
            {"at": row.at, "what": row.question, "epsilon_alone": composed_epsilon(some, self.delta), **fact}
            for row, fact, some in zip(rows, facts, losses, strict=True)
        )
        protects = str(facts[0]["protects"]) if facts else None
        return PrivacyAccount(self.epsilon, self.delta, spent, self.neighbours, protects, entries)

    def close(self) -> None:
        """Close the file."""
        self._ledger.close()

    def _rows(self) -> list[Entry]:
        return self._ledger.history()[1:]

    def _short(self, what: str, new: Sequence[PrivacyLoss], before: float, after: float) -> str:
        alone = composed_epsilon(new, self.delta)
        came = "no epsilon at this delta" if math.isinf(after) else f"epsilon {after:.4g}"
        price = "more than this delta" if math.isinf(alone) else f"epsilon {alone:.4g}"
        return (
            f"{what} would spend {price}, and {before:.4g} of {self.epsilon:g} is spent (delta {self.delta:g}): together "
            f"{came}. Nothing was drawn; spend less, or end here: a larger budget protects less."
        )


Account: TypeAlias = str | os.PathLike[str] | PrivacyLedger
"""An open ledger, or its path."""


def charged(ledger: Account | None, what: str, losses: Sequence[PrivacyLoss], unit: Unit) -> tuple[str, ...]:
    """Record what a mechanism is about to spend in a ledger, if one is named; return the notes about it."""
    if ledger is None:
        return ()
    opened = ledger if isinstance(ledger, PrivacyLedger) else PrivacyLedger(ledger)
    try:
        spending = opened.spend(what, losses, str(unit.settings["protects"]))
    finally:
        if opened is not ledger:
            opened.close()
    return (f"In the ledger: {spending.line}.",)


def read_budget(budget: float | str) -> tuple[float, float]:
    """Return epsilon and delta of a budget, written as a number or as EPSILON:DELTA.

    Examples
    --------
    >>> read_budget("1:1e-6"), read_budget(0.5)
    ((1.0, 1e-06), (0.5, 0.0))
    """
    try:
        epsilon, _, delta = str(budget).partition(":")
        pair = float(epsilon), float(delta or 0.0)
    except ValueError:
        raise ArgumentError(f"the budget is {shown(budget)}; it must be EPSILON or EPSILON:DELTA, such as 1:1e-6.") from None
    checked_number("the budget's epsilon", pair[0], above=0.0, most=100.0)
    if not 0.0 <= pair[1] < 1.0:
        raise ArgumentError("the budget's delta is a probability below 1, well below one over the number of records.")
    return pair


def _opened(book: Book, budget: tuple[float, float] | None, neighbours: str, path: Any) -> Entry:
    if budget is None:
        raise ArgumentError(f"the ledger {shown(path)} is empty; to open it, state its budget: EPSILON, or EPSILON:DELTA.")
    return book.write(_row("budget", _OPENED, {"epsilon": budget[0], "delta": budget[1], "neighbours": neighbours}))


def _row(what: str, decision: str, content: dict[str, Any]) -> dict[str, Any]:
    return {
        "analyst": "", "account": _ACCOUNT, "question": what, "mark": "", "decision": decision, "reason": "",
        "answer": json.dumps(content), "cost": 0,
    }  # fmt: skip


def _facts(entry: Entry, path: Any) -> dict[str, Any]:
    if entry.account != _ACCOUNT or (entry.id == 1) != (entry.decision == _OPENED):
        raise LedgerError(f"{shown(path)} is the ledger of a gate, not one of budgets; name another file.")
    facts: dict[str, Any] = json.loads(entry.answer)
    return facts


def _losses(facts: dict[str, Any]) -> list[PrivacyLoss]:
    return [PrivacyLoss(**loss) for loss in facts["losses"]]
