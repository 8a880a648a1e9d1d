r"""Which noise for a single integer has the lowest error? The staircase, drawn exactly.

Noise n has the probability

.. math:: p(n) \propto b^{k + [j \ge r]}, \qquad |n| = k \Delta + j, \; 0 \le j < \Delta, \qquad b \ge e^{-\epsilon}

so that :math:`p(n + \Delta) = b \, p(n)` away from zero, and no shift of up to Delta changes a probability by more than a
factor of 1 / b. It is for one number only: among several, a person who changes two of them a little each could move both by a
whole stair. For a sensitivity of 1 it is geometric noise; above that, its error is lower. All draws are integers from the
operating system, and b is a fraction of 2^64, rounded up, so that the probabilities are exactly these.

References
----------
Q. Geng, P. Viswanath (2016), The optimal noise-adding mechanism in differential privacy, IEEE Transactions on Information Theory
62(2), 925-951.
A. Ghosh, T. Roughgarden, M. Sundararajan (2012), Universally utility-maximizing privacy mechanisms, SIAM Journal on Computing
41(6), 1673-1693.
"""

from __future__ import annotations

import math
import secrets
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["expected_error", "stair_width", "staircase", "staircase_error"]

_BITS = 64
_WIDEST = 1 << 16
"""Up to this many widths are all tried; of more, only as many as this are tried."""


def staircase(value: int, epsilon: float, sensitivity: int) -> int:
    """Add staircase noise to an integer.

    Examples
    --------
    >>> -200 < staircase(0, 1.0, 3) < 200
    True
    """
    falls, width = _falls(epsilon), stair_width(epsilon, sensitivity)
    one = 1 << _BITS
    upper = width * one
    while True:
        at = secrets.randbelow(upper + (sensitivity - width) * falls)
        within = at // one if at < upper else width + (at - upper) // falls
        stairs = 0
        while secrets.randbits(_BITS) < falls:
            stairs += 1
        distance = stairs * sensitivity + within
        if secrets.randbits(1):
            return value + distance
        if distance:  # zero has no sign
            return value - distance


def stair_width(epsilon: float, sensitivity: int) -> int:
    """Return the width of the first stair beyond zero for which the expected error is lowest."""
    widths = np.unique(np.linspace(1, sensitivity, min(sensitivity, _WIDEST)).astype(np.int64))
    return int(widths[np.argmin(_errors(widths, epsilon, sensitivity))])


def staircase_error(epsilon: float, sensitivity: int) -> float:
    """Return the expected absolute noise.

    Examples
    --------
    >>> round(staircase_error(1.0, 1), 4), round(staircase_error(2.0, 10), 3), round(expected_error("geometric", 10 / 2.0), 3)
    (0.8509, 4.228, 4.967)
    """
    return float(_errors(np.array([stair_width(epsilon, sensitivity)]), epsilon, sensitivity)[0])


def expected_error(mechanism: str, scale: float) -> float:
    """Return the expected absolute value of Laplace, geometric or Gaussian noise of a given scale."""
    if mechanism == "gaussian":
        return scale * math.sqrt(2.0 / math.pi)
    if mechanism == "laplace":
        return scale
    return 1.0 / math.sinh(1.0 / scale) if scale > 1e-2 else 0.0  # noqa: PLR2004 - no noise but for a chance of e^-100


def _falls(epsilon: float) -> int:
    """Return the factor by which each stair is lower than the one before, in units of 2^-64, rounded up."""
    return min(math.ceil(math.exp(-epsilon) * (1.0 + 2.0**-50) * 2.0**_BITS), (1 << _BITS) - 1)


def _errors(widths: NDArray[np.int64], epsilon: float, sensitivity: int) -> NDArray[np.float64]:
    """Return the expected absolute noise for each width of the first stair."""
    b = _falls(epsilon) / 2.0**_BITS
    left = 1.0 - b
    weight = widths + (sensitivity - widths) * b
    first, whole = widths * (widths - 1.0) / 2.0, sensitivity * (sensitivity - 1.0) / 2.0
    inside = first + b * (whole - first)
    total = 2.0 * weight / left - 1.0
    return np.asarray(2.0 * (weight * sensitivity * b / left**2 + inside / left) / total)
