"""How much noise does a budget need? From sensitivity and budget to a mechanism of OpenDP, which only this module knows.

Noise comes from the operating system through OpenDP and cannot be seeded: anyone who could repeat it could subtract it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from typing import Any, Literal, TypeAlias

from unveil.arguments import checked_number, checked_word
from unveil.errors import ArgumentError, MissingExtraError
from unveil.mechanisms.differential_privacy.staircase import expected_error, staircase, staircase_error
from unveil.run import active_run, watched

__all__ = [
    "FOR_ONE_NUMBER",
    "MECHANISMS",
    "Budget",
    "Mechanism",
    "Spent",
    "concentrated",
    "gaussian_delta",
    "gaussian_scale",
    "load_opendp",
    "noisy",
    "noisy_greatest",
]

Mechanism: TypeAlias = Literal["laplace", "geometric", "gaussian"]
"""laplace: real-valued noise; geometric: integer noise, for integers; gaussian: real-valued noise, which needs a delta."""

WHOLE = ("geometric", "staircase")
"""The kinds of integer noise."""
FOR_ONE_NUMBER = ("laplace", "geometric", "staircase", "gaussian", "auto")
"""The noise available for a single number: also staircase noise, and, with auto, the one with the lowest error."""

MECHANISMS: tuple[Mechanism, ...] = ("laplace", "geometric", "gaussian")

_LEAST_STAIRCASE = 1e-4
"""Below this, staircase noise has as much error as geometric noise, and takes longer to draw."""
_LARGEST_EPSILON = 100.0
"""Above this nothing is protected: an intruder's odds may grow by e^100."""
_UP = 1.0 + 1e-13
"""A factor that exceeds the rounding errors of a normal distribution function."""
_NEAR = 1e-12
_OPENDP = "opendp.prelude"
_SLOW = 6
"""The noise for one value takes as long as array operations on 2 to the power of this many values."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The privacy budget of one release.

    Attributes
    ----------
    mechanism
        The kind of noise.
    epsilon, delta
        The loss of privacy, and the probability that it is larger: 0 except for Gaussian noise.
    """

    mechanism: str
    epsilon: float
    delta: float = 0.0

    @classmethod
    def requested(cls, mechanism: str, epsilon: Any, delta: Any, allowed: Sequence[str] = MECHANISMS) -> Budget:
        """Check the caller's request."""
        checked_word("mechanism", mechanism, allowed)
        loss = checked_number("epsilon", epsilon, above=0.0, most=_LARGEST_EPSILON)
        load_opendp()
        if mechanism == "staircase" and loss < _LEAST_STAIRCASE:
            raise ArgumentError(f"for an epsilon below {_LEAST_STAIRCASE:g}, use geometric noise: its error is the same.")
        if mechanism != "gaussian":
            if delta is not None:
                raise ArgumentError(f"{mechanism} noise has no delta; leave it out, or choose gaussian noise.")
            return cls(mechanism, loss)
        if delta is None:
            raise ArgumentError("gaussian noise needs a delta: a probability well below one over the number of records.")
        return cls(mechanism, loss, checked_number("delta", delta, above=0.0, below=1.0))

    def least(self, sensitivity: float, *, whole: bool) -> tuple[Budget, tuple[str, ...]]:
        """Return the budget with the noise of the lowest error for one number, if the kind is left open, and the reason."""
        if self.mechanism != "auto":
            return self, ()
        if not whole:
            return replace(self, mechanism="laplace"), ("Laplace noise: geometric and staircase noise are for whole numbers.",)
        usual = expected_error("geometric", sensitivity / self.epsilon)
        if self.epsilon < _LEAST_STAIRCASE or sensitivity <= 1:
            return replace(self, mechanism="geometric"), (
                f"Geometric noise, with an expected error of {usual:.4g}: no other noise for whole numbers has less.",
            )
        best = staircase_error(self.epsilon, int(sensitivity))
        return replace(self, mechanism="staircase"), (
            f"Staircase noise, with an expected error of {best:.4g}; geometric noise would have {usual:.4g}.",
        )

    def part(self, of: int) -> Budget:
        """Return one of several equal parts; together they spend the budget."""
        return Budget(self.mechanism, self.epsilon / of, self.delta / of)


