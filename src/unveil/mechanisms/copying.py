r"""How often may a synthetic record repeat a unique person? As often as it repeats, by chance, someone who was not in the data.

The original alone shows how often that is: trees are grown on one half of the records, and the unique people of either half
whom their draws reproduce are counted; then the halves change roles. If :math:`a` people of the half used for learning and
:math:`b` of the other are reproduced, all but a share :math:`b / a` of the reproductions are copies. Each unique person may be
in the release with this probability (less two standard deviations), which is drawn once; records that equal any other unique
person are drawn again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from unveil.counts import group
from unveil.mechanisms.sequential_trees import LearntAttribute, SequentialTrees

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["by_chance", "drawn_without_copies"]

_ROUNDS = 20
_MOST_AGAIN = 0.5
"""If more of the records would have to be redrawn, the rest would have another distribution, so none are redrawn."""
_DEVIATIONS = 2.0
_FEWEST = 40
"""With fewer records, halves show nothing: no unique person may be reproduced then."""


def by_chance(attributes: Sequence[LearntAttribute], leaf: int, random: np.random.Generator) -> float:
    """Return the share of the reproductions of unique people that chance would produce anyway."""
    records = len(attributes[0].codes)
    if records < _FEWEST:
        return 0.0
    halves, people = np.array_split(random.permutation(records), 2), _People(attributes)
    seen = unseen = 0
    for learnt, other in (halves, halves[::-1]):
        trees = SequentialTrees([one.at(learnt) for one in attributes], leaf, random)
        reproduced = people.reproduced(learnt[trees.draw(records, random)])
        seen, unseen = seen + int(np.count_nonzero(reproduced[learnt])), unseen + int(np.count_nonzero(reproduced[other]))
    if not seen or not unseen:
        return 0.0 if seen else 1.0
    doubt = _DEVIATIONS * math.sqrt(1.0 / seen + 1.0 / unseen)
    return min(max(unseen / seen * (1.0 - doubt), 0.0), 1.0)


def drawn_without_copies(
    trees: SequentialTrees, attributes: Sequence[LearntAttribute], wanted: int, share: float, random: np.random.Generator
) -> tuple[NDArray[np.int64], int, int]:
    """Draw records, none of which equals a unique person who may not be in the release.

    Parameters
    ----------
    trees, attributes, wanted, random
        The trees to draw from, the original attributes, the number of records, and the random generator.
    share
        The probability that a unique person may be reproduced.

    Returns
    -------
    tuple
        The original record of each value, how many records were drawn again, and how many still equal such a person (if much of
        what the trees can produce belongs to real people).
    """
    people = _People(attributes)
    barred = people.unique & (random.random(len(people.unique)) >= share)
    rows, again = trees.draw(wanted, random), 0
    wrong = np.flatnonzero(people.equal(rows, barred))
    for _ in range(_ROUNDS if len(wrong) <= _MOST_AGAIN * wanted else 0):
        if not len(wrong):
            break
        again += len(wrong)
        rows[wrong] = trees.draw(len(wrong), random)
        wrong = wrong[people.equal(rows[wrong], barred)]
    return rows, again, len(wrong)


class _People:
    """The original records, with those that are unique and can be reproduced because none of their numbers is blurred."""

    def __init__(self, attributes: Sequence[LearntAttribute]) -> None:
        self.codes = [one.codes for one in attributes]
        self.sizes = [int(codes.max()) + 1 for codes in self.codes]
        of_row, _ = group(self.codes, self.sizes)
        apart = np.column_stack([one.blurred[one.codes] for one in attributes]).any(axis=1)
        self.unique = (np.bincount(of_row)[of_row] == 1) & ~apart

    def _together(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the number of the combination of each original record, and of each drawn record."""
        codes = [np.concatenate([own, own[rows[:, at]]]) for at, own in enumerate(self.codes)]
        of_row, _ = group(codes, self.sizes)
        return of_row[: len(self.unique)], of_row[len(self.unique) :]

    def reproduced(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which unique people equal a drawn record."""
        people, drawn = self._together(rows)
        return np.asarray(self.unique & np.isin(people, drawn))

    def equal(self, rows: NDArray[np.int64], some: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which of the drawn records equal one of the given people."""
        people, drawn = self._together(rows)
        return np.asarray(np.isin(drawn, people[some]))
