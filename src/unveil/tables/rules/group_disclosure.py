"""The rule of group disclosure: all members of a class, or all but a few, have the same category of a sensitive dimension.

Everyone known to be in the class is then known to be in the category: the posterior Discrimination Rate of that class is 1.
Knowing that all are in one category is the same as knowing that none is in another, so the empty categories of such a class are
sensitive too, unless zeros are structural.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from unveil.arguments import checked_count
from unveil.errors import ArgumentError, TableError, shown
from unveil.tables.rules.base import On, no_level

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.tables.crosstable import CrossTable

__all__ = ["GroupRule"]


@dataclass(frozen=True, slots=True)
class GroupRule:
    r"""A cell of a class y and a category x is sensitive if :math:`0 \le n_y - n_{xy} \le c` with :math:`n_{xy} > 0`.

    Parameters
    ----------
    dimension
        The sensitive dimension; by default the last one.
    coalition
        The number c of members of a class who share what they know about themselves.
    """

    dimension: str | None = None
    coalition: int = 0
    word: ClassVar[str] = "group"
    on: ClassVar[On] = "count"
    attack: ClassVar[str] = "group disclosure"

    def __post_init__(self) -> None:
        """Refuse invalid numbers."""
        checked_count("the coalition of the group rule", self.coalition, least=0)

    @classmethod
    def read(cls, text: str) -> GroupRule:
        """Read the rule from a command line: group, group=DIMENSION or group=DIMENSION:COALITION."""
        name, _, number = text.rpartition(":") if text.rpartition(":")[2].isdigit() else (text, "", "0")
        if not number.isdigit():
            raise ArgumentError(f"the rule group must be written as group=DIMENSION:COALITION, not {shown(text)}.")
        return cls(name or None, int(number))

    def primary(self, table: CrossTable) -> NDArray[np.bool_]:
        """Return the cells that disclose a whole class, including groups of categories, and the empty cells beside them."""
        axis = self.axis(table)
        dimension = table.dimensions[axis]
        n = np.moveaxis(table.n.reshape([len(one) for one in table.dimensions]), axis, -1)
        size = n[..., list(dimension.leaves)].sum(axis=-1)
        marked, telling = np.zeros(n.shape, dtype=bool), np.zeros(n.shape, dtype=bool)
        below = [frozenset(some.tolist()) for some in dimension.members]
        categories = [at for at, some in enumerate(below) if len(some) < len(dimension.leaves)]  # all but the total
        for at in categories:
            telling[..., at] = (n[..., at] > 0) & (size - n[..., at] <= self.coalition)
        for at in categories:
            apart = [other for other in categories if not below[at] & below[other]]
            empty = (n[..., at] == 0) & telling[..., apart].any(axis=-1)
            marked[..., at] = telling[..., at] | empty
        return np.ascontiguousarray(np.moveaxis(marked, -1, axis)).ravel()

    def level(self, table: CrossTable) -> NDArray[np.float64]:
        """Return 0: the cell must not be known exactly."""
        return no_level(table)

    def words(self) -> str:
        """Return the rule as it is written."""
        rest = f":{self.coalition}" if self.coalition else ""
        return f"group={self.dimension or ''}{rest}".rstrip("=")

    def axis(self, table: CrossTable) -> int:
        """Return the position of the sensitive dimension."""
        if self.dimension is None:
            return len(table.dimensions) - 1
        if self.dimension not in table.names:
            raise TableError(f"the group rule names {shown(self.dimension)}, which is not a dimension of the table.")
        return table.names.index(self.dimension)
