r"""How much of an attack's success is due to the release? The excess over its success on people whose records were not used.

.. math:: R = \frac{p - p_0}{1 - p_0}

with :math:`p` the share of attacks that succeed on the original's people and :math:`p_0` the share on the hold-out's: of the
attacks that fail on strangers, the share that succeed because of the release. :math:`R` is reported with its sign, and cut at 0
as a risk.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.attacks.linkage.rates import share_bounds
from unveil.attacks.synthetic.audit_sections import RiskFigures

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SuccessRate", "compared", "cut"]


@dataclass(frozen=True, slots=True)
class SuccessRate:
    """A share of successes, with its confidence interval."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, successes: float, attacks: float, confidence: float = 0.95) -> SuccessRate:
        """Return the share of attacks that succeed."""
        bounds = share_bounds(successes, attacks, confidence)
        return cls(successes / attacks, bounds.low, bounds.high)

    @classmethod
    def mean(cls, shares: NDArray[np.float64], confidence: float = 0.95) -> SuccessRate:
        """Return the mean success of people, each with a share between 0 and 1.

        Shares vary less than successes and failures with the same mean; the interval is that of the number of successes and
        failures that would vary as much.
        """
        value, spread, people = float(np.mean(shares)), float(np.var(shares)), len(shares)
        like = people * value * (1.0 - value) / spread if spread > 0.0 and 0.0 < value < 1.0 else float(people)
        return cls.of(value * like, like, confidence)

    def moved(self, value: float) -> SuccessRate:
        """Return the rate corrected to another value, with its interval scaled accordingly."""
        factor = value / self.value if self.value > 0.0 else 1.0
        return SuccessRate(value, min(self.low * factor, value), min(max(self.high * factor, value), 1.0))


def compared(main: SuccessRate, control: SuccessRate, baseline: float, attacks: int, confidence: float = 0.95) -> RiskFigures:
    """Return an attack's risk with its interval, and the figures it was computed from.

    The interval combines those of the two shares as if each moved the risk alone (the square-and-add rule).

    References
    ----------
    .. [1] M. Giomi, F. Boenisch, C. Wehmeyer, B. Tasnadi (2023), A unified framework for quantifying privacy risk in synthetic
       data, Proceedings on Privacy Enhancing Technologies 2023(2), 312-328.
    .. [2] G. Zou, A. Donner (2008), Construction of confidence limits about effect measures: a general approach, Statistics in
       Medicine 27(10), 1693-1702.
    """
    figures: dict[str, Any] = {
        "main": main.value,
        "control": control.value,
        "baseline": baseline,
        "attacks": attacks,
        "confidence": confidence,
    }
    left = 1.0 - control.value
    if left <= 0.0:
        reason = "every attack succeeds on the hold-out too, so nothing is left for the release to give away"
        return RiskFigures(risk=None, low=None, high=None, residual=None, **figures, reason=reason)
    residual, slope = (main.value - control.value) / left, (1.0 - main.value) / left**2
    low = residual - math.hypot((main.value - main.low) / left, slope * (control.high - control.value))
    high = residual + math.hypot((main.high - main.value) / left, slope * (control.value - control.low))
    figures |= {"residual_low": low, "residual_high": high}
    return RiskFigures(risk=cut(residual), low=cut(low), high=cut(high), residual=residual, **figures)


def cut(residual: float) -> float:
    """Return the share that a release adds as a risk: not below 0, nor above 1."""
    return min(max(residual, 0.0), 1.0)
