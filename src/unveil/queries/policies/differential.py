r"""The policy of differential privacy: noise for every number, and a budget of zero-concentrated differential privacy for all.

Two tables are neighbours if one has the records of one more person than the other. A number with noise for epsilon is
:math:`\rho = \epsilon^2 / 2` concentrated; rho adds up over adaptively chosen questions, and a question is refused if the sum
would exceed the budget of the analyst or that of the data, which all analysts share because they may share answers. The budget
rho corresponds to :math:`(\epsilon, \delta)` with

.. math:: \epsilon = \rho + 2 \sqrt{\rho \ln(1 / \delta)}

Bounds of sums are declared, never taken from the data. Noise comes from OpenDP, and sums are whole multiples of a power of two,
so that they have no rounding error.

References
----------
M. Bun, T. Steinke (2016), Concentrated differential privacy: simplifications, extensions, and lower bounds, TCC, 635-658.
C. Dwork, F. McSherry, K. Nissim, A. Smith (2006), Calibrating noise to sensitivity in private data analysis, TCC, 265-284.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from unveil.arguments import checked_number, checked_word
from unveil.mechanisms import Budget, PrivacyLoss, concentrated, load_opendp, noisy
from unveil.queries.holding import Holding, Selection
from unveil.queries.policies.base import Decision, GatePolicy, Keeper, Secret
from unveil.queries.secrecy import draws_of
from unveil.sources import grid_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Differential"]

_NOISES = ("geometric", "laplace", "gaussian")
_NANO = 10**9
_MOST_RHO = 1000.0


@dataclass(frozen=True, slots=True)
class Differential(GatePolicy):
    """Answer with noise that hides any single person, within a budget.

    Attributes
    ----------
    epsilon
        The loss of privacy of one number; an average splits it between its sum and its count.
    noise
        "geometric" (whole numbers, the default), "laplace" (real numbers, for counts; sums stay on their grid) or "gaussian"
        (whole numbers, the same rho).
    rho, analyst_rho
        The budgets of all analysts together, and of each.
    delta
        The probability delta for which the budget is also displayed as epsilon.

    Examples
    --------
    >>> policy = Differential(epsilon=0.5, rho=1.0)
    >>> policy.limits, round(policy.guarantee()["all_epsilon"], 2)
    ((500000000, 1000000000), 8.43)
    """

    epsilon: float = 0.1
    noise: str = "geometric"
    rho: float = 0.5
    analyst_rho: float | None = None
    delta: float = 1e-6
    name: ClassVar[str] = "differential"
    unit: ClassVar[str] = "rho"
    units: ClassVar[int] = _NANO
    exhausted: ClassVar[str] = "budget"
    closed_groups: ClassVar[bool] = True
    weakness: ClassVar[str] = "facts about groups are learnt, no matter who is in the data; a large budget protects little."

    def __post_init__(self) -> None:
        """Check the settings."""
        checked_number("epsilon", self.epsilon, above=0.0, most=100.0)
        checked_word("noise", self.noise, _NOISES)
        checked_number("rho", self.rho, above=0.0, most=_MOST_RHO)
        if self.analyst_rho is not None:
            checked_number("analyst_rho", self.analyst_rho, above=0.0, most=_MOST_RHO)
        checked_number("delta", self.delta, above=0.0, most=0.5)

    @property
    def limits(self) -> tuple[int | None, int | None]:
        """The budgets in whole units, rounded down, while prices are rounded up."""
        own = self.rho / 2.0 if self.analyst_rho is None else self.analyst_rho
        return math.floor(own * _NANO), math.floor(self.rho * _NANO)

    def guarantee(self) -> dict[str, Any]:
        """Return the budgets as epsilon and delta."""
        own, whole = (epsilon_of((limit or 0) / _NANO, self.delta) for limit in self.limits)
        return {"epsilon": own, "all_epsilon": whole, "delta": self.delta}

    @property
    def discloses_values(self) -> bool:
        """Return False, because the noise has no bound and so rules out no value."""
        return False

    def disclosed(self, units: int) -> dict[str, Any]:
        """Return the spending as rho, and as epsilon for delta."""
        rho = units / _NANO
        return {"rho": rho, "epsilon": epsilon_of(rho, self.delta), "delta": self.delta}

    def losses(self, function: str) -> tuple[PrivacyLoss, ...]:
        """Return the losses of one number; two halves for an average."""
        parts = 2 if function == "avg" else 1
        each = self.epsilon / parts
        return ((PrivacyLoss("concentrated", each**2 / 2.0) if self.noise == "gaussian" else PrivacyLoss("pure", each)),) * parts

    def notes(self) -> tuple[str, ...]:
        """Return notes on whom it protects, and on the attacks it does not protect against."""
        return (
            "Neighbouring tables differ in the records of one person; without a column of persons, in one record.",
            *GatePolicy.notes(self),
        )

    def prepare(self) -> None:
        """Load OpenDP."""
        load_opendp()

    def keeper(self, holding: Holding, secret: Secret) -> Keeper:
        """Return the policy applied to the data."""
        return _Noisy(self, holding, secret)


def epsilon_of(rho: float, delta: float) -> float:
    """Return the epsilon that a budget of rho guarantees, except with probability delta.

    Examples
    --------
    >>> round(epsilon_of(0.5, 1e-6), 3)
    5.757
    """
    return rho + 2.0 * math.sqrt(rho * math.log(1.0 / delta))


class _Noisy:
    def __init__(self, policy: Differential, holding: Holding, secret: Secret) -> None:
        self._policy, self._holding = policy, holding
        self._epsilon = math.nextafter(float(policy.epsilon), 0.0)  # not above the price, which is exact
        self._most = holding.contribution
        self._counted = _counted(holding, secret)
        self._sizes = holding.over_atoms(np.where(self._counted, holding.cells.n, 0))

    def offers(self, selection: Selection) -> str:
        if selection.function not in ("count", "sum", "avg"):
            return "aggregate"
        return "" if selection.column is None or selection.column in self._holding.bounds else "bounds"

    def price(self, selection: Selection) -> int:
        epsilon = Fraction(repr(self._policy.epsilon))
        rho = epsilon**2 / 4 if selection.function == "avg" else epsilon**2 / 2
        return math.ceil(rho * _NANO)

    def accept(self, selection: Selection) -> None:
        """Remember nothing, because the ledger has the spending."""

    def decide(self, selection: Selection) -> Decision:
        epsilon = self._epsilon
        if selection.column is None:
            value, error = self._count(self._records(selection), epsilon)
            return Decision(value=value, error=error)
        steps, middle, grid, most = self._steps(selection)
        if selection.function == "sum":
            total, scale = self._noise(steps, epsilon, most)
            return Decision(value=total * grid, error=scale * grid)
        return self._average(selection, steps, (middle, grid, most))

    def accuracy(self, selection: Selection) -> float | None:
        """Return the distance within which noise stays in 95 of 100 cases; None for an average, where it depends on the count."""
        if selection.function == "avg":
            return None
        scale, unit = self._most / self._epsilon, 1.0
        if selection.column is not None:
            low, high = self._holding.bounds[selection.column]
            unit = max(abs(low), abs(high))
        return unit * scale * (1.96 if self._policy.noise == "gaussian" else math.log(20.0))

    def _records(self, selection: Selection) -> int:
        if selection.members is not None:
            sizes = self._sizes if selection.statistic.aggregate.column is None else self._present(selection)
            return int(sizes[selection.members].sum())
        return int(0 if selection.hits is None else selection.hits[self._counted].sum())

    def _present(self, selection: Selection) -> NDArray[np.int64]:
        """Return the records of each atom that have a value in the column of the aggregate."""
        amounts = self._holding.cells.amounts.get(str(selection.statistic.aggregate.column))
        return self._sizes if amounts is None else self._holding.over_atoms(np.where(self._counted, amounts.present, 0))

    def _steps(self, selection: Selection) -> tuple[int, float, float, int]:
        """Return a bounded sum in steps of its grid, the middle of the bounds, the grid, and one person's largest share."""
        name = str(selection.column)
        low, high = self._holding.bounds[name]
        grid = grid_of((low, high))
        bounded = self._holding.cells.amounts[name].bounded
        if bounded is None or selection.members is None:
            return 0, 0.0, grid, 1
        steps = self._holding.over_atoms(np.where(self._counted, bounded, 0))[selection.members].sum()
        return int(steps), (low + high) / 2.0, grid, self._most * math.ceil(max(abs(low), abs(high)) / grid)

    def _average(self, selection: Selection, steps: int, scale: tuple[float, float, int]) -> Decision:
        """Divide the noisy sum of differences from the middle of the bounds by the noisy count; clip to the bounds."""
        middle, grid, _ = scale
        low, high = self._holding.bounds[str(selection.column)]
        n, centre = self._records(selection), round(middle / grid)
        most = self._most * math.ceil((high - low) / 2.0 / grid + 1.0)
        half = self._epsilon / 2.0
        difference, error = self._noise(steps - n * centre, half, most)
        count, _ = self._noise(n, half, self._most)
        number = max(count, 1)
        mean = min(max((centre + difference / number) * grid, low), high)
        return Decision(value=float(mean), error=float(error * grid / number))

    def _count(self, n: int, epsilon: float) -> tuple[float, float]:
        if self._policy.noise != "laplace":
            return self._noise(n, epsilon, self._most)
        (value,), spent = noisy("count", [n], Budget("laplace", epsilon), l1=self._most, l2=self._most)
        return float(value), math.sqrt(2.0) * spent.scale

    def _noise(self, value: int, epsilon: float, most: int) -> tuple[int, float]:
        """Return a value with whole noise added, and the standard error of the noise."""
        if self._policy.noise == "gaussian":
            (whole,), error = concentrated([value], math.nextafter(epsilon**2 / 2.0, 0.0), most)
            return whole, error
        (answer,), spent = noisy("sum", [value], Budget("geometric", epsilon), l1=most, l2=most)
        ratio = math.exp(-1.0 / spent.scale)
        return int(answer), math.sqrt(2.0 * ratio) / (1.0 - ratio)


def _counted(holding: Holding, secret: Secret) -> NDArray[np.bool_]:
    """Return which cells count: at most `contribution` records of each person, chosen once for all questions."""
    if holding.person is None:
        return np.ones(len(holding.cells.n), dtype=bool)
    persons = holding.cells.columns[holding.person].codes.astype(np.int64)
    order = draws_of(secret("persons")).permutation(len(persons))
    by_person = order[np.argsort(persons[order], kind="stable")]
    sizes = np.bincount(persons)
    place = np.arange(len(persons)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    counted = np.zeros(len(persons), dtype=bool)
    counted[by_person[place < holding.contribution]] = True
    return counted
