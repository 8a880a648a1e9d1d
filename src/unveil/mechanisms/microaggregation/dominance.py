r"""Does one person dominate a group? The largest share that one value has of its group's total.

A mean of values of which one makes up nearly the whole nearly reveals that value. With :math:`x_{ij}` the value j of group i,

.. math:: \max_i \max_j \frac{|x_{ij}|}{\sum_j |x_{ij}|} ,

lies between 1 / (size of the group), if all values are alike, and 1, if one value is the whole total.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from unveil.errors import ArgumentError, listed
from unveil.mechanisms.microaggregation.attributes import AggregatedAttribute

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["largest_share", "refuse_dominant"]


def largest_share(attribute: AggregatedAttribute, group: NDArray[np.int64]) -> float | None:
    """Return the largest share that a value of a continuous attribute has of its group's total; None if all totals are 0."""
    rows = np.flatnonzero(~np.isnan(attribute.values) & (group >= 0))
    size = np.abs(attribute.values[rows])
    total = np.bincount(group[rows], weights=size)[group[rows]]
    shares = size[total > 0.0] / total[total > 0.0]
    return float(shares.max()) if len(shares) else None


def refuse_dominant(shares: Mapping[str, float], limit: float | None) -> None:
    """Refuse groups in which a value has a larger share than the limit."""
    if limit is None:
        return
    if over := {name: share for name, share in shares.items() if share > limit}:
        worst = max(over.values())
        raise ArgumentError(
            f"a value of {listed(list(over))} has a share of {worst:.3g} of its group's total, and dominance allows {limit:g}; "
            "form larger groups (k), code the largest values at the top first, or leave the attribute out."
        )
