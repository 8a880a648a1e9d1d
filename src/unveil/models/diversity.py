"""How diverse, and how different from the whole table, are the sensitive values within each class? One figure per class.

Every function takes a `Spread` and returns an array with one entry per class. p is the share of a value in the class, q its
share in the whole table (or a reference table).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from unveil.counts import group, summed
from unveil.measures import Spread

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "basic_beta",
    "delta_disclosure",
    "effective_values",
    "enhanced_beta",
    "hierarchical_closeness",
    "js_divergence",
    "kl_divergence",
    "largest_share",
    "ordered_closeness",
    "present_disclosure",
    "recursive_c",
    "variational_closeness",
]


def effective_values(spread: Spread) -> NDArray[np.float64]:
    r"""Return :math:`2^{H}` of each class, the entropy in bits: the number of equally frequent values that are as uncertain."""
    share = spread.share
    return np.exp2(np.add.reduceat(-share * np.log2(share), spread.starts))


def largest_share(spread: Spread) -> NDArray[np.float64]:
    r"""Return :math:`\max_x p(x)` of each class."""
    return np.maximum.reduceat(spread.share, spread.starts)


def recursive_c(spread: Spread, length: int) -> NDArray[np.float64]:
    r"""Return the infimum of the c for which a class is recursively (c, l)-diverse.

    With the counts in falling order, :math:`r_1 < c (r_l + \dots + r_m)`, so the infimum is
    :math:`r_1 / (r_l + \dots + r_m)`, and infinite for a class of fewer than l values.
    """
    constants = np.full(len(spread.starts), np.inf)
    enough = spread.distinct >= length
    first, end = spread.starts[enough], (spread.starts + spread.distinct)[enough]
    sums = spread.falling_sums
    constants[enough] = spread.falling[first] / (sums[end] - sums[first + length - 1])
    return constants


def basic_beta(spread: Spread) -> NDArray[np.float64]:
    r"""Return :math:`\max_x (p - q) / q` over the values that a class holds more often than the whole table, at least 0."""
    whole = spread.whole[spread.value]
    return np.maximum.reduceat(np.maximum(_quotient(spread.share - whole, whole), 0.0), spread.starts)


def enhanced_beta(spread: Spread) -> NDArray[np.float64]:
    r"""Return the least beta with :math:`(p - q) / q \le \min(\beta, -\ln q)` for every value of a class.

    If a gain exceeds :math:`-\ln q`, no beta suffices, and the result is infinite.
    """
    whole = spread.whole[spread.value]
    gain = np.maximum(_quotient(spread.share - whole, whole), 0.0)
    with np.errstate(divide="ignore"):
        bound = -np.log(whole)
    return np.maximum.reduceat(np.where(gain <= bound + 1e-12, gain, np.inf), spread.starts)


def delta_disclosure(spread: Spread) -> NDArray[np.float64]:
    r"""Return :math:`\max_x |\ln (p / q)|` of each class over all values of the whole table; infinite if one is absent."""
    held = np.add.reduceat(spread.whole[spread.value] > 0, spread.starts, dtype=np.int64)
    return np.where(held == np.count_nonzero(spread.whole), present_disclosure(spread), np.inf)


def present_disclosure(spread: Spread) -> NDArray[np.float64]:
    r"""Return :math:`\max_x |\ln (p / q)|` of each class over the values that it holds."""
    return np.maximum.reduceat(np.abs(np.log(_quotient(spread.share, spread.whole[spread.value]))), spread.starts)


def variational_closeness(spread: Spread) -> NDArray[np.float64]:
    r"""Return :math:`\frac12 \sum_x |p - q|`; the excess of some values equals the lack of others, so one side suffices."""
    return np.add.reduceat(np.maximum(spread.share - spread.whole[spread.value], 0.0), spread.starts)


def kl_divergence(spread: Spread) -> NDArray[np.float64]:
    r"""Return :math:`\sum_x p \log_2 (p / q)`, in bits."""
    share = spread.share
    return np.maximum(np.add.reduceat(share * np.log2(_quotient(share, spread.whole[spread.value])), spread.starts), 0.0)


def js_divergence(spread: Spread) -> NDArray[np.float64]:
    r"""Return the Jensen-Shannon divergence, in bits, from 0 to 1.

    With :math:`m = (p + q) / 2` it is :math:`\frac12 \sum_x p \log_2 (p / m) + \frac12 \sum_x q \log_2 (q / m)`; a value that the
    class lacks adds q / 2.
    """
    share, whole = spread.share, spread.whole[spread.value]
    middle = (share + whole) / 2.0
    of_whole = np.where(whole > 0, whole * np.log2(np.where(whole > 0, whole, 1.0) / middle), 0.0)
    present = np.add.reduceat(share * np.log2(share / middle) + of_whole, spread.starts)
    return np.maximum((present + 1.0 - np.add.reduceat(whole, spread.starts)) / 2.0, 0.0)


def ordered_closeness(spread: Spread, gaps: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""Return the earth mover's distance over ordered values: :math:`\sum_i g_i |P_i - Q_i|` with cumulative shares P and Q.

    Between two values that a class holds, P is constant while Q rises, so each stretch is determined by the point at which Q
    passes P: the cost is proportional to the number of cells, not to classes times values.

    Parameters
    ----------
    spread
        A spread whose values are in their order.
    gaps
        The distance of each value to the next, with one entry fewer than values, summing to 1.
    """
    below = np.cumsum(spread.whole)[:-1]
    gap_sums, area_sums = (np.concatenate([[0.0], np.cumsum(amounts)]) for amounts in (gaps, gaps * below))
    level, begin, end, cross = spread.stretches
    under = level * (gap_sums[cross] - gap_sums[begin]) - (area_sums[cross] - area_sums[begin])
    over = (area_sums[end] - area_sums[cross]) - level * (gap_sums[end] - gap_sums[cross])
    first = area_sums[np.minimum(spread.value[spread.starts], len(below))]
    return np.asarray(first + np.add.reduceat(np.asarray(under + over), spread.starts))


def hierarchical_closeness(spread: Spread, levels: Sequence[NDArray[np.int64]]) -> NDArray[np.float64]:
    """Return the earth mover's distance in a hierarchy: the variation between subtrees, averaged over levels below the root."""
    closeness = np.zeros(len(spread.starts))
    for groups in levels:
        closeness += variational_closeness(_merged(spread, groups))
    return closeness / len(levels)


def _merged(spread: Spread, groups: NDArray[np.int64]) -> Spread:
    """Return the spread over groups of values."""
    number = int(groups.max()) + 1
    of_pair, (of_class, value) = group([spread.of_class, groups[spread.value]], [len(spread.starts), number])
    whole = summed(groups, spread.whole, number)
    rows = of_class.astype(np.int64)
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    return Spread(spread.name, (), rows, value.astype(np.int64), summed(of_pair, spread.n, len(rows)), starts, whole)


def _quotient(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the quotient, which is infinite for a value without a share in the reference."""
    return np.asarray(np.divide(one, other, out=np.full(len(one), np.inf), where=other > 0))
