r"""How much of the noise can be removed? True values estimated from released ones by an intruder who knows the variance.

Noise of variance :math:`a \sigma^2` makes released values spread by :math:`(1 + a) \sigma^2`, so both are known from the
release. The distribution of true values is estimated as the one under which the released ones are most likely, by expectation
maximisation; the average of the possible true values of a released value,

.. math:: \hat x(y) = \frac{\sum_g p_g \, x_g \, \varphi((y - x_g) / s)}{\sum_g p_g \, \varphi((y - x_g) / s)},
          \qquad s^2 = a \sigma^2

has a smaller error than the released value itself.

References
----------
R. Agrawal, D. Agrawal, C. Aggarwal (2001), On the design and quantification of privacy preserving data mining algorithms, PODS,
247-255.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["denoised", "noise_removed"]

_POINTS, _ROUNDS, _BINS = 200, 200, 2_000


def denoised(released: NDArray[np.float64], amount: float) -> NDArray[np.float64]:
    """Return estimates of the true values from released ones alone.

    Parameters
    ----------
    released
        Values with normal noise.
    amount
        The variance of the noise, as a share of that of the true values.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> true = random.choice([0.0, 10.0], 1000)
    >>> noisy = true + random.normal(0, np.sqrt(0.1 * true.var()), 1000)
    >>> bool(np.abs(denoised(noisy, 0.1) - true).mean() < 0.2 * np.abs(noisy - true).mean())
    True
    """
    spread = np.sqrt(released.var() * amount / (1.0 + amount))
    if not spread > 0.0:
        return released.copy()
    grid = np.linspace(released.min(), released.max(), _POINTS)
    counts, edges = np.histogram(released, bins=min(_BINS, max(len(released), 2)))
    middles = (edges[:-1] + edges[1:]) / 2.0
    held = counts > 0
    near = _density(middles[held], grid, spread)
    shares = np.full(_POINTS, 1.0 / _POINTS)
    for _ in range(_ROUNDS):
        joint = near * shares
        shares = (counts[held][:, None] * joint / joint.sum(axis=1, keepdims=True)).sum(axis=0)
        shares /= shares.sum()
    joint = near * shares
    means = (joint @ grid) / joint.sum(axis=1)
    return np.asarray(np.interp(released, middles[held], means))


def noise_removed(true: NDArray[np.float64], released: NDArray[np.float64], amount: float) -> float:
    """Return the share of the squared error of released values that an intruder can remove; 0: none."""
    error = float(np.mean((released - true) ** 2))
    left = float(np.mean((denoised(released, amount) - true) ** 2))
    return max(0.0, 1.0 - left / error) if error > 0.0 else 0.0


def _density(values: NDArray[np.float64], grid: NDArray[np.float64], spread: float) -> NDArray[np.float64]:
    return np.asarray(np.exp(-0.5 * ((values[:, None] - grid[None, :]) / spread) ** 2) + 1e-300)
