r"""The compiled check of t-closeness under the earth mover distances, which stops as soon as the result is clear.

Every earth mover distance in use is a sum of absolute values of sums of differences. With p the class's shares and q the
whole table's,

.. math:: d(p) = \sum_k w_k \Bigl| \sum_{s \in G_k} (p_s - q_s) \Bigr| ,

where :math:`G_k` are the single values (w = 1/2), the groups at every level of a hierarchy (w = 1/2H), or the values up to each
in an order (w the gap to the next). The figures are those of `TCloseness`; here they are only compared with t, class by class,
until it is clear that too many records violate in every node below as well (see `lasting`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.compilation import compiled
from unveil.models import TOLERANCE, Model
from unveil.search.lattice.space import SensitiveColumn

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ClosenessCheck", "closeness_check_of"]


@dataclass(frozen=True, slots=True, eq=False)
class ClosenessCheck:
    """An earth mover distance and its threshold.

    Attributes
    ----------
    threshold
        The largest distance that is allowed.
    share
        The whole table's shares.
    groups
        For every level of a hierarchy the group of each value; no level: the values are in an order.
    order, gaps
        The values in their order, and the gap from each to the next.
    farthest
        The largest distance that any class could have: that of a class with a single value.
    """

    threshold: float
    share: NDArray[np.float64]
    groups: NDArray[np.int64]
    order: NDArray[np.int64]
    gaps: NDArray[np.float64]
    farthest: float = 0.0

    def with_farthest(self) -> ClosenessCheck:
        """Return the check with its `farthest` filled in; the distance is convex, so a single value attains the maximum."""
        values = len(self.share)
        size, lasting = np.ones(values, dtype=np.int64), np.zeros(values)
        far = np.empty(values)
        _mark(
            size, np.eye(values, dtype=np.int64), self.share, self.groups, self.order, self.gaps, 0.0, 1.0,
            np.zeros(values, dtype=bool), lasting, math.inf, far,
        )  # fmt: skip
        return replace(self, farthest=float(far.max()))

    def mark(
        self, size: NDArray[Any], held: NDArray[Any], violating: NDArray[np.bool_], lasting: NDArray[np.float64], limit: float
    ) -> None:
        """Mark the classes that are too far, and count records that stay too far in all nodes below, until they are too many."""
        _mark(
            size, held, self.share, self.groups, self.order, self.gaps, self.threshold, self.farthest, violating, lasting, limit,
            np.empty(0),
        )  # fmt: skip


def closeness_check_of(model: Model, sensitive: SensitiveColumn) -> ClosenessCheck | None:
    """Return the check of a model that bounds an earth mover distance; None for any other."""
    if model.threshold is None:
        return None
    distance = model.earth_mover(sensitive.values)
    if distance is None:
        return None
    return ClosenessCheck(
        model.threshold + TOLERANCE, sensitive.share, distance.groups, distance.order, distance.gaps
    ).with_farthest()


@compiled
def _mark(size, held, share, groups, order, gaps, threshold, farthest, violating, lasting, limit, far):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, C901, PLR0913
    values, levels = share.shape[0], groups.shape[0]
    gap, sums = np.empty(values), np.empty(values)
    stay = lasting.sum()
    for row in range(size.shape[0]):
        if violating[row] or size[row] == 0:
            continue
        if stay > limit:
            return
        # how far the share of each value is from that in the whole table
        for value in range(values):
            gap[value] = held[row, value] / size[row] - share[value]
        distance = 0.0
        # what is moved between the groups of each level of a hierarchy
        for level in range(levels):
            sums[:] = 0.0
            for value in range(values):
                sums[groups[level, value]] += gap[value]
            for value in range(values):
                distance += abs(sums[value])
        if levels:
            distance /= 2.0 * levels
        # what is moved along an order, over the distance between neighbours
        moved = 0.0
        for at in range(gaps.shape[0]):
            moved += gap[order[at]]
            distance += abs(moved) * gaps[at]
        # the share of the records that stay too far however the class is split
        if far.shape[0]:
            far[row] = distance
        elif distance > threshold:
            violating[row] = True
            kept = max(lasting[row], size[row] * (distance - threshold) / (farthest - threshold))
            stay += kept - lasting[row]
            lasting[row] = kept
