"""The policy of sticky noise: the same records get the same noise, however a question is worded and however often it is asked.

Every record has a secret key; the sum of the keys of a set's records determines the noise. So repeating or rephrasing a
question about the *same set* gains nothing. Asking about other sets does: over many different splits of a set into two halves
the noise averages out, and enough counts reconstruct the data. Therefore the number of questions is limited, and this is not
differential privacy.

The noise of a count is a whole number with mean 0 and variance V, at most D in size; it never makes a count negative, and
leaves 0 unchanged. Of all such distributions it has the greatest entropy, which makes it the hardest to guess. A sum gets such
noise times the largest value that the declared bounds allow, spread evenly between whole numbers, because whole noise would
often be 0.

References
----------
B. Fraser, J. Wooton (2005), A proposed method for confidentialising tabular output to protect against differencing, UNECE.
H. Asghar, D. Kaafar (2020), Averaging attacks on bounded noise-based disclosure control algorithms, PETS, 358-378.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from unveil.arguments import checked_count, checked_number
from unveil.errors import ArgumentError
from unveil.queries.holding import Holding, Selection
from unveil.queries.policies.base import Decision, GatePolicy, Keeper, Secret, exact
from unveil.queries.secrecy import draws_of, share_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Sticky", "noise_table"]

_LARGEST = 1 << 63


@dataclass(frozen=True, slots=True)
class Sticky(GatePolicy):
    """Answer with noise that depends only on the set of records.

    Attributes
    ----------
    variance, largest
        The variance of the noise of a count, and its greatest size.
    questions, analyst_questions
        The most numbers that all analysts together, and each of them, may ask for.

    Examples
    --------
    >>> Sticky(variance=2.0, largest=5).limits
    (100, 200)
    """

    variance: float = 2.0
    largest: int = 5
    questions: int = 200
    analyst_questions: int = 100
    name: ClassVar[str] = "sticky"
    weakness: ClassVar[str] = (
        "averaging over different splits of a set, and reconstruction from many counts; not differentially private."
    )

    def __post_init__(self) -> None:
        """Check the settings."""
        checked_count("largest", self.largest, least=1, most=1000)
        checked_number("variance", self.variance, above=0.0)
        if self.variance >= self.largest:
            raise ArgumentError(
                "the variance must be below the greatest size of the noise; a count of 1 cannot have such a variance."
            )
        checked_count("questions", self.questions, least=1)
        checked_count("analyst_questions", self.analyst_questions, least=1)

    @property
    def limits(self) -> tuple[int | None, int | None]:
        """The numbers of questions allowed to each analyst and to all together."""
        return self.analyst_questions, self.questions

    def noise_bound(self, holding: Holding, selection: Selection) -> float:
        """Return the greatest noise of a count or of a sum; an average has no bound, because its count is also noisy."""
        if selection.column is None:
            return float(self.largest)
        return math.inf if selection.function == "avg" else (self.largest + 0.5) * max(map(abs, holding.bounds[selection.column]))

    def keeper(self, holding: Holding, secret: Secret) -> Keeper:
        """Return the policy applied to the data."""
        return _Stuck(self, holding, secret)


@cache
def noise_table(count: int, variance: float, largest: int) -> NDArray[np.float64]:
    r"""Return the probabilities of the noise of a count, from its least to `largest`.

    .. math:: p_d \propto e^{a d + b d^2}, \qquad d = -\min(n, D), \dots, D

    with a and b such that the mean is 0 and the variance V, which gives the greatest entropy under these conditions.

    Examples
    --------
    >>> table = noise_table(10, 2.0, 5)
    >>> len(table), abs(float(table @ np.arange(-5, 6))) < 1e-9, round(float(table @ np.arange(-5, 6) ** 2), 6)
    (11, True, 2.0)
    """
    from scipy.optimize import minimize

    steps = np.arange(-min(count, largest), largest + 1, dtype=np.float64)
    features = np.stack([steps, steps**2 - variance])

    def dual(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return the logarithm of the partition function, which is convex and minimal where both conditions hold."""
        powers = weights @ features
        top = float(powers.max())
        shares = np.exp(powers - top)
        total = float(shares.sum())
        return top + math.log(total), features @ shares / total

    best = minimize(dual, np.array([0.0, -0.2]), jac=True, method="BFGS", options={"gtol": 1e-12})
    shares = np.exp(best.x @ features - (best.x @ features).max())
    return np.asarray(shares / shares.sum())


class _Stuck:
    def __init__(self, policy: Sticky, holding: Holding, secret: Secret) -> None:
        self._policy, self._holding, self._secret = policy, holding, secret("noise")
        keys = draws_of(secret("record keys")).integers(0, _LARGEST, size=len(holding.cells.n), dtype=np.uint64)
        self._keys, self._atom_keys = keys, holding.over_atoms(keys)

    def offers(self, selection: Selection) -> str:
        if selection.function not in ("count", "sum", "avg"):
            return "aggregate"
        if selection.indicator and not selection.in_cells:
            return "indicator"
        return "" if selection.column is None or selection.column in self._holding.bounds else "bounds"

    def price(self, selection: Selection) -> int:  # noqa: ARG002
        return 1

    def accept(self, selection: Selection) -> None:
        """Remember nothing, because the noise follows from the set."""

    def decide(self, selection: Selection) -> Decision:
        n = selection.size
        count = max(n + self._noise(selection, n, "count"), 0)
        error = math.sqrt(self._policy.variance)
        if selection.column is None:
            return Decision(value=count, error=error if n else None)
        low, high = self._holding.bounds[selection.column]
        unit = max(abs(low), abs(high))
        total = exact(self._holding, Selection(selection.statistic, selection.members, None, selection.sizes))
        if selection.function == "avg":
            total = 0.0 if total is None else total * n
        noisy = float(total or 0) + unit * self._spread(selection)
        if selection.function == "sum":
            return Decision(value=noisy, error=unit * error)
        mean = min(max(noisy / max(count, 1), low), high)
        return Decision(value=mean, error=unit * error / max(count, 1))

    def accuracy(self, selection: Selection) -> float | None:
        if selection.function == "avg":
            return None
        unit = 1.0 if selection.column is None else max(map(abs, self._holding.bounds[selection.column]))
        return unit * 2.0 * math.sqrt(self._policy.variance)

    def _spread(self, selection: Selection) -> float:
        """Return the noise of a sum, in units of the largest value: whole noise plus up to a half."""
        whole = self._noise(selection, self._policy.largest, f"sum {selection.column}")
        return whole + share_of(self._secret, f"spread {selection.column}\0{self._key(selection)}".encode()) - 0.5

    def _key(self, selection: Selection) -> int:
        """Return the sum of the keys of a set's records."""
        chosen: Any = self._keys[selection.hits > 0] if selection.hits is not None else self._atom_keys[selection.members]
        return int(chosen.sum(dtype=np.uint64))

    def _noise(self, selection: Selection, n: int, purpose: str) -> int:
        """Return the noise, looked up by the key of the set."""
        if n == 0:
            return 0
        share = share_of(self._secret, f"{purpose}\0{self._key(selection)}".encode())
        table = noise_table(min(n, self._policy.largest), self._policy.variance, self._policy.largest)
        return int(np.searchsorted(np.cumsum(table), share * float(table.sum()), side="right")) - min(n, self._policy.largest)
