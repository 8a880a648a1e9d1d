"""How near are synthetic records to the people they were made from? Copies, and the distance to the closest record.

A sample of the original that is as large as the hold-out is compared with the hold-out: if nothing was copied, synthetic
records would be as near to the one as to the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from unveil.attacks.linkage.rates import share_bounds
from unveil.attacks.synthetic.audit_sections import Closeness, CopiedPeople, Copies, DistanceSummary
from unveil.attacks.synthetic.nearest import Nearest
from unveil.attacks.synthetic.tables import Side, Trio
from unveil.counts import group

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["closest", "copies"]

_PARTS = (0.05, 0.5)


def copies(trio: Trio) -> Copies:
    """Count released records that equal an original record, and unique people who are nevertheless in the release.

    A person is unique if nobody else in the original and the hold-out together is equal. The shares of such people who occur in
    the release can be compared between original and hold-out, whatever their sizes: the excess of the original was copied.
    """
    sides = (trio.original, trio.release, trio.control)
    codes = [np.concatenate([side.codes[:, at] for side in sides]) + 1 for at in range(len(trio.names))]
    of_row, _ = group(codes, [int(code.max()) + 1 for code in codes])
    before, after, other = np.split(of_row, np.cumsum([len(side) for side in sides])[:-1])
    held, made, outside = (np.bincount(part, minlength=int(of_row.max()) + 1) for part in (before, after, other))
    alone = held + outside == 1
    return Copies(
        records=int((held[after] > 0).sum()),
        share=float((held[after] > 0).mean()),
        of_unique=int((alone & (held > 0))[after].sum()),
        unique=_unique(before, alone, made),
        control_share=float((outside[after] > 0).mean()),
        control_unique=_unique(other, alone, made),
    )


def _unique(rows: NDArray[np.int64], alone: NDArray[np.bool_], made: NDArray[np.int64]) -> CopiedPeople:
    """Return how many of the unique people of a table are in the release."""
    people = rows[alone[rows]]
    copied = int((made[people] > 0).sum())
    if not len(people):
        return CopiedPeople(0, 0, None, None, None)
    bounds = share_bounds(copied, len(people))
    return CopiedPeople(len(people), copied, copied / len(people), bounds.low, bounds.high)


def closest(trio: Trio, random: np.random.Generator) -> Closeness:
    """Compare the distances of released records to the nearest of the original with those to the nearest of the hold-out."""
    size = min(len(trio.original), len(trio.control))
    samples = [_sample(side, size, random) for side in (trio.original, trio.control)]
    one, other = (Nearest(side, range(len(trio.names)), trio.ordered).find(trio.release)[1] for side in samples)
    columns = len(trio.names)
    nearer = float((one < other).sum() + 0.5 * (one == other).sum())
    bounds = share_bounds(nearer, len(trio.release))
    return Closeness(
        original=_summary(one / columns),
        control=_summary(other / columns),
        ratio=float(one.mean() / other.mean()) if other.mean() > 0.0 else None,
        nearer_share=nearer / len(trio.release),
        low=bounds.low,
        high=bounds.high,
        compared_with=size,
    )


def _sample(side: Side, size: int, random: np.random.Generator) -> Side:
    return side if len(side) == size else side.rows(np.sort(random.choice(len(side), size, replace=False)))


def _summary(distances: NDArray[np.float64]) -> DistanceSummary:
    low, middle = np.quantile(distances, _PARTS)
    return DistanceSummary(float(distances.mean()), float(low), float(middle))
