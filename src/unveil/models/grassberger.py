r"""Entropy l-diversity with Grassberger's estimate of the entropy, for small classes.

The plug-in entropy of a class of few records is too low: it treats the observed shares as the true ones. Grassberger (2003)
replaces the logarithm,

.. math:: \hat H = G_N - \frac1N \sum_i n_i G_{n_i}, \qquad
    G_n = \psi(n) + \frac{(-1)^n}{2} \left(\psi\left(\tfrac{n+1}2\right) - \psi\left(\tfrac n2\right)\right) ,

with the digamma function :math:`\psi`, N records and :math:`n_i` of them with the value i. As in ARX, G also replaces
:math:`\ln N`, and a class always needs at least l values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from unveil.arguments import checked_arguments
from unveil.measures import Equivalence
from unveil.models.base import SensitiveModel

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["GrassbergerLDiversity"]


@checked_arguments
@dataclass(frozen=True)
class GrassbergerLDiversity(SensitiveModel):
    """The entropy of every class, estimated by Grassberger's formula, is at least ln l; the figure e^H compares with l directly.

    Examples
    --------
    >>> GrassbergerLDiversity("disease", 2.5).requirement
    'grassberger_l_diversity >= 2.5'
    """

    l: float | None = None  # noqa: E741 - the model's own letter
    name: ClassVar[str] = "grassberger_l_diversity"
    label: ClassVar[str] = "entropy l-diversity (Grassberger)"
    range: ClassVar[tuple[float, float]] = (0.0, math.inf)
    safe_is_high: ClassVar[bool] = True
    closed: ClassVar[bool] = False
    on_request: ClassVar[bool] = True  # a table is measured by plain entropy l-diversity

    def by_class(self, classes: Equivalence) -> NDArray[np.float64]:
        """Return e^H of every class; at most the number of its values, if these are fewer than l."""
        spread = self.spread(classes)
        size = spread.size
        diversity = np.exp(_log_like(size) - spread.total(spread.n * _log_like(spread.n)) / size)
        few = spread.distinct < (0.0 if self.l is None else self.l)
        return np.where(few, np.minimum(diversity, spread.distinct), diversity)

    @property
    def threshold(self) -> float | None:
        """The required l."""
        return self.l


def _log_like(n: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return G for numbers of records; for an odd number above one it equals G of the even number below."""
    from scipy.special import digamma

    whole = np.maximum(n, 1.0)
    sign = np.where(whole % 2 == 0, 1.0, -1.0)
    return np.asarray(digamma(whole) + sign / 2.0 * (digamma((whole + 1.0) / 2.0) - digamma(whole / 2.0)))