@dataclass(frozen=True, slots=True)
class Spent:
    """One use of a budget: its purpose, the noise, the sensitivity that it hides, and the budget spent.

    The budget is epsilon and delta, or rho of zero-concentrated differential privacy if the parts are added up in that form.
    """

    what: str
    mechanism: str
    sensitivity: float
    scale: float
    epsilon: float = 0.0
    delta: float = 0.0
    rho: float = 0.0

    @property
    def error(self) -> float:
        """The expected absolute noise in each number."""
        if self.mechanism == "staircase":
            return staircase_error(self.epsilon, int(self.sensitivity))
        return expected_error(self.mechanism, self.scale)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields; rho only if it is not zero."""
        return {name: value for name, value in asdict(self).items() if name != "rho" or value}


def noisy(what: str, values: Sequence[Any], budget: Budget, *, l1: float, l2: float) -> tuple[list[Any], Spent]:
    r"""Add noise to several numbers together.

    .. math:: b = \Delta_1 / \epsilon

    is the scale of Laplace and geometric noise, and OpenDP computes its cost: not more than the budget. Gaussian noise has the
    lowest standard deviation that keeps to epsilon and delta, by its exact privacy profile (`gaussian_delta`).

    Parameters
    ----------
    what
        What the numbers are, for the account.
    values
        The numbers; integers for geometric noise.
    budget
        Epsilon, delta and the kind of noise.
    l1, l2
        The largest change of the numbers by one person: the sum of the changes, and the root of the sum of their squares.

    References
    ----------
    C. Dwork, F. McSherry, K. Nissim, A. Smith (2006), Calibrating noise to sensitivity in private data analysis, TCC, 265-284.
    B. Balle, Y.-X. Wang (2018), Improving the Gaussian mechanism for differential privacy: analytical calibration and optimal
    denoising, ICML, 394-403.
    """
    dp = _opendp()
    if budget.mechanism == "gaussian":
        scale = gaussian_scale(float(l2), budget)
        domain = dp.vector_domain(dp.atom_domain(T="f64", nan=False))
        measurement = dp.m.make_gaussian(domain, dp.l2_distance(T="f64"), scale=scale)
        answer = watched(len(values) << _SLOW, lambda: measurement(list(map(float, values))))
        return answer, Spent(what, budget.mechanism, float(l2), scale, budget.epsilon, budget.delta)
    if budget.mechanism == "staircase":
        (value,), most = values, math.ceil(l1)
        answer = [staircase(int(value), budget.epsilon, most)]
        return answer, Spent(what, budget.mechanism, float(most), most / budget.epsilon, budget.epsilon)
    whole = budget.mechanism == "geometric"
    kind: Any = "i64" if whole else "f64"
    domain = dp.vector_domain(dp.atom_domain(T=kind, **({} if whole else {"nan": False})))
    apart: Any = math.ceil(l1) if whole else l1
    scale = apart / budget.epsilon
    while (measurement := dp.m.make_laplace(domain, dp.l1_distance(T=kind), scale=scale)).map(apart) > budget.epsilon:
        scale = math.nextafter(scale, math.inf)
    answer = watched(len(values) << _SLOW, lambda: measurement([int(value) if whole else float(value) for value in values]))
    return answer, Spent(what, budget.mechanism, float(apart), scale, budget.epsilon)


def concentrated(values: Sequence[int], rho: float, sensitivity: int) -> tuple[list[int], float]:
    r"""Add discrete Gaussian noise to integers within a budget of zero-concentrated differential privacy.

    .. math:: \sigma = \Delta_2 / \sqrt{2 \rho}

    and OpenDP computes its cost: not more than rho.

    Returns
    -------
    tuple
        The noisy numbers, and the scale of the noise.

    References
    ----------
    M. Bun, T. Steinke (2016), Concentrated differential privacy: simplifications, extensions, and lower bounds, TCC, 635-658.
    C. Canonne, G. Kamath, T. Steinke (2020), The discrete Gaussian for differential privacy, NeurIPS.
    """
    dp = _opendp()
    domain, apart = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="i64")
    scale = sensitivity / math.sqrt(2.0 * rho)
    while (measurement := dp.m.make_gaussian(domain, apart, scale=scale)).map(sensitivity) > rho:
        scale = math.nextafter(scale, math.inf)
    return list(map(int, watched(len(values) << _SLOW, lambda: measurement(list(map(int, values)))))), scale


def noisy_greatest(scores: Sequence[float], rho: float, sensitivity: float) -> int:
    r"""Return the index of the greatest score, or of one nearly so, within a budget of zero-concentrated differential privacy.

    The exponential mechanism, as the greatest of the scores with Gumbel noise; a score changes by up to the sensitivity either
    way.

    .. math:: \rho = \epsilon^2 / 8, \qquad \epsilon = 2 \Delta / b

    References
    ----------
    M. Cesar, R. Rogers (2021), Bounding, concentrating, and truncating: unifying privacy loss composition for data analytics,
    ALT, 421-457.
    """
    dp = _opendp()
    domain = dp.vector_domain(dp.atom_domain(T="f64", nan=False))
    apart, loss = dp.linf_distance(T="f64"), dp.zero_concentrated_divergence()
    scale = sensitivity / math.sqrt(2.0 * rho)
    while (measurement := dp.m.make_noisy_max(domain, apart, loss, scale=scale)).map(sensitivity) > rho:
        scale = math.nextafter(scale, math.inf)
    return int(measurement(list(map(float, scores))))


def gaussian_delta(scale: float, l2: float, epsilon: float) -> float:
    r"""Return the lowest delta with which Gaussian noise keeps to epsilon, rounded up.

    .. math:: \delta = \Phi\!\left(\frac{\Delta_2}{2 \sigma} - \frac{\epsilon \sigma}{\Delta_2}\right)
              - e^\epsilon \Phi\!\left(-\frac{\Delta_2}{2 \sigma} - \frac{\epsilon \sigma}{\Delta_2}\right)

    OpenDP draws on a grid that is finer than any number the noise is added to, so the formula for continuous noise holds.
    """
    from scipy.special import log_ndtr

    shift, slack = l2 / (2.0 * scale), epsilon * scale / l2
    return float(math.exp(log_ndtr(shift - slack)) * _UP - math.exp(epsilon + log_ndtr(-shift - slack)) / _UP)


def gaussian_scale(l2: float, budget: Budget) -> float:
    """Return the lowest scale that keeps to the budget, between one that does, by zero-concentration, and one that does not."""
    log = math.log(1.0 / budget.delta)
    enough = l2 / (math.sqrt(2.0) * (math.sqrt(log + budget.epsilon) - math.sqrt(log))) * (1.0 + 1e-6)
    little = enough / 2.0
    while gaussian_delta(little, l2, budget.epsilon) <= budget.delta:
        little /= 2.0
    while enough > little * (1.0 + _NEAR):
        middle = (little + enough) / 2.0
        if gaussian_delta(middle, l2, budget.epsilon) <= budget.delta:
            enough = middle
        else:
            little = middle
    return enough


def load_opendp() -> None:
    """Import OpenDP, which takes long the first time, before anything is charged; the run may be cancelled meanwhile."""
    if _OPENDP not in sys.modules:
        with suppress(ImportError):  # reported once noise is needed
            active_run().watching(lambda: import_module(_OPENDP))


def _opendp() -> Any:
    try:
        import opendp.prelude as dp
    except ImportError:
        raise MissingExtraError.needed("differential privacy", extra="dp") from None
    dp.enable_features("contrib")
    return dp
