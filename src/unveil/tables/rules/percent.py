"""The p % rule: a cell is sensitive if one contributor can estimate another's value to within p per cent.

The second largest contributor knows the total and their own value, and so the largest to within the sum of the others. A
coalition of c combines the next largest contributors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from unveil.arguments import checked_count, checked_number
from unveil.tables.rules.base import On, contributions, numbers_of, values

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.tables.crosstable import CrossTable

__all__ = ["PercentRule"]


@dataclass(frozen=True, slots=True)
class PercentRule:
    r"""A cell is sensitive if :math:`X - x_1 - (x_2 + \dots + x_{c+1}) < \tfrac{p}{100} x_1`, strictly.

    Its level is :math:`U = \tfrac{p}{100} x_1 - (X - x_1 - x_2 - \dots - x_{c+1})`.

    Parameters
    ----------
    p
        The distance, in per cent, below which an estimate is too close.
    coalition
        The number c of contributors who share what they know; 1 if none do.
    """

    p: float
    coalition: int = 1
    word: ClassVar[str] = "p"
    on: ClassVar[On] = "value"
    attack: ClassVar[str] = "external, internal, dominance"

    def __post_init__(self) -> None:
        """Refuse invalid numbers."""
        checked_number("p of the p % rule", self.p, above=0)
        checked_count("the coalition of the p % rule", self.coalition, least=1)

    @property
    def contributors(self) -> int:
        """The number of largest contributions that it uses."""
        return self.coalition + 1

    @classmethod
    def read(cls, text: str) -> PercentRule:
        """Read the rule from a command line."""
        p, *rest = numbers_of(cls.word, text, "p=P or p=P:COALITION", 1, 2)
        coalition = rest[0] if rest else 1.0
        return cls(p, int(coalition) if coalition.is_integer() else coalition)  # type: ignore[arg-type]

    def primary(self, table: CrossTable) -> NDArray[np.bool_]:
        """Return the cells whose largest contribution can be estimated too closely."""
        return (table.units > 0) & (self.level(table) > 0)

    def level(self, table: CrossTable) -> NDArray[np.float64]:
        """Return the amount by which the others fall short of hiding the largest."""
        top = contributions(table, self.coalition + 1)
        others = values(table) - top[:, : self.coalition + 1].sum(axis=1)
        return np.asarray(self.p / 100 * top[:, 0] - others)

    def words(self) -> str:
        """Return the rule as it is written."""
        return f"p={self.p:g}" + (f":{self.coalition}" if self.coalition > 1 else "")
