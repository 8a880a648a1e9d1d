"""The base of all policies: their offers, prices and decisions. Each policy is one file and one line."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

from unveil.formats import jsonable
from unveil.queries.holding import Holding, Selection
from unveil.sources import CellAmounts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from unveil.mechanisms import PrivacyLoss

__all__ = ["REASONS", "Decision", "GatePolicy", "Keeper", "Secret", "exact", "refused"]

Secret: TypeAlias = Callable[[str], bytes]
"""A function that returns the secret for a purpose, which is the same whenever the ledger is opened."""

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
"""The reasons why numbers are refused; none depends on a sensitive value."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision of a policy about one number.

    Attributes
    ----------
    reason
        The reason why it is refused; empty if it is answered.
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
        """Return the answer for the analyst."""
        error = {} if self.error is None else {"error": self.error}
        if self.low is not None:
            return {"low": jsonable(self.low), "high": jsonable(self.high), **error}
        return {"value": jsonable(self.value), **error}

    def to_dict(self) -> dict[str, Any]:
        """Return the answer for the ledger, including the notes, which are for the data steward."""
        return {**self.answer(), **({"notes": jsonable(self.notes)} if self.notes else {})}


def refused(reason: str) -> Decision:
    """Return a refusal."""
    return Decision(reason=reason)


class Keeper(Protocol):
    """A policy applied to some data."""

    def offers(self, selection: Selection) -> str:
        """Return the reason why numbers of this kind are never answered; empty if they may be."""

    def price(self, selection: Selection) -> int:
        """Return the price of a number, in whole units of the policy's account."""

    def decide(self, selection: Selection) -> Decision:
        """Answer or refuse a number, and remember an answer."""

    def accept(self, selection: Selection) -> None:
        """Remember an answer of another process."""

    def accuracy(self, selection: Selection) -> float | None:
        """Return the largest error of an answer in 95 of 100 cases; None if it is not known in advance."""


@dataclass(frozen=True, slots=True)
class GatePolicy:
    """The settings of a policy; a subclass adds its own settings, and defines how it works."""

    name: ClassVar[str] = ""
    unit: ClassVar[str] = "questions"
    units: ClassVar[int] = 1
    """The number of whole units of the account in one displayed unit."""
    exhausted: ClassVar[str] = "limit"
    closed_groups: ClassVar[bool] = False
    """Whether groups must be declared, because their existence in the data is also protected."""
    by_set: ClassVar[bool] = False
    """Whether equal sets make equal questions, which reveals that sets are equal, and so requires that sets are public."""
    weakness: ClassVar[str] = ""
    """The attacks that the policy does not protect against, in one line."""

    def keeper(self, holding: Holding, secret: Secret) -> Keeper:
        """Return the policy applied to some data."""
        raise NotImplementedError

    def prepare(self) -> None:
        """Load what answers need, before anything is charged; the run may be cancelled meanwhile."""

    @property
    def limits(self) -> tuple[int | None, int | None]:
        """The most that one analyst, and all analysts together, may spend."""
        return None, None

    @property
    def discloses_values(self) -> bool:
        """Whether answers rule out values: exact ones, intervals and bounded noise do; unbounded noise and a release do not."""
        return True

    def noise_bound(self, holding: Holding, selection: Selection) -> float:  # noqa: ARG002 - for policies with noise
        """Return the largest error of an answer."""
        return 0.0

    def disclosed(self, units: int) -> dict[str, Any]:  # noqa: ARG002 - for policies with a budget
        """Return the meaning of an amount of the account, in the terms of the field."""
        return {}

    def losses(self, function: str) -> tuple[PrivacyLoss, ...]:  # noqa: ARG002 - for policies of differential privacy
        """Return the losses of differential privacy for one number; empty if the policy has none."""
        return ()

    def guarantee(self) -> dict[str, Any]:
        """Return the meaning of the limits, in the terms of the field."""
        return {}

    def notes(self) -> tuple[str, ...]:
        """Return the notes for analysts."""
        return (f"Not defended by the policy {self.name!r}: {self.weakness}",)

    def settings(self) -> dict[str, Any]:
        """Return the settings that a ledger is bound to."""
        return {"policy": self.name, **{name: jsonable(value) for name, value in asdict(self).items()}}

    def spent(self, units: int) -> float:
        """Return an amount of the account in the displayed unit."""
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
