"""Owners of classes: pairs of a class and a person or household, from which every count of owners follows.

A person with several records in a class is counted once in it; a person whose records lie in several classes is counted in each.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.counts.grouping import Codes, group

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Owners"]


@dataclass(frozen=True, eq=False)
class Owners:
    """The owners of classes.

    Attributes
    ----------
    of_class, who
        One entry per pair of a class and an owner of a record in it, by class and then owner.
    classes
        The number of classes.
    number
        The number of owners that have a record in a class.
    every
        The number of all owners in the table, including those without a record in any class.
    """

    of_class: NDArray[np.int64]
    who: NDArray[np.int64]
    classes: int
    number: int
    every: int

    @classmethod
    def of(cls, of_cell: NDArray[np.int64], who: Codes, classes: int, owners: int, every: int | None = None) -> Owners:
        """Return the owners of the classes that cells belong to, where each cell has one owner.

        Examples
        --------
        >>> owners = Owners.of(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1]), 2, 2)
        >>> owners.sizes.tolist(), owners.among(np.array([False, True])), owners.worst(owners.sizes).tolist()
        ([2, 1], 1, [1, 1])
        """
        _, pairs = group([of_cell, who], [classes, owners])
        of_class, owner = (one.astype(np.int64) for one in pairs)
        number = len(np.unique(owner))
        return cls(of_class, owner, classes, number, number if every is None else every)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """The number of owners in each class."""
        return np.bincount(self.of_class, minlength=self.classes).astype(np.int64)

    def among(self, which: NDArray[np.bool_]) -> int:
        """Count the owners with a record in at least one of the given classes."""
        return len(np.unique(self.who[which[self.of_class]]))

    def worst(self, alike: NDArray[Any]) -> NDArray[np.int64]:
        """Count each owner once: of their classes, in the one in which the fewest look alike, or in the first of several such.

        Parameters
        ----------
        alike
            For each class, the number of records or owners among which an intruder has to choose.
        """
        order = np.lexsort((self.of_class, alike[self.of_class], self.who))
        first = np.diff(self.who[order], prepend=-1) > 0
        return np.bincount(self.of_class[order[first]], minlength=self.classes).astype(np.int64)
