"""The base of every policy: what it offers, what a number costs, and its decision. Each is one file, registered by one line."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

from unveil.queries.holding import Holding, Selection
from unveil.results import jsonable
from unveil.sources.tabulated import CellAmounts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from unveil.mechanisms.differential_privacy.accounting import PrivacyLoss

__all__ = ["REASONS", "Decision", "GatePolicy", "Keeper", "Secret", "exact", "refused"]

Secret: TypeAlias = Callable[[str], bytes]
"""Gives a secret for a purpose; the same one whenever the ledger is opened."""

REASONS: Mapping[str, str] = {
    "size": "the set, or what is left without it, holds too few records",
    "audit": "together with earlier answers it would determine somebody's value, or tie two people's",
    "indicator": "counting by a sensitive column adds up sensitive values of zero and one, which exact answers cannot protect",
    "aggregate": "this policy does not offer this aggregate; COUNT, SUM and AVG are offered by every policy",
    "bounds": "no bounds are declared for the column; declare the least and the greatest value that a record may have",
    "budget": "the budget of the analyst or of the data does not cover it",
    "limit": "the analyst, or all together, have asked as many questions as the policy allows",
    "group-keys": "the groups are not declared, and which ones the data holds is not public; declare the values of the columns",
}
"""Why a number is refused; none of them depends on a sensitive value."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What a policy decides about one number.

    Attributes
    ----------
    reason
        Why it is refused; empty: it is answered.
    value
        The number, exact or with noise.
    low, high
        The interval that holds the exact number, where that is what is answered.
    error
        The standard error of noise.
    notes
        What belongs to the record in the ledger besides, such as the coalition audit; the analyst does not get it.
    """

    reason: str = ""
    value: float | int | None = None
    low: float | None = None
    high: float | None = None
    error: float | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)

    def given(self) -> dict[str, Any]:
        """Return what the analyst gets."""
        error = {} if self.error is None else {"error": self.error}
        if self.low is not None:
            return {"low": jsonable(self.low), "high": jsonable(self.high), **error}
        return {"value": jsonable(self.value), **error}

    def to_dict(self) -> dict[str, Any]:
        """Return what the ledger keeps: the notes are the steward's."""
        return {**self.given(), **({"notes": jsonable(self.notes)} if self.notes else {})}


def refused(reason: str) -> Decision:
    """Return a refusal."""
    return Decision(reason=reason)


class Keeper(Protocol):
    """A policy at work on some data."""

    def offers(self, selection: Selection) -> str:
        """Return why numbers of this kind are never answered; empty: they may be."""

    def price(self, selection: Selection) -> int:
        """Return what a number costs, in whole units of the policy's account."""

    def decide(self, selection: Selection) -> Decision:
        """Answer or refuse a number, and remember an answer."""

    def accept(self, selection: Selection) -> None:
        """Remember an answer that another process gave."""

    def accuracy(self, selection: Selection) -> float | None:
        """Return how far off an answer is at most, in 95 of 100 cases; None: not known before."""


@dataclass(frozen=True, slots=True)
class GatePolicy:
    """The settings of a policy; a subclass adds its own, and says how it works."""

    name: ClassVar[str] = ""
    unit: ClassVar[str] = "questions"
    units: ClassVar[int] = 1
    """Whole units of the account in one of what is shown."""
    exhausted: ClassVar[str] = "limit"
    closed_groups: ClassVar[bool] = False
    """Whether groups have to be declared, as which ones the data holds is protected too."""
    by_set: ClassVar[bool] = False
    """Whether an equal set is an equal question: only where sets are public. Else that two sets are equal would be given away."""
    weakness: ClassVar[str] = ""
    """What the policy does not protect against, in a line."""

    def keeper(self, holding: Holding, secret: Secret) -> Keeper:
        """Return the policy at work on some data."""
        raise NotImplementedError

    @property
    def limits(self) -> tuple[int | None, int | None]:
        """The most that one analyst, and all together, may take of the account."""
        return None, None

    @property
    def discloses_values(self) -> bool:
        """Whether answers exclude values: exact ones, intervals and bounded noise do; unbounded noise and a release do not."""
        return True

    def noise_bound(self, holding: Holding, selection: Selection) -> float:  # noqa: ARG002 - for policies with noise
        """Return how far an answer is off at most."""
        return 0.0

    def disclosed(self, units: int) -> dict[str, Any]:  # noqa: ARG002 - for policies with a budget
        """Return what so much of the account amounts to, in the terms of the field."""
        return {}

    def losses(self, function: str) -> tuple[PrivacyLoss, ...]:  # noqa: ARG002 - for policies of differential privacy
        """Return the losses of differential privacy of one number; none: the policy knows no such thing."""
        return ()

    def guarantee(self) -> dict[str, Any]:
        """Return what the limits amount to, in the terms of the field."""
        return {}

    def notes(self) -> tuple[str, ...]:
        """Return what an analyst should know."""
        return (f"Not defended by the policy {self.name!r}: {self.weakness}",)

    def settings(self) -> dict[str, Any]:
        """Return all that a ledger is bound to."""
        return {"policy": self.name, **{name: jsonable(value) for name, value in asdict(self).items()}}

    def spent(self, units: int) -> float:
        """Return an amount of the account as it is shown."""
        return units if self.units == 1 else units / self.units


def exact(holding: Holding, selection: Selection) -> float | int | None:
    """Compute a number as it is; None where it has no value, as the average of nothing."""
    if selection.members is None:
        return selection.size
    if selection.column is None:
        return selection.size
    if not selection.size:
        return 0 if selection.function == "sum" else None
    value: float | None = _FUNCTIONS[selection.function](holding.amounts(selection.column), selection.members, selection.size)
    return value


def _variance(amounts: CellAmounts, members: NDArray[np.bool_], n: int) -> float | None:
    """Return the variance; None of one value, and where a square is beyond what a number can hold."""
    squares = float(amounts.squares[members].sum())
    mean = amounts.total[members].sum().item() / n
    return max(squares - n * mean * mean, 0.0) / (n - 1) if n > 1 and math.isfinite(squares) else None


_FUNCTIONS: Mapping[str, Callable[[CellAmounts, Any, int], Any]] = {
    "sum": lambda amounts, members, _: amounts.total[members].sum().item(),
    "avg": lambda amounts, members, n: amounts.total[members].sum().item() / n,
    "min": lambda amounts, members, _: float(amounts.least[members].min()),
    "max": lambda amounts, members, _: float(amounts.greatest[members].max()),
    "var": _variance,
}
