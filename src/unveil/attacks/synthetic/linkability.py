"""Does the release join what two files know about one person? The linkability attack.

Two intruders, or one with two files, know different columns of a person. Each takes the synthetic record nearest to the known
values; if both take the same one, the release has joined the two files. Among equal records, each takes any.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from unveil.attacks.synthetic.audit_sections import Linkability, beside
from unveil.attacks.synthetic.nearest import Nearest
from unveil.attacks.synthetic.risk import SuccessRate, compared
from unveil.attacks.synthetic.tables import Side, Trio

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["linkability"]


def linkability(trio: Trio, people: Side, others: Side, sides: tuple[Sequence[int], Sequence[int]] | None = None) -> Linkability:
    """Link the two halves of the known columns of people of the original, and of the hold-out.

    Parameters
    ----------
    trio, people, others
        The tables, and the attacked people of the original and of the hold-out.
    sides
        The positions of the columns of each file; none: the columns alternate.
    """
    columns = range(len(trio.names))
    one, other = sides or (columns[::2], columns[1::2])
    if not one or not other:
        return Linkability.unmeasured("two files need a column each")
    indexes = Nearest(trio.release, one, trio.ordered), Nearest(trio.release, other, trio.ordered)
    rates = [SuccessRate.mean(_joined(indexes, targets)) for targets in (people, others)]
    files = [[trio.names[at] for at in side] for side in (one, other)]
    return Linkability(**beside(compared(rates[0], rates[1], 1.0 / len(trio.release), len(people))), files=files)


def _joined(indexes: tuple[Nearest, Nearest], targets: Side) -> NDArray[np.float64]:
    """Return, for each target, the chance that both take the same record, among those nearest to each."""
    one, other = indexes
    here, there = one.find(targets)[0], other.find(targets)[0]
    pairs, times = np.unique(one.group_of * len(other.sizes) + other.group_of, return_counts=True)
    wanted = here * len(other.sizes) + there
    place = np.minimum(np.searchsorted(pairs, wanted), len(pairs) - 1)
    both = np.where(pairs[place] == wanted, times[place], 0)
    return np.asarray(both / (one.sizes[here] * other.sizes[there]))
