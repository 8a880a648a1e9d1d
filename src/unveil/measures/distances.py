"""How far apart are two distributions of a sensitive attribute? Earth mover distances, from 0 (equal) to 1 (farthest).

`p` and `q` are distributions over the same values, along the last axis, so `p` may hold one row per class.
Larger is more disclosure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["equal_distance", "hierarchical_distance", "ordered_distance"]


def equal_distance(p: NDArray[Any], q: NDArray[Any]) -> NDArray[np.float64]:
    r"""Return :math:`\frac12 \sum_i |p_i - q_i|`: any two values are one apart (total variation).

    Examples
    --------
    >>> import numpy as np
    >>> float(equal_distance(np.array([0.5, 0.5, 0.0]), np.array([0.25, 0.25, 0.5])))
    0.5
    """
    return np.asarray(np.abs(p - q).sum(axis=-1) / 2.0)


def ordered_distance(p: NDArray[Any], q: NDArray[Any], values: Sequence[float] | None = None) -> NDArray[np.float64]:
    r"""Return the earth mover distance for ordered values, whose neighbours are :math:`1/(m-1)` apart or at given distances.

    .. math:: \frac{1}{m-1} \sum_{i=1}^{m-1} \Bigl| \sum_{j \le i} (p_j - q_j) \Bigr|

    Parameters
    ----------
    p, q
        Distributions over the m values, in their order.
    values
        The values themselves, rising: neighbours are then :math:`(v_{i+1} - v_i) / (v_m - v_1)` apart.

    Examples
    --------
    >>> import numpy as np
    >>> whole = np.full(9, 1 / 9)
    >>> lowest = np.array([1, 1, 1, 0, 0, 0, 0, 0, 0]) / 3
    >>> round(float(ordered_distance(lowest, whole)), 3)
    0.375
    """
    size = p.shape[-1]
    if size == 1:
        return np.zeros(p.shape[:-1])
    gaps = np.full(size - 1, 1.0 / (size - 1))
    if values is not None:
        steps = np.diff(np.asarray(values, dtype=np.float64))
        if not np.all(steps > 0):
            raise ArgumentError("the values of an ordered distance must rise.")
        gaps = steps / steps.sum()
    moved = np.abs(np.cumsum(p - q, axis=-1)[..., :-1])
    return np.asarray(moved @ gaps)


def hierarchical_distance(p: NDArray[Any], q: NDArray[Any], levels: Sequence[NDArray[np.int64]]) -> NDArray[np.float64]:
    r"""Return the earth mover distance in a hierarchy, by the heights of the lowest common ancestors of values.

    With a hierarchy of height :math:`H` the distance of two values is the height of their lowest common ancestor over
    :math:`H`. Mass that has to leave a subtree crosses its edge, so the least work is the mean over the levels below the
    root of the total variation between the two distributions summed by subtree:

    .. math:: \frac{1}{H} \sum_{h=0}^{H-1} \frac12 \sum_{g \in \text{level } h} |p(g) - q(g)|

    Parameters
    ----------
    p, q
        Distributions over the values.
    levels
        For every level below the root, beginning with the values themselves, the group of each value as an integer.

    Examples
    --------
    >>> import numpy as np
    >>> levels = [np.array([0, 1, 2, 3]), np.array([0, 0, 1, 1])]
    >>> float(hierarchical_distance(np.array([1.0, 0, 0, 0]), np.array([0, 1.0, 0, 0]), levels))
    0.5
    """
    return np.asarray(sum(_level_distance(p, q, groups) for groups in levels) / len(levels))


def _level_distance(p: NDArray[Any], q: NDArray[Any], groups: NDArray[np.int64]) -> NDArray[np.float64]:
    indicator = np.zeros((len(groups), int(groups.max()) + 1))
    indicator[np.arange(len(groups)), groups] = 1.0
    return equal_distance(p @ indicator, q @ indicator)
