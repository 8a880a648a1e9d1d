"""Who is at risk, how many of them must change, and whose values do they take? The first steps of MASSC.

The key's attributes have an order: an intruder knows the first, or the first two, and so on. A record's stratum is the number
of attributes needed to make it unique: the fewer, the greater its risk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.counts import group
from unveil.run import active_run, watched

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Agglomerated", "agglomerate", "donors", "least_change"]


@dataclass(frozen=True, slots=True, eq=False)
class Agglomerated:
    """The records in risk strata.

    Attributes
    ----------
    classes
        For every number of first attributes, from none to all, the class of each record.
    stratum
        The smallest number of first attributes by which a record is unique; 0 for a record that is not unique.
    records
        The number of records in each stratum.
    weight
        Among intruders who know the first 1, 2, ... attributes, the share of those to whom a record of the stratum is unique.
    """

    classes: tuple[NDArray[np.int64], ...]
    stratum: NDArray[np.int64]
    records: NDArray[np.int64]
    weight: NDArray[np.float64]


def agglomerate(codes: Sequence[NDArray[Any]], sizes: Sequence[int]) -> Agglomerated:
    """Sort records into risk strata."""
    classes = [np.zeros(len(codes[0]), dtype=np.int64)]
    stratum = np.zeros(len(codes[0]), dtype=np.int64)
    for known in active_run().each("key attributes", range(1, len(codes) + 1)):
        of_row, _ = group(codes[:known], sizes[:known])
        unique = np.bincount(of_row)[of_row] == 1
        stratum[unique & (stratum == 0)] = known
        classes.append(of_row)
    weight = np.array([0.0, *((len(codes) - known + 1) / len(codes) for known in range(1, len(codes) + 1))])
    return Agglomerated(tuple(classes), stratum, np.bincount(stratum, minlength=len(weight)), weight)


def least_change(
    records: NDArray[np.int64], risk: NDArray[np.float64], low: float, high: float, most: float
) -> NDArray[np.float64]:
    r"""Return the rates of change by stratum that bring the risk down with the fewest changes.

    .. math:: \min \sum_h N_h x_h \quad \text{such that} \quad \sum_h N_h r_h (1 - x_h) \le R, \quad low \le x_h \le high

    A linear program with one constraint: the strata with the greatest risk change first. If R is out of reach, all strata at
    risk change at the highest rate.

    Parameters
    ----------
    records, risk
        The number of records of each stratum, N, and the risk of one of them, r.
    low, high
        The lowest and the highest rate.
    most
        The highest risk allowed, R.
    """
    rates = np.full(len(records), low)
    amount = records * risk
    for at in np.argsort(-risk, kind="stable"):
        excess = float(amount @ (1.0 - rates)) - most
        if excess <= 0.0 or amount[at] == 0.0:
            continue
        rates[at] = min(high, low + excess / amount[at])
    return rates


def donors(strata: Agglomerated, rows: NDArray[np.int64], random: np.random.Generator) -> NDArray[np.int64]:
    """Return, for each row, a record with another key that agrees with it in as many first attributes as possible."""
    full = strata.classes[-1]
    order = watched(len(full), lambda: np.argsort(full, kind="stable"))
    own_start, own_size = _ranges(full)
    donor = np.full(len(rows), -1, dtype=np.int64)
    for classes in active_run().each("substitution", strata.classes[-2::-1]):
        start, size = _ranges(classes)
        others = size[classes[rows]] - own_size[full[rows]]
        at = np.flatnonzero((donor < 0) & (others > 0))
        row = rows[at]
        place = start[classes[row]] + (random.random(len(at)) * others[at]).astype(np.int64)
        place += np.where(place >= own_start[full[row]], own_size[full[row]], 0)
        donor[at] = order[place]
    return donor


def _ranges(classes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where each class begins in the records sorted by key, and its size; classes are numbered in key order."""
    size = np.bincount(classes)
    return np.cumsum(size) - size, size
