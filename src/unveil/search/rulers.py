r"""Is a class too far from the whole table? t-closeness under the earth mover distances, compiled, and stopped when it is clear.

Every earth mover distance of the field is a sum of absolute values of sums of differences. With p the class's shares and q the
whole table's,

.. math:: d(p) = \sum_k w_k \Bigl| \sum_{s \in G_k} (p_s - q_s) \Bigr| ,

where the :math:`G_k` are the single values (w = 1/2), the groups at every level of a tree (w = 1/2H), or the values up to each
in an order (w the gap to the next). The figures are those of `TCloseness`; here they are only compared with t, class by class,
the largest first, until more records violate than may be suppressed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from unveil.models.base import TOLERANCE, SecretModel
from unveil.models.classes import TCloseness
from unveil.search.space import Secret

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Ruler", "ruler_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Ruler:
    """A distance and how far it may go.

    Attributes
    ----------
    threshold
        The distance that a class may have.
    share
        The whole table's shares.
    groups
        For every level of a tree the group of each value; no level: the values stand in an order.
    order, gaps
        The values in their order, and from each to the next how far it is.
    """

    threshold: float
    share: NDArray[np.float64]
    groups: NDArray[np.int64]
    order: NDArray[np.int64]
    gaps: NDArray[np.float64]

    def mark(self, size: NDArray[Any], held: NDArray[Any], violating: NDArray[np.bool_], limit: int) -> bool:
        """Mark the classes that are too far; return whether more than `limit` records violate, where it stops."""
        largest = np.argsort(-size, kind="stable")
        return bool(_mark(size, held, largest, self.share, self.groups, self.order, self.gaps, self.threshold, violating, limit))


def ruler_of(model: SecretModel, secret: Secret) -> Ruler | None:
    """Return the ruler of t-closeness under an earth mover distance; None for any other model."""
    if not isinstance(model, TCloseness) or model.t is None or model.distance in ("kl", "js"):
        return None
    threshold, values = model.t + TOLERANCE, len(secret.values)
    none = np.zeros(0, dtype=np.int64)
    if model.distance in ("equal", "variational"):
        return Ruler(threshold, secret.share, np.arange(values)[np.newaxis], none, np.zeros(0))
    if model.scale is None:
        return None
    if model.distance == "hierarchical":
        return Ruler(threshold, secret.share, np.stack(model.scale.levels(secret.values)), none, np.zeros(0))
    ranks, gaps = model.scale.ranked(secret.values, by_value=model.distance == "value")
    return Ruler(threshold, secret.share, np.zeros((0, values), dtype=np.int64), np.argsort(ranks), gaps)


@numba.njit(nogil=True, cache=True)
def _mark(size, held, largest, share, groups, order, gaps, threshold, violating, limit):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, C901
    lost = np.int64(0)
    for row in range(size.shape[0]):
        if violating[row]:
            lost += size[row]
    values, levels = share.shape[0], groups.shape[0]
    gap, sums = np.empty(values), np.empty(values)
    for row in largest:
        if violating[row] or size[row] == 0:
            continue
        if lost > limit:
            return True
        for value in range(values):
            gap[value] = held[row, value] / size[row] - share[value]
        distance = 0.0
        for level in range(levels):
            sums[:] = 0.0
            for value in range(values):
                sums[groups[level, value]] += gap[value]
            for value in range(values):
                distance += abs(sums[value])
        if levels:
            distance /= 2.0 * levels
        moved = 0.0
        for at in range(gaps.shape[0]):
            moved += gap[order[at]]
            distance += abs(moved) * gaps[at]
        if distance > threshold:
            violating[row] = True
            lost += size[row]
    return lost > limit
