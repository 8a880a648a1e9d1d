"""Losses of privacy that add up, against divergences that are integrated and profiles that are summed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, stats

from unveil.errors import ArgumentError
from unveil.mechanisms.differential_privacy import accounting
from unveil.mechanisms.differential_privacy.accounting import (
    CHANGE_ONE,
    PrivacyLoss,
    composed_delta,
    composed_epsilon,
    concentration,
)

ORDERS = accounting._ORDERS  # noqa: SLF001 - the orders that are looked at


def at_order(loss: PrivacyLoss, order: float) -> float:
    place = int(np.searchsorted(ORDERS, order))
    assert ORDERS[place] == order
    return float(loss.renyi()[place])


def integrated(p: object, q: object, order: float, reach: float) -> float:
    """The divergence of two densities by quadrature."""
    density = lambda x: math.exp(order * p.logpdf(x) + (1.0 - order) * q.logpdf(x))  # type: ignore[attr-defined]  # noqa: E731
    found, _ = integrate.quad(density, -reach, reach, limit=2000, points=[-1.0, 0.0, 1.0])
    return math.log(found) / (order - 1.0)


@pytest.mark.parametrize("order", [2.0, 3.0, 8.0])
@pytest.mark.parametrize("scale", [0.8, 2.0])
def test_gaussian_divergence_equals_its_integral(order: float, scale: float) -> None:
    rho = 1.0 / (2.0 * scale**2)
    wanted = integrated(stats.norm(1.0, scale), stats.norm(0.0, scale), order, 60.0)
    for kind in ("gaussian", "concentrated"):
        assert at_order(PrivacyLoss(kind, rho), order) == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("order", [2.0, 5.0, 16.0])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_no_pure_mechanism_goes_beyond_the_divergence(order: float, epsilon: float) -> None:
    """Randomised response reaches it; Laplace noise, integrated, stays below."""
    high = math.exp(epsilon) / (1.0 + math.exp(epsilon))
    answer = math.log(high**order * (1 - high) ** (1 - order) + (1 - high) ** order * high ** (1 - order)) / (order - 1.0)
    bound = at_order(PrivacyLoss("pure", epsilon), order)
    assert bound == pytest.approx(min(answer, epsilon), rel=1e-9)
    laplace = integrated(stats.laplace(1.0, 1 / epsilon), stats.laplace(0.0, 1 / epsilon), order, 90.0 / epsilon)
    assert laplace <= bound * (1 + 1e-6)


@pytest.mark.parametrize("order", [2.0, 4.0, 9.0])
@pytest.mark.parametrize("sampling", [0.01, 0.3])
def test_a_sample_lowers_gaussian_divergence_as_the_integral_says(order: float, sampling: float) -> None:
    """The mixture of the two answers against the one without the person, either way round."""
    scale = 1.3
    here, gone = stats.norm(1.0, scale), stats.norm(0.0, scale)

    class Mixture:
        def logpdf(self, x: float) -> float:
            return float(np.logaddexp(math.log(sampling) + here.logpdf(x), math.log1p(-sampling) + gone.logpdf(x)))

    loss = PrivacyLoss("gaussian", 1.0 / (2.0 * scale**2), sampling=sampling)
    found = at_order(loss, order)
    assert found == pytest.approx(integrated(Mixture(), gone, order, 50.0), rel=1e-5)
    assert found >= integrated(gone, Mixture(), order, 50.0) * (1 - 1e-6)
    assert found < at_order(PrivacyLoss("gaussian", loss.amount), order)


def test_gaussian_noises_compose_to_the_exact_profile() -> None:
    """The delta of several noises is that of one, summed over the densities."""
    losses = [PrivacyLoss("gaussian", rho) for rho in (0.02, 0.05, 0.01)]
    scale = 1.0 / math.sqrt(2.0 * 0.08)
    for epsilon in (0.3, 1.0, 2.5):
        at = np.linspace(-14 * scale, 14 * scale, 4_000_001)
        excess = np.maximum(stats.norm.pdf(at, 1, scale) - math.exp(epsilon) * stats.norm.pdf(at, 0, scale), 0.0)
        exact = float(excess.sum() * (at[1] - at[0]))
        assert composed_delta(losses, epsilon) == pytest.approx(exact, rel=1e-4)
        assert composed_epsilon(losses, exact) == pytest.approx(epsilon, rel=1e-4)


def test_concentrated_losses_bound_what_gaussian_noise_really_loses() -> None:
    for epsilon, delta in ((0.1, 1e-9), (1.0, 1e-6), (10.0, 1e-9), (0.5, 0.01)):
        rho = concentration(epsilon, delta)
        assert composed_epsilon([PrivacyLoss("concentrated", rho)], delta) == pytest.approx(epsilon, rel=1e-6)
        assert composed_epsilon([PrivacyLoss("gaussian", rho)], delta) <= epsilon
        simple = (math.sqrt(math.log(1 / delta) + epsilon) - math.sqrt(math.log(1 / delta))) ** 2
        assert rho > simple, "not better than the simple conversion"


def test_many_pure_losses_cost_less_than_their_sum_and_never_more() -> None:
    many = [PrivacyLoss("pure", 0.1)] * 200
    assert composed_epsilon(many, 1e-6) < 8.0
    assert composed_epsilon(many, 0.0) == pytest.approx(20.0)
    few = [PrivacyLoss("pure", 0.5), PrivacyLoss("pure", 0.25)]
    assert composed_epsilon(few, 1e-9) <= 0.75
    assert composed_delta(few, 0.75) == 0.0


def test_randomised_responses_compose_within_the_bound() -> None:
    """Twenty answers told true or false at random: the exact delta, from the binomial number of true ones, is not above it."""
    epsilon, answers = 0.5, 20
    high = math.exp(epsilon) / (1 + math.exp(epsilon))
    k = np.arange(answers + 1)
    p, q = stats.binom.pmf(k, answers, high), stats.binom.pmf(k, answers, 1 - high)
    for together in (2.0, 5.0, 8.0):
        exact = float(np.maximum(p - math.exp(together) * q, 0.0).sum())
        bound = composed_delta([PrivacyLoss("pure", epsilon)] * answers, together)
        assert exact <= bound <= 30 * exact + 1e-12


def test_deltas_add_up_and_samples_lower_them() -> None:
    loss = PrivacyLoss("pure", 1.0, 1e-6, sampling=0.5)
    assert composed_epsilon([loss], 1e-7) == math.inf
    assert composed_epsilon([loss], 5e-7) == pytest.approx(math.log(1 + 0.5 * math.expm1(1.0)))
    assert composed_delta([loss, loss], 10.0) == pytest.approx(1e-6)
    assert composed_epsilon([], 0.0) == 0.0


def test_other_neighbours_cost_what_two_steps_cost() -> None:
    assert PrivacyLoss("pure", 1.0).among(CHANGE_ONE) == PrivacyLoss("pure", 2.0, neighbours=CHANGE_ONE)
    assert PrivacyLoss("gaussian", 0.5).among(CHANGE_ONE).amount == 2.0
    twice = PrivacyLoss("pure", 1.0, 1e-6).among(CHANGE_ONE)
    assert twice.amount == 2.0
    assert twice.delta == pytest.approx(1e-6 * (1 + math.e))
    with pytest.raises(ArgumentError, match="number of records as known"):
        PrivacyLoss("pure", 1.0, neighbours=CHANGE_ONE).among("add or remove")


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "laplace", "amount": 1.0}, {"kind": "pure", "amount": -1.0}, {"kind": "pure", "amount": math.inf},
        {"kind": "gaussian", "amount": 1.0, "delta": 1e-6}, {"kind": "pure", "amount": 1.0, "sampling": 0.0},
        {"kind": "concentrated", "amount": 1.0, "sampling": 0.5},
        {"kind": "pure", "amount": 1.0, "sampling": 0.5, "neighbours": CHANGE_ONE}, {"kind": "pure", "amount": 1.0, "delta": 2.0},
    ],
)  # fmt: skip
def test_losses_that_are_none_are_refused(fields: dict[str, float]) -> None:
    with pytest.raises(ArgumentError):
        PrivacyLoss(**fields)  # type: ignore[arg-type]
