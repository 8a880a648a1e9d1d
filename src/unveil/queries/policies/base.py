"""The base of all policies: what they offer, what a number costs, and their decisions. Each is one file and one line."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

from unveil.formats import jsonable
from unveil.queries.holding import Holding, Selection
from unveil.sources.tabulated import CellAmounts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from unveil.mechanisms.differential_privacy.accounting import PrivacyLoss

__all__ = ["REASONS", "Decision", "GatePolicy", "Keeper", "Secret", "exact", "refused"]

Secret: TypeAlias = Callable[[str], bytes]
"""Returns the secret for a purpose, which is the same whenever the ledger is opened."""

REASONS: Mapping[str, str] = {
    "size": "the set, or its complement, has too few records",
    "audit": "together with earlier answers, it would determine someone's value, or tie those of two people",
    "indicator": "a count by a sensitive column is a sum of sensitive zeros and ones, which exact answers cannot protect",
    "aggregate": "the policy does not offer this aggregate; every policy offers COUNT, SUM and AVG",
    "bounds": "no bounds are declared for the column; declare the least and the greatest value that a record can have",
    "budget": "it would exceed the budget of the analyst or of the data",
    "limit": "the analyst, or all analysts together, have asked as many questions as the policy allows",
    "group-keys": "the groups are not declared, and it is not public which ones the data has; declare the values of the columns",
}
"""Why a number is refused; no reason depends on a sensitive value."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision of a policy about one number.

    Attributes
    ----------
    reason
        Why it is refused; empty if it is answered.
    value
        The number, exact or with noise.
    low, high
        The interval that contains the exact number, if the answer is one.
    error
        The standard error of noise.
    notes
        Further facts for the ledger, such as the coalition audit; the analyst does not get them.
    """

    reason: str = ""
    value: float | int | None = None
    low: float | None = None
    high: float | None = None
    error: float | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)

    def answer(self) -> dict[str, Any]:
        """Return what the analyst gets."""
        error = {} if self.error is None else {"error": self.error}
        if self.low is not None:
            return {"low": jsonable(self.low), "high": jsonable(self.high), **error}
        return {"value": jsonable(self.value), **error}

    def to_dict(self) -> dict[str, Any]:
        """Return what the ledger keeps, including the notes, which are for the steward."""
        return {**self.answer(), **({"notes": jsonable(self.notes)} if self.notes else {})}


def refused(reason: str) -> Decision:
    """Return a refusal."""
    return Decision(reason=reason)


class Keeper(Protocol):
    """A policy applied to some data."""

    def offers(self, selection: Selection) -> str:
        """Return why numbers of this kind are never answered; empty if they may be."""

    def price(self, selection: Selection) -> int:
        """Return what a number costs, in whole units of the policy's account."""

    def decide(self, selection: Selection) -> Decision:
        """Answer or refuse a number, and remember an answer."""

    def accept(self, selection: Selection) -> None:
        """Remember an answer that another process gave."""

    def accuracy(self, selection: Selection) -> float | None:
        """Return how far off an answer is at most, in 95 of 100 cases; None if that is not known in advance."""


@dataclass(frozen=True, slots=True)
class GatePolicy:
    """The settings of a policy; a subclass adds its own, and defines how it works."""

    name: ClassVar[str] = ""
    unit: ClassVar[str] = "questions"
    units: ClassVar[int] = 1
    """How many whole units of the account make one of the unit that is shown."""
    exhausted: ClassVar[str] = "limit"
    closed_groups: ClassVar[bool] = False
    """Whether groups have to be declared, because it is also protected which ones the data has."""
    by_set: ClassVar[bool] = False
    """Whether equal sets make equal questions. Only if sets are public: otherwise the equality of two sets would be revealed."""
    weakness: ClassVar[str] = ""
    """What the policy does not protect against, in one line."""

    def keeper(self, holding: Holding, secret: Secret) -> Keeper:
        """Return the policy applied to some data."""
        raise NotImplementedError

    @property
    def limits(self) -> tuple[int | None, int | None]:
        """The most that one analyst, and all together, may spend."""
        return None, None

    @property
    def discloses_values(self) -> bool:
        """Whether answers rule out values: exact ones, intervals and bounded noise do; unbounded noise and a release do not."""
        return True

    def noise_bound(self, holding: Holding, selection: Selection) -> float:  # noqa: ARG002 - for policies with noise
        """Return how far off an answer is at most."""
        return 0.0

    def disclosed(self, units: int) -> dict[str, Any]:  # noqa: ARG002 - for policies with a budget
        """Return what an amount of the account means, in the terms of the field."""
        return {}

    def losses(self, function: str) -> tuple[PrivacyLoss, ...]:  # noqa: ARG002 - for policies of differential privacy
        """Return the losses of differential privacy of one number; empty if the policy has none."""
        return ()

    def guarantee(self) -> dict[str, Any]:
        """Return what the limits mean, in the terms of the field."""
        return {}

    def notes(self) -> tuple[str, ...]:
        """Return what an analyst should know."""
        return (f"Not defended by the policy {self.name!r}: {self.weakness}",)

    def settings(self) -> dict[str, Any]:
        """Return the settings that a ledger is bound to."""
        return {"policy": self.name, **{name: jsonable(value) for name, value in asdict(self).items()}}

    def spent(self, units: int) -> float:
        """Return an amount of the account in the unit that is shown."""
        return units if self.units == 1 else units / self.units


def exact(holding: Holding, selection: Selection) -> float | int | None:
    """Compute the exact number; None if it has no value, such as the average of nothing."""
    if selection.members is None:
        return selection.size
    if selection.column is None:
        return selection.size
    if not selection.size:
        return 0 if selection.function == "sum" else None
    value: float | None = _FUNCTIONS[selection.function](holding.amounts(selection.column), selection.members, selection.size)
    return value


def _variance(amounts: CellAmounts, members: NDArray[np.bool_], n: int) -> float | None:
    """Return the variance; None for a single value, or if a square is too large for a number."""
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
