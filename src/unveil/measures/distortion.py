r"""How much does an intruder learn of the sensitive attribute, in bits, and how far off is the best guess?

The metrics of rate and distortion, beside the Discrimination Rate. With :math:`X` the sensitive attribute and :math:`Y` the key:

.. math::

    I(X;Y) = H(X) - H(X \mid Y) = \sum_y p(y)\, D_{KL}\bigl(P_{X \mid y} \,\|\, P_X\bigr), \qquad
    mse = E\bigl[(X - E[X \mid Y])^2\bigr] = \sum_y p(y) \operatorname{Var}(X \mid y) .

More information, a larger divergence and a smaller error are more disclosure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.counts import Split

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Distortion", "distortion_of"]

_NO_NUMBERS = "the sensitive attribute does not hold numbers only"
"""The reason for a missing error; numbers too large to be squared do not count as numbers."""
_SEVERAL = "several sensitive attributes have no squared error together"
_LARGEST = 1e150
"""From this number on, squares no longer fit into floating point."""
_IDENTITY = "it has no meaning against record identity"


@dataclass(frozen=True, slots=True)
class Distortion:
    """The disclosure by the key, as information and as error.

    Attributes
    ----------
    largest_divergence
        The Kullback-Leibler divergence, in bits, of the class farthest from the whole table; None against record identity. Its
        mean over the records is the mutual information.
    squared_error, variance
        The mean squared error of the best guess of X, once the key is known and before, if X holds numbers.
    reason
        Why there is no squared error; None if there is one.
    """

    largest_divergence: float | None
    squared_error: float | None
    variance: float | None
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {name: getattr(self, name) for name in self.__slots__}


def distortion_of(split: Split) -> Distortion:
    """Measure a count table, given its known and hidden columns."""
    mass, classes, hidden = split.mass, split.known, split.hidden
    if hidden is None:
        return Distortion(None, None, None, _IDENTITY)
    share = mass / classes.mass[classes.of_cell]
    ratio = share * (hidden.mass.sum() / hidden.mass)[hidden.of_cell]
    divergence = np.bincount(classes.of_cell, weights=share * np.log2(ratio), minlength=classes.number)
    farthest = max(0.0, float(divergence.max()))
    values = None if len(hidden.columns) > 1 else _numbers(hidden.columns[0].values)
    if values is None:
        return Distortion(farthest, None, None, _SEVERAL if len(hidden.columns) > 1 else _NO_NUMBERS)
    held = values[hidden.codes[0]][hidden.of_cell]
    held = held - np.average(held, weights=mass)  # squares of centred numbers lose nothing to cancellation
    centre = np.bincount(classes.of_cell, weights=mass * held, minlength=classes.number) / classes.mass
    total = float(mass.sum())
    error = float((mass * np.square(held - centre[classes.of_cell])).sum() / total)
    return Distortion(farthest, error, float((mass * np.square(held)).sum() / total))


def _numbers(values: Sequence[Any]) -> NDArray[np.float64] | None:
    """Return the values if all of them are numbers whose squares fit into floating point."""
    if not all(isinstance(value, Real) and not isinstance(value, bool) for value in values):
        return None
    if not all(abs(value) < _LARGEST for value in values):  # NaN is not
        return None
    return np.asarray([float(value) for value in values])
